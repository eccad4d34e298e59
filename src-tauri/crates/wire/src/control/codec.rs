//! Control messages as bytes: framed, with every field bounded as it is read.
use std::num::NonZeroU32;

use ringway_model::{DeclineReason, Shortage};

use super::fields::{decode_counts, decode_failed, decode_shown_path, encode_counts, encode_failed, pages};
use super::{
    Accept, Answer, Cancel, EntryKept, Hello, Message, Micros, NotePage, Offer, PathCodes, Progress, Proven, Question,
    Receipt, ReceiverTimes, Refusal, SenderTimes, Ticket, Totals, Wanted, get, in_share, note,
};
use crate::ProtocolError;
use crate::bytes::{Put, Reader};
use crate::lane::FILE_SIZE_MAX;
use crate::limits::{
    BATCH_ITEMS_MAX, CONTROL_FRAME_MAX, HAS_MAX, LANES_MAX, NAME_MAX, OFFER_NAMES_MAX, OFFERED_NAMES_MAX,
    OFFERED_PAGE_BYTES_MAX, PATH_MAX, SELECTED_PAGE_BYTES_MAX,
};
use crate::listing::ListingPage;
use crate::name::{DeviceName, Name, RelPath};
use crate::pair::{Confirmation, PakeMessage};
use crate::stretches::Stretches;

/// Bytes before every control message: its length without them, as a little-endian `u32`.
pub const FRAME_PREFIX_LEN: usize = 4;

