//! The receiver's accounting of one transfer: which ranges of which files arrived, the counts, and
//! whether they add up.
use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;

use crate::ProtocolError;
use crate::lane::{Batch, ChunkWindow, Counts, EntryKind, FrameHeader, RangeHead, RangeStep};
use crate::limits::{OPEN_RANGED_MAX, RANGE_PIECES_MAX};
use crate::stretches::Stretches;

/// Separate stretches of ended ids. Ids count up on each lane, so only lanes and open files
/// separate them.
const ENDED_PIECES_MAX: usize = 2 * OPEN_RANGED_MAX;

/// What the receiver has to do with a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeVerdict {
    /// It is the first of its file to arrive: create the file.
    pub first: bool,
    /// The state of the file after it.
    pub state: RangedState,
}

/// The state of a ranged file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangedState {
    /// More ranges follow.
    Partial,
    /// Every byte has arrived.
    Whole,
    /// The sender gave it up, and no more of it arrives: remove it.
    Abandoned,
}

/// Ranges and windows of one file that were booked and are being written. The file has ended once
/// none of them is left.
#[derive(Debug, Default)]
pub struct Writing {
    under_way: u32,
    ended: Option<RangedState>,
}

impl Writing {
    /// Notes that a range was booked, after which the file is in that state.
    pub fn begin(&mut self, state: RangedState) {
        self.under_way += 1;
        if state != RangedState::Partial {
            self.ended = Some(state);
        }
    }

    /// Notes that a range was handled, written or not. Returns the file's final state if it was the
    /// last one.
    pub fn end(&mut self) -> Option<RangedState> {
        self.under_way -= 1;
        self.ended.filter(|_| self.under_way == 0)
    }
}

/// One file in ranges.
#[derive(Debug, Default)]
struct Ranged {
    size: u64,
    /// The stamp of its version.
    stamp: u64,
    received: u64,
    /// What its end has declared: the bytes of all ranges, and the state once these have arrived.
    end: Option<(u64, RangedState)>,
    pieces: Stretches,
    /// The parts that windows of chunks have described.
    windows: Stretches,
}

/// The accounting of a transfer, shared by its lanes.
#[derive(Debug, Default)]
pub struct Ledger {
    open: HashMap<u64, Ranged>,
    ended: Stretches,
    arrived: Counts,
}

impl Ledger {
    /// The counts of what has arrived on all lanes.
    pub fn arrived(&self) -> Counts {
        self.arrived
    }

    /// Counts a batch.
    pub fn batch(&mut self, batch: &Batch<'_>) {
        self.arrived += batch.counts();
    }

    /// Counts files that were listed and are not wanted as if their bytes had arrived.
    pub fn listed(&mut self, unwanted: Counts) {
        self.arrived += unwanted;
    }

    /// Begins a file of which the receiver has these stretches already. [`listed`](Self::listed)
    /// has counted their bytes, and the file's end includes them.
    ///
    /// # Errors
    /// If the id is in use, or has ended.
    pub fn resume(&mut self, id: u64, size: u64, stamp: u64, pieces: Stretches) -> Result<(), ProtocolError> {
        let why = "it cannot be gone on with";
        if self.ended.contains(id) || self.open.contains_key(&id) || self.open.len() >= OPEN_RANGED_MAX {
            return Err(ProtocolError::Range { id, why });
        }
        self.open.insert(id, Ranged { size, stamp, received: pieces.total(), pieces, ..Ranged::default() });
        Ok(())
    }

    /// Whether a file in ranges with this id is open.
    pub fn is_open(&self, id: u64) -> bool {
        self.open.contains_key(&id)
    }

    /// Books a window of chunks, before it is processed. No part of a file is asked about twice,
    /// nor after it has arrived. Returns whether it is the file's first frame to arrive.
    pub fn window(&mut self, window: &ChunkWindow<'_>) -> Result<bool, ProtocolError> {
        let (file, first) = self.file(window.head())?;
        let id = window.head().file_id;
        if !file.windows.add(window.range().start, window.range().end) {
            return Err(ProtocolError::Range { id, why: "overlapping" });
        }
        if file.windows.len() > RANGE_PIECES_MAX {
            return Err(ProtocolError::Range { id, why: "too scattered" });
        }
        Ok(first)
    }

