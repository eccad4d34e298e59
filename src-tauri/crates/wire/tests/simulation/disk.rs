//! A filesystem in memory: what a killed process has written stays, and what was not synchronised
//! when the power went may be there or not.
mod power;

use std::collections::BTreeMap;

use ringway_wire::lane::Timestamp;

pub(crate) use self::power::Promise;

use self::power::{Change, Undo};

/// Bytes of contents that are told apart: what one range of the model carries.
pub(crate) const PIECE: u64 = 1024 * 1024;

/// Which contents a piece holds; 0 is a hole.
pub(crate) type Tag = u32;

/// What the medium makes of contents that it takes down wrongly.
const ROTTEN: Tag = 1 << 31;

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
    /// Pieces that the medium has refused, with what it has instead: memory goes on to show what
    /// was written.
    refused: Vec<(usize, Tag)>,
    /// All of its contents are on the medium.
    is_out: bool,
    /// It is as long as what was written to it: its length goes to the medium with its contents,
    /// and not before.
    grows: bool,
}

impl File {
    pub(crate) fn new(size: u64, mtime: Timestamp, pieces: Vec<Tag>) -> Self {
        Self { size, mtime, pieces, ..Self::default() }
    }

    fn resize(&mut self, size: u64) {
        self.size = size;
        self.pieces.resize(size.div_ceil(PIECE) as usize, 0);
    }

    /// Memory lets go of it: what is read from here on is what the medium has.
    pub(crate) fn forget(&mut self) {
        for (at, tag) in std::mem::take(&mut self.refused) {
            if let Some(piece) = self.pieces.get_mut(at) {
                *piece = tag;
            }
        }
    }

    /// Whether the medium has some of it that was never written.
    pub(crate) fn is_rotten(&self) -> bool {
        self.pieces.iter().any(|piece| piece & ROTTEN != 0)
    }

    /// Whether it is that file, as far as anybody sees.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        (self.size, self.mtime, &self.pieces) == (other.size, other.mtime, &other.pieces)
    }
}

#[derive(Clone)]
pub(crate) struct Disk {
    nodes: Vec<Node>,
    /// As they were when they were synchronised last.
    stable: Vec<Node>,
    /// What has happened to names, sizes and times since, in order.
    log: Vec<Change>,
    calls: u32,
    /// What the clock on the wall says, in seconds: the grain of this filesystem's times.
    pub(crate) wall_secs: i64,
    /// Calls that still find room; None for any number.
    pub(crate) room: Option<usize>,
    /// Writes until one is taken down wrongly; None for never.
    pub(crate) rots_after: Option<usize>,
}

const ROOT: usize = 0;

impl Disk {
    pub(crate) fn new(wall_secs: i64) -> Self {
        let nodes = vec![Node::Folder(BTreeMap::new())];
        let stable = nodes.clone();
        Self { nodes, stable, log: Vec::new(), calls: 0, wall_secs, room: None, rots_after: None }
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

    /// Gives a name to something, or to nothing; what had it before.
    fn name(&mut self, folder: usize, name: &[u8], node: Option<usize>) -> Option<usize> {
        let Node::Folder(entries) = &mut self.nodes[folder] else { panic!("not a folder") };
        let before = match node {
            Some(node) => entries.insert(name.to_vec(), node),
            None => entries.remove(name),
        };
        self.log(Undo::Name { folder, name: name.to_vec(), before });
        before
    }

    /// Another call than the one before: what one call does is done at once or not at all.
    fn call(&mut self) {
        self.calls += 1;
    }

    fn log(&mut self, undo: Undo) {
        self.log.push(Change { call: self.calls, undo });
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
        self.call();
        let number = self.nodes.len();
        self.nodes.push(node);
        let before = self.name(folder, name, Some(number));
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

    /// Says how long a file is to be, before it has its contents.
    pub(crate) fn resize(&mut self, node: usize, size: u64) {
        self.call();
        let before = self.file_mut(node).size;
        self.log(Undo::Size { node, before });
        self.file_mut(node).resize(size);
        self.touch(node);
    }

    /// Writes all of a small file, which gets its length so.
    pub(crate) fn fill(&mut self, node: usize, size: u64, tag: Tag) -> Result<(), Full> {
        let file = self.file_mut(node);
        file.resize(size);
        file.grows = true;
        if size > 0 { self.write(node, 0, tag) } else { Ok(()) }
    }

    pub(crate) fn write(&mut self, node: usize, piece: usize, tag: Tag) -> Result<(), Full> {
        self.take_room()?;
        self.call();
        let rots = self.rots_after == Some(0);
        self.rots_after = self.rots_after.and_then(|left| left.checked_sub(1));
        let file = self.file_mut(node);
        file.pieces[piece] = if rots { tag | ROTTEN } else { tag };
        file.is_out = false;
        file.refused.retain(|(at, _)| *at != piece);
        self.touch(node);
        Ok(())
    }

    fn touch(&mut self, node: usize) {
        let now = self.now();
        self.put_time(node, now);
    }

    fn put_time(&mut self, node: usize, mtime: Timestamp) {
        let before = std::mem::replace(&mut self.file_mut(node).mtime, mtime);
        if before != mtime {
            self.log(Undo::Time { node, before });
        }
    }

    /// utimensat(2).
    pub(crate) fn set_time(&mut self, node: usize, mtime: Timestamp) {
        self.call();
        self.put_time(node, mtime);
    }

    /// sync_file_range(2), and waits.
    pub(crate) fn write_out(&mut self, node: usize) {
        self.file_mut(node).is_out = true;
    }

    pub(crate) fn rename(&mut self, from: &[u8], to: &[u8]) {
        let before = self.rename_over(from, to);
        assert_eq!(before, None, "{} is there already", to.escape_ascii());
    }

    /// Takes the place of what has that name, if anything has.
    pub(crate) fn rename_over(&mut self, from: &[u8], to: &[u8]) -> Option<usize> {
        self.call();
        let ((from, name), (into, new)) = (self.split(from), self.split(to));
        let node = self.name(from, name, None).expect("what is moved is there");
        self.name(into, new, Some(node))
    }

    pub(crate) fn remove(&mut self, path: &[u8]) {
        self.call();
        let (folder, name) = self.split(path);
        self.name(folder, name, None);
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
}
