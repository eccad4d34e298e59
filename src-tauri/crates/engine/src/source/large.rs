//! Sending one large or sparse file in ranges: its data and nothing of its holes, the last range only if it stayed as it was.
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};

use ringway_sys::attributes::{metadata_of, user_xattrs};
use ringway_sys::sparse::next_data;
use ringway_wire::lane::{Entry, EntryKind, RangeHead, RangeStep};
use ringway_wire::limits::{LANE_BODY_MAX, RANGE_PIECES_MAX};
use ringway_wire::name::{Name, RelPath};

use super::lane::{Lane, OpenFile};
use super::unit::Large;
use super::{reason, tree};
use crate::error::{FailureReason, Operation};

/// Bytes of one range.
const RANGE_LEN: usize = LANE_BODY_MAX;

/// A hole shorter than this is sent as the zeros that it reads as: cheaper than a range more.
const HOLE_MIN: u64 = 64 * 1024;

/// Stretches of data that one file is sent in. The receiver takes [`RANGE_PIECES_MAX`]; a file that changes meanwhile may have more than
/// were counted.
const STRETCHES_MAX: usize = RANGE_PIECES_MAX / 2;

impl Lane<'_> {
    /// Reads and sends a file. What cannot be read, or does not stay the same, is given up and reported.
    pub(super) fn send_large(&mut self, large: &Large) -> io::Result<()> {
        let expected = tree::allocated(&large.metadata);
        let opened = match self.open_file(&large.folder, &large.name) {
            Ok(opened) => {
                let xattrs = self.xattrs(&large.path, &large.name, user_xattrs(&opened.file));
                OpenFile { xattrs, ..opened }
            }
            Err((operation, reason)) => {
                self.shared.lost(expected);
                self.shared.fail(&large.path, &large.name, operation, reason);
                return Ok(());
            }
        };
        let mut sent = Sent { id: None, data_bytes: 0 };
        match self.send_ranges(large, &opened, &mut sent)? {
            Ok(()) => self.shared.corrected(expected, sent.data_bytes),
            Err((operation, reason)) => {
                self.shared.lost(expected);
                self.shared.fail(&large.path, &large.name, operation, reason);
                if sent.id.is_some() {
                    self.send_range(large, &opened, &mut sent, 0, 0, RangeStep::Abandoned)?;
                }
            }
        }
        Ok(())
    }

    /// Sends all ranges. The outer error is the sink's, the inner one the file's.
    fn send_ranges(
        &mut self,
        large: &Large,
        opened: &OpenFile,
        sent: &mut Sent,
    ) -> io::Result<Result<(), (Operation, FailureReason)>> {
        let failed = |error: io::Error| Ok(Err((Operation::Read, reason(&error))));
        let size = opened.metadata.size;
        let whole = tree::allocated(&opened.metadata) == size;
        let mut pieces = match Pieces::of(&opened.file, size, whole) {
            Ok(pieces) => pieces,
            Err(error) => return failed(error),
        };
        let mut next = match pieces.next() {
            Ok(piece) => piece,
            Err(error) => return failed(error),
        };
        loop {
            let piece = next.unwrap_or(0..0);
            let len = (piece.end - piece.start) as usize;
            match self.io.read_at(opened.file.as_fd(), piece.start, &mut self.body[..len]) {
                Ok(read) if read == len => {}
                Ok(_) => return Ok(Err((Operation::Read, FailureReason::ChangedWhileReading))),
                Err(error) => return failed(error),
            }
            // After every piece, so that a file that changes is not sent to its end in vain.
            match metadata_of(&opened.file) {
                Ok(now) if tree::same_contents(&now, &opened.metadata) => {}
                Ok(_) => return Ok(Err((Operation::Read, FailureReason::ChangedWhileReading))),
                Err(error) => return failed(error),
            }
            next = match pieces.next() {
                Ok(piece) => piece,
                Err(error) => return failed(error),
            };
            if next.is_some() {
                self.send_range(large, opened, sent, piece.start, len, RangeStep::More)?;
                continue;
            }
            let step = RangeStep::Last { data_bytes: sent.data_bytes + len as u64 };
            self.send_range(large, opened, sent, piece.start, len, step)?;
            return Ok(Ok(()));
        }
    }

    /// Sends the first `len` bytes of the buffer as the range at `offset`.
    fn send_range(
        &mut self,
        large: &Large,
        opened: &OpenFile,
        sent: &mut Sent,
        offset: u64,
        len: usize,
        step: RangeStep,
    ) -> io::Result<()> {
        let file_id = match sent.id {
            Some(id) => id,
            None => self.take_id(),
        };
        sent.id = Some(file_id);
        sent.data_bytes += len as u64;
        let entry = Entry {
            name: Name::new(&large.name).expect("the walk lets only names through that the wire takes"),
            kind: EntryKind::File { size: opened.metadata.size, link_id: large.link_id },
            attributes: tree::attributes(&opened.metadata),
            xattrs: opened.xattrs.as_xattrs(),
        };
        let folder = RelPath::new(&large.path).expect("the walk joins only what the wire takes");
        let header = self.head.range(&RangeHead { file_id, offset, step, folder, entry }, len);
        self.send(header, 0..len, step != RangeStep::More)
    }
}

