//! Answers a window of chunks of a large file: copies those that are in the file that it replaces,
//! or in what an earlier attempt has of it, and asks for the others.
use std::ops::Range;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;
use ringway_sys::attributes::Kind;
use ringway_sys::file_io::FileIo;
use ringway_wire::control::Wanted;
use ringway_wire::lane::{ChunkWindow, Entry, EntryKind};
use ringway_wire::ledger::RangedState;
use ringway_wire::limits::CHUNKED_SIZE_MIN;
use ringway_wire::stretches::Stretches;

use crate::disk::NameIn;
use crate::page_buffer::PageBuffer;
use crate::receive::failures::{LaneError, Spared};
use crate::receive::lane::Worker;
use crate::receive::lane::basis::{BASIS_SIZE_MIN, Basis};
use crate::receive::lane::large_files::{Made, Part, RangedFile};
use crate::receive::merge::folders::Folder;
use crate::receive::merge::landing::Decision;

impl Worker<'_> {
    /// Bytes of the file that an entry replaces; 0 where chunks cannot be looked for in it.
    pub(in crate::receive) fn basis_of(&self, folder: &Folder, entry: &Entry<'_>) -> u64 {
        let is_large = matches!(entry.kind, EntryKind::File { size, .. } if size >= CHUNKED_SIZE_MIN);
        if !is_large
            || folder.is_staged()
            || !matches!(self.incoming.policy.decide(folder, entry), Ok(Decision::Replace))
        {
            return 0;
        }
        let there = folder.dir.metadata(entry.name.as_bytes()).ok();
        there.filter(|there| there.kind == Kind::File && there.size >= BASIS_SIZE_MIN).map_or(0, |there| there.size)
    }

    /// Takes in one window.
    pub(in crate::receive) fn chunks(
        &mut self,
        window: &ChunkWindow<'_>,
        buffer: &mut PageBuffer,
        io: &mut FileIo,
    ) -> Result<(), LaneError> {
        let (incoming, head) = (self.incoming, window.head());
        let file = incoming
            .accounts
            .book(head, &incoming.results.tally, |ledger| ledger.window(window).map(|_| RangedState::Partial))?;
        let made = self.made(&file, head)?;
        let found = match made {
            Made::Filling(part) if file.takes_more() => self.copy(&file, part, window, buffer, io)?,
            _ => vec![false; window.len()],
        };
        let is_of_earlier_attempt = matches!(made, Made::Filling(part) if part.same.is_some());
        let there = stretches(window, &found);
        let bytes = there.iter().map(|range| range.end - range.start).sum();
        file.bytes.fetch_add(bytes, Ordering::Relaxed);
        incoming.results.tally.moving(bytes);
        let reused = if is_of_earlier_attempt { 0 } else { bytes };
        file.spare(&incoming.results.tally, Spared { all: bytes, reused });
        incoming.accounts.book(head, &incoming.results.tally, |ledger| ledger.copied(head, there))?;
        let files = found.iter().map(|found| !found).collect();
        incoming.sender.answer(Wanted {
            list: window.number(),
            files,
            has: Stretches::default(),
            basis: 0,
            kept: Vec::new(),
        })?;
        incoming.staging.wrote(bytes, || incoming.accounts.huge_files());
        // It was booked twice: to be looked for, and what was found.
        self.done_with(&file, head)?;
        self.done_with(&file, head)
    }

    /// Copies what is there of a window, and says which of its chunks that is.
    fn copy(
        &mut self,
        file: &RangedFile,
        part: &Part,
        window: &ChunkWindow<'_>,
        buffer: &mut PageBuffer,
        io: &mut FileIo,
    ) -> Result<Vec<bool>, LaneError> {
        let (incoming, head) = (self.incoming, window.head());
        let EntryKind::File { size, .. } = head.entry.kind else {
            unreachable!("the codec takes windows of files only")
        };
        let basis = file.basis.get_or_init(|| {
            let opened = match &part.same {
                Some(same) => {
                    let NameIn { dir, name } = same.place();
                    Basis::open(dir, name, size, &incoming.accounts.bases).map(Basis::where_it_was)
                }
                None if part.decision == Decision::Replace => {
                    Basis::open(&part.place.folder.dir, &part.place.name, size, &incoming.accounts.bases)
                }
                None => None,
            };
            opened.map(Mutex::new)
        });
        let Some(basis) = basis else { return Ok(vec![false; window.len()]) };
        let write = |offset, bytes: &[u8]| {
            incoming.quota.take(bytes.len() as u64).map_err(std::io::Error::other)?;
            part.write(incoming, offset, bytes, io)
        };
        let copied = basis.lock().copy(window, buffer, write, || incoming.check_running().is_err());
        let found = match copied {
            Ok(found) => found,
            Err(error) => {
                self.failed_to_write(file, head, error)?;
                vec![false; window.len()]
            }
        };
        if let Some(proof) = &incoming.proof {
            for ((range, digest), _) in window.chunks().zip(&found).filter(|(_, found)| **found) {
                let len = (range.end - range.start) as usize;
                proof.part(&file.parts, range.start, len, digest, &incoming.staging.dir)?;
            }
        }
        Ok(found)
    }
}

/// The chunks that were found, neighbours together.
fn stretches(window: &ChunkWindow<'_>, found: &[bool]) -> Vec<Range<u64>> {
    let mut stretches: Vec<Range<u64>> = Vec::new();
    for ((range, _), _) in window.chunks().zip(found).filter(|(_, found)| **found) {
        match stretches.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => stretches.push(range),
        }
    }
    stretches
}