impl Message {
    /// Appends the framed message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.put_u32(0);
        self.encode_payload(out);
        let len = out.len() - start - FRAME_PREFIX_LEN;
        assert!(len <= CONTROL_FRAME_MAX, "bounded fields cannot make a message of {len} bytes");
        out[start..start + FRAME_PREFIX_LEN].copy_from_slice(&(len as u32).to_le_bytes());
    }

    /// The length of the message after a prefix, checked against the limit.
    pub fn payload_len(prefix: [u8; FRAME_PREFIX_LEN]) -> Result<usize, ProtocolError> {
        let len = u32::from_le_bytes(prefix);
        match len as usize {
            0 => Err(ProtocolError::Truncated),
            len if len <= CONTROL_FRAME_MAX => Ok(len),
            _ => Err(ProtocolError::TooLarge {
                what: "control message",
                value: len.into(),
                limit: CONTROL_FRAME_MAX as u64,
            }),
        }
    }

    fn encode_payload(&self, out: &mut Vec<u8>) {
        match self {
            Self::Hello(hello) => {
                out.put_u8(1);
                out.put_u16(hello.version);
                out.put_short_bytes(hello.name.as_str().as_bytes());
                out.put_bool(hello.known);
                out.put_bool(hello.pairing);
            }
            Self::Refused(refusal) => {
                out.put_u8(2);
                encode_refusal(*refusal, out);
            }
            Self::PairStart(message) => {
                out.put_u8(3);
                out.put_short_bytes(message.as_bytes());
            }
            Self::PairReply(message) => {
                out.put_u8(4);
                out.put_short_bytes(message.as_bytes());
            }
            Self::PairConfirm(confirmation) => {
                out.put_u8(5);
                out.put_short_bytes(confirmation.as_bytes());
            }
            Self::PairDone => out.put_u8(6),
            Self::Paired => out.put_u8(7),
            Self::Offer(offer) => {
                out.put_u8(8);
                encode_offer(offer, out);
            }
            Self::ReceiptWanted(transfer) => {
                out.put_u8(28);
                out.extend_from_slice(transfer);
            }
            Self::NoReceipt => out.put_u8(29),
            Self::Get(get) => {
                out.put_u8(44);
                get::encode(get, out);
            }
            Self::GetRefused(refusal) => {
                out.put_u8(45);
                get::encode_refusal(*refusal, out);
            }
            Self::Selected(paths) => {
                out.put_u8(46);
                encode_names(paths, out);
            }
            Self::Note(head) => {
                out.put_u8(47);
                note::encode(*head, out);
            }
            Self::NotePage(page) => {
                out.put_u8(48);
                page.encode(out);
            }
            Self::NoteKept => out.put_u8(49),
            Self::Queued(place) => {
                out.put_u8(30);
                out.put_u32(place.get());
            }
            Self::OfferNames(names) => {
                out.put_u8(26);
                encode_names(names, out);
            }
            Self::OfferListing(page) => {
                out.put_u8(31);
                page.encode(out);
            }
            Self::Accept(accept) => {
                out.put_u8(9);
                out.put_u8(accept.lanes);
                match accept.doubts {
                    Some(from) if accept.lists => {
                        out.put_u8(2);
                        out.put_i64(from);
                    }
                    _ => out.put_bool(accept.lists),
                }
                out.put_bool(accept.owner_names);
            }
            Self::Decline(decline) => {
                out.put_u8(10);
                encode_decline(*decline, out);
            }
            Self::PathTaken(codes) => {
                out.put_u8(11);
                out.put_u8(codes.tls);
                out.put_i32(codes.tls_errno);
                out.put_u8(codes.io);
                out.put_i32(codes.io_errno);
            }
            Self::Totals(totals) => {
                out.put_u8(12);
                encode_totals(totals, out);
            }
            Self::Progress(progress) => {
                out.put_u8(13);
                out.put_u64(progress.entries);
                out.put_u64(progress.bytes);
            }
            Self::EntryFailed(failed) => {
                out.put_u8(14);
                encode_failed(failed, out);
            }
            Self::Finish { sent, failed, lanes } => {
                out.put_u8(15);
                encode_counts(sent, out);
                out.put_u64(*failed);
                out.put_u8(*lanes);
            }
            Self::Receipt(receipt) => {
                out.put_u8(16);
                encode_counts(&receipt.there, out);
                out.put_u64(receipt.moved);
                out.put_u64(receipt.unchanged);
                out.put_u64(receipt.skipped);
                out.put_u64(receipt.skipped_bytes);
                out.put_u64(receipt.reused);
                out.put_u64(receipt.edited);
                out.put_u64(receipt.failed);
                out.put_u64(receipt.acls_lost);
                out.put_u64(receipt.owners_by_number);
                out.put_bool(receipt.proven.is_some());
                if let Some(Proven { files, bytes, took }) = receipt.proven {
                    out.put_u64(files);
                    out.put_u64(bytes);
                    encode_times([took], out);
                }
            }
            Self::Cancel(cancel) => {
                out.put_u8(17);
                out.put_u8(match cancel {
                    Cancel::Failed => 0,
                    Cancel::ByPerson => 1,
                    Cancel::DestinationFull(_) => 2,
                    Cancel::ConnectionLost => 3,
                    Cancel::TooMuch(_) => 4,
                    Cancel::Paused => 5,
                    Cancel::ByPersonKeeping => 6,
                    Cancel::NotShared => 7,
                });
                match cancel {
                    Cancel::DestinationFull(shortage) => encode_shortage(*shortage, out),
                    Cancel::TooMuch(bytes_max) => out.put_u64(*bytes_max),
                    Cancel::ByPerson
                    | Cancel::ByPersonKeeping
                    | Cancel::Failed
                    | Cancel::ConnectionLost
                    | Cancel::Paused
                    | Cancel::NotShared => {}
                }
            }
            Self::Ping => out.put_u8(18),
            Self::Pong => out.put_u8(19),
            Self::LaneJoin { transfer, lane, connection, ticket } => {
                out.put_u8(20);
                out.extend_from_slice(transfer);
                out.put_u8(*lane);
                out.put_u16(*connection);
                out.extend_from_slice(&ticket.0);
            }
            Self::LaneReady => out.put_u8(21),
            Self::SenderTimes(times) => {
                out.put_u8(22);
                let SenderTimes { finding, reading, encrypting, sending, limited } = *times;
                encode_times([finding, reading, encrypting, sending, limited], out);
            }
            Self::ReceiverTimes(times) => {
                out.put_u8(23);
                let ReceiverTimes { receiving, decrypting, writing } = *times;
                encode_times([receiving, decrypting, writing], out);
            }
            Self::Wanted(wanted) => {
                out.put_u8(24);
                encode_wanted(wanted, out);
            }
            Self::Proving(progress) => {
                out.put_u8(25);
                out.put_u64(progress.entries);
                out.put_u64(progress.bytes);
            }
            Self::EntryKept(kept) => {
                out.put_u8(27);
                out.put_short_bytes(&kept.path);
                out.put_short_bytes(&kept.beside);
            }
            Self::Asked { number, question } => {
                out.put_u8(40);
                out.put_u32(*number);
                question.encode(out);
            }
            Self::Answered { number, answer } => {
                out.put_u8(41);
                out.put_u32(*number);
                answer.encode(out);
            }
            Self::MorePages { number, pages } => {
                out.put_u8(42);
                out.put_u32(*number);
                out.put_u8(*pages);
            }
            Self::NotWanted { number } => {
                out.put_u8(43);
                out.put_u32(*number);
            }
        }
    }

    /// Reads one message from its payload, without the prefix.
    pub fn decode(payload: &[u8]) -> Result<Self, ProtocolError> {
        let mut reader = Reader::new(payload);
        let message = decode_payload(&mut reader)?;
        reader.finish()?;
        Ok(message)
    }
}

