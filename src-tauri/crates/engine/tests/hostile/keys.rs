//! Names, ids and addresses are different things: nobody takes another device's place by what it
//! calls itself.
use ringway_engine::Fingerprint;
use ringway_model::Invalid;
use ringway_wire::ProtocolError;

use super::*;

/// A receiver's and a sender's trick names: another device's id, its beginnings, addresses, and
/// names that look like "nas" and are not.
fn trick_names(nas: &Device) -> Vec<String> {
    let id = nas.engine.this_device().id;
    let mut names = vec![id.to_string(), id.short(), id.to_string()[..8].to_owned()];
    names.extend(
        ["10.0.0.7", "10.0.0.7:17464", "::1", "nas.lan", "n\u{ad}as", "nas\u{3164}", "na\u{e0041}s"].map(str::to_owned),
    );
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sender_that_calls_itself_by_an_id_or_address_is_turned_away() {
    let (nas, lab) = (Device::new("nas"), Device::new("lab"));
    let (_receiver, address) = lab.receiver().await;
    for name in trick_names(&nas) {
        let mut channel = Mallory::new().dial(address).await;
        channel.hello_as(&name).await;
        assert_eq!(timeout(LONG, channel.hear()).await.expect("closed"), None, "{name}");
    }
    assert!(lab.engine.devices().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_calls_itself_by_an_id_or_address_is_not_paired_with() {
    let (nas, laptop) = (Device::new("nas"), Device::new("laptop"));
    for name in trick_names(&nas) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answering = async {
            let mut channel = Mallory::new().answer(&listener).await;
            channel.hear().await;
            channel.hello_as(&name).await;
            while channel.hear().await.is_some() {}
        };
        let target = at(address);
        let pairing = laptop.engine.pair(target, given(CODE).to_pairing_secret());
        let (refused, ()) = timeout(LONG, async { tokio::join!(pairing, answering) }).await.unwrap();
        let refused = refused.unwrap_err();
        assert!(
            [ProtocolError::MisleadingName, ProtocolError::BadText].map(Fault::from).contains(&refused),
            "{name}: {refused:?}"
        );
    }
    assert!(laptop.engine.devices().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_device_is_renamed_to_what_reads_as_an_id_or_address() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let (_receiver, address) = lab.receiver().await;
    let paired = laptop.engine.pair(at(address), given(CODE).to_pairing_secret()).await.unwrap();
    for name in trick_names(&lab) {
        let refused = laptop.engine.rename_device(paired.id, &name).unwrap_err();
        assert!(matches!(refused, Fault::Invalid(Invalid::DeviceName)), "{name}: {refused:?}");
        let settings = ringway_model::Settings { name: name.as_str().into(), ..laptop.engine.settings() };
        let refused = laptop.engine.set_settings(settings).unwrap_err();
        assert!(matches!(refused, Fault::Invalid(Invalid::DeviceName)), "{name}: {refused:?}");
    }
    assert_eq!(laptop.engine.find_device("lab").unwrap().unwrap().id, paired.id);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_answers_for_an_announced_device_must_have_its_id() {
    let (laptop, lab, nas) = (Device::new("laptop"), Device::new("lab"), Device::new("nas"));
    let (mut receiver, address) = lab.receiver().await;
    let fingerprint = Fingerprint::of(&nas.engine.this_device().id.0);
    let target = Target::Announced { at: address, fingerprint };
    let refused = laptop.engine.pair(target, given(CODE).to_pairing_secret()).await.unwrap_err();
    assert!(matches!(refused, Fault::Auth(AuthError::OtherAnswered { .. })), "{refused:?}");
    receiver.stop().await;
    while let Some(event) = timeout(LONG, receiver.next_event()).await.unwrap() {
        assert!(!matches!(event, ReceiverEvent::OfferReceived(_) | ReceiverEvent::DevicePaired(_)), "{event:?}");
    }
    assert!(laptop.engine.devices().unwrap().is_empty());
}
