//! The clipboard, when the page asks for it: which files were copied elsewhere. Nothing else of it
//! is read, and the page learns no path.
use std::path::PathBuf;

use gtk::gdk::{Atom, SELECTION_CLIPBOARD};
use gtk::glib;
use tauri::WebviewWindow;
use tokio::sync::oneshot;

/// What file managers put there, in the order of preference: the list that every desktop has
/// (RFC 2483), and GNOME's own, whose first line is `copy` or `cut`.
const TARGETS: [&str; 2] = ["text/uri-list", "x-special/gnome-copied-files"];

/// Longest list that is read: half a million files, as many as can be dropped.
const LIST_LEN_MAX: usize = 64 << 20;

/// The files that were copied; nothing where the clipboard has something else.
pub(crate) async fn copied_files(window: &WebviewWindow) -> Vec<PathBuf> {
    for target in TARGETS {
        let files = request(window, target).await.map(|list| paths(&list)).unwrap_or_default();
        if !files.is_empty() {
            return files;
        }
    }
    Vec::new()
}

/// One form of what the clipboard has; none where it does not have that form.
async fn request(window: &WebviewWindow, target: &'static str) -> Option<Vec<u8>> {
    let (answer, answered) = oneshot::channel();
    // GTK is its main thread's, which goes on meanwhile: whoever copied may be slow to answer.
    let ask = move || {
        gtk::Clipboard::get(&SELECTION_CLIPBOARD).request_contents(&Atom::intern(target), move |_, selection| {
            let data = Some(selection.data()).filter(|data| data.len() <= LIST_LEN_MAX);
            let _ = answer.send(data.filter(|data| !data.is_empty()));
        });
    };
    window.run_on_main_thread(ask).ok()?;
    answered.await.ok().flatten()
}

/// The files of this machine in a list of URIs. Other lines are comments, or what is to be done
/// with the files: cut ones are sent as copied ones are.
fn paths(list: &[u8]) -> Vec<PathBuf> {
    let text = String::from_utf8_lossy(list);
    let lines = text.split(['\n', '\r', '\0']).filter(|line| line.starts_with("file:"));
    let path = |uri| glib::filename_from_uri(uri).ok().filter(|(path, _)| path.is_absolute()).map(|(path, _)| path);
    lines.filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn files_are_read_from_what_file_managers_copy() {
        let own = b"file:///tmp/caf%E9\r\n# a comment\r\nhttps://example.org/x\r\nfile:///tmp/a%20b\r\n";
        assert_eq!(paths(own), [PathBuf::from(OsStr::from_bytes(b"/tmp/caf\xe9")), "/tmp/a b".into()]);
        assert_eq!(paths(b"cut\nfile:///tmp/one\nfile:///tmp/two\0"), [PathBuf::from("/tmp/one"), "/tmp/two".into()]);
        assert_eq!(paths(b"file:relative\nfile:///tmp/nul%00\nplain text"), [] as [PathBuf; 0]);
        assert_eq!(paths(&[0xff; 9]), [] as [PathBuf; 0]);
    }
}