fn decode_payload(reader: &mut Reader<'_>) -> Result<Message, ProtocolError> {
    Ok(match reader.u8()? {
        1 => Message::Hello(Hello {
            version: reader.u16()?,
            name: decode_device_name(reader)?,
            known: reader.bool("known")?,
            pairing: reader.bool("pairing")?,
        }),
        2 => Message::Refused(decode_refusal(reader)?),
        3 => Message::PairStart(decode_pake(reader)?),
        4 => Message::PairReply(decode_pake(reader)?),
        5 => Message::PairConfirm(
            Confirmation::from_slice(reader.short_bytes("confirmation", 64)?)
                .map_err(|_| ProtocolError::BadValue("confirmation"))?,
        ),
        6 => Message::PairDone,
        7 => Message::Paired,
        8 => Message::Offer(decode_offer(reader)?),
        9 => {
            let lanes = decode_lanes(reader)?;
            let (lists, doubts) = match reader.u8()? {
                0 => (false, None),
                1 => (true, None),
                2 => (true, Some(reader.i64()?)),
                _ => return Err(ProtocolError::BadValue("lists")),
            };
            Message::Accept(Accept { lanes, lists, doubts, owner_names: reader.bool("owner names")? })
        }
        10 => Message::Decline(decode_decline(reader)?),
        11 => Message::PathTaken(PathCodes {
            tls: reader.u8()?,
            tls_errno: reader.i32()?,
            io: reader.u8()?,
            io_errno: reader.i32()?,
        }),
        12 => Message::Totals(decode_totals(reader)?),
        13 => Message::Progress(decode_progress(reader)?),
        14 => Message::EntryFailed(decode_failed(reader)?),
        15 => Message::Finish {
            sent: decode_counts(reader)?,
            failed: reader.entries("failed entries")?,
            lanes: decode_lanes(reader)?,
        },
        16 => Message::Receipt(decode_receipt(reader)?),
        17 => Message::Cancel(match reader.u8()? {
            0 => Cancel::Failed,
            1 => Cancel::ByPerson,
            2 => Cancel::DestinationFull(decode_shortage(reader)?),
            3 => Cancel::ConnectionLost,
            4 => Cancel::TooMuch(reader.u64()?),
            5 => Cancel::Paused,
            6 => Cancel::ByPersonKeeping,
            7 => Cancel::NotShared,
            value => return Err(ProtocolError::Unknown { what: "cancel", value }),
        }),
        18 => Message::Ping,
        19 => Message::Pong,
        20 => Message::LaneJoin {
            transfer: reader.array()?,
            lane: reader.u8()?,
            connection: reader.u16()?,
            ticket: Ticket(reader.array()?),
        },
        21 => Message::LaneReady,
        22 => {
            let [finding, reading, encrypting, sending, limited] = decode_times(reader)?;
            Message::SenderTimes(SenderTimes { finding, reading, encrypting, sending, limited })
        }
        23 => {
            let [receiving, decrypting, writing] = decode_times(reader)?;
            Message::ReceiverTimes(ReceiverTimes { receiving, decrypting, writing })
        }
        24 => Message::Wanted(decode_wanted(reader)?),
        25 => Message::Proving(decode_progress(reader)?),
        26 => match decode_names(reader, OFFERED_PAGE_BYTES_MAX)? {
            // With empty pages, a sender could send pages forever.
            names if names.is_empty() => return Err(ProtocolError::BadValue("offered names")),
            names => Message::OfferNames(names),
        },
        27 => Message::EntryKept(EntryKept {
            path: decode_shown_path(reader)?,
            beside: Name::new(reader.short_bytes("name", NAME_MAX)?)?.as_bytes().to_vec(),
        }),
        28 => Message::ReceiptWanted(reader.array()?),
        29 => Message::NoReceipt,
        30 => Message::Queued(NonZeroU32::new(reader.u32()?).ok_or(ProtocolError::BadValue("place in the queue"))?),
        31 => Message::OfferListing(ListingPage::decode(reader)?),
        40 => Message::Asked { number: reader.u32()?, question: Question::decode(reader)? },
        41 => Message::Answered { number: reader.u32()?, answer: Answer::decode(reader)? },
        42 => Message::MorePages { number: reader.u32()?, pages: pages(reader)? },
        43 => Message::NotWanted { number: reader.u32()? },
        44 => Message::Get(get::decode(reader, decode_lanes)?),
        45 => Message::GetRefused(get::decode_refusal(reader)?),
        46 => Message::Selected(decode_selected(reader)?),
        47 => Message::Note(note::decode(reader)?),
        48 => Message::NotePage(NotePage::decode(reader)?),
        49 => Message::NoteKept,
        value => return Err(ProtocolError::Unknown { what: "message", value }),
    })
}

