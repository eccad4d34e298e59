//! What is sent: a few small files and a large one or two, which change between attempts, and sometimes change back.
use ringway_wire::lane::Timestamp;

use super::disk::{PIECE, Tag};
use super::random::Random;

/// The folder that everything is in.
pub(crate) const TOP: &[u8] = b"data";

/// Larger ones are sent in ranges.
pub(crate) const SMALL_MAX: u64 = 256 * 1024;

/// One version of one file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SourceFile {
    pub(crate) folder: Vec<u8>,
    pub(crate) name: Vec<u8>,
    pub(crate) size: u64,
    pub(crate) mtime: Timestamp,
    pub(crate) tag: Tag,
}

impl SourceFile {
    pub(crate) fn path(&self) -> Vec<u8> {
        [&self.folder[..], b"/", &self.name].concat()
    }
}

#[derive(Default)]
pub(crate) struct Source {
    pub(crate) files: Vec<SourceFile>,
    /// Versions that were replaced.
    past: Vec<SourceFile>,
    tags: Tag,
}

impl Source {
    pub(crate) fn new(random: &mut Random, wall_secs: i64) -> Self {
        let mut source = Self::default();
        for _ in 0..random.below(7) {
            let size = random.below(SMALL_MAX as usize) as u64;
            source.add(random, size, wall_secs);
        }
        for _ in 0..random.below(3) {
            let size = (random.below(4) as u64 + 7) * PIECE + random.below(PIECE as usize) as u64;
            source.add(random, size, wall_secs);
        }
        if random.once_in(4) || source.files.is_empty() {
            let size = 2 * PIECE + random.below(9) as u64;
            source.add(random, size, wall_secs);
        }
        source
    }

    fn add(&mut self, random: &mut Random, size: u64, wall_secs: i64) {
        let folder = match random.below(3) {
            0 => TOP.to_vec(),
            number => [TOP, format!("/sub{number}").as_bytes()].concat(),
        };
        let name = format!("file{}", self.files.len()).into_bytes();
        let file = SourceFile { folder, name, size, mtime: time(random, wall_secs), tag: self.tag() };
        self.files.push(file);
    }

    fn tag(&mut self) -> Tag {
        self.tags += 1;
        self.tags
    }

    /// Something is written to a file, which may keep its length.
    pub(crate) fn change(&mut self, random: &mut Random, which: usize, wall_secs: i64) {
        let tag = self.tag();
        self.past.push(self.files[which].clone());
        let path = self.files[which].path();
        // Two versions of one length and time are one to whoever compares by these.
        let mtime = loop {
            let mtime = time(random, wall_secs);
            if self.past.iter().all(|past| past.mtime != mtime || past.path() != path) {
                break mtime;
            }
        };
        let file = &mut self.files[which];
        (file.tag, file.mtime) = (tag, mtime);
        if random.once_in(2) {
            // It stays as large as it was to be sent the same way.
            file.size += 1;
        }
    }

    /// What happens to the source between two attempts.
    pub(crate) fn meanwhile(&mut self, random: &mut Random, wall_secs: i64) {
        match random.below(8) {
            0 | 1 => {
                let which = random.below(self.files.len());
                self.change(random, which, wall_secs);
            }
            2 if self.files.len() > 1 => {
                let which = random.below(self.files.len());
                let gone = self.files.remove(which);
                self.past.push(gone);
            }
            3 if !self.past.is_empty() => {
                // From a backup, with its time.
                let which = random.below(self.past.len());
                let back = self.past[which].clone();
                self.files.retain(|file| file.path() != back.path());
                self.files.push(back);
            }
            _ => {}
        }
    }
}

/// A time of last change: long ago mostly, sometimes about now.
fn time(random: &mut Random, wall_secs: i64) -> Timestamp {
    let secs = match random.below(4) {
        0 => wall_secs - 4 + random.below(6) as i64,
        _ => random.below(1000) as i64,
    };
    Timestamp { secs, nanos: 0 }
}
