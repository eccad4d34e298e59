//! Questions about shares, and their answers, as bytes: what a device may ask of another one beside
//! offering something.
use ringway_model::{ShareName, ShareThere, ShareTrouble};

use super::fields::{number, pages, share_name, trouble};
use super::get::{self, GetRefusal};
use super::plan::PlannedPage;
use super::ranges::BytesPage;
use crate::ProtocolError;
use crate::bytes::{Put, Reader};
use crate::entries::{Depth, EntriesPage};
use crate::lane::Timestamp;
use crate::limits::{PATH_MAX, RANGE_BYTES_MAX, SHARES_MAX};
use crate::name::RelPath;

/// A question about the shares of the device that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// Which shares the device that asks may read.
    Shares,
    /// What is at a path in one of them.
    Entries(EntriesWanted),
    /// A part of a file in one of them.
    Range(RangeWanted),
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
    /// Only entries whose status (ctime, inode(7)) has changed since then, by the clock of the
    /// device that answers. A folder that is among them may have lost names.
    pub changed_since: Option<Timestamp>,
    /// Pages that may be sent before [`MorePages`](super::Message::MorePages), 1 to
    /// [`PAGES_AHEAD_MAX`](crate::limits::PAGES_AHEAD_MAX).
    pub pages: u8,
}

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeWanted {
    /// The share.
    pub share: ShareName,
    /// The path in it, a [`RelPath`].
    pub path: Vec<u8>,
    /// Where it begins.
    pub offset: u64,
    /// Bytes, 1 to [`RANGE_BYTES_MAX`]. There are fewer where the file ends.
    pub len: u32,
}

/// An answer, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The shares, by name. Nothing follows.
    Shares(Vec<ShareThere>),
    /// The next entries. More follow unless it is the last page.
    Entries(EntriesPage),
    /// The next bytes of the part. More follow unless it is the last page.
    Bytes(BytesPage),
    /// There is no answer, or no further part of one.
    Refused(NoAnswer),
    /// The next entries of a plan. More follow unless it is the last page.
    Planned(PlannedPage),
    /// What was to be planned cannot be had.
    NotPlanned(GetRefusal),
}

impl Answer {
    /// Whether it is a page: of those, one at a time waits to be sent.
    pub fn is_page(&self) -> bool {
        matches!(self, Self::Entries(_) | Self::Bytes(_) | Self::Planned(_))
    }

    /// Whether nothing follows it.
    pub fn is_last(&self) -> bool {
        match self {
            Self::Entries(page) => page.is_last(),
            Self::Bytes(page) => page.is_last(),
            Self::Planned(page) => page.counts.is_some(),
            Self::Shares(_) | Self::Refused(_) | Self::NotPlanned(_) => true,
        }
    }
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
            Self::Entries(EntriesWanted { share, path, depth, changed_since, pages }) => {
                out.put_u8(1);
                out.put_short_bytes(share.as_str().as_bytes());
                out.put_short_bytes(path);
                out.put_u8(match depth {
                    Depth::Itself => 0,
                    Depth::Folder => 1,
                    Depth::Tree => 2,
                });
                out.put_u8(*pages);
                out.put_bool(changed_since.is_some());
                changed_since.iter().for_each(|since| since.encode(out));
            }
            Self::Range(RangeWanted { share, path, offset, len }) => {
                out.put_u8(2);
                out.put_short_bytes(share.as_str().as_bytes());
                out.put_short_bytes(path);
                out.put_u64(*offset);
                out.put_u32(*len);
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
                changed_since: reader.bool("moment")?.then(|| Timestamp::decode(reader)).transpose()?,
            })),
            2 => Ok(Self::Range(RangeWanted {
                share: share_name(reader)?,
                path: RelPath::new(reader.short_bytes("path", PATH_MAX)?)?.as_bytes().to_vec(),
                offset: reader.u64()?,
                len: match reader.u32()? {
                    len @ 1..=RANGE_BYTES_MAX => len,
                    _ => return Err(ProtocolError::BadValue("bytes of a file")),
                },
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
                for ShareThere { name, drop, unavailable, drop_trouble } in shares {
                    out.put_short_bytes(name.as_str().as_bytes());
                    out.put_bool(*drop);
                    out.put_u8(unavailable.map_or(0, number));
                    out.put_u8(drop_trouble.map_or(0, number));
                }
            }
            Self::Entries(page) => {
                out.put_u8(1);
                page.encode(out);
            }
            Self::Bytes(page) => {
                out.put_u8(5);
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
            Self::Planned(page) => {
                out.put_u8(3);
                page.encode(out);
            }
            Self::NotPlanned(refusal) => {
                out.put_u8(4);
                get::encode_refusal(*refusal, out);
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
                    let mut why = || match reader.u8()? {
                        0 => Ok(None),
                        value => trouble(value).map(Some),
                    };
                    Ok(ShareThere { name, drop, unavailable: why()?, drop_trouble: why()? })
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
            3 => Self::Planned(PlannedPage::decode(reader)?),
            4 => Self::NotPlanned(get::decode_refusal(reader)?),
            5 => Self::Bytes(BytesPage::decode(reader)?),
            value => return Err(ProtocolError::Unknown { what: "answer", value }),
        })
    }
}
