//! A lane's heads and the receiver's accounting: what is accepted is written again exactly as it
//! was read, and agrees with a second count.
use super::input::Input;
use ringway_wire::lane::{
    ACL_LEN_MAX, AclKind, Batch, ChunkLens, ChunkWindow, Counts, DIGEST_LEN, Digest, Entry, EntryKind, FileList,
    FrameHeader, FrameKind, HEADER_LEN, HeadBuffer, Item, OwnerNames, RangeHead, RangeStep, Xattrs,
};
use ringway_wire::ledger::{Ledger, RangedState};
use ringway_wire::limits::{CHUNKED_SIZE_MIN, LANE_BODY_MAX, LINK_TARGET_MAX, NAME_MAX, PATH_MAX, XATTRS_TOTAL_MAX};
use ringway_wire::stretches::Stretches;
use ringway_wire::{Name, ProtocolError, RelPath};
use std::collections::HashMap;

/// Reads the input as a lane's frames without their bodies, which wire never sees: those of a
/// transfer with verification, and of one without.
pub fn lane_stream(data: &[u8]) {
    for proves in [false, true] {
        stream(data, proves);
    }
}

/// The number of accepted frames, for the seeds.
pub(crate) fn stream(data: &[u8], proves: bool) -> usize {
    let mut input = Input::new(data);
    let mut frames = 0;
    let mut lane = Lane { proves, ..Lane::default() };
    while !input.is_empty() {
        let Ok(header) = FrameHeader::decode(input.array::<HEADER_LEN>()) else {
            return frames;
        };
        assert_eq!(FrameHeader::decode(header.encode()), Ok(header));
        let head = input.take(header.head_len as usize);
        if head.len() < header.head_len as usize {
            return frames;
        }
        let taken = match header.kind {
            FrameKind::Batch => lane.batch(&header, head),
            FrameKind::Range => lane.range(&header, head),
            FrameKind::List => lane.list(&header, head),
            FrameKind::Chunks => lane.chunks(&header, head),
            FrameKind::End => break,
            FrameKind::Renew => continue,
        };
        if taken.is_err() {
            return frames;
        }
        frames += 1;
    }
    lane.settle();
    frames
}

/// A head of a verified transfer without the digests of its files, and the header that fits it:
/// what a transfer without verification would send.
fn without_digests<'h>(header: &FrameHeader, head: &'h [u8], files: usize) -> (FrameHeader, &'h [u8]) {
    let len = head.len() - files * DIGEST_LEN;
    (FrameHeader { head_len: len as u32, ..*header }, &head[..len])
}

/// Writes the names of users and groups again.
fn names_again(head: &mut HeadBuffer, names: OwnerNames<'_>) {
    names.iter().for_each(|(owner, name)| head.owner_names().push(owner, name));
}

/// The ledger, and a slower one that is too simple to be wrong.
#[derive(Default)]
struct Lane {
    /// Every head has digests behind it.
    proves: bool,
    ledger: Ledger,
    counts: Counts,
    files: HashMap<u64, File>,
    /// Size of the file that was listed alone, and how much of its beginning is reported as
    /// present.
    left: Option<(u64, u64)>,
}

#[derive(Default)]
struct File {
    ranges: Vec<(u64, u64)>,
    windows: Vec<(u64, u64)>,
    declared: Option<(u64, RangedState)>,
    ended: bool,
}

impl Lane {
    fn batch(&mut self, header: &FrameHeader, head: &[u8]) -> Result<(), ProtocolError> {
        let batch = if self.proves { Batch::parse_proven(header, head)? } else { Batch::parse(header, head)? };
        let mut again = HeadBuffer::default();
        let (mut body_at, mut folder, mut items, mut files) = (0, None, 0, 0);
        for item in batch.items() {
            items += 1;
            match item {
                Item::Folder { path, attributes, xattrs } => {
                    check_path(path);
                    folder = Some(path);
                    match attributes {
                        Some(attributes) => again.folder_with_attributes(path, &attributes, xattrs),
                        None => again.folder(path),
                    }
                    check_xattrs(xattrs);
                }
                Item::Entry(entry, body) => {
                    assert_eq!(body.start, body_at, "bodies lie end to end");
                    body_at = body.end;
                    assert!(body_at <= LANE_BODY_MAX);
                    check_entry(&entry, folder.expect("an entry has a folder"));
                    again.entry(&entry);
                    if let EntryKind::File { size, .. } = entry.kind {
                        assert_eq!(size, body.len() as u64);
                        self.digest_again(&mut again, batch.digest(files));
                        files += 1;
                    } else {
                        assert!(body.is_empty());
                    }
                }
            }
        }
        names_again(&mut again, batch.owner_names());
        assert_eq!(items, header.items);
        assert_eq!(body_at, header.body_len as usize);
        assert_eq!(batch.digest(files), None);
        assert_eq!(FrameHeader { packed_len: header.packed_len, ..again.batch_header(body_at) }, *header);
        assert_eq!(again.as_bytes(), head, "a batch has two encodings");
        assert_eq!(again.counts(), batch.counts());
        if self.proves {
            let (header, plain) = without_digests(header, head, files);
            assert_eq!(Batch::parse(&header, plain).map(|batch| batch.counts()), Ok(batch.counts()));
        }
        self.ledger.batch(&batch);
        self.counts += batch.counts();
        Ok(())
    }

