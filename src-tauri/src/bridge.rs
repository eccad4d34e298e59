//! From the controller to the webview: events and snapshots into IPC channels, drags into events.
use std::time::Duration;

use ringway_engine::{Stage, Transfer};
use tauri::ipc::Channel;
use tauri::{DragDropEvent, PhysicalPosition};
use tokio::time::MissedTickBehavior;

use crate::app::{App, Sink};
use crate::dto::{AppEvent, Drag, Ended, Tick, Update};

/// Between two snapshots of a transfer: figures that change more often than 10 times a second cannot be read.
const TICK_EVERY: Duration = Duration::from_millis(100);

/// A sink that feeds the window's channel. A window that is gone misses nothing: the next one asks for everything.
pub(crate) fn sink(channel: Channel<AppEvent>) -> Sink {
    Box::new(move |event| {
        let _ = channel.send(event);
    })
}

/// Sends a transfer's snapshots until it has ended or nobody listens, then its end.
pub(crate) async fn watch(app: App, transfer: Transfer, channel: Channel<Update>) {
    let mut clock = tokio::time::interval(TICK_EVERY);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut known = transfer.peer().is_some();
    while transfer.snapshot().stage != Stage::Ended {
        if channel.send(Update::Moved { tick: Tick::of(&transfer) }).is_err() {
            return;
        }
        if !known && transfer.peer().is_some() {
            // It may have been paired by this very transfer.
            known = true;
            app.tell_devices();
        }
        clock.tick().await;
    }
    let report = transfer.wait().await;
    let ended = Box::new(Ended::from(report.as_ref()));
    // An error means that the window is gone.
    let _ = channel.send(Update::Ended { tick: Tick::of(&transfer), ended });
}

/// Passes on what is dragged over the window; the paths stay on this side.
pub(crate) fn dragged(app: &App, event: &DragDropEvent) {
    let drag = match event {
        DragDropEvent::Enter { paths, .. } => app.choose(paths.clone()).map(|chosen| Drag::Entered { chosen }),
        DragDropEvent::Over { position } => {
            let (x, y) = whole(position);
            Some(Drag::Over { x, y })
        }
        DragDropEvent::Drop { paths, position } => {
            let (x, y) = whole(position);
            app.choose(paths.clone()).map(|chosen| Drag::Dropped { chosen, x, y })
        }
        DragDropEvent::Leave => Some(Drag::Left),
        _ => None,
    };
    if let Some(drag) = drag {
        app.tell(AppEvent::Dragged { drag });
    }
}

#[expect(clippy::cast_possible_truncation, reason = "as saturates, and no screen is that large")]
fn whole(position: &PhysicalPosition<f64>) -> (i32, i32) {
    (position.x as i32, position.y as i32)
}
