//! The notes that were received: shown, read and deleted. Clients hear of each change, also of one
//! that another program makes.
use std::sync::Arc;

use parking_lot::Mutex;
use ringway_engine::Engine;
use ringway_model::{Fault, Note};

use super::listeners::Listeners;
use crate::dto::{AppEvent, NoteContents};

/// The notes of the engine's store.
pub(crate) struct Notes {
    engine: Engine,
    listeners: Arc<Listeners>,
    /// The store as it was when notes were looked at last.
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    version: Option<i64>,
    notes: Vec<Note>,
}

impl Notes {
    pub(super) fn new(engine: Engine, listeners: Arc<Listeners>) -> Self {
        Self { engine, listeners, seen: Mutex::default() }
    }

    /// The notes, the latest first.
    ///
    /// # Errors
    /// The trust store cannot be read.
    pub(crate) fn shown(&self) -> Result<Vec<Note>, Fault> {
        self.engine.notes()
    }

    /// One has arrived.
    pub(super) fn came(&self, note: Note) {
        self.listeners.tell(AppEvent::NoteReceived { note: Box::new(note) });
        self.tell();
    }

    /// The text of one.
    ///
    /// # Errors
    /// [`Fault::Gone`], or the trust store cannot be read.
    pub(crate) fn contents(&self, number: u64) -> Result<NoteContents, Fault> {
        let (_, text) = self.engine.note(number)?.ok_or(Fault::Gone)?;
        Ok(NoteContents { shown: text.shown(), text })
    }

    /// A person has seen the text of one, or copied it.
    pub(crate) fn read(&self, number: u64) -> Result<(), Fault> {
        self.engine.read_note(number)?;
        self.tell();
        Ok(())
    }

    /// Deletes one. One that is gone already is as good.
    pub(crate) fn forget(&self, number: u64) -> Result<(), Fault> {
        self.engine.forget_note(number)?;
        self.tell();
        Ok(())
    }

    /// Tells the notes as they are now. A store that cannot be read just now is said by what needs
    /// it.
    pub(super) fn tell(&self) {
        if let Ok(notes) = self.engine.notes() {
            self.seen.lock().notes.clone_from(&notes);
            self.listeners.tell(AppEvent::NotesChanged { notes });
        }
    }

    /// Looks whether another program has changed them.
    pub(super) fn look(&self) {
        let version = self.engine.store_version().ok();
        {
            let mut seen = self.seen.lock();
            if std::mem::replace(&mut seen.version, version) == version {
                return;
            }
        }
        let is_changed = self.engine.notes().is_ok_and(|notes| notes != self.seen.lock().notes);
        if is_changed {
            self.tell();
        }
    }
}
