//! Asks the system's databases for names and numbers of users and groups, on a thread of its own: a
//! lane's thread may be confined, and no lane waits long for a directory server.
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use ringway_sys::users;
use ringway_wire::lane::{Owner, OwnerKind};

use crate::limits::{OWNER_LOOKUP_TIME_MAX, OWNER_LOOKUPS_TIME_MAX};

/// What is asked.
enum Question {
    Name(Owner),
    Id(OwnerKind, String),
}

/// The answer, empty if the database has no such user or group.
enum Answer {
    Name(Option<String>),
    Id(Option<u32>),
}

/// How a question is answered.
type Answers = fn(Question) -> Answer;

/// The databases of users and groups of this machine.
pub(crate) struct OwnerDatabase(Mutex<Line>);

/// The connection to the thread that asks.
struct Line {
    ask: Sender<(u64, Question)>,
    answers: Receiver<(u64, Answer)>,
    asked: u64,
    /// The time that all further questions may take together.
    left: Duration,
}

impl OwnerDatabase {
    /// Starts the thread. A confined thread must not call this, because threads that it starts are
    /// confined as well.
    ///
    /// # Errors
    /// The thread could not be started.
    pub(crate) fn open() -> io::Result<Self> {
        Self::answered_by(look_up)
    }

    fn answered_by(answers: Answers) -> io::Result<Self> {
        let (ask, questions) = channel::<(u64, Question)>();
        let (answer, to_caller) = channel();
        let work = move || {
            for (number, question) in questions {
                if answer.send((number, answers(question))).is_err() {
                    break;
                }
            }
        };
        std::thread::Builder::new().name("owners".to_owned()).spawn(work)?;
        Ok(Self(Mutex::new(Line { ask, answers: to_caller, asked: 0, left: OWNER_LOOKUPS_TIME_MAX })))
    }

    /// The name of a user or group; `None` if it has none, or the database has not answered in
    /// time.
    pub(crate) fn name_of(&self, owner: Owner) -> Option<String> {
        match self.0.lock().ask(Question::Name(owner))? {
            Answer::Name(name) => name,
            Answer::Id(_) => None,
        }
    }

    /// The number of the user or group with that name; `None` as for [`Self::name_of`].
    pub(crate) fn id_of(&self, kind: OwnerKind, name: &str) -> Option<u32> {
        match self.0.lock().ask(Question::Id(kind, name.to_owned()))? {
            Answer::Id(id) => id,
            Answer::Name(_) => None,
        }
    }
}

impl Line {
    fn ask(&mut self, question: Question) -> Option<Answer> {
        if self.left.is_zero() {
            return None;
        }
        self.asked += 1;
        let begun = Instant::now();
        let answer = self.ask.send((self.asked, question)).ok().and_then(|()| self.answer(begun));
        self.left = self.left.saturating_sub(begun.elapsed());
        answer
    }

    /// The answer to the last question. Those to earlier ones may come late.
    fn answer(&self, begun: Instant) -> Option<Answer> {
        let patience = self.left.min(OWNER_LOOKUP_TIME_MAX);
        loop {
            let (number, answer) = self.answers.recv_timeout(patience.saturating_sub(begun.elapsed())).ok()?;
            if number == self.asked {
                return Some(answer);
            }
        }
    }
}

fn look_up(question: Question) -> Answer {
    match question {
        Question::Name(owner) => Answer::Name(match owner.kind() {
            OwnerKind::User => users::user_name(owner.id()),
            OwnerKind::Group => users::group_name(owner.id()),
        }),
        Question::Id(OwnerKind::User, name) => Answer::Id(users::user_id(&name)),
        Question::Id(OwnerKind::Group, name) => Answer::Id(users::group_id(&name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_does_not_answer_is_waited_for_only_so_long() {
        let database = OwnerDatabase::answered_by(|question| match question {
            Question::Id(_, name) if name == "slow" => {
                std::thread::sleep(OWNER_LOOKUP_TIME_MAX + Duration::from_secs(1));
                Answer::Id(Some(1))
            }
            Question::Id(_, name) => Answer::Id(name.parse().ok()),
            Question::Name(owner) => Answer::Name(Some(owner.id().to_string())),
        })
        .unwrap();
        assert_eq!(database.id_of(OwnerKind::User, "7"), Some(7));
        assert_eq!(database.name_of(Owner::new(OwnerKind::Group, 9).unwrap()).as_deref(), Some("9"));
        let begun = Instant::now();
        assert_eq!(database.id_of(OwnerKind::User, "slow"), None);
        assert!((OWNER_LOOKUP_TIME_MAX..OWNER_LOOKUP_TIME_MAX * 2).contains(&begun.elapsed()));
        // The late answer is nobody else's.
        assert_eq!(database.id_of(OwnerKind::User, "8"), Some(8));
        database.0.lock().left = Duration::from_millis(10);
        assert_eq!(database.id_of(OwnerKind::User, "slow"), None);
        let begun = Instant::now();
        assert_eq!(database.id_of(OwnerKind::User, "8"), None, "its time is over");
        assert!(begun.elapsed() < Duration::from_secs(1));
    }
}
