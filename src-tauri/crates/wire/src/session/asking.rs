//! Questions about shares in a session: which are open, how many pages each may still send, and
//! what an answer may be. One half is the dialler's, which asks, the other the listener's.
use std::collections::{HashMap, VecDeque};

use crate::ProtocolError;
use crate::control::{Answer, EntriesWanted, Message, Question, RangeWanted};
use crate::entries::EntriesCheck;
use crate::limits::{PAGES_AHEAD_MAX, QUESTIONS_MAX};

/// Identifies a question in its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QuestionNumber(pub(crate) u32);

/// The questions that this end has asked.
#[derive(Default)]
pub(super) struct Asking {
    next: u32,
    open: HashMap<u32, Open>,
    /// Parts of answers that may still arrive of questions that are not wanted any more.
    late: u64,
}

/// A question without its whole answer.
enum Open {
    Shares,
    Entries {
        check: EntriesCheck,
        /// Pages that may arrive without being asked for.
        pages: u8,
    },
    Range {
        /// Bytes that may still arrive.
        left: u32,
        /// In so many pages.
        pages: u8,
    },
    /// What a request would move; pages as above.
    Plan {
        pages: u8,
    },
}

impl Asking {
    /// Numbers a question; none while too many are open.
    pub(super) fn ask(&mut self, question: Question) -> Option<(QuestionNumber, Message)> {
        let open = match &question {
            Question::Shares => Open::Shares,
            Question::Entries(EntriesWanted { depth, pages, .. }) => {
                Open::Entries { check: EntriesCheck::new(*depth), pages: *pages }
            }
            Question::Range(RangeWanted { len, .. }) => Open::Range { left: *len, pages: PAGES_AHEAD_MAX },
        };
        let number = self.number(open)?;
        Some((QuestionNumber(number), Message::Asked { number, question }))
    }

    /// Numbers a request of which the plan is asked for; none while too many questions are open.
    pub(super) fn plan(&mut self, pages: u8) -> Option<QuestionNumber> {
        self.number(Open::Plan { pages }).map(QuestionNumber)
    }

    fn number(&mut self, open: Open) -> Option<u32> {
        if self.open.len() >= QUESTIONS_MAX {
            return None;
        }
        let number = self.next;
        self.next = number.checked_add(1)?;
        self.open.insert(number, open);
        Some(number)
    }

    /// Lets an answer send as many pages as this end would take at once; none if it may send about
    /// as many already, or is over.
    pub(super) fn more(&mut self, QuestionNumber(number): QuestionNumber) -> Option<Message> {
        let Some(Open::Entries { pages, .. } | Open::Plan { pages }) = self.open.get_mut(&number) else { return None };
        let more = PAGES_AHEAD_MAX - *pages;
        (more >= PAGES_AHEAD_MAX / 2).then(|| {
            *pages = PAGES_AHEAD_MAX;
            Message::MorePages { number, pages: more }
        })
    }

    /// The rest of an answer is not wanted; none if there is no rest.
    pub(super) fn abandon(&mut self, QuestionNumber(number): QuestionNumber) -> Option<Message> {
        let late = match self.open.remove(&number)? {
            Open::Shares => 1,
            // And that it has ended.
            Open::Entries { pages, .. } | Open::Range { pages, .. } | Open::Plan { pages } => u64::from(pages) + 1,
        };
        self.late += late;
        Some(Message::NotWanted { number })
    }

    /// Checks a part of an answer; none if it is of a question that is not wanted any more.
    pub(super) fn answered(
        &mut self,
        number: u32,
        answer: Answer,
    ) -> Result<Option<(QuestionNumber, Answer)>, ProtocolError> {
        let unexpected = Err(ProtocolError::Unexpected { message: "answer", state: "awaiting no such answer" });
        let Some(open) = self.open.get_mut(&number) else {
            if number >= self.next || self.late == 0 {
                return unexpected;
            }
            self.late -= 1;
            return Ok(None);
        };
        let is_over = match (&mut *open, &answer) {
            (_, Answer::Refused(_)) | (Open::Shares, Answer::Shares(_)) => true,
            (Open::Plan { .. }, Answer::NotPlanned(_)) => true,
            (Open::Entries { pages: 0, .. }, Answer::Entries(_)) => return unexpected,
            (Open::Range { pages: 0, .. }, Answer::Bytes(_)) => return unexpected,
            (Open::Plan { pages: 0 }, Answer::Planned(_)) => return unexpected,
            (Open::Plan { pages }, Answer::Planned(_)) => {
                *pages -= 1;
                answer.is_last()
            }
            (Open::Entries { check, pages }, Answer::Entries(page)) => {
                check.next(page)?;
                *pages -= 1;
                page.is_last()
            }
            (Open::Range { left, pages }, Answer::Bytes(page)) => {
                *pages -= 1;
                let more = ProtocolError::BadValue("bytes of a file");
                *left = left.checked_sub(page.bytes().len() as u32).ok_or(more)?;
                page.is_last()
            }
            _ => return unexpected,
        };
        if is_over {
            self.open.remove(&number);
        }
        Ok(Some((QuestionNumber(number), answer)))
    }
}

