//! Answers what paired devices ask about shares, each in a session for that or beside what it gets:
//! with a thread for each answer that is looked for in a shared folder.
mod credit;
mod looking;
mod planning;
mod reading;

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use ringway_link::session::Session;
use ringway_model::{DeviceId, Fault, ShareName, ShareTrouble};
use ringway_wire::SelectedPaths;
use ringway_wire::control::{Answer, Get, GetRefusal, NoAnswer, PlannedPage, Purpose, Question};
use ringway_wire::limits::PAGES_AHEAD_MAX;
use ringway_wire::session::{Event, QuestionNumber};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::answer_places::Place;
use super::arrivals::Arrival;
use super::listening::Listening;
use super::wanted::{Wanted, is_for_now};
use crate::limits::PARTING_TIME_MAX;
use crate::send::Answerer;
use crate::shared::{Grant, OpenedShare};
use crate::store::Pairing;

use credit::Credit;

/// Parts of answers that wait to be sent, beside the one that the session has.
const READY_MAX: usize = 2;

/// A part of an answer.
type Part = (QuestionNumber, Answer);

/// A session in which a device asks.
pub(super) struct Asker {
    pub(super) session: Session,
    pub(super) device: DeviceId,
    pub(super) pairing: Pairing,
    pub(super) place: Place,
    /// Counts the paths that it selects.
    pub(super) _arrival: Option<Arrival>,
}

/// What is asked.
pub(super) enum Asked {
    /// Something about shares.
    Question(Question),
    /// What a request would move.
    Plan(Box<(Get, SelectedPaths)>),
}

impl Asked {
    /// The share that it is about.
    fn share(&self) -> Option<&ShareName> {
        match self {
            Self::Question(Question::Shares) => None,
            Self::Question(Question::Entries(wanted)) => Some(&wanted.share),
            Self::Question(Question::Range(wanted)) => Some(&wanted.share),
            Self::Plan(request) => Some(&request.0.share),
        }
    }

    /// The pages that may be sent at once.
    fn pages(&self) -> u8 {
        match self {
            Self::Question(Question::Shares) => 1,
            Self::Question(Question::Entries(wanted)) => wanted.pages,
            Self::Question(Question::Range(_)) => PAGES_AHEAD_MAX,
            Self::Plan(request) => match request.0.purpose {
                Purpose::Plan { pages, .. } => pages,
                Purpose::Transfer => 1,
            },
        }
    }
}

/// Answers until the other end has heard enough, its device is forgotten, or nothing is asked for a
/// while. The first question has arrived already.
pub(super) async fn run(listening: Arc<Listening>, asker: Asker, first: (QuestionNumber, Asked)) {
    let Asker { mut session, device, pairing, place, _arrival } = asker;
    let mut answers = Answers::beside(&listening, device);
    answers.place = Some(place);
    let (number, asked) = first;
    answers.begin(number, asked);
    let forgotten = listening.shared.forgotten(pairing);
    tokio::pin!(forgotten);
    loop {
        let takes_page = session.machine.takes_page();
        tokio::select! {
            () = &mut forgotten => return,
            event = session.next() => match event {
                Ok(Some(event)) => answers.hear(event),
                // What goes wrong with a session that only asks is nobody's news here.
                Ok(None) | Err(_) => return,
            },
            (number, answer) = poll_fn(|cx| answers.poll_part(cx)), if takes_page => {
                session.machine.answer(number, answer);
            }
        }
    }
}

/// Tells one that there is no place for that it is busy here. Who does not listen is left.
pub(super) async fn turn_away(listening: &Listening, mut session: Session, first: QuestionNumber) {
    session.machine.answer(first, Answer::Refused(NoAnswer::Busy));
    if let Ok(_parting) = listening.partings.try_acquire() {
        let _ = timeout(PARTING_TIME_MAX, session.close()).await;
    }
}

/// The answers of one session that are looked for. They end with it.
pub(super) struct Answers {
    listening: Arc<Listening>,
    device: DeviceId,
    /// That of a session that asks, once it does.
    place: Option<Place>,
    ready: mpsc::Sender<Part>,
    parts: mpsc::Receiver<Part>,
    running: Vec<(QuestionNumber, Arc<Credit>)>,
}

