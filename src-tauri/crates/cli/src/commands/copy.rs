//! `ringway copy`: checks what is to be copied, copies it inside this machine, and tells the
//! result. It needs no identity.
mod words;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use ringway_engine::{CopyRequest, Transfer};
use ringway_model::{Fault, Operation, Outcome, Report, Side, moment};

use crate::args::{CopyArgs, ReportingArgs, SelectionSources};
use crate::commands::planned::PlannedLines;
use crate::commands::selected;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::output::Output;
use crate::progress;
use crate::refusal::Refusal;
use crate::text::for_terminal;
use crate::words::{Words, advised, os};

/// Copies.
pub(crate) async fn run(args: CopyArgs, interrupts: &Interrupts) -> Result<Exit> {
    let reporting = ReportingArgs::from(args.said);
    let mut out = Output::from(reporting);
    if args.said.progress {
        out = out.steady();
    }
    if args.dry_run {
        out = out.without_bar();
    }
    let (sources, _) = args.places()?;
    let from = SelectionSources::Here(sources.to_vec());
    let selection = match selected::read(&args.selection, from, Vec::new(), "copy", &out, interrupts).await? {
        Ok(selection) => selection,
        Err(exit) => return Ok(exit),
    };
    let mut request = args.request(selection)?;
    look(&request, args.target_directory.is_some())?;
    request.options.count_ahead = out.is_watched() && !args.dry_run;
    let json = reporting.report.json;
    let lines = (args.dry_run && (json || !reporting.quiet)).then(|| Arc::new(PlannedLines::new(json)));
    if let Some(lines) = &lines {
        request.options.planned = Some(PlannedLines::observer(lines));
    }
    let (destination, was_folder) = (request.destination.clone(), request.destination.is_dir());
    let transfer = ringway_engine::copying::start(request);
    if let Some(lines) = &lines {
        lines.belong_to(transfer.id());
    }
    let report = match args.dry_run {
        true => progress::follow_dry_run(&transfer, &out, interrupts).await,
        false => progress::follow(&transfer, &out, interrupts).await,
    };
    if let Some(lines) = &lines {
        lines.flush();
    }
    let made = !was_folder && !args.no_target_directory && destination.is_dir();
    conclude(&transfer, &report, Destination { path: &destination, made }, &args, &out);
    Ok(match report.outcome {
        Outcome::Failed(Fault::Cancelled { by: Side::Here, .. }) => interrupts.exit(),
        _ => (&*report).into(),
    })
}

/// Looks before anything is made: what cannot work at all is said in one sentence, with what to do
/// instead.
fn look(request: &CopyRequest, into_folder: bool) -> Result<(), Refusal> {
    let missing = |path: &PathBuf| fs::symlink_metadata(path).err().map(|error| (path.clone(), error));
    let gone: Vec<(PathBuf, io::Error)> = request.sources.iter().filter_map(missing).collect();
    // Where some are there, those are copied, and the others are named.
    if let ([(path, error), ..], true) = (&*gone, gone.len() == request.sources.len()) {
        return Err(unusable(path, error));
    }
    let destination = &request.destination;
    let name = for_terminal(destination);
    match fs::metadata(destination) {
        Ok(found) if found.is_dir() => {
            let there = request.sources.iter().filter(|source| gone.iter().all(|(path, _)| path != *source));
            one_name(there, destination).map_or(Ok(()), Err)
        }
        Ok(_) if into_folder || request.sources.len() > 1 => {
            let words = Words::new(
                format!("{name} is not a folder, so nothing can be copied into it."),
                "The last path is the destination: name a folder there.",
            );
            Err(Refusal::of(Fault::path(destination.clone(), Operation::Open, io::ErrorKind::NotADirectory), words))
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            let next = match error.kind() {
                io::ErrorKind::PermissionDenied => {
                    "Check the permissions of the folders above it (ls -ld), or name another folder."
                }
                io::ErrorKind::NotADirectory => "A part of that path is a file: name a folder.",
                _ => "Name another folder.",
            };
            let fault = Fault::path(destination.clone(), Operation::Open, &error);
            Err(Refusal::of(fault, Words::new(format!("{name} cannot be copied to: {}.", os(&error.into())), next)))
        }
        Err(_) if into_folder || request.sources.len() > 1 => {
            let what = if into_folder { "" } else { ", and several sources need one to go into" };
            let words = Words::new(
                format!("There is no folder {name}{what}."),
                format!("Check the spelling, or make it first: {}", advised::make_folder(destination)),
            );
            Err(Refusal::of(Fault::path(destination.clone(), Operation::Open, io::ErrorKind::NotFound), words))
        }
        Err(_) => has_parent(destination),
    }
}

