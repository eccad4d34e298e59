//! The data plane on files: trees become lane frames, and lane frames become files. Connections are
//! handed to it as traits: it knows neither sockets nor tokio.
#![forbid(unsafe_code)]

pub mod bulk;
mod chunking;
pub mod compression;
#[cfg(test)]
#[path = "../../../../tests/deadline.rs"]
mod deadline;
pub mod descriptors;
pub mod disk;
pub mod filesystem;
#[cfg(test)]
#[path = "../../../../tests/filtered.rs"]
mod filtered;
pub mod io_plan;
pub mod limits;
mod page_buffer;
pub mod readback;
pub mod receive;
pub mod send;

use ringway_model::Fault;

/// Random bytes from the kernel.
///
/// # Errors
/// The kernel gives none.
pub fn random<const N: usize>() -> Result<[u8; N], Fault> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| Fault::machine("the kernel gives no random bytes"))?;
    Ok(bytes)
}
