//! Starting the service: the `ringway` beside our own executable, else the one on PATH, as a
//! process that outlives the window.
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use ringway_daemon::control::client::Notice;
use ringway_daemon::control::{Client, ControlError, Place};
use ringway_daemon::text::shown_text;
use ringway_engine::Paths;
use ringway_engine::remedy;
use ringway_model::Fault;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};
use tokio::sync::mpsc::UnboundedReceiver;

/// How often a service that was started is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Time for it to begin to listen: a cold disk, and a machine that has just started.
const START_TIME_MAX: Duration = Duration::from_secs(30);

/// Bytes of what it says that are read when it fails.
const SAID_MAX: u64 = 4_096;

/// A connection, and what is said unasked over it.
pub(crate) type Connection = (Client, UnboundedReceiver<Notice>);

/// Connects to the service that runs.
///
/// # Errors
/// `None` if none runs, else why that one does not do.
pub(crate) async fn find(place: &Place) -> Result<Connection, Option<Fault>> {
    Client::connect(place).await.map_err(|error| match error {
        ControlError::NotRunning => None,
        other => Some(told(&other)),
    })
}

/// Connects to the service, after starting it where none runs.
///
/// # Errors
/// Why it cannot be had.
pub(crate) async fn find_or_start(place: &Place) -> Result<Connection, Fault> {
    match find(place).await {
        Ok(connection) => return Ok(connection),
        Err(Some(fault)) => return Err(fault),
        Err(None) => {}
    }
    let mut service = start().map_err(failed)?;
    let look = async {
        loop {
            match find(place).await {
                Ok(connection) => return Ok(connection),
                Err(Some(fault)) => return Err(fault),
                Err(None) => tokio::time::sleep(LOOK_EVERY).await,
            }
        }
    };
    tokio::select! {
        found = tokio::time::timeout(START_TIME_MAX, look) => {
            let found = found.map_err(|_| failed("it does not answer"))?;
            // The parent of a process waits for its end, or the process stays in the table of
            // processes.
            tokio::spawn(async move { service.wait().await });
            found
        }
        said = end_of(&mut service) => match find(place).await {
            // Another window's was faster.
            Ok(connection) => Ok(connection),
            Err(fault) => Err(fault.unwrap_or_else(|| failed(said))),
        },
    }
}

fn start() -> std::io::Result<Child> {
    let program = beside(std::env::current_exe().ok().as_deref()).unwrap_or_else(|| "ringway".into());
    let mut command = Command::new(&program);
    command.args(["serve", "--with-window"]);
    if let Ok(paths) = Paths::from_env() {
        command.arg("--log").arg(paths.state.join("service.log"));
    }
    // No disk that somebody wants to take out is held by it.
    command.current_dir("/");
    // Standard error is read for as long as it may say why it cannot start; afterwards it goes to
    // the log.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(false);
    command.spawn().map_err(|error| std::io::Error::new(error.kind(), format!("{}: {error}", program.display())))
}

/// The command beside our own program.
fn beside(ours: Option<&Path>) -> Option<PathBuf> {
    ours.map(|ours| ours.with_file_name("ringway")).filter(|path| path.is_file())
}

/// Waits until it has ended; what it said.
async fn end_of(service: &mut Child) -> String {
    let mut said = Vec::new();
    let errors = service.stderr.take();
    let status = service.wait().await;
    if let Some(errors) = errors {
        // What cannot be read was not said.
        let _ = errors.take(SAID_MAX).read_to_end(&mut said).await;
    }
    let said = String::from_utf8_lossy(&said);
    let said = said.lines().map(|line| line.trim_start_matches("ringway:").trim()).collect::<Vec<_>>().join(" ");
    match (said.is_empty(), status) {
        (false, _) => said,
        (true, Ok(status)) => status.to_string(),
        (true, Err(error)) => error.to_string(),
    }
}

fn failed(why: impl std::fmt::Display) -> Fault {
    Fault::ServiceFailed {
        detail: shown_text(why.to_string().trim_end_matches('.')).into(),
        remedies: vec![remedy::serve()],
    }
}

/// What keeps a client from the service, as the front end says it.
fn told(error: &ControlError) -> Fault {
    match error {
        ControlError::NotRunning => Fault::ServiceGone,
        ControlError::OtherProtocol { version, .. } => Fault::ServiceDiffers {
            ours: env!("CARGO_PKG_VERSION").to_owned().into(),
            theirs: shown_text(version).into(),
            remedies: vec![remedy::restart_service()],
        },
        other => failed(other),
    }
}

/// Where the service is.
///
/// # Errors
/// There is no folder for its socket.
pub(crate) fn place() -> Result<Place, Fault> {
    Place::find().map_err(|error| told(&error))
}
