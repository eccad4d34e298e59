//! Listening, the code, and devices that want to pair.
use ringway_model::PairingRequest;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_taken_port_is_a_fault_and_a_free_one_helps() {
    let mut machine = Machine::new("near");
    let taken = std::net::TcpListener::bind("[::]:0").unwrap();
    machine.app.receiving.listen(Some(taken.local_addr().unwrap().port())).await;
    match machine.app.receiving.listening() {
        Listening::Failed { fault: Fault::Listen { source, .. }, .. } => assert_eq!(source.errno, Some(98)),
        _ => panic!("listens on a taken port"),
    }
    let (_, first) = machine.listen().await;
    machine.app.receiving.renew_code().await.unwrap();
    match machine.app.receiving.listening() {
        Listening::On { code: Some(code), .. } => assert_ne!(code.code.unwrap(), first),
        _ => panic!("does not listen"),
    }
}

async fn requests(far: &mut Machine) -> Vec<PairingRequest> {
    far.event(|event| match event {
        AppEvent::RequestsChanged { requests } => Some(requests),
        _ => None,
    })
    .await
}

fn open_code(far: &Machine) -> Option<String> {
    match far.app.receiving.listening() {
        Listening::On { code, .. } => code.and_then(|code| code.code),
        _ => panic!("does not listen"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_without_a_code_is_shown_and_a_click_opens_one_by_which_it_pairs() {
    let (near, other, mut far) = (Machine::new("near"), Machine::new("other"), Machine::new("far"));
    let (target, code) = far.listen().await;
    let typed = || Recipient::Typed { text: target.clone() };
    other.app.sending.pair(&typed(), &code).await.unwrap();
    assert_eq!(open_code(&far), None, "it was used");

    let sent = near.send(&near.source(), &target, None);
    assert_eq!(fault(near.ended(&sent).await), Fault::Auth(AuthError::PairingNeeded { peer_name: "far".into() }));
    let shown = requests(&mut far).await;
    let id = near.app.engine.this_device().id;
    assert_eq!(shown.iter().map(|request| (request.id, &*request.name)).collect::<Vec<_>>(), [(id, "near")]);
    assert_eq!(far.app.everything().unwrap().requests, shown, "a late look shows it as well");
    assert_eq!(open_code(&far), None, "a peer opens none");

    far.app.receiving.allow_pairing(&id.to_string()).await.unwrap();
    assert!(requests(&mut far).await[0].allowed);
    let code = open_code(&far).expect("that click opens one");
    far.app.receiving.allow_pairing(&id.to_string()).await.unwrap();
    assert_eq!(open_code(&far), Some(code.clone()), "one that is open stays");
    near.app.sending.pair(&typed(), &code).await.unwrap();
    assert_eq!(requests(&mut far).await, []);
    assert_eq!(far.app.devices.shown().unwrap().len(), 2);
    assert_eq!(far.app.receiving.allow_pairing(&id.to_string()).await, Err(Fault::Gone));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_that_is_blocked_or_sent_away_is_shown_no_more() {
    let (near, mut far) = (Machine::new("near"), Machine::new("far"));
    let (target, _) = far.listen().await;
    let typed = Recipient::Typed { text: target };
    let id = near.app.engine.this_device().id.to_string();
    assert_eq!(near.app.sending.request_pairing(&typed).await, Ok(None));
    assert_eq!(requests(&mut far).await.len(), 1);
    assert_eq!(far.app.receiving.requests.block("ada-laptop"), Err(Fault::Gone), "it is named by its key alone");
    let code = |far: &Machine| match far.app.receiving.listening() {
        Listening::On { code: Some(open), .. } => open.code,
        _ => None,
    };
    let before = code(&far).unwrap();
    far.app.receiving.block_pairing(&id).await.unwrap();
    assert_ne!(code(&far).unwrap(), before, "it may have heard that one");
    assert_eq!(requests(&mut far).await, []);
    assert_eq!(near.app.sending.request_pairing(&typed).await, Ok(None), "it hears the same");
    assert_eq!(far.app.everything().unwrap().requests, []);
    assert_eq!(far.app.receiving.requests.block(&id), Err(Fault::Gone));
    assert_eq!(far.app.receiving.requests.dismiss(&id), Err(Fault::Gone));
    let key = near.app.engine.this_device().id;
    far.app.receiving.requests.unblock(key).unwrap();
    assert_eq!(requests(&mut far).await.iter().map(|request| request.id).collect::<Vec<_>>(), [key]);
    assert_eq!(far.app.receiving.requests.unblock(key), Err(Fault::Gone), "it is blocked no more");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_shown_once_nobody_listens() {
    let (near, mut far) = (Machine::new("near"), Machine::new("far"));
    let (target, _) = far.listen().await;
    near.app.sending.request_pairing(&Recipient::Typed { text: target }).await.unwrap();
    assert_eq!(requests(&mut far).await.len(), 1);
    let change = SettingsChange { receiving: Some(false), ..Default::default() };
    far.app.settings.change(change).await.unwrap();
    assert_eq!(requests(&mut far).await, []);
    let id = near.app.engine.this_device().id.to_string();
    assert_eq!(far.app.receiving.allow_pairing(&id).await, Err(Fault::Gone));
}
