//! Copies regular files: one by one with plain calls while reading does not wait, in batches
//! through the ring while it does.
use std::ffi::CStr;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};

use ringway_model::{OnExisting, Operation};
use ringway_sys::advice::will_need;
use ringway_sys::attributes::{Kind, Metadata, birth_of, metadata_of};
use ringway_sys::file_io::ReadOpen;
use ringway_tree::filesystem::listing::Window;
use rustix::fs::FileType;
use rustix::io::Errno;

use super::Worker;
use super::contents::Sharing;
use super::hard_links::{LinkKey, Seen};
use super::large_files::Open;
use super::small_files::READ_MIN;
use crate::attributes::{self, Fresh};
use crate::folder::entry_error::EntryError;
use crate::folder::overwrite::{self, Placement, TargetKind};
use crate::folder::{Hold, Item};
use crate::job::{Kept, add};
use crate::options::ReflinkMode;

/// Files of one plain round, after which the thread checks whether reading waits for a disk.
const PLAIN_FILES: usize = 16;

/// Files up to this size are read in a batch. A larger one fills the disk's queue by itself.
const BATCH_FILE_BYTES: u64 = 256 * 1024;

/// The most bytes that one batch reads.
const BATCH_BYTES: usize = 2 * 1024 * 1024;

/// The result of copying a file.
enum Copied {
    Done {
        bytes: u64,
    },
    Kept(Kept),
    Planned,
    /// It is to be copied after everything else.
    Late,
    /// It is copied in chunks, by any thread, and accounted for there.
    Large,
}

