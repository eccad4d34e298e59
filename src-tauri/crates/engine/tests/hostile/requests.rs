//! Strangers who ask to pair: what they can put before a person, and how often.
use ringway_engine::limits::{NO_CODE_TOLD, REQUESTS_MAX, REQUESTS_OF_ALL_MAX};
use ringway_wire::DeviceName;
use ringway_wire::control::Hello;
use ringway_wire::limits::VERSION;

use super::*;

/// Says hello as a device without a code, from that address, and hears the answer.
async fn asks(mallory: &Mallory, from: Ipv4Addr, to: SocketAddr, known: bool) -> Option<Message> {
    let mut channel = mallory.dial_from(from, to).await;
    let name = DeviceName::new("nas").unwrap();
    channel.say(&Message::Hello(Hello { version: VERSION, name, known, pairing: false })).await;
    timeout(LONG, channel.hear()).await.expect("an answer")
}

/// The requests among the events so far.
async fn told(receiver: &mut Receiver) -> usize {
    let mut told = 0;
    while let Ok(Some(event)) = timeout(Duration::from_millis(300), receiver.next_event()).await {
        told += usize::from(matches!(event, ReceiverEvent::PairingRequested(_)));
    }
    told
}

fn address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 0, number)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_keys_and_addresses_shows_a_few_and_uses_up_no_code() {
    let lab = Device::new("lab");
    let (mut receiver, to) = lab.receiver().await;
    for number in 1..=3 * REQUESTS_OF_ALL_MAX as u8 {
        asks(&Mallory::new(), address(number), to, false).await;
    }
    assert_eq!(told(&mut receiver).await, REQUESTS_MAX);
    // A person who sends them away is shown a few more, and then none.
    let mut shown = REQUESTS_MAX;
    for round in 0..5u8 {
        for request in lab.engine.pairing_requests() {
            assert!(lab.engine.dismiss_pairing(request.id));
        }
        for number in 0..10 {
            asks(&Mallory::new(), address(100 + 10 * round + number), to, false).await;
        }
        shown += told(&mut receiver).await;
    }
    assert_eq!(shown, REQUESTS_OF_ALL_MAX);
    assert_eq!(receiver.code().map(|code| code.text.is_none()), Some(true), "the code that was given is open still");
    assert!(lab.engine.devices().unwrap().is_empty());
    let laptop = Device::new("laptop");
    laptop.engine.pair(at(to), given(CODE).to_pairing_secret()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_cannot_change_what_is_shown_of_it_nor_tell_whether_it_is() {
    let lab = Device::new("lab");
    let (mut receiver, to) = lab.receiver().await;
    let mallory = Mallory::new();
    let first = asks(&mallory, address(1), to, false).await;
    assert_eq!(told(&mut receiver).await, 1);
    let mut other_name = mallory.dial_from(address(2), to).await;
    let name = DeviceName::new("somebody else").unwrap();
    other_name.say(&Message::Hello(Hello { version: VERSION, name, known: false, pairing: false })).await;
    assert_eq!(timeout(LONG, other_name.hear()).await.unwrap(), first, "shown or not, the answer is the same");
    assert_eq!(asks(&mallory, address(3), to, true).await, first, "also if it says that it knows this device");
    assert_eq!(told(&mut receiver).await, 0);
    let shown = lab.engine.pairing_requests();
    assert_eq!((shown.len(), &*shown[0].name), (1, "nas"));
    assert!(lab.engine.block_pairing(shown[0].id));
    assert_eq!(asks(&mallory, address(4), to, false).await, first, "blocked, too");
    assert_eq!(asks(&Mallory::new(), address(1), to, false).await, first, "another key where a blocked one came from");
    assert_eq!(told(&mut receiver).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_keeps_failing_at_the_code_is_not_shown() {
    let lab = Device::new("lab");
    let (mut receiver, to) = lab.receiver().await;
    let laptop = Device::new("laptop");
    for _ in 0..3 {
        let wrong = laptop.engine.pair(at(to), given("7-river-zebra").to_pairing_secret()).await;
        assert!(matches!(wrong, Err(Fault::Auth(AuthError::WrongCode))), "{wrong:?}");
    }
    receiver.renew_code().unwrap();
    let wrong = laptop.engine.pair(at(to), given("7-river-zebra").to_pairing_secret()).await;
    assert!(matches!(wrong, Err(Fault::Auth(AuthError::WrongCode))), "{wrong:?}");
    // Its address waits now, whatever key comes from there.
    asks(&Mallory::new(), Ipv4Addr::LOCALHOST, to, false).await;
    assert_eq!(told(&mut receiver).await, 0);
    asks(&Mallory::new(), address(2), to, false).await;
    assert_eq!(told(&mut receiver).await, 1, "others are shown");
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_mislead_reach_nobody() {
    let lab = Device::new("lab");
    let (mut receiver, to) = lab.receiver().await;
    for name in ["n\u{202e}as", "n\u{200b}as", "\u{1b}[2J\u{1b}[31m", "two\nlines"] {
        let mut channel = Mallory::new().dial(to).await;
        channel.hello_without_code_as(name).await;
        assert!(is_closed(&mut channel).await, "{name:?}");
    }
    assert_eq!(told(&mut receiver).await, 0);
    // Markup is a name like any other, and is shown as text.
    let mut channel = Mallory::new().dial(to).await;
    channel.hello_without_code_as("<img src=x>{{7*7}}").await;
    assert!(timeout(LONG, channel.hear()).await.unwrap().is_some());
    assert_eq!(told(&mut receiver).await, 1);
    assert_eq!(&*lab.engine.pairing_requests()[0].name, "<img src=x>{{7*7}}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tries_while_no_code_is_open_are_told_a_few_times_only() {
    let lab = Device::new("lab");
    let (mut receiver, to) = lab.receiver().await;
    let laptop = Device::new("laptop");
    laptop.engine.pair(at(to), given(CODE).to_pairing_secret()).await.unwrap();
    for _ in 0..4 * NO_CODE_TOLD.burst {
        let stranger = Device::new("stranger");
        let paired = stranger.engine.pair(at(to), given("7-river-zebra").to_pairing_secret()).await;
        assert!(matches!(paired, Err(Fault::Auth(AuthError::NoCodeOpen))), "{paired:?}");
    }
    let mut told = 0;
    while let Ok(Some(event)) = timeout(Duration::from_millis(300), receiver.next_event()).await {
        let none_open = |failed: &TurnedAway| failed.why == AuthError::NoCodeOpen;
        told += u32::from(matches!(&event, ReceiverEvent::TurnedAway(failed) if none_open(failed)));
    }
    assert_eq!(told, NO_CODE_TOLD.burst);
}
