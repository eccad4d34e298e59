//! Asking another device about its shares: which this device may read, and what is in them.
use std::sync::Arc;

use ringway_link::session::Session;
use ringway_model::{DeclineReason, Device, EntryThere, Fault, Operation, OsError, PathText, ShareThere, Side};
use ringway_wire::control::{Answer, Cancel, EntriesWanted, NoAnswer, Question};
use ringway_wire::entries::{Depth, EntriesPage};
use ringway_wire::limits::PAGES_AHEAD_MAX;
use ringway_wire::session::{Initiator, InitiatorEvent, QuestionNumber};

use super::reach::{Reached, reach, refused};
use crate::devices::reference::PathInShare;
use crate::devices::target::Target;
use crate::limits::FIRST_CONTACT_TIME_MAX;
use crate::reach::connect::Destination;
use crate::shared::Shared;
use crate::wire_convert::decode_entry;

/// A session in which a device's shares are browsed.
pub struct Browser {
    session: Session<Initiator>,
    device: Device,
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

impl Browser {
    /// Connects to a paired device.
    pub(crate) async fn open(shared: &Arc<Shared>, target: &Target) -> Result<Self, Fault> {
        let destination = Destination::of(&shared.store, target)?;
        let Reached { session, device, .. } = reach(shared, &destination, None, FIRST_CONTACT_TIME_MAX).await?;
        Ok(Self { session, device })
    }

    /// The device that is browsed.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The shares that this device may read, by name.
    ///
    /// # Errors
    /// The connection is lost, or the other device breaks the protocol.
    pub async fn shares(&mut self) -> Result<Vec<ShareThere>, Fault> {
        let number = self.ask(Question::Shares)?;
        match self.answer(number).await? {
            Answer::Shares(shares) => Ok(shares),
            Answer::Refused(why) => Err(no_answer(why, "", PathText::default())),
            Answer::Entries(_) => Err(Fault::Protocol { detail: "an answer to another question".into() }),
        }
    }

    /// Shows what is at a path, in order, as it arrives, until `show` returns false.
    ///
    /// # Errors
    /// [`Fault::NotShared`], [`Fault::ShareUnavailable`], or [`Fault::PathThere`] for a path that
    /// cannot be listed; and those of [`Browser::shares`].
    pub async fn entries(
        &mut self,
        of: &PathInShare,
        listed: Listed,
        mut show: impl FnMut(Vec<Browsed>) -> bool,
    ) -> Result<(), Fault> {
        let depth = match listed {
            Listed::Itself => Depth::Itself,
            Listed::Folder => Depth::Folder,
            Listed::Tree => Depth::Tree,
        };
        let (share, path) = (of.share.clone(), of.path().as_bytes().to_vec());
        let number = self.ask(Question::Entries(EntriesWanted { share, path, depth, pages: PAGES_AHEAD_MAX }))?;
        loop {
            let page = match self.answer(number).await? {
                Answer::Entries(page) => page,
                Answer::Refused(why) => return Err(no_answer(why, of.share.as_str(), of.shown())),
                Answer::Shares(_) => return Err(Fault::Protocol { detail: "an answer to another question".into() }),
            };
            let is_last = page.is_last();
            let goes_on = show(entries(&page));
            if is_last {
                return Ok(());
            }
            if !goes_on {
                self.session.machine.abandon(number);
                return Ok(());
            }
            self.session.machine.more_pages(number);
        }
    }

    /// Ends the session.
    pub async fn close(mut self) {
        self.session.machine.cancel(Cancel::ByPerson);
        self.session.close().await;
    }

    fn ask(&mut self, question: Question) -> Result<QuestionNumber, Fault> {
        // One at a time is open: what is not wanted any more is not.
        self.session.machine.ask(question).ok_or(Fault::Declined(DeclineReason::Busy))
    }

    async fn answer(&mut self, number: QuestionNumber) -> Result<Answer, Fault> {
        loop {
            match self.session.next().await? {
                Some(InitiatorEvent::Answered(of, answer)) if of == number => return Ok(answer),
                Some(InitiatorEvent::Refused(refusal)) => return Err(refused(refusal, None)),
                Some(InitiatorEvent::Cancelled(_)) => return Err(Fault::cancelled(Side::There)),
                Some(_) => {}
                None => return Err(Fault::lost(std::io::ErrorKind::UnexpectedEof)),
            }
        }
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

fn os(errno: i32) -> OsError {
    std::io::Error::from_raw_os_error(errno).into()
}

fn no_answer(why: NoAnswer, share: &str, path: PathText) -> Fault {
    let share = share.to_owned().into();
    match why {
        NoAnswer::NotShared => Fault::NotShared { share },
        NoAnswer::Unavailable(trouble) => Fault::ShareUnavailable { share, trouble },
        NoAnswer::Path(errno) => Fault::PathThere { path, operation: Operation::Read, source: os(errno) },
        NoAnswer::Busy => Fault::Declined(DeclineReason::Busy),
    }
}
