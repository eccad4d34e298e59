//! What a paired peer gone bad may send.
use std::sync::atomic::{AtomicBool, Ordering};

use ringway_wire::ProtocolError;

use super::*;

/// Runs frames that break the protocol, and shows that nothing stays of them.
fn refused(lanes: Vec<Lane>, declared: Option<Counts>) -> ProtocolError {
    let site = Site::new();
    let incoming = site.begin(OnConflict::Replace);
    let mut broken = None;
    for lane in lanes {
        let (bytes, _) = lane.end();
        match incoming.run_lane(&mut Wire::new(bytes), &mut io(IoMode::Sync)) {
            Ok(()) => {}
            Err(LaneError::Protocol(error)) => broken = Some(error),
            Err(other) => panic!("{other:?}"),
        }
    }
    if let Some(declared) = declared {
        match incoming.finish(&declared) {
            Err(FinishError::Protocol(error)) => broken = Some(error),
            other => panic!("{other:?}"),
        }
    }
    incoming.abandon().unwrap();
    assert!(site.names().is_empty());
    broken.expect("accepted")
}

fn piece(id: u64, offset: u64, body: &[u8], step: RangeStep) -> Lane {
    Lane::default().range(id, "top", file("f", 10, 0o644), offset, body, step)
}

#[test]
fn ranges_that_do_not_fit_end_the_lane() {
    let more = RangeStep::More;
    let last = |data_bytes| RangeStep::Last { data_bytes };
    let of = |error| matches!(error, ProtocolError::Range { .. });
    assert!(of(refused(vec![piece(0, 0, b"12345", more), piece(0, 4, b"5", more)], None)), "overlap");
    assert!(of(refused(vec![piece(0, 8, b"123", more)], None)), "past the end");
    assert!(of(refused(vec![piece(0, 0, b"", more)], None)), "empty");
    assert!(of(refused(vec![piece(0, 0, b"12", last(1))], None)), "more than declared");
    assert!(of(refused(vec![piece(0, 0, b"12", last(2)), piece(0, 2, b"3", more)], None)), "after the end");
    let sent = Counts { files: 1, bytes: 2, ..Counts::default() };
    assert!(of(refused(vec![piece(0, 0, b"12", last(3))], Some(sent))), "missing range");
}

#[test]
fn packed_bodies_that_are_not_what_they_claim_end_the_lane() {
    let zeros = vec![0; 1000];
    let packed_len = zstd::bulk::compress(&zeros, 1).unwrap().len();
    let whole = || Lane::default().packing().range(0, "top", file("f", 2000, 0o644), 0, &zeros, RangeStep::More);
    let odd = ProtocolError::BadValue("packed body");
    // The header says its bytes' number: fewer than there are, or more.
    for claimed in [999_u32, 1001] {
        let mut lane = whole();
        lane.bytes[12..16].copy_from_slice(&claimed.to_le_bytes());
        assert_eq!(refused(vec![lane], None), odd);
    }
    for byte in 0..packed_len {
        let mut lane = whole();
        let at = lane.bytes.len() - packed_len + byte;
        lane.bytes[at] ^= 0x55;
        let site = Site::new();
        let incoming = site.begin(OnConflict::Replace);
        // That it is what was sent is TLS's business: here it only must not do harm.
        match incoming.run_lane(&mut Wire::new(lane.end().0), &mut io(IoMode::Sync)) {
            Ok(()) => {}
            Err(LaneError::Protocol(error)) => assert_eq!(error, odd),
            Err(other) => panic!("{other:?}"),
        }
        incoming.abandon().unwrap();
        assert!(site.names().is_empty());
    }
}

#[test]
fn totals_that_do_not_add_up_give_no_receipt() {
    let lane = || Lane::default().made("top", 0o755).file("a", b"abc");
    let sent = lane().flush().sent;
    for wrong in [
        Counts { files: 2, ..sent },
        Counts { folders: 0, ..sent },
        Counts { links: 1, ..sent },
        Counts { bytes: 2, ..sent },
    ] {
        assert!(matches!(refused(vec![lane()], Some(wrong)), ProtocolError::Totals { .. }));
    }
}