fn decode_device_name(reader: &mut Reader<'_>) -> Result<DeviceName, ProtocolError> {
    let bytes = reader.short_bytes("device name", crate::limits::DEVICE_NAME_MAX)?;
    DeviceName::new(std::str::from_utf8(bytes).map_err(|_| ProtocolError::BadText)?)
}

fn decode_pake(reader: &mut Reader<'_>) -> Result<PakeMessage, ProtocolError> {
    let bytes = reader.short_bytes("pairing message", 64)?;
    PakeMessage::from_slice(bytes).map_err(|_| ProtocolError::BadValue("pairing message"))
}

fn decode_lanes(reader: &mut Reader<'_>) -> Result<u8, ProtocolError> {
    match reader.u8()? {
        0 => Err(ProtocolError::BadValue("lanes")),
        lanes if lanes <= LANES_MAX => Ok(lanes),
        lanes => Err(ProtocolError::TooLarge { what: "lanes", value: lanes.into(), limit: LANES_MAX.into() }),
    }
}

fn encode_names(names: &[Vec<u8>], out: &mut Vec<u8>) {
    out.put_u16(names.len() as u16);
    for name in names {
        out.put_short_bytes(name);
    }
}

fn decode_names(reader: &mut Reader<'_>, count_max: usize) -> Result<Vec<Vec<u8>>, ProtocolError> {
    let count = usize::from(reader.u16()?);
    if count > count_max {
        let limit = count_max as u64;
        return Err(ProtocolError::TooLarge { what: "offered names", value: count as u64, limit });
    }
    (0..count).map(|_| Ok(Name::new(reader.short_bytes("name", NAME_MAX)?)?.as_bytes().to_vec())).collect()
}

/// A page of selected paths. With empty pages, a requester could send pages forever.
fn decode_selected(reader: &mut Reader<'_>) -> Result<Vec<Vec<u8>>, ProtocolError> {
    let count = usize::from(reader.u16()?);
    if count == 0 {
        return Err(ProtocolError::BadValue("selected paths"));
    }
    if count > SELECTED_PAGE_BYTES_MAX {
        let (value, limit) = (count as u64, SELECTED_PAGE_BYTES_MAX as u64);
        return Err(ProtocolError::TooLarge { what: "selected paths", value, limit });
    }
    (0..count).map(|_| Ok(RelPath::new(reader.short_bytes("path", PATH_MAX)?)?.as_bytes().to_vec())).collect()
}

fn encode_offer(offer: &Offer, out: &mut Vec<u8>) {
    out.extend_from_slice(&offer.transfer);
    encode_names(&offer.names, out);
    out.put_u64(offer.more_names);
    encode_totals(&offer.so_far, out);
    out.put_u8(offer.lanes);
    out.put_bool(offer.prove);
    out.put_u32(offer.retry_s);
    in_share::encode(offer.in_share.as_ref(), out);
}

fn decode_offer(reader: &mut Reader<'_>) -> Result<Offer, ProtocolError> {
    let transfer = reader.array()?;
    let names = decode_names(reader, OFFER_NAMES_MAX)?;
    let more_names = reader.u64()?;
    let limit = OFFERED_NAMES_MAX as u64;
    if more_names > limit {
        return Err(ProtocolError::TooLarge { what: "number of offered names", value: more_names, limit });
    }
    Ok(Offer {
        transfer,
        names,
        more_names,
        so_far: decode_totals(reader)?,
        lanes: decode_lanes(reader)?,
        prove: reader.bool("prove")?,
        retry_s: reader.u32()?,
        in_share: in_share::decode(reader)?,
    })
}

