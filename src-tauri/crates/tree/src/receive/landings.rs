//! What a transfer puts where others see it, by top-level name, for the record of what its device
//! brought.
pub(super) mod log;

use std::collections::{HashMap, HashSet};

use ringway_sys::attributes::{Metadata, Timestamp};

use super::received_before::{Brought, FILES_IN_ALL_MAX, FILES_MAX, Identity, nanos};
use log::LandingLog;

/// What tells whether somebody has changed a file since this machine did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::receive) struct Stamp {
    pub(in crate::receive) ino: u64,
    pub(in crate::receive) mtime: Timestamp,
    pub(in crate::receive) ctime: Timestamp,
}

impl From<Metadata> for Stamp {
    fn from(Metadata { ino, mtime, ctime, .. }: Metadata) -> Self {
        Self { ino, mtime, ctime }
    }
}

impl Stamp {
    const ANOTHER_TIME: Timestamp = Timestamp { secs: 0, nanos: 0 };

    /// The same of a file that was changed before anybody looked.
    pub(in crate::receive) fn of_another_time(self) -> Self {
        Self { ctime: Self::ANOTHER_TIME, ..self }
    }

    /// Whether it was changed before anybody looked.
    pub(in crate::receive) fn is_of_another_time(&self) -> bool {
        self.ctime == Self::ANOTHER_TIME
    }
}

/// What a transfer has put under one top-level name where others see it.
#[derive(Default)]
pub(in crate::receive) struct Landings {
    /// Files and links by device and inode, with their change times after this machine's last
    /// change.
    files: HashMap<(u64, u64), i64>,
    /// Inode and change time of those that it has replaced, or changed since.
    gone: Vec<(u64, i64)>,
    /// Files and links that it has put beside an edited one, by device and inode. They are never
    /// remembered: an entry of the sender's that has such a numbered name itself may not replace
    /// them. Neither are their other names, which have the same inode.
    beside: HashSet<(u64, u64)>,
    /// A file that was put beside another could not be remembered. Any that lands later may be that
    /// one.
    has_lost_beside: bool,
    /// How many more the transfer may remember.
    room: usize,
    /// Inode and change time of what has landed, or has gone, and is not in the log yet.
    news: Vec<((u64, i64), bool)>,
    /// The number of this name in the log, and of which entry it tells there.
    logged: Option<(u32, (Identity, bool))>,
}

impl Landings {
    /// Has a record take it over.
    pub(in crate::receive) fn added_to(self, brought: &mut Brought) {
        brought.update(self.files.into_iter().map(|((_, ino), changed)| (ino, changed)), self.gone);
    }

    pub(in crate::receive) fn landed(&mut self, there: &Metadata) {
        let key = (there.dev, there.ino);
        if self.beside.contains(&key) || self.has_lost_beside {
            return;
        }
        let file = (there.ino, nanos(there.ctime));
        if let Some(changed) = self.files.get_mut(&key) {
            let before = std::mem::replace(changed, file.1);
            if before == file.1 {
                return;
            }
            self.news.push(((there.ino, before), false));
        } else if self.files.len() < FILES_MAX && self.takes_room() {
            self.files.insert(key, file.1);
        } else {
            return;
        }
        self.news.push((file, true));
    }

    pub(in crate::receive) fn went(&mut self, there: &Metadata) {
        let file = (there.ino, nanos(there.ctime));
        if self.has(there) {
            self.forget(there);
        }
        if self.gone.len() < FILES_MAX && self.takes_room() {
            self.gone.push(file);
            self.news.push((file, false));
        }
    }

    /// Remembers what is about to get a numbered name.
    pub(in crate::receive) fn put_beside(&mut self, there: &Metadata) {
        let key = (there.dev, there.ino);
        self.forget(there);
        if self.beside.contains(&key) {
            return;
        }
        if self.beside.len() < FILES_MAX && self.takes_room() {
            self.beside.insert(key);
        } else {
            self.has_lost_beside = true;
        }
    }

    fn forget(&mut self, there: &Metadata) {
        if let Some(changed) = self.files.remove(&(there.dev, there.ino)) {
            self.room += 1;
            self.news.push(((there.ino, changed), false));
        }
    }

    fn takes_room(&mut self) -> bool {
        self.room.checked_sub(1).map(|room| self.room = room).is_some()
    }

    /// Whether this transfer has given it a numbered name.
    pub(in crate::receive) fn is_beside(&self, there: &Metadata) -> bool {
        self.beside.contains(&(there.dev, there.ino))
    }

    /// Whether something is there just as this transfer has left it.
    pub(in crate::receive) fn has(&self, there: &Metadata) -> bool {
        // Who writes into a file gives it equal times.
        there.ctime != there.mtime && self.files.get(&(there.dev, there.ino)) == Some(&nanos(there.ctime))
    }
}

