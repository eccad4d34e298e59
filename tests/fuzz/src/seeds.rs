//! Inputs to start with: one of every message, item and range, and sessions that run to their end.
use super::peers::{counts, offer, proven, receiver_times, sender_times};
use ringway_model::{
    Compression, DeclineReason, Delta, DeviceKind, Pattern, ShareName, ShareThere, ShareTrouble, Shortage,
};
use ringway_wire::announcement::Announcement;
use ringway_wire::code::{PairingCode, PairingSecret};
use ringway_wire::control::{
    Accept, Answer, BytesPage, Cancel, EntriesWanted, EntryFailed, EntryKept, FRAME_PREFIX_LEN, FileState, Get,
    GetPath, GetRefusal, Hello, InShare, Message, NoAnswer, NoteHead, NotePage, Offer, PathCodes, PlannedCounts,
    PlannedEntry, PlannedKind, PlannedPage, Progress, Purpose, Question, RangeWanted, Receipt, Refusal, Ticket, Totals,
    Wanted,
};
use ringway_wire::entries::{self, Depth, EntriesPage, EntriesWriter, FolderEntry};
use ringway_wire::journal::{Recorder, Version};
use ringway_wire::lane::{
    Attributes, Counts, DIGEST_LEN, Digest, Entry, EntryKind, FrameHeader, HEADER_LEN, HeadBuffer, Owner, OwnerKind,
    OwnerNames, RangeHead, RangeStep, Timestamp, XattrBuffer, Xattrs,
};
use ringway_wire::listing::{ListedEntry, ListedKind, ListingEnd, ListingPage, ListingWriter};
use ringway_wire::pair::{Binding, Confirmation, ENTROPY_LEN, Initiator, PakeMessage};
use ringway_wire::stretches::Stretches;
use ringway_wire::{DeviceName, Name, RelPath};

const SHORTAGE: Shortage = Shortage { needed: 1 << 40, free: 1 << 30, entries: 7 };

/// Every seed: its target, its file name, its bytes.
pub fn seeds() -> Vec<(&'static str, String, Vec<u8>)> {
    let mut seeds = Vec::new();
    for message in control_messages() {
        seeds.push(("codec", message.kind().replace(' ', "-"), payload(&message)));
    }
    let said = Announcement::new(DeviceName::new("lab-ws").expect("a name"), &[0xab; 32], DeviceKind::Server, Some(42));
    let strings = |pairs: &[(&str, String)]| -> Vec<u8> {
        let strings = pairs.iter().map(|(key, value)| format!("{key}={value}"));
        strings.flat_map(|text| [&[text.len() as u8], text.as_bytes()].concat()).collect()
    };
    let twice = [&strings(&said.pairs())[..], b"\x07ID=beef\x06colour\x00"].concat();
    for (name, bytes) in [("shows-a-code", strings(&said.pairs())), ("twice-and-unknown", twice)] {
        seeds.push(("announcement", name.to_owned(), bytes));
    }
    let full = Message::Cancel(Cancel::DestinationFull(SHORTAGE));
    seeds.push(("codec", "cancel-disk-full".to_owned(), payload(&full)));
    seeds.push(("codec", "cancel-too-much".to_owned(), payload(&Message::Cancel(Cancel::TooMuch(20_000_000_000)))));
    seeds.push(("codec", "cancel-paused".to_owned(), payload(&Message::Cancel(Cancel::Paused))));
    for (name, answer) in answers() {
        seeds.push(("codec", name.to_owned(), payload(&Message::Answered { number: 9, answer })));
    }
    let shares = Message::Asked { number: 9, question: Question::Shares };
    seeds.push(("codec", "question-shares".to_owned(), payload(&shares)));
    let bytes = Message::Asked { number: 4, question: range() };
    seeds.push(("codec", "question-bytes".to_owned(), payload(&bytes)));
    seeds.push(("codec", "queued".to_owned(), payload(&Message::Queued(std::num::NonZeroU32::MIN))));
    seeds.push(("codec", "decline-paused".to_owned(), payload(&Message::Decline(DeclineReason::Paused))));
    let files = (0..11).map(|file| file % 3 == 0).collect();
    let kept = (0..11).map(|file| file % 3 == 1).collect();
    let answer = Wanted { list: 3, files, has: Stretches::default(), basis: 0, kept };
    seeds.push(("codec", "answer-for-many".to_owned(), payload(&Message::Wanted(answer))));
    seeds.push(("codec", "offer-plain".to_owned(), payload(&Message::Offer(offer(false)))));
    seeds.push(("codec", "offer-into-share".to_owned(), payload(&Message::Offer(offer_into_share()))));
    let proven_too_much =
        Receipt { there: Counts { bytes: 6, ..counts() }, proven: Some(proven()), ..Receipt::default() };
    for (name, receipt) in [
        (
            "receipt-without-proof",
            Receipt { there: counts(), moved: 1, unchanged: 1, reused: 3, failed: 2, ..Receipt::default() },
        ),
        ("receipt-that-proves-too-much", proven_too_much),
    ] {
        seeds.push(("codec", name.to_owned(), payload(&Message::Receipt(receipt))));
    }
    seeds.push(("codec", "ping-and-more".to_owned(), [&payload(&Message::Ping)[..], b"more"].concat()));
    let named = |target, named: Vec<(&str, Vec<u8>)>| {
        named.into_iter().map(move |(name, bytes)| (target, name.to_owned(), bytes)).collect::<Vec<_>>()
    };
    seeds.extend(named("lane_stream", lanes()));
    seeds.extend(named("journal", journals()));
    seeds.extend(named("pairing", pairings()));
    seeds.extend(named("sender_session", sender_sessions()));
    seeds.extend(named("receiver_session", receiver_sessions()));
    seeds.extend(named("record", records()));
    seeds
}

