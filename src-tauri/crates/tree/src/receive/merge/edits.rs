//! The receiver's own edits: tells which files were changed here since they were received, keeps
//! them under their names, and puts what comes beside them.
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use ringway_model::Edit;
use ringway_sys::attributes::{Kind, Metadata, metadata_of};
use ringway_wire::lane::Entry;
use ringway_wire::limits::FAILURES_NAMED_MAX;

use crate::filesystem::granularity::{as_kept_by, nanos};
use crate::readback;
use crate::receive::Incoming;
use crate::receive::failures::Trouble;
use crate::receive::merge::folders::{Folder, Policy};
use crate::receive::merge::landing::{Landed, NUMBER_MAX, is_same, link_id, numbered};
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

    pub(in crate::receive) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    pub(in crate::receive) fn take(&self) -> Vec<Edit> {
        std::mem::take(&mut self.named.lock())
    }
}

impl Incoming {
    /// Whether an existing file or link must stay because the receiver may have changed it since it
    /// was received. That it may is enough: nothing is known of its contents.
    pub(in crate::receive) fn is_edited(&self, folder: &Folder, name: &[u8], there: &Metadata) -> bool {
        if folder.is_staged() {
            return false;
        }
        match self.policy(folder, name) {
            (Policy::Update, Some(brought)) => !self.is_received(&brought, folder, name, there),
            (Policy::Update, None) => true,
            _ => false,
        }
    }

    /// Whether an entry of that name may replace what is there: it is as it was received.
    fn is_replaceable(&self, folder: &Folder, name: &[u8], there: &Metadata) -> bool {
        match self.policy(folder, name) {
            (Policy::Update, Some(brought)) => self.is_received(&brought, folder, name, there),
            _ => false,
        }
    }

    /// The numbered name beside an edited file under which this very version of the sender's is
    /// there, by size and time.
    pub(in crate::receive) fn beside(&self, folder: &Folder, entry: &Entry<'_>) -> Option<Vec<u8>> {
        self.beside_where(folder, entry, |candidate, there| is_same(&folder.dir, candidate, there, entry))
    }

    /// The first numbered name of an entry, before the first free one, for which `is_it` holds. A
    /// name that the sender has itself, and may update, is none.
    pub(in crate::receive) fn beside_where(
        &self,
        folder: &Folder,
        entry: &Entry<'_>,
        mut is_it: impl FnMut(&[u8], &Metadata) -> bool,
    ) -> Option<Vec<u8>> {
        for number in 1..=NUMBER_MAX {
            let candidate = numbered(entry.name.as_bytes(), number, true);
            let there = folder.dir.metadata(&candidate).ok()?;
            if !self.is_replaceable(folder, &candidate, &there) && is_it(&candidate, &there) {
                return Some(candidate);
            }
        }
        None
    }

    /// Books that an edited file stays, and that the sender's version of it is there as `beside`.
    pub(in crate::receive) fn note_edit(&self, folder: &Folder, entry: &Entry<'_>, beside: &[u8]) {
        self.results.edits.add(&folder.path, entry.name.as_bytes(), beside);
    }

    /// Puts what is whole beside an edited file, unless that has the same contents after all, or
    /// what is beside it has. What then is at `spot` stays there if it may have other names.
    pub(in crate::receive) fn land_edited(
        &self,
        spot: &Spot,
        folder: &Folder,
        entry: &Entry<'_>,
    ) -> Result<Landed, Trouble> {
        let name = entry.name.as_bytes();
        let (from, from_name) = spot.place(folder, name);
        if self.has_contents_of(spot, folder, name, name) {
            if link_id(entry).is_some() {
                return Ok(Landed::Own);
            }
            spot.discard(folder, name);
            return Ok(Landed::Unchanged);
        }
        if let Some(beside) = self.beside_with_contents(spot, folder, entry) {
            spot.discard(folder, name);
            self.note_edit(folder, entry, &beside);
            return Ok(Landed::Beside(beside));
        }
        let beside = self.land_numbered(from, from_name, folder, name)?;
        self.note_edit(folder, entry, &beside);
        Ok(Landed::As(beside))
    }

    /// Gives what is whole a numbered name, unless this very version is there already. What then is
    /// at `spot` stays there if it may have other names.
    pub(in crate::receive) fn land_renamed(
        &self,
        spot: &Spot,
        folder: &Folder,
        entry: &Entry<'_>,
    ) -> Result<Landed, Trouble> {
        let name = entry.name.as_bytes();
        let (from, from_name) = spot.place(folder, name);
        let is_version = |whole: &Metadata, candidate: &[u8], there: &Metadata| {
            (whole.size, as_kept_by(there, whole.mtime)) == (there.size, nanos(there.mtime))
                && self.has_contents_of(spot, folder, name, candidate)
        };
        let is_here = |whole: &Metadata| {
            folder.dir.metadata(name).is_ok_and(|there| is_version(whole, name, &there))
                || self.beside_where(folder, entry, |candidate, there| is_version(whole, candidate, there)).is_some()
        };
        if !from.metadata(from_name).is_ok_and(|whole| is_here(&whole)) {
            return self.land_numbered(from, from_name, folder, name).map(Landed::As);
        }
        if link_id(entry).is_some() {
            return Ok(Landed::Own);
        }
        spot.discard(folder, name);
        Ok(Landed::Unchanged)
    }

    /// The numbered name under which this very version is there, by size, time and contents.
    fn beside_with_contents(&self, spot: &Spot, folder: &Folder, entry: &Entry<'_>) -> Option<Vec<u8>> {
        self.beside_where(folder, entry, |candidate, there| {
            is_same(&folder.dir, candidate, there, entry)
                && self.has_contents_of(spot, folder, entry.name.as_bytes(), candidate)
        })
    }

    /// Whether the file `there` holds what is whole and is to be called `name`. It is read from its
    /// medium; what cannot be read is not known to be the same.
    fn has_contents_of(&self, spot: &Spot, folder: &Folder, name: &[u8], there: &[u8]) -> bool {
        let (from, from_name) = spot.place(folder, name);
        let equal = || -> io::Result<bool> {
            let (whole, there) = (from.open_read(from_name)?, folder.dir.open_read(there)?);
            let is_file = |file: &OwnedFd| metadata_of(file).is_ok_and(|found| found.kind == Kind::File);
            self.disk().drop_cached(there.as_fd());
            Ok(is_file(&whole)
                && is_file(&there)
                && readback::is_equal(&whole, &there, || self.flags.is_cancelled.load(Ordering::Relaxed))?)
        };
        equal().unwrap_or(false)
    }
}
