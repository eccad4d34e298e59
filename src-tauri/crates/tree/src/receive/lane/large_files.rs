//! Writes files that come in ranges, on any lanes in any order: made by whichever range is first,
//! finished by whichever is written last.
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use ringway_model::Operation;
use ringway_sys::file_io::FileIo;
use ringway_wire::journal::Version;
use ringway_wire::lane::{Batch, Counts, Digest, Entry, EntryKind, FrameHeader, RangeHead, RangeStep};
use ringway_wire::ledger::{Ledger, RangedState, Writing};
use ringway_wire::stretches::Stretches;
use ringway_wire::{Name, ProtocolError, RelPath};

use crate::descriptors::patiently;
use crate::receive::Incoming;
use crate::receive::digests::{Holds, Parts, Record};
use crate::receive::failures::{LaneError, Spared, Tally, Trouble, during};
use crate::receive::lane::Worker;
use crate::receive::lane::basis::{Bases, Basis};
use crate::receive::lane::small_files::write_one;
use crate::receive::merge::attributes::CreationMode;
use crate::receive::merge::folders::Folder;
use crate::receive::merge::landing::{Decision, Landed};
use crate::receive::staging::Left;
use crate::receive::staging::journal::Wholes;
use crate::receive::staging::read_only_folders::Openings;
use crate::receive::staging::spot::Spot;

/// What all lanes account to, and what large files are made of beside what comes.
#[derive(Default)]
pub(in crate::receive) struct Accounts {
    /// Touched once a frame.
    open: Mutex<Open>,
    /// Files of earlier attempts that the sender goes on with, by folder and name, until the first
    /// range of each comes.
    pub(in crate::receive) resuming: Mutex<HashMap<PathKey, Left>>,
    pub(in crate::receive) bases: Bases,
}

/// The ledger, and the files in ranges that are not finished.
#[derive(Default)]
struct Open {
    ledger: Ledger,
    /// The ledger bounds them, but for those whose last ranges are being written.
    files: HashMap<u64, Arc<RangedFile>>,
}

/// A file by its folder's path and its name.
type PathKey = (Box<[u8]>, Box<[u8]>);

impl Accounts {
    /// Books a frame of a file, which is found or begun, before anything is done with it.
    pub(in crate::receive) fn book(
        &self,
        head: &RangeHead<'_>,
        tally: &Tally,
        frame: impl FnOnce(&mut Ledger) -> Result<RangedState, ProtocolError>,
    ) -> Result<Arc<RangedFile>, LaneError> {
        let mut accounts = self.open.lock();
        let left = if accounts.ledger.is_open(head.file_id) { None } else { self.left_of(head) };
        if let Some(left) = left {
            accounts.ledger.resume(head.file_id, left.version.size, head.stamp, left.has.clone())?;
            tally.moving(left.has.total());
            let (all, file) = (left.has.total(), Arc::new(RangedFile::going_on(left)));
            file.spare(tally, Spared { all, reused: 0 });
            accounts.files.insert(head.file_id, file);
        }
        let state = frame(&mut accounts.ledger)?;
        let file = Arc::clone(accounts.files.entry(head.file_id).or_default());
        file.writing.lock().begin(state);
        Ok(file)
    }

    /// Books a batch, before anything is done with it.
    pub(in crate::receive) fn batch(&self, batch: &Batch<'_>) {
        self.open.lock().ledger.batch(batch);
    }

    /// Books what was listed and need not be sent.
    pub(in crate::receive) fn listed(&self, unwanted: Counts) {
        self.open.lock().ledger.listed(unwanted);
    }

    /// Whether the received data is what was declared.
    pub(in crate::receive) fn settle(&self, declared: &Counts) -> Result<(), ProtocolError> {
        self.open.lock().ledger.settle(declared)
    }

    /// A file has ended, and nothing of it is under way.
    fn close(&self, file_id: u64) {
        self.open.lock().files.remove(&file_id);
    }

    /// What an earlier attempt has left of the file, if the sender was told so.
    fn left_of(&self, head: &RangeHead<'_>) -> Option<Left> {
        let mut resuming = self.resuming.lock();
        if resuming.is_empty() {
            return None;
        }
        let version = version_of(head);
        let key = (version.folder.clone(), version.name.clone());
        resuming.remove(&key).filter(|left| left.version == version)
    }

