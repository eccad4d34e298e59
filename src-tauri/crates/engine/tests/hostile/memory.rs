//! What a peer can make the other end hold in memory: a paired one that sets every limit to its
//! maximum, all at once, against a process of its own.
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

use fastcdc::v2020::{Normalization, cut, select_masks};
use ringway_engine::SendRequest;
use ringway_engine::limits::{
    FAILURES_LISTED_MAX, LISTINGS_BYTES_MAX, NAMES_ARRIVING_BYTES_MAX, OFFERS_ASKED_BYTES_MAX, OFFERS_OF_ONE_MAX,
    UNAUTHENTICATED_FROM_ONE_MAX,
};
use ringway_model::{DeclineReason, IoMode, Outcome, ShareName, SharedWith, Source, TlsMode};
use ringway_wire::control::{EntryFailed, Get, GetPath, Message, Purpose, Question, RangeWanted, Refusal};
use ringway_wire::entries::Depth;
use ringway_wire::lane::{
    Attributes, ChunkLens, DIGEST_LEN, Digest, Entry, EntryKind, FrameHeader, HeadBuffer, OwnerNames, RangeHead,
    RangeStep, Timestamp, Xattrs,
};
use ringway_wire::limits::{
    BATCH_ITEMS_MAX, FAILURES_NAMED_MAX, GET_PATHS_MAX, LANE_BODY_MAX, LINK_SETS_MAX, LINK_TARGET_MAX,
    LISTING_BYTES_MAX, NAME_MAX, OFFER_NAMES_MAX, OPEN_RANGED_MAX, PAGES_AHEAD_MAX, PATH_MAX, QUESTIONS_MAX,
    RANGE_BYTES_MAX, RANGE_PIECES_MAX, SELECTED_PAGE_BYTES_MAX, SELECTED_PATHS_MAX,
};
use ringway_wire::listing::{ListedEntry, ListedKind, ListingEnd, ListingWriter};
use ringway_wire::offered::NameCollector;
use ringway_wire::{Name, OfferedNames, RelPath};

use super::getting::get;
use super::mallory::{Channel, Inside};
use super::shares::{asking, listing};
use super::*;

/// What an end may hold for one transfer, whatever its peer says (docs/design/limits.md). It is the
/// same for every build: what is held are buffers and records of fixed sizes.
const HELD_MIB_MAX: f64 = 128.0;

/// Of what takes long to send and has its own bound by number, a part: the rest of the records
/// would go to files, or take so much more each as is added up below. RINGWAY_FULL sends all of it.
fn part_of(limit: usize) -> usize {
    if std::env::var_os("RINGWAY_FULL").is_some() { limit } else { limit / 8 }
}

/// Pieces that each large file is sent in.
fn pieces() -> usize {
    part_of(RANGE_PIECES_MAX)
}

/// A stretch of a file's ranges takes so many bytes at most: a node of the tree has room for
/// eleven, and is half full at the least.
const STRETCH_LEN: usize = 48;

/// The home of the process under test.
const HOME: &str = "RINGWAY_HOSTILE_HOME";
/// Where it is to send to; it receives without.
const TARGET: &str = "RINGWAY_HOSTILE_TARGET";
/// Set if it also serves the folder `shared` to all whom it knows, with this many descriptors.
const SERVED: &str = "RINGWAY_HOSTILE_SERVED";
/// Set if nobody answers the offers that it receives; it accepts them without.
const UNANSWERED: &str = "RINGWAY_HOSTILE_UNANSWERED";

const LANES: u8 = 16;

/// Old files that are looked in, and the chunks of each that are kept in mind: as many as there may
/// be.
const BASES: usize = LANES as usize;
const INDEX_MAX: usize = 28_672;

/// Bytes of the table of those: 8 for the digest's beginning, 8 for the place and one of the
/// table's, 32,768 times.
const INDEX_LEN: usize = 32_768 * 17;

/// A large file's length as it is said to be.
const LARGE: u64 = 1 << 40;

/// An engine in a process of its own.
pub(super) struct Process {
    child: Child,
    said: BufReader<ChildStdout>,
}

/// What it does.
pub(super) enum Role {
    /// Receives, and accepts every offer.
    Accepting,
    /// Receives, and leaves every offer without an answer.
    Unanswering,
    /// Receives, accepts every offer, and serves its folder `shared` as `mine` to all whom it
    /// knows; with so many descriptors at most.
    Serving(usize),
    /// Sends there.
    Sending(SocketAddr),
}

