//! What the tests write and read: any valid value of each kind.
use std::num::NonZeroU64;

use proptest::collection::vec;
use proptest::prelude::*;
use ringway_model::{Compression, DeclineReason, Delta, Pattern, ShareName, ShareThere, ShareTrouble, Shortage};
use ringway_wire::control::{
    Accept, Answer, BytesPage, Cancel, EntriesWanted, EntryFailed, EntryKept, FileState, Get, GetPath, GetRefusal,
    Hello, InShare, Message, Micros, NoAnswer, NoteHead, NotePage, Offer, PathCodes, PlannedCounts, PlannedEntry,
    PlannedKind, PlannedPage, Progress, Proven, Purpose, Question, RangeWanted, Receipt, ReceiverTimes, Refusal,
    SenderTimes, Ticket, Totals, Wanted,
};
use ringway_wire::entries::{self, Depth, EntriesPage, EntriesWriter, FolderEntry};
use ringway_wire::lane::{
    Attributes, Counts, DIGEST_LEN, Digest, Entry, EntryKind, FrameHeader, HeadBuffer, OwnerNames, RangeHead,
    RangeStep, Timestamp,
};
use ringway_wire::limits::{
    ENTRIES_MAX, LANES_MAX, NOTE_LEN_MAX, OFFERED_NAMES_MAX, PAGES_AHEAD_MAX, RANGE_BYTES_MAX, SELECTED_PATHS_MAX,
};
use ringway_wire::listing::{ListedEntry, ListedKind, ListingEnd, ListingPage, ListingWriter};
use ringway_wire::stretches::Stretches;
use ringway_wire::{DeviceName, Name, RelPath};

pub(crate) fn name() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 1..=255).prop_filter("a name", |bytes| Name::new(bytes).is_ok())
}

fn path() -> impl Strategy<Value = Vec<u8>> {
    vec(name(), 0..8).prop_map(|names| names.join(&b'/'))
}

fn shortage() -> impl Strategy<Value = Shortage> {
    any::<(u64, u64, u64)>().prop_map(|(needed, free, entries)| Shortage { needed, free, entries })
}

fn totals() -> impl Strategy<Value = Totals> {
    (progress(), any::<bool>()).prop_map(|(Progress { entries, bytes }, complete)| Totals { entries, bytes, complete })
}

fn progress() -> impl Strategy<Value = Progress> {
    (entries(), any::<u64>()).prop_map(|(entries, bytes)| Progress { entries, bytes })
}

fn entries() -> impl Strategy<Value = u64> {
    0..=ENTRIES_MAX
}

fn counts() -> impl Strategy<Value = Counts> {
    (entries(), entries(), entries(), any::<u64>()).prop_map(|(files, folders, links, bytes)| Counts {
        files,
        folders,
        links,
        bytes,
    })
}

fn micros() -> impl Strategy<Value = Micros> {
    (0..=1u64 << 56).prop_map(|micros| Micros::new(micros).unwrap())
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let many = (any::<u32>(), vec((any::<bool>(), any::<bool>()), 1..=4096)).prop_map(|(list, files)| {
        let (files, kept): (Vec<_>, Vec<_>) = files.iter().map(|(wanted, kept)| (*wanted, !wanted && *kept)).unzip();
        let kept = if kept.contains(&true) { kept } else { Vec::new() };
        Wanted { list, files, has: Stretches::default(), basis: 0, kept }
    });
    let parts = vec((1..1u64 << 40, 1..1u64 << 40), 0..=409);
    let one = (any::<u32>(), parts, 0..=i64::MAX as u64).prop_map(|(list, parts, basis)| {
        let (mut has, mut end) = (Stretches::default(), 0);
        for (gap, len) in parts {
            has.add(end + gap, end + gap + len);
            end += gap + len;
        }
        Wanted { list, files: vec![true], has, basis, kept: Vec::new() }
    });
    prop_oneof![many, one]
}

