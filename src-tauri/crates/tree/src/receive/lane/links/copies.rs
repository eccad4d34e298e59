//! Gives a hard link contents of its own where its file cannot have one more name there: another
//! filesystem or mount, or one without hard links.
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;

use ringway_model::{FailureReason, Operation};
use ringway_sys::attributes::{Kind, Metadata, metadata_of, portable_xattrs};
use ringway_sys::sparse;
use ringway_wire::lane::{Attributes, Entry, EntryKind, Timestamp, Xattrs};
use rustix::io::Errno;

use crate::disk::{Disk, NameIn};
use crate::readback;
use crate::receive::failures::{EntryError, LaneError, Trouble, during, failed, is};
use crate::receive::lane::Worker;
use crate::receive::lane::links::Linked;
use crate::receive::links::LinkRecord;
use crate::receive::merge::attributes::CreationMode;
use crate::receive::merge::folders::Folder;
use crate::receive::merge::landing::{Decision, Landed};
use crate::receive::staging::spot::Spot;

/// Bytes of one call, after which it is looked whether the transfer has ended.
const PIECE: u64 = 8 * 1024 * 1024;

/// Bytes that are copied by way of memory, where the kernel does not copy between the two.
const BUFFER: usize = 1024 * 1024;

/// Whether a file cannot have one more name there, while another one of the same contents may be
/// there.
pub(super) fn cannot_link(error: &io::Error) -> bool {
    [Errno::XDEV, Errno::MLINK, Errno::PERM, Errno::OPNOTSUPP, Errno::NOSYS].iter().any(|errno| is(error, *errno))
}

/// What the file is that was received, as its sender would say it.
fn entry_of<'a>(there: &Metadata, link: &Entry<'a>) -> Entry<'a> {
    let mtime = Timestamp { secs: there.mtime.secs, nanos: there.mtime.nanos };
    let attributes = Attributes { mode: (there.mode & 0o7777) as u16, uid: there.uid, gid: there.gid, mtime };
    let kind = EntryKind::File { size: there.size, link_id: None };
    Entry { name: link.name, kind, attributes, xattrs: Xattrs::default() }
}

