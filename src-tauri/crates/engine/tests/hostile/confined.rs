//! Who writes what a peer sends, and reads what a device asks for: threads that can reach nothing
//! but the destination, or the share.
use std::collections::HashSet;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ringway_model::Outcome;
use ringway_wire::RelPath;
use ringway_wire::control::{Accept, Get, Message, Offer, Purpose, Question, RangeWanted};
use ringway_wire::entries::Depth;
use ringway_wire::lane::{Attributes, Counts, FrameHeader, HeadBuffer, Xattrs};
use ringway_wire::limits::{QUESTIONS_MAX, RANGE_BYTES_MAX};
use tokio::time::timeout;

use super::getting::{self, get};
use super::mallory::Mallory;
use super::memory::{Process, Role};
use super::shares::{asking, listing, name};
use super::{CODE, Device, LONG, accept_first, frame_without_effect, offer};

/// The threads of this process of one name, and whether each has given up what confining gives up
/// (no_new_privs, prctl(2)).
fn threads(named: &str) -> Vec<bool> {
    let tasks = fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
    let of = |task: std::path::PathBuf| {
        // Threads end meanwhile.
        let name = fs::read_to_string(task.join("comm")).ok()?;
        let status = fs::read_to_string(task.join("status")).ok()?;
        (name.trim() == named).then(|| status.lines().any(|line| line == "NoNewPrivs:\t1"))
    };
    tasks.filter_map(of).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_writes_files_is_confined_to_the_destination() {
    let lab = Device::new("lab");
    let (receiver, address) = lab.receiver().await;
    if let Err(why) = receiver.confinement() {
        println!("skipped: what_writes_files_is_confined_to_the_destination: {why:?}");
        return;
    }
    let accepting = tokio::spawn(accept_first(receiver));
    let mallory = Mallory::new();
    // A lane that no other test of this process has.
    let mut inside = mallory.let_in(address, "guest", CODE, &Offer { lanes: 12, ..offer() }).await;
    let (transfer, _receiver) = timeout(LONG, accepting).await.unwrap().unwrap();
    let mut lane = mallory.joins(inside.exporter, address, 11, 0).await.unwrap();
    lane.say_raw(&frame_without_effect()).await;
    let seen = async {
        // It is confined before it reads anything, and it has a name before that.
        while threads("ringway-in-11") != [true] {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG, seen).await.expect("the lane's thread is confined");
    assert!(
        threads("tokio-rt-worker").iter().all(|confined| !confined),
        "others are not, which writes the trust store"
    );
    lane.say_raw(&FrameHeader::END.encode()).await;
    inside.session.say(&Message::Finish { sent: Counts::default(), failed: 0, lanes: 1 }).await;
    let report = timeout(LONG, transfer.wait()).await.unwrap();
    assert!(matches!(report.outcome, Outcome::Complete), "{report:?}");
}

/// So many names take a while to be looked through.
const NAMES: usize = 10_000;

/// Folders that take a while to finish, and to remove.
fn many_folders() -> (Vec<u8>, u64) {
    const FOLDERS: u64 = 4_000;
    let mut head = HeadBuffer::default();
    for number in 0..FOLDERS {
        let path = if number == 0 { "x".to_owned() } else { format!("x/{number}") };
        let attributes = Attributes { mode: 0o755, ..Attributes::default() };
        head.folder_with_attributes(RelPath::new(path.as_bytes()).unwrap(), &attributes, Xattrs::default());
    }
    ([&head.batch_header(0).encode()[..], head.as_bytes()].concat(), FOLDERS)
}

/// Looks at the threads that begin in this process, again and again, until `ended`: the names of
/// those that were seen confined.
fn watch(ended: &AtomicBool) -> HashSet<String> {
    let tasks = || fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
    let (before, mut seen) = (tasks().collect::<HashSet<_>>(), HashSet::new());
    let goes_on = crate::deadline::while_not(ended);
    while goes_on() {
        for task in tasks().filter(|task| !before.contains(task)) {
            // Threads end meanwhile.
            let Ok(status) = fs::read_to_string(task.join("status")) else { continue };
            let name = status.lines().next().and_then(|line| line.strip_prefix("Name:\t"));
            if let (Some(name), true) = (name, status.contains("NoNewPrivs:\t1\n")) {
                seen.insert(name.to_owned());
            }
        }
    }
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn what_prepares_finishes_and_cleans_up_is_confined_as_well() {
    let lab = Device::new("lab");
    let (mut receiver, address) = lab.receiver().await;
    if let Err(why) = receiver.confinement() {
        println!("skipped: what_prepares_finishes_and_cleans_up_is_confined_as_well: {why:?}");
        return;
    }
    let (frame, folders) = many_folders();
    // Beginning looks through what is there.
    for number in 0..NAMES {
        fs::File::create(lab.path("in").join(number.to_string())).unwrap();
    }
    let mallory = Mallory::new();
    let mut awaited = HashSet::from(["ringway-begin", "ringway-finish", "ringway-leave"].map(String::from));
    let (begun, mut code) = (Instant::now(), Some(CODE));
    // They live for milliseconds: one that is not seen at once is seen another time.
    while !awaited.is_empty() && begun.elapsed() < LONG {
        for is_whole in [true, false] {
            let ended = std::sync::Arc::new(AtomicBool::new(false));
            let watching = std::thread::spawn({
                let ended = std::sync::Arc::clone(&ended);
                move || watch(&ended)
            });
            let accepting = tokio::spawn(accept_first(receiver));
            let mut inside = mallory.offers(address, "guest", code.take(), &offer()).await;
            assert!(matches!(inside.session.hear().await, Some(Message::Accept(_))));
            let transfer;
            (transfer, receiver) = timeout(LONG, accepting).await.unwrap().unwrap();
            let mut lane = mallory.joins(inside.exporter, address, 0, 0).await.unwrap();
            lane.say_raw(&frame).await;
            // Broken off, in a way that leaves nothing for another time.
            lane.say_raw(if is_whole { FrameHeader::END.encode() } else { [0xff; _] }.as_slice()).await;
            let sent = Counts { folders, ..Counts::default() };
            inside.session.say(&Message::Finish { sent, failed: 0, lanes: 1 }).await;
            inside.hears_the_end().await;
            let report = timeout(LONG, transfer.wait()).await.unwrap();
            assert_eq!(matches!(report.outcome, Outcome::Complete), is_whole, "{report:?}");
            ended.store(true, Ordering::Relaxed);
            let seen = watching.join().unwrap();
            awaited.retain(|name| !seen.contains(name));
            let _ = fs::remove_dir_all(lab.path("in/x"));
        }
    }
    assert!(awaited.is_empty(), "never seen confined: {awaited:?}");
}

/// The capability to change owners (capabilities(7)), which root keeps where it writes.
const CAP_CHOWN: u64 = 1;

/// Whether a thread has given up what one gives up that only reads beneath a folder: that shows in
/// the same status as [`threads`] reads, and where it could write in its capabilities, if it had
/// some.
fn only_reads(status: &str) -> bool {
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:\t")).unwrap();
    status.contains("NoNewPrivs:\t1\n") && u64::from_str_radix(effective, 16).unwrap() & CAP_CHOWN == 0
}

/// Waits until the process has threads of that name, all of which only read beneath a folder.
async fn are_confined(process: &Process, named: &str, what: &str) {
    let begun = Instant::now();
    let mut last = Vec::new();
    // A thread has a name before it is confined.
    while begun.elapsed() < LONG {
        last = process.threads(named);
        if !last.is_empty() && last.iter().all(|status| only_reads(status)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("{what}: {named} is not confined: {last:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_reads_for_another_device_is_confined_to_reading_the_share() {
    let (receiver, _) = Device::new("lab").receiver().await;
    if let Err(why) = receiver.confinement() {
        println!("skipped: what_reads_for_another_device_is_confined_to_reading_the_share: {why:?}");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    fs::create_dir_all(home.path().join("shared/many")).unwrap();
    for number in 0..40_000 {
        fs::write(home.path().join(format!("shared/many/{number:0100}")), "").unwrap();
    }
    fs::write(home.path().join("shared/large"), vec![7; 32 << 20]).unwrap();
    let mut process = Process::start(home.path(), Role::Serving(4_096));
    let address = process.says("address").parse().unwrap();
    let mallory = Mallory::new();
    drop(mallory.offers(address, "guest", Some(CODE), &offer()).await);
    // None of the answers is read, so that the threads that give them wait.
    let as_often_as_may_be = |question: Question| -> Vec<Message> {
        (0..QUESTIONS_MAX as u32).map(|number| Message::Asked { number, question: question.clone() }).collect()
    };
    let (share, path) = (name("mine"), b"large".to_vec());
    let range = Question::Range(RangeWanted { share, path, offset: 0, len: RANGE_BYTES_MAX });
    let plan = Message::Get(Get { purpose: Purpose::Plan { number: 0, pages: 1 }, ..get(1, &["many"]) });
    for (what, said) in [
        ("a listing", as_often_as_may_be(listing("mine", "", Depth::Tree))),
        ("a part of a file", as_often_as_may_be(range)),
        ("a plan", vec![plan]),
    ] {
        let mut session = asking(&mallory, address).await;
        for message in &said {
            session.say(message).await;
        }
        are_confined(&process, "ringway-answer", what).await;
        drop(session);
        let ended = async {
            while !process.threads("ringway-answer").is_empty() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(LONG, ended).await.expect(what);
    }
    let mut session = asking(&mallory, address).await;
    let exporter = session.export(b"EXPORTER-ringway-session-v1");
    session.say(&Message::Get(get(7, &["large", "many"]))).await;
    assert!(matches!(getting::answer(&mut session).await, Some(Message::Offer(_))));
    are_confined(&process, "walk", "a get").await;
    session.say(&Message::Accept(Accept { lanes: 1, lists: false, doubts: None, owner_names: false })).await;
    let _lane = mallory.joins(exporter, address, 0, 0).await.unwrap();
    are_confined(&process, "ringway-out-0", "a get").await;
    // So is the thread that counts, if it is still there.
    assert!(process.threads("count").iter().all(|status| only_reads(status)));
    assert!(process.threads("tokio-rt-worker").iter().all(|status| !only_reads(status)), "others are not confined");
}
