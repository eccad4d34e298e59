//! Who writes what a peer sends: threads that can reach nothing but the destination.
use std::fs;
use std::time::Duration;

use ringway_engine::Outcome;
use ringway_wire::control::Message;
use ringway_wire::lane::{Counts, FrameHeader};
use tokio::time::timeout;

use super::mallory::Mallory;
use super::{CODE, Device, LONG, accept_first, frame_without_effect, offer};

/// The threads of this process of one name, and whether each has given up what confining gives up (no_new_privs, prctl(2)).
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
    let mut inside =
        mallory.let_in(address, "guest", CODE, &ringway_wire::control::Offer { lanes: 12, ..offer() }).await;
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
