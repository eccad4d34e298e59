//! Makes folders and files that only their owner may enter or read, whatever the umask, and keeps
//! this process out of core dumps.
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use ringway_model::{Fault, StoreTrouble};
use rustix::process::{DumpableBehavior, Resource, Rlimit, geteuid, set_dumpable_behavior, setrlimit};

use crate::local::paths::{IDENTITY_FILE, OWN_FILES, Paths};

const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
const PERMISSION_BITS: u32 = 0o777;
const OTHERS_BITS: u32 = 0o077;
const OTHERS_WRITE_BITS: u32 = 0o022;
const ROOT: u32 = 0;

/// Files of one of our folders whose modes are looked at: we keep about ten there.
const FILES_REPAIRED_MAX: usize = 1_000;

/// Makes a folder that only its owner may enter, with the folders above it that are missing. One of
/// ours that is open to others is closed.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty())
        && !parent.is_dir()
    {
        make_folder(parent)?;
    }
    match DirBuilder::new().mode(FOLDER_MODE).create(folder) {
        // The umask takes bits away, even the owner's.
        Ok(()) => fs::set_permissions(folder, Permissions::from_mode(FOLDER_MODE)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let there = fs::metadata(folder)?;
            if !there.is_dir() {
                return Err(io::ErrorKind::NotADirectory.into());
            }
            let is_ours = there.uid() == geteuid().as_raw();
            if is_ours && there.mode() & PERMISSION_BITS != FOLDER_MODE {
                match fs::set_permissions(folder, Permissions::from_mode(FOLDER_MODE)) {
                    // Nobody can change anything there, and it is only read.
                    Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => {}
                    changed => changed?,
                }
            }
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Opens or creates a file by `options`; one that is created is its owner's alone, and one of ours
/// that others may read is closed to them.
pub fn open_file(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.mode(FILE_MODE).open(path)?;
    let there = file.metadata()?;
    if is_to_be_repaired(&there) {
        match file.set_permissions(Permissions::from_mode(FILE_MODE)) {
            Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => {}
            changed => changed?,
        }
    }
    Ok(file)
}

/// Writes a file that only its owner may read, in place of what it held.
pub fn write_file(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut file = open_file(OpenOptions::new().write(true).create(true).truncate(true), path)?;
    io::Write::write_all(&mut file, contents)
}

/// Closes our folders and what lies in them to others. A key that others could read is not used any
/// more: that one stays as it is, and is reported.
///
/// # Errors
/// A folder, or something in it, belongs to another user than this one and root, or others can
/// write to what cannot be closed.
pub(crate) fn secure(paths: &Paths) -> Result<(), Fault> {
    // The runtime folder is not checked: it holds only a socket, whose listener is asked for its
    // user by SO_PEERCRED.
    for folder in [&paths.config, &paths.data, &paths.state].into_iter().filter(|one| one.is_dir()) {
        check(folder)?;
        let known = OWN_FILES.iter().map(|name| folder.join(name));
        let listed = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        known.chain(listed.take(FILES_REPAIRED_MAX)).try_for_each(|path| check(&path))?;
    }
    repair(paths);
    Ok(())
}

/// Looks whose a path of ours is, and what it leads to where it is a link. What is not there is
/// nobody's.
fn check(path: &Path) -> Result<(), Fault> {
    let this_user = geteuid().as_raw();
    let distrust = |there: fs::Metadata| why_distrusted(this_user, there.uid(), there.mode());
    // The link itself: its owner decides where it leads. Its mode means nothing.
    let link = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_symlink);
    let link = link.and_then(|link| why_distrusted(this_user, link.uid(), 0));
    match link.or_else(|| fs::metadata(path).ok().and_then(distrust)) {
        Some(reason) => {
            Err(Fault::Store { path: path.to_owned().into(), trouble: StoreTrouble::Untrusted, detail: reason.into() })
        }
        None => Ok(()),
    }
}

/// Why what belongs to `owner` cannot be believed. What is this user's own is closed to others
/// instead.
fn why_distrusted(this_user: u32, owner: u32, mode: u32) -> Option<String> {
    if owner == this_user {
        return None;
    }
    if owner != ROOT {
        return Some(format!(
            "it belongs to the user with uid {owner}, who may have changed it; this program runs as uid {this_user}. \
             Move it away, or make it this user's (chown) if you trust what is in it"
        ));
    }
    let is_open = mode & OTHERS_WRITE_BITS != 0;
    is_open.then(|| "it belongs to root, and others may write to it: have root run chmod go-w on it".to_owned())
}

fn repair(paths: &Paths) {
    for folder in
        [&paths.config, &paths.data, &paths.state].into_iter().chain(&paths.runtime).filter(|one| one.is_dir())
    {
        // On a medium that is read-only nothing changes, nor can anybody else change anything.
        let _ = make_folder(folder);
        repair_files(folder, IDENTITY_FILE);
    }
}

/// Closes the files of a folder of ours to others. What cannot be changed stays: the folder itself
/// lets nobody else in.
fn repair_files(folder: &Path, except: &str) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().take(FILES_REPAIRED_MAX).filter(|entry| entry.file_name() != except) {
        // Of the entry itself: what a link leads to is not ours to change.
        if entry.metadata().is_ok_and(|there| is_to_be_repaired(&there)) {
            let _ = fs::set_permissions(entry.path(), Permissions::from_mode(FILE_MODE));
        }
    }
}

