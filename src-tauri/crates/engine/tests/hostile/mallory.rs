//! A peer that speaks the wire format and keeps to none of its rules: own keys, own certificates,
//! any message at any time.
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hkdf::Hkdf;
use ringway_engine::GivenSecret;
use ringway_wire::control::{Accept, Answer, FRAME_PREFIX_LEN, Greeting, Hello, Message, Offer, Refusal, Ticket};
use ringway_wire::limits::{ALPN, VERSION};
use ringway_wire::pair::{Binding, ENTROPY_LEN, EXPORTER_LABEL};
use ringway_wire::session::{Event, Machine, Pairing};
use ringway_wire::{DeviceName, OfferedNames};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig, SignatureScheme};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};

pub(crate) struct Mallory {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
    /// Shown instead of his own.
    shown: Option<CertificateDer<'static>>,
    /// All names of what he offers, where the offer's own message has not all of them.
    pub(crate) names: Option<Arc<OfferedNames>>,
}

impl Mallory {
    pub(crate) fn new() -> Self {
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::new(vec!["x".into()]).unwrap().self_signed(&key).unwrap();
        let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
        Self { certificate: certificate.der().clone(), key, shown: None, names: None }
    }

    /// One who shows somebody else's certificate, and signs with his own key.
    pub(crate) fn showing(certificate: CertificateDer<'static>) -> Self {
        Self { shown: Some(certificate), ..Self::new() }
    }

    /// What he shows and signs with; nobody here asks whether they belong together.
    fn proof(&self) -> Arc<SingleCertAndKey> {
        let shown = self.shown.as_ref().unwrap_or(&self.certificate).clone();
        Arc::new(CertifiedKey::new(vec![shown], any_supported_type(&self.key).unwrap()).into())
    }

    pub(crate) fn id(&self) -> [u8; 32] {
        key_hash(&self.certificate)
    }

    pub(crate) fn client_config(&self) -> ClientConfig {
        self.client_config_for(&rustls::version::TLS13)
    }

    pub(crate) fn client_config_for(&self, version: &'static rustls::SupportedProtocolVersion) -> ClientConfig {
        self.client_config_by(&provider(), version)
    }

    pub(crate) fn client_config_with(&self, provider: &Arc<CryptoProvider>) -> ClientConfig {
        self.client_config_by(provider, &rustls::version::TLS13)
    }

    fn client_config_by(
        &self,
        provider: &Arc<CryptoProvider>,
        version: &'static rustls::SupportedProtocolVersion,
    ) -> ClientConfig {
        let mut config = ClientConfig::builder_with_provider(Arc::clone(provider))
            .with_protocol_versions(&[version])
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anyone))
            .with_client_cert_resolver(self.proof());
        config.alpn_protocols = vec![ALPN.to_vec()];
        config
    }

    pub(crate) fn server_config(&self) -> ServerConfig {
        self.server_config_with(&provider())
    }

    pub(crate) fn server_config_with(&self, provider: &Arc<CryptoProvider>) -> ServerConfig {
        let mut config = ServerConfig::builder_with_provider(Arc::clone(provider))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_client_cert_verifier(Arc::new(Anyone))
            .with_cert_resolver(self.proof());
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.send_tls13_tickets = 0;
        config
    }

    /// One that notes whether the other end has shown its certificate.
    pub(crate) fn server_config_that_notes(&self, seen: &Arc<AtomicBool>) -> ServerConfig {
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_client_cert_verifier(Arc::new(Noting(Arc::clone(seen))))
            .with_cert_resolver(self.proof());
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.send_tls13_tickets = 0;
        config
    }

    pub(crate) async fn dial(&self, to: SocketAddr) -> Channel {
        dial_with(self.client_config(), to).await.unwrap()
    }

    /// From one of this machine's own addresses.
    pub(crate) async fn dial_from(&self, from: Ipv4Addr, to: SocketAddr) -> Channel {
        handshake(self.client_config(), connect_from(from, to).await).await.unwrap()
    }

    pub(crate) async fn answer(&self, listener: &TcpListener) -> Channel {
        self.answer_as(self.server_config(), listener).await.unwrap()
    }

    /// The next connection, whatever becomes of its handshake.
    pub(crate) async fn answer_as(&self, config: ServerConfig, listener: &TcpListener) -> std::io::Result<Channel> {
        let (tcp, _) = listener.accept().await?;
        Ok(Channel::new(TlsAcceptor::from(Arc::new(config)).accept(tcp).await?.into()))
    }
}

pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

/// The same with other means to agree on keys.
pub(crate) fn provider_with(kx_groups: Vec<&'static dyn SupportedKxGroup>) -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider { kx_groups, ..aws_lc_rs::default_provider() })
}

