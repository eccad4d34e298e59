//! What a paired device's offers meet before anybody is asked.
use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Invalid};
use crate::text::PathText;
use crate::transfer::IntoHome;

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

/// A paired device's rule; by default a person is asked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceRule {
    /// What is done with its offers.
    pub consent: Consent,
    /// Where they land; none is where the receiver has everything.
    pub folder: Option<PathText>,
    /// Bytes of contents that one may have to be accepted without asking; none is any number.
    pub bytes_max: Option<u64>,
    /// What may land in that folder, where it is a home.
    // The page has no type for it: it cannot allow a home.
    #[cfg_attr(feature = "bindings", specta(skip))]
    pub into_home: IntoHome,
}

/// A size that no rule may have: what the store keeps as a number with a sign.
const BYTES_MAX_END: u64 = 1 << 63;

impl DeviceRule {
    /// Whether it may be set.
    ///
    /// # Errors
    /// [`Fault::Invalid`] for a folder whose path is not absolute, or a size of nothing.
    pub fn check(&self) -> Result<(), Fault> {
        if self.folder.as_ref().is_some_and(|folder| !folder.is_absolute()) {
            return Err(Fault::Invalid(Invalid::RuleFolder));
        }
        match self.bytes_max {
            Some(0 | BYTES_MAX_END..) => Err(Fault::Invalid(Invalid::RuleSize)),
            _ => Ok(()),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_absolute_and_sizes_are_sizes() {
        let into = |folder: &str| DeviceRule { folder: Some(folder.into()), ..DeviceRule::default() };
        let sized = |consent, bytes_max| DeviceRule { consent, bytes_max, ..DeviceRule::default() };
        assert!(into("/srv/in").check().is_ok());
        for bad in [into("srv/in"), into(""), sized(Consent::Ask, Some(0)), sized(Consent::Accept, Some(u64::MAX))] {
            assert!(matches!(bad.check(), Err(Fault::Invalid(_))), "{bad:?}");
        }
    }
}
