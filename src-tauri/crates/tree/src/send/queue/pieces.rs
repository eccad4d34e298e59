//! Cuts a large file's data into ranges. Holes are left out as long as that is worth it and the
//! receiver can keep the stretches apart.
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;

use ringway_sys::sparse::next_data;
use ringway_wire::limits::{LANE_BODY_MAX, RANGE_PIECES_MAX};
use ringway_wire::stretches::Stretches;

/// Bytes of one range.
pub(in crate::send) const RANGE_LEN: usize = LANE_BODY_MAX;

/// A shorter hole is sent as zeros, which is cheaper than another range.
const HOLE_MIN: u64 = 64 * 1024;

/// The most stretches of data of one file. The receiver accepts [`RANGE_PIECES_MAX`], and a file
/// that changes meanwhile may have more than were counted.
const STRETCHES_MAX: usize = RANGE_PIECES_MAX / 2;

/// A file's data in pieces of one range, without holes.
pub(in crate::send) struct Pieces {
    size: u64,
    /// Shorter holes are sent as data.
    hole_min: u64,
    stretches: usize,
    /// The rest of the stretch of data that is being cut.
    stretch: Range<u64>,
    /// The stretch after it, once that is known.
    ahead: Option<Range<u64>>,
    /// The parts that are not sent.
    has: Stretches,
}

impl Pieces {
    /// With `whole` it does not look for holes. On filesystems that look page by page, that costs a
    /// tenth of reading.
    pub(in crate::send) fn of(file: &OwnedFd, size: u64, whole: bool, has: Stretches) -> io::Result<Self> {
        let (hole_min, first) = match whole {
            true => (HOLE_MIN, Some(0..size).filter(|all| !all.is_empty())),
            false => (hole_min(file, size)?, next_data(file, 0, size)?),
        };
        Ok(Self { size, hole_min, stretches: 0, stretch: 0..0, ahead: first, has })
    }

    /// The next piece, at most [`RANGE_LEN`] long.
    pub(in crate::send) fn next(&mut self, file: &OwnedFd) -> io::Result<Option<Range<u64>>> {
        self.next_up_to(RANGE_LEN as u64, file)
    }

    /// All of the next stretch to be sent.
    pub(in crate::send) fn next_whole(&mut self, file: &OwnedFd) -> io::Result<Option<Range<u64>>> {
        self.next_up_to(u64::MAX, file)
    }

    /// Takes back the end of the last returned stretch, from there on.
    pub(in crate::send) fn put_back(&mut self, rest: Range<u64>) {
        debug_assert_eq!(rest.end, self.stretch.start);
        self.stretch.start = rest.start;
    }

    fn next_up_to(&mut self, len: u64, file: &OwnedFd) -> io::Result<Option<Range<u64>>> {
        loop {
            if self.stretch.is_empty() {
                let Some(stretch) = self.next_stretch(file)? else { return Ok(None) };
                self.stretch = stretch;
            }
            let Some(gap) = self.has.first_gap(self.stretch.clone()) else {
                self.stretch.start = self.stretch.end;
                continue;
            };
            let piece = gap.start..gap.end.min(gap.start.saturating_add(len));
            self.stretch.start = piece.end;
            return Ok(Some(piece));
        }
    }

    /// The most bytes that can be left. It includes holes, and parts that the receiver has.
    pub(in crate::send) fn left(&self) -> u64 {
        match &self.ahead {
            None => self.stretch.end - self.stretch.start,
            Some(ahead) if self.stretch.is_empty() => self.size - ahead.start,
            Some(_) => self.size - self.stretch.start,
        }
    }

    /// The next stretch of data, including short holes in it.
    fn next_stretch(&mut self, file: &OwnedFd) -> io::Result<Option<Range<u64>>> {
        let Some(mut stretch) = self.ahead.take() else { return Ok(None) };
        self.stretches += 1;
        if self.stretches == STRETCHES_MAX {
            stretch.end = self.size;
            return Ok(Some(stretch));
        }
        while let Some(data) = next_data(file, stretch.end, self.size)? {
            if data.start - stretch.end >= self.hole_min {
                self.ahead = Some(data);
                break;
            }
            stretch.end = data.end;
        }
        Ok(Some(stretch))
    }
}

/// The shortest hole worth leaving out, so that no more than [`STRETCHES_MAX`] stretches remain: a
/// power of two.
fn hole_min(file: &OwnedFd, size: u64) -> io::Result<u64> {
    // The number of holes from 2^n bytes up to the next power.
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
        let mut pieces = Pieces::of(&file, at, false, Stretches::default()).unwrap();
        let (mut covered, mut end, mut bytes) = (0, 0, 0);
        while let Some(piece) = pieces.next(&file).unwrap() {
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
