//! Owns comparing two trees in everything that cp -a keeps.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ringway_sys::sparse::next_data;

/// Stored bytes that a copy may have beyond those of cp: a filesystem rounds data to its own grain,
/// and XFS gives each piece that is written 64 KiB until it is sure that no more follows.
const STORED_SLACK_BYTES: u64 = 1 << 20;

/// What lies closer to the present is a time that nobody set; trees are settled with others.
const NOW_SECONDS: u64 = 3_600;

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

/// Fails with every difference between the tree that should be and the one that is.
#[track_caller]
pub(crate) fn same(expected: &Path, got: &Path, what: &str) {
    let problems = problems(expected, got);
    assert!(problems.is_empty(), "{what}: unlike what should be:\n{}", problems.join("\n"));
}

pub(crate) fn problems(expected: &Path, got: &Path) -> Vec<String> {
    let mut problems = differences(&facts(expected), &facts(got));
    problems.extend(stored_beyond(expected, got));
    problems
}

/// A tree as it was at some moment, for finding out whether it has changed since.
pub(crate) struct Taken(BTreeMap<PathBuf, Facts>);

pub(crate) fn take(root: &Path) -> Taken {
    Taken(facts(root))
}

impl Taken {
    #[track_caller]
    pub(crate) fn unchanged(&self, root: &Path, what: &str) {
        let differences = differences(&self.0, &facts(root));
        assert!(differences.is_empty(), "{what}: not as it was:\n{}", differences.join("\n"));
    }
}

fn differences(left: &BTreeMap<PathBuf, Facts>, right: &BTreeMap<PathBuf, Facts>) -> Vec<String> {
    let mut found = Vec::new();
    for (name, wanted) in left {
        match right.get(name) {
            None => found.push(format!("  {}: missing", name.display())),
            Some(is) if is != wanted => found.push(format!("  {}: {}", name.display(), difference(wanted, is))),
            Some(_) => {}
        }
    }
    let beyond = right.keys().filter(|name| !left.contains_key(*name));
    found.extend(beyond.map(|name| format!("  {}: should not be there", name.display())));
    found
}

/// Files of which more is stored than cp would.
fn stored_beyond(expected: &Path, got: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for name in facts(got).into_iter().filter(|(_, facts)| facts.contents.is_some()).map(|(name, _)| name) {
        let (wanted, is) = (stored_bytes(&below(expected, &name)), stored_bytes(&below(got, &name)));
        if is > wanted + STORED_SLACK_BYTES {
            found.push(format!("  {}: {is} bytes stored instead of {wanted}", name.display()));
        }
    }
    found
}

/// `root` itself for the empty name, where joining would add a slash.
fn below(root: &Path, name: &Path) -> PathBuf {
    if name.as_os_str().is_empty() { root.to_owned() } else { root.join(name) }
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
fn facts(root: &Path) -> BTreeMap<PathBuf, Facts> {
    let mut all = BTreeMap::new();
    let (mut first_names, mut identities) = (HashMap::new(), HashMap::new());
    let mut pending = vec![PathBuf::new()];
    while let Some(name) = pending.pop() {
        let path = below(root, &name);
        let metadata = match fs::symlink_metadata(&path) {
            Ok(metadata) => metadata,
            // A root that was not made; names in a folder that may be listed but not entered.
            Err(error) if [ErrorKind::NotFound, ErrorKind::PermissionDenied].contains(&error.kind()) => continue,
            Err(error) => panic!("{}: {error}", path.display()),
        };
        // Looked at before it is read.
        let facts = of_entry(&path, &metadata);
        all.insert(name.clone(), facts);
        if !metadata.is_dir() {
            identities.insert(name, (metadata.dev(), metadata.ino()));
        } else {
            // What a user may not look into is as it is at both.
            let Ok(entries) = fs::read_dir(&path) else { continue };
            pending.extend(entries.map(|entry| name.join(entry.unwrap().file_name())));
        }
    }
    for (name, facts) in &mut all {
        if let Some(file) = identities.get(name) {
            facts.first_name = first_names.entry(*file).or_insert_with(|| name.clone()).clone();
        }
    }
    all
}

fn of_entry(path: &Path, metadata: &fs::Metadata) -> Facts {
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
    // What has the time of its making has that in both trees, but not the same one.
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() as i64;
    let timed = |secs: i64, nanos| if secs.abs_diff(now) < NOW_SECONDS { (i64::MAX, 0) } else { (secs, nanos) };
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
        names: if kind.is_dir() { 0 } else { metadata.nlink() },
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
