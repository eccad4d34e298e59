//! `ringway bench` where it was left out: says how to get it.
use std::ffi::OsString;

use anyhow::Result;
use clap::Args;

use crate::args::ReportArgs;
use crate::exit::{Exit, Refusal};
use crate::interrupt::Interrupts;

const LEFT_OUT: &str = "Packages leave `ringway bench` out: in the folder src-tauri of Ringway's sources, `cargo run --release -p ringway-cli -- bench modes` builds it and runs it.";

/// `ringway bench`, whatever follows.
#[derive(Debug, Args)]
#[command(after_long_help = LEFT_OUT)]
pub(crate) struct BenchArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    asked: Vec<OsString>,
}

impl BenchArgs {
    /// Who reads what is said.
    pub(crate) fn report(&self) -> ReportArgs {
        ReportArgs { json: self.asked.iter().any(|asked| asked == "--json") }
    }
}

/// Says how to get it.
pub(crate) async fn run(_: BenchArgs, _: &Interrupts) -> Result<Exit> {
    Err(Refusal::failed(LEFT_OUT).into())
}