    /// Removes what stays of unfinished files outside the staging folder.
    pub(in crate::receive) fn discard_open(&self, openings: &Arc<Openings>) {
        self.discard(openings, |_| true);
    }

    /// The same, but for those that are noted in the journal; what an earlier attempt has noted
    /// goes back to where that has it.
    pub(in crate::receive) fn discard_unnoted(&self, openings: &Arc<Openings>) {
        self.discard(openings, |part| part.noted.is_none() && part.put_back().is_err());
    }

    /// Those being filled that are not to stay in memory.
    pub(in crate::receive) fn huge_files(&self) -> Vec<OwnedFd> {
        let accounts = self.open.lock();
        let parts = accounts.files.values().filter_map(|file| match file.made.get() {
            Some(Made::Filling(part)) if part.is_huge => part.file.try_clone().ok(),
            _ => None,
        });
        parts.collect()
    }

    fn discard(&self, openings: &Arc<Openings>, which: impl Fn(&Part) -> bool) {
        for (_, file) in self.open.lock().files.drain() {
            if let Some(Made::Filling(part)) = file.made.get()
                && which(part)
            {
                let _opening = part.place.folder.open_for_change(openings);
                part.discard();
            }
        }
    }
}

/// A file that comes in ranges.
#[derive(Default)]
pub(in crate::receive) struct RangedFile {
    made: OnceLock<Made>,
    /// What chunks of it are looked for in, once they are; `None` if there is no such file.
    pub(in crate::receive) basis: OnceLock<Option<Mutex<Basis>>>,
    /// What an earlier attempt has of it, until it is made.
    left: Mutex<Option<Left>>,
    pub(in crate::receive) writing: Mutex<Writing>,
    /// Bytes written, or skipped because the file stays as it is.
    pub(in crate::receive) bytes: AtomicU64,
    /// Those of them that were not sent in this session.
    spared: Mutex<Spared>,
    /// A range could not be written; it was reported.
    failed: AtomicBool,
    /// Digests of what was written, where it is to be proven.
    pub(in crate::receive) parts: Parts,
}

/// What the first range to come made of it.
pub(in crate::receive) enum Made {
    Filling(Part),
    /// What is there stays.
    Unchanged(Place, Decision),
    /// It could not be made; that was reported.
    Failed,
}

/// What the first range to come said of where the file belongs. A later one that says otherwise is
/// not believed.
pub(in crate::receive) struct Place {
    pub(in crate::receive) folder: Arc<Folder>,
    path: Box<[u8]>,
    pub(in crate::receive) name: Box<[u8]>,
}

impl Place {
    /// The file's entry under its name here.
    fn entry<'a>(&'a self, head: &RangeHead<'a>) -> (RelPath<'a>, Entry<'a>) {
        let path = RelPath::new(&self.path).unwrap_or(head.folder);
        let name = Name::new(&self.name).unwrap_or(head.entry.name);
        (path, Entry { name, ..head.entry })
    }
}

/// A file being filled.
pub(in crate::receive) struct Part {
    pub(in crate::receive) file: OwnedFd,
    pub(in crate::receive) place: Place,
    spot: Spot,
    pub(in crate::receive) decision: Decision,
    is_huge: bool,
    /// The journal's number for it.
    pub(in crate::receive) noted: Option<u32>,
    /// Where it was moved from.
    left: Option<Left>,
    /// What an earlier attempt has of the same version, where that is not believed.
    pub(in crate::receive) same: Option<Box<Left>>,
}

impl Part {
    /// Writes part of it, and notes that.
    pub(in crate::receive) fn write(
        &self,
        incoming: &Incoming,
        offset: u64,
        body: &[u8],
        io: &mut FileIo,
    ) -> io::Result<()> {
        write_one(incoming.root.disk(), &self.file, offset, body, io)?;
        if let Some(number) = self.noted {
            incoming.staging.journal.range(number, offset, offset + body.len() as u64);
        }
        Ok(())
    }

    fn discard(&self) {
        self.spot.discard(&self.place.folder, &self.place.name);
    }

    /// Moves it back to where an earlier attempt has left it.
    fn put_back(&self) -> io::Result<()> {
        let left = self.left.as_ref().ok_or(io::ErrorKind::NotFound)?;
        left.take_back(self.spot.place(&self.place.folder, &self.place.name))
    }
}