fn get() -> impl Strategy<Value = Get> {
    let paths = vec((prop_oneof![path(), Just(Vec::new())], any::<bool>()), 1..=7)
        .prop_map(|paths| paths.into_iter().map(|(path, contents_only)| GetPath { path, contents_only }).collect());
    let delta = prop_oneof![Just(Delta::Auto), Just(Delta::On), Just(Delta::Off)];
    let compression = prop_oneof![Just(Compression::Auto), Just(Compression::Off)];
    let numbers = (any::<[u8; 16]>(), any::<[u64; 2]>(), any::<u32>());
    let patterns = vec((any::<bool>(), vec(any::<u8>(), 0..=40)), 0..=9).prop_map(|patterns| {
        let pattern = |(out, text)| if out { Pattern::Exclude(text) } else { Pattern::Include(text) };
        patterns.into_iter().map(pattern).collect()
    });
    let plan = (any::<u32>(), 1..=PAGES_AHEAD_MAX).prop_map(|(number, pages)| Purpose::Plan { number, pages });
    let purpose = prop_oneof![Just(Purpose::Transfer), plan];
    let selection = (patterns, prop::option::of(0..=SELECTED_PATHS_MAX as u32), purpose);
    (numbers, "[a-z]{1,64}", paths, 1..=LANES_MAX, any::<bool>(), (compression, delta), selection).prop_map(
        |((transfer, [limit, records], retry_s), share, paths, lanes, prove, (compression, delta), selection)| Get {
            transfer,
            share: ShareName::new(&share).unwrap(),
            paths,
            lanes,
            prove,
            compression,
            delta,
            limit: NonZeroU64::new(limit),
            records_per_key: NonZeroU64::new(records),
            retry_s,
            patterns: selection.0,
            selected: selection.1,
            purpose: selection.2,
        },
    )
}

/// Counts up to those of the receipt, and a duration.
fn proof() -> impl Strategy<Value = Option<(u64, u64, Micros)>> {
    prop::option::of((any::<u64>(), any::<u64>(), micros()))
}

pub(crate) fn message() -> impl Strategy<Value = Message> {
    let hello = ("[a-z]{1,64}", any::<(u16, bool, bool)>()).prop_map(|(name, (version, known, pairing))| {
        Message::Hello(Hello { version, name: DeviceName::new(&name).unwrap(), known, pairing })
    });
    let asked = any::<(bool, u32)>();
    let path_in_share = prop_oneof![path(), Just(Vec::new())];
    let in_share = (share_name(), path_in_share).prop_map(|(share, path)| InShare { share, path });
    let asked = (asked, prop::option::of(in_share));
    let offer = (any::<[u8; 16]>(), vec(name(), 0..=64), 0..=OFFERED_NAMES_MAX as u64, totals(), 1..=16u8, asked)
        .prop_map(|(transfer, names, more_names, so_far, lanes, ((prove, retry_s), in_share))| {
            Message::Offer(Offer { transfer, names, more_names, so_far, lanes, prove, retry_s, in_share })
        });
    let failed = (path(), any::<(u8, u8, i32)>()).prop_map(|(path, (operation, reason, errno))| {
        Message::EntryFailed(EntryFailed { path, operation, reason, errno })
    });
    prop_oneof![
        hello,
        offer,
        vec(name(), 1..=64).prop_map(Message::OfferNames),
        listing().prop_map(Message::OfferListing),
        any::<[u8; 16]>().prop_map(Message::ReceiptWanted),
        Just(Message::NoReceipt),
        get().prop_map(Message::Get),
        vec(prop_oneof![path(), Just(Vec::new())], 1..=64).prop_map(Message::Selected),
        (any::<[u8; 16]>(), 1..=NOTE_LEN_MAX as u32).prop_map(|(id, len)| Message::Note(NoteHead { id, len })),
        vec(any::<u8>(), 1..=999).prop_map(|bytes| Message::NotePage(NotePage::new(&bytes))),
        Just(Message::NoteKept),
        any::<u32>().prop_map(|wait_ms| Message::Decline(DeclineReason::TooManyNotes { wait_ms })),
        any::<(u16, i32)>().prop_map(|(path, errno)| Message::GetRefused(GetRefusal::Path(path, errno))),
        (any::<u32>(), question()).prop_map(|(number, question)| Message::Asked { number, question }),
        (any::<u32>(), answer()).prop_map(|(number, answer)| Message::Answered { number, answer }),
        (any::<u32>(), 1..=PAGES_AHEAD_MAX).prop_map(|(number, pages)| Message::MorePages { number, pages }),
        any::<u32>().prop_map(|number| Message::NotWanted { number }),
        (1..=u32::MAX).prop_map(|place| Message::Queued(place.try_into().unwrap())),
        failed,
        totals().prop_map(Message::Totals),
        (1..=16u8, any::<Option<Option<i64>>>(), any::<bool>()).prop_map(|(lanes, lists, owner_names)| {
            Message::Accept(Accept { lanes, lists: lists.is_some(), doubts: lists.flatten(), owner_names })
        }),
        wanted().prop_map(Message::Wanted),
        shortage().prop_map(|shortage| Message::Decline(DeclineReason::NoRoom(shortage))),
        any::<u32>().prop_map(|wait| Message::Refused(Refusal::PairingBusy(wait))),
        any::<(u8, i32, u8, i32)>().prop_map(|(tls, tls_errno, io, io_errno)| Message::PathTaken(PathCodes {
            tls,
            tls_errno,
            io,
            io_errno
        })),
        progress().prop_map(Message::Progress),
        (counts(), entries(), 1..=LANES_MAX).prop_map(|(sent, failed, lanes)| Message::Finish { sent, failed, lanes }),
        (path(), name()).prop_map(|(path, beside)| Message::EntryKept(EntryKept { path, beside })),
        (counts(), (entries(), any::<u64>(), any::<u64>(), entries()), (entries(), any::<[u64; 2]>()), proof())
            .prop_map(|(there, (unchanged, reused, edited, failed), (skipped, [moved, skipped_bytes]), proof)| {
                let of = |all: u64, share: u64| (u128::from(all) * u128::from(share) / u128::from(u64::MAX)) as u64;
                let proven = proof.map(|(files, bytes, took)| Proven {
                    files: of(there.files, files),
                    bytes: of(there.bytes, bytes),
                    took,
                });
                let edited = of(there.files, edited);
                Message::Receipt(Receipt {
                    there,
                    moved,
                    unchanged,
                    skipped,
                    skipped_bytes,
                    reused,
                    edited,
                    failed,
                    acls_lost: unchanged,
                    owners_by_number: skipped,
                    proven,
                })
            }),
        progress().prop_map(Message::Proving),
        shortage().prop_map(|shortage| Message::Cancel(Cancel::DestinationFull(shortage))),
        Just(Message::Cancel(Cancel::ConnectionLost)),
        Just(Message::Cancel(Cancel::Paused)),
        Just(Message::Cancel(Cancel::NotShared)),
        Just(Message::Decline(DeclineReason::Paused)),
        any::<u64>().prop_map(|bytes_max| Message::Cancel(Cancel::TooMuch(bytes_max))),
        (micros(), micros(), micros(), micros(), micros()).prop_map(
            |(finding, reading, encrypting, sending, limited)| {
                Message::SenderTimes(SenderTimes { finding, reading, encrypting, sending, limited })
            }
        ),
        (micros(), micros(), micros()).prop_map(|(receiving, decrypting, writing)| {
            Message::ReceiverTimes(ReceiverTimes { receiving, decrypting, writing })
        }),
        any::<([u8; 16], u8, u16, [u8; 32])>().prop_map(|(transfer, lane, connection, ticket)| Message::LaneJoin {
            transfer,
            lane,
            connection,
            ticket: Ticket(ticket)
        }),
    ]
}

