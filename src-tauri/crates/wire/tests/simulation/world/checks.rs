//! What must hold after every attempt.
use std::collections::HashMap;

use ringway_wire::limits::CHUNKED_SIZE_MIN;
use ringway_wire::resume::{HAS_MIN, NOTED_SIZE_MIN};

use super::World;
use super::attempt::Attempt;
use crate::receiver::Held;
use crate::source::{SMALL_MAX, SourceFile, TOP};

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

    /// What has its final name is whole, whatever version it is, also if the power goes now. In a
    /// folder that files are merged into one by one, the power may leave what is none, but never
    /// what passes for one.
    pub(super) fn check_whole(&mut self) {
        let mut after = self.site.disk.clone();
        after.lose_power(self.site.promise(), &mut self.random);
        let mut now = self.site.disk.clone();
        now.forget();
        for (disk, may_be_torn) in [(&now, self.site.was_torn), (&after, self.site.was_merged)] {
            for (name, file) in disk.tree(TOP) {
                let path = [TOP, &name].concat();
                // What has rotted is found out by who reads it back.
                if self.site.foreign.contains(&path) || file.is_rotten() {
                    continue;
                }
                let passes_for = self
                    .source
                    .versions(&path)
                    .find(|version| (version.size, version.mtime) == (file.size, file.mtime));
                let path = path.escape_ascii();
                match passes_for {
                    Some(version) => assert!(version.whole().is_like(&file), "{path} is not whole: {file:?}"),
                    None => assert!(may_be_torn, "{path} is no version: {file:?}"),
                }
            }
        }
    }

    /// There is what the receipt says, also if the power goes now, and nothing else.
    pub(super) fn check_receipt(&mut self, files: &[SourceFile], attempt: &Attempt) {
        let mut after = self.site.disk.clone();
        after.lose_power(self.site.promise(), &mut self.random);
        let mut now = self.site.disk.clone();
        now.forget();
        for disk in [&now, &after] {
            let mut there = disk.tree(TOP);
            for file in files {
                let path = file.path();
                let name = path.strip_prefix(TOP).expect("everything is in the top folder");
                let found = there.remove(name);
                let shown = path.escape_ascii();
                if attempt.failed.contains(&path) || self.site.foreign.contains(&path) {
                    continue;
                }
                let is_there = found.as_ref().is_some_and(|found| file.whole().is_like(found));
                let said = !attempt.failed_there.contains(&path);
                assert_eq!(is_there, said, "{shown}: {found:?}");
            }
            assert!(there.is_empty() || self.was_there, "nobody has sent {there:?}");
        }
    }
}
