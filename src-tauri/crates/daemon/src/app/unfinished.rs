//! What transfers that did not end keep, for the window: listed, and removed when a person says so.

use ringway_model::{Direction, Fault};

use super::App;
use crate::dto::Unfinished;

impl App {
    /// What is kept, the latest first, but for what a transfer is at work in, or waits to go on
    /// with.
    pub fn unfinished(&self) -> Result<Vec<Unfinished>, Fault> {
        let found = self.inner.engine.unfinished()?;
        let under_way = self.running_of(|transfer| transfer.direction() == Direction::Receiving);
        let under_way: Vec<_> = under_way.iter().map(|transfer| (transfer.peer(), transfer.title())).collect();
        let waits = |left: &ringway_engine::Unfinished| {
            under_way.iter().any(|(peer, (title, more))| {
                let (from, named) = (peer.as_ref().map(|(_, name)| name), left.names.len() as u64 + left.more_names);
                from == left.from.as_ref() && Some(title) == left.names.first() && more + 1 == named
            })
        };
        Ok(found.iter().filter(|left| !left.is_in_use && !waits(left)).map(Unfinished::from).collect())
    }

    /// Removes one, told by its id and folder as they are listed; the same send again begins anew.
    ///
    /// # Errors
    /// [`Fault::Gone`] where it is not there any more, or a transfer goes on with it by now.
    pub fn discard_unfinished(&self, id: &str, folder: &str) -> Result<(), Fault> {
        let engine = &self.inner.engine;
        let found = engine.unfinished()?;
        let asked = |left: &&ringway_engine::Unfinished| {
            let told = Unfinished::from(*left);
            told.id == id && told.folder == folder
        };
        let left = found.iter().find(asked).ok_or(Fault::Gone)?;
        if engine.discard_unfinished(left)? { Ok(()) } else { Err(Fault::Gone) }
    }
}
