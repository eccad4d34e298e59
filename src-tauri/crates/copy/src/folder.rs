//! A folder that is being copied. Everything that is copied in it holds it, and the last holder
//! sets its attributes. Its descriptors are in [`opened`].
pub(crate) mod below;
pub(crate) mod entry_error;
mod name_collisions;
mod opened;
pub(crate) mod overwrite;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use ringway_model::Operation;
use ringway_sys::attributes::Metadata;
use ringway_sys::dir::Dir;
use rustix::io::Errno;

use crate::attributes;
use crate::job::dir_cache::{CachedDirs, OpenDirs};
use crate::job::{Identity, Job};
use entry_error::EntryError;
use name_collisions::Spelling;

/// A folder that is copied, or the pair of folders that contain a source's top level at both ends.
pub(crate) struct Folder<'j> {
    pub(crate) job: &'j Job,
    parent: Option<Hold<'j>>,
    /// Its name in its parent; empty for a top level.
    name: Box<[u8]>,
    /// The position of a top level, as the person wrote it.
    top: Option<Box<Top>>,
    /// Its descriptors.
    pub(crate) dirs: Arc<CachedDirs>,
    /// The source's metadata; `None` for folders that only contain a top level.
    pub(crate) metadata: Option<Metadata>,
    /// The identity of the source's folder.
    pub(crate) identity: Option<Identity>,
    /// Whether new entries inherit an access control list from it.
    pub(crate) default_acl: bool,
    /// Owner and group that new files in it get by default, once one was made.
    pub(crate) inherited: OnceLock<(u32, u32)>,
    /// Why nothing may be made in the copy, once a dry run has asked; `None` if it may.
    pub(crate) refused: OnceLock<Option<Errno>>,
    /// How the copy's folder treats names.
    pub(crate) spelling: Spelling,
}

/// An entry and its names at both ends.
#[derive(Clone, Copy)]
pub(crate) struct Item<'a, 'j> {
    pub(crate) folder: &'a Hold<'j>,
    /// Its name at the source.
    pub(crate) from: &'a [u8],
    /// Its name at the destination.
    pub(crate) to: &'a [u8],
}

/// The position of a top level.
pub(crate) struct Top {
    /// The folder that is opened: the one that contains the source, or the source itself if its
    /// contents are copied.
    pub(crate) holder: PathBuf,
    /// The name of the source's entry in that folder.
    pub(crate) own_name: Option<Box<[u8]>>,
    pub(crate) source: PathBuf,
    pub(crate) target: PathBuf,
    /// The name of the source's entry there, if its copy has another name.
    pub(crate) source_name: Option<Box<[u8]>>,
    /// Whether the paths below begin with the source's own name. Patterns begin after it.
    pub(crate) in_source: bool,
}

/// What is known of a folder when it is entered.
pub(crate) struct Entered {
    pub(crate) source: Dir,
    pub(crate) target: Option<Dir>,
    pub(crate) metadata: Option<Metadata>,
    pub(crate) default_acl: bool,
}

