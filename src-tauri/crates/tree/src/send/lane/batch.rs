//! Sends a batch: its files are read end to end into the lane's buffer, checked again, and
//! described by a head.
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;

use ringway_model::{FailureReason, Operation};
use ringway_sys::attributes::{Kind, Metadata, Timestamp, Xattr, birth_of, metadata_of, portable_xattrs};
use ringway_sys::dir::Dir;
use ringway_sys::file_io::{FileIo, ReadFile};
use ringway_wire::lane::{Attributes, Entry, EntryKind, XattrBuffer, Xattrs};
use ringway_wire::name::Name;
use rustix::io::Errno;

use crate::send::lane::Lane;
use crate::send::links::{Further, FurtherName, LinkSet};
use crate::send::queue::{self, BATCH_FILE_MAX, Batch, BatchFile, BatchFolder, BatchItem, Large, Place};
use crate::send::{attributes, reason};

/// Bytes of extended attributes that are kept for the files of one batch. Beyond this they are read
/// one by one.
const XATTRS_HELD_MAX: usize = 2 * 1024 * 1024;

/// A file whose whole contents were read.
pub(in crate::send) struct ReadWhole {
    /// Its metadata after its last byte was read.
    pub(in crate::send) metadata: Metadata,
    /// `None` if those of the batch's other files take too much memory. Then they are read by name
    /// when they are needed.
    xattrs: Option<io::Result<Vec<Xattr>>>,
}

/// The result of reading a file a second time.
enum Reread {
    /// Its contents and its present metadata.
    Whole { contents: Vec<u8>, metadata: Metadata, born: Option<Timestamp>, xattrs: XattrBuffer },
    /// It has become too large for a batch.
    Large(Metadata),
}

/// The state of a batch while it is sent.
#[derive(Default)]
struct Progress {
    /// The frame's body so far, as part of the lane's buffer.
    body: Range<usize>,
    /// The current folder in this frame's head.
    said: Option<u32>,
    /// Files that have become too large for a batch. They are sent in ranges after it.
    deferred: Vec<Large>,
    /// Links whose file is still being sent under another name.
    waiting: Batch,
    /// Whether a link set was settled, for which others may wait.
    has_settled: bool,
}

impl Progress {
    fn settle(&mut self, link: &LinkSet, there: Option<&Metadata>) {
        link.settle(there);
        self.has_settled = true;
    }
}

