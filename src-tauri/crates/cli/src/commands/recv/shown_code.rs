//! The receiver's code as people see it: how it is shown, and when a new one is drawn without being
//! asked for.
use std::time::SystemTime;

use crate::text::for_how_long;

/// What to do after the code changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A code is open.
    Nothing,
    /// Draw a new one, if the receiver still does so unasked; the line says why.
    Replace(&'static str),
    /// Pairing stays closed until a person does something; the line says why.
    Closed(&'static str),
}

/// Why the last code went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gone {
    Used,
    Burnt,
    Expired,
}

/// Keeps account of one receiver's codes.
#[derive(Debug)]
pub(crate) struct CodeBoard {
    /// The code was given by file or environment: it must not be replaced by one that nobody may be
    /// there to read.
    given: bool,
    valid_until: Option<SystemTime>,
    used: bool,
    closed: bool,
}

impl CodeBoard {
    /// For a receiver that draws its codes, or was given one.
    pub(crate) fn new(given: bool) -> Self {
        Self { given, valid_until: None, used: false, closed: false }
    }

    /// A code was opened.
    pub(crate) fn opened(&mut self, valid_until: Option<SystemTime>) {
        self.valid_until = valid_until;
        self.closed = false;
    }

    /// Someone paired: the code was used up.
    pub(crate) fn paired(&mut self) {
        self.used = true;
    }

    /// A person at the receiver asks for a new code: from now on codes are drawn.
    pub(crate) fn asked(&mut self) {
        self.given = false;
    }

    /// No code is drawn any more until a person asks for one.
    pub(crate) fn closed(&mut self) {
        self.closed = true;
    }

    /// Whether the code has run out since it was opened.
    pub(crate) fn has_expired(&self, now: SystemTime) -> bool {
        !self.closed && self.valid_until.is_some_and(|until| until <= now)
    }

    /// What to do now that the code changed; `once` receivers have no use for a second code after a
    /// success.
    pub(crate) fn changed(&mut self, is_open: bool, once: bool) -> Change {
        if is_open || self.closed {
            return Change::Nothing;
        }
        let gone = self.gone(SystemTime::now());
        self.valid_until = None;
        let replace = gone != Gone::Used || !once;
        if replace && !self.given {
            return Change::Replace(match gone {
                Gone::Used => "The code has been used; here is a new one for the next device.",
                Gone::Burnt => "Three wrong tries: the code is void. Here is a new one.",
                Gone::Expired => "The code has run out; here is a new one.",
            });
        }
        self.closed = true;
        match gone {
            Gone::Used if once => Change::Nothing,
            Gone::Used => Change::Closed("The code has been used."),
            Gone::Burnt => Change::Closed("Three wrong tries: the code is void."),
            Gone::Expired => Change::Closed("The code has run out."),
        }
    }

    fn gone(&mut self, now: SystemTime) -> Gone {
        if std::mem::take(&mut self.used) {
            Gone::Used
        } else if self.has_expired(now) {
            Gone::Expired
        } else {
            Gone::Burnt
        }
    }

    /// The line that shows the code; without a text it is a given one.
    pub(crate) fn line(&self, text: Option<String>, now: SystemTime) -> String {
        let valid = self.valid_until.map(|until| for_how_long(until, now));
        match (text, valid) {
            (Some(text), Some(valid)) => format!("  Code:     {text}   (valid for {valid}, for one device)"),
            (Some(text), None) => format!("  Code:     {text}"),
            (None, Some(valid)) => format!("  Code:     the one that was given (valid for {valid}, for one device)"),
            (None, None) => "  Code:     the standing secret that was given".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn board(given: bool) -> CodeBoard {
        let mut board = CodeBoard::new(given);
        board.opened(Some(SystemTime::now() + Duration::from_secs(600)));
        board
    }

    fn renewed(board: &mut CodeBoard, once: bool) -> bool {
        let renew = matches!(board.changed(false, once), Change::Replace(_));
        if renew {
            board.opened(Some(SystemTime::now() + Duration::from_secs(600)));
        }
        renew
    }

    #[test]
    fn a_burnt_code_is_replaced_until_the_receiver_draws_no_more_unasked() {
        let mut board = board(false);
        assert!(renewed(&mut board, true));
        board.closed();
        assert_eq!(board.changed(false, true), Change::Nothing, "said once");
        assert!(!board.has_expired(SystemTime::now() + Duration::from_secs(1 << 30)), "nor does it run out any more");
        board.asked();
        board.opened(None);
        assert!(renewed(&mut board, true), "a person's wish counts afresh");
    }

    #[test]
    fn a_used_code_is_replaced_unless_one_transfer_is_all_that_is_wanted() {
        let mut many = board(false);
        many.paired();
        assert!(renewed(&mut many, false));
        let mut one = board(false);
        one.paired();
        assert_eq!(one.changed(false, true), Change::Nothing);
    }

    #[test]
    fn a_given_code_is_never_replaced_unasked() {
        let mut board = board(true);
        assert!(matches!(board.changed(false, false), Change::Closed(_)));
        board.asked();
        board.opened(None);
        assert!(renewed(&mut board, false));
    }

    #[test]
    fn expiry_is_seen_once_and_leads_to_a_new_code() {
        let mut board = CodeBoard::new(false);
        let now = SystemTime::now();
        board.opened(Some(now - Duration::from_secs(1)));
        assert!(board.has_expired(now));
        assert!(matches!(board.changed(false, false), Change::Replace(why) if why.contains("run out")));
        board.opened(Some(now + Duration::from_secs(600)));
        assert!(!board.has_expired(now));
        assert_eq!(board.changed(true, false), Change::Nothing);
    }

    #[test]
    fn a_standing_secret_never_expires() {
        let mut board = CodeBoard::new(true);
        board.opened(None);
        assert!(!board.has_expired(SystemTime::now() + Duration::from_secs(1 << 30)));
        assert!(board.line(None, SystemTime::now()).contains("standing secret"));
    }

    #[test]
    fn the_line_shows_the_code_and_how_long_it_lasts() {
        let line = board(false).line(Some("42-river-castle".into()), SystemTime::now());
        assert!(line.contains("42-river-castle") && line.contains("10 minutes"), "{line}");
    }
}
