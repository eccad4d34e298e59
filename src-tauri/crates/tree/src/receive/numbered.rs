//! Numbered names, for entries whose own name is taken.
use std::io;

use ringway_sys::attributes::Metadata;
use ringway_wire::limits::NAME_MAX;
use rustix::io::Errno;

use crate::disk::Dir;

/// Numbers tried for a name. More copies than this are of no use to a person.
const NUMBER_MAX: u32 = 10_000;

/// A longer extension is part of the name.
const EXTENSION_MAX: usize = 16;

/// What the sender calls an entry, and its name here.
#[derive(Clone, Copy)]
pub(in crate::receive) struct NameHere<'n> {
    pub(in crate::receive) sent: &'n [u8],
    /// The same, or a numbered one.
    pub(in crate::receive) here: &'n [u8],
}

impl<'n> NameHere<'n> {
    /// The sender's own name.
    pub(in crate::receive) fn own(name: &'n [u8]) -> Self {
        Self { sent: name, here: name }
    }
}

/// Finds the first number whose name `take` can have, and returns that name.
pub(in crate::receive) fn free_number(
    name: &[u8],
    extension: bool,
    take: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<Vec<u8>> {
    first_that(|number| numbered(name, number, extension), take)
}

/// The same for a name that says that the file is not verified.
pub(in crate::receive) fn unverified_name(
    name: &[u8],
    take: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<Vec<u8>> {
    let mark = |number| if number == 1 { " (not verified)".to_owned() } else { format!(" (not verified {number})") };
    first_that(|number| marked(name, &mark(number), true), take)
}

fn first_that(
    candidate: impl Fn(u32) -> Vec<u8>,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<Vec<u8>> {
    for number in 1..=NUMBER_MAX {
        let candidate = candidate(number);
        match take(&candidate) {
            Ok(()) => return Ok(candidate),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(Errno::EXIST.into())
}

/// Which numbered name a version has, or would get.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::receive) enum Found {
    /// It is there under this name.
    There(Vec<u8>),
    /// This is the first free one.
    Free(Vec<u8>),
}

/// Looks for a version of `name` under the number that is `known` of it, and then under each number
/// before the first free one.
pub(in crate::receive) fn find_version(
    dir: &Dir,
    name: &[u8],
    known: Option<&[u8]>,
    mut is_it: impl FnMut(&[u8], &Metadata) -> bool,
) -> io::Result<Found> {
    // Its owner may have moved what has a number before it.
    if let Some(known) = known
        && dir.metadata(known).is_ok_and(|there| is_it(known, &there))
    {
        return Ok(Found::There(known.to_vec()));
    }
    for number in 1..=NUMBER_MAX {
        let candidate = numbered(name, number, true);
        match dir.metadata(&candidate) {
            Ok(there) if is_it(&candidate, &there) => return Ok(Found::There(candidate)),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Free(candidate)),
            Err(error) => return Err(error),
        }
    }
    Err(Errno::EXIST.into())
}

/// The first number that nothing in a folder has.
pub(in crate::receive) fn first_free_number(dir: &Dir, name: &[u8], extension: bool) -> io::Result<Vec<u8>> {
    free_number(name, extension, |candidate| is_free(dir, candidate))
}

/// Whether nothing in a folder has that name.
///
/// # Errors
/// `AlreadyExists` if something has it, and what the kernel said if that cannot be told.
pub(in crate::receive) fn is_free(dir: &Dir, name: &[u8]) -> io::Result<()> {
    match dir.metadata(name) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// `name (2).ext`, or `name (2)` for a folder; the stem is shortened where that would be too long,
/// not in the middle of a character.
pub(in crate::receive) fn numbered(name: &[u8], number: u32, extension: bool) -> Vec<u8> {
    marked(name, &format!(" ({number})"), extension)
}

/// The same with any `mark`.
fn marked(name: &[u8], mark: &str, extension: bool) -> Vec<u8> {
    let dot = name.iter().rposition(|byte| *byte == b'.').filter(|at| *at > 0 && name.len() - at <= EXTENSION_MAX);
    let (stem, tail) = name.split_at(dot.filter(|_| extension).unwrap_or(name.len()));
    let mut keep = stem.len().min(NAME_MAX - mark.len() - tail.len());
    if let Ok(text) = std::str::from_utf8(stem) {
        while !text.is_char_boundary(keep) {
            keep -= 1;
        }
    }
    [&stem[..keep], mark.as_bytes(), tail].concat()
}
