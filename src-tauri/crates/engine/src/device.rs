//! Devices: an id that is a hash of a public key, a name, and the store of those we trust.
use std::net::IpAddr;
use std::time::SystemTime;

use crate::limits::DEFAULT_PORT;
use crate::rules::DeviceRule;
use crate::target::Address;

/// SHA-256 of a device's SubjectPublicKeyInfo (RFC 5280 section 4.1.2.7).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceId(pub [u8; 32]);

impl DeviceId {
    /// The first 16 hex digits, in groups of four: what people compare.
    pub fn short(&self) -> String {
        let hex = self.to_string();
        format!("{}-{}-{}-{}", &hex[0..4], &hex[4..8], &hex[8..12], &hex[12..16])
    }
}

impl std::fmt::Display for DeviceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl std::fmt::Debug for DeviceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DeviceId({})", self.short())
    }
}

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

/// Another paired device whose name looks like this one's, so that people may take the one for the
/// other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookAlike {
    /// The other device.
    pub id: DeviceId,
    /// What it is called here.
    pub name: String,
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
