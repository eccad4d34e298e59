//! What waits for a client to read it, within bounds.
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ringway_model::Fault;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::{Notify, mpsc};

use super::protocol::{ANSWER_LEN_MAX, Told};

/// Bytes that may wait for a client to read them: half an hour of events and figures. A client that
/// lets more pile up is let go.
const QUEUED_BYTES_MAX: usize = 4 << 20;

/// Where lines to a client wait. Clones are the same.
#[derive(Clone)]
pub(super) struct Outbox {
    /// None ends it.
    pub(super) lines: mpsc::UnboundedSender<Option<String>>,
    pub(super) queued: Arc<AtomicUsize>,
    /// Too much waits.
    pub(super) overrun: Arc<Notify>,
}

impl Outbox {
    /// Says something, without waiting. False where too much waits already: the client is being let
    /// go.
    pub(super) fn say(&self, told: &Told) -> bool {
        if self.queued.load(Ordering::Relaxed) > QUEUED_BYTES_MAX {
            self.overrun.notify_one();
            return false;
        }
        let line = serde_json::to_string(told).ok().filter(|line| line.len() <= ANSWER_LEN_MAX);
        let line = line.unwrap_or_else(|| cannot_be_said(told));
        self.queued.fetch_add(line.len(), Ordering::Relaxed);
        self.lines.send(Some(line)).is_ok()
    }
}

/// The answer in place of one that is too long, so that the caller does not wait for ever.
fn cannot_be_said(told: &Told) -> String {
    let Told::Answer { number, .. } = told else { return String::new() };
    let fault = Fault::Other { detail: "the answer is too long".to_owned().into() };
    serde_json::to_string(&Told::Refused { number: *number, fault }).unwrap_or_default()
}

/// Writes to the client what waits, until it ends or the client goes.
pub(super) async fn write_lines(
    mut to: OwnedWriteHalf,
    mut lines: mpsc::UnboundedReceiver<Option<String>>,
    queued: Arc<AtomicUsize>,
) {
    while let Some(Some(mut line)) = lines.recv().await {
        let len = line.len();
        line.push('\n');
        if to.write_all(line.as_bytes()).await.is_err() {
            return;
        }
        queued.fetch_sub(len, Ordering::Relaxed);
    }
}
