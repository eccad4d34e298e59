//! The listing that a sender sends while its offer waits: pages of paths with size and time, so
//! that the receiver can compare them with what is there. Every page is checked when it arrives,
//! and kept as the bytes that arrived.
use crate::ProtocolError;
use crate::bytes::{Put, Reader};
use crate::limits::{LISTING_PAGE_BYTES_MAX, LISTING_PAGE_ENTRIES_MAX, PATH_MAX};
use crate::name::RelPath;

/// Bytes of the digest of a link's target. By chance, one pair of targets in 2^64 has the same.
pub const TARGET_DIGEST_LEN: usize = 8;

/// Sizes are signed in the kernel.
const SIZE_MAX: u64 = i64::MAX as u64;

/// Nanoseconds in a second.
const NANOS_PER_SEC: u32 = 1_000_000_000;

/// The longest fields of an entry, beside its path: two lengths, the kind, size and time.
const FIELDS_LEN_MAX: usize = 2 + 2 + 1 + 20;

/// What is listed of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedKind {
    /// A folder.
    Folder,
    /// A regular file.
    File {
        /// Bytes of contents.
        size: u64,
        /// Seconds of its modification time.
        secs: i64,
        /// Nanoseconds after those, below 10^9.
        nanos: u32,
    },
    /// A symbolic link.
    Link {
        /// The beginning of the BLAKE3 digest of its target.
        target: [u8; TARGET_DIGEST_LEN],
    },
}

/// An entry of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedEntry<'a> {
    /// Its path within the transfer, never the root.
    pub path: RelPath<'a>,
    /// What it is.
    pub kind: ListedKind,
}

/// Whether pages follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListingEnd {
    /// More pages follow.
    More,
    /// This was the last page, and everything is listed.
    Complete,
    /// This was the last page, and there is more than was listed.
    Cut,
}

/// A page of a listing. Paths are stored as what they do not share with the path before.
#[derive(Clone, PartialEq, Eq)]
pub struct ListingPage {
    entries: u16,
    end: ListingEnd,
    bytes: Vec<u8>,
}

impl std::fmt::Debug for ListingPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ListingPage({} entries, {} bytes, {:?})", self.entries, self.bytes.len(), self.end)
    }
}

impl ListingPage {
    /// How many entries it has.
    pub fn len(&self) -> usize {
        self.entries.into()
    }

    /// Whether it has none, which only a last page may.
    pub fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// Whether pages follow.
    pub fn end(&self) -> ListingEnd {
        self.end
    }

    /// Bytes that count against the limit of a listing.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes of memory that it takes.
    pub fn held_bytes(&self) -> usize {
        self.bytes.capacity() + size_of::<Self>()
    }

