//! The clipboard, when the page asks for it: which files were copied elsewhere, or else the text;
//! and the text that the page copies. The page learns no path.
use std::path::PathBuf;

use gtk::gdk::{Atom, SELECTION_CLIPBOARD};
use gtk::glib;
use ringway_model::NoteText;
use tauri::WebviewWindow;
use tokio::sync::oneshot;

/// What file managers put there, in the order of preference: the list that every desktop has
/// (RFC 2483), and GNOME's own, whose first line is `copy` or `cut`.
const TARGETS: [&str; 2] = ["text/uri-list", "x-special/gnome-copied-files"];

/// The text there, as X11 and Wayland call it.
const TEXTS: [&str; 2] = ["UTF8_STRING", "text/plain;charset=utf-8"];

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

/// The text that was copied; nothing where the clipboard has none. What is too long for a note is
/// cut, and still too long.
pub(crate) async fn copied_text(window: &WebviewWindow) -> Option<String> {
    for target in TEXTS {
        if let Some(text) = request(window, target).await.and_then(cut) {
            return Some(text);
        }
    }
    None
}

/// Puts `text` onto the clipboard, up to its first NUL. WebKit would let the page do so only while
/// it handles a click.
pub(crate) async fn copy_text(window: &WebviewWindow, text: String) -> bool {
    let (done, is_done) = oneshot::channel();
    let copy = move || {
        let text = text.split('\0').next().unwrap_or_default();
        gtk::Clipboard::get(&SELECTION_CLIPBOARD).set_text(text);
        let _ = done.send(());
    };
    window.run_on_main_thread(copy).is_ok() && is_done.await.is_ok()
}

fn cut(text: Vec<u8>) -> Option<String> {
    let mut text = String::from_utf8(text).ok()?;
    // A character has 4 bytes at most.
    text.truncate(text.floor_char_boundary(NoteText::LEN_MAX + 4));
    Some(text)
}

/// One form of what the clipboard has; `None` if it does not have that form.
async fn request(window: &WebviewWindow, target: &'static str) -> Option<Vec<u8>> {
    let (answer, answered) = oneshot::channel();
    // GTK is its main thread's, which goes on meanwhile: the program that copied may be slow to
    // answer.
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
    fn text_that_is_too_long_stays_too_long() {
        assert_eq!(cut(b"caf\xc3\xa9".to_vec()).as_deref(), Some("caf\u{e9}"));
        assert_eq!(cut(b"caf\xe9".to_vec()), None);
        for one in ["a", "\u{e9}", "\u{1f600}"] {
            let len = cut(one.repeat(NoteText::LEN_MAX + 1).into_bytes()).unwrap().len();
            assert!((NoteText::LEN_MAX + 1..=NoteText::LEN_MAX + 4).contains(&len), "{len}");
        }
    }

    #[test]
    fn files_are_read_from_what_file_managers_copy() {
        let own = b"file:///tmp/caf%E9\r\n# a comment\r\nhttps://example.org/x\r\nfile:///tmp/a%20b\r\n";
        assert_eq!(paths(own), [PathBuf::from(OsStr::from_bytes(b"/tmp/caf\xe9")), "/tmp/a b".into()]);
        assert_eq!(paths(b"cut\nfile:///tmp/one\nfile:///tmp/two\0"), [PathBuf::from("/tmp/one"), "/tmp/two".into()]);
        assert_eq!(paths(b"file:relative\nfile:///tmp/nul%00\nplain text"), [] as [PathBuf; 0]);
        assert_eq!(paths(&[0xff; 9]), [] as [PathBuf; 0]);
    }
}
