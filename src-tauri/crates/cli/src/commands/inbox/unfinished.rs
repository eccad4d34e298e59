//! `ringway inbox unfinished` and `ringway inbox discard`: what transfers that did not end keep
//! hidden in the folders they were received into.
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Result;
use ringway_engine::Engine;
use ringway_model::{Fault, NotFoundKind, Unfinished};

use crate::args::DiscardArgs;
use crate::exit::Exit;
use crate::json::Event;
use crate::output::Output;
use crate::text::{ago, and_more, bytes, count, counted, for_terminal, table};

/// Lists what is there.
pub(crate) fn list(engine: &Engine, out: &Output, folders: &[PathBuf]) -> Result<()> {
    let found = find(engine, out, folders)?;
    for left in &found {
        out.event(&Event::Unfinished(left));
    }
    if found.is_empty() {
        out.say("No unfinished transfer keeps anything.");
        return Ok(());
    }
    let now = SystemTime::now();
    let heading = ["ID", "FROM", "WHAT", "FILES", "ON DISK", "LAST AT WORK", "FOLDER"].map(str::to_owned);
    let rows = found.iter().map(|left| {
        [
            left.id.clone(),
            left.from.as_ref().map(for_terminal).unwrap_or_default(),
            names(left),
            count(left.files),
            bytes(left.disk_bytes),
            if left.in_use { "now".to_owned() } else { ago(left.last_at_work, now) },
            for_terminal(&left.folder),
        ]
    });
    table(std::iter::once(heading).chain(rows).collect()).into_iter().for_each(|line| out.say(line));
    out.say("The same send or get again goes on with it. `ringway inbox discard ID` or `--all` removes it; what nobody goes on with for a week is removed by the");
    out.say("next transfer into that folder.");
    Ok(())
}

/// Removes it.
pub(crate) fn discard(engine: &Engine, out: &Output, args: &DiscardArgs) -> Result<Exit> {
    let found = find(engine, out, &args.folders)?;
    if let Some(id) = args.ids.iter().find(|id| !found.iter().any(|left| left.id == **id)) {
        return Err(Fault::not_found(NotFoundKind::Unfinished, id.to_string()).into());
    }
    let (mut removed, mut freed, mut busy) = (0_u64, 0, 0_u64);
    for left in found.iter().filter(|left| args.all || args.ids.contains(&left.id)) {
        if left.in_use || !engine.discard_unfinished(left)? {
            busy += 1;
            out.say(format_args!("{} is at work in {}: it stays.", named(left), for_terminal(&left.folder)));
            continue;
        }
        removed += 1;
        freed += left.disk_bytes;
        out.event(&Event::Discarded { id: &left.id, disk_bytes: left.disk_bytes });
    }
    out.say(match removed {
        0 => "Nothing was removed.".to_owned(),
        removed => format!("What {} had left is removed: {}.", counted(removed, "unfinished transfer"), bytes(freed)),
    });
    // With --all, what runs was not meant.
    Ok(if busy > 0 && !args.all { Exit::Failed } else { Exit::All })
}

fn find(engine: &Engine, out: &Output, folders: &[PathBuf]) -> Result<Vec<Unfinished>> {
    if folders.is_empty() {
        let found = engine.unfinished()?;
        found.unanswered.iter().for_each(|folder| out.warn(not_answering(folder)));
        return Ok(found.left);
    }
    let mut found = Vec::new();
    for folder in folders {
        found.extend(engine.unfinished_in(folder)?);
    }
    Ok(found)
}

/// What is said of a folder in which nothing can be looked for.
pub(in crate::commands) fn not_answering(folder: &Path) -> String {
    format!("The filesystem of {} does not answer: what is kept there is not known.", for_terminal(folder))
}

/// What is sent, as far as that is known.
fn names(left: &Unfinished) -> String {
    let Some((first, others)) = left.names.split_first() else { return String::new() };
    and_more(for_terminal(first), others.len() as u64 + left.more_names)
}

fn named(left: &Unfinished) -> String {
    match names(left) {
        names if names.is_empty() => format!("A transfer ({})", left.id),
        names => format!("{names} ({})", left.id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_is_called_by_what_it_brings_and_no_name_plays_tricks() {
        let left = Unfinished {
            folder: "/in".into(),
            id: "0123456789abcdef".into(),
            from: None,
            names: vec!["da\x1bta".into(), "b".into()],
            more_names: 2,
            files: 0,
            disk_bytes: 0,
            last_at_work: SystemTime::UNIX_EPOCH,
            in_use: false,
        };
        assert_eq!(named(&left), "da\\u{1b}ta and 3 more (0123456789abcdef)");
        assert_eq!(named(&Unfinished { names: Vec::new(), ..left }), "A transfer (0123456789abcdef)");
    }
}
