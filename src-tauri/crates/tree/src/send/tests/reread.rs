//! Files that are written through a memory map while they are sent with proof. Neither size nor
//! time shows that.
use super::*;

/// Writes like a memory map.
fn write_unseen(path: &Path, at: u64, bytes: &[u8]) {
    let file = fs::File::options().write(true).open(path).unwrap();
    let before = file.metadata().unwrap().modified().unwrap();
    file.write_all_at(bytes, at).unwrap();
    file.set_modified(before).unwrap();
}

fn changed(path: &str) -> Failure {
    failure(path, Operation::Read, FailureReason::ChangedWhileReading)
}

fn prove(root: &Path, lanes: usize, proves: bool, meanwhile: Option<Meanwhile>) -> Sent {
    let outgoing = Outgoing::start(&[contents(root)]).unwrap();
    if proves {
        outgoing.prove();
    }
    let received = Arc::new(Mutex::new(Received { proves, ..Received::default() }));
    finish_into(&outgoing, IoMode::Auto, lanes, meanwhile, &received)
}

#[test]
fn with_proof_a_large_file_that_changes_in_its_sent_part_fails() {
    for (proves, lanes) in [(true, 1), (true, 3), (false, 1)] {
        let scratch = scratch();
        let (large, sparse) = (scratch.path().join("large"), scratch.path().join("sparse"));
        write(&large, 12 << 20, 1);
        let file = fs::File::create(&sparse).unwrap();
        file.set_len(40 << 20).unwrap();
        file.write_all_at(&[7; 3 << 20], 20 << 20).unwrap();
        write(&scratch.path().join("small"), 100, 1);
        let meanwhile: Meanwhile = Box::new(move |_, received| {
            // Once a part of one of the two has arrived: what is written before that is sent.
            if !received.lock().ranged.is_empty() {
                write_unseen(&large, 5, b"changed");
                write_unseen(&sparse, 1 << 20, b"no hole");
            }
        });
        let mut sent = prove(scratch.path(), lanes, proves, Some(meanwhile));
        sent.failures.sort_by(|one, other| one.path.cmp(&other.path));
        if proves {
            assert!(sent.failures.contains(&changed("large")) || sent.failures.contains(&changed("sparse")));
            assert!(sent.failures.iter().all(|failure| failure.reason == FailureReason::ChangedWhileReading));
        } else {
            assert_eq!(sent.failures, [], "nothing shows it");
        }
        assert_eq!(sent.received.file("small").len(), 100);
    }
}

#[test]
fn large_files_that_stay_are_sent_and_proven() {
    let scratch = scratch();
    write(&scratch.path().join("large"), (12 << 20) + 77, 1);
    let sparse = fs::File::create(scratch.path().join("sparse")).unwrap();
    sparse.set_len(40 << 20).unwrap();
    sparse.write_all_at(&[7; 3 << 20], 20 << 20).unwrap();
    (0..300).for_each(|at| write(&scratch.path().join(format!("{at}")), at * 100, at as u8));
    for lanes in [1, 3] {
        let sent = prove(scratch.path(), lanes, true, None);
        assert_eq!(sent.failures, []);
        assert_same_tree(scratch.path(), "", &sent.received);
    }
}

#[test]
fn with_proof_a_small_file_that_keeps_changing_fails() {
    for goes_on in [false, true] {
        let scratch = scratch();
        let path = scratch.path().join("small");
        write(&path, 10_000, 1);
        write(&scratch.path().join("other"), 10_000, 1);
        let outgoing = Outgoing::start(&[contents(scratch.path())]).unwrap();
        outgoing.prove();
        let (mut times, victim) = (0_u8, path.clone());
        *outgoing.shared.meddle.lock() = Some(Box::new(move || {
            times += 1;
            if goes_on || times == 1 {
                write_unseen(&victim, 9, &[times]);
            }
        }));
        let received = Arc::new(Mutex::new(Received { proves: true, ..Received::default() }));
        let sent = finish_into(&outgoing, IoMode::Auto, 1, None, &received);
        assert_eq!(sent.received.file("other").len(), 10_000);
        match goes_on {
            true => assert_eq!(sent.failures, [changed("small")]),
            false => {
                assert_eq!(sent.failures, []);
                assert!(sent.received.file("small") == fs::read(&path).unwrap());
            }
        }
    }
}
