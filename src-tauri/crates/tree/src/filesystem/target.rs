//! The digest of a symbolic link's target in a listing.
use ringway_wire::listing::TARGET_DIGEST_LEN;

/// The digest by which targets are compared.
pub fn target_digest(target: &[u8]) -> [u8; TARGET_DIGEST_LEN] {
    let mut digest = [0; TARGET_DIGEST_LEN];
    digest.copy_from_slice(&blake3::hash(target).as_bytes()[..TARGET_DIGEST_LEN]);
    digest
}
