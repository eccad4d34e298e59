//! `ringway send --text`: a note from standard input.
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use anyhow::{Context as _, Result};
use ringway_engine::{Engine, NoteOutage, NoteRequest, NoteWaits};
use ringway_model::{AuthError, Device, Direction, Fault, NotANote, NoteText, Side, sentences};
use tokio::sync::oneshot;

use super::contact::{Contact, Next};
use super::{find, target};
use crate::args::SendArgs;
use crate::ask::{code_source, prompt};
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::json::{self, Event};
use crate::output::Output;
use crate::refusal::Refusal;
use crate::text::{bytes, count, for_terminal};
use crate::words::{self, Words};

/// Reads a note and sends it.
pub(super) async fn run(engine: &Engine, args: SendArgs, interrupts: &Interrupts) -> Result<Exit> {
    let out = Output::from(args.reporting);
    let to = match &args.words[..] {
        [] => None,
        [typed] => match target(engine, typed, &out)? {
            (to, None) => Some(to),
            (_, Some(_)) => {
                return Err(Refusal::usage("A drop box takes no notes: name the device alone.").into());
            }
        },
        _ => {
            let refusal = Refusal::usage("--text sends what is on standard input: only the target is named.");
            return Err(refusal.advise("For example: echo hello | ringway send --text lab-ws.").into());
        }
    };
    if args.code.code_file.as_deref() == Some(Path::new("-")) {
        return Err(Refusal::usage("Standard input has the note: the code comes from a file or RINGWAY_CODE.").into());
    }
    let given = code_source::given(args.code.code_file.as_deref(), |warning| out.warn(warning))?;
    // Before anybody is dialled, and before anything else is read from there.
    let Some(text) = read(&out, interrupts).await? else { return Ok(interrupts.exit()) };
    let may_ask = given.is_none() && !out.is_json() && prompt::is_possible();
    let mut lines = None;
    let (to, given) = match to {
        Some(to) => (to, given),
        None => match find(engine, given, may_ask, &mut lines, &out, interrupts).await? {
            Some((to, given)) => (to, Some(given)),
            None if interrupts.is_asked() => return Ok(interrupts.exit()),
            None => return Ok(Exit::Failed),
        },
    };
    let mut contact = Contact::new(&out, interrupts, to, given, may_ask, lines);
    loop {
        let request = NoteRequest {
            target: contact.target.clone(),
            code: contact.secret.as_ref().map(ringway_engine::GivenSecret::to_pairing_secret),
            text: text.clone(),
            retry: args.moving.retry.time(),
        };
        let label = engine.label(&contact.target);
        let sent = tokio::select! {
            sent = engine.send_note(request, |waits| say_waits(&out, waits, &label)) => sent,
            () = interrupts.asked() => {
                out.warn("Stopped. The note may have arrived.");
                return Ok(interrupts.exit());
            }
        };
        match contact.after(auth_error(&sent)).await {
            Next::Again => continue,
            Next::Over(exit) => return Ok(exit),
            Next::Settled => {}
        }
        if let (Err(Fault::Unreachable { source, .. }), [typed]) = (&sent, &args.words[..])
            && source.errno.is_none()
            && Path::new(typed).is_dir()
        {
            let what = format!("{} is a folder here, and no device has that name.", for_terminal(typed));
            let refusal = Refusal::usage(what).advise("Send it without --text: ringway send FOLDER TARGET.");
            return Err(refusal.into());
        }
        return Ok(conclude(&sent, &text, &label, &out));
    }
}

fn conclude(sent: &Result<Device, Fault>, text: &NoteText, label: &str, out: &Output) -> Exit {
    match sent {
        Ok(device) => {
            let len = text.exact().len() as u64;
            out.event(&Event::NoteSent { peer_id: device.id, peer: (&*device.name).into(), bytes: len });
            out.say(format_args!("{} has the note: {}.", for_terminal(&device.name), bytes(len)));
            Exit::All
        }
        Err(fault) => {
            let words = words(fault, label);
            out.event(&json::error(fault, &words));
            out.fault(&words);
            fault.into()
        }
    }
}

/// Why a note is not known to be there. What a transfer keeps or resumes is not said of it.
fn words(fault: &Fault, label: &str) -> Words {
    match fault {
        Fault::ConnectionLost(source) => {
            words::error_of(&Fault::AnswerLost(source.clone()), Direction::Sending, false, Some(label))
                .and("The note may have arrived.")
        }
        Fault::FailedThere => Words::new(
            format!("{} could not keep the note.", for_terminal(label)),
            "`ringway doctor` there says whether its disk is full or cannot be written to. Then send the note again.",
        ),
        Fault::Cancelled { by: Side::There, .. } => {
            Words::new(format!("{} ended the connection.", for_terminal(label)), "Send the note again.")
        }
        fault => words::error_of(fault, Direction::Sending, false, Some(label)),
    }
}

fn say_waits(out: &Output, NoteWaits { why, wait }: NoteWaits, label: &str) {
    let label = for_terminal(label);
    let why = match why {
        NoteOutage::TooMany => format!("{label} takes no more notes for now"),
        NoteOutage::Outage(why) => {
            sentences::outage(why).map(|says| says.of_peer(Some(&label)).what()).unwrap_or_default()
        }
    };
    out.say(format_args!("{why}. Trying again in {} s.", wait.as_secs().max(1)));
}

fn auth_error(sent: &Result<Device, Fault>) -> Option<&AuthError> {
    match sent {
        Err(Fault::Auth(error)) => Some(error),
        _ => None,
    }
}

/// The note on standard input; none if a stop is asked for meanwhile.
async fn read(out: &Output, interrupts: &Interrupts) -> Result<Option<NoteText>> {
    if io::stdin().is_terminal() && !out.is_json() {
        eprintln!("Type the note. Ctrl-D at the beginning of a line ends it.");
    }
    let (tell, read) = oneshot::channel();
    // A read from a terminal cannot be called off: the thread ends with the process.
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let input = io::stdin().lock();
        let read = input.take(NoteText::LEN_MAX as u64 + 1).read_to_end(&mut text);
        // Nobody waits any more where a stop was asked for.
        let _ = tell.send(read.map(|_| text));
    });
    tokio::select! {
        text = read => match text.context("standard input")? {
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => Err(a_folder().into()),
            text => Ok(Some(checked(text.context("standard input")?)?)),
        },
        () = interrupts.asked() => Ok(None),
    }
}

fn a_folder() -> Refusal {
    Refusal::usage("Standard input is a folder, and a note is text.")
        .advise("Send the folder itself: ringway send FOLDER TARGET.")
}

fn checked(text: Vec<u8>) -> Result<NoteText, Refusal> {
    NoteText::from_bytes(text).map_err(|why| match why {
        NotANote::Empty => Refusal::usage("There is no note: standard input is empty."),
        NotANote::TooLong => {
            Refusal::usage(format!("The note is longer than {} bytes.", count(NoteText::LEN_MAX as u64)))
                .advise("Send it as a file: ringway send FILE TARGET.")
        }
        NotANote::NotText => {
            Refusal::usage("The note is not text in UTF-8.").advise("Send it as a file: ringway send FILE TARGET.")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_note_is_wrong_usage() {
        for bad in [Vec::new(), vec![b'a'; NoteText::LEN_MAX + 1], vec![0xff]] {
            assert_eq!(checked(bad).unwrap_err().exit, Exit::Usage);
        }
        assert_eq!(checked(b"hi\n".to_vec()).unwrap().exact(), "hi\n");
    }
}
