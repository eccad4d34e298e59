//! Windows of chunks that the receiver was asked about, until the lanes that asked take its
//! answers.
use std::collections::HashMap;

use ringway_wire::ProtocolError;
use ringway_wire::control::Wanted;

/// The windows of all files.
#[derive(Default)]
pub(in crate::send) struct Windows {
    /// By their numbers: how many chunks, and which of them are wanted, once that is known.
    asked: HashMap<u32, (usize, Option<Vec<bool>>)>,
    /// Files that are being asked about. Lanes will be able to help with them.
    files: usize,
}

impl Windows {
    /// Notes that a file is being asked about, or no longer is.
    pub(in crate::send) fn asks(&mut self, asks: bool) {
        self.files = if asks { self.files + 1 } else { self.files - 1 };
    }

    /// Whether any file is being asked about.
    pub(in crate::send) fn is_asking(&self) -> bool {
        self.files > 0
    }

    /// Expects an answer for this many chunks.
    pub(in crate::send) fn expect(&mut self, number: u32, chunks: usize) {
        self.asked.insert(number, (chunks, None));
    }

    /// Handles an answer; `None` if it does not belong to a window.
    pub(in crate::send) fn answer(&mut self, answer: &Wanted) -> Option<Result<(), ProtocolError>> {
        let (chunks, said) = self.asked.get_mut(&answer.list)?;
        if said.is_some() || answer.files.len() != *chunks || !answer.has.is_empty() || answer.basis > 0 {
            return Some(Err(ProtocolError::BadValue("answer to a list")));
        }
        *said = Some(answer.files.clone());
        Some(Ok(()))
    }

    /// Which chunks of a window are wanted, if that is known.
    pub(in crate::send) fn take(&mut self, number: u32) -> Option<Vec<bool>> {
        let wanted = self.asked.get_mut(&number)?.1.take()?;
        self.asked.remove(&number);
        Some(wanted)
    }

    /// Forgets all windows, because no lane waits any more.
    pub(in crate::send) fn clear(&mut self) {
        self.asked.clear();
    }
}
