//! A device's key pair and certificate: made, read, and proved in handshakes. The engine keeps
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
    /// The key is in the TLS library's hands alone, which erases it.
    proof: Arc<SingleCertAndKey>,
    id: DeviceId,
}

impl DeviceKey {
    /// A fresh key that is kept nowhere: for connections of this process with itself.
    ///
    /// # Errors
    /// The key cannot be made.
    pub fn fleeting() -> Result<Self, Fault> {
        let pem = fresh_pem()?;
        Self::from_pem(pem.as_bytes()).map_err(|reason| Fault::Tls { detail: reason.into() })
    }

    /// Reads what [`fresh_pem`] has made.
    ///
    /// # Errors
    /// Why it is not usable, for a person who looks at its file.
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

    /// What proves the key in a handshake, at either end.
    pub(crate) fn proof(&self) -> Arc<SingleCertAndKey> {
        Arc::clone(&self.proof)
    }
}

/// A fresh P-256 key and a certificate over it. Name and dates carry no meaning: trust is a pinned
/// key.
///
/// # Errors
/// The key cannot be made.
pub fn fresh_pem() -> Result<Zeroizing<String>, Fault> {
    let made = || -> Result<_, rcgen::Error> {
        let key = Zeroizing::new(rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?);
        let certificate = rcgen::CertificateParams::new(vec!["ringway.invalid".into()])?.self_signed(&*key)?;
        let key = Zeroizing::new(key.serialize_pem());
        Ok(Zeroizing::new(format!("{}{}", certificate.pem(), *key)))
    };
    made().map_err(|error| Fault::Tls { detail: error.to_string().into() })
}

/// The id of whoever holds a certificate's key; none if it cannot be parsed.
pub fn device_id(certificate: &CertificateDer<'_>) -> Option<DeviceId> {
    let parsed = ParsedCertificate::try_from(certificate).ok()?;
    Some(DeviceId(Sha256::digest(parsed.subject_public_key_info().as_ref()).into()))
}
