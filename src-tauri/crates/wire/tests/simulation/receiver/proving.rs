//! The receiver's reading back: what was written is held against what the sender has read, once all
//! of it is on the medium.
use std::collections::VecDeque;

use ringway_wire::control::EntryFailed;
use ringway_wire::journal::Version;
use ringway_wire::lane::Digest;

use super::Receiver;
use super::site::{Site, path_of};
use crate::disk::PIECE;
use crate::source::digest;

/// A file that is whole, and what it must hold.
pub(super) struct Record {
    pub(super) version: Version,
    /// Where it lies.
    pub(super) place: Vec<u8>,
    /// By offset, and by chunk within a piece.
    pub(super) digests: Vec<(u64, usize, Digest)>,
}

/// Those of a transfer.
pub(super) type Records = VecDeque<Record>;

impl Receiver {
    /// Reads one file back; false at the end. What differs is removed, unless somebody has changed
    /// it since.
    pub(super) fn prove_on(&mut self, site: &mut Site) -> bool {
        let Some(Record { version, place, digests }) = self.records.pop_front() else { return false };
        let Some((_, file)) = site.disk.file(&place) else {
            // Somebody has removed it.
            self.failed(&version);
            return true;
        };
        let same = digests.iter().all(|(offset, chunk, told)| {
            let tag = file.pieces.get((offset / PIECE) as usize).copied().unwrap_or(0);
            digest(tag, *offset, *chunk) == *told
        });
        if !same {
            if file.mtime == version.mtime {
                site.disk.remove(&place);
            }
            site.held.remove(&version);
            self.failed(&version);
        }
        true
    }

    fn failed(&mut self, version: &Version) {
        self.failures += 1;
        self.there.files -= 1;
        self.there.bytes -= version.size;
        self.machine.entry_failed(EntryFailed { path: path_of(version), operation: 0, reason: 0, errno: 0 });
    }
}
