//! Control messages and their codec: what a session says on its own connection. Small, bounded, versioned.
use std::time::Duration;

use crate::ProtocolError;
use crate::bytes::{Put, Reader};
use crate::lane::Counts;
use crate::limits::{CONTROL_FRAME_MAX, LANES_MAX, NAME_MAX, OFFER_NAMES_MAX, PATH_MAX};
use crate::name::{DeviceName, Name, RelPath};
use crate::pair::{Confirmation, PakeMessage};

/// Bytes in front of every control message: its length without them, `u32` little-endian.
pub const FRAME_PREFIX_LEN: usize = 4;

/// A transfer's identity.
pub type TransferId = [u8; 16];

/// A lane's proof of holding the session: HKDF of its TLS exporter. Compared in constant time, never shown.
#[derive(Clone, Copy)]
pub struct Ticket(pub [u8; 32]);

impl PartialEq for Ticket {
    fn eq(&self, other: &Self) -> bool {
        subtle::ConstantTimeEq::ct_eq(&self.0[..], &other.0[..]).into()
    }
}

impl Eq for Ticket {}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ticket(..)")
    }
}

/// What each side says first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// Protocol version.
    pub version: u16,
    /// What the device calls itself.
    pub name: DeviceName,
    /// Where the device listens, so that it can be reached later; 0 if nowhere.
    pub port: u16,
    /// Whether the sender of this message knows the other's key.
    pub known: bool,
    /// From the acceptor: whether it would pair now. From the initiator: whether it wants to (it has a code).
    pub pairing: bool,
}

/// How a device introduces itself in its [`Hello`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// Its name.
    pub name: DeviceName,
    /// Where it listens; 0 if nowhere.
    pub port: u16,
}

impl Greeting {
    pub(crate) fn hello(&self, known: bool, pairing: bool) -> Message {
        let (name, port) = (self.name.clone(), self.port);
        Message::Hello(Hello { version: crate::limits::VERSION, name, port, known, pairing })
    }
}

/// Why the acceptor does not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The code was wrong.
    WrongCode,
    /// No code is open: expired, burnt, or pairing is off.
    NoCodeOpen,
    /// Another attempt is under way or tries come too fast: milliseconds to wait.
    PairingBusy(u32),
    /// Another device is known by the name that the initiator calls itself.
    NameTaken,
    /// The initiator offers without being known.
    NotPaired,
    /// The initiator is this device.
    Ourselves,
    /// No common version; the acceptor's is in its hello.
    Version,
}

/// Why an offer is declined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decline {
    /// By a person or their rule.
    ByChoice,
    /// Nobody answered.
    NoAnswer,
    /// Not enough room.
    NoRoom {
        /// Bytes needed.
        needed: u64,
        /// Bytes free.
        free: u64,
    },
    /// The destination cannot be written to.
    NotWritable,
    /// Too many transfers.
    Busy,
}

/// Which path one end takes, as codes that the engine gives meaning to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PathCodes {
    /// 0 kernel TLS, else a reason for userspace.
    pub tls: u8,
    /// errno that goes with some reasons.
    pub tls_errno: i32,
    /// 0 io_uring, else a reason for plain system calls.
    pub io: u8,
    /// errno that goes with some reasons.
    pub io_errno: i32,
}

/// What a sender proposes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The transfer's id, drawn by the sender.
    pub transfer: TransferId,
    /// Top-level names: the first [`OFFER_NAMES_MAX`].
    pub names: Vec<Vec<u8>>,
    /// Top-level names beyond those.
    pub more_names: u64,
    /// What the walk has found so far.
    pub so_far: Totals,
    /// Lanes the sender would open at most.
    pub lanes: u8,
}

/// What the walk has found so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Files, folders and links.
    pub entries: u64,
    /// Bytes of file contents.
    pub bytes: u64,
    /// Whether the walk has ended.
    pub complete: bool,
}

/// The acceptor's yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accept {
    /// Lanes to open at most, 1 to what was offered; when is the sender's business.
    pub lanes: u8,
}

/// Why a session is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancel {
    /// A person did.
    ByPerson,
    /// Something failed at the side that says so.
    Failed,
    /// The destination has no room left.
    DestinationFull,
}

