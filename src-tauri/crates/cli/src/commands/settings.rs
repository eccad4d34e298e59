//! `ringway settings`: how this machine presents itself and receives. A service that runs is told,
//! and goes by it at once.
use std::path::PathBuf;

use anyhow::Result;
use ringway_daemon::control::protocol::GivenPath;
use ringway_daemon::dto::Listening;
use ringway_daemon::dto::SettingsChange;
use ringway_daemon::login::Login;
use ringway_engine::Engine;
use ringway_model::{RateLimit, Settings, StartsBy};

use crate::args::{SettingsArgs, SwitchArg};
use crate::commands::service;
use crate::exit::Exit;
use crate::json::{Event, MachineSettings};
use crate::output::Output;
use crate::text::{for_terminal, rate};

/// Shows the settings, after changing what was asked for.
pub(crate) async fn run(engine: &Engine, args: SettingsArgs) -> Result<Exit> {
    let out = Output::from(args.report);
    let start_at_login = args.start_at_login;
    let change = change(args)?;
    let mut elsewhere = None;
    if change != SettingsChange::default() {
        match service::client_of(engine).await? {
            Some(client) => {
                client.change_settings(change).await?;
                elsewhere = client.look().await.ok().and_then(|all| other_port(&all.listening));
            }
            None => {
                let names_folder = change.receive_folder.is_some();
                let settings = change.apply(engine.stored_settings()?)?;
                engine.set_settings(settings.clone())?;
                if names_folder {
                    engine.choose_folder(&settings.receive_folder);
                }
            }
        }
    }
    let settings = engine.stored_settings()?;
    let (starts, starts_words) = self::start_at_login(start_at_login)?;
    let id = engine.this_device().id;
    out.event(&Event::Settings(MachineSettings { settings: &settings, id, start_at_login: starts }));
    let stands_in = engine
        .unusable_host_name()
        .map(|host| format!(" (no device may be called {}, as this host is)", for_terminal(&host)));
    out.say(format_args!("Name:            {}{}", for_terminal(&settings.name), stands_in.unwrap_or_default()));
    out.say(format_args!("Id:              {}", id.short()));
    words(&settings, elsewhere).into_iter().for_each(|line| out.say(line));
    out.say(format_args!("Start at login:  {starts_words}"));
    Ok(Exit::All)
}

fn change(args: SettingsArgs) -> Result<SettingsChange> {
    let is_on = |switch: Option<SwitchArg>| switch.map(|switch| switch == SwitchArg::On);
    Ok(SettingsChange {
        name: args.name,
        port: args.port,
        receive_folder: args
            .receive_folder
            .map(std::path::absolute)
            .transpose()?
            .map(|folder: PathBuf| GivenPath(folder)),
        into_home: args.home.allow_home.then(|| args.home.into_home()),
        send_limit: args.limit.map(|limit| limit.limit().map(RateLimit::bytes_per_s).into()),
        background: is_on(args.background),
        announce: is_on(args.announce),
        receiving: is_on(args.receiving),
        acls: is_on(args.acls),
    })
}

/// Where the service listens for this run, if not at the settings' port.
fn other_port(listening: &Listening) -> Option<u16> {
    match listening {
        Listening::On { port, other_port: true, .. } => Some(*port),
        _ => None,
    }
}

fn words(settings: &Settings, elsewhere: Option<u16>) -> [String; 7] {
    let now = elsewhere.map_or_else(String::new, |port| format!(" (the service listens at {port} for this run)"));
    let limit = settings.send_limit.map_or_else(|| "none".to_owned(), |limit| rate(limit.bytes_per_s() as f64));
    let announced = if settings.announce { "on this network, while it receives" } else { "no" };
    let stays = if settings.background { "the service goes on" } else { "the service that it started ends with it" };
    let lists = if settings.acls { "kept" } else { "dropped" };
    let receives = if settings.receiving { "whenever the service runs" } else { "no: --receiving on" };
    [
        format!("Port:            {}{now}", settings.port),
        format!(
            "Receive folder:  {} (the service's; `ringway recv` takes its own)",
            for_terminal(&settings.receive_folder)
        ),
        format!("Receives:        {receives}"),
        format!("ACLs:            {lists} (of what the service receives and gets)"),
        format!("Limit:           {limit} (of each transfer that is sent from here)"),
        format!("Announced:       {announced}"),
        format!("Window closed:   {stays}"),
    ]
}

/// Changes it where that is asked for, corrects an entry that names a program which has gone, and
/// says how it is: for programs and for people.
fn start_at_login(wanted: Option<SwitchArg>) -> Result<(StartsBy, String)> {
    let login = Login::from_env();
    if let Some(wanted) = wanted {
        login.set(wanted == SwitchArg::On)?;
    }
    // Where it cannot be repaired, the state says so.
    let repaired = login.repair().unwrap_or_default();
    let also = repaired.map_or_else(String::new, |gone| format!("; it named {}, which has gone", for_terminal(gone)));
    let starts = login.state()?;
    let words = match &starts {
        StartsBy::Nothing => "no".to_owned(),
        StartsBy::Autostart => format!("yes, by the desktop's autostart{also}"),
        StartsBy::Unit => "yes, by systemd (`systemctl --user status ringway`)".to_owned(),
        StartsBy::Vanished { program } => {
            format!("no: its autostart entry names {}, which has gone", for_terminal(program))
        }
    };
    Ok((starts, words))
}
