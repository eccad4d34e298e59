//! `ringway send`: checks what is to be sent, and sends it, asking for the code where one is
//! needed.
mod contact;
mod note;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use ringway_engine::{
    Address, Engine, GivenSecret, LastStarted, PathInShare, Reference, Resend, SendRequest, Target, Transfer,
    TransferOptions,
};
use ringway_model::{AuthError, Direction, FailureReason, Fault, Operation, Outcome, Report, Selection, Side, Source};

use crate::args::{self, LimitArg, SelectionSources, SendArgs};
use crate::ask::code_source;
use crate::ask::prompt::{self, Lines};
use crate::commands::{nearby, planned, selected};
use crate::exit::{Exit, OrExit};
use crate::interrupt::Interrupts;
use crate::output::Output;
use crate::refusal::Refusal;
use crate::text::for_terminal;
use crate::words::{Words, advised};
use crate::{progress, words};
use contact::{Contact, Next};

/// Sends.
pub(crate) async fn run(engine: &Engine, args: SendArgs, interrupts: &Interrupts) -> Result<Exit> {
    if args.text {
        return note::run(engine, args, interrupts).await;
    }
    let out = Output::from(args.reporting);
    args.selection.check_beside(args.code.code_file.as_deref())?;
    let asked = match args.again {
        Some(number) => again(engine, number, &args, &out, interrupts).await?,
        None => named(engine, &args, &out, interrupts).await?,
    };
    let asked = match asked {
        Ok(asked) => asked,
        Err(exit) => return Ok(exit),
    };
    check(&asked.sources)?;
    if args.dry_run {
        return plan(asked.sources, asked.selection, &args, interrupts).await;
    }
    let Asked { sources, failed_before, selection, target, in_share, verify } = asked;
    if let Err(error) = engine.check_store_writable() {
        out.warn(words::error(&error).what);
        out.advise("It is sent all the same to a device that is known, and the history will not have it. `ringway doctor` says more.");
    }
    let given = code_source::given(args.code.code_file.as_deref(), |warning| out.warn(warning))?;
    let may_ask = given.is_none() && !out.is_json() && prompt::is_possible();
    let mut lines = None;
    let (target, given) = match target {
        Some(target) => (target, given),
        None => match find(engine, given, may_ask, &mut lines, &out, interrupts).await? {
            Some((target, given)) => (target, Some(given)),
            None if interrupts.is_asked() => return Ok(interrupts.exit()),
            None => return Ok(Exit::Failed),
        },
    };
    let contact = Contact::new(&out, interrupts, target, given, may_ask, lines);
    let sending = Sending { engine, args: &args, sources, failed_before, selection, in_share, verify, contact };
    sending.until_settled().await
}

/// The paths to send, and the target. Without a target, the code finds the receiver.
struct Asked {
    sources: Vec<Source>,
    /// What failed of it before.
    failed_before: Vec<PathBuf>,
    selection: Selection,
    target: Option<Target>,
    /// The place in a drop box there where it is to land.
    in_share: Option<PathInShare>,
    verify: bool,
}

/// Prints what would be sent, without an identity: nobody is asked for anything.
pub(crate) async fn dry_run(args: &SendArgs, interrupts: &Interrupts) -> Result<Exit> {
    let (paths, _) = args.sources_and_target();
    let sources: Vec<_> = paths.iter().map(|path| args::source(path)).collect();
    check(&sources)?;
    let out = Output::from(args.reporting);
    let from = SelectionSources::Here(paths);
    match selected::read(&args.selection, from, Vec::new(), "send", &out, interrupts).await? {
        Ok(selection) => plan(sources, selection, args, interrupts).await,
        Err(exit) => Ok(exit),
    }
}

async fn plan(sources: Vec<Source>, selection: Selection, args: &SendArgs, interrupts: &Interrupts) -> Result<Exit> {
    let start = |planned| ringway_engine::dry_run::start(sources, selection, planned);
    Ok(planned::tell(start, args.reporting, &args.selection, interrupts).await)
}

