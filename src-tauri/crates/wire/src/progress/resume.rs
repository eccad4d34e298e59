//! Which files of earlier attempts in the staging folder the next attempt believes, and the steps
//! in which it takes them over. The data plane looks at the files and moves them.
//!
//! An attempt fills [`TREE`] and its lanes' folders, and writes its [`JOURNAL`]. The next one sets
//! them aside as `kept-N`, takes whole files from there, and continues begun ones. A crash may come
//! between any two steps. After one, setting aside is completed first.
use crate::journal::{Begun, Version};
use crate::lane::Timestamp;
use crate::limits::HAS_MAX;
use crate::stretches::Stretches;

/// The tree of a running attempt.
pub const TREE: &[u8] = b"tree";

/// Its journal.
pub const JOURNAL: &[u8] = b"journal";

/// The beginning of the names of its lanes' folders.
pub const LANE_PREFIX: &[u8] = b"parts-";

/// An earlier attempt that is being set aside. Nothing is taken from it before it has its number.
pub const ASIDE: &[u8] = b"aside";

const KEPT_PREFIX: &[u8] = b"kept-";

/// Earlier attempts that are kept; beyond this, the oldest is removed. Each holds two descriptors,
/// and is searched for every folder.
pub const ATTEMPTS_KEPT_MAX: usize = 32;

/// Smaller files are not noted in the journal. Sending them again takes less time than noting them
/// saves.
pub const NOTED_SIZE_MIN: u64 = 8 * 1024 * 1024;

/// A begun file with fewer bytes than this is not continued.
pub const HAS_MIN: u64 = 1024 * 1024;

/// Up to this part of the bytes is sent again instead of comparing everything.
const DOUBTFUL_PART: u64 = 8;

/// Files whose time is later than this much before the first attempt are compared: a half-written
/// file must not pass for whole if times are coarse (2 s on vfat).
const TIME_GRAIN_SECS: i64 = 2;

/// Which data of earlier attempts is believed. An uninterrupted mount proves nothing: the kernel
/// reports a failed write-back once, and another program may have got that report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Belief {
    /// Data that a recorded sync covers. The rest is so little that it is sent again.
    #[default]
    Synced,
    /// Data that a recorded sync covers. The rest is compared with the sender's.
    Compared,
}

impl Belief {
    /// Chooses by the noted bytes that recorded syncs cover, and by those that they do not. A
    /// comparison would make the sender read everything again.
    pub fn in_what_is_noted(durable: u64, doubtful: u64) -> Self {
        if is_little(doubtful, durable) { Self::Synced } else { Self::Compared }
    }
}

/// Whether the data that no recorded sync covers is sent again rather than compared.
fn is_little(doubtful: u64, durable: u64) -> bool {
    durable > 0 && doubtful <= durable / DOUBTFUL_PART
}

/// The metadata of an entry that was found in an earlier attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Whether it is a regular file.
    pub is_file: bool,
    /// Its length in bytes.
    pub size: u64,
    /// When its contents were last changed.
    pub mtime: Timestamp,
    /// How many names it has.
    pub names: u64,
}

/// Which of the found files count as whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trust {
    before: Timestamp,
}

impl Default for Trust {
    /// None of them.
    fn default() -> Self {
        Self { before: Timestamp { secs: i64::MIN, nanos: 0 } }
    }
}

/// When the first attempt began, by the clock as it is `now`. If a clock was set back since, files
/// that are being written are younger than the noted time says.
pub fn begun(noted: Timestamp, now: Timestamp) -> Timestamp {
    noted.min(now)
}

/// Whether a file has the size and time of the one that the sender lists. It may still be half of
/// it, or without contents.
pub fn looks_whole(found: &Found, size: u64, mtime: Timestamp) -> bool {
    found.is_file && found.size == size && found.mtime == mtime
}

impl Trust {
    /// The rule for a first attempt that began at that time.
    pub fn since(begun: Timestamp) -> Self {
        Self { before: Timestamp { secs: begun.secs.saturating_sub(TIME_GRAIN_SECS), ..begun } }
    }

    /// Whether a file is the one that the sender lists, and whole. A file gets the sender's time
    /// once its contents are complete.
    pub fn is_whole(&self, found: &Found, size: u64, mtime: Timestamp) -> bool {
        !self.is_doubted(mtime) && looks_whole(found, size, mtime)
    }

    /// Whether a file with that time only counts as whole if its contents equal the sender's.
    pub fn is_doubted(&self, mtime: Timestamp) -> bool {
        mtime >= self.before
    }

