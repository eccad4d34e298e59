//! Names of Ringway's own in folders of a person's: what a receiver makes there, a sender may not,
//! and no other device is shown.

/// What names of ours begin with.
pub const OWN_PREFIX: &[u8] = b".ringway-";

/// Hex digits of the transfer's id in the name of a staging folder: enough to be unique, short
/// enough to be read.
pub const STAGING_ID_DIGITS: usize = 16;

/// Whether a name is, or may be taken for, one of ours: some filesystems fold the case of letters,
/// and pass over characters that do not show.
pub fn reads_as_own(name: &[u8]) -> bool {
    let mut seen = name.iter().filter(|byte| byte.is_ascii()).map(u8::to_ascii_lowercase);
    OWN_PREFIX.iter().all(|byte| seen.next() == Some(*byte))
}

/// The id in the name of a folder where an attempt gathers what arrives.
pub fn attempt_id(name: &[u8]) -> Option<&str> {
    let digits = name.strip_prefix(OWN_PREFIX)?;
    let is_id =
        digits.len() == STAGING_ID_DIGITS && digits.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    std::str::from_utf8(digits).ok().filter(|_| is_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ours_are_known_however_they_are_spelt() {
        for ours in [".ringway-0123", ".RingWay-x", ".ring\u{200b}way-x", ".ringway-"] {
            assert!(reads_as_own(ours.as_bytes()), "{ours}");
        }
        for other in ["ringway-x", ".ringway", "a.ringway-x", ""] {
            assert!(!reads_as_own(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn only_names_with_a_whole_id_are_those_of_attempts() {
        assert_eq!(attempt_id(b".ringway-0123456789abcdef"), Some("0123456789abcdef"));
        for other in
            [&b".ringway-0123456789abcdeF"[..], b".ringway-0123456789abcde", b".ringway-0123456789abcdef0", b""]
        {
            assert_eq!(attempt_id(other), None);
        }
    }
}