impl Process {
    pub(super) fn start(home: &Path, role: Role) -> Self {
        let program = std::env::current_exe().unwrap();
        let mut command = match role {
            Role::Serving(descriptors) => {
                let mut limited = Command::new("sh");
                limited.args(["-c", &format!(r#"ulimit -n {descriptors}; exec "$0" "$@""#)]).arg(program);
                limited
            }
            _ => Command::new(program),
        };
        command.args(["--exact", "memory::the_process_under_test", "--ignored", "--nocapture"]);
        command.env(HOME, home).stdin(Stdio::piped()).stdout(Stdio::piped());
        match role {
            Role::Accepting => {}
            Role::Unanswering => _ = command.env(UNANSWERED, "1"),
            Role::Serving(_) => _ = command.env(SERVED, "1"),
            Role::Sending(target) => _ = command.env(TARGET, target.to_string()),
        }
        let mut child = command.spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Self { child, said }
    }

    /// What it says next under that name.
    pub(super) fn says(&mut self, name: &str) -> String {
        let mut line = String::new();
        while self.said.read_line(&mut line).unwrap() > 0 {
            if let Some(said) = line.trim_end().split_once(": ").filter(|said| said.0.ends_with(name)) {
                return said.1.to_owned();
            }
            line.clear();
        }
        panic!("it has ended");
    }

    /// A code that it shows from now on.
    fn new_code(&mut self) -> String {
        self.child.stdin.as_mut().unwrap().write_all(b"another\n").unwrap();
        self.says("code")
    }

    /// The most memory of its own that it has held, in MiB; its text and libraries are not counted.
    fn held_mib(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let kib = |field: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
            line.trim().trim_end_matches(" kB").parse::<f64>().unwrap()
        };
        (kib("VmHWM:") - kib("RssFile:")) / 1024.0
    }

    fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }

    /// What the kernel says of its threads of that name (proc_pid_status(5)).
    pub(super) fn threads(&self, named: &str) -> Vec<String> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        // Threads end meanwhile.
        let statuses = tasks.filter_map(|task| fs::read_to_string(task.unwrap().path().join("status")).ok());
        statuses.filter(|status| status.lines().next() == Some(&*format!("Name:\t{named}"))).collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a process that the tests below start"]
async fn the_process_under_test() {
    // As the programs do.
    ringway_engine::return_large_blocks();
    let home = PathBuf::from(std::env::var_os(HOME).expect("started by a test"));
    let paths = |name: &str| home.join(name);
    let paths = Paths { config: paths("config"), data: paths("data"), state: paths("state"), runtime: None };
    let engine = Engine::open(paths).unwrap();
    match std::env::var(TARGET) {
        Ok(target) => {
            let mut request = request(home.join("tree"), target.parse().unwrap());
            request.options.lanes = Some(LANES);
            request.options.verify = true;
            println!("\nreport: {:?}", engine.send(request).wait().await.outcome);
        }
        Err(_) => receive(&engine, &home).await,
    }
}

fn request(source: PathBuf, target: SocketAddr) -> SendRequest {
    let mut request = SendRequest::new(vec![Source { path: source, contents_only: false }], at(target));
    request.options.code = Some(given(CODE).to_pairing_secret());
    request.options.tls = TlsMode::User;
    request
}

/// Takes in whatever is offered, unless nobody is to answer; a line asks for another code.
async fn receive(engine: &Engine, home: &Path) {
    let destination = home.join("in");
    std::fs::create_dir_all(&destination).unwrap();
    let listen = "127.0.0.1:0".parse().unwrap();
    let (code, tls, io) = (Some(given(CODE)), TlsMode::User, IoMode::Auto);
    let options =
        ReceiveOptions { listen, destination, code, pairing: true, announce: false, rule_folders: true, tls, io };
    let mut receiver = engine.receive(options).await.unwrap();
    if std::env::var_os(SERVED).is_some() {
        engine.share(&home.join("shared"), &ShareName::new("mine").unwrap(), &SharedWith::All, false).unwrap();
        receiver.serve_shares(true);
    }
    println!("\naddress: {}", receiver.local_address());
    let (asked, mut asks) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || std::io::stdin().lines().try_for_each(|line| asked.send(line.ok()).ok()));
    let mut unanswered = std::env::var_os(UNANSWERED).map(|_| Vec::new());
    loop {
        tokio::select! {
            event = receiver.next_event() => if let Some(ReceiverEvent::OfferReceived(offer)) = event {
                match &mut unanswered {
                    Some(unanswered) => {
                        println!("\nasked: {}", offer.summary().from);
                        unanswered.push(offer);
                    }
                    None => drop(offer.accept(AcceptOptions::default()).await),
                }
            },
            Some(_) = asks.recv() => {
                receiver.renew_code().unwrap();
                println!("\ncode: {}", receiver.code().unwrap().text.unwrap().as_str());
            }
        }
    }
}

/// A name of the greatest length.
fn name(number: usize) -> Vec<u8> {
    format!("{number:0width$}", width = NAME_MAX).into_bytes()
}

/// A folder below `top` in which names of the greatest length make paths of the greatest length.
fn folder(top: &[u8]) -> Vec<u8> {
    let mut path = [top, b"/"].concat();
    path.resize(PATH_MAX - 1 - NAME_MAX, b'd');
    (NAME_MAX..path.len()).step_by(NAME_MAX + 1).for_each(|at| path[at] = b'/');
    // A name cannot be longer than one.
    assert!(path.split(|byte| *byte == b'/').all(|part| (1..=NAME_MAX).contains(&part.len())));
    path
}

fn entry<'a>(name: &'a [u8], kind: EntryKind<'a>) -> Entry<'a> {
    let attributes = Attributes { mode: 0o644, uid: 0, gid: 0, mtime: Timestamp { secs: 7, nanos: 0 } };
    Entry { name: Name::new(name).unwrap(), kind, attributes, xattrs: Xattrs::default() }
}

fn path(path: &[u8]) -> RelPath<'_> {
    RelPath::new(path).unwrap()
}