    /// The second from which on files are in doubt.
    pub fn doubts(&self) -> i64 {
        self.before.secs
    }
}

/// The believed stretches of a begun file that was found at its journal's place; none if it is to
/// be compared. `None` if it is not worth continuing.
pub fn going_on(found: &Found, version: &Version, begun: &Begun, belief: Belief) -> Option<Stretches> {
    // A file with other names would be filled under those too.
    let same = found.is_file && found.size == version.size && found.names == 1;
    let (noted, durable) = (begun.has.total(), begun.durable.total());
    let compares = belief == Belief::Compared && !is_little(noted - durable.min(noted), durable);
    let mut has = Stretches::default();
    if !compares {
        for stretch in begun.durable.iter().take(HAS_MAX) {
            has.add(stretch.start, stretch.end);
        }
    }
    (same && if compares { noted } else { has.total() } >= HAS_MIN).then_some(has)
}

/// One step of taking over a staging folder. Names are relative to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Removes the entry with that name, and everything in it.
    Remove(Vec<u8>),
    /// Makes a folder.
    Make(Vec<u8>),
    /// Moves an entry into a folder, in which its name is free.
    Move {
        /// The entry.
        name: Vec<u8>,
        /// The folder.
        into: Vec<u8>,
    },
    /// Gives a folder a name that is free.
    Rename {
        /// Its old name.
        from: Vec<u8>,
        /// Its new name.
        to: Vec<u8>,
    },
}

/// The plan for taking over a staging folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Takeover {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The names of earlier attempts after these steps, the latest first.
    pub attempts: Vec<Vec<u8>>,
}

/// Plans the takeover of a staging folder with these names, and those in its folder [`ASIDE`], if
/// it has one. `holds` says whether the last attempt's tree or journal has any contents.
pub fn take_over<'n>(
    names: impl IntoIterator<Item = &'n [u8]>,
    aside: impl IntoIterator<Item = &'n [u8]>,
    holds: bool,
) -> Takeover {
    let (mut numbers, mut left, mut is_half_aside) = (Vec::new(), Vec::new(), false);
    for name in names {
        numbers.extend(kept_number(name));
        if name == TREE || name == JOURNAL || name.starts_with(LANE_PREFIX) {
            left.push(name.to_vec());
        }
        is_half_aside |= name == ASIDE;
    }
    numbers.sort_unstable();
    let mut steps = Vec::new();
    // If a filesystem writes names in any order, a power cut may have undone that an attempt got
    // its number, but not what the next attempt made.
    if aside.into_iter().any(|name| left.iter().any(|left| left == name)) {
        number_aside(&mut numbers, &mut steps);
        is_half_aside = false;
    }
    if is_half_aside || (holds && !left.is_empty()) {
        if !is_half_aside {
            steps.push(Step::Make(ASIDE.to_vec()));
        }
        steps.extend(left.into_iter().map(|name| Step::Move { name, into: ASIDE.to_vec() }));
        number_aside(&mut numbers, &mut steps);
    } else {
        // An attempt without contents must not displace one that has some.
        steps.extend(left.into_iter().map(Step::Remove));
    }
    steps.push(Step::Make(TREE.to_vec()));
    Takeover { steps, attempts: numbers.into_iter().rev().map(kept_name).collect() }
}

/// Gives the attempt that was set aside the next number, and removes the oldest attempts beyond the
/// limit.
fn number_aside(numbers: &mut Vec<u32>, steps: &mut Vec<Step>) {
    let next = numbers.last().map_or(0, |last| last + 1);
    while numbers.len() >= ATTEMPTS_KEPT_MAX {
        steps.push(Step::Remove(kept_name(numbers.remove(0))));
    }
    steps.push(Step::Rename { from: ASIDE.to_vec(), to: kept_name(next) });
    numbers.push(next);
}

/// Whether a name in a staging folder is that of an earlier attempt.
pub fn is_kept(name: &[u8]) -> bool {
    name == ASIDE || kept_number(name).is_some()
}

fn kept_name(number: u32) -> Vec<u8> {
    [KEPT_PREFIX, number.to_string().as_bytes()].concat()
}

/// The attempt's number, if another number can follow it.
fn kept_number(name: &[u8]) -> Option<u32> {
    let number: u32 = std::str::from_utf8(name.strip_prefix(KEPT_PREFIX)?).ok()?.parse().ok()?;
    (number < u32::MAX && kept_name(number) == name).then_some(number)
}

