//! Commands that remove an obstacle, ready to be run in a terminal.
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::errno::{EADDRINUSE, EHOSTUNREACH, ETIMEDOUT};

/// What a command is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Aim {
    /// Letting a port in through ufw.
    Ufw,
    /// Letting a port in through firewalld.
    Firewalld,
    /// Loading the kernel's TLS now.
    LoadTls,
    /// Having the kernel's TLS loaded at every start.
    KeepTls,
    /// Seeing which program has a port.
    WhoListens,
    /// Seeing why the service does not start.
    Serve,
    /// Having the running service replaced by this version's.
    RestartService,
}

/// A command that a person may run as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub struct Remedy {
    /// What it is for.
    pub aim: Aim,
    /// As it is typed into a terminal.
    pub command: String,
}

impl Remedy {
    /// A command for an aim.
    pub fn new(aim: Aim, command: impl Into<String>) -> Self {
        Self { aim, command: command.into() }
    }

    /// Lets `port` in through ufw. `is_named` means that the package's application profile is
    /// installed and has that port.
    pub fn ufw(port: u16, is_named: bool) -> Self {
        let what = if is_named { "Ringway".to_owned() } else { format!("{port}/tcp") };
        Self::new(Aim::Ufw, format!("sudo ufw allow {what}"))
    }

    /// Lets `port` in through firewalld, both permanently and for now: firewalld knows a service
    /// that was installed while it ran only after a reload.
    pub fn firewalld(port: u16, is_named: bool) -> Self {
        let what = if is_named { "--add-service=ringway".to_owned() } else { format!("--add-port={port}/tcp") };
        Self::new(Aim::Firewalld, format!("sudo firewall-cmd --permanent {what} && sudo firewall-cmd --reload"))
    }

    /// Shows which program has a port.
    pub fn who_listens(port: u16) -> Self {
        Self::new(Aim::WhoListens, format!("sudo ss -ltnp 'sport = :{port}'"))
    }

    /// Commands that let `port` in on a machine about which nothing is known, for the two firewalls
    /// that distributions bring.
    pub fn firewalls_elsewhere(port: u16) -> Vec<Self> {
        vec![Self::ufw(port, false), Self::firewalld(port, false)]
    }

    /// The same commands, if dialling `target` (`host:port`) failed as it does behind a firewall:
    /// with no answer, or with "no route to host" (firewalld's refusal).
    pub fn against_firewall_at(target: &str, errno: Option<i32>) -> Vec<Self> {
        let port = target.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        match port {
            Some(port) if matches!(errno, Some(ETIMEDOUT | EHOSTUNREACH)) => Self::firewalls_elsewhere(port),
            _ => Vec::new(),
        }
    }

    /// Commands that show which program has the port of `address` (`host:port`), if another program
    /// has it.
    pub fn for_taken_port(address: &str, errno: Option<i32>) -> Vec<Self> {
        match address.parse::<SocketAddr>() {
            Ok(address) if errno == Some(EADDRINUSE) => vec![Self::who_listens(address.port())],
            _ => Vec::new(),
        }
    }
}
