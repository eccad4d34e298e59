//! Sends a large file that has changed: asks which of its chunks the receiver has in the file that
//! it replaces, and sends the others.
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;

use ringway_model::{FailureReason, Operation};
use ringway_sys::attributes::metadata_of;
use ringway_wire::lane::{ChunkLens, Counts, RangeStep};

use crate::chunking::{Chunk, Cutter};
use crate::send::lane::Lane;
use crate::send::lane::large_files::range_head;
use crate::send::queue::ranges::{Ranged, Unreadable};
use crate::send::{attributes, reason};

/// Chunks of one window: 16 MiB and more of the file, described in 18 KiB. Unknown chunks may lie
/// between known ones, and the receiver keeps those stretches apart until the rest has arrived.
const WINDOW_CHUNKS: usize = 512;

/// Windows that the receiver is asked about before this end waits for an answer, so that both ends
/// work and a long line does not slow them down.
const WINDOWS_AHEAD: usize = 4;

/// As long as there is something to send, this many are enough.
const WINDOWS_AHEAD_WHILE_SENDING: usize = 2;

/// Comparing ends once this many bytes in a row were not at the receiver: this part of the file,
/// but at least two windows.
const VAIN_PART: u64 = 16;

/// If less than this is left of a file, comparing gains nothing.
const LEFT_MIN: u64 = 1024 * 1024;

/// A window under way: its number, and the ranges of its chunks.
struct Asked {
    number: u32,
    chunks: Vec<Range<u64>>,
}

/// The state of asking about a file.
struct Asking {
    lens: ChunkLens,
    /// The stretch that is being cut into chunks.
    cutter: Option<Cutter>,
    stretch_end: u64,
    asked: VecDeque<Asked>,
    /// Bytes in a row that were not at the receiver, and the number at which comparing ends.
    vain: u64,
    vain_max: u64,
    is_over: bool,
}

impl Asking {
    fn new(size: u64) -> Self {
        let lens = ChunkLens::of(size);
        let two_windows = 2 * (WINDOW_CHUNKS * lens.average) as u64;
        let vain_max = two_windows.max(size / VAIN_PART);
        Self { lens, cutter: None, stretch_end: 0, asked: VecDeque::new(), vain: 0, vain_max, is_over: false }
    }

    /// The part of the stretch that was not cut yet.
    fn rest(&self) -> Option<Range<u64>> {
        let rest = self.cutter.as_ref().map(|cutter| cutter.at()..self.stretch_end);
        rest.filter(|rest| !rest.is_empty())
    }
}