fn encode_totals(totals: &Totals, out: &mut Vec<u8>) {
    out.put_u64(totals.entries);
    out.put_u64(totals.bytes);
    out.put_bool(totals.complete);
}

fn decode_totals(reader: &mut Reader<'_>) -> Result<Totals, ProtocolError> {
    Ok(Totals { entries: reader.entries("entries")?, bytes: reader.u64()?, complete: reader.bool("complete")? })
}

fn decode_progress(reader: &mut Reader<'_>) -> Result<Progress, ProtocolError> {
    Ok(Progress { entries: reader.entries("entries")?, bytes: reader.u64()? })
}

fn encode_times<const N: usize>(times: [Micros; N], out: &mut Vec<u8>) {
    times.iter().for_each(|time| out.put_u64(time.0));
}

fn decode_times<const N: usize>(reader: &mut Reader<'_>) -> Result<[Micros; N], ProtocolError> {
    let mut times = [Micros::default(); N];
    for time in &mut times {
        *time = Micros::new(reader.u64()?)?;
    }
    Ok(times)
}

/// No more can be proven than is there.
fn decode_receipt(reader: &mut Reader<'_>) -> Result<Receipt, ProtocolError> {
    let (there, moved, unchanged) = (decode_counts(reader)?, reader.u64()?, reader.entries("unchanged entries")?);
    let (skipped, skipped_bytes) = (reader.entries("skipped entries")?, reader.u64()?);
    let (reused, edited, failed) = (reader.u64()?, reader.entries("kept entries")?, reader.entries("failed entries")?);
    let acls_lost = reader.entries("lost access control lists")?;
    let owners_by_number = reader.entries("owners by number")?;
    // Beside each edited entry is an entry that was sent.
    if edited > there.files.saturating_add(there.links) {
        return Err(ProtocolError::BadValue("kept entries"));
    }
    let proven = match reader.bool("proof")? {
        false => None,
        true => {
            let (files, bytes, [took]) = (reader.u64()?, reader.u64()?, decode_times(reader)?);
            if files > there.files || bytes > there.bytes {
                return Err(ProtocolError::BadValue("proof"));
            }
            Some(Proven { files, bytes, took })
        }
    };
    Ok(Receipt {
        there,
        moved,
        unchanged,
        skipped,
        skipped_bytes,
        reused,
        edited,
        failed,
        acls_lost,
        owners_by_number,
        proven,
    })
}

fn encode_refusal(refusal: Refusal, out: &mut Vec<u8>) {
    match refusal {
        Refusal::WrongCode => out.put_u8(1),
        Refusal::NoCodeOpen => out.put_u8(2),
        Refusal::PairingBusy(wait_ms) => {
            out.put_u8(3);
            out.put_u32(wait_ms);
        }
        Refusal::NotPaired => out.put_u8(4),
        Refusal::Ourselves => out.put_u8(5),
        Refusal::Version => out.put_u8(6),
    }
}

fn decode_refusal(reader: &mut Reader<'_>) -> Result<Refusal, ProtocolError> {
    Ok(match reader.u8()? {
        1 => Refusal::WrongCode,
        2 => Refusal::NoCodeOpen,
        3 => Refusal::PairingBusy(reader.u32()?),
        4 => Refusal::NotPaired,
        5 => Refusal::Ourselves,
        6 => Refusal::Version,
        value => return Err(ProtocolError::Unknown { what: "refusal", value }),
    })
}

fn encode_shortage(shortage: Shortage, out: &mut Vec<u8>) {
    out.put_u64(shortage.needed);
    out.put_u64(shortage.free);
    out.put_u64(shortage.entries);
}

fn decode_shortage(reader: &mut Reader<'_>) -> Result<Shortage, ProtocolError> {
    Ok(Shortage { needed: reader.u64()?, free: reader.u64()?, entries: reader.u64()? })
}

fn encode_decline(decline: DeclineReason, out: &mut Vec<u8>) {
    match decline {
        DeclineReason::ByChoice => out.put_u8(1),
        DeclineReason::NoAnswer => out.put_u8(2),
        DeclineReason::NoRoom(shortage) => {
            out.put_u8(3);
            encode_shortage(shortage, out);
        }
        DeclineReason::NotWritable => out.put_u8(4),
        DeclineReason::Busy => out.put_u8(5),
        DeclineReason::Paused => out.put_u8(6),
        DeclineReason::Stopped => out.put_u8(7),
        DeclineReason::TooManyOffers { wait_ms } => {
            out.put_u8(8);
            out.put_u32(wait_ms);
        }
        DeclineReason::TooManyNotes { wait_ms } => {
            out.put_u8(9);
            out.put_u32(wait_ms);
        }
        DeclineReason::NotesFull => out.put_u8(10),
    }
}

