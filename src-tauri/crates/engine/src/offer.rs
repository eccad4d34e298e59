//! An offer from a known device: asked about, then received to its receipt.
mod job;
mod shares;

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use ringway_wire::control::{Cancel, Offer, Receipt, Totals, Wanted};
use ringway_wire::session::{Acceptor, AcceptorEvent};
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

use crate::codes::decode_proven;
use crate::destination::{AttemptKey, DestinationOptions, Incoming};
use crate::error::{DeclineReason, Error, Side};
use crate::event::{Direction, OfferSummary, ReceiverEvent, TransferId};
use crate::limits::{ANSWER_TIME_MAX, ARRIVED_LISTED_MAX, LANES_MAX};
use crate::options::AcceptOptions;
use crate::receive::Listening;
use crate::serve::{Entrance, LaneDoor, Visitor};
use crate::session::Session;
use crate::transfer::{Arrived, Transfer};
use job::Job;
pub(crate) use shares::Shares;

/// Answers to lists that wait to be sent.
const ANSWERS_WAITING_MAX: usize = 16;

/// A program's answer, and where to say what came of it.
enum Answer {
    Accept(AcceptOptions, oneshot::Sender<Result<Transfer, Error>>),
    Decline(DeclineReason),
}

/// An offer that waits for an answer. Dropping it declines.
pub struct IncomingOffer {
    summary: Arc<Mutex<OfferSummary>>,
    answer: Option<oneshot::Sender<Answer>>,
}

impl std::fmt::Debug for IncomingOffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IncomingOffer").field("summary", &self.summary()).finish_non_exhaustive()
    }
}

