//! Copying inside this machine: what `cp -a` does, by threads that own directories.
mod options;

use std::path::PathBuf;

pub use options::{CopyOptions, CopyReport, CopyRequest, KernelCopy, Observer, OnExisting, Planned, ReflinkMode, Rule};

use crate::error::Error;
use crate::event::{Direction, TransferId};
use crate::transfer::Transfer;

/// Starts a copy; what goes wrong is in its report. It needs a tokio runtime around it and nothing else: no identity, store or settings.
pub fn start(request: CopyRequest) -> Transfer {
    let name = |path: &PathBuf| path.file_name().map_or_else(|| path.clone().into(), Into::into);
    let title = request.sources.first().map(name).unwrap_or_default();
    let more = request.sources.len().saturating_sub(1) as u64;
    // Threads that own folders want descriptors; a limit that cannot be raised is lived with.
    let _ = ringway_sys::probe::raise_open_files_limit();
    let id = crate::random();
    let transfer = Transfer::new(TransferId(*id.as_ref().unwrap_or(&[0; 16])), Direction::Copying, (title, more));
    match id {
        Ok(_) => drop(tokio::spawn(run(request, transfer.clone()))),
        Err(error) => transfer.end(Err(error)),
    }
    transfer
}

pub(crate) async fn run(_request: CopyRequest, transfer: Transfer) {
    transfer.end(Err(Error::Invalid("not yet")));
}