/// Two sources that would become one: the engine refuses them, too, but does not know how the
/// person called them.
fn one_name<'s>(sources: impl Iterator<Item = &'s PathBuf>, destination: &Path) -> Option<Refusal> {
    let mut met: HashMap<&OsStr, &PathBuf> = HashMap::new();
    for source in sources {
        let Some(name) = own_name(source) else { continue };
        let Some(other) = met.insert(name, source) else { continue };
        let (first, second) = (for_terminal(other), for_terminal(source));
        let copy = for_terminal(destination.join(name));
        let refusal = Refusal::usage(format!("{first} and {second} would both become {copy}."));
        return Some(match other == source {
            true => Refusal::usage(format!("{first} is given twice.")).advise("Give it once."),
            false => {
                refusal.advise("Rename one of them, or copy them one after the other, each into a folder of its own.")
            }
        });
    }
    None
}

/// The name that a source's copy has in a folder; none if its contents are meant, as with `.` at
/// the end.
fn own_name(source: &Path) -> Option<&OsStr> {
    let last = source.as_os_str().as_bytes().rsplit(|byte| *byte == b'/').find(|part| !part.is_empty())?;
    (last != b"." && last != b"..").then(|| OsStr::from_bytes(last))
}

fn unusable(path: &Path, error: &io::Error) -> Refusal {
    let name = for_terminal(path);
    let words = Words::only(format!("{name} cannot be copied: {}.", os(&error.into())));
    let refusal = Refusal::of(Fault::path(path, Operation::Open, error), words);
    match error.kind() {
        io::ErrorKind::NotFound => refusal.advise("Check the spelling."),
        io::ErrorKind::NotADirectory => {
            refusal.advise("A slash at its end asks for a folder: leave it out for a file.")
        }
        io::ErrorKind::PermissionDenied => refusal.advise("Check the permissions of the folders above it (ls -ld)."),
        _ => refusal,
    }
}

/// Only the last name of a destination is made, as cp has it.
fn has_parent(destination: &Path) -> Result<(), Refusal> {
    let Some(parent) = destination.parent().filter(|parent| !parent.as_os_str().is_empty()) else { return Ok(()) };
    if fs::metadata(parent).is_ok_and(|found| found.is_dir()) {
        return Ok(());
    }
    let (name, above) = (for_terminal(destination), for_terminal(parent));
    let words = Words::only(format!("{name} cannot be made: there is no folder {above}."));
    let refusal = Refusal::of(Fault::path(parent, Operation::Open, io::ErrorKind::NotFound), words);
    Err(match looks_remote(destination) {
        true => refusal.advise("`ringway copy` stays on this machine; to another one: ringway send FOLDER HOST"),
        false => refusal.advise(format!("Check the spelling, or make it first: {}", advised::make_folder(parent))),
    })
}

/// `host:path`, as scp and rsync have it.
fn looks_remote(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    let host = bytes.split(|byte| *byte == b':').next().unwrap_or_default();
    host.len() < bytes.len() && !host.is_empty() && !host.contains(&b'/')
}

/// What follows `ringway copy` on this process's command line, without what
/// [`advised::continue_copy`] adds.
fn words_of_this_command() -> Vec<OsString> {
    let mut words: Vec<OsString> = std::env::args_os().skip(1).skip_while(|word| word != "copy").skip(1).collect();
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let is_continue = |word: &OsString| word.as_bytes().starts_with(b"--continue");
    while let Some(at) = words[..end.min(words.len())].iter().position(is_continue) {
        let separate = words[at] == "--continue" && at + 1 < words.len();
        words.drain(at..=at + usize::from(separate));
    }
    words
}

/// Where a copy went.
struct Destination<'a> {
    path: &'a Path,
    /// The copy has made it.
    made: bool,
}

