//! Takes a transfer in, whichever end has dialled: the folder and the conditions under which it
//! lands there, and what one session of it brings.
mod dialling;
mod job;
mod others;
pub(super) mod outside;
mod silence;

use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ringway_link::session::Session;
use ringway_model::{
    DeclineReason, Device, Fault, FreeSpace, Operation, Outage, PathTaken, Shortage, Side, TransferId,
};
use ringway_sys::dir::Dir;
use ringway_tree::filesystem::free_space::{self, Rest, is_full_errno};
use ringway_tree::io_plan::IoPlan;
use ringway_tree::limits::ARRIVED_LISTED_MAX;
use ringway_tree::receive::{Allowance, Asked, AttemptKey, Brought, DestinationOptions, Expected, Incoming};
use ringway_tree::receive::{Homes, OwnFolders, TopsAtFirst};
use ringway_wire::OfferedNames;
use ringway_wire::control::{Cancel, GetRefusal, Offer, Receipt, Wanted};
use rustix::io::Errno;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::admission::descriptors::ForReceiving;
use crate::limits::LANES_MAX;
use crate::local::own_folders;
use crate::receiving::asking::Questions;
use crate::receiving::listeners::OpenDoor;
use crate::receiving::parting;
use crate::receiving::renewals::Renewed;
use crate::send::lanes::Admitted;
use crate::shared::{DropPlace, Shared};
use crate::store::Pairing;
use crate::store::landed::{self, received_key};
use crate::transfers::options::AcceptOptions;
use crate::transfers::transfer::{Arrived, Transfer};
use job::{Job, LaterLanes, on_its_own};
use others::Others;
use outside::Outside;

pub(super) use dialling::Dialling;

/// Answers to lists that wait to be sent.
const ANSWERS_WAITING_MAX: usize = 16;

/// What a file that asks for room is called, before the transfer's id; a peer may not use such a
/// name.
const PROBE_PREFIX: &str = ".ringway-room-";

/// Where and by what this program writes what it takes in.
#[derive(Clone)]
pub(super) struct Site {
    pub(super) shared: Arc<Shared>,
    pub(super) paths: PathTaken,
    pub(super) io: IoPlan,
    /// Whether what writes files is confined to the destination.
    pub(super) confined: bool,
}

/// A transfer that is taken in, over all its sessions.
pub(super) struct Taking {
    pub(super) site: Site,
    pub(super) transfer: Transfer,
    pub(super) from: Device,
    /// The pairing in which it was accepted.
    pub(super) pairing: Pairing,
    pub(super) options: AcceptOptions,
    pub(super) destination: PathBuf,
    /// What is to be there, in each of its sessions.
    pub(super) expected: Expected,
    /// Where in a drop box it lands: opened from there in each session, and as long as that is one.
    pub(super) drop: Option<DropPlace>,
    /// All its top-level names: each session has the same, and they are held once.
    pub(super) names: Arc<OfferedNames>,
    /// What may come in all its sessions together.
    pub(super) allowance: Option<Arc<Allowance>>,
    /// A person here asked for it: what has arrived stays, whatever the other end says.
    pub(super) keeps: bool,
    /// What of it was asked for, if not all of it.
    pub(super) asked: Option<Asked>,
    /// What had its names at the top when its first session began.
    pub(super) tops: TopsAtFirst,
    /// How long it waits for a sender that sends nothing; none for one that dials: it gives up
    /// itself.
    pub(super) timeout: Option<Duration>,
}

/// Why nothing of it is taken in, as the other end is told.
#[derive(Debug, Clone, Copy)]
pub(super) enum NotTaken {
    Declined(DeclineReason),
    /// It cannot land in the place that it names.
    NoPlace(GetRefusal),
}

impl NotTaken {
    pub(super) fn tell(self, session: &mut Session) {
        match self {
            Self::Declined(reason) => session.machine.decline(reason),
            Self::NoPlace(refusal) => session.machine.refuse_get(refusal),
        }
    }
}

/// A destination that is open for a session.
pub(super) struct Prepared {
    pub(super) incoming: Arc<Incoming>,
    to_answer: mpsc::Receiver<Wanted>,
    /// What there was room for, where all that is found must fit into it.
    free_space: Option<FreeSpace>,
}

/// Where the lanes of a session come from.
pub(super) enum LanesFrom {
    /// The other end dials them, and this is their door.
    Door(OpenDoor),
    /// This end dials them.
    Here(Dialling),
}

