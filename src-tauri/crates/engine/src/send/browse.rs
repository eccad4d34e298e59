//! Asking another device about its shares: which this device may read, and what is in them. The
//! questions have a session of their own, or go in that of something that is got.
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use ringway_link::session::Session;
use ringway_model::{
    AuthError, DeclineReason, Device, EntryKind, EntryThere, Fault, Operation, OsError, PathText, ShareThere, Side,
};
use ringway_wire::control::{Answer, Cancel, EntriesWanted, FileState, NoAnswer, Question, RangeWanted};
use ringway_wire::entries::{Depth, EntriesPage};
use ringway_wire::lane::Timestamp;
use ringway_wire::limits::{PAGES_AHEAD_MAX, RANGE_BYTES_MAX};
use ringway_wire::session::{Event, QuestionNumber};
use rustix::io::Errno;
use tokio::time::{Instant, sleep};

use super::reach::{Reached, reach, refused};
use crate::devices::reference::PathInShare;
use crate::devices::target::Target;
use crate::limits::FIRST_CONTACT_TIME_MAX;
use crate::reach::connect::Destination;
use crate::shared::Shared;
use crate::wire_convert::decode_entry;

/// Asks about a device's shares, one question at a time: in a session of its own, or as an
/// [`Asker`](crate::Asker).
pub struct Browser<C = Alone> {
    carrier: C,
}

/// What carries questions to a device, and the answers back. One question is open at a time: if its
/// answer is given up, the next one takes its place.
pub trait Carrier {
    /// Asks.
    ///
    /// # Errors
    /// The question cannot be asked.
    fn ask(&mut self, question: Question) -> Result<(), Fault>;

    /// The next part of the answer.
    fn answer(&mut self) -> impl Future<Output = Result<Answer, Fault>> + Send;

    /// A part was taken, and the answer may go on.
    fn more(&mut self);

    /// The rest of the answer is not wanted.
    fn abandon(&mut self);
}

/// A session of its own.
pub struct Alone {
    session: Session,
    device: Device,
    awake: Awake,
    /// The question whose answer is waited for.
    open: Option<QuestionNumber>,
}

/// How often a program that waits for an answer notes that it runs.
const AWAKE_EVERY: Duration = Duration::from_secs(1);

/// A longer time without that means that the program was stopped: a busy machine delays a timer by
/// less.
const STOPPED_MIN: Duration = Duration::from_secs(5);

/// When this program was last seen to run while it waited, to tell that it was stopped.
struct Awake {
    last: Instant,
    /// For how long it was stopped, and when that ended.
    stopped: Option<(Duration, Instant)>,
}

impl Awake {
    fn now() -> Self {
        Self { last: Instant::now(), stopped: None }
    }

    fn note(&mut self) {
        let now = Instant::now();
        if now - self.last > STOPPED_MIN {
            self.stopped = Some((now - self.last, now));
        }
        self.last = now;
    }

    /// For how long it was stopped just before.
    fn was_stopped(&mut self) -> Option<Duration> {
        self.note();
        self.stopped.filter(|(_, ended)| ended.elapsed() < STOPPED_MIN).map(|(stopped, _)| stopped)
    }
}

/// How much of a path is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed {
    /// What is there alone, whatever it is.
    Itself,
    /// The entries of a folder; anything else alone.
    Folder,
    /// Those, and what is in its folders.
    Tree,
}

/// An entry, or one that could not be read, or a folder whose entries could not.
pub type Browsed = Result<EntryThere, Unread>;

/// What could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// Its path below what was listed.
    pub path: PathText,
    /// What the kernel said there.
    pub source: OsError,
}

impl Browser<Alone> {
    /// Connects to a paired device.
    pub(crate) async fn open(shared: &Arc<Shared>, target: &Target) -> Result<Self, Fault> {
        let destination = Destination::of(&shared.store, target)?;
        let reached = reach(shared, &destination, None, FIRST_CONTACT_TIME_MAX).await;
        let Reached { session, device, .. } = reached.map_err(of_asking)?;
        Ok(Self { carrier: Alone { session, device, awake: Awake::now(), open: None } })
    }

    /// The device that is browsed.
    pub fn device(&self) -> &Device {
        &self.carrier.device
    }

    /// Waits until the session ends, for a program that asks nothing meanwhile.
    pub async fn ended(&mut self) {
        while let Ok(Some(event)) = self.carrier.session.next().await {
            if matches!(event, Event::Refused(_) | Event::Cancelled(_)) {
                return;
            }
        }
    }

    /// Ends the session.
    pub async fn close(self) {
        let Alone { mut session, .. } = self.carrier;
        session.machine.cancel(Cancel::ByPerson);
        session.close().await;
    }
}

impl<C: Carrier> Browser<C> {
    pub(crate) fn over(carrier: C) -> Self {
        Self { carrier }
    }

    pub(crate) fn carrier(&self) -> &C {
        &self.carrier
    }

