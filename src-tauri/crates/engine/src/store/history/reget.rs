//! What was got, as the history keeps it to get it again.
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use ringway_model::{IntoHome, OnConflict};
use ringway_tree::receive::FolderIdentity;

use crate::devices::reference::PathInShare;

/// Bytes of paths that are remembered of each transfer: a selection of a few hundred names.
const REGET_LEN_MAX: usize = 8 * 1024;

/// What was got, to be got again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reget {
    /// What, of one share.
    pub paths: Vec<PathInShare>,
    /// The folder that it landed in.
    pub destination: PathBuf,
    /// Which folder that was, where it was there.
    pub folder: Option<FolderIdentity>,
    /// What happened to existing files.
    pub on_conflict: OnConflict,
    /// What was allowed to land there, where it is a home.
    pub into_home: IntoHome,
    /// Whether it was read back and compared.
    pub verify: bool,
}

const CONFLICTS: [OnConflict; 4] = [OnConflict::Replace, OnConflict::Keep, OnConflict::Rename, OnConflict::RenameTop];
const HOMES: [IntoHome; 3] = [IntoHome::Refuse, IntoHome::NoDotNames, IntoHome::DotNames];

impl Reget {
    /// Its options, and then the folder and each path as a person types it, each ended by a zero
    /// byte; none where that is too long. Which folder it was is stored beside them.
    pub(in crate::store) fn stored(&self) -> Option<Vec<u8>> {
        let number = |at: Option<usize>| at.and_then(|at| u8::try_from(at).ok());
        let conflict = number(CONFLICTS.iter().position(|mode| *mode == self.on_conflict))?;
        let home = number(HOMES.iter().position(|home| *home == self.into_home))?;
        let mut stored = vec![u8::from(self.verify), conflict, home];
        let texts = [self.destination.as_os_str().as_bytes().to_vec()].into_iter();
        for text in texts.chain(self.paths.iter().map(PathInShare::typed)) {
            stored.extend(text);
            stored.push(0);
        }
        (stored.len() <= REGET_LEN_MAX).then_some(stored)
    }

    /// None for what this version would not have written.
    pub(in crate::store) fn read(stored: &[u8], folder: Option<&[u8]>) -> Option<Self> {
        let (&[verify, conflict, home], texts) = stored.split_first_chunk()?;
        let mut texts = texts.strip_suffix(&[0])?.split(|byte| *byte == 0);
        let destination = PathBuf::from(OsString::from_vec(texts.next()?.to_vec()));
        let paths: Vec<_> = texts.map(|text| PathInShare::parse(text).ok()).collect::<Option<_>>()?;
        let is_whole = !paths.is_empty() && destination.is_absolute();
        is_whole.then_some(Self {
            paths,
            destination,
            folder: folder.and_then(FolderIdentity::decode),
            on_conflict: *CONFLICTS.get(usize::from(conflict))?,
            into_home: *HOMES.get(usize::from(home))?,
            verify: verify != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reget(paths: &[&[u8]]) -> Reget {
        Reget {
            paths: paths.iter().map(|path| PathInShare::parse(path).unwrap()).collect(),
            destination: "/data/in".into(),
            folder: None,
            on_conflict: OnConflict::RenameTop,
            into_home: IntoHome::NoDotNames,
            verify: true,
        }
    }

    #[test]
    fn what_was_got_comes_back_as_it_was() {
        let all = reget(&[b"runs", b"runs/", b"runs/2026/caf\xe9", b"my runs/a\nb/"]);
        assert_eq!(Reget::read(&all.stored().unwrap(), None), Some(all));
    }

    #[test]
    fn what_is_too_long_or_makes_no_sense_is_not_remembered() {
        let long = [b"runs/".to_vec(), vec![b'x'; 255]].concat();
        assert_eq!(reget(&vec![long.as_slice(); 40]).stored(), None);
        let stored = reget(&[b"runs"]).stored().unwrap();
        for cut in 0..stored.len() {
            assert_eq!(Reget::read(&stored[..cut], None), None, "{cut}");
        }
        let with = |at: usize, byte: u8| {
            let mut other = stored.clone();
            other[at] = byte;
            Reget::read(&other, None)
        };
        assert_eq!((with(1, 9), with(2, 9), with(3, b'x')), (None, None, None));
    }
}