/// What the command line names. This is where a target's text is read; below it is a device or an
/// address. An exit if a stop is asked for meanwhile, or nothing is listed.
async fn named(engine: &Engine, args: &SendArgs, out: &Output, interrupts: &Interrupts) -> Result<OrExit<Asked>> {
    let (paths, typed) = args.sources_and_target();
    let sources = paths.iter().map(|path| args::source(path)).collect();
    let from = SelectionSources::Here(paths);
    let selection = match selected::read(&args.selection, from, Vec::new(), "send", out, interrupts).await? {
        Ok(selection) => selection,
        Err(exit) => return Ok(Err(exit)),
    };
    let (target, in_share) = match typed {
        Some(typed) => {
            let (target, in_share) = target(engine, typed, out)?;
            (Some(target), in_share)
        }
        None => (None, None),
    };
    Ok(Ok(Asked { sources, failed_before: Vec::new(), selection, target, in_share, verify: args.moving.verify }))
}

fn target(engine: &Engine, typed: &OsStr, out: &Output) -> Result<(Target, Option<PathInShare>)> {
    let Reference { device, inside } = reference(typed)?;
    let resolved = engine.resolve(&device);
    if resolved.is_err() && Path::new(typed).exists() {
        let name = for_terminal(typed);
        out.warn(format_args!("{name} is here on this machine; did you leave out the target, which comes last?"));
    }
    Ok((resolved?, inside))
}

/// The device that is meant, and the place in a drop box of it if one is named.
fn reference(target: &OsStr) -> Result<Reference> {
    let name = for_terminal(target);
    let is_path = |device: &str| device.contains('/');
    let refused = || {
        Refusal::usage(format!("{name} is no target: the last argument names the receiver, not what is sent.")).advise(
            "For example: ringway send FOLDER lab-ws, or ringway send FOLDER 192.168.1.20. Inside this machine, `ringway copy` copies.",
        )
    };
    match Reference::parse(target) {
        Ok(reference) if is_path(&reference.device) => Err(refused().into()),
        Ok(reference) => Ok(reference),
        Err(_) if target.to_str().is_some_and(|text| text.split(':').next().is_some_and(is_path)) => {
            Err(refused().into())
        }
        Err(_) if target.to_str().is_none() && !target.as_encoded_bytes().contains(&b':') => {
            Err(Refusal::usage(format!("{name} is no target: it is not even text.")).into())
        }
        Err(error) => Err(error.into()),
    }
}

/// Why nobody can say what was sent last.
fn still_runs() -> Refusal {
    Refusal::usage("Something is still being sent: which send is to be repeated is not clear.").advise(
        "Wait until that has ended, or name the send by its number (--again NUMBER): `ringway inbox --sent` lists them.",
    )
}

/// What was sent before, to the same device, wherever that is now, and without what was left out
/// then. The patterns of now stand behind those of then. An exit as for [`named`].
async fn again(
    engine: &Engine,
    number: Option<u64>,
    args: &SendArgs,
    out: &Output,
    interrupts: &Interrupts,
) -> Result<OrExit<Asked>> {
    let is_last = number.is_none();
    let number = match number {
        Some(number) => number,
        None => match engine.last_sent()? {
            LastStarted::Ended(sent) => sent.past.number,
            LastStarted::Runs => return Err(still_runs().into()),
            LastStarted::Nothing => {
                return Err(Refusal::usage("Nothing was sent yet.")
                    .advise("Name what to send, and the device.")
                    .into());
            }
        },
    };
    let sent = engine.past_transfer(number)?;
    let (sent, details) = sent.filter(|(found, _)| found.past.direction == Direction::Sending).ok_or_else(|| {
        if is_last {
            // Another command has begun to send it again.
            return still_runs();
        }
        Refusal::usage(format!("Nothing that was sent has the number {number}."))
            .advise("`ringway inbox --sent` lists what was.")
    })?;
    if sent.past.started_by() == Side::There {
        let what = format!("Number {number} was not sent from here: the other device got it from a shared folder.");
        return Err(Refusal::usage(what).advise("It can get the same again there. To send it, name it anew.").into());
    }
    let target = engine.target_of(&sent)?;
    let is_whole = sent.past.paths.len() as u64 == sent.past.more_names.saturating_add(1);
    let not_remembered = || match is_whole {
        true => Words::new(
            format!("Number {number} was sent by more patterns than are remembered."),
            "Name the folder anew, with its patterns.",
        ),
        false => Words::only(format!("Of number {number} more was sent at once than is remembered: name it anew.")),
    };
    let resend = sent.resend.ok_or_else(|| Refusal::of(Fault::TooManySent, not_remembered()))?;
    if resend.by_list && args.selection.list().is_none() {
        let refusal =
            Refusal::usage(format!("Number {number} was sent by a list (--files-from), which is not remembered."));
        return Err(refusal.advise(format!("Give the list again: {}", advised::send_again_by_list(number))).into());
    }
    // What cannot be sent may be removed: that mends it.
    let missed = details.failures.into_iter().filter(|failure| failure.reason != FailureReason::SpecialFile);
    let failed_before = missed.map(|failure| failure.path.0).collect();
    let paths: Vec<_> = resend.sources.iter().map(|source| source.path.clone()).collect();
    let remembered = resend.selection.patterns.clone();
    let from = SelectionSources::Here(paths);
    let selection = match selected::read(&args.selection, from, remembered, "send", out, interrupts).await? {
        Ok(selection) => selection,
        Err(exit) => return Ok(Err(exit)),
    };
    let Resend { sources, in_share, verify, .. } = resend;
    Ok(Ok(Asked { sources, failed_before, selection, target: Some(target), in_share, verify }))
}

