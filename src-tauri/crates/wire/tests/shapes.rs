//! The bytes of one of each message that a peer sends, in `shapes.txt`. The test fails if a shape
//! changes, and reminds that `VERSION` must be raised.
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

use ringway_model::{Compression, DeclineReason, Delta, Pattern, ShareName, ShareThere, ShareTrouble, Shortage};
use ringway_wire::control::{
    Accept, Answer, BytesPage, Cancel, EntriesWanted, EntryFailed, EntryKept, FRAME_PREFIX_LEN, FileState, Get,
    GetPath, GetRefusal, Hello, InShare, Message, Micros, NoAnswer, NoteHead, NotePage, Offer, PathCodes,
    PlannedCounts, PlannedEntry, PlannedKind, PlannedPage, Progress, Proven, Purpose, Question, RangeWanted, Receipt,
    ReceiverTimes, Refusal, SenderTimes, Ticket, Totals, Wanted,
};
use ringway_wire::entries::{self, Depth, EntriesWriter, FolderEntry};
use ringway_wire::lane::{
    Attributes, Batch, ChunkWindow, Counts, DIGEST_LEN, Digest, Entry, EntryKind, FileList, FrameHeader, FrameKind,
    HEADER_LEN, HeadBuffer, Owner, OwnerKind, OwnerNamesBuffer, RangeHead, RangeStep, Timestamp, XattrBuffer, Xattrs,
};
use ringway_wire::limits::VERSION;
use ringway_wire::listing::{ListedEntry, ListedKind, ListingEnd, ListingPage, ListingWriter};
use ringway_wire::pair::{Confirmation, PakeMessage};
use ringway_wire::stretches::Stretches;
use ringway_wire::{DeviceName, Name, ProtocolError, RelPath};

/// If it is `write`, the test writes the file. `npm run shapes` sets it.
const WRITE: &str = "RINGWAY_WIRE_SHAPES";

fn path() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shapes.txt"))
}

#[test]
fn shapes_are_those_of_this_version() {
    let now = written();
    if std::env::var(WRITE).is_ok_and(|value| value == "write") {
        fs::write(path(), now).unwrap();
        return;
    }
    let before = fs::read_to_string(path()).unwrap();
    let (before_lines, now_lines) = (before.lines().collect::<Vec<_>>(), now.lines().collect::<BTreeSet<_>>());
    let gone = before_lines.iter().filter(|line| !now_lines.contains(*line));
    let changed: Vec<_> = gone.map(|line| line.split_once(' ').map_or(*line, |(name, _)| name)).collect();
    assert!(
        before == now,
        "\n\nWhat this version of the wire sends differs from crates/wire/tests/shapes.txt.\n\
         Changed or gone: {changed:?}; {} lines before, {} now.\n\
         If you did not mean to change a shape, this is a mistake: a peer would not understand it.\n\
         If you did: once there is a release, raise VERSION in crates/wire/src/limits.rs, unless it was raised since\n\
         the last release. Then write the file anew with `npm run shapes`, and commit it with your change.\n",
        before_lines.len(),
        now_lines.len(),
    );
}

#[test]
fn shapes_are_read_back_as_written() {
    for (name, message) in messages() {
        assert_eq!(Message::decode(&payload(&message)), Ok(message), "{name}");
    }
    for (name, bytes) in frames() {
        let header = FrameHeader::decode(*bytes.first_chunk().unwrap()).unwrap();
        let head = &bytes[HEADER_LEN..];
        assert_eq!(header.head_len as usize, head.len(), "{name}");
        let read = match (header.kind, name.contains("proven")) {
            (FrameKind::Batch, false) => Batch::parse(&header, head).map(drop),
            (FrameKind::Batch, true) => Batch::parse_proven(&header, head).map(drop),
            (FrameKind::Range, false) => RangeHead::parse(&header, head).map(drop),
            (FrameKind::Range, true) => RangeHead::parse_proven(&header, head).map(drop),
            (FrameKind::List, false) => FileList::parse(&header, head).map(drop),
            (FrameKind::List, true) => FileList::parse_proven(&header, head).map(drop),
            (FrameKind::Chunks, _) => ChunkWindow::parse(&header, head).map(drop),
            (FrameKind::End | FrameKind::Renew, _) => Ok(()),
        };
        assert_eq!(read, Ok(()), "{name}");
    }
}

