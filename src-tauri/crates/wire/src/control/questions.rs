//! Questions about shares, and their answers, as bytes: what a device may ask of another one beside
//! offering something.
use ringway_model::{ShareName, ShareThere, ShareTrouble};

use crate::ProtocolError;
use crate::bytes::{Put, Reader};
use crate::entries::{Depth, EntriesPage};
use crate::limits::{PAGES_AHEAD_MAX, PATH_MAX, SHARES_MAX};
use crate::name::RelPath;

/// A question about the shares of the device that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// Which shares the device that asks may read.
    Shares,
    /// What is at a path in one of them.
    Entries(EntriesWanted),
}

/// What is to be listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntriesWanted {
    /// The share.
    pub share: ShareName,
    /// The path in it, a [`RelPath`]; empty for the share itself.
    pub path: Vec<u8>,
    /// How much of it.
    pub depth: Depth,
    /// Pages that may be sent before [`MorePages`](super::Message::MorePages), 1 to
    /// [`PAGES_AHEAD_MAX`].
    pub pages: u8,
}

/// An answer, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The shares, by name. Nothing follows.
    Shares(Vec<ShareThere>),
    /// The next entries. More follow unless it is the last page.
    Entries(EntriesPage),
    /// There is no answer, or no further part of one.
    Refused(NoAnswer),
}

/// Why a question has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoAnswer {
    /// No share of that name may be read by the device that asks. It may exist.
    NotShared,
    /// The share cannot be read now.
    Unavailable(ShareTrouble),
    /// The path could not be opened or read (errno).
    Path(i32),
    /// Too much is asked at once, by this device or by all.
    Busy,
}

impl Question {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Shares => out.put_u8(0),
            Self::Entries(EntriesWanted { share, path, depth, pages }) => {
                out.put_u8(1);
                out.put_short_bytes(share.as_str().as_bytes());
                out.put_short_bytes(path);
                out.put_u8(match depth {
                    Depth::Itself => 0,
                    Depth::Folder => 1,
                    Depth::Tree => 2,
                });
                out.put_u8(*pages);
            }
        }
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, ProtocolError> {
        match reader.u8()? {
            0 => Ok(Self::Shares),
            1 => Ok(Self::Entries(EntriesWanted {
                share: share_name(reader)?,
                path: RelPath::new(reader.short_bytes("path", PATH_MAX)?)?.as_bytes().to_vec(),
                depth: match reader.u8()? {
                    0 => Depth::Itself,
                    1 => Depth::Folder,
                    2 => Depth::Tree,
                    value => return Err(ProtocolError::Unknown { what: "depth", value }),
                },
                pages: pages(reader)?,
            })),
            value => Err(ProtocolError::Unknown { what: "question", value }),
        }
    }
}

impl Answer {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Shares(shares) => {
                out.put_u8(0);
                out.put_u16(shares.len() as u16);
                for ShareThere { name, drop, unavailable } in shares {
                    out.put_short_bytes(name.as_str().as_bytes());
                    out.put_bool(*drop);
                    out.put_u8(unavailable.map_or(0, number));
                }
            }
            Self::Entries(page) => {
                out.put_u8(1);
                page.encode(out);
            }
            Self::Refused(why) => {
                out.put_u8(2);
                match why {
                    NoAnswer::NotShared => out.put_u8(0),
                    NoAnswer::Unavailable(trouble) => {
                        out.put_u8(1);
                        out.put_u8(number(*trouble));
                    }
                    NoAnswer::Path(errno) => {
                        out.put_u8(2);
                        out.put_i32(*errno);
                    }
                    NoAnswer::Busy => out.put_u8(3),
                }
            }
        }
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, ProtocolError> {
        Ok(match reader.u8()? {
            0 => {
                let (count, limit) = (usize::from(reader.u16()?), SHARES_MAX);
                if count > limit {
                    let (value, limit) = (count as u64, limit as u64);
                    return Err(ProtocolError::TooLarge { what: "shares", value, limit });
                }
                let share = |_| {
                    let (name, drop) = (share_name(reader)?, reader.bool("drop box")?);
                    let unavailable = match reader.u8()? {
                        0 => None,
                        value => Some(trouble(value)?),
                    };
                    Ok(ShareThere { name, drop, unavailable })
                };
                Self::Shares((0..count).map(share).collect::<Result<_, ProtocolError>>()?)
            }
            1 => Self::Entries(EntriesPage::decode(reader)?),
            2 => Self::Refused(match reader.u8()? {
                0 => NoAnswer::NotShared,
                1 => NoAnswer::Unavailable(trouble(reader.u8()?)?),
                2 => NoAnswer::Path(reader.i32()?),
                3 => NoAnswer::Busy,
                value => return Err(ProtocolError::Unknown { what: "reason of no answer", value }),
            }),
            value => return Err(ProtocolError::Unknown { what: "answer", value }),
        })
    }
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
