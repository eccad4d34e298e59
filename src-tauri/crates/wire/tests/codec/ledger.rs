//! What is booked of files that arrive in ranges.
use ringway_wire::control::Message;
use ringway_wire::lane::{ChunkWindow, Counts, FileList, FrameHeader, HeadBuffer, OwnerNames, RangeHead, RangeStep};
use ringway_wire::ledger::{Ledger, RangedState};
use ringway_wire::limits::{CHUNKED_SIZE_MIN, OPEN_RANGED_MAX};
use ringway_wire::stretches::Stretches;
use ringway_wire::{ProtocolError, RelPath};

use crate::values::{file, window};

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
fn a_file_of_2_to_the_63_bytes_is_refused_at_once() {
    let mut book = Book::default();
    assert!(book.range(0, 1 << 63, 0, 1, RangeStep::More).is_err());
    assert!(book.range(0, i64::MAX as u64, 0, 1, RangeStep::More).is_ok());
}