/// What the receiver has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Entries written (or found to be there already).
    pub entries: u64,
    /// Bytes of those.
    pub bytes: u64,
}

/// A stretch of time in microseconds, bounded so that sums of a few cannot overflow: 16 lanes for more than a hundred years.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Micros(u64);

impl Micros {
    /// The longest.
    pub const MAX: Self = Self(1 << 56);

    /// Checks the bound.
    pub fn new(micros: u64) -> Result<Self, ProtocolError> {
        match micros {
            micros if micros <= Self::MAX.0 => Ok(Self(micros)),
            value => Err(ProtocolError::TooLarge { what: "time", value, limit: Self::MAX.0 }),
        }
    }
}

impl From<Duration> for Micros {
    /// What is longer than the longest becomes the longest.
    fn from(time: Duration) -> Self {
        u64::try_from(time.as_micros()).map_or(Self::MAX, |micros| Self(micros.min(Self::MAX.0)))
    }
}

impl From<Micros> for Duration {
    fn from(time: Micros) -> Self {
        Self::from_micros(time.0)
    }
}

/// Where a sender's lanes have spent their time so far, summed over the lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SenderTimes {
    /// Waiting for the walk to find something.
    pub finding: Micros,
    /// Reading files.
    pub reading: Micros,
    /// On the processor between file and network: encrypting, handing over to the socket.
    pub encrypting: Micros,
    /// Waiting for the network to take more.
    pub sending: Micros,
    /// Waiting because of a limit of its own.
    pub limited: Micros,
}

/// Where a receiver's lanes have spent their time so far, summed over the lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceiverTimes {
    /// Waiting for the network to bring more.
    pub receiving: Micros,
    /// On the processor between network and file: taking from the socket, decrypting.
    pub decrypting: Micros,
    /// Writing files.
    pub writing: Micros,
}

/// One entry that failed at the message's sender. Operation and reason are codes that the engine gives meaning to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryFailed {
    /// The path within the transfer. As the sender of the message has it: shown, never opened.
    pub path: Vec<u8>,
    /// Operation code.
    pub operation: u8,
    /// Reason code.
    pub reason: u8,
    /// errno that goes with some reasons.
    pub errno: i32,
}

/// The receiver's signed-off count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Receipt {
    /// What is there now under its final name, and synchronised.
    pub there: Counts,
    /// Files that were there before, equal or kept.
    pub unchanged: u64,
    /// Entries that failed at the receiver, named or not.
    pub failed: u64,
}

/// A control message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Each side's first.
    Hello(Hello),
    /// The acceptor ends it.
    Refused(Refusal),
    /// Initiator's PAKE message.
    PairStart(PakeMessage),
    /// Acceptor's PAKE message.
    PairReply(PakeMessage),
    /// Key confirmation, initiator first.
    PairConfirm(Confirmation),
    /// Initiator: the acceptor's confirmation was right.
    PairDone,
    /// Acceptor: both are paired.
    Paired,
    /// Sender: a proposal.
    Offer(Offer),
    /// Receiver: yes.
    Accept(Accept),
    /// Receiver: no.
    Decline(Decline),
    /// Which path this end's lanes took.
    PathTaken(PathCodes),
    /// Sender: the walk so far.
    Totals(Totals),
    /// Receiver: the writing so far.
    Progress(Progress),
    /// Either: one entry failed here.
    EntryFailed(EntryFailed),
    /// Sender: everything was handed to the lanes.
    Finish {
        /// What was sent.
        sent: Counts,
        /// Entries that failed at the sender.
        failed: u64,
        /// Lanes that it opened, 1 to what was accepted.
        lanes: u8,
    },
    /// Receiver: it is there.
    Receipt(Receipt),
    /// Either: stop.
    Cancel(Cancel),
    /// Either, when idle.
    Ping,
    /// The answer.
    Pong,
    /// First on a lane's connection instead of `Hello`.
    LaneJoin {
        /// Which transfer.
        transfer: TransferId,
        /// Which lane of it, from 0.
        lane: u8,
        /// Which connection of that lane, from 0: it goes on in another one before its keys are used up.
        connection: u16,
        /// Proof of holding the session.
        ticket: Ticket,
    },
    /// The answer to it; bulk follows.
    LaneReady,
    /// Sender: where its time goes.
    SenderTimes(SenderTimes),
    /// Receiver: where its time goes.
    ReceiverTimes(ReceiverTimes),
}

