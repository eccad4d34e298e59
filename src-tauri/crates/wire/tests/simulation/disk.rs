//! A filesystem in memory: what a killed process has written stays, and what was not synchronised when the power went may be there or not, each name
//! and each piece by itself.
use std::collections::BTreeMap;

use ringway_wire::lane::Timestamp;

use super::random::Random;

/// Bytes of contents that are told apart: what one range of the model carries.
pub(crate) const PIECE: u64 = 1024 * 1024;

/// Which version of which file some contents are; 0 is a hole.
pub(crate) type Tag = u32;

/// No room is left.
#[derive(Debug)]
pub(crate) struct Full;

#[derive(Clone)]
enum Node {
    Folder(BTreeMap<Vec<u8>, usize>),
    File(File),
}

#[derive(Clone, Default, PartialEq, Debug)]
pub(crate) struct File {
    pub(crate) size: u64,
    pub(crate) mtime: Timestamp,
    /// What each piece of the contents is of.
    pub(crate) pieces: Vec<Tag>,
    /// Contents of a file of our own.
    pub(crate) bytes: Vec<u8>,
}

impl File {
    fn resize(&mut self, size: u64) {
        self.size = size;
        self.pieces.resize(size.div_ceil(PIECE) as usize, 0);
    }
}

#[derive(Clone)]
pub(crate) struct Disk {
    nodes: Vec<Node>,
    /// As they were when they were synchronised last.
    stable: Vec<Node>,
    /// What the clock on the wall says, in seconds: the grain of this filesystem's times.
    pub(crate) wall_secs: i64,
    /// Calls that still find room; None for any number.
    pub(crate) room: Option<usize>,
}

const ROOT: usize = 0;

impl Disk {
    pub(crate) fn new(wall_secs: i64) -> Self {
        let nodes = vec![Node::Folder(BTreeMap::new())];
        Self { stable: nodes.clone(), nodes, wall_secs, room: None }
    }

    fn now(&self) -> Timestamp {
        Timestamp { secs: self.wall_secs, nanos: 0 }
    }

    fn take_room(&mut self) -> Result<(), Full> {
        match &mut self.room {
            Some(0) => Err(Full),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn entries(&self, node: usize) -> Option<&BTreeMap<Vec<u8>, usize>> {
        match self.nodes.get(node)? {
            Node::Folder(entries) => Some(entries),
            Node::File(_) => None,
        }
    }

    fn entries_mut(&mut self, node: usize) -> &mut BTreeMap<Vec<u8>, usize> {
        match &mut self.nodes[node] {
            Node::Folder(entries) => entries,
            Node::File(_) => panic!("not a folder"),
        }
    }

    fn find(&self, path: &[u8]) -> Option<usize> {
        let parts = path.split(|byte| *byte == b'/').filter(|part| !part.is_empty());
        parts.into_iter().try_fold(ROOT, |node, part| self.entries(node)?.get(part).copied())
    }

    fn split<'p>(&self, path: &'p [u8]) -> (usize, &'p [u8]) {
        let at = path.iter().rposition(|byte| *byte == b'/');
        let (folder, name) = at.map_or((&b""[..], path), |at| (&path[..at], &path[at + 1..]));
        (self.find(folder).unwrap_or_else(|| panic!("no folder {}", folder.escape_ascii())), name)
    }

    pub(crate) fn is_there(&self, path: &[u8]) -> bool {
        self.find(path).is_some()
    }

    pub(crate) fn names(&self, path: &[u8]) -> Vec<Vec<u8>> {
        let entries = self.find(path).and_then(|node| self.entries(node));
        entries.map(|entries| entries.keys().cloned().collect()).unwrap_or_default()
    }

    /// The file at a path, and which it is.
    pub(crate) fn file(&self, path: &[u8]) -> Option<(usize, &File)> {
        let node = self.find(path)?;
        match &self.nodes[node] {
            Node::File(file) => Some((node, file)),
            Node::Folder(_) => None,
        }
    }

    pub(crate) fn file_mut(&mut self, node: usize) -> &mut File {
        match &mut self.nodes[node] {
            Node::File(file) => file,
            Node::Folder(_) => panic!("not a file"),
        }
    }

    fn add(&mut self, path: &[u8], node: Node) -> Result<usize, Full> {
        let (folder, name) = self.split(path);
        self.take_room()?;
        let number = self.nodes.len();
        self.nodes.push(node);
        let before = self.entries_mut(folder).insert(name.to_vec(), number);
        assert_eq!(before, None, "{} is there already", path.escape_ascii());
        Ok(number)
    }

    pub(crate) fn make(&mut self, path: &[u8]) -> Result<(), Full> {
        self.add(path, Node::Folder(BTreeMap::new())).map(drop)
    }

    /// Makes a folder and those above it, as far as they are missing.
    pub(crate) fn make_all(&mut self, base: &[u8], path: &[u8]) -> Result<Vec<u8>, Full> {
        let mut at = base.to_vec();
        for part in path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
            at = [&at[..], b"/", part].concat();
            if !self.is_there(&at) {
                self.make(&at)?;
            }
        }
        Ok(at)
    }

