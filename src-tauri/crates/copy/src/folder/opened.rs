//! The descriptors of a folder under way. If the cache has closed one, it is opened again when it
//! is needed, and compared by device and inode.
use std::ops::Deref;
use std::sync::Arc;

use ringway_model::{FailureReason, Operation};
use ringway_sys::attributes::metadata_of;
use ringway_sys::dir::Dir;

use super::Folder;
use super::below::open_below;
use super::entry_error::{self, EntryError};
use crate::job::Identity;
use crate::job::dir_cache::OpenDirs;

/// The source's folder, which stays open as long as this value.
pub(crate) struct Source(Arc<OpenDirs>);

impl Deref for Source {
    type Target = Dir;

    fn deref(&self) -> &Dir {
        &self.0.source
    }
}

/// The copy's folder, likewise.
pub(crate) struct Target(Arc<OpenDirs>);

impl Deref for Target {
    type Target = Dir;

    fn deref(&self) -> &Dir {
        // Constructed only if there is one.
        self.0.target.as_ref().expect("a copy that is there")
    }
}

/// How to reach a folder from an open one above it: a path at the source, and one at the
/// destination.
struct PathBelow {
    above: Arc<OpenDirs>,
    from: Vec<u8>,
    to: Vec<u8>,
}

impl Folder<'_> {
    pub(crate) fn source(&self) -> Result<Source, EntryError> {
        self.open().map(Source)
    }

    /// `None` if a dry run would have to make it.
    pub(crate) fn target(&self) -> Result<Option<Target>, EntryError> {
        if !self.dirs.has_target {
            return Ok(None);
        }
        self.open().map(|opened| Some(Target(opened)))
    }

    /// Both, if they are open.
    pub(crate) fn if_open(&self) -> Option<Arc<OpenDirs>> {
        self.dirs.open.lock().clone()
    }

    /// Checks that the folder that was opened again is this one.
    fn is_this(&self, source: &Dir, target: Option<&Dir>) -> Result<(), EntryError> {
        let is = |dir: &Dir, wanted: Option<Identity>| {
            metadata_of(dir).map(|found| wanted.is_none_or(|wanted| wanted == (found.dev, found.ino)))
        };
        if !is(source, self.dirs.source).map_err(entry_error::source(Operation::Open))? {
            return Err(EntryError::SourceIs(FailureReason::ChangedWhileReading));
        }
        match target {
            Some(target) if !is(target, self.dirs.target).map_err(entry_error::target(Operation::Open))? => {
                Err(EntryError::TargetIs(FailureReason::InTheWay))
            }
            _ => Ok(()),
        }
    }

    fn open(&self) -> Result<Arc<OpenDirs>, EntryError> {
        match self.if_open() {
            Some(opened) => Ok(opened),
            None => self.open_again(),
        }
    }

    #[cold]
    fn open_again(&self) -> Result<Arc<OpenDirs>, EntryError> {
        let (source, target) = match self.top() {
            Some(top) => {
                let source = self.job.patiently(|| {
                    if top.in_source { Dir::open(&top.holder) } else { Dir::open_to_search(&top.holder) }
                });
                let target = match &self.job.top {
                    Some(top) if self.dirs.has_target => Some(self.job.patiently(|| top.dir.try_clone())),
                    _ => None,
                };
                (source, target)
            }
            None => {
                let PathBelow { above, from, to } = self.nearest_open()?;
                let source = self.job.patiently(|| open_below(&above.source, &from));
                let target = match &above.target {
                    Some(above) if self.dirs.has_target => Some(self.job.patiently(|| open_below(above, &to))),
                    _ => None,
                };
                (source, target)
            }
        };
        let source = source.map_err(entry_error::source(Operation::Open))?;
        let target = target.transpose().map_err(entry_error::target(Operation::Open))?;
        self.is_this(&source, target.as_ref())?;
        Ok(self.keep(OpenDirs { source, target }))
    }

    fn keep(&self, opened: OpenDirs) -> Arc<OpenDirs> {
        let opened = Arc::new(opened);
        *self.dirs.open.lock() = Some(opened.clone());
        self.job.dir_cache.keep(&self.dirs);
        opened
    }

    /// The path from the nearest open folder above, or from the top level, which is opened for it.
    fn nearest_open(&self) -> Result<PathBelow, EntryError> {
        let mut names = vec![self.name()];
        let mut at = self;
        let (above, top) = loop {
            let Some(parent) = at.parent() else {
                return Err(EntryError::SourceIs(FailureReason::ChangedWhileReading));
            };
            at = parent;
            match (at.if_open(), at.top()) {
                (Some(opened), top) => break (opened, top),
                (None, Some(top)) => break (at.open()?, Some(top)),
                (None, None) => names.push(at.name()),
            }
        };
        names.reverse();
        let to = names.join(&b'/');
        // Only the topmost folder may have another name than its copy.
        if let Some(own_name) = top.and_then(|top| top.own_name.as_deref()) {
            names[0] = own_name;
        }
        Ok(PathBelow { above, from: names.join(&b'/'), to })
    }

    /// Opens it from a folder in it, which avoids opening the path from above. If that fails, it is
    /// opened by its name when it is needed.
    pub(crate) fn open_from_below(&self, below: &OpenDirs) {
        if self.if_open().is_some() || self.top().is_some() {
            return;
        }
        let Ok(source) = below.source.open_parent() else { return };
        let target = match &below.target {
            Some(target) if self.dirs.has_target => match target.open_parent() {
                Ok(target) => Some(target),
                Err(_) => return,
            },
            _ => None,
        };
        if self.dirs.source.is_some() && self.is_this(&source, target.as_ref()).is_ok() {
            self.keep(OpenDirs { source, target });
        }
    }
}
