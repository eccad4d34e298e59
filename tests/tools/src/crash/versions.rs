//! The two versions of a tree, and which of them each file has.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// In this folder most names exist already when the newer version arrives, in `FRESH` none.
const MERGED: &str = "merged";
const FRESH: &str = "fresh";
/// Its files are on the same disk, and no transfer touches them.
const BESIDE: &str = "beside";
const BESIDE_FILES: usize = 20;
const SMALL: usize = 80;
const MEDIUM: usize = 6;
const MEDIUM_BYTES: usize = 300_000;
/// A file of this size is continued in the middle after an interruption.
const LARGE_BYTES: usize = 9 << 20;
/// An even number of seconds, because FAT stores only these.
const OLDER: Duration = Duration::from_secs(1_500_000_000);
const NEWER: Duration = Duration::from_secs(1_600_000_000);
/// How many paths of each kind are listed.
const NAMED_MAX: usize = 6;

/// Makes both versions.
pub(super) fn make(older: &Path, newer: &Path) -> io::Result<()> {
    for number in 0..BESIDE_FILES {
        for root in [older, newer] {
            write(&root.join(format!("{BESIDE}/{number}")), &format!("beside {number} "), 1 + number * 1_500, OLDER)?;
        }
    }
    for folder in [MERGED, FRESH] {
        let mut files: Vec<(String, usize)> = Vec::new();
        for number in 0..SMALL {
            let below = if number % 2 == 0 { "" } else { "deeper/" };
            files.push((format!("{folder}/{below}{number}"), 150 * (1 + (number * 7) % 400)));
        }
        files.extend((0..MEDIUM).map(|number| (format!("{folder}/medium {number}"), MEDIUM_BYTES)));
        files.push((format!("{folder}/large"), LARGE_BYTES));
        for (number, (path, length)) in files.iter().enumerate() {
            write(&newer.join(path), &format!("new {path} "), *length, NEWER)?;
            // Some of the same size, others shorter or longer.
            if folder == MERGED && number % 10 != 3 {
                let length = if number % 3 == 0 { *length } else { 1 + (number * 997) % 40_000 };
                write(&older.join(path), &format!("old {path} "), length, OLDER)?;
            }
        }
    }
    Ok(())
}

fn write(path: &Path, pattern: &str, length: usize, time: Duration) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let contents: Vec<u8> = pattern.bytes().cycle().take(length).collect();
    fs::write(path, contents)?;
    File::options().write(true).open(path)?.set_modified(UNIX_EPOCH + time)
}

/// Prints which version each file of `now` has; fails if one has neither that of `older` nor that
/// of `newer`. `allows` says what a filesystem may have done to files that were being replaced:
/// `nothing`, `gone`, or `damaged`.
pub(super) fn judge(older: &Path, newer: &Path, now: &Path, allows: &str) -> Result<(), Box<dyn Error>> {
    let paths = files(newer)?;
    let (mut new, mut old, mut absent) = (0, 0, 0);
    let mut wrong: Vec<(&Path, Damage, String)> = Vec::new();
    for path in &paths {
        let [before, after] = [older, newer].map(|folder| fs::read(folder.join(path)).ok());
        match fs::read(now.join(path)) {
            Ok(is) if Some(&is) == after.as_ref() => new += 1,
            Ok(is) if Some(&is) == before.as_ref() => old += 1,
            Ok(is) => wrong.push((path, Damage::Contents, format!("{} bytes: {}", is.len(), beginning(&is)))),
            Err(error) if error.kind() == io::ErrorKind::NotFound && before.is_none() => absent += 1,
            Err(error) if error.kind() == io::ErrorKind::NotFound => wrong.push((path, Damage::Gone, "gone".into())),
            Err(error) => wrong.push((path, Damage::Contents, error.to_string())),
        }
    }
    let there = files(now)?;
    let is_stray = |path: &&PathBuf| !paths.contains(*path) && !path.to_string_lossy().starts_with(".ringway-");
    wrong.extend(there.iter().filter(is_stray).map(|path| (path.as_path(), Damage::Contents, "nobody sent it".into())));
    println!("found: {new} new, {old} old, {absent} absent, {} wrong", wrong.len());
    wrong.iter().take(NAMED_MAX).for_each(|(path, _, what)| println!("wrong: {}: {what}", path.display()));
    let is_allowed = |path: &Path, damage: Damage| {
        path.starts_with(MERGED) && (allows == "damaged" || (allows == "gone" && damage == Damage::Gone))
    };
    match wrong.iter().find(|(path, damage, _)| !is_allowed(path, *damage)) {
        None => Ok(()),
        Some((path, ..)) => {
            Err(format!("{} should be its old version, its new one, or not there", path.display()).into())
        }
    }
}

/// The state of a file that has neither version.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Damage {
    Gone,
    Contents,
}

fn beginning(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(24)]).escape_debug().to_string()
}

/// The files below a folder, by their paths in it.
fn files(root: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let (mut found, mut left) = (BTreeSet::new(), vec![PathBuf::new()]);
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                left.push(path);
            } else {
                found.insert(path);
            }
        }
    }
    Ok(found)
}
