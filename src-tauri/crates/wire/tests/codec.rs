//! The codec from a peer's side: what is written is read back, and no input can do harm.
use std::num::NonZeroU64;

use proptest::collection::vec;
use proptest::prelude::*;
use ringway_model::{Compression, DeclineReason, Delta, Pattern, ShareName, ShareThere, ShareTrouble, Shortage};
use ringway_wire::control::{
    Accept, Answer, BytesPage, Cancel, EntriesWanted, EntryFailed, EntryKept, FRAME_PREFIX_LEN, FileState, Get,
    GetPath, GetRefusal, Hello, InShare, Message, Micros, NoAnswer, NoteHead, NotePage, Offer, PathCodes,
    PlannedCounts, PlannedEntry, PlannedKind, PlannedPage, Progress, Proven, Purpose, Question, RangeWanted, Receipt,
    ReceiverTimes, Refusal, SenderTimes, Ticket, Totals, Wanted,
};
use ringway_wire::entries::{self, Depth, EntriesPage, EntriesWriter, FolderEntry};
use ringway_wire::lane::{
    Attributes, Batch, ChunkLens, ChunkWindow, Counts, DIGEST_LEN, Digest, Entry, EntryKind, FileList, FrameHeader,
    FrameKind, HEADER_LEN, HeadBuffer, Item, Owner, OwnerKind, OwnerNames, OwnerNamesBuffer, RangeHead, RangeStep,
    Timestamp, XattrBuffer,
};
use ringway_wire::ledger::{Ledger, RangedState};
use ringway_wire::limits::{
    CHUNKED_SIZE_MIN, CONTROL_FRAME_MAX, ENTRIES_MAX, ENTRIES_PAGE_LEN_MAX, GET_PATHS_BYTES_MAX, GET_PATHS_MAX,
    GET_PATTERNS_BYTES_MAX, GET_PATTERNS_MAX, LANE_BODY_MAX, LANES_MAX, LISTING_PAGE_BYTES_MAX,
    LISTING_PAGE_ENTRIES_MAX, NOTE_LEN_MAX, NOTE_PAGE_BYTES_MAX, OFFER_NAMES_MAX, OFFERED_NAMES_MAX,
    OFFERED_PAGE_BYTES_MAX, OPEN_RANGED_MAX, PAGES_AHEAD_MAX, RANGE_BYTES_MAX, SELECTED_PATHS_MAX, SHARES_MAX,
};
use ringway_wire::listing::{ListedEntry, ListedKind, ListingEnd, ListingPage, ListingWriter};
use ringway_wire::stretches::Stretches;
use ringway_wire::{DeviceName, Name, ProtocolError, RelPath};