fn decode_decline(reader: &mut Reader<'_>) -> Result<DeclineReason, ProtocolError> {
    Ok(match reader.u8()? {
        1 => DeclineReason::ByChoice,
        2 => DeclineReason::NoAnswer,
        3 => DeclineReason::NoRoom(decode_shortage(reader)?),
        4 => DeclineReason::NotWritable,
        5 => DeclineReason::Busy,
        6 => DeclineReason::Paused,
        7 => DeclineReason::Stopped,
        8 => DeclineReason::TooManyOffers { wait_ms: reader.u32()? },
        9 => DeclineReason::TooManyNotes { wait_ms: reader.u32()? },
        10 => DeclineReason::NotesFull,
        value => return Err(ProtocolError::Unknown { what: "decline", value }),
    })
}

/// A bit for each file or chunk, beginning with the lowest bit.
fn encode_wanted(wanted: &Wanted, out: &mut Vec<u8>) {
    out.put_u32(wanted.list);
    out.put_u16(wanted.files.len() as u16);
    encode_flags(&wanted.files, out);
    out.put_u16(wanted.has.len() as u16);
    for stretch in wanted.has.iter() {
        out.put_u64(stretch.start);
        out.put_u64(stretch.end);
    }
    out.put_u64(wanted.basis);
    out.put_bool(!wanted.kept.is_empty());
    encode_flags(&wanted.kept, out);
}

fn encode_flags(flags: &[bool], out: &mut Vec<u8>) {
    for flags in flags.chunks(8) {
        out.put_u8(flags.iter().rev().fold(0, |byte, flag| byte << 1 | u8::from(*flag)));
    }
}

fn decode_flags(reader: &mut Reader<'_>, len: usize) -> Result<Vec<bool>, ProtocolError> {
    let bytes = reader.take(len.div_ceil(8))?;
    if !len.is_multiple_of(8) && bytes.last().is_some_and(|last| last >> (len % 8) != 0) {
        return Err(ProtocolError::BadValue("answer to a list"));
    }
    Ok((0..len).map(|at| bytes[at / 8] >> (at % 8) & 1 == 1).collect())
}

fn decode_wanted(reader: &mut Reader<'_>) -> Result<Wanted, ProtocolError> {
    let list = reader.u32()?;
    let len = usize::from(reader.u16()?);
    if len == 0 {
        return Err(ProtocolError::BadValue("answer to a list"));
    }
    if len > BATCH_ITEMS_MAX {
        let limit = BATCH_ITEMS_MAX as u64;
        return Err(ProtocolError::TooLarge { what: "listed files", value: len as u64, limit });
    }
    let files = decode_flags(reader, len)?;
    let (has, basis) = (decode_stretches(reader)?, reader.u64()?);
    if (!has.is_empty() || basis > 0) && files != [true] || basis > FILE_SIZE_MAX {
        return Err(ProtocolError::BadValue("answer to a list"));
    }
    let kept = if reader.bool("kept")? { decode_flags(reader, len)? } else { Vec::new() };
    let both = files.iter().zip(&kept).any(|(wanted, kept)| *wanted && *kept);
    if both || (!kept.is_empty() && !kept.contains(&true)) {
        return Err(ProtocolError::BadValue("answer to a list"));
    }
    Ok(Wanted { list, files, has, basis, kept })
}

/// Stretches of a file, in order. No two of them touch.
fn decode_stretches(reader: &mut Reader<'_>) -> Result<Stretches, ProtocolError> {
    let len = usize::from(reader.u16()?);
    if len > HAS_MAX {
        return Err(ProtocolError::TooLarge { what: "stretches", value: len as u64, limit: HAS_MAX as u64 });
    }
    let mut stretches = Stretches::default();
    let mut before = None;
    for _ in 0..len {
        let (start, end) = (reader.u64()?, reader.u64()?);
        if before.is_some_and(|before| start <= before) || start >= end || end > FILE_SIZE_MAX {
            return Err(ProtocolError::BadValue("stretches"));
        }
        before = Some(end);
        stretches.add(start, end);
    }
    Ok(stretches)
}
