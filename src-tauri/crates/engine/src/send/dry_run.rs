//! What a send would offer, without a connection, an identity or a device: a transfer that moves
//! nothing.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ringway_model::{Direction, Fault, Selection, Side, Source, TransferId};
use ringway_tree::filesystem::selection::Filter;
use ringway_tree::send::plan;

use crate::transfers::copying::PlannedFn;
use crate::transfers::transfer::{Arrived, Transfer};

/// Starts it. `planned` is called with each entry that would be sent, by its path in the transfer.
/// The report counts what would be sent, and what would fail. What a receiver has already is not
/// looked at. It needs a tokio runtime around it.
pub fn start(sources: Vec<Source>, selection: Selection, planned: PlannedFn) -> Transfer {
    let id = ringway_tree::random();
    let transfer_id = TransferId(*id.as_ref().unwrap_or(&[0; 16]));
    let transfer = Transfer::new(transfer_id, Direction::Sending, super::title(&sources), None);
    if let Err(error) = id {
        transfer.end(Err(error));
        return transfer;
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let cancelling = tokio::spawn({
        let (transfer, is_over) = (transfer.clone(), Arc::clone(&is_over));
        async move {
            transfer.cancelled().await;
            is_over.store(true, Ordering::Relaxed);
        }
    });
    let running = transfer.clone();
    tokio::task::spawn_blocking(move || {
        running.figures().begin();
        let fail = |failure| running.figures().fail(failure);
        let is_cancelled = || is_over.load(Ordering::Relaxed);
        let counts = Filter::new(&selection)
            .and_then(|filter| plan(&sources, filter, |what, path| planned(what, path), fail, is_cancelled));
        cancelling.abort();
        match counts {
            Ok(counts) => {
                let stopped = is_cancelled().then(|| Fault::cancelled(Side::Here));
                running.end_with(stopped, Arrived { counts, ..Arrived::default() });
            }
            Err(error) => running.end(Err(error)),
        }
    });
    transfer
}
