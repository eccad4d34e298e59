//! `ringway bench modes`: the figures as a table or as JSON. Measuring is left to `ringway-bench`.
mod table;
#[cfg(test)]
mod tests;
mod words;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use ringway_bench::ModesEvent;
use ringway_model::Fault;
use tokio::sync::mpsc;

use crate::args::bench::{BenchArgs, BenchCommand};
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::output::Output;
use crate::refusal::Refusal;
use crate::text::for_terminal;
use table::Table;

/// Measures, and shows each row when it is known.
pub(crate) async fn run(args: BenchArgs, interrupts: &Interrupts) -> Result<Exit> {
    let BenchCommand::Modes(args) = args.what;
    let options = args.options();
    let stop = Arc::new(AtomicBool::new(false));
    let (tell, mut told) = mpsc::unbounded_channel::<ModesEvent>();
    let measuring = {
        let (options, stop) = (options.clone(), Arc::clone(&stop));
        // Everyone who hears of it stays until this has ended.
        let work = move || ringway_bench::run(&options, &stop, &mut |event| drop(tell.send(event)));
        std::thread::Builder::new().name("bench".into()).spawn(work).context("a thread")?
    };
    let mut table = Table::new(Output::from(args.report));
    loop {
        tokio::select! {
            event = told.recv() => match event {
                Some(event) => table.take(event),
                None => break,
            },
            () = interrupts.asked(), if !stop.load(Ordering::Relaxed) => stop.store(true, Ordering::Relaxed),
        }
    }
    let ended = measuring.join().map_err(|_| anyhow::anyhow!("measuring ended by itself"))?;
    table.end();
    match ended {
        Ok(()) if table.has_failures() => Ok(Exit::Failed),
        Ok(()) => Ok(Exit::All),
        Err(Fault::Cancelled { .. }) => {
            Err(Refusal::failed("Stopped. What was made for measuring has been removed.").into())
        }
        Err(Fault::Path { path, source, .. }) if source.kind() == std::io::ErrorKind::StorageFull => {
            let what = format!("There is too little room in {} to measure there.", for_terminal(path));
            let next = "Name another folder (--at), or take fewer and smaller files (--small, --medium, --huge).";
            Err(Refusal::failed(what).advise(next).into())
        }
        Err(error) => Err(error.into()),
    }
}
