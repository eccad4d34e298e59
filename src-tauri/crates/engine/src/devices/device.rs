//! Devices: an id that is a hash of a public key, a name, and the store of those we trust.
use std::net::IpAddr;
use std::time::SystemTime;

use ringway_model::{DeviceId, DeviceRule};

use crate::devices::target::Address;
use crate::limits::DEFAULT_PORT;

/// A device that was paired with this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Who it is.
    pub id: DeviceId,
    /// What we call it; unique here.
    pub name: String,
    /// When it was paired.
    pub paired_at: SystemTime,
    /// When it was last seen.
    pub last_seen: Option<SystemTime>,
    /// Where it was last reached or came from, as `host:port` or an address.
    pub last_address: Option<String>,
    /// What its offers meet here.
    pub rule: DeviceRule,
}

impl Device {
    /// The IP address where it was last; none where that is a host's name.
    pub(crate) fn last_ip(&self) -> Option<IpAddr> {
        let last = self.last_address.as_deref()?;
        match Address::parse(last, DEFAULT_PORT)? {
            Address::Socket(address) => Some(address.ip()),
            Address::Host(..) => None,
        }
    }
}

/// This device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThisDevice {
    /// Who we are.
    pub id: DeviceId,
    /// What we call ourselves.
    pub name: String,
}