    /// Books the stretches of a file whose chunks were found, so that they are not sent. Both ends
    /// count them as if they had arrived. Returns the state of the file.
    pub fn copied(
        &mut self,
        head: &RangeHead<'_>,
        stretches: impl IntoIterator<Item = Range<u64>>,
    ) -> Result<RangedState, ProtocolError> {
        let id = head.file_id;
        let (file, _) = self.file(head)?;
        let mut bytes = 0;
        for stretch in stretches {
            if !file.pieces.add(stretch.start, stretch.end) {
                return Err(ProtocolError::Range { id, why: "overlapping" });
            }
            // Stretches do not overlap, so the largest file bounds their sum.
            bytes += stretch.end - stretch.start;
        }
        if file.pieces.len() > RANGE_PIECES_MAX {
            return Err(ProtocolError::Range { id, why: "too scattered" });
        }
        file.received = file.received.saturating_add(bytes);
        self.arrived += Counts { bytes, ..Counts::default() };
        self.state(id)
    }

    /// The file of a frame, begun if this is its first frame.
    fn file(&mut self, head: &RangeHead<'_>) -> Result<(&mut Ranged, bool), ProtocolError> {
        let id = head.file_id;
        let EntryKind::File { size, .. } = head.entry.kind else {
            return Err(ProtocolError::BadValue("ranged entry"));
        };
        if self.ended.contains(id) {
            return Err(ProtocolError::Range { id, why: "the file has ended" });
        }
        let first = !self.open.contains_key(&id);
        if first && self.open.len() >= OPEN_RANGED_MAX {
            let limit = OPEN_RANGED_MAX as u64;
            return Err(ProtocolError::TooLarge { what: "files in ranges", value: limit + 1, limit });
        }
        let file = self.open.entry(id).or_insert_with(|| Ranged { size, stamp: head.stamp, ..Ranged::default() });
        if file.size != size {
            return Err(ProtocolError::Range { id, why: "its size changed" });
        }
        // One file must not be put together from two versions.
        if file.stamp != head.stamp {
            return Err(ProtocolError::Range { id, why: "its version changed" });
        }
        Ok((file, first))
    }

    /// The state of a file. A file that has ended is closed.
    fn state(&mut self, id: u64) -> Result<RangedState, ProtocolError> {
        let refuse = |why| Err(ProtocolError::Range { id, why });
        let state = match self.open.get(&id) {
            Some(Ranged { end: Some((data_bytes, state)), received, .. }) => match received.cmp(data_bytes) {
                Ordering::Greater => return refuse("more bytes than declared"),
                Ordering::Equal => *state,
                Ordering::Less => RangedState::Partial,
            },
            _ => RangedState::Partial,
        };
        if state != RangedState::Partial {
            self.open.remove(&id);
            if !self.ended.add(id, id + 1) || self.ended.len() > ENDED_PIECES_MAX {
                return refuse("ids out of order");
            }
        }
        Ok(state)
    }

    /// Books a range, before it is processed.
    pub fn range(&mut self, header: &FrameHeader, head: &RangeHead<'_>) -> Result<RangeVerdict, ProtocolError> {
        let id = head.file_id;
        let refuse = |why| Err(ProtocolError::Range { id, why });
        let (file, first) = self.file(head)?;
        let len = u64::from(header.body_len);
        if len > 0 && !file.pieces.add(head.offset, head.offset + len) {
            return refuse("overlapping");
        }
        if file.pieces.len() > RANGE_PIECES_MAX {
            return refuse("too scattered");
        }
        file.received = file.received.saturating_add(len);
        let end = match head.step {
            RangeStep::More => None,
            RangeStep::Last { data_bytes } => Some((data_bytes, RangedState::Whole)),
            RangeStep::Abandoned { data_bytes } => Some((data_bytes, RangedState::Abandoned)),
        };
        if let Some((data_bytes, state)) = end {
            if file.end.replace((data_bytes, state)).is_some() {
                return refuse("two ends");
            }
            if data_bytes > file.size {
                return refuse("more data than size");
            }
            self.arrived += Counts { files: u64::from(state == RangedState::Whole), ..Counts::default() };
        }
        self.arrived += Counts { bytes: len, ..Counts::default() };
        Ok(RangeVerdict { first, state: self.state(id)? })
    }

    /// At the end, when every lane has ended: no file may be open, and the declared counts must
    /// have arrived.
    pub fn settle(&self, declared: &Counts) -> Result<(), ProtocolError> {
        if let Some((id, _)) = self.open.iter().next() {
            return Err(ProtocolError::Range { id: *id, why: "missing" });
        }
        let pairs = [
            ("files", declared.files, self.arrived.files),
            ("folders", declared.folders, self.arrived.folders),
            ("links", declared.links, self.arrived.links),
            ("bytes", declared.bytes, self.arrived.bytes),
        ];
        match pairs.into_iter().find(|(_, declared, found)| declared != found) {
            Some((what, declared, found)) => Err(ProtocolError::Totals { what, declared, found }),
            None => Ok(()),
        }
    }
}