impl Worker<'_> {
    /// Copies the contents that were received under a file's first name to another name of it;
    /// `refused` is why that is no link.
    pub(super) fn copy_linked(
        &mut self,
        target: &Folder,
        place: &LinkRecord<'_>,
        folder: &Folder,
        link: &Entry<'_>,
        refused: &io::Error,
    ) -> Result<Linked, Trouble> {
        let incoming = self.incoming;
        let opened = incoming.flags.wait_to_open(|| target.dir.open_read(place.name.as_bytes()));
        let source = opened.map_err(during(Operation::Link))?;
        let was = metadata_of(&source).map_err(during(Operation::Link))?;
        // Somebody may have given the first name to another file meanwhile.
        if was.kind != Kind::File || Some((was.dev, was.ino)) != place.identity {
            return Ok(Linked::NoFile);
        }
        let entry = entry_of(&was, link);
        let name = entry.name.as_bytes();
        let decision = if folder.is_staged() { Decision::Absent } else { incoming.policy.decide(folder, &entry)? };
        let stays = match decision {
            Decision::Same => Some(Landed::Unchanged),
            Decision::Kept => Some(Landed::Kept),
            Decision::Beside => Some(incoming.policy.landed_beside(folder, &entry, &incoming.results.edits)),
            _ => None,
        };
        if let Some(landed) = stays {
            self.note_link(folder, landed.name().unwrap_or(name), &landed);
            return match decision {
                Decision::Same => incoming.policy.touch_up(folder, &entry).map_err(during(Operation::Metadata)),
                _ => Ok(()),
            }
            .map(|()| Linked::Done);
        }
        // A sender may name many links to one large file: their contents count as if they had come.
        // Where they may not, only this name is missing.
        if !incoming.quota.may_take(was.size) {
            return Err(failed(Operation::Link, refused).into());
        }
        let _opening = folder.open_for_change(&incoming.openings);
        incoming.is_foreign(folder, name, &self.parts)?;
        let (file, spot) = self.create_patiently(folder, name, CreationMode::Provisional)?;
        let mut dressed = Ok(());
        let landed = self
            .fill_linked(&source, &was, &file, &spot, folder, &entry)
            .and_then(|set| {
                dressed = set;
                if matches!(spot, Spot::Own) {
                    Ok(Landed::There)
                } else {
                    incoming.land(&spot, folder, &entry, decision)
                }
            })
            .inspect_err(|_| spot.discard(folder, name))?;
        self.note_link(folder, landed.name().unwrap_or(name), &landed);
        incoming.policy.top.note_landing(folder, &entry, &landed, &file);
        dressed.map_err(during(Operation::Metadata))?;
        Ok(Linked::Done)
    }

    /// Writes what is to land, and says whether it has its attributes, which are no reason not to
    /// have it.
    fn fill_linked(
        &self,
        source: &OwnedFd,
        was: &Metadata,
        file: &OwnedFd,
        spot: &Spot,
        folder: &Folder,
        entry: &Entry<'_>,
    ) -> Result<io::Result<()>, Trouble> {
        let incoming = self.incoming;
        let is_stopped = || !incoming.flags.goes_on();
        // Its own mode may forbid it to be read.
        let NameIn { dir, name } = spot.place(folder, entry.name.as_bytes());
        let to_prove =
            incoming.proof.as_ref().map(|_| dir.open_read(name)).transpose().map_err(during(Operation::Open))?;
        copy_contents(incoming.root.disk(), source, file, was.size, is_stopped).map_err(during(Operation::Write))?;
        let now = metadata_of(source).map_err(during(Operation::Link))?;
        if is_stopped() {
            return Err(LaneError::Cancelled.into());
        }
        if (now.size, now.mtime) != (was.size, was.mtime) {
            return Err(EntryError { operation: Operation::Link, reason: FailureReason::ChangedWhileReading }.into());
        }
        let xattrs = portable_xattrs(source).and_then(|xattrs| {
            xattrs.iter().try_for_each(|(name, value)| incoming.root.disk().set_xattr(file.as_fd(), name, value))
        });
        let dressed = incoming.policy.attributes.set_attributes(
            file,
            CreationMode::Provisional,
            &entry.attributes,
            Xattrs::default(),
            folder.inherits.as_ref(),
        );
        incoming.staging.settle(file, spot).map_err(during(Operation::Sync))?;
        if folder.is_staged() {
            incoming.staging.writeback.owe(was.size);
        }
        if let Some(copy) = to_prove {
            // The first name's contents are proven by then.
            let written = incoming.root.write_out_where_it_is(file.as_fd());
            incoming.staging.noting_loss(written).map_err(during(Operation::Sync))?;
            incoming.root.disk().drop_cached(copy.as_fd());
            if !readback::is_equal(source, &copy, is_stopped).map_err(during(Operation::Read))? {
                return Err(EntryError { operation: Operation::Read, reason: FailureReason::Differs }.into());
            }
        }
        Ok(xattrs.and(dressed))
    }
}

/// Copies `size` bytes, and leaves holes where the source has them.
fn copy_contents(
    disk: &dyn Disk,
    from: &OwnedFd,
    to: &OwnedFd,
    size: u64,
    is_stopped: impl Fn() -> bool,
) -> io::Result<()> {
    disk.set_len(to.as_fd(), size)?;
    let (mut at, mut by_kernel, mut buffer) = (0, true, Vec::new());
    let from_file = File::from(from.try_clone()?);
    while let Some(data) = sparse::next_data(from.as_fd(), at, size)? {
        at = data.start;
        while at < data.end {
            if is_stopped() {
                return Ok(());
            }
            let len = (data.end - at).min(PIECE) as usize;
            let copied = if by_kernel { disk.copy_range(from.as_fd(), at, to.as_fd(), at, len)? } else { None };
            by_kernel = copied.is_some_and(|copied| copied > 0);
            let copied = match copied.filter(|copied| *copied > 0) {
                Some(copied) => copied,
                None => {
                    buffer.resize(BUFFER, 0);
                    let read = from_file.read_at(&mut buffer[..len.min(BUFFER)], at)?;
                    if read == 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    disk.write_at(to.as_fd(), at, &buffer[..read])?;
                    read
                }
            };
            at += copied as u64;
        }
    }
    Ok(())
}
