//! From a device or an address to a connection: dialling, finding devices nearby.
pub(crate) mod connect;
pub(crate) mod discovery;
pub(crate) mod interfaces;
