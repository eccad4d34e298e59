//! Records each staged file that is about to be exchanged with a file that everybody sees, and each
//! such file that is about to lose its name. A file of the owner's that was taken so, because it
//! was saved an instant before, is found again by the record after a crash, and gets a name. So is
//! one that could be given no name at once.
//!
//! A record is a symbolic link. Like the exchange it is metadata alone, so a journaling filesystem
//! brings it to the disk no later.
use std::io::{self, Read};
use std::os::fd::AsFd;

use ringway_sys::attributes::{Kind, Metadata};
use ringway_wire::RelPath;
use ringway_wire::resume::LANE_PREFIX;
use rustix::io::Errno;

use crate::disk::{Dir, NameIn};
use crate::receive::FILLING_FILE_MODE;
use crate::receive::failures::is;
use crate::receive::numbered::{free_number, unverified_name};

/// What the names of records begin with. The name of the staged file follows.
const RECORD_PREFIX: &[u8] = b"over-";

/// Bytes of a record that are read: two versions and a path.
const RECORD_MAX: u64 = 8192;

/// Bytes of a version in a record, and its digits there. With two versions of eight digits and a
/// path of up to 43 bytes, ext4 has a record in its inode. A longer one takes a block, and two and
/// a half times as long (33 µs of processor time instead of 13).
const VERSION_LEN: usize = 6;
const VERSION_DIGITS: usize = 8;

/// Six bits each.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// An exchange that is about to happen.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::receive) struct Exchange {
    /// What is staged, and what has its final name.
    staged: u64,
    was: u64,
    /// The final name's path from the destination.
    path: Vec<u8>,
}

/// A record that is there.
pub(in crate::receive) struct Recorded<'d> {
    dir: &'d Dir,
    record: Vec<u8>,
    exchange: Exchange,
}

impl Recorded<'_> {
    /// Whether a file of the owner's may be where the new one was staged. What cannot be examined
    /// may be one.
    pub(in crate::receive) fn may_hold_owners(&self, from: NameIn<'_>) -> bool {
        match from.dir.metadata(from.name) {
            Ok(there) => self.exchange.is_owners(&there),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }

    /// Removes it after the exchange, or after both got their old names back.
    pub(in crate::receive) fn forget(self) {
        // One that stays finds no staged file.
        let _ = self.dir.unlink(&self.record);
    }
}

/// Tells one version of a file from others, in [`VERSION_LEN`] bytes. Its change time is not part
/// of it: a rename changes that.
fn version_of(there: &Metadata) -> u64 {
    let kind = match there.kind {
        Kind::File => 0_u8,
        Kind::Dir => 1,
        Kind::Symlink => 2,
        _ => 3,
    };
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[kind]).update(&there.ino.to_le_bytes()).update(&there.size.to_le_bytes());
    hasher.update(&there.mtime.secs.to_le_bytes()).update(&there.mtime.nanos.to_le_bytes());
    let digest = hasher.finalize();
    digest.as_bytes()[..VERSION_LEN].iter().fold(0, |version, byte| version << 8 | u64::from(*byte))
}

fn digits_of(version: u64) -> [u8; VERSION_DIGITS] {
    std::array::from_fn(|at| DIGITS[(version >> (6 * at) & 63) as usize])
}

fn version_in(digits: &[u8; VERSION_DIGITS]) -> Option<u64> {
    digits.iter().rev().try_fold(0, |version, digit| {
        let value = DIGITS.iter().position(|known| known == digit)?;
        Some(version << 6 | value as u64)
    })
}