pub(crate) async fn dial_with(config: ClientConfig, to: SocketAddr) -> std::io::Result<Channel> {
    handshake(config, TcpStream::connect(to).await?).await
}

/// A bare connection from one of this machine's own addresses.
pub(crate) async fn connect_from(from: Ipv4Addr, to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((from, 0).into()).unwrap();
    socket.connect(to).await.unwrap()
}

async fn handshake(config: ClientConfig, tcp: TcpStream) -> std::io::Result<Channel> {
    let name = ServerName::try_from("x").unwrap();
    Ok(Channel::new(TlsConnector::from(Arc::new(config)).connect(name, tcp).await?.into()))
}

fn key_hash(certificate: &CertificateDer<'_>) -> [u8; 32] {
    Sha256::digest(ParsedCertificate::try_from(certificate).unwrap().subject_public_key_info().as_ref()).into()
}

pub(crate) struct Channel {
    pub(crate) stream: TlsStream<TcpStream>,
}

impl Channel {
    fn new(stream: TlsStream<TcpStream>) -> Self {
        Self { stream }
    }

    pub(crate) fn peer_id(&self) -> [u8; 32] {
        key_hash(&self.stream.get_ref().1.peer_certificates().unwrap()[0])
    }

    pub(crate) fn export(&self, label: &[u8]) -> [u8; 32] {
        match &self.stream {
            TlsStream::Client(stream) => stream.get_ref().1.export_keying_material([0; 32], label, None).unwrap(),
            TlsStream::Server(stream) => stream.get_ref().1.export_keying_material([0; 32], label, None).unwrap(),
        }
    }

    pub(crate) async fn say(&mut self, message: &Message) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        self.say_raw(&bytes).await;
    }

    /// Whatever the other end thinks of it.
    pub(crate) async fn say_raw(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes).await;
        let _ = self.stream.flush().await;
    }

    /// The next message; none when the other end has closed.
    pub(crate) async fn hear(&mut self) -> Option<Message> {
        let mut prefix = [0; FRAME_PREFIX_LEN];
        self.stream.read_exact(&mut prefix).await.ok()?;
        let mut payload = vec![0; Message::payload_len(prefix).unwrap()];
        self.stream.read_exact(&mut payload).await.ok()?;
        Some(Message::decode(&payload).unwrap())
    }

    /// A hello under a name that no device may have.
    pub(crate) async fn hello_as(&mut self, name: &str) {
        self.hello_of(name, true).await;
    }

    /// The same of one who has no code.
    pub(crate) async fn hello_without_code_as(&mut self, name: &str) {
        self.hello_of(name, false).await;
    }

    async fn hello_of(&mut self, name: &str, pairing: bool) {
        let stands_for = "x".repeat(name.len());
        let message = Message::Hello(Hello {
            version: VERSION,
            name: DeviceName::new(&stands_for).unwrap(),
            known: false,
            pairing,
        });
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        let at = bytes.windows(name.len()).position(|window| window == stands_for.as_bytes()).unwrap();
        bytes[at..at + name.len()].copy_from_slice(name.as_bytes());
        self.say_raw(&bytes).await;
    }

    pub(crate) async fn hello(&mut self, name: &str, known: bool) {
        let Greeting { name } = Greeting { name: DeviceName::new(name).unwrap() };
        self.say(&Message::Hello(Hello { version: VERSION, name, known, pairing: true })).await;
    }
}

/// How long one who may say no more waits for the other end to want more, before he takes it to
/// want none for now.
const STANDSTILL: Duration = Duration::from_millis(500);

/// Of an answer without end, so much is told at most, if the other end wants it.
const PAGES_MAX: u32 = 2_000;

impl Channel {
    /// Answers the question of that number without end, in order and with no more pages than the
    /// other end asks for: `pages` at first. Tells `still` how many there were whenever the other
    /// end wants no more for now. Returns what else it says, once it has given the question up.
    pub(crate) async fn answers_without_end(
        &mut self,
        number: u32,
        pages: u8,
        page: impl Fn(u32) -> Answer,
        still: &watch::Sender<u32>,
    ) -> Option<Message> {
        let (mut sent, mut wanted) = (0, u32::from(pages));
        loop {
            while sent < wanted.min(PAGES_MAX) {
                self.say(&Message::Answered { number, answer: page(sent) }).await;
                sent += 1;
            }
            let heard = {
                let mut hearing = pin!(self.hear());
                match timeout(STANDSTILL, &mut hearing).await {
                    Ok(heard) => heard,
                    Err(_) => {
                        still.send_replace(sent);
                        hearing.await
                    }
                }
            };
            match heard {
                Some(Message::MorePages { pages, .. }) => wanted += u32::from(pages),
                Some(Message::Ping) => self.say(&Message::Pong).await,
                Some(Message::NotWanted { .. }) => {}
                other => return other,
            }
        }
    }
}

