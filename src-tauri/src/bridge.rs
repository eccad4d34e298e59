//! From Tauri's own events to those of the window: what is dragged over it, in CSS pixels.
use std::path::PathBuf;

use tauri::{DragDropEvent, PhysicalPosition};

/// What is dragged over the window. The paths stay on this side of the IPC.
pub(crate) enum Dragged {
    Entered(Vec<PathBuf>),
    Over(i32, i32),
    Dropped(Vec<PathBuf>, i32, i32),
    Left,
}

/// None for what is newer than this program.
pub(crate) fn dragged(event: &DragDropEvent) -> Option<Dragged> {
    Some(match event {
        DragDropEvent::Enter { paths, .. } => Dragged::Entered(paths.clone()),
        DragDropEvent::Over { position } => {
            let (x, y) = whole(position);
            Dragged::Over(x, y)
        }
        DragDropEvent::Drop { paths, position } => {
            let (x, y) = whole(position);
            Dragged::Dropped(paths.clone(), x, y)
        }
        DragDropEvent::Leave => Dragged::Left,
        _ => return None,
    })
}

#[expect(clippy::cast_possible_truncation, reason = "as saturates, and no screen is that large")]
fn whole(position: &PhysicalPosition<f64>) -> (i32, i32) {
    (position.x as i32, position.y as i32)
}
