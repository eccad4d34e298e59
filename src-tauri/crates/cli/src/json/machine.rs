//! This device, its settings and its service, and receivers near it.
use ringway_model::{DeviceId, IntoHome, PathText};
use serde::Serialize;

use super::failing::WhatFailed;

/// A receiver that listens.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Listening {
    /// What this device is called.
    pub(crate) name: String,
    /// This device's id.
    pub(crate) id: DeviceId,
    /// The port.
    pub(crate) port: u16,
    /// What others type to reach it: one for each address of this machine.
    pub(crate) addresses: Vec<String>,
    /// The folder that offers are received into.
    pub(crate) destination: PathText,
    #[serde(flatten)]
    pub(crate) own: Option<ByItself>,
}

/// The fields that only `recv` writes.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ByItself {
    /// By `recv`: the address that it listens on.
    pub(crate) address: String,
    /// By `recv`: whether it is announced on the local network.
    pub(crate) announced: bool,
    /// By `recv`: whether the threads that write files can reach nothing but the destination.
    pub(crate) confined: bool,
    #[serde(flatten)]
    pub(crate) code: OpenCode,
}

/// The code that is open.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct OpenCode {
    /// The code; null if none is open, or if it was given and not drawn.
    pub(crate) code: Option<String>,
    /// Until when the code is valid, in seconds since 1970; null if it does not expire.
    pub(crate) code_valid_until: Option<i64>,
}

/// This machine's settings.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MachineSettings<'a> {
    /// What this device is called.
    pub(crate) name: &'a str,
    /// This device's id.
    pub(crate) id: DeviceId,
    /// The port that the service listens at.
    pub(crate) port: u16,
    /// The folder that the service receives into.
    pub(crate) receive_folder: PathText,
    /// What may be received into that folder, if it is a home folder.
    pub(crate) into_home: IntoHome,
    /// The most bytes a second that a transfer is sent at; null for no limit.
    pub(crate) send_limit: Option<u64>,
    /// Whether this device is announced on the local network and listens for others there.
    pub(crate) announce: bool,
    /// Whether the service stays when the window is closed.
    pub(crate) background: bool,
    /// Whether the service receives.
    pub(crate) receiving: bool,
    /// What starts the service when this user logs in; `vanished` is an entry whose program is not
    /// there.
    #[cfg_attr(test, schemars(extend("enum" = ["off", "autostart", "unit", "vanished"])))]
    pub(crate) start_at_login: &'static str,
}

/// The service that runs.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Service<'a> {
    /// Its version.
    pub(crate) version: &'a str,
    /// Its process.
    pub(crate) pid: u32,
    /// What this device is called.
    pub(crate) name: &'a str,
    /// The first 16 digits of this device's id.
    pub(crate) id_begins: String,
    /// Where others reach it; empty if it does not receive.
    pub(crate) addresses: &'a [String],
    /// The port; null if it does not receive.
    pub(crate) port: Option<u16>,
    /// The folder that it receives into, as text that is safe to show.
    pub(crate) destination: &'a str,
    #[serde(flatten)]
    pub(crate) code: OpenCode,
    /// Why it does not receive, if an error keeps it from that.
    pub(crate) error: Option<WhatFailed<'a>>,
}
