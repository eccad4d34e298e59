//! From Tauri's own events to those of the window: what is dragged over it, in CSS pixels.
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gtk::prelude::WidgetExt;
use parking_lot::Mutex;
use tauri::{DragDropEvent, PhysicalPosition, WebviewWindow};

/// What is dragged over the window. The paths stay on this side of the IPC.
pub(crate) enum Dragged {
    Entered(Vec<PathBuf>),
    /// Addresses that are no files.
    TextEntered(String),
    Over(i32, i32),
    Dropped(Vec<PathBuf>, i32, i32),
    TextDropped(String, i32, i32),
    Left,
}

/// The addresses that are dragged, as the source of the drag wrote them: Tauri's events have them
/// decoded, as if all of them were files. Text without an address comes to the page alone, which
/// WebKit tells of it.
#[derive(Clone, Default)]
pub(crate) struct Addresses(Arc<Mutex<Vec<String>>>);

impl Addresses {
    /// Notes what is dragged over a window from now on.
    pub(crate) fn follow(&self, window: &WebviewWindow) {
        let addresses = Arc::clone(&self.0);
        // A page that has gone has nothing dragged over it.
        let _ = window.with_webview(move |page| {
            page.inner().connect_drag_data_received(move |_, _, _, _, data, _, _| {
                let dragged: Vec<_> = data.uris().iter().map(ToString::to_string).collect();
                if !dragged.is_empty() {
                    *addresses.lock() = dragged;
                }
            });
        });
    }

    /// None for what is newer than this program.
    pub(crate) fn dragged(&self, event: &DragDropEvent) -> Option<Dragged> {
        Some(match event {
            DragDropEvent::Enter { paths, .. } if are_texts(paths) => Dragged::TextEntered(as_text(paths)),
            DragDropEvent::Enter { paths, .. } => Dragged::Entered(paths.clone()),
            DragDropEvent::Over { position } => {
                let (x, y) = whole(position);
                Dragged::Over(x, y)
            }
            DragDropEvent::Drop { paths, position } => {
                let (x, y) = whole(position);
                match are_texts(paths) {
                    true => Dragged::TextDropped(self.exact(paths), x, y),
                    false => Dragged::Dropped(paths.clone(), x, y),
                }
            }
            DragDropEvent::Leave => Dragged::Left,
            _ => return None,
        })
    }

    fn exact(&self, paths: &[PathBuf]) -> String {
        let addresses = self.0.lock();
        if addresses.len() == paths.len() { addresses.join("\n") } else { as_text(paths) }
    }
}

/// Whether these are addresses and no files: a file's path is absolute.
fn are_texts(paths: &[PathBuf]) -> bool {
    !paths.is_empty() && !paths.iter().any(|path| path.is_absolute())
}

fn as_text(paths: &[PathBuf]) -> String {
    let lines: Vec<_> = paths.iter().map(|path| Path::to_string_lossy(path)).collect();
    lines.join("\n")
}

#[expect(clippy::cast_possible_truncation, reason = "as saturates, and no screen is that large")]
fn whole(position: &PhysicalPosition<f64>) -> (i32, i32) {
    (position.x as i32, position.y as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dropped(addresses: &Addresses, paths: &[&str]) -> Dragged {
        let paths = paths.iter().map(PathBuf::from).collect();
        addresses.dragged(&DragDropEvent::Drop { paths, position: PhysicalPosition::new(1.0, 2.0) }).unwrap()
    }

    #[test]
    fn an_address_is_text_as_it_was_written_and_a_file_is_not() {
        let addresses = Addresses::default();
        *addresses.0.lock() = vec!["https://example.org/a%20b".to_owned()];
        let Dragged::TextDropped(text, 1, 2) = dropped(&addresses, &["https://example.org/a b"]) else { panic!() };
        assert_eq!(text, "https://example.org/a%20b");
        let Dragged::TextDropped(text, ..) = dropped(&addresses, &["mailto:a", "x:b"]) else { panic!() };
        assert_eq!(text, "mailto:a\nx:b", "what was noted is of another drag");
        assert!(matches!(dropped(&addresses, &["/tmp/a", "https://b"]), Dragged::Dropped(..)));
        assert!(matches!(dropped(&addresses, &[]), Dragged::Dropped(..)));
    }
}
