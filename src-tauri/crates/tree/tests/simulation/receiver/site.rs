//! What stays of the receiving end when its program does not: its disk, and what must not be sent
//! again.
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ringway_model::Shortage;
use ringway_wire::journal::{Version, replay};
use ringway_wire::resume::{Belief, JOURNAL};
use ringway_wire::stretches::Stretches;

use super::Receiver;
use crate::disk::{Promise, Simulated};
use crate::source::{Source, TOP};

/// Marks a staging folder whose disk has refused something.
const SUSPECT: &[u8] = b"suspect";

/// What stays when the receiving program does not.
pub(crate) struct Site {
    pub(crate) disk: Arc<Simulated>,
    pub(crate) boot: u32,
    /// Something was written to the folder under its final name, file by file.
    pub(crate) was_merged: bool,
    /// The medium may report errors in this attempt.
    pub(crate) errs: bool,
    /// What must not be sent again: what was there whole, or noted, when it was.
    pub(crate) held: HashMap<Version, Held>,
    /// Files under their final names that somebody here has written to.
    pub(crate) foreign: HashSet<Vec<u8>>,
    /// What the program remembers of a transfer that it has accepted and that may be offered again.
    pub(crate) remembered: Option<Remembered>,
    /// A session that is taken for alive, though its sender has lost it.
    pub(crate) lingering: Option<Box<Receiver>>,
}

#[derive(Clone)]
pub(crate) enum Held {
    Whole,
    Noted(Stretches),
}

/// A transfer that was accepted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Remembered {
    pub(crate) transfer: [u8; 16],
    pub(crate) state: Standing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Open,
    /// The disk was full, and nobody has said that it may go on all the same.
    Full,
    Stopped,
    Received,
    /// A person here has paused it.
    Paused,
}

/// Whether a name at the top is a staging folder's.
pub(crate) fn is_staging(name: &[u8]) -> bool {
    name.starts_with(b".ringway-")
}

impl Site {
    pub(crate) fn new() -> Self {
        Self {
            disk: Simulated::new(),
            boot: 1,
            was_merged: false,
            errs: false,
            held: HashMap::new(),
            foreign: HashSet::new(),
            remembered: None,
            lingering: None,
        }
    }

    pub(crate) fn has_died(&self) -> bool {
        self.disk.state().died_in().is_some()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.disk.state().plan.room.is_some()
    }

    pub(crate) fn is_slow(&self) -> bool {
        self.disk.state().plan.is_slow
    }

    fn stagings(&self) -> Vec<Vec<u8>> {
        self.disk.state().tops().into_iter().filter(|name| is_staging(name)).collect()
    }

    /// Whether anything of an attempt is there.
    pub(crate) fn has_staging(&self) -> bool {
        !self.stagings().is_empty()
    }

    /// Whether nothing is believed that is there.
    pub(crate) fn is_suspect(&self) -> bool {
        let state = self.disk.state();
        let suspect = [b"/", SUSPECT].concat();
        let has_it = |name: &Vec<u8>| !state.some_files(name, None, |path| path == suspect).is_empty();
        state.tops().iter().filter(|name| is_staging(name)).any(has_it)
    }

    /// Paths of journals, from the top.
    pub(crate) fn journals(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let end = [b"/", JOURNAL].concat();
        let state = self.disk.state();
        let mut journals = Vec::new();
        for staging in state.tops().into_iter().filter(|name| is_staging(name)) {
            // Deeper ones are files that were sent.
            let is_own = |path: &[u8]| path.ends_with(&end) && path.iter().filter(|byte| **byte == b'/').count() <= 2;
            let own = state.some_files(&staging, None, is_own).into_iter();
            journals.extend(own.map(|(path, found)| ([&staging[..], &path].concat(), found.bytes)));
        }
        journals
    }

    /// Whether recorded syncs cover so little of what is staged that it is compared.
    pub(crate) fn compares(&self) -> bool {
        let (mut durable, mut doubtful) = (0, 0);
        for (_, bytes) in self.journals() {
            let noted = replay(&bytes);
            durable += noted.durable_bytes;
            doubtful += noted.doubtful_bytes;
        }
        Belief::in_what_is_noted(durable, doubtful) == Belief::Compared
    }

    /// What must not be sent again: what has its final name and is whole, and where an attempt has
    /// kept what is staged and a recorded sync covers it, that.
    pub(crate) fn survey(&mut self, source: &Source, keeps_staged: bool) {
        let mut held = HashMap::new();
        {
            let state = self.disk.state();
            for (name, found) in state.files(TOP, None) {
                let path = [TOP, &name].concat();
                let version = source.versions(&path).find(|version| version.is_like(&found));
                if let Some(version) = version {
                    held.insert(version.version(), Held::Whole);
                    self.foreign.remove(&path);
                }
            }
            for staging in state.tops().iter().filter(|name| keeps_staged && is_staging(name)) {
                for (path, found) in state.files(staging, None) {
                    let Some(at) = find(&path, b"/tree/") else { continue };
                    if let Some(version) = source.versions(&path[at..]).find(|version| version.is_like(&found)) {
                        held.insert(version.version(), Held::Whole);
                    }
                }
            }
        }
        for (_, bytes) in self.journals().into_iter().filter(|_| keeps_staged) {
            for (version, begun) in replay(&bytes).begun {
                let total = begun.durable.total();
                let is_more = match held.get(&version) {
                    Some(Held::Whole) => false,
                    Some(Held::Noted(has)) => has.total() < total,
                    None => true,
                };
                if is_more {
                    held.insert(version, Held::Noted(begun.durable));
                }
            }
        }
        self.held = held;
    }

    /// What its filesystem must promise for what has been done there: a folder that appears as a
    /// whole needs nothing.
    pub(crate) fn promise(&self) -> Promise {
        if self.was_merged { Promise::Order } else { Promise::Nothing }
    }

    /// A person says so.
    pub(crate) fn goes_on(&mut self) {
        if let Some(one) = self.remembered.as_mut().filter(|one| one.state == Standing::Full) {
            one.state = Standing::Open;
        }
    }

    /// What a person here has paused goes on.
    pub(crate) fn resumed(&mut self) {
        if let Some(one) = self.remembered.as_mut().filter(|one| one.state == Standing::Paused) {
            one.state = Standing::Open;
        }
    }

    /// What the disk is said to lack.
    pub(crate) fn shortage(&self) -> Shortage {
        let free = self.disk.state().plan.room.unwrap_or(0) as u64;
        Shortage { needed: free + u64::from(self.boot), free, entries: self.boot.into() }
    }

    pub(super) fn remembers(&mut self, transfer: [u8; 16], state: Standing) {
        if self.remembered.is_some_and(|one| one.transfer == transfer) {
            self.remembered = Some(Remembered { transfer, state });
        }
    }
}

fn find(path: &[u8], part: &[u8]) -> Option<usize> {
    path.windows(part.len()).position(|window| window == part).map(|at| at + part.len())
}

pub(crate) fn path_of(version: &Version) -> Vec<u8> {
    [&version.folder[..], b"/", &version.name].concat()
}
