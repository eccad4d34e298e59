//! Transfers as programs see them: what is asked for, their figures, their ends.
pub mod copying;
pub(crate) mod figures;
pub(crate) mod forgetting;
pub mod options;
mod rate;
mod stopwatch;
pub mod transfer;