fn share_name() -> impl Strategy<Value = ShareName> {
    "[a-zA-Z0-9 ._-]{1,64}".prop_filter_map("a name", |text| ShareName::new(&text).ok())
}

fn question() -> impl Strategy<Value = Question> {
    let depth = prop_oneof![Just(Depth::Itself), Just(Depth::Folder), Just(Depth::Tree)];
    let entries = (share_name(), path(), depth, prop::option::of(moment()), 1..=PAGES_AHEAD_MAX).prop_map(
        |(share, path, depth, changed_since, pages)| {
            Question::Entries(EntriesWanted { share, path, depth, changed_since, pages })
        },
    );
    let range = (share_name(), path(), any::<u64>(), 1..=RANGE_BYTES_MAX)
        .prop_map(|(share, path, offset, len)| Question::Range(RangeWanted { share, path, offset, len }));
    prop_oneof![Just(Question::Shares), entries, range]
}

fn moment() -> impl Strategy<Value = Timestamp> {
    (any::<i64>(), 0..1_000_000_000_u32).prop_map(|(secs, nanos)| Timestamp { secs, nanos })
}

fn bytes_page() -> impl Strategy<Value = BytesPage> {
    let file = (0..=i64::MAX as u64, moment()).prop_map(|(size, mtime)| FileState { size, mtime });
    prop_oneof![
        vec(any::<u8>(), 1..200).prop_map(BytesPage::more),
        (vec(any::<u8>(), 0..200), file).prop_map(|(bytes, file)| BytesPage::last(bytes, file)),
    ]
}

fn answer() -> impl Strategy<Value = Answer> {
    let trouble = || prop::sample::select(&ShareTrouble::ALL[..]);
    let share = (share_name(), any::<bool>(), prop::option::of(trouble()), prop::option::of(trouble()))
        .prop_map(|(name, drop, unavailable, drop_trouble)| ShareThere { name, drop, unavailable, drop_trouble });
    let refused = prop_oneof![
        Just(NoAnswer::NotShared),
        trouble().prop_map(NoAnswer::Unavailable),
        any::<i32>().prop_map(NoAnswer::Path),
        Just(NoAnswer::Busy),
    ];
    prop_oneof![
        vec(share, 0..20).prop_map(Answer::Shares),
        entries_page().prop_map(Answer::Entries),
        bytes_page().prop_map(Answer::Bytes),
        refused.prop_map(Answer::Refused),
        planned_page().prop_map(Answer::Planned),
        Just(Answer::NotPlanned(GetRefusal::TooSlow)),
    ]
}

