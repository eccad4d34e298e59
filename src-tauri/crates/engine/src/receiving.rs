//! Receiving: the listener and its open code, connections until they are known, offers until they
//! are received.
pub mod event;
pub(crate) mod offer;
pub mod receive;
pub(crate) mod serve;
