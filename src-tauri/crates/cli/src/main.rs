//! The `ringway` command: arguments in, the engine's jobs in the middle, words or JSON out.
#![forbid(unsafe_code)]

mod args;
mod ask;
mod bench;
mod commands;
mod exit;
mod interrupt;
mod json;
mod output;
mod progress;
mod refusal;
mod text;
mod words;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use ringway_engine::{Engine, Paths};
use tokio::runtime::Builder;

use crate::args::{Cli, Command};
use crate::commands::{
    copy, devices, doctor, get, inbox, ls, manual, notes, pair, recv, send, service, settings, share,
};
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::output::Output;
use crate::refusal::status_of;

/// Threads of the control plane: bulk has threads of its own, and two keep a slow disk call from
/// delaying a handshake.
const CONTROL_THREADS: usize = 2;

/// Commands that end in order when a signal asks for it; the others have nothing to put in order.
const ENDING_IN_ORDER: [&str; 6] = ["copy", "send", "recv", "pair", "serve", "bench"];

fn main() -> ExitCode {
    ringway_engine::return_large_blocks();
    let name = std::env::args_os().nth(1).unwrap_or_default();
    let runtime = match name == "copy" {
        // A copy has no control plane to speak of, and a short one would pay for its threads and
        // descriptors.
        true => Builder::new_current_thread().enable_time().build(),
        false => Builder::new_multi_thread().worker_threads(CONTROL_THREADS).enable_all().build(),
    };
    // Before all else: until then a signal ends the process without a word.
    let interrupts = match &runtime {
        Ok(_) if ENDING_IN_ORDER.iter().any(|command| name == *command) => Some(Interrupts::listen()),
        _ => None,
    };
    // A kernel that refuses leaves dumps as the system has them: nothing else depends on it.
    let _ = ringway_engine::private::forbid_core_dumps();
    let command = Cli::try_parse().unwrap_or_else(|error| args::hinted(error).exit()).command;
    let out = Output::from(command.report());
    let prints_its_result = command.prints_its_result();
    let runtime = runtime.and_then(|runtime| interrupt::survive_file_size_limit().map(|()| runtime));
    let ended = runtime.map_err(anyhow::Error::from).and_then(|runtime| runtime.block_on(run(command, interrupts)));
    let exit = ended.unwrap_or_else(|error| {
        let words = refusal::words_of(&error);
        out.event(&json::ended_early(&error, &words));
        out.fault(&words);
        status_of(&error)
    });
    ringway_engine::close_folders();
    match exit {
        // The output is incomplete, so a script must not take it for the whole result. The files
        // were transferred nevertheless.
        Exit::All if prints_its_result && output::is_incomplete() => Exit::Failed,
        Exit::All if prints_its_result && output::is_closed() => Exit::NoReader,
        exit => exit,
    }
    .into()
}

async fn run(command: Command, interrupts: Option<std::io::Result<Interrupts>>) -> Result<Exit> {
    let interrupts = || interrupts.unwrap_or_else(Interrupts::listen);
    args::check_patterns(std::env::args_os().skip(1))?;
    let command = match command {
        Command::Completions { shell } => return manual::completions(shell),
        Command::Man { dir } => return manual::man(dir.as_deref()),
        // A copy needs no identity, and must work where none can be made.
        Command::Copy(args) => return copy::run(*args, &interrupts()?).await,
        Command::Send(args) if args.dry_run && args.again.is_none() => {
            return send::dry_run(&args, &interrupts()?).await;
        }
        Command::Bench(args) => return bench::run(args, &interrupts()?).await,
        // It finds out itself what keeps an engine from being opened.
        Command::Doctor(args) => return doctor::run(args).await,
        other => other,
    };
    // What the service does with its engine needs none here.
    let command = match service::run(command).await {
        Ok(ended) => return ended,
        Err(other) => other,
    };
    let engine = Engine::open(Paths::from_env()?)?;
    let interrupts = interrupts()?;
    match command {
        Command::Recv(args) => recv::run(&engine, args, &interrupts).await,
        Command::Send(args) => send::run(&engine, *args, &interrupts).await,
        Command::Get(args) => get::run(&engine, *args, &interrupts).await,
        Command::Pair(args) => pair::run(&engine, args, &interrupts).await,
        Command::Devices(args) => devices::run(&engine, args).await,
        Command::Share(args) => share::run(&engine, args),
        Command::Ls(args) => ls::run(&engine, args, &interrupts).await,
        Command::Inbox(args) => inbox::run(&engine, args),
        Command::Notes(args) => notes::run(&engine, args),
        Command::Settings(args) => settings::run(&engine, args).await,
        Command::Serve(args) => service::serve(engine, args, &interrupts).await,
        // Those have been run above.
        _ => Ok(Exit::All),
    }
}
