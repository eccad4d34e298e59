//! Chunks of a file that replaces another: those that are in that are copied, whatever is told and
//! whatever happens to it meanwhile.
use std::os::unix::fs::symlink;
use std::sync::mpsc;

use ringway_wire::ProtocolError;
use ringway_wire::limits::CHUNKED_SIZE_MIN;

use super::*;

const SIZE: usize = CHUNKED_SIZE_MIN as usize + 100_000;
/// Each a chunk: no longer than chunks of such a file may be.
const CHUNK: usize = 64 * 1024;

fn noise(seed: u8, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    blake3::Hasher::new().update(&[seed]).finalize_xof().fill(&mut bytes);
    bytes
}

/// A destination where `old/large` has some contents and is to be replaced.
struct Changed {
    site: Site,
    incoming: Arc<Incoming>,
    answers: mpsc::Receiver<Wanted>,
}

impl Changed {
    fn new(old: &[u8]) -> Self {
        Self::with(old, false)
    }

    fn with(old: &[u8], prove: bool) -> Self {
        let site = Site::new();
        fs::create_dir_all(site.at("old")).unwrap();
        fs::write(site.at("old/large"), old).unwrap();
        let (sender, answers) = answers_to(64);
        let options = DestinationOptions { answers: Some(sender), prove, ..site.options(OnConflict::Replace) };
        Self { incoming: Incoming::begin(options).unwrap(), site, answers }
    }

    /// Runs what a lane has said so far; it is not its end.
    fn hear(&self, lane: Lane) -> Lane {
        let mut lane = lane.flush();
        let bytes = [std::mem::take(&mut lane.bytes), FrameHeader::END.encode().to_vec()].concat();
        self.incoming.run_lane(&mut Wire::new(bytes), &mut io(IoMode::Sync)).unwrap();
        lane
    }

    /// The same, and which chunks of its last window were wanted.
    fn ask(&mut self, lane: Lane) -> (Lane, Vec<bool>) {
        let lane = self.hear(lane);
        let answer = std::iter::from_fn(|| self.answers.try_recv().ok()).last().unwrap();
        (lane, answer.files)
    }

    /// Sends the chunks of `new` that were wanted, and finishes: what is there is `new`.
    fn send_rest(self, mut lane: Lane, new: &[u8], wanted: &[bool]) -> control::Receipt {
        let entry = file("large", new.len(), 0o644);
        let mut there = 0;
        for (piece, wanted) in
            new.chunks(CHUNK).zip(wanted).enumerate().map(|(at, (piece, wanted))| ((at, piece), *wanted))
        {
            match (piece, wanted) {
                ((at, piece), true) => lane = lane.range(0, "old", entry, (at * CHUNK) as u64, piece, RangeStep::More),
                ((_, piece), false) => there += piece.len() as u64,
            }
        }
        let lane = lane.had(0, there).range(0, "old", entry, 0, b"", RangeStep::Last { data_bytes: new.len() as u64 });
        let (receipt, _, failures) = cross(&self.incoming, vec![lane]);
        assert_eq!(failures, []);
        assert!(fs::read(self.site.at("old/large")).unwrap() == new);
        assert_eq!((receipt.there.bytes, receipt.there.bytes - receipt.moved), (new.len() as u64, there));
        receipt
    }
}

/// All of a file in one window.
fn window(new: &[u8]) -> Vec<(usize, &[u8])> {
    new.chunks(CHUNK).map(|chunk| (chunk.len(), chunk)).collect()
}

fn telling(new: &[u8]) -> Lane {
    Lane::default().chunks(1, "old", file("large", new.len(), 0o644), 0, &window(new))
}

fn count(wanted: &[bool]) -> usize {
    wanted.iter().filter(|wanted| **wanted).count()
}

