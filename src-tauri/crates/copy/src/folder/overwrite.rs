//! Existing entries at the destination, and what happens to them: the rules of cp, which writes in
//! place and never deletes a folder.
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use ringway_model::{FailureReason, OnExisting, Operation, Planned};
use ringway_sys::attributes::{self, Kind, Metadata, Timestamp};
use ringway_sys::dir::Dir;
use ringway_sys::space::filesystem_is_fuse;
use ringway_tree::filesystem::granularity::{as_kept_by, nanos};
use ringway_tree::filesystem::spelling::LostEnds;
use rustix::fs::{Access, AtFlags};
use rustix::io::Errno;

use super::entry_error::{self, EntryError};
use super::{Folder, Item};
use crate::job::{Job, Kept};

/// How many names are tried for a file that gets its final name later.
const TEMPORARY_TRIES: u32 = 100;

/// The mode of a file that is removed at once.
const PROBE_MODE: u32 = 0o600;

/// The modification time of an incomplete file, so that it does not pass for as new as its source
/// when the copy is repeated.
pub(crate) const EPOCH: Timestamp = Timestamp { secs: 0, nanos: 0 };

/// How the target file came to be, which decides what happens to it if it cannot be completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TargetKind {
    /// Created under its name. Removed if it cannot be completed.
    New,
    /// Existed, and is overwritten in place. If it cannot be completed it stays, with a time of
    /// 1970.
    Over,
    /// Created under this temporary name, and renamed when whole. Removed if it cannot be
    /// completed.
    Temporary(Box<[u8]>),
}

/// What to do with an entry's name at the destination.
pub(crate) enum Placement {
    /// Write here.
    Write(OwnedFd, TargetKind),
    /// Leave the existing file. It may stand for the copy: the file's other names become links to
    /// it.
    Keep(Kept),
    /// Do nothing more, because this is a dry run.
    Planned,
    /// Write through a link, after everything else was copied, because the file that it leads to
    /// may be copied itself.
    Late,
}

/// Finds or creates the file to write to. A new one has `mode`.
pub(crate) fn for_file(folder: &Folder<'_>, name: &[u8], from: &Metadata, mode: u32) -> Result<Placement, EntryError> {
    let options = &folder.job.options;
    let planned = |what| {
        folder.job.planned(what, || folder.target_path(name));
        Ok(Placement::Planned)
    };
    let Some(dir) = &folder.target()? else { return planned(Planned::File) };
    folder.admit(name)?;
    if !options.atomic && !options.dry_run {
        match folder.job.patiently(|| dir.create_new(name, mode)) {
            Ok(fd) => return Ok(Placement::Write(fd, TargetKind::New)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(EntryError::Target(Operation::Create, error)),
        }
    }
    let there = match dir.metadata(name) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match options.dry_run {
                true => may_make(folder, dir).and_then(|()| planned(Planned::File)),
                false => temporary_file(folder.job, dir, mode),
            };
        }
        Err(error) => return Err(EntryError::Target(Operation::Open, error)),
    };
    if folder.is_another_ones(name, &there) {
        return Err(EntryError::TargetIs(FailureReason::InTheWay));
    }
    let through = there.kind == Kind::Symlink;
    let there = behind_link(dir, name, there, options.existing)?;
    if let Some(kept) = kept(folder.job, from, &there, By::Copying, there.kind == Kind::File, is_one(from, &there))? {
        if options.dry_run {
            folder.job.planned(Planned::Keep, || folder.target_path(name));
        }
        return Ok(Placement::Keep(kept));
    }
    let is_replaced = there.nlink > 1 || (options.atomic || may_be_one(folder, dir, from, &there)) && !through;
    match options.dry_run {
        true if is_replaced => may_make(folder, dir).and_then(|()| planned(Planned::Overwrite)),
        true => may_write(dir, name, through).and_then(|()| planned(Planned::Overwrite)),
        // The number of the target's names is known once everything else is there.
        false if through && !folder.job.late.load(Ordering::Acquire) => Ok(Placement::Late),
        // A file with other names keeps its contents under those. cp ensures the same by removing
        // this name first, even if it is a link to the file.
        false if is_replaced => temporary_file(folder.job, dir, mode),
        false => over(folder.job, dir, name, from, through),
    }
}

