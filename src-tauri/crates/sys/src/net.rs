//! Sockets: their options, TLS in the kernel, names of hosts and interfaces.
pub mod ktls;
pub mod resolve;
pub mod socket;
