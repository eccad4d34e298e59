//! Has work done for a thread that is confined to the destination by one that is not.
use std::sync::mpsc::channel;
use std::time::Duration;

use tokio::runtime::Handle;

/// The store itself waits at most 5 s for another program that writes.
const DONE_WITHIN: Duration = Duration::from_secs(10);

/// The runtime's own threads. They were started before any thread was confined: what a confined
/// thread starts is confined as it is.
#[derive(Clone)]
pub(in crate::receiving) struct Outside(Handle);

impl Outside {
    /// Of the runtime that calls this.
    pub(in crate::receiving) fn new() -> Self {
        Self(Handle::current())
    }

    /// What comes of it; `None` if that takes too long, or the runtime ends.
    ///
    /// SQLite opens the journal that a killed program has left before it reads, and a confined
    /// thread cannot open that.
    pub(in crate::receiving) fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let (done, result) = channel();
        drop(self.0.spawn(async move { done.send(work()) }));
        result.recv_timeout(DONE_WITHIN).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use ringway_sys::dir::Dir;
    use rusqlite::Connection;

    use super::*;
    use crate::store::Store;
    use ringway_model::DeviceId;
    use ringway_tree::receive::Brought;

    const DEVICE: DeviceId = DeviceId([1; 32]);

    /// What a program leaves that is killed while it writes: some of it is in the database, and the
    /// journal says what was there before.
    fn leave_journal(folder: &std::path::Path) {
        let (database, journal) = (folder.join("ringway.db"), folder.join("ringway.db-journal"));
        let other = Connection::open(&database).unwrap();
        other.execute_batch("PRAGMA cache_size = 1; BEGIN IMMEDIATE; CREATE TABLE killed (what BLOB);").unwrap();
        for _ in 0..100 {
            other.execute("INSERT INTO killed VALUES (randomblob(4000))", []).unwrap();
        }
        let left = [&database, &journal].map(|path| (path, fs::read(path).unwrap()));
        other.execute_batch("ROLLBACK").unwrap();
        drop(other);
        left.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
    }

    #[test]
    fn a_confined_thread_reads_the_store_of_a_program_that_was_killed() {
        if let Err(why) = ringway_sys::confine::support() {
            println!("skipped: a_confined_thread_reads_the_store_of_a_program_that_was_killed: {why:?}");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(folder.path()).unwrap());
        store.pin(DEVICE, "laptop", "").unwrap();
        let (paired, brought) = (store.pairing(DEVICE).unwrap(), Brought::of_number(7));
        store.note_brought(paired, &[(b"/x/data".to_vec(), brought.clone())]).unwrap();
        let destination = tempfile::tempdir().unwrap();
        let beneath = Dir::open(destination.path()).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let outside = Outside(runtime.handle().clone());
        leave_journal(folder.path());
        let confined = std::thread::spawn(move || {
            ringway_sys::confine::thread_beneath(&beneath).unwrap();
            assert!(store.brought(DEVICE, b"/x/data").is_err(), "it could have been asked from here");
            outside.run(move || store.brought(DEVICE, b"/x/data").unwrap())
        });
        assert_eq!(confined.join().unwrap(), Some(Some(brought)));
    }
}
