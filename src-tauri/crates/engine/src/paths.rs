//! Where state lives: the XDG base directories, so that two devices can run side by side on one machine.
use std::path::PathBuf;

use crate::error::Error;

/// Ringway's folders (XDG Base Directory Specification 0.8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// `$XDG_CONFIG_HOME/ringway`: config.toml.
    pub config: PathBuf,
    /// `$XDG_DATA_HOME/ringway`: identity.pem, ringway.db.
    pub data: PathBuf,
    /// `$XDG_STATE_HOME/ringway`: what may be lost.
    pub state: PathBuf,
    /// `$XDG_RUNTIME_DIR/ringway`, if there is one: sockets.
    pub runtime: Option<PathBuf>,
}

impl Paths {
    /// From the environment; relative values are ignored, as the specification demands.
    pub fn from_env() -> Result<Self, Error> {
        let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = std::env::home_dir().filter(|path| path.is_absolute());
        let base = |name: &str, below_home: &str| {
            absolute(name)
                .or_else(|| home.as_ref().map(|home| home.join(below_home)))
                .map(|path| path.join("ringway"))
                .ok_or(Error::Machine("neither HOME nor the XDG variables are set"))
        };
        Ok(Self {
            config: base("XDG_CONFIG_HOME", ".config")?,
            data: base("XDG_DATA_HOME", ".local/share")?,
            state: base("XDG_STATE_HOME", ".local/state")?,
            runtime: absolute("XDG_RUNTIME_DIR").map(|path| path.join("ringway")),
        })
    }
}