/// A session, and what it is received with.
pub(super) struct Opened {
    pub(super) session: Session,
    pub(super) offer: Offer,
    pub(super) prepared: Prepared,
    pub(super) lanes: (Admitted, LanesFrom),
}

/// How a session ended.
pub(super) enum Ended {
    /// And with it the transfer.
    Over(Box<Result<Whole, Fault>>),
    Lost(Box<Lost>),
}

/// What earlier sessions of a transfer have brought.
#[derive(Clone, Copy, Default)]
pub(super) struct Earlier {
    /// Files and links.
    came: u64,
    /// Bytes that were sent.
    moved: u64,
    /// Bytes that were in what their files replace.
    reused: u64,
    /// Entries that did not get their access control list.
    acls_lost: u64,
    /// Entries whose user or group has a name that nobody has here.
    owners_by_number: u64,
}

impl Earlier {
    pub(super) fn add(&mut self, session: &Incoming) {
        self.acls_lost += session.acls_lost();
        self.owners_by_number += session.owners_by_number();
        let session = session.results();
        self.came += session.came();
        self.moved += session.moved();
        self.reused += session.reused();
    }

    /// The last session's receipt, as one of all.
    fn and(self, receipt: Receipt) -> Receipt {
        let there = receipt.there;
        // Files that were not compared were there before this transfer, whatever its earlier
        // sessions have brought.
        let uncompared = receipt.proven.map_or(0, |proven| there.files.saturating_sub(proven.files));
        let unchanged = receipt.unchanged.saturating_sub(self.came).max(uncompared.saturating_sub(receipt.skipped));
        let moved = receipt.moved.saturating_add(self.moved).min(there.bytes.saturating_sub(receipt.skipped_bytes));
        // What a session reused and then lost may have been sent by the next one.
        let not_moved = there.bytes.saturating_sub(receipt.skipped_bytes).saturating_sub(moved);
        let reused = receipt.reused.saturating_add(self.reused).min(not_moved);
        let acls_lost = receipt.acls_lost.saturating_add(self.acls_lost).min(there.entries());
        let owners_by_number = receipt.owners_by_number.saturating_add(self.owners_by_number).min(there.entries());
        Receipt { moved, unchanged, reused, acls_lost, owners_by_number, ..receipt }
    }
}

/// All of it is there.
pub(super) struct Whole {
    pub(super) arrived: Arrived,
    /// As its sender was, or is to be, told.
    pub(super) receipt: Receipt,
}

/// The connection was lost.
pub(super) struct Lost {
    pub(super) error: Fault,
    pub(super) outage: Outage,
    /// What is whole is kept by it.
    pub(super) incoming: Arc<Incoming>,
    pub(super) successor: Option<Renewed>,
    /// Whether the other end has heard why.
    pub(super) heard: JoinHandle<bool>,
}

impl Taking {
    /// How many lanes a session of it may have.
    pub(super) fn lanes_max(offer: &Offer) -> u8 {
        offer.lanes.min(LANES_MAX).min(ForReceiving::here().lanes)
    }

    /// Opens the destination for a session.
    ///
    /// # Errors
    /// Why not, and what the other end is told.
    pub(super) async fn prepare(&self, offer: &Offer) -> Result<Prepared, (Fault, NotTaken)> {
        let (answers, to_answer) = mpsc::channel(ANSWERS_WAITING_MAX);
        let no_space = || self.refused_for_space(free_space::look(&self.destination), offer);
        let fits = |free: Option<FreeSpace>| free.is_none_or(|free| free.free_bytes >= offer.so_far.bytes);
        let (shared, destination) = (Arc::clone(&self.site.shared), self.destination.clone());
        let looking = tokio::task::spawn_blocking(move || shared.looks.answers(&destination));
        if !looking.await.unwrap_or(true) {
            let error = Fault::path(&*self.destination, Operation::Open, std::io::Error::from(Errno::TIMEDOUT));
            return Err((error, NotTaken::Declined(DeclineReason::NotWritable)));
        }
        let is_made = self.drop.is_some() || self.expected == Expected::Made;
        if is_made && !self.destination.exists() {
            // No folder is made for what does not fit.
            let free_space = self.space_for_all(false);
            if !fits(free_space) {
                return Err(self.refused_for_space(free_space, offer));
            }
        }
        let folder = match self.open_place().await {
            Ok(folder) => folder,
            Err((_, GetRefusal::Path(_, errno))) if is_full_errno(Some(errno)) => return Err(no_space()),
            Err((error, refusal)) => return Err((error, NotTaken::NoPlace(refusal))),
        };
        let incoming = match self.begin(offer, folder, answers).await {
            Ok(incoming) => incoming,
            Err(Fault::Path { source, .. }) if is_full_errno(source.errno) => return Err(no_space()),
            Err(error) => return Err((error, NotTaken::Declined(DeclineReason::NotWritable))),
        };
        let free_space = self.space_for_all(incoming.lists());
        if !fits(free_space) {
            // Nothing was written yet.
            self.leave(incoming, |incoming| drop(incoming.keep())).await;
            return Err(self.refused_for_space(free_space, offer));
        }
        Ok(Prepared { incoming, to_answer, free_space })
    }