impl<'j> Worker<'_, 'j> {
    /// Copies the entries of a part of a window that are no folders.
    pub(crate) fn files(&mut self, folder: &Hold<'j>, window: &Window, range: Range<usize>) {
        let mut at = range.start;
        while at < range.end && !self.job.must_end() {
            let by_ring = self.cold.begin(self.tools.has_no_ring()) && !self.job.options.dry_run;
            let end = (at + if by_ring { self.job.choices.batch } else { PLAIN_FILES }).min(range.end);
            if by_ring {
                self.batch(folder, window, at..end);
            } else {
                (at..end).take_while(|_| !self.job.must_end()).for_each(|index| self.one(folder, window, index));
                self.end_plain_round();
            }
            at = end;
        }
    }

    fn one(&mut self, folder: &Hold<'j>, window: &Window, index: usize) {
        let (name, kind) = window.entry(index);
        let item = Item { folder, from: name, to: name };
        match kind {
            FileType::Directory => {}
            FileType::RegularFile | FileType::Symlink if self.leaves_out(folder, name, false) => {}
            FileType::RegularFile => self.file(item),
            FileType::Symlink => self.entry(item, Kind::Symlink),
            // Its kind is found out there, and patterns are applied then.
            _ => self.unknown(item),
        }
    }

    /// Whether files may be read without touching their access times. Only their owner and root may
    /// request that (open(2), O_NOATIME).
    fn leaves_atime(&self, folder: &Hold<'j>) -> bool {
        let user = self.job.choices.user;
        user == 0 || folder.metadata.as_ref().is_none_or(|metadata| metadata.uid == user)
    }

    /// Copies one regular file.
    pub(crate) fn file(&mut self, item: Item<'_, 'j>) {
        let source = match item.folder.source() {
            Ok(source) => source,
            Err(error) => return self.fail(item, error),
        };
        let fd = self.job.patiently(|| match self.leaves_atime(item.folder) {
            true => source.open_read(item.from),
            false => source.open_read_atime(item.from),
        });
        let opened = fd.and_then(|fd| Ok((metadata_of(&fd)?, fd)));
        match opened {
            Ok((metadata, fd)) => self.opened(item, fd, metadata, None),
            // It has become a link or a socket.
            Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::LOOP | Errno::NXIO)) => {
                match source.metadata(item.from) {
                    Ok(metadata) if metadata.kind != Kind::File => self.entry(item, metadata.kind),
                    _ => self.fail(item, EntryError::Source(Operation::Open, error)),
                }
            }
            Err(error) => match source.metadata(item.from) {
                // As with cp, a file need not be readable if the entry at the destination stays.
                Ok(metadata) if metadata.kind == Kind::File => {
                    match overwrite::kept_unread(item.folder, item.to, &metadata) {
                        Some(kept) => self.job.counts.keep(kept, metadata.size),
                        None => self.fail(item, EntryError::Source(Operation::Open, error)),
                    }
                }
                _ => self.fail(item, EntryError::Source(Operation::Open, error)),
            },
        }
    }

    /// Opens and reads many files at a time, and then copies one after the other.
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
        let leaves_atime = self.leaves_atime(folder);
        let (Ok(source), Ok(target), Ok(ring)) = (folder.source(), folder.target(), self.tools.ring()) else {
            return indices.into_iter().for_each(|index| self.one(folder, window, index));
        };
        let mut opened = Vec::with_capacity(names.len());
        ring.open_files(source.as_fd(), &names, leaves_atime, &mut opened);
        let mut files = Vec::with_capacity(names.len());
        let keeps = self.job.options.existing != OnExisting::Replace || self.job.options.continues.is_some();
        let name = |index| window.entry(index).0;
        for (index, fd) in indices.into_iter().zip(opened) {
            let opened = fd.and_then(|fd| Ok((metadata_of(&fd)?, fd)));
            match opened {
                Ok((metadata, fd)) => {
                    let may_stay = keeps && target.as_ref().is_some_and(|target| target.metadata(name(index)).is_ok());
                    files.push((index, fd, metadata, !may_stay));
                }
                // The plain way handles it, or reports the error.
                Err(_) => self.one(folder, window, index),
            }
        }
        let reflink = self.job.options.reflink != ReflinkMode::Never;
        let reads = |sharing: &Sharing, metadata: &Metadata, replaced: bool| {
            let shared = reflink && sharing.works(metadata.dev);
            !shared && metadata.size <= BATCH_FILE_BYTES && replaced
        };
        // The disk continues with the files after the first group while that group is written.
        let mut ahead = 0;
        for (_, fd, metadata, _) in
            files.iter().filter(|(_, _, metadata, replaced)| reads(&self.sharing, metadata, *replaced))
        {
            ahead += metadata.size as usize;
            if ahead > BATCH_BYTES {
                will_need(fd, metadata.size);
            }
        }
        let mut files = files.into_iter().peekable();
        while files.peek().is_some() && !self.job.is_stopped() {
            let mut group = Vec::new();
            let mut filled = 0;
            while let Some((_, _, metadata, replaced)) = files.peek() {
                // Files that will be shared, or may stay as they are, are not read.
                let len = if reads(&self.sharing, metadata, *replaced) { metadata.size as usize } else { 0 };
                if filled + len > BATCH_BYTES {
                    break;
                }
                let (index, fd, metadata, _) = files.next().expect("peeked");
                group.push((index, fd, metadata, filled..filled + len));
                filled += len;
            }
            self.group(folder, window, group, filled);
        }
    }

    /// Reads the files of a batch that fit into the buffer, and copies them.
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
        let read = self.tools.ring().and_then(|ring| ring.read_open_files(&mut contents, &requests, &mut results));
        drop(requests);
        if read.is_err() {
            results.clear();
        }
        let mut results = results.into_iter();
        for (index, fd, metadata, part) in group {
            if self.job.must_end() {
                break;
            }
            // Files that were not read completely are read again, the plain way.
            let whole =
                matches!(results.next(), Some(Ok(bytes)) if bytes == part.len() && bytes as u64 == metadata.size);
            let (name, _) = window.entry(index);
            let ahead = (whole && metadata.size > 0).then(|| &contents[part]);
            self.opened(Item { folder, from: name, to: name }, fd, metadata, ahead);
        }
        // Files that were copied otherwise may have replaced the buffer.
        if self.buffer.len() < contents.len() {
            self.buffer = contents;
        }
    }

    /// Copies an open file, whose contents may have been read already.
    fn opened(&mut self, item: Item<'_, 'j>, fd: OwnedFd, metadata: Metadata, ahead: Option<&[u8]>) {
        if metadata.kind != Kind::File {
            return self.entry(item, metadata.kind);
        }
        if metadata.size <= self.job.choices.chunk as u64 {
            self.cold.reads(metadata.size);
        }
        let linked = (metadata.nlink > 1).then(|| LinkKey::new(&metadata, birth_of(&fd)));
        if let Some(key) = linked {
            let name = || (item.folder.clone(), item.from.into(), item.to.into());
            match self.pool.links.see(key, &metadata, name) {
                Seen::First => {}
                Seen::Waits => return,
                Seen::Changed => {
                    let copied = self.copy(item, fd, &metadata, ahead, None);
                    return self.copied(item, &metadata, copied, None);
                }
                Seen::Again(place) => match self.link(item, &metadata, &place) {
                    // It cannot be linked, so it is copied as a separate file.
                    Ok(None) => {
                        let copied = self.copy(item, fd, &metadata, ahead, None);
                        return self.copied(item, &metadata, copied, None);
                    }
                    made => return self.settled(item, made, |job| add(&job.counts.links, 1)),
                },
            }
        }
        let copied = self.copy(item, fd, &metadata, ahead, linked);
        self.copied(item, &metadata, copied, linked);
    }

    fn copied(
        &mut self,
        item: Item<'_, 'j>,
        metadata: &Metadata,
        copied: Result<Copied, EntryError>,
        linked: Option<LinkKey>,
    ) {
        let done = match copied {
            Ok(Copied::Done { .. } | Copied::Planned) => true,
            Ok(Copied::Kept(kept)) => kept.as_copy,
            _ => false,
        };
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
            Ok(Copied::Late) => {}
            Ok(Copied::Kept(kept)) => self.job.counts.keep(kept, metadata.size),
            Err(error) => self.fail(item, error),
        }
        if let Some(key) = linked {
            self.first_settled(item, key, done);
        }
    }

    fn copy(
        &mut self,
        item: Item<'_, 'j>,
        source: OwnedFd,
        metadata: &Metadata,
        ahead: Option<&[u8]>,
        linked: Option<LinkKey>,
    ) -> Result<Copied, EntryError> {
        let Item { folder, to, .. } = item;
        // Created with its final mode if neither owner nor mode has to be changed afterwards.
        let exact = self.own_umask
            && folder.inherited.get() == Some(&(metadata.uid, metadata.gid))
            && !folder.default_acl
            && metadata.mode & 0o7000 == 0;
        let mode = if exact { metadata.mode } else { metadata.mode & attributes::PRIVATE };
        let (target, target_kind) = match overwrite::for_file(folder, to, metadata, mode)? {
            Placement::Write(target, target_kind) => (target, target_kind),
            Placement::Keep(kept) => return Ok(Copied::Kept(kept)),
            Placement::Planned => {
                add(&self.job.counts.found_bytes, metadata.size);
                return Ok(Copied::Planned);
            }
            Placement::Late => {
                self.pool.put_off((folder.clone(), item.from.into(), to.into()));
                return Ok(Copied::Late);
            }
        };
        add(&self.job.counts.found_bytes, metadata.size);
        let fresh = if exact && target_kind != TargetKind::Over { Fresh::Exact } else { Fresh::Unknown };
        if target_kind != TargetKind::Over
            && folder.inherited.get().is_none()
            && let Ok(made) = metadata_of(&target)
        {
            let _ = folder.inherited.set((made.uid, made.gid));
        }
        let open = Open { source, target, target_kind, metadata: *metadata, fresh, linked };
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
            Err(error) => self.ended(item, &open, Err(error)).map(|()| Copied::Done { bytes: 0 }),
        }
    }
}
