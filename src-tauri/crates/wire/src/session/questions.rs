//! A session's questions about shares: they have it to themselves, or go beside what the dialler
//! gets in it.
use super::asking::QuestionNumber;
use super::dialler::State as DiallerState;
use super::listener::State as ListenerState;
use super::{Event, Machine, State, unexpected};
use crate::ProtocolError;
use crate::control::{Answer, Message, Question};
use crate::limits::QUESTIONS_IDLE_MAX_MS;

impl Machine {
    /// Asks about the listener's shares, when [`Machine::may_ask`] says so. None while as many
    /// questions are open as may be.
    pub fn ask(&mut self, question: Question) -> Option<QuestionNumber> {
        assert!(self.may_ask(), "questions follow authentication, or the offer of what is got");
        let (number, message) = self.asking.ask(question)?;
        self.link.say(&message);
        Some(number)
    }

    /// Lets an answer go on, once some of its pages were taken. Called for each page.
    pub fn more_pages(&mut self, number: QuestionNumber) {
        if let Some(message) = self.asking.more(number).filter(|_| self.may_ask()) {
            self.link.say(&message);
        }
    }

    /// The rest of an answer is not wanted any more.
    pub fn abandon(&mut self, number: QuestionNumber) {
        if let Some(message) = self.asking.abandon(number).filter(|_| self.may_ask()) {
            self.link.say(&message);
        }
    }

    /// Whether a question may be asked now: of who has dialled, when authenticated, or from the
    /// offer of what it gets until the receipt.
    pub fn may_ask(&self) -> bool {
        match &self.state {
            State::Dialler(DiallerState::Authenticated) => true,
            State::Destination(state) => self.destination.has_asked() && state.takes_answers(),
            _ => false,
        }
    }

    /// Answers a question, or goes on with its answer. Of a question that is not wanted any more
    /// nothing is sent. Parts are given one at a time, when [`Machine::takes_page`] says so.
    pub fn answer(&mut self, number: QuestionNumber, answer: Answer) {
        if self.answers() {
            self.answering.answer(number, answer);
        }
    }

    /// Whether another part of an answer is taken: no page waits to be sent.
    pub fn takes_page(&self) -> bool {
        self.answers() && self.answering.takes_page()
    }

    fn answers(&self) -> bool {
        match &self.state {
            State::Listener(ListenerState::Answering) => true,
            State::Source(_) => self.source.is_asked,
            _ => false,
        }
    }

    /// Says what there is to answer: one part at a time, because all of them may be more than the
    /// connection should hold, and behind everything else, which so never waits for more than one.
    /// A session in which nothing else happens and nothing is asked ends after a while.
    pub(super) fn say_answers(&mut self) {
        if !self.answers() {
            return;
        }
        if !self.link.has_more()
            && let Some((message, number)) = self.answering.say()
        {
            self.link.say(&message);
            self.link.tell(Event::PageTaken(number));
        }
        if matches!(self.state, State::Listener(_)) {
            let idle = self.link.deadline_ms.or(Some(self.link.now_ms + QUESTIONS_IDLE_MAX_MS));
            self.link.deadline_ms = idle.filter(|_| self.answering.is_idle());
        }
    }

    /// Handles what an end says that asks.
    pub(super) fn hear_question(&mut self, message: Message) -> Result<(), ProtocolError> {
        match message {
            Message::Asked { number, question } => {
                let number = self.answering.asked(number)?;
                self.link.tell(Event::Asked(number, question));
            }
            Message::MorePages { number, pages } => {
                let open = self.answering.open(number)?;
                open.into_iter().for_each(|number| self.link.tell(Event::MorePages(number, pages)));
            }
            Message::NotWanted { number } => {
                if let Some(number) = self.answering.open(number)? {
                    self.answering.close(number);
                    self.link.tell(Event::NotWanted(number));
                }
            }
            message => return Err(unexpected(&message, "answering questions")),
        }
        Ok(())
    }

    /// Handles a part of an answer.
    pub(super) fn hear_answer(&mut self, number: u32, answer: Answer) -> Result<(), ProtocolError> {
        let answered = self.asking.answered(number, answer)?;
        answered.into_iter().for_each(|(number, answer)| self.link.tell(Event::Answered(number, answer)));
        Ok(())
    }
}