fn name() -> impl Strategy<Value = Vec<u8>> {
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

fn message() -> impl Strategy<Value = Message> {
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
    let share = (share_name(), any::<bool>(), prop::option::of(trouble()))
        .prop_map(|(name, drop, unavailable)| ShareThere { name, drop, unavailable });
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
fn entries_page() -> impl Strategy<Value = EntriesPage> {
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
fn listing() -> impl Strategy<Value = ListingPage> {
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

fn encoded(message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    bytes
}

proptest! {
    #[test]
    fn listing_of_any_bytes_has_safe_paths_or_is_refused(bytes in vec(any::<u8>(), 0..300)) {
        if let Ok(Message::OfferListing(page)) = Message::decode(&[&[31][..], &bytes].concat()) {
            let mut entries = 0;
            page.each(|entry| {
                entries += 1;
                assert!(!entry.path.is_root() && RelPath::new(entry.path.as_bytes()).is_ok());
                true
            });
            prop_assert_eq!(entries, page.len());
        }
    }

    #[test]
    fn altered_pages_of_a_folder_lead_nowhere_else(
        page in entries_page(), at in any::<prop::sample::Index>(), flipped in 1..=u8::MAX,
    ) {
        let answer = Answer::Entries(page);
        let mut payload = encoded(&Message::Answered { number: 0, answer }).split_off(FRAME_PREFIX_LEN);
        let at = 1 + at.index(payload.len() - 1);
        payload[at] ^= flipped;
        if let Ok(Message::Answered { answer: Answer::Entries(page), .. }) = Message::decode(&payload) {
            page.each(|entry| {
                let path = entry.path.as_bytes();
                assert!(path.is_empty() || path.split(|byte| *byte == b'/').all(|name| Name::new(name).is_ok()));
                assert!(entry.what.is_err() || entry.what.is_ok_and(|there| there.mode <= 0o7777));
            });
        }
    }

    #[test]
    fn changed_listing_has_safe_paths_or_is_refused(
        page in listing(), at in any::<prop::sample::Index>(), flipped in 1..=u8::MAX,
    ) {
        let mut payload = encoded(&Message::OfferListing(page)).split_off(FRAME_PREFIX_LEN);
        let at = 1 + at.index(payload.len() - 1);
        payload[at] ^= flipped;
        if let Ok(Message::OfferListing(page)) = Message::decode(&payload) {
            page.each(|entry| {
                let path = entry.path.as_bytes();
                assert!(!path.is_empty() && path.split(|byte| *byte == b'/').all(|name| Name::new(name).is_ok()));
                true
            });
        }
    }

    #[test]
    fn a_message_is_read_back_as_written(message in message()) {
        let bytes = encoded(&message);
        let (prefix, payload) = bytes.split_first_chunk::<FRAME_PREFIX_LEN>().unwrap();
        prop_assert_eq!(Message::payload_len(*prefix).unwrap(), payload.len());
        prop_assert_eq!(Message::decode(payload).unwrap(), message);
    }

    #[test]
    fn truncated_messages_and_trailing_bytes_are_refused(message in message(), cut in any::<prop::sample::Index>()) {
        let bytes = encoded(&message);
        let payload = &bytes[FRAME_PREFIX_LEN..];
        let longer = [payload, b"x"].concat();
        // The bytes of a part of a file reach to the end of the frame: more are a page, too.
        if let Message::Answered { answer: Answer::Bytes(page), .. } = &message {
            let Ok(Message::Answered { answer: Answer::Bytes(other), .. }) = Message::decode(&longer) else {
                panic!("a page that is longer by a byte was refused");
            };
            prop_assert_eq!((other.bytes(), other.file()), (&[page.bytes(), b"x"].concat()[..], page.file()));
            return Ok(());
        }
        prop_assert!(Message::decode(&payload[..cut.index(payload.len())]).is_err());
        prop_assert!(Message::decode(&longer).is_err());
    }

    #[test]
    fn any_bytes_are_a_message_or_an_error(bytes in vec(any::<u8>(), 0..400)) {
        if let Ok(message) = Message::decode(&bytes) {
            prop_assert_eq!(&encoded(&message)[FRAME_PREFIX_LEN..], &bytes[..]);
        }
    }

    #[test]
    fn any_bytes_are_a_head_or_an_error(header in any::<[u8; HEADER_LEN]>(), head in vec(any::<u8>(), 0..2000)) {
        let mut header = header;
        header[0] = 1 + header[0] % 2;
        header[1..4].fill(0);
        header[6..8].fill(0);
        if let Ok(header) = FrameHeader::decode(header) {
            if let Ok(batch) = Batch::parse(&header, &head) {
                prop_assert_eq!(batch.items().count(), header.items as usize);
            }
            if let Ok(range) = RangeHead::parse(&header, &head) {
                prop_assert!(range.offset.checked_add(header.body_len.into()).is_some());
            }
            if let Ok(batch) = Batch::parse_proven(&header, &head) {
                let files = batch.counts().files as usize;
                prop_assert!(files == 0 || batch.digest(files - 1).is_some());
                prop_assert_eq!(batch.digest(files), None);
            }
            let _ = RangeHead::parse_proven(&header, &head);
            if let Ok(window) = ChunkWindow::parse(&header, &head) {
                prop_assert_eq!(window.chunks().count(), header.items as usize);
            }
        }
    }

    #[test]
    fn a_batch_is_read_back_as_written(entries in vec((name(), 0..3u8, any::<u32>(), any::<i64>(), 0..500u64), 1..40)) {
        let mut head = HeadBuffer::default();
        let mut xattrs = XattrBuffer::default();
        prop_assert!(xattrs.push(b"user.a", b"value"));
        head.folder(RelPath::new(b"a/b").unwrap());
        let written: Vec<_> = entries.iter().map(|(name, kind, uid, secs, size)| Entry {
            name: Name::new(name).unwrap(),
            kind: match kind {
                0 => EntryKind::File { size: *size, link_id: (uid % 2 == 0).then_some(*size) },
                1 => EntryKind::Symlink { target: b"../../etc/passwd" },
                _ => EntryKind::HardLink { link_id: *size, last: uid % 2 == 0 },
            },
            attributes: Attributes { mode: 0o4755, uid: *uid, gid: 7, mtime: Timestamp { secs: *secs, nanos: 999_999_999 } },
            xattrs: xattrs.as_xattrs(),
        }).collect();
        written.iter().for_each(|entry| head.entry(entry));
        let header = head.batch_header(head.counts().bytes as usize);
        let header = FrameHeader::decode(header.encode()).unwrap();
        let batch = Batch::parse(&header, head.as_bytes()).unwrap();
        prop_assert_eq!(batch.counts(), head.counts());
        let mut at = 0;
        let mut read = Vec::new();
        for item in batch.items().skip(1) {
            let Item::Entry(entry, body) = item else { panic!("a folder came out of nowhere") };
            prop_assert_eq!(body.start, at);
            at = body.end;
            read.push(entry);
        }
        prop_assert_eq!(read, written);
    }

    #[test]
    fn a_window_is_read_back_as_written(
        lens in vec(1..=32_768u32 * 4, 1..60), offset in 0..4u64 << 20, cut in any::<prop::sample::Index>(),
    ) {
        let (header, head) = window(CHUNKED_SIZE_MIN * 2, offset, &lens);
        prop_assert_eq!(FrameHeader::decode(header.encode()), Ok(header));
        prop_assert_eq!(head.counts(), Counts::default());
        let read = ChunkWindow::parse(&header, head.as_bytes()).unwrap();
        prop_assert_eq!((read.number(), read.len(), read.head().file_id, read.head().offset), (3, lens.len(), 7, offset));
        let mut at = offset;
        for ((range, digest), (len, byte)) in read.chunks().zip(lens.iter().zip(0..)) {
            prop_assert_eq!(range, at..at + u64::from(*len));
            prop_assert_eq!(digest, Digest([byte; DIGEST_LEN]));
            at += u64::from(*len);
        }
        prop_assert_eq!(read.range(), offset..at);
        prop_assert!(ChunkWindow::parse(&header, &head.as_bytes()[..cut.index(head.as_bytes().len())]).is_err());
    }

    #[test]
    fn each_file_of_a_proven_batch_has_exactly_one_digest(kinds in vec((any::<bool>(), any::<u8>()), 0..60)) {
        let mut head = HeadBuffer::default();
        head.folder(RelPath::ROOT);
        let mut digests = Vec::new();
        for (is_file, byte) in kinds {
            let kind = if is_file { EntryKind::File { size: 0, link_id: None } } else { EntryKind::Symlink { target: b"x" } };
            head.entry(&Entry { kind, ..file(0) });
            if is_file {
                digests.push(Digest([byte; DIGEST_LEN]));
                head.digest(digests[digests.len() - 1]);
            }
        }
        let header = head.batch_header(0);
        let batch = Batch::parse_proven(&header, head.as_bytes()).unwrap();
        let read: Vec<_> = (0..).map_while(|number| batch.digest(number)).collect();
        prop_assert_eq!(&read, &digests);
        // If nothing is to be proven, any digest is too many. Otherwise one too few or too many is
        // refused.
        prop_assert_eq!(Batch::parse(&header, head.as_bytes()).is_ok(), digests.is_empty());
        let longer = [head.as_bytes(), &[7; DIGEST_LEN]].concat();
        prop_assert_eq!(Batch::parse_proven(&header, &longer).err(), Some(ProtocolError::Trailing));
        if !digests.is_empty() {
            let fewer = &head.as_bytes()[..head.as_bytes().len() - DIGEST_LEN];
            prop_assert_eq!(Batch::parse_proven(&header, fewer).err(), Some(ProtocolError::Truncated));
        }
    }
}

#[test]
fn a_proven_list_has_a_digest_for_each_file() {
    let mut head = HeadBuffer::default();
    head.begin_list(5);
    head.folder(RelPath::ROOT);
    for byte in 1..4 {
        head.entry(&file(1 << 40));
        head.digest(Digest([byte; DIGEST_LEN]));
    }
    let header = head.list_header();
    let list = FileList::parse_proven(&header, head.as_bytes()).unwrap();
    assert_eq!((list.number(), list.len()), (5, 3));
    assert_eq!((list.digest(0), list.digest(2)), (Some(Digest([1; DIGEST_LEN])), Some(Digest([3; DIGEST_LEN]))));
    assert_eq!(list.digest(3), None);
    assert_eq!(FileList::parse(&header, head.as_bytes()).err(), Some(ProtocolError::Trailing));
    let fewer = &head.as_bytes()[..head.as_bytes().len() - 1];
    assert_eq!(FileList::parse_proven(&header, fewer).err(), Some(ProtocolError::Truncated));
    let more = [head.as_bytes(), &[0; DIGEST_LEN]].concat();
    assert_eq!(FileList::parse_proven(&header, &more).err(), Some(ProtocolError::Trailing));
}

#[test]
fn a_proven_range_has_one_digest_and_a_plain_one_none() {
    let mut head = HeadBuffer::default();
    let range = RangeHead {
        stamp: 0,
        file_id: 1,
        offset: 5,
        step: RangeStep::More,
        folder: RelPath::ROOT,
        entry: file(100),
        owner_names: OwnerNames::default(),
    };
    let header = head.proven_range(&range, 20, Digest([9; DIGEST_LEN]));
    assert_eq!(header.head_len as usize, head.as_bytes().len());
    assert_eq!(RangeHead::parse_proven(&header, head.as_bytes()), Ok((range, Digest([9; DIGEST_LEN]))));
    assert_eq!(RangeHead::parse(&header, head.as_bytes()).err(), Some(ProtocolError::Trailing));
    let longer = [head.as_bytes(), b"x"].concat();
    assert_eq!(RangeHead::parse_proven(&header, &longer).err(), Some(ProtocolError::Trailing));
    let header = head.range(&range, 20);
    assert_eq!(RangeHead::parse_proven(&header, head.as_bytes()).err(), Some(ProtocolError::Truncated));
}

#[test]
fn a_head_full_of_files_has_room_for_their_digests() {
    let mut xattrs = XattrBuffer::default();
    assert!(xattrs.push(b"user.a", &[7; 60_000]));
    let mut head = HeadBuffer::default();
    head.folder(RelPath::ROOT);
    while head.has_room() {
        head.entry(&Entry { xattrs: xattrs.as_xattrs(), ..file(0) });
        head.digest(Digest([1; DIGEST_LEN]));
        // With a small attribute, the digests are what fills the head.
        xattrs = XattrBuffer::default();
    }
    assert!(FrameHeader::decode(head.batch_header(0).encode()).is_ok());
}

fn user(id: u32) -> Owner {
    Owner::new(OwnerKind::User, id).unwrap()
}

fn group(id: u32) -> Owner {
    Owner::new(OwnerKind::Group, id).unwrap()
}

#[test]
fn names_of_owners_are_read_back_from_each_kind_of_head() {
    let mut names = OwnerNamesBuffer::default();
    names.push(user(1000), "alice");
    names.push(user(1000), "somebody else");
    names.push(group(1000), "EXAMPLE\\domain users");
    // What the wire does not take is left out.
    for name in ["", "a/b", "a:b", "a\nb", "a\0b", "a\u{7f}b", &"x".repeat(257)] {
        names.push(user(7), name);
    }
    let wanted = [(user(1000), "alice"), (group(1000), "EXAMPLE\\domain users")];
    assert_eq!(names.as_names().iter().collect::<Vec<_>>(), wanted);

    let mut head = HeadBuffer::default();
    head.folder(RelPath::ROOT);
    head.entry(&file(0));
    wanted.iter().for_each(|(owner, name)| head.owner_names().push(*owner, name));
    head.digest(Digest([1; DIGEST_LEN]));
    let header = head.batch_header(0);
    let batch = Batch::parse_proven(&header, head.as_bytes()).unwrap();
    assert_eq!(batch.owner_names().iter().collect::<Vec<_>>(), wanted);
    assert_eq!(batch.digest(0), Some(Digest([1; DIGEST_LEN])));
    // A second header of the same head is the same.
    assert_eq!(head.batch_header(0), header);

    head.begin_list(5);
    head.folder(RelPath::ROOT);
    head.entry(&file(1 << 40));
    wanted.iter().for_each(|(owner, name)| head.owner_names().push(*owner, name));
    let header = head.list_header();
    let list = FileList::parse(&header, head.as_bytes()).unwrap();
    assert_eq!(list.owner_names().iter().collect::<Vec<_>>(), wanted);

    let of = RangeHead {
        stamp: 0,
        file_id: 1,
        offset: 5,
        step: RangeStep::More,
        folder: RelPath::ROOT,
        entry: file(CHUNKED_SIZE_MIN),
        owner_names: names.as_names(),
    };
    let header = head.range(&of, 20);
    assert_eq!(RangeHead::parse(&header, head.as_bytes()), Ok(of));
    head.begin_chunks(3, &of);
    head.chunk(32 * 1024, Digest([7; DIGEST_LEN]));
    let window = ChunkWindow::parse(&head.chunks_header(), head.as_bytes()).unwrap();
    assert_eq!(*window.head(), of);
    assert_eq!(window.chunks().count(), 1);
}

#[test]
fn nobody_is_named_by_number_0_and_no_name_is_any_text() {
    assert_eq!(Owner::new(OwnerKind::User, 0), None);
    assert_eq!(Owner::new(OwnerKind::Group, u32::MAX), None);
    let mut head = HeadBuffer::default();
    head.folder(RelPath::ROOT);
    head.owner_names().push(user(0x0102_0304), "alice");
    let header = head.batch_header(0);
    let with = |from: &[u8], to: &[u8]| {
        let whole = head.as_bytes();
        let at = whole.windows(from.len()).position(|part| part == from).unwrap();
        let mut changed = whole.to_vec();
        changed[at..at + to.len()].copy_from_slice(to);
        Batch::parse(&header, &changed).err()
    };
    let id = &[4, 3, 2, 1][..];
    assert_eq!(with(id, id), None);
    for nobody in [[0; 4], [0xff; 4]] {
        assert_eq!(with(id, &nobody), Some(ProtocolError::BadValue("owner")));
    }
    assert_eq!(with(&[0, 4, 3, 2, 1], &[2]), Some(ProtocolError::Unknown { what: "owner", value: 2 }));
    for name in [b"al/ce", b"al:ce", b"al\nce", b"al\0ce"] {
        assert_eq!(with(b"alice", name), Some(ProtocolError::BadValue("owner name")), "{name:?}");
    }
    assert_eq!(with(b"alice", b"al\xffce"), Some(ProtocolError::BadText));
    let is_too_many = |error| matches!(error, Some(ProtocolError::TooLarge { what: "names of users and groups", .. }));
    assert!(is_too_many(with(&[1, 0, 0, 4], &[1, 5])));
    assert_eq!(with(&[1, 0, 0, 4], &[2, 0]), Some(ProtocolError::Truncated));
}

#[test]
fn a_head_full_of_access_control_lists_has_room_for_their_names() {
    let name = |id: u32| format!("{id}{}", "x".repeat(240));
    let mut head = HeadBuffer::default();
    head.name_owners();
    head.folder(RelPath::ROOT);
    let mut entries = 0;
    while head.has_room() {
        // Each names 248 users whom no other one names.
        for id in 1..=248 {
            let owner = user(entries * 1_000 + id);
            head.owner_names().push(owner, &name(id));
            assert!(head.owner_names().has(owner));
        }
        head.entry(&file(0));
        entries += 1;
    }
    assert!(entries > 1);
    let header = FrameHeader::decode(head.batch_header(0).encode()).unwrap();
    let batch = Batch::parse(&header, head.as_bytes()).unwrap();
    assert_eq!(batch.owner_names().iter().count() as u32, entries * 248);
}

#[test]
fn more_than_is_there_cannot_be_proven() {
    let there = Counts { files: 3, bytes: 10, ..Counts::default() };
    let receipt = |files, bytes| {
        let proven = Some(Proven { files, bytes, took: Micros::MAX });
        let bytes = encoded(&Message::Receipt(Receipt { there, proven, ..Receipt::default() }));
        Message::decode(&bytes[FRAME_PREFIX_LEN..]).map(drop)
    };
    assert_eq!(receipt(3, 10), Ok(()));
    assert_eq!(receipt(4, 10), Err(ProtocolError::BadValue("proof")));
    assert_eq!(receipt(3, 11), Err(ProtocolError::BadValue("proof")));
}

#[test]
fn kept_entries_are_bounded_by_the_entries_beside_them() {
    let there = Counts { files: 2, links: 1, ..Counts::default() };
    let receipt = |edited| {
        let bytes = encoded(&Message::Receipt(Receipt { there, edited, ..Receipt::default() }));
        Message::decode(&bytes[FRAME_PREFIX_LEN..]).map(drop)
    };
    assert_eq!(receipt(3), Ok(()));
    assert_eq!(receipt(4), Err(ProtocolError::BadValue("kept entries")));
    assert!(matches!(receipt(u64::MAX), Err(ProtocolError::TooLarge { what: "kept entries", .. })));
}

#[test]
fn a_kept_entry_has_a_path_beneath_and_a_name() {
    let read = |path: &[u8], beside: &[u8]| {
        let kept = EntryKept { path: path.to_vec(), beside: beside.to_vec() };
        Message::decode(&encoded(&Message::EntryKept(kept))[FRAME_PREFIX_LEN..]).is_ok()
    };
    assert!(read(b"album/p2.jpg", b"p2 (1).jpg"));
    for (path, beside) in [(&b"/etc/x"[..], &b"x"[..]), (b"a/../b", b"x"), (b"a", b"b/c"), (b"a", b".."), (b"a", b"")] {
        assert!(!read(path, beside), "{path:?} {beside:?}");
    }
}

#[test]
fn counters_beyond_the_number_of_inodes_are_refused() {
    let over = ENTRIES_MAX + 1;
    let counts = |files, folders, links| Counts { files, folders, links, bytes: u64::MAX };
    let refused = [
        Message::Progress(Progress { entries: over, bytes: 0 }),
        Message::Proving(Progress { entries: over, bytes: 0 }),
        Message::Totals(Totals { entries: over, ..Totals::default() }),
        Message::Finish { sent: Counts::default(), failed: over, lanes: 1 },
        Message::Finish { sent: counts(over, 0, 0), failed: 0, lanes: 1 },
        Message::Finish { sent: counts(0, over, 0), failed: 0, lanes: 1 },
        Message::Finish { sent: counts(0, 0, over), failed: 0, lanes: 1 },
        Message::Receipt(Receipt { failed: u64::MAX, ..Receipt::default() }),
        Message::Receipt(Receipt { unchanged: over, ..Receipt::default() }),
    ];
    for message in refused {
        let decoded = Message::decode(&encoded(&message)[FRAME_PREFIX_LEN..]);
        assert!(matches!(decoded, Err(ProtocolError::TooLarge { limit: ENTRIES_MAX, .. })), "{message:?}: {decoded:?}");
    }
    let most = Message::Finish { sent: counts(ENTRIES_MAX, ENTRIES_MAX, ENTRIES_MAX), failed: ENTRIES_MAX, lanes: 1 };
    assert_eq!(Message::decode(&encoded(&most)[FRAME_PREFIX_LEN..]), Ok(most));
}

fn file(size: u64) -> Entry<'static> {
    Entry {
        name: Name::new(b"big").unwrap(),
        kind: EntryKind::File { size, link_id: None },
        attributes: Attributes::default(),
        xattrs: Default::default(),
    }
}

/// A ledger that is fed ranges by numbers.
#[derive(Default)]
struct Book {
    ledger: Ledger,
    head: HeadBuffer,
}

impl Book {
    fn range(
        &mut self,
        id: u64,
        size: u64,
        offset: u64,
        len: usize,
        step: RangeStep,
    ) -> Result<RangedState, ProtocolError> {
        let head = RangeHead {
            stamp: 0,
            file_id: id,
            offset,
            step,
            folder: RelPath::ROOT,
            entry: file(size),
            owner_names: OwnerNames::default(),
        };
        let header = FrameHeader::decode(self.head.range(&head, len).encode())?;
        let parsed = RangeHead::parse(&header, self.head.as_bytes())?;
        self.ledger.range(&header, &parsed).map(|verdict| verdict.state)
    }
}

fn last(data_bytes: u64) -> RangeStep {
    RangeStep::Last { data_bytes }
}

fn abandoned(data_bytes: u64) -> RangeStep {
    RangeStep::Abandoned { data_bytes }
}

#[test]
fn ranges_in_any_order_make_a_whole_file() {
    let mut book = Book::default();
    assert_eq!(book.range(0, 100, 50, 50, last(100)), Ok(RangedState::Partial));
    assert_eq!(book.range(0, 100, 0, 20, RangeStep::More), Ok(RangedState::Partial));
    assert_eq!(book.range(0, 100, 20, 30, RangeStep::More), Ok(RangedState::Whole));
    assert_eq!(book.ledger.settle(&Counts { files: 1, bytes: 100, ..Counts::default() }), Ok(()));
}

#[test]
fn holes_need_not_be_sent() {
    let mut book = Book::default();
    assert_eq!(book.range(0, 300 << 30, 0, 0, last(0)), Ok(RangedState::Whole));
    assert_eq!(book.range(1, 300 << 30, 200 << 30, 4096, last(4096)), Ok(RangedState::Whole));
}

#[test]
fn ranges_that_do_not_fit_are_refused() {
    let why = |result: Result<RangedState, ProtocolError>| match result {
        Err(ProtocolError::Range { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    let begun = || {
        let mut book = Book::default();
        book.range(0, 100, 10, 20, RangeStep::More).unwrap();
        book
    };
    assert_eq!(why(begun().range(0, 100, 15, 5, RangeStep::More)), "overlapping");
    assert_eq!(why(begun().range(0, 100, 0, 11, RangeStep::More)), "overlapping");
    assert_eq!(why(begun().range(0, 100, 29, 5, RangeStep::More)), "overlapping");
    assert_eq!(why(begun().range(0, 100, 5, 90, RangeStep::More)), "overlapping");
    assert_eq!(why(begun().range(0, 101, 30, 5, RangeStep::More)), "its size changed");
    assert_eq!(why(begun().range(0, 100, 90, 11, RangeStep::More)), "past the end of the file");
    assert_eq!(why(begun().range(0, 100, u64::MAX, 11, RangeStep::More)), "past the end of the file");
    assert_eq!(why(begun().range(0, 100, 30, 0, RangeStep::More)), "empty");
    assert_eq!(why(begun().range(0, 100, 30, 5, last(24))), "more bytes than declared");
    assert_eq!(why(begun().range(0, 100, 30, 5, last(101))), "more data than size");
    assert_eq!(why(begun().range(0, 100, 30, 5, abandoned(25))), "abandoned with contents");
    let mut twice = begun();
    twice.range(0, 100, 30, 5, last(100)).unwrap();
    assert_eq!(why(twice.range(0, 100, 40, 5, last(100))), "two ends");
    twice = begun();
    twice.range(0, 100, 0, 0, last(100)).unwrap();
    assert_eq!(why(twice.range(0, 100, 0, 0, abandoned(100))), "two ends");
    assert_eq!(why(begun().range(0, 100, 0, 0, abandoned(19))), "more bytes than declared");
    assert_eq!(why(begun().range(0, 100, 0, 0, abandoned(101))), "more data than size");
    let mut over = Book::default();
    over.range(0, 4, 0, 4, last(4)).unwrap();
    assert_eq!(why(over.range(0, 4, 0, 4, last(4))), "the file has ended");
}

#[test]
fn a_given_up_file_has_ended() {
    let mut book = Book::default();
    book.range(0, 100, 0, 20, RangeStep::More).unwrap();
    assert_eq!(book.range(0, 100, 0, 0, abandoned(20)), Ok(RangedState::Abandoned));
    assert_eq!(book.ledger.settle(&Counts { bytes: 20, ..Counts::default() }), Ok(()));
    let refused = book.range(0, 100, 20, 5, RangeStep::More);
    assert_eq!(refused, Err(ProtocolError::Range { id: 0, why: "the file has ended" }));
}

#[test]
fn a_given_up_file_waits_for_ranges_on_other_lanes() {
    let mut book = Book::default();
    assert_eq!(book.range(0, 100, 0, 0, abandoned(30)), Ok(RangedState::Partial));
    assert_eq!(book.range(0, 100, 70, 10, RangeStep::More), Ok(RangedState::Partial));
    let missing = Err(ProtocolError::Range { id: 0, why: "missing" });
    assert_eq!(book.ledger.settle(&Counts { bytes: 10, ..Counts::default() }), missing);
    assert_eq!(book.range(0, 100, 0, 20, RangeStep::More), Ok(RangedState::Abandoned));
    assert_eq!(book.ledger.settle(&Counts { bytes: 30, ..Counts::default() }), Ok(()));
    // No range of the next file arrived.
    assert_eq!(book.range(1, 100, 0, 0, abandoned(0)), Ok(RangedState::Abandoned));
}

#[test]
fn missing_ranges_are_noticed_at_the_end() {
    let mut book = Book::default();
    book.range(3, 100, 0, 20, RangeStep::More).unwrap();
    assert_eq!(book.ledger.settle(&Counts::default()), Err(ProtocolError::Range { id: 3, why: "missing" }));
    let found = Book::default().ledger.settle(&Counts { links: 1, ..Counts::default() });
    assert_eq!(found, Err(ProtocolError::Totals { what: "links", declared: 1, found: 0 }));
}

#[test]
fn a_peer_cannot_make_the_ledger_grow() {
    let mut book = Book::default();
    for id in 0..OPEN_RANGED_MAX as u64 {
        book.range(id, 10, 0, 1, RangeStep::More).unwrap();
    }
    assert!(matches!(book.range(1_000, 10, 0, 1, RangeStep::More), Err(ProtocolError::TooLarge { .. })));
    let mut scattered = Book::default();
    let refused = (0..).find(|id| scattered.range(id * 2, 4, 0, 4, last(4)).is_err());
    assert!(refused.unwrap() <= 2 * OPEN_RANGED_MAX as u64);
    let mut pieces = Book::default();
    let refused = (0..).find(|piece| pieces.range(0, 1 << 40, piece * 2, 1, RangeStep::More).is_err());
    assert!(refused.unwrap() <= ringway_wire::limits::RANGE_PIECES_MAX as u64);
}

#[test]
fn headers_beyond_the_limits_are_refused() {
    let header = |items: u32, head: u32, body: u32| {
        let mut bytes = [0; HEADER_LEN];
        bytes[0] = 1;
        bytes[4..8].copy_from_slice(&items.to_le_bytes());
        bytes[8..12].copy_from_slice(&head.to_le_bytes());
        bytes[12..16].copy_from_slice(&body.to_le_bytes());
        FrameHeader::decode(bytes)
    };
    assert!(header(1, 100, LANE_BODY_MAX as u32).is_ok());
    for (items, head, body) in [(1, u32::MAX, 0), (1, 0, u32::MAX), (u32::MAX, 0, 0), (0, 0, 0)] {
        assert!(header(items, head, body).is_err());
    }
    assert!(Message::payload_len(u32::MAX.to_le_bytes()).is_err());
    assert!(Message::payload_len([0; 4]).is_err());
}

/// Bytes that are no component of a path. Only the first two of them are valid paths.
fn no_names() -> Vec<Vec<u8>> {
    let mut bad =
        [&b""[..], b"a/b", b".", b"..", b"/", b"/etc", b"a/", b"a//b", b"a/..", b"a\0b"].map(Vec::from).to_vec();
    bad.push(vec![b'x'; 256]);
    bad
}

#[test]
fn an_offer_has_names_and_nothing_else() {
    let read = |name: Vec<u8>| {
        let names = vec![b"good".to_vec(), name];
        let (transfer, so_far) = ([7; 16], Totals::default());
        let offer =
            Offer { transfer, names, more_names: 0, so_far, lanes: 1, prove: false, retry_s: 0, in_share: None };
        Message::decode(&encoded(&Message::Offer(offer))[FRAME_PREFIX_LEN..])
    };
    assert!(read(vec![b'x'; 255]).is_ok() && read(b"a..b".to_vec()).is_ok());
    for name in no_names() {
        assert!(read(name.clone()).is_err(), "{:?}", name.escape_ascii().to_string());
    }
}

#[test]
fn place_of_an_offer_stays_beneath_its_share() {
    let read = |path: Vec<u8>| {
        let in_share = Some(InShare { share: ShareName::new("inbox").unwrap(), path });
        let (transfer, names, so_far) = ([7; 16], vec![b"x".to_vec()], Totals::default());
        let offer = Offer { transfer, names, more_names: 0, so_far, lanes: 1, prove: false, retry_s: 0, in_share };
        Message::decode(&encoded(&Message::Offer(offer))[FRAME_PREFIX_LEN..])
    };
    for good in [&b""[..], b"a", b"a/b c/\xff", b"..."] {
        assert!(read(good.to_vec()).is_ok(), "{:?}", good.escape_ascii().to_string());
    }
    // The empty path is the share itself, and the second one is a path.
    for bad in no_names().into_iter().skip(2).chain([b"../x".to_vec(), b"a/./b".to_vec(), vec![b'/'; 4_096]]) {
        assert!(read(bad.clone()).is_err(), "{:?}", bad.escape_ascii().to_string());
    }
    let long = |parts: usize| [b"x".repeat(254), b"/".to_vec()].concat().repeat(parts);
    let with = |mut path: Vec<u8>, more: usize| {
        path.extend(b"y".repeat(more));
        path
    };
    assert!(read(with(long(16), 15)).is_ok());
    assert!(matches!(read(with(long(16), 16)), Err(ProtocolError::TooLarge { what: "path", .. })));
    // A name that no share has.
    let offer = Offer {
        transfer: [7; 16],
        names: vec![b"x".to_vec()],
        more_names: 0,
        so_far: Totals::default(),
        lanes: 1,
        prove: false,
        retry_s: 0,
        in_share: Some(InShare { share: ShareName::new("inbox").unwrap(), path: Vec::new() }),
    };
    let whole = encoded(&Message::Offer(offer)).split_off(FRAME_PREFIX_LEN);
    let at = whole.len() - 2 - "inbox".len();
    for bad in [*b"a/b..", *b"in:ox", *b"in\x1box", *b" nbox", *b"40000"] {
        let forged = [&whole[..at], &bad[..], &whole[at + bad.len()..]].concat();
        assert_eq!(Message::decode(&forged), Err(ProtocolError::BadText), "{bad:?}");
    }
}

#[test]
fn offer_beyond_its_limits_is_refused() {
    let names = |count: usize| (0..count).map(|number| format!("{number:05}").into_bytes()).collect::<Vec<_>>();
    let most = Offer {
        transfer: [7; 16],
        names: names(OFFER_NAMES_MAX),
        more_names: OFFERED_NAMES_MAX as u64,
        so_far: Totals::default(),
        lanes: LANES_MAX,
        prove: true,
        retry_s: u32::MAX,
        in_share: Some(InShare { share: ShareName::new(&"x".repeat(64)).unwrap(), path: vec![b'a'; 255] }),
    };
    let read = |offer: Offer| Message::decode(&encoded(&Message::Offer(offer))[FRAME_PREFIX_LEN..]);
    assert_eq!(read(most.clone()), Ok(Message::Offer(most.clone())));
    let too_large = |what, value, limit: usize| Err(ProtocolError::TooLarge { what, value, limit: limit as u64 });
    let one_more = Offer { names: names(OFFER_NAMES_MAX + 1), ..most.clone() };
    assert_eq!(read(one_more), too_large("offered names", OFFER_NAMES_MAX as u64 + 1, OFFER_NAMES_MAX));
    for more_names in [OFFERED_NAMES_MAX as u64 + 1, u64::MAX] {
        let refused = read(Offer { more_names, ..most.clone() });
        assert_eq!(refused, too_large("number of offered names", more_names, OFFERED_NAMES_MAX));
    }
    assert_eq!(read(Offer { lanes: 0, ..most.clone() }), Err(ProtocolError::BadValue("lanes")));
    let lanes = LANES_MAX + 1;
    assert_eq!(read(Offer { lanes, ..most }), too_large("lanes", lanes.into(), LANES_MAX.into()));
}

#[test]
fn page_of_names_beyond_its_limits_is_refused() {
    let page = |count: usize| [&[26][..], &(count as u16).to_le_bytes(), &[1, 0, b'x'].repeat(count)].concat();
    let read = |count| Message::decode(&page(count));
    assert_eq!(read(0), Err(ProtocolError::BadValue("offered names")));
    assert_eq!(read(1), Ok(Message::OfferNames(vec![b"x".to_vec()])));
    let (value, limit) = (OFFERED_PAGE_BYTES_MAX as u64 + 1, OFFERED_PAGE_BYTES_MAX as u64);
    let refused = Err(ProtocolError::TooLarge { what: "offered names", value, limit });
    assert_eq!(read(OFFERED_PAGE_BYTES_MAX + 1), refused);
    // The frame's limit bounds their length.
    let len = |bytes: usize| Message::payload_len((bytes as u32).to_le_bytes());
    assert_eq!(len(CONTROL_FRAME_MAX), Ok(CONTROL_FRAME_MAX));
    let (value, limit) = (CONTROL_FRAME_MAX as u64 + 1, CONTROL_FRAME_MAX as u64);
    assert_eq!(len(CONTROL_FRAME_MAX + 1), Err(ProtocolError::TooLarge { what: "control message", value, limit }));
}

#[test]
fn page_of_a_listing_beyond_its_limits_is_refused() {
    // Each shares its whole path with the one before, so that a small frame has many entries.
    let page = |count: usize, end: u8| {
        let first = [&[0, 0, 1, 0, b'x'][..], &[0]].concat();
        let next = [1, 0, 0, 0, 0].repeat(count.saturating_sub(1));
        let entries = if count == 0 { Vec::new() } else { [first, next].concat() };
        Message::decode(&[&[31, end][..], &(count as u16).to_le_bytes(), &entries].concat())
    };
    assert_eq!(page(0, 0), Err(ProtocolError::BadValue("listed entries")), "pages without end");
    assert!(page(0, 1).is_ok() && page(0, 2).is_ok() && page(LISTING_PAGE_ENTRIES_MAX, 0).is_ok());
    assert_eq!(page(1, 3), Err(ProtocolError::BadValue("end of a listing")));
    let (value, limit) = (LISTING_PAGE_ENTRIES_MAX as u64 + 1, LISTING_PAGE_ENTRIES_MAX as u64);
    let refused = Err(ProtocolError::TooLarge { what: "listed entries", value, limit });
    assert_eq!(page(LISTING_PAGE_ENTRIES_MAX + 1, 0), refused);
    let long = [&[31, 0, 1, 0][..], &vec![0; LISTING_PAGE_BYTES_MAX + 1]].concat();
    assert!(matches!(Message::decode(&long), Err(ProtocolError::TooLarge { what: "length of a listing", .. })));
    let file = |size: u64, nanos: u32| {
        let fields = [&size.to_le_bytes()[..], &0i64.to_le_bytes(), &nanos.to_le_bytes()].concat();
        Message::decode(&[&[31, 1, 1, 0, 0, 0, 1, 0, b'x', 1][..], &fields].concat())
    };
    assert!(file(i64::MAX as u64, 999_999_999).is_ok());
    assert!(file(1 << 63, 0).is_err() && file(0, 1_000_000_000).is_err());
}

#[test]
fn questions_that_lead_out_of_a_share_are_refused() {
    let asked = |share: &[u8], path: &[u8], depth: u8, pages: u8| {
        let lengths = [share.len() as u8, 0, path.len() as u8, 0];
        let before = [&[40, 1, 0, 0, 0, 1][..], &lengths[..2], share, &lengths[2..], path].concat();
        Message::decode(&[&before[..], &[depth, pages, 0]].concat())
    };
    assert!(asked(b"runs", b"a/b", 1, 1).is_ok() && asked(b"runs", b"", 0, PAGES_AHEAD_MAX).is_ok());
    for path in [&b".."[..], b"/etc", b"a/../b", b"a/..", b"./a", b"a//b", b"a/", b"a\0"] {
        assert_eq!(asked(b"runs", path, 1, 1), Err(ProtocolError::BadName), "{path:?}");
    }
    for share in [&b""[..], b"..", b"a/b", b"ru\nns", b"ru\x1b[2Jns", b"\xff", b"../x", b"17"] {
        assert_eq!(asked(share, b"a", 1, 1), Err(ProtocolError::BadText), "{share:?}");
    }
    for pages in [0, PAGES_AHEAD_MAX + 1, u8::MAX] {
        assert_eq!(asked(b"runs", b"a", 1, pages), Err(ProtocolError::BadValue("pages")));
        assert!(Message::decode(&[42, 0, 0, 0, 0, pages]).is_err());
    }
    assert_eq!(asked(b"runs", b"a", 3, 1), Err(ProtocolError::Unknown { what: "depth", value: 3 }));
    let many = Message::decode(&[&[41, 0, 0, 0, 0, 0][..], &(SHARES_MAX as u16 + 1).to_le_bytes()].concat());
    assert!(matches!(many, Err(ProtocolError::TooLarge { what: "shares", .. })), "{many:?}");
}

#[test]
fn a_failure_names_a_path_beneath() {
    let read = |path: Vec<u8>| {
        let failed = EntryFailed { path, operation: 1, reason: 0, errno: 13 };
        Message::decode(&encoded(&Message::EntryFailed(failed))[FRAME_PREFIX_LEN..])
    };
    let (mut fit, bad) = (no_names(), no_names().split_off(2));
    fit.truncate(2);
    assert!(fit.into_iter().all(|path| read(path).is_ok()), "the transfer itself, and an entry of a folder");
    for path in bad {
        assert!(read(path.clone()).is_err(), "{:?}", path.escape_ascii().to_string());
    }
    assert!(read([&b"a/"[..], &[b'x'; 256]].concat()).is_err(), "a name too long");
    assert!(read([b'x', b'/'].repeat(2048)).is_err(), "a path too long");
}

#[test]
fn a_packed_body_is_shorter_than_what_it_holds() {
    let header = |kind: FrameKind, packed_len: u32, body_len: u32| {
        let items = u32::from(matches!(kind, FrameKind::Batch | FrameKind::Range));
        let header = FrameHeader { kind, items, head_len: 0, body_len, packed_len };
        FrameHeader::decode(header.encode()).map(|decoded| assert_eq!(decoded, header))
    };
    let longest = LANE_BODY_MAX as u32;
    for kind in [FrameKind::Batch, FrameKind::Range] {
        assert_eq!(header(kind, longest - 1, longest), Ok(()));
        assert_eq!(header(kind, 1, 2), Ok(()));
        for (packed_len, body_len) in [(longest, longest), (1, 0), (7, 7), ((1 << 24) - 1, longest)] {
            assert_eq!(header(kind, packed_len, body_len), Err(ProtocolError::BadValue("packed body")));
        }
    }
    for kind in [FrameKind::End, FrameKind::Renew, FrameKind::List] {
        assert!(header(kind, 1, 2).is_err());
    }
}

#[test]
fn a_list_names_files_of_any_size_and_nothing_else() {
    let mut head = HeadBuffer::default();
    let written = [file(1 << 40), file(0)];
    let listed = |head: &mut HeadBuffer| {
        head.begin_list(7);
        head.folder(RelPath::new(b"a").unwrap());
        written.iter().for_each(|entry| head.entry(entry));
    };
    listed(&mut head);
    let header = FrameHeader::decode(head.list_header().encode()).unwrap();
    let list = FileList::parse(&header, head.as_bytes()).unwrap();
    assert_eq!((list.number(), list.len(), head.counts()), (7, 2, Counts::default()));
    assert!(list.files().eq(written.iter().map(|entry| (RelPath::new(b"a").unwrap(), *entry))));

    let refused = |head: &mut HeadBuffer| {
        let header = head.list_header();
        FileList::parse(&header, head.as_bytes()).map(drop)
    };
    listed(&mut head);
    head.folder_with_attributes(RelPath::new(b"a").unwrap(), &Attributes::default(), Default::default());
    assert_eq!(refused(&mut head), Err(ProtocolError::BadValue("listed entry")));
    listed(&mut head);
    head.entry(&Entry { kind: EntryKind::Symlink { target: b"x" }, ..file(0) });
    assert_eq!(refused(&mut head), Err(ProtocolError::BadValue("listed entry")));
    head.begin_list(7);
    head.folder(RelPath::ROOT);
    assert_eq!(refused(&mut head), Err(ProtocolError::BadValue("list without files")));
    head.begin_list(7);
    head.entry(&file(0));
    assert_eq!(refused(&mut head), Err(ProtocolError::BadValue("entry before its folder")));
    let with_contents = FrameHeader { body_len: 1, ..header };
    assert_eq!(FrameHeader::decode(with_contents.encode()), Err(ProtocolError::BadValue("list with contents")));
}

#[test]
fn an_answer_to_a_list_has_one_encoding() {
    let payload = |wanted| encoded(&Message::Wanted(wanted))[FRAME_PREFIX_LEN..].to_vec();
    let wanted = |kept| Wanted { list: 1, files: vec![true, false, true], has: Stretches::default(), basis: 0, kept };
    let mut bytes = payload(wanted(vec![false, true, false]));
    assert_eq!((bytes[7], bytes.last()), (0b101, Some(&0b10)));
    // Flags that are refused: no file stays, a wanted one stays, or one stays that was not listed.
    for kept in [0, 0b1, 0b11, 0b1010] {
        *bytes.last_mut().unwrap() = kept;
        assert_eq!(Message::decode(&bytes), Err(ProtocolError::BadValue("answer to a list")), "{kept:b}");
    }
    let mut bytes = payload(wanted(Vec::new()));
    bytes[7] |= 0b1000;
    assert_eq!(Message::decode(&bytes), Err(ProtocolError::BadValue("answer to a list")));
    for (len, allowed) in [(0u16, false), (4096, true), (4097, false)] {
        let bytes = [&[24, 1, 0, 0, 0][..], &len.to_le_bytes(), &vec![0; usize::from(len).div_ceil(8) + 11]].concat();
        assert_eq!(Message::decode(&bytes).is_ok(), allowed, "{len} files");
    }
}

#[test]
fn chunks_are_looked_for_only_where_one_file_is_wanted() {
    let answer = |files: &[bool], basis| {
        let wanted = Wanted { list: 1, files: files.to_vec(), has: Stretches::default(), basis, kept: Vec::new() };
        Message::decode(&encoded(&Message::Wanted(wanted))[FRAME_PREFIX_LEN..]).map(drop)
    };
    assert_eq!(answer(&[true], i64::MAX as u64), Ok(()));
    for (files, basis) in [(&[false][..], 1), (&[true, true], 1), (&[true], 1 << 63)] {
        assert_eq!(answer(files, basis), Err(ProtocolError::BadValue("answer to a list")), "{files:?} {basis}");
    }
}

/// A window of chunks of a file of `size` bytes that begins at `offset`.
fn window(size: u64, offset: u64, lens: &[u32]) -> (FrameHeader, HeadBuffer) {
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

fn read_window(size: u64, offset: u64, lens: &[u32]) -> Result<std::ops::Range<u64>, ProtocolError> {
    let (header, head) = window(size, offset, lens);
    let header = FrameHeader::decode(header.encode())?;
    ChunkWindow::parse(&header, head.as_bytes()).map(|window| window.range())
}

#[test]
fn chunks_that_no_file_has_are_refused() {
    let size = CHUNKED_SIZE_MIN;
    let longest = ChunkLens::of(size).max as u32;
    assert_eq!(read_window(size, 5, &[1, longest]), Ok(5..6 + u64::from(longest)));
    assert_eq!(read_window(size, size - 1, &[1]), Ok(size - 1..size));
    assert_eq!(read_window(size - 1, 0, &[1]), Err(ProtocolError::BadValue("entry in chunks")));
    assert_eq!(read_window(size, 0, &[1, 0]), Err(ProtocolError::BadValue("empty chunk")));
    assert_eq!(read_window(size, 0, &[]), Err(ProtocolError::BadValue("window without chunks")));
    let too_long = ProtocolError::TooLarge { what: "chunk", value: u64::from(longest) + 1, limit: longest.into() };
    assert_eq!(read_window(size, 0, &[longest + 1]), Err(too_long));
    let behind = Err(ProtocolError::Range { id: 7, why: "past the end of the file" });
    assert_eq!(read_window(size, size - 1, &[1, 1]), behind);
    assert_eq!(read_window(size, u64::MAX, &[1]), behind);
    assert!(read_window(size, 0, &[1; 4096]).is_ok());
    assert!(matches!(read_window(size, 0, &[1; 4097]), Err(ProtocolError::TooLarge { .. })));
    let (header, head) = window(size, 0, &[1, 2]);
    let with_contents = FrameHeader { body_len: 1, ..header };
    assert_eq!(FrameHeader::decode(with_contents.encode()), Err(ProtocolError::BadValue("chunks with contents")));
    let cut = &head.as_bytes()[..head.as_bytes().len() - 1];
    assert_eq!(ChunkWindow::parse(&header, cut).err(), Some(ProtocolError::Truncated));
    let more = [head.as_bytes(), &[0; 36]].concat();
    assert_eq!(ChunkWindow::parse(&header, &more).err(), Some(ProtocolError::Trailing));
}

#[test]
fn chunks_that_were_found_are_booked_once_and_end_the_file() {
    let size = CHUNKED_SIZE_MIN;
    let (header, head) = window(size, 0, &[10, 20]);
    let window = ChunkWindow::parse(&header, head.as_bytes()).unwrap();
    let mut book = Book::default();
    assert_eq!(book.ledger.window(&window), Ok(true));
    let overlapping = Err(ProtocolError::Range { id: 7, why: "overlapping" });
    assert_eq!(book.ledger.window(&window), overlapping.map(|_: RangedState| false), "asked about twice");
    let (header, head) = self::window(size, 30, &[1]);
    assert_eq!(book.ledger.window(&ChunkWindow::parse(&header, head.as_bytes()).unwrap()), Ok(false));
    assert_eq!(book.ledger.arrived(), Counts::default(), "of a window nothing has come");
    assert_eq!(book.ledger.copied(window.head(), Some(10..30)), Ok(RangedState::Partial));
    assert_eq!(book.range(7, size, 5, 5, RangeStep::More), Ok(RangedState::Partial));
    let overlapping = Err(ProtocolError::Range { id: 7, why: "overlapping" });
    assert_eq!(book.ledger.copied(window.head(), Some(0..6)), overlapping);
    assert_eq!(book.range(7, size, 29, 5, RangeStep::More), overlapping);
    let mut book = Book::default();
    book.ledger.window(&window).unwrap();
    assert_eq!(book.range(7, size, 30, 6, last(36)), Ok(RangedState::Partial));
    assert_eq!(book.ledger.copied(window.head(), [0..10, 10..30]), Ok(RangedState::Whole));
    assert_eq!(book.ledger.settle(&Counts { files: 1, bytes: 36, ..Counts::default() }), Ok(()));
    assert_eq!(book.ledger.window(&window), Err(ProtocolError::Range { id: 7, why: "the file has ended" }));
    let mut over = Book::default();
    over.ledger.window(&window).unwrap();
    over.range(7, size, 30, 6, last(30)).unwrap();
    let more = Err(ProtocolError::Range { id: 7, why: "more bytes than declared" });
    assert_eq!(over.ledger.copied(window.head(), Some(0..30)), more);
}

#[test]
fn existing_stretches_are_sent_in_order_and_do_not_touch() {
    let answer = |files: &[u8], stretches: &[(u64, u64)]| {
        let mut bytes = [&[24, 1, 0, 0, 0][..], files, &(stretches.len() as u16).to_le_bytes()].concat();
        for (start, end) in stretches {
            bytes.extend([start.to_le_bytes(), end.to_le_bytes()].concat());
        }
        bytes.extend([0; 9]);
        Message::decode(&bytes)
    };
    let (one, none, two) = (&[1, 0, 1][..], &[1, 0, 0][..], &[2, 0, 1][..]);
    assert!(answer(one, &[(0, 5), (6, 7)]).is_ok());
    let bad = Err(ProtocolError::BadValue("stretches"));
    for stretches in [&[(5, 5)][..], &[(6, 5)], &[(0, 5), (5, 6)], &[(3, 5), (0, 1)], &[(0, 1 << 63)]] {
        assert_eq!(answer(one, stretches), bad, "{stretches:?}");
    }
    for files in [none, two] {
        assert_eq!(answer(files, &[(0, 5)]), Err(ProtocolError::BadValue("answer to a list")));
    }
    let many: Vec<_> = (0..410).map(|at| (at * 2, at * 2 + 1)).collect();
    assert!(answer(one, &many[..409]).is_ok());
    assert!(matches!(answer(one, &many), Err(ProtocolError::TooLarge { .. })));
}

#[test]
fn a_begun_file_is_whole_once_the_rest_has_arrived() {
    let mut book = Book::default();
    let mut has = Stretches::default();
    assert!(has.add(0, 40) && has.add(60, 70));
    book.ledger.listed(Counts { bytes: has.total(), ..Counts::default() });
    assert_eq!(book.ledger.resume(5, 100, 0, has.clone()), Ok(()));
    assert!(book.ledger.resume(5, 100, 0, has.clone()).is_err(), "twice");
    assert_eq!(book.range(5, 100, 40, 20, RangeStep::More), Ok(RangedState::Partial));
    assert_eq!(book.range(5, 100, 70, 30, last(100)), Ok(RangedState::Whole));
    assert!(book.ledger.resume(5, 100, 0, has.clone()).is_err(), "it has ended");
    assert_eq!(book.ledger.settle(&Counts { files: 1, bytes: 100, ..Counts::default() }), Ok(()));
    let overlapping = Err(ProtocolError::Range { id: 6, why: "overlapping" });
    book.ledger.resume(6, 100, 0, has).unwrap();
    assert_eq!(book.range(6, 100, 39, 20, RangeStep::More), overlapping);
}

#[test]
fn a_file_is_never_put_together_from_two_versions() {
    let refused = |id| Some(ProtocolError::Range { id, why: "its version changed" });
    let mut has = Stretches::default();
    assert!(has.add(0, 40));
    let mut book = Book::default();
    book.ledger.resume(5, 100, 9, has).unwrap();
    assert_eq!(book.range(5, 100, 40, 60, last(100)).err(), refused(5));
    let mut head = HeadBuffer::default();
    let size = CHUNKED_SIZE_MIN;
    let range = RangeHead {
        file_id: 7,
        offset: 9,
        step: RangeStep::More,
        stamp: u64::MAX,
        folder: RelPath::new(b"a/b").unwrap(),
        entry: file(size),
        owner_names: OwnerNames::default(),
    };
    let header = head.range(&range, 5);
    let parsed = RangeHead::parse(&header, head.as_bytes()).unwrap();
    assert_eq!(parsed, range);
    let mut ledger = Ledger::default();
    ledger.range(&header, &parsed).unwrap();
    let (header, head) = window(size, 14, &[5]);
    let window = ChunkWindow::parse(&header, head.as_bytes()).unwrap();
    assert_eq!(ledger.window(&window).err(), refused(7));
    let mut head = HeadBuffer::default();
    head.begin_large_list(3, u64::MAX);
    head.folder(RelPath::ROOT);
    head.entry(&file(size));
    let header = head.list_header();
    assert_eq!(FileList::parse(&header, head.as_bytes()).unwrap().stamp(), u64::MAX);
}

#[test]
fn sums_of_claimed_sizes_do_not_overflow() {
    let mut ledger = Ledger::default();
    let listed = Counts { files: 1, bytes: i64::MAX as u64, ..Counts::default() };
    (0..4).for_each(|_| ledger.listed(listed));
    assert_eq!(ledger.arrived(), Counts { files: 4, bytes: u64::MAX, ..Counts::default() });
}

#[test]
fn a_batch_that_does_not_add_up_is_refused() {
    let mut head = HeadBuffer::default();
    head.folder(RelPath::ROOT);
    head.entry(&file(10));
    for body_len in [9, 11] {
        let header = head.batch_header(body_len);
        assert!(Batch::parse(&header, head.as_bytes()).is_err());
    }
    let mut header = head.batch_header(10);
    assert!(Batch::parse(&header, head.as_bytes()).is_ok());
    header.items = 1;
    assert!(Batch::parse(&header, head.as_bytes()).is_err());
    header.items = 3;
    assert!(Batch::parse(&header, head.as_bytes()).is_err());
    let mut homeless = HeadBuffer::default();
    homeless.entry(&file(0));
    assert_eq!(
        Batch::parse(&homeless.batch_header(0), homeless.as_bytes()).err(),
        Some(ProtocolError::BadValue("entry before its folder"))
    );
}

#[test]
fn a_file_of_2_to_the_63_bytes_is_refused_at_once() {
    let mut book = Book::default();
    assert!(book.range(0, 1 << 63, 0, 1, RangeStep::More).is_err());
    assert!(book.range(0, i64::MAX as u64, 0, 1, RangeStep::More).is_ok());
}

#[test]
fn only_user_attributes_cross() {
    let mut xattrs = XattrBuffer::default();
    for bad in [&b"security.selinux"[..], b"trusted.x", b"system.posix_acl_access", b"user.", b"user.a\0b"] {
        assert!(!xattrs.push(bad, b"x"));
    }
    assert!(!xattrs.push(b"user.big", &vec![0; 257 * 1024]));
    assert!(xattrs.push(b"user.ok", b""));
    assert_eq!(xattrs.as_xattrs().iter().collect::<Vec<_>>(), [(&b"user.ok"[..], &b""[..])]);
}

#[test]
fn a_time_beyond_all_bounds_is_refused() {
    let mut bytes = encoded(&Message::ReceiverTimes(ReceiverTimes { writing: Micros::MAX, ..Default::default() }));
    assert!(Message::decode(&bytes[FRAME_PREFIX_LEN..]).is_ok());
    let last = bytes.len() - 8;
    bytes[last] = 1;
    let refused = Message::decode(&bytes[FRAME_PREFIX_LEN..]);
    assert!(matches!(refused, Err(ProtocolError::TooLarge { what: "time", .. })), "{refused:?}");
    assert_eq!(Micros::from(std::time::Duration::MAX), Micros::MAX);
}

#[test]
fn requests_beyond_the_limits_are_refused() {
    let of = |paths: Vec<Vec<u8>>| {
        let paths = paths.into_iter().map(|path| GetPath { path, contents_only: false }).collect();
        Get {
            transfer: [1; 16],
            share: ShareName::new("runs").unwrap(),
            paths,
            lanes: 1,
            prove: false,
            compression: Compression::Auto,
            delta: Delta::Auto,
            limit: None,
            records_per_key: None,
            retry_s: 0,
            patterns: Vec::new(),
            selected: None,
            purpose: Purpose::Transfer,
        }
    };
    let decoded = |get: Get| Message::decode(&encoded(&Message::Get(get))[FRAME_PREFIX_LEN..]);
    let read = |paths| decoded(of(paths));
    assert!(read(vec![b"a/b".to_vec()]).is_ok() && read(vec![Vec::new()]).is_ok());
    assert_eq!(read(Vec::new()), Err(ProtocolError::BadValue("number of paths")));
    assert!(read(vec![b"a".to_vec(); GET_PATHS_MAX]).is_ok());
    let too_many = read(vec![b"a".to_vec(); GET_PATHS_MAX + 1]);
    assert!(matches!(too_many, Err(ProtocolError::TooLarge { what: "number of paths", .. })), "{too_many:?}");
    let too_long = read(vec![vec![b'a'; 200]; GET_PATHS_BYTES_MAX / 200 + 1]);
    assert!(matches!(too_long, Err(ProtocolError::TooLarge { what: "length of paths", .. })), "{too_long:?}");
    for bad in ["..", "a/../b", "/etc", "a//b", "a/.", "a\0b"] {
        assert!(read(vec![bad.as_bytes().to_vec()]).is_err(), "{bad:?}");
    }
    let without = |patterns: Vec<Vec<u8>>| {
        decoded(Get { patterns: patterns.into_iter().map(Pattern::Exclude).collect(), ..of(vec![b"a".to_vec()]) })
    };
    assert!(without(vec![b"a".to_vec(); GET_PATTERNS_MAX]).is_ok());
    let too_many = without(vec![b"a".to_vec(); GET_PATTERNS_MAX + 1]);
    assert!(matches!(too_many, Err(ProtocolError::TooLarge { what: "number of patterns", .. })), "{too_many:?}");
    let too_long = without(vec![vec![b'a'; 100]; GET_PATTERNS_BYTES_MAX / 100 + 1]);
    assert!(matches!(too_long, Err(ProtocolError::TooLarge { what: "length of patterns", .. })), "{too_long:?}");
    let selecting = |selected| decoded(Get { selected, ..of(vec![b"a".to_vec()]) });
    assert!(selecting(Some(SELECTED_PATHS_MAX as u32)).is_ok());
    let too_many = selecting(Some(SELECTED_PATHS_MAX as u32 + 1));
    assert!(matches!(too_many, Err(ProtocolError::TooLarge { .. })), "{too_many:?}");
    let listed = |paths: &[&str]| {
        let page = Message::Selected(paths.iter().map(|path| path.as_bytes().to_vec()).collect());
        Message::decode(&encoded(&page)[FRAME_PREFIX_LEN..])
    };
    assert!(listed(&["a/b", ""]).is_ok());
    assert_eq!(listed(&[]), Err(ProtocolError::BadValue("selected paths")));
    for bad in ["..", "a/../b", "/etc", "a//b", "a/.", "a\0b"] {
        assert!(listed(&["x", bad]).is_err(), "{bad:?}");
    }
}

#[test]
fn pages_of_a_plan_are_bounded_and_only_the_last_may_be_empty() {
    let read = |page: PlannedPage| {
        let answer = Message::Answered { number: 1, answer: Answer::Planned(page) };
        Message::decode(&encoded(&answer)[FRAME_PREFIX_LEN..])
    };
    let entries = |len| vec![PlannedEntry::Moves(PlannedKind::Folder, b"a".to_vec()); len];
    assert!(read(PlannedPage { entries: entries(ENTRIES_PAGE_LEN_MAX), counts: None }).is_ok());
    let too_many = read(PlannedPage { entries: entries(ENTRIES_PAGE_LEN_MAX + 1), counts: None });
    assert!(matches!(too_many, Err(ProtocolError::TooLarge { .. })), "{too_many:?}");
    assert!(read(PlannedPage { entries: Vec::new(), counts: None }).is_err());
    assert!(read(PlannedPage { entries: Vec::new(), counts: Some(PlannedCounts::default()) }).is_ok());
    let climbing = PlannedEntry::Moves(PlannedKind::File, b"../a".to_vec());
    assert!(read(PlannedPage { entries: vec![climbing], counts: None }).is_err());
    let most = PlannedCounts { failed: u64::MAX, ..PlannedCounts::default() };
    assert!(read(PlannedPage { entries: Vec::new(), counts: Some(most) }).is_err());
}

#[test]
fn notes_and_their_pages_are_bounded() {
    let head = |len: u32| Message::decode(&[&[47][..], &[7; 16], &len.to_le_bytes()].concat());
    assert_eq!(head(NOTE_LEN_MAX as u32), Ok(Message::Note(NoteHead { id: [7; 16], len: NOTE_LEN_MAX as u32 })));
    assert_eq!(head(0), Err(ProtocolError::BadValue("length of a note")));
    let (value, limit) = (NOTE_LEN_MAX as u64 + 1, NOTE_LEN_MAX as u64);
    assert_eq!(head(value as u32), Err(ProtocolError::TooLarge { what: "note", value, limit }));
    let page = |len: usize| Message::decode(&[&[48][..], &(len as u16).to_le_bytes(), &vec![0xff; len]].concat());
    assert_eq!(page(NOTE_PAGE_BYTES_MAX), Ok(Message::NotePage(NotePage::new(&[0xff; NOTE_PAGE_BYTES_MAX]))));
    assert_eq!(page(0), Err(ProtocolError::BadValue("page of a note")));
    assert!(matches!(page(NOTE_PAGE_BYTES_MAX + 1), Err(ProtocolError::TooLarge { what: "page of a note", .. })));
    assert_eq!(format!("{:?}", NotePage::new(b"secret")), "NotePage(6 bytes)");
}
