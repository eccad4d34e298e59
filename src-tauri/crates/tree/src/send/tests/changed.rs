//! Large files of which the receiver has an older version: what is asked about, what is sent, and
//! invalid answers.
use ringway_model::Delta;

use super::*;
use crate::send::lane::Lane;
use crate::send::queue::{Large, Unit, Work};

const LEN: usize = 40 << 20;

fn noise(seed: u8, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    blake3::Hasher::new().update(&[seed]).finalize_xof().fill(&mut bytes);
    bytes
}

fn having(old: Vec<u8>, size: usize) -> Received {
    Received { old: HashMap::from([(b"large".to_vec(), OldFile::new(old, size as u64))]), ..Received::default() }
}

#[test]
fn only_new_parts_are_sent_whatever_the_change() {
    let scratch = scratch();
    let path = scratch.path().join("large");
    let old = noise(1, LEN);
    let mut edited = old.clone();
    (0..20).for_each(|edit| edited[edit * 2_000_000 + 77] ^= 1);
    let ways = [
        ("appended", [&old[..], &noise(2, 3 << 20)].concat(), 3 << 20),
        ("edited", edited, 20 * 70_000),
        ("longer at the front", [&noise(2, 1 << 20), &old[..]].concat(), 1 << 20),
        ("shorter at the front", old[5_000_000..].to_vec(), 0),
        ("the same", old.clone(), 0),
        ("half new", [&noise(2, LEN / 2), &old[LEN / 2..]].concat(), LEN / 2),
    ];
    for (what, new, fresh) in ways {
        fs::write(&path, &new).unwrap();
        for lanes in [1, 3] {
            let sent = send_delta(&[source(&path)], lanes, having(old.clone(), new.len()), None);
            assert_eq!(sent.failures, []);
            assert_same_tree(&path, "large", &sent.received);
            let travelled = new.len() as u64 - sent.received.reused;
            assert!(travelled <= fresh as u64 + (512 << 10), "{what} on {lanes} lanes: {travelled} for {fresh}");
            assert_eq!((sent.counts.bytes, sent.bytes_total), (new.len() as u64, new.len() as u64), "{what}");
        }
    }
}

#[test]
fn other_lanes_take_no_part_of_a_file_to_be_asked_about() {
    let scratch = scratch();
    let path = scratch.path().join("large");
    fs::write(&path, noise(2, LEN)).unwrap();
    for (delta, basis, joins) in [(Delta::On, LEN as u64, false), (Delta::On, 0, true), (Delta::Off, LEN as u64, true)]
    {
        let outgoing = Outgoing::start(&[source(&path)]).unwrap();
        outgoing.delta(delta);
        let mut sink = Sink { lane: 0, received: Arc::default(), frames: 0, meanwhile: None };
        let mut io = FileIo::new(IoMode::Auto, 64).unwrap();
        let mut lane = Lane::new(&outgoing.shared, &mut sink, &mut io);
        let Some(Work::Send(Unit::Large(large))) = outgoing.shared.queue.take(|_| {}).unwrap() else { panic!() };
        let begun = lane.begin_large(Large { basis, ..large }).unwrap();
        assert_eq!(begun.join(), joins, "{delta:?} of {basis}");
    }
}

#[test]
fn other_lanes_send_what_is_wanted_too() {
    let scratch = scratch();
    let path = scratch.path().join("large");
    let new = [noise(2, LEN), noise(1, LEN)].concat();
    fs::write(&path, &new).unwrap();
    let go = Arc::new(AtomicBool::new(true));
    let received = Received { go: Some(go), ..having(noise(1, LEN), new.len()) };
    let slow: Meanwhile = Box::new(|_, _| std::thread::sleep(Duration::from_millis(5)));
    let sent = send_delta(&[source(&path)], 3, received, Some(slow));
    assert_same_tree(&path, "large", &sent.received);
    assert!(sent.received.lanes_of.values().any(|lanes| lanes.len() > 1), "one lane did it all");
}

