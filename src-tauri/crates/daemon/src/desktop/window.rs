//! Opening the window, which is a program of its own: the one beside this executable, else the one
//! on PATH. A window that is open already is brought to the front by the second start.
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use super::Log;
use crate::dto::View;

const WINDOW: &str = "ringway-desktop";

/// Starts the window with `view`, or with whatever it shows by itself. `token` is the desktop's
/// leave to come to the front. What goes wrong is said in the log.
pub fn open_window(view: Option<View>, token: Option<String>, log: &Log) {
    let window = beside(std::env::current_exe().ok().as_deref()).unwrap_or_else(|| WINDOW.into());
    let arguments: &[&str] = match view {
        None => &[],
        Some(View::Inbox) => &["--show", "inbox"],
        Some(View::Send) => &["--show", "send"],
    };
    let mut command = match is_unit(|name| std::env::var(name).ok()) {
        true => outside(&window, token.as_deref()),
        false => {
            let mut command = Command::new(&window);
            if let Some(token) = token {
                command.env("XDG_ACTIVATION_TOKEN", token);
            }
            command.process_group(0);
            command
        }
    };
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    match command.spawn() {
        Ok(mut child) => {
            let log = log.clone();
            tokio::spawn(async move {
                match child.wait().await {
                    Ok(status) if status.success() => {}
                    Ok(status) => log(&format!("the window ended with {status}")),
                    Err(error) => log(&format!("the window is not heard of: {error}")),
                }
            });
        }
        Err(error) => log(&format!("cannot start {}: {error}", window.display())),
    }
}

/// The window's program beside ours.
fn beside(ours: Option<&Path>) -> Option<PathBuf> {
    ours.map(|ours| ours.with_file_name(WINDOW)).filter(|path| path.is_file())
}

/// Whether systemd started this very process: a child would inherit that it is said, and not be it
/// (systemd.exec(5), SYSTEMD_EXEC_PID).
fn is_unit(env: impl Fn(&str) -> Option<String>) -> bool {
    env("SYSTEMD_EXEC_PID").is_some_and(|pid| pid == std::process::id().to_string())
}

/// Outside of the unit that we are: its hardening does not suit a browser engine, stopping it must
/// not close the window, and it may have been started before there was a display. systemd's own
/// environment has that.
fn outside(window: &Path, token: Option<&str>) -> Command {
    let mut command = Command::new("systemd-run");
    command.args(["--user", "--quiet", "--collect"]);
    if let Some(token) = token {
        let mut setting = OsString::from("--setenv=XDG_ACTIVATION_TOKEN=");
        setting.push(token);
        command.arg(setting);
    }
    command.arg("--").arg(window);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_beside_us_is_taken_and_none_that_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let ours = folder.path().join("ringway");
        assert_eq!(beside(Some(&ours)), None);
        let window = folder.path().join(WINDOW);
        std::fs::write(&window, "").unwrap();
        assert_eq!(beside(Some(&ours)), Some(window));
        assert_eq!(beside(None), None);
    }

    #[test]
    fn a_unit_opens_it_outside_of_itself() {
        let mine = std::process::id().to_string();
        assert!(is_unit(|_| Some(mine.clone())));
        assert!(!is_unit(|_| Some("1".to_owned())) && !is_unit(|_| None));
        let command = outside(Path::new("/usr/bin/ringway-desktop"), Some("token"));
        let said: Vec<_> = command.as_std().get_args().collect();
        let wanted =
            ["--user", "--quiet", "--collect", "--setenv=XDG_ACTIVATION_TOKEN=token", "--", "/usr/bin/ringway-desktop"];
        assert_eq!(said, wanted);
    }
}