#[test]
fn a_file_that_would_be_replaced_is_offered_as_a_basis() {
    let Changed { site, incoming, answers } = Changed::new(&noise(1, SIZE));
    let at = |name: &str| site.at("old").join(name);
    let basis = |name: &str, size: usize| {
        let lane = Lane::default().list(1, "old", &[file(name, size, 0o644)]);
        incoming.run_lane(&mut Wire::new(lane.end().0), &mut io(IoMode::Sync)).unwrap();
        answers.try_recv().unwrap().basis
    };
    assert_eq!(basis("large", SIZE + 1), SIZE as u64);
    assert_eq!(basis("large", CHUNKED_SIZE_MIN as usize - 1), 0, "too small");
    assert_eq!(basis("other", SIZE), 0, "nothing there");
    fs::rename(at("large"), at("elsewhere")).unwrap();
    symlink("elsewhere", at("large")).unwrap();
    assert_eq!(basis("large", SIZE), 0, "a link");
    for on_conflict in [OnConflict::Keep, OnConflict::Rename] {
        let (sender, answers) = answers_to(4);
        let options = DestinationOptions {
            answers: Some(sender),
            transfer: TransferId([8; 16]),
            attempt: AttemptKey::new(b"another", &OfferedNames::default()),
            ..site.options(on_conflict)
        };
        let incoming = Incoming::begin(options).unwrap();
        if incoming.lists() {
            let lane = Lane::default().list(1, "old", &[file("elsewhere", SIZE + 1, 0o644)]);
            incoming.run_lane(&mut Wire::new(lane.end().0), &mut io(IoMode::Sync)).unwrap();
            assert_eq!(answers.try_recv().unwrap().basis, 0);
        }
    }
}

#[test]
fn chunks_that_stayed_where_they_were_are_copied() {
    let old = noise(1, SIZE);
    let mut new = [&old[..], &noise(2, 300_000)].concat();
    new[5 * CHUNK + 7] ^= 1;
    new[90 * CHUNK] ^= 1;
    let mut changed = Changed::new(&old);
    let (lane, wanted) = changed.ask(telling(&new));
    let expected: Vec<_> = (0..wanted.len()).map(|at| at == 5 || at == 90 || (at + 1) * CHUNK > SIZE).collect();
    assert_eq!(wanted, expected);
    let receipt = changed.send_rest(lane, &new, &wanted);
    assert_eq!(receipt.reused, receipt.there.bytes - receipt.moved);
}

#[test]
fn chunks_that_were_moved_are_found_where_both_ends_cut_alike() {
    let old = noise(1, SIZE);
    let new = [&noise(2, 777_777), &old[..]].concat();
    let lens = ringway_wire::lane::ChunkLens::of(new.len() as u64);
    let mut cutter = crate::chunking::Cutter::new(lens, 0..new.len() as u64);
    let read = |at: u64, into: &mut [u8]| (&new[at as usize..]).read(into);
    let cut: Vec<_> = std::iter::from_fn(|| cutter.next(read).unwrap()).map(|chunk| chunk.range).collect();
    let part = |range: &std::ops::Range<u64>| &new[range.start as usize..range.end as usize];
    let told: Vec<_> = cut.iter().map(|range| (part(range).len(), part(range))).collect();
    let entry = file("large", new.len(), 0o644);
    let mut changed = Changed::new(&old);
    let (mut lane, wanted) = changed.ask(Lane::default().chunks(1, "old", entry, 0, &told));
    let mut there = 0;
    for (range, wanted) in cut.iter().zip(&wanted) {
        match wanted {
            true => lane = lane.range(0, "old", entry, range.start, part(range), RangeStep::More),
            false => there += range.end - range.start,
        }
    }
    assert!(there > SIZE as u64 - 4 * lens.max as u64, "{there} of {SIZE}");
    let lane = lane.had(0, there).range(0, "old", entry, 0, b"", RangeStep::Last { data_bytes: new.len() as u64 });
    let (receipt, _, failures) = cross(&changed.incoming, vec![lane]);
    assert_eq!((failures, receipt.reused), (vec![], there));
    assert!(fs::read(changed.site.at("old/large")).unwrap() == new);
}

