//! The receiver's own edits: tells which files were changed here since they were received, keeps
//! them under their names, and puts what comes beside them.
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use ringway_model::{Edit, Operation};
use ringway_sys::attributes::Metadata;
use ringway_wire::lane::Entry;
use ringway_wire::limits::FAILURES_NAMED_MAX;

use crate::filesystem::granularity::{as_kept_by, nanos};
use crate::receive::Incoming;
use crate::receive::failures::Trouble;
use crate::receive::merge::folders::Folder;
use crate::receive::merge::landing::{Landed, link_id};
use crate::receive::numbered::NameHere;
use crate::receive::staging::spot::Spot;

/// Bytes of the paths of edited files that are named, as with failures: what is named waits for a
/// peer who may not read.
const NAMED_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Edited files that were kept: all counted, the first named.
#[derive(Default)]
pub(in crate::receive) struct Edits {
    count: AtomicU64,
    named_bytes: AtomicUsize,
    named: Mutex<Vec<Edit>>,
}

impl Edits {
    /// Adds one: `name` in `folder` stays, and what the sender has is there as `beside`.
    fn add(&self, folder: &[u8], name: &[u8], beside: &[u8]) {
        if self.count.fetch_add(1, Ordering::Relaxed) >= FAILURES_NAMED_MAX {
            return;
        }
        let len = folder.len() + 1 + name.len() + beside.len();
        if self.named_bytes.fetch_add(len, Ordering::Relaxed) + len > NAMED_BYTES_MAX {
            return;
        }
        let path = PathBuf::from(OsString::from_vec(folder.to_vec())).join(OsString::from_vec(name.to_vec()));
        self.named.lock().push(Edit { path: path.into(), beside: OsString::from_vec(beside.to_vec()).into() });
    }

    /// Books that an edited file stays, and that the sender's version of it is there as `beside`.
    pub(in crate::receive) fn note(&self, folder: &Folder, entry: &Entry<'_>, beside: &[u8]) {
        self.add(&folder.path, entry.name.as_bytes(), beside);
    }

    pub(in crate::receive) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    pub(in crate::receive) fn take(&self) -> Vec<Edit> {
        std::mem::take(&mut self.named.lock())
    }
}

impl Incoming {
    /// Puts what is whole beside an edited file, unless that has the same contents after all, or
    /// what is beside it has. What then is at `spot` stays there if it may have other names.
    pub(in crate::receive) fn land_edited(
        &self,
        spot: &Spot,
        folder: &Folder,
        entry: &Entry<'_>,
    ) -> Result<Landed, Trouble> {
        let name = entry.name.as_bytes();
        let from = spot.place(folder, name);
        if self.policy.has_contents_of(spot, folder, NameHere::own(name), &self.flags) {
            return Ok(own_or_unchanged(spot, folder, entry));
        }
        let whole = from.dir.metadata(from.name).ok();
        if let Some(beside) = whole.and_then(|whole| self.beside_with_contents(&whole, spot, folder, entry)) {
            self.results.edits.note(folder, entry, &beside);
            let top = &self.policy.top;
            let is_ours = |there: &Metadata| top.is_ours_as(folder, name, &beside, there);
            // No other name of it becomes a link to a file that somebody else has put there.
            if link_id(entry).is_some() && !folder.dir.metadata(&beside).is_ok_and(|there| is_ours(&there)) {
                return Ok(Landed::Own);
            }
            spot.discard(folder, name);
            return Ok(Landed::Beside(beside));
        }
        let beside = self.land_numbered(from, folder, name)?;
        self.results.edits.note(folder, entry, &beside);
        Ok(Landed::As(beside))
    }

    /// Gives what is whole a numbered name, unless this very version is there already. What then is
    /// at `spot` stays there if it may have other names. At the top an earlier version is replaced
    /// that has a number.
    pub(in crate::receive) fn land_renamed(
        &self,
        spot: &Spot,
        folder: &Folder,
        entry: &Entry<'_>,
    ) -> Result<Landed, Trouble> {
        let name = entry.name.as_bytes();
        let from = spot.place(folder, name);
        let is_here = |whole: &Metadata| {
            folder
                .dir
                .metadata(name)
                .is_ok_and(|there| self.is_version(whole, spot, folder, NameHere::own(name), &there))
                || self.beside_with_contents(whole, spot, folder, entry).is_some()
        };
        if from.dir.metadata(from.name).is_ok_and(|whole| is_here(&whole)) {
            return Ok(own_or_unchanged(spot, folder, entry));
        }
        if let Some(number) = self.policy.top.updatable_number(folder, entry) {
            let names = NameHere { sent: name, here: &number };
            match self.policy.replace(spot, folder, names, &self.staging.dir) {
                Ok(()) => return Ok(Landed::As(number)),
                // It was saved meanwhile.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(self.not_named(folder, &number, Operation::Rename, error)),
            }
        }
        self.land_numbered(from, folder, name).map(Landed::As)
    }

    /// The numbered name under which this very version is there, by size, time and contents. Those
    /// of what is whole count: a hard link says neither size nor time.
    fn beside_with_contents(
        &self,
        whole: &Metadata,
        spot: &Spot,
        folder: &Folder,
        entry: &Entry<'_>,
    ) -> Option<Vec<u8>> {
        let name = entry.name.as_bytes();
        self.policy.top.beside_where(folder, entry, |candidate, there| {
            self.is_version(whole, spot, folder, NameHere { sent: name, here: candidate }, there)
        })
    }

    /// Whether what is `there` under its name here is the version that is `whole` at `spot`.
    fn is_version(
        &self,
        whole: &Metadata,
        spot: &Spot,
        folder: &Folder,
        names: NameHere<'_>,
        there: &Metadata,
    ) -> bool {
        (whole.size, as_kept_by(there, whole.mtime)) == (there.size, nanos(there.mtime))
            && self.policy.has_contents_of(spot, folder, names, &self.flags)
    }

    /// Whether what is `whole` at `spot` is there already, under the entry's name or a number.
    pub(in crate::receive) fn has_version(
        &self,
        whole: &Metadata,
        spot: &Spot,
        folder: &Folder,
        entry: &Entry<'_>,
    ) -> bool {
        let name = entry.name.as_bytes();
        let is_here = |there: &Metadata| self.is_version(whole, spot, folder, NameHere::own(name), there);
        folder.dir.metadata(name).is_ok_and(|there| is_here(&there))
            || self.beside_with_contents(whole, spot, folder, entry).is_some()
    }
}

/// The existing file stays, since its contents are the same. The received one serves its other
/// names.
fn own_or_unchanged(spot: &Spot, folder: &Folder, entry: &Entry<'_>) -> Landed {
    if link_id(entry).is_some() {
        return Landed::Own;
    }
    spot.discard(folder, entry.name.as_bytes());
    Landed::Unchanged
}
