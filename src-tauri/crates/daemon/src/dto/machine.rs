//! What this machine can do, and what would help it.
use std::path::Path;

use ringway_engine::remedy;
use ringway_model::{Capabilities, Remedy, TlsPath, UserTlsReason};
use serde::{Deserialize, Serialize};

/// What this machine can do.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
pub struct Machine {
    #[serde(flatten)]
    pub capabilities: Capabilities,
    /// What would turn kernel TLS on.
    pub remedies: Vec<Remedy>,
}

impl From<Capabilities> for Machine {
    fn from(capabilities: Capabilities) -> Self {
        let is_off = capabilities.tls == TlsPath::User(UserTlsReason::ModuleNotLoaded);
        let remedies = if is_off { remedy::kernel_tls(Path::new("/")) } else { Vec::new() };
        Self { capabilities, remedies }
    }
}
