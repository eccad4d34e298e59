//! Looks at folders whose filesystem may not answer, as when the server behind it is away. Each
//! look has a thread of its own, for which nobody waits longer than a few seconds.
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use crate::limits::LOOK_TIME_MAX;

/// The looks that have not ended, at most one at each folder: however often somebody asks about a
/// folder, at most one thread hangs there.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    begun: Mutex<HashMap<PathBuf, Instant>>,
    ended: Condvar,
}

/// A look under way.
#[derive(Debug)]
pub(crate) struct Look<T> {
    found: Receiver<T>,
    until: Instant,
}

impl Looks {
    /// Begins to look at a folder, once an earlier look at it has ended.
    ///
    /// # Errors
    /// [`io::ErrorKind::TimedOut`] if an earlier look gets no answer. There may be no thread.
    pub(crate) fn begin<T: Send + 'static>(
        self: &Arc<Self>,
        at: &Path,
        look: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<Look<T>> {
        let until = Instant::now() + LOOK_TIME_MAX;
        let turn = self.turn(at, until)?;
        let (say, found) = sync_channel(1);
        let look = move || {
            let found = look();
            drop(turn);
            // Nobody may wait any more.
            let _ = say.send(found);
        };
        thread::Builder::new().name("ringway-look".into()).spawn(look)?;
        Ok(Look { found, until })
    }

    /// Looks at a folder.
    ///
    /// # Errors
    /// [`io::ErrorKind::TimedOut`] if its filesystem does not answer. There may be no thread.
    pub(crate) fn look<T: Send + 'static>(
        self: &Arc<Self>,
        at: &Path,
        look: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        self.begin(at, look)?.wait()
    }

    /// Whether the filesystem at a path answers, if only that nothing is there.
    pub(crate) fn answers(self: &Arc<Self>, at: &Path) -> bool {
        let path = at.to_owned();
        let looked = self.look(at, move || rustix::fs::statfs(&path).map(drop));
        !looked.is_err_and(|error| error.kind() == io::ErrorKind::TimedOut)
    }

    fn turn(self: &Arc<Self>, at: &Path, until: Instant) -> io::Result<Turn> {
        let mut begun = self.begun.lock();
        while let Some(since) = begun.get(at) {
            let until = until.min(*since + LOOK_TIME_MAX);
            if Instant::now() >= until {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.ended.wait_until(&mut begun, until);
        }
        begun.insert(at.to_owned(), Instant::now());
        Ok(Turn { looks: Arc::clone(self), at: at.to_owned() })
    }
}

impl<T> Look<T> {
    /// Waits for what it finds.
    ///
    /// # Errors
    /// [`io::ErrorKind::TimedOut`].
    pub(crate) fn wait(self) -> io::Result<T> {
        let left = self.until.saturating_duration_since(Instant::now());
        self.found.recv_timeout(left).map_err(|_| io::ErrorKind::TimedOut.into())
    }
}

/// Lets others look there once it is dropped.
struct Turn {
    looks: Arc<Looks>,
    at: PathBuf,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.looks.begun.lock().remove(&self.at);
        self.looks.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_without_an_answer_is_looked_at_once_and_holds_up_no_other() {
        let looks = Arc::<Looks>::default();
        let (hung, other) = (Path::new("/hung"), Path::new("/other"));
        let (answer, waits) = sync_channel::<()>(0);
        let begun = looks.begin(hung, move || waits.recv().is_ok()).unwrap();
        assert_eq!(looks.look(other, || 1).unwrap(), 1);
        assert_eq!(begun.wait().unwrap_err().kind(), io::ErrorKind::TimedOut);
        let again = looks.look(hung, || panic!("a second thread would hang"));
        assert_eq!(again.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(!looks.answers(hung) && looks.answers(other));
        answer.send(()).unwrap();
        while !looks.begun.lock().is_empty() {
            thread::yield_now();
        }
        assert_eq!(looks.look(hung, || 2).unwrap(), 2);
    }
}
