//! A request for entries of a share, and why it cannot be met.
use std::num::NonZeroU64;

use ringway_model::{Compression, Delta, Pattern, ShareName, ShareTrouble};

use super::fields::{number, pages, share_name, trouble};
use super::{Offer, TransferId};
use crate::ProtocolError;
use crate::bytes::{Put, Reader};
use crate::limits::{
    GET_PATHS_BYTES_MAX, GET_PATHS_MAX, GET_PATTERNS_BYTES_MAX, GET_PATTERNS_MAX, PATH_MAX, SELECTED_PATHS_MAX,
};
use crate::name::RelPath;

/// A request for entries of a share. The device that has the share offers them, and consents by the
/// share. The device that asks has consented by asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Get {
    /// The transfer's id, drawn by who asks. The offer has the same.
    pub transfer: TransferId,
    /// The share.
    pub share: ShareName,
    /// What is asked for, 1 to [`GET_PATHS_MAX`].
    pub paths: Vec<GetPath>,
    /// The most lanes that who asks would open.
    pub lanes: u8,
    /// Whether the transfer is to be proven.
    pub prove: bool,
    /// Whether file contents are compressed on the way.
    pub compression: Compression,
    /// Whether only what is new in large files is sent.
    pub delta: Delta,
    /// The most bytes a second, all lanes together; `None` is no limit.
    pub limit: Option<NonZeroU64>,
    /// Records after which a lane is to take a new connection, and with it new keys; `None` is what
    /// the source takes. It is never more than that.
    pub records_per_key: Option<NonZeroU64>,
    /// Seconds for which it is asked for again after a lost connection; 0 means not at all.
    pub retry_s: u32,
    /// What is left out of it, at most [`GET_PATTERNS_MAX`]: the last one that matches an entry
    /// decides.
    pub patterns: Vec<Pattern>,
    /// How many paths of its only folder are asked for alone, at most [`SELECTED_PATHS_MAX`]. They
    /// follow in [`Message::Selected`](super::Message::Selected). `None` asks for everything.
    pub selected: Option<u32>,
    /// What is to be done with it.
    pub purpose: Purpose,
}

/// What a request is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The entries are to be offered.
    Transfer,
    /// It is to be told what would be sent: the answer to a question of this number, of which so
    /// many pages may be sent before [`MorePages`](super::Message::MorePages).
    Plan {
        /// The question's number.
        number: u32,
        /// Pages, 1 to [`PAGES_AHEAD_MAX`](crate::limits::PAGES_AHEAD_MAX).
        pages: u8,
    },
}

/// One entry of a share, or all that a folder contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetPath {
    /// The path beneath the share; empty is the share itself.
    pub path: Vec<u8>,
    /// The entries of that folder, instead of the folder.
    pub contents_only: bool,
}

impl Get {
    /// The name under which an entry arrives: the last one of its path, or the share's; `None` for
    /// the contents of a folder.
    pub fn name_of<'a>(&'a self, path: &'a GetPath) -> Option<&'a [u8]> {
        match path.path.rsplit(|byte| *byte == b'/').next() {
            _ if path.contents_only => None,
            None | Some(b"") => Some(self.share.as_str().as_bytes()),
            name => name,
        }
    }

    /// Whether an entry at the top of the transfer was asked for. The contents of a folder may have
    /// any name.
    pub fn asks_for(&self, name: &[u8]) -> bool {
        self.paths.iter().any(|path| self.name_of(path).is_none_or(|asked| asked == name))
    }

    /// Whether an offer is the answer to this, whatever its names are.
    pub(crate) fn is_met_by(&self, offer: &Offer) -> bool {
        // Where it lands is for who has asked to say.
        let is_free = offer.in_share.is_none();
        is_free && offer.transfer == self.transfer && offer.lanes <= self.lanes && offer.prove == self.prove
    }
}

/// Why nothing of a request can be had, or why an offer cannot land in the place that it names:
/// then the share is a drop box, and the only path is that place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GetRefusal {
    /// There is no such share, or it is not shared with this device. Which of the two is not said.
    NoShare,
    /// The share cannot be read now.
    Unavailable(ShareTrouble),
    /// An entry cannot be opened: its number among the paths, and the errno.
    Path(u16, i32),
    /// Two entries would have the same name at the top.
    SameName,
    /// There are too many names at the top.
    TooManyNames,
    /// What runs at that device shares nothing.
    NotServed,
    /// A pattern of it cannot match anything.
    Pattern,
    /// It lists paths, and asks for something else than one folder.
    NotOneFolder,
    /// Its patterns take too long to compare with all names of a folder.
    TooSlow,
    /// A person there has cancelled this transfer: the same id is not served again.
    Cancelled,
}

pub(super) fn encode(get: &Get, out: &mut Vec<u8>) {
    out.extend_from_slice(&get.transfer);
    out.put_short_bytes(get.share.as_str().as_bytes());
    out.put_u16(get.paths.len() as u16);
    for GetPath { path, contents_only } in &get.paths {
        out.put_short_bytes(path);
        out.put_bool(*contents_only);
    }
    out.put_u8(get.lanes);
    out.put_bool(get.prove);
    out.put_bool(get.compression == Compression::Auto);
    out.put_u8(match get.delta {
        Delta::Auto => 0,
        Delta::On => 1,
        Delta::Off => 2,
    });
    out.put_u64(get.limit.map_or(0, NonZeroU64::get));
    out.put_u64(get.records_per_key.map_or(0, NonZeroU64::get));
    out.put_u32(get.retry_s);
    out.put_u16(get.patterns.len() as u16);
    for pattern in &get.patterns {
        let (leaves_out, text) = match pattern {
            Pattern::Exclude(text) => (true, text),
            Pattern::Include(text) => (false, text),
        };
        out.put_bool(leaves_out);
        out.put_short_bytes(text);
    }
    out.put_bool(get.selected.is_some());
    get.selected.into_iter().for_each(|selected| out.put_u32(selected));
    match get.purpose {
        Purpose::Transfer => out.put_u8(0),
        Purpose::Plan { number, pages } => {
            out.put_u8(1);
            out.put_u32(number);
            out.put_u8(pages);
        }
    }
}

