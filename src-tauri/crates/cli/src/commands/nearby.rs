//! Receivers on the local network: `ringway devices --nearby`, and the target of `ringway send` if
//! only the code is given.
use std::time::Duration;

use anyhow::Result;
use ringway_engine::{Announced, Engine, GivenSecret, Target};
use ringway_model::{Fault, NearbyDevice, NotFoundKind, sentences};
use tokio::time::{Instant, timeout_at};

use crate::json::{self, Event};
use crate::output::Output;
use crate::refusal::Refusal;
use crate::text::{for_terminal, table};
use crate::words::Words;

/// How long is listened for a list: mDNS asks at once, after one second and after three (RFC 6762
/// section 5.2).
const LIST_TIME: Duration = Duration::from_millis(3_500);

/// How long is looked for who shows a code: a person has just read it there.
const FIND_TIME: Duration = Duration::from_secs(8);

/// Lists who announces itself.
pub(crate) async fn list(engine: &Engine, out: &Output) -> Result<()> {
    let mut nearby = engine.nearby()?;
    let until = Instant::now() + LIST_TIME;
    while let Ok(true) = timeout_at(until, nearby.changed()).await {}
    let devices: Vec<_> = nearby.devices().into_iter().map(|announced| announced.device).collect();
    for device in &devices {
        out.event(&Event::Nearby(device));
    }
    if devices.is_empty() {
        out.say("No receiver announces itself on this network. `ringway recv` does while it runs; a firewall that drops UDP port 5353 keeps it unheard.");
        return Ok(());
    }
    let heading = ["NAME", "KIND", "CODE", "ADDRESS", "ID", "PAIRED AS"].map(str::to_owned);
    for line in table(std::iter::once(heading).chain(devices.iter().map(row)).collect()) {
        out.say(line);
    }
    Ok(())
}

fn row(device: &NearbyDevice) -> [String; 6] {
    [
        for_terminal(&device.name),
        json::name_of(device.kind),
        device.code_number.map(|number| format!("{number}-...")).unwrap_or_default(),
        device.addresses.first().map(ToString::to_string).unwrap_or_default(),
        grouped(&device.id_begins),
        device.paired_as.as_ref().map(for_terminal).unwrap_or_default(),
    ]
}

/// As people compare them: groups of four digits.
fn grouped(hex: &str) -> String {
    hex.as_bytes().chunks(4).map(String::from_utf8_lossy).collect::<Vec<_>>().join("-")
}

/// The command names no target, and has no code to find a receiver by.
pub(crate) fn no_target() -> Refusal {
    Refusal::usage("No target was given.")
        .advise("Add a device name or an address as the last argument, or a code to find the receiver by. For example: ringway send FOLDER lab-ws, or ringway send FOLDER --code-file FILE.")
}

/// The receiver that shows the code.
pub(crate) async fn by_code(engine: &Engine, given: &GivenSecret, out: &Output) -> Result<Target> {
    let GivenSecret::Code(code) = given else {
        let refusal = Refusal::usage("A receiver can be found by a code, but not by a standing secret.");
        return Err(refusal.advise("Add the receiver's address: ringway send FOLDER ADDRESS.").into());
    };
    let number = code.number();
    out.say(format_args!("Looking for the receiver that shows {number}-..."));
    let found = engine.find_by_code(number, FIND_TIME).await?;
    let named = |Announced { device, .. }: &Announced| {
        let address = device.addresses.first().map(ToString::to_string).unwrap_or_default();
        format!("{} ({address})", for_terminal(&device.name))
    };
    let [found] = &found[..] else {
        if found.is_empty() {
            return Err(Fault::not_found(NotFoundKind::Receiver, number.to_string()).into());
        }
        let several: Vec<String> = found.iter().map(named).collect();
        let Words { what, next } = sentences::code_ambiguous(number, &several.join(", ")).into();
        return Err(Refusal::failed(what).advise(next.unwrap_or_default()).into());
    };
    let Some(target) = found.target().await else {
        let what = format!("{} announces itself, and cannot be reached.", named(found));
        return Err(Refusal::failed(what)
            .advise("Look whether a firewall is in between: `ringway doctor` there.")
            .into());
    };
    out.say(format_args!("Found {} at {}.", for_terminal(&found.device.name), engine.label(&target)));
    Ok(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_shown_as_that_of_a_paired_device() {
        assert_eq!(grouped("0123456789abcdef"), "0123-4567-89ab-cdef");
    }
}