impl Exchange {
    /// Of what is `staged` with what `was` at `name` in the folder at `folder`.
    pub(in crate::receive) fn of(folder: &[u8], name: &[u8], staged: &Metadata, was: &Metadata) -> io::Result<Self> {
        let path = if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() };
        // A numbered folder has longer paths than its sender: one that is too long is not read
        // back.
        RelPath::new(&path).map_err(|_| io::Error::from(Errno::NAMETOOLONG))?;
        Ok(Self { staged: version_of(staged), was: version_of(was), path })
    }

    fn encode(&self) -> Vec<u8> {
        [&digits_of(self.staged)[..], &digits_of(self.was), &self.path].concat()
    }

    fn decode(text: &[u8]) -> Option<Self> {
        let (staged, rest) = text.split_first_chunk()?;
        let (was, path) = rest.split_first_chunk()?;
        let path = RelPath::new(path).ok()?.as_bytes().to_vec();
        (!path.is_empty()).then_some(Self { staged: version_in(staged)?, was: version_in(was)?, path })
    }

    /// Whether it is neither of the two versions.
    fn is_owners(&self, there: &Metadata) -> bool {
        ![self.staged, self.was].contains(&version_of(there))
    }

    /// Gives the file at `part` a name if it is the owner's: its own name, where what was received
    /// has that and gets a number, or a number.
    fn settle(&self, root: &Dir, parts: Option<&Dir>, part: &[u8]) -> io::Result<()> {
        let path = RelPath::new(&self.path).map_err(|_| io::ErrorKind::InvalidData)?;
        let Some((folder, name)) = path.split_last() else { return Ok(()) };
        let name = name.as_bytes();
        let opened = if folder.is_root() { root.try_clone() } else { root.open_beneath(folder.as_bytes()) };
        let folder = match opened {
            Ok(folder) => Some(folder),
            Err(error) if is_gone(&error) => None,
            Err(error) => return Err(error),
        };
        let Some(from) = parts.or(folder.as_ref()) else { return Ok(()) };
        match from.metadata(part) {
            Ok(there) if self.is_owners(&there) || has_writers(from, part, &there) => {}
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
        let numbered = |to: &Dir| free_number(name, true, |name| from.rename_noreplace(part, to, name)).map(drop);
        let named = |to: &Dir| from.rename_noreplace(part, to, name).or_else(|_| numbered(to));
        let Some(folder) = &folder else { return named(root) };
        let is_received = folder.metadata(name).is_ok_and(|there| version_of(&there) == self.staged);
        // Nothing is removed: whatever comes back gets a number.
        if is_received && from.exchange(part, folder, name).is_ok() {
            return numbered(folder);
        }
        // Where the folder takes no names, the destination may.
        named(folder).or_else(|error| named(root).map_err(|_| error))
    }
}

/// Whether a program may go on writing into what is there, which it opened under another name or
/// before an exchange.
pub(in crate::receive) fn has_writers(dir: &Dir, name: &[u8], there: &Metadata) -> bool {
    there.kind == Kind::File && dir.open_read(name).is_ok_and(|file| dir.disk().has_writers(file.as_fd()))
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) || is(error, Errno::LOOP)
}

/// Records in `dir` that an exchange is about to happen with what is staged as `from_name`.
pub(in crate::receive) fn record<'d>(dir: &'d Dir, from_name: &[u8], exchange: Exchange) -> io::Result<Recorded<'d>> {
    let (record, text) = (name_of(from_name), exchange.encode());
    // A path may be too long for a link, and FAT has none.
    if dir.symlink(&text, &record).is_err() {
        let file = dir.create_new(&record, FILLING_FILE_MODE)?;
        if let Err(error) = dir.disk().write_at(file.as_fd(), 0, &text) {
            let _ = dir.unlink(&record);
            return Err(error);
        }
    }
    Ok(Recorded { dir, record, exchange })
}

