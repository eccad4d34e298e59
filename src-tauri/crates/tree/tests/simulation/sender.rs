//! The sending end: the real session machine and the real heads, over a model of the engine's queue
//! of units and its lanes.
mod asking;
mod sending;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use ringway_model::{DeclineReason, Shortage};
use ringway_wire::control::{Accept, Cancel, FRAME_PREFIX_LEN, Greeting, Message, Offer, Totals, Wanted};
use ringway_wire::lane::{Attributes, Counts, Digest, Entry, EntryKind, FrameHeader, HeadBuffer, Timestamp, Xattrs};
use ringway_wire::limits::CHUNKED_SIZE_MIN;
use ringway_wire::session::{Event, Machine};
use ringway_wire::stretches::Stretches;
use ringway_wire::{DeviceName, Name, RelPath};

use self::asking::Asking;
use self::sending::Sending;
use super::pipe::{BytePipe, LanePipe};
use super::random::Random;
use super::source::{SMALL_MAX, Source, SourceFile, TOP};

/// When every folder was changed last.
pub(crate) const FOLDER_MTIME: Timestamp = Timestamp { secs: 500, nanos: 0 };
pub(crate) const FOLDER_MODE: u16 = 0o755;

/// Frames under way on one lane.
const WINDOW: usize = 3;

/// How the sender's part has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SenderEnd {
    Receipt,
    Failed,
    /// A person at either end did not want it.
    Stopped,
    /// It was declined, for there is no room yet.
    NoRoom(Shortage),
    /// It was declined, for the receiver has paused it.
    Paused,
}

/// How a transfer is offered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    /// The transfer's number.
    pub(crate) transfer: u8,
    /// It is to be proven.
    pub(crate) proves: bool,
    /// For how long it is offered again after each loss.
    pub(crate) retry_s: u32,
    /// Large files that have changed are compared.
    pub(crate) compares: bool,
}

enum Unit {
    Folders,
    Batch(Vec<SourceFile>),
    Large(SourceFile, Stretches, u64),
    /// A large file that is listed once more, with its digest.
    Again(SourceFile),
}

#[derive(Default)]
struct Lane {
    at: Option<usize>,
    begun: u64,
    has_ended: bool,
}

pub(crate) struct Sender {
    machine: Machine,
    terms: Terms,
    inbox: Vec<u8>,
    units: VecDeque<Unit>,
    listed: BTreeMap<u32, Unit>,
    wanted: VecDeque<Unit>,
    sending: Vec<Sending>,
    lanes: Vec<Lane>,
    lists: bool,
    /// From which second on files are listed with digests.
    doubts: Option<i64>,
    next_list: u32,
    counts: Counts,
    /// Files that were given up.
    pub(crate) failed: BTreeSet<Vec<u8>>,
    /// And at the receiver.
    pub(crate) failed_there: BTreeSet<Vec<u8>>,
    /// Bytes of contents that went out, by file.
    pub(crate) sent: HashMap<Vec<u8>, u64>,
    /// Bytes that were found where the receiver looked for them.
    pub(crate) found: u64,
    has_finished: bool,
    pub(crate) end: Option<SenderEnd>,
}

pub(crate) fn greeting(name: &str) -> Greeting {
    Greeting { name: DeviceName::new(name).expect("a name") }
}

/// The messages that are whole in `inbox`.
pub(crate) fn next_message(inbox: &mut Vec<u8>) -> Option<Message> {
    let prefix = inbox.first_chunk::<FRAME_PREFIX_LEN>()?;
    let len = Message::payload_len(*prefix).expect("an honest peer");
    let payload = inbox.get(FRAME_PREFIX_LEN..FRAME_PREFIX_LEN + len)?;
    let message = Message::decode(payload).expect("an honest peer");
    inbox.drain(..FRAME_PREFIX_LEN + len);
    Some(message)
}

fn path(bytes: &[u8]) -> RelPath<'_> {
    RelPath::new(bytes).expect("a path")
}

