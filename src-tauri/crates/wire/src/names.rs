//! Names and paths from a peer, the list of names of an offer, and its listing; the paths that are
//! selected of a share.
pub mod entries;
pub mod listing;
pub mod name;
pub mod offered;
pub mod selected;
