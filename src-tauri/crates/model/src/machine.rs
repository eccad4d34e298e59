//! This machine: what it can do, how it is set up, and the code that it shows.
mod settings;

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::text::Text;
use crate::transfer::{IoPath, TlsPath, Unconfined};

pub use settings::{RateLimit, Settings, SettingsInForce, StartsBy};

/// What this machine can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Capabilities {
    /// The running kernel's release, as uname(2) says.
    pub kernel: Text,
    /// What a lane would be encrypted by.
    pub tls: TlsPath,
    /// What file IO would run on.
    pub io: IoPath,
    /// Why the threads that write what is received can reach more than its folder (Landlock). None
    /// where they cannot.
    pub unconfined: Option<Unconfined>,
    /// Whether openat2 confines (else the component-by-component fallback does).
    pub openat2: bool,
    /// Whether the CPU has AES instructions; without them ChaCha20-Poly1305 is preferred.
    pub cpu_aes: bool,
    /// Descriptors this process may open, after raising the soft limit.
    pub open_files_max: u64,
}

/// The code that is open. It has no Debug: it is a secret while it lasts.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenCode {
    /// The code; null where none is open, or a given one is.
    pub code: Option<String>,
    /// Until when the code is valid, in seconds since 1970; null where it has no end.
    #[serde(with = "crate::time::moment::option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    #[cfg_attr(feature = "bindings", specta(type = Option<u32>))]
    pub code_valid_until: Option<SystemTime>,
}
