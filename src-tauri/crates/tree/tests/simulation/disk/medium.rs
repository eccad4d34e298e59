//! What the medium has: what is still there when the power has gone and come back.
use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use ringway_sys::attributes::{Timestamp as Ctime, metadata_of};
use ringway_sys::file_io::write_all_at;
use ringway_wire::lane::Timestamp;
use rustix::fs::{AtFlags, CWD, Mode, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno;

use super::{Attributes, BLOCK, Contents, Ino, Names, State, What, errno};
use crate::random::Random;

/// Something that one call did to a name, a size, a mode or a time.
pub(super) struct Change {
    pub(super) call: usize,
    pub(super) undo: Undo,
}

/// What was before.
pub(super) enum Undo {
    Name { folder: Ino, name: Vec<u8>, before: Option<Ino> },
    Size { file: Ino, before: u64 },
    Mode { of: Ino, before: u32 },
    Time { of: Ino, before: Timestamp },
}

/// What something was when it was synchronised last.
#[derive(Clone, Default)]
pub(super) struct Stable {
    pub(super) names: Names,
    pub(super) attributes: Attributes,
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

/// What is there after a power cut.
pub(crate) struct After {
    pub(super) names: HashMap<Ino, Names>,
    pub(super) attributes: HashMap<Ino, Attributes>,
    /// Contents that are not what memory had.
    pub(super) contents: HashMap<Ino, Vec<u8>>,
}

impl State {
    /// syncfs(2).
    pub(super) fn sync(&mut self) {
        for node in self.nodes.values_mut() {
            if let What::File(contents) = &mut node.what {
                contents.medium = None;
            }
        }
        self.log.clear();
        self.bury();
        let stable = |(number, node): (&Ino, &super::Node)| {
            let names = if let What::Folder(names) = &node.what { names.clone() } else { Names::new() };
            (*number, Stable { names, attributes: node.attributes })
        };
        self.stable = self.nodes.iter().map(stable).collect();
    }

    /// Forgets what no name leads to.
    fn bury(&mut self) {
        let mut reached = HashSet::new();
        let mut left = vec![self.root];
        while let Some(number) = left.pop() {
            if reached.insert(number)
                && let Some(What::Folder(names)) = self.nodes.get(&number).map(|node| &node.what)
            {
                left.extend(names.values());
            }
        }
        for number in self.nodes.keys().filter(|number| !reached.contains(number)) {
            let name = number.to_string();
            let removed = rustix::fs::unlinkat(&self.grave, &name, AtFlags::empty());
            let _ = removed.or_else(|_| rustix::fs::unlinkat(&self.grave, &name, AtFlags::REMOVEDIR));
        }
        self.nodes.retain(|number, _| reached.contains(number));
    }

    /// fsync(2) of a folder: the names in it and what it is itself, and with a journal all before.
    pub(super) fn sync_folder(&mut self, folder: Ino) {
        for (number, node) in &self.nodes {
            let attributes = node.attributes;
            let names = || if let What::Folder(names) = &node.what { names.clone() } else { Names::new() };
            self.stable.entry(*number).or_insert_with(|| Stable { names: names(), attributes });
        }
        let (names, attributes) = (self.names(folder).clone(), self.nodes[&folder].attributes);
        self.stable.insert(folder, Stable { names, attributes });
        self.log.clear();
    }

    /// A file's contents are on the medium, and what it takes to read them.
    pub(super) fn write_out_file(&mut self, file: Ino) -> io::Result<()> {
        let node = self.nodes.get_mut(&file).expect("it is known");
        let mut was_refused = false;
        if let What::File(contents) = &mut node.what {
            contents.medium = None;
            was_refused = std::mem::take(&mut contents.tells);
        }
        self.stable.entry(file).or_default().attributes.size = node.attributes.size;
        self.log.retain(|change| !matches!(change.undo, Undo::Size { file: of, .. } if of == file));
        if was_refused { self.reports() } else { Ok(()) }
    }

    /// The descriptor that asked hears of an error.
    pub(super) fn reports(&mut self) -> io::Result<()> {
        self.reported += 1;
        Err(errno(Errno::IO))
    }

    /// The medium refuses some of what was not synchronised. With `tells`, who has it open is told
    /// so; without, who was told is not there any more. False if there was nothing to refuse.
    pub(crate) fn refuse_writes(&mut self, tells: bool, random: &mut Random) -> bool {
        let mut has_refused = false;
        let files: Vec<_> = self.nodes.keys().copied().collect();
        for file in sorted(files) {
            let Some(What::File(Contents { medium: Some(_), .. })) = self.nodes.get(&file).map(|node| &node.what)
            else {
                continue;
            };
            let now = self.bytes_of(file);
            let Some(What::File(contents)) = self.nodes.get_mut(&file).map(|node| &mut node.what) else { continue };
            let medium = contents.medium.as_deref().unwrap_or_default();
            for (block, bytes) in now.chunks(BLOCK).enumerate() {
                let old = block_of(medium, block);
                let differs = old.len() != bytes.len() || old != bytes;
                if differs && random.once_in(2) {
                    contents.refused.entry(block).or_insert_with(|| old.to_vec());
                    contents.tells = tells;
                    has_refused = true;
                }
            }
        }
        has_refused
    }

    /// Memory lets go of all files.
    pub(crate) fn forget(&mut self) {
        let files: Vec<_> = self.nodes.keys().copied().collect();
        sorted(files).into_iter().for_each(|file| self.forget_file(file));
    }

    /// The same of one.
    pub(super) fn forget_file(&mut self, file: Ino) {
        if matches!(&self.nodes[&file].what, What::File(contents) if !contents.refused.is_empty()) {
            let bytes = self.without_refused(file);
            let ctime = |state: &Self| metadata_of(&state.nodes[&file].fd).expect("it is open").ctime;
            let before = self.changed(file, ctime(self));
            self.put(file, &bytes);
            self.forgotten.insert(file, (ctime(self), before));
        }
        if let Some(What::File(contents)) = self.nodes.get_mut(&file).map(|node| &mut node.what) {
            contents.refused.clear();
        }
    }

    /// When a file was changed last, by others than the medium.
    pub(super) fn changed(&self, file: Ino, ctime: Ctime) -> Ctime {
        match self.forgotten.get(&file) {
            Some((after, before)) if *after == ctime => *before,
            _ => ctime,
        }
    }

    /// What is left if the power goes now.
    pub(crate) fn after(&self, promise: Promise, random: &mut Random) -> After {
        let names = |node: &super::Node| if let What::Folder(names) = &node.what { Some(names.clone()) } else { None };
        let mut after = After {
            names: self.nodes.iter().filter_map(|(number, node)| Some((*number, names(node)?))).collect(),
            attributes: self.nodes.iter().map(|(number, node)| (*number, node.attributes)).collect(),
            contents: HashMap::new(),
        };
        match promise {
            Promise::Nothing => self.lose_any(&mut after, random),
            Promise::Order => self.lose_the_last(&mut after, random),
        }
        for (file, attributes) in &after.attributes {
            let What::File(contents) = &self.nodes[file].what else { continue };
            let bytes = after.contents.get(file);
            let len = bytes.map_or(self.nodes[file].attributes.size, |bytes| bytes.len() as u64);
            if len != attributes.size || !contents.refused.is_empty() {
                let mut bytes = bytes.cloned().unwrap_or_else(|| self.without_refused(*file));
                bytes.resize(attributes.size as usize, 0);
                after.contents.insert(*file, bytes);
            }
        }
        after
    }

    /// Each name and each piece that was not synchronised by itself. What was renamed has its old
    /// name or its new one.
    fn lose_any(&self, after: &mut After, random: &mut Random) {
        let mut named = HashSet::new();
        let mut names_now: HashMap<Ino, usize> = HashMap::new();
        for node in self.nodes.values() {
            if let What::Folder(names) = &node.what {
                names.values().for_each(|number| *names_now.entry(*number).or_default() += 1);
            }
        }
        let has_several = |number: &Ino| names_now.get(number).is_some_and(|names| *names > 1);
        let none = Stable::default();
        for number in sorted(self.nodes.keys().copied().collect()) {
            let stable = self.stable.get(&number).unwrap_or(&none);
            let attributes = after.attributes.get_mut(&number).expect("it is known");
            if random.once_in(2) && self.stable.contains_key(&number) {
                (attributes.mode, attributes.mtime) = (stable.attributes.mode, stable.attributes.mtime);
            }
            match &self.nodes[&number].what {
                What::Folder(now) => {
                    let (mut before, mut now) = (stable.names.clone(), now.clone());
                    before.retain(|name, node| now.get(name) == Some(node) || !random.once_in(2));
                    now.retain(|name, node| before.get(name) == Some(node) || !random.once_in(2));
                    before.append(&mut now);
                    before.retain(|_, node| named.insert(*node) || has_several(node));
                    after.names.insert(number, before);
                }
                What::File(Contents { medium: Some(medium), .. }) => {
                    if random.once_in(2) {
                        attributes.mtime = stable.attributes.mtime;
                    }
                    if random.once_in(2) {
                        attributes.size = medium.len() as u64;
                    }
                    let bytes = lose_blocks(self.bytes_of(number), medium, random);
                    after.contents.insert(number, bytes);
                }
                What::File(_) | What::Other => {}
            }
        }
    }

    /// What calls did from some moment on, and of contents whatever was not written out.
    fn lose_the_last(&self, after: &mut After, random: &mut Random) {
        for number in sorted(self.nodes.keys().copied().collect()) {
            let What::File(Contents { medium: Some(medium), grows, .. }) = &self.nodes[&number].what else { continue };
            let mut bytes = self.bytes_of(number);
            if *grows {
                match random.below(3) {
                    0 => bytes.clone_from(medium),
                    1 => {
                        let first = medium.len().min(bytes.len());
                        bytes.truncate(first + random.below(bytes.len() - first + 1));
                    }
                    _ => {}
                }
                after.attributes.get_mut(&number).expect("it is known").size = bytes.len() as u64;
            } else {
                bytes = lose_blocks(bytes, medium, random);
            }
            after.contents.insert(number, bytes);
        }
        let calls = self.log.first().map_or(0, |first| self.calls + 1 - first.call);
        let lost = self.calls + 1 - random.below(calls + 1);
        for Change { undo, .. } in self.log.iter().rev().take_while(|change| change.call >= lost) {
            match undo {
                Undo::Name { folder, name, before } => {
                    let Some(names) = after.names.get_mut(folder) else { continue };
                    match before {
                        Some(node) => drop(names.insert(name.clone(), *node)),
                        None => drop(names.remove(name)),
                    }
                }
                Undo::Size { file, before } => after.attributes.get_mut(file).expect("it is known").size = *before,
                Undo::Mode { of, before } => after.attributes.get_mut(of).expect("it is known").mode = *before,
                Undo::Time { of, before } => after.attributes.get_mut(of).expect("it is known").mtime = *before,
            }
        }
    }

    /// Makes the folder what is left.
    pub(super) fn become_what_is_left(&mut self, after: &After) {
        for (file, bytes) in &after.contents {
            self.put(*file, bytes);
        }
        // Everything leaves its names, and gets those that are left. Descriptors and inodes stay.
        let mut is_away: HashSet<Ino> = HashSet::new();
        self.open_folders();
        for number in self.nodes.keys() {
            if rustix::fs::statat(&self.grave, number.to_string(), AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                is_away.insert(*number);
            }
        }
        for node in self.nodes.values() {
            let What::Folder(names) = &node.what else { continue };
            for (name, number) in names {
                if is_away.insert(*number) {
                    rustix::fs::renameat(&node.fd, &name[..], &self.grave, number.to_string()).expect("a rename");
                } else {
                    rustix::fs::unlinkat(&node.fd, &name[..], AtFlags::empty()).expect("another name");
                }
            }
        }
        let mut places: HashMap<Ino, (Ino, Vec<u8>)> = HashMap::new();
        for folder in sorted(after.names.keys().copied().collect()) {
            for (name, number) in &after.names[&folder] {
                let to = self.nodes[&folder].fd.as_fd();
                match places.get(number) {
                    None => {
                        rustix::fs::renameat(&self.grave, number.to_string(), to, &name[..]).expect("a rename");
                        places.insert(*number, (folder, name.clone()));
                    }
                    Some((at, first)) => {
                        let from = self.nodes[at].fd.as_fd();
                        rustix::fs::linkat(from, &first[..], to, &name[..], AtFlags::empty()).expect("a link");
                    }
                }
            }
        }
        for (number, attributes) in &after.attributes {
            let node = self.nodes.get_mut(number).expect("it is known");
            node.attributes = *attributes;
            match &mut node.what {
                What::Folder(names) => names.clone_from(&after.names[number]),
                What::File(contents) => {
                    contents.refused.clear();
                    let Timestamp { secs, nanos } = attributes.mtime;
                    let mtime = Timespec { tv_sec: secs, tv_nsec: nanos.into() };
                    let last_access = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
                    let times = Timestamps { last_access, last_modification: mtime };
                    rustix::fs::futimens(&node.fd, &times).expect("a time");
                }
                What::Other => continue,
            }
            chmod(node, attributes.mode);
        }
        self.sync();
    }

    /// Has every folder take changes.
    pub(super) fn open_folders(&self) {
        for node in self.nodes.values().filter(|node| matches!(node.what, What::Folder(_))) {
            chmod(node, 0o700);
        }
    }

    /// Gives a file contents as if it had always had them.
    fn put(&mut self, file: Ino, bytes: &[u8]) {
        let node = self.nodes.get_mut(&file).expect("it is known");
        let stat = rustix::fs::fstat(&node.fd).expect("it is open");
        rustix::fs::ftruncate(&node.fd, bytes.len() as u64).expect("memory takes it");
        write_all_at(node.fd.as_fd(), 0, bytes).expect("memory takes it");
        node.attributes.size = bytes.len() as u64;
        let mtime = Timespec { tv_sec: stat.st_mtime, tv_nsec: stat.st_mtime_nsec as _ };
        let last_access = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
        rustix::fs::futimens(&node.fd, &Timestamps { last_access, last_modification: mtime }).expect("a time");
    }
}

fn chmod(node: &super::Node, mode: u32) {
    let path = format!("/proc/self/fd/{}", node.fd.as_raw_fd());
    rustix::fs::chmodat(CWD, path, Mode::from_raw_mode(mode), AtFlags::empty()).expect("a mode");
}

/// Inode numbers grow with time, so that this order is the same whenever a story is told.
fn sorted(mut numbers: Vec<Ino>) -> Vec<Ino> {
    numbers.sort_unstable();
    numbers
}

fn block_of(bytes: &[u8], block: usize) -> &[u8] {
    let at = (block * BLOCK).min(bytes.len());
    &bytes[at..(at + BLOCK).min(bytes.len())]
}

/// Of each block what was written, or what the medium had.
fn lose_blocks(mut bytes: Vec<u8>, medium: &[u8], random: &mut Random) -> Vec<u8> {
    // Of a large file longer pieces, as a disk takes them.
    let len = (bytes.len() / 64).next_multiple_of(BLOCK).max(BLOCK);
    for (number, piece) in bytes.chunks_mut(len).enumerate() {
        if random.once_in(2) {
            let at = (number * len).min(medium.len());
            let old = &medium[at..(at + piece.len()).min(medium.len())];
            piece[..old.len()].copy_from_slice(old);
            piece[old.len()..].fill(0);
        }
    }
    bytes
}
