//! `ringway devices`: the devices that this machine knows.
use std::time::SystemTime;

use anyhow::Result;
use ringway_engine::Engine;
use ringway_model::{Consent, Device, Fault, NotFoundKind, Share};

use crate::args::destination::check_answers;
use crate::args::{DevicesAction, DevicesArgs, RuleArgs};
use crate::commands::nearby;
use crate::exit::Exit;
use crate::json::{self, Event};
use crate::output::Output;
use crate::text::{ago, for_terminal, table};
use crate::words::{self, rule};

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
            out.event(&Event::Renamed { id: device.id, old: &device.name, name: &new });
            out.say(format_args!("{} is now called {} here.", for_terminal(&device.name), for_terminal(&new)));
        }
        DevicesAction::Rule(args) => {
            let device = find(engine, &args.device)?;
            set_rule(engine, &device, &args, &out)?;
        }
        DevicesAction::Forget { device } => {
            let device = find(engine, &device)?;
            engine.forget_device(device.id)?;
            out.event(&Event::Forgotten { id: device.id, name: &device.name });
            out.say(format_args!(
                "{} is forgotten: it must pair again. Its notes are deleted.",
                for_terminal(&device.name)
            ));
        }
    }
    Ok(Exit::All)
}

pub(crate) fn find(engine: &Engine, text: &str) -> Result<Device> {
    Ok(engine.find_device(text)?.ok_or_else(|| Fault::not_found(NotFoundKind::Device, text))?)
}

fn list(engine: &Engine, out: &Output) -> Result<()> {
    let devices = engine.devices()?;
    let alike =
        devices.iter().map(|device| engine.look_alike(device.id, &device.name)).collect::<Result<Vec<_>, _>>()?;
    let shares = engine.shares()?;
    for (device, other) in devices.iter().zip(&alike) {
        out.event(&json::device(device, other.as_ref(), &shares));
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
            readable(device, &shares),
        ]
    });
    let heading = ["NAME", "ID", "PAIRED", "LAST SEEN", "LAST ADDRESS", "OFFERS", "MAY READ"].map(str::to_owned);
    for line in table(std::iter::once(heading).chain(rows).collect()) {
        out.say(line);
    }
    for (device, other) in devices.iter().zip(&alike) {
        if let Some(other) = other {
            out.say(words::looks_like(&device.name, device.id, other));
        }
    }
    Ok(())
}

/// The shares that are shared with a device, which of them it cannot read, and into which drop
/// boxes it cannot send.
fn readable(device: &Device, shares: &[Share]) -> String {
    let is_refused = device.rule.consent == Consent::Refuse;
    let one = |share: &Share| {
        let states = [
            (share.drop.is_some(), "drop box"),
            (share.unavailable.is_some(), "unavailable"),
            (share.drop_trouble.is_some(), "unavailable for sending"),
            (is_refused && share.drop.is_some(), "sending refused by its rule"),
        ];
        let states: Vec<_> = states.iter().filter_map(|(is, state)| is.then_some(*state)).collect();
        let name = for_terminal(share.name.as_str());
        if states.is_empty() { name } else { format!("{name} ({})", states.join(", ")) }
    };
    shares.iter().filter(|share| share.with.has(device.id)).map(one).collect::<Vec<_>>().join(", ")
}

/// Shows a device's rule, after changing what was asked for.
fn set_rule(engine: &Engine, device: &Device, args: &RuleArgs, out: &Output) -> Result<()> {
    if let Some(folder) = &args.into {
        check_answers(engine, folder)?;
    }
    let rule = args.changed(&device.rule)?;
    if rule != device.rule {
        engine.set_rule(device.id, &rule)?;
    }
    if let Some(folder) = rule.folder.as_ref().filter(|_| args.into.is_some()) {
        // Also where it is the one that the rule had.
        engine.choose_folder(folder);
    }
    out.event(&Event::Rule { id: device.id, name: &device.name, rule: &rule });
    out.say(format_args!("{}: {}.", for_terminal(&device.name), rule::sentence(&rule)));
    Ok(())
}
