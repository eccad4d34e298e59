//! A rule that is set while something that it decides on has not begun.
use ringway_engine::limits::TRANSFERS_OF_ONE_MAX;
use ringway_engine::{Decision, IncomingOffer, Transfer};
use ringway_model::{Consent, DeviceRule, OnCancel, Stage};

use super::*;

const CODE: &str = "7-river-camera";

fn rule(consent: Consent) -> DeviceRule {
    DeviceRule { consent, ..DeviceRule::default() }
}

/// As the command sets a rule beside the service.
fn another_program_sets(here: &Device, other: &Device, consent: Consent) {
    open(here.folder.path()).set_rule(other.engine.this_device().id, &rule(consent)).unwrap();
}

async fn offered(receiver: &mut Receiver) -> IncomingOffer {
    loop {
        if let ReceiverEvent::OfferReceived(offer) = timeout(LONG, receiver.next_event()).await.unwrap().unwrap() {
            return offer;
        }
    }
}

async fn ends(transfer: &Transfer) -> Arc<Report> {
    timeout(LONG, transfer.wait()).await.expect("it ends")
}

/// Two that are paired; the lab accepts all that comes, and has as many transfers of the laptop as
/// one device may have.
struct Crowded {
    laptop: Device,
    lab: Device,
    receiver: Receiver,
    running: Vec<Transfer>,
}

impl Crowded {
    async fn new() -> Self {
        let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
        let mut receiver = lab.receiver(Some(CODE)).await;
        fs::write(laptop.path("first"), "first").unwrap();
        let what = [folder(laptop.path("first"))];
        let sending = laptop.engine.send(request(&what, &target(&receiver), Some(CODE), IoMode::Auto, Some(1)));
        let first = offered(&mut receiver).await.accept(AcceptOptions::default()).await.unwrap();
        ends(&first).await;
        let sent = ends(&sending).await;
        assert_complete(&sent);
        another_program_sets(&lab, &laptop, Consent::Accept);
        let mut crowded = Self { laptop, lab, receiver, running: Vec::new() };
        for number in 0..TRANSFERS_OF_ONE_MAX {
            let sending = crowded.send(&format!("running {number}"));
            crowded.accepts().await;
            crowded.running.push(sending);
        }
        crowded
    }

    /// Sends what takes minutes.
    fn send(&self, name: &str) -> Transfer {
        fs::write(self.laptop.path(name), vec![7; 10_000_000]).unwrap();
        let what = [folder(self.laptop.path(name))];
        let mut request = request(&what, &target(&self.receiver), None, IoMode::Auto, Some(1));
        request.options.limit = Some(RateLimit::new(50_000).unwrap());
        request.options.retry = Some(Duration::from_secs(60));
        self.laptop.engine.send(request)
    }

    async fn accepts(&mut self) -> Transfer {
        let offer = offered(&mut self.receiver).await;
        assert_eq!(*offer.decision(), Decision::Accept { bytes_max: None });
        offer.accept(AcceptOptions::default()).await.unwrap()
    }