/// The kinds of values that are numbered in the codec, by their names in its errors, with the bytes
/// before the number.
const NUMBERED: [(&str, &[u8]); 9] = [
    ("message", &[]),
    ("refusal", &[2]),
    ("decline", &[10]),
    ("cancel", &[17]),
    ("question", &[40, 0xa4, 0xa3, 0xa2, 0xa1]),
    ("answer", &[41, 0xa8, 0xa7, 0xa6, 0xa5]),
    ("reason of no answer", &[41, 0xa8, 0xa7, 0xa6, 0xa5, 2]),
    ("trouble with a share", &[41, 0xa8, 0xa7, 0xa6, 0xa5, 2, 1]),
    ("refusal of a request", &[45]),
];

#[test]
fn every_message_and_frame_of_the_codec_has_its_shape_here() {
    let payloads: Vec<_> = messages().iter().map(|(_, message)| payload(message)).collect();
    for (numbered, before) in NUMBERED {
        let known = (0..=u8::MAX).filter(|number| {
            let read = Message::decode(&[before, &[*number]].concat());
            !matches!(read, Err(ProtocolError::Unknown { what, .. }) if what == numbered)
        });
        let of_it = payloads.iter().filter_map(|payload| payload.strip_prefix(before)?.first().copied());
        let (of_it, known) = (of_it.collect::<BTreeSet<_>>(), known.collect::<BTreeSet<_>>());
        assert_eq!(of_it, known, "{numbered}: add a sample of what is missing");
    }
    let known = (0..=u8::MAX).filter(|kind| {
        let mut header = [0; HEADER_LEN];
        header[0] = *kind;
        !matches!(FrameHeader::decode(header), Err(ProtocolError::Unknown { .. }))
    });
    let known = known.collect::<BTreeSet<_>>();
    let of_them = frames().iter().map(|(_, bytes)| bytes[0]).collect::<BTreeSet<_>>();
    assert_eq!(of_them, known, "lane frames: add a sample of what is missing");
}

/// The file's contents: the version, then a line for each message and each head of a lane frame,
/// with its header.
fn written() -> String {
    let mut text = format!("VERSION {VERSION}\n");
    let messages = messages().into_iter().map(|(name, message)| (format!("message/{name}"), encoded(&message)));
    let frames = frames().into_iter().map(|(name, bytes)| (format!("lane/{name}"), bytes));
    for (name, bytes) in messages.chain(frames) {
        text.push_str(&name);
        text.push(' ');
        bytes.iter().for_each(|byte| write!(text, "{byte:02x}").unwrap());
        text.push('\n');
    }
    text
}

/// A request with a value in every field.
fn get() -> Get {
    let path = |path: &[u8], contents_only| GetPath { path: path.to_vec(), contents_only };
    Get {
        transfer: [0x51; 16],
        share: ShareName::new("runs").unwrap(),
        paths: vec![path(b"a/b\xff", false), path(b"c", true)],
        lanes: 4,
        prove: true,
        compression: Compression::Auto,
        delta: Delta::On,
        limit: NonZeroU64::new(0x5253_5455),
        records_per_key: NonZeroU64::new(0x5859),
        retry_s: 0x5a5b,
        patterns: vec![Pattern::Exclude(b"*.o\xff".to_vec()), Pattern::Include(b"/keep.o".to_vec())],
        selected: Some(0x5c5d),
        purpose: Purpose::Plan { number: 0x5e5f_6061, pages: 9 },
    }
}

