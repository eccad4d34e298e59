//! Names and paths from a peer, and the list of names of an offer.
pub mod name;
pub mod offered;