/// The questions that this end answers.
#[derive(Default)]
pub(super) struct Answering {
    next: u32,
    open: Vec<QuestionNumber>,
    /// What goes out when nothing else does.
    page: Option<(QuestionNumber, Answer)>,
    /// Short answers, which go before it.
    short: VecDeque<(QuestionNumber, Answer)>,
}

impl Answering {
    /// A question has arrived.
    pub(super) fn asked(&mut self, number: u32) -> Result<QuestionNumber, ProtocolError> {
        if number < self.next {
            return Err(ProtocolError::BadValue("number of a question"));
        }
        self.next = number.checked_add(1).ok_or(ProtocolError::BadValue("number of a question"))?;
        if self.open.len() >= QUESTIONS_MAX {
            let (value, limit) = (self.open.len() as u64 + 1, QUESTIONS_MAX as u64);
            return Err(ProtocolError::TooLarge { what: "questions", value, limit });
        }
        self.open.push(QuestionNumber(number));
        Ok(QuestionNumber(number))
    }

    /// An open question of that number; none if its answer is out, as it may be without the other
    /// end knowing.
    pub(super) fn open(&self, number: u32) -> Result<Option<QuestionNumber>, ProtocolError> {
        if number >= self.next {
            return Err(ProtocolError::BadValue("number of a question"));
        }
        Ok(Some(QuestionNumber(number)).filter(|number| self.open.contains(number)))
    }

    pub(super) fn is_idle(&self) -> bool {
        self.open.is_empty()
    }

    /// The question has its whole answer, or is not wanted any more.
    pub(super) fn close(&mut self, number: QuestionNumber) {
        self.open.retain(|open| *open != number);
        if self.page.as_ref().is_some_and(|(of, _)| *of == number) {
            self.page = None;
        }
    }

    /// Whether another part of an answer is taken. A peer that asks and does not read makes no more
    /// than this wait.
    pub(super) fn takes_page(&self) -> bool {
        self.page.is_none() && self.short.len() < QUESTIONS_MAX
    }

    /// Keeps an answer until it can be sent. Of a question that is not open nothing is.
    pub(super) fn answer(&mut self, number: QuestionNumber, answer: Answer) {
        if !self.open.contains(&number) {
            return;
        }
        match answer {
            page if page.is_page() => self.page = Some((number, page)),
            answer => {
                self.close(number);
                self.short.push_back((number, answer));
            }
        }
    }

    /// What to say next, and the question that it answers.
    pub(super) fn say(&mut self) -> Option<(Message, QuestionNumber)> {
        let (number, answer) = self.short.pop_front().or_else(|| self.page.take())?;
        if answer.is_last() {
            self.open.retain(|open| *open != number);
        }
        Some((Message::Answered { number: number.0, answer }, number))
    }
}

#[cfg(test)]
mod tests {
    use ringway_model::ShareName;

    use super::*;
    use crate::control::{BytesPage, FileState, NoAnswer};
    use crate::entries::{Depth, EntriesWriter};

    fn listing(pages: u8) -> Question {
        let share = ShareName::new("runs").unwrap();
        Question::Entries(EntriesWanted { share, path: Vec::new(), depth: Depth::Folder, changed_since: None, pages })
    }

    fn page(is_last: bool) -> Answer {
        let mut writer = EntriesWriter::default();
        if !is_last {
            let path = crate::RelPath::new(b"a").unwrap();
            writer.push(&crate::entries::FolderEntry { path, what: Err(1) });
        }
        Answer::Entries(writer.page(is_last))
    }

