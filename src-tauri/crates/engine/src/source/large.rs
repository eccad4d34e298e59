//! Sending one large or sparse file in ranges: its data and nothing of its holes, and its end only if it stayed as it was.
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::Arc;

use ringway_sys::attributes::{metadata_of, user_xattrs};
use ringway_wire::lane::{Entry, EntryKind, RangeHead, RangeStep};
use ringway_wire::name::Name;

use super::lane::{Lane, OpenFile};
use super::pieces::Pieces;
use super::ranged::{Ranged, Share, Unreadable};
use super::unit::Large;
use super::{reason, tree};
use crate::error::{FailureReason, Operation};

impl Lane<'_> {
    /// Reads and sends a file, with whichever lanes have nothing else to do. What cannot be read, or does not stay the same, is given up
    /// and reported.
    pub(super) fn send_large(&mut self, large: Large) -> io::Result<()> {
        let started = self.open_file(&large.folder, &large.name).and_then(|opened| {
            let xattrs = self.xattrs(&large.path, &large.name, user_xattrs(&opened.file));
            let size = opened.metadata.size;
            let whole = tree::allocated(&opened.metadata) == size;
            if !large.has.is_empty() && !tree::same_contents(&opened.metadata, &large.metadata) {
                // What the receiver has is of what it was.
                return Err((Operation::Read, FailureReason::ChangedWhileReading));
            }
            let pieces = Pieces::of(&opened.file, size, whole, large.has.clone())
                .map_err(|error| (Operation::Read, reason(&error)))?;
            Ok((OpenFile { xattrs, ..opened }, pieces))
        });
        let (opened, pieces) = match started {
            Ok(started) => started,
            Err((operation, reason)) => {
                self.shared.lost(tree::allocated(&large.metadata));
                self.shared.fail(&large.path, &large.name, operation, reason);
                return Ok(());
            }
        };
        let ranged = Arc::new(Ranged::new(large, opened, self.take_id(), pieces));
        self.shared.queue.share(&ranged);
        let sent = self.send_changed(&ranged).and_then(|()| self.send_ranges(&ranged, |_| false));
        self.shared.queue.unshare(&ranged);
        sent
    }

    /// Helps to send a file that another lane has begun, until there is other work.
    pub(super) fn help(&mut self, ranged: &Ranged) -> io::Result<()> {
        self.send_ranges(ranged, |lane| lane.shared.queue.has_units() || lane.is_spent())
    }

    fn send_ranges(&mut self, ranged: &Ranged, elsewhere: impl Fn(&Self) -> bool) -> io::Result<()> {
        loop {
            match if elsewhere(self) { ranged.leave() } else { ranged.next() } {
                Share::Piece { range, last } => {
                    let len = (range.end - range.start) as usize;
                    match self.read_piece(ranged, &range) {
                        Ok(()) if last => return self.end(ranged, range.start, len, None),
                        Ok(()) => {
                            ranged.sent(len);
                            self.send_range(ranged, range.start, len, RangeStep::More)?;
                        }
                        Err(unreadable) => ranged.give_up(unreadable),
                    }
                }
                Share::End(unreadable) => return self.end(ranged, 0, 0, unreadable),
                Share::Nothing => return Ok(()),
            }
        }
    }

    /// Reads a piece into the buffer, and looks at the file again, so that one that changes is not sent to its end in vain.
    pub(super) fn read_piece(&mut self, ranged: &Ranged, range: &Range<u64>) -> Result<(), Unreadable> {
        let failed = |error: io::Error| (Operation::Read, reason(&error));
        let changed = Err((Operation::Read, FailureReason::ChangedWhileReading));
        let file = &ranged.opened.file;
        let len = (range.end - range.start) as usize;
        if self.io.read_at(file.as_fd(), range.start, &mut self.body[..len]).map_err(failed)? != len {
            return changed;
        }
        let now = metadata_of(file).map_err(failed)?;
        if tree::same_contents(&now, &ranged.opened.metadata) { Ok(()) } else { changed }
    }

    /// Says that a file has ended, with the last piece of it or without one, or that it is given up.
    fn end(&mut self, ranged: &Ranged, offset: u64, len: usize, unreadable: Option<Unreadable>) -> io::Result<()> {
        let Large { path, name, metadata, .. } = &ranged.large;
        let expected = tree::allocated(metadata);
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
    pub(super) fn send_range(&mut self, ranged: &Ranged, offset: u64, len: usize, step: RangeStep) -> io::Result<()> {
        let head = range_head(ranged, offset, step);
        let header = match self.shared.digest(&self.body[..len]) {
            Some(digest) => self.head.proven_range(&head, len, digest),
            None => self.head.range(&head, len),
        };
        self.send(header, 0..len)
    }
}

/// The head of what is said of a file from an offset on.
pub(super) fn range_head(ranged: &Ranged, offset: u64, step: RangeStep) -> RangeHead<'_> {
    let Ranged { large, opened, id, .. } = ranged;
    let entry = Entry {
        name: Name::new(&large.name).expect("the walk lets only names through that the wire takes"),
        kind: EntryKind::File { size: opened.metadata.size, link_id: large.link_id },
        attributes: tree::attributes(&opened.metadata),
        xattrs: opened.xattrs.as_xattrs(),
    };
    RangeHead { file_id: *id, offset, step, folder: large.folder_path(), entry }
}