impl RangedFile {
    /// Whether nothing was wrong with writing it so far.
    pub(in crate::receive) fn takes_more(&self) -> bool {
        !self.failed.load(Ordering::Relaxed)
    }

    /// Counts bytes that need not be sent.
    pub(in crate::receive) fn spare(&self, tally: &Tally, bytes: Spared) {
        let mut spared = self.spared.lock();
        spared.all += bytes.all;
        spared.reused += bytes.reused;
        tally.spared(bytes);
    }

    fn going_on(left: Left) -> Self {
        let bytes = AtomicU64::new(left.has.total());
        Self { left: Mutex::new(Some(left)), bytes, ..Self::default() }
    }
}

/// Which version of its file a range is of.
fn version_of(head: &RangeHead<'_>) -> Version {
    let EntryKind::File { size, .. } = head.entry.kind else { unreachable!("the codec takes ranges of files only") };
    Version {
        folder: head.folder.as_bytes().into(),
        name: head.entry.name.as_bytes().into(),
        size,
        mtime: head.entry.attributes.mtime,
        stamp: head.stamp,
    }
}

impl Worker<'_> {
    /// Takes in one range.
    pub(in crate::receive) fn range(
        &mut self,
        header: &FrameHeader,
        head: &RangeHead<'_>,
        body: &[u8],
        digest: Option<Digest>,
        io: &mut FileIo,
    ) -> Result<(), LaneError> {
        let file = self.incoming.accounts.book(head, &self.incoming.results.tally, |ledger| {
            ledger.range(header, head).map(|verdict| verdict.state)
        })?;
        self.fill(&file, head, body, digest, io)?;
        self.done_with(&file, head)
    }

    /// What was booked of a file is done with, written or not. Concludes the file if it has ended
    /// and nothing of it is under way.
    pub(in crate::receive) fn done_with(&mut self, file: &RangedFile, head: &RangeHead<'_>) -> Result<(), LaneError> {
        let ended = file.writing.lock().end();
        if let Some(state) = ended {
            let concluded = self.conclude(file, state, head);
            self.incoming.accounts.close(head.file_id);
            if let Err(trouble) = concluded {
                self.report(trouble, head.folder.as_bytes(), Some(head.entry.name.as_bytes()))?;
            }
        }
        Ok(())
    }

    fn fill(
        &mut self,
        file: &RangedFile,
        head: &RangeHead<'_>,
        body: &[u8],
        digest: Option<Digest>,
        io: &mut FileIo,
    ) -> Result<(), LaneError> {
        if matches!(head.step, RangeStep::Abandoned { .. }) {
            return Ok(());
        }
        let made = self.made(file, head)?;
        let written = match made {
            Made::Filling(part) if file.takes_more() && !body.is_empty() => {
                part.write(self.incoming, head.offset, body, io)
            }
            Made::Filling(_) | Made::Unchanged(..) => Ok(()),
            Made::Failed => return Ok(()),
        };
        if let Err(error) = written {
            return self.failed_to_write(file, head, error);
        }
        if let (Some(proof), Some(digest), Made::Filling(_)) = (&self.incoming.proof, digest, made)
            && !body.is_empty()
        {
            proof.part(&file.parts, head.offset, body.len(), digest, &self.incoming.staging.dir)?;
        }
        file.bytes.fetch_add(body.len() as u64, Ordering::Relaxed);
        self.incoming.results.tally.moving(body.len() as u64);
        Ok(())
    }

    /// What the first frame of a file made of it; this one, if there was none before.
    pub(in crate::receive) fn made<'f>(
        &mut self,
        file: &'f RangedFile,
        head: &RangeHead<'_>,
    ) -> Result<&'f Made, LaneError> {
        let mut trouble = None;
        let made = file.made.get_or_init(|| {
            self.make(head, file.left.lock().take()).unwrap_or_else(|error| {
                trouble = Some(error);
                Made::Failed
            })
        });
        if let Some(trouble) = trouble {
            self.report(trouble, head.folder.as_bytes(), Some(head.entry.name.as_bytes()))?;
        }
        Ok(made)
    }

    /// Reports that a file could not be written to, once.
    pub(in crate::receive) fn failed_to_write(
        &self,
        file: &RangedFile,
        head: &RangeHead<'_>,
        error: io::Error,
    ) -> Result<(), LaneError> {
        if file.failed.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        self.report(during(Operation::Write)(error), head.folder.as_bytes(), Some(head.entry.name.as_bytes()))
    }

    /// Makes the file that ranges will fill, or goes on with what an earlier attempt has left of
    /// it; what no range fills is a hole.
    fn make(&mut self, head: &RangeHead<'_>, left: Option<Left>) -> Result<Made, Trouble> {
        let entry = &head.entry;
        let name = entry.name.as_bytes();
        let folder = match self.folders.folder(head.folder) {
            Err(trouble) if self.incoming.deferred.may_set_aside(&trouble, entry) => {
                let folder = Arc::new(Folder::of_staging(Arc::clone(&self.parts)));
                let place = Place { folder, path: head.folder.as_bytes().into(), name: name.into() };
                let made = self.make_aside(head, place, left)?;
                self.report(trouble, head.folder.as_bytes(), Some(name))?;
                return Ok(made);
            }
            folder => folder?,
        };
        self.incoming.admit(&folder, name)?;
        let decision =
            if folder.is_staged() { Ok(Decision::Absent) } else { self.incoming.policy.decide(&folder, entry) };
        let place = Place { folder, path: head.folder.as_bytes().into(), name: name.into() };
        if let Ok(decision @ (Decision::Same | Decision::Kept | Decision::Beside)) = decision {
            return Ok(Made::Unchanged(place, decision));
        }
        let _opening = place.folder.open_for_change(&self.incoming.openings);
        let takes_name =
            decision.and_then(|decision| self.incoming.is_foreign(&place.folder, name, &self.parts).map(|_| decision));
        let decision = match takes_name {
            Err(trouble) if self.incoming.deferred.may_set_aside(&trouble, entry) => {
                let made = self.make_aside(head, place, left)?;
                self.report(trouble, head.folder.as_bytes(), Some(name))?;
                return Ok(made);
            }
            decision => decision?,
        };
        let version = version_of(head);
        let (left, same) = if left.as_ref().is_some_and(Left::is_compared) { (None, left) } else { (left, None) };
        let (noted, file, spot) = match &left {
            Some(left) => {
                let spot = match place.folder.is_staged() {
                    true => Spot::Own,
                    false => Spot::Part(Arc::clone(&self.parts), self.next_part()),
                };
                // Before it is moved: killed in between, this attempt has noted what it does not
                // have, and the earlier one still has it.
                let noted = self.incoming.staging.journal.begin(&version, &spot, &self.parts_name, &left.has);
                let file = left.move_to(spot.place(&place.folder, name)).map_err(during(Operation::Open))?;
                (noted, file, spot)
            }
            None => {
                let (file, spot) = self.create_patiently(&place.folder, name, CreationMode::Provisional)?;
                if let Err(error) = self.incoming.root.disk().set_len(file.as_fd(), version.size) {
                    spot.discard(&place.folder, name);
                    return Err(during(Operation::Write)(error));
                }
                // Once it is there: ranges of another file that was begun under this name are void
                // from here on.
                let none = Stretches::default();
                let noted = self.incoming.staging.journal.begin(&version, &spot, &self.parts_name, &none);
                (noted, file, spot)
            }
        };
        let is_huge = self.incoming.staging.writeback.is_huge(version.size);
        let same = same.map(Box::new);
        Ok(Made::Filling(Part { file, place, spot, decision, is_huge, noted, left, same }))
    }

    /// Makes it where it stays without its name. The journal does not know of it: the next attempt
    /// has it sent once more.
    fn make_aside(&mut self, head: &RangeHead<'_>, place: Place, left: Option<Left>) -> Result<Made, Trouble> {
        let size = version_of(head).size;
        let (left, same) = if left.as_ref().is_some_and(Left::is_compared) { (None, left) } else { (left, None) };
        let (file, spot) = match &left {
            Some(left) => {
                let spot = Spot::Aside(Arc::clone(&self.parts), self.next_part());
                let file = left.move_to(spot.place(&place.folder, &place.name)).map_err(during(Operation::Open))?;
                (file, spot)
            }
            None => {
                let incoming = self.incoming;
                let spare = |worker: &mut Self| Ok(worker.folders.give_back());
                let create = |worker: &mut Self| worker.create_aside(CreationMode::Provisional);
                let (file, spot) = patiently(self, spare, || incoming.flags.goes_on(), create)?;
                self.incoming.root.disk().set_len(file.as_fd(), size).map_err(during(Operation::Write))?;
                (file, spot)
            }
        };
        let is_huge = self.incoming.staging.writeback.is_huge(size);
        let (decision, noted, same) = (Decision::Absent, None, same.map(Box::new));
        Ok(Made::Filling(Part { file, place, spot, decision, is_huge, noted, left, same }))
    }

    fn conclude(&self, file: &RangedFile, state: RangedState, head: &RangeHead<'_>) -> Result<(), Trouble> {
        let incoming = self.incoming;
        let bytes = file.bytes.load(Ordering::Relaxed);
        let spared = *file.spared.lock();
        incoming.results.tally.moved(bytes);
        // They count again where the file is there in the end.
        incoming.results.tally.not_spared(spared);
        let made = file.made.get();
        let _opening = match made {
            Some(Made::Filling(part)) => part.place.folder.open_for_change(&incoming.openings),
            _ => None,
        };
        let wanted = state == RangedState::Whole && !file.failed.load(Ordering::Relaxed);
        match made {
            Some(Made::Filling(part)) if wanted => self.conclude_part(part, &file.parts, bytes, spared, head),
            Some(Made::Filling(part)) => {
                part.discard();
                Ok(())
            }
            Some(Made::Unchanged(place, decision)) if wanted => {
                let (path, entry) = place.entry(head);
                self.settle_unchanged(&place.folder, path, &entry, *decision, bytes)
            }
            _ => Ok(()),
        }
    }

    fn conclude_part(
        &self,
        part: &Part,
        parts: &Parts,
        bytes: u64,
        spared: Spared,
        head: &RangeHead<'_>,
    ) -> Result<(), Trouble> {
        let incoming = self.incoming;
        let folder = &part.place.folder;
        let (path, entry) = part.place.entry(head);
        let holds = || Holds { bytes, contents: parts.contents() };
        let dressed = incoming.policy.attributes.set_attributes(
            &part.file,
            CreationMode::Provisional,
            &entry.attributes,
            entry.xattrs,
            folder.inherits.as_ref(),
        );
        let landed = match &part.spot {
            Spot::Own => Landed::There,
            Spot::Aside(..) => {
                self.set_aside(&part.spot, &entry, holds())?;
                return Ok(());
            }
            spot => incoming
                .staging
                .settle(&part.file, spot)
                .map_err(during(Operation::Sync))
                .and_then(|()| incoming.land(spot, folder, &entry, part.decision))
                .or_else(|trouble| {
                    let is_of_use = incoming.deferred.may_set_aside(&trouble, &entry);
                    let is_set_aside = is_of_use && self.set_aside(&part.spot, &entry, holds())?;
                    // What is whole and only lacks its name waits for the next attempt.
                    if !is_set_aside && (matches!(trouble, Trouble::Entry(_)) || part.noted.is_none()) {
                        part.discard();
                    }
                    Err(trouble)
                })?,
        };
        let stamp = incoming.stamp_of(&part.file);
        if let Some(same) = &part.same {
            // It only takes room. Where it cannot be removed it goes with its folder.
            let _ = same.remove();
        }
        self.keep_aside(&part.spot, &landed, folder, &entry, holds)?;
        incoming.results.tally.file(bytes);
        incoming.results.tally.spared(spared);
        self.note_file(folder, path, &entry, &landed)?;
        incoming.policy.top.note_landing(folder, &entry, &landed, &part.file);
        incoming.policy.top.save_landings();
        if matches!(part.spot, Spot::Own) {
            let mut whole = Wholes::default();
            whole.add(path, &entry, if part.noted.is_some() { 0 } else { bytes });
            incoming.staging.journal.whole(&mut whole, false);
        }
        let record = Record { spared, ..Record::landed(folder, path, &entry, &landed, stamp, bytes) };
        self.keep_for_proof(&record, &landed, parts.contents())?;
        dressed.map_err(during(Operation::Metadata))
    }
}