/// The folders of the source.
fn folders(source: &Source) -> BTreeSet<Vec<u8>> {
    std::iter::once(TOP.to_vec()).chain(source.files.iter().map(|file| file.folder.clone())).collect()
}

fn entry(file: &SourceFile) -> Entry<'_> {
    let attributes = Attributes { mode: 0o644, uid: 0, gid: 0, mtime: file.mtime };
    let kind = EntryKind::File { size: file.size, link_id: None };
    Entry { name: Name::new(&file.name).expect("a name"), kind, attributes, xattrs: Xattrs::default() }
}

fn frame(header: FrameHeader, head: &HeadBuffer, body: &[u8]) -> Vec<u8> {
    assert_eq!(header.body_len as usize, body.len());
    [&header.encode(), head.as_bytes(), body].concat()
}

impl Sender {
    pub(crate) fn new(random: &mut Random, source: &Source, terms: Terms, now_ms: u64) -> Self {
        let mut units = VecDeque::from([Unit::Folders]);
        let (small, large): (Vec<_>, Vec<_>) = source.files.iter().cloned().partition(|file| file.size <= SMALL_MAX);
        units.extend(small.chunks(3).map(|files| Unit::Batch(files.to_vec())));
        for file in large {
            let at = random.below(units.len() + 1);
            units.insert(at, Unit::Large(file, Stretches::default(), 0));
        }
        Self {
            machine: Machine::dial(&greeting("laptop"), true, None, now_ms),
            terms,
            inbox: Vec::new(),
            units,
            listed: BTreeMap::new(),
            wanted: VecDeque::new(),
            sending: Vec::new(),
            lanes: Vec::new(),
            lists: false,
            doubts: None,
            next_list: 0,
            counts: Counts::default(),
            failed: BTreeSet::new(),
            failed_there: BTreeSet::new(),
            sent: HashMap::new(),
            found: 0,
            has_finished: false,
            end: None,
        }
    }

    pub(crate) fn lanes(&self) -> usize {
        self.lanes.len()
    }

    pub(crate) fn timeout(&self) -> Option<u64> {
        self.machine.poll_timeout().filter(|_| self.end.is_none())
    }

    pub(crate) fn pass_time(&mut self, now_ms: u64) {
        if self.machine.handle_timeout(now_ms).is_err() {
            self.end = Some(SenderEnd::Failed);
        }
    }

    pub(crate) fn transmit(&mut self, to: &mut BytePipe) {
        if let Some(bytes) = self.machine.poll_transmit() {
            to.push(&bytes);
        }
    }

    pub(crate) fn cancel(&mut self, why: Cancel) {
        self.machine.cancel(why);
        self.end.get_or_insert(if why == Cancel::ByPerson { SenderEnd::Stopped } else { SenderEnd::Failed });
    }

    /// Bytes of the session have come; None at its end.
    pub(crate) fn hear(&mut self, bytes: Option<Vec<u8>>, random: &mut Random, now_ms: u64) {
        let Some(bytes) = bytes else {
            self.end.get_or_insert(SenderEnd::Failed);
            return;
        };
        self.inbox.extend(bytes);
        while let Some(message) = next_message(&mut self.inbox) {
            self.machine.handle_message(message, now_ms).expect("an honest peer");
            while let Some(event) = self.machine.poll_event() {
                self.event(event, random);
            }
        }
    }

