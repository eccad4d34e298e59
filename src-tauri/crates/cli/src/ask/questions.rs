//! Offers that wait for a person's answer, one question at a time.
use std::collections::VecDeque;
use std::time::{Duration, Instant};

use ringway_engine::{IncomingOffer, covered_by};
use ringway_model::{Fault, Offer, OnConflict, ShownSize, TransferKey, sentences};

use crate::ask::prompt::{Line, Lines};
use crate::output::Output;
use crate::text::{bytes, count, counted, for_terminal};
use crate::words;

/// Names that a question shows: a line's worth.
const NAMES_SHOWN: usize = 5;

/// How long a question that takes another one's place stands before an answer counts: who is typing
/// needs that to see that it changed.
const GUARD: Duration = Duration::from_secs(1);

/// What a person said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Take it in.
    Accept,
    /// Do not.
    Decline,
}

impl Answer {
    /// Yes or no; none for anything else, ENTER alone included: it must neither let something in
    /// nor turn it away.
    fn parse(line: &str) -> Option<Self> {
        match line.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => Some(Self::Accept),
            "n" | "no" => Some(Self::Decline),
            _ => None,
        }
    }
}

/// Whether a line is a clear yes.
pub(crate) fn is_yes(line: &str) -> bool {
    Answer::parse(line) == Some(Answer::Accept)
}

/// Whether a line is meant as an answer.
pub(crate) fn is_answer(line: &str) -> bool {
    Answer::parse(line).is_some()
}

/// What a typed line did.
pub(crate) enum Typed {
    /// It answers the question that was on the screen.
    Answered(IncomingOffer, Answer, ShownSize),
    /// It answers nothing, and the person has been told.
    Discarded,
    /// It was typed while no question was on the screen.
    Unasked,
}

/// Offers in the order they came; the question about the first one is asked.
#[derive(Default)]
pub(crate) struct Questions {
    waiting: VecDeque<IncomingOffer>,
    asked: Option<Asked>,
    /// When the question before ended, by an answer or because its offer was withdrawn.
    ended: Option<Instant>,
    /// What this run does with existing files, drop boxes aside.
    on_conflict: OnConflict,
}

/// The question on the screen: an answer is about this offer at this size, and about nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Asked {
    key: TransferKey,
    shown: ShownSize,
    /// What was typed before is not an answer to it.
    counts_from: Instant,
    /// It was told how the offer compares with its folder.
    has_compared: bool,
}

impl Asked {
    /// A question that was printed at `now`, when the one before it had ended at `ended`.
    fn new(summary: &Offer, now: Instant, ended: Option<Instant>) -> Self {
        let follows = ended.is_some_and(|ended| now.saturating_duration_since(ended) < GUARD);
        let shown = summary.size();
        let counts_from = if follows { now + GUARD } else { now };
        Self { key: summary.key(), shown, counts_from, has_compared: false }
    }

    fn is_about(&self, summary: &Offer) -> bool {
        self.key == summary.key()
    }

    fn shows(&self, summary: &Offer) -> bool {
        self.is_about(summary)
            && (self.shown.bytes, self.shown.is_final) == (summary.bytes_so_far, summary.totals_final)
    }
}

impl Questions {
    /// Of a run that does that with existing files.
    pub(crate) fn new(on_conflict: OnConflict) -> Self {
        Self { on_conflict, ..Self::default() }
    }

    /// An offer to ask about, when those before it have been answered.
    pub(crate) fn push(&mut self, offer: IncomingOffer) {
        self.waiting.push_back(offer);
    }

    /// Asks about the first offer unless that question is the last thing on the screen already.
    /// What was typed and not entered before is discarded.
    pub(crate) fn ask(&mut self, out: &Output, lines: Option<&mut Lines>) {
        let Some(summary) = self.waiting.front().map(IncomingOffer::summary) else { return };
        let asked = self.asked.filter(|asked| asked.is_about(&summary));
        if asked.is_some() && out.is_asking() {
            return;
        }
        let is_same = asked.is_some_and(|asked| asked.shows(&summary));
        // Also of the same question below something else that was said: an answer that is half
        // typed is not on the screen any more, and was typed without knowing that.
        if let Some(lines) = lines {
            lines.discard();
        }
        out.ask(&question(&summary));
        if !is_same {
            // Only what takes another question's place needs time to be noticed.
            let ended = self.ended.filter(|_| asked.is_none());
            let new = Asked::new(&summary, Instant::now(), ended);
            let counts_from = asked.map_or(new.counts_from, |asked| asked.counts_from.max(new.counts_from));
            let has_compared = asked.is_some_and(|asked| asked.has_compared);
            self.asked = Some(Asked { counts_from, has_compared, ..new });
        }
    }