/// A last page of a plan with an entry of each kind.
fn planned_page() -> PlannedPage {
    let moves = |kind, path: &[u8]| PlannedEntry::Moves(kind, path.to_vec());
    let failed = EntryFailed { path: b"a/c".to_vec(), operation: 1, reason: 2, errno: -13 };
    let entries = vec![
        moves(PlannedKind::Folder, b"a"),
        moves(PlannedKind::File, b"a/b\xff"),
        moves(PlannedKind::Link, b"a/l"),
        PlannedEntry::Fails(failed),
    ];
    let sent = Counts { files: 0xb1, folders: 0xb2, links: 0xb3, bytes: 0xb4b5 };
    PlannedPage { entries, counts: Some(PlannedCounts { sent, excluded: 0xb6, failed: 0xb7 }) }
}

fn encoded(message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    bytes
}

fn payload(message: &Message) -> Vec<u8> {
    encoded(message).split_off(FRAME_PREFIX_LEN)
}

/// One of each message, and of each reason that a message may have. No two fields of a message have
/// the same value, so that swapped fields show.
fn messages() -> Vec<(&'static str, Message)> {
    let shortage = Shortage { needed: 0x0102_0304_0506, free: 0x0708_090a, entries: 0x0b0c };
    let counts = Counts { files: 0x11, folders: 0x12, links: 0x13, bytes: 0x1415_1617_1819 };
    let micros = |micros| Micros::new(micros).unwrap();
    let progress = Progress { entries: 0x21, bytes: 0x2223_2425_2627 };
    let totals = Totals { entries: 0x31, bytes: 0x3233_3435_3637, complete: true };
    let names = |names: &[&[u8]]| names.iter().map(|name| name.to_vec()).collect::<Vec<_>>();
    let pake = |letter| PakeMessage::from_slice(&[&[letter][..], &[0x41; 32]].concat()).unwrap();
    let receipt = Receipt {
        there: counts,
        moved: 0x51,
        unchanged: 0x52,
        skipped: 0x53,
        skipped_bytes: 0x54,
        reused: 0x55,
        edited: 0x16,
        failed: 0x57,
        acls_lost: 0x17,
        owners_by_number: 0x18,
        proven: None,
    };
    let proven = Some(Proven { files: 0x0f, bytes: 0x1415, took: micros(0x58) });
    let mut has = Stretches::default();
    assert!(has.add(0x61, 0x62) && has.add(0x63, 0x64));
    let answer = Wanted { list: 0x65, files: vec![true], has, basis: 0x66, kept: vec![] };
    let many = |flags: &[bool]| (0..11).map(|file| flags[file % flags.len()]).collect::<Vec<_>>();
    let answer_for_many = Wanted {
        list: 0x67,
        files: many(&[true, false, false]),
        has: Stretches::default(),
        basis: 0,
        kept: many(&[false, true, false]),
    };
    let mut messages = vec![
        (
            "hello",
            // Not this version's number, which is at the top of the file.
            Message::Hello(Hello {
                version: 0x7172,
                name: DeviceName::new("lab-ws").unwrap(),
                known: true,
                pairing: false,
            }),
        ),
        ("refused-wrong-code", Message::Refused(Refusal::WrongCode)),
        ("refused-no-code-open", Message::Refused(Refusal::NoCodeOpen)),
        ("refused-pairing-busy", Message::Refused(Refusal::PairingBusy(0x7374_7576))),
        ("refused-not-paired", Message::Refused(Refusal::NotPaired)),
        ("refused-ourselves", Message::Refused(Refusal::Ourselves)),
        ("refused-version", Message::Refused(Refusal::Version)),
        ("pair-start", Message::PairStart(pake(b'A'))),
        ("pair-reply", Message::PairReply(pake(b'B'))),
        ("pair-confirm", Message::PairConfirm(Confirmation::from_slice(&[0x42; 32]).unwrap())),
        ("pair-done", Message::PairDone),
        ("paired", Message::Paired),
        (
            "offer",
            Message::Offer(Offer {
                transfer: [0x43; 16],
                names: names(&[b"a", b"b\xff"]),
                more_names: 0x44,
                so_far: totals,
                lanes: 4,
                prove: true,
                retry_s: 0x4546_4748,
                in_share: None,
            }),
        ),
        (
            "offer-into-share",
            Message::Offer(Offer {
                transfer: [0x43; 16],
                names: names(&[b"a"]),
                more_names: 0,
                so_far: totals,
                lanes: 4,
                prove: true,
                retry_s: 0x4546_4748,
                in_share: Some(InShare { share: ShareName::new("inbox").unwrap(), path: b"a/b\xff".to_vec() }),
            }),
        ),
        ("offer-names", Message::OfferNames(names(&[b"c", b"dd"]))),
        ("offer-listing", Message::OfferListing(listing(ListingEnd::More))),
        ("offer-listing-complete", Message::OfferListing(listing(ListingEnd::Complete))),
        ("offer-listing-cut", Message::OfferListing(listing(ListingEnd::Cut))),
        ("accept", Message::Accept(Accept { lanes: 4, lists: false, doubts: None, owner_names: false })),
        ("accept-lists", Message::Accept(Accept { lanes: 4, lists: true, doubts: None, owner_names: false })),
        (
            "accept-lists-doubts",
            Message::Accept(Accept { lanes: 4, lists: true, doubts: Some(-0x494a), owner_names: true }),
        ),
        ("queued", Message::Queued(NonZeroU32::new(0x4b4c_4d4e).unwrap())),
        ("decline-by-choice", Message::Decline(DeclineReason::ByChoice)),
        ("decline-no-answer", Message::Decline(DeclineReason::NoAnswer)),
        ("decline-no-room", Message::Decline(DeclineReason::NoRoom(shortage))),
        ("decline-not-writable", Message::Decline(DeclineReason::NotWritable)),
        ("decline-busy", Message::Decline(DeclineReason::Busy)),
        ("decline-paused", Message::Decline(DeclineReason::Paused)),
        ("decline-stopped", Message::Decline(DeclineReason::Stopped)),
        ("decline-too-many-offers", Message::Decline(DeclineReason::TooManyOffers { wait_ms: 0x7778_797a })),
        ("decline-too-many-notes", Message::Decline(DeclineReason::TooManyNotes { wait_ms: 0x5f60_6162 })),
        ("decline-notes-full", Message::Decline(DeclineReason::NotesFull)),
        ("path-taken", Message::PathTaken(PathCodes { tls: 1, tls_errno: -2, io: 3, io_errno: 4 })),
        ("totals", Message::Totals(totals)),
        ("progress", Message::Progress(progress)),
        ("proving", Message::Proving(progress)),
        (
            "entry-failed",
            Message::EntryFailed(EntryFailed { path: b"a/b\xff".to_vec(), operation: 1, reason: 2, errno: -13 }),
        ),
        ("entry-kept", Message::EntryKept(EntryKept { path: b"a/b".to_vec(), beside: b"b (1)".to_vec() })),
        ("finish", Message::Finish { sent: counts, failed: 0x4f, lanes: 4 }),
        ("receipt", Message::Receipt(receipt)),
        ("receipt-proven", Message::Receipt(Receipt { proven, ..receipt })),
        ("receipt-wanted", Message::ReceiptWanted([0x50; 16])),
        ("no-receipt", Message::NoReceipt),
        ("get", Message::Get(get())),
        (
            "get-plain",
            Message::Get(Get {
                paths: vec![GetPath { path: Vec::new(), contents_only: false }],
                prove: false,
                compression: Compression::Off,
                delta: Delta::Off,
                limit: None,
                records_per_key: None,
                patterns: Vec::new(),
                selected: None,
                purpose: Purpose::Transfer,
                ..get()
            }),
        ),
        ("get-refused-no-share", Message::GetRefused(GetRefusal::NoShare)),
        ("get-refused-unavailable", Message::GetRefused(GetRefusal::Unavailable(ShareTrouble::NotMounted))),
        ("get-refused-path", Message::GetRefused(GetRefusal::Path(0x5657, 2))),
        ("get-refused-same-name", Message::GetRefused(GetRefusal::SameName)),
        ("get-refused-too-many-names", Message::GetRefused(GetRefusal::TooManyNames)),
        ("get-refused-not-served", Message::GetRefused(GetRefusal::NotServed)),
        ("get-refused-cancelled", Message::GetRefused(GetRefusal::Cancelled)),
        ("get-refused-pattern", Message::GetRefused(GetRefusal::Pattern)),
        ("get-refused-not-one-folder", Message::GetRefused(GetRefusal::NotOneFolder)),
        ("get-refused-too-slow", Message::GetRefused(GetRefusal::TooSlow)),
        ("selected", Message::Selected(vec![b"a/b\xff".to_vec(), Vec::new()])),
        ("note", Message::Note(NoteHead { id: [0x63; 16], len: 0x6465 })),
        ("note-page", Message::NotePage(NotePage::new(b"hi\xff"))),
        ("note-kept", Message::NoteKept),
        ("cancel-failed", Message::Cancel(Cancel::Failed)),
        ("cancel-by-person", Message::Cancel(Cancel::ByPerson)),
        ("cancel-by-person-keeping", Message::Cancel(Cancel::ByPersonKeeping)),
        ("cancel-destination-full", Message::Cancel(Cancel::DestinationFull(shortage))),
        ("cancel-connection-lost", Message::Cancel(Cancel::ConnectionLost)),
        ("cancel-too-much", Message::Cancel(Cancel::TooMuch(0x7b7c_7d7e_7f80))),
        ("cancel-paused", Message::Cancel(Cancel::Paused)),
        ("cancel-not-shared", Message::Cancel(Cancel::NotShared)),
        ("ping", Message::Ping),
        ("pong", Message::Pong),
        (
            "lane-join",
            Message::LaneJoin { transfer: [0x81; 16], lane: 3, connection: 0x8283, ticket: Ticket([0x84; 32]) },
        ),
        ("lane-ready", Message::LaneReady),
        (
            "sender-times",
            Message::SenderTimes(SenderTimes {
                finding: micros(0x91),
                reading: micros(0x92),
                encrypting: micros(0x93),
                sending: micros(0x94),
                limited: micros(0x95),
            }),
        ),
        (
            "receiver-times",
            Message::ReceiverTimes(ReceiverTimes {
                receiving: micros(0x96),
                decrypting: micros(0x97),
                writing: micros(0x98),
            }),
        ),
        ("wanted-one", Message::Wanted(answer)),
        ("wanted-of-many", Message::Wanted(answer_for_many)),
    ];
    messages.extend(questions());
    messages
}

