//! Transfers that a full disk pauses, on a small real one.
use std::process::Command;

use ringway_engine::Transfer;
use ringway_engine::limits::FULL_LOOK_EVERY;
use ringway_model::{OnCancel, Outage, Stage};
use tokio::time::Instant;

use super::interrupted::{end, until};
use super::*;

const MIB: u64 = 1 << 20;

/// A tmpfs at the given place, as long as this lives.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None` if nothing can be mounted.
    fn mount(at: PathBuf, mib: u64) -> Option<Self> {
        fs::create_dir_all(&at).unwrap();
        let disk = Self(at);
        disk.call("mount", &["-t", "tmpfs", "-o", &format!("size={mib}m"), "tmpfs"]).then_some(disk)
    }

    fn resize(&self, mib: u64) {
        assert!(self.call("mount", &["-o", &format!("remount,size={mib}m")]));
    }

    fn call(&self, program: &str, arguments: &[&str]) -> bool {
        let output = Command::new(program).args(arguments).arg(&self.0).output();
        output.is_ok_and(|output| output.status.success())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        self.call("umount", &["--lazy"]);
    }
}

/// A transfer that does not fit onto the disk of `lab`.
async fn too_large(laptop: &Device, lab: &Device) -> (Transfer, Transfer, Receiver) {
    fs::create_dir(laptop.path("tree")).unwrap();
    for number in 0..60_u8 {
        fs::write(laptop.path("tree").join(number.to_string()), vec![number; MIB as usize]).unwrap();
    }
    // With something of it here it is not refused from the beginning.
    fs::create_dir(lab.path("in/tree")).unwrap();
    let mut receiver = lab.receiver(Some("7-river-camera")).await;
    let what = [folder(laptop.path("tree"))];
    let mut request = request(&what, &target(&receiver), Some("7-river-camera"), IoMode::Auto, Some(1));
    request.options.retry = Some(LONG);
    // So that all that there is was found by then.
    request.options.limit = Some(RateLimit::new(20_000_000).unwrap());
    let sending = laptop.engine.send(request);
    loop {
        if let Some(ReceiverEvent::OfferReceived(offer)) = timeout(LONG, receiver.next_event()).await.unwrap() {
            return (sending, offer.accept(AcceptOptions::default()).await.unwrap(), receiver);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_waits_for_space_hears_that_its_sender_was_cancelled() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let Some(_disk) = SmallDisk::mount(lab.path("in"), 24) else {
        println!("skipped: a_receiver_that_waits_for_space_hears_that_its_sender_was_cancelled: mounting takes root");
        return;
    };
    let (sending, receiving, _receiver) = too_large(&laptop, &lab).await;
    until(|| [&sending, &receiving].iter().all(|one| one.progress().stage == Stage::Paused)).await;
    sending.cancel(OnCancel::Keep);
    for (one, by) in [(&sending, Side::Here), (&receiving, Side::There)] {
        assert_eq!(*failed(&*end(one).await), Fault::Cancelled { by, kept: true });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_that_the_figures_hold_back_goes_on_when_both_are_told_and_not_before() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let Some(disk) = SmallDisk::mount(lab.path("in"), 24) else {
        println!(
            "skipped: a_pause_that_the_figures_hold_back_goes_on_when_both_are_told_and_not_before: mounting takes root"
        );
        return;
    };
    let (sending, receiving, _receiver) = too_large(&laptop, &lab).await;
    let both = [&sending, &receiving];
    let paused = || until(|| both.iter().all(|one| one.progress().stage == Stage::Paused));
    let told = || {
        receiving.resume();
        sending.resume();
    };
    paused().await;
    let full = receiving.progress();
    let Outage::Full(shortage) = full.interruption.unwrap().why else { panic!("{full:?}") };
    // What has come since figures were told last is there, too; what is to come takes more than
    // there will be.
    assert!(full.bytes_done > 20 * MIB && shortage.needed > 12 * MIB, "{full:?}");

    // A little room, less than the rest takes: by the clock alone nothing goes on.
    disk.resize(34);
    tokio::time::sleep(FULL_LOOK_EVERY + Duration::from_secs(1)).await;
    assert_eq!(receiving.progress().bytes_done, full.bytes_done);
    told();
    until(|| receiving.progress().bytes_done >= full.bytes_done + 5 * MIB).await;
    paused().await;

    disk.resize(100);
    // A look was just taken, so the next one by the clock is far.
    let room = Instant::now();
    told();
    let reports = [end(&sending).await, end(&receiving).await];
    assert!(room.elapsed() < FULL_LOOK_EVERY, "{:?}", room.elapsed());
    for report in &reports {
        assert_complete(report);
        assert_eq!((report.reconnected, report.counts.files), (0, 60), "{report:?}");
    }
    assert_eq!(listing(&laptop.path("tree")), listing(&lab.path("in/tree")));
}
