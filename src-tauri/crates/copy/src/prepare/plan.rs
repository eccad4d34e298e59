//! What goes where, decided before anything is written: whether copies go into the destination or
//! become it, and what is refused.
use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ringway_model::{Failure, FailureReason, Fault, Invalid, Operation, Side};
use ringway_sys::attributes::{Kind, metadata_of};
use ringway_sys::dir::Dir;
use rustix::io::Errno;

use crate::job::Identity;
use crate::options::CopyRequest;

/// The most levels that are searched from the destination up to the root. Longer paths cannot be
/// typed.
const LEVELS_MAX: usize = 4096;

/// One source and the place of its copy. It is not open, because there may be more sources than
/// descriptors.
pub(crate) enum Root {
    /// An entry of a folder, which is copied into another folder.
    Named {
        /// The path of the folder that contains it, and that path as the person wrote it.
        holder: PathBuf,
        shown: PathBuf,
        from: Box<[u8]>,
        /// Its name as the person wrote it.
        written: Box<[u8]>,
        /// The name of its copy.
        to: Box<[u8]>,
        device: u64,
    },
    /// The contents of a folder, which are copied into an existing folder.
    Contents { source: PathBuf, device: u64 },
}

impl Root {
    /// Path of the copy, in `target` or as `target`.
    pub(crate) fn copy_in(&self, target: &Path) -> PathBuf {
        match self {
            Self::Named { to, .. } => target.join(OsStr::from_bytes(to)),
            Self::Contents { .. } => target.to_owned(),
        }
    }

    /// Its path as the person wrote it.
    pub(crate) fn written(&self) -> PathBuf {
        match self {
            Self::Named { shown, written, .. } => shown.join(OsStr::from_bytes(written)),
            Self::Contents { source, .. } => source.clone(),
        }
    }

    /// Whether it is a folder; a link to one is not.
    pub(crate) fn is_folder(&self) -> bool {
        match self {
            Self::Named { holder, from, .. } => {
                let path = holder.join(OsStr::from_bytes(from));
                std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
            }
            Self::Contents { .. } => true,
        }
    }

    /// The filesystem that it is on.
    pub(crate) fn device(&self) -> u64 {
        match self {
            Self::Named { device, .. } | Self::Contents { device, .. } => *device,
        }
    }
}

/// The folder that all copies will be in.
pub(crate) struct Target {
    pub(crate) dir: Dir,
    pub(crate) path: PathBuf,
}

/// The sources that can be copied, and why the others cannot.
pub(crate) struct Plan {
    /// `None` if nothing is copied there.
    pub(crate) target: Option<Target>,
    pub(crate) roots: Vec<Root>,
    pub(crate) failures: Vec<Failure>,
}

/// Checks sources and destination.
///
/// # Errors
/// If the whole copy is impossible: there is no source, or there are several and the destination
/// does not exist or is no folder.
pub(crate) fn plan(request: &CopyRequest) -> Result<Plan, Fault> {
    if request.sources.is_empty() {
        return Err(Fault::Invalid(Invalid::NothingToSend));
    }
    let destination = Destination::find(request)?;
    let mut plan = Plan { target: None, roots: Vec::new(), failures: Vec::new() };
    for source in &request.sources {
        match root(source, &destination, &mut plan.target) {
            Ok(root) => plan.roots.push(root),
            // A missing source does not keep the others from being copied.
            Err(Refused::This(failure)) => plan.failures.push(failure),
            Err(Refused::All(error)) => return Err(error),
        }
    }
    let mut names = HashSet::new();
    for root in &plan.roots {
        if let Root::Named { to, .. } = root
            && !names.insert(to)
        {
            return Err(Fault::Invalid(Invalid::SameName { name: OsStr::from_bytes(to).into() }));
        }
    }
    Ok(plan)
}

enum Refused {
    This(Failure),
    All(Fault),
}

/// Where copies go.
enum Destination {
    /// Into this folder.
    Into(PathBuf),
    /// Under this name in that folder. `folder` means that only a folder may have the name, because
    /// it was written with a slash at its end.
    As { holder: PathBuf, name: Box<[u8]>, folder: bool },
}

impl Destination {
    fn find(request: &CopyRequest) -> Result<Self, Fault> {
        let path = &request.destination;
        let several = request.sources.len() > 1;
        if request.options.exact_destination && several {
            return Err(Fault::option("the destination can be the copy itself for one source only"));
        }
        let failed = |source: io::Error| Fault::path(path.clone(), Operation::Open, source);
        let is_folder = match std::fs::metadata(path) {
            Ok(metadata) => metadata.is_dir(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            // A component of the path is no folder.
            Err(error) => return Err(failed(error)),
        };
        if is_folder && !request.options.exact_destination {
            return Ok(Self::Into(path.clone()));
        }
        let slashed = path.as_os_str().as_bytes().ends_with(b"/");
        // The names of `.` and `..` are in another folder. A slash at the end means the target, not
        // the link before it.
        let path = match is_folder && (slashed || matches!(last_component(path), b"." | b"..")) {
            true => &std::fs::canonicalize(path).map_err(failed)?,
            false => path,
        };
        let Some(name) = path.file_name() else {
            return Err(match is_folder {
                true => Fault::option("the root folder cannot be the copy itself"),
                false => failed(Errno::NOENT.into()),
            });
        };
        if several {
            let there = std::fs::symlink_metadata(path).is_ok();
            return Err(failed(if there { Errno::NOTDIR } else { Errno::NOENT }.into()));
        }
        // Paths are shown as they were written. A name alone has nothing before it.
        let holder = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Self::As { holder, name: name.as_bytes().into(), folder: slashed })
    }
}

