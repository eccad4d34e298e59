//! Runs `ringway doctor`, whose checks belong to the command, and returns what it prints.
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use ringway_model::{Fault, Operation};

use crate::text::shown_text;

/// Its checks take under a second. A disk that does not answer must not keep a window waiting.
const RUNS_MAX: Duration = Duration::from_secs(20);
/// Twenty times what it prints.
const PRINTS_MAX: u64 = 64 * 1024;

/// What it prints, each line safe to show.
///
/// # Errors
/// It cannot be run, or prints nothing in time.
pub(crate) fn report(program: &Path) -> Result<String, Fault> {
    let mut command = Command::new(program);
    command.arg("doctor").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|source| Fault::path(program, Operation::Open, source))?;
    let printed = child.stdout.take();
    let (sender, read) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is still worth having.
        let _ = printed.map(|printed| printed.take(PRINTS_MAX).read_to_end(&mut bytes));
        let _ = sender.send(bytes);
    });
    let bytes = read.recv_timeout(RUNS_MAX).unwrap_or_default();
    // It has ended by itself, unless it took too long or printed too much.
    let _ = child.kill();
    let _ = child.wait();
    if bytes.is_empty() {
        return Err(Fault::machine("the doctor printed nothing"));
    }
    Ok(safe(&bytes))
}

fn safe(printed: &[u8]) -> String {
    String::from_utf8_lossy(printed).lines().map(shown_text).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    // Programs that every machine has stand in for the command: a script written here could be
    // busy (ETXTBSY) while another test forks.

    #[test]
    fn report_is_what_the_command_prints() {
        assert_eq!(report(Path::new("/bin/echo")).unwrap(), "doctor");
    }

    #[test]
    fn controls_are_escaped() {
        assert_eq!(safe(b"ok  one\nnote \x1b[31mtwo\n"), "ok  one\nnote \\u{1b}[31mtwo");
    }

    #[test]
    fn command_that_prints_nothing_is_a_fault() {
        assert!(report(Path::new("/bin/false")).is_err());
        assert!(report(Path::new("/missing/ringway")).is_err());
    }

    #[test]
    fn endless_output_is_cut() {
        assert!(report(Path::new("/usr/bin/yes")).unwrap().len() as u64 <= PRINTS_MAX);
    }
}
