//! A paired device's rule as the front end sees it.
use ringway_engine::{self as engine, Decision, DeviceRule};
use serde::{Deserialize, Serialize};

use crate::text::shown;

/// What is done with a device's offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub enum Consent {
    /// A person is asked about each.
    Ask,
    /// They are accepted.
    Accept,
    /// They are declined.
    Refuse,
}

impl From<engine::Consent> for Consent {
    fn from(consent: engine::Consent) -> Self {
        match consent {
            engine::Consent::Ask => Self::Ask,
            engine::Consent::Accept => Self::Accept,
            engine::Consent::Refuse => Self::Refuse,
        }
    }
}

impl From<Consent> for engine::Consent {
    fn from(consent: Consent) -> Self {
        match consent {
            Consent::Ask => Self::Ask,
            Consent::Accept => Self::Accept,
            Consent::Refuse => Self::Refuse,
        }
    }
}

/// A paired device's rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    pub consent: Consent,
    /// Where what it sends lands, for showing; none is the receive folder.
    pub folder: Option<String>,
    /// Bytes that an offer may have to be accepted without asking; none is any number.
    pub max_bytes: Option<u64>,
}

impl From<&DeviceRule> for Rule {
    fn from(rule: &DeviceRule) -> Self {
        Self { consent: rule.consent.into(), folder: rule.folder.as_ref().map(shown), max_bytes: rule.bytes_max }
    }
}

/// Why somebody is asked in spite of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(tag = "because", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum AskedBecause {
    /// It is more than the rule lets in.
    TooMuch { max_bytes: u64 },
    /// The rule's folder is not there, or cannot be written to.
    NoFolder { folder: String },
}

impl AskedBecause {
    pub(super) fn of(decision: &Decision) -> Option<Self> {
        match decision {
            Decision::Ask(Some(engine::AskedBecause::TooMuch { bytes_max })) => {
                Some(Self::TooMuch { max_bytes: *bytes_max })
            }
            Decision::Ask(Some(engine::AskedBecause::NoFolder(folder))) => {
                Some(Self::NoFolder { folder: shown(folder) })
            }
            _ => None,
        }
    }
}