    /// Opens its place in a drop box, with the folders on the way that are missing; `None` if it
    /// lands elsewhere.
    async fn open_place(&self) -> Result<Option<Dir>, (Fault, GetRefusal)> {
        let Some(place) = self.drop.clone() else { return Ok(None) };
        let shared = Arc::clone(&self.site.shared);
        let opening = tokio::task::spawn_blocking(move || {
            // It is there once it was made.
            let opened = shared.open_drop(&place, true).and_then(|folder| folder.ok_or(GetRefusal::NoShare));
            opened.map(Some).map_err(|refusal| (place.fault(refusal), refusal))
        });
        opening.await.expect("opening a share does not panic")
    }

    /// What there is room for, where what is offered needs all the room that it is long: nothing of
    /// it can be here already.
    fn space_for_all(&self, lists: bool) -> Option<FreeSpace> {
        let is_first = !self.transfer.figures().has_begun();
        (is_first && !lists).then(|| free_space::look(&self.destination)).flatten().filter(|free| free.is_exact)
    }

    fn refused_for_space(&self, free_space: Option<FreeSpace>, offer: &Offer) -> (Fault, NotTaken) {
        let rest = {
            let mut figures = self.transfer.figures();
            figures.found(offer.so_far);
            figures.rest()
        };
        let reason =
            DeclineReason::NoRoom(free_space.map(|free| free_space::shortage(&free, rest)).unwrap_or_default());
        (Fault::Declined(reason), NotTaken::Declined(reason))
    }

    /// Receives what comes in one session, after `earlier` ones. Where this end has asked for it,
    /// `questions` go beside it.
    pub(super) async fn session(
        &self,
        opened: Opened,
        earlier: Earlier,
        renewed: Option<&mut mpsc::Receiver<Renewed>>,
        questions: Option<&mut Questions>,
    ) -> Ended {
        let Opened { mut session, offer, prepared, lanes: (Admitted { joined, successors }, from) } = opened;
        let Prepared { incoming, to_answer, free_space } = prepared;
        session.machine.accept(incoming.accepted(successors.len() as u8));
        let (door, dialling) = match from {
            LanesFrom::Door(door) => (Some(door), None),
            LanesFrom::Here(dialling) => (None, Some(dialling)),
        };
        let transfer = &self.transfer;
        let mut job = Job::new(
            &self.site,
            transfer,
            self.pairing,
            &incoming,
            self.destination.clone(),
            LaterLanes { successors, dialling },
        )
        .fitting_into(free_space)
        .giving_up_after(self.timeout)
        .asking(questions);
        let ended = match job.totals(offer.so_far) {
            Ok(()) => job.run(&mut session, joined, to_answer, renewed).await,
            Err(error) => Err(error),
        };
        drop(door);
        let successor = job.successor.take();
        let ended = match ended {
            // Who has everything does not need it again, but its sender needs the receipt. Nor is
            // there a way back once it gets its names.
            Err(error) if error.outage().is_some() || !incoming.cancel() => job.finished().await.unwrap_or(Err(error)),
            ended => ended,
        };
        let error = match ended.map(|all| (self.is_paired(), all)) {
            // No receipt where nobody can tell whether its sender is still paired.
            Ok((Err(error), _)) => error,
            Ok((Ok(is_paired), (receipt, paths))) => {
                let receipt = earlier.and(receipt);
                self.note_made(&incoming);
                let whole = self.whole(receipt, paths, incoming.left_behind());
                if is_paired {
                    session.machine.receipt(receipt);
                } else {
                    // What has its name by now stays, and its sender gets no receipt for it.
                    session.machine.cancel(Cancel::ByPersonKeeping);
                }
                session.close().await;
                return Ended::Over(Box::new(Ok(whole)));
            }
            Err(error) => error,
        };
        let (error, outage) = match error {
            Fault::DestinationFull { .. } => {
                incoming.note_full();
                let shortage = self.shortage();
                (Fault::DestinationFull { shortage: Some(shortage) }, Some(Outage::Full(shortage)))
            }
            error @ Fault::Paused { by: side } => (error, Some(Outage::Paused { by: side })),
            error => {
                let outage = error.outage();
                (error, outage)
            }
        };
        if matches!(error, Fault::NotPublished { .. }) {
            // The sender hears of which name it is.
            job.report_failures(&mut session);
        }
        session.machine.cancel(match &error {
            Fault::Cancelled { kept: false, .. } => Cancel::ByPerson,
            Fault::Cancelled { kept: true, .. } => Cancel::ByPersonKeeping,
            Fault::NoLongerShared { .. } => Cancel::NotShared,
            Fault::Paused { .. } => Cancel::Paused,
            Fault::DestinationFull { shortage } => Cancel::DestinationFull(shortage.unwrap_or_default()),
            Fault::TooMuch { bytes_max, .. } => Cancel::TooMuch(*bytes_max),
            _ if outage.is_some() => Cancel::ConnectionLost,
            _ => Cancel::Failed,
        });
        // The sender should hear at once, not after the cleaning; if it cannot, it notices the cut.
        let heard = if outage.is_some() && !self.keeps {
            // A sender that has cancelled in this moment waits for nothing, and does not come
            // again.
            let transfer = self.transfer.clone();
            tokio::spawn(async move { parting::close(session, &transfer).await })
        } else {
            tokio::spawn(session.close_heard())
        };
        // Who breaks the rules of a transfer does not continue it, nor does who stops it and says
        // that nothing is to be kept.
        let error = match error {
            Fault::Cancelled { by: Side::There, .. } if self.keeps => Fault::Cancelled { by: Side::There, kept: true },
            error => error,
        };
        let keep = outage.is_some() || !matches!(error, Fault::Cancelled { kept: false, .. } | Fault::Protocol { .. });
        job.abandon(keep).await;
        self.note_made(&incoming);
        match outage {
            Some(outage) => Ended::Lost(Box::new(Lost { error, outage, incoming, successor, heard })),
            None => {
                // Whether it was heard changes nothing here.
                let _ = heard.await;
                Ended::Over(Box::new(Err(error)))
            }
        }
    }

