//! Failures in events: the model's fault, and the sentences that people read.
use ringway_model::{Direction, Failure, Fault};
use serde::Serialize;

use crate::exit::Exit;
use crate::refusal::{fault_of, status_of};
use crate::words::{self, Words};

/// What failed, and the sentences about it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct WhatFailed<'a> {
    /// The error's code and its details.
    #[serde(flatten)]
    cause: Cause<'a>,
    /// What happened, in English.
    message: String,
    /// What to do about it, if something can be done.
    next: Option<String>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
enum Cause<'a> {
    Fault(&'a Fault),
    Refused(Refused),
}

/// An error that the command itself found, without a fault of the engine.
#[derive(Clone, Copy, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "code", rename_all = "snake_case")]
enum Refused {
    /// The command line, a setting or a code makes no sense.
    Usage,
    /// A code is needed, and there is no terminal to ask for it on.
    PairingNeeded,
    /// Something else; the message says what.
    Failed,
}

impl<'a> WhatFailed<'a> {
    /// A fault with other sentences than the usual ones.
    pub(crate) fn new(fault: &'a Fault, words: &Words) -> Self {
        Self { cause: Cause::Fault(fault), message: words.what.clone(), next: words.next.clone() }
    }

    /// What ended the command early.
    pub(super) fn ended_early(error: &'a anyhow::Error, words: &Words) -> Self {
        let cause = match (fault_of(error), status_of(error)) {
            (Some(fault), _) => Cause::Fault(fault),
            (None, Exit::Usage) => Cause::Refused(Refused::Usage),
            (None, Exit::NotAuthenticated) => Cause::Refused(Refused::PairingNeeded),
            (None, _) => Cause::Refused(Refused::Failed),
        };
        Self { cause, message: words.what.clone(), next: words.next.clone() }
    }
}

impl<'a> From<&'a Fault> for WhatFailed<'a> {
    fn from(fault: &'a Fault) -> Self {
        Self::new(fault, &words::error(fault))
    }
}

/// An entry that failed, and a sentence about why.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct EntryFailure<'a> {
    #[serde(flatten)]
    failure: &'a Failure,
    /// Why, in English.
    message: String,
}

impl<'a> EntryFailure<'a> {
    /// A failure of a transfer in that direction, which the receiving device has asked for or not.
    pub(super) fn new(failure: &'a Failure, direction: Direction, is_got: bool) -> Self {
        Self { failure, message: words::failure_reason(failure, direction, is_got) }
    }
}