#[cfg(test)]
mod tests {
    //! A staging folder as a set of names. After a crash at any step, nothing of an attempt is lost
    //! or separated.
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Names, with the attempt to which each entry belongs: `attempt/entry`.
    type Folder = BTreeSet<(Vec<u8>, Vec<u8>)>;

    fn names(folder: &Folder) -> BTreeSet<Vec<u8>> {
        folder.iter().map(|(name, _)| name.clone()).collect()
    }

    fn carry_out(folder: &mut Folder, step: &Step) {
        match step {
            Step::Remove(name) => folder.retain(|(at, _)| at != name),
            Step::Make(name) => assert!(folder.insert((name.clone(), Vec::new()))),
            Step::Move { name, into } => {
                assert!(names(folder).contains(into));
                folder.retain(|(at, _)| at != name);
                assert!(folder.insert((into.clone(), name.clone())), "{name:?} is there already");
            }
            Step::Rename { from, to } => {
                assert!(!names(folder).contains(to));
                let moved: Vec<_> = folder.iter().filter(|(at, _)| at == from).cloned().collect();
                folder.retain(|(at, _)| at != from);
                folder.extend(moved.into_iter().map(|(_, thing)| (to.clone(), thing)));
            }
        }
    }

    fn planned(folder: &Folder, holds: bool) -> Takeover {
        let names = names(folder);
        let aside: Vec<_> = folder.iter().filter(|(at, _)| at == ASIDE).map(|(_, thing)| thing.as_slice()).collect();
        take_over(names.iter().map(Vec::as_slice), aside, holds)
    }

    fn take_over_all(folder: &mut Folder, holds: bool) -> Takeover {
        let takeover = planned(folder, holds);
        takeover.steps.iter().for_each(|step| carry_out(folder, step));
        takeover
    }

    fn attempt(folder: &mut Folder) {
        for name in [JOURNAL, b"parts-0", b"parts-1", b"begun"] {
            folder.insert((name.to_vec(), Vec::new()));
        }
    }

    #[test]
    fn attempts_are_numbered_and_the_oldest_goes() {
        let mut folder = Folder::new();
        for number in 0..40_usize {
            let takeover = take_over_all(&mut folder, true);
            let kept = (number.saturating_sub(ATTEMPTS_KEPT_MAX)..number).rev();
            let expected: Vec<_> = kept.map(|number| format!("kept-{number}").into_bytes()).collect();
            assert_eq!(takeover.attempts, expected, "attempt {number}");
            attempt(&mut folder);
        }
    }

    #[test]
    fn an_empty_attempt_displaces_no_other() {
        let mut folder = Folder::new();
        let _ = take_over_all(&mut folder, false);
        attempt(&mut folder);
        for _ in 0..100 {
            let holds = names(&folder).len() == 5;
            let kept = take_over_all(&mut folder, holds);
            attempt(&mut folder);
            assert_eq!(kept.attempts, [b"kept-0"]);
        }
    }

    #[test]
    fn an_attempt_that_lost_its_number_in_a_power_cut_stays_separate() {
        let mut folder = Folder::new();
        let _ = take_over_all(&mut folder, false);
        attempt(&mut folder);
        let steps = planned(&folder, true).steps;
        steps.iter().filter(|step| !matches!(step, Step::Rename { .. })).for_each(|step| carry_out(&mut folder, step));
        attempt(&mut folder);
        let taken = take_over_all(&mut folder, true);
        assert_eq!(taken.attempts, [b"kept-1", b"kept-0"]);
        for kept in taken.attempts {
            let things: Vec<_> = folder.iter().filter(|(at, _)| *at == kept).map(|(_, thing)| &thing[..]).collect();
            assert_eq!(things, [&b""[..], JOURNAL, b"parts-0", b"parts-1", TREE]);
        }
    }

    #[test]
    fn names_that_are_not_ours_are_left_alone() {
        let names: [&[u8]; 7] = [b"kept-01", b"kept-4294967295", b"kept-", b"kept-x", b"begun", b"probe", b"tree2"];
        let takeover = take_over(names, [], true);
        assert_eq!((takeover.steps, takeover.attempts), (vec![Step::Make(TREE.to_vec())], Vec::new()));
        assert!(names.iter().all(|name| !is_kept(name)) && is_kept(b"kept-10") && is_kept(ASIDE));
    }

