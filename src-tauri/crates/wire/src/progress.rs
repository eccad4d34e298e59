//! What has arrived of a transfer: the ledger of its lanes, the journal, and what resuming makes of
//! it.
pub mod journal;
pub mod ledger;
pub mod resume;
pub mod stretches;
