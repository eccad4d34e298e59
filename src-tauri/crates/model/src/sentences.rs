//! What command, log and window say alike, in English: faults, failures, interruptions, offers.
//! Each sentence and each next step is one row of [`table`]. This module chooses the row and fills
//! it in; where it is shown, and translation, belong to the programs.
//!
//! A row is text in a subset of ICU's message format: `{name}`, `{name, number}` and
//! `{name, plural, one {# item} other {# items}}`. The window's catalogue `src/messages/en.json`
//! has the same rows; `tests/catalogue.rs` writes them there.
mod fault;
pub mod figures;
mod format;
mod offer;
mod reason;
mod stage;
mod step;
mod table;

use std::fmt::Display;

pub use offer::{Unsuitable, code_ambiguous, compared, dot_names, pairing_failed, replaces, would_do};
pub use reason::{
    copied_so_far, copy_step, failure, missing, nothing_copied, operation, remedy, share_trouble, sync_io, user_tls,
};
pub use stage::outage;
pub use table::ROWS;

use crate::fault::Remedy;

/// A row of the table. A text that a row does not have is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The message's key in the window's catalogue. The key of the next step is the same with
    /// `.next`.
    pub key: &'static str,
    /// What happened.
    pub what: &'static str,
    /// What to do next, in any program.
    pub next: &'static str,
    /// What to do next, in a terminal. Commands stand between backticks.
    pub terminal: &'static str,
    /// What to do next, in the window. Names of buttons and commands stand in quotation marks.
    pub window: &'static str,
}

impl Row {
    /// What to do next, as a terminal shows it.
    pub const fn in_terminal(&self) -> &'static str {
        if self.next.is_empty() { self.terminal } else { self.next }
    }

    /// What to do next, as the window shows it.
    pub const fn in_window(&self) -> &'static str {
        if self.next.is_empty() { self.window } else { self.next }
    }

    /// What happened and the next step.
    fn says(self) -> Says {
        Says { what: self, next: self, given: Vec::new(), remedies: Vec::new() }
    }
}

/// What to say about one fault or reason: its rows, and the values for their placeholders. Text of
/// peers and disks is escaped in the values.
#[derive(Debug, Clone)]
pub struct Says {
    what: Row,
    next: Row,
    given: Vec<(&'static str, String)>,
    remedies: Vec<Remedy>,
}

impl Says {
    /// The same with another row's next step.
    fn and_next(mut self, row: Row) -> Self {
        self.next = row;
        self
    }

    /// The same with another argument.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Display) -> Self {
        self.given.push((name, value.to_string()));
        self
    }

    /// The same with the other device's name, if it is known.
    #[must_use]
    pub fn of_peer(self, name: Option<&str>) -> Self {
        match name {
            Some(name) => self.with("peer", crate::text::Text::from(name)),
            None => self,
        }
    }

    fn with_remedies(mut self, remedies: &[Remedy]) -> Self {
        self.remedies = remedies.to_vec();
        self
    }

    /// What happened.
    pub fn what(&self) -> String {
        format::filled(self.what.what, &self.given)
    }

    /// What to do next in a terminal, with the commands that do it.
    pub fn in_terminal(&self) -> Option<String> {
        let next = format::filled(self.next.in_terminal(), &self.given);
        let sentences: Vec<_> =
            Some(next).filter(|next| !next.is_empty()).into_iter().chain(self.remedies.iter().map(remedy)).collect();
        (!sentences.is_empty()).then(|| sentences.join(" "))
    }

    /// The catalogue's keys of both, from which the window chooses. None for the second if there is
    /// no next step.
    pub fn keys(&self) -> (String, Option<String>) {
        let next = Some(self.next).filter(|row| !row.in_window().is_empty());
        (self.what.key.to_owned(), next.map(|row| format!("{}.next", row.key)))
    }
}