#[test]
fn what_happens_to_the_old_file_meanwhile_is_never_in_the_new_one() {
    let old = noise(1, SIZE);
    let new = [&old[..], &[7; 9]].concat();
    let half = 64;
    type Harm = fn(&Path);
    let harms: [(&str, Harm); 5] = [
        ("written over", |path| fs::write(path, noise(3, SIZE)).unwrap()),
        ("truncated", |path| fs::File::options().write(true).open(path).unwrap().set_len(1000).unwrap()),
        ("removed", |path| fs::remove_file(path).unwrap()),
        ("a link", |path| {
            fs::rename(path, path.with_extension("away")).unwrap();
            symlink("large.away", path).unwrap();
        }),
        ("a byte", |path| {
            use std::os::unix::fs::FileExt;
            fs::File::options().write(true).open(path).unwrap().write_all_at(&[1, 2, 3], 70 * CHUNK as u64).unwrap();
        }),
    ];
    for (what, harm) in harms {
        for before in [true, false] {
            let mut changed = Changed::new(&old);
            let path = changed.site.at("old/large");
            if before {
                harm(&path);
            }
            let (entry, told) = (file("large", new.len(), 0o644), window(&new));
            let (lane, mut wanted) = changed.ask(Lane::default().chunks(1, "old", entry, 0, &told[..half]));
            if !before {
                assert_eq!(count(&wanted), 0, "{what}");
                harm(&path);
            }
            let (lane, more) = changed.ask(lane.chunks(2, "old", entry, (half * CHUNK) as u64, &told[half..]));
            let (path_opened, byte) = (matches!(what, "removed" | "a link"), what == "a byte");
            match (before, byte) {
                (_, true) => assert_eq!(count(&more), 2, "the chunk with it, and the end"),
                // The file that was open is looked in, whatever has its name now.
                (false, _) if path_opened => assert_eq!(count(&more), 1, "{what}"),
                _ => assert_eq!(count(&more), more.len(), "{what}"),
            }
            wanted.extend(more);
            changed.send_rest(lane, &new, &wanted);
        }
    }
}

#[test]
fn a_fifo_in_place_of_the_old_file_is_not_waited_for() {
    let old = noise(1, SIZE);
    let changed = Changed::new(&old);
    let path = changed.site.at("old/large");
    fs::remove_file(&path).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let mut changed = changed;
    let (_, wanted) = changed.ask(telling(&old));
    assert_eq!(count(&wanted), wanted.len());
    assert_eq!(changed.incoming.results().take_failures().len(), 1, "it is in the way");
}

#[test]
fn digests_that_lie_harm_only_the_file_that_they_are_told_of() {
    let old = noise(1, SIZE);
    let mut changed = Changed::new(&old);
    // The first chunk is said to be what another one is; the second is of nothing that is here.
    let mut told = window(&old);
    told[0].1 = told[1].1;
    told[1].1 = b"nothing that is here";
    let (lane, wanted) = changed.ask(Lane::default().chunks(1, "old", file("large", SIZE, 0o644), 0, &told));
    assert_eq!(wanted[..3], [true, true, false]);
    changed.send_rest(lane, &old, &wanted);
}

#[test]
fn no_more_is_copied_than_there_was() {
    let old = vec![0; 3 * 1024 * 1024];
    let mut changed = Changed::new(&old);
    let size = 64 * 1024 * 1024;
    let entry = file("large", size, 0o644);
    let told = vec![(CHUNK, &old[..CHUNK]); size / CHUNK];
    let (_, wanted) = changed.ask(Lane::default().chunks(1, "old", entry, 0, &told));
    assert_eq!(wanted.len() - count(&wanted), old.len() / CHUNK);
}