/// Looks before the first byte: a missing source would otherwise be found after a person at the
/// other end has said yes.
fn check(sources: &[Source]) -> Result<(), Refusal> {
    for source in sources {
        let name = for_terminal(&source.path);
        let metadata = fs::symlink_metadata(&source.path)
            .map_err(|error| Fault::path(source.path.clone(), Operation::Open, error))?;
        // What a symlink points to counts only where its contents are asked for.
        if source.contents_only && !fs::metadata(&source.path).is_ok_and(|metadata| metadata.is_dir()) {
            return Err(Refusal::usage(format!("{name} is not a folder: leave out the slash at its end.")));
        }
        if !metadata.is_dir() && !metadata.is_file() && !metadata.is_symlink() {
            return Err(Refusal::failed(format!("{name} cannot be sent: it is a socket, FIFO or device.")));
        }
    }
    Ok(())
}

/// Finds the receiver that shows the code, which is asked for where it was not given; none if
/// somebody stops it.
async fn find(
    engine: &Engine,
    given: Option<GivenSecret>,
    may_ask: bool,
    lines: &mut Option<Lines>,
    out: &Output,
    interrupts: &Interrupts,
) -> Result<Option<(Target, GivenSecret)>> {
    let given = match given {
        Some(given) => given,
        None if may_ask => {
            let asked = tokio::select! {
                given = ask_for_code(lines.get_or_insert_with(Lines::start)) => given,
                () = interrupts.asked() => None,
            };
            match asked {
                Some(given) => given,
                None => return Ok(None),
            }
        }
        None => return Err(nearby::no_target().into()),
    };
    tokio::select! {
        found = nearby::by_code(engine, &given, out) => Ok(Some((found?, given))),
        () = interrupts.asked() => Ok(None),
    }
}

struct Sending<'a> {
    engine: &'a Engine,
    args: &'a SendArgs,
    sources: Vec<Source>,
    failed_before: Vec<PathBuf>,
    selection: Selection,
    in_share: Option<PathInShare>,
    verify: bool,
    contact: Contact<'a>,
}

