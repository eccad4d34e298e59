//! The files that are moved. They are made once, are incompressible and the same each time, and are
//! identified by a digest that does not depend on any order.
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::AddAssign;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use ringway_sys::dir::Dir;
use ringway_sys::file_io::read_at;
use rustix::fs::{Mode, OFlags, openat};

use crate::mode::Dataset;
use crate::work::check;
use crate::work::remove;

/// Bytes that are moved at a time: the body of a lane's frame.
pub(crate) const PIECE: usize = ringway_wire::limits::LANE_BODY_MAX;

/// Files of one folder.
const FOLDER_FILES: u64 = 1_000;

/// The seed of the sequence of bytes.
const SEED: u64 = 0x7269_6e67_7761_7921;

/// A dataset on disk.
pub(crate) struct Data {
    dataset: Dataset,
    root: PathBuf,
    files: u64,
    file_len: u64,
    digest: Digest,
}

/// A part of a file, for one lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) file: u64,
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

impl Stretch {
    /// Its pieces: the offset in the file, and the number of bytes.
    pub(crate) fn pieces(self) -> impl Iterator<Item = (u64, usize)> {
        let end = self.offset + self.len;
        (self.offset..end).step_by(PIECE).map(move |at| (at, (end - at).min(PIECE as u64) as usize))
    }
}

/// The digest of the parts of a dataset that were seen, in any order and by any threads: the sum of
/// its pieces' digests, each with its position.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Digest([u64; 4]);

impl Digest {
    /// Adds a piece of a file, which begins at a multiple of [`PIECE`].
    pub(crate) fn add(&mut self, file: u64, offset: u64, bytes: &[u8]) {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&file.to_le_bytes()).update(&offset.to_le_bytes()).update(bytes);
        let hash = *hasher.finalize().as_bytes();
        let words = hash.as_chunks::<8>().0;
        *self += Self(std::array::from_fn(|at| u64::from_le_bytes(words[at])));
    }
}

impl AddAssign for Digest {
    fn add_assign(&mut self, other: Self) {
        for (sum, one) in self.0.iter_mut().zip(other.0) {
            *sum = sum.wrapping_add(one);
        }
    }
}

impl std::iter::Sum for Digest {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, one| {
            sum += one;
            sum
        })
    }
}

/// Bytes that cannot be compressed (xorshift64*).
struct Noise(u64);

impl Noise {
    fn fill(&mut self, out: &mut [u8]) {
        for chunk in out.chunks_mut(size_of::<u64>()) {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            let bytes = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d).to_le_bytes();
            chunk.copy_from_slice(&bytes[..chunk.len()]);
        }
    }
}

/// A piece of such bytes in memory.
pub(crate) fn noise() -> Vec<u8> {
    let mut bytes = vec![0; PIECE];
    Noise(SEED).fill(&mut bytes);
    bytes
}

/// A folder's name by its number.
fn folder_name(number: u64) -> String {
    format!("d{number:04}")
}

/// A file's name by its number.
pub(crate) fn file_name(number: u64) -> CString {
    CString::new(format!("f{number:07}")).expect("letters and digits")
}

/// The number of a file's folder.
fn folder_of(file: u64) -> u64 {
    file / FOLDER_FILES
}

/// The folders of a tree, open.
pub(crate) struct Folders(Vec<Dir>);

impl Folders {
    /// The folder that contains a file.
    pub(crate) fn of(&self, file: u64) -> &Dir {
        &self.0[folder_of(file) as usize]
    }

    /// Opens a file for reading, in blocking mode, which io_uring needs.
    pub(crate) fn open(&self, file: u64) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(self.of(file), file_name(file), flags, Mode::empty())?)
    }

    /// Makes a file for writing, or opens it if another lane has made it.
    pub(crate) fn make(&self, file: u64) -> io::Result<OwnedFd> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(self.of(file), file_name(file), flags, Mode::RUSR | Mode::WUSR)?)
    }
}

impl Data {
    /// Makes the files.
    pub(crate) fn make(
        root: &Path,
        dataset: Dataset,
        files: u64,
        file_len: u64,
        stop: &AtomicBool,
    ) -> io::Result<Self> {
        let mut data = Self { dataset, root: root.to_owned(), files, file_len, digest: Digest::default() };
        let folders = data.make_folders(root)?;
        let (mut noise, mut buf) = (Noise(SEED), vec![0; PIECE]);
        for file in 0..files {
            let mut out = File::from(folders.make(file)?);
            for (offset, len) in (Stretch { file, offset: 0, len: file_len }).pieces() {
                check(stop)?;
                noise.fill(&mut buf[..len]);
                out.write_all(&buf[..len])?;
                data.digest.add(file, offset, &buf[..len]);
            }
        }
        Ok(data)
    }

    /// Makes empty folders for as many files at another place, and opens them.
    pub(crate) fn make_folders(&self, root: &Path) -> io::Result<Folders> {
        fs::create_dir_all(root)?;
        for number in 0..self.folders() {
            fs::create_dir(root.join(folder_name(number)))?;
        }
        self.open_folders(root)
    }

    /// Opens the folders of this tree at another place.
    fn open_folders(&self, root: &Path) -> io::Result<Folders> {
        (0..self.folders())
            .map(|number| Dir::open(&root.join(folder_name(number))))
            .collect::<io::Result<_>>()
            .map(Folders)
    }

