//! `ringway pair`: makes this machine and a receiver know each other, without sending anything.
use anyhow::Result;
use ringway_engine::{Engine, GivenSecret, Target};
use ringway_model::{AuthError, Device, Fault, Side};

use crate::args::PairArgs;
use crate::ask::code_source;
use crate::ask::prompt::{self, Lines};
use crate::commands::send::ask_for_code;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::json;
use crate::output::Output;
use crate::refusal::Refusal;
use crate::text::for_terminal;
use crate::words::{self, Words, advised};

/// Codes that are asked for: as many as a code survives.
const ASKED_MAX: u32 = 3;

/// Pairs.
pub(crate) async fn run(engine: &Engine, args: PairArgs, interrupts: &Interrupts) -> Result<Exit> {
    let out = Output::from(args.reporting);
    let given = code_source::given(args.code.code_file.as_deref(), |warning| out.warn(warning))?;
    let target = engine.resolve(&args.target)?;
    tokio::select! {
        device = pair(engine, &target, given, &out) => {
            let device = device.map_err(cut_off)?;
            let alike = engine.look_alike(device.id, &device.name)?;
            out.event(&json::paired(&device, alike.as_ref()));
            let name = for_terminal(&device.name);
            out.say(format_args!("Paired with {name} ({}).", device.id.short()));
            if let Some(other) = alike {
                out.warn(words::looks_like(&device.name, device.id, &other));
            }
            out.say(format_args!("From now on: {}", advised::send_to(&device.name, device.id)));
            Ok(Exit::All)
        }
        () = interrupts.asked() => {
            prompt::restore_echo();
            let words = Words::only("Stopped before the two were paired.");
            Err(Refusal { exit: interrupts.exit(), ..Refusal::of(Fault::cancelled(Side::Here), words) }.into())
        }
    }
}

/// Says of a connection that broke what that means where nothing was to be sent.
fn cut_off(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(fault @ Fault::ConnectionLost(_)) => {
            let words = Words::new(
                "The connection was lost before the two were paired.",
                "Pair again. If the receiver shows another code by then, or says that the two are paired, use its new code.",
            );
            Refusal::of(fault.clone(), words).into()
        }
        _ => error,
    }
}

async fn pair(engine: &Engine, target: &Target, given: Option<GivenSecret>, out: &Output) -> Result<Device> {
    if let Some(given) = given {
        return Ok(engine.pair(target.clone(), given.to_pairing_secret()).await?);
    }
    if out.is_json() || !prompt::is_possible() {
        let refusal = Refusal { exit: Exit::NotAuthenticated, ..Refusal::usage("Pairing takes the receiver's code.") };
        return Err(refusal
            .advise("Give it with --code-file FILE or in RINGWAY_CODE, or run this in a terminal.")
            .into());
    }
    let mut lines = Lines::start();
    let mut asked = 0;
    loop {
        let Some(given) = ask_for_code(&mut lines).await else {
            return Err(Refusal { exit: Exit::NotAuthenticated, ..Refusal::usage("No code was given.") }.into());
        };
        asked += 1;
        match engine.pair(target.clone(), given.to_pairing_secret()).await {
            Err(Fault::Auth(AuthError::WrongCode)) if asked < ASKED_MAX => {
                eprintln!("The code was wrong, or the receiver has replaced it: type the one that it shows now.");
            }
            other => return Ok(other?),
        }
    }
}
