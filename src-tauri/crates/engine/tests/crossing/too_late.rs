//! Cancels at the very end: what they say at either end is what happens.
use ringway_engine::Transfer;
use ringway_model::{Invalid, OnCancel, Stage};

use super::interrupted::{MIDWAY_BYTES, UnderWay, end, until};
use super::*;

/// So many folders take a while to get their names.
const FOLDERS: usize = 2_000;

/// A transfer of that many folders, and its two ends.
async fn begun(folders: usize, verify: bool) -> (Device, Device, Receiver, [Transfer; 2]) {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let names = (0..folders).map(|number| laptop.path(&format!("folder {number}")));
    let what: Vec<_> = names
        .map(|path| {
            fs::create_dir(&path).unwrap();
            fs::write(path.join("file"), "contents").unwrap();
            folder(path)
        })
        .collect();
    let mut receiver = lab.receiver(Some("7-river-camera")).await;
    let mut request = request(&what, &target(&receiver), Some("7-river-camera"), IoMode::Auto, Some(1));
    request.options.verify = verify;
    let sending = laptop.engine.send(request);
    loop {
        if let Some(ReceiverEvent::OfferReceived(offer)) = timeout(LONG, receiver.next_event()).await.unwrap() {
            let receiving = offer.accept(AcceptOptions::default()).await.unwrap();
            return (laptop, lab, receiver, [sending, receiving]);
        }
    }
}

fn named(lab: &Device) -> usize {
    let names = fs::read_dir(lab.path("in")).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| !name.as_encoded_bytes().starts_with(b".ringway-")).count()
}

fn is_too_late(cancelled: &Result<(), Fault>) -> bool {
    matches!(cancelled, Err(Fault::Invalid(Invalid::CannotCancel)))
}

async fn cancel(transfer: &Transfer, then: OnCancel) -> Result<(), Fault> {
    timeout(LONG, transfer.cancel_decided(then)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_is_refused_once_names_are_given() {
    for by_sender in [true, false] {
        let (_laptop, lab, _receiver, [sending, receiving]) = begun(FOLDERS, false).await;
        let begins = async {
            while named(&lab) == 0 {
                tokio::task::yield_now().await;
            }
        };
        timeout(LONG, begins).await.unwrap();
        let cancelled = cancel(if by_sender { &sending } else { &receiving }, OnCancel::Remove).await;
        assert!(is_too_late(&cancelled), "{cancelled:?}");
        for report in [end(&sending).await, end(&receiving).await] {
            assert_complete(&report);
        }
        assert_eq!(named(&lab), FOLDERS);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_that_comes_at_the_end_says_what_happens() {
    let stages = [Stage::Running, Stage::Verifying, Stage::Finishing];
    for round in 0..24 {
        let (by_sender, then) = (round % 2 == 0, if round % 4 < 2 { OnCancel::Keep } else { OnCancel::Remove });
        let (_laptop, lab, _receiver, [sending, receiving]) = begun(100, round % 3 == 1).await;
        let (here, there) = if by_sender { (&sending, &receiving) } else { (&receiving, &sending) };
        let wanted = stages[round % 3];
        until(|| matches!(here.progress().stage, stage if stage == wanted || stage == Stage::Ended)).await;
        let cancelled = cancel(here, then).await;
        let reports = [end(here).await, end(there).await];
        match &cancelled {
            Ok(()) => {
                let kept = then == OnCancel::Keep;
                for (report, by) in reports.iter().zip([Side::Here, Side::There]) {
                    assert_eq!(*failed(report), Fault::Cancelled { by, kept }, "{round}");
                }
                assert_eq!(named(&lab), 0, "{round}");
                if !kept {
                    assert_nothing_left(&lab.path("in"));
                }
            }
            cancelled => {
                assert!(is_too_late(cancelled), "{round}: {cancelled:?}");
                reports.iter().for_each(|report| assert_complete(report));
                assert_eq!(named(&lab), 100, "{round}");
            }
        }
    }
}

/// All of it is there, and its sender, which is cut off, has not heard so.
async fn arrived_unheard() -> UnderWay {
    let both = UnderWay::until(MIDWAY_BYTES, LONG).await;
    both.go_deaf();
    assert_complete(&*end(&both.receiving).await);
    both.cut_sender().await;
    both
}

#[tokio::test(flavor = "multi_thread")]
async fn sender_that_is_cancelled_before_it_hears_that_all_arrived_asks_once_more() {
    let both = arrived_unheard().await;
    both.mend();
    let cancelled = cancel(&both.sending, OnCancel::Remove).await;
    assert!(is_too_late(&cancelled), "{cancelled:?}");
    assert_complete(&*end(&both.sending).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn sender_that_is_cancelled_and_cannot_ask_whether_all_arrived_says_that_the_connection_was_lost() {
    let both = arrived_unheard().await;
    let cancelled = cancel(&both.sending, OnCancel::Remove).await;
    assert!(matches!(cancelled, Err(Fault::ConnectionLost(_))), "{cancelled:?}");
    let sent = end(&both.sending).await;
    assert!(matches!(failed(&sent), Fault::ConnectionLost(_)), "{sent:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_ended_is_not_cancelled() {
    let (_laptop, _lab, _receiver, both) = begun(1, false).await;
    for one in both {
        assert_complete(&*end(&one).await);
        assert!(is_too_late(&cancel(&one, OnCancel::Keep).await));
    }
}
