//! `ringway copy`: checks what is to be copied, copies it inside this machine, and says what came of it. It needs no identity.
mod args;
mod planned;
mod words;

pub(crate) use args::{COPY_HELP, COPY_USAGE, CopyArgs};

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use ringway_engine::{CopyRequest, Direction, Outcome, Report, Transfer};

use crate::args::ReportingArgs;
use crate::exit::{Exit, Refusal};
use crate::interrupt::Interrupts;
use crate::json;
use crate::output::Output;
use crate::progress;
use crate::text::for_terminal;
use crate::words::os;

use planned::PlannedLines;

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
    let mut request = args.request()?;
    look(&request, args.target_directory.is_some())?;
    request.options.count_ahead = out.is_watched() && !args.dry_run;
    let lines = (args.dry_run && !reporting.quiet).then(|| Arc::new(PlannedLines::new(reporting.report.json)));
    if let Some(lines) = &lines {
        request.options.planned = Some(PlannedLines::observer(lines));
    }
    let (destination, was_folder) = (request.destination.clone(), request.destination.is_dir());
    let transfer = ringway_engine::copy::start(request);
    if let Some(lines) = &lines {
        lines.belong_to(transfer.id());
    }
    let report = progress::follow(&transfer, &out, interrupts).await;
    if let Some(lines) = &lines {
        lines.flush();
    }
    let made = !was_folder && !args.no_target_directory && destination.is_dir();
    conclude(&transfer, &report, made, &args, &out);
    Ok((&*report).into())
}

/// Looks before anything is made: what cannot work at all is said in one sentence, with what to do instead.
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
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) if into_folder || request.sources.len() > 1 => {
            Err(Refusal::failed(format!("{name} is not a folder, so nothing can be copied into it."))
                .advise("The last path is the destination: name a folder there."))
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Refusal::failed(format!("{name} cannot be copied to: {}.", os(&error)))
                .advise("Check its permissions (ls -ld), or name another folder."))
        }
        Err(_) if into_folder || request.sources.len() > 1 => {
            let what = if into_folder { "" } else { ", and several sources need one to go into" };
            Err(Refusal::failed(format!("There is no folder {name}{what}."))
                .advise(format!("Check the spelling, or make it first: mkdir -p {name}")))
        }
        Err(_) => has_parent(destination),
    }
}

fn unusable(path: &Path, error: &io::Error) -> Refusal {
    let name = for_terminal(path);
    let refusal = Refusal::failed(format!("{name} cannot be copied: {}.", os(error)));
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
    let refusal = Refusal::failed(format!("{name} cannot be made: there is no folder {above}."));
    Err(match looks_remote(destination) {
        true => refusal.advise("`ringway copy` stays on this machine; to another one: ringway send FOLDER HOST"),
        false => refusal.advise(format!("Check the spelling, or make it first: mkdir -p {above}")),
    })
}

/// `host:path`, as scp and rsync have it.
fn looks_remote(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    let host = bytes.split(|byte| *byte == b':').next().unwrap_or_default();
    host.len() < bytes.len() && !host.is_empty() && !host.contains(&b'/')
}

/// The last word, for people and for programs.
fn conclude(transfer: &Transfer, report: &Report, made: bool, args: &CopyArgs, out: &Output) {
    for failure in &report.failures {
        out.event(&json::entry_failed(transfer.id(), failure));
    }
    let why = match &report.outcome {
        Outcome::Failed(error) => Some(words::error(error, report, made, args.dry_run)),
        Outcome::Complete | Outcome::Partial => None,
    };
    let mut finished = json::finished(transfer, report, why.as_ref());
    finished["dry_run"] = args.dry_run.into();
    finished["copy"] = report.copy.as_ref().map(json::copy_report).into();
    out.event(&finished);
    why.iter().for_each(|why| out.fault(why));
    progress::name_failures(report, Direction::Copying, out);
    words::advice(&report.failures, args).iter().for_each(|next| out.advise(next));
    if why.is_none() {
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
