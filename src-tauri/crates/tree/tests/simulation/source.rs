//! What is sent: a few small files and a large one or two, which change between attempts, wholly or
//! in part, and sometimes change back.
use std::ops::Range;

use ringway_wire::journal::Version;
use ringway_wire::lane::{Digest, Timestamp};

use super::disk::Found;
use super::random::Random;

/// Bytes of contents that are made at once: what one range carries.
pub(crate) const PIECE: u64 = 1024 * 1024;

/// Which contents a piece holds.
pub(crate) type Tag = u32;

/// Contents repeat after so many bytes, but for what says where they are.
const BLOCK: usize = 4096;

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
    stamp: u64,
    /// What each piece of it holds.
    pub(crate) pieces: Vec<Tag>,
}

impl SourceFile {
    pub(crate) fn path(&self) -> Vec<u8> {
        [&self.folder[..], b"/", &self.name].concat()
    }

    /// What tells this version from others. Small files have none.
    pub(crate) fn stamp(&self) -> u64 {
        if self.size > SMALL_MAX { self.stamp } else { 0 }
    }

    pub(crate) fn version(&self) -> Version {
        let (folder, name) = (self.folder.as_slice().into(), self.name.as_slice().into());
        Version { folder, name, size: self.size, mtime: self.mtime, stamp: self.stamp }
    }

    /// Whether a file that is found is this version, whole.
    pub(crate) fn is_like(&self, found: &Found) -> bool {
        (self.size, self.mtime) == (found.bytes.len() as u64, found.mtime) && self.bytes(0..self.size) == found.bytes
    }

    /// Some of its contents.
    pub(crate) fn bytes(&self, range: Range<u64>) -> Vec<u8> {
        let mut bytes = Vec::with_capacity((range.end - range.start) as usize);
        let mut at = range.start;
        while at < range.end {
            let end = ((at / PIECE + 1) * PIECE).min(range.end);
            add_contents(self.pieces[(at / PIECE) as usize], at % PIECE..at % PIECE + (end - at), &mut bytes);
            at = end;
        }
        bytes
    }

    /// What some of its contents are proven by.
    pub(crate) fn digest(&self, range: Range<u64>) -> Digest {
        Digest(*blake3::hash(&self.bytes(range)).as_bytes())
    }
}

/// Adds some of what a piece holds.
pub(crate) fn add_contents(tag: Tag, range: Range<u64>, bytes: &mut Vec<u8>) {
    let mut random = Random::new(tag.into());
    let block: Vec<u8> = (0..BLOCK / 8).flat_map(|_| random.number().to_le_bytes()).collect();
    let mut at = range.start as usize;
    while at < range.end as usize {
        let (number, within) = ((at / BLOCK) as u32, at % BLOCK);
        let end = ((at / BLOCK + 1) * BLOCK).min(range.end as usize);
        let from = bytes.len();
        bytes.extend_from_slice(&block[within..within + end - at]);
        for (place, byte) in number.to_le_bytes().iter().enumerate().filter(|(place, _)| *place >= within) {
            if let Some(there) = bytes.get_mut(from + place - within) {
                *there ^= byte;
            }
        }
        at = end;
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
        for _ in 0..random.below(2) {
            let size = (random.below(3) as u64 + 7) * PIECE + random.below(PIECE as usize) as u64;
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
        let pieces = (0..size.div_ceil(PIECE)).map(|_| self.tag()).collect();
        let (mtime, stamp) = (time(random, wall_secs), self.tag().into());
        self.files.push(SourceFile { folder, name, size, mtime, stamp, pieces });
    }

    fn tag(&mut self) -> Tag {
        self.tags += 1;
        self.tags
    }

    /// Every version that there is or was of a file.
    pub(crate) fn versions<'s>(&'s self, path: &'s [u8]) -> impl Iterator<Item = &'s SourceFile> {
        self.files.iter().chain(&self.past).filter(move |file| file.path() == path)
    }

    /// Something is written to a file, which may keep its length, and most of its contents.
    pub(crate) fn change(&mut self, random: &mut Random, which: usize, wall_secs: i64) {
        self.past.push(self.files[which].clone());
        let path = self.files[which].path();
        // Two versions of one length and time are equal to a comparison by these.
        let mtime = loop {
            let mtime = time(random, wall_secs);
            if self.past.iter().all(|past| past.mtime != mtime || past.path() != path) {
                break mtime;
            }
        };
        // It stays as large as it was to be sent the same way.
        let longer = random.below(2) as u64;
        let all = random.once_in(2);
        let size = self.files[which].size + longer;
        let mut pieces = self.files[which].pieces.clone();
        pieces.resize(size.div_ceil(PIECE) as usize, 0);
        let last = pieces.len().saturating_sub(1);
        for (at, piece) in pieces.iter_mut().enumerate() {
            if all || at == last || *piece == 0 || random.once_in(4) {
                *piece = self.tag();
            }
        }
        let stamp = self.tag().into();
        let file = &mut self.files[which];
        (file.size, file.mtime, file.stamp, file.pieces) = (size, mtime, stamp, pieces);
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
                self.past.extend(self.files.extract_if(.., |file| file.path() == back.path()));
                self.files.push(back);
            }
            _ => {}
        }
    }
}

/// A time of last change: long ago mostly, sometimes about when the first attempt begins, but so
/// far from that that it does not matter how long the story takes.
fn time(random: &mut Random, wall_secs: i64) -> Timestamp {
    let secs = match random.below(4) {
        0 => wall_secs + [-1000, 1000][random.below(2)] + random.below(6) as i64,
        _ => random.below(1000) as i64,
    };
    Timestamp { secs, nanos: 0 }
}