/// A session that Mallory has been let into: known, with an offer made.
pub(crate) struct Inside {
    pub(crate) session: Channel,
    pub(crate) exporter: [u8; 32],
}

impl Inside {
    /// Waits for the answer to the offer, and answers pings meanwhile, so that the session lives.
    pub(crate) async fn hears_the_answer(mut self) -> Option<Message> {
        loop {
            match self.session.hear().await {
                Some(Message::Ping) => self.session.say(&Message::Pong).await,
                answer => return answer,
            }
        }
    }

    /// Listens until the receiver has sent the result, and hangs up, which it waits for.
    pub(crate) async fn hears_the_end(mut self) {
        while !matches!(self.session.hear().await, None | Some(Message::Receipt(_) | Message::Cancel(_))) {}
        let _ = self.session.stream.shutdown().await;
    }
}

impl Mallory {
    /// Makes an offer as `name`: after pairing with the code that it was told, or, without one, as
    /// the device that is known already.
    pub(crate) async fn offers(&self, to: SocketAddr, name: &str, code: Option<&str>, offer: &Offer) -> Inside {
        let mut session = self.dial(to).await;
        let exporter = session.export(b"EXPORTER-ringway-session-v1");
        let pairing = code.map(|code| Pairing {
            secret: Arc::new(GivenSecret::parse(code.as_bytes()).ok().unwrap().to_pairing_secret()),
            binding: Binding::new(self.id(), session.peer_id(), session.export(EXPORTER_LABEL)).unwrap(),
            entropy: [7; ENTROPY_LEN].into(),
            always: false,
        });
        let greeting = Greeting { name: DeviceName::new(name).unwrap() };
        let mut machine = Machine::dial(&greeting, code.is_none(), pairing, 0);
        let mut offered = false;
        loop {
            while let Some(bytes) = machine.poll_transmit() {
                session.say_raw(&bytes).await;
            }
            if offered {
                return Inside { session, exporter };
            }
            match machine.poll_event() {
                Some(Event::Authenticated) => {
                    match &self.names {
                        Some(names) => machine.offer_all(offer, Arc::clone(names)),
                        None => machine.offer(offer),
                    }
                    offered = true;
                }
                Some(_) => {}
                None => machine.handle_message(session.hear().await.expect("an answer"), 0).unwrap(),
            }
        }
    }

    /// Pairs as `name` with the code that it was told, and makes an offer that is accepted.
    pub(crate) async fn let_in(&self, to: SocketAddr, name: &str, code: &str, offer: &Offer) -> Inside {
        let mut inside = self.offers(to, name, Some(code), offer).await;
        let answer = inside.session.hear().await;
        assert!(matches!(answer, Some(Message::Accept(_))), "{answer:?}");
        inside
    }

    /// Answers as a receiver whose code is `code`, and accepts whatever is offered, over at most so
    /// many lanes.
    pub(crate) async fn accepts(&self, listener: &TcpListener, code: &str, lanes: u8) -> Channel {
        self.accepts_from(listener, Some(code), lanes).await
    }

    /// The same; without a code from a device that is paired already.
    pub(crate) async fn accepts_from(&self, listener: &TcpListener, code: Option<&str>, lanes: u8) -> Channel {
        self.accepts_as(listener, code, lanes, false).await
    }

    /// The same; with `lists` it asks for lists of what there is to send.
    pub(crate) async fn accepts_as(
        &self,
        listener: &TcpListener,
        code: Option<&str>,
        lanes: u8,
        lists: bool,
    ) -> Channel {
        self.hears_an_offer(listener, code, |machine| {
            machine.accept(Accept { lanes, lists, doubts: None, owner_names: false });
        })
        .await
    }

    /// Answers as a receiver until something is offered, which he does not answer.
    pub(crate) async fn leaves_unanswered(&self, listener: &TcpListener, code: &str) -> Channel {
        self.hears_an_offer(listener, Some(code), |_| {}).await
    }