    /// Writes the digest of the file that was added last again, if there is to be one.
    fn digest_again(&self, head: &mut HeadBuffer, digest: Option<Digest>) {
        assert_eq!(digest.is_some(), self.proves);
        if let Some(digest) = digest {
            head.digest(digest);
        }
    }

    fn list(&mut self, header: &FrameHeader, head: &[u8]) -> Result<(), ProtocolError> {
        let list = if self.proves { FileList::parse_proven(header, head)? } else { FileList::parse(header, head)? };
        let mut again = HeadBuffer::default();
        again.begin_large_list(list.number(), list.stamp());
        let (mut files, mut said) = (0, None);
        for (folder, entry) in list.files() {
            check_entry(&entry, folder);
            assert!(matches!(entry.kind, EntryKind::File { .. }), "something else in a list of files");
            if said != Some(folder) {
                again.folder(folder);
                said = Some(folder);
            }
            again.entry(&entry);
            self.digest_again(&mut again, list.digest(files));
            files += 1;
        }
        assert!(files == list.len() && !list.is_empty() && files <= header.items as usize);
        assert_eq!(list.digest(files), None);
        names_again(&mut again, list.owner_names());
        let said = again.list_header();
        assert_eq!(said.body_len, 0);
        // The only other encoding names a folder twice, or names one without files.
        assert!(again.as_bytes().len() <= head.len());
        assert!(said.items < header.items || again.as_bytes() == head, "a list has two encodings");
        assert_eq!(again.counts(), Counts::default(), "a list is nothing sent");
        if self.proves {
            let (header, plain) = without_digests(header, head, files);
            assert_eq!(FileList::parse(&header, plain).map(|list| list.len()), Ok(files));
        }
        let alone = list.files().next().filter(|_| files == 1).map(|(_, entry)| entry.kind);
        let unwanted = match alone {
            Some(EntryKind::File { size, .. }) if size > 1 => {
                self.left = Some((size, size / 2));
                Counts { bytes: size / 2, ..Counts::default() }
            }
            _ => Counts { files: 1, bytes: u64::MAX / 3, ..Counts::default() },
        };
        self.ledger.listed(unwanted);
        self.counts += unwanted;
        Ok(())
    }

    fn range(&mut self, header: &FrameHeader, head: &[u8]) -> Result<(), ProtocolError> {
        let (range, digest) = match self.proves {
            true => RangeHead::parse_proven(header, head).map(|(range, digest)| (range, Some(digest)))?,
            false => (RangeHead::parse(header, head)?, None),
        };
        let mut again = HeadBuffer::default();
        let said = match digest {
            Some(digest) => again.proven_range(&range, header.body_len as usize, digest),
            None => again.range(&range, header.body_len as usize),
        };
        assert_eq!(FrameHeader { packed_len: header.packed_len, ..said }, *header);
        assert_eq!(again.as_bytes(), head, "a range has two encodings");
        if self.proves {
            let (header, plain) = without_digests(header, head, 1);
            assert_eq!(RangeHead::parse(&header, plain), Ok(range));
        }
        check_entry(&range.entry, range.folder);
        let EntryKind::File { size, .. } = range.entry.kind else { panic!("a ranged entry that is no file") };
        let (start, end) = (range.offset, range.offset + u64::from(header.body_len));
        assert!(end <= size);

        if let Some((_, has)) = self.left.filter(|left| left.0 == size && !self.files.contains_key(&range.file_id)) {
            let mut pieces = Stretches::default();
            assert!(pieces.add(0, has));
            self.ledger.resume(range.file_id, size, range.stamp, pieces)?;
            self.files.insert(range.file_id, File { ranges: vec![(0, has)], ..File::default() });
            self.left = None;
        }
        let verdict = self.ledger.range(header, &range)?;
        assert_eq!(verdict.first, !self.files.contains_key(&range.file_id));
        let file = self.files.entry(range.file_id).or_default();
        assert!(!file.ended, "a range after the file's end");
        assert!(start == end || file.ranges.iter().all(|(s, e)| end <= *s || *e <= start), "overlapping");
        if start < end {
            file.ranges.push((start, end));
        }
        self.counts.bytes += end - start;
        let end = match range.step {
            RangeStep::More => None,
            RangeStep::Last { data_bytes } => Some((data_bytes, RangedState::Whole)),
            RangeStep::Abandoned { data_bytes } => Some((data_bytes, RangedState::Abandoned)),
        };
        if let Some((_, state)) = end {
            assert_eq!(file.declared, None, "two ends");
            file.declared = end;
            self.counts.files += u64::from(state == RangedState::Whole);
        }
        let received: u64 = file.ranges.iter().map(|(start, end)| end - start).sum();
        assert!(file.declared.is_none_or(|(declared, _)| received <= declared && declared <= size));
        let state = match file.declared {
            Some((declared, state)) if declared == received => state,
            _ => RangedState::Partial,
        };
        assert_eq!(verdict.state, state);
        file.ended = state != RangedState::Partial;
        Ok(())
    }

