//! Settings that change while the service runs: in force at once, or not at all, and reported to
//! those that they concern.
use std::net::{TcpListener, TcpStream};

use ringway_model::{DeclineReason, Fault, OnConflict, TransferId};

use super::*;
use crate::control::protocol::GivenPath;
use crate::dto::SendLimit;

fn free_port() -> u16 {
    TcpListener::bind("[::]:0").unwrap().local_addr().unwrap().port()
}

fn port(port: u16) -> SettingsChange {
    SettingsChange { port: Some(port), ..Default::default() }
}

fn folder(folder: impl Into<PathBuf>) -> SettingsChange {
    SettingsChange { receive_folder: Some(GivenPath(folder.into())), ..Default::default() }
}

fn receiving(is_on: bool) -> SettingsChange {
    SettingsChange { receiving: Some(is_on), ..Default::default() }
}

fn listens(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

impl Machine {
    fn config(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("config/config.toml")).unwrap()
    }

    fn open_code(&self) -> Option<String> {
        match self.app.receiving.listening() {
            Listening::On { code: Some(code), .. } => code.code,
            _ => None,
        }
    }

    async fn overtaken(&mut self) -> TransferId {
        self.event(|event| match event {
            AppEvent::OfferGone { id, how: Left::Overtaken } => Some(id),
            _ => None,
        })
        .await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_used_is_told_and_changes_nothing() {
    let mut machine = Machine::new("near");
    let (address, code) = machine.listen().await;
    let (before, stored) = (machine.app.engine.settings(), machine.config());
    let taken = TcpListener::bind("[::]:0").unwrap();
    let taken = port(taken.local_addr().unwrap().port());
    let file = machine.folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let gone = machine.folder.path().join("gone");
    let change = |change: SettingsChange| machine.app.settings.change(change);
    let two_lines = SettingsChange { name: Some("two\nlines".into()), ..port(free_port()) };
    assert!(matches!(change(two_lines).await, Err(Fault::Invalid { .. })), "its port is not taken up either");
    let limit = SettingsChange { send_limit: Some(SendLimit::BytesPerS(0)), ..Default::default() };
    assert!(matches!(change(limit).await, Err(Fault::Invalid { .. })));
    assert!(matches!(change(port(0)).await, Err(Fault::Invalid { .. })));
    assert!(matches!(change(folder("not/absolute")).await, Err(Fault::Invalid { .. })));
    for (path, errno) in [(gone, 2), (file, 20)] {
        match change(folder(path)).await {
            Err(Fault::Path { source, .. }) => assert_eq!(source.errno, Some(errno)),
            other => panic!("{other:?}"),
        }
    }
    match change(taken).await {
        Err(Fault::Listen { source, .. }) => assert_eq!(source.errno, Some(98)),
        other => panic!("{other:?}"),
    }
    assert_eq!(machine.app.engine.settings(), before);
    assert_eq!(machine.config(), stored);
    assert_eq!(machine.open_code(), Some(code));
    assert!(listens(address.rsplit(':').next().unwrap().parse().unwrap()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_at_the_port_notices_leaves_the_code_open() {
    let mut machine = Machine::new("near");
    let (_, code) = machine.listen().await;
    let elsewhere = machine.folder.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let limit = |limit| SettingsChange { send_limit: Some(limit), ..Default::default() };
    let named = SettingsChange { name: Some("  another ".into()), announce: Some(false), ..Default::default() };
    for change in [limit(SendLimit::BytesPerS(20_000_000)), limit(SendLimit::Off), named, folder(&elsewhere)] {
        machine.app.settings.change(change).await.unwrap();
        assert_eq!(machine.open_code().as_ref(), Some(&code));
    }
    let told = machine
        .event(|event| match event {
            AppEvent::SettingsChanged { settings } if settings.settings.receive_folder.ends_with("elsewhere") => {
                Some(settings)
            }
            _ => None,
        })
        .await;
    assert_eq!((&*told.settings.name, told.settings.announce, told.settings.send_limit), ("another", false, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_that_waits_lands_where_it_was_shown_and_the_next_one_in_the_new_folder() {
    let (near, mut far) = (Machine::new("near"), Machine::new("far"));
    let (target, code) = far.listen().await;
    let first = near.send(&near.source(), &target, Some(&code));
    let waiting = far.offer().await;
    let elsewhere = far.folder.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    far.app.settings.change(folder(&elsewhere)).await.unwrap();
    assert_eq!(far.app.offers.shown().remove(0).destination, waiting.destination);
    far.app.offers.accept(&waiting.id.to_string(), waiting.size(), OnConflict::Replace).await.unwrap();
    assert!(matches!(near.ended(&first).await.outcome, Outcome::Complete));
    assert!(far.inbox().join("set/below/file").exists());
    let second = near.send(&near.source(), &target, None);
    let next = far.offer().await;
    assert_eq!(next.destination.0, elsewhere);
    // A sender that waits while settings change is still noticed when it goes.
    far.app.settings.change(SettingsChange { announce: Some(false), ..Default::default() }).await.unwrap();
    near.app.transfers.find(&second).unwrap().cancel(OnCancel::Remove);
    far.event(|event| matches!(event, AppEvent::OfferGone { how: Left::Withdrawn, .. }).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_port_holds_at_once_what_runs_goes_on_and_what_waits_is_declined_at_both_ends() {
    let (near, mut far) = (Machine::new("near"), Machine::new("far"));
    let (target, code) = far.listen().await;
    let large = near.folder.path().join("large");
    std::fs::write(&large, vec![7; 4_000_000]).unwrap();
    let slow = SettingsChange { send_limit: Some(SendLimit::BytesPerS(1_000_000)), ..Default::default() };
    near.app.settings.change(SettingsChange { receiving: Some(false), ..slow }).await.unwrap();
    let running = near.send(&large, &target, Some(&code));
    let offer = far.offer().await;
    far.app.offers.accept(&offer.id.to_string(), offer.size(), OnConflict::Replace).await.unwrap();
    let begun = async {
        while near.app.transfers.find(&running).unwrap().progress().bytes_done == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, begun).await.expect("bytes");
    let waits = near.send(&near.source(), &target, None);
    let waiting = far.offer().await;

    let new = free_port();
    let elsewhere = far.folder.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    far.app.settings.change(SettingsChange { port: Some(new), ..folder(&elsewhere) }).await.unwrap();
    assert_eq!(far.overtaken().await, waiting.id);
    assert!(far.app.offers.shown().is_empty());
    assert_eq!(fault(near.ended(&waits).await), Fault::Declined(DeclineReason::Stopped));
    assert!(!listens(target.rsplit(':').next().unwrap().parse().unwrap()), "it has left the old one");
    assert!(matches!(far.app.receiving.listening(), Listening::On { port, other_port: false, .. } if port == new));
    assert!(far.config().contains(&format!("port = {new}")));
    near.runs(1).await;
    assert!(matches!(near.ended(&running).await.outcome, Outcome::Complete));
    let again = near.send(&near.source(), &format!("127.0.0.1:{new}"), None);
    let offer = far.offer().await;
    assert_eq!(offer.destination.0, elsewhere, "what was changed with the port holds there, too");
    far.app.offers.accept(&offer.id.to_string(), offer.size(), OnConflict::Replace).await.unwrap();
    assert!(matches!(near.ended(&again).await.outcome, Outcome::Complete));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_for_now_that_is_stored_is_not_left() {
    let mut machine = Machine::new("near");
    let (target, code) = machine.listen().await;
    let now: u16 = target.rsplit(':').next().unwrap().parse().unwrap();
    machine.app.settings.change(port(now)).await.unwrap();
    assert!(matches!(machine.app.receiving.listening(), Listening::On { port, other_port: false, .. } if port == now));
    assert_eq!(machine.open_code(), Some(code));
}

#[tokio::test(flavor = "multi_thread")]
async fn receiving_that_is_switched_off_declines_what_waits_stays_off_and_comes_back() {
    let (near, mut far) = (Machine::new("near"), Machine::new("far"));
    let (target, code) = far.listen().await;
    let own = target.rsplit(':').next().unwrap().parse().unwrap();
    far.app.settings.change(port(own)).await.unwrap();
    let sent = near.send(&near.source(), &target, Some(&code));
    let waiting = far.offer().await;
    assert!(!far.app.settings.change(receiving(false)).await.unwrap().settings.receiving);
    assert_eq!(far.overtaken().await, waiting.id);
    assert_eq!(fault(near.ended(&sent).await), Fault::Declined(DeclineReason::Stopped));
    assert!(matches!(far.app.receiving.listening(), Listening::Off { refused: None }));
    assert!(!listens(own));
    assert!(far.config().contains("receiving = false"));
    // Nothing else that changes has it receive.
    far.app.settings.change(SettingsChange { name: Some("other".into()), ..Default::default() }).await.unwrap();
    assert!(matches!(far.app.receiving.listening(), Listening::Off { refused: None }));

    let other = TcpListener::bind(("::", own)).unwrap();
    assert!(matches!(far.app.settings.change(receiving(true)).await, Err(Fault::Listen { .. })));
    assert!(far.config().contains("receiving = false"));
    let refused = |fault: &Fault| matches!(fault, Fault::Listen { .. });
    assert!(
        matches!(far.app.receiving.listening(), Listening::Off { refused: Some(fault) } if refused(&fault)),
        "all are told why"
    );
    far.app.settings.change(receiving(false)).await.unwrap();
    assert!(
        matches!(far.app.receiving.listening(), Listening::Off { refused: None }),
        "until nobody wants it any more"
    );
    drop(other);
    assert!(far.app.settings.change(receiving(true)).await.unwrap().settings.receiving);
    assert!(listens(own));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_hand_has_written_is_taken_up_with_the_next_change() {
    let machine = Machine::new("near");
    let file = machine.folder.path().join("config/config.toml");
    std::fs::write(&file, format!("{}receiving = false # for now\nport = 4001\n", machine.config())).unwrap();
    let named = |name: &str| SettingsChange { name: Some(name.into()), ..Default::default() };
    let settings = machine.app.settings.change(named("renamed")).await.unwrap();
    assert_eq!(
        (&*settings.settings.name, settings.settings.port, settings.settings.receiving),
        ("renamed", 4001, false)
    );
    assert!(machine.config().contains("# for now"));
    // An invalid line fails the next change of a setting, and stays in the file for a person to
    // see.
    let broken = format!("{}port = \"x\"\n", machine.config());
    std::fs::write(&file, &broken).unwrap();
    assert!(matches!(machine.app.settings.change(named("again")).await, Err(Fault::Config { .. })));
    assert_eq!(machine.config(), broken);
    assert_eq!(machine.app.settings.shown().settings.name, "renamed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_is_set_up_by_the_first_settings_that_are_stored() {
    let machine = Machine::new("near");
    std::fs::remove_file(machine.folder.path().join("config/config.toml")).unwrap();
    assert!(!machine.app.everything().unwrap().is_set_up);
    let change = SettingsChange { background: Some(true), receiving: Some(false), ..Default::default() };
    machine.app.settings.change(change).await.unwrap();
    assert!(machine.app.everything().unwrap().is_set_up);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_that_has_run_out_is_shown_no_more_until_another_is_drawn() {
    let mut machine = Machine::new("near");
    let (_, code) = machine.listen().await;
    machine.app.receiving.shorten_code(Duration::from_millis(100)).await;
    // Changes come after the events of its beginning.
    let closed = machine.event(|event| match event {
        AppEvent::ListeningChanged { listening: Listening::On { code: None, .. } } => Some(()),
        _ => None,
    });
    closed.await;
    assert_eq!(machine.open_code(), None);
    machine.app.receiving.renew_code().await.unwrap();
    assert!(machine.open_code().is_some_and(|fresh| fresh != code));
}
