//! One lane: takes units from the queue, and passes frames to its sink until the walk has ended.
pub(super) mod batch;
pub(super) mod delta;
pub(super) mod delta_decision;
pub(super) mod large_files;
pub(super) mod lists;
pub(super) mod reread;

use std::io;
use std::sync::atomic::Ordering;
use std::time::Instant;

use ringway_model::{FailureReason, Operation};
use ringway_sys::attributes::{Kind, Xattr, metadata_of};
use ringway_sys::dir::Dir;
use ringway_sys::file_io::FileIo;
use ringway_wire::lane::{Attributes, Entry, FrameHeader, HeadBuffer, OwnerNamesBuffer, XattrBuffer, Xattrs};
use ringway_wire::limits::LANE_BODY_MAX;
use rustix::io::Errno;

use super::queue::ranges::OpenFile;
use super::queue::{Cancelled, Queue, Unit, Work};
use super::{Shared, attributes, reason};
use crate::bulk::LaneSink;
use crate::descriptors::wait_to_open;
use crate::page_buffer::PageBuffer;

/// A lane's own file ids begin at `lane << LANE_ID_SHIFT`. Each lane begins its ranged files one
/// after the other, so the receiver has few stretches of ended ids for each lane, however far one
/// lane is behind another.
const LANE_ID_SHIFT: u32 = 40;

/// A lane's state between frames.
pub(super) struct Lane<'a> {
    pub(super) shared: &'a Shared,
    pub(super) io: &'a mut FileIo,
    pub(super) body: PageBuffer,
    /// Buffer for the second reading, which is compared with the first.
    pub(super) again: PageBuffer,
    pub(super) head: HeadBuffer,
    pub(super) to: &'a mut dyn LaneSink,
    next_id: u64,
}

/// A unit that a lane has taken and that may bring further work. While there is one, no lane ends.
struct AtWork<'a>(&'a Queue);

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.done();
    }
}

impl From<Cancelled> for io::Error {
    fn from(_: Cancelled) -> Self {
        io::ErrorKind::Interrupted.into()
    }
}

impl<'a> Lane<'a> {
    pub(super) fn new(shared: &'a Shared, to: &'a mut dyn LaneSink, io: &'a mut FileIo) -> Self {
        let number = shared.lanes.fetch_add(1, Ordering::Relaxed);
        let mut head = HeadBuffer::default();
        if shared.owner_names.get().is_some() {
            head.name_owners();
        }
        Self {
            shared,
            io,
            body: PageBuffer::new(LANE_BODY_MAX),
            again: PageBuffer::default(),
            head,
            to,
            next_id: number << LANE_ID_SHIFT,
        }
    }

    /// Runs until the queue has ended.
    pub(super) fn run(mut self) -> io::Result<()> {
        loop {
            let work = if self.is_spent() {
                None
            } else {
                self.to.idle(true);
                let work = self.shared.queue.take(|asks| {
                    self.to.asks(asks);
                    if !asks {
                        self.to.idle(true);
                    }
                })?;
                self.to.idle(false);
                work
            };
            let Some(work) = work else { break };
            if let Work::Send(Unit::Share(ranged)) = work {
                self.help(&ranged)?;
                continue;
            }
            let at_work = AtWork(&self.shared.queue);
            match work {
                Work::Found(unit) => self.send_list(unit)?,
                Work::Send(Unit::Batch(batch)) => self.send_batch(&batch)?,
                Work::Send(Unit::Large(large)) => {
                    let Some(large) = self.list_again(large)? else { continue };
                    let begun = self.begin_large(large);
                    // Other lanes can see it now.
                    drop(at_work);
                    begun.map_or(Ok(()), |ranged| self.send_large(&ranged))?;
                }
                Work::Send(Unit::Share(_)) => {}
            }
        }
        self.to.send(&FrameHeader::END.encode(), &[], &[])
    }

    /// Whether it takes no more work.
    pub(super) fn is_spent(&self) -> bool {
        self.to.is_spent()
    }

    /// The id of the next file in ranges.
    pub(super) fn take_id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }

    /// Sends the entries in `head` with a part of `body`.
    pub(super) fn send(&mut self, header: FrameHeader, body: std::ops::Range<usize>) -> io::Result<()> {
        send(self.shared, self.to, &self.head, header, &self.body[body])
    }

    /// The same for contents that are not in the lane's own buffer.
    pub(super) fn send_apart(&mut self, header: FrameHeader, body: &[u8]) -> io::Result<()> {
        send(self.shared, self.to, &self.head, header, body)
    }

    /// Adds an entry to the head of a batch or list, with the names of its users and groups.
    pub(super) fn add(&mut self, entry: &Entry<'_>) {
        self.head.entry(entry);
        self.name_owners(&entry.attributes, entry.xattrs);
    }

    /// Adds the names of an entry's users and groups to the head of a batch or list.
    pub(super) fn name_owners(&mut self, attributes: &Attributes, xattrs: Xattrs<'_>) {
        if let Some(names) = self.shared.owner_names.get() {
            names.tell(attributes, xattrs, self.head.owner_names());
        }
    }

    /// Opens a regular file for reading, and waits if no descriptors are left.
    pub(super) fn open_file(&self, dir: &Dir, name: &[u8]) -> Result<OpenFile, (Operation, FailureReason)> {
        let failed = |error: io::Error| (Operation::Open, reason(&error));
        let goes_on = || !self.shared.queue.is_cancelled();
        let file = wait_to_open(goes_on, || dir.open_read(name)).map_err(failed)?;
        let metadata = metadata_of(&file).map_err(failed)?;
        // Something else may have the name by now.
        if self.shared.hides.get().is_some_and(|hides| hides(&metadata)) {
            return Err(failed(Errno::NOENT.into()));
        }
        match metadata.kind {
            Kind::File => {
                Ok(OpenFile { file, metadata, xattrs: XattrBuffer::default(), names: OwnerNamesBuffer::default() })
            }
            // It was a file when its folder was listed.
            Kind::Dir => Err((Operation::Open, FailureReason::ChangedWhileReading)),
            _ => Err((Operation::Open, FailureReason::SpecialFile)),
        }
    }

    /// An entry's extended attributes in the wire's type. Those that could not be read or do not
    /// fit are reported.
    pub(super) fn xattrs(&self, folder: &[u8], name: &[u8], found: io::Result<Vec<Xattr>>) -> XattrBuffer {
        let mut xattrs = XattrBuffer::default();
        let failure = match found {
            Ok(found) if attributes::collect_xattrs(&found, &mut xattrs) => return xattrs,
            Ok(_) => FailureReason::Os { errno: Errno::TOOBIG.raw_os_error() },
            Err(error) => reason(&error),
        };
        self.shared.fail(folder, name, Operation::Metadata, failure);
        xattrs
    }
}

fn send(shared: &Shared, to: &mut dyn LaneSink, head: &HeadBuffer, header: FrameHeader, body: &[u8]) -> io::Result<()> {
    debug_assert_eq!(header.body_len as usize, body.len());
    if shared.queue.is_cancelled() {
        return Err(Cancelled.into());
    }
    let begun = Instant::now();
    to.send(&header.encode(), head.as_bytes(), body)?;
    shared.worth.sent(body.len(), begun.elapsed());
    shared.book(head.counts());
    Ok(())
}
