//! Where to listen: the forms that people type, and what they stand for.
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use ringway_engine::parse_zoned;

/// Where to listen, as far as it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListenAddress {
    /// The address; without one, every address.
    pub(crate) ip: Option<IpAddr>,
    /// The number of its interface, for a link-local address; else 0.
    pub(crate) zone: u32,
    /// The port; without one, that of the settings.
    pub(crate) port: Option<u16>,
}

impl ListenAddress {
    /// `ADDR:PORT`, `[V6ADDR]:PORT`, `ADDR`, `V6ADDR`, `[V6ADDR]`, `:PORT` or `PORT`; a link-local
    /// address with its interface, as in `fe80::1%eth0`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let port = |text: &str| {
            // `u16::from_str` takes a plus sign, which no port has.
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            if digits { text.parse().ok() } else { None }
        };
        let unbracketed = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if let Some(port) = port(text.strip_prefix(':').unwrap_or(text)) {
            Ok(Self { port: Some(port), ..Self::DEFAULT })
        } else if let Some((address, port)) = parse_zoned(text) {
            Ok(Self { ip: Some((*address.ip()).into()), zone: address.scope_id(), port })
        } else if let Ok(address) = text.parse::<SocketAddr>() {
            Ok(Self { ip: Some(address.ip()), port: Some(address.port()), ..Self::DEFAULT })
        } else if let Ok(ip) = text.parse::<IpAddr>() {
            Ok(Self { ip: Some(ip), ..Self::DEFAULT })
        } else if let Some(Ok(ip)) = unbracketed.map(str::parse::<Ipv6Addr>) {
            Ok(Self { ip: Some(ip.into()), ..Self::DEFAULT })
        } else {
            Err("not an address or port of this device; try 0.0.0.0:17464, [::]:17464, :17464 or 17464".into())
        }
    }

    /// The addresses to try in turn: both address families at once, or IPv4 alone where the kernel
    /// has no IPv6.
    pub(crate) fn candidates(self, default_port: u16) -> Vec<SocketAddr> {
        let port = self.port.unwrap_or(default_port);
        match self.ip {
            Some(IpAddr::V6(ip)) => vec![SocketAddrV6::new(ip, port, 0, self.zone).into()],
            Some(ip) => vec![SocketAddr::new(ip, port)],
            None => vec![
                SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port),
                SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port),
            ],
        }
    }

    /// Every address, with the port of the settings.
    pub(crate) const DEFAULT: Self = Self { ip: None, zone: 0, port: None };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listen_takes_every_form_that_people_type() {
        let ip = |text: &str| Some(text.parse::<IpAddr>().unwrap());
        let cases = [
            ("17464", None, Some(17464)),
            (":0", None, Some(0)),
            ("0.0.0.0:80", ip("0.0.0.0"), Some(80)),
            ("[::]:4000", ip("::"), Some(4000)),
            ("[::1]", ip("::1"), None),
            ("::1", ip("::1"), None),
            ("192.168.1.2", ip("192.168.1.2"), None),
        ];
        for (text, ip, port) in cases {
            assert_eq!(ListenAddress::parse(text), Ok(ListenAddress { ip, zone: 0, port }), "{text}");
        }
        let zoned = ListenAddress::parse("[fe80::1%lo]:7").unwrap();
        assert_eq!(zoned.candidates(17464), ["[fe80::1%1]:7".parse().unwrap()]);
        assert_eq!(ListenAddress::parse("fe80::1%1").unwrap().candidates(8), ["[fe80::1%1]:8".parse().unwrap()]);
        for bad in [
            "nonsense",
            "",
            ":",
            "70000",
            ":70000",
            "+80",
            "1.2.3.4:",
            "1.2.3.4:x",
            "[::1",
            "[1.2.3.4]",
            "lab:80",
            "fe80::1%no-such-one",
        ] {
            assert!(ListenAddress::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn listening_everywhere_tries_both_families() {
        let everywhere = ListenAddress::DEFAULT.candidates(17464);
        assert_eq!(everywhere, ["[::]:17464".parse().unwrap(), "0.0.0.0:17464".parse().unwrap()]);
        let one = ListenAddress::parse("127.0.0.1:0").unwrap().candidates(17464);
        assert_eq!(one, ["127.0.0.1:0".parse().unwrap()]);
    }
}
