//! Lists a folder, or a whole tree, sorted by name and in bounded memory, however many entries
//! there are. It opens folders only, follows no link, and leaves everything as it is.
mod selection;
#[cfg(test)]
mod tests;

use std::io;
use std::os::fd::OwnedFd;

use ringway_sys::attributes::{Kind, Metadata, metadata_of};
use ringway_sys::dir::Dir;
use ringway_sys::space;
use ringway_wire::limits::PATH_MAX;
use ringway_wire::{Name, RelPath};
use rustix::io::Errno;

use selection::Selection;

use super::own_names::attempt_id;
use crate::descriptors::{Shortage, wait_to_open};

/// Bytes that the names of one listing take, over all folders on the way down. A folder of which
/// the names need more is read several times: those with 100,000 names of ordinary length are not.
pub const NAMES_BYTES_MAX: usize = 4 << 20;

/// Folders of a path that stay open while what is beneath them is listed. Others are opened again.
const FOLDERS_OPEN_MAX: usize = 4;

/// What was found.
#[derive(Debug)]
pub struct Found<'a> {
    /// Its path below the folder that is listed.
    pub path: RelPath<'a>,
    /// What it is, or why that cannot be told; for a folder that was found before, why it cannot be
    /// listed.
    pub what: Result<Metadata, Errno>,
    /// The target of a link; empty for other entries.
    pub target: &'a [u8],
}

/// A listing of one folder.
pub struct Listing<'a> {
    /// The folder.
    pub folder: &'a Dir,
    /// Whether what is in its folders is listed as well.
    pub is_tree: bool,
    /// What is left out, by its metadata, with everything in it.
    pub hides: &'a dyn Fn(&Metadata) -> bool,
    /// [`NAMES_BYTES_MAX`]; tests take less.
    pub names_bytes_max: usize,
}

/// A folder on the way down.
struct Level {
    /// Bytes of its path.
    path_len: usize,
    /// None if it was closed since, to be opened again when it is needed.
    dir: Option<Dir>,
    names: Option<Selection>,
    /// The name after which the next selection begins.
    after: Vec<u8>,
}

