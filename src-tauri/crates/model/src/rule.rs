//! What a paired device's offers meet before anybody is asked.
use serde::{Deserialize, Serialize};

use crate::text::PathText;

/// What is done with a device's offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Consent {
    /// A person is asked about each.
    #[default]
    Ask,
    /// They are accepted without asking.
    Accept,
    /// They are declined without asking.
    Refuse,
}

/// Why a person is asked in spite of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "because", rename_all = "snake_case")]
pub enum AskedBecause {
    /// It is more than the rule lets in.
    TooMuch {
        /// Bytes of contents that it lets in.
        bytes_max: u64,
    },
    /// The rule's folder is not there, is another one by now, or cannot be written to: it would
    /// land where everything does. Or the folder that everything lands in is not there, or another
    /// one.
    NoFolder {
        /// That folder.
        folder: PathText,
    },
}