/// What is asked about shares, and answered.
fn questions() -> Vec<(&'static str, Message)> {
    let asked = |question| Message::Asked { number: 0xa1a2_a3a4, question };
    let answered = |answer| Message::Answered { number: 0xa5a6_a7a8, answer };
    let refused = |why| answered(Answer::Refused(why));
    let name = |text| ShareName::new(text).unwrap();
    let wanted = |depth| {
        asked(Question::Entries(EntriesWanted {
            share: name("runs"),
            path: b"a/b\xff".to_vec(),
            depth,
            changed_since: None,
            pages: 9,
        }))
    };
    let moment = Timestamp { secs: -0x0102_0304, nanos: 0x0506_0708 };
    let file = FileState { size: 0x0a0b_0c0d, mtime: moment };
    let changed = |changed_since| {
        let path = b"a/b\xff".to_vec();
        asked(Question::Entries(EntriesWanted {
            share: name("runs"),
            path,
            depth: Depth::Tree,
            changed_since,
            pages: 9,
        }))
    };
    let range = RangeWanted { share: name("runs"), path: b"a/b\xff".to_vec(), offset: 0x1112_1314, len: 0x0001_0203 };
    let shares = vec![
        ShareThere { name: name("runs"), drop: false, unavailable: None, drop_trouble: None },
        ShareThere { name: name("disk"), drop: true, unavailable: Some(ShareTrouble::NotMounted), drop_trouble: None },
        ShareThere { name: name("box"), drop: true, unavailable: None, drop_trouble: Some(ShareTrouble::NotWritable) },
    ];
    vec![
        ("asked-shares", asked(Question::Shares)),
        ("asked-itself", wanted(Depth::Itself)),
        ("asked-folder", wanted(Depth::Folder)),
        ("asked-tree", wanted(Depth::Tree)),
        ("asked-changed", changed(Some(moment))),
        ("asked-range", asked(Question::Range(range))),
        ("answered-bytes-more", answered(Answer::Bytes(BytesPage::more(vec![0xe1, 0xe2])))),
        ("answered-bytes", answered(Answer::Bytes(BytesPage::last(vec![0xe3], file)))),
        ("answered-shares", answered(Answer::Shares(shares))),
        ("answered-entries", answered(Answer::Entries(entries_page(true)))),
        ("answered-entries-more", answered(Answer::Entries(entries_page(false)))),
        ("answered-not-shared", refused(NoAnswer::NotShared)),
        ("answered-missing", refused(NoAnswer::Unavailable(ShareTrouble::Missing))),
        ("answered-not-mounted", refused(NoAnswer::Unavailable(ShareTrouble::NotMounted))),
        ("answered-replaced", refused(NoAnswer::Unavailable(ShareTrouble::Replaced))),
        ("answered-not-readable", refused(NoAnswer::Unavailable(ShareTrouble::NotReadable))),
        ("answered-failed", refused(NoAnswer::Unavailable(ShareTrouble::Failed))),
        ("answered-not-answering", refused(NoAnswer::Unavailable(ShareTrouble::NotAnswering))),
        ("answered-not-writable", refused(NoAnswer::Unavailable(ShareTrouble::NotWritable))),
        ("answered-path", refused(NoAnswer::Path(-0xa9aa))),
        ("answered-busy", refused(NoAnswer::Busy)),
        ("answered-planned", answered(Answer::Planned(planned_page()))),
        ("answered-planned-more", answered(Answer::Planned(PlannedPage { counts: None, ..planned_page() }))),
        ("answered-not-planned", answered(Answer::NotPlanned(GetRefusal::Path(0x7172, 13)))),
        ("more-pages", Message::MorePages { number: 0xabac_adae, pages: 7 }),
        ("not-wanted", Message::NotWanted { number: 0xafb0_b1b2 }),
    ]
}

