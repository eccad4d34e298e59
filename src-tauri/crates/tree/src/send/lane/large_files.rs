//! Sends one large or sparse file in ranges: its data without its holes, and its end only if the
//! file did not change.
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::Arc;

use ringway_model::{FailureReason, Operation};
use ringway_sys::attributes::{birth_of, metadata_of, portable_xattrs};
use ringway_wire::lane::{Entry, EntryKind, OwnerNamesBuffer, RangeHead, RangeStep};
use ringway_wire::name::Name;

use crate::send::lane::Lane;
use crate::send::queue::Large;
use crate::send::queue::pieces::Pieces;
use crate::send::queue::ranges::{OpenFile, Ranged, Share, Unreadable};
use crate::send::{attributes, reason};

impl Lane<'_> {
    /// Opens a file and lets idle lanes help with it. A file that cannot be opened is reported.
    pub(in crate::send) fn begin_large(&mut self, mut large: Large) -> Option<Arc<Ranged>> {
        let started = self.open_file(&large.folder, &large.name).and_then(|opened| {
            let xattrs = self.xattrs(&large.path, &large.name, portable_xattrs(&opened.file));
            let size = opened.metadata.size;
            let whole = attributes::allocated(&opened.metadata) == size;
            let stamp = attributes::stamp(&opened.file, &opened.metadata);
            if !large.has.is_empty() && stamp != attributes::stamp(&large.folder, &large.metadata) {
                // The receiver's parts are of the old version.
                return Err((Operation::Read, FailureReason::ChangedWhileReading));
            }
            let pieces = Pieces::of(&opened.file, size, whole, large.has.clone())
                .map_err(|error| (Operation::Read, reason(&error)))?;
            let mut names = OwnerNamesBuffer::default();
            if let Some(table) = self.shared.owner_names.get() {
                table.tell(&attributes::attributes(&opened.metadata), xattrs.as_xattrs(), &mut names);
            }
            Ok((OpenFile { xattrs, names, ..opened }, stamp, pieces))
        });
        if let Some(link) = large.link.take() {
            // From here on failures concern the file, under any of its names.
            let opened = started.as_ref().ok().map(|(opened, ..)| opened);
            let same = opened.filter(|opened| link.is(&opened.metadata, birth_of(&opened.file)));
            link.settle(same.map(|opened| &opened.metadata));
            self.shared.queue.settled();
            large.link = same.is_some().then_some(link);
        }
        let (opened, stamp, pieces) = match started {
            Ok(started) => started,
            Err((operation, reason)) => {
                self.shared.lost(attributes::allocated(&large.metadata));
                self.shared.fail(&large.path, &large.name, operation, reason);
                return None;
            }
        };
        let ranged = Arc::new(Ranged::new(large, opened, self.take_id(), stamp, pieces, self.shared.is_proven()));
        self.ask_before_others(&ranged);
        self.shared.queue.share(&ranged);
        Some(ranged)
    }

    /// Reads and sends a file, together with idle lanes. A file that cannot be read, or that
    /// changes, is given up and reported.
    pub(in crate::send) fn send_large(&mut self, ranged: &Arc<Ranged>) -> io::Result<()> {
        let sent = self.send_changed(ranged).and_then(|()| self.send_ranges(ranged, |_| false));
        self.shared.queue.unshare(ranged);
        sent
    }

    /// Helps to send a file that another lane has begun, until there is other work.
    pub(in crate::send) fn help(&mut self, ranged: &Ranged) -> io::Result<()> {
        self.send_ranges(ranged, |lane| lane.shared.queue.has_units() || lane.is_spent())
    }

    fn send_ranges(&mut self, ranged: &Ranged, elsewhere: impl Fn(&Self) -> bool) -> io::Result<()> {
        loop {
            match if elsewhere(self) { ranged.leave() } else { ranged.next() } {
                Share::Piece { range, last } => {
                    let len = (range.end - range.start) as usize;
                    match self.read_piece(ranged, &range) {
                        Ok(()) if last => {
                            self.tell(ranged, range.start, len);
                            return match self.read_once_more(ranged) {
                                Ok(()) => self.end(ranged, range.start, len, None),
                                Err(unreadable) => self.end(ranged, 0, 0, Some(unreadable)),
                            };
                        }
                        Ok(()) => {
                            ranged.sent(len);
                            self.tell(ranged, range.start, len);
                            self.send_range(ranged, range.start, len, RangeStep::More)?;
                        }
                        Err(unreadable) => ranged.give_up(unreadable),
                    }
                }
                Share::End(unreadable) => {
                    let unreadable = unreadable.or_else(|| self.read_once_more(ranged).err());
                    return self.end(ranged, 0, 0, unreadable);
                }
                Share::Nothing => return Ok(()),
            }
        }
    }

    /// Reads a piece into the buffer and checks the file again, so that a file that changes is not
    /// sent to its end in vain.
    pub(in crate::send) fn read_piece(&mut self, ranged: &Ranged, range: &Range<u64>) -> Result<(), Unreadable> {
        let failed = |error: io::Error| (Operation::Read, reason(&error));
        let changed = Err((Operation::Read, FailureReason::ChangedWhileReading));
        let file = &ranged.opened.file;
        let len = (range.end - range.start) as usize;
        if self.io.read_at(file.as_fd(), range.start, &mut self.body[..len]).map_err(failed)? != len {
            return changed;
        }
        let now = metadata_of(file).map_err(failed)?;
        if attributes::same_contents(&now, &ranged.opened.metadata) { Ok(()) } else { changed }
    }

    /// Sends the file's end, with its last piece or without one, or that it is given up.
    fn end(&mut self, ranged: &Ranged, offset: u64, len: usize, unreadable: Option<Unreadable>) -> io::Result<()> {
        let Large { path, name, metadata, .. } = &ranged.large;
        let expected = attributes::allocated(metadata);
        let data_bytes = ranged.sent(len);
        let step = match unreadable {
            None => {
                self.shared.corrected(expected, data_bytes);
                RangeStep::Last { data_bytes }
            }
            Some((operation, reason)) => {
                self.shared.lost(expected);
                self.shared.fail(path, name, operation, reason);
                RangeStep::Abandoned { data_bytes }
            }
        };
        self.send_range(ranged, offset, len, step)
    }

    /// Sends the first `len` bytes of the buffer as the range at `offset`.
    pub(in crate::send) fn send_range(
        &mut self,
        ranged: &Ranged,
        offset: u64,
        len: usize,
        step: RangeStep,
    ) -> io::Result<()> {
        let head = range_head(ranged, offset, step);
        let header = match self.shared.digest(&self.body[..len]) {
            Some(digest) => self.head.proven_range(&head, len, digest),
            None => self.head.range(&head, len),
        };
        self.send(header, 0..len)
    }
}

/// The head of a frame about a file from an offset on.
pub(in crate::send) fn range_head(ranged: &Ranged, offset: u64, step: RangeStep) -> RangeHead<'_> {
    let Ranged { large, opened, id, stamp, .. } = ranged;
    let entry = Entry {
        name: Name::new(&large.name).expect("the walk lets only names through that the wire takes"),
        kind: EntryKind::File { size: opened.metadata.size, link_id: large.link.as_ref().map(|link| link.id) },
        attributes: attributes::attributes(&opened.metadata),
        xattrs: opened.xattrs.as_xattrs(),
    };
    let owner_names = opened.names.as_names();
    RangeHead { file_id: *id, offset, step, stamp: *stamp, folder: large.folder_path(), entry, owner_names }
}
