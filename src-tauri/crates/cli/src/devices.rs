//! `ringway devices`: the devices that this machine knows, and `ringway settings`: how it presents itself.
use std::time::SystemTime;

use anyhow::Result;
use ringway_engine::{Device, Engine, RateLimit};
use ringway_service::login::{Login, StartAtLogin};
use serde_json::json;

use crate::args::{DevicesAction, DevicesArgs, SettingsArgs, SwitchArg};
use crate::exit::{Exit, Refusal};
use crate::json;
use crate::nearby;
use crate::output::Output;
use crate::rule;
use crate::text::{ago, for_terminal, rate, table};

/// Lists, renames, forgets, or sets a rule.
pub(crate) async fn run(engine: &Engine, args: DevicesArgs) -> Result<Exit> {
    let out = Output::from(args.report);
    if args.nearby {
        nearby::list(engine, &out).await?;
        return Ok(Exit::All);
    }
    match args.action.unwrap_or(DevicesAction::List) {
        DevicesAction::List => list(engine, &out)?,
        DevicesAction::Rename { old, new } => {
            let device = find(engine, &old)?;
            engine.rename_device(device.id, &new)?;
            out.event(&json!({ "event": "renamed", "id": device.id.to_string(), "old": device.name, "name": new }));
            out.say(format_args!("{} is now called {} here.", for_terminal(&device.name), for_terminal(&new)));
        }
        DevicesAction::Rule(args) => {
            let device = find(engine, args.device())?;
            rule::run(engine, &device, &args, &out)?;
        }
        DevicesAction::Forget { device } => {
            let device = find(engine, &device)?;
            engine.forget_device(device.id)?;
            out.event(&json!({ "event": "forgotten", "id": device.id.to_string(), "name": device.name }));
            out.say(format_args!("{} is forgotten: it must pair again.", for_terminal(&device.name)));
        }
    }
    Ok(Exit::All)
}

fn find(engine: &Engine, text: &str) -> Result<Device> {
    Ok(engine.find_device(text)?.ok_or_else(|| {
        Refusal::failed(format!("No device called \"{}\" is known here.", for_terminal(text)))
            .advise("`ringway devices` lists them.")
    })?)
}

fn list(engine: &Engine, out: &Output) -> Result<()> {
    let devices = engine.devices()?;
    for device in &devices {
        out.event(&json::device(device));
    }
    if devices.is_empty() {
        out.say("No device is known yet. Send something, or run `ringway pair HOST`: the receiver's code makes the two known.");
        return Ok(());
    }
    let now = SystemTime::now();
    let rows = devices.iter().map(|device| {
        [
            for_terminal(&device.name),
            device.id.short(),
            ago(device.paired_at, now),
            device.last_seen.map_or_else(|| "never".to_owned(), |seen| ago(seen, now)),
            device.last_address.as_deref().map(for_terminal).unwrap_or_default(),
            rule::short(&device.rule),
        ]
    });
    let heading = ["NAME", "ID", "PAIRED", "LAST SEEN", "LAST ADDRESS", "OFFERS"].map(str::to_owned);
    for line in table(std::iter::once(heading).chain(rows).collect()) {
        out.say(line);
    }
    Ok(())
}

/// Shows the settings, after changing what was asked for.
pub(crate) fn settings(engine: &Engine, args: SettingsArgs) -> Result<Exit> {
    let out = Output::from(args.report);
    let mut settings = engine.settings();
    let before = settings.clone();
    if let Some(name) = args.name {
        settings.name = name;
    }
    if let Some(port) = args.port {
        settings.port = port;
    }
    if let Some(folder) = args.receive_folder {
        settings.receive_folder = std::path::absolute(folder)?;
    }
    if let Some(limit) = args.limit {
        settings.send_limit = limit.limit();
    }
    if let Some(announce) = args.announce {
        settings.announce = announce == SwitchArg::On;
    }
    if let Some(background) = args.background {
        settings.background = background == SwitchArg::On;
    }
    if settings != before {
        engine.set_settings(settings.clone())?;
    }
    let (starts, starts_words) = start_at_login(args.start_at_login)?;
    let id = engine.this_device().id;
    let mut event = json!({ "event": "settings", "name": settings.name, "id": id.to_string(), "port": settings.port });
    event["receive_folder"] = json::path(&settings.receive_folder).into();
    event["send_limit"] = settings.send_limit.map(RateLimit::bytes_per_s).into();
    event["announce"] = settings.announce.into();
    event["background"] = settings.background.into();
    event["start_at_login"] = starts.into();
    out.event(&event);
    out.say(format_args!("Name:            {}", for_terminal(&settings.name)));
    out.say(format_args!("Id:              {}", id.short()));
    out.say(format_args!("Port:            {}", settings.port));
    out.say(format_args!(
        "Receive folder:  {} (the service's; `ringway recv` takes its own)",
        for_terminal(&settings.receive_folder)
    ));
    let limit = settings.send_limit.map_or_else(|| "none".to_owned(), |limit| rate(limit.bytes_per_s() as f64));
    out.say(format_args!("Limit:           {limit} (of each transfer that is sent from here)"));
    let announced = if settings.announce { "on this network, while it receives" } else { "no" };
    out.say(format_args!("Announced:       {announced}"));
    let stays = if settings.background { "the service goes on" } else { "the service that it started ends with it" };
    out.say(format_args!("Window closed:   {stays}"));
    out.say(format_args!("Start at login:  {starts_words}"));
    Ok(Exit::All)
}

/// Changes it where that is asked for, corrects an entry that names a program which has gone, and says how it is: for programs and
/// for people.
fn start_at_login(wanted: Option<SwitchArg>) -> Result<(&'static str, String)> {
    let login = Login::from_env();
    if let Some(wanted) = wanted {
        login.set(wanted == SwitchArg::On)?;
    }
    // Where it cannot be repaired, the state says so.
    let repaired = login.repair().unwrap_or_default();
    let also = repaired.map_or_else(String::new, |gone| format!("; it named {}, which has gone", for_terminal(gone)));
    Ok(match login.state()? {
        StartAtLogin::Off => ("off", "no".to_owned()),
        StartAtLogin::Autostart => ("autostart", format!("yes, by the desktop's autostart{also}")),
        StartAtLogin::Unit => ("unit", "yes, by systemd (`systemctl --user status ringway`)".to_owned()),
        StartAtLogin::Vanished { program } => {
            ("vanished", format!("no: its autostart entry names {}, which has gone", for_terminal(program)))
        }
    })
}