/// Suite and first number, then records: kind, change, content.
fn records() -> Vec<(&'static str, Vec<u8>)> {
    let chunk = |content: &[u8]| [&(content.len() as u16).to_le_bytes()[..], content].concat();
    let honest = [&[0, 0][..], &chunk(b"head"), &[0, 0], &chunk(&[5; 300]), &[1, 0], &chunk(&[1, 0])].concat();
    vec![
        ("in-order", [&[0, 7][..], &honest].concat()),
        ("in-order-chacha", [&[2, 0][..], &honest].concat()),
        ("altered", [&[1, 0, 0, 2][..], &chunk(b"to be changed"), &[9, 0, 3]].concat()),
        ("made-up", [&[0, 0, 0, 3][..], &chunk(&[&[23, 3, 3, 0, 20][..], &[1; 20]].concat())].concat()),
        ("empty-alert", [&[0, 0, 1, 0][..], &chunk(b"")].concat()),
    ]
}

fn payload(message: &Message) -> Vec<u8> {
    let mut frame = Vec::new();
    message.encode(&mut frame);
    frame.split_off(FRAME_PREFIX_LEN)
}

fn pake_message() -> PakeMessage {
    let secret = PairingSecret::from(&PairingCode::from_entropy([7; 4]));
    let binding = Binding::new([1; 32], [2; 32], [3; 32]).expect("two devices");
    Initiator::start(&secret, binding, &[0x5a; ENTROPY_LEN]).1
}

pub(crate) fn get() -> Get {
    let path = |path: &[u8], contents_only| GetPath { path: path.to_vec(), contents_only };
    Get {
        transfer: [9; 16],
        share: ShareName::new("runs").expect("a name"),
        paths: vec![path(b"a/b", false), path(b"c", true)],
        lanes: 4,
        prove: false,
        compression: Compression::Auto,
        delta: Delta::Auto,
        limit: None,
        records_per_key: None,
        retry_s: 60,
        patterns: vec![Pattern::Exclude(b"*.o".to_vec()), Pattern::Include(b"/keep.o".to_vec())],
        selected: None,
        purpose: Purpose::Transfer,
    }
}

fn offer_into_share() -> Offer {
    let share = ShareName::new("inbox").expect("a name");
    Offer { in_share: Some(InShare { share, path: b"a/b".to_vec() }), ..offer(false) }
}

pub(crate) fn planned_page() -> PlannedPage {
    let failed = EntryFailed { path: b"a/c".to_vec(), operation: 1, reason: 2, errno: -13 };
    let entries = vec![PlannedEntry::Moves(PlannedKind::File, b"a/b\xff".to_vec()), PlannedEntry::Fails(failed)];
    PlannedPage { entries, counts: Some(PlannedCounts { sent: counts(), excluded: 1, failed: 1 }) }
}

fn stretches() -> Stretches {
    let mut stretches = Stretches::default();
    assert!(stretches.add(0, 1 << 20) && stretches.add(5 << 20, 6 << 20));
    stretches
}

fn control_messages() -> Vec<Message> {
    let name = DeviceName::new("lab-ws").expect("a name");
    let confirmation = Confirmation::from_slice(&[8; 32]).expect("32 bytes");
    let mut long_offer = offer(true);
    long_offer.names = (0..20).map(|number| format!("folder {number}").into_bytes()).collect();
    vec![
        Message::Hello(Hello { version: ringway_wire::limits::VERSION, name, known: true, pairing: false }),
        Message::Refused(Refusal::PairingBusy(500)),
        Message::PairStart(pake_message()),
        Message::PairReply(pake_message()),
        Message::PairConfirm(confirmation),
        Message::PairDone,
        Message::Paired,
        Message::Offer(long_offer),
        Message::OfferNames(vec![b"folder 20".to_vec(), b"x\xff".to_vec()]),
        Message::OfferListing(listing()),
        Message::ReceiptWanted([9; 16]),
        Message::NoReceipt,
        Message::Get(get()),
        Message::GetRefused(GetRefusal::Path(1, 2)),
        Message::Selected(vec![b"a/b\xff".to_vec(), Vec::new()]),
        Message::Note(NoteHead { id: [9; 16], len: 5 }),
        Message::NotePage(NotePage::new(b"hello")),
        Message::NoteKept,
        Message::Accept(Accept { lanes: 4, lists: true, doubts: None, owner_names: true }),
        Message::Decline(DeclineReason::NoRoom(SHORTAGE)),
        Message::PathTaken(PathCodes { tls: 1, tls_errno: 2, io: 3, io_errno: 4 }),
        Message::Totals(Totals { entries: 5, bytes: 6, complete: true }),
        Message::Progress(Progress { entries: 5, bytes: 6 }),
        Message::EntryFailed(EntryFailed { path: b"a/b\xff".to_vec(), operation: 1, reason: 2, errno: -13 }),
        Message::EntryKept(EntryKept { path: b"a/b".to_vec(), beside: b"b (2)".to_vec() }),
        Message::Finish { sent: counts(), failed: 1, lanes: 1 },
        Message::Receipt(Receipt {
            there: counts(),
            moved: 2,
            unchanged: 1,
            skipped: 1,
            skipped_bytes: 3,
            reused: 3,
            edited: 0,
            failed: 2,
            acls_lost: 1,
            owners_by_number: 1,
            proven: Some(proven()),
        }),
        Message::Proving(Progress { entries: 5, bytes: 6 }),
        Message::Cancel(Cancel::ConnectionLost),
        Message::Ping,
        Message::Pong,
        Message::LaneJoin { transfer: [9; 16], lane: 3, connection: 1, ticket: Ticket([4; 32]) },
        Message::LaneReady,
        Message::SenderTimes(sender_times()),
        Message::ReceiverTimes(receiver_times()),
        Message::Wanted(Wanted { list: 3, files: vec![true], has: stretches(), basis: 9 << 20, kept: vec![] }),
        Message::Asked { number: 3, question: question() },
        Message::Answered { number: 3, answer: Answer::Entries(entries_page()) },
        Message::MorePages { number: 3, pages: 9 },
        Message::NotWanted { number: 3 },
    ]
}

