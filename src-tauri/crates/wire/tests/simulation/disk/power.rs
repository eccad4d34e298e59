//! What is still there when the power has gone and come back.
use std::collections::{BTreeMap, HashSet};

use ringway_wire::lane::Timestamp;

use super::{Disk, File, Node};
use crate::random::Random;

/// Something that one call did to a name, a size or a time.
#[derive(Clone)]
pub(super) struct Change {
    pub(super) call: u32,
    pub(super) undo: Undo,
}

/// What was before.
#[derive(Clone)]
pub(super) enum Undo {
    Name { folder: usize, name: Vec<u8>, before: Option<usize> },
    Size { node: usize, before: u64 },
    Time { node: usize, before: Timestamp },
}

/// What a filesystem promises for the case that the power goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Promise {
    /// Nothing but what was synchronised.
    Nothing,
    /// Names, sizes and times are of one moment, as with every filesystem that has a journal;
    /// contents come when they like, and take a length that they make with them.
    Order,
}

impl Disk {
    /// syncfs(2).
    pub(crate) fn sync(&mut self) {
        self.stable.clone_from(&self.nodes);
        self.log.clear();
    }

    /// fsync(2) of a folder: the names in it, and with a journal all before.
    pub(crate) fn sync_folder(&mut self, path: &[u8]) {
        let node = self.find(path).expect("a folder");
        self.stable.extend_from_slice(&self.nodes[self.stable.len()..]);
        self.stable[node] = self.nodes[node].clone();
        self.log.clear();
    }

    /// The medium refuses some of what was not synchronised. Who was told of it is not there any
    /// more.
    pub(crate) fn refuse_writes(&mut self, random: &mut Random) {
        for (node, stable) in self.nodes.iter_mut().zip(self.stable.iter().map(Some).chain(std::iter::repeat(None))) {
            let Node::File(now) = node else { continue };
            let before = before(stable);
            for (at, piece) in now.pieces.iter().enumerate().filter(|_| !now.is_out) {
                let old = before.pieces.get(at).copied().unwrap_or(0);
                if *piece != old && random.once_in(2) && now.refused.iter().all(|(refused, _)| *refused != at) {
                    now.refused.push((at, old));
                }
            }
        }
    }

    /// Memory lets go of all files.
    pub(crate) fn forget(&mut self) {
        for node in &mut self.nodes {
            if let Node::File(file) = node {
                file.forget();
            }
        }
    }

    /// The power goes and comes back.
    pub(crate) fn lose_power(&mut self, promise: Promise, random: &mut Random) {
        match promise {
            Promise::Nothing => self.lose_any(random),
            Promise::Order => self.lose_the_last(random),
        }
        self.forget();
        self.sync();
    }

    /// Each name and each piece that was not synchronised by itself. What was renamed has its old
    /// name or its new one.
    fn lose_any(&mut self, random: &mut Random) {
        let mut named = HashSet::new();
        for (node, stable) in self.nodes.iter_mut().zip(self.stable.iter().map(Some).chain(std::iter::repeat(None))) {
            match (node, stable) {
                (Node::Folder(now), stable) => {
                    let mut before = match stable {
                        Some(Node::Folder(entries)) => entries.clone(),
                        _ => BTreeMap::new(),
                    };
                    before.retain(|name, node| now.get(name) == Some(node) || !random.once_in(2));
                    now.retain(|name, node| before.get(name) == Some(node) || !random.once_in(2));
                    before.append(now);
                    before.retain(|_, node| named.insert(*node));
                    *now = before;
                }
                (Node::File(now), stable) => {
                    let before = before(stable);
                    if random.once_in(2) {
                        now.mtime = before.mtime;
                    }
                    let size = if random.once_in(2) { before.size } else { now.size };
                    now.resize(size);
                    now.lose_pieces(&before, random);
                    if random.once_in(2) && now.bytes.len() > before.bytes.len() {
                        let lost = random.below(now.bytes.len() - before.bytes.len()) + before.bytes.len();
                        now.bytes[lost..].fill(0);
                    }
                }
            }
        }
    }

    /// What calls did from some moment on, and of contents whatever was not written out.
    fn lose_the_last(&mut self, random: &mut Random) {
        for (node, stable) in self.nodes.iter_mut().zip(self.stable.iter().map(Some).chain(std::iter::repeat(None))) {
            let Node::File(now) = node else { continue };
            if now.is_out {
                continue;
            }
            let before = before(stable);
            match now.grows {
                false => now.lose_pieces(&before, random),
                true if random.once_in(2) => now.resize(before.size),
                true => {}
            }
            if random.once_in(2) {
                now.bytes.clone_from(&before.bytes);
            }
        }
        let calls = self.log.first().map_or(0, |first| (self.calls + 1 - first.call) as usize);
        let lost = self.calls + 1 - random.below(calls + 1) as u32;
        while let Some(Change { undo, .. }) = self.log.pop_if(|change| change.call >= lost) {
            match undo {
                Undo::Name { folder, name, before } => {
                    let Node::Folder(entries) = &mut self.nodes[folder] else { continue };
                    match before {
                        Some(node) => drop(entries.insert(name, node)),
                        None => drop(entries.remove(&name)),
                    }
                }
                Undo::Size { node, before } => self.file_mut(node).resize(before),
                Undo::Time { node, before } => self.file_mut(node).mtime = before,
            }
        }
    }
}

fn before(stable: Option<&Node>) -> File {
    match stable {
        Some(Node::File(file)) => file.clone(),
        _ => File::default(),
    }
}

impl File {
    fn lose_pieces(&mut self, before: &Self, random: &mut Random) {
        for (at, piece) in self.pieces.iter_mut().enumerate() {
            if random.once_in(2) {
                *piece = before.pieces.get(at).copied().unwrap_or(0);
            }
        }
    }
}
