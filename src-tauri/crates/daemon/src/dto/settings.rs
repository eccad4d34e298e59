//! This machine's settings as they are shown and changed, and its start at login.
use std::path::Path;

use ringway_engine::{RateLimit, Settings};
use ringway_model::IntoHome;
use serde::{Deserialize, Serialize};

use super::GivenPath;
use crate::login::{self, Means};
use crate::text::shown;

/// The stored settings. The folder is text for showing only: it is chosen by the native picker,
/// never typed here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub struct StoredSettings {
    pub name: String,
    pub receive_folder: String,
    /// Whether that is a home, which somebody has allowed.
    pub is_home: bool,
    pub port: u16,
    /// Bytes a second that each transfer may be sent at; none is no limit.
    pub send_limit: Option<u64>,
    /// Whether the service goes on receiving when the window is closed.
    pub background: bool,
    /// Whether it is found on its network, and finds others there.
    pub announce: bool,
    /// Whether the service receives.
    pub receiving: bool,
}

impl StoredSettings {
    /// With the folder that is in force, and whether that is a home.
    pub(crate) fn new(settings: Settings, receive_folder: &Path, is_home: bool) -> Self {
        Self {
            name: settings.name,
            receive_folder: shown(receive_folder),
            is_home,
            port: settings.port,
            send_limit: settings.send_limit.map(RateLimit::bytes_per_s),
            background: settings.background,
            announce: settings.announce,
            receiving: settings.receiving,
        }
    }
}

/// Whether, and by what, the service starts when this user logs in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub struct StartAtLogin {
    pub now: StartsBy,
    /// What would do it, or does.
    pub means: Means,
}

/// What starts it now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(tag = "by", rename_all = "camelCase")]
pub enum StartsBy {
    Nothing,
    Autostart,
    Unit,
    /// An autostart entry, whose program is not there.
    Vanished {
        program: String,
    },
}

impl StartAtLogin {
    pub(crate) fn new(state: login::StartAtLogin, means: Means) -> Self {
        let now = match state {
            login::StartAtLogin::Off => StartsBy::Nothing,
            login::StartAtLogin::Autostart => StartsBy::Autostart,
            login::StartAtLogin::Unit => StartsBy::Unit,
            login::StartAtLogin::Vanished { program } => StartsBy::Vanished { program: shown(program) },
        };
        Self { now, means }
    }
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
