//! Questions at the terminal: lines typed by a person, seen or unseen.
use std::io::{self, BufRead, IsTerminal, Write};
use std::time::Instant;

use parking_lot::Mutex;
use rustix::termios::{LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr};
use tokio::sync::mpsc;
use zeroize::Zeroizing;

/// Lines that may wait to be read: a person types one at a time, and pasted text must not pile up.
const LINES_WAITING_MAX: usize = 16;

/// The longest line that is taken: a standing secret of 1,024 bytes fits.
const LINE_MAX: usize = 2_048;

/// What standard input's terminal was like before echo was turned off.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Whether there is a person to ask: both what is typed and what is asked go by a terminal.
pub(crate) fn is_possible() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// The lines a person types. A thread of its own reads them, since a read from a terminal cannot be
/// called off; it ends with the process.
pub(crate) struct Lines {
    lines: mpsc::Receiver<Line>,
}

/// A line that a person typed.
pub(crate) struct Line {
    /// Without its end.
    pub(crate) text: Zeroizing<String>,
    /// When ENTER was pressed, as near as a reader can tell.
    pub(crate) typed_at: Instant,
}

impl Lines {
    /// Starts to read standard input.
    pub(crate) fn start() -> Self {
        let (tell, lines) = mpsc::channel(LINES_WAITING_MAX);
        std::thread::spawn(move || {
            let mut input = io::stdin().lock();
            while let Ok(Some(text)) = read_line(&mut input) {
                if tell.blocking_send(Line { text, typed_at: Instant::now() }).is_err() {
                    return;
                }
            }
        });
        Self { lines }
    }

    /// The next line without its end, or none at the end of input.
    pub(crate) async fn next(&mut self) -> Option<Zeroizing<String>> {
        Some(self.next_line().await?.text)
    }

    /// The same with the time it was typed at.
    pub(crate) async fn next_line(&mut self) -> Option<Line> {
        self.lines.recv().await
    }

    /// Discards what has been typed and not read so far, a line without its ENTER included.
    pub(crate) fn discard(&mut self) {
        // Where that fails there is no terminal any more, and nothing comes from it.
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
        while self.lines.try_recv().is_ok() {}
    }

    /// Asks, and waits for the line that answers.
    pub(crate) async fn ask(&mut self, question: &str) -> Option<Zeroizing<String>> {
        write(question);
        self.next().await
    }

    /// The same without showing what is typed.
    pub(crate) async fn ask_unseen(&mut self, question: &str) -> Option<Zeroizing<String>> {
        write(question);
        let unseen = Unseen::start();
        let line = self.next().await;
        drop(unseen);
        write("\n");
        line
    }
}

fn write(question: &str) {
    let mut error = io::stderr().lock();
    // Where a question cannot be shown there is nobody to read of it either.
    let _ = error.write_all(question.as_bytes()).and_then(|()| error.flush());
}

/// One line, of which what is too long is thrown away. The buffer has its full size from the start:
/// one that grows leaves copies behind.
pub(crate) fn read_line(input: &mut impl BufRead) -> io::Result<Option<Zeroizing<String>>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(LINE_MAX));
    let mut any = false;
    loop {
        let available = input.fill_buf()?;
        if available.is_empty() {
            break;
        }
        any = true;
        let end = available.iter().position(|byte| *byte == b'\n');
        let part = &available[..end.unwrap_or(available.len())];
        let room = LINE_MAX - bytes.len();
        bytes.extend_from_slice(&part[..part.len().min(room)]);
        let used = end.map_or(available.len(), |end| end + 1);
        input.consume(used);
        if end.is_some() {
            break;
        }
    }
    let line = std::str::from_utf8(&bytes).map(|text| text.trim_end_matches('\r').to_owned()).unwrap_or_default();
    Ok(any.then(|| Zeroizing::new(line)))
}

/// While it lives, what is typed is not shown.
struct Unseen;

impl Unseen {
    fn start() -> Self {
        if let Ok(before) = tcgetattr(io::stdin()) {
            let mut unseen = before.clone();
            unseen.local_modes.remove(LocalModes::ECHO);
            unseen.local_modes.insert(LocalModes::ECHONL);
            if tcsetattr(io::stdin(), OptionalActions::Now, &unseen).is_ok() {
                *BEFORE.lock() = Some(before);
            }
        }
        Self
    }
}

impl Drop for Unseen {
    fn drop(&mut self) {
        restore_echo();
    }
}

/// Shows again what is typed, if it was hidden: also before quitting at once.
pub(crate) fn restore_echo() {
    if let Some(before) = BEFORE.lock().take() {
        // If the terminal is gone there is nothing to restore.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_one_by_one_and_cut_where_they_are_too_long() {
        let long = "x".repeat(LINE_MAX + 100);
        let text = format!("7-river-canal\r\n\n{long}\nlast");
        let mut input = io::BufReader::with_capacity(7, text.as_bytes());
        let mut next = || read_line(&mut input).unwrap().map(|line| line.as_str().to_owned());
        assert_eq!(next().as_deref(), Some("7-river-canal"));
        assert_eq!(next().as_deref(), Some(""));
        assert_eq!(next().map(|line| line.len()), Some(LINE_MAX));
        assert_eq!(next().as_deref(), Some("last"));
        assert_eq!(next(), None);
    }
}
