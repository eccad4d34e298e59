//! Asking the receiver which files of a unit it wants, before any of them is opened.
use std::io;

use ringway_sys::attributes::Metadata;
use ringway_sys::dir::Dir;
use ringway_wire::lane::Digest;

use super::batch::file_entry;
use super::lane::Lane;
use super::tree;
use super::unit::{Batch, BatchItem, Unit};

impl Lane<'_> {
    /// Names a unit's files to the receiver; the unit is kept until that has answered. Files that one head does not hold are sent unasked.
    pub(super) fn send_list(&mut self, unit: Unit) -> io::Result<()> {
        let number = self.shared.queue.next_list();
        self.head.begin_list(number);
        let files = match &unit {
            Unit::Batch(batch) => {
                let digests = if self.shared.is_proven() { self.digests(batch)? } else { Vec::new() };
                self.list_batch(batch, &digests)?
            }
            Unit::Large(large) => {
                self.head.folder(large.folder_path());
                self.list_file(&large.path, &large.folder, &large.name, &large.metadata, large.link_id);
                if self.shared.is_proven() {
                    // What is here of it is proven chunk by chunk.
                    self.head.digest(Digest::NONE);
                }
                1
            }
            Unit::Share(_) => return Err(io::ErrorKind::InvalidInput.into()),
        };
        // Before it is sent: the answer may come at once.
        self.shared.queue.hold(number, unit, files);
        let header = self.head.list_header();
        self.send(header, 0..0)
    }

    /// The digest of each file of a batch as it is now. One that cannot be read, or is not any more what the walk saw, has one that no contents have:
    /// then it is wanted, and what is the matter shows when it is sent.
    fn digests(&mut self, batch: &Batch) -> io::Result<Vec<Digest>> {
        let read = self.read_batch(batch)?;
        let files = batch.items.iter().filter_map(|item| match item {
            BatchItem::File(file) => Some(file),
            _ => None,
        });
        let mut at = 0;
        let digests = files.zip(read).map(|(file, read)| {
            let contents = at..at + file.metadata.size as usize;
            at = contents.end;
            let stayed = read.is_some_and(|read| tree::same_contents(&read.metadata, &file.metadata));
            let digest = stayed.then(|| self.shared.digest(&self.body[contents])).flatten();
            digest.unwrap_or(Digest::NONE)
        });
        Ok(digests.collect())
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
                    self.list_file(&within.path, dir, name, &file.metadata, file.link_id);
                    digests.get(files).into_iter().for_each(|digest| self.head.digest(*digest));
                    files += 1;
                }
                BatchItem::Symlink { .. } | BatchItem::HardLink { .. } => {}
            }
        }
        Ok(files)
    }

    fn list_file(&mut self, path: &[u8], dir: &Dir, name: &[u8], metadata: &Metadata, link_id: Option<u64>) {
        let xattrs = self.xattrs(path, name, dir.user_xattrs(name));
        self.head.entry(&file_entry(name, link_id, metadata, &xattrs));
    }
}
