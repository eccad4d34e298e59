//! Fields that several messages have, as bytes.
use ringway_model::{ShareName, ShareTrouble};

use super::EntryFailed;
use crate::ProtocolError;
use crate::bytes::{Put, Reader};
use crate::lane::Counts;
use crate::limits::{PAGES_AHEAD_MAX, PATH_MAX};
use crate::name::RelPath;

pub(super) fn encode_failed(failed: &EntryFailed, out: &mut Vec<u8>) {
    out.put_short_bytes(&failed.path);
    out.put_u8(failed.operation);
    out.put_u8(failed.reason);
    out.put_i32(failed.errno);
}

pub(super) fn decode_failed(reader: &mut Reader<'_>) -> Result<EntryFailed, ProtocolError> {
    Ok(EntryFailed {
        path: decode_shown_path(reader)?,
        operation: reader.u8()?,
        reason: reader.u8()?,
        errno: reader.i32()?,
    })
}

/// A path in a failure is only shown, but must still be a path beneath the destination. Absolute
/// paths and `..` are refused.
pub(super) fn decode_shown_path(reader: &mut Reader<'_>) -> Result<Vec<u8>, ProtocolError> {
    Ok(RelPath::new(reader.short_bytes("path", PATH_MAX)?)?.as_bytes().to_vec())
}

pub(super) fn encode_counts(counts: &Counts, out: &mut Vec<u8>) {
    out.put_u64(counts.files);
    out.put_u64(counts.folders);
    out.put_u64(counts.links);
    out.put_u64(counts.bytes);
}

pub(super) fn decode_counts(reader: &mut Reader<'_>) -> Result<Counts, ProtocolError> {
    Ok(Counts {
        files: reader.entries("files")?,
        folders: reader.entries("folders")?,
        links: reader.entries("links")?,
        bytes: reader.u64()?,
    })
}

/// A number of pages, 1 to [`PAGES_AHEAD_MAX`].
pub(super) fn pages(reader: &mut Reader<'_>) -> Result<u8, ProtocolError> {
    match reader.u8()? {
        pages @ 1..=PAGES_AHEAD_MAX => Ok(pages),
        _ => Err(ProtocolError::BadValue("pages")),
    }
}

pub(super) fn share_name(reader: &mut Reader<'_>) -> Result<ShareName, ProtocolError> {
    let bytes = reader.short_bytes("share name", ShareName::LEN_MAX)?;
    let text = std::str::from_utf8(bytes).map_err(|_| ProtocolError::BadText)?;
    ShareName::new(text).map_err(|_| ProtocolError::BadText)
}

/// From 1 on, in the order of [`ShareTrouble::ALL`]: new ones go to the end.
pub(super) fn number(trouble: ShareTrouble) -> u8 {
    1 + ShareTrouble::ALL.iter().position(|known| *known == trouble).unwrap_or_default() as u8
}

pub(super) fn trouble(value: u8) -> Result<ShareTrouble, ProtocolError> {
    let found = usize::from(value).checked_sub(1).and_then(|at| ShareTrouble::ALL.get(at));
    found.copied().ok_or(ProtocolError::Unknown { what: "trouble with a share", value })
}