pub(super) fn decode(
    reader: &mut Reader<'_>,
    lanes: impl FnOnce(&mut Reader<'_>) -> Result<u8, ProtocolError>,
) -> Result<Get, ProtocolError> {
    Ok(Get {
        transfer: reader.array()?,
        share: share_name(reader)?,
        paths: decode_paths(reader)?,
        lanes: lanes(reader)?,
        prove: reader.bool("prove")?,
        compression: if reader.bool("compression")? { Compression::Auto } else { Compression::Off },
        delta: match reader.u8()? {
            0 => Delta::Auto,
            1 => Delta::On,
            2 => Delta::Off,
            value => return Err(ProtocolError::Unknown { what: "delta", value }),
        },
        limit: NonZeroU64::new(reader.u64()?),
        records_per_key: NonZeroU64::new(reader.u64()?),
        retry_s: reader.u32()?,
        patterns: decode_patterns(reader)?,
        selected: match reader.bool("selected paths")? {
            false => None,
            true => Some(selected(reader.u32()?)?),
        },
        purpose: match reader.u8()? {
            0 => Purpose::Transfer,
            1 => Purpose::Plan { number: reader.u32()?, pages: pages(reader)? },
            value => return Err(ProtocolError::Unknown { what: "purpose of a request", value }),
        },
    })
}

fn selected(count: u32) -> Result<u32, ProtocolError> {
    match count as usize > SELECTED_PATHS_MAX {
        true => {
            let (value, limit) = (count.into(), SELECTED_PATHS_MAX as u64);
            Err(ProtocolError::TooLarge { what: "number of selected paths", value, limit })
        }
        false => Ok(count),
    }
}

fn decode_patterns(reader: &mut Reader<'_>) -> Result<Vec<Pattern>, ProtocolError> {
    let count = usize::from(reader.u16()?);
    bounded("number of patterns", count, GET_PATTERNS_MAX)?;
    let mut bytes = 0;
    (0..count)
        .map(|_| {
            let leaves_out = reader.bool("pattern")?;
            let text = reader.short_bytes("pattern", GET_PATTERNS_BYTES_MAX)?;
            bytes += text.len();
            bounded("length of patterns", bytes, GET_PATTERNS_BYTES_MAX)?;
            Ok(if leaves_out { Pattern::Exclude(text.to_vec()) } else { Pattern::Include(text.to_vec()) })
        })
        .collect()
}

fn bounded(what: &'static str, value: usize, limit: usize) -> Result<(), ProtocolError> {
    match value > limit {
        true => Err(ProtocolError::TooLarge { what, value: value as u64, limit: limit as u64 }),
        false => Ok(()),
    }
}

fn decode_paths(reader: &mut Reader<'_>) -> Result<Vec<GetPath>, ProtocolError> {
    let count = usize::from(reader.u16()?);
    if count == 0 {
        return Err(ProtocolError::BadValue("number of paths"));
    }
    bounded("number of paths", count, GET_PATHS_MAX)?;
    let mut bytes = 0;
    (0..count)
        .map(|_| {
            let path = RelPath::new(reader.short_bytes("path", PATH_MAX)?)?.as_bytes().to_vec();
            bytes += path.len();
            bounded("length of paths", bytes, GET_PATHS_BYTES_MAX)?;
            Ok(GetPath { path, contents_only: reader.bool("contents")? })
        })
        .collect()
}

pub(super) fn encode_refusal(refusal: GetRefusal, out: &mut Vec<u8>) {
    match refusal {
        GetRefusal::NoShare => out.put_u8(1),
        GetRefusal::Unavailable(why) => {
            out.put_u8(2);
            out.put_u8(number(why));
        }
        GetRefusal::Path(number, errno) => {
            out.put_u8(3);
            out.put_u16(number);
            out.put_i32(errno);
        }
        GetRefusal::SameName => out.put_u8(4),
        GetRefusal::TooManyNames => out.put_u8(5),
        GetRefusal::NotServed => out.put_u8(6),
        GetRefusal::Pattern => out.put_u8(7),
        GetRefusal::NotOneFolder => out.put_u8(8),
        GetRefusal::TooSlow => out.put_u8(9),
        GetRefusal::Cancelled => out.put_u8(10),
    }
}

pub(super) fn decode_refusal(reader: &mut Reader<'_>) -> Result<GetRefusal, ProtocolError> {
    Ok(match reader.u8()? {
        1 => GetRefusal::NoShare,
        2 => GetRefusal::Unavailable(trouble(reader.u8()?)?),
        3 => GetRefusal::Path(reader.u16()?, reader.i32()?),
        4 => GetRefusal::SameName,
        5 => GetRefusal::TooManyNames,
        6 => GetRefusal::NotServed,
        7 => GetRefusal::Pattern,
        8 => GetRefusal::NotOneFolder,
        9 => GetRefusal::TooSlow,
        10 => GetRefusal::Cancelled,
        value => return Err(ProtocolError::Unknown { what: "refusal of a request", value }),
    })
}