#[test]
fn comparing_an_entirely_new_file_ends_early() {
    let scratch = scratch();
    let path = scratch.path().join("large");
    fs::write(&path, noise(2, 4 * LEN)).unwrap();
    let asked = Arc::new(AtomicU64::new(0));
    let frames = asked.clone();
    let count: Meanwhile = Box::new(move |_, received| {
        let answers = received.lock().answers.iter().map(|answer| answer.list).max();
        frames.fetch_max(answers.unwrap_or_default().into(), Ordering::Relaxed);
    });
    let sent = send_delta(&[source(&path)], 1, having(noise(1, 4 * LEN), 4 * LEN), Some(count));
    assert_same_tree(&path, "large", &sent.received);
    assert_eq!((sent.received.reused, sent.counts.bytes), (0, 4 * LEN as u64));
    // The list, and at most this many windows of 16 MiB and more. All of the file would be nine.
    assert!(asked.load(Ordering::Relaxed) <= 6, "{asked:?}");
}

#[test]
fn missing_parts_of_a_begun_file_are_asked_about() {
    let scratch = scratch();
    let path = scratch.path().join("large");
    let (old, new) = (noise(1, LEN), [&noise(1, LEN)[..], &noise(2, LEN)].concat());
    fs::write(&path, &new).unwrap();
    let (mut has, mut contents) = (Stretches::default(), vec![0; new.len()]);
    for part in [0..10_000_000, 12_345_678..20_000_000, 60_000_000..61_000_000] {
        assert!(has.add(part.start as u64, part.end as u64));
        contents[part.clone()].copy_from_slice(&new[part]);
    }
    for lanes in [1, 3] {
        let begun = HashMap::from([(b"large".to_vec(), (has.clone(), contents.clone()))]);
        let sent = send_delta(&[source(&path)], lanes, Received { begun, ..having(old.clone(), new.len()) }, None);
        assert_same_tree(&path, "large", &sent.received);
        // Up to where chunks are cut alike again.
        assert!(sent.received.reused > (LEN - 17_654_322 - (1 << 20)) as u64, "{}", sent.received.reused);
        assert_eq!(sent.bytes_total, sent.counts.bytes);
    }
}

#[test]
fn holes_are_not_asked_about() {
    let scratch = scratch();
    let path = scratch.path().join("large");
    let old = noise(1, LEN);
    let file = fs::File::create(&path).unwrap();
    file.write_all_at(&old[..10 << 20], 0).unwrap();
    file.write_all_at(&old[20 << 20..], 20 << 20).unwrap();
    let sent = send_delta(&[source(&path)], 1, having(old, LEN), None);
    assert_same_tree(&path, "large", &sent.received);
    assert_eq!(sent.counts.bytes, 30 << 20);
    assert!(sent.received.reused > 29 << 20, "{}", sent.received.reused);
}

#[test]
fn a_file_that_changes_while_it_is_asked_about_is_given_up() {
    let scratch = scratch();
    let path = scratch.path().join("large");
    fs::write(&path, noise(1, 4 * LEN)).unwrap();
    let changing = path.clone();
    let change: Meanwhile = Box::new(move |frame, _| {
        if frame == 3 {
            fs::File::options().write(true).open(&changing).unwrap().write_all_at(b"other", 5).unwrap();
        }
    });
    let sent = send_delta(&[source(&path)], 1, having(noise(1, 4 * LEN), 4 * LEN), Some(change));
    assert_eq!(sent.failures.len(), 1);
    assert_eq!(sent.failures[0].reason, FailureReason::ChangedWhileReading);
    assert_eq!(sent.counts.files, 0);
}

