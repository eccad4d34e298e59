//! Windows of chunks that the receiver has been asked about, until the lanes that have asked take
//! its answers.
use std::collections::HashMap;

use ringway_wire::ProtocolError;
use ringway_wire::control::Wanted;

/// Those of all files.
#[derive(Default)]
pub(in crate::send) struct Windows {
    /// By their numbers: how many chunks, and which of them are wanted, once that is said.
    asked: HashMap<u32, (usize, Option<Vec<bool>>)>,
    /// Files that are being asked about: there will be something of them to help with.
    files: usize,
}

impl Windows {
    /// A file is being asked about, or is not any more.
    pub(in crate::send) fn asks(&mut self, asks: bool) {
        self.files = if asks { self.files + 1 } else { self.files - 1 };
    }

    /// Whether any is.
    pub(in crate::send) fn is_asking(&self) -> bool {
        self.files > 0
    }

    /// Expects an answer for so many chunks.
    pub(in crate::send) fn expect(&mut self, number: u32, chunks: usize) {
        self.asked.insert(number, (chunks, None));
    }

    /// Takes an answer in; none if it is not to a window.
    pub(in crate::send) fn answer(&mut self, answer: &Wanted) -> Option<Result<(), ProtocolError>> {
        let (chunks, said) = self.asked.get_mut(&answer.list)?;
        if said.is_some() || answer.files.len() != *chunks || !answer.has.is_empty() || answer.basis > 0 {
            return Some(Err(ProtocolError::BadValue("answer to a list")));
        }
        *said = Some(answer.files.clone());
        Some(Ok(()))
    }

    /// Which chunks of a window are wanted, if that has been said.
    pub(in crate::send) fn take(&mut self, number: u32) -> Option<Vec<bool>> {
        let wanted = self.asked.get_mut(&number)?.1.take()?;
        self.asked.remove(&number);
        Some(wanted)
    }

    /// Nobody waits any more.
    pub(in crate::send) fn clear(&mut self) {
        self.asked.clear();
    }
}