#[test]
fn garbage_headers_end_the_lane() {
    for header in [[0xff; 16], [0; 16], {
        let mut huge = FrameHeader::END.encode();
        huge[0] = 1;
        huge[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
        huge
    }] {
        let lane = Lane { bytes: header.to_vec(), ..Lane::default() };
        refused(vec![lane], None);
    }
}

#[test]
fn nothing_is_written_through_a_link_that_was_sent() {
    for merged in [false, true] {
        let site = Site::new();
        fs::create_dir_all(site.at("victim")).unwrap();
        if merged {
            fs::create_dir_all(site.at("top")).unwrap();
        }
        let lane = Lane::default()
            .folder("top")
            .entry(&symlink("way", "../victim"), b"")
            .made("top/way", 0o777)
            .file("planted", b"x")
            .folder("top/way/deeper")
            .file("planted", b"x")
            .range(0, "top/way", file("planted too", 1, 0o644), 0, b"x", RangeStep::Last { data_bytes: 1 })
            .folder("top")
            .file("good", b"x");
        let (receipt, _, failures) = cross(&site.begin(OnConflict::Replace), vec![lane]);
        assert_eq!(failures.len(), 4);
        assert!(failures.iter().all(|failure| failure.reason == FailureReason::InTheWay), "{failures:?}");
        assert_eq!(receipt.there.files, 1);
        assert!(names_in(&site.at("victim")).is_empty());
        assert_eq!(fs::metadata(site.at("victim")).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(names_in(&site.at("top")), ["good", "way"]);
    }
}

#[test]
fn our_own_names_are_refused_at_any_depth() {
    let site = Site::new();
    let own = format!(".ringway-{}", "07".repeat(8));
    let lane = || {
        Lane::default()
            .made(&own, 0o777)
            .file("x", b"x")
            .made(&format!("{own}/tree/planted"), 0o777)
            .folder("")
            .file(".ringway-other", b"x")
            .entry(&symlink(&own, "/etc"), b"")
            .range(0, "", file(".ringway-big", 1, 0o644), 0, b"x", RangeStep::Last { data_bytes: 1 })
            .folder("")
            .entry(&linked("fine", 1, 1), b"x")
            .entry(&hard_link(".ringway-hard", 1, true), b"")
            .made("top", 0o755)
            .file(".ringway-inside", b"x")
            .entry(&symlink(".ringway-link", "/etc"), b"")
            .file(".ringway", b"x")
            .made(&format!("top/{own}"), 0o777)
            .made(&format!("top/{own}/tree"), 0o777)
            .file("planted", b"x")
            .made("top/.RINGWAY-folded/deep", 0o777)
    };
    // Into what is new, and into what is there.
    for _ in 0..2 {
        let (receipt, _, failures) = cross(&site.begin(OnConflict::Replace), vec![lane()]);
        assert_eq!(failures.len(), 13, "{failures:?}");
        assert!(failures.iter().all(|failure| failure.reason == FailureReason::OwnFolder), "{failures:?}");
        assert_eq!(receipt.there.files, 2);
        assert_eq!(
            (site.names(), names_in(&site.at("top"))),
            (vec!["fine".into(), "top".into()], vec![".ringway".into()])
        );
    }
}

#[test]
fn names_said_twice_never_damage() {
    let site = Site::new();
    let lane = Lane::default()
        .made("top", 0o755)
        .made("top", 0o755)
        .file("f", b"first")
        .file("f", b"other")
        .entry(&symlink("f", "x"), b"")
        .made("top/f", 0o755)
        .made("top/d", 0o755)
        .folder("top")
        .file("d", b"other")
        .folder("")
        .file("top", b"other")
        .entry(&symlink("top", "other"), b"");
    let (receipt, _, failures) = cross(&site.begin(OnConflict::Replace), vec![lane]);
    let named: Vec<_> = failures.iter().map(|failure| failure.path.to_str().unwrap()).collect();
    assert_eq!(named, ["top/f", "top/f", "top/f", "top/d", "top", "top"]);
    assert_eq!(receipt.there, Counts { files: 1, folders: 3, links: 0, bytes: 5 });
    assert_eq!(site.text("top/f"), "first");
    assert_eq!(site.names(), ["top"]);
}

#[test]
fn a_later_range_cannot_name_another_file() {
    let site = Site::new();
    fs::create_dir_all(site.at("private")).unwrap();
    fs::write(site.at("private/key"), "mine").unwrap();
    let here = Entry { kind: EntryKind::File { size: 2, link_id: Some(1) }, ..file("a", 2, 0o644) };
    let elsewhere = Entry { name: name("key"), ..here };
    let lane = Lane::default()
        .range(0, "top", here, 0, b"1", RangeStep::More)
        .range(0, "private", elsewhere, 1, b"2", RangeStep::Last { data_bytes: 2 })
        .folder("top")
        .entry(&hard_link("stolen", 1, true), b"");
    let (_, _, failures) = cross(&site.begin(OnConflict::Replace), vec![lane]);
    assert_eq!(failures, []);
    assert_eq!(site.text("private/key"), "mine");
    assert_eq!(site.text("top/a"), "12");
    assert_eq!(site.text("top/stolen"), "12");
}

#[test]
fn a_confined_lane_does_its_work_and_its_thread_reaches_nothing_else() {
    if let Err(why) = ringway_sys::confine::support() {
        println!("skipped: a_confined_lane_does_its_work_and_its_thread_reaches_nothing_else: {why:?}");
        return;
    }
    let (site, elsewhere) = (Site::new(), tempfile::tempdir().unwrap());
    fs::write(elsewhere.path().join("secret"), "secret").unwrap();
    fs::create_dir_all(site.at("old")).unwrap();
    for mode in [IoMode::Sync, IoMode::Auto] {
        let incoming = site.begin(OnConflict::Replace);
        let lane = Lane::default()
            .made("new", 0o755)
            .entry(&linked("f", 1, 1), b"x")
            .entry(&symlink("l", "/etc"), b"")
            .made("old", 0o755)
            .file("f", b"x")
            .entry(&hard_link("again", 1, true), b"")
            .range(0, "old", file("large", 3, 0o644), 0, b"xyz", RangeStep::Last { data_bytes: 3 });
        let (bytes, sent) = lane.end();
        let on_its_own = |work: &(dyn Fn() + Sync)| {
            std::thread::scope(|scope| {
                let confined = scope.spawn(|| {
                    incoming.confine_thread().unwrap();
                    work();
                    assert!(fs::read(elsewhere.path().join("secret")).is_err());
                    assert!(fs::write(elsewhere.path().join("planted"), "x").is_err());
                    assert!(fs::write(site.root.parent().unwrap().join("planted"), "x").is_err(), "one folder up");
                });
                confined.join().unwrap();
            });
        };
        on_its_own(&|| incoming.run_lane(&mut Wire::new(bytes.clone()), &mut io(mode)).unwrap());
        on_its_own(&|| drop(incoming.finish(&sent).unwrap()));
        assert_eq!(incoming.results().take_failures(), []);
        assert_eq!((site.text("new/f"), site.text("old/large")), ("x".into(), "xyz".into()));
        assert_eq!(fs::metadata(site.at("old/again")).unwrap().nlink(), 2);
        fs::remove_dir_all(site.at("new")).unwrap();
    }
    assert_eq!(names_in(elsewhere.path()), ["secret"]);
}

#[test]
fn a_parent_swapped_for_a_link_while_it_is_written_to_leads_nowhere() {
    const ROUNDS: usize = 300;
    let (site, victim) = (Site::in_memory(), tempfile::tempdir().unwrap());
    fs::create_dir_all(site.at("top/way/inner")).unwrap();
    fs::create_dir(victim.path().join("inner")).unwrap();
    let mode = || fs::metadata(victim.path()).unwrap().permissions().mode();
    let (before, over) = (mode(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (way, link) = (site.at("top/way"), site.at("top/link"));
            std::os::unix::fs::symlink(victim.path(), &link).unwrap();
            let goes_on = crate::deadline::while_not(&over);
            while goes_on() {
                let at = rustix::fs::CWD;
                rustix::fs::renameat_with(at, &way, at, &link, rustix::fs::RenameFlags::EXCHANGE).unwrap();
                std::thread::yield_now();
            }
        });
        let mut in_the_way = 0;
        for round in 0..ROUNDS {
            let incoming = site.begin(OnConflict::Replace);
            let lane = Lane::default()
                .made("top/way", 0o777)
                .file(&format!("a{round}"), b"x")
                .folder("top/way/inner")
                .file(&format!("b{round}"), b"x")
                .entry(&symlink("l", "/"), b"")
                .range(0, "top/way", file(&format!("c{round}"), 1, 0o644), 0, b"x", RangeStep::Last { data_bytes: 1 });
            let (_, _, failures) = cross(&incoming, vec![lane]);
            in_the_way += failures.len();
        }
        over.store(true, Ordering::Relaxed);
        // Else nothing was tried.
        assert!(in_the_way > 0, "the link was never met");
    });
    assert_eq!(names_in(victim.path()), ["inner"]);
    assert!(names_in(&victim.path().join("inner")).is_empty());
    assert_eq!(mode(), before);
}