impl Message {
    /// The message's name, for errors.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Hello(_) => "hello",
            Self::Refused(_) => "refusal",
            Self::PairStart(_) => "pairing start",
            Self::PairReply(_) => "pairing reply",
            Self::PairConfirm(_) => "pairing confirmation",
            Self::PairDone => "pairing end",
            Self::Paired => "pairing acknowledgement",
            Self::Offer(_) => "offer",
            Self::Accept(_) => "accept",
            Self::Decline(_) => "decline",
            Self::PathTaken(_) => "path taken",
            Self::Totals(_) => "totals",
            Self::Progress(_) => "progress",
            Self::EntryFailed(_) => "entry failure",
            Self::Finish { .. } => "finish",
            Self::Receipt(_) => "receipt",
            Self::Cancel(_) => "cancel",
            Self::Ping => "ping",
            Self::Pong => "pong",
            Self::LaneJoin { .. } => "lane join",
            Self::LaneReady => "lane ready",
            Self::SenderTimes(_) => "sender times",
            Self::ReceiverTimes(_) => "receiver times",
        }
    }

    /// Appends the framed message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.put_u32(0);
        self.encode_payload(out);
        let len = out.len() - start - FRAME_PREFIX_LEN;
        assert!(len <= CONTROL_FRAME_MAX, "bounded fields cannot make a message of {len} bytes");
        out[start..start + FRAME_PREFIX_LEN].copy_from_slice(&(len as u32).to_le_bytes());
    }

    /// The length of the message behind a prefix, checked against the limit.
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
                out.put_u16(hello.port);
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
            Self::Accept(accept) => {
                out.put_u8(9);
                out.put_u8(accept.lanes);
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
                out.put_short_bytes(&failed.path);
                out.put_u8(failed.operation);
                out.put_u8(failed.reason);
                out.put_i32(failed.errno);
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
                out.put_u64(receipt.unchanged);
                out.put_u64(receipt.failed);
            }
            Self::Cancel(cancel) => {
                out.put_u8(17);
                out.put_u8(match cancel {
                    Cancel::Failed => 0,
                    Cancel::ByPerson => 1,
                    Cancel::DestinationFull => 2,
                });
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
            port: reader.u16()?,
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
        9 => Message::Accept(Accept { lanes: decode_lanes(reader)? }),
        10 => Message::Decline(decode_decline(reader)?),
        11 => Message::PathTaken(PathCodes {
            tls: reader.u8()?,
            tls_errno: reader.i32()?,
            io: reader.u8()?,
            io_errno: reader.i32()?,
        }),
        12 => Message::Totals(decode_totals(reader)?),
        13 => Message::Progress(Progress { entries: reader.u64()?, bytes: reader.u64()? }),
        14 => Message::EntryFailed(EntryFailed {
            path: decode_shown_path(reader)?,
            operation: reader.u8()?,
            reason: reader.u8()?,
            errno: reader.i32()?,
        }),
        15 => Message::Finish { sent: decode_counts(reader)?, failed: reader.u64()?, lanes: decode_lanes(reader)? },
        16 => {
            Message::Receipt(Receipt { there: decode_counts(reader)?, unchanged: reader.u64()?, failed: reader.u64()? })
        }
        17 => Message::Cancel(match reader.u8()? {
            0 => Cancel::Failed,
            1 => Cancel::ByPerson,
            2 => Cancel::DestinationFull,
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

/// A path in a failure is only shown, but keeps the form of one: an absolute or climbing path has no business here.
fn decode_shown_path(reader: &mut Reader<'_>) -> Result<Vec<u8>, ProtocolError> {
    Ok(RelPath::new(reader.short_bytes("path", PATH_MAX)?)?.as_bytes().to_vec())
}

fn decode_lanes(reader: &mut Reader<'_>) -> Result<u8, ProtocolError> {
    match reader.u8()? {
        0 => Err(ProtocolError::BadValue("lanes")),
        lanes if lanes <= LANES_MAX => Ok(lanes),
        lanes => Err(ProtocolError::TooLarge { what: "lanes", value: lanes.into(), limit: LANES_MAX.into() }),
    }
}

fn encode_offer(offer: &Offer, out: &mut Vec<u8>) {
    out.extend_from_slice(&offer.transfer);
    out.put_u16(offer.names.len() as u16);
    for name in &offer.names {
        out.put_short_bytes(name);
    }
    out.put_u64(offer.more_names);
    encode_totals(&offer.so_far, out);
    out.put_u8(offer.lanes);
}

fn decode_offer(reader: &mut Reader<'_>) -> Result<Offer, ProtocolError> {
    let transfer = reader.array()?;
    let count = usize::from(reader.u16()?);
    if count > OFFER_NAMES_MAX {
        let limit = OFFER_NAMES_MAX as u64;
        return Err(ProtocolError::TooLarge { what: "offered names", value: count as u64, limit });
    }
    let names = (0..count)
        .map(|_| Ok(Name::new(reader.short_bytes("name", NAME_MAX)?)?.as_bytes().to_vec()))
        .collect::<Result<_, ProtocolError>>()?;
    Ok(Offer {
        transfer,
        names,
        more_names: reader.u64()?,
        so_far: decode_totals(reader)?,
        lanes: decode_lanes(reader)?,
    })
}

fn encode_totals(totals: &Totals, out: &mut Vec<u8>) {
    out.put_u64(totals.entries);
    out.put_u64(totals.bytes);
    out.put_bool(totals.complete);
}

fn decode_totals(reader: &mut Reader<'_>) -> Result<Totals, ProtocolError> {
    Ok(Totals { entries: reader.u64()?, bytes: reader.u64()?, complete: reader.bool("complete")? })
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

fn encode_counts(counts: &Counts, out: &mut Vec<u8>) {
    out.put_u64(counts.files);
    out.put_u64(counts.folders);
    out.put_u64(counts.links);
    out.put_u64(counts.bytes);
}

fn decode_counts(reader: &mut Reader<'_>) -> Result<Counts, ProtocolError> {
    Ok(Counts { files: reader.u64()?, folders: reader.u64()?, links: reader.u64()?, bytes: reader.u64()? })
}

fn encode_refusal(refusal: Refusal, out: &mut Vec<u8>) {
    match refusal {
        Refusal::WrongCode => out.put_u8(1),
        Refusal::NoCodeOpen => out.put_u8(2),
        Refusal::PairingBusy(wait_ms) => {
            out.put_u8(3);
            out.put_u32(wait_ms);
        }
        Refusal::NameTaken => out.put_u8(4),
        Refusal::NotPaired => out.put_u8(5),
        Refusal::Ourselves => out.put_u8(6),
        Refusal::Version => out.put_u8(7),
    }
}

fn decode_refusal(reader: &mut Reader<'_>) -> Result<Refusal, ProtocolError> {
    Ok(match reader.u8()? {
        1 => Refusal::WrongCode,
        2 => Refusal::NoCodeOpen,
        3 => Refusal::PairingBusy(reader.u32()?),
        4 => Refusal::NameTaken,
        5 => Refusal::NotPaired,
        6 => Refusal::Ourselves,
        7 => Refusal::Version,
        value => return Err(ProtocolError::Unknown { what: "refusal", value }),
    })
}

fn encode_decline(decline: Decline, out: &mut Vec<u8>) {
    match decline {
        Decline::ByChoice => out.put_u8(1),
        Decline::NoAnswer => out.put_u8(2),
        Decline::NoRoom { needed, free } => {
            out.put_u8(3);
            out.put_u64(needed);
            out.put_u64(free);
        }
        Decline::NotWritable => out.put_u8(4),
        Decline::Busy => out.put_u8(5),
    }
}

fn decode_decline(reader: &mut Reader<'_>) -> Result<Decline, ProtocolError> {
    Ok(match reader.u8()? {
        1 => Decline::ByChoice,
        2 => Decline::NoAnswer,
        3 => Decline::NoRoom { needed: reader.u64()?, free: reader.u64()? },
        4 => Decline::NotWritable,
        5 => Decline::Busy,
        value => return Err(ProtocolError::Unknown { what: "decline", value }),
    })
}