impl Answers {
    /// Those of a session that is for something else.
    pub(super) fn beside(listening: &Arc<Listening>, device: DeviceId) -> Self {
        let (ready, parts) = mpsc::channel(READY_MAX);
        Self { listening: Arc::clone(listening), device, place: None, ready, parts, running: Vec::new() }
    }

    fn begin(&mut self, number: QuestionNumber, asked: Asked) {
        if self.place.is_none() {
            self.place = self.listening.answers.begin_session(self.device);
        }
        let credit = Arc::new(Credit::new(asked.pages()));
        self.running.push((number, Arc::clone(&credit)));
        let (listening, ready, device) = (Arc::clone(&self.listening), self.ready.clone(), self.device);
        if self.place.is_some() {
            tokio::spawn(answer(listening, device, number, asked, credit, ready));
            return;
        }
        tokio::spawn(async move {
            tokio::select! {
                () = credit.ended() => {}
                _ = ready.send((number, Answer::Refused(NoAnswer::Busy))) => {}
            }
        });
    }

    fn more(&self, number: QuestionNumber, pages: u8) {
        self.running.iter().filter(|(of, _)| *of == number).for_each(|(_, credit)| credit.add(pages));
    }

    fn end(&mut self, number: QuestionNumber) {
        self.running.extract_if(.., |(of, _)| *of == number).for_each(|(_, credit)| credit.end());
    }
}

impl Answerer for Answers {
    fn hear(&mut self, event: Event) {
        match event {
            Event::Asked(number, question) => self.begin(number, Asked::Question(question)),
            Event::MorePages(number, pages) => self.more(number, pages),
            Event::NotWanted(number) => self.end(number),
            _ => {}
        }
    }

    fn poll_part(&mut self, cx: &mut Context<'_>) -> Poll<Part> {
        match ready!(self.parts.poll_recv(cx)) {
            Some((number, answer)) => {
                if answer.is_last() {
                    self.end(number);
                }
                Poll::Ready((number, answer))
            }
            // There is a sender here.
            None => Poll::Pending,
        }
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        self.running.iter().for_each(|(_, credit)| credit.end());
    }
}

/// Looks for one answer, once there is a place for it, as long as the device may read it.
async fn answer(
    listening: Arc<Listening>,
    device: DeviceId,
    number: QuestionNumber,
    asked: Asked,
    credit: Arc<Credit>,
    ready: mpsc::Sender<Part>,
) {
    let refused = |why| (number, Answer::Refused(why));
    let place = tokio::select! {
        biased;
        // What is not wanted any more waits for no place: who asks again and again would make many
        // wait.
        () = credit.ended() => return,
        place = listening.answers.take(device) => place,
    };
    // Who has gone needs no answer: here, and below.
    let Some(place) = place else {
        let _ = ready.send(refused(NoAnswer::Busy)).await;
        return;
    };
    let share = asked.share().cloned();
    let (granted, grant) = oneshot::channel();
    let (over, mut ended) = oneshot::channel();
    let work = Work { listening: Arc::clone(&listening), device, number, credit: Arc::clone(&credit), place, over };
    let parts = ready.clone();
    let looks = move || work.run(asked, granted, &parts);
    if std::thread::Builder::new().name("ringway-answer".into()).spawn(looks).is_err() {
        let _ = ready.send(refused(NoAnswer::Busy)).await;
        return;
    }
    if let (Ok(grant), Some(share)) = (grant.await, share) {
        tokio::select! {
            () = listening.shared.revoked(grant) => {
                credit.end();
                let _ = ready.send(refused(NoAnswer::NotShared)).await;
            }
            // The thread keeps its place until the filesystem answers.
            () = listening.shared.hangs(share) => {
                credit.end();
                let _ = ready.send(refused(NoAnswer::Unavailable(ShareTrouble::NotAnswering))).await;
            }
            _ = &mut ended => {}
        }
    }
}

/// What a thread that looks for an answer needs.
struct Work {
    listening: Arc<Listening>,
    device: DeviceId,
    number: QuestionNumber,
    credit: Arc<Credit>,
    /// Free again when the thread has ended, whatever the disk does until then.
    place: Place,
    /// Dropped then.
    over: oneshot::Sender<()>,
}

