//! What must hold after every attempt.
use std::collections::{BTreeSet, HashMap};

use ringway_wire::resume::{HAS_MIN, NOTED_SIZE_MIN};

use super::World;
use crate::disk::{File, PIECE, Tag};
use crate::receiver::Held;
use crate::source::{SourceFile, TOP};

impl World {
    /// Nothing was sent that had been there.
    pub(super) fn check_sent(
        &mut self,
        files: &[SourceFile],
        held: &HashMap<(Vec<u8>, Tag), Held>,
        sent: &HashMap<Vec<u8>, u64>,
    ) {
        for file in files {
            let there = match held.get(&(file.path(), file.tag)) {
                // One as young as the first attempt is not believed to be whole.
                Some(Held::Whole(mtime)) if mtime.secs < 100_000 - 2 => file.size,
                Some(Held::Noted(has)) if file.size >= NOTED_SIZE_MIN && has.total() >= HAS_MIN => has.total(),
                _ => 0,
            };
            let sent = sent.get(&file.path()).copied().unwrap_or(0);
            let path = file.path().escape_ascii().to_string();
            assert!(sent <= file.size - there, "{path}: {sent} bytes of {} sent, {there} were there", file.size);
            self.spared += there;
        }
    }

    /// What has its final name is whole, whatever version it is, also if the power goes now.
    pub(super) fn check_whole(&mut self) {
        let mut after = self.site.disk.clone();
        if !self.site.was_merged {
            after.lose_power(&mut self.random);
        }
        for disk in [&self.site.disk, &after] {
            for (path, file) in disk.tree(TOP) {
                let path = path.escape_ascii().to_string();
                assert!(is_one_version(&file), "{path} is not whole: {file:?}");
            }
        }
    }

    /// There is what the receipt says, also if the power goes now, and nothing else.
    pub(super) fn check_receipt(&mut self, files: &[SourceFile], failed: &BTreeSet<Vec<u8>>) {
        let mut after = self.site.disk.clone();
        after.lose_power(&mut self.random);
        for disk in [&self.site.disk, &after] {
            let mut there = disk.tree(TOP);
            for file in files.iter().filter(|file| !failed.contains(&file.path())) {
                let path = file.path();
                let name = path.strip_prefix(TOP).expect("everything is in the top folder");
                let found = there.remove(name);
                let pieces = vec![file.tag; file.size.div_ceil(PIECE) as usize];
                let whole = File { size: file.size, mtime: file.mtime, pieces, bytes: Vec::new() };
                assert_eq!(found, Some(whole), "{}", path.escape_ascii());
            }
            assert!(there.is_empty() || self.was_there, "nobody has sent {there:?}");
        }
    }
}

/// A file that is there under its final name is of one version from end to end, with no hole.
fn is_one_version(file: &File) -> bool {
    file.pieces.iter().all(|tag| *tag != 0 && Some(tag) == file.pieces.first())
}
