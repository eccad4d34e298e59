//! What must hold after every attempt.
use std::collections::HashMap;

use ringway_wire::limits::CHUNKED_SIZE_MIN;
use ringway_wire::resume::{HAS_MIN, NOTED_SIZE_MIN};

use super::World;
use super::attempt::Attempt;
use crate::receiver::{Held, is_staging};
use crate::sender::{FOLDER_MODE, FOLDER_MTIME};
use crate::source::{SMALL_MAX, SourceFile, TOP};

/// Whether a name in a folder that everybody sees is one of Ringway's own.
fn is_temporary(path: &[u8]) -> bool {
    path.rsplit(|byte| *byte == b'/').next().is_some_and(is_staging)
}

/// Whether a name says that its file is not what was sent.
fn is_unverified(path: &[u8]) -> bool {
    path.windows(MARK.len()).any(|part| part == MARK)
}

const MARK: &[u8] = b" (not verified";

impl World {
    /// Nothing was sent that had been there.
    pub(super) fn check_sent(&mut self, files: &[SourceFile], sent: &HashMap<Vec<u8>, u64>) {
        for file in files {
            let is_large = file.size > SMALL_MAX;
            let there = match self.expected.get(&file.version()) {
                // What is to be proven is not believed, but compared, which takes both to have it
                // small.
                _ if self.proves && is_large => 0,
                // One as young as the first attempt is not believed to be whole, but compared.
                _ if self.was_suspect && file.size >= CHUNKED_SIZE_MIN => 0,
                Some(Held::Whole) if file.size < CHUNKED_SIZE_MIN => file.size,
                Some(Held::Whole) if file.mtime.secs < self.trusted_secs => file.size,
                Some(Held::Noted(_)) if self.was_compared => 0,
                Some(Held::Noted(has)) if file.size >= NOTED_SIZE_MIN && has.total() >= HAS_MIN => has.total(),
                _ => 0,
            };
            let sent = sent.get(&file.path()).copied().unwrap_or(0);
            let path = file.path().escape_ascii().to_string();
            assert!(sent <= file.size - there, "{path}: {sent} bytes of {} sent, {there} were there", file.size);
            self.told.spared += there;
        }
    }

    /// What has its final name is whole, whatever version it is, also if the power goes now.
    pub(super) fn check_whole(&mut self) {
        let state = self.site.disk.state();
        state.check_folder();
        let after = state.after(self.site.promise(), &mut self.losses);
        for (when, after) in [("now", None), ("after a power cut", Some(&after))] {
            for (name, file) in state.files(TOP, after) {
                let path = [TOP, &name].concat();
                // What has rotted is found out by who reads it back. Temporary names go with the
                // next attempt.
                if self.site.foreign.contains(&path) || file.is_rotten || is_temporary(&path) || is_unverified(&path) {
                    continue;
                }
                let is_whole = self.source.versions(&path).any(|version| version.is_like(&file));
                let (path, len, mtime) = (path.escape_ascii(), file.bytes.len(), file.mtime);
                assert!(is_whole, "{path} is no version {when}: {len} bytes, {mtime:?}");
            }
        }
    }

    /// What is whole needs no staging folder any more.
    pub(super) fn check_nothing_stays(&self) {
        assert!(!self.site.has_staging(), "a staging folder is left");
    }

    /// Folders that nobody else has written to are as they were sent.
    pub(super) fn check_folders(&self) {
        for (path, mode, mtime) in self.site.disk.state().folders(TOP) {
            assert_eq!((mode, mtime), (FOLDER_MODE.into(), FOLDER_MTIME), "{}", path.escape_ascii());
        }
    }

    /// There is what the receipt says, also if the power goes now, and nothing else.
    pub(super) fn check_receipt(&mut self, files: &[SourceFile], attempt: &Attempt) {
        let state = self.site.disk.state();
        let after = state.after(self.site.promise(), &mut self.losses);
        for (when, after) in [("now", None), ("after a power cut", Some(&after))] {
            let mut there = state.files(TOP, after);
            for file in files {
                let path = file.path();
                let name = path.strip_prefix(TOP).expect("everything is in the top folder");
                let found = there.remove(name);
                let shown = path.escape_ascii();
                if attempt.failed.contains(&path) || self.site.foreign.contains(&path) {
                    continue;
                }
                let is_there = found.as_ref().is_some_and(|found| file.is_like(found));
                let said = !attempt.failed_there.contains(&path);
                assert_eq!(is_there, said, "{shown} {when}: {:?}", found.map(|found| (found.bytes.len(), found.mtime)));
            }
            let is_left = there.keys().any(|path| is_temporary(path));
            assert!(!is_left || after.is_some(), "a temporary name is left: {:?}", there.keys());
            assert!(there.is_empty() || self.was_there, "nobody has sent {:?}", there.keys());
        }
    }
}
