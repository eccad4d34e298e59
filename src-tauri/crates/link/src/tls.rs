//! TLS in Ringway: version 1.3 only, with a certificate at both ends. Keys are proven here, and the
//! caller decides about them.
use std::sync::Arc;

use hkdf::Hkdf;
use ringway_model::{AuthError, DeviceId, Fault};
use ringway_wire::announcement::Fingerprint;
use ringway_wire::control::Ticket;
use ringway_wire::limits::ALPN;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::NoServerSessionStorage;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error as TlsError, OtherError,
    ServerConfig, SignatureScheme, version,
};
use sha2::Sha256;
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};
use zeroize::Zeroizing;

use crate::key::{DeviceKey, device_id};
use crate::record_boundary::CorkStream;

/// The label of a session's exporter value (RFC 8446 section 7.5), from which lanes' tickets
/// derive.
const SESSION_EXPORTER_LABEL: &[u8] = b"EXPORTER-ringway-session-v1";

/// HKDF's info for a lane's ticket, before transfer, lane and connection.
const TICKET_LABEL: &[u8] = b"ringway lane ticket v1";

/// A connection after its handshake: the stream, and the device at the other end. The cork allows
/// lanes to be handed to the kernel at a record boundary.
pub struct Channel {
    /// The connection.
    pub stream: TlsStream<CorkStream<TcpStream>>,
    /// The device whose key is at the other end.
    pub peer: DeviceId,
}

impl Channel {
    /// The exporter's value for a label. It is the same at both ends, and on no other connection.
    pub fn export(&self, label: &[u8]) -> Result<Zeroizing<[u8; 32]>, Fault> {
        let mut value = Zeroizing::new([0; 32]);
        let exported = match &self.stream {
            TlsStream::Client(stream) => {
                stream.get_ref().1.export_keying_material(&mut value[..], label, None).map(drop)
            }
            TlsStream::Server(stream) => {
                stream.get_ref().1.export_keying_material(&mut value[..], label, None).map(drop)
            }
        };
        exported.map_err(tls_error)?;
        Ok(value)
    }

    /// The key that admits lanes of this session.
    pub fn ticket_key(&self) -> Result<TicketKey, Fault> {
        self.export(SESSION_EXPORTER_LABEL).map(TicketKey)
    }
}

/// The session's exporter value, from which its lanes' tickets are made.
pub struct TicketKey(Zeroizing<[u8; 32]>);

impl TicketKey {
    /// The ticket of one connection of one lane.
    pub fn ticket(&self, transfer: &[u8; 16], lane: u8, connection: u16) -> Ticket {
        let mut ticket = [0; 32];
        Hkdf::<Sha256>::new(None, &self.0[..])
            .expand_multi_info(&[TICKET_LABEL, transfer, &[lane], &connection.to_le_bytes()], &mut ticket)
            .expect("32 bytes are within HKDF's limit");
        Ticket(ticket)
    }
}

/// The device whose key must be at the other end.
#[derive(Debug, Clone)]
pub enum Expected {
    /// Any device. Whether it is the right one is decided once it is known.
    Anyone,
    /// A device whose id begins like this, as it was announced.
    Announced(Fingerprint),
    /// The device with this key and name.
    Device {
        /// The digest of its key.
        id: DeviceId,
        /// For the error if another device answers.
        name: String,
    },
}

impl Expected {
    /// Checks that this is the expected device.
    fn check(&self, found: DeviceId) -> Result<(), AuthError> {
        match self {
            Self::Device { id, name } if *id != found => {
                Err(AuthError::IdentityChanged { name: name.clone().into(), expected: *id, found })
            }
            Self::Announced(announced) if *announced != Fingerprint::of(&found.0) => {
                Err(AuthError::OtherAnswered { announced: announced.short().into(), found })
            }
            _ => Ok(()),
        }
    }
}

/// Both roles' configurations.
pub struct Tls {
    client: ClientConfig,
    provider: Arc<CryptoProvider>,
    acceptor: TlsAcceptor,
}