impl Lane<'_> {
    /// Reads and sends a batch, in one frame unless its head gets too long or a file has changed
    /// meanwhile.
    pub(in crate::send) fn send_batch(&mut self, batch: &Batch) -> io::Result<()> {
        let mut files = self.read_batch(batch)?;
        if self.shared.is_proven() {
            self.keep_those_that_stayed(batch, &mut files)?;
        }
        let mut files = files.into_iter();
        self.head.clear();
        let mut progress = Progress::default();
        let (mut at, mut folder) = (0, 0);
        for item in &batch.items {
            if !self.head.has_room() {
                self.flush(&mut progress)?;
            }
            match item {
                BatchItem::Folder(index) => folder = *index,
                BatchItem::NewFolder(index, new) => {
                    folder = *index;
                    progress.said = Some(folder);
                    let path = batch.folder(folder).path();
                    self.head.folder_with_attributes(path, &new.attributes, new.xattrs.as_xattrs());
                    self.name_owners(&new.attributes, new.xattrs.as_xattrs());
                }
                BatchItem::File(file) => {
                    let read = files.next().unwrap_or(None);
                    self.add_file(batch, folder, file, read, at, &mut progress)?;
                    at += file.metadata.size as usize;
                }
                BatchItem::Symlink { name, target, attributes } => {
                    let kind = EntryKind::Symlink { target: batch.name(*target).to_bytes() };
                    self.say(batch, folder, &mut progress);
                    let name = entry_name(batch.name(*name).to_bytes());
                    self.add(&Entry { name, kind, attributes: *attributes, xattrs: Xattrs::default() });
                }
                BatchItem::HardLink { name, further, attributes } => {
                    let name = batch.name(*name).to_bytes();
                    if self.is_link(batch.folder(folder), name, further, attributes, &mut progress)? {
                        let kind = EntryKind::HardLink { link_id: further.set.id, last: further.last };
                        self.say(batch, folder, &mut progress);
                        let (name, xattrs) = (entry_name(name), Xattrs::default());
                        self.add(&Entry { name, kind, attributes: *attributes, xattrs });
                    }
                }
            }
        }
        self.flush(&mut progress)?;
        if !progress.waiting.is_empty() {
            self.shared.queue.park(progress.waiting);
        }
        if progress.has_settled {
            self.shared.queue.settled();
        }
        for large in progress.deferred {
            if let Some(ranged) = self.begin_large(large) {
                self.send_large(&ranged)?;
            }
        }
        Ok(())
    }

    /// Whether another name of a file is sent as a link to it. If the receiver does not get the
    /// file under another name, or this name belongs to another file or version by now, it is sent
    /// by itself. If that is not known yet, the name waits.
    fn is_link(
        &mut self,
        folder: &BatchFolder,
        name: &[u8],
        another: &FurtherName,
        attributes: &Attributes,
        progress: &mut Progress,
    ) -> io::Result<bool> {
        let Some(dir) = &folder.dir else { return Err(io::ErrorKind::InvalidInput.into()) };
        let set = &another.set;
        let further = set.further();
        if further == Further::Wait {
            progress.waiting.hard_link(&folder.path, dir, name, another.clone(), *attributes);
            return Ok(false);
        }
        // Checked after its file, because only then are the contents that were read this name's,
        // too.
        let now = dir.metadata(name);
        let is = |check: &dyn Fn(&Metadata, Option<Timestamp>) -> bool| {
            now.as_ref().is_ok_and(|now| check(now, dir.birth(name)))
        };
        let link = match further {
            Further::Link(sent) if is(&|now, born| set.is_as(sent, now, born)) => return Ok(true),
            Further::File if is(&|now, born| set.is(now, born)) => Some(set.clone()),
            Further::File => {
                progress.settle(set, None);
                None
            }
            _ => None,
        };
        let failure = match now {
            Ok(now) if now.kind == Kind::File => {
                self.shared.corrected(0, queue::bytes_of(&now));
                let place = Place { path: folder.path.clone(), dir: dir.clone(), name: name.into() };
                self.shared.queue.add_first(queue::alone(place, now, link));
                return Ok(false);
            }
            Ok(now) if now.kind == Kind::Symlink => FailureReason::Os { errno: Errno::LOOP.raw_os_error() },
            // It was a file when its folder was listed.
            Ok(now) if now.kind == Kind::Dir => FailureReason::ChangedWhileReading,
            Ok(_) => FailureReason::SpecialFile,
            Err(error) => reason(&error),
        };
        self.shared.lost(0);
        self.shared.fail(&folder.path, name, Operation::Open, failure);
        Ok(false)
    }

    /// Reads the batch's files into the buffer, each at the sum of the sizes before it. For each
    /// file it returns the metadata right after reading, or `None` if the file could not be read
    /// completely.
    pub(in crate::send) fn read_batch(&mut self, batch: &Batch) -> io::Result<Vec<Option<ReadWhole>>> {
        read_into(self.io, batch, &mut self.body)
    }

    /// Sends the collected frame, if there is one, and begins the next.
    fn flush(&mut self, progress: &mut Progress) -> io::Result<()> {
        if !self.head.is_empty() {
            let header = self.head.batch_header(progress.body.len());
            self.send(header, progress.body.clone())?;
            self.head.clear();
        }
        progress.body = progress.body.end..progress.body.end;
        progress.said = None;
        Ok(())
    }

    /// Adds the folder to the head, if it is not the frame's current one.
    fn say(&mut self, batch: &Batch, folder: u32, progress: &mut Progress) {
        if progress.said != Some(folder) {
            progress.said = Some(folder);
            self.head.folder(batch.folder(folder).path());
        }
    }

    /// Adds one file whose contents were read to `at`.
    fn add_file(
        &mut self,
        batch: &Batch,
        index: u32,
        file: &BatchFile,
        read: Option<ReadWhole>,
        at: usize,
        progress: &mut Progress,
    ) -> io::Result<()> {
        let folder = batch.folder(index);
        let Some(dir) = &folder.dir else { return Err(io::ErrorKind::InvalidInput.into()) };
        let name = batch.name(file.name).to_bytes();
        let expected = file.metadata.size as usize;
        // Checked after reading: only a file that did not change throughout is sent with these
        // attributes.
        let Some(read) = read.filter(|read| attributes::same_contents(&read.metadata, &file.metadata)) else {
            return self.add_changed(batch, index, file, progress);
        };
        // There is a gap only after a file that was left out.
        if progress.body.end != at {
            self.body.copy_within(at..at + expected, progress.body.end);
        }
        let contents = progress.body.end..progress.body.end + expected;
        progress.body.end = contents.end;
        let found = read.xattrs.unwrap_or_else(|| dir.portable_xattrs(name));
        let xattrs = self.xattrs(&folder.path, name, found);
        self.say(batch, index, progress);
        self.add(&file_entry(name, file.link.as_deref(), &file.metadata, &xattrs));
        file.link.iter().for_each(|link| progress.settle(link, Some(&file.metadata)));
        self.shared.digest(&self.body[contents]).into_iter().for_each(|digest| self.head.digest(digest));
        Ok(())
    }

    /// Adds a file that has changed since the walk saw it: with its present contents, in a separate
    /// frame, if it no longer changes.
    fn add_changed(&mut self, batch: &Batch, index: u32, file: &BatchFile, progress: &mut Progress) -> io::Result<()> {
        let folder = batch.folder(index);
        let Some(dir) = &folder.dir else { return Err(io::ErrorKind::InvalidInput.into()) };
        let name = batch.name(file.name).to_bytes();
        match self.read_again(folder, dir, name) {
            Ok(Reread::Whole { contents, metadata, born, xattrs }) => {
                self.shared.corrected(file.metadata.size, metadata.size);
                self.flush(progress)?;
                self.say(batch, index, progress);
                let link = file.link.as_deref().filter(|link| link.is(&metadata, born));
                self.add(&file_entry(name, link, &metadata, &xattrs));
                file.link.iter().for_each(|set| progress.settle(set, link.map(|_| &metadata)));
                self.shared.digest(&contents).into_iter().for_each(|digest| self.head.digest(digest));
                let header = self.head.batch_header(contents.len());
                self.send_apart(header, &contents)?;
                self.head.clear();
                progress.said = None;
            }
            Ok(Reread::Large(metadata)) => {
                self.shared.corrected(file.metadata.size, attributes::allocated(&metadata));
                let place = Place { path: folder.path.clone(), dir: dir.clone(), name: name.into() };
                progress.deferred.push(Large::new(place, metadata, file.link.clone()));
            }
            Err((operation, reason)) => {
                file.link.iter().for_each(|link| progress.settle(link, None));
                self.shared.lost(file.metadata.size);
                self.shared.fail(&folder.path, name, operation, reason);
            }
        }
        Ok(())
    }

    /// Reads a file once more, by itself, after the first reading failed or showed a change.
    fn read_again(
        &mut self,
        folder: &BatchFolder,
        dir: &Dir,
        name: &[u8],
    ) -> Result<Reread, (Operation, FailureReason)> {
        let opened = self.open_file(dir, name)?;
        let metadata = opened.metadata;
        if metadata.size > BATCH_FILE_MAX {
            return Ok(Reread::Large(metadata));
        }
        let failed = |error: io::Error| (Operation::Read, reason(&error));
        let mut contents = vec![0; metadata.size as usize];
        let read = self.io.read_at(opened.file.as_fd(), 0, &mut contents).map_err(failed)?;
        let mut stayed = read == contents.len();
        if self.shared.is_proven() {
            #[cfg(test)]
            self.shared.between_reads();
            let mut again = vec![0; contents.len()];
            self.io.read_at(opened.file.as_fd(), 0, &mut again).map_err(failed)?;
            stayed &= again == contents;
        }
        let now = metadata_of(&opened.file).map_err(failed)?;
        if stayed && attributes::same_contents(&metadata, &now) {
            let xattrs = self.xattrs(&folder.path, name, portable_xattrs(&opened.file));
            return Ok(Reread::Whole { contents, metadata, born: birth_of(&opened.file), xattrs });
        }
        Err((Operation::Read, FailureReason::ChangedWhileReading))
    }
}

