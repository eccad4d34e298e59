//! What a device that serves a share can bring to the one that gets from it: lies about sizes,
//! numbers and names, and links that lead in circles.
use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use ringway_model::Report;
use ringway_wire::ProtocolError;
use ringway_wire::lane::{EntryKind, OwnerNames, RangeHead, RangeStep};

use super::consent::{WAYS, entry, frame, path};
use super::getting::{offered, request, requested_of};
use super::*;

/// What a device gone bad brings in place of `mine/photos`.
#[derive(Default)]
struct Brought {
    frames: Vec<Vec<u8>>,
    /// What it says of that in the end; nothing, and it hangs up, if none.
    sent: Option<Counts>,
    /// What it says of it before.
    totals: Option<Totals>,
}

/// Gets `mine/photos` from a device that brings this instead.
async fn got(laptop: &Device, brought: Brought) -> Arc<Report> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move {
        let mallory = Mallory::new();
        let (mut session, asked) = requested_of(&mallory, &listener).await;
        session.say(&Message::Offer(offered(&asked, &["photos"]))).await;
        if let Some(totals) = brought.totals {
            session.say(&Message::Totals(totals)).await;
        }
        while !matches!(session.hear().await.expect("an answer"), Message::Accept(_)) {}
        let mut lane = mallory.answer(&listener).await;
        assert!(matches!(lane.hear().await, Some(Message::LaneJoin { .. })));
        lane.say(&Message::LaneReady).await;
        for frame in &brought.frames {
            lane.say_raw(frame).await;
        }
        if let Some(sent) = brought.sent {
            lane.say_raw(&FrameHeader::END.encode()).await;
            session.say(&Message::Finish { sent, failed: 0, lanes: 1 }).await;
            while !matches!(session.hear().await, None | Some(Message::Receipt(_) | Message::Cancel(_))) {}
        }
        let _ = lane.stream.shutdown().await;
        let _ = session.stream.shutdown().await;
    });
    let report = timeout(LONG, laptop.engine.get(request(laptop, address, &["mine/photos"])).wait()).await.unwrap();
    // It may still wait for a lane that the other end had no reason to open.
    serving.abort();
    let _ = serving.await;
    report
}

/// The path of everything that has arrived.
fn landed(laptop: &Device) -> BTreeSet<String> {
    let root = laptop.path("in");
    let (mut found, mut folders) = (BTreeSet::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            found.insert(entry.path().strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            }
        }
    }
    found
}

/// A frame of files in `photos`, which says these sizes of them and has this body.
fn files(said: &[(&[u8], u64)], body: &[u8]) -> Vec<u8> {
    let mut head = HeadBuffer::default();
    head.folder(path("photos"));
    for (name, size) in said {
        head.entry(&entry(name, EntryKind::File { size: *size, link_id: None }));
    }
    let header = head.batch_header(body.len());
    [&header.encode()[..], head.as_bytes(), body].concat()
}

/// A part of a file in `photos`.
fn part(size: u64, offset: u64, step: RangeStep, body: &[u8]) -> Vec<u8> {
    let mut head = HeadBuffer::default();
    let range = RangeHead {
        stamp: 0,
        file_id: 1,
        offset,
        step,
        folder: path("photos"),
        entry: entry(b"large", EntryKind::File { size, link_id: None }),
        owner_names: OwnerNames::default(),
    };
    let header = head.range(&range, body.len());
    [&header.encode()[..], head.as_bytes(), body].concat()
}

/// A frame of symbolic links, each in its folder.
fn links(said: &[(&str, &[u8], &[u8])]) -> Vec<u8> {
    let mut head = HeadBuffer::default();
    for (folder, name, target) in said {
        head.folder(path(folder));
        head.entry(&entry(name, EntryKind::Symlink { target }));
    }
    let header = head.batch_header(0);
    [&header.encode()[..], head.as_bytes()].concat()
}

