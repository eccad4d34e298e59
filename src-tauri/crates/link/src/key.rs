//! A device's key pair and certificate: created, read, and proven in handshakes. The engine stores
//! them.
use std::sync::Arc;

use ringway_model::{DeviceId, Fault};
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::ParsedCertificate;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// The key pair, its certificate, and the id that follows from it.
pub struct DeviceKey {
    /// Only the TLS library holds the key, and it erases it.
    proof: Arc<SingleCertAndKey>,
    id: DeviceId,
}

impl DeviceKey {
    /// A new key that is not stored, for connections of this process with itself.
    ///
    /// # Errors
    /// If the key cannot be created.
    pub fn fleeting() -> Result<Self, Fault> {
        let pem = fresh_pem()?;
        Self::from_pem(pem.as_bytes()).map_err(|reason| Fault::Tls { detail: reason.into() })
    }

    /// Reads a key from [`fresh_pem`].
    ///
    /// # Errors
    /// Why it cannot be used, for a person who looks at its file.
    pub fn from_pem(pem: &[u8]) -> Result<Self, &'static str> {
        let certificate = CertificateDer::from_pem_slice(pem).map_err(|_| "holds no certificate")?;
        let key = PrivateKeyDer::from_pem_slice(pem).map_err(|_| "holds no private key")?;
        let key = any_supported_type(&Zeroizing::new(key)).map_err(|_| "its key is of no kind that is used")?;
        let id = device_id(&certificate).ok_or("its certificate is not readable")?;
        let proof = CertifiedKey::new(vec![certificate], key);
        proof.keys_match().map_err(|_| "its key is not its certificate's")?;
        Ok(Self { proof: Arc::new(SingleCertAndKey::from(proof)), id })
    }

    /// The device's id.
    pub fn id(&self) -> DeviceId {
        self.id
    }

    /// The key and certificate for a handshake, at either end.
    pub(crate) fn proof(&self) -> Arc<SingleCertAndKey> {
        Arc::clone(&self.proof)
    }
}

/// A new P-256 key and a certificate for it. Name and dates have no meaning: trust is a pinned key.
///
/// # Errors
/// If the key cannot be created.
pub fn fresh_pem() -> Result<Zeroizing<String>, Fault> {
    let made = || -> Result<_, rcgen::Error> {
        let key = Zeroizing::new(rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?);
        let certificate = rcgen::CertificateParams::new(vec!["ringway.invalid".into()])?.self_signed(&*key)?;
        let key = Zeroizing::new(key.serialize_pem());
        Ok(Zeroizing::new(format!("{}{}", certificate.pem(), *key)))
    };
    made().map_err(|error| Fault::Tls { detail: error.to_string().into() })
}

/// The id of the device with a certificate's key; `None` if it cannot be parsed.
pub fn device_id(certificate: &CertificateDer<'_>) -> Option<DeviceId> {
    let parsed = ParsedCertificate::try_from(certificate).ok()?;
    Some(DeviceId(Sha256::digest(parsed.subject_public_key_info().as_ref()).into()))
}
