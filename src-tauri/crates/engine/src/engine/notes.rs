//! Notes: those that were received, and sending one.
use std::time::SystemTime;

use ringway_model::{Device, Fault, Note, NoteText};

use super::Engine;
use crate::send::note::{self, NoteRequest, NoteWaits};

impl Engine {
    /// Sends a note, and resolves once it is kept there. `waits` is told before each pause between
    /// attempts. Dropping it gives up; the note may have arrived then.
    ///
    /// # Errors
    /// It cannot be reached, or does not take the note. [`ringway_model::AuthError::PairingNeeded`]
    /// asks for a second call with a code.
    pub async fn send_note(&self, request: NoteRequest, waits: impl FnMut(NoteWaits) + Send) -> Result<Device, Fault> {
        note::run(&self.shared, request, waits).await
    }

    /// The notes that were received and are kept, the latest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn notes(&self) -> Result<Vec<Note>, Fault> {
        self.shared.store.notes()
    }

    /// A note and its text; none if it is not there.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn note(&self, number: u64) -> Result<Option<(Note, NoteText)>, Fault> {
        self.shared.store.received_note(number)
    }

    /// Changes whenever another program of this device has written to the trust store.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn store_version(&self) -> Result<i64, Fault> {
        self.shared.store.version()
    }

    /// A person has seen the text of a note: from now on it may make room for others. False if it
    /// is not there.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn read_note(&self, number: u64) -> Result<bool, Fault> {
        self.shared.store.read_note(number)
    }

    /// Deletes a note; false if it is not there.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn forget_note(&self, number: u64) -> Result<bool, Fault> {
        self.shared.store.forget_note(number)
    }

    /// Deletes the notes that arrived before a moment, the unread ones only if `unread`; how many
    /// those were.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn forget_notes_before(&self, moment: SystemTime, unread: bool) -> Result<u64, Fault> {
        self.shared.store.forget_notes_before(moment, unread)
    }
}
