//! The entries of a shared folder: pages of paths with what `ls -l` shows of each. Every page is
//! checked when it arrives, and kept as the bytes that arrived.
use std::cmp::Ordering;

use ringway_model::EntryKind;

use crate::ProtocolError;
use crate::bytes::{Put, Reader};
use crate::limits::{ENTRIES_PAGE_BYTES_MAX, ENTRIES_PAGE_LEN_MAX, LINK_TARGET_MAX, NANOS_PER_SEC, PATH_MAX};
use crate::name::RelPath;
use crate::timestamp::Timestamp;

/// Sizes are signed in the kernel.
const SIZE_MAX: u64 = i64::MAX as u64;

/// Permission, setuid, setgid and sticky bits.
const MODE_MAX: u16 = 0o7777;

/// The number that stands for an entry that could not be read, in place of its kind.
const TROUBLE: u8 = u8::MAX;

/// The longest fields of an entry beside its path and target: three lengths, kind, mode, size and
/// time.
const FIELDS_LEN_MAX: usize = 3 * 2 + 1 + 2 + 8 + 8 + 4;

/// What is said of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes<'a> {
    /// What it is.
    pub kind: EntryKind,
    /// Permission, setuid, setgid and sticky bits.
    pub mode: u16,
    /// Bytes.
    pub size: u64,
    /// Seconds of its modification time.
    pub secs: i64,
    /// Nanoseconds after those, below 10^9.
    pub nanos: u32,
    /// The target of a link; empty for other entries.
    pub target: &'a [u8],
}

/// An entry of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FolderEntry<'a> {
    /// Its path below what was asked for; the root for what was asked for itself.
    pub path: RelPath<'a>,
    /// What is said of it, or the errno of reading it, or of listing the folder that it is.
    pub what: Result<Attributes<'a>, i32>,
}

/// A page of entries. Paths are stored as what they do not share with the path before.
#[derive(Clone, PartialEq, Eq)]
pub struct EntriesPage {
    entries: u16,
    /// With the last page: when the listing began, by the clock of the device that answers.
    began: Option<Timestamp>,
    bytes: Vec<u8>,
}

impl std::fmt::Debug for EntriesPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EntriesPage({} entries, {} bytes, last: {})", self.entries, self.bytes.len(), self.is_last())
    }
}

impl EntriesPage {
    /// How many entries it has.
    pub fn len(&self) -> usize {
        self.entries.into()
    }

    /// Whether it has none, which only a last page may.
    pub fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// Whether no page follows.
    pub fn is_last(&self) -> bool {
        self.began.is_some()
    }

    /// With the last page: when the listing began, by the clock of the device that answers. What
    /// has changed since can be asked for.
    pub fn began(&self) -> Option<Timestamp> {
        self.began
    }

