//! Gives a connection's keys to the kernel, which encrypts and decrypts from then on
//! (include/uapi/linux/tls.h).
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use zeroize::Zeroizing;

use super::SOL_TLS;

/// Options of [`SOL_TLS`] that take keys.
const TLS_TX: libc::c_int = 1;
const TLS_RX: libc::c_int = 2;

/// TLS 1.3, as records and the kernel number it.
const TLS_1_3: u16 = 0x0304;

/// The longest of the structures below.
const CRYPTO_INFO_BYTES_MAX: usize = 56;

/// The cipher of a connection's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    /// AES with keys of 16 bytes in Galois/Counter Mode.
    Aes128Gcm,
    /// The same with keys of 32 bytes.
    Aes256Gcm,
    /// ChaCha20 with Poly1305.
    ChaCha20Poly1305,
}

impl Cipher {
    /// The kernel's number for it, and the length of its keys.
    fn of_kernel(self) -> (u16, usize) {
        match self {
            Self::Aes128Gcm => (51, 16),
            Self::Aes256Gcm => (52, 32),
            Self::ChaCha20Poly1305 => (54, 32),
        }
    }
}

/// One direction's keys of a TLS 1.3 connection. It has no Debug, because keys are secrets.
pub struct RecordKeys<'a> {
    /// The cipher that the key belongs to.
    pub cipher: Cipher,
    /// The key, in the cipher's length.
    pub key: &'a [u8],
    /// The initialisation vector (RFC 8446 section 5.3).
    pub iv: &'a [u8; 12],
    /// Sequence number of the next record.
    pub sequence: u64,
}

impl RecordKeys<'_> {
    /// `struct tls12_crypto_info_*`: version, cipher, initialisation vector, key, salt and sequence
    /// number, end to end. The salt of AES-GCM is the beginning of the vector; ChaCha20 has none.
    fn crypto_info(&self) -> io::Result<(Zeroizing<[u8; CRYPTO_INFO_BYTES_MAX]>, usize)> {
        let (number, key_len) = self.cipher.of_kernel();
        if self.key.len() != key_len {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let (salt, iv) = self.iv.split_at(if self.cipher == Cipher::ChaCha20Poly1305 { 0 } else { 4 });
        let mut info = Zeroizing::new([0; CRYPTO_INFO_BYTES_MAX]);
        let mut filled = 0;
        let parts =
            [&TLS_1_3.to_ne_bytes()[..], &number.to_ne_bytes(), iv, self.key, salt, &self.sequence.to_be_bytes()];
        for part in parts {
            info[filled..][..part.len()].copy_from_slice(part);
            filled += part.len();
        }
        Ok((info, filled))
    }
}

/// Makes the kernel encrypt what is written to a TCP connection, and decrypt what is read from it.
/// No record of either direction may be in progress: a whole number of records was read from the
/// socket before, and both sequence numbers count the records so far.
///
/// # Errors
/// `NotFound` if the kernel has no TLS, `InvalidInput` for a key of another length, and the error
/// of setsockopt(2) for a cipher that the kernel lacks. The connection may then be partly handed
/// over and must be dropped.
pub fn hand_over(fd: impl AsFd, send: &RecordKeys<'_>, receive: &RecordKeys<'_>) -> io::Result<()> {
    let fd = fd.as_fd();
    set(fd, libc::IPPROTO_TCP, libc::TCP_ULP, b"tls")?;
    for (option, keys) in [(TLS_TX, send), (TLS_RX, receive)] {
        let (info, len) = keys.crypto_info()?;
        set(fd, SOL_TLS, option, &info[..len])?;
    }
    Ok(())
}

fn set(fd: BorrowedFd<'_>, level: libc::c_int, option: libc::c_int, value: &[u8]) -> io::Result<()> {
    // SAFETY: the pointer and length describe `value`, which lives over the call and is only read.
    let rc = unsafe {
        libc::setsockopt(fd.as_raw_fd(), level, option, value.as_ptr().cast(), value.len() as libc::socklen_t)
    };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the layout with the header's structures, field by field.
    #[test]
    fn keys_are_laid_out_as_the_kernel_has_them() {
        let iv = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
        let info = |cipher, key: &[u8]| {
            let (info, len) = RecordKeys { cipher, key, iv: &iv, sequence: 0x0102 }.crypto_info().unwrap();
            info[..len].to_vec()
        };
        let joined = |number: u16, parts: [&[u8]; 3]| {
            let mut wanted = [0x0304_u16.to_ne_bytes(), number.to_ne_bytes()].concat();
            wanted.extend(parts.concat());
            wanted.extend([0, 0, 0, 0, 0, 0, 1, 2]);
            wanted
        };
        let aes = info(Cipher::Aes128Gcm, &[7; 16]);
        assert_eq!((aes.len(), aes), (40, joined(51, [&iv[4..], &[7; 16], &iv[..4]])));
        let aes = info(Cipher::Aes256Gcm, &[7; 32]);
        assert_eq!((aes.len(), aes), (56, joined(52, [&iv[4..], &[7; 32], &iv[..4]])));
        let chacha = info(Cipher::ChaCha20Poly1305, &[7; 32]);
        assert_eq!((chacha.len(), chacha), (56, joined(54, [&iv, &[7; 32], &[]])));
        let short = RecordKeys { cipher: Cipher::Aes256Gcm, key: &[7; 16], iv: &iv, sequence: 0 };
        assert_eq!(short.crypto_info().err().unwrap().kind(), io::ErrorKind::InvalidInput);
    }
}