/// The last word, for people and for programs.
fn conclude(transfer: &Transfer, report: &Report, destination: Destination<'_>, args: &CopyArgs, out: &Output) {
    let began = report.copy.as_ref().and_then(|copy| copy.began).map(moment::exact);
    let words = (!args.selection.is_read_once()).then(words_of_this_command);
    let go_on = words::go_on(&report.failures, words.as_deref(), began.as_deref(), destination.made);
    let why = |fault: &Fault| words::error(fault, report, destination.path, &go_on, args.dry_run);
    let came_through = progress::tell_end(transfer, report, out, why, args.dry_run);
    words::advice(report, args).iter().for_each(|next| out.advise(next));
    args.selection.step_after(&report.failures).into_iter().for_each(|next| out.advise(next));
    if came_through {
        out.say(words::summary(&progress::title(transfer), report, args));
    }
    if let (Some(copy), true) = (&report.copy, out.is_verbose()) {
        words::choices(copy, args).iter().for_each(|line| out.detail(line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_engine::CopyOptions;

    fn looked(sources: &[&Path], destination: &Path) -> Result<(), Refusal> {
        let sources = sources.iter().map(|path| path.to_path_buf()).collect();
        look(&CopyRequest { sources, destination: destination.into(), options: CopyOptions::default() }, false)
    }

    #[test]
    fn what_cannot_work_is_refused_with_a_next_step() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "x").unwrap();
        fs::create_dir(at("dir")).unwrap();
        std::os::unix::fs::symlink("nowhere", at("dangling")).unwrap();
        let (file, dir, none) = (at("file"), at("dir"), at("none"));
        assert_eq!(looked(&[&file], &none), Ok(()));
        assert_eq!(looked(&[&file], &dir), Ok(()));
        assert_eq!(looked(&[&dir], Path::new("x")), Ok(()));
        assert_eq!(looked(&[&at("dangling")], &dir), Ok(()));
        assert_eq!(looked(&[&file, &none], &dir), Ok(()), "what is there is copied");
        for (sources, destination, said) in [
            (&[&*none][..], &*dir, "No such file"),
            (&[&none, &at("other")], &dir, "No such file"),
            (&[&file, &dir], &file, "not a folder"),
            (&[&file, &dir], &none, "several sources"),
            (&[&file], &at("none/deeper"), "there is no folder"),
            (&[&at("file/")], &dir, "Not a directory"),
            (&[&file], &at("file/deeper"), "cannot be copied to"),
        ] {
            let refusal = looked(sources, destination).expect_err(said);
            assert_eq!(refusal.exit, Exit::Failed);
            assert!(refusal.what.contains(said), "{}", refusal.what);
            assert!(refusal.next.is_some(), "{}", refusal.what);
        }
    }

    #[test]
    fn two_sources_of_one_name_are_named_both() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["a", "b", "into"] {
            fs::create_dir(at(name)).unwrap();
        }
        fs::write(at("a/x"), "1").unwrap();
        fs::write(at("b/x"), "2").unwrap();
        let both = looked(&[&at("a/x"), &at("b/x")], &at("into")).unwrap_err();
        assert_eq!(both.exit, Exit::Usage);
        for part in ["a/x and ", "b/x would both become ", "into/x."] {
            assert!(both.what.contains(part), "{part} in {}", both.what);
        }
        assert!(both.next.unwrap().contains("Rename one"));
        assert!(looked(&[&at("a"), &at("./a/")], &at("into")).unwrap_err().what.ends_with(" is given twice."));
        assert!(looked(&[&at("a"), &at("a")], &at("into")).unwrap_err().what.ends_with("a is given twice."));
        assert_eq!(looked(&[&at("a/."), &at("b/."), &at("a/..")], &at("into")), Ok(()), "contents go together");
        assert_eq!(
            looked(&[&at("a/x"), &at("none/x")], &at("into")),
            Ok(()),
            "what is not there is named when it is looked for"
        );
    }

    #[test]
    fn a_machine_s_name_in_front_of_a_path_is_told_from_a_path() {
        for (path, remote) in
            [("lab:/srv", true), ("ada@lab:x/y", true), ("/a:b", false), ("./lab:x/y", false), (":x", false)]
        {
            assert_eq!(looks_remote(Path::new(path)), remote, "{path}");
        }
        let folder = tempfile::tempdir().unwrap();
        let refusal = looked(&[folder.path()], Path::new("lab-of-nobody:/srv/in")).unwrap_err();
        assert!(refusal.next.unwrap().contains("ringway send"));
    }
}
