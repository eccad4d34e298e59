//! Keeps in the staging folder what has landed where others see it, until the store has it: a
//! receiver that is killed does not get to tell the store.
//!
//! Frames are sealed by a key of the store's, each with the one before it. What a power cut has
//! damaged is not read, nor what somebody else has written.
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use ringway_model::DeviceId;
use ringway_sys::attributes::{Kind, Metadata, metadata_of};
use ringway_wire::Name;
use zeroize::Zeroizing;

use crate::disk::Dir;
use crate::limits::BROUGHT_NAMES_MAX;
use crate::receive::FILLING_FILE_MODE;
use crate::receive::received_before::{Brought, DESTINATION, Identity};

/// What the names of logs begin with. The attempt's mark follows.
const LOG_PREFIX: &[u8] = b"landed-";

/// Logs in one staging folder that are read: one that the store could not take waits for the next
/// attempt.
const LOGS_MAX: usize = 64;

/// Entries of a log that have a top-level name: what was there, and what was made.
const NAMES_MAX: u32 = 2 * BROUGHT_NAMES_MAX as u32;

/// Bytes of a log: a million files that landed or were replaced, under 10,000 names.
const LOG_MAX: u64 = 32 * 1024 * 1024;

/// The log's format.
const VERSION: u8 = 1;

/// Bytes of a frame's length and tag.
const FRAME_HEAD: usize = 4 + TAG_LEN;
const TAG_LEN: usize = 16;

/// Bytes of what was noted of a file: a kind, the number of its top-level name, its inode and its
/// change time.
const EVENT_LEN: usize = 21;

/// Bytes after which a frame is written: 64 files, each of which has replaced one.
const FRAME_FULL: usize = 2 * 64 * EVENT_LEN;

/// Bytes of a frame that is read: one more entry, the longest of which is a top-level name.
const FRAME_MAX: usize = FRAME_FULL + 512;

/// Events that are passed to the store at once: 4 MB while they are.
const EVENTS_AT_ONCE: usize = 65_536;

const NAMED: u8 = 1;
const LANDED: u8 = 2;
const WENT: u8 = 3;

/// The store's key, by which it knows its own logs.
pub struct SealKey(Zeroizing<[u8; 32]>);

impl SealKey {
    /// Of 32 random bytes that nobody else has.
    pub fn new(bytes: Zeroizing<[u8; 32]>) -> Self {
        Self(bytes)
    }

    /// What no other store makes of an attempt at a transfer.
    pub(in crate::receive) fn of_attempt(&self, attempt: &[u8; 32]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(b"ringway 2026 attempt of a store").update(attempt);
        *hasher.finalize().as_bytes()
    }

    /// What a frame is sealed with, behind one that had the tag `before`.
    fn tag(&self, before: [u8; TAG_LEN], frame: &[u8]) -> [u8; TAG_LEN] {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&before).update(frame);
        *hasher.finalize().as_bytes().first_chunk().expect("a digest has 32 bytes")
    }
}

/// Whose files land: the device, and its pairing by the store's count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whose {
    /// The device.
    pub device: DeviceId,
    /// In which pairing.
    pub pairing: i64,
}

/// Adds to the store what a log says. False where the store cannot be asked now.
pub type AddLanded = Box<dyn Fn(Whose, Vec<Recalled>) -> bool + Send + Sync>;

/// What takes up the logs that attempts have left.
pub struct Recall {
    /// By which they are known.
    pub key: SealKey,
    /// The thread that they are passed to.
    pub add: AddLanded,
}

/// An open destination, and what takes up the logs that were left in it; `None` if nothing is
/// remembered.
#[derive(Clone, Copy)]
pub(in crate::receive) struct Destination<'d> {
    pub(in crate::receive) root: &'d Dir,
    pub(in crate::receive) recall: Option<&'d Recall>,
}

/// What an attempt has put under one top-level name.
pub struct Recalled {
    top: Vec<u8>,
    identity: Identity,
    /// The attempt itself has given that name to what has it.
    is_made: bool,
    /// Inode and change time, and whether it landed or went.
    events: HashMap<(u64, i64), bool>,
}

impl Recalled {
    /// The sender's name of it.
    pub fn top(&self) -> &[u8] {
        &self.top
    }

