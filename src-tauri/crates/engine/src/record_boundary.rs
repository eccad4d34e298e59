//! A connection whose reading can be made to end between two TLS records: what was read until then
//! rustls has whole, and what follows is left in the socket, for whoever takes the connection over.
//! It is the `ktls` crate's; for musl, which that does not compile for, it is ours.
#[cfg(any(test, target_env = "musl"))]
mod musl;

#[cfg(not(target_env = "musl"))]
pub(crate) use ktls::CorkStream;
#[cfg(target_env = "musl")]
pub(crate) use musl::CorkStream;