/// Answers the list, and then the first window with `answer`; returns the result of that.
fn answered_wrongly(
    answer: impl Fn(&Outgoing, Wanted) -> Result<(), ProtocolError> + Send,
) -> Result<(), ProtocolError> {
    struct Answering<'a, F>(&'a Outgoing, F, Option<Result<(), ProtocolError>>);

    impl<F: Fn(&Outgoing, Wanted) -> Result<(), ProtocolError> + Send> LaneSink for Answering<'_, F> {
        fn send(&mut self, header: &[u8], head: &[u8], _body: &[u8]) -> io::Result<()> {
            let header = FrameHeader::decode(header.try_into().unwrap()).unwrap();
            let wanted = Wanted { list: 0, files: vec![true], has: Stretches::default(), basis: 0, kept: Vec::new() };
            match header.kind {
                FrameKind::List => {
                    let list = FileList::parse(&header, head).unwrap().number();
                    self.0.answered(&Wanted { list, basis: LEN as u64, ..wanted }).unwrap();
                    Ok(())
                }
                FrameKind::Chunks => {
                    let window = ringway_wire::lane::ChunkWindow::parse(&header, head).unwrap();
                    let files = vec![true; window.len()];
                    self.2 = Some((self.1)(self.0, Wanted { list: window.number(), files, ..wanted }));
                    Err(io::ErrorKind::BrokenPipe.into())
                }
                kind => panic!("{kind:?}"),
            }
        }
    }

    let scratch = scratch();
    let path = scratch.path().join("large");
    fs::write(&path, noise(1, LEN)).unwrap();
    let outgoing = Outgoing::start(&[source(&path)]).unwrap();
    outgoing.delta(Delta::On);
    outgoing.list();
    let mut sink = Answering(&outgoing, answer, None);
    assert!(outgoing.run_lane(&mut sink, &mut FileIo::new(IoMode::Sync, 1).unwrap()).is_err());
    sink.2.expect("a window was told")
}

#[test]
fn answers_that_fit_no_window_are_refused() {
    let wrong = Err(ProtocolError::BadValue("answer to a list"));
    assert_eq!(answered_wrongly(|outgoing, answer| outgoing.answered(&answer)), Ok(()));
    let fewer = |outgoing: &Outgoing, mut answer: Wanted| {
        answer.files.pop();
        outgoing.answered(&answer)
    };
    assert_eq!(answered_wrongly(fewer), wrong);
    let more = |outgoing: &Outgoing, mut answer: Wanted| {
        answer.files.push(false);
        outgoing.answered(&answer)
    };
    assert_eq!(answered_wrongly(more), wrong);
    let other = |outgoing: &Outgoing, answer: Wanted| outgoing.answered(&Wanted { list: answer.list + 1, ..answer });
    assert_eq!(answered_wrongly(other), wrong);
    let twice =
        |outgoing: &Outgoing, answer: Wanted| outgoing.answered(&answer).and_then(|()| outgoing.answered(&answer));
    assert_eq!(answered_wrongly(twice), wrong);
    let with_a_basis = |outgoing: &Outgoing, answer: Wanted| outgoing.answered(&Wanted { basis: 1, ..answer });
    assert_eq!(answered_wrongly(with_a_basis), wrong);
    let with_stretches = |outgoing: &Outgoing, mut answer: Wanted| {
        assert!(answer.has.add(0, 1));
        outgoing.answered(&answer)
    };
    assert_eq!(answered_wrongly(with_stretches), wrong);
}

#[test]
fn a_lane_that_waits_for_an_answer_ends_when_the_transfer_does() {
    let scratch = scratch();
    let path = scratch.path().join("large");
    fs::write(&path, noise(1, LEN)).unwrap();
    let outgoing = Outgoing::start(&[source(&path)]).unwrap();
    outgoing.delta(Delta::On);
    outgoing.list();

    /// Answers the list, but no window.
    struct Silent<'a>(&'a Outgoing, &'a AtomicU64);

    impl LaneSink for Silent<'_> {
        fn send(&mut self, header: &[u8], head: &[u8], _body: &[u8]) -> io::Result<()> {
            let header = FrameHeader::decode(header.try_into().unwrap()).unwrap();
            if header.kind == FrameKind::List {
                let list = FileList::parse(&header, head).unwrap().number();
                let (has, basis) = (Stretches::default(), LEN as u64);
                self.0.answered(&Wanted { list, files: vec![true], has, basis, kept: Vec::new() }).unwrap();
            }
            self.1.fetch_add(u64::from(header.kind == FrameKind::Chunks), Ordering::Relaxed);
            Ok(())
        }
    }

    let windows = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let lane = scope
            .spawn(|| outgoing.run_lane(&mut Silent(&outgoing, &windows), &mut FileIo::new(IoMode::Sync, 1).unwrap()));
        let are_asked = comes(|| windows.load(Ordering::Relaxed) >= 3);
        // In any case, because the lane would be waited for without end.
        outgoing.cancel();
        assert!(are_asked, "40 MiB are three windows");
        assert_eq!(lane.join().unwrap().unwrap_err().kind(), io::ErrorKind::Interrupted);
    });
}