    /// Shows its entries in order.
    pub fn each(&self, mut show: impl FnMut(FolderEntry<'_>)) {
        let shown = each(&self.bytes, self.len(), &mut |entry| {
            show(entry);
            Ok(())
        });
        debug_assert!(shown.is_ok(), "it was checked when it was made");
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.put_bool(self.is_last());
        self.began.iter().for_each(|began| began.encode(out));
        out.put_u16(self.entries);
        out.extend_from_slice(&self.bytes);
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, ProtocolError> {
        let began = reader.bool("end of a folder")?.then(|| Timestamp::decode(reader)).transpose()?;
        let entries = reader.u16()?;
        let bytes = reader.take(reader.rest().len())?;
        for (what, value, limit) in [
            ("entries of a page", usize::from(entries), ENTRIES_PAGE_LEN_MAX),
            ("length of a page", bytes.len(), ENTRIES_PAGE_BYTES_MAX),
        ] {
            if value > limit {
                return Err(ProtocolError::TooLarge { what, value: value as u64, limit: limit as u64 });
            }
        }
        // With empty pages, a serving end could send pages forever.
        if entries == 0 && began.is_none() {
            return Err(ProtocolError::BadValue("entries of a page"));
        }
        each(bytes, entries.into(), &mut |_| Ok(()))?;
        Ok(Self { entries, began, bytes: bytes.to_vec() })
    }
}

/// Reads `entries` entries and nothing else. One path is in memory at a time.
fn each(
    bytes: &[u8],
    entries: usize,
    show: &mut impl FnMut(FolderEntry<'_>) -> Result<(), ProtocolError>,
) -> Result<(), ProtocolError> {
    let mut reader = Reader::new(bytes);
    let mut path = Vec::new();
    for _ in 0..entries {
        let shared = usize::from(reader.u16()?);
        if shared > path.len() {
            return Err(ProtocolError::BadValue("path of an entry"));
        }
        path.truncate(shared);
        path.extend_from_slice(reader.short_bytes("path", PATH_MAX)?);
        show(FolderEntry { path: RelPath::new(&path)?, what: decode_what(&mut reader)? })?;
    }
    reader.finish()
}

fn decode_what<'a>(reader: &mut Reader<'a>) -> Result<Result<Attributes<'a>, i32>, ProtocolError> {
    let value = reader.u8()?;
    if value == TROUBLE {
        return Ok(Err(reader.i32()?));
    }
    let unknown = ProtocolError::Unknown { what: "kind of entry", value };
    let kind = *EntryKind::ALL.get(usize::from(value)).ok_or(unknown)?;
    let (mode, size, secs, nanos) = (reader.u16()?, reader.u64()?, reader.i64()?, reader.u32()?);
    let target = reader.short_bytes("link target", LINK_TARGET_MAX)?;
    // No link is empty (symlink(2)).
    let has_target = target.is_empty() != (kind == EntryKind::Link);
    if mode > MODE_MAX || size > SIZE_MAX || nanos >= NANOS_PER_SEC || !has_target || target.contains(&0) {
        return Err(ProtocolError::BadValue("entry of a folder"));
    }
    Ok(Ok(Attributes { kind, mode, size, secs, nanos, target }))
}

fn encode_what(what: &Result<Attributes<'_>, i32>, out: &mut Vec<u8>) {
    match what {
        Ok(Attributes { kind, mode, size, secs, nanos, target }) => {
            out.put_u8(EntryKind::ALL.iter().position(|known| known == kind).unwrap_or_default() as u8);
            out.put_u16(*mode);
            out.put_u64(*size);
            out.put_i64(*secs);
            out.put_u32(*nanos);
            out.put_short_bytes(target);
        }
        Err(errno) => {
            out.put_u8(TROUBLE);
            out.put_i32(*errno);
        }
    }
}

/// Fills pages, for the serving end. Paths are given in [order](in_order), and every entry fits
/// into an empty page.
#[derive(Default)]
pub struct EntriesWriter {
    began: Timestamp,
    entries: usize,
    bytes: Vec<u8>,
    last: Vec<u8>,
}

impl EntriesWriter {
    /// Fills the pages of a listing that begins now, at this time.
    pub fn beginning(began: Timestamp) -> Self {
        Self { began, ..Self::default() }
    }

    /// Adds an entry, and returns the page that it did not fit into.
    pub fn push(&mut self, entry: &FolderEntry<'_>) -> Option<EntriesPage> {
        let path = entry.path.as_bytes();
        let target = entry.what.map_or(0, |there| there.target.len());
        let with_it = self.bytes.len() + path.len() + target + FIELDS_LEN_MAX;
        let is_full = self.entries == ENTRIES_PAGE_LEN_MAX || with_it > ENTRIES_PAGE_BYTES_MAX;
        let full = is_full.then(|| self.page(false));
        let shared = self.last.iter().zip(path).take_while(|(last, now)| last == now).count();
        self.bytes.put_u16(shared as u16);
        self.bytes.put_short_bytes(&path[shared..]);
        encode_what(&entry.what, &mut self.bytes);
        self.last.truncate(shared);
        self.last.extend_from_slice(&path[shared..]);
        self.entries += 1;
        full
    }

    /// What was added since the last page.
    pub fn page(&mut self, is_last: bool) -> EntriesPage {
        self.last.clear();
        let entries = std::mem::take(&mut self.entries) as u16;
        EntriesPage { entries, began: is_last.then_some(self.began), bytes: std::mem::take(&mut self.bytes) }
    }
}

/// The order of a listing: component by component, by bytes, a folder before what it contains.
pub fn in_order(one: RelPath<'_>, other: RelPath<'_>) -> Ordering {
    let rank = |byte: &u8| if *byte == b'/' { 0 } else { u16::from(*byte) };
    one.as_bytes().iter().map(rank).cmp(other.as_bytes().iter().map(rank))
}

/// How much of a folder is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// What was asked for alone, whatever it is.
    Itself,
    /// The entries of a folder; anything else alone.
    Folder,
    /// Those, and what is in its folders.
    Tree,
}