impl Listing<'_> {
    /// Shows all entries in order until `show` returns false. Folders in the tree that cannot be
    /// listed are shown as such.
    ///
    /// # Errors
    /// The folder itself cannot be listed, or there were no descriptors for too long: that is no
    /// fault of an entry.
    pub fn run(&self, mut show: impl FnMut(Found<'_>) -> bool) -> Result<(), Errno> {
        let mut path = Vec::new();
        let top = patiently(|| self.folder.try_clone())?;
        let mut levels = vec![Level { path_len: 0, dir: Some(top), names: None, after: Vec::new() }];
        loop {
            let name = match self.next_name(&mut levels, &path) {
                Ok(Some(name)) => name,
                Ok(None) => return Ok(()),
                Err((errno, path_len)) if path_len == 0 || errno.is_of_descriptors() => return Err(errno),
                Err((errno, path_len)) => {
                    path.truncate(path_len);
                    let what = Err(errno);
                    match RelPath::new(&path) {
                        Ok(path) if !show(Found { path, what, target: &[] }) => return Ok(()),
                        _ => continue,
                    }
                }
            };
            let Some(level) = levels.last() else { return Ok(()) };
            path.truncate(level.path_len);
            // Each name comes from the kernel and is a component; together they may be too long.
            // Its folder was shown as one that cannot be listed whole.
            let Ok(joined) = RelPath::new(&path).and_then(|folder| folder.join(Name::new(&name)?)) else { continue };
            path = joined;
            let Some(dir) = &level.dir else { continue };
            match self.show(dir, &name, &path, &mut show) {
                Shown::Over => return Ok(()),
                Shown::Entry => {}
                Shown::Folder if !self.is_tree => {}
                Shown::Folder => match self.enter(dir, &name) {
                    Ok(None) => {}
                    Ok(Some(dir)) => {
                        let level = Level { path_len: path.len(), dir: Some(dir), names: None, after: Vec::new() };
                        levels.push(level);
                        let open = levels.len().saturating_sub(FOLDERS_OPEN_MAX);
                        levels[..open].iter_mut().for_each(|level| level.dir = None);
                    }
                    Err(errno) if errno.is_of_descriptors() => return Err(errno),
                    Err(errno) => {
                        let Ok(path) = RelPath::new(&path) else { continue };
                        if !show(Found { path, what: Err(errno), target: &[] }) {
                            return Ok(());
                        }
                    }
                },
            }
        }
    }

    /// The next name of the deepest folder that has one left, which is open then; none at the end.
    ///
    /// # Errors
    /// A folder cannot be read, and is left: why, and the length of its path.
    fn next_name(&self, levels: &mut Vec<Level>, path: &[u8]) -> Result<Option<Vec<u8>>, (Errno, usize)> {
        while let Some(level) = levels.last_mut() {
            if let Some(name) = level.names.as_mut().and_then(Selection::next) {
                level.after = name.to_vec();
                let name = level.after.clone();
                return match self.reopen(levels, path) {
                    Ok(()) => Ok(Some(name)),
                    Err(errno) => Err(left(levels, errno)),
                };
            }
            if level.names.as_ref().is_some_and(Selection::is_whole) {
                levels.pop();
                continue;
            }
            let is_new = level.names.is_none();
            let selected = self.reopen(levels, path).and_then(|()| self.select(levels));
            selected.map_err(|errno| left(levels, errno))?;
            if let Some(level) = levels.last().filter(|level| is_new && has_too_long(level)) {
                // Said once, while the folder is the last that was shown. What fits is listed.
                return Err((Errno::NAMETOOLONG, level.path_len));
            }
        }
        Ok(None)
    }

    /// Opens the deepest folder, unless it is open.
    fn reopen(&self, levels: &mut [Level], path: &[u8]) -> Result<(), Errno> {
        let Some(level) = levels.last_mut().filter(|level| level.dir.is_none()) else { return Ok(()) };
        let dir = match &path[..level.path_len] {
            b"" => patiently(|| self.folder.try_clone()),
            below => patiently(|| self.folder.open_beneath(below)),
        };
        level.dir = Some(dir?);
        Ok(())
    }

    /// Selects the deepest folder's next names. Folders above give up those of their names that are
    /// far off, until half of the memory is left. They keep the next ones: a folder whose names
    /// fill the memory is read once for thousands of its folders, and not for each.
    fn select(&self, levels: &mut [Level]) -> Result<(), Errno> {
        let (last, above) = levels.split_last_mut().ok_or(Errno::NOENT)?;
        last.names = None;
        let mut held: usize = above.iter().flat_map(|level| &level.names).map(Selection::held_bytes).sum();
        while held > self.names_bytes_max / 2 {
            let most = above.iter_mut().flat_map(|level| &mut level.names).max_by_key(|names| names.held_bytes());
            let Some(most) = most else { break };
            held -= most.held_bytes();
            most.give_up_half();
            held += most.held_bytes();
        }
        let dir = last.dir.as_ref().ok_or(Errno::NOENT)?;
        last.names = Some(Selection::of(dir, &last.after, self.names_bytes_max.saturating_sub(held))?);
        Ok(())
    }

    fn show(&self, dir: &Dir, name: &[u8], path: &[u8], show: &mut impl FnMut(Found<'_>) -> bool) -> Shown {
        let Ok(path) = RelPath::new(path) else { return Shown::Entry };
        if attempt_id(name).is_some() {
            return Shown::Entry;
        }
        let there = match dir.metadata(name) {
            // It was removed since the folder was read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Shown::Entry,
            Ok(there) if (self.hides)(&there) => return Shown::Entry,
            there => there.map_err(errno),
        };
        let is = |kind| there.is_ok_and(|there| there.kind == kind);
        let target = if is(Kind::Symlink) { dir.read_link(name).map_err(errno) } else { Ok(Vec::new()) };
        let (what, target) = match target {
            Ok(target) => (there, target),
            Err(errno) => (Err(errno), Vec::new()),
        };
        match show(Found { path, what, target: &target }) {
            false => Shown::Over,
            true if is(Kind::Dir) => Shown::Folder,
            true => Shown::Entry,
        }
    }

    /// Opens a folder to list it; none for one that is left out.
    fn enter(&self, dir: &Dir, name: &[u8]) -> Result<Option<Dir>, Errno> {
        checked(patiently(|| dir.open_dir(name))?, self.hides)
    }
}

/// What became of an entry.
enum Shown {
    Entry,
    Folder,
    Over,
}

/// Opens what is at a path to list it; none for a folder that is left out, or lies in one by its
/// path.
///
/// # Errors
/// `ENOTDIR` for anything but a folder, `ELOOP` for a path through a symbolic link, and what the
/// kernel says. `EOPNOTSUPP` for what shows the kernel, as `/proc` does.
pub fn open_folder(root: &Dir, path: RelPath<'_>, hides: &dyn Fn(&Metadata) -> bool) -> Result<Option<Dir>, Errno> {
    let Some((above, name)) = path.split_last() else { return open_way(root, path, hides) };
    let Some(above) = open_way(root, above, hides)? else { return Ok(None) };
    if attempt_id(name.as_bytes()).is_some() {
        return Ok(None);
    }
    checked(patiently(|| above.open_dir(name.as_bytes()))?, hides)
}

/// The same for a folder in which names are looked up, even if it may not be listed.
fn open_way(root: &Dir, path: RelPath<'_>, hides: &dyn Fn(&Metadata) -> bool) -> Result<Option<Dir>, Errno> {
    let mut at = None;
    // One by one, so that nothing that is left out is gone through.
    for name in path.components() {
        if attempt_id(name.as_bytes()).is_some() {
            return Ok(None);
        }
        let above = at.as_ref().unwrap_or(root);
        let folder = patiently(|| above.open_dir_to_search(name.as_bytes()))?;
        // Also what shows the kernel: what is there and what is not have one answer.
        let Some(folder) = checked(folder, hides)? else { return Ok(None) };
        at = Some(folder);
    }
    let folder = at.map_or_else(|| patiently(|| root.try_clone()), Ok)?;
    checked(folder, hides)
}

/// What is at a path, with a link's target; none for what is left out.
///
/// # Errors
/// Those of [`open_folder`] for the folders on the way, and what the kernel says.
pub fn look_at(
    root: &Dir,
    path: RelPath<'_>,
    hides: &dyn Fn(&Metadata) -> bool,
) -> Result<Option<(Metadata, Vec<u8>)>, Errno> {
    let Some((above, name)) = path.split_last() else {
        return Ok(Some((metadata_of(root).map_err(errno)?, Vec::new())));
    };
    let Some(folder) = open_way(root, above, hides)? else { return Ok(None) };
    let there = folder.metadata(name.as_bytes()).map_err(errno)?;
    if hides(&there) || attempt_id(name.as_bytes()).is_some() {
        return Ok(None);
    }
    let target = match there.kind {
        Kind::Symlink => folder.read_link(name.as_bytes()).map_err(errno)?,
        _ => Vec::new(),
    };
    Ok(Some((there, target)))
}

/// Opens a file to read it, with its metadata; none for what is left out. The access time stays as
/// it is where that may be asked for.
///
/// # Errors
/// Those of [`open_folder`] for the folders on the way, `EISDIR` for a folder, `ELOOP` for a link,
/// `EOPNOTSUPP` for what is neither, which is not opened, and what the kernel says.
pub fn open_file(
    root: &Dir,
    path: RelPath<'_>,
    hides: &dyn Fn(&Metadata) -> bool,
) -> Result<Option<(OwnedFd, Metadata)>, Errno> {
    let (above, name) = path.split_last().ok_or(Errno::ISDIR)?;
    let Some(folder) = open_way(root, above, hides)? else { return Ok(None) };
    let is_file = |there: &Metadata| match there.kind {
        Kind::File => Ok(()),
        Kind::Dir => Err(Errno::ISDIR),
        Kind::Symlink => Err(Errno::LOOP),
        Kind::Fifo | Kind::Socket | Kind::CharDevice | Kind::BlockDevice => Err(Errno::OPNOTSUPP),
    };
    let there = folder.metadata(name.as_bytes()).map_err(errno)?;
    if hides(&there) || attempt_id(name.as_bytes()).is_some() {
        return Ok(None);
    }
    // Opening something else could act on it.
    is_file(&there)?;
    let file = patiently(|| folder.open_read(name.as_bytes()))?;
    let there = metadata_of(&file).map_err(errno)?;
    // It may be another one by now.
    if hides(&there) {
        return Ok(None);
    }
    is_file(&there)?;
    match space::shows_the_kernel(&file).map_err(errno)? {
        true => Err(Errno::OPNOTSUPP),
        false => Ok(Some((file, there))),
    }
}

/// A folder that was opened, unless it is left out.
fn checked(folder: Dir, hides: &dyn Fn(&Metadata) -> bool) -> Result<Option<Dir>, Errno> {
    let there = metadata_of(&folder).map_err(errno)?;
    if hides(&there) {
        return Ok(None);
    }
    match space::shows_the_kernel(&folder).map_err(errno)? {
        true => Err(Errno::OPNOTSUPP),
        false => Ok(Some(folder)),
    }
}

/// Whether a folder has an entry whose path is longer than a path may be.
fn has_too_long(level: &Level) -> bool {
    level.names.as_ref().is_some_and(|names| level.path_len + 1 + names.longest() > PATH_MAX)
}

/// The deepest folder is left, because it cannot be read.
fn left(levels: &mut Vec<Level>, errno: Errno) -> (Errno, usize) {
    (errno, levels.pop().map_or(0, |level| level.path_len))
}

/// Opens something; where there is no descriptor left, others close some.
fn patiently<T>(open: impl FnMut() -> io::Result<T>) -> Result<T, Errno> {
    wait_to_open(|| true, open).map_err(errno)
}

fn errno(error: io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}
