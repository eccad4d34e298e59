//! Hands a lane's connection and keys to the kernel: by the `ktls` crate, or by `sys::ktls` for
//! musl, for which that crate does not compile.
use ringway_model::Fault;
use tokio::net::TcpStream;
use tokio_rustls::TlsStream;

use crate::record_boundary::CorkStream;

/// The bytes that rustls had decrypted already, and the socket, which the kernel encrypts and
/// decrypts from then on.
#[cfg(not(target_env = "musl"))]
pub(super) async fn hand_over(stream: TlsStream<CorkStream<TcpStream>>) -> Result<(Vec<u8>, TcpStream), Fault> {
    let handed = match stream {
        TlsStream::Client(stream) => ktls::config_ktls_client(stream).await,
        TlsStream::Server(stream) => ktls::config_ktls_server(stream).await,
    };
    let (early, tcp) = handed.map_err(refused)?.into_raw();
    Ok((early.unwrap_or_default(), tcp))
}

/// The bytes that rustls had decrypted already, and the socket, which the kernel encrypts and
/// decrypts from then on.
#[cfg(target_env = "musl")]
pub(super) async fn hand_over(mut stream: TlsStream<CorkStream<TcpStream>>) -> Result<(Vec<u8>, TcpStream), Fault> {
    use std::os::fd::AsFd;

    stream.get_mut().0.corked = true;
    let early = super::drain(&mut stream).await?;
    let (cork, secrets) = match stream {
        TlsStream::Client(stream) => {
            let (cork, tls) = stream.into_inner();
            (cork, tls.dangerous_extract_secrets())
        }
        TlsStream::Server(stream) => {
            let (cork, tls) = stream.into_inner();
            (cork, tls.dangerous_extract_secrets())
        }
    };
    let secrets = secrets.map_err(crate::tls::tls_error)?;
    with_keys(&secrets.tx, |send| {
        with_keys(&secrets.rx, |receive| {
            ringway_sys::ktls::hand_over(cork.io.as_fd(), &send, &receive).map_err(refused)
        })
    })?;
    Ok((early, cork.io))
}

/// Converts one direction's keys from rustls' types to the kernel's.
#[cfg(target_env = "musl")]
fn with_keys<T>(
    secrets: &(u64, rustls::ConnectionTrafficSecrets),
    make: impl FnOnce(ringway_sys::ktls::RecordKeys<'_>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    use ringway_sys::ktls::{Cipher, RecordKeys};
    use rustls::ConnectionTrafficSecrets::{Aes128Gcm, Aes256Gcm, Chacha20Poly1305};

    let (sequence, keys) = secrets;
    let (cipher, key, iv) = match keys {
        Aes128Gcm { key, iv } => (Cipher::Aes128Gcm, key, iv),
        Aes256Gcm { key, iv } => (Cipher::Aes256Gcm, key, iv),
        Chacha20Poly1305 { key, iv } => (Cipher::ChaCha20Poly1305, key, iv),
        _ => return Err(Fault::Tls { detail: "a cipher suite that was not offered".into() }),
    };
    let iv = iv
        .as_ref()
        .try_into()
        .map_err(|_| Fault::Tls { detail: "an initialisation vector of another length".into() })?;
    make(RecordKeys { cipher, key: key.as_ref(), iv, sequence: *sequence })
}

fn refused(error: impl std::fmt::Display) -> Fault {
    Fault::Tls { detail: (format!("hand-off to the kernel: {error}")).into() }
}