    pub(crate) fn create(&mut self, path: &[u8]) -> Result<usize, Full> {
        let mtime = self.now();
        self.add(path, Node::File(File { mtime, ..File::default() }))
    }

    /// Appends to a file of our own; half of it where there is no room.
    pub(crate) fn append(&mut self, node: usize, bytes: &[u8]) -> Result<(), Full> {
        let taken = self.take_room();
        let len = if taken.is_ok() { bytes.len() } else { bytes.len() / 2 };
        let now = self.now();
        let file = self.file_mut(node);
        file.bytes.extend_from_slice(&bytes[..len]);
        file.mtime = now;
        taken
    }

    pub(crate) fn resize(&mut self, node: usize, size: u64) {
        let now = self.now();
        let file = self.file_mut(node);
        file.resize(size);
        file.mtime = now;
    }

    pub(crate) fn write(&mut self, node: usize, piece: usize, tag: Tag) -> Result<(), Full> {
        self.take_room()?;
        let now = self.now();
        let file = self.file_mut(node);
        file.pieces[piece] = tag;
        file.mtime = now;
        Ok(())
    }

    pub(crate) fn rename(&mut self, from: &[u8], to: &[u8]) {
        let ((from, name), (into, new)) = (self.split(from), self.split(to));
        let node = self.entries_mut(from).remove(name).expect("what is moved is there");
        let before = self.entries_mut(into).insert(new.to_vec(), node);
        assert_eq!(before, None, "{} is there already", to.escape_ascii());
    }

    pub(crate) fn remove(&mut self, path: &[u8]) {
        let (folder, name) = self.split(path);
        self.entries_mut(folder).remove(name);
    }

    /// Files beneath a path, by theirs.
    pub(crate) fn tree(&self, path: &[u8]) -> BTreeMap<Vec<u8>, File> {
        let mut files = BTreeMap::new();
        let mut left: Vec<_> = self.find(path).map(|node| (Vec::new(), node)).into_iter().collect();
        while let Some((at, node)) = left.pop() {
            match &self.nodes[node] {
                Node::File(file) => {
                    files.insert(at, file.clone());
                }
                Node::Folder(entries) => {
                    left.extend(entries.iter().map(|(name, node)| ([&at[..], b"/", name].concat(), *node)));
                }
            }
        }
        files
    }

    /// syncfs(2).
    pub(crate) fn sync(&mut self) {
        self.stable.clone_from(&self.nodes);
    }

    /// fsync(2) of a folder: the names in it.
    pub(crate) fn sync_folder(&mut self, path: &[u8]) {
        let node = self.find(path).expect("a folder");
        self.stable.extend_from_slice(&self.nodes[self.stable.len()..]);
        self.stable[node] = self.nodes[node].clone();
    }

    /// The power goes and comes back.
    pub(crate) fn lose_power(&mut self, random: &mut Random) {
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
                    *now = before;
                }
                (Node::File(now), stable) => {
                    let before = match stable {
                        Some(Node::File(file)) => file.clone(),
                        _ => File::default(),
                    };
                    if random.once_in(2) {
                        now.mtime = before.mtime;
                    }
                    let size = if random.once_in(2) { before.size } else { now.size };
                    now.resize(size);
                    for (at, piece) in now.pieces.iter_mut().enumerate() {
                        if random.once_in(2) {
                            *piece = before.pieces.get(at).copied().unwrap_or(0);
                        }
                    }
                    if random.once_in(2) && now.bytes.len() > before.bytes.len() {
                        let lost = random.below(now.bytes.len() - before.bytes.len()) + before.bytes.len();
                        now.bytes[lost..].fill(0);
                    }
                }
            }
        }
        self.stable.clone_from(&self.nodes);
    }
}
