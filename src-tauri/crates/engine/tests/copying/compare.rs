//! Owns comparing two trees in everything that cp -a keeps.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use ringway_sys::sparse::next_data;

/// Stored bytes that a copy may have beyond those of cp: a filesystem rounds data to its own grain.
const STORED_SLACK_BYTES: u64 = 256 * 1024;

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Facts {
    kind: &'static str,
    mode: u32,
    owner: (u32, u32),
    modified: (i64, i64),
    accessed: (i64, i64),
    size: u64,
    device: u64,
    target: Option<PathBuf>,
    attributes: BTreeMap<Vec<u8>, Vec<u8>>,
    contents: Option<Vec<u8>>,
    /// The first of the names that the file has in the tree.
    first_name: PathBuf,
    names: u64,
}

/// What to leave out of a comparison.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Leave {
    /// Modification times of files: those that failed half way have the time of that.
    pub(crate) times: bool,
    /// Names of files outside the tree: how many there are depends on what else was made.
    pub(crate) names_beyond: bool,
}

/// Fails with every difference between the tree that should be and the one that is.
#[track_caller]
pub(crate) fn same(expected: &Path, got: &Path, what: &str) {
    same_but(expected, got, what, Leave::default());
}

#[track_caller]
pub(crate) fn same_but(expected: &Path, got: &Path, what: &str, leave: Leave) {
    let differences = differences(expected, got, leave);
    assert!(differences.is_empty(), "{what}: unlike what cp -a gives:\n{}", differences.join("\n"));
}

pub(crate) fn differences(expected: &Path, got: &Path, leave: Leave) -> Vec<String> {
    let (left, right) = (facts(expected, leave), facts(got, leave));
    let mut found = Vec::new();
    for (name, wanted) in &left {
        match right.get(name) {
            None => found.push(format!("  {}: missing", name.display())),
            Some(is) if is != wanted => found.push(format!("  {}: {}", name.display(), difference(wanted, is))),
            Some(_) => {
                let stored = |root: &Path| stored_bytes(&root.join(name));
                let (wanted, is) = (stored(expected), stored(got));
                if is > wanted + STORED_SLACK_BYTES {
                    found.push(format!("  {}: {is} bytes stored instead of {wanted}", name.display()));
                }
            }
        }
    }
    let beyond = right.keys().filter(|name| !left.contains_key(*name));
    found.extend(beyond.map(|name| format!("  {}: should not be there", name.display())));
    found
}

/// Each field that differs; contents not in full.
fn difference(wanted: &Facts, is: &Facts) -> String {
    let mut found = Vec::new();
    let mut tell = |what: &str, wanted: &dyn std::fmt::Debug, is: &dyn std::fmt::Debug| {
        let (wanted, is) = (format!("{wanted:?}"), format!("{is:?}"));
        if wanted != is {
            found.push(format!("{what} {is} instead of {wanted}"));
        }
    };
    tell("kind", &wanted.kind, &is.kind);
    tell("mode", &format!("{:o}", wanted.mode), &format!("{:o}", is.mode));
    tell("owner", &wanted.owner, &is.owner);
    tell("modified", &wanted.modified, &is.modified);
    tell("accessed", &wanted.accessed, &is.accessed);
    tell("size", &wanted.size, &is.size);
    tell("device", &wanted.device, &is.device);
    tell("target", &wanted.target, &is.target);
    tell("attributes", &wanted.attributes, &is.attributes);
    tell("first name", &wanted.first_name, &is.first_name);
    tell("names", &wanted.names, &is.names);
    if let (Some(wanted), Some(is)) = (&wanted.contents, &is.contents)
        && let Some(at) = (0..wanted.len().max(is.len())).find(|&at| wanted.get(at) != is.get(at))
    {
        found.push(format!("contents from byte {at} on"));
    }
    found.join(", ")
}

/// Everything below `root`, and `root` itself under the empty name.
fn facts(root: &Path, leave: Leave) -> BTreeMap<PathBuf, Facts> {
    let mut all = BTreeMap::new();
    let mut first_names = HashMap::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(name) = pending.pop() {
        let path = if name.as_os_str().is_empty() { root.to_owned() } else { root.join(&name) };
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            assert!(name.as_os_str().is_empty(), "{} vanished", path.display());
            continue;
        };
        // Looked at before it is read.
        let facts = of_entry(&path, &metadata, &leave);
        all.insert(name.clone(), facts);
        if metadata.is_dir() {
            let entries = fs::read_dir(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            pending.extend(entries.map(|entry| name.join(entry.unwrap().file_name())));
        }
    }
    for (name, facts) in &mut all {
        let path = if name.as_os_str().is_empty() { root.to_owned() } else { root.join(name) };
        let metadata = fs::symlink_metadata(&path).unwrap();
        if !metadata.is_dir() {
            facts.first_name =
                first_names.entry((metadata.dev(), metadata.ino())).or_insert_with(|| name.clone()).clone();
        }
    }
    all
}

fn of_entry(path: &Path, metadata: &fs::Metadata, leave: &Leave) -> Facts {
    let kind = metadata.file_type();
    let kinds = [
        (kind.is_file(), "file"),
        (kind.is_dir(), "folder"),
        (kind.is_symlink(), "link"),
        (kind.is_fifo(), "fifo"),
        (kind.is_socket(), "socket"),
        (kind.is_char_device(), "character device"),
        (kind.is_block_device(), "block device"),
    ];
    let timed = |secs, nanos| if leave.times { (0, 0) } else { (secs, nanos) };
    let is_device = kind.is_char_device() || kind.is_block_device();
    Facts {
        kind: kinds.iter().find(|(is, _)| *is).map_or("?", |(_, name)| name),
        mode: if kind.is_symlink() { 0 } else { metadata.mode() & 0o7777 },
        owner: (metadata.uid(), metadata.gid()),
        modified: timed(metadata.mtime(), metadata.mtime_nsec()),
        accessed: timed(metadata.atime(), metadata.atime_nsec()),
        size: if kind.is_dir() { 0 } else { metadata.size() },
        device: if is_device { metadata.rdev() } else { 0 },
        target: kind.is_symlink().then(|| fs::read_link(path).unwrap()),
        attributes: attributes(path),
        contents: kind.is_file().then(|| fs::read(path).ok()).flatten(),
        first_name: PathBuf::new(),
        names: if kind.is_dir() || leave.names_beyond { 0 } else { metadata.nlink() },
    }
}

fn attributes(path: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    const LONGEST: usize = 65_536;
    let mut names = vec![0; LONGEST];
    let Ok(length) = rustix::fs::llistxattr(path, &mut names[..]) else { return BTreeMap::new() };
    let names = names[..length].split(|&byte| byte == 0).filter(|name| !name.is_empty());
    let value = |name: &[u8]| {
        let mut value = vec![0; LONGEST];
        let length = rustix::fs::lgetxattr(path, name, &mut value[..]).unwrap_or(0);
        value[..length].to_vec()
    };
    names.map(|name| (name.to_vec(), value(name))).collect()
}

/// Bytes of a regular file that are no hole.
pub(crate) fn stored_bytes(path: &Path) -> u64 {
    let Ok(metadata) = fs::symlink_metadata(path) else { return 0 };
    if !metadata.is_file() {
        return 0;
    }
    let Ok(file) = File::open(path) else { return 0 };
    let (mut stored, mut at) = (0, 0);
    while let Some(data) = next_data(file.as_fd(), at, metadata.len()).unwrap() {
        stored += data.end - data.start;
        at = data.end;
    }
    stored
}