    /// Opens the folders that hold the files.
    pub(crate) fn source(&self) -> io::Result<Folders> {
        self.open_folders(&self.root)
    }

    pub(crate) fn remove(self) -> io::Result<()> {
        remove(&self.root)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn dataset(&self) -> Dataset {
        self.dataset
    }

    pub(crate) fn files(&self) -> u64 {
        self.files
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.files * self.file_len
    }

    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }

    fn folders(&self) -> u64 {
        folder_of(self.files - 1) + 1
    }

    /// The work of one of `lanes` lanes: separate files, or its pieces of the one file.
    pub(crate) fn share(&self, lane: usize, lanes: usize) -> Vec<Stretch> {
        let part = |whole: u64, number: usize| (u128::from(whole) * number as u128 / lanes as u128) as u64;
        let len = self.file_len;
        if self.files > 1 {
            let files = part(self.files, lane)..part(self.files, lane + 1);
            return files.map(|file| Stretch { file, offset: 0, len }).collect();
        }
        let pieces = len.div_ceil(PIECE as u64);
        let [offset, end] = [lane, lane + 1].map(|number| (part(pieces, number) * PIECE as u64).min(len));
        Vec::from_iter((end > offset).then_some(Stretch { file: 0, offset, len: end - offset }))
    }

    /// Whether a tree at another place is this one: the same files with the same bytes, and no
    /// others.
    pub(crate) fn is_at(&self, root: &Path) -> io::Result<bool> {
        Ok(self.digest_at(root)? == Some(self.digest))
    }

    /// The same for contents that differ from this dataset's.
    pub(crate) fn is_at_with(&self, root: &Path, digest: Digest) -> io::Result<bool> {
        Ok(self.digest_at(root)? == Some(digest))
    }

    /// The digest of a tree at another place; `None` if it has other files, or files of another
    /// length.
    fn digest_at(&self, root: &Path) -> io::Result<Option<Digest>> {
        match self.look_at(root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            looked => looked,
        }
    }

    fn look_at(&self, root: &Path) -> io::Result<Option<Digest>> {
        let mut found = 0;
        for folder in fs::read_dir(root)? {
            found += fs::read_dir(folder?.path())?.count() as u64;
        }
        if found != self.files || fs::read_dir(root)?.count() as u64 != self.folders() {
            return Ok(None);
        }
        let folders = self.open_folders(root)?;
        let (mut digest, mut buf) = (Digest::default(), vec![0; PIECE]);
        for file in 0..self.files {
            let opened = File::from(folders.open(file)?);
            if opened.metadata()?.len() != self.file_len {
                return Ok(None);
            }
            for (offset, len) in (Stretch { file, offset: 0, len: self.file_len }).pieces() {
                if read_at(opened.as_fd(), offset, &mut buf[..len])? != len {
                    return Ok(None);
                }
                digest.add(file, offset, &buf[..len]);
            }
        }
        Ok(Some(digest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static STOP: AtomicBool = AtomicBool::new(false);

    fn made(root: &Path, files: u64, file_len: u64) -> Data {
        Data::make(root, Dataset::Medium, files, file_len, &STOP).unwrap()
    }

    #[test]
    fn lanes_share_all_data_without_overlap() {
        let place = tempfile::tempdir().unwrap();
        for (number, (files, len)) in
            [(1, 10), (1, 5 * PIECE as u64 + 17), (7, 100), (2_500, 1)].into_iter().enumerate()
        {
            let data = made(&place.path().join(number.to_string()), files, len);
            for lanes in [1, 2, 3, 16] {
                let all: Vec<Stretch> = (0..lanes).flat_map(|lane| data.share(lane, lanes)).collect();
                assert_eq!(all.iter().map(|stretch| stretch.len).sum::<u64>(), data.bytes(), "{files} {len} {lanes}");
                let mut after = (0, 0);
                for stretch in all {
                    let next = if after.1 == len { (after.0 + 1, 0) } else { after };
                    assert_eq!((stretch.file, stretch.offset), next, "{files} {len} {lanes}");
                    after = (stretch.file, stretch.offset + stretch.len);
                }
            }
        }
    }

    #[test]
    fn another_byte_file_or_length_is_another_tree() {
        let place = tempfile::tempdir().unwrap();
        let data = made(&place.path().join("data"), 3, 5_000);
        let other = place.path().join("other");
        let again = made(&other, 3, 5_000);
        assert!(data.is_at(&other).unwrap() && again.digest() == data.digest());
        let file = other.join("d0000/f0000001");
        let mut bytes = fs::read(&file).unwrap();
        bytes.swap(4_000, 4_001);
        fs::write(&file, &bytes).unwrap();
        assert!(!data.is_at(&other).unwrap(), "two bytes have changed places");
        bytes.swap(4_000, 4_001);
        fs::write(&file, [&bytes[..], b"!"].concat()).unwrap();
        assert!(!data.is_at(&other).unwrap(), "a byte more");
        fs::write(&file, &bytes).unwrap();
        assert!(data.is_at(&other).unwrap());
        fs::write(other.join("d0000/f0000003"), "").unwrap();
        assert!(!data.is_at(&other).unwrap(), "a file more");
        fs::remove_file(other.join("d0000/f0000000")).unwrap();
        assert!(!data.is_at(&other).unwrap(), "another file");
    }
}