/// Whether entries may be made in a folder. A dry run, which makes none, asks by faccessat2(2).
pub(crate) fn may_make(folder: &Folder<'_>, dir: &Dir) -> Result<(), EntryError> {
    let ask = || rustix::fs::accessat(dir.as_fd(), c".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS).err();
    let refused = *folder.refused.get_or_init(ask);
    refused.map_or(Ok(()), |errno| Err(EntryError::Target(Operation::Create, errno.into())))
}

/// Whether a file may be overwritten. If the name is a link that is written through, its target
/// counts.
fn may_write(dir: &Dir, name: &[u8], through: bool) -> Result<(), EntryError> {
    let flags = if through { AtFlags::EACCESS } else { AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW };
    rustix::fs::accessat(dir.as_fd(), name, Access::WRITE_OK, flags)
        .map_err(|errno| EntryError::Target(Operation::Open, errno.into()))
}

/// Follows a link like cp: a link to a file stands for the file. A link that leads nowhere is not
/// written through, but may stay.
fn behind_link(dir: &Dir, name: &[u8], there: Metadata, existing: OnExisting) -> Result<Metadata, EntryError> {
    match there.kind {
        Kind::Symlink => match dir.metadata_following(name) {
            Err(_) if existing == OnExisting::Keep => Ok(there),
            followed => followed.map_err(|_| EntryError::TargetIs(FailureReason::InTheWay)),
        },
        _ => Ok(there),
    }
}

/// Whether, and as what, an existing entry under a file's name stays, so that the file need not be
/// read. Also `None` if only the copy can find that out.
pub(crate) fn kept_unread(folder: &Folder<'_>, name: &[u8], from: &Metadata) -> Option<Kept> {
    let options = &folder.job.options;
    if options.existing == OnExisting::Replace {
        return None;
    }
    let Ok(Some(dir)) = &folder.target() else { return None };
    let kept = folder
        .admit(name)
        .and_then(|()| dir.metadata(name).map_err(entry_error::target(Operation::Open)))
        .and_then(|there| {
            if folder.is_another_ones(name, &there) {
                return Ok(None);
            }
            let there = behind_link(dir, name, there, options.existing)?;
            kept(folder.job, from, &there, By::Copying, there.kind == Kind::File, is_one(from, &there))
        });
    let kept = kept.ok().flatten();
    if kept.is_some() {
        folder.job.planned(Planned::Keep, || folder.target_path(name));
    }
    kept
}

/// How an entry gets its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// As a copy of its own.
    Copying,
    /// As another name of a file that was copied.
    Linking,
}

/// Whether the existing entry stays, by the options. Otherwise it is replaced, if its kind `may_go`
/// and it is not `one` with the source.
fn kept(
    job: &Job,
    from: &Metadata,
    there: &Metadata,
    by: By,
    may_go: bool,
    one: bool,
) -> Result<Option<Kept>, EntryError> {
    let existing = job.options.existing;
    // Whether the copy that is continued has touched the entry. It set the source's time last, so
    // an entry with that time is complete.
    let touched = job
        .options
        .continues
        .and(job.choices.began)
        .is_some_and(|began| as_kept_by(there, began) <= nanos(there.ctime));
    let alike = (from.kind, from.size) == (there.kind, there.size);
    let is_same = alike && as_kept_by(there, from.mtime) == nanos(there.mtime);
    if touched && !one && is_same {
        // The copy that is continued completed this name as a separate file. It now belongs to a
        // file that was met before.
        return Ok((by == By::Copying).then_some(Kept::SAME));
    }
    // A file that was cut short while it was overwritten has this time. Its source may have the
    // same time.
    let is_cut = touched && !alike && there.mtime == EPOCH;
    match existing {
        // Whatever kind it is.
        OnExisting::Keep => Ok(Some(Kept { as_copy: false, is_same })),
        _ if !may_go => Err(EntryError::TargetIs(FailureReason::InTheWay)),
        _ if one => Err(EntryError::TargetIs(FailureReason::SameFile)),
        // As with cp, a file as old as its source becomes a name of the copy, whichever name was
        // met first.
        OnExisting::Update if by == By::Linking && is_same => Ok(None),
        // An entry that is kept because it is newer stands for the copy, as with cp.
        OnExisting::Update if !is_cut && as_kept_by(there, from.mtime) <= nanos(there.mtime) => {
            Ok(Some(Kept { as_copy: true, is_same }))
        }
        OnExisting::Update | OnExisting::Replace => Ok(None),
    }
}

