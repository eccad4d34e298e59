//! Why one entry is not copied, and at which end.
use std::io;

use ringway_model::{FailureReason, Operation};

/// Why an entry is not copied.
#[derive(Debug)]
pub(crate) enum EntryError {
    /// Reading the source failed.
    Source(Operation, io::Error),
    /// The destination refused.
    Target(Operation, io::Error),
    /// The source has changed, or its kind cannot be copied.
    SourceIs(FailureReason),
    /// An entry at the destination is in the way.
    TargetIs(FailureReason),
    /// The copy was stopped.
    Stopped,
}

/// For `map_err`: an operation on the source failed.
pub(crate) fn source(operation: Operation) -> impl Fn(io::Error) -> EntryError {
    move |error| EntryError::Source(operation, error)
}

/// For `map_err`: an operation on the destination failed.
pub(crate) fn target(operation: Operation) -> impl Fn(io::Error) -> EntryError {
    move |error| EntryError::Target(operation, error)
}
