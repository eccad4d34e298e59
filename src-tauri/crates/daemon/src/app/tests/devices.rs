//! Paired devices and those nearby.
use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_device_shows_what_was_last_moved_between_it_and_this_one() {
    let (mut near, mut far) = (Machine::new("near"), Machine::new("far"));
    let (address, code) = far.listen().await;
    let source = near.folder.path().join("survey");
    std::fs::write(&source, "abc").unwrap();
    let chosen = near.app.choices.keep(vec![source]).unwrap().unwrap();
    let target = near.app.engine.resolve(&address).unwrap();
    let sent = begun(near.app.sending.send(chosen.id, target, Some(code), HowToSend::default(), None).unwrap());
    let offer = far.offer().await;
    far.app.offers.accept(&offer.id.to_string(), offer.size(), OnConflict::RenameTop).await.unwrap();
    near.ended(&sent.transfer.id).await;
    for (machine, direction) in [(&mut near, "sending"), (&mut far, "receiving")] {
        let last = machine
            .event(|event| match event {
                AppEvent::DevicesChanged { devices } => {
                    let devices = serde_json::to_value(devices).unwrap();
                    Some(devices[0]["last_transfer"].clone()).filter(|last| !last.is_null())
                }
                _ => None,
            })
            .await;
        assert_eq!(
            (&last["direction"], &last["title"]["path"], &last["bytes"], &last["outcome"]),
            (&direction.into(), &"survey".into(), &3.into(), &"complete".into())
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn looking_stops_while_announcing_is_off_and_resumes_with_it() {
    let machine = Machine::new("near");
    machine.app.nearby.look(true);
    assert!(machine.app.nearby.looks());
    let announce = |is_on| SettingsChange { announce: Some(is_on), receiving: Some(false), ..Default::default() };
    assert!(!machine.app.settings.change(announce(false)).await.unwrap().settings.announce);
    assert!(!machine.app.nearby.looks());
    machine.app.nearby.look(true);
    assert!(!machine.app.nearby.looks());
    machine.app.settings.change(announce(true)).await.unwrap();
    assert!(machine.app.nearby.looks());
    machine.app.nearby.look(false);
    assert!(!machine.app.nearby.looks());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_nearby_is_a_strangers_from_when_it_is_forgotten_and_known_from_when_it_is_paired() {
    let (mut near, mut far) = (Machine::new("near"), Machine::new("far"));
    let (address, code) = far.listen().await;
    near.app.sending.pair(&Recipient::Typed { text: address.clone() }, &code).await.unwrap();
    let device = near.app.devices.shown().unwrap()[0].device.id;
    let id = device.to_string();
    let pairs = [("txtvers", "2"), ("id", &id[..16]), ("name", "far"), ("kind", "laptop")];
    let said = Announcement::parse(pairs.map(|(key, value)| (key, value.as_bytes()))).unwrap();
    let heard = Announced::new(&said, vec![address.parse().unwrap()]);
    let known = async |near: &mut Machine| {
        near.event(|event| match event {
            AppEvent::NearbyChanged { nearby } => Some(nearby[0].device.paired_id),
            _ => None,
        })
        .await
    };
    near.app.nearby.heard(vec![heard]);
    assert_eq!(known(&mut near).await, None);
    near.app.devices.rename(&id, "Ada's").unwrap();
    assert_eq!(known(&mut near).await, Some(device));
    near.app.devices.forget(&id).unwrap();
    assert_eq!(known(&mut near).await, None, "it has a card of its own again");
    far.app.receiving.renew_code().await.unwrap();
    let code = match far.app.receiving.listening() {
        Listening::On { code: Some(code), .. } => code.code.unwrap(),
        _ => panic!("no code is open"),
    };
    near.app.sending.pair(&Recipient::Typed { text: address.clone() }, &code).await.unwrap();
    assert_eq!(known(&mut near).await, Some(device));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_looks_like_another_devices_is_pointed_out() {
    // The second letter of the other one is Cyrillic.
    let (mut lab, nas, other) = (Machine::new("lab"), Machine::new("nas"), Machine::new("n\u{430}s"));
    for sender in [&nas, &other] {
        let (address, code) = lab.listen().await;
        let sent = sender.send(&sender.source(), &address, Some(&code));
        let offer = lab.offer().await;
        let looks_like = (sender.app.engine.this_device().name != "nas")
            .then(|| LookAlike { name: "nas".into(), id: nas.app.engine.this_device().id });
        assert_eq!(offer.looks_like, looks_like);
        lab.app.offers.decline(&offer.id.to_string()).unwrap();
        sender.ended(&sent).await;
    }
    let devices = lab.app.devices.shown().unwrap();
    let alike: Vec<_> = devices.iter().map(|device| device.looks_like.as_ref().map(|other| other.id)).collect();
    assert_eq!(alike, [Some(devices[1].device.id), Some(devices[0].device.id)]);
}
