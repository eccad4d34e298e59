//! What an offer would do to what is in its folder: told while a person decides, never waited for.
use std::time::Instant;

use ringway_engine::IncomingOffer;
use ringway_model::{Comparison, ComparisonState, HereIs};
use ringway_wire::limits::LISTING_ENTRIES_MAX;

use super::*;

/// A folder `set` with so many files, each with its number as content and the same old time.
fn set(at: &Path, files: std::ops::Range<usize>) {
    fs::create_dir_all(at).unwrap();
    files.for_each(|number| write(&at.join(number.to_string()), &number.to_string()));
}

fn write(file: &Path, content: &str) {
    fs::write(file, content).unwrap();
    let time = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000);
    fs::File::options().write(true).open(file).unwrap().set_modified(time).unwrap();
}

async fn compared(offer: &IncomingOffer) -> Comparison {
    timeout(LONG, offer.compared()).await.expect("it is compared")
}

#[tokio::test(flavor = "multi_thread")]
async fn offer_is_compared_with_its_folder_and_with_another_one() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    set(&laptop.path("set"), 0..20);
    set(&lab.path("in/set"), 5..20);
    write(&lab.path("in/set/7"), "edited here");
    write(&lab.path("in/set/only-here"), "stays");
    let before = listing(&lab.path("in"));
    let mut receiver = lab.receiver(Some("7-river-camera")).await;
    let first = request(&[folder(laptop.path("set"))], &target(&receiver), Some("7-river-camera"), IoMode::Auto, None);
    let sending = laptop.engine.send(first);
    let offer = offered(&mut receiver).await;
    let done = Comparison { state: ComparisonState::Done, ..Comparison::default() };
    // The folder itself is there.
    let expected = Comparison { new: 5, unchanged: 15, differing: 1, ..done };
    assert_eq!(compared(&offer).await, expected);
    assert_eq!(offer.summary().comparison, Some(expected));
    let differences = offer.differences();
    assert_eq!(differences.len(), 1);
    assert_eq!((&differences[0].path, differences[0].here_is), (&"set/7".into(), HereIs::Other));
    assert_eq!(listing(&lab.path("in")), before, "nothing was changed");

    // Another folder is compared anew, and a third one cannot be.
    fs::create_dir(lab.path("elsewhere")).unwrap();
    offer.compare_with(&lab.path("elsewhere"));
    assert_eq!(compared(&offer).await, Comparison { new: 21, ..done });
    assert!(offer.differences().is_empty());
    offer.compare_with(&lab.path("gone"));
    assert_eq!(compared(&offer).await.state, ComparisonState::Unknown);
    offer.compare_with(&lab.path("in"));
    assert_eq!(compared(&offer).await, expected);

    // It is received as ever.
    let options = AcceptOptions { on_conflict: OnConflict::Replace, ..AcceptOptions::default() };
    let receiving = offer.accept(options).await.unwrap();
    let (sent, received) = timeout(LONG, async { (sending.wait().await, receiving.wait().await) }).await.unwrap();
    assert_complete(&sent);
    assert_eq!((received.counts.unchanged, received.counts.failed), (14, 0));
    assert_eq!(fs::read(lab.path("in/set/7")).unwrap(), b"7");
    assert!(lab.path("in/set/only-here").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn offer_that_updates_a_numbered_folder_is_compared_with_that_and_names_it() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    set(&laptop.path("set"), 0..20);
    set(&lab.path("in/set"), 30..40);
    let mut receiver = lab.receiver(Some("7-river-camera")).await;
    let to = target(&receiver);
    let mut code = Some("7-river-camera");
    let options = || AcceptOptions { on_conflict: OnConflict::RenameTop, ..AcceptOptions::default() };
    let mut offers = async || {
        let sending = laptop.engine.send(request(&[folder(laptop.path("set"))], &to, code.take(), IoMode::Auto, None));
        (sending, offered(&mut receiver).await)
    };
    let (sending, offer) = offers().await;
    offer.compare_under(OnConflict::RenameTop);
    compared(&offer).await;
    assert!(offer.summary().updates.is_empty(), "it is the owner's folder");
    let receiving = offer.accept(options()).await.unwrap();
    timeout(LONG, async { (sending.wait().await, receiving.wait().await) }).await.unwrap();
    assert!(lab.path("in/set (1)/19").exists());

    write(&lab.path("in/set (1)/7"), "edited here");
    let (sending, offer) = offers().await;
    let done = Comparison { state: ComparisonState::Done, ..Comparison::default() };
    assert_eq!(compared(&offer).await, Comparison { new: 20, unchanged: 1, ..done }, "other policies merge there");
    offer.compare_under(OnConflict::RenameTop);
    // The folder itself is there.
    let expected = Comparison { unchanged: 20, differing: 1, ..done };
    assert_eq!(compared(&offer).await, expected);
    assert_eq!((offer.summary().comparison, offer.summary().updates), (Some(expected), vec!["set (1)".into()]));
    let differences = offer.differences();
    assert_eq!((differences.len(), &differences[0].path), (1, &"set/7".into()));
    let receiving = offer.accept(options()).await.unwrap();
    let (_, received) = timeout(LONG, async { (sending.wait().await, receiving.wait().await) }).await.unwrap();
    assert_eq!(received.arrived, [ringway_model::PathText::from(lab.path("in/set (1)"))]);
    assert_eq!(listing(&lab.path("in/set")).len(), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn accepting_waits_for_no_comparison() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let files = 30_000;
    for folder in 0..files / 1_000 {
        set(&laptop.path("many").join(folder.to_string()), 0..1_000);
    }
    let mut receiver = lab.receiver(Some("7-river-camera")).await;
    let to = target(&receiver);
    let mut code = Some("7-river-camera");
    // At once, before anything is listed; and while it is compared.
    for waits in [false, true] {
        let sending = laptop.engine.send(request(&[folder(laptop.path("many"))], &to, code.take(), IoMode::Auto, None));
        let offer = offered(&mut receiver).await;
        if waits {
            let begun = async {
                while offer.summary().comparison.is_none_or(|comparison| comparison == Comparison::default()) {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            };
            timeout(LONG, begun).await.expect("it begins to compare");
        }
        let accepted = Instant::now();
        let receiving = offer.accept(AcceptOptions::default()).await.unwrap();
        assert!(accepted.elapsed() < Duration::from_secs(5), "{:?}", accepted.elapsed());
        let (sent, _) = timeout(LONG, async { (sending.wait().await, receiving.wait().await) }).await.unwrap();
        assert_complete(&sent);
        assert_eq!(sent.counts.files, files as u64);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn larger_tree_than_is_listed_gives_at_least() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    // Links take less time to make than files.
    for folder in 0..LISTING_ENTRIES_MAX / 1_000 {
        let folder = laptop.path("many").join(folder.to_string());
        set(&folder, 0..1);
        (1..1_000).for_each(|number| fs::hard_link(folder.join("0"), folder.join(number.to_string())).unwrap());
    }
    let mut receiver = lab.receiver(Some("7-river-camera")).await;
    let first = request(&[folder(laptop.path("many"))], &target(&receiver), Some("7-river-camera"), IoMode::Auto, None);
    let sending = laptop.engine.send(first);
    let offer = offered(&mut receiver).await;
    let Comparison { state, new, at_least, .. } = compared(&offer).await;
    assert!(state == ComparisonState::Done && at_least, "{state:?}");
    assert!(new > 0 && new <= LISTING_ENTRIES_MAX as u64, "{new}");
    offer.decline(DeclineReason::ByChoice);
    assert!(matches!(failed(&timeout(LONG, sending.wait()).await.unwrap()), Fault::Declined(_)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_offer_was_compared_with_is_not_told_to_its_sender() {
    // The sender's report is the same whether all of it was there or nothing.
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    set(&laptop.path("set"), 0..20);
    let mut receiver = lab.receiver(Some("7-river-camera")).await;
    let to = target(&receiver);
    let mut code = Some("7-river-camera");
    for is_there in [false, true] {
        if is_there {
            set(&lab.path("in/set"), 0..20);
        }
        let sending = laptop.engine.send(request(&[folder(laptop.path("set"))], &to, code.take(), IoMode::Auto, None));
        let offer = offered(&mut receiver).await;
        compared(&offer).await;
        offer.decline(DeclineReason::ByChoice);
        let report = timeout(LONG, sending.wait()).await.unwrap();
        assert_eq!(*failed(&report), Fault::Declined(DeclineReason::ByChoice));
        let counts = ringway_model::Counts { bytes: report.counts.bytes, ..ringway_model::Counts::default() };
        assert_eq!(report.counts, counts, "{is_there}");
    }
}
