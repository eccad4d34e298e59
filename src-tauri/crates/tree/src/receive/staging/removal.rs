//! Removes a staging folder however deep it is, with one descriptor at a time and without following
//! anything out of it.
use std::io;
use std::time::Duration;

use crate::disk::Dir;
use ringway_sys::attributes::Kind;
use rustix::io::Errno;

use crate::receive::FILLING_FOLDER_MODE;
use crate::receive::failures::is;
use crate::receive::landings::log::{self, Destination};
use crate::receive::staging::{BEGUN, exchanges};

/// Beginnings of the names that an open file gets when it is removed on a FUSE filesystem (libfuse)
/// or on NFS. The name goes when the file is closed, which FUSE tells the filesystem's program
/// after close(2) has returned.
const HIDDEN_PREFIXES: [&[u8]; 2] = [b".fuse_hidden", b".nfs"];

/// For how long, and how often, a folder is tried again that still holds such names.
const HIDDEN: Duration = Duration::from_millis(20);
const HIDDEN_TRIES: u32 = 50;

/// Removes the folder `name` in `parent` and all that is in it; nothing being there is fine.
///
/// Subfolders are first moved up to the folder itself and emptied there, so that depth costs
/// neither descriptors nor stack.
///
/// # Errors
/// The first refusal; what comes after it stays.
pub(in crate::receive) fn remove_tree(parent: &Dir, name: &[u8]) -> io::Result<()> {
    remove_until(parent, name, None)
}

/// Removes a staging folder, and what tells it from other folders last: after a crash the rest of
/// it is still known for one. The owner's files that it holds get names first, and what has landed
/// is remembered.
///
/// # Errors
/// The first refusal; what comes after it stays.
pub(in crate::receive) fn remove_staging(destination: Destination<'_>, name: &[u8]) -> io::Result<()> {
    let root = destination.root;
    match root.open_dir(name) {
        Ok(staging) => {
            exchanges::settle_left(root, &staging)?;
            log::recall_all(destination, &staging, &log::left_in(&staging));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    remove_until(root, name, Some(BEGUN))
}

fn remove_until(parent: &Dir, name: &[u8], last: Option<&[u8]>) -> io::Result<()> {
    let top = match parent.open_dir(name) {
        Ok(top) => top,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut moved = 0;
    while let Some(folder) = first_folder(&top, last)? {
        // Its mode may be the sender's already, and moving a folder writes to it.
        top.set_folder_mode(&folder, FILLING_FOLDER_MODE)?;
        let dir = top.open_dir(&folder)?;
        empty(&dir, &top, &mut moved)?;
        remove_emptied(&top, &folder, &dir)?;
    }
    if let Some(last) = last {
        match top.unlink(last) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            unlinked => unlinked?,
        }
    }
    remove_emptied(parent, name, &top)
}

/// Removes a folder that is empty but for names of files that were open until a moment ago.
pub(in crate::receive) fn remove_emptied(parent: &Dir, name: &[u8], dir: &Dir) -> io::Result<()> {
    for _ in 0..HIDDEN_TRIES {
        match parent.remove_dir(name) {
            Err(error) if (is(&error, Errno::NOTEMPTY) || is(&error, Errno::EXIST)) && remove_hidden(dir)? => {
                std::thread::sleep(HIDDEN);
            }
            removed => return removed,
        }
    }
    parent.remove_dir(name)
}

/// Whether there is nothing in a folder but such names.
pub(in crate::receive) fn is_emptied(dir: &Dir) -> bool {
    let all_hidden = |mut entries: ringway_sys::dir::Entries| {
        while let Some(entry) = entries.next() {
            if !entry.is_ok_and(|entry| is_hidden(entry.name)) {
                return false;
            }
        }
        true
    };
    dir.entries().is_ok_and(all_hidden)
}

/// Removes files with hidden names, some of which a program that is gone may have left. Whether
/// there were any.
fn remove_hidden(dir: &Dir) -> io::Result<bool> {
    let (mut any, mut entries) = (false, dir.entries()?);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        if is_hidden(entry.name) {
            any = true;
            match dir.unlink(entry.name) {
                // Still open (NFS), or closed meanwhile.
                Err(error) if is(&error, Errno::BUSY) || error.kind() == io::ErrorKind::NotFound => {}
                unlinked => unlinked?,
            }
        }
    }
    Ok(any)
}

fn is_hidden(name: &[u8]) -> bool {
    HIDDEN_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Removes what is no folder from the top, except `last`, and names a folder that is in it.
fn first_folder(top: &Dir, last: Option<&[u8]>) -> io::Result<Option<Vec<u8>>> {
    let mut entries = top.entries()?;
    while let Some(entry) = entries.next() {
        let entry = entry?;
        if is_folder(top, entry.name, entry.kind)? {
            return Ok(Some(entry.name.to_vec()));
        }
        // An open one would only get another such name.
        if !is_hidden(entry.name) && Some(entry.name) != last {
            top.unlink(entry.name)?;
        }
    }
    Ok(None)
}

/// Empties a folder: files go, subfolders move to the top.
fn empty(dir: &Dir, top: &Dir, moved: &mut u64) -> io::Result<()> {
    loop {
        let mut entries = dir.entries()?;
        let mut any = false;
        while let Some(entry) = entries.next() {
            let entry = entry?;
            if !is_folder(dir, entry.name, entry.kind)? {
                if !is_hidden(entry.name) {
                    any = true;
                    dir.unlink(entry.name)?;
                }
                continue;
            }
            any = true;
            dir.set_folder_mode(entry.name, FILLING_FOLDER_MODE)?;
            loop {
                *moved += 1;
                match dir.rename_noreplace(entry.name, top, format!("gone-{moved}").as_bytes()) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    renamed => break renamed?,
                }
            }
        }
        // Removing while listing may skip entries on some filesystems: look again until nothing is
        // left.
        if !any {
            return Ok(());
        }
    }
}

fn is_folder(dir: &Dir, name: &[u8], kind: Option<Kind>) -> io::Result<bool> {
    let kind = match kind {
        Some(kind) => kind,
        None => dir.metadata(name)?.kind,
    };
    Ok(kind == Kind::Dir)
}
