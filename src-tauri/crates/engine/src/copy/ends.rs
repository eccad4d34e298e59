//! The descriptors of folders that are copied: so many are kept open, and what is wanted of the
//! others is opened again and looked at.
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::{Arc, Weak};

use ringway_model::{FailureReason, Operation};
use ringway_sys::attributes::metadata_of;
use ringway_sys::dir::Dir;

use super::folder::{Folder, Identity};
use super::job::Job;
use super::spot::{self, Trouble};
use super::verify::open_below;

/// A folder, open.
pub(super) struct Opened {
    source: Dir,
    /// None where a dry run would have to make it.
    target: Option<Dir>,
}

/// A folder that may be closed at any time, and which ones it is.
pub(super) struct Ends {
    open: Mutex<Option<Arc<Opened>>>,
    source: Option<Identity>,
    target: Option<Identity>,
    has_target: bool,
}

/// The source's folder, which stays open as long as this.
pub(super) struct Source(Arc<Opened>);

impl Deref for Source {
    type Target = Dir;

    fn deref(&self) -> &Dir {
        &self.0.source
    }
}

/// The copy, likewise.
pub(super) struct Target(Arc<Opened>);

impl Deref for Target {
    type Target = Dir;

    fn deref(&self) -> &Dir {
        // Made only where there is one.
        self.0.target.as_ref().expect("a copy that is there")
    }
}

/// The folders of a copy that are open, the one that was opened first to be closed first.
pub(super) struct KeptOpen {
    folders: Mutex<VecDeque<Weak<Ends>>>,
    max: usize,
}

impl KeptOpen {
    pub(super) fn new(max: usize) -> Self {
        Self { folders: Mutex::default(), max }
    }

    fn keep(&self, ends: &Arc<Ends>) {
        let mut folders = self.folders.lock();
        folders.push_back(Arc::downgrade(ends));
        let mut closed = Vec::new();
        while folders.len() > self.max {
            closed.extend(folders.pop_front().and_then(|ends| ends.upgrade()).and_then(|ends| ends.open.lock().take()));
        }
        drop(folders);
    }

    /// Closes all that nobody uses at the moment. False if there were none.
    pub(super) fn close(&self) -> bool {
        let folders = std::mem::take(&mut *self.folders.lock());
        let closed = folders.into_iter().filter_map(|ends| ends.upgrade()?.open.lock().take());
        closed.count() > 0
    }
}

impl Ends {
    pub(super) fn new(job: &Job, source: Dir, target: Option<Dir>) -> Arc<Self> {
        let identity = |dir: &Dir| metadata_of(dir).ok().map(|metadata| (metadata.dev, metadata.ino));
        let ends = Arc::new(Self {
            source: identity(&source),
            target: target.as_ref().and_then(identity),
            has_target: target.is_some(),
            open: Mutex::new(Some(Arc::new(Opened { source, target }))),
        });
        job.kept_open.keep(&ends);
        ends
    }

    fn is_this(&self, source: &Dir, target: Option<&Dir>) -> Result<(), Trouble> {
        let is = |dir: &Dir, wanted: Option<Identity>| {
            metadata_of(dir).map(|found| wanted.is_none_or(|wanted| wanted == (found.dev, found.ino)))
        };
        if !is(source, self.source).map_err(spot::source(Operation::Open))? {
            return Err(Trouble::SourceIs(FailureReason::ChangedWhileReading));
        }
        match target {
            Some(target) if !is(target, self.target).map_err(spot::target(Operation::Open))? => {
                Err(Trouble::TargetIs(FailureReason::InTheWay))
            }
            _ => Ok(()),
        }
    }
}

/// The way to a folder from an open one above it: a path at the source, and one at the destination.
struct Way {
    above: Arc<Opened>,
    from: Vec<u8>,
    to: Vec<u8>,
}

impl Folder<'_> {
    pub(super) fn source(&self) -> Result<Source, Trouble> {
        self.open().map(Source)
    }

    /// None where a dry run would have to make it.
    pub(super) fn target(&self) -> Result<Option<Target>, Trouble> {
        if !self.ends.has_target {
            return Ok(None);
        }
        self.open().map(|opened| Some(Target(opened)))
    }

    /// Both, if they are open.
    pub(super) fn if_open(&self) -> Option<Arc<Opened>> {
        self.ends.open.lock().clone()
    }

    fn open(&self) -> Result<Arc<Opened>, Trouble> {
        match self.if_open() {
            Some(opened) => Ok(opened),
            None => self.open_again(),
        }
    }

    #[cold]
    fn open_again(&self) -> Result<Arc<Opened>, Trouble> {
        let (source, target) = match self.top() {
            Some(top) => {
                let source = self.job.patiently(|| {
                    if top.in_source { Dir::open(&top.holder) } else { Dir::open_to_search(&top.holder) }
                });
                let target = match &self.job.top {
                    Some(top) if self.ends.has_target => Some(self.job.patiently(|| top.dir.try_clone())),
                    _ => None,
                };
                (source, target)
            }
            None => {
                let Way { above, from, to } = self.nearest_open()?;
                let source = self.job.patiently(|| open_below(&above.source, &from));
                let target = match &above.target {
                    Some(above) if self.ends.has_target => Some(self.job.patiently(|| open_below(above, &to))),
                    _ => None,
                };
                (source, target)
            }
        };
        let source = source.map_err(spot::source(Operation::Open))?;
        let target = target.transpose().map_err(spot::target(Operation::Open))?;
        self.ends.is_this(&source, target.as_ref())?;
        Ok(self.keep(Opened { source, target }))
    }

    fn keep(&self, opened: Opened) -> Arc<Opened> {
        let opened = Arc::new(opened);
        *self.ends.open.lock() = Some(opened.clone());
        self.job.kept_open.keep(&self.ends);
        opened
    }

    /// The way from the nearest open folder above, or from the top level, which is opened for it.
    fn nearest_open(&self) -> Result<Way, Trouble> {
        let mut names = vec![self.name()];
        let mut at = self;
        let (above, top) = loop {
            let Some(parent) = at.parent() else { return Err(Trouble::SourceIs(FailureReason::ChangedWhileReading)) };
            at = parent;
            match (at.if_open(), at.top()) {
                (Some(opened), top) => break (opened, top),
                (None, Some(top)) => break (at.open()?, Some(top)),
                (None, None) => names.push(at.name()),
            }
        };
        names.reverse();
        let to = names.join(&b'/');
        // Only the highest folder may be called otherwise than its copy.
        if let Some(own_name) = top.and_then(|top| top.own_name.as_deref()) {
            names[0] = own_name;
        }
        Ok(Way { above, from: names.join(&b'/'), to })
    }

    /// Opens it from a folder in it, which spares the way down. What cannot be had so is opened by
    /// its name when it is wanted.
    pub(super) fn open_from_below(&self, below: &Opened) {
        if self.if_open().is_some() || self.top().is_some() {
            return;
        }
        let Ok(source) = below.source.open_parent() else { return };
        let target = match &below.target {
            Some(target) if self.ends.has_target => match target.open_parent() {
                Ok(target) => Some(target),
                Err(_) => return,
            },
            _ => None,
        };
        if self.ends.source.is_some() && self.ends.is_this(&source, target.as_ref()).is_ok() {
            self.keep(Opened { source, target });
        }
    }
}