/// What of a file has been sent.
struct Sent {
    id: Option<u64>,
    data_bytes: u64,
}

/// A file's data in pieces of one range, holes left out.
struct Pieces<'f> {
    file: &'f OwnedFd,
    size: u64,
    /// Holes below this are data.
    hole_min: u64,
    stretches: usize,
    /// What is left of the stretch of data that is being cut.
    stretch: Range<u64>,
    /// The stretch behind it, once it has been looked for.
    ahead: Option<Range<u64>>,
}

impl<'f> Pieces<'f> {
    /// With `whole` it has no holes to look for: where the filesystem looks page by page, that costs a tenth of what reading does.
    fn of(file: &'f OwnedFd, size: u64, whole: bool) -> io::Result<Self> {
        let (hole_min, first) = match whole {
            true => (HOLE_MIN, Some(0..size).filter(|all| !all.is_empty())),
            false => (hole_min(file, size)?, next_data(file, 0, size)?),
        };
        Ok(Self { file, size, hole_min, stretches: 0, stretch: 0..0, ahead: first })
    }

    /// The next piece, at most [`RANGE_LEN`] long.
    fn next(&mut self) -> io::Result<Option<Range<u64>>> {
        if self.stretch.is_empty() {
            let Some(stretch) = self.next_stretch()? else { return Ok(None) };
            self.stretch = stretch;
        }
        let piece = self.stretch.start..self.stretch.end.min(self.stretch.start + RANGE_LEN as u64);
        self.stretch.start = piece.end;
        Ok(Some(piece))
    }

    /// The next stretch of data, short holes in it included.
    fn next_stretch(&mut self) -> io::Result<Option<Range<u64>>> {
        let Some(mut stretch) = self.ahead.take() else { return Ok(None) };
        self.stretches += 1;
        if self.stretches == STRETCHES_MAX {
            stretch.end = self.size;
            return Ok(Some(stretch));
        }
        while let Some(data) = next_data(self.file, stretch.end, self.size)? {
            if data.start - stretch.end >= self.hole_min {
                self.ahead = Some(data);
                break;
            }
            stretch.end = data.end;
        }
        Ok(Some(stretch))
    }
}

/// The shortest hole worth leaving out, so that no more than [`STRETCHES_MAX`] stretches remain: a power of two.
fn hole_min(file: &OwnedFd, size: u64) -> io::Result<u64> {
    // How many holes there are of 2^n bytes to the next power.
    let mut holes = [0_usize; u64::BITS as usize];
    let mut end = 0;
    while let Some(data) = next_data(file, end, size)? {
        if let Some(log) = (data.start - end).checked_ilog2() {
            holes[log as usize] += 1;
        }
        end = data.end;
    }
    let mut longer = 0;
    for log in (HOLE_MIN.ilog2()..u64::BITS).rev() {
        longer += holes[log as usize];
        if longer + 1 >= STRETCHES_MAX {
            return Ok(1 << (log + 1).min(u64::BITS - 1));
        }
    }
    Ok(HOLE_MIN)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn many_holes_are_bounded_and_the_longest_kept() {
        let file = tempfile::tempfile().unwrap();
        let (mut at, mut data) = (0, Vec::new());
        for hole in 0..5_000_u64 {
            file.write_all_at(b"data", at).unwrap();
            data.push(at);
            at += if hole % 100 == 0 { 64 << 20 } else { 256 << 10 };
        }
        file.set_len(at).unwrap();
        let file = OwnedFd::from(file);
        let mut pieces = Pieces::of(&file, at, false).unwrap();
        let (mut covered, mut end, mut bytes) = (0, 0, 0);
        while let Some(piece) = pieces.next().unwrap() {
            assert!(piece.start >= end && piece.end <= at && piece.end - piece.start <= RANGE_LEN as u64);
            covered += data.iter().filter(|at| piece.contains(at)).count();
            bytes += piece.end - piece.start;
            end = piece.end;
        }
        assert_eq!(covered, data.len());
        assert!(pieces.stretches < STRETCHES_MAX, "{}", pieces.stretches);
        // The fifty long holes are most of the file.
        assert!(bytes < 2 << 30, "{bytes}");
    }
}
