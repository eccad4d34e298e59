//! This device, its settings and its service.
use ringway_model::{DeviceId, OpenCode, PathText, Settings, StartsBy, ThisDevice};
use serde::Serialize;

use super::failing::WhatFailed;

/// A receiver that listens.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Listening {
    #[serde(flatten)]
    pub(crate) device: ThisDevice,
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

/// This machine's settings.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MachineSettings<'a> {
    #[serde(flatten)]
    pub(crate) settings: &'a Settings,
    /// This device's id.
    pub(crate) id: DeviceId,
    /// What starts the service when this user logs in.
    pub(crate) start_at_login: StartsBy,
}

/// The service that runs.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Service<'a> {
    /// Its version.
    pub(crate) version: &'a str,
    /// Its process.
    pub(crate) pid: u32,
    #[serde(flatten)]
    pub(crate) device: ThisDevice,
    /// Where others reach it; empty where it does not receive.
    pub(crate) addresses: &'a [String],
    /// The port; null if it does not receive.
    pub(crate) port: Option<u16>,
    /// The folder that it receives into.
    pub(crate) destination: &'a PathText,
    #[serde(flatten)]
    pub(crate) code: OpenCode,
    /// Why it does not receive, if an error keeps it from that.
    pub(crate) error: Option<WhatFailed<'a>>,
}
