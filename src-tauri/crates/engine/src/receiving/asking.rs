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
use tokio::time::{Instant, sleep_until};

use crate::limits::ASKING_WAIT_MAX;
use crate::send::browse::{Browser, Carrier, of_asking};

/// Asks about a device's shares in the session of something that is got from it, from its offer
/// until the receipt. A question waits while there is no such session: until the device is reached,
/// and while the transfer is interrupted or paused. After [`ASKING_WAIT_MAX`] it fails with
/// [`Fault::AskingInterrupted`]. One that is open when the session ends fails: with
/// [`Fault::AnswerLost`] after the receipt or a lost connection, else with the transfer's fault. So
/// does each that is asked once the transfer has ended.
///
/// A clone asks at the same time. [`QUESTIONS_MAX`](ringway_wire::limits::QUESTIONS_MAX) questions
/// are answered at once; one more fails with [`Fault::AnswerBusy`].
pub type Asker = Browser<Beside>;

/// The session of something that is got.
pub struct Beside {
    wishes: mpsc::UnboundedSender<Wish>,
    /// Numbers the questions of all that ask.
    next: Arc<AtomicU64>,
    open: Option<Open>,
}

/// A question that is open.
struct Open {
    number: u64,
    told: mpsc::UnboundedReceiver<Told>,
    /// When it is given up, unless a session asks it by then; none once one has.
    asked_by: Option<Instant>,
}

/// What who asks wants of the task that gets.
enum Wish {
    Ask(u64, Question, Parts),
    More(u64),
    Abandon(u64),
}

/// Where it is told what becomes of a question. The parts that wait are bounded by the pages that
/// were asked for.
type Parts = mpsc::UnboundedSender<Told>;

/// What becomes of a question.
enum Told {
    /// A session asks it.
    Asked,
    Part(Result<Answer, Fault>),
}

impl Clone for Asker {
    fn clone(&self) -> Self {
        let Beside { wishes, next, .. } = self.carrier();
        Self::over(Beside { wishes: wishes.clone(), next: Arc::clone(next), open: None })
    }
}

impl Carrier for Beside {
    fn ask(&mut self, question: Question) -> Result<(), Fault> {
        self.abandon();
        let (parts, told) = mpsc::unbounded_channel();
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.wishes.send(Wish::Ask(number, question, parts)).map_err(|_| over())?;
        self.open = Some(Open { number, told, asked_by: Some(Instant::now() + ASKING_WAIT_MAX) });
        Ok(())
    }

    async fn answer(&mut self) -> Result<Answer, Fault> {
        while let Some(Open { told, asked_by, .. }) = &mut self.open {
            let given_up = async {
                match *asked_by {
                    Some(until) => sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                told = told.recv() => match told {
                    Some(Told::Asked) => *asked_by = None,
                    Some(Told::Part(part)) => return part,
                    None => break,
                },
                () = given_up => {
                    self.abandon();
                    return Err(Fault::AskingInterrupted { seconds: ASKING_WAIT_MAX.as_secs() });
                }
            }
        }
        Err(over())
    }

    fn more(&mut self) {
        if let Some(Open { number, .. }) = self.open {
            // Without a session there is no more.
            let _ = self.wishes.send(Wish::More(number));
        }
    }

    fn abandon(&mut self) {
        if let Some(Open { number, .. }) = self.open.take() {
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
                Some(number) => {
                    // Who has given it up meanwhile says so.
                    let _ = parts.send(Told::Asked);
                    self.open.push((of, number, parts));
                }
                None => drop(parts.send(Told::Part(Err(Fault::AnswerBusy)))),
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
        let _ = self.open[at].2.send(Told::Part(Ok(answer)));
        if is_last {
            self.open.swap_remove(at);
        }
    }

    /// The session has ended: without a fault, by the receipt.
    pub(crate) fn end(&mut self, fault: Option<&Fault>) {
        for (_, _, parts) in self.open.drain(..) {
            let _ = parts.send(Told::Part(Err(fault.map_or_else(over, |fault| of_asking(fault.clone())))));
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

    #[tokio::test(start_paused = true)]
    async fn a_question_that_no_session_asks_is_given_up_and_the_next_one_is_asked() {
        let (mut asker, mut questions) = questions();
        let began = Instant::now();
        let refused = asker.shares().await.unwrap_err();
        assert_eq!(refused, Fault::AskingInterrupted { seconds: ASKING_WAIT_MAX.as_secs() });
        assert_eq!(began.elapsed().as_secs(), ASKING_WAIT_MAX.as_secs());
        let waits = tokio::spawn(async move { asker.shares().await });
        let mut asked = Vec::new();
        while asked.len() < 3 {
            let Wished(wish) = questions.next().await;
            asked.push(wish);
        }
        let [Wish::Ask(0, _, given_up), Wish::Abandon(0), Wish::Ask(1, _, parts)] = asked.as_slice() else {
            panic!("the first is given up, and the second is asked");
        };
        assert!(given_up.is_closed(), "nobody waits for it");
        // A session that has asked it waits for the answer as long as its own limits say.
        parts.send(Told::Asked).ok().unwrap();
        tokio::time::sleep(10 * ASKING_WAIT_MAX).await;
        parts.send(Told::Part(Err(Fault::AnswerBusy))).ok().unwrap();
        assert_eq!(waits.await.unwrap(), Err(Fault::AnswerBusy));
    }
}
