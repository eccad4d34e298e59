//! Counts the sources ahead of a copy, so that a person sees how much is left. It costs as much as
//! a walk, so short copies do not count ahead.
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ringway_sys::attributes::{Kind, metadata_of};
use ringway_sys::dir::Dir;

use crate::folder::below::open_below;
use crate::job::{Identity, Job, add};

/// A folder to be counted, and its path in the source. Only the source is open, because there may
/// be more folders than descriptors.
struct Waiting {
    source: Source,
    path: Vec<u8>,
}

/// The source that contains a folder.
enum Source {
    Open(Arc<Dir>),
    /// Its parent folder and its name there.
    At(PathBuf, Box<[u8]>),
}

/// Counts everything below the given entries (their folder, their name) until `stopped` is set.
pub(crate) fn run(job: &Job, entries: Vec<(PathBuf, Box<[u8]>)>, stopped: &AtomicBool) {
    let mut waiting: Vec<Waiting> =
        entries.into_iter().map(|(dir, name)| Waiting { source: Source::At(dir, name), path: Vec::new() }).collect();
    let mut seen_links = std::collections::HashSet::new();
    add(&job.counted.entries, waiting.len() as u64);
    loop {
        if job.control.must_end_with(stopped) {
            return;
        }
        let Some(next) = waiting.pop() else { break };
        // Errors are reported when the entry is copied.
        let _ = one(job, stopped, next, &mut waiting, &mut seen_links);
    }
    job.counted.complete.store(true, Ordering::Release);
}

fn one(
    job: &Job,
    stopped: &AtomicBool,
    next: Waiting,
    waiting: &mut Vec<Waiting>,
    seen: &mut std::collections::HashSet<Identity>,
) -> io::Result<()> {
    let (source, dir) = match next.source {
        Source::Open(source) => {
            let dir = job.patiently(|| open_below(&source, &next.path))?;
            (source, Arc::new(dir))
        }
        Source::At(path, name) => {
            let above = job.patiently(|| Dir::open_to_search(&path))?;
            match job.patiently(|| above.open_dir(&name)) {
                Ok(dir) => {
                    let dir = Arc::new(dir);
                    (dir.clone(), dir)
                }
                // The source is a file.
                Err(_) => {
                    let metadata = above.metadata(&name)?;
                    add(&job.counted.bytes, if metadata.kind == Kind::File { metadata.size } else { 0 });
                    return Ok(());
                }
            }
        }
    };
    let own = metadata_of(&*dir)?;
    if job.is_own((own.dev, own.ino)) {
        return Ok(());
    }
    let mut entries = job.patiently(|| dir.entries())?;
    while let Some(entry) = entries.next() {
        let entry = entry?;
        if job.control.must_end_with(stopped) {
            return Ok(());
        }
        // An entry that has vanished will not be copied either.
        let look = || dir.metadata(entry.name).ok();
        let Some(kind) = entry.kind.or_else(|| look().map(|metadata| metadata.kind)) else { continue };
        let mut path = next.path.clone();
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(entry.name);
        if job.filter.as_ref().is_some_and(|filter| !filter.takes(&path, kind == Kind::Dir)) {
            continue;
        }
        let file = if kind == Kind::File { look() } else { None };
        if kind == Kind::File && file.is_none() {
            continue;
        }
        add(&job.counted.entries, 1);
        match file {
            Some(file) if file.nlink < 2 || seen.insert((file.dev, file.ino)) => add(&job.counted.bytes, file.size),
            None if kind == Kind::Dir => waiting.push(Waiting { source: Source::Open(source.clone()), path }),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ringway_model::{Fault, Pattern, Selection};

    use super::*;
    use crate::job::value;
    use crate::options::CopyOptions;

    fn job(patterns: &[Pattern]) -> Job {
        let selection = Selection { patterns: patterns.to_vec(), paths: None };
        Job::for_tests(CopyOptions { selection, ..CopyOptions::default() })
    }

    fn counted(job: &Job, folder: &std::path::Path, names: &[&str]) -> (u64, u64, bool) {
        let entries = names.iter().map(|name| (folder.to_owned(), name.as_bytes().into())).collect();
        run(job, entries, &AtomicBool::new(false));
        (value(&job.counted.entries), value(&job.counted.bytes), job.counted.complete.load(Ordering::Acquire))
    }

    #[test]
    fn counting_ahead_finds_everything_that_is_copied() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(path("source/inner/cache")).unwrap();
        for (name, len) in [("source/ten", 10), ("source/inner/hundred", 100), ("source/inner/cache/out", 1_000)] {
            std::fs::write(path(name), vec![1; len]).unwrap();
        }
        std::fs::write(path("single"), [1; 10_000]).unwrap();
        // Its bytes count once, and a link has none.
        std::fs::hard_link(path("source/ten"), path("source/inner/ten-too")).unwrap();
        std::os::unix::fs::symlink("nowhere", path("source/link")).unwrap();
        let names = ["source", "single", "missing"];
        assert_eq!(counted(&job(&[]), folder.path(), &names), (10, 11_110, true));
        let without = [Pattern::Exclude("cache/".into()), Pattern::Exclude("link".into())];
        assert_eq!(counted(&job(&without), folder.path(), &names), (7, 10_110, true));
        let own = job(&[]);
        own.owns(&Dir::open(&path("source/inner")).unwrap());
        assert_eq!(counted(&own, folder.path(), &names), (6, 10_010, true), "the copy itself is met");
        let stopped = job(&[]);
        stopped.stop(Fault::machine("stopped"));
        assert_eq!(counted(&stopped, folder.path(), &names), (3, 0, false));
    }
}