fn share_name() -> ShareName {
    ShareName::new("runs 2026").expect("a name")
}

/// Every other answer about shares.
fn answers() -> Vec<(&'static str, Answer)> {
    let share = |unavailable: Option<ShareTrouble>| {
        let (drop, drop_trouble) = (unavailable.is_some(), None);
        ShareThere { name: share_name(), drop, unavailable, drop_trouble }
    };
    let file = FileState { size: 3, mtime: Timestamp { secs: 1_700_000_000, nanos: 5 } };
    vec![
        ("answer-shares", Answer::Shares(vec![share(None), share(Some(ShareTrouble::NotMounted))])),
        ("answer-bytes", Answer::Bytes(BytesPage::last(vec![1, 2, 3], file))),
        ("answer-not-shared", Answer::Refused(NoAnswer::NotShared)),
        ("answer-unavailable", Answer::Refused(NoAnswer::Unavailable(ShareTrouble::Replaced))),
        ("answer-no-path", Answer::Refused(NoAnswer::Path(2))),
        ("answer-planned", Answer::Planned(planned_page())),
        ("answer-not-planned", Answer::NotPlanned(GetRefusal::TooSlow)),
    ]
}

pub(crate) fn question() -> Question {
    let changed_since = Some(Timestamp { secs: 1_700_000_000, nanos: 5 });
    let path = b"a/b\xff".to_vec();
    Question::Entries(EntriesWanted { share: share_name(), path, depth: Depth::Tree, changed_since, pages: 4 })
}

pub(crate) fn range() -> Question {
    Question::Range(RangeWanted { share: share_name(), path: b"a/b".to_vec(), offset: 1 << 40, len: 128 * 1024 })
}

pub(crate) fn entries_page() -> EntriesPage {
    let mut writer = EntriesWriter::default();
    for (text, kind, target) in [
        ("folder", ringway_model::EntryKind::Folder, &b""[..]),
        ("folder/file", ringway_model::EntryKind::File, b""),
        ("folder/link", ringway_model::EntryKind::Link, b"../x"),
    ] {
        let what = Ok(entries::Attributes { kind, mode: 0o755, size: 7, secs: 1_700_000_000, nanos: 5, target });
        writer.push(&FolderEntry { path: path(text), what });
    }
    writer.push(&FolderEntry { path: path("other"), what: Err(13) });
    writer.page(true)
}

pub(crate) fn listing() -> ListingPage {
    let mut writer = ListingWriter::default();
    for (text, kind) in [
        ("folder 1", ListedKind::Folder),
        ("folder 1/file", ListedKind::File { size: 7, secs: 1_700_000_000, nanos: 5 }),
        ("folder 1/link", ListedKind::Link { target: [3; 8] }),
    ] {
        writer.push(&ListedEntry { path: path(text), kind });
    }
    writer.page(ListingEnd::Cut)
}

fn path(text: &str) -> RelPath<'_> {
    RelPath::new(text.as_bytes()).expect("a path")
}

fn attributes() -> Attributes {
    Attributes { mode: 0o4755, uid: 1000, gid: 1000, mtime: Timestamp { secs: -5, nanos: 999_999_999 } }
}

fn entry<'a>(name: &'a str, kind: EntryKind<'a>, xattrs: Xattrs<'a>) -> Entry<'a> {
    Entry { name: Name::new(name.as_bytes()).expect("a name"), kind, attributes: attributes(), xattrs }
}

fn frame(header: FrameHeader, head: &HeadBuffer) -> Vec<u8> {
    [&header.encode(), head.as_bytes()].concat()
}

fn ranges(pieces: &[(u64, u64, u32, RangeStep)]) -> Vec<u8> {
    ranges_with(pieces, |head, range, len| head.range(range, len))
}

fn proven_ranges(pieces: &[(u64, u64, u32, RangeStep)]) -> Vec<u8> {
    ranges_with(pieces, |head, range, len| head.proven_range(range, len, Digest([0xd2; DIGEST_LEN])))
}

