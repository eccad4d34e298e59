//! The receiver's lanes: frames as they come, batches and lists step by step.
use std::collections::VecDeque;

use ringway_wire::control::{Cancel, Wanted};
use ringway_wire::journal::{Recorder, Version};
use ringway_wire::lane::{
    Batch, Counts, Digest, Entry, EntryKind, FileList, FrameHeader, FrameKind, HEADER_LEN, Item, RangeHead, RangeStep,
};
use ringway_wire::limits::CHUNKED_SIZE_MIN;
use ringway_wire::resume::{self, Belief, Found, LANE_PREFIX, TREE};
use ringway_wire::stretches::Stretches;

use super::Receiver;
use super::proving::Record;
use super::ranges::{Left, Open, mark, note};
use super::site::{STAGING, Site, path_of, staged};
use crate::disk::{Disk, File, Full, Tag};
use crate::pipe::{Arrival, LanePipe};
use crate::random::Random;
use crate::source::digest_of;

pub(super) enum Op {
    Look(usize),
    Answer(u32),
    Create(usize),
    Fill(usize),
    Dress(usize),
    Settle(usize),
    Land(usize),
    Book,
    Make,
    Note,
    Move,
    CreatePart,
    Write,
    NoteRange,
    Release,
    DressRange,
    WriteOut,
    LandRange,
    /// A window's piece is looked for where the old file has it, and copied.
    CopyRead(usize),
    CopyWrite(usize),
    AnswerWindow,
    End,
}

/// An entry of the frame that a worker is at.
#[derive(Clone)]
pub(super) struct Listed {
    pub(super) version: Version,
    pub(super) tag: Tag,
    /// Where it is made.
    pub(super) place: Vec<u8>,
    digest: Option<Digest>,
    wanted: bool,
}

impl Listed {
    pub(super) fn new(version: Version) -> Self {
        Self { version, tag: 0, place: Vec::new(), digest: None, wanted: true }
    }
}

/// The range that a worker is at.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub(super) id: u64,
    pub(super) offset: u64,
    pub(super) len: u64,
    pub(super) step: RangeStep,
    pub(super) digest: Option<Digest>,
}

pub(super) struct Worker {
    bytes: Vec<u8>,
    header: Option<FrameHeader>,
    pub(super) ops: VecDeque<Op>,
    pub(super) files: Vec<Listed>,
    has: Stretches,
    basis: u64,
    pub(super) piece: Option<Piece>,
    pub(super) range: (FrameHeader, Vec<u8>),
    /// Pieces of a window that were found, and what was read of the one under way.
    pub(super) found: Vec<bool>,
    pub(super) read: Tag,
    /// A file whose last range is written.
    pub(super) closing: Option<Open>,
    pub(super) has_ended: bool,
}

impl Default for Worker {
    fn default() -> Self {
        Self {
            bytes: Vec::new(),
            header: None,
            ops: VecDeque::new(),
            files: Vec::new(),
            has: Stretches::default(),
            basis: 0,
            piece: None,
            range: (FrameHeader::END, Vec::new()),
            found: Vec::new(),
            read: 0,
            closing: None,
            has_ended: false,
        }
    }
}

fn found(file: &File) -> Found {
    Found { is_file: true, size: file.size, mtime: file.mtime, names: 1 }
}

impl Receiver {
    /// Bytes of a lane arrive.
    pub(crate) fn arrive(&mut self, site: &mut Site, lane: usize, pipe: &mut LanePipe, random: &mut Random) {
        while self.workers.len() <= lane {
            self.workers.push(Worker::default());
        }
        match pipe.arrive(random) {
            Arrival::Nothing => {}
            Arrival::End if self.workers[lane].has_ended => {}
            // Whatever has come of a frame is not used.
            Arrival::End => {
                self.machine.cancel(Cancel::Failed);
                self.keep(site);
            }
            Arrival::Head(bytes) => self.head(lane, &bytes),
            Arrival::Whole(contents) => self.frame(lane, &contents),
        }
    }