fn counts(files: u64, links: u64, bytes: u64) -> Option<Counts> {
    Some(Counts { files, links, bytes, ..Counts::default() })
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_were_not_asked_for_end_the_get_and_touch_nothing() {
    for way in WAYS {
        let laptop = Device::new("laptop");
        fs::create_dir(laptop.path("in/photos")).unwrap();
        fs::write(laptop.path("in/.bashrc"), "the owner's").unwrap();
        let report =
            got(&laptop, Brought { frames: vec![frame(way)], sent: counts(1, 0, 1), ..Brought::default() }).await;
        let refused = matches!(&report.outcome, Outcome::Failed(fault) if *fault == ProtocolError::NotOffered.into());
        assert!(refused, "{way:?}: {report:?}");
        assert_eq!(landed(&laptop), [".bashrc", "photos"].map(String::from).into(), "{way:?}");
        assert_eq!(fs::read_to_string(laptop.path("in/.bashrc")).unwrap(), "the owner's", "{way:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sizes_that_do_not_fit_their_bytes_end_the_get_and_nothing_of_them_lands() {
    let lies: [(&str, Vec<Vec<u8>>); 6] = [
        ("less than was said", vec![files(&[(b"a", 9)], b"four")]),
        ("more than was said", vec![files(&[(b"a", 2)], b"four")]),
        ("sizes beyond any disk", vec![files(&[(b"a", u64::MAX - 5), (b"b", 5)], b"four")]),
        ("a part beyond the end", vec![part(8, 6, RangeStep::More, b"four")]),
        ("a part that ends past every file", vec![part(u64::MAX, u64::MAX - 1, RangeStep::More, b"four")]),
        (
            "a size that changes",
            vec![part(8, 0, RangeStep::More, b"four"), part(6, 4, RangeStep::Last { data_bytes: 6 }, b"xx")],
        ),
    ];
    for (lie, frames) in lies {
        let laptop = Device::new("laptop");
        let report = got(&laptop, Brought { frames, sent: counts(1, 0, 4), ..Brought::default() }).await;
        assert!(matches!(report.outcome, Outcome::Failed(Fault::Protocol { .. })), "{lie}: {:?}", report.outcome);
        assert!(landed(&laptop).iter().all(|path| path == "photos"), "{lie}: {:?}", landed(&laptop));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_get_that_brings_less_than_it_says_is_never_complete() {
    // It says of its end that more was sent.
    let laptop = Device::new("laptop");
    let whole = files(&[(b"a", 4)], b"four");
    let report =
        got(&laptop, Brought { frames: vec![whole.clone()], sent: counts(5, 0, 400), ..Brought::default() }).await;
    assert!(!matches!(report.outcome, Outcome::Complete), "{:?}", report.outcome);
    // It hangs up in the middle of a file of a terabyte, which takes no space.
    let laptop = Device::new("laptop");
    let frames = vec![whole, part(1 << 40, 0, RangeStep::More, b"four")];
    let report = got(&laptop, Brought { frames, ..Brought::default() }).await;
    assert!(matches!(report.outcome, Outcome::Failed(_)), "{:?}", report.outcome);
    assert!(!landed(&laptop).contains("photos/large"));
    // It says that nothing more comes, and has brought less than it said before.
    let laptop = Device::new("laptop");
    let totals = Some(Totals { entries: 1_000_000, bytes: u64::MAX, complete: true });
    let report = got(&laptop, Brought { frames: Vec::new(), sent: counts(0, 0, 0), totals }).await;
    assert!(!matches!(report.outcome, Outcome::Complete), "{:?}", report.outcome);
    assert!(landed(&laptop).is_empty(), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn links_in_circles_and_out_of_the_folder_arrive_as_links_and_nothing_goes_through_them() {
    let laptop = Device::new("laptop");
    fs::create_dir(laptop.path("outside")).unwrap();
    let circles = links(&[
        ("photos", b"a", b"b"),
        ("photos", b"b", b"a"),
        ("photos", b"self", b"self"),
        ("photos", b"below", b"../photos"),
        ("photos", b"out", b"../../outside"),
    ]);
    let mut through = Vec::new();
    for folder in ["photos/a", "photos/self", "photos/below", "photos/out"] {
        let mut head = HeadBuffer::default();
        head.folder(path(folder));
        head.entry(&entry(b"planted", EntryKind::File { size: 4, link_id: None }));
        let header = head.batch_header(4);
        through.push([&header.encode()[..], head.as_bytes(), b"four"].concat());
    }
    let frames = [vec![circles], through].concat();
    let report = got(&laptop, Brought { frames, sent: counts(4, 5, 16), ..Brought::default() }).await;
    assert!(!matches!(report.outcome, Outcome::Complete), "{report:?}");
    assert_eq!(report.failures.len(), 4, "{report:?}");
    assert_eq!(fs::read_dir(laptop.path("outside")).unwrap().count(), 0, "it went through a link");
    assert!(!landed(&laptop).contains("photos/planted"), "it went through a link");
    for (name, target) in [("a", "b"), ("b", "a"), ("self", "self"), ("below", "../photos"), ("out", "../../outside")] {
        if let Ok(there) = fs::read_link(laptop.path("in/photos").join(name)) {
            assert_eq!(there.to_str(), Some(target), "{name}");
        }
    }
    // Nor through one that the owner has there.
    let laptop = Device::new("laptop");
    fs::create_dir(laptop.path("outside")).unwrap();
    symlink(laptop.path("outside"), laptop.path("in/photos")).unwrap();
    let report = got(
        &laptop,
        Brought { frames: vec![files(&[(b"a", 4)], b"four")], sent: counts(1, 0, 4), ..Brought::default() },
    )
    .await;
    assert_eq!(fs::read_dir(laptop.path("outside")).unwrap().count(), 0, "{report:?}");
}
