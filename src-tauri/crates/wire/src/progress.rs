//! What has arrived of a transfer: the ledger of its lanes, the journal, and the rules of resuming.
pub mod journal;
pub mod ledger;
pub mod resume;
pub mod stretches;