    /// Resolves with how the offer of the question on the screen compares with its folder, once for
    /// each question.
    pub(crate) fn compared(&self) -> impl Future<Output = TransferKey> + use<> {
        let asked = self.asked.filter(|asked| !asked.has_compared);
        let asked = asked.and_then(|asked| {
            let offer = self.waiting.front().filter(|offer| asked.is_about(&offer.summary()))?;
            Some((asked.key, offer.compared()))
        });
        async move {
            match asked {
                Some((key, compared)) => {
                    compared.await;
                    key
                }
                None => std::future::pending().await,
            }
        }
    }

    /// Tells how it compares; the question is asked again below that.
    pub(crate) fn say_compared(&mut self, key: TransferKey, out: &Output) {
        let Some(asked) = self.asked.as_mut().filter(|asked| asked.key == key) else { return };
        asked.has_compared = true;
        let Some(offer) = self.waiting.front().map(IncomingOffer::summary) else { return };
        let on_conflict = if offer.in_share.is_some() { OnConflict::RenameTop } else { self.on_conflict };
        if let Some(counts) = offer.compared_under(on_conflict).as_ref().and_then(sentences::compared) {
            out.must_say(format_args!("  Compared with that folder: as listed by the sender, {counts}."));
        }
        for says in sentences::would_do(&offer, on_conflict) {
            out.must_say(format_args!("  {}", says.what()));
        }
    }

    /// What a typed line answers.
    pub(crate) fn answer(&mut self, line: &Line, out: &Output) -> Typed {
        let Some(asked) = self.asked else { return Typed::Unasked };
        out.answered();
        if line.typed_at < asked.counts_from {
            out.must_say("That was typed before this question could be read. Please answer it now.");
            return Typed::Discarded;
        }
        let Some(answer) = Answer::parse(&line.text) else {
            out.must_say("Please type y or n.");
            return Typed::Discarded;
        };
        self.end();
        // A question ends with its offer, so this is the first one.
        match self.waiting.pop_front_if(|offer| asked.is_about(&offer.summary())) {
            Some(offer) if answer == Answer::Accept && offer.summary().bytes_so_far > covered_by(asked.shown) => {
                let summary = offer.summary();
                let grown = Fault::Grown { bytes: summary.bytes_so_far }.says().of_peer(Some(&summary.from));
                out.must_say(format_args!("{} Accept again?", grown.what()));
                self.waiting.push_front(offer);
                Typed::Discarded
            }
            Some(offer) => Typed::Answered(offer, answer, asked.shown),
            None => Typed::Discarded,
        }
    }

    /// Forgets an offer that is gone; true if it was there.
    pub(crate) fn withdraw(&mut self, key: TransferKey) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|offer| offer.summary().key() != key);
        if self.asked.is_some_and(|asked| asked.key == key) {
            self.end();
        }
        before != self.waiting.len()
    }

    /// Dropping an offer declines it.
    pub(crate) fn decline_all(&mut self) {
        self.waiting.clear();
        self.end();
    }

    fn end(&mut self) {
        if self.asked.take().is_some() {
            self.ended = Some(Instant::now());
        }
    }
}

/// The first names of an offer, and how many more there are.
pub(crate) fn named(offer: &Offer) -> String {
    let mut names: Vec<_> = offer.names.iter().take(NAMES_SHOWN).map(for_terminal).collect();
    let more = offer.more_names + offer.names.len().saturating_sub(NAMES_SHOWN) as u64;
    if more > 0 {
        names.push(format!("{} more", count(more)));
    }
    names.join(", ")
}

/// Names that begin with a dot, pointed out: hidden where folders are listed, and read by programs
/// as they start.
fn dotted(offer: &Offer) -> String {
    if offer.dot_names.is_empty() {
        return String::new();
    }
    let mut names: Vec<_> = offer.dot_names.iter().map(for_terminal).collect();
    if offer.more_dot_names > 0 {
        names.push(format!("{} more", count(offer.more_dot_names)));
    }
    let number = offer.dot_names.len() as u64 + offer.more_dot_names;
    format!("\n  WARNING: {}", sentences::dot_names(number, &names.join(", ")).what())
}

