//! The sources that a person named, resolved to folders and entries with their names in the
//! transfer.
use std::ffi::{OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use ringway_model::{Fault, Invalid, Operation, Source};
use ringway_sys::attributes::Kind;
use ringway_sys::dir::Dir;
use ringway_wire::name::Name;
use ringway_wire::offered::{NameCollector, OfferedNames};
use rustix::fs::{CWD, FileType, Mode, OFlags};

use crate::filesystem::listing::{Position, Window};
use crate::filesystem::selection::Filter;

/// Entries read at a time if only a folder's names are needed.
const LOOK_WINDOW: usize = 1024;

/// Bytes of one getdents64 call there.
const LOOK_BUFFER: usize = 32 * 1024;

/// The message for an offer with more names than allowed.
const TOO_MANY_NAMES: &str =
    "there are too many names at the top of what is to be sent: send the folder itself instead of its contents";

/// A source.
#[derive(Clone)]
pub(in crate::send) enum Root {
    /// A folder whose contents go to the transfer's root.
    Contents(Arc<Dir>),
    /// A folder under its name.
    Folder(Arc<Dir>, Vec<u8>),
    /// Anything else, in its parent folder.
    Entry(Arc<Dir>, Vec<u8>),
}

/// The message for a list with other sources than one folder.
const ONE_FOLDER: &str = "a list of paths belongs to one source, a folder";

/// Opens the sources and refuses names that collide.
pub(in crate::send) fn resolve(sources: &[Source], filter: Option<&Filter>) -> Result<Vec<Root>, Fault> {
    if sources.is_empty() {
        return Err(Fault::Invalid(Invalid::NothingToSend));
    }
    let roots = sources.iter().map(resolve_one).collect::<Result<Vec<_>, _>>()?;
    if filter.is_some_and(Filter::is_listed) && !matches!(&*roots, [Root::Contents(_) | Root::Folder(..)]) {
        return Err(Fault::option(ONE_FOLDER));
    }
    match first_in_two(&roots, filter, &|| true)? {
        Some(name) => Err(Fault::Invalid(Invalid::SameName { name: OsString::from_vec(name).into() })),
        None => Ok(roots),
    }
}

/// A name under which two of the sources would put entries; `None` if there is none, or as soon as
/// `goes_on` says so.
pub(in crate::send) fn first_in_two(
    roots: &[Root],
    filter: Option<&Filter>,
    goes_on: &dyn Fn() -> bool,
) -> Result<Option<Vec<u8>>, Fault> {
    let named: Vec<_> = roots.iter().filter_map(Root::name).collect();
    let mut sorted = named.clone();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Ok(Some(pair[0].to_vec()));
    }
    let (contents, others): (Vec<_>, Vec<_>) = roots.iter().partition(|root| root.name().is_none());
    for (at, first) in contents.iter().enumerate() {
        for second in contents[at + 1..].iter().chain(&others) {
            if let Some(name) = in_both(first, second, filter, goes_on)? {
                return Ok(Some(name));
            }
        }
    }
    Ok(None)
}

/// Whether no source has an entry any more that has this path within the transfer. Another device
/// may have said the path, so nothing behind a link or above a source is looked at.
pub(in crate::send) fn is_gone(sources: &[Source], path: &Path) -> bool {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name),
            _ => return false,
        }
    }
    let Some((first, below)) = names.split_first() else { return false };
    let holders = sources.iter().filter_map(|source| match source.contents_only {
        true => Some((source, &names[..])),
        false => (source.path.file_name() == Some(*first)).then_some((source, below)),
    });
    let mut holders = holders.peekable();
    holders.peek().is_some() && holders.all(|(source, names)| is_gone_below(&source.path, names))
}

fn is_gone_below(folder: &Path, names: &[&OsStr]) -> bool {
    let mut path = folder.to_owned();
    for name in names {
        path.push(name);
        match path.symlink_metadata() {
            Err(error) => return error.kind() == io::ErrorKind::NotFound,
            Ok(there) if there.is_symlink() => return false,
            Ok(_) => {}
        }
    }
    false
}

fn resolve_one(source: &Source) -> Result<Root, Fault> {
    let failed = |operation| move |error: io::Error| path_error(&source.path, operation, error);
    let open = |path: &Path| Dir::open(path).map(Arc::new).map_err(failed(Operation::Open));
    if source.contents_only {
        return Ok(Root::Contents(open(&source.path)?));
    }
    // `.`, `..` and `/` have no names of their own. A person means the folder itself, and for `/`
    // its contents.
    let path = match source.path.file_name() {
        Some(_) => source.path.clone(),
        None => source.path.canonicalize().map_err(failed(Operation::Open))?,
    };
    let Some(name) = path.file_name() else {
        return Ok(Root::Contents(open(&path)?));
    };
    Name::new(name.as_bytes()).map_err(|_| Fault::Invalid(Invalid::NameTooLong { name: name.into() }))?;
    let parent = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let parent = open_anchor(parent).map(Arc::new).map_err(failed(Operation::Open))?;
    match parent.metadata(name.as_bytes()).map_err(failed(Operation::Open))?.kind {
        Kind::Dir => {
            let dir = parent.open_dir(name.as_bytes()).map_err(failed(Operation::Open))?;
            Ok(Root::Folder(Arc::new(dir), name.as_bytes().to_vec()))
        }
        kind => {
            if kind == Kind::File {
                parent.open_read(name.as_bytes()).map_err(failed(Operation::Open))?;
            }
            Ok(Root::Entry(parent, name.as_bytes().to_vec()))
        }
    }
}

