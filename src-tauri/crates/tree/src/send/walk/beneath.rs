//! Entries that another device asks for, beneath a folder that is shared with it: nothing is opened
//! but beneath that folder, and through no symbolic link.
use std::io;
use std::sync::Arc;

use ringway_sys::attributes::{Kind, Metadata, metadata_of};
use ringway_sys::dir::Dir;
use ringway_sys::space;
use ringway_wire::OfferedNames;
use rustix::io::Errno;

use crate::filesystem::own_names::attempt_id;
use crate::filesystem::selection::Filter;
use crate::send::walk::roots::{self, Root};

/// An entry beneath a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryBeneath {
    /// Components joined by single slashes; empty for the folder itself.
    pub path: Vec<u8>,
    /// Its name in the transfer; `None` for the entries of that folder. It is the last component
    /// of the path, if there is one.
    pub name: Option<Vec<u8>>,
}

/// Keeps a walk to what is shared.
#[derive(Clone)]
pub struct Guard {
    /// Confines a thread for good, so that it can open nothing else.
    pub confine: Arc<dyn Fn() -> io::Result<()> + Send + Sync>,
    /// What is passed over as if it was not there.
    pub hides: Hides,
}

/// Whether an entry is passed over, by its metadata: a folder with everything in it.
pub type Hides = Arc<dyn Fn(&Metadata) -> bool + Send + Sync>;

/// Which of the entries beneath a folder are wanted, and for how long they are looked for before
/// anything is offered: another device may have chosen patterns that take long to compare.
pub struct WantedBeneath<'a> {
    /// The entries.
    pub entries: &'a [EntryBeneath],
    /// Which of what they contain; `None` for all of it.
    pub filter: Option<Arc<Filter>>,
    /// Whether it is still worth looking at further names.
    pub goes_on: &'a dyn Fn() -> bool,
}

/// Why entries cannot be sent.
#[derive(Debug)]
pub enum BeneathError {
    /// One of them, by its number, cannot be opened.
    Entry(usize, io::Error),
    /// Two of them would have the same name at the top.
    SameName,
    /// There are too many names at the top, or no thread for the walk.
    Names,
    /// The filter has a list, and it is not one folder that is wanted.
    NotOneFolder,
    /// It took too long to look at all names.
    TooSlow,
}

/// Opens the entries.
pub(in crate::send) fn resolve(
    root: &Dir,
    wanted: &WantedBeneath<'_>,
    hides: &Hides,
) -> Result<Vec<Root>, BeneathError> {
    let found = |(number, entry)| one(root, entry, hides).map_err(|error| BeneathError::Entry(number, error));
    let all = wanted.entries.iter().enumerate().map(found).collect::<Result<Vec<_>, _>>()?;
    let filter = wanted.filter.as_deref();
    if filter.is_some_and(Filter::is_listed) && !matches!(&*all, [Root::Contents(_) | Root::Folder(..)]) {
        return Err(BeneathError::NotOneFolder);
    }
    match roots::first_in_two(&all, filter, wanted.goes_on) {
        _ if !(wanted.goes_on)() => Err(BeneathError::TooSlow),
        Ok(None) => Ok(all),
        Ok(Some(_)) => Err(BeneathError::SameName),
        Err(_) => Err(BeneathError::Names),
    }
}

/// The top-level names of what was opened, for the offer.
pub(in crate::send) fn names(roots: &[Root], wanted: &WantedBeneath<'_>) -> Result<OfferedNames, BeneathError> {
    let names = roots::names(roots, wanted.filter.as_deref(), wanted.goes_on).map_err(|_| BeneathError::Names)?;
    if (wanted.goes_on)() { Ok(names) } else { Err(BeneathError::TooSlow) }
}

fn one(root: &Dir, EntryBeneath { path, name }: &EntryBeneath, hides: &Hides) -> io::Result<Root> {
    let seen = |dir: Dir| match hides(&metadata_of(&dir)?) {
        true => Err(io::Error::from(Errno::NOENT)),
        false if space::shows_the_kernel(&dir)? => Err(Errno::OPNOTSUPP.into()),
        false => Ok(Arc::new(dir)),
    };
    // One by one, so that nothing that is passed over is gone through. The root is opened again,
    // because several entries may be the root itself, and each is listed from its beginning.
    // A folder on the way need not be readable, as in any path.
    let way = |path: &[u8]| {
        let mut names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
        names.try_fold(seen(roots::open_again(root)?)?, |above, name| seen(above.open_dir_to_search(name)?))
    };
    if path.split(|byte| *byte == b'/').any(|name| attempt_id(name).is_some()) {
        return Err(Errno::NOENT.into());
    }
    let Some(last) = path.rsplit(|byte| *byte == b'/').next().filter(|last| !last.is_empty()) else {
        let folder = way(path)?;
        return Ok(name
            .as_ref()
            .map_or(Root::Contents(Arc::clone(&folder)), |name| Root::Folder(folder, name.clone())));
    };
    let above = path.len().saturating_sub(last.len() + 1);
    let parent = way(&path[..above])?;
    if name.is_none() {
        return Ok(Root::Contents(seen(parent.open_dir(last)?)?));
    }
    let there = parent.metadata(last)?;
    if hides(&there) {
        return Err(Errno::NOENT.into());
    }
    match there.kind {
        Kind::Dir => Ok(Root::Folder(seen(parent.open_dir(last)?)?, last.to_vec())),
        kind => {
            // A single file may be mounted from elsewhere.
            if kind == Kind::File && space::shows_the_kernel(parent.open_read(last)?)? {
                return Err(Errno::OPNOTSUPP.into());
            }
            Ok(Root::Entry(parent, last.to_vec()))
        }
    }
}
