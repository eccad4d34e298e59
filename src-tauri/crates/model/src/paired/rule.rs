//! What happens to a paired device's offers before a person is asked.
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
    /// The folder that they are received into; none for the receiver's usual one.
    pub folder: Option<PathText>,
    /// The most bytes of contents of an offer that is accepted without asking; none for any number.
    pub bytes_max: Option<u64>,
    /// What may be received into that folder, if it is a home folder.
    // The page has no type for it: it cannot allow a home.
    #[cfg_attr(feature = "bindings", specta(skip))]
    pub into_home: IntoHome,
}

/// The first size that no rule may have: the store keeps sizes as signed numbers.
pub(super) const BYTES_MAX_END: u64 = 1 << 63;

impl DeviceRule {
    /// Checks that this rule may be set.
    ///
    /// # Errors
    /// [`Fault::Invalid`] for a folder whose path is not absolute, or a size of zero.
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

/// Why a person is asked although a rule accepts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "because", rename_all = "snake_case")]
pub enum AskedBecause {
    /// The offer is larger than the rule accepts.
    TooMuch {
        /// The most bytes of contents that it accepts.
        bytes_max: u64,
    },
    /// The rule's folder is missing, has been replaced by another one, or cannot be written to: the
    /// offer would be received into the usual folder. Or the usual folder itself is missing or has
    /// been replaced.
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