    /// The shares that this device may read, by name.
    ///
    /// # Errors
    /// The connection is lost, or the other device breaks the protocol.
    pub async fn shares(&mut self) -> Result<Vec<ShareThere>, Fault> {
        self.carrier.ask(Question::Shares)?;
        match self.carrier.answer().await? {
            Answer::Shares(shares) => Ok(shares),
            Answer::Refused(why) => Err(no_answer(why, "", PathText::default())),
            Answer::Entries(_) | Answer::Bytes(_) | Answer::Planned(_) | Answer::NotPlanned(_) => Err(another()),
        }
    }

    /// Reads at most `len` bytes of a file, and at most [`RANGE_BYTES_MAX`], from `offset` on.
    /// There are fewer where the file ends. Returns also what the file is after that, to tell
    /// whether parts are of one version.
    ///
    /// # Errors
    /// Those of [`Browser::entries`]: [`Fault::PathThere`] for what is no file (`EISDIR`, `ELOOP`,
    /// `EOPNOTSUPP`), and for an offset behind its end (`EINVAL`).
    pub async fn read(&mut self, of: &PathInShare, offset: u64, len: u32) -> Result<(Vec<u8>, FileState), Fault> {
        let (share, path) = (of.share.clone(), of.path().as_bytes().to_vec());
        let len = len.clamp(1, RANGE_BYTES_MAX);
        self.carrier.ask(Question::Range(RangeWanted { share, path, offset, len }))?;
        let mut bytes = Vec::new();
        loop {
            match self.carrier.answer().await? {
                Answer::Bytes(page) => {
                    bytes.extend_from_slice(page.bytes());
                    if let Some(file) = page.file() {
                        return Ok((bytes, file));
                    }
                }
                Answer::Refused(why) => return Err(no_answer(why, of.share.as_str(), of.shown())),
                Answer::Shares(_) | Answer::Entries(_) | Answer::Planned(_) | Answer::NotPlanned(_) => {
                    return Err(another());
                }
            }
        }
    }

    /// Shows what is at a path, in order, as it arrives, until `show` returns false. The session
    /// goes on while a page is shown, however long that takes: then the other device is asked for
    /// no more, and gives up after a minute.
    ///
    /// # Errors
    /// [`Fault::NotShared`], [`Fault::ShareUnavailable`], or [`Fault::PathThere`] for a path that
    /// cannot be listed; and those of [`Browser::shares`].
    pub async fn entries<Shown: Future<Output = bool>>(
        &mut self,
        of: &PathInShare,
        listed: Listed,
        show: impl FnMut(Vec<Browsed>) -> Shown,
    ) -> Result<(), Fault> {
        self.entries_changed(of, listed, None, show).await.map(drop)
    }

    /// Whether a path that ends in a slash leads to a folder, as for what is got.
    ///
    /// # Errors
    /// Those of [`Browser::entries`], and [`Fault::PathThere`] for anything but a folder.
    pub async fn check_contents(&mut self, of: &PathInShare) -> Result<(), Fault> {
        if !of.contents_only || of.path().is_root() {
            return Ok(());
        }
        let mut kind = None;
        let show = |page: Vec<Browsed>| {
            kind = kind.or_else(|| page.into_iter().find_map(Result::ok).map(|entry| entry.kind));
            std::future::ready(true)
        };
        self.entries(of, Listed::Itself, show).await?;
        let errno = match kind {
            Some(EntryKind::Link) => Errno::LOOP,
            Some(EntryKind::Folder) | None => return Ok(()),
            Some(_) => Errno::NOTDIR,
        };
        let source = std::io::Error::from(errno).into();
        Err(Fault::PathThere { path: of.shown(), operation: Operation::Open, source })
    }

    /// Shows what [`Browser::entries`] shows and whose status (ctime, inode(7)) has changed `since`
    /// then, by the clock of the other device. A folder that is shown may have lost names. Returns
    /// when the listing began, by that clock, from which on changes can be asked for next; none if
    /// `show` ended it.
    ///
    /// # Errors
    /// Those of [`Browser::entries`].
    pub async fn entries_changed<Shown: Future<Output = bool>>(
        &mut self,
        of: &PathInShare,
        listed: Listed,
        since: Option<Timestamp>,
        mut show: impl FnMut(Vec<Browsed>) -> Shown,
    ) -> Result<Option<Timestamp>, Fault> {
        let depth = match listed {
            Listed::Itself => Depth::Itself,
            Listed::Folder => Depth::Folder,
            Listed::Tree => Depth::Tree,
        };
        let (share, path) = (of.share.clone(), of.path().as_bytes().to_vec());
        self.carrier.ask(Question::Entries(EntriesWanted {
            share,
            path,
            depth,
            changed_since: since,
            pages: PAGES_AHEAD_MAX,
        }))?;
        let mut arrived = Arrived::default();
        loop {
            while arrived.waits() {
                arrived.take(self.carrier.answer().await, of);
            }
            let Some(page) = arrived.pages.pop_front() else { return arrived.end.unwrap_or(Ok(None)) };
            let mut showing = pin!(show(entries(&page)));
            let goes_on = loop {
                tokio::select! {
                    biased;
                    goes_on = &mut showing => break goes_on,
                    part = self.carrier.answer(), if arrived.end.is_none() => arrived.take(part, of),
                }
            };
            if !goes_on {
                self.carrier.abandon();
                return Ok(None);
            }
            // What has arrived is bounded by what was asked for.
            if arrived.end.is_none() && arrived.pages.len() <= usize::from(PAGES_AHEAD_MAX / 2) {
                self.carrier.more();
            }
        }
    }
}

