//! Who shows a key that is not his, agrees on keys by old means only, or says again what was said
//! before: nobody.
use std::sync::Arc;

use ringway_engine::SendRequest;
use rustls::crypto::aws_lc_rs::kx_group;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::io::AsyncRead;
use tokio::net::tcp::OwnedWriteHalf;

use super::mallory::provider_with;
use super::*;

/// What a device shows of itself to everybody.
fn certificate_of(device: &Device) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(&fs::read(device.path("data/identity.pem")).unwrap()).unwrap()
}

/// Two devices that know each other, and the receiver of the one.
async fn paired() -> (Device, Device, Receiver, SocketAddr) {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let (receiver, address) = lab.receiver().await;
    fs::write(laptop.path("file"), "the first").unwrap();
    let receiver = crossing_works(&laptop, receiver, address).await;
    fs::remove_file(lab.path("in/file")).unwrap();
    (laptop, lab, receiver, address)
}

fn request(laptop: &Device, target: SocketAddr) -> SendRequest {
    let what = vec![Source { path: laptop.path("file"), contents_only: false }];
    let mut request = SendRequest::new(what, at(target));
    request.options.compression = Compression::Off;
    request
}

/// There is no event and no file.
async fn nothing_came_of_it(lab: &Device, receiver: &mut Receiver) {
    let told = loop {
        match timeout(Duration::from_millis(300), receiver.next_event()).await {
            // What the honest ones did before.
            Ok(Some(
                ReceiverEvent::TransferStarted(_) | ReceiverEvent::DevicePaired(_) | ReceiverEvent::CodeChanged,
            )) => {}
            told => break told,
        }
    };
    assert!(told.is_err(), "nobody was told anything: {told:?}");
    assert_eq!(fs::read_dir(lab.path("in")).unwrap().count(), 0, "nothing was written");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_known_devices_certificate_without_its_key_is_refused() {
    let (laptop, lab, mut receiver, address) = paired().await;
    let mallory = Mallory::showing(certificate_of(&laptop));
    if let Ok(mut channel) = dial_with(mallory.client_config(), address).await {
        // Who connects believes that all is well until the other end says otherwise.
        channel.hello("laptop", true).await;
        channel.say(&Message::Offer(offer())).await;
        let heard = timeout(LONG, channel.hear()).await.expect("closed");
        assert_eq!(heard, None, "no hello, and no answer to an offer");
    }
    nothing_came_of_it(&lab, &mut receiver).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_known_receivers_certificate_without_its_key_is_offered_nothing() {
    let (laptop, lab, _receiver, _) = paired().await;
    let mallory = Mallory::showing(certificate_of(&lab));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = listener.local_addr().unwrap();
    let listening = tokio::spawn(async move {
        let channel = mallory.answer_as(mallory.server_config(), &listener).await;
        match channel {
            Ok(mut channel) => channel.hear().await,
            Err(_) => None,
        }
    });
    let report = timeout(LONG, laptop.engine.send(request(&laptop, target)).wait()).await.unwrap();
    assert!(matches!(report.outcome, Outcome::Failed(Fault::Tls { .. })), "{report:?}");
    assert_eq!(timeout(LONG, listening).await.unwrap().unwrap(), None, "not even a hello was said");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_exchanges_keys_by_elliptic_curves_alone_is_refused_by_both() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let (receiver, address) = lab.receiver().await;
    let mallory = Mallory::new();
    let classical = provider_with(vec![kx_group::X25519, kx_group::SECP256R1]);
    assert!(hears_nothing(mallory.client_config_with(&classical), address).await, "as who connects");
    let config = mallory.server_config_with(&classical);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = listener.local_addr().unwrap();
    let listening = tokio::spawn(async move { mallory.answer_as(config, &listener).await.is_ok() });
    fs::write(laptop.path("file"), "x").unwrap();
    let report = timeout(LONG, laptop.engine.send(request(&laptop, target)).wait()).await.unwrap();
    assert!(matches!(report.outcome, Outcome::Failed(Fault::Tls { .. })), "as who listens: {report:?}");
    assert!(!listening.await.unwrap(), "as who listens");
    crossing_works(&laptop, receiver, address).await;
}

type Recordings = Arc<std::sync::Mutex<Vec<Vec<u8>>>>;

/// Passes connections on to `to`, and keeps what those who connect say on each.
async fn eavesdropper(to: SocketAddr) -> (SocketAddr, Recordings) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (at, recordings) = (listener.local_addr().unwrap(), Recordings::default());
    let heard = Arc::clone(&recordings);
    tokio::spawn(async move {
        while let Ok((from, _)) = listener.accept().await {
            let number = {
                let mut heard = heard.lock().unwrap();
                heard.push(Vec::new());
                heard.len() - 1
            };
            let (said, answers) = from.into_split();
            let (answered, on) = TcpStream::connect(to).await.unwrap().into_split();
            let heard = Arc::clone(&heard);
            tokio::spawn(pass_on(said, on, move |bytes| heard.lock().unwrap()[number].extend_from_slice(bytes)));
            tokio::spawn(pass_on(answered, answers, |_| {}));
        }
    });
    (at, recordings)
}

async fn pass_on(mut from: impl AsyncRead + Unpin, mut to: OwnedWriteHalf, mut heard: impl FnMut(&[u8])) {
    let mut bytes = [0; 16 * 1024];
    while let Ok(some @ 1..) = from.read(&mut bytes).await {
        heard(&bytes[..some]);
        if to.write_all(&bytes[..some]).await.is_err() {
            return;
        }
    }
    let _ = to.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_said_before_is_worth_nothing_when_it_is_said_again() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let (receiver, address) = lab.receiver().await;
    let (middle, recordings) = eavesdropper(address).await;
    fs::write(laptop.path("file"), "said once").unwrap();
    // With the code, and then as who is known.
    let receiver = crossing_works(&laptop, receiver, middle).await;
    let mut receiver = crossing_works(&laptop, receiver, middle).await;
    fs::remove_file(lab.path("in/file")).unwrap();
    let recordings = recordings.lock().unwrap().clone();
    assert!(recordings.len() >= 4, "two sessions and their lanes: {}", recordings.len());
    for (number, said) in recordings.iter().enumerate() {
        assert!(said.len() > 1_000, "{number}: a whole conversation");
        let (mut answers, mut again) = TcpStream::connect(address).await.unwrap().into_split();
        let mut answered = Vec::new();
        // The other end may hang up before all is said.
        let saying = async {
            let _ = again.write_all(said).await;
        };
        let (_, closed) = tokio::join!(saying, timeout(LONG, answers.read_to_end(&mut answered)));
        closed.expect("it hangs up by itself").ok();
        nothing_came_of_it(&lab, &mut receiver).await;
    }
    crossing_works(&laptop, receiver, address).await;
}
