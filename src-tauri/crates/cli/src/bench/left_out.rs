//! `ringway bench` where it was left out: says how to get it.
use anyhow::Result;

use crate::args::bench::{BenchArgs, LEFT_OUT};
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::refusal::Refusal;

/// Says how to get it.
pub(crate) async fn run(_: BenchArgs, _: &Interrupts) -> Result<Exit> {
    Err(Refusal::failed(LEFT_OUT).into())
}
