//! `ringway notes`: the notes that other devices have sent.
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};
use ringway_engine::Engine;
use ringway_model::{Fault, NotFoundKind, Note, NoteText};

use crate::args::{NotesAction, NotesArgs};
use crate::exit::Exit;
use crate::json::Event;
use crate::output::Output;
use crate::text::{ago, bytes, counted, for_terminal, table};
use crate::words::note;

/// Lists them, shows one, or deletes some.
pub(crate) fn run(engine: &Engine, args: NotesArgs) -> Result<Exit> {
    let out = Output::from(args.report);
    match args.action {
        None => list(&engine.notes()?, &out),
        Some(NotesAction::Show { number }) => {
            let (note, text) = engine.note(number)?.ok_or_else(|| unknown(number))?;
            show(&note, &text, &out)?;
            // One that cannot be noted as read makes no room: no reason not to show it.
            let _ = engine.read_note(number);
        }
        Some(NotesAction::Forget { number }) => {
            if !engine.forget_note(number)? {
                return Err(unknown(number).into());
            }
            out.event(&Event::NotesForgotten { notes: 1 });
            out.say(format_args!("Note {number} is deleted."));
        }
        Some(NotesAction::Clear { read }) => {
            // What arrived within this very second is meant as well.
            let forgotten = engine.forget_notes_before(SystemTime::now() + Duration::from_secs(1), !read)?;
            out.event(&Event::NotesForgotten { notes: forgotten });
            out.say(format_args!("{} deleted.", counted(forgotten, "note")));
        }
    }
    Ok(Exit::All)
}

fn unknown(number: u64) -> Fault {
    Fault::not_found(NotFoundKind::Note, number.to_string())
}

fn list(notes: &[Note], out: &Output) {
    notes.iter().for_each(|note| out.event(&Event::Note(note)));
    if notes.is_empty() {
        out.say("No notes are here.");
        return;
    }
    let now = SystemTime::now();
    let heading = ["NO", "WHEN", "FROM", "", "SIZE", "FIRST LINE"].map(str::to_owned);
    let rows = notes.iter().map(|note| {
        [
            note.number.to_string(),
            ago(note.received_at, now),
            for_terminal(&note.from),
            if note.is_read { String::new() } else { "unread".to_owned() },
            bytes(note.bytes),
            first_line(note),
        ]
    });
    table(std::iter::once(heading).chain(rows).collect()).into_iter().for_each(|line| out.say(line));
}

/// The first line, and a sign that there is more.
pub(crate) fn first_line(note: &Note) -> String {
    format!("{}{}", note.first_line, if note.has_more { " …" } else { "" })
}

fn show(note: &Note, text: &NoteText, out: &Output) -> Result<()> {
    if out.is_json() {
        out.event(&Event::NoteText { note, text });
        return Ok(());
    }
    if !io::stdout().is_terminal() {
        let mut output = io::stdout().lock();
        return match output.write_all(text.exact().as_bytes()).and_then(|()| output.flush()) {
            // Its reader has seen what it wanted.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written.context("standard output"),
        };
    }
    out.say(format_args!("From {}, {}:", for_terminal(&note.from), ago(note.received_at, SystemTime::now())));
    let (lines, is_whole) = note::shown(text);
    out.say(lines);
    if !is_whole {
        out.say(format_args!("There is more: `ringway notes show {} > FILE` writes all of it.", note.number));
    }
    Ok(())
}
