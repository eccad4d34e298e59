//! The receiver's windows of chunks: looked for in the file that is replaced, piece by piece,
//! copied, noted, answered.
use ringway_wire::control::Wanted;
use ringway_wire::journal::Version;
use ringway_wire::lane::{ChunkWindow, EntryKind, RangeStep};
use ringway_wire::ledger::RangedState;
use ringway_wire::stretches::Stretches;

use super::Receiver;
use super::lanes::{Listed, Op, Piece};
use super::site::{Site, path_of};
use crate::disk::{Full, PIECE};
use crate::sender::{chunks, pieces};
use crate::source::digest;

impl Receiver {
    /// A window has come.
    pub(super) fn window(&mut self, lane: usize) {
        let (header, bytes) = self.workers[lane].range.clone();
        let window = ChunkWindow::parse(&header, &bytes).expect("an honest peer");
        let head = window.head();
        let EntryKind::File { size, .. } = head.entry.kind else { panic!("only files are sent") };
        let version = Version {
            folder: head.folder.as_bytes().into(),
            name: head.entry.name.as_bytes().into(),
            size,
            mtime: head.entry.attributes.mtime,
            stamp: head.stamp,
        };
        self.begin(head.file_id, &version);
        self.ledger.window(&window).expect("an honest peer");
        self.open.get_mut(&head.file_id).expect("it was begun").writing.begin(RangedState::Partial);
        let worker = &mut self.workers[lane];
        let (id, offset) = (head.file_id, head.offset);
        worker.piece = Some(Piece { id, offset, len: 0, step: RangeStep::More, digest: None });
        worker.files.push(Listed::new(version));
        worker.found = pieces(&window.range()).map(|_| false).collect();
        worker.ops.push_back(Op::Make);
        worker.ops.extend((0..worker.found.len()).map(Op::CopyRead));
        // It was booked twice: to be looked for, and what was found.
        worker.ops.extend([Op::AnswerWindow, Op::Release, Op::Release]);
    }

    pub(super) fn window_on(&mut self, site: &mut Site, lane: usize, op: Op) -> Result<(), Full> {
        let (header, bytes) = self.workers[lane].range.clone();
        let (id, version) = {
            let worker = &self.workers[lane];
            (worker.piece.expect("a window").id, worker.files[0].version.clone())
        };
        match op {
            Op::CopyRead(at) => {
                let window = ChunkWindow::parse(&header, &bytes).expect("it was parsed");
                let piece = pieces(&window.range()).nth(at).expect("a piece of it");
                let open = self.open.get_mut(&id).expect("it was begun");
                let basis = *open.basis.get_or_insert_with(|| {
                    let path = self.comparing.remove(&version).unwrap_or_else(|| path_of(&version));
                    site.disk.file(&path).map(|(node, _)| node)
                });
                let Some(old) = basis.map(|node| site.disk.file_mut(node)).filter(|old| old.size >= piece.end) else {
                    return Ok(());
                };
                let tag = old.pieces[(piece.start / PIECE) as usize];
                let same = chunks(&piece, version.size).enumerate().all(|(number, chunk)| {
                    let told = window.chunks().find(|(range, _)| *range == chunk);
                    told.is_some_and(|(_, told)| told == digest(tag, piece.start, number + 1))
                });
                if same {
                    self.workers[lane].read = tag;
                    self.workers[lane].ops.push_front(Op::CopyWrite(at));
                }
            }
            Op::CopyWrite(at) => {
                let window = ChunkWindow::parse(&header, &bytes).expect("it was parsed");
                let piece = pieces(&window.range()).nth(at).expect("a piece of it");
                let node = site.disk.file(&self.open[&id].place).expect("it was made").0;
                site.disk.write(node, (piece.start / PIECE) as usize, self.workers[lane].read)?;
                self.workers[lane].found[at] = true;
                if self.proves {
                    let told = window.chunks().filter(|(range, _)| piece.contains(&range.start)).enumerate();
                    let digests = told.map(|(number, (_, told))| (piece.start, number + 1, told));
                    self.open.get_mut(&id).expect("it was begun").digests.extend(digests);
                }
                self.note_written(site, &version, id, piece.start, piece.end - piece.start);
            }
            Op::AnswerWindow => {
                let window = ChunkWindow::parse(&header, &bytes).expect("it was parsed");
                let found = &self.workers[lane].found;
                let there = pieces(&window.range()).zip(found).filter(|(_, found)| **found).map(|(piece, _)| piece);
                let state = self.ledger.copied(window.head(), there).expect("an honest peer");
                self.open.get_mut(&id).expect("it was begun").writing.begin(state);
                let files = pieces(&window.range())
                    .zip(found)
                    .flat_map(|(piece, found)| chunks(&piece, version.size).map(move |_| !found))
                    .collect();
                let (list, has) = (window.number(), Stretches::default());
                self.machine.wanted(Wanted { list, files, has, basis: 0, kept: Vec::new() });
            }
            _ => {}
        }
        Ok(())
    }
}