#[test]
fn only_so_many_old_files_are_looked_in_at_a_time() {
    let old = noise(1, SIZE);
    let mut changed = Changed::new(&old);
    let told = window(&old);
    let names: Vec<_> = (0..=crate::receive::lane::basis::BASES_MAX).map(|number| format!("large-{number}")).collect();
    let mut found = Vec::new();
    for (id, name) in (1..).zip(&names) {
        fs::hard_link(changed.site.at("old/large"), changed.site.at("old").join(name)).unwrap();
        let lane = Lane::default().chunks_of(id, id as u32, "old", file(name, SIZE + 1, 0o644), 0, &told[..4]);
        found.push(4 - count(&changed.ask(lane).1));
    }
    let (last, others) = found.split_last().unwrap();
    assert!(others.iter().all(|found| *found == 4), "{others:?}");
    assert_eq!(*last, 0);
    // One of them is given up, and another one looked in.
    let entry = file(&names[0], SIZE + 1, 0o644);
    let abandoned = RangeStep::Abandoned { data_bytes: 4 * CHUNK as u64 };
    changed.hear(Lane::default().range(1, "old", entry, 0, b"", abandoned));
    let lane = Lane::default().chunks_of(99, 99, "old", file(&names[0], SIZE + 1, 0o644), 0, &told[..4]);
    assert_eq!(count(&changed.ask(lane).1), 0);
}

#[test]
fn chunks_that_nobody_asked_for_or_that_were_told_before_end_the_lane() {
    let old = noise(1, SIZE);
    let refused = |incoming: &Incoming, lane: Lane| match incoming
        .run_lane(&mut Wire::new(lane.end().0), &mut io(IoMode::Sync))
    {
        Err(LaneError::Protocol(error)) => error,
        other => panic!("{other:?}"),
    };
    let overlapping = ProtocolError::Range { id: 0, why: "overlapping" };
    let changed = Changed::new(&old);
    let (entry, told) = (file("large", SIZE, 0o644), window(&old));
    let twice = telling(&old).chunks(2, "old", entry, 5, &told[3..4]);
    assert_eq!(refused(&changed.incoming, twice), overlapping);
    let changed = Changed::new(&old);
    let came = Lane::default().range(0, "old", entry, 100, b"came", RangeStep::More);
    assert_eq!(refused(&changed.incoming, came.chunks(1, "old", entry, 0, &told)), overlapping);
    let changed = Changed::new(&old);
    assert_eq!(
        refused(&changed.incoming, telling(&old).range(0, "old", entry, 100, b"comes", RangeStep::More)),
        overlapping
    );
    let site = Site::new();
    let nobody_asked = ProtocolError::BadValue("chunks that nobody asked for");
    assert_eq!(refused(&site.begin(OnConflict::Replace), telling(&old)), nobody_asked);
    assert_eq!(fs::read(changed.site.at("old/large")).unwrap(), old, "what is there stays");
}

#[test]
fn what_was_copied_is_read_back_where_all_is_to_be_proven() {
    let old = noise(1, SIZE);
    let mut new = old.clone();
    new[9 * CHUNK] ^= 1;
    let mut changed = Changed::with(&old, true);
    // Large files are listed without a digest.
    let mut list = Lane::default().proving();
    list.head.begin_list(0);
    list.head.folder(path("old"));
    list.head.entry(&file("large", SIZE, 0o644));
    list.head.digest(Digest::NONE);
    let header = list.head.list_header();
    list.frame(header, &[]);
    list.head.clear();
    changed.hear(list);
    let answer = changed.answers.try_recv().unwrap();
    assert_eq!((answer.files, answer.basis), (vec![true], SIZE as u64));
    let (lane, wanted) = changed.ask(Lane { proves: true, ..telling(&new) });
    assert_eq!(count(&wanted), 1);
    let receipt = changed.send_rest(lane, &new, &wanted);
    assert_eq!(receipt.proven.map(|proven| (proven.files, proven.bytes)), Some((1, SIZE as u64)));
}

