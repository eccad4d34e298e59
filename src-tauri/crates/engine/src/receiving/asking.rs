//! Questions in the session of something that is got: programs ask, and the task that gets passes
//! questions and answers on.
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ringway_link::session::Session;
use ringway_model::Fault;
use ringway_wire::control::{Answer, Question};
use ringway_wire::session::QuestionNumber;
use tokio::sync::mpsc;

use crate::send::browse::{Browser, Carrier, of_asking};

/// Asks about a device's shares in the session of something that is got from it, from its offer
/// until the receipt. A question waits while there is no such session: until the device is reached,
/// and while the transfer is interrupted or paused. One that is open when the session ends fails:
/// with [`Fault::AnswerLost`] after the receipt or a lost connection, else with the transfer's
/// fault. So does each that is asked once the transfer has ended.
///
/// A clone asks at the same time. [`QUESTIONS_MAX`](ringway_wire::limits::QUESTIONS_MAX) questions
/// are answered at once; one more fails with [`Fault::AnswerBusy`].
pub type Asker = Browser<Beside>;

/// The session of something that is got.
pub struct Beside {
    wishes: mpsc::UnboundedSender<Wish>,
    /// Numbers the questions of all that ask.
    next: Arc<AtomicU64>,
    open: Option<(u64, mpsc::UnboundedReceiver<Result<Answer, Fault>>)>,
}

/// What who asks wants of the task that gets.
enum Wish {
    Ask(u64, Question, Parts),
    More(u64),
    Abandon(u64),
}

/// Where the parts of an answer go. Those that wait are bounded by the pages that were asked for.
type Parts = mpsc::UnboundedSender<Result<Answer, Fault>>;

impl Clone for Asker {
    fn clone(&self) -> Self {
        let Beside { wishes, next, .. } = self.carrier();
        Self::over(Beside { wishes: wishes.clone(), next: Arc::clone(next), open: None })
    }
}

impl Carrier for Beside {
    fn ask(&mut self, question: Question) -> Result<(), Fault> {
        self.abandon();
        let (parts, answer) = mpsc::unbounded_channel();
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.wishes.send(Wish::Ask(number, question, parts)).map_err(|_| over())?;
        self.open = Some((number, answer));
        Ok(())
    }

    async fn answer(&mut self) -> Result<Answer, Fault> {
        let part = match &mut self.open {
            Some((_, answer)) => answer.recv().await,
            None => None,
        };
        part.unwrap_or_else(|| Err(over()))
    }

    fn more(&mut self) {
        if let Some((number, _)) = self.open {
            // Without a session there is no more.
            let _ = self.wishes.send(Wish::More(number));
        }
    }

    fn abandon(&mut self) {
        if let Some((number, _)) = self.open.take() {
            let _ = self.wishes.send(Wish::Abandon(number));
        }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.abandon();
    }
}

/// The session that would carry it is over.
fn over() -> Fault {
    of_asking(Fault::lost(ErrorKind::NotConnected))
}

/// The questions of all that ask.
pub(crate) struct Questions {
    wishes: mpsc::UnboundedReceiver<Wish>,
    /// Those without their whole answer: at most as many as may be open in a session.
    open: Vec<(u64, QuestionNumber, Parts)>,
}

/// Something to ask with, and what is asked.
pub(crate) fn questions() -> (Asker, Questions) {
    let (wishes, wished) = mpsc::unbounded_channel();
    let asker = Asker::over(Beside { wishes, next: Arc::default(), open: None });
    (asker, Questions { wishes: wished, open: Vec::new() })
}

impl Questions {
    /// Asks what is wished for next, and goes on so; only while the session may ask.
    pub(crate) async fn next(&mut self) -> Wished {
        match self.wishes.recv().await {
            Some(wish) => Wished(wish),
            // Nobody asks any more.
            None => std::future::pending().await,
        }
    }

    pub(crate) fn take(&mut self, session: &mut Session, Wished(wish): Wished) {
        match wish {
            // Who has given it up meanwhile does not need an answer.
            Wish::Ask(_, _, parts) if parts.is_closed() => {}
            Wish::Ask(of, question, parts) => match session.machine.ask(question) {
                Some(number) => self.open.push((of, number, parts)),
                None => drop(parts.send(Err(Fault::AnswerBusy))),
            },
            Wish::More(of) => {
                let number = self.open.iter().find(|(open, ..)| *open == of).map(|(_, number, _)| *number);
                number.into_iter().for_each(|number| session.machine.more_pages(number));
            }
            Wish::Abandon(of) => {
                self.open.extract_if(.., |(open, ..)| *open == of).for_each(|(_, number, _)| {
                    session.machine.abandon(number);
                });
            }
        }
    }

    /// Passes a part of an answer on.
    pub(crate) fn answered(&mut self, number: QuestionNumber, answer: Answer) {
        let is_last = answer.is_last();
        let Some(at) = self.open.iter().position(|(_, open, _)| *open == number) else { return };
        // Who has given it up says so.
        let _ = self.open[at].2.send(Ok(answer));
        if is_last {
            self.open.swap_remove(at);
        }
    }

    /// The session has ended: without a fault, by the receipt.
    pub(crate) fn end(&mut self, fault: Option<&Fault>) {
        for (_, _, parts) in self.open.drain(..) {
            let _ = parts.send(Err(fault.map_or_else(over, |fault| of_asking(fault.clone()))));
        }
    }
}

/// What is wished for.
pub(crate) struct Wished(Wish);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_question_ends_with_the_get_that_was_to_carry_it() {
        let (mut asker, questions) = questions();
        let mut other = asker.clone();
        let waits = tokio::spawn(async move { other.shares().await });
        drop(questions);
        assert!(matches!(waits.await.unwrap(), Err(Fault::AnswerLost(_))));
        assert!(matches!(asker.shares().await, Err(Fault::AnswerLost(_))));
    }
}