fn is_to_be_repaired(there: &fs::Metadata) -> bool {
    let is_open = there.mode() & OTHERS_BITS != 0 || there.mode() & FILE_MODE != FILE_MODE;
    there.is_file() && there.uid() == geteuid().as_raw() && is_open
}

/// From here on no core dump of this process is written, and no other process of this user can read
/// its memory (PR_SET_DUMPABLE, prctl(2)): it holds the key, and codes. Programs that it starts
/// inherit the limit alone.
///
/// # Errors
/// What the kernel said; the other of the two measures has been taken all the same.
pub fn forbid_core_dumps() -> io::Result<()> {
    let limited = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    // The limit does not hold for a core_pattern that is a pipe (core(5)).
    let hidden = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    Ok(limited.and(hidden)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn folders_and_files_are_private_and_those_that_were_not_are_repaired() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("a/b");
        make_folder(&folder).unwrap();
        assert_eq!((mode(&base.path().join("a")), mode(&folder)), (0o700, 0o700));
        for odd in [0o755, 0o777, 0o000] {
            fs::set_permissions(&folder, Permissions::from_mode(odd)).unwrap();
            make_folder(&folder).unwrap();
            assert_eq!(mode(&folder), 0o700, "{odd:o}");
        }
        let file = folder.join("file");
        write_file(&file, b"x").unwrap();
        assert_eq!(mode(&file), 0o600);
        for odd in [0o644, 0o666, 0o000] {
            fs::set_permissions(&file, Permissions::from_mode(odd)).unwrap();
            fs::write(folder.join("kept"), "").unwrap();
            fs::set_permissions(folder.join("kept"), Permissions::from_mode(0o640)).unwrap();
            repair_files(&folder, "kept");
            assert_eq!((mode(&file), mode(&folder.join("kept"))), (0o600, 0o640), "{odd:o}");
        }
    }

    #[test]
    fn what_a_link_leads_to_keeps_its_mode_and_a_file_is_no_folder() {
        let base = tempfile::tempdir().unwrap();
        let elsewhere = base.path().join("elsewhere");
        fs::write(&elsewhere, "").unwrap();
        fs::set_permissions(&elsewhere, Permissions::from_mode(0o644)).unwrap();
        let folder = base.path().join("ours");
        make_folder(&folder).unwrap();
        std::os::unix::fs::symlink(&elsewhere, folder.join("link")).unwrap();
        repair_files(&folder, "");
        assert_eq!(mode(&elsewhere), 0o644);
        assert_eq!(make_folder(&elsewhere).unwrap_err().kind(), io::ErrorKind::NotADirectory);
    }

    #[test]
    fn only_what_is_this_users_or_roots_alone_is_believed() {
        assert_eq!(why_distrusted(1_000, 1_000, 0o777), None, "it is closed to others instead");
        assert_eq!(why_distrusted(1_000, ROOT, 0o755), None);
        for open in [0o775, 0o757] {
            assert!(why_distrusted(1_000, ROOT, open).is_some_and(|why| why.contains("go-w")));
        }
        for (this_user, owner) in [(1_000, 1_001), (ROOT, 1_001)] {
            assert!(why_distrusted(this_user, owner, 0o700).is_some_and(|why| why.contains("uid 1001, who")));
        }
    }

    #[test]
    fn nothing_starts_with_own_folders_or_files_of_another_user() {
        const ANOTHER: u32 = 54_321;
        if !geteuid().is_root() {
            return eprintln!("skipped: only root can give a file to another user");
        }
        let base = tempfile::tempdir().unwrap();
        let below = |name: &str| base.path().join(name).join("ringway");
        let paths = Paths { config: below("config"), data: below("data"), state: below("state"), runtime: None };
        let open = || crate::Engine::open(paths.clone()).map(drop);
        open().unwrap();
        make_folder(&paths.config).unwrap();
        make_folder(&paths.state).unwrap();
        fs::write(paths.config.join("config.toml"), "").unwrap();
        let link = paths.config.join("link");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        let ours = [
            paths.config.clone(),
            paths.data.clone(),
            paths.state.clone(),
            paths.config.join("config.toml"),
            paths.data.join("ringway.db"),
            paths.data.join(IDENTITY_FILE),
            link,
        ];
        for path in ours {
            std::os::unix::fs::lchown(&path, Some(ANOTHER), None).unwrap();
            match open() {
                Err(Fault::Store { path: found, trouble: StoreTrouble::Untrusted, detail: reason }) => {
                    assert_eq!(found.0, path);
                    assert!(reason.contains("uid 54321"), "{reason}");
                }
                other => panic!("{path:?}: {other:?}"),
            }
            std::os::unix::fs::lchown(&path, Some(ROOT), None).unwrap();
            open().unwrap();
        }
    }
}
