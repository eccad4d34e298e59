//! Why one entry is not copied, and at which end.
use std::io;

use ringway_model::Operation;

use crate::error::FailureReason;

/// Why an entry is not copied.
#[derive(Debug)]
pub(super) enum EntryError {
    /// Reading the source failed.
    Source(Operation, io::Error),
    /// The destination refused.
    Target(Operation, io::Error),
    /// The source is not what it should be.
    SourceIs(FailureReason),
    /// The destination is not what it should be.
    TargetIs(FailureReason),
    /// The copy was stopped.
    Stopped,
}

/// Shorthand for mapping errors.
pub(super) fn source(operation: Operation) -> impl Fn(io::Error) -> EntryError {
    move |error| EntryError::Source(operation, error)
}

/// Shorthand for mapping errors.
pub(super) fn target(operation: Operation) -> impl Fn(io::Error) -> EntryError {
    move |error| EntryError::Target(operation, error)
}
