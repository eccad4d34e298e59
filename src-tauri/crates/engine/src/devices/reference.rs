//! `DEVICE:SHARE/PATH` as a person types it: split and checked here, and nowhere else. Which device
//! is meant, the store says.
use std::ffi::{OsStr, OsString};
use std::net::Ipv6Addr;
use std::os::unix::ffi::OsStrExt;

use ringway_model::{Fault, Invalid, PathText, ShareName};
use ringway_wire::RelPath;
use ringway_wire::control::InShare;
use ringway_wire::limits::PATH_MAX;

/// The longest that is looked at: a path, and a device's and a share's name.
const LEN_MAX: usize = PATH_MAX + 512;

/// Digits of the longest port.
const PORT_DIGITS_MAX: usize = 5;

/// What a person typed to name a device, one of its shares, or a path in one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The device: a name, an id, or an address with or without a port.
    pub device: String,
    /// What in it; none for the device itself.
    pub inside: Option<PathInShare>,
}

/// A path in a share.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PathInShare {
    /// The share.
    pub share: ShareName,
    /// Components joined by single slashes, without `.` and `..`; empty for the share itself.
    path: Vec<u8>,
    /// Whether a slash was at the end: the contents of a folder are meant, not the folder.
    pub contents_only: bool,
}

impl PathInShare {
    /// The share itself.
    pub fn root(share: ShareName) -> Self {
        Self { share, path: Vec::new(), contents_only: false }
    }

    /// A path below a share; `contents_only` means what is in the folder there.
    ///
    /// # Errors
    /// [`Invalid::ShareReference`] for a path that is absolute, too long, or has a `..` in it.
    pub fn new(share: ShareName, path: Vec<u8>, contents_only: bool) -> Result<Self, Fault> {
        RelPath::new(&path).map_err(|_| Fault::Invalid(Invalid::ShareReference))?;
        Ok(Self { share, path, contents_only })
    }

    /// The path below the share; empty for the share itself.
    pub fn path(&self) -> RelPath<'_> {
        // It was checked when it was read.
        RelPath::new(&self.path).unwrap_or(RelPath::ROOT)
    }

    /// An entry of the folder there.
    ///
    /// # Errors
    /// [`Invalid::ShareReference`] for a name that no entry can have.
    pub(crate) fn entry(&self, name: &[u8]) -> Result<Self, Fault> {
        if name.is_empty() || name.contains(&b'/') {
            return Err(Fault::Invalid(Invalid::ShareReference));
        }
        let path = if self.path.is_empty() { name.to_vec() } else { [&*self.path, name].join(&b'/') };
        Self::new(self.share.clone(), path, false)
    }

    /// The same, as an offer names where it is to land.
    pub(crate) fn place(&self) -> InShare {
        InShare { share: self.share.clone(), path: self.path.clone() }
    }

    /// What it is called where it arrives: the last name of the path, or the share's.
    pub fn title(&self) -> OsString {
        let last = self.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        match last {
            b"" => self.share.as_str().into(),
            last => OsStr::from_bytes(last).to_owned(),
        }
    }

    /// `SHARE/PATH`, as it is shown.
    pub fn shown(&self) -> PathText {
        let shown = Self { contents_only: false, ..self.clone() };
        OsStr::from_bytes(&shown.typed()).into()
    }
}

impl Reference {
    /// Reads `DEVICE`, `DEVICE:SHARE` or `DEVICE:SHARE/PATH`. Digits behind the first colon are a
    /// port, since no share is called so; an IPv6 address that something follows stands in
    /// brackets.
    ///
    /// # Errors
    /// [`Invalid::ShareReference`] for text that is none of these, or has a `..` in its path or a
    /// control character in the device; [`Invalid::ShareName`] for a share that no device can have.
    pub fn parse(typed: &OsStr) -> Result<Self, Fault> {
        let bad = || Fault::Invalid(Invalid::ShareReference);
        let typed = typed.as_bytes();
        if typed.len() > LEN_MAX {
            return Err(bad());
        }
        let (device, inside) = split(typed).ok_or_else(bad)?;
        let is_name = |device: &&str| !device.is_empty() && !device.contains(|c: char| c.is_ascii_control());
        let device = std::str::from_utf8(device).ok().filter(is_name).ok_or_else(bad)?;
        // Nothing behind the colon is the device itself.
        let inside = inside.filter(|inside| !inside.is_empty()).map(PathInShare::parse).transpose()?;
        Ok(Self { device: device.to_owned(), inside })
    }
}

impl PathInShare {
    /// `SHARE/PATH`, as it is read again.
    pub(crate) fn typed(&self) -> Vec<u8> {
        let mut typed = self.share.as_str().as_bytes().to_vec();
        if !self.path.is_empty() {
            typed.push(b'/');
            typed.extend_from_slice(&self.path);
        }
        if self.contents_only {
            typed.push(b'/');
        }
        typed
    }