/// Checks the pages of one listing against what was asked for: the answering end may lie.
#[derive(Debug)]
pub(crate) struct EntriesCheck {
    depth: Depth,
    entries: u64,
    /// The path of the last entry, and whether that entry could be read.
    last: Option<(Vec<u8>, bool)>,
}

impl EntriesCheck {
    pub(crate) fn new(depth: Depth) -> Self {
        Self { depth, entries: 0, last: None }
    }

    /// Checks the next page: each path follows the one before, and lies as deep as was asked for.
    /// So nothing is listed twice, and folders that seem to contain themselves come to an end with
    /// the longest path.
    pub(crate) fn next(&mut self, page: &EntriesPage) -> Result<(), ProtocolError> {
        each(&page.bytes, page.len(), &mut |entry| {
            let FolderEntry { path, what } = entry;
            let may_be_here = match self.depth {
                _ if path.is_root() => self.entries == 0,
                Depth::Itself => false,
                Depth::Folder => !path.as_bytes().contains(&b'/'),
                Depth::Tree => true,
            };
            let follows = match &self.last {
                None => true,
                Some((last, was_read)) => match in_order(RelPath::new(last)?, path) {
                    Ordering::Less => !last.is_empty(),
                    // A folder that was shown, and then could not be listed.
                    Ordering::Equal => *was_read && what.is_err() && self.depth == Depth::Tree,
                    Ordering::Greater => false,
                },
            };
            if !may_be_here || !follows {
                return Err(ProtocolError::BadValue("order of entries"));
            }
            self.entries += 1;
            let (last, was_read) = self.last.get_or_insert_default();
            last.clear();
            last.extend_from_slice(path.as_bytes());
            *was_read = what.is_ok();
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry<'a>(path: &'a str, kind: EntryKind) -> FolderEntry<'a> {
        let target: &[u8] = if kind == EntryKind::Link { b"../x" } else { b"" };
        let what = Ok(Attributes { kind, mode: 0o644, size: 5, secs: -1, nanos: 7, target });
        FolderEntry { path: RelPath::new(path.as_bytes()).unwrap(), what }
    }

    fn page(paths: &[&str]) -> EntriesPage {
        let mut writer = EntriesWriter::default();
        paths.iter().for_each(|path| assert!(writer.push(&entry(path, EntryKind::File)).is_none()));
        writer.page(true)
    }

    fn decoded(page: &EntriesPage) -> Result<EntriesPage, ProtocolError> {
        let mut bytes = Vec::new();
        page.encode(&mut bytes);
        EntriesPage::decode(&mut Reader::new(&bytes))
    }

    #[test]
    fn entries_of_every_kind_survive_the_wire() {
        let mut writer = EntriesWriter::default();
        let mut expected = Vec::new();
        for (at, kind) in EntryKind::ALL.into_iter().enumerate() {
            let path = format!("folder/{at}");
            writer.push(&entry(&path, kind));
            expected.push((path, Some(kind)));
        }
        let path = RelPath::new(b"folder/x").unwrap();
        writer.push(&FolderEntry { path, what: Err(13) });
        expected.push(("folder/x".to_owned(), None));
        let page = writer.page(true);
        assert_eq!(decoded(&page).as_ref(), Ok(&page));
        let mut found = Vec::new();
        page.each(|entry| {
            let path = String::from_utf8(entry.path.as_bytes().to_vec()).unwrap();
            found.push((path, entry.what.ok().map(|there| there.kind)));
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn pages_are_full_at_their_limits_and_nothing_is_lost() {
        let mut writer = EntriesWriter::default();
        let (mut pages, mut names) = (Vec::new(), 0);
        for at in 0..2 * ENTRIES_PAGE_LEN_MAX {
            pages.extend(writer.push(&entry(&format!("{at:0200}"), EntryKind::Link)));
        }
        pages.push(writer.page(true));
        for page in &pages {
            assert!(page.len() <= ENTRIES_PAGE_LEN_MAX && page.bytes.len() <= ENTRIES_PAGE_BYTES_MAX);
            assert_eq!(decoded(page).as_ref(), Ok(page));
            names += page.len();
        }
        assert_eq!(names, 2 * ENTRIES_PAGE_LEN_MAX);
        assert!(pages.iter().rev().skip(1).all(|page| !page.is_last() && !page.is_empty()));
    }

    #[test]
    fn pages_that_no_honest_end_sends_are_refused() {
        let mut empty = EntriesWriter::default();
        assert!(decoded(&empty.page(true)).is_ok() && decoded(&empty.page(false)).is_err(), "endless");
        let bad = |change: &dyn Fn(&mut EntriesPage)| {
            let mut page = page(&["a", "b"]);
            change(&mut page);
            assert!(decoded(&page).is_err(), "{page:?}");
        };
        bad(&|page| page.entries = 3);
        bad(&|page| page.entries = 1);
        bad(&|page| page.entries = u16::MAX);
        bad(&|page| page.bytes.resize(ENTRIES_PAGE_BYTES_MAX + 1, 0));
        bad(&|page| page.bytes[0] = 9);
        bad(&|page| page.bytes[4] = b'/');
        bad(&|page| page.bytes[5] = 7);
        bad(&|page| page.bytes[7] = 0xff);
        bad(&|page| page.bytes[15] = 0xff);
        bad(&|page| page.bytes[27] = 0xff);
        bad(&|page| page.bytes[28] = 1);
    }

    #[test]
    fn folders_stand_before_what_they_contain() {
        let paths = ["", "a", "a/b", "a/b/c", "a/b0", "a!", "a-", "a0", "b"];
        for (at, one) in paths.iter().enumerate() {
            for (at_other, other) in paths.iter().enumerate() {
                let path = |text: &'static str| RelPath::new(text.as_bytes()).unwrap();
                assert_eq!(in_order(path(one), path(other)), at.cmp(&at_other), "{one} {other}");
            }
        }
    }

    #[test]
    fn lies_about_a_folder_are_noticed() {
        let check = |depth, pages: &[&[&str]]| {
            let mut check = EntriesCheck::new(depth);
            pages.iter().try_for_each(|paths| check.next(&page(paths)))
        };
        for (depth, pages) in [
            (Depth::Folder, &[&["a", "b"][..], &["c"]][..]),
            (Depth::Tree, &[&["a", "a/b"], &["a/c", "a!"]]),
            (Depth::Itself, &[&[""]]),
            (Depth::Folder, &[&[""]]),
            (Depth::Folder, &[&[]]),
        ] {
            assert_eq!(check(depth, pages), Ok(()), "{depth:?} {pages:?}");
        }
        for (depth, pages) in [
            (Depth::Folder, &[&["b", "a"][..]][..]),
            (Depth::Folder, &[&["a", "a"]]),
            (Depth::Folder, &[&["b"], &["a"]]),
            (Depth::Folder, &[&["a/b"]]),
            (Depth::Folder, &[&["", "a"]]),
            (Depth::Folder, &[&["a"], &[""]]),
            (Depth::Tree, &[&["a", "b", "a/c"]]),
            (Depth::Itself, &[&["a"]]),
            (Depth::Itself, &[&["", ""]]),
        ] {
            assert_eq!(check(depth, pages), Err(ProtocolError::BadValue("order of entries")), "{depth:?} {pages:?}");
        }
    }

    #[test]
    fn a_folder_that_could_not_be_listed_is_named_once_more() {
        let listed = |troubles: usize, depth| {
            let mut writer = EntriesWriter::default();
            writer.push(&entry("a", EntryKind::Folder));
            let path = RelPath::new(b"a").unwrap();
            (0..troubles).for_each(|_| drop(writer.push(&FolderEntry { path, what: Err(13) })));
            EntriesCheck::new(depth).next(&writer.page(true))
        };
        assert_eq!(listed(1, Depth::Tree), Ok(()));
        assert!(listed(2, Depth::Tree).is_err() && listed(1, Depth::Folder).is_err());
    }
}
