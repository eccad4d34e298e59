//! `ringway serve`, which is the service, and the commands that ask it: status, offers, accept,
//! decline, allow, dismiss, block, code, cancel, pause, resume, stop.
mod ask;
mod log;
mod notify;
mod serve;
mod shown;

use anyhow::Result;
use ringway_daemon::control::{Client, ControlError, Place};
use ringway_engine::{Engine, remedy};
use ringway_model::{Fault, Operation};

pub(crate) use serve::serve;

use crate::args::Command;
use crate::exit::Exit;
use crate::refusal::Refusal;
use crate::words::Words;

/// Runs what asks the service; any other command comes back.
pub(crate) async fn run(command: Command) -> Result<Result<Exit>, Command> {
    Ok(match command {
        Command::Status(report) => ask::status(report).await,
        Command::Offers(args) => ask::offers(args).await,
        Command::Accept(args) => ask::accept(args).await,
        Command::Decline(args) => ask::decline(args).await,
        Command::Allow(args) => ask::allow(args).await,
        Command::Dismiss(args) => ask::dismiss(args).await,
        Command::Block(args) => ask::block(args).await,
        Command::Code(args) => ask::code(args).await,
        Command::Cancel(args) => ask::cancel(args).await,
        Command::Pause(args) => ask::pause(args).await,
        Command::Resume(args) => ask::resume(args).await,
        Command::Stop(report) => ask::stop(report).await,
        other => return Err(other),
    })
}

/// The running service that has the same settings as this engine, if there is one. A command that
/// changes settings sends them to it, and the service stores them.
///
/// # Errors
/// A service runs, and the changes cannot be sent to it.
pub(crate) async fn client_of(engine: &Engine) -> Result<Option<Client>> {
    // Where there is no place for it, none runs.
    let Ok(place) = Place::find() else { return Ok(None) };
    let client = match Client::connect(&place).await {
        Ok((client, _)) => client,
        Err(ControlError::NotRunning) => return Ok(None),
        Err(error) => return Err(refusal(&error).into()),
    };
    // One that was started with other XDG folders is another device.
    let theirs = client.look().await?.device_id;
    Ok((theirs == engine.this_device().id).then_some(client))
}

/// Where this user's service receives already, as a refusal to receive there too; `None` if no
/// service is to be reached.
pub(crate) async fn receives_already(refused: Fault) -> Option<Refusal> {
    let (service, _) = Client::connect(&Place::find().ok()?).await.ok()?;
    let pid = service.hello().pid;
    let words = Words::new(
        format!("The service of this device receives at that port already, as process {pid}."),
        "`ringway offers` lists its offers, `ringway accept` accepts one. Or receive beside it on a free port (--listen :0), \
         or stop it: `ringway stop`.",
    );
    Some(Refusal::of(refused, words))
}

/// What keeps a command from the service, or the service from its place.
fn refusal(error: &ControlError) -> Refusal {
    let mut what = error.to_string();
    // The sentences begin in lower case: they are parts of others elsewhere.
    if let Some(first) = what.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let what = format!("{}.", crate::text::for_terminal(what));
    let fault = match error {
        ControlError::NotRunning => return Fault::ServiceNotRunning.into(),
        ControlError::OtherProtocol { version, .. } => Fault::ServiceDiffers {
            ours: env!("CARGO_PKG_VERSION").into(),
            theirs: version.as_str().into(),
            remedies: vec![remedy::restart_service()],
        },
        ControlError::Path { path, source } => Fault::path(path.clone(), Operation::Open, source),
        ControlError::Taken { .. }
        | ControlError::NoPlace { .. }
        | ControlError::Busy
        | ControlError::NotPrivate { .. }
        | ControlError::Stranger { .. }
        | ControlError::Silent { .. } => {
            Fault::ServiceFailed { detail: error.to_string().into(), remedies: Vec::new() }
        }
    };
    let refusal = Refusal::of(fault, Words::only(what));
    match error {
        ControlError::NotRunning | ControlError::Silent { .. } | ControlError::Path { .. } => refusal,
        ControlError::Taken { .. } => refusal.advise("`ringway status` shows what it does, `ringway stop` ends it."),
        ControlError::NoPlace { .. } => refusal.advise(
            "They are made by logging in. Without that: XDG_RUNTIME_DIR=DIR, where DIR is a folder of your own with mode 0700.",
        ),
        ControlError::OtherProtocol { .. } => {
            refusal.advise("Another version was installed while it ran: `systemctl --user restart ringway`, or end its process and start it again.")
        }
        ControlError::Busy => refusal.advise("Close a window or a command that waits, and try again."),
        ControlError::NotPrivate { .. } | ControlError::Stranger { .. } => {
            refusal.advise("Somebody else has made it: remove it, or name another folder in XDG_RUNTIME_DIR.")
        }
    }
}
