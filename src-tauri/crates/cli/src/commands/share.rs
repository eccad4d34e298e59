//! `ringway share`: the folders that paired devices may read here.
use std::path::Path;

use anyhow::Result;
use ringway_engine::Engine;
use ringway_model::{Device, DeviceId, DropBox, Fault, Invalid, Share, ShareName, ShareTrouble, SharedWith, sentences};

use crate::args::{ShareAction, ShareArgs, SizeArg};
use crate::commands::devices::find;
use crate::exit::Exit;
use crate::json::Event;
use crate::output::Output;
use crate::refusal::Refusal;
use crate::text::{for_terminal, table};

/// Adds, lists or removes.
pub(crate) fn run(engine: &Engine, args: ShareArgs) -> Result<Exit> {
    let out = Output::from(args.report);
    match args.action.unwrap_or(ShareAction::List) {
        ShareAction::Add { folder, name, with, with_all, nobody, drop, no_drop, max_size, allow_home } => {
            let name = name_of(&folder, name.as_deref())?;
            let is_same = |share: &Share| share.name.as_str().eq_ignore_ascii_case(name.as_str());
            let before = engine.shares()?.into_iter().find(is_same);
            let drop_before = before.as_ref().and_then(|share| share.drop);
            let drop_box = match drop_before.unwrap_or_default() {
                _ if no_drop => None,
                before if drop || drop_before.is_some() => {
                    Some(DropBox { bytes_max: max_size.map_or(before.bytes_max, |SizeArg(size)| size) })
                }
                _ if max_size.is_some() => {
                    return Err(Refusal::usage(format!("{} is no drop box.", for_terminal(name.as_str())))
                        .advise("--max-size goes with --drop.")
                        .into());
                }
                _ => None,
            };
            let with = match (with_all, before) {
                (true, _) => SharedWith::All,
                // Nothing is said about devices: those that may read it stay.
                (false, Some(before)) if with.is_empty() && !nobody => before.with,
                (false, _) => {
                    let ids = with.iter().map(|device| find(engine, device).map(|device| device.id));
                    SharedWith::Devices { devices: ids.collect::<Result<_>>()? }
                }
            };
            engine.share_as(&folder, &name, &with, drop_box, allow_home)?;
            let share = engine.shares()?.into_iter().find(|share| share.name == name);
            let share = share.ok_or(Fault::Invalid(Invalid::UnknownShare { name: name.as_str().into() }))?;
            out.event(&Event::Share(&share));
            let (name, folder) = (for_terminal(name.as_str()), for_terminal(&share.folder));
            let devices = engine.devices()?;
            match &share.with {
                SharedWith::Devices { devices } if devices.is_empty() => {
                    out.say(format_args!("{folder} is shared as {name}, with no device yet. Name devices with --with."))
                }
                with => out.say(format_args!("{folder} is shared as {name} with {}.", readers(with, &devices))),
            }
            if let Some(DropBox { bytes_max }) = share.drop {
                let size =
                    bytes_max.map_or_else(String::new, |size| format!(", up to {}", sentences::figures::bytes(size)));
                out.say(format_args!("It is a drop box: these devices may also send into it{size}, without asking."));
            }
        }
        ShareAction::List => list(engine, &out)?,
        ShareAction::Remove { name } => {
            let unknown = || Fault::Invalid(Invalid::UnknownShare { name: name.as_str().into() });
            let name = ShareName::new(&name).map_err(|_| unknown())?;
            engine.unshare(&name)?;
            out.event(&Event::Unshared { name: name.as_str() });
            out.say(format_args!("{} is shared no longer.", for_terminal(name.as_str())));
        }
    }
    Ok(Exit::All)
}

/// The name that was given, or the folder's own.
fn name_of(folder: &Path, given: Option<&str>) -> Result<ShareName> {
    if let Some(given) = given {
        return Ok(ShareName::new(given)?);
    }
    let absolute = std::path::absolute(folder)?;
    let own = absolute.file_name().and_then(|name| ShareName::new(name.to_str()?).ok());
    Ok(own.ok_or_else(|| {
        Refusal::usage(format!("{} has no name that a share may have.", for_terminal(folder)))
            .advise("Give one with --name.")
    })?)
}

fn list(engine: &Engine, out: &Output) -> Result<()> {
    let shares = engine.shares()?;
    shares.iter().for_each(|share| out.event(&Event::Share(share)));
    if shares.is_empty() {
        out.say("No folder is shared. `ringway share add FOLDER --with DEVICE` shares one.");
        return Ok(());
    }
    let devices = engine.devices()?;
    let rows = shares.iter().map(|Share { name, folder, with, drop, unavailable, drop_trouble }| {
        let drop = drop.map(|drop| match drop.bytes_max {
            None => "drop box".to_owned(),
            Some(size) => format!("drop box, up to {}", sentences::figures::bytes(size)),
        });
        let troubles = unavailable_for(*unavailable, *drop_trouble);
        let state = drop.into_iter().chain(troubles).collect::<Vec<_>>().join("; ");
        [for_terminal(name.as_str()), readers(with, &devices), for_terminal(folder), state]
    });
    let heading = ["NAME", "WITH", "FOLDER", ""].map(str::to_owned);
    table(std::iter::once(heading).chain(rows).collect()).into_iter().for_each(|line| out.say(line));
    Ok(())
}

/// Why a share cannot be read, and why nothing can be sent into it.
pub(crate) fn unavailable_for(
    reading: Option<ShareTrouble>,
    sending: Option<ShareTrouble>,
) -> impl Iterator<Item = String> {
    let reading = reading.map(|why| format!("unavailable: {}", sentences::share_trouble(why)));
    let sending = sending.map(|why| format!("unavailable for sending: {}", sentences::share_trouble(why)));
    reading.into_iter().chain(sending)
}

/// Who may read a share.
fn readers(with: &SharedWith, devices: &[Device]) -> String {
    let name = |id: &DeviceId| {
        let device = devices.iter().find(|device| device.id == *id);
        device.map_or_else(|| id.short(), |device| for_terminal(&device.name))
    };
    match with {
        SharedWith::All => "every paired device".to_owned(),
        SharedWith::Devices { devices } if devices.is_empty() => "no device".to_owned(),
        SharedWith::Devices { devices } => devices.iter().map(name).collect::<Vec<_>>().join(", "),
    }
}
