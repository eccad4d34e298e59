//! A paired device's rule as the front end sees it.
use ringway_engine::DeviceRule;
use ringway_model::Consent;
use serde::{Deserialize, Serialize};

use crate::text::shown;

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
        Self { consent: rule.consent, folder: rule.folder.as_ref().map(shown), max_bytes: rule.bytes_max }
    }
}
