//! A cache of directory descriptors: a bounded number of the folders under way stays open, first
//! in, first out. When a folder is opened again it is recognised by device and inode.
use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use ringway_sys::attributes::metadata_of;
use ringway_sys::dir::Dir;

use super::Identity;

/// A folder's descriptors at both ends.
pub(crate) struct OpenDirs {
    pub(crate) source: Dir,
    /// `None` if a dry run would have to make it.
    pub(crate) target: Option<Dir>,
}

/// A folder's place in the cache: its descriptors, which may be closed at any time, and its
/// identities, by which it is recognised when it is opened again.
pub(crate) struct CachedDirs {
    pub(crate) open: Mutex<Option<Arc<OpenDirs>>>,
    pub(crate) source: Option<Identity>,
    pub(crate) target: Option<Identity>,
    pub(crate) has_target: bool,
}

/// The folders of a copy that are open. The one that was opened first is closed first.
pub(crate) struct DirCache {
    folders: Mutex<VecDeque<Weak<CachedDirs>>>,
    max: usize,
}

impl DirCache {
    pub(crate) fn new(max: usize) -> Self {
        Self { folders: Mutex::default(), max }
    }

    /// A folder that was just opened.
    pub(crate) fn opened(&self, source: Dir, target: Option<Dir>) -> Arc<CachedDirs> {
        let identity = |dir: &Dir| metadata_of(dir).ok().map(|metadata| (metadata.dev, metadata.ino));
        let dirs = Arc::new(CachedDirs {
            source: identity(&source),
            target: target.as_ref().and_then(identity),
            has_target: target.is_some(),
            open: Mutex::new(Some(Arc::new(OpenDirs { source, target }))),
        });
        self.keep(&dirs);
        dirs
    }

    pub(crate) fn keep(&self, dirs: &Arc<CachedDirs>) {
        let mut folders = self.folders.lock();
        folders.push_back(Arc::downgrade(dirs));
        let mut closed = Vec::new();
        while folders.len() > self.max {
            closed.extend(folders.pop_front().and_then(|dirs| dirs.upgrade()).and_then(|dirs| dirs.open.lock().take()));
        }
        drop(folders);
    }

    /// Closes all folders that no thread uses at the moment. False if there were none.
    pub(crate) fn close(&self) -> bool {
        let folders = std::mem::take(&mut *self.folders.lock());
        let closed = folders.into_iter().filter_map(|dirs| dirs.upgrade()?.open.lock().take());
        closed.count() > 0
    }
}
