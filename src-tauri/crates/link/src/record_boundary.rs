//! A stream that can stop reading at a TLS record boundary. rustls has then seen whole records
//! only, and the rest stays in the socket for kernel TLS. `CorkStream` is the `ktls` crate's. That
//! crate does not compile for musl, so the module `musl` replaces it there.
#[cfg(any(test, target_env = "musl"))]
pub mod musl;

#[cfg(not(target_env = "musl"))]
pub use ktls::CorkStream;
#[cfg(target_env = "musl")]
pub use musl::CorkStream;
