//! This machine's settings.
use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Invalid};
use crate::text::{PathText, Text};
use crate::transfer::IntoHome;

/// This machine's settings, `$XDG_CONFIG_HOME/ringway/config.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Settings {
    /// What this device is called, 1 to 64 bytes of printable UTF-8. Default: the host's name.
    pub name: Text,
    /// The folder that the service receives into. Default: the downloads folder (as xdg-user-dirs
    /// has it), else `Ringway` in the home folder.
    pub receive_folder: PathText,
    /// What may land there, where that is a home folder. Default: nothing.
    // The page has no type for it: it cannot allow a home.
    #[cfg_attr(feature = "bindings", specta(skip))]
    pub into_home: IntoHome,
    /// The port that the service listens at. Default: 17464.
    pub port: u16,
    /// Whether this device is announced on its network, and hears others there. Default: yes.
    pub announce: bool,
    /// Bytes a second that each transfer may be sent at that is not given another limit. None if
    /// there is no limit, which is the default.
    pub send_limit: Option<RateLimit>,
    /// Whether the service stays when the window is closed. Default: yes.
    pub background: bool,
    /// Whether the service receives. Default: yes. A program that was asked to receive once does so
    /// whatever this says.
    pub receiving: bool,
    /// Whether the service keeps the POSIX access control lists of what it receives and gets.
    /// Default: no, because a list may let in others than the mode does.
    pub acls: bool,
}

/// The settings in force: a folder that was given for this run stands before the stored one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SettingsInForce {
    /// The settings.
    #[serde(flatten)]
    pub settings: Settings,
    /// Whether the folder is a home folder, which a person has allowed.
    pub is_home: bool,
}

/// Bytes a second that a transfer may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[serde(try_from = "u64", into = "u64")]
pub struct RateLimit(u64);

impl RateLimit {
    /// The least: below it a single record of 16 KiB takes longer than people and pings wait, and
    /// who gives less has meant another unit.
    pub const BYTES_PER_S_MIN: u64 = 1_000;

    /// The most: beyond any line, and exact wherever numbers are kept.
    pub const BYTES_PER_S_MAX: u64 = 1_000_000_000_000_000;

    /// So many bytes a second.
    ///
    /// # Errors
    /// [`Fault::Invalid`] for less than [`Self::BYTES_PER_S_MIN`] or more than
    /// [`Self::BYTES_PER_S_MAX`].
    pub fn new(bytes_per_s: u64) -> Result<Self, Fault> {
        match bytes_per_s {
            Self::BYTES_PER_S_MIN..=Self::BYTES_PER_S_MAX => Ok(Self(bytes_per_s)),
            _ => Err(Fault::Invalid(Invalid::Limit)),
        }
    }

    /// In bytes a second.
    pub fn bytes_per_s(self) -> u64 {
        self.0
    }
}

impl TryFrom<u64> for RateLimit {
    type Error = Fault;

    fn try_from(bytes_per_s: u64) -> Result<Self, Fault> {
        Self::new(bytes_per_s)
    }
}

impl From<RateLimit> for u64 {
    fn from(limit: RateLimit) -> Self {
        limit.0
    }
}

#[cfg(feature = "bindings")]
impl specta::Type for RateLimit {
    fn definition(types: &mut specta::Types) -> specta::datatype::DataType {
        u64::definition(types)
    }
}

/// What starts the service when this user logs in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum StartsBy {
    /// Nothing.
    Nothing,
    /// The desktop's autostart entry.
    Autostart,
    /// The systemd user unit.
    Unit,
    /// An autostart entry whose program is not there.
    Vanished {
        /// The program that the entry names.
        program: PathText,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_limit_out_of_bounds_is_rejected_when_it_is_read() {
        let read = |json: &str| serde_json::from_str::<RateLimit>(json).map(RateLimit::bytes_per_s);
        assert_eq!(read("1000").unwrap(), RateLimit::BYTES_PER_S_MIN);
        assert!(read("999").is_err() && read("1000000000000001").is_err());
    }
}
