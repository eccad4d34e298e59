//! `ringway serve`: being the service, from taking its place to an orderly end.
use std::future::pending;
use std::time::Duration;

use anyhow::Result;
use ringway_daemon::control::{Client, ControlError, Hold, Place, Server};
use ringway_daemon::dto::Listening;
use ringway_daemon::login::Login;
use ringway_daemon::{App, Reception};
use ringway_engine::{Engine, Paths};
use tokio::net::UnixListener;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::log::Log;
use super::notify::notify;
use super::refusal;
use crate::args::destination::destination;
use crate::args::{ListenAddress, ServeArgs};
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::json::Event;
use crate::text::{counted, for_terminal};

/// Time for a service that answers nobody any more to be gone: one that was killed holds its place
/// until the kernel has taken it down.
const LEAVING_TIME_MAX: Duration = Duration::from_secs(5);

/// How often such a place is looked at.
const LEAVING_LOOK_EVERY: Duration = Duration::from_millis(20);

/// Serves until it is told to stop, or nobody needs it any more.
pub(crate) async fn serve(engine: Engine, args: ServeArgs, interrupts: &Interrupts) -> Result<Exit> {
    if args.with_window {
        // The service outlives the window that started it. setsid(2) fails for the leader of a
        // process group, which is detached already.
        let _ = rustix::process::setsid();
    }
    args.kept.check()?;
    let folder = args.dest.as_deref().map(destination).transpose()?;
    if let Some(folder) = &folder {
        engine.check_folder(folder, args.home.into_home())?;
    }
    let place = Place::find().map_err(|error| refusal(&error))?;
    let (hold, listener) = take(&place).await.map_err(|error| refusal(&error))?;
    let listen = args.listen.unwrap_or(ListenAddress::DEFAULT);
    let into_home = args.home.into_home();
    let (address, zone, port) = (listen.ip, listen.zone, listen.port);
    let keeps = args.kept.attributes();
    let reception = Reception { address, zone, port, is_quiet: args.no_announce, folder, into_home, keeps };
    let app = App::new(engine.clone(), &Paths::from_env()?.state, reception);
    let mut log = Log::open(args.log.as_deref(), args.report, app.clone(), engine.clone())?;
    let (tell, mut events) = mpsc::unbounded_channel();
    let (_, _listener) = app.start(Box::new(move |event| drop(tell.send(event))))?;
    // A window that is opened for the first time asks first where this machine may receive, and
    // under what name.
    let awaits_set_up = args.with_window && !engine.is_set_up();
    if engine.settings().receiving && !awaits_set_up {
        app.receiving.listen(None).await;
    } else if !awaits_set_up {
        log.say("does not receive: that is switched off (`ringway settings --receiving on`)");
    }
    // A window shows that, and what to do about it; without one nobody would see that there is
    // nothing to wait for.
    if let Listening::Failed { fault, .. } = app.receiving.listening()
        && !args.with_window
    {
        return Err(fault.into());
    }
    let server = Server::start(app.clone(), listener);
    notify("READY=1");
    repair_login(&log);
    {
        let notice = log.notices();
        let ended = async {
            tokio::select! {
                () = interrupts.asked() => {}
                () = server.stop_asked() => {}
                () = deserted(&server, &engine, args.with_window) => {}
                () = quit(app.clone(), notice) => {}
            }
        };
        tokio::pin!(ended);
        loop {
            tokio::select! {
                () = &mut ended => break,
                Some(event) = events.recv() => log.take(event),
            }
        }
    }
    notify("STOPPING=1");
    let left = {
        let winding = app.wind_down(args.grace.time().unwrap_or_default());
        tokio::pin!(winding);
        loop {
            tokio::select! {
                left = &mut winding => break left,
                Some(event) = events.recv() => log.take(event),
            }
        }
    };
    while let Ok(event) = events.try_recv() {
        log.take(event);
    }
    // A client that sees its connection end may start the next service at once.
    drop(hold);
    drop(server);
    log.event(&Event::Stopping { left: left as u64 });
    if left == 0 {
        log.say("ends");
        log.close().await;
        return Ok(Exit::All);
    }
    log.say(format_args!("ends; {} had not: the same again goes on from there", counted(left as u64, "transfer")));
    // As if it had been killed, which is what journals are for: stopped in good order, a transfer
    // would take away what it has brought.
    std::process::exit(Exit::All as i32);
}

/// Becomes the service, as soon as one that is ending has ended.
async fn take(place: &Place) -> Result<(Hold, UnixListener), ControlError> {
    let until = Instant::now() + LEAVING_TIME_MAX;
    loop {
        match Hold::take(place) {
            Err(ControlError::Taken { .. }) if Instant::now() < until && Client::connect(place).await.is_err() => {
                tokio::time::sleep(LEAVING_LOOK_EVERY).await;
            }
            taken => return taken,
        }
    }
}

/// Waits until somebody chooses the end in the tray.
#[cfg(feature = "desktop")]
async fn quit(app: App, notice: impl Fn(&str) + Send + Sync + 'static) {
    ringway_daemon::desktop::attend(app, std::sync::Arc::new(notice)).await;
}

/// Without a tray nobody chooses anything there.
#[cfg(not(feature = "desktop"))]
async fn quit(_: App, _: impl Fn(&str)) {
    pending().await
}

/// An autostart entry that names a program which has gone names this one from now on.
fn repair_login(log: &Log) {
    let notice = log.notices();
    match Login::from_env().repair() {
        Ok(None) => {}
        Ok(Some(gone)) => notice(&format!("start at login named {}, which has gone: corrected", for_terminal(gone))),
        Err(error) => notice(&format!("start at login: {}", for_terminal(error.to_string()))),
    }
}

/// Waits until a service that a window has started is not needed any more.
async fn deserted(server: &Server, engine: &Engine, with_window: bool) {
    match with_window {
        // Before it was set up nobody has said that it is to stay.
        true => server.deserted(|| engine.settings().background && engine.is_set_up()).await,
        false => pending().await,
    }
}