impl IncomingOffer {
    /// What it says of itself; totals may have grown since.
    pub fn summary(&self) -> OfferSummary {
        self.summary.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes it in.
    ///
    /// # Errors
    /// The destination cannot be used (the offer is then declined with the reason), or the peer has gone.
    pub async fn accept(mut self, options: AcceptOptions) -> Result<Transfer, Error> {
        let (done, outcome) = oneshot::channel();
        let gone = || Error::Cancelled(Side::There);
        let answer = self.answer.take().ok_or_else(gone)?;
        answer.send(Answer::Accept(options, done)).map_err(|_| gone())?;
        outcome.await.map_err(|_| gone())?
    }

    /// Declines it.
    pub fn decline(mut self, reason: DeclineReason) {
        if let Some(answer) = self.answer.take() {
            // A peer that has gone needs no answer.
            let _ = answer.send(Answer::Decline(reason));
        }
    }
}

/// Asks about the offer, and receives it when the answer is yes.
pub(crate) async fn run(listening: Arc<Listening>, visitor: Visitor) {
    let Visitor { mut session, tickets, device, offer } = visitor;
    let share = listening.shares.take(device.id);
    let place = share.and_then(|share| Some((share, Arc::clone(&listening.transfers).try_acquire_owned().ok()?)));
    let Some(_place) = place else {
        session.machine.decline(DeclineReason::Busy.into());
        session.close().await;
        return;
    };
    let id = TransferId(offer.transfer);
    let free_bytes = free_bytes(&listening.destination);
    let names: Vec<_> = offer.names.iter().cloned().map(OsString::from_vec).collect();
    let title = names.first().cloned().unwrap_or_default();
    let more = (names.len() as u64 + offer.more_names).saturating_sub(1);
    let summary = Arc::new(Mutex::new(OfferSummary {
        id,
        from: device.id,
        from_name: device.name.clone(),
        names,
        more_names: offer.more_names,
        entries_so_far: offer.so_far.entries,
        bytes_so_far: offer.so_far.bytes,
        totals_final: offer.so_far.complete,
        free_bytes,
    }));
    let (answer, answered) = oneshot::channel();
    let asked = IncomingOffer { summary: Arc::clone(&summary), answer: Some(answer) };
    listening.tell(ReceiverEvent::OfferReceived(asked)).await;
    let Some((options, done)) = decide(&listening, &mut session, id, &summary, answered).await else {
        session.close().await;
        return;
    };
    let destination = options.destination.clone().unwrap_or_else(|| listening.destination.clone());
    let (answers, to_answer) = mpsc::channel(ANSWERS_WAITING_MAX);
    let incoming = match begin(&listening, &device.id, &offer, options, answers).await {
        Ok(incoming) => incoming,
        Err(error) => {
            session.machine.decline(DeclineReason::NotWritable.into());
            // Whoever accepted may have gone.
            let _ = done.send(Err(error));
            session.close().await;
            return;
        }
    };
    let transfer = Transfer::new(id, Direction::Receiving, (title, more));
    transfer.known_peer(device.id, &device.name);
    let (deliver, joined) = mpsc::unbounded_channel();
    let lanes = offer.lanes.min(LANES_MAX);
    let (entrances, successors) = (0..lanes)
        .map(|_| {
            let (entrance, successors) = mpsc::channel(1);
            (Entrance { next: 0, joining: false, successors: entrance }, Some(successors))
        })
        .unzip();
    let door = LaneDoor { tickets, peer: device.id, entrances, deliver };
    if listening.inner.doors().try_insert_door(offer.transfer, door).is_err() {
        // Nothing was written yet, but earlier attempts may have left something.
        let _ = incoming.keep();
        session.machine.decline(DeclineReason::Busy.into());
        let _ = done.send(Err(Error::Invalid("that transfer is running already")));
        session.close().await;
        return;
    }
    let _ = done.send(Ok(transfer.clone()));
    listening.tell(ReceiverEvent::TransferStarted(transfer.clone())).await;
    session.machine.accept(lanes, incoming.lists());
    let totals = {
        let summary = summary.lock().unwrap_or_else(PoisonError::into_inner);
        Totals { entries: summary.entries_so_far, bytes: summary.bytes_so_far, complete: summary.totals_final }
    };
    let mut job = Job::new(&listening, &transfer, &incoming, destination, successors);
    job.totals(totals);
    let ended = job.run(&mut session, joined, to_answer).await;
    listening.inner.doors().remove(&offer.transfer);
    let ended = conclude(&listening, &device.id, job, &mut session, ended).await;
    session.close().await;
    transfer.end(ended);
}

/// Inserting a door must not replace one.
trait Doors {
    fn try_insert_door(&mut self, transfer: [u8; 16], door: LaneDoor) -> Result<(), ()>;
}

impl Doors for std::collections::HashMap<[u8; 16], LaneDoor> {
    fn try_insert_door(&mut self, transfer: [u8; 16], door: LaneDoor) -> Result<(), ()> {
        match self.entry(transfer) {
            std::collections::hash_map::Entry::Occupied(_) => Err(()),
            std::collections::hash_map::Entry::Vacant(free) => {
                free.insert(door);
                Ok(())
            }
        }
    }
}

fn free_bytes(destination: &std::path::Path) -> Option<u64> {
    let folder = destination.ancestors().find_map(|path| std::fs::File::open(path).ok())?;
    ringway_sys::space::space(&folder).ok().map(|space| space.free_bytes)
}

type Accepted = (AcceptOptions, oneshot::Sender<Result<Transfer, Error>>);

/// Waits for the program's answer while the session lives; none if there is nothing to receive.
async fn decide(
    listening: &Listening,
    session: &mut Session<Acceptor>,
    id: TransferId,
    summary: &Mutex<OfferSummary>,
    mut answered: oneshot::Receiver<Answer>,
) -> Option<Accepted> {
    let late = sleep(ANSWER_TIME_MAX);
    tokio::pin!(late);
    loop {
        tokio::select! {
            answer = &mut answered => match answer {
                Ok(Answer::Accept(options, done)) => return Some((options, done)),
                Ok(Answer::Decline(reason)) => {
                    session.machine.decline(reason.into());
                    return None;
                }
                Err(_) => {
                    session.machine.decline(DeclineReason::ByChoice.into());
                    return None;
                }
            },
            event = session.next() => match event {
                Ok(Some(AcceptorEvent::TotalsChanged(totals))) => {
                    let mut summary = summary.lock().unwrap_or_else(PoisonError::into_inner);
                    summary.entries_so_far = totals.entries;
                    summary.bytes_so_far = totals.bytes;
                    summary.totals_final = totals.complete;
                }
                Ok(Some(AcceptorEvent::Cancelled(_)) | None) | Err(_) => {
                    listening.tell(ReceiverEvent::OfferWithdrawn(id)).await;
                    return None;
                }
                Ok(Some(_)) => {}
            },
            () = &mut late => {
                session.machine.decline(DeclineReason::NoAnswer.into());
                listening.tell(ReceiverEvent::OfferWithdrawn(id)).await;
                return None;
            }
        }
    }
}

async fn begin(
    listening: &Arc<Listening>,
    from: &crate::DeviceId,
    offer: &Offer,
    options: AcceptOptions,
    answers: mpsc::Sender<Wanted>,
) -> Result<Arc<Incoming>, Error> {
    let (listening, from) = (Arc::clone(listening), *from);
    let transfer = TransferId(offer.transfer);
    let attempt = AttemptKey::new(&from.0, &offer.names, offer.more_names);
    let (names, more_names, prove) = (offer.names.clone(), offer.more_names > 0, offer.prove);
    let work = move || {
        let destination = options.destination.unwrap_or_else(|| listening.destination.clone());
        let came_before = {
            let destination = destination.clone();
            move |top: &[u8]| {
                let path = received_key(&destination, top);
                // A store that cannot be asked makes a numbered folder, which harms nothing.
                listening.inner.store.was_received(from, &path).unwrap_or(false)
            }
        };
        Incoming::begin(DestinationOptions {
            destination,
            transfer,
            on_conflict: options.on_conflict,
            keep_owner: options.keep_owner,
            keep_setuid: options.keep_setuid,
            known_from_same_device: Box::new(came_before),
            attempt,
            names,
            more_names,
            answers: Some(answers),
            prove,
        })
    };
    tokio::task::spawn_blocking(work).await.expect("opening a destination does not panic")
}

/// How the store knows a top-level path: absolute, as bytes.
fn received_key(destination: &std::path::Path, top: &[u8]) -> Vec<u8> {
    use std::os::unix::ffi::{OsStrExt, OsStringExt as _};
    let absolute = std::fs::canonicalize(destination).unwrap_or_else(|_| destination.into());
    absolute.join(std::ffi::OsStr::from_bytes(top)).into_os_string().into_vec()
}

/// Tells the sender how it ended, and cleans up what did not.
async fn conclude(
    listening: &Listening,
    from: &crate::DeviceId,
    job: Job<'_>,
    session: &mut Session<Acceptor>,
    ended: Result<(Receipt, Vec<PathBuf>, u64), Error>,
) -> Result<Arrived, Error> {
    match ended {
        Ok((receipt, paths, failed_there)) => {
            for path in &paths {
                use std::os::unix::ffi::OsStrExt;
                let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
                // Losing this note only means a numbered folder next time.
                let _ = listening.inner.store.note_received(*from, path.as_os_str().as_bytes());
            }
            session.machine.receipt(receipt);
            Ok(Arrived {
                files: receipt.there.files,
                folders: receipt.there.folders,
                links: receipt.there.links,
                bytes: receipt.there.bytes,
                unchanged: receipt.unchanged,
                proven: receipt.proven.map(decode_proven),
                failed: receipt.failed + failed_there,
                paths: paths.into_iter().take(ARRIVED_LISTED_MAX).collect(),
                copy: None,
            })
        }
        Err(error) => {
            session.machine.cancel(match &error {
                Error::Cancelled(Side::Here) => Cancel::ByPerson,
                Error::DestinationFull => Cancel::DestinationFull,
                _ => Cancel::Failed,
            });
            // The sender should hear at once, not after the cleaning; if it cannot, it notices the cut.
            let _ = session.flush().await;
            // Who stops a transfer, or breaks its rules, wants nothing of it to be continued.
            job.abandon(!matches!(error, Error::Cancelled(_) | Error::Protocol(_))).await;
            Err(error)
        }
    }
}
