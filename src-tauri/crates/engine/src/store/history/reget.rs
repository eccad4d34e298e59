//! What was got, as the history keeps it to get it again.
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use ringway_model::{IntoHome, OnConflict, Pattern, Selection};
use ringway_tree::receive::FolderIdentity;

use crate::devices::reference::PathInShare;

/// Bytes of paths that are remembered of each transfer: a selection of a few hundred names.
const REGET_LEN_MAX: usize = 8 * 1024;

/// What was got, to be got again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reget {
    /// What, of one share.
    pub paths: Vec<PathInShare>,
    /// Which of their entries; without a list, which is not remembered.
    pub selection: Selection,
    /// Whether a list selected as well: to get the same again, it is to be given again.
    pub by_list: bool,
    /// The folder that it landed in.
    pub destination: PathBuf,
    /// Which folder that was, where it was there.
    pub folder: Option<FolderIdentity>,
    /// How it landed there.
    pub landing: Landing,
    /// Whether it was read back and compared.
    pub verify: bool,
}

/// How something that was got landed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Landing {
    /// What happened to existing files.
    pub on_conflict: OnConflict,
    /// What was allowed to land there, where it is a home.
    pub into_home: IntoHome,
    /// What was kept of owners and access control lists.
    pub kept: KeptAttributes,
    /// setuid and setgid bits were kept.
    pub keep_setuid: bool,
    /// Folders that existed got the sender's mode, also where that let more people in.
    pub widen_modes: bool,
}

/// What is kept of owners and access control lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeptAttributes {
    /// Owner and group; needs privilege.
    pub owner: bool,
    /// The numbers of users and groups, whatever their names are. Otherwise those count that have
    /// the sender's names here.
    pub numeric_ids: bool,
    /// Access control lists.
    pub acls: bool,
}

const CONFLICTS: [OnConflict; 4] = [OnConflict::Replace, OnConflict::Keep, OnConflict::Rename, OnConflict::RenameTop];
const HOMES: [IntoHome; 3] = [IntoHome::Refuse, IntoHome::NoDotNames, IntoHome::DotNames];

impl Reget {
    /// Its options, and then the folder and each path as a person types it, each ended by a zero
    /// byte; `None` if that is too long. Patterns and which folder it was are kept elsewhere.
    pub(in crate::store) fn stored(&self) -> Option<Vec<u8>> {
        let number = |at: Option<usize>| at.and_then(|at| u8::try_from(at).ok());
        let Landing { on_conflict, into_home, .. } = &self.landing;
        let conflict = number(CONFLICTS.iter().position(|mode| mode == on_conflict))?;
        let home = number(HOMES.iter().position(|home| home == into_home))?;
        let mut stored = vec![self.flags(), conflict, home];
        let texts = [self.destination.as_os_str().as_bytes().to_vec()].into_iter();
        for text in texts.chain(self.paths.iter().map(PathInShare::typed)) {
            stored.extend(text);
            stored.push(0);
        }
        (stored.len() <= REGET_LEN_MAX).then_some(stored)
    }

    fn flags(&self) -> u8 {
        let Landing { kept: KeptAttributes { owner, numeric_ids, acls }, keep_setuid, widen_modes, .. } = self.landing;
        let flags = [self.verify, owner, numeric_ids, keep_setuid, acls, widen_modes, self.by_list];
        flags.into_iter().zip(0..).map(|(flag, bit)| u8::from(flag) << bit).sum()
    }

    /// None for what this version would not have written.
    pub(in crate::store) fn read(stored: &[u8], patterns: Vec<Pattern>, folder: Option<&[u8]>) -> Option<Self> {
        let (&[flags, conflict, home], texts) = stored.split_first_chunk()?;
        let mut texts = texts.strip_suffix(&[0])?.split(|byte| *byte == 0);
        let destination = PathBuf::from(OsString::from_vec(texts.next()?.to_vec()));
        let paths: Vec<_> = texts.map(|text| PathInShare::parse(text).ok()).collect::<Option<_>>()?;
        let has = |bit: u8| flags & 1 << bit != 0;
        let reget = Self {
            paths,
            selection: Selection { patterns, paths: None },
            by_list: has(6),
            destination,
            folder: folder.and_then(FolderIdentity::decode),
            landing: Landing {
                on_conflict: *CONFLICTS.get(usize::from(conflict))?,
                into_home: *HOMES.get(usize::from(home))?,
                kept: KeptAttributes { owner: has(1), numeric_ids: has(2), acls: has(4) },
                keep_setuid: has(3),
                widen_modes: has(5),
            },
            verify: has(0),
        };
        let is_whole = !reget.paths.is_empty() && reget.destination.is_absolute() && reget.flags() == flags;
        is_whole.then_some(reget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reget(paths: &[&[u8]]) -> Reget {
        Reget {
            paths: paths.iter().map(|path| PathInShare::parse(path).unwrap()).collect(),
            selection: Selection { patterns: patterns(), paths: None },
            by_list: false,
            destination: "/data/in".into(),
            folder: None,
            landing: Landing {
                on_conflict: OnConflict::RenameTop,
                into_home: IntoHome::NoDotNames,
                ..Landing::default()
            },
            verify: true,
        }
    }

    fn patterns() -> Vec<Pattern> {
        vec![Pattern::Exclude(b"*.o".to_vec())]
    }

    fn read(stored: &[u8]) -> Option<Reget> {
        Reget::read(stored, patterns(), None)
    }

    #[test]
    fn what_was_got_comes_back_as_it_was() {
        let all = reget(&[b"runs", b"runs/", b"runs/2026/caf\xe9", b"my runs/a\nb/"]);
        assert_eq!(read(&all.stored().unwrap()), Some(all.clone()));
        let how: [fn(&mut Reget); 7] = [
            |reget| reget.verify = false,
            |reget| reget.by_list = true,
            |reget| reget.landing.kept.owner = true,
            |reget| reget.landing.kept.numeric_ids = true,
            |reget| reget.landing.keep_setuid = true,
            |reget| reget.landing.kept.acls = true,
            |reget| reget.landing.widen_modes = true,
        ];
        for change in how {
            let mut other = all.clone();
            change(&mut other);
            assert_eq!(read(&other.stored().unwrap()), Some(other.clone()));
            assert_ne!(other, all);
        }
    }

    #[test]
    fn what_is_too_long_or_makes_no_sense_is_not_remembered() {
        let long = [b"runs/".to_vec(), vec![b'x'; 255]].concat();
        assert_eq!(reget(&vec![long.as_slice(); 40]).stored(), None);
        let stored = reget(&[b"runs"]).stored().unwrap();
        for cut in 0..stored.len() {
            assert_eq!(read(&stored[..cut]), None, "{cut}");
        }
        let with = |at: usize, byte: u8| {
            let mut other = stored.clone();
            other[at] = byte;
            read(&other)
        };
        assert_eq!((with(0, 0x80), with(1, 9), with(2, 9), with(3, b'x')), (None, None, None, None));
    }
}
