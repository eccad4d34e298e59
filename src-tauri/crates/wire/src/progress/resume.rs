//! What the next attempt at a transfer believes of what earlier ones have left in the staging
//! folder, and in which steps it takes that over. Looking and moving is the engine's business.
//!
//! An attempt fills [`TREE`] and its lanes' folders, and writes its [`JOURNAL`]. The next one puts
//! them aside as `kept-N`, takes whole files from there, and goes on inside begun ones. A crash may
//! come between any two steps: what is half put aside is put aside to the end.
use crate::journal::{Begun, Version};
use crate::lane::Timestamp;
use crate::limits::HAS_MAX;
use crate::stretches::Stretches;

/// The tree of an attempt under way.
pub const TREE: &[u8] = b"tree";

/// Its journal.
pub const JOURNAL: &[u8] = b"journal";

/// What the names of its lanes' folders begin with.
pub const LANE_PREFIX: &[u8] = b"parts-";

/// An earlier attempt that is being put aside: nothing is taken from it before it has its number.
pub const ASIDE: &[u8] = b"aside";

const KEPT_PREFIX: &[u8] = b"kept-";

/// Earlier attempts of which something is kept; with more, the oldest goes. Each holds two
/// descriptors, and is looked through for every folder.
pub const ATTEMPTS_KEPT_MAX: usize = 32;

/// Smaller files are not noted in the journal: sending them again takes less than that saves.
pub const NOTED_SIZE_MIN: u64 = 8 * 1024 * 1024;

/// Bytes of a begun file that are worth going on with.
pub const HAS_MIN: u64 = 1024 * 1024;

/// One part in so many may be sent again instead of comparing everything.
const DOUBTFUL_PART: u64 = 8;

/// Files whose time is later than this much before the first attempt are compared: half of one,
/// being written now, must not pass for whole where times are coarse (2 s on vfat).
const TIME_GRAIN_SECS: i64 = 2;

/// What of earlier attempts is believed. That the filesystem has been mounted ever since proves
/// nothing: the kernel reports a failed write-back once, and another program may have taken that
/// report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Belief {
    /// What a recorded sync covers. The rest is so little that it is sent again.
    #[default]
    Synced,
    /// What a recorded sync covers. The rest is compared with what the sender has.
    Compared,
}

impl Belief {
    /// By the bytes that recorded syncs cover, and those that are noted and not covered. To compare
    /// them the sender would have to read all again.
    pub fn in_what_is_noted(durable: u64, doubtful: u64) -> Self {
        if is_little(doubtful, durable) { Self::Synced } else { Self::Compared }
    }
}

/// Whether what no recorded sync covers is rather sent again than compared.
fn is_little(doubtful: u64, durable: u64) -> bool {
    durable > 0 && doubtful <= durable / DOUBTFUL_PART
}

/// What is found under a name in an earlier attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// It is a regular file.
    pub is_file: bool,
    /// Its length in bytes.
    pub size: u64,
    /// When its contents were changed last.
    pub mtime: Timestamp,
    /// How many names it has.
    pub names: u64,
}

/// Which files that are found pass for whole.
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

/// When the first attempt began, going by the clock as it is `now`: since a clock was set back,
/// what is being written is younger than it says.
pub fn begun(noted: Timestamp, now: Timestamp) -> Timestamp {
    noted.min(now)
}

/// Whether a file has the size and time of the one that the sender lists. It may still be half of
/// it, or without contents.
pub fn looks_whole(found: &Found, size: u64, mtime: Timestamp) -> bool {
    found.is_file && found.size == size && found.mtime == mtime
}

impl Trust {
    /// When the first attempt began.
    pub fn since(begun: Timestamp) -> Self {
        Self { before: Timestamp { secs: begun.secs.saturating_sub(TIME_GRAIN_SECS), ..begun } }
    }