const DIGEST: Digest = Digest([0xd1; DIGEST_LEN]);

/// One lane of Mallory's, in a transfer that is to be proven or is not.
struct Bulk {
    channel: Channel,
    head: HeadBuffer,
    proves: bool,
}

/// Where in which file a piece lies.
struct RangeAt {
    file_id: u64,
    offset: u64,
    step: RangeStep,
}

impl Bulk {
    fn new(channel: Channel, proves: bool) -> Self {
        Self { channel, head: HeadBuffer::default(), proves }
    }

    async fn say(&mut self, header: FrameHeader, body: &[u8]) {
        let frame = [&header.encode()[..], self.head.as_bytes(), body].concat();
        self.channel.say_raw(&frame).await;
    }

    async fn batch(&mut self) {
        if !self.head.is_empty() {
            let header = self.head.batch_header(0);
            self.say(header, &[]).await;
            self.head.clear();
        }
    }

    /// Adds an entry to the batch, which goes when it is full.
    async fn entry(&mut self, folder: &[u8], entry: &Entry<'_>) {
        if !self.head.has_room() {
            self.batch().await;
        }
        if self.head.is_empty() {
            self.head.folder(path(folder));
        }
        self.head.entry(entry);
        if self.proves && matches!(entry.kind, EntryKind::File { .. }) {
            self.head.digest(DIGEST);
        }
    }

    /// One byte of a file, or its end.
    async fn range(&mut self, folder: &[u8], name: &[u8], size: u64, at: RangeAt) {
        let RangeAt { file_id, offset, step } = at;
        let body: &[u8] = if step == RangeStep::More { b"x" } else { b"" };
        let head = RangeHead {
            stamp: 0,
            file_id,
            offset,
            step,
            folder: path(folder),
            entry: entry(name, EntryKind::File { size, link_id: None }),
            owner_names: OwnerNames::default(),
        };
        let header = match self.proves {
            true => self.head.proven_range(&head, body.len(), DIGEST),
            false => self.head.range(&head, body.len()),
        };
        self.say(header, body).await;
        self.head.clear();
    }

    /// Chunks, as long as they may be, of a file that replaces another, of which none is there: all
    /// of that is cut, and kept in mind.
    async fn windows(&mut self, file: usize) {
        let (name, kind) = (name(file), EntryKind::File { size: LARGE, link_id: None });
        let chunk = ChunkLens::of(LARGE).max as u64;
        let window = chunk * CHUNKS as u64;
        for at in (0..old_len()).step_by(window as usize) {
            let (folder, step) = (path(b"old"), RangeStep::More);
            let head = RangeHead {
                stamp: 0,
                file_id: file as u64,
                offset: at,
                step,
                folder,
                entry: entry(&name, kind),
                owner_names: OwnerNames::default(),
            };
            self.head.begin_chunks((file * 100) as u32 + (at / window) as u32, &head);
            (0..CHUNKS).for_each(|_| self.head.chunk(chunk as u32, DIGEST));
            self.say(self.head.chunks_header(), &[]).await;
        }
        self.head.clear();
    }

    /// The largest head and the largest body that a frame may have, packed as little as may be.
    async fn largest(&mut self, lane: u8) {
        let top = [b't', b'a' + lane];
        let target = [b'.'; LINK_TARGET_MAX];
        self.head.folder(path(&top));
        self.head.entry(&entry(b"whole", EntryKind::File { size: LANE_BODY_MAX as u64, link_id: None }));
        self.head.digest(DIGEST);
        for number in 0..230 {
            self.head.entry(&entry(&name(number), EntryKind::Symlink { target: &target }));
        }
        let mut body: Vec<u8> = (0..LANE_BODY_MAX as u64 / 32).flat_map(|at| sha256(&at.to_le_bytes())).collect();
        body[LANE_BODY_MAX - 4096..].fill(0);
        let packed = zstd::bulk::compress(&body, 1).unwrap();
        let header = self.head.batch_header(LANE_BODY_MAX);
        assert!(header.head_len > 1_000_000 && packed.len() < body.len());
        self.say(FrameHeader { packed_len: packed.len() as u32, ..header }, &packed).await;
        self.head.clear();
    }

