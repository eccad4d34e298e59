//! Copying regular files: one by one with plain calls while reading does not wait, in batches through the ring while it does.
use std::ffi::CStr;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ringway_sys::attributes::{Kind, Metadata, metadata_of, set_len};
use ringway_sys::file_io::ReadOpen;
use ringway_sys::probe::{Whose, usage};
use ringway_sys::space::preallocate;
use rustix::fs::FileType;
use rustix::io::Errno;

use super::attributes::{self, Fresh};
use super::contents::{self, Part, Way};
use super::folder::Hold;
use super::job::add;
use super::large::{LargeFile, Next, Open};
use super::links::Seen;
use super::spot::{self, Spot, Stand, Trouble};
use super::verify;
use super::worker::{Item, Task, Worker};
use crate::error::{FailureReason, Operation};
use crate::listing::Window;
use crate::path_taken::{IoMode, IoPath};

/// Files between two looks at whether reading waits for a disk.
const LOOK_EVERY: usize = 16;

/// A disk is waited for when this part of the files needed input (one in four).
const COLD_PART: u64 = 4;

/// Batches through the ring before plain calls are tried again: one look in 2,000 files costs nothing, and a source that is cached from
/// somewhere on is seen soon.
const COLD_BATCHES: u32 = 32;

/// Files of one batch through the ring.
const BATCH_FILES: usize = 64;

/// A file up to this size is read in a batch; a larger one fills the disk's queue by itself.
const BATCH_FILE_BYTES: u64 = 256 * 1024;

/// Bytes that one batch reads at most.
const BATCH_BYTES: usize = 2 * 1024 * 1024;

/// A file that changes while it is copied is copied so many times before it is told.
const TRIES_MAX: u32 = 2;

/// Holes of so many bytes are kept.
const HOLES_MIN: u64 = 4096;

/// Bytes that a small file is read with at least: files of /proc and /sys say they have none.
const READ_MIN: usize = 64 * 1024;

/// What went through the buffer: its length, and the digests of its parts if they are wanted (offset, length, digest).
#[derive(Default)]
struct ThroughBuffer {
    bytes: u64,
    digests: Vec<(u64, u64, blake3::Hash)>,
}

/// What came of a file.
enum Copied {
    Done {
        bytes: u64,
    },
    Kept,
    Planned,
    /// In chunks, by whoever takes them; accounted for there.
    Large,
}

