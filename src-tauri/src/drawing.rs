//! By what the page is drawn: by the graphics card, where there is one.
use std::path::Path;

use gtk::gdk;
use gtk::glib::prelude::ObjectExt;
use tauri::WebviewWindow;
use webkit2gtk::{HardwareAccelerationPolicy, SettingsExt, WebViewExt};

/// Where the kernel shows graphics cards that anybody may draw with (drm(7)).
const CARDS: &str = "/dev/dri";

/// Has the page drawn plainly where no graphics card is there to draw with. WebKit would imitate
/// one, on as many threads as there are processors, and put the whole window together for each
/// figure that changes: several times the processor time and twice the memory, on machines that
/// want theirs for the transfer. What is measured of that is in `docs/design/measuring.md`. Under
/// Wayland the page's process ends where that is asked of it (WebKitGTK 2.50), so there nothing is.
pub(crate) fn suit(window: &WebviewWindow) {
    if has_card(Path::new(CARDS)) || !is_x11() {
        return;
    }
    // It is drawn either way.
    let _ = window.with_webview(|page| {
        let view = page.inner();
        let (Some(settings), Some(address)) = (view.settings(), view.uri()) else { return };
        settings.set_hardware_acceleration_policy(HardwareAccelerationPolicy::Never);
        // The page's process has begun with a card in mind, and would not pass the mouse wheel on
        // to a page that is drawn without one (WebKitGTK 2.50). Tauri has no place to set this
        // before the page begins.
        view.terminate_web_process();
        view.load_uri(&address);
    });
}

/// Whether the screen is an X server's.
fn is_x11() -> bool {
    gdk::Display::default().is_some_and(|display| display.type_().name() == "GdkX11Display")
}

/// Whether the kernel has a card's render node in this folder.
fn has_card(nodes: &Path) -> bool {
    let Ok(nodes) = std::fs::read_dir(nodes) else { return false };
    nodes.flatten().any(|node| node.file_name().as_encoded_bytes().starts_with(b"renderD"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_alone_is_no_card_to_draw_with() {
        let nodes = tempfile::tempdir().unwrap();
        assert!(!has_card(&nodes.path().join("none")));
        std::fs::write(nodes.path().join("card0"), "").unwrap();
        assert!(!has_card(nodes.path()));
        std::fs::write(nodes.path().join("renderD128"), "").unwrap();
        assert!(has_card(nodes.path()));
    }
}