fn ranges_with(
    pieces: &[(u64, u64, u32, RangeStep)],
    write: impl Fn(&mut HeadBuffer, &RangeHead<'_>, usize) -> FrameHeader,
) -> Vec<u8> {
    let mut head = HeadBuffer::default();
    let mut stream = Vec::new();
    for &(file_id, offset, len, step) in pieces {
        let entry = entry("large", EntryKind::File { size: 3 << 20, link_id: None }, Xattrs::default());
        let header = write(
            &mut head,
            &RangeHead {
                stamp: 0,
                file_id,
                offset,
                step,
                folder: path("a"),
                entry,
                owner_names: OwnerNames::default(),
            },
            len as usize,
        );
        stream.extend(frame(header, &head));
    }
    stream.extend(FrameHeader::END.encode());
    stream
}

/// A file of 9 MiB: chunks that begin at any offset, each with the first byte of its digest.
fn windows(pieces: &[(u64, &[(u32, u8)])], behind: &[(u64, u64, u32, RangeStep)]) -> Vec<u8> {
    let mut head = HeadBuffer::default();
    let entry = entry("large", EntryKind::File { size: 9 << 20, link_id: None }, Xattrs::default());
    let of = |file_id, offset, step| RangeHead {
        stamp: 0,
        file_id,
        offset,
        step,
        folder: path("a"),
        entry,
        owner_names: OwnerNames::default(),
    };
    let mut stream = Vec::new();
    for (number, (offset, chunks)) in (0..).zip(pieces) {
        head.begin_chunks(number, &of(0, *offset, RangeStep::More));
        chunks.iter().for_each(|(len, byte)| head.chunk(*len, Digest([*byte; DIGEST_LEN])));
        stream.extend(frame(head.chunks_header(), &head));
    }
    for &(file_id, offset, len, step) in behind {
        let header = head.range(&of(file_id, offset, step), len as usize);
        stream.extend(frame(header, &head));
    }
    stream
}

fn packed_range() -> Vec<u8> {
    let mut head = HeadBuffer::default();
    let entry = entry("large", EntryKind::File { size: 9, link_id: None }, Xattrs::default());
    let step = RangeStep::Last { data_bytes: 9 };
    let header = head.range(
        &RangeHead {
            stamp: 0,
            file_id: 0,
            offset: 0,
            step,
            folder: path("a"),
            entry,
            owner_names: OwnerNames::default(),
        },
        9,
    );
    frame(FrameHeader { packed_len: 5, ..header }, &head)
}

fn lanes() -> Vec<(&'static str, Vec<u8>)> {
    let mut xattrs = XattrBuffer::default();
    assert!(xattrs.push(b"user.origin", b"a\0b") && xattrs.push(b"user.empty", b""));
    let mut head = HeadBuffer::default();
    head.folder(RelPath::ROOT);
    head.entry(&entry("empty", EntryKind::File { size: 0, link_id: None }, Xattrs::default()));
    head.folder_with_attributes(path("aa/b"), &attributes(), xattrs.as_xattrs());
    head.entry(&entry("small", EntryKind::File { size: 7, link_id: Some(1) }, xattrs.as_xattrs()));
    head.owner_names().push(Owner::new(OwnerKind::User, 1000).expect("a user"), "alice");
    head.owner_names().push(Owner::new(OwnerKind::Group, 1000).expect("a group"), "EXAMPLE\\staff");
    head.entry(&entry("link", EntryKind::Symlink { target: b"../../elsewhere" }, Xattrs::default()));
    head.entry(&entry("other", EntryKind::HardLink { link_id: 1, last: false }, Xattrs::default()));
    head.entry(&entry("third", EntryKind::HardLink { link_id: 1, last: true }, Xattrs::default()));
    let batch = frame(head.batch_header(7), &head);
    let header = head.batch_header(7);
    let packed_to = |packed_len| frame(FrameHeader { packed_len, ..header }, &head);
    let (packed, packed_to_as_much) = (packed_to(6), packed_to(7));
    let digest = Digest([0xd1; DIGEST_LEN]);
    let mut proven = HeadBuffer::default();
    proven.folder(path("aa/b"));
    proven.entry(&entry("small", EntryKind::File { size: 7, link_id: Some(1) }, xattrs.as_xattrs()));
    proven.digest(digest);
    proven.entry(&entry("link", EntryKind::Symlink { target: b"small" }, Xattrs::default()));
    proven.entry(&entry("empty", EntryKind::File { size: 0, link_id: None }, Xattrs::default()));
    proven.digest(digest);
    let proven_batch = frame(proven.batch_header(7), &proven);
    let large = entry("large", EntryKind::File { size: 3 << 20, link_id: None }, Xattrs::default());
    let step = RangeStep::Last { data_bytes: 10 };
    let range = RangeHead {
        stamp: 0,
        file_id: 0,
        offset: 5,
        step,
        folder: path("a"),
        entry: large,
        owner_names: OwnerNames::default(),
    };
    let header = proven.proven_range(&range, 10, digest);
    let proven_range = frame(header, &proven);
    proven.begin_list(4);
    proven.folder(path("aa/b"));
    proven.entry(&entry("small", EntryKind::File { size: 7, link_id: None }, xattrs.as_xattrs()));
    proven.digest(digest);
    let header = proven.list_header();
    let proven_list = frame(header, &proven);
    proven.begin_list(5);
    proven.folder(path("a"));
    proven.entry(&large);
    proven.digest(digest);
    let header = proven.list_header();
    let proven_listed_alone = frame(header, &proven);
    let renewed = [&FrameHeader::RENEW.encode()[..], &batch[..]].concat();
    let changed = |from: &[u8], to: &[u8]| {
        let at = batch.windows(from.len()).position(|window| window == from).expect("it is in the batch");
        [&batch[..at], to, &batch[at + from.len()..]].concat()
    };
    let mut longer_head = head.batch_header(7);
    longer_head.head_len += 1;
    let surplus = [&frame(longer_head, &head)[..], &[0]].concat();
    const MIB: u64 = 1 << 20;
    let in_order = ranges(&[
        (0, 0, 1 << 20, RangeStep::More),
        (0, MIB, 1 << 20, RangeStep::More),
        (0, 2 * MIB, 1 << 20, RangeStep::Last { data_bytes: 3 * MIB }),
    ]);
    let end_first = ranges(&[
        (1, 2 * MIB, 5, RangeStep::Last { data_bytes: 10 }),
        (0, 0, 0, RangeStep::Last { data_bytes: 0 }),
        (1, 7, 5, RangeStep::More),
    ]);
    let proven_end_first = proven_ranges(&[
        (1, 2 * MIB, 5, RangeStep::Last { data_bytes: 10 }),
        (0, 0, 0, RangeStep::Last { data_bytes: 0 }),
        (1, 7, 5, RangeStep::More),
        (2, 0, 5, RangeStep::More),
        (2, 5, 0, RangeStep::Abandoned { data_bytes: 5 }),
    ]);
    let proven_rest = proven_ranges(&[
        (0, 2 * MIB, 1 << 20, RangeStep::More),
        (0, 3 * MIB / 2, 1 << 19, RangeStep::Last { data_bytes: 3 * MIB }),
    ]);
    let proven_stream = [&proven_batch[..], &proven_list, &proven_listed_alone, &proven_rest].concat();
    let mut short_of_a_digest = proven_batch[..proven_batch.len() - DIGEST_LEN].to_vec();
    let head_len = (short_of_a_digest.len() - HEADER_LEN) as u32;
    short_of_a_digest[8..12].copy_from_slice(&head_len.to_le_bytes());
    let overlapping = ranges(&[(0, 0, 10, RangeStep::More), (0, 9, 10, RangeStep::More)]);
    let abandoned = ranges(&[(0, 0, 10, RangeStep::More), (0, 10, 0, RangeStep::Abandoned { data_bytes: 10 })]);
    let given_up_first = ranges(&[(0, 0, 0, RangeStep::Abandoned { data_bytes: 10 }), (0, 5, 10, RangeStep::More)]);
    let given_up_within = ranges(&[(0, 8, 0, RangeStep::Abandoned { data_bytes: 10 }), (0, 5, 10, RangeStep::More)]);
    head.begin_list(9);
    head.folder(path("aa/b"));
    head.entry(&entry("large", EntryKind::File { size: 1 << 40, link_id: None }, xattrs.as_xattrs()));
    head.folder(RelPath::ROOT);
    head.entry(&entry("small", EntryKind::File { size: 7, link_id: Some(1) }, Xattrs::default()));
    let header = head.list_header();
    let list = [frame(header, &head), FrameHeader::END.encode().to_vec()].concat();
    head.begin_list(10);
    head.folder(path("a"));
    head.entry(&entry("large", EntryKind::File { size: 3 << 20, link_id: None }, Xattrs::default()));
    let header = head.list_header();
    let listed_alone = frame(header, &head);
    // Half of the file is there.
    let rest = ranges(&[
        (0, 2 * MIB, 1 << 20, RangeStep::More),
        (0, 3 * MIB / 2, 1 << 19, RangeStep::Last { data_bytes: 3 * MIB }),
    ]);
    head.folder_with_attributes(path("a"), &attributes(), Xattrs::default());
    let header = head.list_header();
    let wrong_list = frame(header, &head);
    let unfinished = ranges(&[(0, 0, 10, RangeStep::More)]);
    vec![
        ("climbing-name", changed(b"small", b"../up")),
        ("name-with-nul", changed(b"small", b"sm\0ll")),
        ("climbing-folder", changed(b"aa/b", b"../b")),
        ("mode-too-large", changed(&0o4755u16.to_le_bytes(), &0o14755u16.to_le_bytes())),
        ("foreign-attribute", changed(b"user.", b"trust")),
        ("surplus-in-head", surplus),
        ("batch-and-ranges", [batch.clone(), in_order.clone()].concat()),
        ("batch", batch),
        ("batch-packed", packed),
        ("batch-packed-to-as-much", packed_to_as_much),
        ("range-packed", packed_range()),
        ("proven-stream", proven_stream),
        ("proven-ranges-end-first", proven_end_first),
        ("proven-batch-short-of-a-digest", short_of_a_digest),
        ("proven-batch", proven_batch),
        ("proven-range", proven_range),
        ("proven-list", proven_list),
        ("list", list),
        ("list-and-the-rest-of-it", [listed_alone, rest].concat()),
        ("list-with-a-folder-entry", wrong_list),
        ("renewed", renewed),
        ("ranges-in-order", in_order),
        ("ranges-end-first", end_first),
        ("ranges-overlapping", overlapping),
        ("range-abandoned", abandoned),
        ("range-abandoned-first", given_up_first),
        ("range-abandoned-within", given_up_within),
        ("range-unfinished", unfinished),
        (
            "chunks-and-what-was-not-found",
            windows(&[(0, &[(9, 0), (7, 1)]), (16, &[(4, 2)])], &[(0, 9, 7, RangeStep::Last { data_bytes: 20 })]),
        ),
        ("chunks-overlapping", windows(&[(0, &[(9, 0)]), (5, &[(9, 0)])], &[])),
        (
            "chunks-of-a-file-that-has-ended",
            [windows(&[], &[(0, 0, 7, RangeStep::Last { data_bytes: 7 })]), windows(&[(7, &[(1, 0)])], &[])].concat(),
        ),
        ("chunks-behind-the-end", windows(&[((9 << 20) - 1, &[(2, 0)])], &[])),
        ("chunk-too-long", windows(&[(0, &[((128 << 10) + 1, 0)])], &[])),
        ("chunk-empty", windows(&[(0, &[(0, 0)])], &[])),
    ]
}

/// A choice, then the input for that check of `journal`.
fn journals() -> Vec<(&'static str, Vec<u8>)> {
    let version = |name: &str, secs| Version {
        folder: b"dataset".as_slice().into(),
        name: name.as_bytes().into(),
        size: 9 << 20,
        mtime: Timestamp { secs, nanos: 5 },
        stamp: 6,
    };
    let (mut recorder, mut bytes) = (Recorder::default(), Vec::new());
    let mut written = |name, secs, place: &[u8]| {
        recorder.begin(&version(name, secs), place, &stretches(), &mut bytes).expect("within its limits");
    };
    written("large", 7, b"tree/dataset/large");
    written("merged", 8, b"parts-0/1");
    written("large", 9, b"tree/dataset/large");
    recorder.range(1, 2 << 20, 3 << 20, &mut bytes);
    let sum = size_of::<u32>();
    let range = |number: u32, start: u64, end: u64| {
        [&[2][..], &number.to_le_bytes(), &start.to_le_bytes(), &end.to_le_bytes()].concat()
    };
    let mut file = Vec::new();
    Recorder::default().begin(&version("large", 7), b"tree/large", &Stretches::default(), &mut file);
    file.truncate(file.len() - sum);
    let climbing = [&file[..file.len() - b"tree/large".len()], b"../x/large"].concat();
    let chunk = |record: &[u8]| [&(record.len() as u16).to_le_bytes()[..], record].concat();
    let sealed = |records: &[&[u8]]| records.iter().fold(vec![1], |all, record| [&all[..], &chunk(record)].concat());
    // Two files at one place, ranges of both, and another file of the first version at another
    // place.
    let steps = [0x07, 0, 0, 99, 0x27, 1, 0, 9, 0, 120, 20, 1, 50, 9, 0x0f, 2, 7, 7];
    let changed = |kind: u8, at: u16, xor: u8| [&[2, kind][..], &at.to_le_bytes(), &[xor], &steps].concat();
    vec![
        ("written", [&[0][..], &bytes].concat()),
        ("cut-off", [&[0][..], &bytes[..bytes.len() - 1]].concat()),
        ("file-and-ranges", sealed(&[&file, &range(0, 0, 1 << 20), &range(0, 5 << 20, 6 << 20)])),
        ("range-of-nothing", sealed(&[&file, &range(0, 9, 9)])),
        ("range-past-the-end", sealed(&[&file, &range(0, 0, (9 << 20) + 1)])),
        ("range-of-no-file", sealed(&[&file, &range(1, 0, 1)])),
        ("ranges-overlapping", sealed(&[&file, &range(0, 0, 10), &range(0, 5, 15)])),
        ("climbing-place", sealed(&[&climbing])),
        ("undamaged", changed(0, u16::MAX, 0)),
        ("byte-changed", changed(0, 70, 4)),
        ("shortened", changed(1, 70, 0)),
    ]
}

fn pairings() -> Vec<(&'static str, Vec<u8>)> {
    let chosen = |choice: u8, rest: &[u8]| [&[choice], rest].concat();
    let mut reply = pake_message().as_bytes().to_vec();
    reply[0] = b'B';
    let stranger = |message: &[u8]| [&[9; 4], message, &[8; 32]].concat();
    vec![
        ("typed-code", chosen(0, b"42-river-castle")),
        ("typed-prefixes", chosen(0, b" 042 RIVE_cast\n")),
        ("typed-phrase", chosen(0, b"correct horse battery staple")),
        ("stranger-answers", chosen(1, &stranger(&reply))),
        ("stranger-dials", chosen(2, &stranger(pake_message().as_bytes()))),
        ("nothing-changed", chosen(3, &[0xff, 0xff, 1, 2, 3, 4])),
        ("start-changed", chosen(3, &[100, 0])),
        ("reply-changed", chosen(3, &[0x50, 1])),
        ("last-confirmation-changed", chosen(3, &[0x20, 3])),
        ("three-wrong-tries", chosen(4, &[1, 2, 1, 1, 2, 1, 1, 2, 1, 1])),
        ("success", chosen(4, &[1, 2, 0, 1, 1, 2, 2, 1])),
        ("expiry", chosen(4, &[1, 0, 0xff, 0xff, 0, 0xff, 0xff, 2, 0, 1])),
    ]
}

/// Choices of `run_sender`: 0 passes a message on, 7 makes a call, numbered as there.
const SEND: [u8; 11] = [7, 0, 0, 7, 1, 7, 2, 7, 4, 0, 0];
/// The same with verification, up to the end of the sending.
const SEND_PROVEN: [u8; 5] = [7, 0x84, 0, 7, 4];
/// Hello, and a request for the receipt of an earlier session.
const ASK: [u8; 3] = [0, 7, 0x42];
const NOBODY_KNOWN: u8 = 0;
const BOTH_KNOWN: u8 = 3;
const NO_CODE: u8 = 4;
const WRONG_CODE: u8 = 8;
const PROVES: u8 = 16;

const NOT_KNOWN_HERE: u8 = 2;

/// The choice that inserts a made-up message.
fn forged(message: &Message) -> Vec<u8> {
    let payload = payload(message);
    [&[3][..], &(payload.len() as u16).to_le_bytes(), &payload].concat()
}

fn sender_sessions() -> Vec<(&'static str, Vec<u8>)> {
    let receipt = |proven| forged(&Message::Receipt(Receipt { there: counts(), proven, ..Receipt::default() }));
    let proof_so_far = forged(&Message::Proving(Progress { entries: 1, bytes: 2 }));
    let paired = forged(&Message::Paired);
    let turned_away = forged(&Message::Refused(Refusal::PairingBusy(500)));
    let kept = forged(&Message::EntryKept(EntryKept { path: b"a/b".to_vec(), beside: b"b (2)".to_vec() }));
    let pair = [0, 0, 0, 0];
    let answered = forged(&Message::Answered { number: 0, answer: Answer::Refused(NoAnswer::Busy) });
    let answer =
        forged(&Message::Wanted(Wanted { list: 0, files: vec![true], has: stretches(), basis: 0, kept: vec![] }));
    vec![
        ("pair-and-send", [&[NOBODY_KNOWN][..], &pair, &SEND].concat()),
        ("known-and-send", [&[BOTH_KNOWN][..], &[0], &SEND].concat()),
        ("listed", [&[BOTH_KNOWN, 0, 7, 0, 7, 0xd1][..], &[0, 0]].concat()),
        ("list-answered", [&[BOTH_KNOWN, 0, 7, 0, 0][..], &answer, &[7, 4, 0, 0]].concat()),
        ("list-answered-late", [&[BOTH_KNOWN, 0, 7, 0, 0, 7, 4][..], &answer].concat()),
        ("wrong-code", [&[WRONG_CODE][..], &pair].concat()),
        ("no-code", vec![NO_CODE, 0]),
        ("confirmation-changed", vec![NOBODY_KNOWN, 0, 0, 4, 9, 0, 1]),
        ("replayed-reply", vec![NOBODY_KNOWN, 0, 0, 5]),
        ("silence", vec![NOBODY_KNOWN, 6, 0xff, 0x0f, 6, 0xff, 0xff]),
        ("silence-later", vec![BOTH_KNOWN, 0, 6, 0xff, 0x0f, 6, 0xff, 0xff]),
        ("forged-paired", [&[NOBODY_KNOWN, 0][..], &paired].concat()),
        ("early-receipt", [&[BOTH_KNOWN, 0, 7, 0, 0][..], &receipt(None)].concat()),
        ("send-with-proof", [&[BOTH_KNOWN, 0][..], &SEND_PROVEN, &[0, 0]].concat()),
        ("proof-missing", [&[BOTH_KNOWN, 0][..], &SEND_PROVEN, &receipt(None)].concat()),
        ("proof-not-asked-for", [&[BOTH_KNOWN, 0, 7, 0, 0, 7, 4][..], &receipt(Some(proven()))].concat()),
        ("proof-so-far-not-asked-for", [&[BOTH_KNOWN, 0, 7, 0, 0, 7, 4][..], &proof_so_far].concat()),
        ("proof-so-far-early", [&[BOTH_KNOWN, 0, 7, 0x84, 0][..], &proof_so_far].concat()),
        ("known-to-a-stranger", vec![NOT_KNOWN_HERE | NO_CODE, 0]),
        ("no-earlier-receipt", [&[BOTH_KNOWN][..], &ASK, &[0], &SEND].concat()),
        ("earlier-receipt", [&[BOTH_KNOWN][..], &ASK, &receipt(None)].concat()),
        ("turned-away-from-a-receipt", [&[BOTH_KNOWN][..], &ASK, &turned_away].concat()),
        ("get-and-ask", [&[BOTH_KNOWN, 0, 7, 0x20][..], &[0, 7, 0xc8, 7, 0, 0, 0, 7, 0xc8, 0, 7, 4]].concat()),
        ("answer-to-nothing-beside-a-get", [&[BOTH_KNOWN, 0, 7, 0x20, 0, 7, 0][..], &answered].concat()),
        ("entry-kept", [&[BOTH_KNOWN, 0, 7, 0, 0][..], &kept, &[7, 4, 0]].concat()),
    ]
}

fn receiver_sessions() -> Vec<(&'static str, Vec<u8>)> {
    let greet = [0, 7, 0];
    let pair = [0, 7, 0, 0, 7, 0, 0, 7, 0];
    let offered = forged(&Message::Offer(offer(false)));
    let finish = forged(&Message::Finish { sent: counts(), failed: 0, lanes: 1 });
    let wanted = forged(&Message::ReceiptWanted([9; 16]));
    let long = forged(&Message::Offer(Offer { more_names: 2, ..offer(false) }));
    let into_share = forged(&Message::Offer(offer_into_share()));
    let page = |name: &[u8]| forged(&Message::OfferNames(vec![name.to_vec()]));
    let listed = forged(&Message::OfferListing(listing()));
    let got = forged(&Message::Get(get()));
    let asked = |number| forged(&Message::Asked { number, question: question() });
    let more = forged(&Message::MorePages { number: 0, pages: 1 });
    let accepted = forged(&Message::Accept(Accept { lanes: 1, lists: false, doubts: None, owner_names: false }));
    let receipt = forged(&Message::Receipt(Receipt { there: counts(), ..Receipt::default() }));
    let beside = [&[BOTH_KNOWN][..], &greet, &got, &[7, 0x40], &asked(0), &[7, 0xc4], &more, &accepted].concat();
    let receive = [0, 7, 2, 7, 4, 7, 5, 7, 6, 0, 0, 7, 0];
    vec![
        ("pair-and-receive", [&[NOBODY_KNOWN][..], &greet, &pair, &receive].concat()),
        ("known-and-receive", [&[BOTH_KNOWN][..], &greet, &receive].concat()),
        ("lists-answered", [&[BOTH_KNOWN][..], &greet, &[0, 7, 0x40, 7, 0xc7, 0, 0, 7, 0]].concat()),
        ("receive-with-proof", [&[BOTH_KNOWN | PROVES][..], &greet, &[0, 7, 2, 0, 0, 7, 0xb7, 7, 0]].concat()),
        ("wrong-code", [&[WRONG_CODE][..], &greet, &pair].concat()),
        ("no-code", [&[NO_CODE][..], &greet, &[0]].concat()),
        ("start-changed", [&[NOBODY_KNOWN][..], &greet, &[4, 5, 0, 1, 7, 0]].concat()),
        ("confirmation-changed", [&[NOBODY_KNOWN][..], &greet, &[0, 7, 0, 4, 9, 0, 1]].concat()),
        ("silence", vec![NOBODY_KNOWN, 6, 0xff, 0xff]),
        ("silence-later", [&[BOTH_KNOWN][..], &greet, &[0, 7, 0, 6, 0xff, 0x0f, 6, 0xff, 0xff]].concat()),
        ("strangers-offer", [&[NO_CODE][..], &greet, &offered].concat()),
        ("second-offer", [&[BOTH_KNOWN][..], &greet, &[0], &offered].concat()),
        ("early-finish", [&[BOTH_KNOWN][..], &greet, &[0], &finish].concat()),
        ("asked-beside-a-get", [&beside[..], &asked(1), &[7, 0x44], &asked(2), &[7, 0xc4], &receipt].concat()),
        ("asked-twice-beside-a-get", [&beside[..], &asked(0)].concat()),
        ("asked-before-the-offer", [&[BOTH_KNOWN][..], &greet, &got, &asked(0)].concat()),
        ("declined", [&[BOTH_KNOWN][..], &greet, &[0, 7, 0xf0]].concat()),
        ("share-refused", [&[BOTH_KNOWN][..], &greet, &into_share, &[7, 0xe0]].concat()),
        ("no-share-to-refuse", [&[BOTH_KNOWN][..], &greet, &[0, 7, 0xe0, 7, 2]].concat()),
        ("no-earlier-receipt", [&[BOTH_KNOWN][..], &greet, &wanted, &[7, 0, 0, 7, 2]].concat()),
        ("listed", [&[BOTH_KNOWN][..], &greet, &[0], &listed, &[7, 2], &listed].concat()),
        ("names-in-pages", [&[BOTH_KNOWN][..], &greet, &long, &page(b"e"), &page(b"f"), &[7, 2]].concat()),
        ("names-out-of-order", [&[BOTH_KNOWN][..], &greet, &long, &page(b"f"), &page(b"e")].concat()),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::TARGETS;
    use super::super::lane_stream::stream;
    use super::super::sessions::{run_receiver, run_sender};
    use super::*;

    fn seed(target: &str, name: &str) -> Vec<u8> {
        seeds().into_iter().find(|seed| (seed.0, seed.1.as_str()) == (target, name)).expect("a seed").2
    }

    #[test]
    fn every_target_has_seeds_and_takes_them() {
        for (name, target) in TARGETS {
            let seeds: Vec<_> = seeds().into_iter().filter(|seed| seed.0 == name).collect();
            assert!(!seeds.is_empty(), "{name}");
            seeds.iter().for_each(|seed| target(&seed.2));
        }
    }

    #[test]
    fn streams_get_as_far_as_their_seeds_say() {
        for (name, plain, proven) in [
            ("batch-and-ranges", 4, 0),
            ("list-and-the-rest-of-it", 3, 0),
            ("proven-stream", 0, 5),
            ("proven-ranges-end-first", 0, 5),
            ("proven-batch-short-of-a-digest", 0, 0),
        ] {
            let seed = seed("lane_stream", name);
            assert_eq!((stream(&seed, false), stream(&seed, true)), (plain, proven), "{name}");
        }
    }

    #[test]
    fn sessions_get_as_far_as_their_seeds_say() {
        for (name, reached) in [
            ("pair-and-send", 4),
            ("known-and-send", 4),
            ("list-answered", 4),
            ("list-answered-late", 3),
            ("send-with-proof", 4),
            ("proof-missing", 3),
            ("proof-not-asked-for", 3),
            ("proof-so-far-not-asked-for", 3),
            ("proof-so-far-early", 3),
            ("wrong-code", 0),
            ("no-code", 0),
            ("no-earlier-receipt", 4),
            ("earlier-receipt", 4),
            ("turned-away-from-a-receipt", 2),
            ("get-and-ask", 4),
            ("answer-to-nothing-beside-a-get", 3),
        ] {
            assert_eq!(run_sender(&seed("sender_session", name)), reached, "{name}");
        }
        for (name, reached) in [
            ("pair-and-receive", 4),
            ("known-and-receive", 4),
            ("lists-answered", 4),
            ("receive-with-proof", 4),
            ("wrong-code", 0),
            ("declined", 3),
            ("no-earlier-receipt", 3),
            ("names-in-pages", 3),
            ("names-out-of-order", 0),
        ] {
            assert_eq!(run_receiver(&seed("receiver_session", name)), reached, "{name}");
        }
    }
}