impl<'j> Worker<'_, 'j> {
    /// Copies what is not a folder, some of a window.
    pub(super) fn files(&mut self, folder: &Hold<'j>, window: &Window, range: Range<usize>) {
        let mut at = range.start;
        while at < range.end && !self.job.is_stopped() {
            let by_ring = match self.job.options.io {
                IoMode::Uring => true,
                IoMode::Sync => false,
                IoMode::Auto => self.cold_batches > 0,
            };
            let end = (at + if by_ring { BATCH_FILES } else { LOOK_EVERY }).min(range.end);
            if by_ring && !self.job.options.dry_run {
                self.cold_batches = self.cold_batches.saturating_sub(1);
                self.batch(folder, window, at..end);
            } else {
                let before = usage(Whose::Thread).input_blocks_512;
                for index in at..end {
                    self.one(folder, window, index);
                }
                let waited = usage(Whose::Thread).input_blocks_512 - before;
                // Input is counted in blocks of 512 bytes, and no read of a disk has fewer than eight.
                if waited / 8 >= (end - at) as u64 / COLD_PART
                    && waited > 0
                    && self.job.choices.io.path() == IoPath::Uring
                {
                    self.cold_batches = COLD_BATCHES;
                }
            }
            at = end;
        }
    }

    fn one(&mut self, folder: &Hold<'j>, window: &Window, index: usize) {
        let (name, kind) = window.entry(index);
        if kind == FileType::Directory || self.leaves_out(folder, name, false) {
            return;
        }
        let item = Item { folder, from: name, to: name };
        match kind {
            FileType::RegularFile => self.file(item),
            FileType::Symlink => self.entry(item, Kind::Symlink),
            _ => self.unknown(item),
        }
    }

    /// Whether files may be read without touching their access times: only their owner and root may ask for that (open(2), O_NOATIME).
    fn leaves_atime(&self, folder: &Hold<'j>) -> bool {
        let user = self.job.choices.user;
        user == 0 || folder.metadata.as_ref().is_none_or(|metadata| metadata.uid == user)
    }

    /// Copies one regular file.
    pub(super) fn file(&mut self, item: Item<'_, 'j>) {
        let source = &item.folder.source;
        let fd = if self.leaves_atime(item.folder) {
            source.open_read(item.from)
        } else {
            source.open_read_atime(item.from)
        };
        let opened = fd.and_then(|fd| Ok((metadata_of(&fd)?, fd)));
        match opened {
            Ok((metadata, fd)) => self.opened(item, fd, metadata, None),
            // It is a link or a socket by now.
            Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::LOOP | Errno::NXIO)) => {
                match item.folder.source.metadata(item.from) {
                    Ok(metadata) if metadata.kind != Kind::File => self.entry(item, metadata.kind),
                    _ => self.trouble(item, Trouble::Source(Operation::Open, error)),
                }
            }
            Err(error) => self.trouble(item, Trouble::Source(Operation::Open, error)),
        }
    }

    /// Opens and reads many files at a time, then copies one after the other.
    fn batch(&mut self, folder: &Hold<'j>, window: &Window, range: Range<usize>) {
        let mut indices = Vec::with_capacity(range.len());
        for index in range {
            let (name, kind) = window.entry(index);
            match kind {
                FileType::RegularFile if !self.leaves_out(folder, name, false) => indices.push(index),
                FileType::RegularFile => {}
                _ => self.one(folder, window, index),
            }
        }
        let names: Vec<&CStr> = indices.iter().map(|&index| window.c_name(index)).collect();
        let io = self.job.choices.io;
        let leaves_atime = self.leaves_atime(folder);
        let Ok(ring) = self.tools.ring(|| io.open()) else {
            return indices.into_iter().for_each(|index| self.one(folder, window, index));
        };
        let mut opened = Vec::with_capacity(names.len());
        ring.open_files(folder.source.as_fd(), &names, leaves_atime, &mut opened);
        let mut files = Vec::with_capacity(names.len());
        for (index, fd) in indices.into_iter().zip(opened) {
            let opened = fd.and_then(|fd| Ok((metadata_of(&fd)?, fd)));
            match opened {
                Ok((metadata, fd)) => files.push((index, fd, metadata)),
                // The plain way knows what to do, or says what is wrong.
                Err(_) => self.one(folder, window, index),
            }
        }
        let mut files = files.into_iter().peekable();
        while files.peek().is_some() {
            let mut group = Vec::new();
            let mut filled = 0;
            while let Some((_, _, metadata)) = files.peek() {
                let len = if metadata.size <= BATCH_FILE_BYTES { metadata.size as usize } else { 0 };
                if filled + len > BATCH_BYTES {
                    break;
                }
                let (index, fd, metadata) = files.next().expect("peeked");
                group.push((index, fd, metadata, filled..filled + len));
                filled += len;
            }
            self.group(folder, window, group, filled);
        }
    }

    /// Reads the files of a batch that fit the buffer, and copies them.
    fn group(
        &mut self,
        folder: &Hold<'j>,
        window: &Window,
        group: Vec<(usize, OwnedFd, Metadata, Range<usize>)>,
        bytes: usize,
    ) {
        let wanted = bytes.max(READ_MIN);
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        let requests: Vec<_> =
            group.iter().map(|(_, fd, _, part)| ReadOpen { fd: fd.as_fd(), at: part.start, len: part.len() }).collect();
        let mut results = Vec::with_capacity(requests.len());
        let mut contents = std::mem::take(&mut self.buffer);
        let io = self.job.choices.io;
        let read =
            self.tools.ring(|| io.open()).and_then(|ring| ring.read_open_files(&mut contents, &requests, &mut results));
        drop(requests);
        if read.is_err() {
            results.clear();
        }
        let mut results = results.into_iter();
        for (index, fd, metadata, part) in group {
            // Whatever is not there as a whole is read again, the plain way.
            let whole =
                matches!(results.next(), Some(Ok(bytes)) if bytes == part.len() && bytes as u64 == metadata.size);
            let (name, _) = window.entry(index);
            let ahead = (whole && metadata.size > 0).then(|| &contents[part]);
            if ahead.is_some() {
                add(&self.job.counts.uring, metadata.size);
            }
            self.opened(Item { folder, from: name, to: name }, fd, metadata, ahead);
        }
        // Files that were copied otherwise may have brought a buffer of their own.
        if self.buffer.len() < contents.len() {
            self.buffer = contents;
        }
    }

    /// Copies an open file, whose contents may have been read already.
    fn opened(&mut self, item: Item<'_, 'j>, fd: OwnedFd, metadata: Metadata, ahead: Option<&[u8]>) {
        if metadata.kind != Kind::File {
            return self.entry(item, metadata.kind);
        }
        let linked = metadata.nlink > 1 && !self.job.options.dry_run;
        if linked {
            match self.shared.links.see(&metadata, || (item.folder.clone(), item.from.into(), item.to.into())) {
                Seen::First => {}
                Seen::Waits => return,
                Seen::Again(place) => match self.link(item, &metadata, &place) {
                    // Not to be linked: copied as a file of its own.
                    Ok(None) => {
                        let copied = self.copy(item, fd, &metadata, ahead, false);
                        return self.copied(item, &metadata, copied, false);
                    }
                    made => return self.settled(item, made, |job| add(&job.counts.links, 1)),
                },
            }
        }
        let copied = self.copy(item, fd, &metadata, ahead, linked);
        self.copied(item, &metadata, copied, linked);
    }

    fn copied(&mut self, item: Item<'_, 'j>, metadata: &Metadata, copied: Result<Copied, Trouble>, linked: bool) {
        let done = matches!(copied, Ok(Copied::Done { .. }));
        match copied {
            Ok(Copied::Large) => return,
            Ok(Copied::Done { bytes }) => {
                add(&self.job.counts.files, 1);
                add(&self.job.counts.bytes, bytes);
            }
            Ok(Copied::Planned) => {
                add(&self.job.counts.files, 1);
                add(&self.job.counts.bytes, metadata.size);
            }
            Ok(Copied::Kept) => add(&self.job.counts.kept, 1),
            Err(trouble) => self.trouble(item, trouble),
        }
        if linked {
            self.first_settled(item, metadata, done);
        }
    }

    fn copy(
        &mut self,
        item: Item<'_, 'j>,
        source: OwnedFd,
        metadata: &Metadata,
        ahead: Option<&[u8]>,
        linked: bool,
    ) -> Result<Copied, Trouble> {
        add(&self.job.counts.found_bytes, metadata.size);
        let Item { folder, to, .. } = item;
        // Made with its final mode where nothing is left to be done about owner and mode afterwards.
        let exact = self.own_umask
            && folder.inherited.get() == Some(&(metadata.uid, metadata.gid))
            && !folder.default_acl
            && metadata.mode & 0o7000 == 0;
        let mode = if exact { metadata.mode } else { metadata.mode & attributes::PRIVATE };
        let (target, stand) = match spot::for_file(folder, to, metadata, mode)? {
            Spot::Write(target, stand) => (target, stand),
            Spot::Keep => return Ok(Copied::Kept),
            Spot::Planned => return Ok(Copied::Planned),
        };
        let fresh = if exact && stand != Stand::Over { Fresh::Exact } else { Fresh::Unknown };
        if stand != Stand::Over
            && folder.inherited.get().is_none()
            && let Ok(made) = metadata_of(&target)
        {
            let _ = folder.inherited.set((made.uid, made.gid));
        }
        let open = Open { source, target, stand, metadata: *metadata, fresh, linked };
        match self.contents(item, &open, ahead) {
            Ok(Some(bytes)) => {
                let done = self.complete(item, &open);
                self.ended(item, &open, done)?;
                Ok(Copied::Done { bytes })
            }
            Ok(None) => {
                self.large(item, open);
                Ok(Copied::Large)
            }
            Err(trouble) => self.ended(item, &open, Err(trouble)).map(|()| Copied::Done { bytes: 0 }),
        }
    }

    /// Copies the contents of a file that one thread copies at once; the bytes copied. None for one that is copied in chunks.
    fn contents(&mut self, item: Item<'_, 'j>, open: &Open, ahead: Option<&[u8]>) -> Result<Option<u64>, Trouble> {
        let size = open.metadata.size;
        if size > 0 && self.share(item, open)? {
            add(&self.job.counts.reflinked, size);
            self.prove_shared(item, open)?;
            return Ok(Some(size));
        }
        if size > self.job.choices.chunk as u64 || has_holes(&open.metadata) {
            return Ok(None);
        }
        if let Some(bytes) = ahead {
            self.write_whole(item, open, bytes)?;
            return Ok(Some(bytes.len() as u64));
        }
        let way = self.way();
        if way != Way::Buffer && size > 0 && self.small_by_kernel(open, way)? {
            return Ok(Some(size));
        }
        self.small(item, open).map(Some)
    }

    /// How contents go that cannot be shared. What is to be verified has to come by here.
    fn way(&self) -> Way {
        match &self.job.proof {
            Some(_) => Way::Buffer,
            None => Way::choose(self.job.options.kernel_copy, self.job.choices.copies_by_itself),
        }
    }

    fn share(&mut self, item: Item<'_, 'j>, open: &Open) -> Result<bool, Trouble> {
        let mode = self.job.options.reflink;
        let devices = (open.metadata.dev, u64::from(item.folder.top_number));
        self.sharing.share(mode, devices, open.source.as_fd(), open.target.as_fd())
    }

    fn write_whole(&mut self, item: Item<'_, 'j>, open: &Open, bytes: &[u8]) -> Result<(), Trouble> {
        self.prove_bytes(item, (0, bytes), bytes.len() as u64, true)?;
        let io = self.job.choices.io;
        let ring = match self.job.options.io {
            IoMode::Uring => Some(self.tools.ring(|| io.open()).map_err(spot::target(Operation::Write))?),
            _ => None,
        };
        contents::write(ring, open.target.as_fd(), 0, bytes).map_err(spot::target(Operation::Write))
    }

    /// False if the kernel does not copy this file by itself, or it turned out to be another size.
    fn small_by_kernel(&mut self, open: &Open, way: Way) -> Result<bool, Trouble> {
        let part = Part { offset: 0, len: open.metadata.size as usize };
        let copied = self.tools.by_kernel(way, open.source.as_fd(), open.target.as_fd(), part);
        match copied.map_err(spot::target(Operation::Write))? {
            Some(bytes) if bytes == part.len => {
                add(&self.job.counts.kernel, bytes as u64);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Copies a file through the buffer, up to its end wherever that is by now; again if it changed meanwhile.
    fn small(&mut self, item: Item<'_, 'j>, open: &Open) -> Result<u64, Trouble> {
        let mut looked = open.metadata;
        for _ in 0..TRIES_MAX {
            let read = self.through_buffer(open, looked.size)?;
            if read.bytes != looked.size {
                let now = metadata_of(&open.source).map_err(spot::source(Operation::Read))?;
                // Files of /proc and /sys do not say how long they are.
                if (now.size, now.mtime) != (looked.size, looked.mtime) {
                    looked = now;
                    set_len(&open.target, 0).map_err(spot::target(Operation::Write))?;
                    continue;
                }
            }
            for (offset, len, digest) in read.digests {
                self.prove(item, &verify::Part { size: read.bytes, offset, len, first: offset == 0, digest })?;
            }
            return Ok(read.bytes);
        }
        // What there is of it stays, as cp leaves it, and is told.
        self.through_buffer(open, looked.size)?;
        Err(Trouble::SourceIs(FailureReason::ChangedWhileReading))
    }

    fn through_buffer(&mut self, open: &Open, size: u64) -> Result<ThroughBuffer, Trouble> {
        // One byte more than there should be: what comes short of that has ended.
        let len = (size as usize + 1).clamp(READ_MIN, self.job.choices.chunk.max(READ_MIN) + 1);
        let mut buffer = std::mem::take(&mut self.buffer);
        if buffer.len() < len {
            buffer.resize(len, 0);
        }
        let read = self.read_to_end(open, size, &mut buffer[..len]);
        self.buffer = buffer;
        read
    }

    fn read_to_end(&mut self, open: &Open, size: u64, buffer: &mut [u8]) -> Result<ThroughBuffer, Trouble> {
        let io = self.job.choices.io;
        let mut ring = match self.job.options.io {
            IoMode::Uring => Some(self.tools.ring(|| io.open()).map_err(spot::target(Operation::Read))?),
            _ => None,
        };
        let mut read = ThroughBuffer::default();
        loop {
            let bytes = match ring.as_deref_mut() {
                Some(ring) => ring.read_at(open.source.as_fd(), read.bytes, buffer),
                None => read_once(open.source.as_fd(), read.bytes, buffer),
            }
            .map_err(spot::source(Operation::Read))?;
            if bytes > 0 {
                contents::write(ring.as_deref_mut(), open.target.as_fd(), read.bytes, &buffer[..bytes])
                    .map_err(spot::target(Operation::Write))?;
            }
            if self.job.proof.is_some() && (bytes > 0 || read.bytes == 0) {
                read.digests.push((read.bytes, bytes as u64, blake3::hash(&buffer[..bytes])));
            }
            read.bytes += bytes as u64;
            // A read that comes short at the size that was seen has met the end; any other may have been cut.
            if bytes == 0 || (read.bytes == size && bytes < buffer.len()) {
                break;
            }
            if self.job.is_stopped() {
                return Err(Trouble::Stopped);
            }
        }
        if ring.is_some() {
            add(&self.job.counts.uring, read.bytes);
        }
        Ok(read)
    }

    /// Keeps a digest of what was read.
    fn prove(&mut self, item: Item<'_, 'j>, part: &verify::Part) -> Result<(), Trouble> {
        let Some(proof) = &self.job.proof else { return Ok(()) };
        self.gathered.add(proof, item.folder, item.to, part).map_err(spot::target(Operation::Write))
    }

    /// The same of a part that is in memory, if the copy is to be verified.
    fn prove_bytes(
        &mut self,
        item: Item<'_, 'j>,
        (offset, bytes): (u64, &[u8]),
        size: u64,
        first: bool,
    ) -> Result<(), Trouble> {
        if self.job.proof.is_none() {
            return Ok(());
        }
        let len = bytes.len() as u64;
        self.prove(item, &verify::Part { size, offset, len, first, digest: blake3::hash(bytes) })
    }

    /// Reads the source of a file whose contents never came by, if the copy is to be verified.
    fn prove_shared(&mut self, item: Item<'_, 'j>, open: &Open) -> Result<(), Trouble> {
        if self.job.proof.is_none() {
            return Ok(());
        }
        let (size, chunk) = (open.metadata.size, self.job.choices.chunk);
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(buffer.len().max(chunk), 0);
        let mut at = 0;
        while at < size {
            let len = (size - at).min(chunk as u64) as usize;
            let bytes = contents::read(None, open.source.as_fd(), at, &mut buffer[..len])
                .map_err(spot::source(Operation::Read))?;
            if bytes < len {
                return Err(Trouble::SourceIs(FailureReason::ChangedWhileReading));
            }
            self.prove_bytes(item, (at, &buffer[..bytes]), size, at == 0)?;
            at += bytes as u64;
        }
        self.buffer = buffer;
        Ok(())
    }

    /// Begins a file that is copied in chunks, by this thread and by whoever is idle.
    fn large(&mut self, item: Item<'_, 'j>, open: Open) {
        let sparse = has_holes(&open.metadata);
        let way = self.way();
        let prepared = match !sparse && open.metadata.size >= self.job.choices.preallocate_from {
            true => preallocate(&open.target, open.metadata.size).map(drop),
            false => Ok(()),
        };
        let file = Arc::new(LargeFile::new(item, open, sparse, way));
        if let Err(error) = prepared {
            file.give_up(Trouble::Target(Operation::Write, error));
        } else if file.open.metadata.size > self.job.choices.chunk as u64 {
            let helpers = self.job.choices.workers.saturating_sub(1).min(self.chunks_of(&file));
            self.push((0..helpers).map(|_| Task::Help(file.clone())));
        }
        self.chunks(&file);
    }

    fn chunks_of(&self, file: &LargeFile<'j>) -> usize {
        usize::try_from(file.open.metadata.size / self.job.choices.chunk as u64).unwrap_or(usize::MAX)
    }

    /// Takes chunks of a large file until there are none, and completes it if this was the last.
    pub(super) fn chunks(&mut self, file: &Arc<LargeFile<'j>>) {
        let item = Item { folder: &file.folder, from: &file.names.0, to: &file.names.1 };
        loop {
            match file.next(self.job.choices.chunk) {
                Next::Part(part) => {
                    let copied = match self.job.is_stopped() {
                        true => Err(Trouble::Stopped),
                        false => self.chunk(item, file, part),
                    };
                    file.done(copied);
                }
                Next::Nothing => return,
                Next::Complete(copied) => return self.completed(item, file, copied),
            }
        }
    }

    fn chunk(&mut self, item: Item<'_, 'j>, file: &LargeFile<'j>, part: Part) -> Result<(), Trouble> {
        let open = &file.open;
        let (source, target) = (open.source.as_fd(), open.target.as_fd());
        if file.way() != Way::Buffer {
            let copied =
                self.tools.by_kernel(file.way(), source, target, part).map_err(spot::target(Operation::Write))?;
            match copied {
                Some(bytes) if bytes == part.len => {
                    add(&self.job.counts.kernel, bytes as u64);
                    add(&self.job.counts.bytes, bytes as u64);
                    return Ok(());
                }
                Some(_) => return Err(Trouble::SourceIs(FailureReason::ChangedWhileReading)),
                None => file.declined.store(true, Ordering::Relaxed),
            }
        }
        if self.buffer.len() < part.len {
            self.buffer.resize(part.len, 0);
        }
        let io = self.job.choices.io;
        let by_ring = match self.job.options.io {
            IoMode::Uring => true,
            IoMode::Sync => false,
            IoMode::Auto => self.cold_batches > 0,
        };
        let mut buffer = std::mem::take(&mut self.buffer);
        let before = usage(Whose::Thread).input_blocks_512;
        let copied = (|| {
            let mut ring = match by_ring {
                true => Some(self.tools.ring(|| io.open()).map_err(spot::target(Operation::Read))?),
                false => None,
            };
            let bytes = contents::read(ring.as_deref_mut(), source, part.offset, &mut buffer[..part.len])
                .map_err(spot::source(Operation::Read))?;
            let ring = if self.job.options.io == IoMode::Uring { ring } else { None };
            contents::write(ring, target, part.offset, &buffer[..bytes]).map_err(spot::target(Operation::Write))?;
            if bytes < part.len {
                return Err(Trouble::SourceIs(FailureReason::ChangedWhileReading));
            }
            Ok(bytes)
        })();
        if self.job.options.io == IoMode::Auto && self.job.choices.io.path() == IoPath::Uring {
            let waited = usage(Whose::Thread).input_blocks_512 - before;
            self.cold_batches = match by_ring {
                true => self.cold_batches - 1,
                false if waited * 512 >= part.len as u64 / COLD_PART => COLD_BATCHES,
                false => 0,
            };
        }
        let copied = copied.and_then(|bytes| {
            add(&self.job.counts.bytes, bytes as u64);
            if by_ring {
                add(&self.job.counts.uring, bytes as u64);
            }
            self.prove_bytes(item, (part.offset, &buffer[..bytes]), open.metadata.size, false)
        });
        self.buffer = buffer;
        copied
    }

    /// Completes a large file after its last chunk.
    fn completed(&mut self, item: Item<'_, 'j>, file: &LargeFile<'j>, copied: Result<(), Trouble>) {
        let open = &file.open;
        let done = copied
            .and_then(|()| {
                let now = metadata_of(&open.source).map_err(spot::source(Operation::Read))?;
                let same = (now.size, now.mtime) == (open.metadata.size, open.metadata.mtime);
                if same { Ok(()) } else { Err(Trouble::SourceIs(FailureReason::ChangedWhileReading)) }
            })
            .and_then(|()| self.prove_bytes(item, (0, &[]), open.metadata.size, true))
            .and_then(|()| match file.sparse {
                true => set_len(&open.target, open.metadata.size).map_err(spot::target(Operation::Write)),
                false => Ok(()),
            })
            .and_then(|()| self.complete(item, open));
        let done = self.ended(item, open, done);
        let whole = done.is_ok();
        match done {
            Ok(()) => add(&self.job.counts.files, 1),
            Err(trouble) => self.trouble(item, trouble),
        }
        if open.linked {
            self.first_settled(item, &open.metadata, whole);
        }
    }

    /// Gives a file whose contents are there everything else, and its name.
    fn complete(&mut self, item: Item<'_, 'j>, open: &Open) -> Result<(), Trouble> {
        let strip = item.folder.default_acl || open.stand == Stand::Over;
        let lost = attributes::of_file(&open.source, &open.target, &open.metadata, open.fresh, strip)
            .map_err(spot::target(Operation::Metadata))?;
        self.job.lost(lost);
        if let (Stand::Temporary(name), Some(dir)) = (&open.stand, &item.folder.target) {
            dir.rename(name, dir, item.to).map_err(spot::target(Operation::Rename))?;
        }
        Ok(())
    }

    /// What was made for a file that cannot be completed goes; what changed while it was read stays as far as it came, as cp leaves it.
    fn ended(&self, item: Item<'_, 'j>, open: &Open, done: Result<(), Trouble>) -> Result<(), Trouble> {
        let Err(trouble) = done else { return Ok(()) };
        let Some(dir) = &item.folder.target else { return Err(trouble) };
        let keep = matches!(trouble, Trouble::SourceIs(FailureReason::ChangedWhileReading));
        match &open.stand {
            Stand::New if keep => {
                // Its own attributes as far as they can be had; the trouble is told anyway.
                let _ = attributes::of_file(&open.source, &open.target, &open.metadata, Fresh::Unknown, false);
            }
            Stand::New => drop(dir.unlink(item.to)),
            Stand::Temporary(name) => drop(dir.unlink(name)),
            Stand::Over if matches!(trouble, Trouble::Stopped) => {
                return Err(Trouble::Target(Operation::Write, Errno::CANCELED.into()));
            }
            Stand::Over => {}
        }
        Err(trouble)
    }
}

/// Whether less is stored than there is to read.
fn has_holes(metadata: &Metadata) -> bool {
    metadata.blocks_512.saturating_mul(512).saturating_add(HOLES_MIN) <= metadata.size
}

/// One read, which meets the end if it comes short.
fn read_once(from: std::os::fd::BorrowedFd<'_>, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match rustix::io::pread(from, &mut *buffer, at) {
            Err(Errno::INTR) => {}
            other => return Ok(other?),
        }
    }
}
