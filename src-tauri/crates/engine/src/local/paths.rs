//! Where state lives: the XDG base directories, so that two devices can run side by side on one
//! machine.
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use ringway_model::Fault;

/// What the window's page is called in its `tauri.conf.json`.
const WINDOW: &str = "org.ringway.desktop";

/// Ringway's folders (XDG Base Directory Specification 0.8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// `$XDG_CONFIG_HOME/ringway`: config.toml.
    pub config: PathBuf,
    /// `$XDG_DATA_HOME/ringway`: identity.pem, ringway.db.
    pub data: PathBuf,
    /// `$XDG_STATE_HOME/ringway`: what may be lost.
    pub state: PathBuf,
    /// `$XDG_RUNTIME_DIR/ringway` or what stands in for it, if there is one: sockets.
    pub runtime: Option<PathBuf>,
}

impl Paths {
    /// From the environment; relative values are ignored, as the specification demands.
    pub fn from_env() -> Result<Self, Fault> {
        let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = std::env::home_dir().filter(|path| path.is_absolute());
        let base = |name: &str, below_home: &str| {
            absolute(name)
                .or_else(|| home.as_ref().map(|home| home.join(below_home)))
                .map(|path| path.join("ringway"))
                .ok_or(Fault::machine("neither HOME nor the XDG variables are set"))
        };
        Ok(Self {
            config: base("XDG_CONFIG_HOME", ".config")?,
            data: base("XDG_DATA_HOME", ".local/share")?,
            state: base("XDG_STATE_HOME", ".local/state")?,
            runtime: runtime(|name| std::env::var_os(name), &by_user()),
        })
    }

    /// Where the window's page keeps what WebKit stores for it, beside our own folders and in the
    /// user's cache.
    pub(crate) fn window(&self) -> Vec<PathBuf> {
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let cache = cache.or_else(|| std::env::home_dir().map(|home| home.join(".cache")));
        let beside = [&self.config, &self.data].into_iter().map(|folder| folder.with_file_name(WINDOW));
        beside.chain(cache.map(|cache| cache.join(WINDOW))).collect()
    }
}

/// Where systemd has a user's runtime folder, for programs that cron and sudo start without the
/// variable.
pub fn by_user() -> PathBuf {
    PathBuf::from(format!("/run/user/{}", rustix::process::getuid()))
}

/// The folder for sockets: `ringway` in the user's (XDG_RUNTIME_DIR), else the folder that systemd
/// made for a system's service (RUNTIME_DIRECTORY, systemd.exec(5)), else `ringway` below
/// `by_user`, where that is there.
pub fn runtime(variable: impl Fn(&str) -> Option<OsString>, by_user: &Path) -> Option<PathBuf> {
    let absolute = |text: &OsStr| Some(PathBuf::from(text)).filter(|path| path.is_absolute());
    let value = |name: &str| variable(name).as_deref().and_then(absolute);
    let below = |base: PathBuf| base.join("ringway");
    let folder = value("XDG_RUNTIME_DIR").map(below);
    let folder = folder.or_else(|| value("RUNTIME_DIRECTORY"));
    folder.or_else(|| by_user.is_dir().then(|| below(by_user.to_owned())))
}