    /// What is to be known of it from now on, where that is not what was known `before`.
    pub fn added_to(&self, before: Option<Brought>) -> Option<Brought> {
        let same = before.as_ref().filter(|before| before.identity == self.identity);
        let mut after = match same {
            Some(same) => same.clone(),
            None if self.is_made => Brought::new(self.identity),
            None => return None,
        };
        let files = self.events.iter().filter(|(_, landed)| **landed).map(|(file, _)| *file);
        let gone = self.events.iter().filter(|(_, landed)| !**landed).map(|(file, _)| *file);
        after.update(files, gone.collect());
        (before.as_ref() != Some(&after)).then_some(after)
    }
}

/// The log of the attempt under way. It is made for the first file, and ends with the first frame
/// that cannot be written whole: what stood behind half of one would not be read.
pub(in crate::receive) struct LandingLog {
    staging: Arc<Dir>,
    name: Vec<u8>,
    recall: Arc<Recall>,
    whose: Whose,
    mark: u64,
    file: Option<OwnedFd>,
    tag: [u8; TAG_LEN],
    len: u64,
    /// Top-level names so far.
    names: u32,
    /// What is to be written.
    frame: Vec<u8>,
}

impl LandingLog {
    /// `mark` is drawn at random.
    pub(in crate::receive) fn new(staging: &Arc<Dir>, mark: u64, whose: Whose, recall: &Arc<Recall>) -> Self {
        Self {
            staging: Arc::clone(staging),
            name: [LOG_PREFIX, format!("{mark:016x}").as_bytes()].concat(),
            recall: Arc::clone(recall),
            whose,
            mark,
            file: None,
            tag: [0; TAG_LEN],
            len: 0,
            names: 0,
            frame: Vec::with_capacity(FRAME_MAX),
        }
    }

    /// Notes what is new under a top-level name: of what `entry` it is, and whether this attempt
    /// has given it the name. None for the one that was `logged` last, with its number.
    ///
    /// # Errors
    /// It could not be written: the log has ended.
    pub(in crate::receive) fn note(
        &mut self,
        top: &[u8],
        entry: Option<(Identity, bool)>,
        logged: &mut Option<(u32, (Identity, bool))>,
        news: &[((u64, i64), bool)],
    ) -> io::Result<()> {
        let number = match (*logged, entry) {
            (Some((number, logged)), entry) if entry.is_none_or(|entry| entry == logged) => number,
            (_, Some(_)) if self.names == NAMES_MAX => return Err(io::ErrorKind::FileTooLarge.into()),
            (_, Some(entry)) => {
                let number = self.names;
                self.names += 1;
                *logged = Some((number, entry));
                let (identity, is_made) = entry;
                self.frame.extend_from_slice(&[NAMED, u8::from(is_made)]);
                identity.encode(&mut self.frame);
                self.frame.push(u8::try_from(top.len()).map_err(|_| io::ErrorKind::InvalidInput)?);
                self.frame.extend_from_slice(top);
                number
            }
            // Nothing tells it from another entry: it will not be known.
            (_, None) => return Ok(()),
        };
        for ((ino, changed), landed) in news {
            self.frame.push(if *landed { LANDED } else { WENT });
            self.frame.extend_from_slice(&number.to_le_bytes());
            self.frame.extend_from_slice(&ino.to_le_bytes());
            self.frame.extend_from_slice(&changed.to_le_bytes());
            if self.frame.len() >= FRAME_FULL {
                self.write()?;
            }
        }
        Ok(())
    }

    /// Writes what is waiting.
    ///
    /// # Errors
    /// As [`note`](Self::note).
    pub(in crate::receive) fn write(&mut self) -> io::Result<()> {
        if self.frame.is_empty() {
            return Ok(());
        }
        if self.file.is_none() {
            self.file = Some(self.staging.create_new(&self.name, FILLING_FILE_MODE)?);
            let mut head = vec![VERSION];
            head.extend_from_slice(&self.whose.device.0);
            head.extend_from_slice(&self.whose.pairing.to_le_bytes());
            // Two logs have no frame in common.
            head.extend_from_slice(&self.mark.to_le_bytes());
            let body = std::mem::replace(&mut self.frame, head);
            self.append()?;
            self.frame = body;
        }
        self.append()
    }

    fn append(&mut self) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let tag = self.recall.key.tag(self.tag, &self.frame);
        let bytes = [&(self.frame.len() as u32).to_le_bytes()[..], &tag, &self.frame].concat();
        if self.len + bytes.len() as u64 > LOG_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.staging.disk().write_at(file.as_fd(), self.len, &bytes)?;
        self.len += bytes.len() as u64;
        self.tag = tag;
        self.frame.clear();
        Ok(())
    }
}

