//! Which of the fast paths and fallbacks a transfer runs on, and why.
use serde::{Deserialize, Serialize};

/// The requested lane encryption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TlsMode {
    /// The kernel if it can, else userspace.
    #[default]
    Auto,
    /// The kernel, or fail.
    Kernel,
    /// Always userspace.
    User,
}

/// The requested file IO.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IoMode {
    /// io_uring if it is available, else plain system calls.
    #[default]
    Auto,
    /// io_uring or fail.
    Uring,
    /// Always plain system calls.
    Sync,
}

/// What encrypts a lane at one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TlsPath {
    /// The kernel (kTLS), both directions.
    Kernel,
    /// Userspace, and why.
    User(UserTlsReason),
}

/// Why a lane is encrypted in userspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UserTlsReason {
    /// It was asked for.
    Asked,
    /// The kernel has no TLS: not built in, and no module to load.
    NotInKernel,
    /// The kernel's `tls` module is there but not loaded (`sudo modprobe tls`).
    ModuleNotLoaded,
    /// The kernel has no TLS now, and it cannot be seen from here which modules it could load (a
    /// container, a kernel without modules).
    ModulesUnseen,
    /// The kernel refused the hand-off with this errno.
    Refused(i32),
}

/// What reads and writes file contents at one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IoPath {
    /// io_uring.
    Uring,
    /// Plain system calls, and why.
    Sync(SyncIoReason),
}

/// Why files are read and written with plain system calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SyncIoReason {
    /// They were asked for.
    Asked,
    /// They are faster for this end's work: writing through the page cache, which io_uring leaves
    /// to threads of its own.
    Faster,
    /// The kernel has no io_uring.
    NotInKernel,
    /// It is forbidden: by sysctl kernel.io_uring_disabled, seccomp, or a container's policy.
    Forbidden,
    /// Not enough lockable memory for a ring.
    NoMemory,
    /// An opcode that is needed is missing.
    OpcodeMissing,
    /// The kernel refused it with another errno.
    Refused(i32),
}

/// The fast paths or fallbacks of one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub struct PathTaken {
    /// What encrypts.
    pub tls: TlsPath,
    /// What reads or writes files.
    pub io: IoPath,
}

/// Why the threads that write received files can reach more than their folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unconfined {
    /// The kernel has no Landlock, which Linux has from 5.13 on.
    NotInKernel,
    /// The kernel has Landlock, but was started without it.
    SwitchedOff,
    /// The kernel's Landlock is too old: what is needed is in Linux from 5.19 on.
    TooOld,
    /// The kernel refused it with this errno, as a container's policy may do.
    Refused(i32),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_taken_is_serialised_with_its_reasons() {
        let path = PathTaken {
            tls: TlsPath::User(UserTlsReason::ModuleNotLoaded),
            io: IoPath::Sync(SyncIoReason::Refused(1)),
        };
        let json = r#"{"tls":{"user":"module_not_loaded"},"io":{"sync":{"refused":1}}}"#;
        assert_eq!(serde_json::to_string(&path).unwrap(), json);
        assert_eq!(serde_json::from_str::<PathTaken>(json).unwrap(), path);
        let path = PathTaken { tls: TlsPath::Kernel, io: IoPath::Uring };
        assert_eq!(serde_json::to_string(&path).unwrap(), r#"{"tls":"kernel","io":"uring"}"#);
    }
}