fn question(offer: &Offer) -> String {
    let at_least = if offer.totals_final { "" } else { "at least " };
    let entries = if offer.entries_so_far == 1 {
        "1 entry".to_owned()
    } else {
        format!("{} entries", count(offer.entries_so_far))
    };
    let space = offer.free_space.map(|free| words::free_space(offer, free)).unwrap_or_default();
    let because =
        offer.asked_because.as_ref().map(|because| format!("\n  {}", because.says().what())).unwrap_or_default();
    let dotted = dotted(offer);
    let alike = offer.looks_like.as_ref().map(|other| other.says_of_offer(&offer.from, offer.from_id).what());
    let alike = alike.map(|said| format!("\n  WARNING: {said}")).unwrap_or_default();
    format!(
        "{} offers {}: {}\n  {at_least}{entries}, {}{space}{alike}{dotted}{because}\nAccept into {}? [y/n] ",
        for_terminal(&offer.from),
        counted(offer.names.len() as u64 + offer.more_names, "item"),
        named(offer),
        bytes(offer.bytes_so_far),
        for_terminal(&offer.destination),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_model::{AskedBecause, DeviceId, FreeSpace, LookAlike, TransferId};

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

    fn offer() -> Offer {
        Offer {
            id: TransferId([0; 16]),
            from: "laptop".into(),
            from_id: DeviceId([0; 32]),
            looks_like: None,
            names: vec!["data\n\x1b[2Jset".into(), "b".into()],
            kinds: Vec::new(),
            more_names: 0,
            dot_names: Vec::new(),
            more_dot_names: 0,
            entries_so_far: 1_234,
            bytes_so_far: 5_000_000,
            totals_final: false,
            destination: "/in".into(),
            in_share: None,
            is_home: false,
            asked_because: None,
            comparison: None,
            in_place: None,
            updates: Vec::new(),
            renamed: Vec::new(),
            free_space: Some(FreeSpace {
                free_bytes: 2_000_000_000,
                free_entries: None,
                name_max: Some(255),
                writable: true,
                is_exact: true,
            }),
        }
    }

    #[test]
    fn a_question_is_about_one_offer_of_one_device_at_one_size() {
        let now = Instant::now();
        let asked = Asked::new(&offer(), now, None);
        assert!(asked.shows(&offer()));
        let others = [Offer { from_id: DeviceId([1; 32]), ..offer() }, Offer { id: TransferId([1; 16]), ..offer() }];
        for other in others {
            assert!(!asked.is_about(&other) && !asked.shows(&other));
        }
        let grown = Offer { bytes_so_far: 5_000_001, ..offer() };
        assert!(asked.is_about(&grown) && !asked.shows(&grown));
        assert!(!asked.shows(&Offer { totals_final: true, ..offer() }));
    }

    #[test]
    fn a_question_that_takes_anothers_place_is_answered_after_a_moment_only() {
        let now = Instant::now();
        assert_eq!(Asked::new(&offer(), now, None).counts_from, now);
        assert_eq!(Asked::new(&offer(), now, Some(now)).counts_from, now + GUARD);
        assert_eq!(Asked::new(&offer(), now + GUARD, Some(now)).counts_from, now + GUARD);
    }

    #[test]
    fn the_question_shows_names_that_cannot_forge_it() {
        let mut offer = offer();
        assert_eq!(
            question(&offer),
            "laptop offers 2 items: data\\n\\u{1b}[2Jset, b\n  at least 1,234 entries, 5.0 MB; 2.0 GB free here\nAccept into /in? [y/n] "
        );
        offer.free_space = Some(FreeSpace {
            free_bytes: 1_000_000,
            free_entries: Some(1_000),
            name_max: Some(5),
            writable: false,
            is_exact: true,
        });
        assert!(question(&offer).contains(
            "5.0 MB; 1.0 MB free here\n  WARNING: This folder is not writable.\n  WARNING: 4.0 MB more needed, unless part of it already exists.\n  WARNING: The disk can hold only 1,000 more items.\n  WARNING: One name is too long: the disk allows 5 bytes.\n"
        ));
        offer.asked_because = Some(AskedBecause::TooMuch { bytes_max: 1_000_000 });
        assert!(
            question(&offer).ends_with(
                "\n  Ringway accepts up to 1.0 MB automatically from that device, counting what earlier attempts brought.\nAccept into /in? [y/n] "
            )
        );
        offer.dot_names = vec![".bashrc".into(), ".s\nsh".into()];
        offer.more_dot_names = 3;
        let pointed_out = "\n  WARNING: 5 names begin with a dot: .bashrc, .s\\nsh, 3 more. Such files can configure and start programs.\n";
        assert!(question(&offer).contains(pointed_out), "{}", question(&offer));
        offer.looks_like = Some(LookAlike { id: DeviceId([0xab; 32]), name: "l\u{430}ptop\n".into() });
        let pointed_out = "\n  WARNING: The name laptop (0000-0000-0000-0000) looks like that of another device, l\u{430}ptop\\n (abab-abab-abab-abab). ";
        assert!(question(&offer).contains(pointed_out), "{}", question(&offer));
        offer.names = (0..9).map(|number| number.to_string().into()).collect();
        offer.more_names = 1_000;
        assert!(question(&offer).starts_with("laptop offers 1,009 items: 0, 1, 2, 3, 4, 1,004 more\n"));
    }
}
