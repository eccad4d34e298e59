//! Parts of the receiving side that are easier to see alone.
use std::time::{Duration, Instant};

use ringway_sys::space::filesystem;
use rustix::io::{Errno, ReadWriteFlags, preadv2};

use super::*;
use crate::receive::staging::spool::{MEMORY_MAX, Spool};
use crate::receive::staging::writeback::Writeback;

#[test]
fn a_spool_gives_back_every_chain_from_its_file_and_from_memory() {
    let home = tempfile::tempdir().unwrap();
    let staging = Dir::open(home.path()).unwrap();
    let mut spool = Spool::default();
    let record = |number: u32| [&number.to_le_bytes()[..], &vec![number as u8; (number % 4000) as usize]].concat();
    let count = 5_000;
    for number in 0..count {
        spool.push((number % 7) as usize, &record(number), &staging).unwrap();
    }
    assert!(spool.memory_len() < MEMORY_MAX);
    assert_eq!(spool.chains(), 7);
    let mut seen = 0;
    for chain in 0..7 {
        let mut expected = (0..count).rev().filter(|number| (number % 7) as usize == chain);
        let mut cursor = spool.last(chain);
        while let Some(at) = cursor {
            let (found, before) = spool.read(at).unwrap();
            assert_eq!(found, record(expected.next().unwrap()));
            cursor = before;
            seen += 1;
        }
        assert_eq!(expected.next(), None);
    }
    assert_eq!(seen, count);
    assert_eq!(spool.last(7), None);
    assert!(names_in(home.path()).is_empty(), "the file has no name");
}

#[test]
fn many_lanes_and_many_ranged_files_at_once() {
    let site = Site::new();
    let incoming = site.begin(OnConflict::Replace);
    let mut lanes: Vec<_> = (0..3).map(|_| Lane::default()).collect();
    let contents: Vec<u8> = (0..40_000_u32).map(|at| (at * 7 % 253) as u8).collect();
    for id in 0..60_u64 {
        let text = format!("f{id}");
        let entry = file(&text, contents.len(), 0o644);
        for (turn, at) in [3_u64, 0, 2, 1].into_iter().enumerate() {
            let body = &contents[at as usize * 10_000..][..10_000];
            let step = if at == 2 { RangeStep::Last { data_bytes: 40_000 } } else { RangeStep::More };
            let lane = (id as usize + turn) % 3;
            let taken = std::mem::take(&mut lanes[lane]);
            lanes[lane] = taken
                .range(id, &format!("top/{}", id % 5), entry, at * 10_000, body, step)
                .folder("top")
                .file(&format!("small {id} {at}"), b"s");
        }
    }
    let (receipt, _, failures) = cross(&incoming, lanes);
    assert_eq!((failures, receipt.there.files), (vec![], 60 + 240));
    for id in 0..60 {
        assert_eq!(fs::read(site.at(&format!("top/{}/f{id}", id % 5))).unwrap(), contents, "{id}");
    }
    assert_eq!(incoming.results().progress(), control::Progress { entries: 300, bytes: 60 * 40_000 + 240 });
}

/// The file called `name`, wherever it is below `dir`.
fn find(dir: &Path, name: &str) -> Option<PathBuf> {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).find_map(|path| match path.is_dir() {
        true => find(&path, name),
        false => path.ends_with(name).then_some(path),
    })
}

/// Whether the file's first bytes are in memory.
fn is_cached(path: &Path) -> bool {
    let (file, mut byte) = (fs::File::open(path).unwrap(), [0]);
    match preadv2(&file, &mut [io::IoSliceMut::new(&mut byte)], 0, ReadWriteFlags::NOWAIT) {
        Ok(read) => read == 1,
        Err(Errno::AGAIN) => false,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_huge_file_is_on_the_disk_and_out_of_memory_while_more_of_it_comes() {
    const PIECE: usize = 1024 * 1024;
    let site = Site::new();
    let mut incoming = site.begin(OnConflict::Replace);
    if filesystem(fs::File::open(&site.root).unwrap()).unwrap().is_memory() {
        println!("skipped: the folder for temporary files is in memory");
        return;
    }
    Arc::get_mut(&mut incoming).unwrap().staging.writeback = Writeback::by(4 * PIECE as u64, 16 * PIECE as u64);
    // By halves, so that the second finds the disk idle.
    let receive = |id: u64, name: &str, size: usize, pieces: std::ops::Range<usize>| {
        let lane = pieces.fold(Lane::default().made("tops", 0o755), |lane, at| {
            let (entry, offset) = (file(name, size, 0o644), (at * PIECE) as u64);
            lane.range(id, "tops", entry, offset, &vec![7; PIECE], RangeStep::More)
        });
        incoming.run_lane(&mut Wire::new(lane.end().0), &mut io(IoMode::Auto)).unwrap();
        let begun = Instant::now();
        while incoming.staging.writeback.is_under_way() {
            assert!(begun.elapsed() < Duration::from_secs(60), "the disk does not get it");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    for (id, name, size) in [(1, "large", 15 * PIECE), (2, "huge", 16 * PIECE)] {
        receive(id, name, size, 0..4);
        receive(id, name, size, 4..8);
    }
    let (large, huge) = (find(&site.root, "large").unwrap(), find(&site.root, "huge").unwrap());
    assert!(!is_cached(&huge), "it stays in memory");
    assert!(is_cached(&large), "others stay");
    incoming.abandon().unwrap();
}
