//! Finding each other on the local network by mDNS and DNS-SD (RFC 6762, 6763): a receiver
//! announces itself, others listen for that. What is heard is a hint and never trust: who is at an
//! address is proven by TLS and pairing, and nothing that is stored changes for it.
mod announcer;
mod daemon;
mod heard;
mod nearby;

use std::net::SocketAddr;

use ringway_model::{Device, DeviceKind, Fault, NearbyDevice};
use ringway_wire::announcement::{Announcement, Fingerprint};
use ringway_wire::limits::VERSION;

use crate::devices::target::Target;
use crate::reach::connect;

pub(crate) use announcer::{Announcer, Announcing};
pub use nearby::Nearby;
pub(crate) use nearby::Wanted;

/// A receiver that announces itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announced {
    /// What it says of itself, and which paired device it would be.
    pub device: NearbyDevice,
    fingerprint: Fingerprint,
}

impl Announced {
    /// Of what it says of itself; an address of the link alone has its interface.
    pub fn new(said: &Announcement, addresses: Vec<SocketAddr>) -> Self {
        let device = NearbyDevice {
            name: said.name.as_str().into(),
            id_begins: said.fingerprint.to_hex(),
            kind: said.kind,
            code_number: said.code,
            version: said.version,
            compatible: said.version == VERSION,
            addresses,
            paired_as: None,
            paired_id: None,
        };
        Self { device, fingerprint: said.fingerprint }
    }

    /// Looks up anew which paired device it would be: one was paired, renamed or forgotten since it
    /// was heard.
    pub fn recognise(&mut self, paired: &[Device]) {
        let known = paired.iter().find(|device| nearby::is_of(self.fingerprint, device));
        self.device.paired_as = known.map(|device| device.name.clone());
        self.device.paired_id = known.map(|device| device.id);
    }

    /// What its key begins with, as it says.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// It as a target, at the first of its addresses that takes a connection.
    pub async fn target(&self) -> Option<Target> {
        let fingerprint = self.fingerprint;
        self.answering_address().await.map(|at| Target::Announced { at, fingerprint })
    }

    /// The first of its addresses that takes a connection.
    async fn answering_address(&self) -> Option<SocketAddr> {
        let known = self.device.addresses.iter().map(|at| (*at).into()).collect();
        let won = connect::race_of(known, |candidate| async move { connect::connect(&candidate).await.map(drop) });
        won.await.ok().map(|won| won.candidate.at)
    }
}

fn failed(error: mdns_sd::Error) -> Fault {
    Fault::Discovery { detail: error.to_string().into() }
}

/// What this machine looks like, by its enclosure (SMBIOS 7.4.1, as systemd's hostnamed reads it).
pub(crate) fn kind_of_this() -> DeviceKind {
    let text = std::fs::read_to_string("/sys/class/dmi/id/chassis_type").unwrap_or_default();
    kind_of(&text)
}

fn kind_of(chassis_type: &str) -> DeviceKind {
    match chassis_type.trim().parse() {
        Ok(8 | 9 | 10 | 14 | 30 | 31 | 32) => DeviceKind::Laptop,
        Ok(3..=7 | 13 | 24 | 35) => DeviceKind::Desktop,
        Ok(17 | 23 | 28 | 29) => DeviceKind::Server,
        _ => DeviceKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_enclosure_says_what_a_machine_looks_like() {
        let kinds = ["10\n", "3\n", "23\n", "1\n", "", "-3", "laptop"].map(kind_of);
        let other = DeviceKind::Other;
        assert_eq!(kinds, [DeviceKind::Laptop, DeviceKind::Desktop, DeviceKind::Server, other, other, other, other]);
    }
}