    /// Whether its device was not forgotten since it was accepted.
    fn is_paired(&self) -> Result<bool, Fault> {
        self.site.shared.store.is_current(self.pairing)
    }

    /// Remembers which top-level names the device's own things have here, as they are: a link among
    /// them is not what it points to.
    fn note_made(&self, incoming: &Incoming) {
        let keyed = |(top, brought): (Vec<u8>, _)| (received_key(&self.destination, &top), brought);
        let all: Vec<_> = incoming.take_brought().into_iter().map(keyed).collect();
        if !all.is_empty() {
            // Losing this note only means a numbered folder next time.
            let _ = self.site.shared.store.note_brought(self.pairing, &all);
        }
    }

    fn whole(&self, receipt: Receipt, paths: Vec<PathBuf>, left_behind: Option<PathBuf>) -> Whole {
        let failed_there = self.transfer.figures().failed_there;
        let arrived = Arrived {
            paths: paths.into_iter().take(ARRIVED_LISTED_MAX).collect(),
            left_behind,
            ..Arrived::by(&receipt, receipt.moved, failed_there)
        };
        Whole { arrived, receipt }
    }

    /// Begins in `folder` where that is open already.
    async fn begin(
        &self,
        offer: &Offer,
        folder: Option<Dir>,
        answers: mpsc::Sender<Wanted>,
    ) -> Result<Arc<Incoming>, Fault> {
        let destination = self.destination.clone();
        let Device { id: from, name, .. } = self.from.clone();
        let outside = Outside::new();
        let brought_before = {
            let (shared, destination, outside) = (Arc::clone(&self.site.shared), destination.clone(), outside.clone());
            move |top: &[u8]| {
                let (shared, path) = (Arc::clone(&shared), received_key(&destination, top));
                // A store that cannot be asked makes a numbered folder, which harms nothing.
                outside.run(move || shared.store.brought(from, &path).ok().flatten()).flatten()
            }
        };
        let announce = {
            let (shared, destination, pairing, outside) =
                (Arc::clone(&self.site.shared), destination.clone(), self.pairing, outside.clone());
            move |folders: Vec<(Vec<u8>, Brought)>| {
                let keyed = |(top, brought): (Vec<u8>, _)| (received_key(&destination, &top), brought);
                let (shared, folders) = (Arc::clone(&shared), folders.into_iter().map(keyed).collect::<Vec<_>>());
                // As with any other note: without it a folder gets a number next time.
                let _ = outside.run(move || shared.store.note_brought(pairing, &folders));
            }
        };
        let options = DestinationOptions {
            destination,
            expected: self.expected,
            transfer: TransferId(offer.transfer),
            on_conflict: self.options.on_conflict,
            keep_owner: self.options.kept.owner,
            owners_by_name: !self.options.kept.numeric_ids,
            keep_setuid: self.options.keep_setuid,
            keep_acls: self.options.kept.acls,
            widen_modes: self.options.widen_modes,
            brought_before: Box::new(brought_before),
            others_brought: Box::new(|| true),
            announce: Some(Box::new(announce)),
            whose: Some(self.pairing.whose()),
            recall: None,
            attempt: AttemptKey::new(&from.0, &self.names),
            from: name.0,
            names: offer.names.clone(),
            more_names: offer.more_names,
            offered: Some(Arc::clone(&self.names)),
            asked: self.asked.clone(),
            answers: Some(Box::new(move |wanted| answers.blocking_send(wanted).is_ok())),
            open: ForReceiving::here().each,
            prove: offer.prove,
            allowance: self.allowance.clone(),
            own: OwnFolders::default(),
            into_home: self.options.into_home,
            homes: Homes::default(),
            tops: self.tops.clone(),
        };
        let shared = Arc::clone(&self.site.shared);
        let confined = self.site.confined;
        let is_made = self.expected == Expected::Made;
        let begin = move || {
            if is_made {
                // Others know it by what it is. Why it cannot be made is said when it is opened.
                let _ = std::fs::create_dir_all(&options.destination);
            }
            let others = Others::begin(Arc::clone(&shared.store), outside.clone(), from, &options.destination);
            // The thread is confined by then.
            let outside = move |add| outside.run(add).unwrap_or(false);
            let options = DestinationOptions {
                others_brought: Box::new(move || others.are_there()),
                own: own_folders::make(&shared.paths)?,
                homes: Homes::known(),
                recall: landed::recall(&shared.store, &options.destination, outside).map(Arc::new),
                ..options
            };
            match folder {
                Some(folder) => Incoming::begin_in(folder.into(), options, confined),
                None if confined => Incoming::begin_confined(options),
                None => Incoming::begin(options),
            }
        };
        let beginning = tokio::task::spawn_blocking(|| on_its_own("ringway-begin", begin));
        beginning.await.expect("opening a destination does not panic")
    }

