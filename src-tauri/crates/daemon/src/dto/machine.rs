//! What this machine can do.
use std::path::Path;

use ringway_engine::{Capabilities, remedy};
use ringway_model::{IoPath, Remedy, TlsPath, UserTlsReason};
use serde::{Deserialize, Serialize};

use crate::text::shown_text;

/// What this machine can do.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub struct Machine {
    pub kernel: String,
    pub tls: TlsPath,
    pub io: IoPath,
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
            tls: found.tls,
            io: found.io,
            cpu_aes: found.cpu_aes,
        }
    }
}
