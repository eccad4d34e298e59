//! Where a paired device was last.
use std::net::IpAddr;

use ringway_model::Device;

use crate::devices::target::Address;
use crate::limits::DEFAULT_PORT;

/// The IP address where it was last; `None` if that is a host's name.
pub(crate) fn last_ip(device: &Device) -> Option<IpAddr> {
    let last = device.last_address.as_deref()?;
    match Address::parse(last, DEFAULT_PORT)? {
        Address::Socket(address) => Some(address.ip()),
        Address::Host(..) => None,
    }
}
