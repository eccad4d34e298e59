//! A controller on a device of its own, for tests.
use std::time::Duration;

use ringway_engine::{Engine, Paths};
use tempfile::TempDir;

use super::{App, Reception};

/// How long anything may take before a test fails: two engines in a debug build on busy cores.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A device in a folder of its own, which holds its settings, its state and its `inbox`.
pub(crate) struct TestDevice {
    pub(crate) app: App,
    pub(crate) folder: TempDir,
}

impl TestDevice {
    /// One with that name.
    pub(crate) fn new(name: &str, reception: Reception) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let own = |part: &str| folder.path().join(part);
        std::fs::create_dir_all(own("config")).unwrap();
        std::fs::create_dir(own("inbox")).unwrap();
        let config = format!("name = \"{name}\"\nreceive_folder = \"{}\"\n", own("inbox").display());
        std::fs::write(own("config/config.toml"), config).unwrap();
        let paths = Paths { config: own("config"), data: own("data"), state: own("state"), runtime: None };
        let app = App::new(Engine::open(paths.clone()).unwrap(), &paths.state, reception);
        Self { app, folder }
    }
}