impl Carrier for Alone {
    fn ask(&mut self, question: Question) -> Result<(), Fault> {
        self.awake = Awake::now();
        if !self.session.machine.may_ask() {
            return Err(of_asking(Fault::lost(std::io::ErrorKind::UnexpectedEof)));
        }
        if let Some(before) = self.open.take() {
            self.session.machine.abandon(before);
        }
        self.open = self.session.machine.ask(question);
        self.open.map(drop).ok_or(Fault::AnswerBusy)
    }

    async fn answer(&mut self) -> Result<Answer, Fault> {
        loop {
            let event = tokio::select! {
                event = self.session.next() => event,
                () = sleep(AWAKE_EVERY) => {
                    self.awake.note();
                    continue;
                }
            };
            self.awake.note();
            let lost = || Fault::lost(std::io::ErrorKind::UnexpectedEof);
            let fault = match event {
                Ok(Some(Event::Answered(of, answer))) if Some(of) == self.open => return Ok(answer),
                Ok(Some(Event::Refused(refusal))) => refused(refusal, None),
                Ok(Some(Event::Cancelled(_))) => Fault::cancelled(Side::There),
                Ok(Some(_)) => continue,
                Ok(None) => lost(),
                Err(fault) => fault,
            };
            return Err(match (of_asking(fault), self.awake.was_stopped()) {
                (Fault::AnswerLost(_), Some(stopped)) => Fault::AskingStopped { seconds: stopped.as_secs() },
                (fault, _) => fault,
            });
        }
    }

    fn more(&mut self) {
        self.open.into_iter().for_each(|number| self.session.machine.more_pages(number));
    }

    fn abandon(&mut self) {
        self.open.take().into_iter().for_each(|number| self.session.machine.abandon(number));
    }
}

/// What has arrived of an answer and was not shown yet.
#[derive(Default)]
struct Arrived {
    pages: VecDeque<EntriesPage>,
    /// How the answer ended, behind these pages.
    end: Option<Result<Option<Timestamp>, Fault>>,
    has_begun: bool,
}

impl Arrived {
    fn waits(&self) -> bool {
        self.pages.is_empty() && self.end.is_none()
    }

    fn take(&mut self, part: Result<Answer, Fault>, of: &PathInShare) {
        match part {
            Ok(Answer::Entries(page)) => {
                self.has_begun = true;
                if page.is_last() {
                    self.end = Some(Ok(page.began()));
                }
                self.pages.push_back(page);
            }
            // An answer that has its place loses it only if nobody wants more of it for too long.
            Ok(Answer::Refused(NoAnswer::Busy)) if self.has_begun => self.end = Some(Err(Fault::AnswerPaused)),
            Ok(Answer::Refused(why)) => self.end = Some(Err(no_answer(why, of.share.as_str(), of.shown()))),
            Ok(Answer::Shares(_) | Answer::Bytes(_) | Answer::Planned(_) | Answer::NotPlanned(_)) => {
                self.end = Some(Err(another()));
            }
            Err(fault) => self.end = Some(Err(fault)),
        }
    }
}

/// A fault of the connection, as it is to be told of what was only asked: nothing was sent.
pub(crate) fn of_asking(fault: Fault) -> Fault {
    match fault {
        Fault::ConnectionLost(source) => Fault::AnswerLost(source),
        Fault::TurnedAway | Fault::Declined(DeclineReason::Busy) | Fault::Auth(AuthError::PairingBusy { .. }) => {
            Fault::AnswerBusy
        }
        other => other,
    }
}

fn entries(page: &EntriesPage) -> Vec<Browsed> {
    let mut all = Vec::with_capacity(page.len());
    page.each(|entry| {
        let entry = decode_entry(&entry);
        all.push(entry.map_err(|(path, errno)| Unread { path, source: os(errno) }));
    });
    all
}

fn another() -> Fault {
    Fault::Protocol { detail: "an answer to another question".into() }
}

fn os(errno: i32) -> OsError {
    std::io::Error::from_raw_os_error(errno).into()
}

fn no_answer(why: NoAnswer, share: &str, path: PathText) -> Fault {
    let share = share.to_owned().into();
    match why {
        NoAnswer::NotShared => Fault::NotShared { share },
        NoAnswer::Unavailable(trouble) => Fault::ShareUnavailable { share, trouble },
        NoAnswer::Path(errno) => Fault::PathThere { path, operation: Operation::Read, source: os(errno) },
        NoAnswer::Busy => Fault::AnswerBusy,
    }
}
