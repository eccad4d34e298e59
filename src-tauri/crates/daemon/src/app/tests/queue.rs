//! What waits for its turn to one device.
use super::*;
use crate::dto::Waiting;

/// Two devices that are paired, the second of which asks before it receives.
async fn met() -> (Machine, Machine) {
    let (near, mut far) = (Machine::new("near"), Machine::new("far"));
    let (address, code) = far.listen().await;
    near.app.sending.pair(&Recipient::Typed { text: address }, &code).await.unwrap();
    (near, far)
}

impl Machine {
    /// Asks to send a new file of that name to a paired device.
    fn ask_to_send(&self, name: &str, to: &Self) -> Sent {
        let path = self.folder.path().join(name);
        std::fs::write(&path, name).unwrap();
        let chosen = self.app.choices.keep(vec![path]).unwrap().unwrap();
        let target = Target::Device(to.app.engine.this_device().id);
        self.app.sending.send(chosen.id, target, None, HowToSend::default(), None).unwrap()
    }

    fn waits(&self, name: &str, to: &Self) -> Waiting {
        match self.ask_to_send(name, to) {
            Sent::Waits { waiting } => waiting,
            Sent::Begun { transfer } => panic!("{transfer:?}"),
        }
    }

    fn titles(&self) -> Vec<String> {
        self.app.sending.queue.shown().into_iter().map(|waiting| waiting.title.to_string()).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_to_one_device_waits_its_turn_and_goes_on_after_a_refusal() {
    let (mut near, mut far) = met().await;
    let first = begun(near.ask_to_send("first", &far));
    let offer = far.offer().await;
    let second = near.waits("second", &far);
    assert_eq!((second.target.to_string(), second.title.to_string()), ("far".to_owned(), "second".to_owned()));
    assert_eq!(second.device, far.app.engine.this_device().id);
    near.waits("third", &far);
    near.waits("fourth", &far);
    let (all, _listener) = near.app.start(Box::new(|_| ())).unwrap();
    assert_eq!(
        all.waiting.iter().map(|waiting| waiting.title.to_string()).collect::<Vec<_>>(),
        ["second", "third", "fourth"]
    );

    let (queue, waiting) = (&near.app.sending.queue, all.waiting);
    queue.shift(&waiting[2].id, true).unwrap();
    queue.shift(&waiting[0].id, true).unwrap();
    assert_eq!(near.titles(), ["second", "fourth", "third"]);
    queue.shift(&waiting[0].id, false).unwrap();
    queue.remove(&waiting[1].id).unwrap();
    assert_eq!(near.titles(), ["fourth", "second"]);
    assert_eq!(queue.remove(&waiting[1].id), Err(Fault::Gone));
    assert_eq!(near.app.transfers.running(), 1);

    far.app.offers.decline(&offer.id.to_string()).unwrap();
    assert_eq!(fault(near.ended(&first.transfer.id).await), Fault::Declined(DeclineReason::ByChoice));
    let offer = far.offer().await;
    assert_eq!(offer.names, ["fourth"]);
    far.app.offers.accept(&offer.id.to_string(), offer.size(), OnConflict::RenameTop).await.unwrap();
    let last = far.event(|event| match event {
        AppEvent::OfferChanged { offer } if offer.names == ["second"] => Some(*offer),
        _ => None,
    });
    let last = last.await;
    far.app.offers.decline(&last.id.to_string()).unwrap();
    near.event(|event| match event {
        AppEvent::WaitingChanged { waiting } => waiting.is_empty().then_some(()),
        _ => None,
    })
    .await;
    near.runs(0).await;
    assert_eq!(std::fs::read(far.inbox().join("fourth")).unwrap(), b"fourth");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_device_is_not_waited_for() {
    let (near, mut far) = met().await;
    let mut other = Machine::new("other");
    let (address, code) = other.listen().await;
    near.app.sending.pair(&Recipient::Typed { text: address }, &code).await.unwrap();
    begun(near.ask_to_send("first", &far));
    far.offer().await;
    near.waits("behind", &far);
    begun(near.ask_to_send("second", &other));
    assert_eq!(other.offer().await.names, ["second"]);
    // Who neighbours it in the list goes to another device.
    let behind = near.app.sending.queue.shown().remove(0);
    near.app.sending.queue.shift(&behind.id, false).unwrap();
    assert_eq!(near.titles(), ["behind"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_ends_begins_nothing_that_waits() {
    let (near, mut far) = met().await;
    let first = begun(near.ask_to_send("first", &far));
    let offer = far.offer().await;
    near.waits("second", &far);
    assert_eq!(near.app.wind_down(Duration::ZERO).await, 1);
    assert_eq!(near.titles(), [] as [&str; 0]);
    far.app.offers.decline(&offer.id.to_string()).unwrap();
    near.ended(&first.transfer.id).await;
    near.runs(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn too_much_that_waits_is_refused() {
    let (near, mut far) = met().await;
    begun(near.ask_to_send("first", &far));
    far.offer().await;
    let refused = loop {
        let chosen = near.app.choices.keep(vec![near.folder.path().join("first")]).unwrap().unwrap();
        let target = Target::Device(far.app.engine.this_device().id);
        match near.app.sending.send(chosen.id, target, None, HowToSend::default(), None) {
            Ok(_) => assert!(near.titles().len() <= 100),
            Err(refused) => break refused,
        }
    };
    assert_eq!((refused, near.titles().len()), (Fault::Invalid(ringway_model::Invalid::TooMany), 100));
}