/// A page with an entry of each kind, and one that could not be read.
fn entries_page(is_last: bool) -> entries::EntriesPage {
    let mut writer = EntriesWriter::default();
    for (at, kind) in ringway_model::EntryKind::ALL.into_iter().enumerate() {
        let target: &[u8] = if kind == ringway_model::EntryKind::Link { b"../x" } else { b"" };
        let (mode, secs) = (0o4751 + at as u16, -0x2526 - at as i64);
        let what = Ok(entries::Attributes { kind, mode, size: 0x2122_2324, secs, nanos: 0x2728, target });
        let path = format!("folder/{at}");
        assert!(writer.push(&FolderEntry { path: folder(&path), what }).is_none());
    }
    writer.push(&FolderEntry { path: folder("other"), what: Err(-13) });
    writer.page(is_last)
}

/// A page of a listing, with an entry of each kind.
fn listing(end: ListingEnd) -> ListingPage {
    let mut writer = ListingWriter::default();
    for (path, kind) in [
        ("a", ListedKind::Folder),
        ("a/file", ListedKind::File { size: 0x2122_2324, secs: -0x2526, nanos: 0x2728 }),
        ("a/link", ListedKind::Link { target: [0x29; 8] }),
    ] {
        assert!(writer.push(&ListedEntry { path: RelPath::new(path.as_bytes()).unwrap(), kind }).is_none());
    }
    writer.page(end)
}