    /// Removes or keeps what there is of it. What is not confined does nothing.
    pub(super) async fn leave(&self, incoming: Arc<Incoming>, work: impl FnOnce(&Incoming) + Send + 'static) {
        let confined = self.site.confined;
        let leave = move || {
            if !confined || incoming.confine_thread().is_ok() {
                work(&incoming);
            }
        };
        let leaving = tokio::task::spawn_blocking(|| on_its_own("ringway-leave", leave));
        leaving.await.expect("cleaning up does not panic");
    }

    /// What the destination lacks for the rest, as far as figures say.
    pub(super) fn shortage(&self) -> Shortage {
        let rest = self.transfer.figures().rest();
        free_space::look(&self.destination).map(|free| free_space::shortage(&free, rest)).unwrap_or_default()
    }

    /// Whether it is worth going on.
    pub(super) async fn has_space(&self, before: Option<FreeSpace>) -> bool {
        let rest @ Rest { bytes, .. } = self.transfer.figures().rest();
        let probe = format!("{PROBE_PREFIX}{}", self.transfer.id()).into_bytes();
        let (destination, drop, shared) = (self.destination.clone(), self.drop.clone(), Arc::clone(&self.site.shared));
        let asked = tokio::task::spawn_blocking(move || {
            // By its descriptor: its path may lead elsewhere by now.
            let opened = match drop.map(|place| shared.open_drop(&place, false)) {
                None => None,
                Some(Ok(Some(folder))) => Some(folder),
                Some(_) => return true,
            };
            let by_descriptor = |folder: &Dir| format!("/proc/self/fd/{}", folder.as_fd().as_raw_fd()).into();
            let destination = opened.as_ref().map_or(destination, by_descriptor);
            let figures = free_space::look(&destination).zip(before);
            // A destination that cannot be examined fails when the transfer begins there.
            figures.is_none_or(|(now, before)| free_space::may_resume(&now, rest, &before))
                && free_space::takes(&destination, bytes, &probe).unwrap_or(true)
        });
        asked.await.expect("asking for room does not panic")
    }
}