impl Tls {
    /// Configurations that prove `key`.
    ///
    /// # Errors
    /// If TLS refuses the key.
    pub fn new(key: &DeviceKey) -> Result<Self, Fault> {
        let provider = Arc::new(provider());
        let any_key = Arc::new(ProvedKey { provider: Arc::clone(&provider), expected: Expected::Anyone });
        let mut client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&version::TLS13])
            .map_err(tls_error)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&any_key) as Arc<dyn ServerCertVerifier>)
            .with_client_cert_resolver(key.proof());
        client.alpn_protocols = vec![ALPN.to_vec()];
        client.resumption = Resumption::disabled();
        client.enable_sni = false;
        client.enable_secret_extraction = true;
        let mut server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&version::TLS13])
            .map_err(tls_error)?
            .with_client_cert_verifier(any_key as Arc<dyn ClientCertVerifier>)
            .with_cert_resolver(key.proof());
        server.alpn_protocols = vec![ALPN.to_vec()];
        // No tickets: a lane in the kernel would get them as records that are not data.
        server.send_tls13_tickets = 0;
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.enable_secret_extraction = true;
        Ok(Self { client, provider, acceptor: Arc::new(server).into() })
    }

    /// The connecting side's handshake. A peer that is not `expected` sees that the handshake
    /// failed, before it learns who calls.
    pub async fn connect(&self, tcp: TcpStream, expected: Expected) -> Result<Channel, Fault> {
        let name = ServerName::try_from("ringway.invalid").expect("a valid name");
        let mut client = self.client.clone();
        let verifier = ProvedKey { provider: Arc::clone(&self.provider), expected };
        client.dangerous().set_certificate_verifier(Arc::new(verifier));
        let connector = TlsConnector::from(Arc::new(client));
        let stream = connector.connect(name, CorkStream::new(tcp)).await.map_err(handshake_error)?;
        channel(stream.into())
    }

    /// The listening side's handshake.
    pub async fn accept(&self, tcp: TcpStream) -> Result<Channel, Fault> {
        let stream = self.acceptor.accept(CorkStream::new(tcp)).await.map_err(handshake_error)?;
        channel(stream.into())
    }
}

fn channel(stream: TlsStream<CorkStream<TcpStream>>) -> Result<Channel, Fault> {
    let (_, connection) = stream.get_ref();
    if connection.alpn_protocol() != Some(ALPN) {
        return Err(Fault::Tls { detail: ("the peer does not speak Ringway's protocol").into() });
    }
    let certificate = connection.peer_certificates().and_then(|chain| chain.first());
    let peer = certificate
        .and_then(device_id)
        .ok_or_else(|| Fault::Tls { detail: ("the peer showed no usable key").into() })?;
    Ok(Channel { stream, peer })
}

pub(crate) fn tls_error(error: TlsError) -> Fault {
    Fault::Tls { detail: error.to_string().into() }
}

/// A handshake fails because of TLS, because of the network, or because another key answered.
/// rustls hides the first and the last in an `io::Error`.
fn handshake_error(error: std::io::Error) -> Fault {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<TlsError>()) {
        Some(TlsError::InvalidCertificate(CertificateError::Other(OtherError(other)))) => {
            match other.downcast_ref::<AuthError>() {
                Some(auth) => Fault::Auth(auth.clone()),
                None => Fault::Tls { detail: other.to_string().into() },
            }
        }
        Some(tls) => Fault::Tls { detail: tls.to_string().into() },
        None => Fault::ConnectionLost(error.into()),
    }
}

/// AES-128-GCM first if the CPU has AES, else ChaCha20-Poly1305. The key exchange is always hybrid,
/// because both ends are Ringway.
fn provider() -> CryptoProvider {
    use aws_lc_rs::{cipher_suite, kx_group};
    let (aes, chacha) = (cipher_suite::TLS13_AES_128_GCM_SHA256, cipher_suite::TLS13_CHACHA20_POLY1305_SHA256);
    CryptoProvider {
        cipher_suites: if ringway_sys::probe::cpu_aes().single { vec![aes, chacha] } else { vec![chacha, aes] },
        kx_groups: vec![kx_group::X25519MLKEM768],
        ..aws_lc_rs::default_provider()
    }
}

/// Accepts the key that the peer proves to hold, if it is the expected one. If any device may
/// answer, the engine decides after the handshake whether the key is known, because names and
/// pairing are there.
#[derive(Debug)]
struct ProvedKey {
    provider: Arc<CryptoProvider>,
    expected: Expected,
}

impl ProvedKey {
    fn proved(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// TLS 1.2 is never offered, so its signatures are never checked.
fn no_tls12() -> Result<HandshakeSignatureValid, TlsError> {
    Err(TlsError::General("TLS 1.2 is not spoken".into()))
}

impl ServerCertVerifier for ProvedKey {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        no_tls12()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let proved = self.proved(message, certificate, signature)?;
        // Only now is the peer known: the certificate is checked before its signature, and anyone
        // can present another device's. This end's own certificate follows later (RFC 8446 section
        // 4.4).
        let found = device_id(certificate).ok_or(CertificateError::BadEncoding)?;
        self.expected.check(found).map_err(|other| CertificateError::Other(OtherError(Arc::new(other))))?;
        Ok(proved)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }
}

impl ClientCertVerifier for ProvedKey {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, TlsError> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        no_tls12()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.proved(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }
}
