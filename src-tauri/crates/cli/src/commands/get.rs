//! `ringway get`: reads what is to be got, and gets it, asking for the code where one is needed.
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use ringway_engine::{AcceptOptions, Engine, GetRequest, GivenSecret, PathInShare, Reference, Target, Transfer};
use ringway_model::{AuthError, Fault, Outcome, Report};

use super::send::ask_for_code;
use crate::args::destination::destination;
use crate::args::{GetArgs, LimitArg};
use crate::ask::code_source;
use crate::ask::prompt::{self, Lines};
use crate::exit::{Exit, Refusal};
use crate::interrupt::Interrupts;
use crate::output::Output;
use crate::progress;
use crate::text::for_terminal;

/// Codes that are asked for: as many as a code survives.
const ASKED_MAX: u32 = 3;

/// Gets.
pub(crate) async fn run(engine: &Engine, args: GetArgs, interrupts: &Interrupts) -> Result<Exit> {
    let out = Output::from(args.reporting);
    let (words, dest) = args.wanted_and_destination();
    let (device, paths) = wanted(words)?;
    let folder = destination(dest.as_deref().unwrap_or(Path::new(".")))?;
    if args.owner && !rustix::process::geteuid().is_root() {
        return Err(Refusal::usage("--owner needs root: nobody else may give files away.")
            .advise("Run it with sudo, or leave --owner out: what arrives is then yours.")
            .into());
    }
    let target = engine.resolve(&device)?;
    engine.take_folder(&folder);
    engine.check_folder(&folder, args.home.into_home())?;
    let mut given = code_source::given(args.code.code_file.as_deref(), |warning| out.warn(warning))?;
    let may_ask = given.is_none() && !out.is_json() && prompt::is_possible();
    let mut asked = 0;
    loop {
        let (transfer, report) =
            once(engine, &args, (&target, &paths, &folder), given.as_ref(), (&out, interrupts)).await;
        let needs_code = matches!(
            &report.outcome,
            Outcome::Failed(Fault::Auth(AuthError::PairingNeeded { .. } | AuthError::WrongCode))
        );
        if needs_code && may_ask && asked < ASKED_MAX {
            asked += 1;
            eprintln!("The two devices are not paired. The other one shows a code, such as 42-river-castle.");
            let mut lines = Lines::start();
            given = tokio::select! {
                given = ask_for_code(&mut lines) => given,
                () = interrupts.asked() => None,
            };
            match given {
                Some(_) => continue,
                None if interrupts.is_asked() => return Ok(interrupts.exit()),
                None => return Ok(Exit::NotAuthenticated),
            }
        }
        progress::conclude(&transfer, &report, &out);
        return Ok((&*report).into());
    }
}

async fn once(
    engine: &Engine,
    args: &GetArgs,
    (target, paths, folder): (&Target, &[PathInShare], &Path),
    secret: Option<&GivenSecret>,
    (out, interrupts): (&Output, &Interrupts),
) -> (Transfer, Arc<Report>) {
    let transfer = engine.get(GetRequest {
        target: target.clone(),
        paths: paths.to_vec(),
        destination: folder.to_owned(),
        accept: AcceptOptions {
            on_conflict: args.on_conflict.into(),
            keep_owner: args.owner,
            keep_setuid: args.setuid,
            into_home: args.home.into_home(),
            widen_modes: args.modes,
            ..AcceptOptions::default()
        },
        code: secret.map(GivenSecret::to_pairing_secret),
        tls: args.paths.tls.into(),
        io: args.paths.io.into(),
        lanes: args.lanes,
        compression: args.compress.into(),
        delta: args.delta.into(),
        limit: args.limit.and_then(LimitArg::limit),
        verify: args.verify,
        records_per_key: args.records_per_key,
        retry: args.retry.time(),
    });
    let report = progress::follow_dialled(&transfer, out, interrupts).await;
    (transfer, report)
}

/// The device, and what of its share. All words name the same device and share.
fn wanted(words: &[OsString]) -> Result<(String, Vec<PathInShare>)> {
    let mut device = None;
    let mut paths: Vec<PathInShare> = Vec::new();
    for word in words {
        let name = for_terminal(word);
        let Reference { device: of, inside } = Reference::parse(word)?;
        let inside = inside.ok_or_else(|| {
            Refusal::usage(format!("{name} names no share."))
                .advise("For example: ringway get lab-ws:runs/2026-11-22 .")
        })?;
        let is_other = device.get_or_insert_with(|| of.clone()) != &of
            || paths.first().is_some_and(|first| first.share != inside.share);
        if is_other {
            let refusal = Refusal::usage(format!("{name} is of another share than what was named before it."));
            return Err(refusal.advise("Get from each share by a command of its own.").into());
        }
        paths.push(inside);
    }
    device.map(|device| (device, paths)).ok_or_else(|| Refusal::usage("Nothing to get was named.").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn everything_is_of_one_share() {
        let (device, paths) = wanted(&words(&["lab:runs/a", "lab:runs/b/"])).unwrap();
        assert_eq!((device.as_str(), paths.len()), ("lab", 2));
        assert!(!paths[0].contents_only && paths[1].contents_only);
        for bad in [&["lab:runs/a", "lab:photos"][..], &["lab:runs", "nas:runs"], &["lab"], &["lab:runs/.."]] {
            assert!(wanted(&words(bad)).is_err(), "{bad:?}");
        }
    }
}