impl Work {
    fn run(self, asked: Asked, granted: oneshot::Sender<Grant>, ready: &mpsc::Sender<Part>) {
        let Self { listening, device, number, credit, place, over } = self;
        let confines = listening.confinement.is_ok();
        let say = |answer| ready.blocking_send((number, answer)).is_ok();
        let refused = |why| Answer::Refused(why);
        let answered = match asked {
            Asked::Question(Question::Shares) => {
                listening.shared.shares_of(device).map_or_else(|fault| refused(why(&fault)), Answer::Shares)
            }
            Asked::Question(Question::Entries(wanted)) => {
                let page = |page| credit.take() && say(Answer::Entries(page));
                let is_wanted = || !credit.has_ended();
                let opened = open(&listening, device, &wanted.share, granted);
                let last = opened.and_then(|share| looking::look(&share, &wanted, confines, &is_wanted, page));
                last.map_or_else(refused, Answer::Entries)
            }
            Asked::Question(Question::Range(wanted)) => {
                let page = |page| credit.take() && say(Answer::Bytes(page));
                let opened = open(&listening, device, &wanted.share, granted);
                opened
                    .and_then(|share| reading::read(&share, &wanted, confines, page))
                    .map_or_else(refused, Answer::Bytes)
            }
            Asked::Plan(request) => {
                let page = |page| credit.take() && say(Answer::Planned(page));
                let planned = plan(&listening, device, &request.0, &request.1, granted, page, || credit.has_ended());
                let or_unwanted = |last: Option<_>| last.map_or(Answer::Refused(NoAnswer::Busy), Answer::Planned);
                planned.map_or_else(Answer::NotPlanned, or_unwanted)
            }
        };
        let answer = match answered.is_page() && !credit.take() {
            true => Answer::Refused(NoAnswer::Busy),
            false => answered,
        };
        // Of what has ended, why it has is said elsewhere.
        if !credit.has_ended() {
            say(answer);
        }
        drop((place, over));
    }
}

/// Opens a share that the device may read, and tells with which right.
fn open(
    listening: &Listening,
    device: DeviceId,
    share: &ShareName,
    granted: oneshot::Sender<Grant>,
) -> Result<OpenedShare, NoAnswer> {
    let opened = listening.shared.open_share(device, share).map_err(|fault| why(&fault))?;
    // The session may have ended.
    let _ = granted.send(opened.grant);
    Ok(opened)
}

/// The same for what a request would move; none if it is busy here, or nobody wants to know any
/// more.
fn plan(
    listening: &Listening,
    device: DeviceId,
    get: &Get,
    selected: &SelectedPaths,
    granted: oneshot::Sender<Grant>,
    page: impl FnMut(PlannedPage) -> bool,
    has_ended: impl Fn() -> bool,
) -> Result<Option<PlannedPage>, GetRefusal> {
    if !listening.serves() {
        return Err(GetRefusal::NotServed);
    }
    let wanted = Wanted::new(get, selected)?;
    let opened = match listening.shared.open_share(device, &get.share) {
        Ok(opened) => opened,
        Err(Fault::ShareUnavailable { trouble, .. }) => return Err(GetRefusal::Unavailable(trouble)),
        Err(Fault::NotShared { .. }) => return Err(GetRefusal::NoShare),
        // This program lacks something for now.
        Err(_) => return Ok(None),
    };
    let confines = listening.confinement.is_ok();
    // The session may have ended.
    let _ = granted.send(opened.grant);
    match planning::look(opened, &wanted, confines, page, has_ended) {
        Err(refusal) if is_for_now(refusal) => Ok(None),
        planned => planned,
    }
}

/// Why there is no answer, as the other end hears it.
fn why(fault: &Fault) -> NoAnswer {
    match fault {
        Fault::NotShared { .. } => NoAnswer::NotShared,
        Fault::ShareUnavailable { trouble, .. } => NoAnswer::Unavailable(*trouble),
        // This device's own state cannot be read.
        _ => NoAnswer::Busy,
    }
}