    /// Whether a file is the one that the sender lists, and whole: a file gets the sender's time
    /// when its contents are there.
    pub fn is_whole(&self, found: &Found, size: u64, mtime: Timestamp) -> bool {
        !self.is_doubted(mtime) && looks_whole(found, size, mtime)
    }

    /// Whether a file with that time is whole only if its contents are what the sender says.
    pub fn is_doubted(&self, mtime: Timestamp) -> bool {
        mtime >= self.before
    }

    /// The second from which on files are.
    pub fn doubts(&self) -> i64 {
        self.before.secs
    }
}

/// What is believed of a begun file that was found where its journal says: nothing where it is to
/// be compared. None where it is not worth going on with.
pub fn going_on(found: &Found, version: &Version, begun: &Begun, belief: Belief) -> Option<Stretches> {
    // One that has other names is filled under those too.
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

/// One step of taking a staging folder over. Names are in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Removes what has that name, and all that is in it.
    Remove(Vec<u8>),
    /// Makes a folder.
    Make(Vec<u8>),
    /// Moves something into a folder, where nothing has its name.
    Move {
        /// What.
        name: Vec<u8>,
        /// Where to.
        into: Vec<u8>,
    },
    /// Gives a folder a name that nothing has.
    Rename {
        /// Its name so far.
        from: Vec<u8>,
        /// And from now on.
        to: Vec<u8>,
    },
}

/// How a staging folder is taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Takeover {
    /// What to do, in order.
    pub steps: Vec<Step>,
    /// What earlier attempts are called then, the latest first.
    pub attempts: Vec<Vec<u8>>,
}

/// Plans to take over a staging folder with these names in it, and those in its folder [`ASIDE`],
/// if it has one. `holds` says whether there is anything in the last attempt's tree or journal.
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
    // A filesystem that writes names in any order may have lost, in a power cut, that an attempt
    // got its number, and not what the next one made.
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
        // An attempt that got nowhere must not push one out that did.
        steps.extend(left.into_iter().map(Step::Remove));
    }
    steps.push(Step::Make(TREE.to_vec()));
    Takeover { steps, attempts: numbers.into_iter().rev().map(kept_name).collect() }
}

/// Gives what was put aside the next number, and removes the oldest attempts where there are too
/// many.
fn number_aside(numbers: &mut Vec<u32>, steps: &mut Vec<Step>) {
    let next = numbers.last().map_or(0, |last| last + 1);
    while numbers.len() >= ATTEMPTS_KEPT_MAX {
        steps.push(Step::Remove(kept_name(numbers.remove(0))));
    }
    steps.push(Step::Rename { from: ASIDE.to_vec(), to: kept_name(next) });
    numbers.push(next);
}

/// Whether a name in a staging folder is an earlier attempt's.
pub fn is_kept(name: &[u8]) -> bool {
    name == ASIDE || kept_number(name).is_some()
}

fn kept_name(number: u32) -> Vec<u8> {
    [KEPT_PREFIX, number.to_string().as_bytes()].concat()
}

/// Its number, which another one can follow.
fn kept_number(name: &[u8]) -> Option<u32> {
    let number: u32 = std::str::from_utf8(name.strip_prefix(KEPT_PREFIX)?).ok()?.parse().ok()?;
    (number < u32::MAX && kept_name(number) == name).then_some(number)
}

#[cfg(test)]
mod tests {
    //! A staging folder as a set of names: whatever step a crash comes after, nothing of an attempt
    //! is lost or torn apart.
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Names, and in which attempt each thing lies: `attempt/thing`.
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
    fn an_attempt_that_got_nowhere_takes_nobodys_place() {
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
    fn an_attempt_whose_number_was_lost_in_a_power_cut_is_not_torn_into_by_the_next_one() {
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
        fn no_crash_tears_an_attempt_apart(crashes in proptest::collection::vec(0..9usize, 0..6)) {
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
    fn half_files_and_other_versions_do_not_pass() {
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
    fn what_is_worth_going_on_with_is_bounded() {
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