impl Sending<'_> {
    /// Tries until it went through, or until neither a code nor patience helps.
    async fn until_settled(mut self) -> Result<Exit> {
        loop {
            let (transfer, report) = self.once().await;
            match self.contact.after(auth_error(&report)).await {
                Next::Again => continue,
                Next::Over(exit) => return Ok(exit),
                Next::Settled => {}
            }
            let out = self.contact.out;
            progress::conclude(&transfer, &report, out);
            self.args.selection.step_after(&report.failures).into_iter().for_each(|next| out.advise(next));
            let not_found = matches!(&report.outcome, Outcome::Failed(Fault::Unreachable { .. }));
            if let Target::Address(Address::Host(host, _)) = &self.contact.target
                && not_found
                && Path::new(host).exists()
            {
                let name = for_terminal(host);
                out.warn(format_args!(
                    "{name} is here on this machine; did you leave out the target, which comes last?"
                ));
            }
            return Ok((&*report).into());
        }
    }

    async fn once(&self) -> (Transfer, Arc<Report>) {
        let moving = &self.args.moving;
        let transfer = self.engine.send(SendRequest {
            sources: self.sources.clone(),
            failed_before: self.failed_before.clone(),
            target: self.contact.target.clone(),
            in_share: self.in_share.clone(),
            options: TransferOptions {
                selection: self.selection.clone(),
                code: self.contact.secret.as_ref().map(GivenSecret::to_pairing_secret),
                limit: moving.limit.map_or(self.engine.settings().send_limit, LimitArg::limit),
                verify: self.verify || moving.verify,
                ..moving.options(&self.args.paths)
            },
        });
        let report = progress::follow(&transfer, self.contact.out, self.contact.interrupts).await;
        (transfer, report)
    }
}

fn auth_error(report: &Report) -> Option<&AuthError> {
    match &report.outcome {
        Outcome::Failed(Fault::Auth(error)) => Some(error),
        _ => None,
    }
}

/// Asks until what is typed could be a code: a slip of the finger costs no try. None at the end of
/// input.
///
/// What is typed is shown: a code is worthless once used, and typing it right matters more. A
/// standing secret is not: ENTER alone leads to a question whose answer stays unseen.
pub(crate) async fn ask_for_code(lines: &mut Lines) -> Option<GivenSecret> {
    loop {
        let mut typed = lines.ask("Code (ENTER alone to type a standing secret unseen): ").await?;
        if typed.trim().is_empty() {
            typed = lines.ask_unseen("Standing secret: ").await?;
        }
        match GivenSecret::parse(typed.as_bytes()) {
            Ok(given) => return Some(given),
            Err(error) => {
                let words = words::secret(error);
                eprintln!("{} {}", words.what, words.next.unwrap_or_default());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(path: &Path) -> Result<(), Refusal> {
        check(&[args::source(path)])
    }

    #[test]
    fn sources_are_looked_at_before_anything_is_sent() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "x").unwrap();
        assert_eq!(checked(folder.path()), Ok(()));
        assert_eq!(checked(&folder.path().join("")), Ok(()));
        assert_eq!(checked(&file), Ok(()));
        let refusal = checked(&folder.path().join("not there")).unwrap_err();
        assert_eq!(refusal.exit, Exit::Failed);
        assert!(refusal.what.contains("not there"), "{}", refusal.what);
        assert_eq!(checked(&file.join("")).unwrap_err().exit, Exit::Failed);
        let link = folder.path().join("dangling");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        assert_eq!(checked(&link), Ok(()));
        let socket = folder.path().join("socket");
        let _listening = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert_eq!(checked(&socket).unwrap_err().exit, Exit::Failed);
    }

    #[test]
    fn a_path_in_the_targets_place_is_wrong_usage() {
        for path in ["some/folder", "/some/folder", "../x", "a/b:c", "./a:b"] {
            let error = reference(OsStr::new(path)).unwrap_err();
            let refusal = error.downcast_ref::<Refusal>().expect("a refusal");
            assert!(refusal.exit == Exit::Usage && refusal.next.is_some(), "{path}: {refusal}");
        }
    }

    #[test]
    fn a_target_may_name_a_place_in_a_drop_box() {
        let read = |typed: &str| {
            let Reference { device, inside } = reference(OsStr::new(typed)).unwrap();
            (device, inside.map(|place| place.shown().to_string()))
        };
        assert_eq!(read("lab"), ("lab".to_owned(), None));
        assert_eq!(read("lab:4000"), ("lab:4000".to_owned(), None));
        assert_eq!(read("lab:inbox"), ("lab".to_owned(), Some("inbox".to_owned())));
        assert_eq!(read("10.0.0.7:4000:inbox/a/b/"), ("10.0.0.7:4000".to_owned(), Some("inbox/a/b".to_owned())));
        for bad in ["lab:inbox/..", "lab:/etc", "lab:inbox/../x"] {
            assert!(reference(OsStr::new(bad)).is_err(), "{bad}");
        }
    }
}
