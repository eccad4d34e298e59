//! Which fast paths and fallbacks ran, or would run on this machine, as the front end sees them.
#![expect(missing_docs, reason = "what a field's name says already is not said again: the bindings show both")]
use std::path::Path;

use ringway_engine::Capabilities;
use ringway_model::{IoPath, PathTaken, Remedy, SyncIoReason, TlsPath, UserTlsReason};
use serde::{Deserialize, Serialize};

use crate::text::shown_text;
use ringway_engine::remedy;

/// Why lanes are not encrypted by the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub enum UserTlsWhy {
    Asked,
    NotInKernel,
    ModuleNotLoaded,
    ModulesUnseen,
    Refused,
}

/// Who encrypts at one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(tag = "by", rename_all = "camelCase")]
pub enum Encryption {
    Kernel,
    Userspace { why: UserTlsWhy },
}

impl From<TlsPath> for Encryption {
    fn from(path: TlsPath) -> Self {
        let why = match path {
            TlsPath::Kernel => return Self::Kernel,
            TlsPath::User(UserTlsReason::Asked) => UserTlsWhy::Asked,
            TlsPath::User(UserTlsReason::NotInKernel) => UserTlsWhy::NotInKernel,
            TlsPath::User(UserTlsReason::ModuleNotLoaded) => UserTlsWhy::ModuleNotLoaded,
            TlsPath::User(UserTlsReason::ModulesUnseen) => UserTlsWhy::ModulesUnseen,
            TlsPath::User(_) => UserTlsWhy::Refused,
        };
        Self::Userspace { why }
    }
}

/// Why files are moved by plain system calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub enum SyncIoWhy {
    Asked,
    Faster,
    NotInKernel,
    Forbidden,
    NoMemory,
    OpcodeMissing,
    Refused,
}

/// Who moves file bytes at one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(tag = "by", rename_all = "camelCase")]
pub enum FileIo {
    Uring,
    Plain { why: SyncIoWhy },
}

impl From<IoPath> for FileIo {
    fn from(path: IoPath) -> Self {
        let why = match path {
            IoPath::Uring => return Self::Uring,
            IoPath::Sync(SyncIoReason::Asked) => SyncIoWhy::Asked,
            IoPath::Sync(SyncIoReason::Faster) => SyncIoWhy::Faster,
            IoPath::Sync(SyncIoReason::NotInKernel) => SyncIoWhy::NotInKernel,
            IoPath::Sync(SyncIoReason::Forbidden) => SyncIoWhy::Forbidden,
            IoPath::Sync(SyncIoReason::NoMemory) => SyncIoWhy::NoMemory,
            IoPath::Sync(SyncIoReason::OpcodeMissing) => SyncIoWhy::OpcodeMissing,
            IoPath::Sync(_) => SyncIoWhy::Refused,
        };
        Self::Plain { why }
    }
}

/// The paths one end takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub struct Paths {
    pub encryption: Encryption,
    pub file_io: FileIo,
}

impl From<PathTaken> for Paths {
    fn from(path: PathTaken) -> Self {
        Self { encryption: path.tls.into(), file_io: path.io.into() }
    }
}

/// What this machine can do.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub struct Machine {
    pub kernel: String,
    pub encryption: Encryption,
    pub file_io: FileIo,
    pub cpu_aes: bool,
    /// What would turn kernel TLS on.
    pub remedies: Vec<Remedy>,
}

impl From<Capabilities> for Machine {
    fn from(found: Capabilities) -> Self {
        let is_off = found.tls == TlsPath::User(UserTlsReason::ModuleNotLoaded);
        Self {
            remedies: if is_off { remedy::kernel_tls(Path::new("/")) } else { Vec::new() },
            kernel: shown_text(&found.kernel),
            encryption: found.tls.into(),
            file_io: found.io.into(),
            cpu_aes: found.cpu_aes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_taken_is_told_with_its_reason() {
        let path =
            PathTaken { tls: TlsPath::User(UserTlsReason::ModuleNotLoaded), io: IoPath::Sync(SyncIoReason::Forbidden) };
        assert_eq!(
            serde_json::to_string(&Paths::from(path)).unwrap(),
            r#"{"encryption":{"by":"userspace","why":"moduleNotLoaded"},"fileIo":{"by":"plain","why":"forbidden"}}"#
        );
    }
}