    /// Reads `SHARE` or `SHARE/PATH`.
    ///
    /// # Errors
    /// As [`Reference::parse`].
    pub fn parse(typed: &[u8]) -> Result<Self, Fault> {
        let bad = || Fault::Invalid(Invalid::ShareReference);
        let (share, path) = match typed.iter().position(|byte| *byte == b'/') {
            Some(at) => (&typed[..at], Some(&typed[at + 1..])),
            None => (typed, None),
        };
        let share = std::str::from_utf8(share).map_err(|_| Fault::Invalid(Invalid::ShareName))?;
        let parts = path.unwrap_or_default().split(|byte| *byte == b'/');
        let kept: Vec<_> = parts.filter(|part| !matches!(*part, b"" | b".")).collect();
        let whole = kept.join(&b'/');
        // `..` as well.
        RelPath::new(&whole).map_err(|_| bad())?;
        let last = path.map(|path| path.rsplit(|byte| *byte == b'/').next().unwrap_or_default());
        Ok(Self { share: ShareName::new(share)?, path: whole, contents_only: matches!(last, Some(b"" | b".")) })
    }
}

/// The device, and what stands behind its colon.
fn split(typed: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
    let is_address = |text: &[u8]| {
        let text = std::str::from_utf8(text).unwrap_or_default();
        text.split('%').next().is_some_and(|ip| ip.parse::<Ipv6Addr>().is_ok())
    };
    if is_address(typed) {
        return Some((typed, None));
    }
    let host = match typed.first() {
        Some(b'[') => typed.iter().position(|byte| *byte == b']')? + 1,
        _ => typed.iter().position(|byte| *byte == b':').unwrap_or(typed.len()),
    };
    let Some(rest) = typed[host..].strip_prefix(b":") else { return typed[host..].is_empty().then_some((typed, None)) };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_port = (1..=PORT_DIGITS_MAX).contains(&digits);
    match rest.get(digits) {
        None if is_port => Some((typed, None)),
        Some(b':') if is_port => Some((&typed[..host + 1 + digits], Some(&rest[digits + 1..]))),
        _ => Some((&typed[..host], Some(rest))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(typed: &str) -> Result<Reference, Fault> {
        Reference::parse(OsStr::new(typed))
    }

    #[test]
    fn device_share_and_path_are_split() {
        for (typed, device, share, path, contents_only) in [
            ("lab-ws:runs", "lab-ws", "runs", "", false),
            ("lab-ws:runs/", "lab-ws", "runs", "", true),
            ("lab-ws:runs/2026-11-22", "lab-ws", "runs", "2026-11-22", false),
            ("lab ws:my runs//a/./b/", "lab ws", "my runs", "a/b", true),
            ("lab-ws:runs/a:b", "lab-ws", "runs", "a:b", false),
            ("lab-ws:runs/a/.", "lab-ws", "runs", "a", true),
            ("10.0.0.7:runs/x", "10.0.0.7", "runs", "x", false),
            ("10.0.0.7:4000:runs/x", "10.0.0.7:4000", "runs", "x", false),
            ("[fe80::1%lo]:runs", "[fe80::1%lo]", "runs", "", false),
            ("[fe80::1%lo]:4000:runs/x", "[fe80::1%lo]:4000", "runs", "x", false),
            ("nas:4k/x", "nas", "4k", "x", false),
            ("nas:runs/...", "nas", "runs", "...", false),
        ] {
            let Reference { device: found, inside: Some(inside) } = parse(typed).unwrap() else { panic!("{typed}") };
            assert_eq!((found.as_str(), inside.share.as_str()), (device, share), "{typed}");
            assert_eq!((inside.path().as_bytes(), inside.contents_only), (path.as_bytes(), contents_only), "{typed}");
        }
    }

    #[test]
    fn a_device_alone_has_no_share() {
        assert_eq!(parse("lab-ws:").unwrap(), parse("lab-ws").unwrap());
        for typed in ["lab-ws", "3f2b-1c9d", "nas:4000", "10.0.0.7:4000", "::1", "fe80::1%lo", "[::1]", "[::1]:4000"] {
            assert_eq!(parse(typed).unwrap(), Reference { device: typed.to_owned(), inside: None }, "{typed}");
        }
    }

    #[test]
    fn what_leads_out_of_a_share_or_names_none_is_refused() {
        let long = format!("lab:runs/{}", "x/".repeat(3_000));
        for bad in [
            "",
            ":runs",
            "lab:/etc",
            "lab:runs/..",
            "lab:runs/a/../b",
            "lab:../x",
            "la\nb:runs",
            "lab:ru\u{1b}ns",
            "lab:123456/x",
            "nas:4000/x",
            "[::1",
            "[::1]x",
            &long,
        ] {
            assert!(matches!(parse(bad), Err(Fault::Invalid(_))), "{bad:?}");
        }
    }

    #[test]
    fn a_path_need_not_be_text_and_is_shown_escaped() {
        let read = Reference::parse(OsStr::from_bytes(b"lab:runs/caf\xe9/")).unwrap().inside.unwrap();
        assert_eq!(read.path().as_bytes(), b"caf\xe9");
        assert_eq!(read.shown().to_string(), "runs/caf\\xe9");
        let read = parse("lab:runs/a\nb").unwrap().inside.unwrap();
        assert_eq!(read.path().as_bytes(), b"a\nb");
    }
}