    /// Shows its entries in order until `show` returns false.
    pub fn each(&self, mut show: impl FnMut(ListedEntry<'_>) -> bool) {
        // It was checked when it was made.
        let _ = each(&self.bytes, self.len(), &mut show);
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(match self.end {
            ListingEnd::More => 0,
            ListingEnd::Complete => 1,
            ListingEnd::Cut => 2,
        });
        out.put_u16(self.entries);
        out.extend_from_slice(&self.bytes);
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, ProtocolError> {
        let end = match reader.u8()? {
            0 => ListingEnd::More,
            1 => ListingEnd::Complete,
            2 => ListingEnd::Cut,
            _ => return Err(ProtocolError::BadValue("end of a listing")),
        };
        let entries = reader.u16()?;
        let bytes = reader.take(reader.rest().len())?;
        bounded("listed entries", entries.into(), LISTING_PAGE_ENTRIES_MAX)?;
        bounded("length of a listing", bytes.len(), LISTING_PAGE_BYTES_MAX)?;
        // With empty pages, a sender could send pages forever.
        if entries == 0 && end == ListingEnd::More {
            return Err(ProtocolError::BadValue("listed entries"));
        }
        each(bytes, entries.into(), &mut |_| true)?;
        Ok(Self { entries, end, bytes: bytes.to_vec() })
    }
}

fn bounded(what: &'static str, value: usize, limit: usize) -> Result<(), ProtocolError> {
    match value > limit {
        true => Err(ProtocolError::TooLarge { what, value: value as u64, limit: limit as u64 }),
        false => Ok(()),
    }
}

/// Reads `entries` entries and nothing else. One path is in memory at a time.
fn each(bytes: &[u8], entries: usize, show: &mut impl FnMut(ListedEntry<'_>) -> bool) -> Result<(), ProtocolError> {
    let mut reader = Reader::new(bytes);
    let mut path = Vec::new();
    for _ in 0..entries {
        let shared = usize::from(reader.u16()?);
        if shared > path.len() {
            return Err(ProtocolError::BadValue("listed path"));
        }
        path.truncate(shared);
        path.extend_from_slice(reader.short_bytes("path", PATH_MAX)?);
        let checked = RelPath::new(&path)?;
        if checked.is_root() {
            return Err(ProtocolError::BadName);
        }
        if !show(ListedEntry { path: checked, kind: decode_kind(&mut reader)? }) {
            return Ok(());
        }
    }
    reader.finish()
}

fn encode_kind(kind: ListedKind, out: &mut Vec<u8>) {
    match kind {
        ListedKind::Folder => out.put_u8(0),
        ListedKind::File { size, secs, nanos } => {
            out.put_u8(1);
            out.put_u64(size);
            out.put_i64(secs);
            out.put_u32(nanos);
        }
        ListedKind::Link { target } => {
            out.put_u8(2);
            out.extend_from_slice(&target);
        }
    }
}

fn decode_kind(reader: &mut Reader<'_>) -> Result<ListedKind, ProtocolError> {
    Ok(match reader.u8()? {
        0 => ListedKind::Folder,
        1 => {
            let (size, secs, nanos) = (reader.u64()?, reader.i64()?, reader.u32()?);
            if size > SIZE_MAX || nanos >= NANOS_PER_SEC {
                return Err(ProtocolError::BadValue("listed file"));
            }
            ListedKind::File { size, secs, nanos }
        }
        2 => ListedKind::Link { target: reader.array()? },
        _ => return Err(ProtocolError::BadValue("listed entry")),
    })
}

/// Fills pages, for a sender.
#[derive(Default)]
pub struct ListingWriter {
    entries: usize,
    bytes: Vec<u8>,
    last: Vec<u8>,
}

impl ListingWriter {
    /// Adds an entry, and returns the page that it did not fit into. The root is ignored.
    pub fn push(&mut self, entry: &ListedEntry<'_>) -> Option<ListingPage> {
        if entry.path.is_root() {
            return None;
        }
        let path = entry.path.as_bytes();
        let is_full = self.entries == LISTING_PAGE_ENTRIES_MAX || self.bytes_with(entry.path) > LISTING_PAGE_BYTES_MAX;
        let full = is_full.then(|| self.page(ListingEnd::More));
        let shared = self.last.iter().zip(path).take_while(|(last, now)| last == now).count();
        self.bytes.put_u16(shared as u16);
        self.bytes.put_short_bytes(&path[shared..]);
        encode_kind(entry.kind, &mut self.bytes);
        self.last.truncate(shared);
        self.last.extend_from_slice(&path[shared..]);
        self.entries += 1;
        full
    }

    /// Bytes of the page with one more entry, at most.
    pub fn bytes_with(&self, path: RelPath<'_>) -> usize {
        self.bytes.len() + path.as_bytes().len() + FIELDS_LEN_MAX
    }

    /// Whether no entry waits to be taken with a page.
    pub fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// What was added since the last page.
    pub fn page(&mut self, end: ListingEnd) -> ListingPage {
        self.last.clear();
        let entries = std::mem::take(&mut self.entries) as u16;
        ListingPage { entries, end, bytes: std::mem::take(&mut self.bytes) }
    }
}

/// What has arrived of a listing, held to its limits.
#[derive(Debug, Default)]
pub(crate) struct ListingSoFar {
    entries: usize,
    bytes: usize,
    has_ended: bool,
}

impl ListingSoFar {
    /// Counts one more page.
    ///
    /// # Errors
    /// It comes after the last one, or there are too many entries or bytes.
    pub(crate) fn add(&mut self, page: &ListingPage) -> Result<(), ProtocolError> {
        use crate::limits::{LISTING_BYTES_MAX, LISTING_ENTRIES_MAX};
        if self.has_ended {
            return Err(ProtocolError::BadValue("end of a listing"));
        }
        self.entries += page.len();
        self.bytes += page.bytes.len();
        self.has_ended = page.end != ListingEnd::More;
        bounded("listed entries", self.entries, LISTING_ENTRIES_MAX)?;
        bounded("length of a listing", self.bytes, LISTING_BYTES_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::LISTING_ENTRIES_MAX;

    fn file(path: &str) -> ListedEntry<'_> {
        let kind = ListedKind::File { size: 5, secs: -1, nanos: 999_999_999 };
        ListedEntry { path: RelPath::new(path.as_bytes()).unwrap(), kind }
    }

    fn paths(page: &ListingPage) -> Vec<String> {
        let mut paths = Vec::new();
        page.each(|entry| {
            paths.push(String::from_utf8(entry.path.as_bytes().to_vec()).unwrap());
            true
        });
        paths
    }

    #[test]
    fn pages_have_all_entries_once_and_stay_small() {
        let all: Vec<_> = (0..5_000).map(|number| format!("folder/below/{}/file-{number}", number / 100)).collect();
        let mut writer = ListingWriter::default();
        let mut pages: Vec<_> = all.iter().filter_map(|path| writer.push(&file(path))).collect();
        pages.push(writer.page(ListingEnd::Complete));
        assert!(writer.is_empty() && pages.len() > 4);
        let read: Vec<_> = pages.iter().flat_map(paths).collect();
        assert_eq!(read, all);
        for page in &pages {
            let mut bytes = Vec::new();
            page.encode(&mut bytes);
            assert!(bytes.len() <= LISTING_PAGE_BYTES_MAX + 3);
            assert_eq!(&ListingPage::decode(&mut Reader::new(&bytes)).unwrap(), page);
        }
    }

    #[test]
    fn paths_that_reach_outside_are_refused() {
        let page = |shared: u16, path: &[u8]| {
            let mut bytes = vec![1, 1, 0];
            bytes.put_u16(shared);
            bytes.put_short_bytes(path);
            bytes.put_u8(0);
            ListingPage::decode(&mut Reader::new(&bytes))
        };
        assert!(page(0, b"a/b").is_ok() && page(0, b"a\x1b\n\xff").is_ok());
        for bad in [&b""[..], b"/a", b"a/", b"a//b", b"..", b"a/../b", b".", b"a\0b"] {
            assert!(page(0, bad).is_err(), "{bad:?}");
        }
        assert!(page(1, b"a").is_err(), "nothing to share");
    }

    #[test]
    fn path_that_grows_from_page_to_page_is_bounded() {
        // Each entry adds to the one before.
        let mut bytes = vec![1];
        bytes.put_u16(30);
        let mut len = 0;
        for _ in 0..30 {
            bytes.put_u16(len);
            bytes.put_short_bytes(&[b"/".as_slice(), &[b'x'; 200]].concat()[usize::from(len == 0)..]);
            bytes.put_u8(0);
            len += if len == 0 { 200 } else { 201 };
        }
        let refused = ListingPage::decode(&mut Reader::new(&bytes));
        assert!(matches!(refused, Err(ProtocolError::TooLarge { what: "path", .. })), "{refused:?}");
    }

    #[test]
    fn listing_has_a_limit_and_an_end() {
        let mut so_far = ListingSoFar::default();
        let mut writer = ListingWriter::default();
        let mut page = |entries: usize, end| {
            assert!((0..entries).all(|_| writer.push(&file("a")).is_none()));
            writer.page(end)
        };
        let full = page(LISTING_PAGE_ENTRIES_MAX, ListingEnd::More);
        for _ in 0..LISTING_ENTRIES_MAX / LISTING_PAGE_ENTRIES_MAX {
            so_far.add(&full).unwrap();
        }
        assert!(so_far.add(&full).is_err());
        let mut so_far = ListingSoFar::default();
        so_far.add(&page(1, ListingEnd::Cut)).unwrap();
        assert!(so_far.add(&page(1, ListingEnd::Cut)).is_err(), "after its end");
    }
}