fn planned_page() -> impl Strategy<Value = PlannedPage> {
    let kinds = prop::sample::select(&[PlannedKind::Folder, PlannedKind::File, PlannedKind::Link][..]);
    let moves = (kinds, path()).prop_map(|(kind, path)| PlannedEntry::Moves(kind, path));
    let fails = (path(), any::<(u8, u8, i32)>()).prop_map(|(path, (operation, reason, errno))| {
        PlannedEntry::Fails(EntryFailed { path, operation, reason, errno })
    });
    let numbers = (0..=ENTRIES_MAX, 0..=ENTRIES_MAX, any::<u64>());
    let counts = numbers.prop_map(|(excluded, failed, bytes)| {
        let sent = Counts { files: failed, folders: excluded, links: 1, bytes };
        PlannedCounts { sent, excluded, failed }
    });
    (vec(prop_oneof![moves, fails], 1..9), prop::option::of(counts))
        .prop_map(|(entries, counts)| PlannedPage { entries, counts })
}

/// A page of a shared folder, whose paths share what they happen to share.
pub(crate) fn entries_page() -> impl Strategy<Value = EntriesPage> {
    let kind = prop::sample::select(&ringway_model::EntryKind::ALL[..]);
    let fields = (kind, 0..=0o7777u16, 0..=i64::MAX as u64, any::<i64>(), 0..1_000_000_000u32, "[a-z/.]{1,300}");
    let entry = (vec("[ab]{1,2}", 1..6), prop::result::maybe_err(fields, any::<i32>()));
    (vec(entry, 1..20), any::<bool>()).prop_map(|(entries, is_last)| {
        let mut writer = EntriesWriter::default();
        for (names, what) in entries {
            let path = names.join("/");
            let what = what.as_ref().map_err(|errno| *errno).map(|(kind, mode, size, secs, nanos, target)| {
                let target: &[u8] = if *kind == ringway_model::EntryKind::Link { target.as_bytes() } else { b"" };
                entries::Attributes { kind: *kind, mode: *mode, size: *size, secs: *secs, nanos: *nanos, target }
            });
            let path = RelPath::new(path.as_bytes()).unwrap();
            assert!(writer.push(&FolderEntry { path, what }).is_none());
        }
        writer.page(is_last)
    })
}

/// A page of a listing, whose paths share what they happen to share.
pub(crate) fn listing() -> impl Strategy<Value = ListingPage> {
    let kind = prop_oneof![
        Just(ListedKind::Folder),
        (0..=i64::MAX as u64, any::<i64>(), 0..1_000_000_000u32).prop_map(|(size, secs, nanos)| ListedKind::File {
            size,
            secs,
            nanos
        }),
        any::<[u8; 8]>().prop_map(|target| ListedKind::Link { target }),
    ];
    let ends = prop_oneof![Just(ListingEnd::More), Just(ListingEnd::Complete), Just(ListingEnd::Cut)];
    (vec((vec("[ab]{1,2}", 1..6), kind), 1..20), ends).prop_map(|(entries, end)| {
        let mut writer = ListingWriter::default();
        for (names, kind) in entries {
            let path = names.join("/");
            let path = RelPath::new(path.as_bytes()).unwrap();
            assert!(writer.push(&ListedEntry { path, kind }).is_none());
        }
        writer.page(end)
    })
}

pub(crate) fn encoded(message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    bytes
}

pub(crate) fn file(size: u64) -> Entry<'static> {
    Entry {
        name: Name::new(b"big").unwrap(),
        kind: EntryKind::File { size, link_id: None },
        attributes: Attributes::default(),
        xattrs: Default::default(),
    }
}

/// A window of chunks of a file of `size` bytes that begins at `offset`.
pub(crate) fn window(size: u64, offset: u64, lens: &[u32]) -> (FrameHeader, HeadBuffer) {
    let mut head = HeadBuffer::default();
    let of = RangeHead {
        stamp: 0,
        file_id: 7,
        offset,
        step: RangeStep::More,
        folder: RelPath::new(b"a/b").unwrap(),
        entry: file(size),
        owner_names: OwnerNames::default(),
    };
    head.begin_chunks(3, &of);
    lens.iter().zip((0..=u8::MAX).cycle()).for_each(|(len, byte)| head.chunk(*len, Digest([byte; DIGEST_LEN])));
    (head.chunks_header(), head)
}