/// Removes a file's name from the folder at `path`, if it still names what `was` there. What
/// somebody has saved under it since keeps the name, or gets a number: the file is renamed to
/// `temporary` first, and then looked at. After a crash in between, a record tells whose it is.
/// Returns whether it was removed.
pub(in crate::receive) fn take_away(
    staging: &Dir,
    temporary: &[u8],
    path: &[u8],
    file: NameIn<'_>,
    was: &Metadata,
) -> io::Result<bool> {
    let NameIn { dir, name } = file;
    let recorded = record(staging, temporary, Exchange::of(path, name, was, was)?)?;
    let taken = dir.rename_noreplace(name, dir, temporary).and_then(|()| {
        if is_still(dir, temporary, was) {
            return dir.unlink(temporary).map(|()| true);
        }
        give_back(dir, temporary, name).map(|()| false)
    });
    if taken.is_ok() || !recorded.may_hold_owners(NameIn { dir, name: temporary }) {
        recorded.forget();
    }
    match taken {
        // Somebody was quicker.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        taken => taken,
    }
}

/// Renames a file that is not what was sent, so that its new name says that it is not verified: its
/// owner may have saved it so. What somebody else has put there since it `was` looked at keeps the
/// name. Returns whether it was renamed.
pub(in crate::receive) fn mark_unverified(dir: &Dir, name: &[u8], was: &Metadata) -> io::Result<bool> {
    let marked = match unverified_name(name, |marked| dir.rename_noreplace(name, dir, marked)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        marked => marked?,
    };
    if is_still(dir, &marked, was) { Ok(true) } else { give_back(dir, &marked, name).map(|()| false) }
}

fn is_still(dir: &Dir, name: &[u8], was: &Metadata) -> bool {
    dir.metadata(name).is_ok_and(|there| (there.dev, version_of(&there)) == (was.dev, version_of(was)))
}

/// Gives a file its name again, or a number if something has that.
fn give_back(dir: &Dir, from: &[u8], name: &[u8]) -> io::Result<()> {
    let back = dir.rename_noreplace(from, dir, name);
    back.or_else(|_| free_number(name, true, |name| dir.rename_noreplace(from, dir, name)).map(drop))
}

fn name_of(from_name: &[u8]) -> Vec<u8> {
    [RECORD_PREFIX, from_name].concat()
}

