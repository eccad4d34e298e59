//! Offers that wait for a person's answer, one question at a time.
use std::collections::VecDeque;

use ringway_engine::{Decision, IncomingOffer, OfferSummary, TransferId};

use crate::output::Output;
use crate::rule;
use crate::text::{bytes, count, counted, for_terminal};
use crate::words;

/// Names that a question shows: a line's worth.
const NAMES_SHOWN: usize = 5;

/// What a person said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Take it in.
    Accept,
    /// Do not.
    Decline,
}

impl Answer {
    /// Yes or no; none for anything else, ENTER alone included: it must neither let something in nor turn it away.
    fn parse(line: &str) -> Option<Self> {
        match line.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => Some(Self::Accept),
            "n" | "no" => Some(Self::Decline),
            _ => None,
        }
    }
}

/// Offers in the order they came; the question about the first one stands.
#[derive(Default)]
pub(crate) struct Questions {
    waiting: VecDeque<IncomingOffer>,
}

impl Questions {
    /// Whether no question stands.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// An offer to ask about, when those before it have been answered.
    pub(crate) fn push(&mut self, offer: IncomingOffer) {
        self.waiting.push_back(offer);
    }

    /// Asks the first question unless it stands at the terminal's end already: something else may have been said below it.
    pub(crate) fn ask(&self, out: &Output) {
        if let Some(offer) = self.waiting.front().filter(|_| !out.is_asking()) {
            out.ask(&question(&offer.summary()));
        }
    }

    /// What a typed line answers.
    pub(crate) fn answer(&mut self, line: &str, out: &Output) -> Option<(IncomingOffer, Answer)> {
        if self.waiting.is_empty() {
            return None;
        }
        out.answered();
        let Some(answer) = Answer::parse(line) else {
            out.must_say("Please type y or n.");
            return None;
        };
        self.waiting.pop_front().map(|offer| (offer, answer))
    }

    /// Forgets an offer that is gone; true if it was there.
    pub(crate) fn withdraw(&mut self, id: TransferId) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|offer| offer.summary().id != id);
        before != self.waiting.len()
    }

    /// Dropping an offer declines it.
    pub(crate) fn decline_all(&mut self) {
        self.waiting.clear();
    }
}

/// The first names of an offer, and how many more there are.
pub(crate) fn named(offer: &OfferSummary) -> String {
    let mut names: Vec<_> = offer.names.iter().take(NAMES_SHOWN).map(for_terminal).collect();
    let more = offer.more_names + offer.names.len().saturating_sub(NAMES_SHOWN) as u64;
    if more > 0 {
        names.push(format!("{} more", count(more)));
    }
    names.join(", ")
}

fn question(offer: &OfferSummary) -> String {
    let at_least = if offer.totals_final { "" } else { "at least " };
    let entries = if offer.entries_so_far == 1 {
        "1 entry".to_owned()
    } else {
        format!("{} entries", count(offer.entries_so_far))
    };
    let room = offer.room.map(|room| words::room(offer, room)).unwrap_or_default();
    let because = match &offer.decision {
        Decision::Ask(Some(because)) => format!("\n  You are asked because {}.", rule::asked_because(because)),
        _ => String::new(),
    };
    format!(
        "{} offers {}: {}\n  {at_least}{entries}, {}{room}{because}\nAccept? [y/n] ",
        for_terminal(&offer.from_name),
        counted(offer.names.len() as u64 + offer.more_names, "item"),
        named(offer),
        bytes(offer.bytes_so_far),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_engine::{AskedBecause, DeviceId, Room};

    #[test]
    fn only_a_clear_answer_is_one() {
        for yes in ["y", "Y", " yes ", "YES"] {
            assert_eq!(Answer::parse(yes), Some(Answer::Accept));
        }
        for no in ["n", "No"] {
            assert_eq!(Answer::parse(no), Some(Answer::Decline));
        }
        for neither in ["", " ", "yesterday", "nope", "1"] {
            assert_eq!(Answer::parse(neither), None, "{neither:?}");
        }
    }

    #[test]
    fn the_question_shows_names_that_cannot_forge_it() {
        let mut offer = OfferSummary {
            id: TransferId([0; 16]),
            from: DeviceId([0; 32]),
            from_name: "laptop".into(),
            names: vec!["data\n\x1b[2Jset".into(), "b".into()],
            more_names: 0,
            entries_so_far: 1_234,
            bytes_so_far: 5_000_000,
            totals_final: false,
            decision: Decision::Ask(None),
            destination: "/in".into(),
            room: Some(Room {
                free_bytes: 2_000_000_000,
                free_entries: None,
                name_max: Some(255),
                is_writable: true,
                is_exact: true,
            }),
        };
        assert_eq!(
            question(&offer),
            "laptop offers 2 items: data\\n\\u{1b}[2Jset, b\n  at least 1,234 entries, 5.0 MB; 2.0 GB free here\nAccept? [y/n] "
        );
        offer.room = Some(Room {
            free_bytes: 1_000_000,
            free_entries: Some(1_000),
            name_max: Some(5),
            is_writable: false,
            is_exact: true,
        });
        assert!(question(&offer).contains(
            "5.0 MB; 1.0 MB free here, but THIS FOLDER CANNOT BE WRITTEN TO, 4.0 MB TOO LITTLE unless some of it is here already, and room for 1,000 entries ONLY, and names may have 5 bytes at most\n"
        ));
        offer.decision = Decision::Ask(Some(AskedBecause::TooMuch { bytes_max: 1_000_000 }));
        assert!(
            question(&offer)
                .ends_with("\n  You are asked because its rule lets in 1.0 MB without asking.\nAccept? [y/n] ")
        );
        offer.names = (0..9).map(|number| number.to_string().into()).collect();
        offer.more_names = 1_000;
        assert!(question(&offer).starts_with("laptop offers 1,009 items: 0, 1, 2, 3, 4, 1,004 more\n"));
    }
}