#[test]
fn hundreds_of_thousands_of_empty_folders_are_taken_in() {
    // More than the receiver remembers of one transfer (`received_before::FOLDERS_MAX`).
    const FOLDERS: u64 = 300_000;
    let site = Site::in_memory();
    let incoming = site.begin(OnConflict::Replace);
    let mut lane = Lane::default().made("top", 0o755);
    for number in 1..FOLDERS {
        lane = lane.made(&format!("top/{number}"), 0o755);
        if !lane.head.has_room() {
            lane = lane.flush();
        }
    }
    let (receipt, _, failures) = cross(&incoming, vec![lane]);
    assert_eq!((receipt.there.folders, failures.len()), (FOLDERS, 0));
    assert_eq!(fs::read_dir(site.at("top")).unwrap().count() as u64, FOLDERS - 1);
}

#[test]
fn nothing_lands_that_was_not_asked_for() {
    let asked: Asked = Arc::new(|path, is_folder| match path {
        b"old" => is_folder,
        b"old/out" => false,
        _ => !path.ends_with(b".o"),
    });
    let whole = |folder: &str, name: &str| Lane::default().folder(folder).file(name, b"x");
    let ranged = |folder: &str, name: &str| {
        Lane::default().range(0, folder, file(name, 10, 0o644), 0, b"12345", RangeStep::More)
    };
    let listed = |folder: &str, name: &str| Lane::default().list(1, folder, &[file(name, 1, 0o644)]);
    type Sent<'a> = &'a dyn Fn(&str, &str) -> Lane;
    let ways: [(&str, Sent<'_>); 3] = [("whole", &whole), ("ranged", &ranged), ("listed", &listed)];
    for (way, sent) in ways {
        for (folder, name, is_asked_for) in [
            ("old", "a", true),
            ("old", "a.o", false),
            ("old/out", "a", false),
            // Its folder was left out, whatever is said of what is in it.
            ("old/out/below", "a", false),
            ("old/in", "out", true),
        ] {
            let site = Site::new();
            fs::create_dir_all(site.at("old")).unwrap();
            let (sender, _answers) = answers_to(16);
            let options = DestinationOptions {
                asked: Some(Arc::clone(&asked)),
                answers: Some(sender),
                ..site.options(OnConflict::Replace)
            };
            let incoming = Incoming::begin(options).unwrap();
            let ended = incoming.run_lane(&mut Wire::new(sent(folder, name).end().0), &mut io(IoMode::Sync));
            let is_refused = matches!(ended, Err(LaneError::Protocol(ProtocolError::NotAskedFor)));
            assert_eq!(is_refused, !is_asked_for, "{way} {folder}/{name}: {ended:?}");
            incoming.abandon().unwrap();
        }
    }
}