fn is_one(from: &Metadata, there: &Metadata) -> bool {
    (from.dev, from.ino) == (there.dev, there.ino)
}

/// Whether the entry may be the source itself, seen through another filesystem such as an overlay.
/// Then it must not be truncated before the source was read. FUSE reports old sizes and times for a
/// second.
fn may_be_one(folder: &Folder<'_>, dir: &Dir, from: &Metadata, there: &Metadata) -> bool {
    let version = |file: &Metadata| (file.size, file.mtime, file.ctime);
    let of_fuse = |dir: &Dir| filesystem_is_fuse(dir).unwrap_or(true);
    let source_is = || folder.source().is_ok_and(|source| of_fuse(&source));
    from.dev != there.dev && (version(from) == version(there) || of_fuse(dir) || source_is())
}

/// Whether the entry is a link to exactly this existing entry, which a copy of the link would
/// replace.
fn leads_to(item: Item<'_, '_>, from: &Metadata, there: &Metadata) -> bool {
    from.kind == Kind::Symlink
        && there.kind != Kind::Symlink
        && item
            .folder
            .source()
            .is_ok_and(|source| source.metadata_following(item.from).is_ok_and(|end| is_one(&end, there)))
}

fn over(job: &Job, dir: &Dir, name: &[u8], from: &Metadata, through: bool) -> Result<Placement, EntryError> {
    let opened = job.patiently(|| if through { dir.open_write_following(name) } else { dir.open_write(name) });
    let fd = opened.map_err(entry_error::target(Operation::Open))?;
    // The entry may have been swapped since it was checked.
    let there = attributes::metadata_of(&fd).map_err(entry_error::target(Operation::Open))?;
    if there.kind != Kind::File {
        return Err(EntryError::TargetIs(FailureReason::InTheWay));
    }
    if is_one(from, &there) {
        return Err(EntryError::TargetIs(FailureReason::SameFile));
    }
    attributes::set_len(&fd, 0).map_err(entry_error::target(Operation::Write))?;
    Ok(Placement::Write(fd, TargetKind::Over))
}

fn temporary_file(job: &Job, dir: &Dir, mode: u32) -> Result<Placement, EntryError> {
    let (fd, name) = temporary(|name| job.patiently(|| dir.create_new(name, mode)))
        .map_err(entry_error::target(Operation::Create))?;
    Ok(Placement::Write(fd, TargetKind::Temporary(name)))
}

/// Makes an entry under a name that nothing else uses.
fn temporary<T>(make: impl Fn(&[u8]) -> io::Result<T>) -> io::Result<(T, Box<[u8]>)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    for _ in 0..TEMPORARY_TRIES {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".ringway-{:x}-{number:x}", std::process::id()).into_bytes();
        match make(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return Ok((made?, name.into())),
        }
    }
    Err(Errno::EXIST.into())
}

/// Finds out which ends of names a folder drops, with names that nothing else uses.
pub(crate) fn lost_ends(dir: &Dir) -> LostEnds {
    // Held meanwhile, so that nothing else uses the name.
    let Ok(tried) = dir.try_clone() else { return LostEnds::default() };
    match temporary(|name| dir.create_new(name, PROBE_MODE)) {
        Ok((_, held)) => {
            let probe = [&held[..], b"-"].concat();
            let loses = LostEnds::try_out(&tried.into(), &probe, PROBE_MODE);
            let _ = dir.unlink(&held);
            loses
        }
        // Nothing can be made there.
        Err(_) => LostEnds::default(),
    }
}

