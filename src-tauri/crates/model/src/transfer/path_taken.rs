//! Which of the fast paths and fallbacks a transfer runs on, and why.
use serde::{Deserialize, Serialize};

/// What the person asks of lane encryption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TlsMode {
    /// Kernel when it can, else userspace.
    #[default]
    Auto,
    /// Kernel or fail.
    Kernel,
    /// Userspace always.
    User,
}

/// What the person asks of file IO.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IoMode {
    /// io_uring when it can, else plain system calls.
    #[default]
    Auto,
    /// io_uring or fail.
    Uring,
    /// Plain system calls always.
    Sync,
}

/// Who encrypts a lane at one end.
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
    /// Asked for.
    Asked,
    /// The kernel has no TLS: not built in, and no module to load.
    NotInKernel,
    /// The kernel's `tls` module is there but not loaded (`sudo modprobe tls`).
    ModuleNotLoaded,
    /// The kernel has no TLS now, and which modules it could load cannot be seen from here (a
    /// container, a kernel without modules).
    ModulesUnseen,
    /// The kernel refused the hand-off with this errno.
    Refused(i32),
}

/// Who moves file bytes at one end.
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
    /// Asked for.
    Asked,
    /// They are faster at what this end does: writing through the page cache, which io_uring leaves
    /// to threads of its own.
    Faster,
    /// The kernel has no io_uring.
    NotInKernel,
    /// Forbidden: sysctl kernel.io_uring_disabled, seccomp, or a container's policy.
    Forbidden,
    /// Not enough lockable memory for a ring.
    NoMemory,
    /// An opcode that is needed is missing.
    OpcodeMissing,
    /// Another errno.
    Refused(i32),
}

/// Both paths of one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub struct PathTaken {
    /// Who encrypts.
    pub tls: TlsPath,
    /// Who reads or writes files.
    pub io: IoPath,
}

/// Why the threads that write what is received can reach more than its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unconfined {
    /// The kernel has no Landlock, which Linux has from 5.13 on.
    NotInKernel,
    /// The kernel has it, and was started without it.
    SwitchedOff,
    /// The kernel's is too old: it has what is needed from Linux 5.19 on.
    TooOld,
    /// The kernel refused it with this errno, as a container's policy may.
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
