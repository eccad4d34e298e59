//! Asks the receiver which files of a unit it wants, before any of them is opened.
use std::io;
use std::os::fd::AsFd;

use ringway_sys::attributes::{Metadata, metadata_of};
use ringway_sys::dir::Dir;
use ringway_wire::lane::Digest;
use ringway_wire::limits::{CHUNKED_SIZE_MIN, LANE_BODY_MAX};

use crate::send::attributes;
use crate::send::lane::Lane;
use crate::send::lane::batch::file_entry;
use crate::send::links::LinkSet;
use crate::send::queue::{Batch, BatchItem, Large, Listed, Unit};

impl Lane<'_> {
    /// Lists a unit's files to the receiver, and keeps the unit until it has answered. Files that
    /// do not fit into one head are sent without asking.
    pub(in crate::send) fn send_list(&mut self, mut unit: Unit) -> io::Result<()> {
        let number = self.shared.queue.next_list();
        self.head.begin_list(number);
        let files = match &mut unit {
            Unit::Batch(batch) => {
                let digests = if self.shared.compares() { self.digests(batch)? } else { Vec::new() };
                self.list_batch(batch, &digests)?
            }
            Unit::Large(large) => {
                let digest = self.digest_before_asked(large);
                self.list_large(number, large, digest);
                if self.shared.is_proven() {
                    large.listed = Listed::WithoutDigest;
                }
                1
            }
            Unit::Share(_) => return Err(io::ErrorKind::InvalidInput.into()),
        };
        // Before it is sent, because the answer may arrive at once.
        self.shared.queue.hold(number, unit, files);
        let header = self.head.list_header();
        self.send(header, 0..0)
    }

    /// Lists a large file again if the receiver has asked for its digest. Otherwise, or if it has
    /// no digest, returns it to be sent.
    pub(in crate::send) fn list_again(&mut self, large: Large) -> io::Result<Option<Large>> {
        if large.listed != Listed::DigestWanted {
            return Ok(Some(large));
        }
        let large = Large { listed: Listed::Done, ..large };
        // Of a file that is mostly holes only the data is sent. That takes less than reading all of
        // it at both ends.
        let is_sparse = attributes::allocated(&large.metadata) < large.metadata.size / 2;
        let Some(digest) = (if is_sparse { None } else { self.digest_of_large(&large) }) else {
            return Ok(Some(large));
        };
        let number = self.shared.queue.next_list();
        self.list_large(number, &large, Some(digest));
        self.shared.queue.hold_again(number, large);
        let header = self.head.list_header();
        self.send(header, 0..0)?;
        Ok(None)
    }

    fn list_large(&mut self, number: u32, large: &Large, digest: Option<Digest>) {
        self.head.begin_large_list(number, attributes::stamp(&large.folder, &large.metadata));
        self.head.folder(large.folder_path());
        self.list_file(&large.path, &large.folder, &large.name, &large.metadata, large.link.as_deref());
        if self.shared.compares() {
            self.head.digest(digest.unwrap_or(Digest::NONE));
        }
    }

    /// The digest of each file of a batch as it is now. A file that cannot be read, or has changed
    /// since the walk, gets a digest that no contents have. Then the receiver wants it, and the
    /// problem shows when it is sent.
    ///
    /// Files that the receiver does not doubt have no digest, and if it doubts none, nothing is
    /// read.
    fn digests(&mut self, batch: &Batch) -> io::Result<Vec<Digest>> {
        let files = batch.items.iter().filter_map(|item| match item {
            BatchItem::File(file) => Some(file),
            _ => None,
        });
        if !files.clone().any(|file| self.shared.is_doubted(&file.metadata)) {
            return Ok(files.map(|_| Digest::NONE).collect());
        }
        let read = self.read_batch(batch)?;
        let mut at = 0;
        let digests = files.zip(read).map(|(file, read)| {
            let contents = at..at + file.metadata.size as usize;
            at = contents.end;
            let stayed = read.is_some_and(|read| attributes::same_contents(&read.metadata, &file.metadata));
            match stayed && self.shared.is_doubted(&file.metadata) {
                true => Digest(*blake3::hash(&self.body[contents]).as_bytes()),
                false => Digest::NONE,
            }
        });
        Ok(digests.collect())
    }

    /// The digest of a file in ranges that is too small for chunks. A larger file is compared chunk
    /// by chunk. If files are to be proven, the receiver asks for the digest if it has a file to
    /// compare, so that new files are not read for it.
    fn digest_before_asked(&mut self, large: &Large) -> Option<Digest> {
        let is_asked_for = self.shared.is_proven() || !self.shared.is_doubted(&large.metadata);
        if is_asked_for || large.metadata.size >= CHUNKED_SIZE_MIN { None } else { self.digest_of_large(large) }
    }

    /// The digest of a file in ranges; `None` if it cannot be read as the walk saw it.
    fn digest_of_large(&mut self, large: &Large) -> Option<Digest> {
        let size = large.metadata.size;
        let opened = self.open_file(&large.folder, &large.name).ok()?;
        let mut hasher = blake3::Hasher::new();
        let mut at = 0;
        while at < size && !self.shared.queue.is_cancelled() {
            let len = (size - at).min(LANE_BODY_MAX as u64) as usize;
            let read = self.io.read_at(opened.file.as_fd(), at, &mut self.body[..len]).ok()?;
            if read != len {
                return None;
            }
            hasher.update(&self.body[..len]);
            at += len as u64;
        }
        let now = metadata_of(&opened.file).ok()?;
        attributes::same_contents(&now, &large.metadata).then(|| Digest(*hasher.finalize().as_bytes()))
    }

    fn list_batch(&mut self, batch: &Batch, digests: &[Digest]) -> io::Result<usize> {
        let (mut folder, mut said, mut files) = (0, None, 0);
        for item in &batch.items {
            match item {
                BatchItem::Folder(index) | BatchItem::NewFolder(index, _) => folder = *index,
                BatchItem::File(_) if !self.head.has_room() => break,
                BatchItem::File(file) => {
                    let within = batch.folder(folder);
                    let dir = within.dir.as_ref().ok_or(io::ErrorKind::InvalidInput)?;
                    if said.replace(folder) != Some(folder) {
                        self.head.folder(within.path());
                    }
                    let name = batch.name(file.name).to_bytes();
                    self.list_file(&within.path, dir, name, &file.metadata, file.link.as_deref());
                    digests.get(files).into_iter().for_each(|digest| self.head.digest(*digest));
                    files += 1;
                }
                BatchItem::Symlink { .. } | BatchItem::HardLink { .. } => {}
            }
        }
        Ok(files)
    }

    fn list_file(&mut self, path: &[u8], dir: &Dir, name: &[u8], metadata: &Metadata, link: Option<&LinkSet>) {
        let found = match dir.portable_xattrs(name) {
            // If it has gone, that is reported once, when it is to be read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            found => found,
        };
        let xattrs = self.xattrs(path, name, found);
        self.add(&file_entry(name, link, metadata, &xattrs));
    }
}
