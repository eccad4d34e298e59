//! Takes clients in at the control socket: who may come, and how many.
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};

use super::guest;
use super::protocol::Told;
use super::shared::Shared;
use crate::app::App;

/// Clients at a time: a window, a few terminals, and room for scripts.
const CLIENTS_MAX: usize = 32;

/// Clients that wait for a place: short commands of a script that all begin at once. Each holds a
/// descriptor.
const CLIENTS_WAITING_MAX: usize = 96;

/// How long they wait: less than a client waits for the first word. Most commands take some
/// milliseconds.
const PLACE_TIME_MAX: Duration = Duration::from_secs(5);

/// A pause after accept(2) fails for want of descriptors or memory, so that the loop does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A service that lives for its window only waits so long for a window that comes back, or a client
/// that was about to.
const LINGER: Duration = Duration::from_secs(3);

/// The control socket's side of the service. Dropping it lets every client go.
pub struct Server {
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

impl Server {
    /// Lets clients of `listener` drive `app`. Needs a tokio runtime.
    pub fn start(app: App, listener: UnixListener) -> Self {
        let shared = Arc::new(Shared::new(app));
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { shared, accepting }
    }

    /// Waits until a client asks for the service's end.
    pub async fn stop_asked(&self) {
        self.shared.stop.notified().await;
    }

    /// Waits until, for a few seconds on end, no client is there and nothing runs that `is_wanted`
    /// does not keep alive.
    pub async fn deserted(&self, is_wanted: impl Fn() -> bool) {
        let mut present = self.shared.present.subscribe();
        loop {
            // The sender is ours: it does not go.
            let _ = present.wait_for(|present| *present == 0).await;
            let has_come = tokio::time::timeout(LINGER, present.wait_for(|present| *present > 0)).await.is_ok();
            let app = &self.shared.app;
            if !has_come && app.transfers.running() == 0 && app.sending.queue.is_empty() && !is_wanted() {
                return;
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: UnixListener, shared: Arc<Shared>) {
    let places = Arc::new(Semaphore::new(CLIENTS_MAX));
    let waiting = Arc::new(Semaphore::new(CLIENTS_WAITING_MAX));
    // They go with this task.
    let mut guests = JoinSet::new();
    loop {
        let stream = tokio::select! {
            Some(_) = guests.join_next() => continue,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(_) => {
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
        };
        if !is_ours(&stream) {
            continue;
        }
        let Ok(waits) = Arc::clone(&waiting).try_acquire_owned() else {
            turn_away(stream).await;
            continue;
        };
        let (shared, places) = (Arc::clone(&shared), Arc::clone(&places));
        guests.spawn(async move {
            let place = tokio::time::timeout(PLACE_TIME_MAX, places.acquire_owned()).await;
            drop(waits);
            let Ok(Ok(place)) = place else { return turn_away(stream).await };
            let number = shared.last_number.fetch_add(1, Ordering::Relaxed) + 1;
            shared.present.send_modify(|present| *present += 1);
            guest::serve(&shared, stream, number).await;
            shared.left(number);
            drop(place);
        });
    }
}

/// SO_PEERCRED (unix(7)): this very user, or root. The folder's mode says so too; this holds where
/// somebody has changed that.
fn is_ours(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw() || peer.uid() == 0)
}

/// A new socket's buffer takes a line without waiting.
async fn turn_away(mut stream: UnixStream) {
    if let Ok(line) = serde_json::to_string(&Told::Busy) {
        let _ = stream.write_all(format!("{line}\n").as_bytes()).await;
    }
}
