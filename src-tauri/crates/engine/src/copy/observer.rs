//! What a copy tells whoever watches it, at the moment it happens. Figures are asked for instead
//! ([`CopyHandle::progress`](super::CopyHandle::progress)).
use super::handle::Amount;
use crate::error::Failure;

/// Told of a copy's events by its threads, which wait for each call to return.
pub trait Observer: Send + Sync {
    /// An entry was not copied, or not wholly.
    fn entry_failed(&self, failure: Failure);

    /// A thread has reached its resting place in a paused copy. The figures hold what it did before.
    fn thread_paused(&self);

    /// Everything was copied, and so many files and bytes are read back.
    fn verification_started(&self, total: Amount);

    /// A source was read back, and the next one is copied.
    fn copying_resumed(&self);
}

/// For copies that nobody watches.
#[cfg(test)]
pub(super) struct Unobserved;

#[cfg(test)]
impl Observer for Unobserved {
    fn entry_failed(&self, _: Failure) {}
    fn thread_paused(&self) {}
    fn verification_started(&self, _: Amount) {}
    fn copying_resumed(&self) {}
}