    /// The longest lists there are, answers to which nobody reads.
    async fn lists(&mut self) {
        let folder = folder(b"x");
        for number in 0.. {
            self.head.begin_list(number);
            self.head.folder(path(&folder));
            for file in 0..BATCH_ITEMS_MAX {
                if self.head.has_room() {
                    self.head.entry(&entry(&name(file), EntryKind::File { size: LARGE, link_id: None }));
                    self.head.digest(DIGEST);
                }
            }
            let header = self.head.list_header();
            self.say(header, &[]).await;
        }
    }
}

/// Chunks of one window.
const CHUNKS: usize = 512;

/// Bytes of an old file, all chunks of which are as short as they may be.
fn old_len() -> u64 {
    part_of(INDEX_MAX) as u64 * ChunkLens::of(LARGE).min as u64
}

/// Makes the old files, which are one: chunks that end with what cuts them as soon as may be, and
/// differ by their numbers.
fn make_old_files(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    let ChunkLens { average, min, max } = ChunkLens::of(LARGE);
    let (strict, loose) = select_masks(average, Normalization::Level1);
    let mut block = vec![0; min + 256];
    let len = (0..u64::MAX).find_map(|number| {
        let noise = (0..8_u64).flat_map(|part| sha256(&[number.to_le_bytes(), part.to_le_bytes()].concat()));
        block[min..].copy_from_slice(&noise.collect::<Vec<_>>());
        let (_, len) = cut(&block, min, average, max, strict, loose, strict << 1, loose << 1);
        Some(len).filter(|len| *len < block.len())
    });
    let len = len.unwrap();
    let old = folder.join(OsStr::from_bytes(&name(0)));
    let file = fs::File::create(&old).unwrap();
    for number in 0..part_of(INDEX_MAX) as u64 {
        let at = number * len as u64;
        file.write_all_at(&number.to_le_bytes(), at).unwrap();
        file.write_all_at(&block[min..len], at + min as u64).unwrap();
    }
    (1..BASES).for_each(|other| fs::hard_link(&old, folder.join(OsStr::from_bytes(&name(other)))).unwrap());
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    use sha2::Digest as _;
    sha2::Sha256::digest(bytes).into()
}