/// The logs that attempts have left in a staging folder. To be called by its holder: nobody adds to
/// them after that.
pub(in crate::receive) fn left_in(staging: &Dir) -> Vec<Vec<u8>> {
    let mut logs = Vec::new();
    // What cannot be listed is left.
    let Ok(mut entries) = staging.entries() else { return logs };
    while logs.len() < LOGS_MAX
        && let Some(Ok(entry)) = entries.next()
    {
        logs.extend(is_log(entry.name).then(|| entry.name.to_vec()));
    }
    logs
}

/// Whether a name in a staging folder is that of a log.
pub(in crate::receive) fn is_log(name: &[u8]) -> bool {
    name.starts_with(LOG_PREFIX)
}

/// Passes to the store what logs in a staging folder say. Those that the store has are removed. All
/// else is left: nothing depends on it.
pub(in crate::receive) fn recall_all(destination: Destination<'_>, staging: &Dir, logs: &[Vec<u8>]) {
    let Destination { root, recall: Some(recall) } = destination else { return };
    for log in logs {
        let Ok(file) = staging.open_read(log) else { continue };
        let user = rustix::process::geteuid().as_raw();
        let is_ours = |there: Metadata| there.kind == Kind::File && there.uid == user;
        if !metadata_of(&file).is_ok_and(is_ours) {
            continue;
        }
        let is_taken = read(File::from(file), &recall.key, |whose, mut found| {
            // An entry that was made has a record only if it is still there.
            found.retain(|one| !one.is_made || Identity::of(root, &one.top) == Some(one.identity));
            found.is_empty() || (recall.add)(whose, found)
        });
        if is_taken {
            // One that stays is read once more, which changes nothing.
            let _ = staging.unlink(log);
        }
    }
}

/// Reads a log as far as it is sealed, and gives out what it says, some at a time. Whether it is
/// one, and all of that was taken.
fn read(file: impl Read, key: &SealKey, mut give: impl FnMut(Whose, Vec<Recalled>) -> bool) -> bool {
    let mut from = Frames { file: BufReader::new(file.take(LOG_MAX)), key, tag: [0; TAG_LEN] };
    // It may be anybody's file of such a name.
    let Some(whose) = from.next().and_then(|head| whose_in(&head)) else { return false };
    let mut names: Vec<(Vec<u8>, (Identity, bool))> = Vec::new();
    let mut found: HashMap<u32, HashMap<(u64, i64), bool>> = HashMap::new();
    let mut events = 0;
    let mut is_over = false;
    while !is_over {
        match from.next().map(|frame| events_in(&frame, &mut names, &mut found)) {
            Some(Some(count)) => events += count,
            _ => is_over = true,
        }
        if events >= EVENTS_AT_ONCE || is_over {
            events = 0;
            let recalled = |(number, events): (u32, _)| {
                let (top, (identity, is_made)) = names.get(number as usize)?.clone();
                Some(Recalled { top, identity, is_made, events })
            };
            let mut all: Vec<_> = std::mem::take(&mut found).into_iter().collect();
            // One name may have had several entries, the last of which counts.
            all.sort_unstable_by_key(|(number, _)| *number);
            let all: Vec<_> = all.into_iter().filter_map(recalled).collect();
            if !all.is_empty() && !give(whose, all) {
                return false;
            }
        }
    }
    true
}

struct Frames<'k, R> {
    file: BufReader<R>,
    key: &'k SealKey,
    tag: [u8; TAG_LEN],
}

impl<R: Read> Frames<'_, R> {
    /// The next frame; none at the end, and from the first one on that is not whole.
    fn next(&mut self) -> Option<Vec<u8>> {
        let mut head = [0; FRAME_HEAD];
        self.file.read_exact(&mut head).ok()?;
        let (len, tag) = head.split_first_chunk::<4>()?;
        let len = usize::try_from(u32::from_le_bytes(*len)).ok().filter(|len| *len <= FRAME_MAX)?;
        let mut frame = vec![0; len];
        self.file.read_exact(&mut frame).ok()?;
        let wanted = self.key.tag(self.tag, &frame);
        // Who reads the time that this takes can read the log.
        if tag != wanted {
            return None;
        }
        self.tag = wanted;
        Some(frame)
    }
}

fn whose_in(head: &[u8]) -> Option<Whose> {
    let (version, rest) = head.split_first()?;
    if *version != VERSION {
        return None;
    }
    let (device, rest) = rest.split_first_chunk()?;
    let (pairing, mark) = rest.split_first_chunk()?;
    (mark.len() == 8).then(|| Whose { device: DeviceId(*device), pairing: i64::from_le_bytes(*pairing) })
}

