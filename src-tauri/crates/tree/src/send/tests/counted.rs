//! Counting ahead of a walk that the lanes delay: what is counted is what is sent, and in the end
//! the walk's totals are used.
use super::*;

/// More small files than fit into the queue's units, so that the walk waits in their folder until a
/// lane takes some.
const FILES: usize = 20_000;

/// A source in which the walk waits, and one that it does not reach.
fn sources(scratch: &Path) -> [Source; 2] {
    let (first, second) = (scratch.join("first"), scratch.join("second"));
    fs::create_dir_all(second.join("empty/deep")).unwrap();
    fs::create_dir(&first).unwrap();
    (0..FILES).for_each(|at| fs::write(first.join(format!("file {at}")), at.to_string()).unwrap());
    write(&second.join("large"), 3_000_001, 1);
    write(&second.join("small"), 4_096, 2);
    fs::hard_link(second.join("large"), second.join("large-link")).unwrap();
    fs::hard_link(first.join("file 1"), second.join("linked")).unwrap();
    symlink("large", second.join("link")).unwrap();
    let sparse = fs::File::create(second.join("sparse")).unwrap();
    sparse.write_all_at(&[7; 100_000], 5 << 20).unwrap();
    sparse.set_len(1 << 24).unwrap();
    drop(UnixListener::bind(second.join("socket")).unwrap());
    [source(&first), source(&second)]
}

/// Starts a transfer from which no lane takes anything, until all of it is counted.
fn held_up(sources: &[Source]) -> Arc<Outgoing> {
    let outgoing = Outgoing::start(sources).unwrap();
    until("all of it is counted", || outgoing.totals().complete);
    assert!(!outgoing.shared.walked.load(Ordering::Relaxed));
    outgoing
}

#[test]
fn counted_totals_equal_what_is_sent() {
    let scratch = scratch();
    let sources = sources(scratch.path());
    for lanes in [1, 3] {
        let outgoing = held_up(&sources);
        let counted = outgoing.totals();
        let for_sink = outgoing.clone();
        let meanwhile: Meanwhile = Box::new(move |_, _| {
            let totals = for_sink.totals();
            assert!(totals.complete, "it was known already");
            assert_eq!(totals.entries, counted.entries);
            // A sparse file counts for the bytes that were sent of it, once that is known.
            assert!(for_sink.sent().bytes <= totals.bytes);
        });
        let sent = finish(&outgoing, IoMode::Auto, lanes, Some(meanwhile));
        assert_eq!(sent.failures.len(), 1, "the socket, which was not counted: {:?}", sent.failures);
        assert_eq!(counted.entries, sent.counts.files + sent.counts.folders + sent.counts.links);
        let totals = outgoing.totals();
        assert_eq!((totals.entries, totals.complete), (counted.entries, true));
        assert_eq!((totals.bytes, counted.bytes), (sent.counts.bytes, sent.counts.bytes));
    }
}

#[test]
fn vanished_entries_are_subtracted_from_the_totals() {
    let scratch = scratch();
    let sources = sources(scratch.path());
    let outgoing = held_up(&sources);
    let counted = outgoing.totals();
    // A file in the queue, which will be missing, and files that the walk will not even find.
    fs::remove_file(scratch.path().join("second/small")).unwrap();
    fs::remove_dir(scratch.path().join("second/empty/deep")).unwrap();
    let queued = || (0..FILES).find(|at| fs::remove_file(scratch.path().join(format!("first/file {at}"))).is_ok());
    let lost = queued().unwrap();
    let sent = finish(&outgoing, IoMode::Auto, 2, None);
    let totals = outgoing.totals();
    assert_eq!((totals.entries, totals.complete), (counted.entries - 3, true));
    assert_eq!(totals.bytes, counted.bytes - 4_096 - lost.to_string().len() as u64);
    assert_eq!(totals.bytes, sent.counts.bytes);
}

#[test]
fn new_entries_make_totals_uncertain_until_the_walk_ends() {
    let scratch = scratch();
    let sources = sources(scratch.path());
    let outgoing = held_up(&sources);
    let counted = outgoing.totals();
    let grown = scratch.path().join("second/empty/deep");
    (0..FILES).for_each(|at| fs::write(grown.join(format!("new {at}")), [0; 100]).unwrap());
    let uncertain = Arc::new(AtomicBool::new(false));
    let (for_sink, seen) = (outgoing.clone(), uncertain.clone());
    let meanwhile: Meanwhile = Box::new(move |_, _| {
        let totals = for_sink.totals();
        assert!(totals.entries >= counted.entries && totals.bytes >= counted.bytes);
        seen.fetch_or(!totals.complete, Ordering::Relaxed);
    });
    let sent = finish(&outgoing, IoMode::Auto, 1, Some(meanwhile));
    assert!(uncertain.load(Ordering::Relaxed), "more was found than had been counted");
    let totals = outgoing.totals();
    assert_eq!((totals.entries, totals.complete), (counted.entries + FILES as u64, true));
    assert_eq!(totals.bytes, sent.counts.bytes);
}

#[test]
fn a_tree_that_fits_into_the_queue_is_not_counted() {
    let scratch = scratch();
    let root = scratch.path().join("few");
    fs::create_dir(&root).unwrap();
    (0..100).for_each(|at| fs::write(root.join(format!("file {at}")), at.to_string()).unwrap());
    let outgoing = Outgoing::start(&[source(&root)]).unwrap();
    let sent = finish(&outgoing, IoMode::Auto, 1, None);
    assert_eq!((sent.counts.files, outgoing.shared.counted.tally.value()), (100, (0, 0)));
}

#[test]
fn counting_ends_with_the_transfer() {
    let scratch = scratch();
    let outgoing = Outgoing::start(&sources(scratch.path())).unwrap();
    until("something is counted", || outgoing.shared.counted.tally.value().0 > 0);
    outgoing.cancel();
    assert_walk_ends(&outgoing);
}