/// The result of making an entry that is not a regular file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Made {
    /// It was made.
    Done,
    /// The existing entry stays.
    Kept(Kept),
    /// A dry run.
    Planned,
}

/// Makes a link or special file with `make`, and completes it with `complete`. An existing entry is
/// replaced, unless it is a folder.
pub(crate) fn make(
    item: Item<'_, '_>,
    from: &Metadata,
    what: Planned,
    by: By,
    make: impl Fn(&Dir, &[u8]) -> io::Result<()>,
    complete: impl Fn(&Dir, &[u8]) -> io::Result<()>,
) -> Result<Made, EntryError> {
    let Item { folder, to: name, .. } = item;
    let options = &folder.job.options;
    let planned = |what| folder.job.planned(what, || folder.target_path(name));
    let Some(dir) = &folder.target()? else {
        planned(what);
        return Ok(Made::Planned);
    };
    folder.admit(name)?;
    if !options.dry_run {
        match make(dir, name) {
            Ok(()) => {
                return complete(dir, name).map(|()| Made::Done).map_err(entry_error::target(Operation::Metadata));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(EntryError::Target(Operation::Create, error)),
        }
    }
    match dir.metadata(name) {
        Ok(there) if folder.is_another_ones(name, &there) => return Err(EntryError::TargetIs(FailureReason::InTheWay)),
        Ok(there) => {
            let one = is_one(from, &there) || leads_to(item, from, &there);
            if let Some(kept) = kept(folder.job, from, &there, by, there.kind != Kind::Dir, one)? {
                planned(Planned::Keep);
                return Ok(Made::Kept(kept));
            }
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(EntryError::Target(Operation::Open, error));
        }
        _ => {}
    }
    if options.dry_run {
        may_make(folder, dir)?;
        planned(what);
        return Ok(Made::Planned);
    }
    let ((), temporary) = temporary(|name| make(dir, name)).map_err(entry_error::target(Operation::Create))?;
    let done = complete(dir, &temporary)
        .map_err(entry_error::target(Operation::Metadata))
        .and_then(|()| dir.rename(&temporary, dir, name).map_err(entry_error::target(Operation::Rename)));
    match done {
        Ok(()) => Ok(Made::Done),
        Err(error) => {
            // The first error is the one to report. A temporary name that stays is the lesser
            // problem.
            let _ = dir.unlink(&temporary);
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::CopyOptions;

    #[test]
    fn a_time_that_the_filesystem_has_rounded_is_not_older() {
        let time = |secs, nanos| Timestamp { secs, nanos };
        let folder = tempfile::tempdir().unwrap();
        let any = Dir::open(folder.path()).and_then(attributes::metadata_of).unwrap();
        let options = CopyOptions { existing: OnExisting::Update, ..CopyOptions::default() };
        let job = Job::for_tests(options);
        let stays_by = |from: Timestamp, mtime: Timestamp, ctime: Timestamp| {
            let (from, there) = (Metadata { mtime: from, ..any }, Metadata { mtime, ctime, ..any });
            kept(&job, &from, &there, By::Copying, true, false).unwrap().is_some()
        };
        let (fine, whole, even) = (time(1_000, 123_456_789), time(1_001, 0), time(1_000, 0));
        // Granularities of two seconds, one, ten milliseconds, and a hundred nanoseconds.
        assert!(stays_by(time(1_001, 999_999_999), even, even) && !stays_by(time(1_002, 0), even, even));
        assert!(stays_by(time(1_001, 999_999_999), whole, whole) && !stays_by(time(1_002, 0), whole, whole));
        assert!(stays_by(time(1_001, 19_999_999), time(1_001, 10_000_000), whole));
        assert!(!stays_by(time(1_001, 20_000_000), time(1_001, 10_000_000), whole));
        assert!(
            stays_by(time(1_001, 199), time(1_001, 100), whole) && !stays_by(time(1_001, 200), time(1_001, 100), whole)
        );
        // The entry's own time shows that the filesystem keeps full precision.
        assert!(stays_by(even, even, fine) && !stays_by(time(1_000, 1), even, fine));
        assert!(stays_by(time(-1, 999_999_999), time(-2, 0), even), "before 1970");
    }
}