/// What a transfer has put where others see it, by top-level name.
pub(in crate::receive) struct AllLandings {
    by_top: HashMap<Vec<u8>, Landings>,
    /// How many more files are remembered, under whichever name.
    room: usize,
    /// `None` if nothing is remembered, and once it could not be written.
    log: Option<LandingLog>,
}

impl Default for AllLandings {
    fn default() -> Self {
        Self { by_top: HashMap::new(), room: FILES_IN_ALL_MAX, log: None }
    }
}

impl AllLandings {
    /// With a log of them, if there is one.
    pub(in crate::receive) fn logged_in(log: Option<LandingLog>) -> Self {
        Self { log, ..Self::default() }
    }

    /// Of one top-level name, if something was put there.
    pub(in crate::receive) fn get(&self, top: &[u8]) -> Option<&Landings> {
        self.by_top.get(top)
    }

    /// Works on those of one top-level name, which `entry` has: whether that was made by this
    /// transfer is part of it. `None` if nothing tells it from another one.
    pub(in crate::receive) fn with<T>(
        &mut self,
        top: &[u8],
        entry: Option<(Identity, bool)>,
        work: impl FnOnce(&mut Landings) -> T,
    ) -> T {
        let landings = match self.by_top.get_mut(top) {
            Some(landings) => landings,
            None => self.by_top.entry(top.to_vec()).or_default(),
        };
        landings.room = self.room;
        let done = work(landings);
        self.room = landings.room;
        note(&mut self.log, top, entry, landings);
        done
    }

    /// Whether something is there just as this transfer has left it, or has a number from it, under
    /// whichever name.
    pub(in crate::receive) fn have(&self, there: &Metadata) -> bool {
        self.by_top.values().any(|landings| landings.has(there) || landings.is_beside(there))
    }

    /// What has changed under one of its names has changed under all.
    pub(in crate::receive) fn changed(&mut self, was: &Metadata, now: &Metadata) {
        for (top, landings) in self.by_top.iter_mut().filter(|(_, landings)| landings.has(was)) {
            landings.landed(now);
            note(&mut self.log, top, None, landings);
        }
    }

    /// Has the log written as far as it goes.
    pub(in crate::receive) fn save(&mut self) {
        if self.log.as_mut().is_some_and(|log| log.write().is_err()) {
            self.log = None;
        }
    }

    /// The same, and closes it: no more is noted.
    pub(in crate::receive) fn close(&mut self) {
        self.save();
        self.log = None;
    }

    /// Takes those of one top-level name.
    pub(in crate::receive) fn take(&mut self, top: &[u8]) -> Option<Landings> {
        self.by_top.remove(top)
    }
}

/// Notes what is new under a name. Without a log what lands counts as the owner's after a kill.
fn note(log: &mut Option<LandingLog>, top: &[u8], entry: Option<(Identity, bool)>, landings: &mut Landings) {
    if !landings.news.is_empty()
        && log.as_mut().is_some_and(|log| log.note(top, entry, &mut landings.logged, &landings.news).is_err())
    {
        *log = None;
    }
    landings.news.clear();
}

#[cfg(test)]
mod tests {
    use ringway_sys::attributes::metadata_of;

    use super::*;
    use crate::disk::Dir;

    #[test]
    fn files_that_land_are_bounded_over_all_names_and_one_that_goes_makes_room() {
        let home = tempfile::tempdir().unwrap();
        let mut there = metadata_of(Dir::open(home.path()).unwrap()).unwrap();
        there.mtime = Timestamp { secs: 0, nanos: 5 };
        let file = |ino| Metadata { ino, ..there };
        let mut all = AllLandings { room: 3, ..AllLandings::default() };
        (1..=2).for_each(|ino| all.with(b"a", None, |landings| landings.landed(&file(ino))));
        (3..=5).for_each(|ino| all.with(b"b", None, |landings| landings.landed(&file(ino))));
        let known = |all: &AllLandings| {
            let has = |top: &[u8], ino| all.get(top).is_some_and(|landings| landings.has(&file(ino)));
            (1..=5).filter(|ino| has(b"a", *ino) || has(b"b", *ino)).collect::<Vec<_>>()
        };
        assert_eq!(known(&all), [1, 2, 3]);
        all.with(b"b", None, |landings| landings.put_beside(&file(4)));
        assert!(!all.get(b"b").unwrap().is_beside(&file(4)));
        all.with(b"a", None, |landings| landings.put_beside(&file(1)));
        assert!(all.get(b"a").unwrap().is_beside(&file(1)), "its own place was free");
        all.with(b"b", None, |landings| landings.landed(&file(5)));
        assert_eq!(known(&all), [2, 3], "it may be what was put beside another");
    }
}