/// Whether a folder has a record of what is staged under that name. What cannot be looked up may be
/// recorded.
pub(in crate::receive) fn is_recorded(records: &Dir, from_name: &[u8]) -> bool {
    !records.metadata(&name_of(from_name)).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// What a record says; nothing of one that is damaged, or has gone.
fn read(dir: &Dir, record: &[u8]) -> io::Result<Option<Exchange>> {
    let in_file = || -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        std::fs::File::from(dir.open_read(record)?).take(RECORD_MAX).read_to_end(&mut text)?;
        Ok(text)
    };
    match dir.read_link(record).or_else(|_| in_file()) {
        Ok(text) => Ok(Exchange::decode(&text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Gives the owner's files names that exchanges took. To be called by the holder of the staging
/// folder, before anything in it is removed.
///
/// # Errors
/// A file of the owner's has no name yet: the staging folder must stay.
pub(in crate::receive) fn settle_left(root: &Dir, staging: &Dir) -> io::Result<()> {
    Left::find(staging)?.settle(root, staging)
}

/// Records that are in a staging folder.
pub(super) struct Left {
    /// In the folder itself.
    here: Vec<Vec<u8>>,
    /// In those of its lanes.
    lanes: Vec<(Dir, Vec<Vec<u8>>)>,
}

impl Left {
    /// Looks for all of them, however much else is there.
    pub(super) fn find(staging: &Dir) -> io::Result<Self> {
        let (mut here, mut lanes) = (Vec::new(), Vec::new());
        for name in names_with(staging, &[RECORD_PREFIX, LANE_PREFIX])? {
            if name.starts_with(RECORD_PREFIX) {
                here.push(name);
                continue;
            }
            match staging.open_dir(&name) {
                Ok(parts) => {
                    let records = names_with(&parts, &[RECORD_PREFIX])?;
                    lanes.extend((!records.is_empty()).then_some((parts, records)));
                }
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self { here, lanes })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.here.is_empty() && self.lanes.is_empty()
    }

    /// As [`settle_left`].
    pub(super) fn settle(self, root: &Dir, staging: &Dir) -> io::Result<()> {
        settle_in(root, staging, &self.here, None)?;
        self.lanes.iter().try_for_each(|(parts, records)| settle_in(root, parts, records, Some(parts)))
    }
}

/// Names in a folder that begin with one of those.
fn names_with(dir: &Dir, prefixes: &[&[u8]]) -> io::Result<Vec<Vec<u8>>> {
    let (mut names, mut entries) = (Vec::new(), dir.entries()?);
    while let Some(entry) = entries.next() {
        let name = entry?.name;
        if prefixes.iter().any(|prefix| name.starts_with(prefix)) {
            names.push(name.to_vec());
        }
    }
    Ok(names)
}

fn settle_in(root: &Dir, dir: &Dir, records: &[Vec<u8>], parts: Option<&Dir>) -> io::Result<()> {
    for record in records {
        if let Some(exchange) = read(dir, record)? {
            exchange.settle(root, parts, &record[RECORD_PREFIX.len()..])?;
        }
        match dir.unlink(record) {
            // Who held the folder before has settled it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            unlinked => unlinked?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::receive::staging::spot::Spot;

    struct Site(tempfile::TempDir);

    impl Site {
        /// `f` was replaced, and the exchange took what its owner had saved.
        fn taken() -> Self {
            let site = Self(tempfile::tempdir().unwrap());
            fs::create_dir_all(site.at("staging/parts-0")).unwrap();
            fs::create_dir(site.at("folder")).unwrap();
            fs::write(site.at("staging/parts-0/1"), "received").unwrap();
            fs::write(site.at("folder/f"), "before").unwrap();
            let (folder, spot) = (site.dir("folder"), Spot::Part(Arc::new(site.dir("staging/parts-0")), b"1".to_vec()));
            let (staging, was) = (site.dir("staging"), folder.metadata(b"f").unwrap());
            let parts = site.dir("staging/parts-0");
            let staged = parts.metadata(b"1").unwrap();
            let exchange = Exchange::of(b"folder", b"f", &staged, &was).unwrap();
            let _ = record(spot.records(&staging), b"1", exchange).unwrap();
            fs::write(site.at("saved"), "saved").unwrap();
            fs::rename(site.at("saved"), site.at("folder/f")).unwrap();
            parts.exchange(b"1", &folder, b"f").unwrap();
            site
        }

        fn at(&self, path: &str) -> std::path::PathBuf {
            self.0.path().join(path)
        }

        fn dir(&self, path: &str) -> Dir {
            Dir::open(&self.at(path)).unwrap()
        }

        fn settle(&self) -> io::Result<()> {
            settle_left(&self.dir(""), &self.dir("staging"))
        }

        fn texts(&self, folder: &str) -> Vec<(String, String)> {
            let read = |path: &Path| fs::read_to_string(path).unwrap();
            let name = |entry: &fs::DirEntry| entry.file_name().into_string().unwrap();
            let files =
                fs::read_dir(self.at(folder)).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file());
            let mut texts: Vec<_> = files.map(|entry| (name(&entry), read(&entry.path()))).collect();
            texts.sort();
            texts
        }

        fn check(&self, folder: &str, texts: &[(&str, &str)]) {
            let texts: Vec<_> = texts.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
            assert_eq!((self.texts(folder), self.texts("staging/parts-0")), (texts, vec![]));
            assert_eq!(fs::read_dir(self.at("staging/parts-0")).unwrap().count(), 0, "a record is left");
        }
    }

    #[test]
    fn what_an_exchange_took_gets_its_name_back() {
        let site = Site::taken();
        site.settle().unwrap();
        site.check("folder", &[("f", "saved"), ("f (1)", "received")]);
    }

    #[test]
    fn what_an_exchange_took_gets_a_number_where_its_name_is_anothers() {
        let site = Site::taken();
        fs::write(site.at("folder/f"), "later, in the file that was received").unwrap();
        site.settle().unwrap();
        site.check("folder", &[("f", "later, in the file that was received"), ("f (1)", "saved")]);
        let site = Site::taken();
        fs::remove_file(site.at("folder/f")).unwrap();
        site.settle().unwrap();
        site.check("folder", &[("f", "saved")]);
    }

    #[test]
    fn what_an_exchange_took_comes_to_the_destination_where_its_folder_has_gone() {
        let site = Site::taken();
        fs::rename(site.at("folder"), site.at("elsewhere")).unwrap();
        site.settle().unwrap();
        site.check("", &[("f", "saved")]);
        assert_eq!(site.texts("elsewhere"), [("f".to_owned(), "received".to_owned())]);
    }

    /// The program is killed after it has renamed `f` to take its name away.
    fn killed_while_taking_away(saves: impl FnOnce(&Site)) -> Site {
        let site = Site(tempfile::tempdir().unwrap());
        fs::create_dir_all(site.at("staging/parts-0")).unwrap();
        fs::create_dir(site.at("folder")).unwrap();
        fs::write(site.at("folder/f"), "wrong").unwrap();
        let (folder, staging) = (site.dir("folder"), site.dir("staging"));
        let was = folder.metadata(b"f").unwrap();
        let exchange = Exchange::of(b"folder", b"f", &was, &was).unwrap();
        let _ = record(&staging, b"temporary", exchange).unwrap();
        saves(&site);
        folder.rename_noreplace(b"f", &folder, b"temporary").unwrap();
        site
    }

    #[test]
    fn what_was_saved_before_its_name_was_taken_away_gets_it_back() {
        let site = killed_while_taking_away(|site| {
            fs::write(site.at("saved"), "saved").unwrap();
            fs::rename(site.at("saved"), site.at("folder/f")).unwrap();
        });
        site.settle().unwrap();
        site.check("folder", &[("f", "saved")]);
        assert!(!is_recorded(&site.dir("staging"), b"temporary"));
        let site = killed_while_taking_away(|_| {});
        site.settle().unwrap();
        site.check("folder", &[("temporary", "wrong")]);
    }

    #[test]
    fn a_replaced_file_and_a_staged_one_get_no_names() {
        for is_exchanged in [true, false] {
            let site = Site(tempfile::tempdir().unwrap());
            fs::create_dir_all(site.at("staging/parts-0")).unwrap();
            fs::write(site.at("staging/parts-0/1"), "received").unwrap();
            fs::write(site.at("f"), "before").unwrap();
            let (root, parts) = (site.dir(""), site.dir("staging/parts-0"));
            let spot = Spot::Part(Arc::new(site.dir("staging/parts-0")), b"1".to_vec());
            let was = root.metadata(b"f").unwrap();
            let staged = parts.metadata(b"1").unwrap();
            let exchange = Exchange::of(b"", b"f", &staged, &was).unwrap();
            let _ = record(spot.records(&root), b"1", exchange).unwrap();
            if is_exchanged {
                parts.exchange(b"1", &root, b"f").unwrap();
            }
            site.settle().unwrap();
            let (there, staged) = if is_exchanged { ("received", "before") } else { ("before", "received") };
            assert_eq!(site.texts(""), [("f".to_owned(), there.to_owned())]);
            assert_eq!(site.texts("staging/parts-0"), [("1".to_owned(), staged.to_owned())]);
        }
    }

    #[test]
    fn records_are_read_as_they_are_written() {
        let exchange = Exchange { staged: (1 << 48) - 1, was: 5 << 40, path: b"a b/\xff c".to_vec() };
        assert_eq!(Exchange::decode(&exchange.encode()), Some(exchange));
        for text in
            ["", "AAAAAAAA", "AAAAAAAABBBBBBBB", "AAAAAAAABBBBBBBB/a", "AAAAAAAABBBBBBBB../a", "AAAA AAABBBBBBBBa"]
        {
            assert_eq!(Exchange::decode(text.as_bytes()), None, "{text}");
        }
    }
}
