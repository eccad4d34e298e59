//! Messages of the control connection.
use proptest::collection::vec;
use proptest::prelude::*;
use ringway_model::{Compression, Delta, Pattern, ShareName};
use ringway_wire::control::{
    Answer, EntryFailed, EntryKept, FRAME_PREFIX_LEN, Get, GetPath, InShare, Message, Micros, NoteHead, NotePage,
    Offer, PlannedCounts, PlannedEntry, PlannedKind, PlannedPage, Progress, Proven, Purpose, Receipt, Totals,
};
use ringway_wire::lane::Counts;
use ringway_wire::limits::{
    CONTROL_FRAME_MAX, ENTRIES_MAX, ENTRIES_PAGE_LEN_MAX, GET_PATHS_BYTES_MAX, GET_PATHS_MAX, GET_PATTERNS_BYTES_MAX,
    GET_PATTERNS_MAX, LANES_MAX, LISTING_PAGE_BYTES_MAX, LISTING_PAGE_ENTRIES_MAX, NOTE_LEN_MAX, NOTE_PAGE_BYTES_MAX,
    OFFER_NAMES_MAX, OFFERED_NAMES_MAX, OFFERED_PAGE_BYTES_MAX, PAGES_AHEAD_MAX, SELECTED_PATHS_MAX, SHARES_MAX,
};
use ringway_wire::{Name, ProtocolError, RelPath};

use crate::values::{encoded, entries_page, listing, message};

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
        assert_eq!(read(vec![bad.as_bytes().to_vec()]), Err(ProtocolError::BadName), "{bad:?}");
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
        assert_eq!(listed(&["x", bad]), Err(ProtocolError::BadName), "{bad:?}");
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