fn attributes() -> Attributes {
    Attributes { mode: 0o4755, uid: 0x0102_0304, gid: 0x0506_0708, mtime: Timestamp { secs: -5, nanos: 999_999_999 } }
}

fn entry<'a>(name: &'a str, kind: EntryKind<'a>, xattrs: Xattrs<'a>) -> Entry<'a> {
    Entry { name: Name::new(name.as_bytes()).unwrap(), kind, attributes: attributes(), xattrs }
}

fn folder(path: &str) -> RelPath<'_> {
    RelPath::new(path.as_bytes()).unwrap()
}

fn frame(header: FrameHeader, head: &HeadBuffer) -> Vec<u8> {
    [&header.encode(), head.as_bytes()].concat()
}

/// One of each head of a lane frame, after its header: with each item that a batch may have, and
/// each step of a range.
fn frames() -> Vec<(&'static str, Vec<u8>)> {
    let digest = |byte| Digest([byte; DIGEST_LEN]);
    let mut xattrs = XattrBuffer::default();
    assert!(xattrs.push(b"user.origin", b"a\0b") && xattrs.push(b"user.empty", b""));
    let xattrs = xattrs.as_xattrs();
    let small = entry("small", EntryKind::File { size: 7, link_id: Some(0x21) }, xattrs);
    let large = entry("large", EntryKind::File { size: 9 << 20, link_id: None }, Xattrs::default());
    let user = Owner::new(OwnerKind::User, 0x71).unwrap();
    let mut names = OwnerNamesBuffer::default();
    names.push(user, "alice");
    names.push(Owner::new(OwnerKind::Group, 0x72).unwrap(), "staff");
    let mut frames = Vec::new();

    let mut head = HeadBuffer::default();
    head.folder(RelPath::ROOT);
    head.entry(&entry("plain", EntryKind::File { size: 5, link_id: None }, Xattrs::default()));
    head.folder_with_attributes(folder("a/b"), &attributes(), xattrs);
    head.entry(&small);
    head.entry(&entry("link", EntryKind::Symlink { target: b"../elsewhere" }, Xattrs::default()));
    head.entry(&entry("other", EntryKind::HardLink { link_id: 0x21, last: false }, Xattrs::default()));
    head.entry(&entry("third", EntryKind::HardLink { link_id: 0x21, last: true }, Xattrs::default()));
    let header = head.batch_header(12);
    frames.push(("batch", frame(header, &head)));
    frames.push(("batch-packed", frame(FrameHeader { packed_len: 11, ..header }, &head)));

    head.clear();
    head.folder(folder("a/b"));
    head.entry(&small);
    head.owner_names().push(user, "alice");
    head.digest(digest(0xd1));
    head.entry(&entry("empty", EntryKind::File { size: 0, link_id: None }, Xattrs::default()));
    head.digest(digest(0xd2));
    let header = head.batch_header(7);
    frames.push(("batch-proven", frame(header, &head)));

    let range = |step, offset| RangeHead {
        stamp: 0x31,
        file_id: 0x0302_0100,
        offset,
        step,
        folder: folder("a"),
        entry: large,
        owner_names: names.as_names(),
    };
    for (name, step, len) in [
        ("range-more", RangeStep::More, 10),
        ("range-last", RangeStep::Last { data_bytes: 0x0506_0708 }, 10),
        ("range-abandoned", RangeStep::Abandoned { data_bytes: 0x0506_0708 }, 0),
    ] {
        let header = head.range(&range(step, 0x0a0b), len);
        frames.push((name, frame(header, &head)));
    }
    let header = head.proven_range(&range(RangeStep::More, 0x0a0b), 10, digest(0xd3));
    frames.push(("range-proven", frame(header, &head)));

    head.begin_list(0x41);
    head.folder(folder("a/b"));
    head.entry(&small);
    head.folder(RelPath::ROOT);
    head.entry(&entry("plain", EntryKind::File { size: 5, link_id: None }, Xattrs::default()));
    let header = head.list_header();
    frames.push(("list", frame(header, &head)));

    head.begin_large_list(0x42, 0x43);
    head.folder(folder("a"));
    head.entry(&large);
    head.digest(digest(0xd4));
    let header = head.list_header();
    frames.push(("list-proven", frame(header, &head)));

    head.begin_chunks(0x44, &range(RangeStep::More, 0x0c0d));
    head.chunk(0x0e0f, digest(0xd5));
    head.chunk(0x1011, digest(0xd6));
    frames.push(("chunks", frame(head.chunks_header(), &head)));

    frames.push(("end", FrameHeader::END.encode().to_vec()));
    frames.push(("renew", FrameHeader::RENEW.encode().to_vec()));
    frames
}