    /// Every chunk whose digest begins with an even byte counts as found.
    fn chunks(&mut self, header: &FrameHeader, head: &[u8]) -> Result<(), ProtocolError> {
        let window = ChunkWindow::parse(header, head)?;
        let of = window.head();
        check_entry(&of.entry, of.folder);
        let EntryKind::File { size, .. } = of.entry.kind else { panic!("chunks of something that is no file") };
        let mut again = HeadBuffer::default();
        again.begin_chunks(window.number(), of);
        let (mut at, mut found) = (of.offset, Vec::new());
        for (range, digest) in window.chunks() {
            assert_eq!(range.start, at, "chunks lie end to end");
            assert!(range.end > at && range.end <= size && range.end - at <= ChunkLens::of(size).max as u64);
            again.chunk((range.end - at) as u32, digest);
            at = range.end;
            found.extend(Some(range).filter(|_| digest.0[0] % 2 == 0));
        }
        assert!(size >= CHUNKED_SIZE_MIN && window.range() == (of.offset..at) && !window.is_empty());
        assert_eq!((again.chunks_header(), again.as_bytes()), (*header, head), "a window has two encodings");
        let first = self.ledger.window(&window)?;
        assert_eq!(first, !self.files.contains_key(&of.file_id));
        let file = self.files.entry(of.file_id).or_default();
        assert!(!file.ended, "a window after the file's end");
        assert!(file.windows.iter().all(|(s, e)| at <= *s || *e <= of.offset), "asked about twice");
        file.windows.push((of.offset, at));
        let state = self.ledger.copied(of, found.iter().cloned())?;
        for range in found {
            assert!(file.ranges.iter().all(|(s, e)| range.end <= *s || *e <= range.start), "overlapping");
            self.counts.bytes += range.end - range.start;
            file.ranges.push((range.start, range.end));
        }
        let received: u64 = file.ranges.iter().map(|(start, end)| end - start).sum();
        assert!(file.declared.is_none_or(|(declared, _)| received <= declared));
        let whole = file.declared.filter(|(declared, _)| *declared == received);
        assert_eq!(state, whole.map_or(RangedState::Partial, |(_, state)| state));
        file.ended = state != RangedState::Partial;
        Ok(())
    }

    fn settle(&self) {
        assert_eq!(self.ledger.arrived(), self.counts);
        let whole = self.files.values().all(|file| file.ended);
        assert_eq!(self.ledger.settle(&self.counts).is_ok(), whole);
        let mut more = self.counts;
        more.files += 1;
        assert!(self.ledger.settle(&more).is_err(), "a file that never came was not missed");
    }
}

fn check_path(path: RelPath<'_>) {
    assert!(path.as_bytes().len() <= PATH_MAX);
    path.components().for_each(check_name);
    assert!(path.is_root() || path.as_bytes().split(|byte| *byte == b'/').all(|part| !part.is_empty()));
}

fn check_name(name: Name<'_>) {
    let name = name.as_bytes();
    assert!(!name.is_empty() && name.len() <= NAME_MAX && name != b"." && name != b"..");
    assert!(!name.contains(&b'/') && !name.contains(&0));
}

fn check_entry(entry: &Entry<'_>, folder: RelPath<'_>) {
    check_path(folder);
    check_name(entry.name);
    assert!(folder.join(entry.name).is_ok(), "a path that is too long as a whole");
    assert!(entry.attributes.mode <= 0o7777 && entry.attributes.mtime.nanos < 1_000_000_000);
    if let EntryKind::Symlink { target } = entry.kind {
        assert!(!target.is_empty() && target.len() <= LINK_TARGET_MAX && !target.contains(&0));
    }
    check_xattrs(entry.xattrs);
}

fn check_xattrs(xattrs: Xattrs<'_>) {
    let mut total = 0;
    for (name, value) in xattrs.iter() {
        assert!(name.starts_with(b"user.") && name.len() > 5 && name.len() <= 255 && !name.contains(&0));
        total += name.len() + value.len();
    }
    let lists = AclKind::ALL.into_iter().filter_map(|kind| xattrs.acl(kind));
    let lists: Vec<_> = lists.map(|list| list.as_bytes().len()).collect();
    assert!(lists.iter().all(|len| *len <= ACL_LEN_MAX));
    total += lists.iter().sum::<usize>();
    assert!(total <= XATTRS_TOTAL_MAX);
    assert_eq!(xattrs.is_empty(), xattrs.iter().next().is_none() && lists.is_empty());
}