/// A folder that is only passed through needs no permission to list it (O_PATH, open(2)).
fn open_anchor(path: &Path) -> io::Result<Dir> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Dir::from_fd(rustix::fs::openat(CWD, path, flags, Mode::empty())?)
}

fn path_error(path: &Path, operation: Operation, source: io::Error) -> Fault {
    Fault::path(path.to_path_buf(), operation, source)
}

impl Root {
    /// The same with a separate descriptor, because the position of a listing belongs to the open
    /// file (lseek(2)).
    pub(in crate::send) fn again(&self) -> io::Result<Self> {
        let again = |dir: &Arc<Dir>| open_again(dir).map(Arc::new);
        Ok(match self {
            Self::Contents(dir) => Self::Contents(again(dir)?),
            Self::Folder(dir, name) => Self::Folder(again(dir)?, name.clone()),
            Self::Entry(parent, name) => Self::Entry(Arc::clone(parent), name.clone()),
        })
    }

    fn name(&self) -> Option<&[u8]> {
        match self {
            Self::Contents(_) => None,
            Self::Folder(_, name) | Self::Entry(_, name) => Some(name),
        }
    }
}

/// A name under which two sources would put entries; `None` if they do not collide.
fn in_both(
    first: &Root,
    second: &Root,
    filter: Option<&Filter>,
    goes_on: &dyn Fn() -> bool,
) -> Result<Option<Vec<u8>>, Fault> {
    let is_in = |folder: &Dir, name: &[u8]| {
        let kind = folder.metadata(name).map(|metadata| metadata.kind);
        kind.is_ok_and(|kind| filter.is_none_or(|filter| filter.takes(name, kind == Kind::Dir)))
    };
    let named =
        |root: &Root, is_there: &dyn Fn(&[u8]) -> bool| root.name().filter(|name| is_there(name)).map(<[u8]>::to_vec);
    match (first, second) {
        (Root::Contents(first), Root::Contents(second)) => {
            let mut found = None;
            each_name(second, |name, _| {
                if is_in(first, name) && is_in(second, name) {
                    found = Some(name.to_vec());
                }
                found.is_none() && goes_on()
            })?;
            Ok(found)
        }
        (Root::Contents(folder), other) | (other, Root::Contents(folder)) => {
            Ok(named(other, &|name| is_in(folder, name)))
        }
        (first, second) => Ok(named(first, &|name| second.name() == Some(name))),
    }
}

/// All top-level names that are not left out, for the offer; those that were found when `goes_on`
/// ended it.
pub(in crate::send) fn names(
    roots: &[Root],
    filter: Option<&Filter>,
    goes_on: &dyn Fn() -> bool,
) -> Result<OfferedNames, Fault> {
    let mut names = NameCollector::default();
    let mut added = Ok(());
    let mut add = |name: &[u8]| {
        // The kernel can list names that the wire cannot carry. The walk reports those.
        if let (Ok(name), Ok(())) = (Name::new(name), &added) {
            added = names.add(name);
        }
    };
    for root in roots {
        match root {
            Root::Contents(folder) => each_name(folder, |name, file_type| {
                let is_folder = || match file_type {
                    FileType::Unknown => folder.metadata(name).is_ok_and(|metadata| metadata.kind == Kind::Dir),
                    kind => kind == FileType::Directory,
                };
                if filter.is_none_or(|filter| filter.takes(name, is_folder())) {
                    add(name);
                }
                goes_on()
            })?,
            named => named.name().into_iter().for_each(&mut add),
        }
    }
    added.map_err(|_| Fault::option(TOO_MANY_NAMES))?;
    Ok(names.sorted())
}

/// A folder's listing from its beginning.
pub(super) fn open_again(folder: &Dir) -> io::Result<Dir> {
    Dir::from_fd(rustix::fs::openat(folder, c".", OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

/// Looks at each name of a folder, until `look` returns false.
fn each_name(folder: &Dir, mut look: impl FnMut(&[u8], FileType) -> bool) -> Result<(), Fault> {
    // A separate descriptor, because the walk's starts at the beginning.
    let listed = |error: io::Error| path_error(&PathBuf::from(OsStr::new(".")), Operation::Read, error);
    let own = open_again(folder).map_err(listed)?;
    let (mut window, mut position) = (Window::default(), Position::default());
    let mut buffer = vec![MaybeUninit::uninit(); LOOK_BUFFER];
    while !position.ended {
        window.fill(own.as_fd(), &mut position, LOOK_WINDOW, &mut buffer).map_err(|error| listed(error.into()))?;
        for index in 0..window.len() {
            let (name, file_type) = window.entry(index);
            if !look(name, file_type) {
                return Ok(());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_gone_only_where_no_source_has_it_and_nothing_behind_links_is_looked_at() {
        let base = tempfile::tempdir().unwrap();
        let path = |name: &str| base.path().join(name);
        std::fs::create_dir_all(path("set/below")).unwrap();
        std::fs::create_dir(path("outside")).unwrap();
        std::fs::write(path("set/below/file"), "").unwrap();
        std::os::unix::fs::symlink(path("outside"), path("set/link")).unwrap();
        let sources = |contents_only| [Source { path: path("set"), contents_only }];
        let gone = |named: &str| is_gone(&sources(false), Path::new(named));
        for named in ["set/below/gone", "set/gone/file"] {
            assert!(gone(named), "{named}");
        }
        for named in
            ["set/below/file", "set/link", "set/link/gone", "other/file", "../outside/x", "/gone", "set/../x", ""]
        {
            assert!(!gone(named), "{named}");
        }
        assert!(is_gone(&sources(true), Path::new("below/gone")));
        assert!(!is_gone(&sources(true), Path::new("below/file")));
    }
}