#[test]
fn what_was_copied_does_not_count_where_its_file_reads_back_differently() {
    let old = noise(1, SIZE);
    let changed = Changed::with(&old, true);
    let site = &changed.site;
    let mut lane = changed.hear(Lane { proves: true, ..telling(&old) });
    let last = RangeStep::Last { data_bytes: SIZE as u64 };
    lane = lane.had(0, SIZE as u64).range(0, "old", file("large", SIZE, 0o644), 0, b"", last);
    let (bytes, sent) = lane.folder("old").file("small", &noise(2, 1_000)).end();
    changed.incoming.run_lane(&mut Wire::new(bytes), &mut io(IoMode::Sync)).unwrap();
    Medium::default().alter(&site.at("old/large"), 5);
    let (receipt, _) = changed.incoming.finish(&sent).unwrap();
    assert_eq!(changed.incoming.results().take_failures().len(), 1);
    assert_eq!((receipt.there.files, receipt.there.bytes), (1, 1_000));
    assert_eq!((receipt.reused, receipt.moved), (0, 1_000));
}

#[test]
fn what_was_copied_is_gone_on_with_after_an_interruption() {
    let old = noise(1, SIZE);
    let new = [&old[..SIZE / 2], &noise(2, SIZE / 2)].concat();
    let mut changed = Changed::new(&old);
    let (_, wanted) = changed.ask(telling(&new));
    let copied = wanted.len() - count(&wanted);
    assert!(copied >= 60, "{copied}");
    assert!(changed.incoming.keep().unwrap());
    let (sender, answers) = answers_to(4);
    let again =
        Incoming::begin(DestinationOptions { answers: Some(sender), ..changed.site.options(OnConflict::Replace) });
    let again = again.unwrap();
    let lane = Lane::default().list_again(1, "old", &[file("large", new.len(), 0o644)]);
    again.run_lane(&mut Wire::new(lane.end().0), &mut io(IoMode::Sync)).unwrap();
    let answer = answers.try_recv().unwrap();
    assert_eq!((answer.has.len(), answer.has.iter().next()), (1, Some(0..(copied * CHUNK) as u64)));
    assert_eq!(answer.basis, SIZE as u64);
}

#[test]
fn what_an_earlier_attempt_has_begun_is_compared_where_all_is_to_be_proven() {
    const MIB: usize = 1024 * 1024;
    let (old, new) = (noise(1, SIZE), noise(2, SIZE));
    let entry = file("large", SIZE, 0o644);
    let Changed { site, incoming, answers } = Changed::with(&old, true);
    let begun = (0..6).fold(Lane::default().proving(), |lane, at| {
        lane.range(0, "old", entry, (at * MIB) as u64, &new[at * MIB..(at + 1) * MIB], RangeStep::More)
    });
    let ended = incoming.run_lane(&mut Wire::new(begun.bytes), &mut io(IoMode::Sync));
    assert!(matches!(ended, Err(LaneError::Source(_))), "{ended:?}");
    assert!(incoming.keep().unwrap());
    drop((incoming, answers));
    // What is there is not what was written.
    let staging = site.at(site.names().iter().find(|name| name.starts_with(".ringway-")).unwrap());
    let part = fs::read_dir(staging.join("parts-0")).unwrap().next().unwrap().unwrap().path();
    let file = fs::File::options().write(true).open(&part).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &[!new[5 * CHUNK + 7]], 5 * CHUNK as u64 + 7).unwrap();

    let (sender, answers) = answers_to(64);
    let options = DestinationOptions { answers: Some(sender), prove: true, ..site.options(OnConflict::Replace) };
    let mut again = Changed { incoming: Incoming::begin(options).unwrap(), site, answers };
    let lane = again.hear(Lane::default().proving().list_proven(1, "old", &[("large", &new)]));
    let answer = again.answers.try_recv().unwrap();
    assert_eq!((answer.files, answer.has.is_empty(), answer.basis), (vec![true], true, SIZE as u64));
    let (lane, wanted) = again.ask(lane.chunks(2, "old", entry, 0, &window(&new)));
    let expected: Vec<_> = (0..wanted.len()).map(|at| at == 5 || (at + 1) * CHUNK > 6 * MIB).collect();
    assert_eq!(wanted, expected);
    let receipt = again.send_rest(lane, &new, &wanted);
    assert_eq!(receipt.reused, 0, "the file that is replaced has none of it");
    assert_eq!(receipt.proven.map(|proven| (proven.files, proven.bytes)), Some((1, SIZE as u64)));
}
