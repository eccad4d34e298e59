//! A dry run of getting: asks the other device what would be moved. Nothing is written here, and
//! nothing of it is in the history of either device.
mod expected;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ringway_link::session::Session;
use ringway_model::{AuthError, Counts, Failure, FailureReason, Fault, Planned, Side};
use ringway_wire::ProtocolError;
use ringway_wire::control::{Answer, Cancel, NoAnswer, PlannedCounts, PlannedEntry, PlannedKind, PlannedPage, Refusal};
use ringway_wire::limits::PAGES_AHEAD_MAX;
use ringway_wire::session::{Event, QuestionNumber};

use self::expected::Expected;
use super::request::{self, Request};
use crate::limits::FIRST_CONTACT_TIME_MAX;
use crate::reach::connect::Destination;
use crate::send::reach::{Reached, reach, refused};
use crate::shared::Shared;
use crate::transfers::copying::PlannedFn;
use crate::transfers::options::GetRequest;
use crate::transfers::transfer::{Arrived, Transfer};
use crate::wire_convert::{decode_cancel, decode_failure};

/// Tells `planned` each entry, by its path in the transfer, and reports what all of it comes to.
pub(crate) async fn run(shared: Arc<Shared>, request: GetRequest, planned: PlannedFn, transfer: Transfer) {
    let _ends = transfer.ends_with_its_driver();
    match plan(&shared, request, &planned, &transfer).await {
        Ok(counts) => transfer.end_with(None, Arrived { counts, ..Arrived::default() }),
        Err(fault) => transfer.end(Err(fault)),
    }
}

async fn plan(
    shared: &Arc<Shared>,
    mut request: GetRequest,
    planned: &PlannedFn,
    transfer: &Transfer,
) -> Result<Counts, Fault> {
    let asked = Request::new(&request, transfer.id(), Duration::ZERO)?;
    let destination = Destination::of(&shared.store, &request.target)?;
    let reached = tokio::select! {
        reached = reach(shared, &destination, request.options.code.take(), FIRST_CONTACT_TIME_MAX) => reached?,
        stopped = transfer.cancelled() => return Err(stopped),
    };
    let Reached { mut session, device, .. } = reached;
    transfer.known_peer(device.id, &device.name);
    transfer.figures().begin();
    asked.fail_unfit(transfer);
    let expected = Expected::new(&asked);
    let number = session.machine.plan(asked.get, asked.selected).ok_or(Fault::AnswerBusy)?;
    let hearing = Hearing { transfer, request: &request, number };
    let told = hearing.all(&mut session, planned, expected).await;
    session.machine.cancel(Cancel::ByPerson);
    session.close().await;
    told
}

/// The answer, while it is heard.
struct Hearing<'a> {
    transfer: &'a Transfer,
    request: &'a GetRequest,
    number: QuestionNumber,
}

impl Hearing<'_> {
    /// The session goes on while a page is handed over, however long that takes.
    async fn all(&self, session: &mut Session, planned: &PlannedFn, mut expected: Expected) -> Result<Counts, Fault> {
        let mut pages = VecDeque::from([self.page(session).await?]);
        loop {
            let PlannedPage { entries, counts } = match pages.pop_front() {
                Some(page) => page,
                None => self.page(session).await?,
            };
            let is_last = |pages: &VecDeque<PlannedPage>| {
                counts.is_some() || pages.back().is_some_and(|page| page.counts.is_some())
            };
            let (planned, transfer) = (Arc::clone(planned), self.transfer.clone());
            let mut telling = tokio::task::spawn_blocking(move || {
                tell(entries, &mut expected, &planned, &transfer).map(|()| expected)
            });
            expected = loop {
                tokio::select! {
                    told = &mut telling => break told.expect("telling does not panic")?,
                    page = self.page(session), if !is_last(&pages) => pages.push_back(page?),
                }
            };
            if let Some(PlannedCounts { sent, excluded, failed }) = counts {
                expected.end(&sent)?;
                let (files, folders, links, bytes) = (sent.files, sent.folders, sent.links, sent.bytes);
                return Ok(Counts { files, folders, links, bytes, excluded, failed, ..Counts::default() });
            }
            // What has arrived is bounded by what was asked for.
            if !is_last(&pages) && pages.len() <= usize::from(PAGES_AHEAD_MAX / 2) {
                session.machine.more_pages(self.number);
            }
        }
    }

    async fn page(&self, session: &mut Session) -> Result<PlannedPage, Fault> {
        loop {
            let event = tokio::select! {
                event = session.next() => event?,
                stopped = self.transfer.cancelled() => return Err(stopped),
            };
            match event {
                Some(Event::Answered(number, Answer::Planned(page))) if number == self.number => return Ok(page),
                Some(Event::Answered(_, Answer::NotPlanned(refusal))) => {
                    return Err(request::refused(refusal, self.request));
                }
                Some(Event::Answered(_, Answer::Refused(why))) => return Err(self.no_answer(why)),
                Some(Event::Refused(Refusal::NotPaired)) => {
                    let peer_name = self.transfer.peer().map(|(_, name)| name).unwrap_or_default();
                    return Err(AuthError::PairingNeeded { peer_name: peer_name.into() }.into());
                }
                Some(Event::Refused(Refusal::PairingBusy(_))) => return Err(Fault::AnswerBusy),
                Some(Event::Refused(refusal)) => return Err(refused(refusal, None)),
                Some(Event::Cancelled(cancel)) => return Err(decode_cancel(cancel)),
                Some(_) => {}
                None => return Err(Fault::lost(std::io::ErrorKind::UnexpectedEof)),
            }
        }
    }

    fn no_answer(&self, why: NoAnswer) -> Fault {
        let share = || request::share_of(self.request);
        match why {
            NoAnswer::NotShared => Fault::NotShared { share: share() },
            NoAnswer::Unavailable(trouble) => Fault::ShareUnavailable { share: share(), trouble },
            NoAnswer::Path(_) | NoAnswer::Busy => Fault::AnswerBusy,
        }
    }
}

/// # Errors
/// An entry that was not asked for: of what is behind it nothing is told.
fn tell(
    entries: Vec<PlannedEntry>,
    expected: &mut Expected,
    planned: &PlannedFn,
    transfer: &Transfer,
) -> Result<(), ProtocolError> {
    for entry in entries {
        expected.add(&entry)?;
        match entry {
            PlannedEntry::Moves(kind, path) => {
                let what = match kind {
                    PlannedKind::Folder => Planned::Folder,
                    PlannedKind::File => Planned::File,
                    PlannedKind::Link => Planned::Link,
                };
                planned(what, Path::new(&OsString::from_vec(path)));
            }
            PlannedEntry::Fails(failed) => {
                let failure = decode_failure(failed);
                // Such a name is refused by the end that receives it, which is this one.
                let is_ours = failure.reason == FailureReason::OwnFolder;
                let side = if is_ours { Side::Here } else { failure.side };
                transfer.figures().fail(Failure { side, ..failure });
            }
        }
    }
    Ok(())
}
