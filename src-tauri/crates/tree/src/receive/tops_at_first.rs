//! Which folders had the offered names at the top when a transfer began. One that is another folder
//! later came meanwhile, whether it was made there or moved there.
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, OnceLock};

use ringway_sys::attributes::Kind;
use ringway_wire::OfferedNames;

use crate::disk::Dir;
use crate::receive::{FolderIdentity, TOPS_LOOKED_AT_MAX};

/// What had the names then, kept over all attempts of a transfer in one program.
#[derive(Debug, Clone, Default)]
pub struct TopsAtFirst(Arc<OnceLock<HashMap<Vec<u8>, There>>>);

#[derive(Debug)]
enum There {
    /// No folder.
    Nothing,
    Folder(FolderIdentity),
    /// It could not be looked at.
    Unknown,
}

impl TopsAtFirst {
    /// Looks, the first time.
    pub(in crate::receive) fn look(&self, root: &Dir, offered: Option<&OfferedNames>) {
        self.0.get_or_init(|| {
            let names = offered.into_iter().flat_map(OfferedNames::iter).take(TOPS_LOOKED_AT_MAX);
            names.map(|name| (name.to_vec(), There::at(root, name))).collect()
        });
    }

    /// Whether `there` is none that had the name `top` then. False where nobody knows: of what was
    /// not looked at, and where inode numbers do not last.
    pub(in crate::receive) fn are_not(&self, top: &[u8], there: &FolderIdentity) -> bool {
        match self.0.get().and_then(|all| all.get(top)) {
            Some(There::Nothing) => there.is_lasting(),
            Some(There::Folder(before)) => there.is_lasting() && before != there,
            Some(There::Unknown) | None => false,
        }
    }
}

impl There {
    fn at(root: &Dir, name: &[u8]) -> Self {
        match root.metadata(name) {
            Ok(there) if there.kind == Kind::Dir => {}
            Ok(_) => return Self::Nothing,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Self::Nothing,
            Err(_) => return Self::Unknown,
        }
        let identity = root.open_dir(name).and_then(|folder| FolderIdentity::of(&folder));
        identity.map_or(Self::Unknown, Self::Folder)
    }
}