/// Reads the files of a batch into `body`; see [`Lane::read_batch`].
pub(in crate::send) fn read_into(
    io: &mut FileIo,
    batch: &Batch,
    body: &mut [u8],
) -> io::Result<Vec<Option<ReadWhole>>> {
    let mut requests = Vec::with_capacity(batch.items.len());
    let (mut at, mut dir) = (0, None);
    for item in &batch.items {
        match item {
            BatchItem::Folder(index) | BatchItem::NewFolder(index, _) => dir = batch.folder(*index).dir.as_deref(),
            BatchItem::File(file) => {
                let dir = dir.ok_or(io::ErrorKind::InvalidInput)?;
                let len = file.metadata.size as usize;
                requests.push(ReadFile { dir: dir.as_fd(), name: batch.name(file.name), at, len });
                at += len;
            }
            _ => {}
        }
    }
    let mut files: Vec<_> = std::iter::repeat_with(|| None).take(requests.len()).collect();
    let mut results = Vec::with_capacity(requests.len());
    let mut held = 0;
    io.read_files_looking(&mut body[..at], &requests, &mut results, &mut |index, fd| {
        let Ok(metadata) = metadata_of(fd) else { return };
        let xattrs = (held < XATTRS_HELD_MAX).then(|| portable_xattrs(fd));
        held += xattrs.iter().flatten().flatten().map(|(name, value)| name.len() + value.len()).sum::<usize>();
        files[index] = Some(ReadWhole { metadata, xattrs });
    })?;
    for (index, result) in results.iter().enumerate() {
        if !matches!(result, Ok(bytes) if *bytes == requests[index].len) {
            files[index] = None;
        }
    }
    Ok(files)
}

pub(in crate::send) fn file_entry<'a>(
    name: &'a [u8],
    link: Option<&LinkSet>,
    metadata: &Metadata,
    xattrs: &'a XattrBuffer,
) -> Entry<'a> {
    Entry {
        name: entry_name(name),
        kind: EntryKind::File { size: metadata.size, link_id: link.map(|link| link.id) },
        attributes: attributes::attributes(metadata),
        xattrs: xattrs.as_xattrs(),
    }
}

fn entry_name(name: &[u8]) -> Name<'_> {
    Name::new(name).expect("the walk lets only names through that the wire takes")
}