/// Fills the journal of an attempt: large files of the longest names, given up as soon as they are
/// begun.
async fn fill_journal(mallory: &Mallory, address: SocketAddr, offer: &Offer) {
    let inside = mallory.let_in(address, "greedy", CODE, offer).await;
    let mut lane = Bulk::new(mallory.joins(inside.exporter, address, 0, 0).await.unwrap(), offer.prove);
    let folder = folder(b"j");
    for file in 0..part_of(8_192) {
        let name = name(file);
        for (offset, step) in [(0, RangeStep::More), (1, RangeStep::Abandoned { data_bytes: 1 })] {
            lane.range(&folder, &name, LARGE, RangeAt { file_id: file as u64, offset, step }).await;
        }
    }
    // All of it is taken in before the connection is lost.
    lane.largest(0).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// Everything at once on one of the lanes.
async fn fill_lane(mut lane: Bulk, number: u8, filled: tokio::sync::mpsc::Sender<()>) {
    lane.largest(number).await;
    let folder = folder(&[b'l', b'a' + number]);
    match number {
        // Files with several names, none of which is the last.
        0 => {
            for id in 0..part_of(LINK_SETS_MAX) {
                let kind = EntryKind::File { size: 0, link_id: Some(id as u64) };
                lane.entry(&folder, &entry(&name(id), kind)).await;
            }
        }
        // Failures: the same name again and again.
        1 => {
            for _ in 0..=FAILURES_NAMED_MAX {
                lane.entry(&folder, &entry(&name(1), EntryKind::Symlink { target: b"x" })).await;
            }
        }
        // Large files, as scattered as may be.
        number => {
            let lanes = usize::from(LANES - 2);
            for file in (usize::from(number) - 2..OPEN_RANGED_MAX).step_by(lanes) {
                let ranged = [b'r', b'a' + number];
                let folder: &[u8] = if file < BASES { b"old" } else { &ranged };
                if file < BASES {
                    lane.windows(file).await;
                }
                for piece in 0..pieces() {
                    let at = RangeAt { file_id: file as u64, offset: piece as u64 * 2, step: RangeStep::More };
                    lane.range(folder, &name(file), LARGE, at).await;
                }
            }
        }
    }
    lane.batch().await;
    drop(filled);
    lane.lists().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sender_that_sets_every_limit_to_its_maximum_is_held_in_bounded_memory() {
    let home = tempfile::tempdir().unwrap();
    make_old_files(&home.path().join("in/old"));
    let mut process = Process::start(home.path(), Role::Accepting);
    let address = process.says("address").parse().unwrap();
    let all = greedy_names();
    let names = all.iter().take(OFFER_NAMES_MAX).map(<[u8]>::to_vec).collect();
    let more_names = (all.len() - OFFER_NAMES_MAX) as u64;
    let greedy = Offer { names, more_names, lanes: LANES, prove: true, retry_s: u32::MAX, ..offer() };
    let mut mallory = Mallory::new();
    mallory.names = Some(Arc::new(all));
    fill_journal(&mallory, address, &greedy).await;

    let mut inside = accepted_again(&mallory, address, &greedy).await;
    // Failures at the sender, too, are counted without end.
    let failed = Message::EntryFailed(EntryFailed { path: folder(b"f"), operation: 1, reason: 1, errno: 5 });
    for _ in 0..2 * FAILURES_LISTED_MAX {
        inside.session.say(&failed).await;
    }
    let (filled, mut all_filled) = tokio::sync::mpsc::channel(1);
    let mut lanes = tokio::task::JoinSet::new();
    for number in 0..LANES {
        let lane = mallory.joins(inside.exporter, address, number, 0).await.unwrap();
        lanes.spawn(fill_lane(Bulk::new(lane, true), number, filled.clone()));
    }
    drop(filled);
    assert_eq!(timeout(4 * LONG, all_filled.recv()).await, Ok(None), "every lane has come to its lists");
    // Until nothing more is taken in.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let held = process.held_mib();
    let not_sent = (RANGE_PIECES_MAX - pieces()) * OPEN_RANGED_MAX * STRETCH_LEN;
    let not_cut = BASES * (INDEX_LEN - INDEX_LEN * part_of(INDEX_MAX) / INDEX_MAX);
    let all = held + (not_sent + not_cut) as f64 / f64::from(1 << 20);
    println!("held by the receiver: {held:.1} MiB; with all pieces of ranges and all old chunks {all:.1} MiB");
    assert!(all < HELD_MIB_MAX, "{held} MiB, {all} MiB");

    // Another device is served meanwhile.
    let code = process.new_code();
    let laptop = Device::new("laptop");
    fs::write(laptop.path("file"), "x").unwrap();
    let code = Some(given(&code).to_pairing_secret());
    let mut request = request(laptop.path("file"), address);
    request.options.code = code;
    let report = timeout(LONG, laptop.engine.send(request).wait()).await.unwrap();
    assert!(matches!(report.outcome, Outcome::Complete), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_takes_nothing_and_complains_without_end_is_held_in_bounded_memory() {
    let home = tempfile::tempdir().unwrap();
    let tree = home.path().join("tree");
    fs::create_dir(&tree).unwrap();
    for file in 0..2 * usize::from(LANES) {
        fs::write(tree.join(format!("large-{file}")), vec![file as u8; 6 * LANE_BODY_MAX]).unwrap();
        for small in 0..200 {
            let long = OsStr::from_bytes(&name(file * 1_000 + small)).to_owned();
            fs::write(tree.join(long), vec![small as u8; 5_000]).unwrap();
        }
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let process = Process::start(home.path(), Role::Sending(listener.local_addr().unwrap()));
    let mallory = Mallory::new();
    let mut session = timeout(LONG, mallory.accepts(&listener, CODE, LANES)).await.unwrap();
    let mut lanes = Vec::new();
    for _ in 0..LANES {
        let mut lane = timeout(LONG, mallory.answer(&listener)).await.unwrap();
        assert!(matches!(lane.hear().await, Some(Message::LaneJoin { .. })));
        lane.say(&Message::LaneReady).await;
        lanes.push(lane);
    }
    let failed = Message::EntryFailed(EntryFailed { path: folder(b"f"), operation: 1, reason: 1, errno: 5 });
    for _ in 0..2 * FAILURES_NAMED_MAX {
        session.say(&failed).await;
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let held = process.held_mib();
    println!("held by the sender: {held:.1} MiB");
    assert!(held > f64::from(LANES) && held < HELD_MIB_MAX, "{held} MiB");
}

/// What a receiver may hold beside the names of the offers that wait: itself, their sessions, and
/// the names of the offer that it declines.
const BESIDE_NAMES_MIB_MAX: f64 = 48.0;

#[tokio::test(flavor = "multi_thread")]
async fn offers_that_wait_for_a_person_are_held_in_bounded_memory() {
    let home = tempfile::tempdir().unwrap();
    let mut process = Process::start(home.path(), Role::Unanswering);
    let address = process.says("address").parse().unwrap();
    let names = Arc::new(greedy_names());
    let first = names.iter().take(OFFER_NAMES_MAX).map(<[u8]>::to_vec).collect();
    let greedy = Offer { names: first, more_names: (names.len() - OFFER_NAMES_MAX) as u64, ..offer() };
    // As many as fit into the bytes for names, of two devices: each has places for eight.
    let fit = OFFERS_ASKED_BYTES_MAX / names.held_bytes();
    assert!((OFFERS_OF_ONE_MAX + 1..2 * OFFERS_OF_ONE_MAX).contains(&fit), "{fit}");
    let devices = ["one", "other"].map(|name| {
        let mut mallory = Mallory::new();
        mallory.names = Some(Arc::clone(&names));
        (name, mallory)
    });
    let mut code = Some(CODE.to_owned());
    let mut answers = Vec::new();
    for ((name, mallory), count) in devices.iter().zip([OFFERS_OF_ONE_MAX, fit - OFFERS_OF_ONE_MAX]) {
        for number in 0..count {
            let offer = Offer { transfer: [number as u8; 16], ..greedy.clone() };
            let inside = mallory.offers(address, name, code.take().as_deref(), &offer).await;
            answers.push(tokio::spawn(inside.hears_the_answer()));
            assert_eq!(process.says("asked"), *name);
        }
        code = Some(process.new_code());
    }
    // However many more are offered, nobody is asked about them, and nothing of them stays.
    let (name, mallory) = &devices[1];
    for number in 0..2 * fit {
        let offer = Offer { transfer: [100 + number as u8; 16], ..greedy.clone() };
        let inside = mallory.offers(address, name, None, &offer).await;
        let declined = timeout(LONG, inside.hears_the_answer()).await.unwrap();
        assert_eq!(declined, Some(Message::Decline(DeclineReason::Busy)), "{number}");
    }
    let held = process.held_mib();
    println!("held by the receiver: {held:.1} MiB");
    let names_mib = OFFERS_ASKED_BYTES_MAX as f64 / f64::from(1 << 20);
    assert!(held > names_mib / 2.0 && held < names_mib + BESIDE_NAMES_MIB_MAX, "{held} MiB");

    // A short offer of another device still finds its place.
    let modest = Mallory::new().offers(address, "modest", code.as_deref(), &offer()).await;
    answers.push(tokio::spawn(modest.hears_the_answer()));
    assert_eq!(process.says("asked"), "modest");
    assert!(answers.iter().all(|answer| !answer.is_finished()), "all of them still wait");
}

/// The pages of the longest listing: paths that share little, until no byte is left.
fn longest_listing() -> Vec<Message> {
    let (mut pages, mut writer, mut bytes) = (Vec::new(), ListingWriter::default(), 0);
    for number in 0.. {
        let path = format!("x/{number:y<250}");
        let path = RelPath::new(path.as_bytes()).unwrap();
        if bytes + writer.bytes_with(path) > LISTING_BYTES_MAX {
            break;
        }
        let kind = ListedKind::File { size: 1, secs: 1, nanos: 1 };
        if let Some(page) = writer.push(&ListedEntry { path, kind }) {
            bytes += page.bytes();
            pages.push(Message::OfferListing(page));
        }
    }
    pages.push(Message::OfferListing(writer.page(ListingEnd::Cut)));
    pages
}

#[tokio::test(flavor = "multi_thread")]
async fn listings_of_offers_that_wait_are_held_in_bounded_memory() {
    let home = tempfile::tempdir().unwrap();
    let mut process = Process::start(home.path(), Role::Unanswering);
    let address = process.says("address").parse().unwrap();
    let listing = longest_listing();
    let mallory = Mallory::new();
    let mut code = Some(CODE);
    let mut answers = Vec::new();
    for number in 0..OFFERS_OF_ONE_MAX {
        let offer = Offer { transfer: [number as u8; 16], ..offer() };
        let mut inside = mallory.offers(address, "guest", code.take(), &offer).await;
        assert_eq!(process.says("asked"), "guest");
        for page in &listing {
            inside.session.say(page).await;
        }
        // All of it was read when this is answered.
        inside.session.say(&Message::Ping).await;
        while !matches!(inside.session.hear().await.expect("it still waits"), Message::Pong) {}
        answers.push(tokio::spawn(inside.hears_the_answer()));
    }
    let held = process.held_mib();
    let most = LISTINGS_BYTES_MAX as f64 / f64::from(1 << 20);
    println!("held by the receiver: {held:.1} MiB");
    // More was sent than is kept.
    const { assert!(LISTINGS_BYTES_MAX < OFFERS_OF_ONE_MAX * LISTING_BYTES_MAX) };
    assert!(held > most / 2.0 && held < most + BESIDE_NAMES_MIB_MAX, "{held} MiB");
    assert!(answers.iter().all(|answer| !answer.is_finished()), "all of them still wait");
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_still_arrive_are_held_in_bounded_memory() {
    const DEVICES: usize = 4;
    let home = tempfile::tempdir().unwrap();
    let mut process = Process::start(home.path(), Role::Unanswering);
    let address = process.says("address").parse().unwrap();
    let names = Arc::new(greedy_names());
    let first: Vec<_> = names.iter().take(OFFER_NAMES_MAX).map(<[u8]>::to_vec).collect();
    let more_names = (names.len() - OFFER_NAMES_MAX) as u64;
    // Of each of these offers the last name does not come.
    let half = Offer { names: first.clone(), more_names: more_names + 1, ..offer() };
    let mut code = CODE.to_owned();
    let mut answers = tokio::task::JoinSet::new();
    for device in 0..DEVICES {
        let mut mallory = Mallory::new();
        mallory.names = Some(Arc::clone(&names));
        for number in 0..UNAUTHENTICATED_FROM_ONE_MAX {
            let offer = Offer { transfer: [number as u8; 16], ..half.clone() };
            let code = (number == 0).then_some(code.as_str());
            let inside = mallory.offers(address, &format!("greedy {device}"), code, &offer).await;
            answers.spawn(inside.hears_the_answer());
        }
        code = process.new_code();
    }
    let held = process.held_mib();
    println!("held by the receiver: {held:.1} MiB");
    let names_mib = NAMES_ARRIVING_BYTES_MAX as f64 / f64::from(1 << 20);
    assert!(held < names_mib + BESIDE_NAMES_MIB_MAX, "{held} MiB");

    // Another device's list, as long as it may be, arrives beside them at the first attempt.
    let mut modest = Mallory::new();
    modest.names = Some(names);
    let whole = Offer { names: first, more_names, ..offer() };
    let waiting = tokio::spawn(modest.offers(address, "modest", Some(&code), &whole).await.hears_the_answer());
    assert_eq!(process.says("asked"), "modest");
    assert!(!waiting.is_finished());
    // A sender that was turned away has heard so, unless its connection had ended before.
    while let Some(answer) = answers.try_join_next() {
        let answer = answer.unwrap();
        assert!(matches!(answer, None | Some(Message::Refused(Refusal::PairingBusy(_)))), "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn long_offers_that_are_declined_leave_nothing_while_their_senders_linger() {
    let home = tempfile::tempdir().unwrap();
    let mut process = Process::start(home.path(), Role::Unanswering);
    let address = process.says("address").parse().unwrap();
    let names = Arc::new(greedy_names());
    let first = names.iter().take(OFFER_NAMES_MAX).map(<[u8]>::to_vec).collect();
    let greedy = Offer { names: first, more_names: (names.len() - OFFER_NAMES_MAX) as u64, ..offer() };
    let mut mallory = Mallory::new();
    mallory.names = Some(names);
    let mut lingering = Vec::new();
    for number in 0..4 * OFFERS_OF_ONE_MAX {
        let offer = Offer { transfer: [number as u8; 16], ..greedy.clone() };
        lingering.push(mallory.offers(address, "greedy", (number == 0).then_some(CODE), &offer).await);
    }
    // None of them reads its answer or hangs up.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let held = process.held_mib();
    println!("held by the receiver: {held:.1} MiB");
    let names_mib = OFFERS_ASKED_BYTES_MAX as f64 / f64::from(1 << 20);
    assert!(held < names_mib + BESIDE_NAMES_MIB_MAX, "{held} MiB");
}

/// As many bytes of names as an offer may have, those among them under which something comes.
fn greedy_names() -> OfferedNames {
    let mut names = NameCollector::default();
    let mut used = vec![b"x".to_vec(), b"j".to_vec(), b"old".to_vec()];
    used.extend((0..LANES).flat_map(|lane| [b't', b'l', b'r'].map(|top| vec![top, b'a' + lane])));
    used.iter().for_each(|name| names.add(Name::new(name).unwrap()).unwrap());
    let mut number = 0;
    while names.add(Name::new(&name(number)).unwrap()).is_ok() {
        number += 1;
    }
    assert!(number > 15_000);
    names.sorted()
}

/// The session that goes on with a transfer which has lost its connection.
async fn accepted_again(mallory: &Mallory, address: SocketAddr, offer: &Offer) -> Inside {
    let again = async {
        loop {
            let mut inside = mallory.offers(address, "greedy", None, offer).await;
            match inside.session.hear().await {
                Some(Message::Accept(accept)) => {
                    assert!(accept.lists, "there is something to go on with");
                    return inside;
                }
                _ => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    };
    timeout(LONG, again).await.unwrap()
}

/// Descriptors of a service whose limit nobody has raised.
const DESCRIPTORS: usize = 1_024;

/// Folders of long names, a file among them, and as many folders as may be got at once.
fn make_shared(shared: &Path) {
    for number in 0..20_000 {
        fs::create_dir_all(shared.join("many")).unwrap();
        fs::write(shared.join(format!("many/{number:0200}")), "").unwrap();
    }
    for number in 0..GET_PATHS_MAX {
        fs::create_dir_all(shared.join(format!("each/{number}"))).unwrap();
    }
    fs::write(shared.join("file"), vec![7; RANGE_BYTES_MAX as usize]).unwrap();
}

/// As many paths as may be selected, in pages.
fn selected_pages() -> Vec<Message> {
    let (mut pages, mut page, mut bytes) = (Vec::new(), Vec::new(), 0);
    for number in 0..SELECTED_PATHS_MAX {
        let path = format!("{number:060}").into_bytes();
        if bytes + path.len() + 2 > SELECTED_PAGE_BYTES_MAX {
            pages.push(Message::Selected(std::mem::take(&mut page)));
            bytes = 0;
        }
        bytes += path.len() + 2;
        page.push(path);
    }
    pages.push(Message::Selected(page));
    pages
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_gets_plans_and_lists_of_paths_are_held_in_bounded_memory_and_descriptors() {
    let home = tempfile::tempdir().unwrap();
    make_shared(&home.path().join("shared"));
    let mut process = Process::start(home.path(), Role::Serving(DESCRIPTORS));
    let address = process.says("address").parse().unwrap();
    let before = process.descriptors();
    let selected = selected_pages();
    let some_of_many = Get { selected: Some(SELECTED_PATHS_MAX as u32), ..get(0, &["many"]) };
    let each = (0..GET_PATHS_MAX).map(|number| format!("each/{number}").into_bytes());
    let each = Get { paths: each.map(|path| GetPath { path, contents_only: false }).collect(), ..get(0, &[]) };
    let (share, path) = (ShareName::new("mine").unwrap(), b"file".to_vec());
    let range = Question::Range(RangeWanted { share, path, offset: 0, len: RANGE_BYTES_MAX });
    let plan = Purpose::Plan { number: 0, pages: PAGES_AHEAD_MAX };
    let (mut held, mut code) = (Vec::new(), CODE.to_owned());
    for name in ["one", "other"] {
        let mallory = Mallory::new();
        drop(mallory.offers(address, name, Some(code.as_str()), &offer()).await);
        code = process.new_code();
        // None of this is read.
        for number in 0..10_u8 {
            let mut session = asking(&mallory, address).await;
            for number in 0..QUESTIONS_MAX as u32 {
                let question = match number % 2 {
                    0 => listing("mine", "", Depth::Tree),
                    _ => range.clone(),
                };
                session.say(&Message::Asked { number, question }).await;
            }
            held.push(session);
            let transfer = [number; 16];
            for (get, pages) in [
                (Get { transfer, ..some_of_many.clone() }, &selected[..]),
                (Get { transfer: [100 + number; 16], ..each.clone() }, &selected[..0]),
                (Get { transfer: [50 + number; 16], purpose: plan, ..some_of_many.clone() }, &selected[..]),
                // The last page does not come.
                (Get { transfer: [150 + number; 16], ..some_of_many.clone() }, &selected[..selected.len() - 1]),
            ] {
                let mut session = asking(&mallory, address).await;
                session.say(&Message::Get(get)).await;
                for page in pages {
                    // One that is turned away is not read any more.
                    let _ = timeout(Duration::from_secs(1), session.say(page)).await;
                }
                held.push(session);
            }
        }
    }
    // Until nothing more is taken in, and the folders of gets that do not fit are closed again.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (mib, descriptors) = (process.held_mib(), process.descriptors());
    println!("held by the serving device: {mib:.1} MiB, {descriptors} descriptors, {before} before");
    assert!(mib < HELD_MIB_MAX, "{mib} MiB");
    assert!(descriptors < DESCRIPTORS * 3 / 4, "{descriptors}");

    // Another device is served meanwhile.
    let laptop = Device::new("laptop");
    fs::write(laptop.path("file"), "x").unwrap();
    let mut request = request(laptop.path("file"), address);
    request.options.code = Some(given(&code).to_pairing_secret());
    let report = timeout(LONG, laptop.engine.send(request).wait()).await.unwrap();
    assert!(matches!(report.outcome, Outcome::Complete), "{report:?}");
    let mut browser = timeout(LONG, laptop.engine.browse(&at(address))).await.unwrap().unwrap();
    assert_eq!(timeout(LONG, browser.shares()).await.unwrap().map(|shares| shares.len()), Ok(1));
}