/// Adds what a frame says; how many files that is. `None` if it is not what this version writes.
fn events_in(
    mut frame: &[u8],
    names: &mut Vec<(Vec<u8>, (Identity, bool))>,
    found: &mut HashMap<u32, HashMap<(u64, i64), bool>>,
) -> Option<usize> {
    let mut count = 0;
    while let Some((kind, rest)) = frame.split_first() {
        match *kind {
            NAMED if names.len() < NAMES_MAX as usize => {
                let (is_made, rest) = rest.split_first()?;
                let (identity, rest) = Identity::decode(rest)?;
                let (len, rest) = rest.split_first()?;
                let (top, rest) = rest.split_at_checked((*len).into())?;
                let is_name = top == DESTINATION || Name::new(top).is_ok();
                names.push((is_name.then(|| top.to_vec())?, (identity, *is_made == 1)));
                frame = rest;
            }
            LANDED | WENT => {
                let (number, rest) = rest.split_first_chunk()?;
                let (ino, rest) = rest.split_first_chunk()?;
                let (changed, rest) = rest.split_first_chunk()?;
                let file = (u64::from_le_bytes(*ino), i64::from_le_bytes(*changed));
                found.entry(u32::from_le_bytes(*number)).or_default().insert(file, *kind == LANDED);
                count += 1;
                frame = rest;
            }
            _ => return None,
        }
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    const WHOSE: Whose = Whose { device: DeviceId([7; 32]), pairing: 3 };

    fn key(byte: u8) -> SealKey {
        SealKey::new(Zeroizing::new([byte; 32]))
    }

    fn identity(ino: u64) -> Identity {
        Brought::of_number(ino).identity
    }

    /// A file by inode and change time, and whether it landed.
    type News = ((u64, i64), bool);

    /// A log of as many frames as there are parts of `news`, each under its number as a name.
    fn written(news: &[(u64, Vec<News>)]) -> Vec<u8> {
        let home = tempfile::tempdir().unwrap();
        let staging = Arc::new(Dir::open(home.path()).unwrap());
        let recall = Arc::new(Recall { key: key(1), add: Box::new(|_, _| true) });
        let mut log = LandingLog::new(&staging, 5, WHOSE, &recall);
        let mut logged = HashMap::new();
        for (name, news) in news {
            let logged = logged.entry(*name).or_default();
            log.note(&name.to_string().into_bytes(), Some((identity(*name), false)), logged, news).unwrap();
            log.write().unwrap();
        }
        let logs = left_in(&staging);
        logs.first().map(|log| fs::read(home.path().join(str::from_utf8(log).unwrap())).unwrap()).unwrap_or_default()
    }

    /// What a log says, name by name; files that went are not in it.
    fn told(log: &[u8], key: &SealKey) -> Vec<(String, Vec<(u64, i64)>)> {
        let mut all: Vec<(String, Vec<(u64, i64)>)> = Vec::new();
        read(log, key, |whose, found| {
            assert_eq!(whose, WHOSE);
            for one in found {
                assert_eq!(one.identity, identity(String::from_utf8(one.top.clone()).unwrap().parse().unwrap()));
                let mut files: Vec<_> =
                    one.events.iter().filter(|(_, landed)| **landed).map(|(file, _)| *file).collect();
                files.sort_unstable();
                all.push((String::from_utf8(one.top).unwrap(), files));
            }
            true
        });
        all
    }

    fn landed(files: impl IntoIterator<Item = u64>) -> Vec<((u64, i64), bool)> {
        files.into_iter().map(|ino| ((ino, -5), true)).collect()
    }

    #[test]
    fn a_log_is_read_as_it_was_written() {
        let news =
            [(1, landed(1..1_000)), (2, landed([3])), (1, vec![((1, -5), false), ((2, -5), false), ((2, 8), true)])];
        let first: Vec<_> = (3..1_000).map(|ino| (ino, -5)).collect();
        let first = [&[(2, 8)][..], &first].concat();
        assert_eq!(told(&written(&news), &key(1)), [("1".to_owned(), first), ("2".to_owned(), vec![(3, -5)])]);
        assert_eq!(told(&written(&news), &key(2)), [], "another store's");
        assert_eq!(told(&written(&[]), &key(1)), []);
    }

    #[test]
    fn logs_that_were_read_go_and_anybodys_files_of_such_a_name_stay() {
        let home = tempfile::tempdir().unwrap();
        let staging = Dir::open(home.path()).unwrap();
        let of = |byte| Recall { key: key(byte), add: Box::new(|_, _| true) };
        let log = written(&[(1, landed([1]))]);
        let torn = &log[..log.len() - 1];
        let cases = [(&b""[..], 1, true), (b"landed on the moon", 1, true), (&log, 2, true), (torn, 1, false)];
        for (contents, key, stays) in cases {
            fs::write(home.path().join("landed-0000000000000005"), contents).unwrap();
            let destination = Destination { root: &staging, recall: Some(&of(key)) };
            recall_all(destination, &staging, &left_in(&staging));
            assert_eq!(home.path().join("landed-0000000000000005").exists(), stays, "{contents:?}");
        }
    }

    #[test]
    fn a_file_that_went_and_landed_again_is_known() {
        let news = [(1, vec![((1, 2), true), ((1, 2), false), ((1, 2), true)])];
        assert_eq!(told(&written(&news), &key(1)), [("1".to_owned(), vec![(1, 2)])]);
    }

    #[test]
    fn what_is_known_is_added_only_to_the_same_entry() {
        let recalled = |is_made| Recalled {
            top: b"top".to_vec(),
            identity: identity(1),
            is_made,
            events: HashMap::from([((1, 2), true), ((3, 4), false)]),
        };
        let mut before = Brought::of_number(1);
        before.update([(3, 4), (5, 6)], vec![]);
        let mut after = Brought::of_number(1);
        after.update([(1, 2), (5, 6)], vec![]);
        assert_eq!(recalled(false).added_to(Some(before)), Some(after.clone()));
        assert_eq!(recalled(false).added_to(Some(after)), None, "it is known already");
        assert_eq!(recalled(false).added_to(Some(Brought::of_number(2))), None);
        assert_eq!(recalled(false).added_to(None), None);
        let mut made = Brought::of_number(1);
        made.update([(1, 2)], vec![]);
        assert_eq!(recalled(true).added_to(None), Some(made.clone()));
        assert_eq!(recalled(true).added_to(Some(Brought::of_number(2))), Some(made));
    }

    #[test]
    fn a_log_has_an_end() {
        let home = tempfile::tempdir().unwrap();
        let staging = Arc::new(Dir::open(home.path()).unwrap());
        let recall = Arc::new(Recall { key: key(1), add: Box::new(|_, _| true) });
        let mut log = LandingLog::new(&staging, 5, WHOSE, &recall);
        let mut logged = None;
        let mut noted = 0_u64;
        while log.note(b"top", Some((identity(1), true)), &mut logged, &landed(noted..noted + 1_000)).is_ok() {
            noted += 1_000;
        }
        let len = fs::metadata(home.path().join("landed-0000000000000005")).unwrap().len();
        assert!((1_000_000..LOG_MAX / EVENT_LEN as u64).contains(&noted) && len <= LOG_MAX, "{noted} in {len}");
        let mut known = 0;
        let file = fs::File::open(home.path().join("landed-0000000000000005")).unwrap();
        read(file, &key(1), |_, found| {
            known += found.iter().map(|one| one.events.len()).sum::<usize>();
            true
        });
        // The last frame was not written.
        assert!(known as u64 + 128 >= noted, "{known} of {noted}");
    }

    proptest! {
        /// A power cut leaves zeros, old contents or nothing in any part of it.
        #[test]
        fn whatever_is_in_a_log_only_what_was_sealed_is_read(
            cut in 0_usize..5_000, at in 0_usize..5_000, bytes in proptest::collection::vec(any::<u8>(), 0..200),
            is_spliced in any::<bool>(),
        ) {
            let news: Vec<_> = (0..10).map(|part| (1, landed(part * 10..part * 10 + 10))).collect();
            let whole = written(&news);
            let mut log = whole[..cut.min(whole.len())].to_vec();
            for (byte, new) in log.iter_mut().skip(at).zip(&bytes) {
                *byte = *new;
            }
            if is_spliced {
                log.extend_from_slice(&whole[at.min(whole.len())..]);
            }
            let told = told(&log, &key(1));
            let known: Vec<_> = told.into_iter().flat_map(|(_, files)| files).collect();
            let most: Vec<_> = (0..known.len() as u64).map(|ino| (ino, -5)).collect();
            prop_assert_eq!(&known, &most, "the first ones, in order");
            prop_assert!(known.len() <= 100 && known.len().is_multiple_of(10));
        }

        #[test]
        fn anything_may_be_in_a_sealed_frame(frame in proptest::collection::vec(any::<u8>(), 0..400)) {
            let (mut names, mut found) = (Vec::new(), HashMap::new());
            let _ = events_in(&frame, &mut names, &mut found);
            let _ = whose_in(&frame);
        }
    }
}
