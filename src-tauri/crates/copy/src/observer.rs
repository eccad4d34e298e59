//! The events of a copy, reported as they happen. Figures are polled instead
//! ([`CopyHandle::progress`](crate::CopyHandle::progress)).
use ringway_model::Failure;

/// Files, folders and links, and the bytes of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    /// Files, folders, links and special files; while reading back, files alone.
    pub entries: u64,
    /// Bytes of file contents.
    pub bytes: u64,
}

/// Receives a copy's events. The copy's threads call it, and wait for each call to return.
pub trait Observer: Send + Sync {
    /// An entry was not copied, or not completely.
    fn entry_failed(&self, failure: Failure);

    /// A thread has paused, as requested. The figures include everything that it did before.
    fn thread_paused(&self);

    /// Everything was copied. The copy reads back `total`: its files and their bytes.
    fn verification_started(&self, total: Amount);

    /// One source was read back. The copy continues with the next one.
    fn copying_resumed(&self);
}

/// For copies without an observer.
#[cfg(test)]
pub(crate) struct Unobserved;

#[cfg(test)]
impl Observer for Unobserved {
    fn entry_failed(&self, _: Failure) {}
    fn thread_paused(&self) {}
    fn verification_started(&self, _: Amount) {}
    fn copying_resumed(&self) {}
}
