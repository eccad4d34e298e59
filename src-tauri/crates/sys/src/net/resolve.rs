//! Owns asking the system's resolver for a host's addresses, one address family at a time
//! (getaddrinfo(3)), and the names of network interfaces.

use std::ffi::{CStr, CString};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use rustix::net::netdevice;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

/// An address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// The addresses of `host` in one family, in the resolver's order. It blocks as long as the
/// resolver does.
///
/// # Errors
/// The error of getaddrinfo(3), without an errno unless a system call failed.
pub fn addresses(host: &str, family: Family, port: u16) -> io::Result<Vec<SocketAddr>> {
    let host = CString::new(host).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: `addrinfo` is plain integers and pointers, for which all zeroes is a value.
    let mut hints: libc::addrinfo = unsafe { std::mem::zeroed() };
    hints.ai_socktype = libc::SOCK_STREAM;
    hints.ai_family = match family {
        Family::V4 => libc::AF_INET,
        Family::V6 => libc::AF_INET6,
    };
    let mut list = std::ptr::null_mut();
    // SAFETY: the name is a string with its NUL, `hints` and `list` are live, and the service may
    // be null.
    let rc = unsafe { libc::getaddrinfo(host.as_ptr(), std::ptr::null(), &raw const hints, &raw mut list) };
    if rc != 0 {
        return Err(failed(rc));
    }
    let mut found = Vec::new();
    let mut next = list;
    while !next.is_null() {
        // SAFETY: `next` is an entry of the list that getaddrinfo made, which is freed only below.
        let entry = unsafe { &*next };
        found.extend(read(entry, port));
        next = entry.ai_next;
    }
    // SAFETY: the list came from getaddrinfo, and nothing refers to it any more.
    unsafe { libc::freeaddrinfo(list) };
    Ok(found)
}

fn read(entry: &libc::addrinfo, port: u16) -> Option<SocketAddr> {
    let length = entry.ai_addrlen as usize;
    match entry.ai_family {
        libc::AF_INET if length >= size_of::<libc::sockaddr_in>() => {
            // SAFETY: getaddrinfo says that a whole IPv4 address is there; it may lie unaligned.
            let address = unsafe { entry.ai_addr.cast::<libc::sockaddr_in>().read_unaligned() };
            Some(SocketAddr::new(Ipv4Addr::from(address.sin_addr.s_addr.to_ne_bytes()).into(), port))
        }
        libc::AF_INET6 if length >= size_of::<libc::sockaddr_in6>() => {
            // SAFETY: the same for a whole IPv6 address.
            let address = unsafe { entry.ai_addr.cast::<libc::sockaddr_in6>().read_unaligned() };
            Some(SocketAddrV6::new(Ipv6Addr::from(address.sin6_addr.s6_addr), port, 0, address.sin6_scope_id).into())
        }
        _ => None,
    }
}

fn failed(rc: libc::c_int) -> io::Error {
    if rc == libc::EAI_SYSTEM {
        return io::Error::last_os_error();
    }
    // SAFETY: gai_strerror gives a string with its NUL for every number, which lives as long as the
    // process.
    let why = unsafe { CStr::from_ptr(libc::gai_strerror(rc)) };
    io::Error::other(why.to_string_lossy().into_owned())
}

/// The number of the network interface with this name; `None` if there is none.
pub fn interface_index(name: &str) -> Option<u32> {
    netdevice::name_to_index(any_socket()?, name).ok()
}

/// The name of the network interface with this number.
pub fn interface_name(index: u32) -> Option<String> {
    netdevice::index_to_name(any_socket()?, index).ok()
}

/// netdevice(7) accepts a socket of any kind.
fn any_socket() -> Option<rustix::fd::OwnedFd> {
    socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_address_resolves_in_its_own_family_only() {
        let found = addresses("127.0.0.1", Family::V4, 7).unwrap();
        assert_eq!(found, ["127.0.0.1:7".parse().unwrap()]);
        assert_eq!(addresses("fd00::1", Family::V6, 7).unwrap(), ["[fd00::1]:7".parse().unwrap()]);
        let refused = addresses("fd00::1", Family::V4, 7).unwrap_err();
        assert_eq!(refused.raw_os_error(), None, "{refused}");
        assert!(addresses("a\0b", Family::V4, 7).is_err());
    }

    #[test]
    fn interface_has_a_number_and_a_name() {
        let index = interface_index("lo").expect("a loopback interface");
        assert_eq!(interface_name(index).as_deref(), Some("lo"));
        assert_eq!(interface_index("no-such-one"), None);
        assert_eq!(interface_name(u32::MAX), None);
    }
}