/// The folder that contains a path's last component.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

fn root(source: &Path, destination: &Destination, target: &mut Option<Target>) -> Result<Root, Refused> {
    let this = |operation| move |error: io::Error| Refused::This(failure(source, operation, &error));
    let dotted = matches!(last_component(source), b"." | b".." | b"");
    // A slash at the end means the target, not the link before it. The name of `.` is in another
    // folder.
    let resolve = dotted || source.as_os_str().as_bytes().ends_with(b"/");
    let resolved = match resolve {
        true => std::fs::canonicalize(source).map_err(this(Operation::Open))?,
        false => source.to_owned(),
    };
    let Some(name) = resolved.file_name() else { return contents(source, destination, target) };
    if dotted && matches!(destination, Destination::Into(_)) {
        return contents(source, destination, target);
    }
    let holder = parent(&resolved);
    let metadata =
        Dir::open_to_search(holder).and_then(|dir| dir.metadata(name.as_bytes())).map_err(this(Operation::Open))?;
    let (target_path, to) = match destination {
        Destination::Into(path) => (path, source.file_name().unwrap_or(name).as_bytes().into()),
        Destination::As { holder, name, folder } => {
            if *folder && metadata.kind != Kind::Dir {
                let path = holder.join(OsStr::from_bytes(name));
                let source = std::io::Error::from(Errno::NOTDIR);
                return Err(Refused::All(Fault::Path {
                    path: path.into(),
                    operation: Operation::Create,
                    source: source.into(),
                }));
            }
            (holder, name.clone())
        }
    };
    let target = open_target(target_path, target)?;
    if metadata.kind == Kind::Dir {
        let identity = (metadata.dev, metadata.ino);
        if target.metadata(&to).is_ok_and(|there| (there.dev, there.ino) == identity) {
            return Err(refused(source, FailureReason::SameFile));
        }
        if lies_in(target, identity) {
            return Err(refused(source, FailureReason::IntoItself));
        }
    }
    // Paths are shown as they were written.
    let shown = if dotted { parent(&resolved) } else { parent(source) };
    let shown = if shown == Path::new(".") && !source.starts_with(".") { Path::new("") } else { shown };
    Ok(Root::Named {
        holder: holder.to_owned(),
        shown: shown.to_owned(),
        from: name.as_bytes().into(),
        written: if dotted { name } else { source.file_name().unwrap_or(name) }.as_bytes().into(),
        to,
        device: metadata.dev,
    })
}

/// The contents of a folder, for an existing destination.
fn contents(source: &Path, destination: &Destination, target: &mut Option<Target>) -> Result<Root, Refused> {
    let this = |error: io::Error| Refused::This(failure(source, Operation::Open, &error));
    let Destination::Into(path) = destination else {
        return Err(Refused::All(Fault::option("what is in / can be copied into a folder that is there only")));
    };
    let dir = Dir::open(source).map_err(this)?;
    let metadata = metadata_of(&dir).map_err(this)?;
    let target = open_target(path, target)?;
    let identity = (metadata.dev, metadata.ino);
    if metadata_of(target).is_ok_and(|there| (there.dev, there.ino) == identity) {
        return Err(refused(source, FailureReason::SameFile));
    }
    if lies_in(target, identity) {
        return Err(refused(source, FailureReason::IntoItself));
    }
    Ok(Root::Contents { source: source.to_owned(), device: metadata.dev })
}

/// Opens the destination's folder when the first copy goes there.
fn open_target<'t>(path: &Path, target: &'t mut Option<Target>) -> Result<&'t Dir, Refused> {
    if target.is_none() {
        let opened = if path == Path::new("") { Path::new(".") } else { path };
        let failed = |source| Refused::All(Fault::path(opened.to_owned(), Operation::Open, source));
        *target = Some(Target { dir: Dir::open_to_search(opened).map_err(failed)?, path: path.to_owned() });
    }
    Ok(&target.as_ref().expect("opened above").dir)
}

/// The last component as written, including `.` and `..`, without slashes at the end.
fn last_component(path: &Path) -> &[u8] {
    let bytes = path.as_os_str().as_bytes();
    let end = bytes.iter().rposition(|byte| *byte != b'/').map_or(0, |at| at + 1);
    let start = bytes[..end].iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    &bytes[start..end]
}

/// Whether the folder is `identity` or lies in it at any depth.
fn lies_in(folder: &Dir, identity: Identity) -> bool {
    let Ok(mut at) = folder.try_clone() else { return false };
    let mut last = None;
    for _ in 0..LEVELS_MAX {
        let Ok(metadata) = metadata_of(&at) else { return false };
        let here = (metadata.dev, metadata.ino);
        if here == identity {
            return true;
        }
        // The root is its own parent.
        if last.replace(here) == Some(here) {
            return false;
        }
        let Ok(above) = at.open_parent() else { return false };
        at = above;
    }
    false
}

fn failure(path: &Path, operation: Operation, error: &io::Error) -> Failure {
    let reason = FailureReason::of(error);
    Failure { path: path.into(), side: Side::Here, operation, reason }
}

fn refused(path: &Path, reason: FailureReason) -> Refused {
    Refused::This(Failure { path: path.into(), side: Side::Here, operation: Operation::Create, reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_component_is_what_was_written() {
        for (path, last) in
            [("a/b", "b"), ("a/b/", "b"), ("a/.", "."), ("a/./", "."), ("..", ".."), ("/", ""), ("//", ""), ("a", "a")]
        {
            assert_eq!(last_component(Path::new(path)), last.as_bytes(), "{path}");
        }
    }
}
