//! How this machine's settings change, and its start at login.
use ringway_model::{IntoHome, StartsBy};
use serde::{Deserialize, Serialize};

use super::GivenPath;

/// Whether, and by what, the service starts when this user logs in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
pub struct StartAtLogin {
    pub now: StartsBy,
    /// What would do it, or does.
    pub means: Means,
}

/// What starts the service where that is switched on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "snake_case")]
pub enum Means {
    /// The desktop's autostart entry.
    Autostart,
    /// The systemd user unit.
    Unit,
}

/// What is to change; whatever is not named stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SettingsChange {
    /// This device's name.
    pub name: Option<String>,
    /// The port to listen on.
    pub port: Option<u16>,
    /// Where offers land; it must be there.
    pub receive_folder: Option<GivenPath>,
    /// What may land there, where it is a home: nothing, if another folder is named and this is
    /// not.
    pub into_home: Option<IntoHome>,
    /// How fast each transfer may be sent.
    pub send_limit: Option<SendLimit>,
    /// Whether the service goes on when the window is closed.
    pub background: Option<bool>,
    /// Whether it is found on its network, and finds others there.
    pub announce: Option<bool>,
    /// Whether it receives.
    pub receiving: Option<bool>,
    /// Whether it keeps the access control lists of what it receives and gets.
    pub acls: Option<bool>,
}

/// A limit on sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SendLimit {
    /// None.
    Off,
    /// Bytes a second.
    BytesPerS(u64),
}

impl From<Option<u64>> for SendLimit {
    fn from(limit: Option<u64>) -> Self {
        limit.map_or(Self::Off, Self::BytesPerS)
    }
}