    pub(crate) fn takes_bytes(&self, lane: usize) -> bool {
        self.workers.get(lane).is_none_or(|worker| worker.ops.is_empty() && !worker.has_ended)
    }

    fn head(&mut self, lane: usize, bytes: &[u8]) {
        let worker = &mut self.workers[lane];
        worker.bytes.extend_from_slice(bytes);
        if worker.header.is_none()
            && let Some(header) = worker.bytes.first_chunk::<HEADER_LEN>()
        {
            worker.header = Some(FrameHeader::decode(*header).expect("an honest peer"));
        }
        let whole = worker
            .header
            .is_some_and(|header| header.body_len == 0 && worker.bytes.len() == HEADER_LEN + header.head_len as usize);
        if whole {
            // What such a frame holds is said in its head; an empty file's contents are none.
            self.frame(lane, &[]);
        }
    }

    fn frame(&mut self, lane: usize, contents: &[Tag]) {
        let compares = self.proves || self.doubts().is_some();
        let worker = &mut self.workers[lane];
        let bytes = std::mem::take(&mut worker.bytes);
        let (header, head) = (worker.header.take().expect("its head has come"), &bytes[HEADER_LEN..]);
        worker.files.clear();
        worker.piece = None;
        let listed = |folder: &[u8], entry: &Entry<'_>, stamp, tag, digest| {
            let EntryKind::File { size, .. } = entry.kind else { panic!("only files are sent") };
            let (folder, name) = (folder.into(), entry.name.as_bytes().into());
            let version = Version { folder, name, size, mtime: entry.attributes.mtime, stamp };
            Listed { tag, digest, ..Listed::new(version) }
        };
        match header.kind {
            FrameKind::End => worker.ops.push_back(Op::End),
            FrameKind::Renew => panic!("nobody renews"),
            FrameKind::Chunks => {
                worker.range = (header, head.to_vec());
                self.window(lane);
            }
            FrameKind::List => {
                let parse = if compares { FileList::parse_proven } else { FileList::parse };
                let list = parse(&header, head).expect("an honest peer");
                let files = list.files().enumerate();
                worker.files.extend(
                    files.map(|(at, (folder, entry))| {
                        listed(folder.as_bytes(), &entry, list.stamp(), 0, list.digest(at))
                    }),
                );
                worker.ops.extend((0..worker.files.len()).map(Op::Look));
                worker.ops.push_back(Op::Answer(list.number()));
            }
            FrameKind::Batch => {
                let parse = if self.proves { Batch::parse_proven } else { Batch::parse };
                let batch = parse(&header, head).expect("an honest peer");
                self.ledger.batch(&batch);
                self.there.folders += batch.counts().folders;
                let (mut folder, mut contents) = (&b""[..], contents.iter());
                for item in batch.items() {
                    match item {
                        Item::Folder { path, .. } => folder = path.as_bytes(),
                        Item::Entry(entry, _) => {
                            let tag = contents.next().copied().unwrap_or(0);
                            let digest = batch.digest(worker.files.len());
                            worker.files.push(listed(folder, &entry, 0, tag, digest));
                        }
                    }
                }
                for at in 0..worker.files.len() {
                    worker.ops.extend([Op::Create(at), Op::Fill(at), Op::Dress(at), Op::Settle(at), Op::Land(at)]);
                }
            }
            FrameKind::Range => {
                let (range, digest) = match self.proves {
                    true => RangeHead::parse_proven(&header, head).map(|(range, digest)| (range, Some(digest))),
                    false => RangeHead::parse(&header, head).map(|range| (range, None)),
                }
                .expect("an honest peer");
                let RangeHead { file_id: id, offset, step, stamp, folder, entry } = range;
                let tag = contents.first().copied().unwrap_or(0);
                worker.files.push(listed(folder.as_bytes(), &entry, stamp, tag, digest));
                worker.range = (header, head.to_vec());
                worker.piece = Some(Piece { id, offset, len: header.body_len.into(), step, digest });
                worker.ops.push_back(Op::Book);
            }
        }
    }

    pub(super) fn discard_small(&mut self, site: &mut Site, lane: usize) {
        let Some(worker) = self.workers.get(lane).filter(|worker| worker.piece.is_none()) else { return };
        let half = |file: &&Listed| {
            let there = site.disk.file(&file.place);
            there.is_some_and(|(_, there)| there.mtime != file.version.mtime)
        };
        let places: Vec<_> = worker.files.iter().filter(half).map(|file| file.place.clone()).collect();
        places.iter().for_each(|place| site.disk.remove(place));
    }

    /// Where a file is made that is not whole yet: under its own name in the tree, or as a part.
    pub(super) fn place(&mut self, disk: &mut Disk, lane: usize, version: &Version) -> Result<Vec<u8>, Full> {
        if !self.is_merging {
            let folder = disk.make_all(&staged(&[TREE]), &version.folder)?;
            return Ok([&folder[..], b"/", &version.name].concat());
        }
        disk.make_all(b"", &version.folder)?;
        self.parts += 1;
        let name = [LANE_PREFIX, lane.to_string().as_bytes()].concat();
        let folder = disk.make_all(STAGING, &name)?;
        Ok([&folder[..], b"/", self.parts.to_string().as_bytes()].concat())
    }

    pub(super) fn work(&mut self, site: &mut Site, lane: usize, op: Op) -> Result<(), Full> {
        match op {
            Op::Look(at) => self.look(site, lane, at)?,
            Op::Answer(list) => self.answer(lane, list),
            Op::Create(at) => {
                let version = self.workers[lane].files[at].version.clone();
                let place = self.place(&mut site.disk, lane, &version)?;
                site.disk.create(&place)?;
                self.workers[lane].files[at].place = place;
            }
            Op::Fill(at) => {
                let Listed { place, tag, version, .. } = &self.workers[lane].files[at];
                let node = site.disk.file(place).expect("it was created").0;
                site.disk.fill(node, version.size, *tag)?;
            }
            Op::Dress(at) => {
                let Listed { place, version, .. } = &self.workers[lane].files[at];
                let node = site.disk.file(place).expect("it was created").0;
                site.disk.set_time(node, version.mtime);
            }
            Op::Settle(at) => {
                let node = site.disk.file(&self.workers[lane].files[at].place).expect("it was created").0;
                // What is staged is synchronised as a whole.
                if self.is_merging {
                    site.disk.write_out(node);
                }
            }
            Op::Land(at) => {
                let Listed { place, version, digest, .. } = self.workers[lane].files[at].clone();
                let digests = digest.map(|digest| (0, 0, digest)).into_iter().collect();
                self.note_whole(site, &version, &place, version.size);
                self.landed(site, version, place, digests);
            }
            Op::End => self.workers[lane].has_ended = true,
            _ => self.range(site, lane, op)?,
        }
        Ok(())
    }

    /// A file is whole: it gets its name, and is remembered where it is to be proven.
    pub(super) fn landed(
        &mut self,
        site: &mut Site,
        version: Version,
        place: Vec<u8>,
        digests: Vec<(u64, usize, Digest)>,
    ) {
        self.there += Counts { files: 1, bytes: version.size, ..Counts::default() };
        let mut record = Record { version, place, digests };
        if self.is_merging {
            site.land(&record.version, &record.place);
            record.place = path_of(&record.version);
            site.is_whole(&record.version, &record.place);
        }
        self.records.push_back(record);
    }

    /// Moves a file over if an earlier attempt has it whole, or remembers what there is of it.
    fn look(&mut self, site: &mut Site, lane: usize, at: usize) -> Result<(), Full> {
        let alone = self.workers[lane].files.len() == 1;
        self.workers[lane].basis = 0;
        let version = self.workers[lane].files[at].version.clone();
        let path = path_of(&version);
        let listed = &self.workers[lane].files[at];
        // What is to be proven, or in doubt, is compared, unless it has not been read by its
        // sender.
        let compares = self.proves || !self.is_merging && self.is_doubted(version.mtime);
        let digest = listed.digest.filter(|_| compares);
        // As the medium has it.
        let proven = |file: &File| {
            let mut file = file.clone();
            file.forget();
            match digest {
                Some(Digest::NONE) => false,
                Some(there) => digest_of(&file.pieces) == there,
                None => true,
            }
        };
        let is_here = if self.is_merging {
            let there = site.disk.file(&path);
            there.is_some_and(|(_, there)| (there.size, there.mtime) == (version.size, version.mtime) && proven(there))
        } else {
            let place = self.place(&mut site.disk, lane, &version)?;
            let looks_whole = |attempt: &[u8]| {
                let found = site.disk.file(&staged(&[attempt, TREE, &path])).map(|(_, file)| found(file));
                found.is_some_and(|found| resume::looks_whole(&found, version.size, version.mtime))
            };
            let is_durable = |attempt: &[u8]| {
                let covered = self.durable.get(attempt).is_some_and(|marks| marks.contains(&mark(&version)));
                covered && !self.proves && !self.trust.is_doubted(version.mtime) && looks_whole(attempt)
            };
            let durable = self.attempts.iter().find(|attempt| is_durable(attempt)).cloned();
            let compared = || self.attempts.iter().find(|attempt| looks_whole(attempt)).cloned();
            let can_compare = digest.is_some_and(|digest| digest != Digest::NONE);
            match durable.clone().or_else(|| compared().filter(|_| can_compare)) {
                Some(attempt) => {
                    site.disk.rename(&staged(&[&attempt, TREE, &path]), &place);
                    let is_durable = durable.is_some();
                    let same = is_durable || site.disk.file(&place).is_some_and(|(_, file)| proven(file));
                    if same {
                        let (marks, size) = ([mark(&version)], version.size);
                        let record = |recorder: &mut Recorder, out: &mut Vec<u8>| {
                            recorder.whole(&marks, size, is_durable, out);
                        };
                        if note(&mut self.journal, site, record).is_none() {
                            site.held.remove(&version);
                        }
                    } else {
                        site.disk.remove(&place);
                    }
                    same
                }
                None => false,
            }
        };
        if is_here {
            self.workers[lane].files[at].wanted = false;
            self.there += Counts { files: 1, bytes: version.size, ..Counts::default() };
            return Ok(());
        }
        let left = if alone { self.begun_before(site, &version) } else { None };
        let is_large = version.size >= CHUNKED_SIZE_MIN;
        match left {
            // What was begun is not proven: it is compared.
            Some(left) if left.has.is_empty() && is_large => {
                self.workers[lane].basis = version.size;
                self.comparing.insert(version, left.path);
                return Ok(());
            }
            Some(left) if !left.has.is_empty() => {
                self.workers[lane].has = left.has.clone();
                self.resuming.insert(version.clone(), left);
            }
            _ => {}
        }
        if alone && self.is_merging && is_large {
            self.workers[lane].basis = site.disk.file(&path).map_or(0, |(_, old)| old.size);
        }
        Ok(())
    }

    /// What there is of a file that an earlier attempt has begun.
    fn begun_before(&mut self, site: &Site, version: &Version) -> Option<Left> {
        self.begun.remove(version).into_iter().flatten().find_map(|(attempt, begun)| {
            let path = staged(&[&attempt, &begun.place]);
            let belief = if self.proves { Belief::Compared } else { self.belief };
            let has = resume::going_on(&found(site.disk.file(&path)?.1), version, &begun, belief)?;
            Some(Left { path, has: if self.proves { Stretches::default() } else { has } })
        })
    }

    fn answer(&mut self, lane: usize, list: u32) {
        let worker = &mut self.workers[lane];
        let mut unwanted = Counts::default();
        for file in worker.files.iter().filter(|file| !file.wanted) {
            unwanted += Counts { files: 1, bytes: file.version.size, ..Counts::default() };
        }
        let has = std::mem::take(&mut worker.has);
        unwanted.bytes += has.total();
        self.ledger.listed(unwanted);
        self.machine.wanted(Wanted {
            list,
            files: worker.files.iter().map(|file| file.wanted).collect(),
            has,
            basis: worker.basis,
            kept: Vec::new(),
        });
    }
}