    proptest! {
        #[test]
        fn no_crash_splits_an_attempt(crashes in proptest::collection::vec(0..9usize, 0..6)) {
            let mut folder = Folder::new();
            let _ = take_over_all(&mut folder, false);
            attempt(&mut folder);
            for after in crashes {
                let steps = planned(&folder, true).steps;
                steps.iter().take(after).for_each(|step| carry_out(&mut folder, step));
            }
            let taken = take_over_all(&mut folder, true);
            let of_the_first: Vec<_> = folder.iter().filter(|(at, _)| at == b"kept-0").map(|(_, thing)| &thing[..]).collect();
            prop_assert_eq!(of_the_first, [&b""[..], JOURNAL, b"parts-0", b"parts-1", TREE]);
            prop_assert!(taken.attempts.ends_with(&[b"kept-0".to_vec()]));
        }
    }

    #[test]
    fn half_files_and_other_versions_are_not_whole() {
        let at = |secs| Timestamp { secs, nanos: 5 };
        let trust = Trust::since(at(100));
        let found = Found { is_file: true, size: 7, mtime: at(90), names: 1 };
        assert!(trust.is_whole(&found, 7, at(90)));
        assert!(!trust.is_whole(&found, 8, at(90)) && !trust.is_whole(&found, 7, at(91)));
        assert!(!trust.is_whole(&Found { is_file: false, ..found }, 7, at(90)));
        let young = Found { mtime: at(98), ..found };
        assert!(!trust.is_whole(&young, 7, at(98)), "as young as the first attempt");
        assert!(trust.is_doubted(at(98)) && looks_whole(&young, 7, at(98)) && trust.doubts() <= 98);
        assert!(!Trust::default().is_whole(&found, 7, at(90)) && Trust::default().doubts() == i64::MIN);
        let set_back = Trust::since(begun(at(100), at(50)));
        assert!(set_back.is_doubted(at(90)) && !set_back.is_doubted(at(47)));
        assert_eq!(begun(at(100), at(500)), at(100));
        assert_eq!(Belief::in_what_is_noted(800, 100), Belief::Synced);
        assert_eq!(Belief::in_what_is_noted(800, 101), Belief::Compared);
        assert_eq!(Belief::in_what_is_noted(0, 0), Belief::Compared);
    }

    #[test]
    fn the_stretches_to_continue_from_are_bounded() {
        let (version, found) = large();
        let mut begun = begun_file();
        assert!(begun.has.add(0, HAS_MIN - 1) && begun.durable.add(0, HAS_MIN - 1));
        for belief in [Belief::Synced, Belief::Compared] {
            assert_eq!(going_on(&found, &version, &begun, belief), None);
        }
        for at in 1..2 * HAS_MAX as u64 {
            assert!(begun.has.add(at << 21, (at << 21) + 1) && begun.durable.add(at << 21, (at << 21) + 1));
        }
        let has = going_on(&found, &version, &begun, Belief::Synced).unwrap();
        assert_eq!((has.len(), has.contains(0), has.contains(((HAS_MAX - 1) as u64) << 21)), (HAS_MAX, true, true));
        for other in [Found { is_file: false, ..found }, Found { names: 2, ..found }, Found { size: 7, ..found }] {
            assert_eq!(going_on(&other, &version, &begun, Belief::Synced), None);
        }
    }

    #[test]
    fn begun_file_is_believed_as_far_as_a_sync_covers_it() {
        let (version, found) = large();
        let mut begun = begun_file();
        assert!(begun.has.add(0, 90 * HAS_MIN));
        let compared = |begun: &Begun| going_on(&found, &version, begun, Belief::Compared).map(|has| has.total());
        assert_eq!(going_on(&found, &version, &begun, Belief::Synced), None, "nothing is covered: it is sent again");
        assert_eq!(compared(&begun), Some(0), "it is compared");
        assert!(begun.durable.add(0, 70 * HAS_MIN));
        assert_eq!(compared(&begun), Some(0), "too much of it is in doubt");
        assert!(begun.durable.add(70 * HAS_MIN, 80 * HAS_MIN));
        assert_eq!(compared(&begun), Some(80 * HAS_MIN), "little of it is in doubt");
    }

    fn large() -> (Version, Found) {
        let (size, mtime) = (1 << 40, Timestamp::default());
        let version = Version { folder: Box::default(), name: b"x".as_slice().into(), size, mtime, stamp: 0 };
        (version, Found { is_file: true, size, mtime, names: 1 })
    }

    fn begun_file() -> Begun {
        Begun { place: b"tree/x".as_slice().into(), has: Stretches::default(), durable: Stretches::default() }
    }
}
