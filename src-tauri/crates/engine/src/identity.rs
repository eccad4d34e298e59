//! This device's key pair and certificate: made once, kept 0600, proved by TLS.
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use ringway_model::{DeviceId, Fault, Operation, StoreTrouble};
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::ParsedCertificate;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::private;

pub(crate) const FILE_NAME: &str = "identity.pem";

/// The key pair, its certificate, and the id that follows from it.
pub(crate) struct Identity {
    /// The key is in the TLS library's hands alone, which erases it.
    proof: Arc<SingleCertAndKey>,
    id: DeviceId,
}

impl Identity {
    /// Reads it, or makes it on first use. Two programs that start at once end with the same one.
    pub(crate) fn open(folder: &Path) -> Result<Self, Fault> {
        make_private_folder(folder)?;
        let path = folder.join(FILE_NAME);
        match Self::read(&path)? {
            Some(identity) => Ok(identity),
            None => {
                Self::create(&path)?;
                Self::read(&path)?.ok_or_else(|| broken(&path, "vanished while it was being made"))
            }
        }
    }

    /// One that is kept nowhere: for connections of this process with itself.
    pub(crate) fn fleeting() -> Result<Self, Fault> {
        Self::from_pem(Path::new("memory"), new_pem()?.as_bytes())
    }

    pub(crate) fn id(&self) -> DeviceId {
        self.id
    }

    /// What proves it in a handshake, at either end.
    pub(crate) fn proof(&self) -> Arc<SingleCertAndKey> {
        Arc::clone(&self.proof)
    }

    fn read(path: &Path) -> Result<Option<Self>, Fault> {
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(Fault::of_state(path, Operation::Open, &source)),
        };
        if metadata.mode() & 0o077 != 0 {
            return Err(Fault::Store {
                path: path.into(),
                trouble: StoreTrouble::Untrusted,
                detail: "others may read the key in it: if nobody has, run chmod 600 on it".into(),
            });
        }
        let pem = Zeroizing::new(fs::read(path).map_err(|source| Fault::of_state(path, Operation::Read, &source))?);
        Self::from_pem(path, &pem).map(Some)
    }

    fn from_pem(path: &Path, pem: &[u8]) -> Result<Self, Fault> {
        let certificate = CertificateDer::from_pem_slice(pem).map_err(|_| broken(path, "holds no certificate"))?;
        let key = PrivateKeyDer::from_pem_slice(pem).map_err(|_| broken(path, "holds no private key"))?;
        let key =
            any_supported_type(&Zeroizing::new(key)).map_err(|_| broken(path, "its key is of no kind that is used"))?;
        let id = device_id(&certificate).ok_or_else(|| broken(path, "its certificate is not readable"))?;
        let proof = CertifiedKey::new(vec![certificate], key);
        proof.keys_match().map_err(|_| broken(path, "its key is not its certificate's"))?;
        Ok(Self { proof: Arc::new(proof.into()), id })
    }

    fn create(path: &Path) -> Result<(), Fault> {
        let at = |operation| move |source: io::Error| Fault::of_state(path, operation, &source);
        let mut fresh = [0; 8];
        getrandom::fill(&mut fresh).map_err(|error| at(Operation::Create)(io::Error::other(error)))?;
        let temporary = path.with_extension(format!("{:016x}", u64::from_ne_bytes(fresh)));
        let mut options = fs::OpenOptions::new();
        let mut file =
            private::open_file(options.write(true).create_new(true), &temporary).map_err(at(Operation::Create))?;
        let written = file.write_all(new_pem()?.as_bytes()).and_then(|()| file.sync_all());
        // A hard link, unlike a rename, leaves the winner of a race in place.
        let linked = written.and_then(|()| match fs::hard_link(&temporary, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        });
        let removed = fs::remove_file(&temporary);
        linked.and(removed).map_err(at(Operation::Create))
    }
}

fn broken(path: &Path, reason: &str) -> Fault {
    Fault::Store { path: path.into(), trouble: StoreTrouble::DamagedIdentity, detail: reason.into() }
}

/// A fresh P-256 key and a certificate over it. Name and dates carry no meaning: trust is a pinned
/// key.
fn new_pem() -> Result<Zeroizing<String>, Fault> {
    let made = || -> Result<_, rcgen::Error> {
        let key = Zeroizing::new(rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?);
        let certificate = rcgen::CertificateParams::new(vec!["ringway.invalid".into()])?.self_signed(&*key)?;
        let key = Zeroizing::new(key.serialize_pem());
        Ok(Zeroizing::new(format!("{}{}", certificate.pem(), *key)))
    };
    made().map_err(|error| Fault::Tls { detail: error.to_string().into() })
}

/// The id of whoever holds a certificate's key; none if it cannot be parsed.
pub(crate) fn device_id(certificate: &CertificateDer<'_>) -> Option<DeviceId> {
    let parsed = ParsedCertificate::try_from(certificate).ok()?;
    Some(DeviceId(Sha256::digest(parsed.subject_public_key_info().as_ref()).into()))
}

/// Makes a folder that only its owner may enter, with its parents.
pub(crate) fn make_private_folder(folder: &Path) -> Result<(), Fault> {
    private::make_folder(folder).map_err(|source| Fault::of_state(folder, Operation::Create, &source))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::OpenOptionsExt;

    use super::*;

    #[test]
    fn is_made_once_and_read_back_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let made = Identity::open(&folder.path().join("deep/er")).unwrap();
        let read = Identity::open(&folder.path().join("deep/er")).unwrap();
        assert_eq!(made.id(), read.id());
        let mode = fs::metadata(folder.path().join("deep/er").join(FILE_NAME)).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path().join("deep/er")).unwrap().count(), 1, "no temporary file stays");
    }

    #[test]
    fn two_that_start_at_once_become_one_device() {
        let folder = tempfile::tempdir().unwrap();
        let ids: Vec<_> = std::thread::scope(|scope| {
            let starts: Vec<_> = (0..8).map(|_| scope.spawn(|| Identity::open(folder.path()).unwrap().id())).collect();
            starts.into_iter().map(|start| start.join().unwrap()).collect()
        });
        assert!(ids.iter().all(|id| *id == ids[0]));
    }

    #[test]
    fn a_key_that_others_may_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        Identity::open(folder.path()).unwrap();
        fs::set_permissions(folder.path().join(FILE_NAME), fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(Identity::open(folder.path()), Err(Fault::Store { .. })));
    }

    #[test]
    fn a_damaged_file_is_named_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path).unwrap();
        assert!(matches!(Identity::open(folder.path()), Err(Fault::Store { .. })));
        assert!(path.exists());
    }
}
