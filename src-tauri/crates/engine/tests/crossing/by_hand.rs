//! Transfers that a person pauses, at either end: both ends know who it was, nothing moves
//! meanwhile, and it goes on when it is resumed there.
use std::time::Instant;

use ringway_engine::Transfer;
use ringway_engine::limits::FULL_LOOK_EVERY;
use ringway_model::{OnCancel, Outage, Side, Stage};
use ringway_wire::limits::OFFER_NAMES_MAX;

use super::interrupted::{MIDWAY_BYTES, UnderWay, end, slow_request, until};
use super::*;

fn why(transfer: &Transfer) -> Option<Outage> {
    transfer.progress().interruption.map(|waits| waits.why)
}

/// Whom each end takes to have paused it.
fn paused_by(both: &UnderWay, at_sender: Side, at_receiver: Side) -> bool {
    let seen = |transfer: &Transfer, by| {
        transfer.progress().stage == Stage::Paused && why(transfer) == Some(Outage::Paused { by })
    };
    seen(&both.sending, at_sender) && seen(&both.receiving, at_receiver)
}

async fn assert_ends_whole(both: UnderWay) {
    for report in both.reports().await {
        assert_complete(&report);
        assert_eq!(report.reconnected, 0, "no connection was lost");
    }
    assert_eq!(listing(&both.laptop.path("tree")), listing(&both.lab.path("in/tree")));
    both.assert_asked_once().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sender_pauses_and_goes_on_where_it_was() {
    let both = UnderWay::until(MIDWAY_BYTES, LONG).await;
    assert!(both.sending.progress().can_pause && both.receiving.progress().can_pause);
    both.sending.pause().unwrap();
    until(|| paused_by(&both, Side::Here, Side::There)).await;
    assert!(!both.sending.progress().can_pause, "it is");
    let done = both.receiving.progress().bytes_done;
    // Longer than anybody looks again by himself.
    tokio::time::sleep(FULL_LOOK_EVERY + Duration::from_secs(1)).await;
    assert!(paused_by(&both, Side::Here, Side::There));
    assert_eq!(both.receiving.progress().bytes_done, done);
    both.sending.resume();
    assert_ends_whole(both).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_of_a_pause_is_not_the_transfer_s() {
    let begun = Instant::now();
    let both = UnderWay::until(MIDWAY_BYTES, LONG).await;
    both.receiving.pause().unwrap();
    until(|| paused_by(&both, Side::There, Side::Here)).await;
    let paused = Instant::now();
    let ran = || [both.sending.progress().running_for, both.receiving.progress().running_for];
    let before = ran();
    // It is offered again meanwhile.
    tokio::time::sleep(FULL_LOOK_EVERY + Duration::from_secs(1)).await;
    assert_eq!(ran(), before);
    let stood = paused.elapsed();
    let series = [both.sending.clone(), both.receiving.clone()];
    both.receiving.resume();
    for report in both.reports().await {
        assert_complete(&report);
        assert!(report.running_for + stood <= begun.elapsed(), "{:?} and {stood:?}", report.running_for);
    }
    for (transfer, before) in series.iter().zip(before) {
        let points = transfer.series();
        let ends = points.last().unwrap().at;
        assert!(before <= ends && ends + stood <= begun.elapsed(), "{points:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_pauses_and_declines_until_it_resumes() {
    let both = UnderWay::until(MIDWAY_BYTES, LONG).await;
    both.receiving.pause().unwrap();
    until(|| paused_by(&both, Side::There, Side::Here)).await;
    let done = both.receiving.progress().bytes_done;
    // It is offered again, and declined.
    tokio::time::sleep(FULL_LOOK_EVERY + Duration::from_secs(1)).await;
    both.sending.resume();
    until(|| paused_by(&both, Side::There, Side::Here)).await;
    assert_eq!(both.receiving.progress().bytes_done, done);
    both.receiving.resume();
    until(|| why(&both.receiving) != Some(Outage::Paused { by: Side::Here })).await;
    assert_ends_whole(both).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn both_may_pause_and_it_goes_on_when_both_have_resumed() {
    let both = UnderWay::until(MIDWAY_BYTES, LONG).await;
    both.receiving.pause().unwrap();
    until(|| paused_by(&both, Side::There, Side::Here)).await;
    both.sending.pause().unwrap();
    until(|| paused_by(&both, Side::Here, Side::Here)).await;
    both.sending.resume();
    until(|| paused_by(&both, Side::There, Side::Here)).await;
    both.receiving.resume();
    assert_ends_whole(both).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_resumes_first_learns_that_its_sender_has_paused_too() {
    let both = UnderWay::until(MIDWAY_BYTES, LONG).await;
    both.receiving.pause().unwrap();
    until(|| paused_by(&both, Side::There, Side::Here)).await;
    both.sending.pause().unwrap();
    until(|| paused_by(&both, Side::Here, Side::Here)).await;
    both.receiving.resume();
    until(|| paused_by(&both, Side::Here, Side::There)).await;
    both.sending.resume();
    assert_ends_whole(both).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_that_lost_its_connection_can_be_paused_too() {
    let both = UnderWay::until(MIDWAY_BYTES, LONG).await;
    both.cut().await;
    both.sending.pause().unwrap();
    until(|| why(&both.sending) == Some(Outage::Paused { by: Side::Here })).await;
    assert_ne!(why(&both.receiving), Some(Outage::Paused { by: Side::There }), "it cannot be reached");
    both.mend();
    // The receiver waits for a person there from then on, and not for a connection.
    until(|| paused_by(&both, Side::Here, Side::There)).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(paused_by(&both, Side::Here, Side::There), "nothing moves");
    both.sending.resume();
    for report in both.reports().await {
        assert_complete(&report);
        assert_eq!(report.reconnected, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_that_crosses_the_word_of_a_pause_there_is_heard() {
    for later in [0, 100, 300, 1_000] {
        let both = UnderWay::until(MIDWAY_BYTES, LONG).await;
        both.receiving.pause().unwrap();
        tokio::time::sleep(Duration::from_micros(later)).await;
        both.sending.cancel(OnCancel::Keep);
        for (one, by) in [(&both.sending, Side::Here), (&both.receiving, Side::There)] {
            assert_eq!(*failed(&*end(one).await), Fault::Cancelled { by, kept: true }, "after {later} µs");
        }
    }
}

/// Cancels it at one end, and checks that both ends tell who it was, and what is left.
async fn assert_cancelled(both: UnderWay, by_sender: bool, then: OnCancel) {
    let (here, there) = if by_sender { (&both.sending, &both.receiving) } else { (&both.receiving, &both.sending) };
    here.cancel(then);
    let kept = then == OnCancel::Keep;
    for (one, by) in [(here, Side::Here), (there, Side::There)] {
        assert_eq!(*failed(&*end(one).await), Fault::Cancelled { by, kept });
    }
    let left = fs::read_dir(both.lab.path("in")).unwrap().count();
    assert_eq!(left, usize::from(kept), "what arrived is kept where that was said");
    assert_nothing_appeared(&both.lab.path("in"));
    both.assert_asked_once().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_sender_has_paused_can_be_cancelled_at_either_end() {
    for by_sender in [true, false] {
        let both = UnderWay::until(MIDWAY_BYTES, LONG).await;
        both.sending.pause().unwrap();
        until(|| paused_by(&both, Side::Here, Side::There)).await;
        if !by_sender {
            // Until then it comes for nothing.
            let sending = both.sending.clone();
            both.receiving.cancel(OnCancel::Remove);
            end(&both.receiving).await;
            sending.resume();
        }
        assert_cancelled(both, by_sender, OnCancel::Remove).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_receiver_has_paused_can_be_cancelled_at_either_end() {
    for by_sender in [true, false] {
        for then in [OnCancel::Keep, OnCancel::Remove] {
            let both = UnderWay::until(MIDWAY_BYTES, LONG).await;
            both.receiving.pause().unwrap();
            until(|| paused_by(&both, Side::There, Side::Here)).await;
            assert_cancelled(both, by_sender, then).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_has_paused_hears_of_a_cancel_whatever_number_of_names_comes_before_it() {
    let both = UnderWay::with_more_names(2 * OFFER_NAMES_MAX, MIDWAY_BYTES, LONG).await;
    both.receiving.pause().unwrap();
    until(|| paused_by(&both, Side::There, Side::Here)).await;
    assert_cancelled(both, true, OnCancel::Keep).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_waits_for_a_connection_hears_of_a_cancel_if_it_can_be_reached() {
    let both = UnderWay::until(MIDWAY_BYTES, LONG).await;
    both.cut().await;
    both.receiving.pause().unwrap();
    both.mend();
    assert_cancelled(both, true, OnCancel::Keep).await;
}

/// The receiver has paused it, and its sender was killed.
async fn paused_and_killed() -> UnderWay {
    let both = UnderWay::until(MIDWAY_BYTES, LONG).await;
    both.cut().await;
    both.receiving.pause().unwrap();
    both.sending.cancel(OnCancel::Remove);
    end(&both.sending).await;
    both.mend();
    both
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_receiver_has_paused_waits_for_it_when_it_is_sent_again() {
    let both = paused_and_killed().await;
    let again = both.laptop.engine.send(slow_request(&both.laptop, &both.address, None, LONG));
    until(|| why(&again) == Some(Outage::Paused { by: Side::There })).await;
    assert!(why(&both.receiving) == Some(Outage::Paused { by: Side::Here }));
    assert_eq!(again.progress().stage, Stage::Paused);
    both.receiving.resume();
    assert_complete(&*end(&again).await);
    assert_complete(&*end(&both.receiving).await);
    assert_eq!(listing(&both.laptop.path("tree")), listing(&both.lab.path("in/tree")));
    both.assert_asked_once().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_arrived_is_kept_when_a_send_that_waits_for_the_receiver_is_cancelled() {
    for then in [OnCancel::Keep, OnCancel::Remove] {
        let both = paused_and_killed().await;
        let again = both.laptop.engine.send(slow_request(&both.laptop, &both.address, None, LONG));
        until(|| why(&again) == Some(Outage::Paused { by: Side::There })).await;
        again.cancel(then);
        let kept = then == OnCancel::Keep;
        assert_eq!(*failed(&*end(&again).await), Fault::Cancelled { by: Side::Here, kept });
        assert_eq!(*failed(&*end(&both.receiving).await), Fault::Cancelled { by: Side::There, kept });
        assert_eq!(fs::read_dir(both.lab.path("in")).unwrap().count(), usize::from(kept));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn send_that_does_not_retry_does_not_wait_for_a_receiver_that_has_paused() {
    let both = paused_and_killed().await;
    let again = both.laptop.engine.send(slow_request(&both.laptop, &both.address, None, Duration::ZERO));
    assert_eq!(*failed(&*end(&again).await), Fault::Declined(DeclineReason::Paused));
}

#[tokio::test(flavor = "multi_thread")]
async fn where_a_pause_would_be_the_end_it_is_refused() {
    let both = UnderWay::until(MIDWAY_BYTES, Duration::ZERO).await;
    for one in [&both.sending, &both.receiving] {
        assert!(!one.progress().can_pause);
        assert!(matches!(one.pause(), Err(Fault::Invalid(_))));
    }
    for report in both.reports().await {
        assert_complete(&report);
    }
}
