//! What a device's rule makes of its offers in the controller: accepted, asked about, refused.
use ringway_model::{AskedBecause, Consent, DeclineReason, Fault, OnConflict};

use super::*;

/// Two that have met: the first has sent something to the second.
async fn acquainted() -> (Machine, Machine, String) {
    let (sender, mut receiver) = (Machine::new("near"), Machine::new("far"));
    let (address, code) = receiver.listen().await;
    let source = sender.source();
    let sent = sender.send(&source, &address, Some(&code));
    let offer = receiver.offer().await;
    receiver.app.offers.accept(&offer.id.to_string(), offer.size(), OnConflict::Replace).await.unwrap();
    assert!(matches!(sender.ended(&sent).await.outcome, Outcome::Complete));
    (sender, receiver, address)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_rule_accepts_shows_up_as_a_transfer_and_not_as_an_offer() {
    let (sender, mut receiver, address) = acquainted().await;
    let near = receiver.app.devices.shown().unwrap().remove(0);
    let into = receiver.folder.path().join("from near");
    std::fs::create_dir(&into).unwrap();
    receiver
        .app
        .devices
        .set_folder(&near.device.id.to_string(), Some(into.clone()), ringway_model::IntoHome::Refuse)
        .unwrap();
    receiver.app.devices.set_rule(&near.device.id.to_string(), Consent::Accept, Some(1_000)).unwrap();
    let sent = sender.send(&sender.source(), &address, None);
    assert!(matches!(sender.ended(&sent).await.outcome, Outcome::Complete));
    let came = receiver
        .event(|event| match event {
            AppEvent::OfferChanged { offer } if offer.id.to_string().starts_with(&sent) => {
                panic!("asked about {offer:?}")
            }
            AppEvent::TransferStarted { transfer } => Some(transfer.transfer.id).filter(|id| id.starts_with(&sent)),
            _ => None,
        })
        .await;
    assert!(matches!(receiver.ended(&came).await.outcome, Outcome::Complete));
    assert_eq!(std::fs::read_to_string(into.join("set/below/file")).unwrap(), "content");
    assert!(receiver.app.offers.shown().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_more_than_a_rule_lets_in_is_asked_about_and_lands_in_its_folder() {
    let (sender, mut receiver, address) = acquainted().await;
    let near = receiver.app.devices.shown().unwrap().remove(0);
    let into = receiver.folder.path().join("from near");
    std::fs::create_dir(&into).unwrap();
    receiver
        .app
        .devices
        .set_folder(&near.device.id.to_string(), Some(into.clone()), ringway_model::IntoHome::Refuse)
        .unwrap();
    receiver.app.devices.set_rule(&near.device.id.to_string(), Consent::Accept, Some(3)).unwrap();
    let sent = sender.send(&sender.source(), &address, None);
    let offer = receiver
        .event(|event| match event {
            AppEvent::OfferChanged { offer } => Some(offer),
            _ => None,
        })
        .await;
    assert_eq!(offer.asked_because, Some(AskedBecause::TooMuch { bytes_max: 3 }));
    assert_eq!(offer.destination.0, into);
    receiver.app.offers.accept(&offer.id.to_string(), offer.size(), OnConflict::Replace).await.unwrap();
    assert!(matches!(sender.ended(&sent).await.outcome, Outcome::Complete));
    assert!(into.join("set/below/file").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_refused_is_declined_and_nothing_is_shown() {
    let (sender, receiver, address) = acquainted().await;
    let near = receiver.app.devices.shown().unwrap().remove(0);
    receiver.app.devices.set_rule(&near.device.id.to_string(), Consent::Refuse, None).unwrap();
    let sent = sender.send(&sender.source(), &address, None);
    let ended = sender.ended(&sent).await;
    let declined = Fault::Declined(DeclineReason::ByChoice);
    assert!(matches!(&ended.outcome, Outcome::Failed(fault) if *fault == declined), "{ended:?}");
    assert!(receiver.app.offers.shown().is_empty());
    assert!(matches!(receiver.app.devices.set_rule("no such", Consent::Ask, None), Err(Fault::Gone)));
    assert!(matches!(
        receiver.app.devices.set_rule(&near.device.id.to_string(), Consent::Accept, Some(0)),
        Err(Fault::Invalid { .. })
    ));
}