impl<'j> Folder<'j> {
    pub(crate) fn at_top(job: &'j Job, top: Top, entered: Entered) -> Hold<'j> {
        Self::hold(job, None, Box::default(), Some(Box::new(top)), entered)
    }

    pub(crate) fn below(parent: &Hold<'j>, name: &[u8], entered: Entered) -> Hold<'j> {
        Self::hold(parent.job, Some(parent.clone()), name.into(), None, entered)
    }

    fn hold(
        job: &'j Job,
        parent: Option<Hold<'j>>,
        name: Box<[u8]>,
        top: Option<Box<Top>>,
        entered: Entered,
    ) -> Hold<'j> {
        let Entered { source, target, metadata, default_acl } = entered;
        let dirs = job.dir_cache.opened(source, target);
        let identity = metadata.as_ref().map(|metadata| (metadata.dev, metadata.ino));
        let inherited = OnceLock::new();
        Hold(Some(Arc::new(Self {
            job,
            parent,
            name,
            top,
            dirs,
            metadata,
            identity,
            default_acl,
            inherited,
            refused: OnceLock::new(),
            spelling: Spelling::default(),
        })))
    }

    pub(crate) fn parent(&self) -> Option<&Self> {
        self.parent.as_deref()
    }

    /// Its name in its parent; empty for a top level.
    pub(crate) fn name(&self) -> &[u8] {
        &self.name
    }

    /// Its position, if it is a top level.
    pub(crate) fn top(&self) -> Option<&Top> {
        self.top.as_deref()
    }

    /// Path of the entry `name` in it at the source, as the person would write it.
    pub(crate) fn source_path(&self, name: &[u8]) -> PathBuf {
        self.path(name, |top| (&top.source, top.source_name.as_deref()))
    }

    /// The same at the destination.
    pub(crate) fn target_path(&self, name: &[u8]) -> PathBuf {
        self.path(name, |top| (&top.target, None))
    }

    fn path(&self, name: &[u8], of: impl Fn(&Top) -> (&PathBuf, Option<&[u8]>)) -> PathBuf {
        let (top, mut names) = self.names();
        let (path, own_name) = top.map(of).unzip();
        let mut path = path.cloned().unwrap_or_default();
        // Folders have the names of their copies; only the topmost may have another name.
        if !name.is_empty() {
            names.insert(0, name);
        }
        if let (Some(own_name), Some(highest)) = (own_name.flatten(), names.last_mut()) {
            *highest = own_name;
        }
        for name in names.into_iter().rev() {
            path.push(OsStr::from_bytes(name));
        }
        path
    }

    /// The top level, and the names from it down to here, the deepest first.
    fn names(&self) -> (Option<&Top>, Vec<&[u8]>) {
        let mut names: Vec<&[u8]> = Vec::new();
        let mut folder = self;
        while let Some(parent) = &folder.parent {
            names.push(&folder.name);
            folder = parent;
        }
        (folder.top.as_deref(), names)
    }

    /// Path of `name` in it, relative to its top level's target.
    pub(crate) fn below_top(&self, name: &[u8]) -> Vec<u8> {
        let (_, names) = self.names();
        join(names.iter().rev().copied().chain([name]))
    }

    /// Path of `name` in it, relative to the source that the person named; `None` for that source
    /// itself.
    pub(crate) fn in_source(&self, name: &[u8]) -> Option<Vec<u8>> {
        let (top, mut names) = self.names();
        if !top.is_some_and(|top| top.in_source) {
            names.pop()?;
        }
        Some(join(names.iter().rev().copied().chain([name])))
    }

    /// Whether `identity` is this folder or one above it.
    pub(crate) fn lies_in(&self, identity: Identity) -> bool {
        let mut folder = self;
        loop {
            if folder.identity == Some(identity) {
                return true;
            }
            match &folder.parent {
                Some(parent) => folder = parent,
                None => return false,
            }
        }
    }

    /// Finishes the folder, in which nothing is under way any more.
    fn finish(&self) {
        let Some(metadata) = self.metadata.as_ref().filter(|_| !self.job.options.dry_run) else { return };
        let (source, target) = match self.source().and_then(|source| Ok((source, self.target()?))) {
            Ok((source, Some(target))) => (source, target),
            Ok((_, None)) => return,
            Err(error) => return self.unfinished(error),
        };
        // If the copy was stopped, the folder may be incomplete. It stays open to its owner, who
        // can then finish the copy.
        let ends_early = if self.job.is_stopped() { attributes::PRIVATE } else { 0 };
        let metadata = Metadata { mode: metadata.mode | ends_early, ..*metadata };
        match attributes::of_folder(&source, &target, &metadata) {
            Ok(lost) => self.job.lost(lost),
            Err(error) => self.job.fail(self.target_path(b""), Operation::Metadata, &error),
        }
    }

    /// Records why it did not get its attributes.
    fn unfinished(&self, error: EntryError) {
        let path = self.target_path(b"");
        match error {
            EntryError::Source(_, error) | EntryError::Target(_, error) => {
                self.job.fail(path, Operation::Metadata, &error)
            }
            EntryError::SourceIs(reason) | EntryError::TargetIs(reason) => {
                self.job.fail_for(path, Operation::Metadata, reason);
            }
            EntryError::Stopped => {}
        }
    }
}

fn join<'n>(names: impl Iterator<Item = &'n [u8]>) -> Vec<u8> {
    let mut path = Vec::new();
    for name in names {
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
    }
    path
}

/// A share in a folder. The last one that is dropped finishes the folder and then releases its
/// parent. It does so without recursion, because trees are deep.
pub(crate) struct Hold<'j>(Option<Arc<Folder<'j>>>);

impl Clone for Hold<'_> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'j> std::ops::Deref for Hold<'j> {
    type Target = Folder<'j>;

    fn deref(&self) -> &Folder<'j> {
        // Only `drop` takes it out.
        self.0.as_deref().expect("a hold holds until it is dropped")
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        let mut next = self.0.take();
        let mut below: Option<Arc<OpenDirs>> = None;
        while let Some(mut folder) = next.and_then(Arc::into_inner) {
            if let Some(below) = below.take() {
                folder.open_from_below(&below);
            }
            folder.finish();
            below = folder.if_open();
            next = folder.parent.take().and_then(|mut parent| parent.0.take());
        }
    }
}
