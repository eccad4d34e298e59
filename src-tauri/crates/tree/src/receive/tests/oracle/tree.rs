//! A tree as it lies in a folder.
use super::*;

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    Folder,
    File(String),
    Link(String),
}

/// An entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct At {
    pub(super) node: Node,
    pub(super) ino: u64,
    pub(super) mode: u32,
    pub(super) mtime: (i64, i64),
}

impl At {
    /// Whether it has the time that everything sent has.
    pub(super) fn has_sent_time(&self) -> bool {
        self.mtime == (MTIME.secs, MTIME.nanos.into())
    }
}

pub(super) type Tree = BTreeMap<String, At>;

/// Everything beneath `root` but staging folders, links not followed.
pub(super) fn snapshot(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder)).unwrap() {
            let path = folder.join(entry.unwrap().file_name());
            if path.to_string_lossy().starts_with(".ringway-") {
                continue;
            }
            let there = fs::symlink_metadata(root.join(&path)).unwrap();
            let node = if there.is_dir() {
                folders.push(path.clone());
                Node::Folder
            } else if there.is_symlink() {
                Node::Link(fs::read_link(root.join(&path)).unwrap().to_str().unwrap().to_owned())
            } else {
                Node::File(fs::read_to_string(root.join(&path)).unwrap())
            };
            let (ino, mode) = (there.ino(), there.permissions().mode() & 0o7777);
            let at = At { node, ino, mode, mtime: (there.mtime(), there.mtime_nsec()) };
            tree.insert(path.to_str().unwrap().to_owned(), at);
        }
    }
    tree
}