    async fn hears_an_offer(
        &self,
        listener: &TcpListener,
        code: Option<&str>,
        mut answer: impl FnMut(&mut Machine),
    ) -> Channel {
        let mut session = self.answer(listener).await;
        let exporter = session.export(EXPORTER_LABEL);
        let mut machine = Machine::listen(Greeting { name: DeviceName::new("lab").unwrap() }, 0);
        let mut is_offered = false;
        loop {
            while let Some(bytes) = machine.poll_transmit() {
                session.say_raw(&bytes).await;
            }
            if is_offered {
                return session;
            }
            match machine.poll_event() {
                Some(Event::HelloReceived { .. }) => machine.welcome(code.is_none(), true),
                Some(Event::PairingStarted) => {
                    let code = code.expect("who is paired does not pair");
                    let secret = GivenSecret::parse(code.as_bytes()).ok().unwrap().to_pairing_secret();
                    let binding = Binding::new(session.peer_id(), self.id(), exporter).unwrap();
                    machine.pair(&secret, binding, &[9; ENTROPY_LEN]);
                }
                Some(Event::CodeProven) => machine.confirm(),
                Some(Event::PairingConcluded) => machine.paired(),
                Some(Event::Offered(..)) => {
                    answer(&mut machine);
                    is_offered = true;
                }
                Some(_) => {}
                None => machine.handle_message(session.hear().await.expect("an answer"), 0).unwrap(),
            }
        }
    }

    /// Answers a device that is paired already as a receiver that says this together with its
    /// hello, before anything is offered.
    pub(crate) async fn answers_at_once(&self, listener: &TcpListener, with: &Message) -> Channel {
        let mut session = self.answer(listener).await;
        let mut machine = Machine::listen(Greeting { name: DeviceName::new("lab").unwrap() }, 0);
        machine.handle_message(session.hear().await.expect("a hello"), 0).unwrap();
        assert!(matches!(machine.poll_event(), Some(Event::HelloReceived { .. })));
        machine.welcome(true, true);
        let mut bytes: Vec<u8> = std::iter::from_fn(|| machine.poll_transmit()).flatten().collect();
        with.encode(&mut bytes);
        session.say_raw(&bytes).await;
        session
    }

    /// Pairs with a sender whose code is `code`, and refuses the offer that it then makes.
    pub(crate) async fn pairs_and_refuses(&self, listener: &TcpListener, code: &str, refusal: Refusal) -> Channel {
        let mut session = self.answer(listener).await;
        let exporter = session.export(EXPORTER_LABEL);
        let mut machine = Machine::listen(Greeting { name: DeviceName::new("lab").unwrap() }, 0);
        loop {
            while let Some(bytes) = machine.poll_transmit() {
                session.say_raw(&bytes).await;
            }
            if machine.is_ended() {
                let _ = session.stream.shutdown().await;
                return session;
            }
            match machine.poll_event() {
                Some(Event::HelloReceived { .. }) => machine.welcome(false, true),
                Some(Event::PairingStarted) => {
                    let secret = GivenSecret::parse(code.as_bytes()).ok().unwrap().to_pairing_secret();
                    let binding = Binding::new(session.peer_id(), self.id(), exporter).unwrap();
                    machine.pair(&secret, binding, &[9; ENTROPY_LEN]);
                }
                Some(Event::CodeProven) => machine.confirm(),
                Some(Event::PairingConcluded) => machine.paired(),
                Some(Event::Offered(..)) => machine.refuse(refusal),
                Some(_) => {}
                None => machine.handle_message(session.hear().await.expect("an answer"), 0).unwrap(),
            }
        }
    }

    /// Whether a connection that asks to join as this lane's connection is let in.
    pub(crate) async fn joins(&self, exporter: [u8; 32], to: SocketAddr, lane: u8, connection: u16) -> Option<Channel> {
        let transfer = [7; 16];
        let mut ticket = [0; 32];
        Hkdf::<Sha256>::new(None, &exporter)
            .expand_multi_info(&[b"ringway lane ticket v1", &transfer, &[lane], &connection.to_le_bytes()], &mut ticket)
            .unwrap();
        let mut channel = self.dial(to).await;
        channel.say(&Message::LaneJoin { transfer, lane, connection, ticket: Ticket(ticket) }).await;
        matches!(channel.hear().await, Some(Message::LaneReady)).then_some(channel)
    }
}

/// Accepts every certificate.
#[derive(Debug)]
struct Anyone;

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider().signature_verification_algorithms.supported_schemes()
    }
}

impl ClientCertVerifier for Anyone {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }
    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider().signature_verification_algorithms.supported_schemes()
    }
}

/// The same, and notes that one was shown.
#[derive(Debug)]
struct Noting(Arc<AtomicBool>);

impl ClientCertVerifier for Noting {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }
    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.0.store(true, Ordering::SeqCst);
        ClientCertVerifier::verify_client_cert(&Anyone, certificate, chain, now)
    }
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider().signature_verification_algorithms.supported_schemes()
    }
}

pub(crate) fn anyone() -> Arc<dyn ServerCertVerifier> {
    Arc::new(Anyone)
}
