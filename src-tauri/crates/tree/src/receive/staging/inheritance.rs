//! What a folder passes on to a file that is made in it. Files are made in the staging folder, and
//! are given what the folder of their names would have passed on.
use std::io;

use ringway_sys::attributes::{Metadata, default_acl};

use crate::disk::Dir;

/// Of a folder: what is made in it gets its group, and a folder also this (open(2), mkdir(2)).
pub(in crate::receive) const SETGID: u32 = 0o2000;

/// What files get from their folder besides what was sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::receive) struct Inheritance {
    /// A default access control list (acl(5)).
    pub(in crate::receive) list: Option<Box<[u8]>>,
    /// Its group, where it has setgid (open(2)); else they get the program's.
    pub(in crate::receive) group: Option<u32>,
}

impl Inheritance {
    /// What `dir` passes on, of which `there` is known.
    ///
    /// # Errors
    /// Its list cannot be read.
    pub(in crate::receive) fn of(dir: &Dir, there: &Metadata) -> io::Result<Self> {
        let list = default_acl(dir)?.map(Vec::into_boxed_slice);
        Ok(Self { list, group: (there.mode & SETGID != 0).then_some(there.gid) })
    }
}
