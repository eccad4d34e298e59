//! `ringway bench` where it was left out.
use std::ffi::OsString;

use clap::Args;

use crate::args::ReportArgs;

/// How to get a build that has it.
pub(crate) const LEFT_OUT: &str = "Packages leave `ringway bench` out: in the folder src-tauri of Ringway's sources, `cargo run --release -p ringway-cli -- bench modes` builds it and runs it.";

/// `ringway bench` with any arguments.
#[derive(Debug, Args)]
#[command(after_long_help = LEFT_OUT)]
pub(crate) struct BenchArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    asked: Vec<OsString>,
}

impl BenchArgs {
    /// Whether a person or a program reads the output.
    pub(crate) fn report(&self) -> ReportArgs {
        ReportArgs { json: self.asked.iter().any(|asked| asked == "--json") }
    }
}
