//! Parts of the receiving side that are easier to see alone.
use super::spool::Spool;
use super::*;

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
    assert!(spool.memory_len() < spool::MEMORY_MAX);
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
    assert_eq!(incoming.progress(), control::Progress { entries: 300, bytes: 60 * 40_000 + 240 });
}
