//! `ringway get`: reads what is to be got, and gets it, asking for the code where one is needed.
use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;
use ringway_engine::{
    Engine, GetRequest, GivenSecret, LastStarted, PathInShare, Reference, Reget, Remembered, Target, TransferOptions,
};
use ringway_model::{AuthError, Fault, Outcome, Selection};

use super::send::ask_for_code;
use super::{planned, selected};
use crate::args::destination::{check_answers, destination};
use crate::args::{self, GetArgs, SelectionSources};
use crate::ask::code_source;
use crate::ask::prompt::{self, Lines};
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::output::Output;
use crate::progress;
use crate::refusal::Refusal;
use crate::text::for_terminal;
use crate::words::{Words, advised};

/// Codes that are asked for: as many as a code survives.
const ASKED_MAX: u32 = 3;

/// Gets.
pub(crate) async fn run(engine: &Engine, args: GetArgs, interrupts: &Interrupts) -> Result<Exit> {
    let out = Output::from(args.reporting);
    let (target, before) = match args.again {
        Some(number) => again(engine, number, &args)?,
        None => named(engine, &args)?,
    };
    let landing = before.landing;
    args::check_landing(landing.kept.owner)?;
    if !args.dry_run {
        if args.again.is_none() {
            engine.take_folder(&before.destination);
        }
        engine.check_folder(&before.destination, landing.into_home)?;
    }
    args.selection.check_beside(args.code.code_file.as_deref())?;
    let from = SelectionSources::There(before.paths.len());
    let remembered = before.selection.patterns.clone();
    let selection = match selected::read(&args.selection, from, remembered, "get", &out, interrupts).await? {
        Ok(selection) => selection,
        Err(exit) => return Ok(exit),
    };
    let wanted = Wanted { target, what: Reget { selection, ..before } };
    let mut given = code_source::given(args.code.code_file.as_deref(), |warning| out.warn(warning))?;
    if args.dry_run {
        let start = |planned| engine.plan_get(wanted.request(&args, given.as_ref()), planned);
        return Ok(planned::tell(start, args.reporting, &args.selection, interrupts).await);
    }
    let may_ask = given.is_none() && !out.is_json() && prompt::is_possible();
    let mut asked = 0;
    loop {
        let transfer = engine.get(wanted.request(&args, given.as_ref()));
        let report = progress::follow_dialled(&transfer, &out, interrupts).await;
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
        args.selection.step_after(&report.failures).into_iter().for_each(|next| out.advise(next));
        return Ok((&*report).into());
    }
}

/// What is got, and from whom.
struct Wanted {
    target: Target,
    what: Reget,
}

impl Wanted {
    fn request(&self, args: &GetArgs, secret: Option<&GivenSecret>) -> GetRequest {
        let Reget { paths, selection, destination, folder, landing, verify, .. } = self.what.clone();
        GetRequest {
            target: self.target.clone(),
            paths,
            destination,
            folder,
            accept: landing.into(),
            options: TransferOptions {
                selection,
                code: secret.map(GivenSecret::to_pairing_secret),
                verify: args.moving.verify || verify,
                ..args.moving.options(&args.paths)
            },
        }
    }
}

/// What the command line names, without its selection.
fn named(engine: &Engine, args: &GetArgs) -> Result<(Target, Reget)> {
    let (words, dest) = args.wanted_and_destination();
    let (device, paths) = wanted(words)?;
    let folder = dest.as_deref().unwrap_or(Path::new("."));
    check_answers(engine, folder)?;
    let destination = destination(folder)?;
    args.landing.check()?;
    let (selection, landing) = (Selection::default(), (&args.landing.accept_options()).into());
    let what = Reget { paths, selection, by_list: false, destination, folder: None, landing, verify: false };
    Ok((engine.resolve(&device)?, what))
}

/// What was got before, from the same device, wherever that is now; the last get without a number.
fn again(engine: &Engine, number: Option<u64>, args: &GetArgs) -> Result<(Target, Reget)> {
    let got = match number {
        Some(number) => {
            let got = engine.past_transfer(number)?.map(|(got, _)| got).filter(Remembered::was_got);
            got.ok_or_else(|| {
                Refusal::usage(format!("Nothing that was got has the number {number}."))
                    .advise("`ringway inbox` lists what was received, and `ringway inbox show NUMBER` says how to get it again.")
            })?
        }
        None => match engine.last_got()? {
            LastStarted::Ended(got) => *got,
            LastStarted::Runs => {
                let refusal = Refusal::usage("Something is still being got: which get is to be repeated is not clear.");
                return Err(refusal
                    .advise("Wait until that has ended, or name the get by its number (--again NUMBER): `ringway inbox` lists them.")
                    .into());
            }
            LastStarted::Nothing => {
                let refusal = Refusal::usage("Nothing was got yet.");
                return Err(refusal.advise("For example: ringway get lab-ws:runs/2026-11-22 .").into());
            }
        },
    };
    let target = engine.target_of(&got)?;
    let number = got.past.number;
    let what = got.reget.ok_or_else(|| {
        let what = format!("Number {number} was got with more paths or patterns than are remembered.");
        Refusal::of(Fault::TooManySent, Words::new(what, "Name anew what to get."))
    })?;
    if what.by_list && args.selection.list().is_none() {
        let refusal =
            Refusal::usage(format!("Number {number} was got by a list (--files-from), which is not remembered."));
        return Err(refusal.advise(format!("Give the list again: {}", advised::get_again_by_list(number))).into());
    }
    check_answers(engine, &what.destination)?;
    if !engine.lands_where_it_did(&what) {
        let folder = for_terminal(&what.destination);
        let refusal = Refusal::failed(format!("{folder} is not the folder that number {number} was got into."));
        return Err(refusal
            .advise(
                "Mount its disk or put it back. To get into what is there now, name anew what to get, and the folder.",
            )
            .into());
    }
    Ok((target, what))
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