    /// One more, which the rule has accepted and which waits at both ends.
    async fn waiting(&mut self) -> (Transfer, Transfer) {
        let sending = self.send("waiting");
        let receiving = self.accepts().await;
        let waits = async {
            while [&sending, &receiving].iter().any(|transfer| transfer.progress().stage != Stage::Queued) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(LONG, waits).await.expect("it waits");
        (sending, receiving)
    }

    async fn end(self) {
        self.running.iter().for_each(|transfer| transfer.cancel(OnCancel::Remove));
        for running in &self.running {
            ends(running).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_a_place_is_asked_about_anew_once_its_rule_asks() {
    let mut crowded = Crowded::new().await;
    let (sending, receiving) = crowded.waiting().await;
    another_program_sets(&crowded.lab, &crowded.laptop, Consent::Ask);
    let report = ends(&receiving).await;
    assert!(matches!(failed(&report), Fault::Cancelled { by: Side::Here, .. }), "{report:?}");
    let offer = offered(&mut crowded.receiver).await;
    assert_eq!(offer.summary().names, ["waiting"]);
    assert_eq!(*offer.decision(), Decision::Ask(None));
    offer.decline(DeclineReason::ByChoice);
    let report = ends(&sending).await;
    assert!(matches!(failed(&report), Fault::Declined(DeclineReason::ByChoice)), "{report:?}");
    assert!(!crowded.lab.path("in/waiting").exists());
    crowded.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_a_place_is_declined_once_its_device_is_refused() {
    let mut crowded = Crowded::new().await;
    let (sending, receiving) = crowded.waiting().await;
    // By this very program.
    let laptop = crowded.laptop.engine.this_device().id;
    crowded.lab.engine.set_rule(laptop, &rule(Consent::Refuse)).unwrap();
    let report = ends(&sending).await;
    assert!(matches!(failed(&report), Fault::Declined(DeclineReason::ByChoice)), "{report:?}");
    ends(&receiving).await;
    assert!(!crowded.lab.path("in/waiting").exists());
    crowded.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_a_place_is_declined_once_its_receiver_stops() {
    let mut crowded = Crowded::new().await;
    let (sending, receiving) = crowded.waiting().await;
    crowded.receiver.stop().await;
    let report = ends(&receiving).await;
    assert!(matches!(failed(&report), Fault::Declined(DeclineReason::Stopped)), "{report:?}");
    let report = ends(&sending).await;
    assert!(matches!(failed(&report), Fault::Declined(DeclineReason::Stopped)), "{report:?}");
    timeout(LONG, crowded.receiver.no_offers()).await.expect("it has heard that");
    crowded.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_that_accepts_answers_the_questions_that_wait() {
    const OFFERS: usize = 8;
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let mut receiver = lab.receiver(Some(CODE)).await;
    fs::write(laptop.path("paired"), "paired").unwrap();
    let what = [folder(laptop.path("paired"))];
    let first = laptop.engine.send(request(&what, &target(&receiver), Some(CODE), IoMode::Auto, Some(1)));
    offered(&mut receiver).await.accept(AcceptOptions::default()).await.unwrap();
    let sent = ends(&first).await;
    assert_complete(&sent);
    let (mut sending, mut asked) = (Vec::new(), Vec::new());
    for number in 0..OFFERS {
        let name = format!("file {number}");
        fs::write(laptop.path(&name), vec![7; 1_000]).unwrap();
        let what = [folder(laptop.path(&name))];
        sending.push(laptop.engine.send(request(&what, &target(&receiver), None, IoMode::Auto, Some(1))));
        let offer = offered(&mut receiver).await;
        while !offer.summary().totals_final {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        asked.push(offer);
    }
    // One that does not let them in answers nothing.
    let id = laptop.engine.this_device().id;
    let small = DeviceRule { bytes_max: Some(10), ..rule(Consent::Accept) };
    lab.engine.set_rule(id, &small).unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(asked.iter().all(|offer| *offer.decision() == Decision::Ask(None)));
    let elsewhere = lab.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let fits = DeviceRule { bytes_max: Some(1_000), folder: Some(elsewhere.clone().into()), ..rule(Consent::Accept) };
    lab.engine.set_rule(id, &fits).unwrap();
    let mut overtaken = Vec::new();
    for _ in 0..OFFERS {
        let offer = loop {
            match timeout(LONG, receiver.next_event()).await.unwrap().unwrap() {
                ReceiverEvent::OfferAnswered(key) => overtaken.push(key),
                ReceiverEvent::OfferReceived(offer) => break offer,
                ReceiverEvent::TransferStarted(_) => {}
                other => panic!("{other:?}"),
            }
        };
        assert!(overtaken.contains(&offer.summary().key()), "the question goes first");
        let Decision::Accept { bytes_max } = *offer.decision() else { panic!("{:?}", offer.summary()) };
        assert_eq!(bytes_max, Some(1_000));
        offer.accept(AcceptOptions { bytes_max, ..AcceptOptions::default() }).await.unwrap();
    }
    for (number, sending) in sending.iter().enumerate() {
        let sent = ends(sending).await;
        assert_complete(&sent);
        assert!(elsewhere.join(format!("file {number}")).exists());
    }
    for offer in asked {
        offer.accept(AcceptOptions::default()).await.expect_err("its question is over");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn question_goes_away_once_its_device_is_refused() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let mut receiver = lab.receiver(Some(CODE)).await;
    fs::write(laptop.path("file"), "file").unwrap();
    let what = [folder(laptop.path("file"))];
    let sending = laptop.engine.send(request(&what, &target(&receiver), Some(CODE), IoMode::Auto, Some(1)));
    let offer = offered(&mut receiver).await;
    another_program_sets(&lab, &laptop, Consent::Refuse);
    let report = ends(&sending).await;
    assert!(matches!(failed(&report), Fault::Declined(DeclineReason::ByChoice)), "{report:?}");
    assert!(offer.accept(AcceptOptions::default()).await.is_err(), "the question is over");
    assert!(!lab.path("in/file").exists());
}