impl Lane<'_> {
    /// Reserves a file that is going to be asked about, so that other lanes take no part of it.
    /// This happens before they see the file, if it is known by then.
    pub(in crate::send) fn ask_before_others(&self, ranged: &Ranged) {
        let worth = || self.shared.worth.is_worth_it(self.shared.lanes()) == Some(true);
        if ranged.large.basis != 0 && ranged.left() >= LEFT_MIN && (self.is_doubted(ranged) || worth()) {
            self.begin_asking(ranged);
        }
    }

    fn begin_asking(&self, ranged: &Ranged) {
        ranged.begin_asking();
        self.shared.queue.asks(true);
    }

    /// Sends the new parts of a file of which the receiver has an older version, if comparing is
    /// worth it. It does not send the file's end, and leaves parts that were not asked about.
    pub(in crate::send) fn send_changed(&mut self, ranged: &Ranged) -> io::Result<()> {
        if !ranged.is_asked_about() {
            if ranged.large.basis == 0 || !self.is_worth_it(ranged)? || ranged.left() < LEFT_MIN {
                return Ok(());
            }
            self.begin_asking(ranged);
        }
        let mut asking = Asking::new(ranged.opened.metadata.size);
        let asked = self.ask_to_the_end(ranged, &mut asking);
        ranged.end_asking(asking.rest());
        self.shared.queue.asks(false);
        asked
    }

    /// Whether the receiver has exactly this version, and only doubts it. Then there is next to
    /// nothing to send.
    fn is_doubted(&self, ranged: &Ranged) -> bool {
        let is_same = ranged.large.basis == ranged.opened.metadata.size;
        is_same && !self.shared.is_proven() && self.shared.compares() && self.shared.worth.may_compare()
    }

    /// Whether comparing is worth it. If the line's rate is not known yet, sending the file's
    /// beginning measures it.
    fn is_worth_it(&mut self, ranged: &Ranged) -> io::Result<bool> {
        loop {
            let lanes = self.shared.lanes();
            if let Some(worth) = self.shared.worth.is_worth_it(lanes) {
                return Ok(worth);
            }
            let Some(range) = ranged.take_first() else { return Ok(false) };
            self.send_piece(ranged, range)?;
        }
    }

    fn ask_to_the_end(&mut self, ranged: &Ranged, asking: &mut Asking) -> io::Result<()> {
        loop {
            let (wants, readable) = ranged.wants();
            asking.is_over |= !readable;
            if let Some(number) = asking.asked.front().map(|asked| asked.number)
                && let Some(answer) = self.shared.queue.take_answer(number, false)?
            {
                self.take_in(ranged, asking, &answer);
                continue;
            }
            let ahead = if wants { WINDOWS_AHEAD_WHILE_SENDING } else { WINDOWS_AHEAD };
            if !asking.is_over && asking.asked.len() < ahead {
                self.ask(ranged, asking)?;
            } else if let Some(range) = ranged.take_wanted() {
                self.send_piece(ranged, range)?;
            } else if let Some(number) = asking.asked.front().map(|asked| asked.number) {
                self.to.asks(true);
                let answer = self.shared.queue.take_answer(number, true)?.unwrap_or_default();
                self.to.asks(false);
                self.take_in(ranged, asking, &answer);
            } else if asking.is_over {
                return Ok(());
            }
        }
    }

    /// Handles an answer. Chunks that the receiver has count as sent.
    fn take_in(&mut self, ranged: &Ranged, asking: &mut Asking, wanted: &[bool]) {
        let Some(asked) = asking.asked.pop_front() else { return };
        let mut missing: Vec<Range<u64>> = Vec::new();
        let mut there = 0;
        for (range, wanted) in asked.chunks.into_iter().zip(wanted) {
            let bytes = range.end - range.start;
            if !wanted {
                there += bytes;
                asking.vain = 0;
                continue;
            }
            asking.vain += bytes;
            match missing.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => missing.push(range),
            }
        }
        ranged.sent(there as usize);
        self.shared.book_spared(Counts { bytes: there, ..Counts::default() });
        asking.is_over |= asking.vain >= asking.vain_max;
        if !missing.is_empty() {
            ranged.want(missing);
            self.shared.queue.stir();
        }
    }

    /// Asks about the next window.
    fn ask(&mut self, ranged: &Ranged, asking: &mut Asking) -> io::Result<()> {
        match self.cut(ranged, asking) {
            Ok(chunks) if chunks.is_empty() => asking.is_over = true,
            Ok(chunks) => {
                let number = self.shared.queue.next_list();
                self.head.begin_chunks(number, &range_head(ranged, chunks[0].range.start, RangeStep::More));
                chunks.iter().for_each(|chunk| {
                    self.head.chunk((chunk.range.end - chunk.range.start) as u32, chunk.digest);
                });
                if let Some(told) = &ranged.told {
                    told.lock().chunks(&chunks);
                }
                // Before it is sent, because the answer may arrive at once.
                self.shared.queue.ask(number, chunks.len());
                let chunks = chunks.into_iter().map(|chunk| chunk.range).collect();
                asking.asked.push_back(Asked { number, chunks });
                self.send(self.head.chunks_header(), 0..0)?;
            }
            Err(unreadable) => {
                ranged.give_up(unreadable);
                asking.is_over = true;
            }
        }
        Ok(())
    }

    /// The next chunks, all of one stretch; empty at the end. The file is checked again after they
    /// were read.
    fn cut(&mut self, ranged: &Ranged, asking: &mut Asking) -> Result<Vec<Chunk>, Unreadable> {
        let failed = |error: io::Error| (Operation::Read, reason(&error));
        let changed = (Operation::Read, FailureReason::ChangedWhileReading);
        let file = &ranged.opened.file;
        let cutter = match &mut asking.cutter {
            Some(cutter) if cutter.at() < asking.stretch_end => cutter,
            cutter => {
                let Some(stretch) = ranged.next_stretch()? else { return Ok(Vec::new()) };
                asking.stretch_end = stretch.end;
                cutter.insert(Cutter::new(asking.lens, stretch))
            }
        };
        let mut chunks = Vec::with_capacity(WINDOW_CHUNKS);
        while chunks.len() < WINDOW_CHUNKS && cutter.at() < asking.stretch_end {
            let read = |at, into: &mut [u8]| self.io.read_at(file.as_fd(), at, into);
            chunks.push(cutter.next(read).map_err(failed)?.ok_or(changed)?);
        }
        let now = metadata_of(file).map_err(failed)?;
        if attributes::same_contents(&now, &ranged.opened.metadata) { Ok(chunks) } else { Err(changed) }
    }

    /// Sends one piece of a file, of which more follows.
    fn send_piece(&mut self, ranged: &Ranged, range: Range<u64>) -> io::Result<()> {
        match self.read_piece(ranged, &range) {
            Ok(()) => {
                let len = (range.end - range.start) as usize;
                ranged.sent(len);
                self.tell(ranged, range.start, len);
                self.send_range(ranged, range.start, len, RangeStep::More)
            }
            Err(unreadable) => {
                ranged.give_up(unreadable);
                Ok(())
            }
        }
    }
}
