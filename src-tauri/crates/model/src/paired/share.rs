//! Folders that paired devices may read here: shares.
use serde::{Deserialize, Serialize};

use crate::device::DeviceId;
use crate::fault::{Fault, Invalid, ShareTrouble};
use crate::paired::rule::BYTES_MAX_END;
use crate::text::PathText;
use crate::text::misleading::misleads_in_name;

/// The name of a share: 1 to 64 bytes of UTF-8 without slashes, colons and misleading characters,
/// with single blanks inside only. It is not `.` or `..`, and does not consist of digits, which
/// would read as a port behind a device's name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline, with = "String"))]
#[serde(try_from = "String", into = "String")]
pub struct ShareName(String);

impl ShareName {
    /// The longest, in bytes: as long as a device's name.
    pub const LEN_MAX: usize = 64;

    /// Checks a name.
    ///
    /// # Errors
    /// [`Invalid::ShareName`].
    pub fn new(text: &str) -> Result<Self, Fault> {
        let is_bounded = (1..=Self::LEN_MAX).contains(&text.len());
        let is_tidy = text.trim() == text && !text.contains("  ") && !text.contains(['/', ':']);
        let is_readable = !text.chars().any(misleads_in_name) && !matches!(text, "." | "..");
        let is_port = text.bytes().all(|byte| byte.is_ascii_digit());
        match is_bounded && is_tidy && is_readable && !is_port {
            true => Ok(Self(text.to_owned())),
            false => Err(Fault::Invalid(Invalid::ShareName)),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for ShareName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for ShareName {
    type Error = Fault;

    fn try_from(text: String) -> Result<Self, Fault> {
        Self::new(&text)
    }
}

impl From<ShareName> for String {
    fn from(name: ShareName) -> Self {
        name.0
    }
}

#[cfg(feature = "bindings")]
impl specta::Type for ShareName {
    fn definition(types: &mut specta::Types) -> specta::datatype::DataType {
        String::definition(types)
    }
}

/// The paired devices that may read a share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "with", rename_all = "snake_case")]
pub enum SharedWith {
    /// These devices; none at first.
    Devices {
        /// Their ids.
        devices: Vec<DeviceId>,
    },
    /// Every paired device, also those that are paired later.
    All,
}

impl SharedWith {
    /// Nobody.
    pub const NOBODY: Self = Self::Devices { devices: Vec::new() };

    /// Whether that device is among them, if it is paired.
    pub fn has(&self, device: DeviceId) -> bool {
        match self {
            Self::Devices { devices } => devices.contains(&device),
            Self::All => true,
        }
    }
}

/// What the devices that may read a share may send into it without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DropBox {
    /// The most bytes of contents of an offer that is accepted without asking; none for any number.
    pub bytes_max: Option<u64>,
}

impl DropBox {
    /// Checks that this may be set.
    ///
    /// # Errors
    /// [`Invalid::RuleSize`] for a size of zero, or of more than any disk has.
    pub fn check(&self) -> Result<(), Fault> {
        match self.bytes_max {
            Some(0 | BYTES_MAX_END..) => Err(Fault::Invalid(Invalid::RuleSize)),
            _ => Ok(()),
        }
    }
}

/// A folder that paired devices may read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Share {
    /// Its name, which no other share has, whatever the case of the letters.
    pub name: ShareName,
    /// The folder.
    pub folder: PathText,
    /// The devices that may read it.
    #[serde(flatten)]
    pub with: SharedWith,
    /// What these devices may also send into it; none if nothing.
    pub drop: Option<DropBox>,
    /// Why it cannot be read now; none if it can.
    pub unavailable: Option<ShareTrouble>,
    /// Why nothing can be sent into this drop box now, though it can be read; none otherwise.
    pub drop_trouble: Option<ShareTrouble>,
}

/// A share of another device that this device may read, as that one describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShareThere {
    /// Its name.
    pub name: ShareName,
    /// Whether this device may also send into it.
    pub drop: bool,
    /// Why it cannot be read now; none if it can.
    pub unavailable: Option<ShareTrouble>,
    /// Why nothing can be sent into this drop box now, though it can be read; none otherwise.
    pub drop_trouble: Option<ShareTrouble>,
}

/// What an entry of a shared folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, which is never followed.
    Link,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character device.
    CharDevice,
    /// A block device.
    BlockDevice,
}

impl EntryKind {
    /// All, in the order of their numbers on the wire: new ones go to the end.
    pub const ALL: [Self; 7] =
        [Self::File, Self::Folder, Self::Link, Self::Fifo, Self::Socket, Self::CharDevice, Self::BlockDevice];
}

/// An entry of a shared folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EntryThere {
    /// Its path below what was listed; empty for what was asked for itself.
    #[serde(flatten)]
    pub path: PathText,
    /// What it is.
    pub kind: EntryKind,
    /// Bytes of contents of a file; of other entries, what their filesystem says.
    pub size: u64,
    /// Permission, setuid, setgid and sticky bits.
    pub mode: u16,
    /// Whole seconds of its modification time since 1970.
    #[cfg_attr(feature = "bindings", specta(type = i32))]
    pub modified_seconds: i64,
    /// Nanoseconds after those, below 10^9.
    pub modified_nanos: u32,
    /// Where a link leads, as it says.
    pub target: Option<PathText>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_mislead_or_mean_something_else_are_refused() {
        for good in ["runs", "Runs 2026", "übung", "a.b", "-x", "4k", &"x".repeat(64)] {
            assert_eq!(ShareName::new(good).unwrap().as_str(), good);
        }
        let long = "x".repeat(65);
        for bad in ["", ".", "..", "a/b", "a:b", " a", "a ", "a  b", "a\nb", "\u{1b}", "a\u{202e}b", "4000", &long] {
            assert!(matches!(ShareName::new(bad), Err(Fault::Invalid(Invalid::ShareName))), "{bad:?}");
            assert!(serde_json::from_value::<ShareName>(bad.into()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn drop_box_takes_something_or_anything() {
        let up_to = |bytes_max| DropBox { bytes_max: Some(bytes_max) }.check().is_ok();
        assert!(DropBox::default().check().is_ok() && up_to(1) && up_to(BYTES_MAX_END - 1));
        assert!(!up_to(0) && !up_to(BYTES_MAX_END) && !up_to(u64::MAX));
    }

    #[test]
    fn nobody_reads_a_new_share() {
        let (one, other) = (DeviceId([1; 32]), DeviceId([2; 32]));
        assert!(!SharedWith::NOBODY.has(one) && SharedWith::All.has(one));
        let listed = SharedWith::Devices { devices: vec![one] };
        assert!(listed.has(one) && !listed.has(other));
    }
}
