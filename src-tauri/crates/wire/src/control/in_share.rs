//! The place in a drop box where an offer is to land.
use ringway_model::ShareName;

use super::fields::share_name;
use crate::ProtocolError;
use crate::bytes::{Put, Reader};
use crate::limits::PATH_MAX;
use crate::name::RelPath;

/// A share, and a path beneath it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InShare {
    /// The share.
    pub share: ShareName,
    /// The path beneath it; empty is the share itself.
    pub path: Vec<u8>,
}

pub(super) fn encode(in_share: Option<&InShare>, out: &mut Vec<u8>) {
    out.put_bool(in_share.is_some());
    if let Some(InShare { share, path }) = in_share {
        out.put_short_bytes(share.as_str().as_bytes());
        out.put_short_bytes(path);
    }
}

pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Option<InShare>, ProtocolError> {
    if !reader.bool("share of an offer")? {
        return Ok(None);
    }
    let share = share_name(reader)?;
    let path = RelPath::new(reader.short_bytes("path", PATH_MAX)?)?.as_bytes().to_vec();
    Ok(Some(InShare { share, path }))
}