    fn event(&mut self, event: Event, random: &mut Random) {
        match event {
            Event::Authenticated => self.machine.offer(&Offer {
                transfer: [self.terms.transfer; 16],
                names: vec![TOP.to_vec()],
                more_names: 0,
                so_far: Totals::default(),
                lanes: 4,
                prove: self.terms.proves,
                retry_s: self.terms.retry_s,
                in_share: None,
            }),
            Event::Accepted(Accept { lanes, lists, doubts, .. }) => {
                (self.lists, self.doubts) = (lists, doubts);
                let some = random.below(usize::from(lanes)) + 1;
                self.lanes.resize_with(some, Lane::default);
            }
            Event::Declined(DeclineReason::NoRoom(shortage)) => self.end = Some(SenderEnd::NoRoom(shortage)),
            Event::Declined(DeclineReason::Paused) => self.end = Some(SenderEnd::Paused),
            Event::Declined(_) | Event::Cancelled(Cancel::ByPerson) => {
                self.end = Some(SenderEnd::Stopped);
            }
            Event::Wanted(wanted) => self.answered(&wanted, random),
            Event::EntryFailed(failed) => drop(self.failed_there.insert(failed.path)),
            Event::ReceiptReceived(receipt) => {
                assert!(self.has_finished, "a receipt for what was not sent");
                assert_eq!(receipt.there.files + receipt.failed, self.counts.files);
                assert_eq!(receipt.failed, self.failed_there.len() as u64);
                self.end = Some(SenderEnd::Receipt);
            }
            Event::Cancelled(_) => self.end = Some(SenderEnd::Failed),
            _ => {}
        }
    }

    fn answered(&mut self, wanted: &Wanted, random: &mut Random) {
        if self.window_answered(wanted, random) {
            return;
        }
        let unit = self.listed.remove(&wanted.list).expect("a list of ours");
        match unit {
            Unit::Batch(files) => {
                assert_eq!(files.len(), wanted.files.len());
                let (left, there): (Vec<_>, Vec<_>) =
                    files.into_iter().zip(&wanted.files).partition(|(_, wanted)| **wanted);
                for (file, _) in there {
                    self.counts += Counts { files: 1, bytes: file.size, ..Counts::default() };
                }
                if !left.is_empty() {
                    self.wanted.push_back(Unit::Batch(left.into_iter().map(|(file, _)| file).collect()));
                }
            }
            Unit::Large(file, ..) | Unit::Again(file) if wanted.files == [false] => {
                self.counts += Counts { files: 1, bytes: file.size, ..Counts::default() };
            }
            Unit::Large(file, ..) if self.terms.proves && wanted.has.total() == file.size && file.size > 0 => {
                self.wanted.push_back(Unit::Again(file));
            }
            Unit::Large(file, ..) | Unit::Again(file) => {
                self.counts += Counts { bytes: wanted.has.total(), ..Counts::default() };
                self.wanted.push_back(Unit::Large(file, wanted.has.clone(), wanted.basis));
            }
            Unit::Folders => panic!("a list without files"),
        }
    }

    /// Whether a lane has something to do.
    pub(crate) fn can_step(&self, lane: usize, pipe: &LanePipe) -> bool {
        let has_work = match self.lanes[lane].at {
            Some(at) => self.sending[at].asking.as_ref().is_none_or(Asking::can_go_on),
            None => !self.units.is_empty() || !self.wanted.is_empty() || self.joined(lane).is_some(),
        };
        !self.lanes[lane].has_ended && (pipe.is_broken() || pipe.len() < WINDOW && (has_work || self.is_all_sent()))
    }

    /// A file that other lanes are at, of which there is something left for this one.
    fn joined(&self, lane: usize) -> Option<usize> {
        debug_assert!(self.lanes[lane].at.is_none());
        self.sending.iter().position(|sending| sending.lanes > 0 && sending.asking.is_none() && sending.gap().is_some())
    }

    fn is_all_sent(&self) -> bool {
        let under_way = self.sending.iter().any(|sending| sending.lanes > 0);
        self.units.is_empty() && self.wanted.is_empty() && self.listed.is_empty() && !under_way
    }

    /// A lane does one thing. `source` says what the files are now.
    pub(crate) fn step(&mut self, lane: usize, pipe: &mut LanePipe, source: &Source, random: &mut Random) {
        if pipe.is_broken() {
            self.cancel(Cancel::Failed);
            return;
        }
        if let Some(at) = self.lanes[lane].at {
            return self.go_on(lane, at, pipe, source);
        }
        let joins = self.joined(lane);
        if let Some(at) = joins.filter(|_| self.units.is_empty() || random.once_in(2)) {
            self.sending[at].lanes += 1;
            self.lanes[lane].at = Some(at);
            return self.go_on(lane, at, pipe, source);
        }
        if let Some(unit) = self.wanted.pop_front() {
            if matches!(unit, Unit::Again(_)) {
                let list = self.list(unit);
                return pipe.push(list);
            }
            return self.send(lane, unit, pipe, source);
        }
        match self.units.pop_front() {
            Some(unit @ (Unit::Batch(_) | Unit::Large(..))) if self.lists => {
                let list = self.list(unit);
                pipe.push(list);
            }
            Some(unit) => self.send(lane, unit, pipe, source),
            None if self.is_all_sent() => self.end_lane(lane, pipe),
            None => {}
        }
    }

