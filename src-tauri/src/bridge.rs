//! From the controller to the webview: events and snapshots into IPC channels, drags into events.
use ringway_engine::Transfer;
use ringway_service::dto::{AppEvent, Drag, Update};
use ringway_service::{App, Sink};
use tauri::ipc::Channel;
use tauri::{DragDropEvent, PhysicalPosition};

/// A sink that feeds the window's channel. A window that is gone misses nothing: the next one asks for everything.
pub(crate) fn sink(channel: Channel<AppEvent>) -> Sink {
    Box::new(move |event| {
        let _ = channel.send(event);
    })
}

/// Sends a transfer's snapshots until it has ended or nobody listens, then its end.
pub(crate) async fn watch(app: App, transfer: Transfer, channel: Channel<Update>) {
    app.watch(transfer, |update| channel.send(update).is_ok()).await;
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
