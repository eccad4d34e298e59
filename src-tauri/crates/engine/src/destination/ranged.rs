//! Writes files that come in ranges, on any lanes in any order: made by whichever range is first, finished by whichever is written last.
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use ringway_sys::attributes::set_len;
use ringway_sys::file_io::FileIo;
use ringway_wire::lane::{Entry, EntryKind, FrameHeader, RangeHead, RangeStep};
use ringway_wire::ledger::{Ledger, RangedState};

use super::files::write_one;
use super::folders::Folder;
use super::landing::{Decision, Landed, Spot};
use super::lane::Worker;
use super::lock;
use super::trouble::{LaneError, Trouble, during};
use crate::error::Operation;

/// What all lanes account to: touched once a frame.
#[derive(Default)]
pub(super) struct Accounts {
    pub(super) ledger: Ledger,
    /// Files in ranges that are not finished. The ledger bounds them, but for those whose last ranges are being written.
    open: HashMap<u64, Arc<RangedFile>>,
}

impl Accounts {
    /// Removes what stays of unfinished files outside the staging folder.
    pub(super) fn discard_open(&mut self) {
        for (_, file) in self.open.drain() {
            if let Some(Made::Filling(part)) = file.made.get() {
                part.spot.discard(&part.folder, &part.name);
            }
        }
    }
}

/// A file that comes in ranges.
#[derive(Default)]
struct RangedFile {
    made: OnceLock<Made>,
    booked: Mutex<Booked>,
    /// Bytes written, or skipped because the file stays as it is.
    bytes: AtomicU64,
    /// A range could not be written; it was reported.
    failed: AtomicBool,
}

/// Ranges that are being written, and whether the ledger awaits no more of them.
#[derive(Default)]
struct Booked {
    under_way: u32,
    ended: Option<RangedState>,
}

/// What the first range to come made of it.
enum Made {
    Filling(Part),
    /// What is there stays.
    Unchanged(Arc<Folder>),
    /// It could not be made; that was reported.
    Failed,
}

/// A file being filled.
struct Part {
    file: OwnedFd,
    folder: Arc<Folder>,
    name: Box<[u8]>,
    spot: Spot,
    decision: Decision,
}

impl RangedFile {
    fn book(&self, state: RangedState) {
        let mut booked = lock(&self.booked);
        booked.under_way += 1;
        if state != RangedState::Partial {
            booked.ended = Some(state);
        }
    }

    /// One range is done with; how the file ended if it was the last one.
    fn release(&self) -> Option<RangedState> {
        let mut booked = lock(&self.booked);
        booked.under_way -= 1;
        booked.ended.filter(|_| booked.under_way == 0)
    }
}

impl Worker<'_> {
    /// Takes in one range.
    pub(super) fn range(
        &mut self,
        header: &FrameHeader,
        head: &RangeHead<'_>,
        body: &[u8],
        io: &mut FileIo,
    ) -> Result<(), LaneError> {
        let file = {
            let mut accounts = lock(&self.incoming.accounts);
            let verdict = accounts.ledger.range(header, head)?;
            let file = Arc::clone(accounts.open.entry(head.file_id).or_default());
            file.book(verdict.state);
            file
        };
        self.fill(&file, head, body, io)?;
        if let Some(state) = file.release() {
            let concluded = self.conclude(&file, state, head);
            lock(&self.incoming.accounts).open.remove(&head.file_id);
            if let Err(trouble) = concluded {
                self.report(trouble, head.folder.as_bytes(), Some(head.entry.name.as_bytes()))?;
            }
        }
        Ok(())
    }

    fn fill(&mut self, file: &RangedFile, head: &RangeHead<'_>, body: &[u8], io: &mut FileIo) -> Result<(), LaneError> {
        if head.step == RangeStep::Abandoned {
            return Ok(());
        }
        let (folder, name) = (head.folder.as_bytes(), head.entry.name.as_bytes());
        let mut trouble = None;
        let made = file.made.get_or_init(|| {
            self.make(head).unwrap_or_else(|error| {
                trouble = Some(error);
                Made::Failed
            })
        });
        if let Some(trouble) = trouble {
            self.report(trouble, folder, Some(name))?;
        }
        let written = match made {
            Made::Filling(part) if !file.failed.load(Ordering::Relaxed) && !body.is_empty() => {
                write_one(&part.file, head.offset, body, io)
            }
            Made::Filling(_) | Made::Unchanged(_) => Ok(()),
            Made::Failed => return Ok(()),
        };
        if let Err(error) = written {
            if file.failed.swap(true, Ordering::Relaxed) {
                return Ok(());
            }
            return self.report(during(Operation::Write)(error), folder, Some(name));
        }
        file.bytes.fetch_add(body.len() as u64, Ordering::Relaxed);
        self.incoming.tally.moving(body.len() as u64);
        Ok(())
    }

    /// Makes the file that ranges will fill; what no range fills is a hole.
    fn make(&mut self, head: &RangeHead<'_>) -> Result<Made, Trouble> {
        let entry = &head.entry;
        let name = entry.name.as_bytes();
        let folder = self.folders.folder(self.incoming, head.folder)?;
        self.incoming.admit(&folder, name)?;
        let decision = if folder.is_staged() { Decision::Absent } else { self.incoming.decide(&folder, entry)? };
        if decision == Decision::Unchanged {
            return Ok(Made::Unchanged(folder));
        }
        self.incoming.is_foreign(&folder, &self.parts)?;
        let (file, spot) = self.create(&folder, name)?;
        if let EntryKind::File { size, .. } = entry.kind
            && let Err(error) = set_len(&file, size)
        {
            spot.discard(&folder, name);
            return Err(during(Operation::Write)(error));
        }
        Ok(Made::Filling(Part { file, folder, name: name.into(), spot, decision }))
    }

    fn conclude(&self, file: &RangedFile, state: RangedState, head: &RangeHead<'_>) -> Result<(), Trouble> {
        let incoming = self.incoming;
        let bytes = file.bytes.load(Ordering::Relaxed);
        incoming.tally.moved(bytes);
        let made = file.made.get();
        let wanted = state == RangedState::Whole && !file.failed.load(Ordering::Relaxed);
        match made {
            Some(Made::Filling(part)) if wanted => self.conclude_part(part, bytes, head),
            Some(Made::Filling(part)) => {
                part.spot.discard(&part.folder, &part.name);
                Ok(())
            }
            Some(Made::Unchanged(folder)) if wanted => {
                incoming.tally.file(bytes);
                incoming.note_file(folder, head.folder, &head.entry, &Landed::Unchanged);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn conclude_part(&self, part: &Part, bytes: u64, head: &RangeHead<'_>) -> Result<(), Trouble> {
        let incoming = self.incoming;
        // What was made is what counts, should a later range call itself something else.
        let name = ringway_wire::Name::new(&part.name).unwrap_or(head.entry.name);
        let entry = Entry { name, ..head.entry };
        let dressed = incoming.set_attributes(&part.file, &entry.attributes, entry.xattrs);
        let landed = match &part.spot {
            Spot::Own => Landed::There,
            spot => incoming
                .land(spot, &part.folder, &entry, part.decision)
                .inspect_err(|_| spot.discard(&part.folder, &part.name))?,
        };
        incoming.tally.file(bytes);
        incoming.note_file(&part.folder, head.folder, &entry, &landed);
        dressed.map_err(during(Operation::Metadata))
    }
}