    fn end_lane(&mut self, lane: usize, pipe: &mut LanePipe) {
        pipe.push(FrameHeader::END.encode().to_vec());
        self.lanes[lane].has_ended = true;
        if self.lanes.iter().all(|lane| lane.has_ended) {
            self.machine.finish(self.counts, self.failed.len() as u64, self.lanes.len() as u8);
            self.has_finished = true;
        }
    }

    fn list(&mut self, unit: Unit) -> Vec<u8> {
        let mut head = HeadBuffer::default();
        match &unit {
            Unit::Large(file, ..) | Unit::Again(file) => head.begin_large_list(self.next_list, file.stamp()),
            _ => head.begin_list(self.next_list),
        }
        let files = match &unit {
            Unit::Batch(files) => &files[..],
            Unit::Large(file, ..) | Unit::Again(file) => std::slice::from_ref(file),
            Unit::Folders => &[],
        };
        for file in files {
            head.folder(path(&file.folder));
            head.entry(&entry(file));
            if self.terms.proves || self.doubts.is_some() {
                // Large ones are not read before somebody wants them, unless they are too small for
                // chunks.
                let is_read = match self.terms.proves {
                    true => matches!(unit, Unit::Batch(_) | Unit::Again(_)),
                    false => file.size < CHUNKED_SIZE_MIN && self.doubts.is_some_and(|from| file.mtime.secs >= from),
                };
                head.digest(if is_read { file.digest(0..file.size) } else { Digest::NONE });
            }
        }
        self.listed.insert(self.next_list, unit);
        self.next_list += 1;
        frame(head.list_header(), &head, &[])
    }

    fn send(&mut self, lane: usize, unit: Unit, pipe: &mut LanePipe, source: &Source) {
        let mut head = HeadBuffer::default();
        match unit {
            Unit::Folders => {
                let attributes = Attributes { mode: FOLDER_MODE, mtime: FOLDER_MTIME, ..Attributes::default() };
                for folder in folders(source) {
                    head.folder_with_attributes(path(&folder), &attributes, Xattrs::default());
                }
                self.counts += head.counts();
                let header = head.batch_header(0);
                pipe.push(frame(header, &head, &[]));
            }
            Unit::Batch(files) => {
                let mut body = Vec::new();
                for file in files {
                    if !source.files.contains(&file) {
                        self.failed.insert(file.path());
                        continue;
                    }
                    head.folder(path(&file.folder));
                    head.entry(&entry(&file));
                    let contents = file.bytes(0..file.size);
                    if self.terms.proves {
                        head.digest(Digest(*blake3::hash(&contents).as_bytes()));
                    }
                    body.extend(contents);
                    *self.sent.entry(file.path()).or_default() += file.size;
                }
                if !head.is_empty() {
                    self.counts += head.counts();
                    let header = head.batch_header(body.len());
                    pipe.push(frame(header, &head, &body));
                }
            }
            Unit::Again(_) => panic!("it is listed, not sent"),
            Unit::Large(file, has, basis) => {
                let id = (lane as u64) << 40 | self.lanes[lane].begun;
                self.lanes[lane].begun += 1;
                let sent = has.total();
                let asking = (self.terms.compares && basis > 0).then(Asking::default);
                self.sending.push(Sending { file, done: has, asking, lanes: 1, sent, id });
                let at = self.sending.len() - 1;
                self.lanes[lane].at = Some(at);
                self.go_on(lane, at, pipe, source);
            }
        }
    }
}