    #[test]
    fn no_more_pages_arrive_than_were_asked_for() {
        let mut asking = Asking::default();
        let (number, _) = asking.ask(listing(1)).unwrap();
        assert!(asking.answered(0, page(false)).unwrap().is_some());
        assert!(asking.answered(0, page(true)).is_err(), "it was asked for one page");
        let mut asking = Asking::default();
        asking.ask(listing(1)).unwrap();
        assert!(asking.answered(0, page(false)).unwrap().is_some());
        let more = asking.more(number).unwrap();
        assert_eq!(more, Message::MorePages { number: 0, pages: PAGES_AHEAD_MAX });
        assert!(asking.more(number).is_none(), "nothing of them has arrived");
        assert!(asking.answered(0, page(true)).unwrap().is_some());
        assert!(asking.answered(0, page(true)).is_err() && asking.more(number).is_none(), "it is over");
    }

    #[test]
    fn no_more_of_a_file_arrives_than_was_asked_for() {
        let wanted = |len| {
            let share = ShareName::new("runs").unwrap();
            Question::Range(RangeWanted { share, path: b"a".to_vec(), offset: 1 << 40, len })
        };
        let file = FileState { size: 9, mtime: crate::lane::Timestamp::default() };
        let (some, last) = (
            |len| Answer::Bytes(BytesPage::more(vec![0; len])),
            |len| Answer::Bytes(BytesPage::last(vec![0; len], file)),
        );
        let mut asking = Asking::default();
        asking.ask(wanted(10)).unwrap();
        assert!(asking.answered(0, some(6)).unwrap().is_some() && asking.answered(0, last(4)).unwrap().is_some());
        assert!(asking.answered(0, last(0)).is_err(), "it is over");
        let (number, _) = asking.ask(wanted(10)).unwrap();
        assert!(asking.more(number).is_none() && asking.answered(1, page(true)).is_err());
        assert!(asking.answered(1, last(11)).is_err());
        asking.ask(wanted(10)).unwrap();
        assert!(asking.answered(2, last(3)).unwrap().is_some(), "the file ends before");
    }

    #[test]
    fn answers_to_other_questions_are_refused() {
        let mut asking = Asking::default();
        asking.ask(listing(4)).unwrap();
        asking.ask(Question::Shares).unwrap();
        assert!(asking.answered(0, Answer::Shares(Vec::new())).is_err());
        assert!(asking.answered(1, page(true)).is_err());
        assert!(asking.answered(7, page(true)).is_err());
        assert!(asking.answered(1, Answer::Refused(NoAnswer::Busy)).unwrap().is_some());
        assert!(asking.answered(1, Answer::Shares(Vec::new())).is_err(), "it has its answer");
    }

    #[test]
    fn what_is_late_of_an_abandoned_question_is_dropped_and_bounded() {
        let mut asking = Asking::default();
        let (number, _) = asking.ask(listing(2)).unwrap();
        assert_eq!(asking.abandon(number), Some(Message::NotWanted { number: 0 }));
        assert_eq!(asking.abandon(number), None);
        for _ in 0..3 {
            assert_eq!(asking.answered(0, page(false)), Ok(None));
        }
        assert!(asking.answered(0, page(false)).is_err());
    }

    #[test]
    fn few_questions_are_open_at_once_and_none_is_asked_twice() {
        let mut asking = Asking::default();
        let mut answering = Answering::default();
        for _ in 0..QUESTIONS_MAX {
            let (QuestionNumber(number), _) = asking.ask(Question::Shares).unwrap();
            answering.asked(number).unwrap();
        }
        assert!(asking.ask(Question::Shares).is_none());
        let more = Err(ProtocolError::TooLarge { what: "questions", value: 9, limit: 8 });
        assert_eq!(answering.asked(8), more);
        assert_eq!(answering.asked(3), Err(ProtocolError::BadValue("number of a question")));
        assert!(answering.open(99).is_err() && answering.open(3).unwrap().is_some());
        answering.answer(QuestionNumber(3), Answer::Refused(NoAnswer::Busy));
        assert_eq!(answering.open(3), Ok(None));
        assert!(matches!(answering.say(), Some((Message::Answered { number: 3, .. }, QuestionNumber(3)))));
        assert!(answering.say().is_none());
    }

    #[test]
    fn a_page_goes_out_when_it_is_wanted_still() {
        let mut answering = Answering::default();
        let number = answering.asked(5).unwrap();
        let last = page(true);
        answering.answer(number, last.clone());
        assert!(!answering.takes_page());
        answering.close(number);
        assert!(answering.takes_page() && answering.say().is_none() && answering.is_idle());
        answering.answer(number, last);
        assert!(answering.say().is_none(), "it was not wanted any more");
    }
}
