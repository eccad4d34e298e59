//! Targets and codes of sends, and what is sent again.
use std::net::Ipv4Addr;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_is_asked_for_a_code_and_a_wrong_one_is_told_at_both_ends() {
    let (near, mut far) = (Machine::new("near"), Machine::new("far"));
    let (target, _) = far.listen().await;
    let source = near.source();
    let first = near.send(&source, &target, None);
    assert_eq!(fault(near.ended(&first).await), Fault::Auth(AuthError::PairingNeeded { peer_name: "far".into() }));
    let second = near.send(&source, &target, Some("7-zebra-zebra"));
    assert_eq!(fault(near.ended(&second).await), Fault::Auth(AuthError::WrongCode));
    let failed = far
        .event(|event| match event {
            AppEvent::PairingFailed { failed } => Some(failed),
            _ => None,
        })
        .await;
    let wrong = (Ipv4Addr::LOCALHOST.into(), AuthError::WrongCode, Some(2));
    assert_eq!((failed.from, failed.why, failed.attempts_left), wrong);
    let chosen = near.app.choices.keep(vec![source]).unwrap().unwrap();
    let slip = near.app.sending.send(
        chosen.id,
        near.app.engine.resolve(&target).unwrap(),
        Some("7-zebra-zebar".into()),
        HowToSend::default(),
        None,
    );
    assert_eq!(slip.err(), Some(Fault::UnknownWord { position: 2 }), "a misspelt word never leaves this machine");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_out_stays_here_and_its_folder_brings_it_again() {
    let (near, mut far) = (Machine::new("near"), Machine::new("far"));
    let (address, code) = far.listen().await;
    let source = near.source();
    std::fs::write(source.join("one.tmp"), "x").unwrap();
    std::fs::write(source.join("below/keep.tmp"), "x").unwrap();
    let target = near.app.engine.resolve(&address).unwrap();
    let chosen = near.app.choices.keep(vec![source.clone()]).unwrap().unwrap();
    assert_eq!(chosen.leave_out, "");
    let send = |leave_out: &str, code: Option<String>| {
        let how = HowToSend { leave_out: leave_out.to_owned(), ..HowToSend::default() };
        near.app.sending.send(chosen.id, target.clone(), code, how, None)
    };
    let refused = send("*.tmp\na[b", None).err();
    assert!(matches!(refused, Some(Fault::Invalid(ringway_model::Invalid::Pattern { .. }))), "{refused:?}");
    let sent = begun(send("*.tmp\n!keep.tmp\n", Some(code)).unwrap()).transfer.id;
    let offer = far.offer().await;
    far.app.offers.accept(&offer.id.to_string(), offer.size(), OnConflict::RenameTop).await.unwrap();
    let report = near.ended(&sent).await;
    assert_eq!((report.outcome, report.counts.excluded), (Outcome::Complete, 1));
    let arrived = far.inbox().join("set");
    assert!(!arrived.join("one.tmp").exists() && arrived.join("below/keep.tmp").exists());
    let next = near.app.choices.keep(vec![source.join("")]).unwrap().unwrap();
    assert_eq!(next.leave_out, "*.tmp\n!keep.tmp");
    let again = near.app.sending.choose_again(&sent).unwrap();
    assert_eq!((again.leave_out.as_str(), again.chosen.leave_out.as_str()), ("*.tmp\n!keep.tmp", ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_is_its_devices_key_and_never_a_name() {
    let (near, mut far) = (Machine::new("near"), Machine::new("far"));
    let (address, code) = far.listen().await;
    near.app.sending.pair(&Recipient::Typed { text: address }, &code).await.unwrap();
    let far_id = far.app.engine.this_device().id;
    let card = |id: String| Recipient::Device { id };
    assert_eq!(near.app.sending.target(&card(far_id.to_string())).await.unwrap(), Target::Device(far_id));
    for not_an_id in
        ["far".to_owned(), far_id.short(), "127.0.0.1:1".to_owned(), near.app.engine.this_device().id.to_string()]
    {
        assert_eq!(near.app.sending.target(&card(not_an_id.clone())).await, Err(Fault::Gone), "{not_an_id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_went_to_a_forgotten_device_is_not_sent_to_another_of_its_name() {
    let (near, mut far, mut other) = (Machine::new("near"), Machine::new("far"), Machine::new("far"));
    let (address, code) = far.listen().await;
    let sent = near.send(&near.source(), &address, Some(&code));
    let offer = far.offer().await;
    far.app.offers.decline(&offer.id.to_string()).unwrap();
    near.ended(&sent).await;
    let [was, now] = [&far, &other].map(|machine| machine.app.engine.this_device().id);
    assert_eq!(near.app.sending.choose_again(&sent).unwrap().target, Recipient::Device { id: was.to_string() });
    near.app.devices.forget(&was.to_string()).unwrap();
    let (address, code) = other.listen().await;
    near.app.sending.pair(&Recipient::Typed { text: address }, &code).await.unwrap();
    let forgotten = Fault::Auth(AuthError::Forgotten { name: "far".into(), id: was, now: Some(now) });
    assert_eq!(near.app.sending.choose_again(&sent).unwrap_err(), forgotten);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_went_to_an_announced_receiver_is_sent_again_to_that_one_alone() {
    let (near, far, mut other) = (Machine::new("near"), Machine::new("far"), Machine::new("other"));
    // Somebody else is where far had announced itself, and shows the code.
    let (address, code) = other.listen().await;
    let fingerprint = Fingerprint::of(&far.app.engine.this_device().id.0);
    let announced = Target::Announced { at: address.parse().unwrap(), fingerprint };
    let chosen = near.app.choices.keep(vec![near.source()]).unwrap().unwrap();
    let send =
        |id, target, code| begun(near.app.sending.send(id, target, Some(code), HowToSend::default(), None).unwrap());
    let sent = send(chosen.id, announced.clone(), code.clone());
    let other_answered = |ended| matches!(fault(ended), Fault::Auth(AuthError::OtherAnswered { .. }));
    assert!(other_answered(near.ended(&sent.transfer.id).await));
    let again = near.app.sending.choose_again(&sent.transfer.id).unwrap();
    let target = near.app.sending.target(&again.target).await.unwrap();
    assert_eq!(target, announced, "through the window and back");
    let sent = send(again.chosen.id, target, code);
    assert!(other_answered(near.ended(&sent.transfer.id).await));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_sent_before_goes_to_a_new_target_only_once_that_was_confirmed() {
    let (near, mut far, mut other) = (Machine::new("near"), Machine::new("far"), Machine::new("other"));
    let (address, code) = far.listen().await;
    let sent = near.send(&near.source(), &address, Some(&code));
    let offer = far.offer().await;
    far.app.offers.decline(&offer.id.to_string()).unwrap();
    near.ended(&sent).await;
    let (new_address, code) = other.listen().await;
    near.app.sending.pair(&Recipient::Typed { text: new_address.clone() }, &code).await.unwrap();
    let [far_id, other_id] = [&far, &other].map(|machine| machine.app.engine.this_device().id);

    let again = near.app.sending.choose_again(&sent).unwrap();
    let send = |target: Target, confirmed: Option<&str>| {
        near.app.sending.send(again.chosen.id, target, None, HowToSend::default(), confirmed)
    };
    let was = format!("far ({})", far_id.short());
    let other_in_full = format!("other ({})", other_id.short());
    let refused = |to: &str| {
        Some(Fault::NewTarget { what: "set".into(), more: 0, to: to.to_owned().into(), was: was.clone().into() })
    };
    let other_at = Target::DeviceAt { id: other_id, at: new_address.parse::<std::net::SocketAddr>().unwrap().into() };
    let at_address = near.app.engine.resolve(&new_address).unwrap();
    assert_eq!(send(Target::Device(other_id), None).err(), refused(&other_in_full));
    assert_eq!(
        send(Target::Device(other_id), Some(&was)).err(),
        refused(&other_in_full),
        "confirmed for another target"
    );
    assert_eq!(send(at_address, Some(&other_in_full)).err(), refused(&new_address));
    assert_eq!(send(other_at, Some("")).err(), refused(&format!("{other_in_full}, {new_address}")));
    assert!(
        near.app
            .history
            .page(&PastQuery::default())
            .unwrap()
            .iter()
            .all(|earlier| earlier.past.key().to_string() == sent),
        "nothing was begun"
    );

    assert!(send(Target::Device(far_id), None).is_ok(), "it went there before");
    assert_eq!(far.offer().await.names, ["set"]);
    assert!(send(Target::Device(other_id), Some(&other_in_full)).is_ok());
    assert_eq!(other.offer().await.names, ["set"]);
    let dropped = near.app.choices.keep(vec![near.folder.path().join("set")]).unwrap().unwrap();
    assert_ne!(dropped.id, again.chosen.id, "a person's own choice goes anywhere");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_sent_and_was_removed_is_not_missed_when_the_rest_is_sent_again() {
    let (near, mut far) = (Machine::new("near"), Machine::new("far"));
    let (target, code) = far.listen().await;
    let source = near.source();
    let pipe = source.join("below/pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let sent = near.send(&source, &target, Some(&code));
    let first = far.offer().await;
    far.app.offers.accept(&first.id.to_string(), first.size(), OnConflict::RenameTop).await.unwrap();
    assert_eq!(near.ended(&sent).await.outcome, Outcome::Partial);
    near.runs(0).await;

    std::fs::remove_file(&pipe).unwrap();
    let again = near.app.sending.choose_again(&sent).unwrap();
    let target = near.app.sending.target(&again.target).await.unwrap();
    let sent = near.app.sending.send(again.chosen.id, target, None, HowToSend::default(), None).unwrap();
    let next = far.event(|event| match event {
        AppEvent::OfferChanged { offer } if offer.id != first.id => Some(*offer),
        _ => None,
    });
    let offer = next.await;
    far.app.offers.accept(&offer.id.to_string(), offer.size(), OnConflict::RenameTop).await.unwrap();
    let ended = near.ended(&begun(sent).transfer.id).await;
    assert_eq!((&ended.outcome, ended.failures.len()), (&Outcome::Complete, 0), "{ended:?}");
}
