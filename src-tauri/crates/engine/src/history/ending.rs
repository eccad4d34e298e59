//! How a transfer ended, as bytes for the store and back: every error that words are made of comes
//! back as it was.
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use ringway_model::{Operation, Side};
use ringway_wire::control::Shortage;

use crate::codes::{self, OPERATIONS, operation_code, reason_code};
use crate::device::DeviceId;
use crate::error::{AuthError, DeclineReason, Error, Failure, Invalid};
use crate::event::Outcome;

/// What an offer that nobody answered is kept as, with nothing after it: the store asks for it.
pub(crate) const UNANSWERED: u8 = 29;

/// Texts are cut to this many bytes.
const TEXT_MAX: usize = 4_096;

/// The outcome, as the store keeps it: a number for what it is, then its fields.
pub(crate) fn stored(outcome: &Outcome) -> Vec<u8> {
    let mut out = Fields::default();
    match outcome {
        Outcome::Complete => out.kind(0),
        Outcome::Partial => out.kind(1),
        Outcome::Failed(error) => error_stored(&mut out, error),
    };
    out.0
}

fn error_stored<'a>(out: &'a mut Fields, error: &Error) -> &'a mut Fields {
    match error {
        Error::Path { path, operation, source } | Error::NotPublished { path, operation, source, .. } => {
            out.kind(2).bytes(path.as_os_str().as_bytes()).number(operation_code(*operation).into()).io(source)
        }
        Error::UnknownTarget(target) => out.kind(3).bytes(target.as_bytes()),
        Error::Unreachable { target, source } => out.kind(4).bytes(target.as_bytes()).io(source),
        Error::Auth(error) => auth_stored(out, error),
        Error::Declined(DeclineReason::ByChoice) => out.kind(20),
        Error::Declined(DeclineReason::NoAnswer) => out.kind(21),
        Error::Declined(DeclineReason::NoRoom(shortage)) => out.kind(22).shortage(shortage),
        Error::Declined(DeclineReason::NotWritable) => out.kind(23),
        Error::Declined(DeclineReason::Busy) => out.kind(24),
        Error::Declined(DeclineReason::Paused) => out.kind(25),
        Error::Declined(DeclineReason::Stopped) => out.kind(33),
        Error::Declined(DeclineReason::TooManyOffers { wait_ms }) => out.kind(34).number((*wait_ms).into()),
        Error::Cancelled(Side::Here) => out.kind(5),
        Error::Cancelled(Side::There) => out.kind(6),
        Error::ConnectionLost(source) => out.kind(7).io(source),
        Error::Version { ours, theirs } => out.kind(8).number((*ours).into()).number((*theirs).into()),
        Error::Tls(what) => out.kind(9).bytes(what.as_bytes()),
        Error::FailedThere => out.kind(10),
        Error::TurnedAway => out.kind(35),
        Error::DestinationFull(None) => out.kind(11),
        Error::DestinationFull(Some(shortage)) => out.kind(14).shortage(shortage),
        Error::DestinationGone => out.kind(12),
        Error::TooMuch { bytes_max, by: Side::Here } => out.kind(15).number(*bytes_max),
        Error::TooMuch { bytes_max, by: Side::There } => out.kind(16).number(*bytes_max),
        Error::Paused(Side::Here) => out.kind(17),
        Error::Paused(Side::There) => out.kind(18),
        Error::Invalid(Invalid::SameName(name)) => out.kind(26).bytes(name.as_bytes()),
        Error::Invalid(Invalid::NameTooLong(name)) => out.kind(27).bytes(name.as_bytes()),
        Error::Invalid(Invalid::NothingToSend) => out.kind(28),
        Error::Unanswered => out.kind(UNANSWERED),
        Error::ReceiptContradicts(how) => out.kind(30).bytes(how.as_bytes()),
        Error::Stalled { seconds } => out.kind(31).number(*seconds),
        Error::PeerForgotten => out.kind(32),
        other => out.kind(13).bytes(other.to_string().as_bytes()),
    }
}

fn auth_stored<'a>(out: &'a mut Fields, error: &AuthError) -> &'a mut Fields {
    match error {
        AuthError::WrongCode => out.kind(40),
        AuthError::NoCodeOpen => out.kind(41),
        AuthError::PairingBusy { wait_ms } => out.kind(42).number(*wait_ms),
        AuthError::IdentityChanged { name, expected, found } => {
            out.kind(43).bytes(name.as_bytes()).bytes(&expected.0).bytes(&found.0)
        }
        AuthError::Unconfirmed { last, last_id, name, found } => {
            out.kind(44).bytes(last.as_bytes()).bytes(&last_id.0).bytes(name.as_bytes()).bytes(&found.0)
        }
        AuthError::OtherAnswered { announced, found } => out.kind(47).bytes(announced.as_bytes()).bytes(&found.0),
        // It is refused before there is a transfer.
        AuthError::Forgotten { .. } => out.kind(13).bytes(error.to_string().as_bytes()),
        AuthError::Ourselves => out.kind(45),
        AuthError::PairingNeeded { peer_name } => out.kind(46).bytes(peer_name.as_bytes()),
    }
}

/// What [`stored`] made of an outcome; none where it is no such thing, as after a store was damaged
/// or a later version wrote it.
pub(crate) fn read(stored: &[u8]) -> Option<Outcome> {
    let (kind, rest) = stored.split_first()?;
    let mut fields = Reader(rest);
    let error = match *kind {
        0 => return fields.ended(Outcome::Complete),
        1 => return fields.ended(Outcome::Partial),
        2 => Error::Path {
            path: OsString::from_vec(fields.bytes()?.to_vec()).into(),
            operation: operation(fields.number()?)?,
            source: fields.io()?,
        },
        3 => Error::UnknownTarget(fields.text()?),
        4 => Error::Unreachable { target: fields.text()?, source: fields.io()? },
        5 => Error::Cancelled(Side::Here),
        6 => Error::Cancelled(Side::There),
        7 => Error::ConnectionLost(fields.io()?),
        8 => Error::Version { ours: fields.number()?.try_into().ok()?, theirs: fields.number()?.try_into().ok()? },
        9 => Error::Tls(fields.text()?),
        10 => Error::FailedThere,
        11 => Error::DestinationFull(None),
        12 => Error::DestinationGone,
        13 => Error::Recorded(fields.text()?),
        14 => Error::DestinationFull(Some(fields.shortage()?)),
        15 => Error::TooMuch { bytes_max: fields.number()?, by: Side::Here },
        16 => Error::TooMuch { bytes_max: fields.number()?, by: Side::There },
        17 => Error::Paused(Side::Here),
        18 => Error::Paused(Side::There),
        20 => Error::Declined(DeclineReason::ByChoice),
        21 => Error::Declined(DeclineReason::NoAnswer),
        22 => Error::Declined(DeclineReason::NoRoom(fields.shortage()?)),
        23 => Error::Declined(DeclineReason::NotWritable),
        24 => Error::Declined(DeclineReason::Busy),
        25 => Error::Declined(DeclineReason::Paused),
        33 => Error::Declined(DeclineReason::Stopped),
        34 => Error::Declined(DeclineReason::TooManyOffers { wait_ms: fields.number()?.try_into().ok()? }),
        26 => Error::Invalid(Invalid::SameName(OsString::from_vec(fields.bytes()?.to_vec()))),
        27 => Error::Invalid(Invalid::NameTooLong(OsString::from_vec(fields.bytes()?.to_vec()))),
        28 => Error::Invalid(Invalid::NothingToSend),
        UNANSWERED => Error::Unanswered,
        30 => Error::ReceiptContradicts(fields.text()?),
        31 => Error::Stalled { seconds: fields.number()? },
        32 => Error::PeerForgotten,
        35 => Error::TurnedAway,
        _ => Error::Auth(auth(*kind, &mut fields)?),
    };
    fields.ended(Outcome::Failed(error))
}

fn auth(kind: u8, fields: &mut Reader<'_>) -> Option<AuthError> {
    Some(match kind {
        40 => AuthError::WrongCode,
        41 => AuthError::NoCodeOpen,
        42 => AuthError::PairingBusy { wait_ms: fields.number()? },
        43 => AuthError::IdentityChanged { name: fields.text()?, expected: fields.device()?, found: fields.device()? },
        44 => AuthError::Unconfirmed {
            last: fields.text()?,
            last_id: fields.device()?,
            name: fields.text()?,
            found: fields.device()?,
        },
        45 => AuthError::Ourselves,
        47 => AuthError::OtherAnswered { announced: fields.text()?, found: fields.device()? },
        46 => AuthError::PairingNeeded { peer_name: fields.text()? },
        _ => return None,
    })
}

/// A failure's side, operation, reason and errno (0 where it has none), as the store keeps them.
pub(crate) fn failure_stored(failure: &Failure) -> [i32; 4] {
    let side = i32::from(failure.side == Side::There);
    let (reason, errno) = reason_code(failure.reason);
    [side, operation_code(failure.operation).into(), reason.into(), errno]
}

/// The failure that [`failure_stored`] was given; none where it is no such thing.
pub(crate) fn failure(path: Vec<u8>, [side, doing, reason, errno]: [i32; 4]) -> Option<Failure> {
    let reason = codes::reason(u8::try_from(reason).ok()?, errno)?;
    let side = if side == 0 { Side::Here } else { Side::There };
    let operation = operation(u64::try_from(doing).ok()?)?;
    Some(Failure { path: OsString::from_vec(path).into(), side, operation, reason })
}

fn operation(number: u64) -> Option<Operation> {
    OPERATIONS.get(usize::try_from(number).ok()?).copied()
}

#[derive(Default)]
struct Fields(Vec<u8>);

impl Fields {
    fn kind(&mut self, kind: u8) -> &mut Self {
        self.0.push(kind);
        self
    }

    fn number(&mut self, number: u64) -> &mut Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        let bytes = &bytes[..bytes.len().min(TEXT_MAX)];
        self.0.extend((bytes.len() as u16).to_le_bytes());
        self.0.extend(bytes);
        self
    }

    fn shortage(&mut self, shortage: &Shortage) -> &mut Self {
        self.number(shortage.needed).number(shortage.free).number(shortage.entries)
    }

    /// An error's number where the kernel gave one, else one of [`KINDS`] and its text.
    fn io(&mut self, error: &io::Error) -> &mut Self {
        match error.raw_os_error() {
            Some(errno) => self.number((errno as u32).into()).bytes(&[]),
            None => {
                let kind = KINDS.iter().position(|kind| *kind == error.kind()).unwrap_or_default();
                self.number(NO_ERRNO + kind as u64).bytes(error.to_string().as_bytes())
            }
        }
    }
}

/// From here on a number is the place of a kind among [`KINDS`].
const NO_ERRNO: u64 = 1 << 32;

/// Kinds of errors that come without a number and have words of their own; all others are the
/// first.
const KINDS: [io::ErrorKind; 6] = [
    io::ErrorKind::Other,
    io::ErrorKind::TimedOut,
    io::ErrorKind::UnexpectedEof,
    io::ErrorKind::ConnectionReset,
    io::ErrorKind::BrokenPipe,
    io::ErrorKind::InvalidData,
];

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.take(2)?.try_into().ok().map(u16::from_le_bytes)?;
        self.take(length.into())
    }

    fn text(&mut self) -> Option<String> {
        self.bytes().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    fn shortage(&mut self) -> Option<Shortage> {
        Some(Shortage { needed: self.number()?, free: self.number()?, entries: self.number()? })
    }

    fn device(&mut self) -> Option<DeviceId> {
        self.bytes()?.try_into().ok().map(DeviceId)
    }

    fn io(&mut self) -> Option<io::Error> {
        let (number, text) = (self.number()?, self.text()?);
        Some(match number.checked_sub(NO_ERRNO) {
            None => io::Error::from_raw_os_error(u32::try_from(number).ok()? as i32),
            Some(kind) => io::Error::new(*KINDS.get(usize::try_from(kind).ok()?)?, text),
        })
    }

    fn ended<T>(&self, value: T) -> Option<T> {
        self.0.is_empty().then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(error: Error) -> Error {
        match read(&stored(&Outcome::Failed(error))) {
            Some(Outcome::Failed(error)) => error,
            other => panic!("{other:?}"),
        }
    }

    /// What words are made of is what errors say in English, and their variant.
    #[test]
    fn every_error_that_has_words_comes_back_as_it_was() {
        let refused = || io::Error::from_raw_os_error(111);
        let id = DeviceId([7; 32]);
        let missing = Shortage { needed: 5, free: 3, entries: 1 };
        let named = |name: &str| name.to_owned();
        let mut errors = vec![
            Error::UnknownTarget(named("nas")),
            Error::Unreachable { target: named("nas:1"), source: refused() },
            Error::PeerForgotten,
            Error::Auth(AuthError::WrongCode),
            Error::Auth(AuthError::NoCodeOpen),
            Error::Auth(AuthError::PairingBusy { wait_ms: 4 }),
            Error::Auth(AuthError::IdentityChanged { name: named("ws"), expected: id, found: DeviceId([9; 32]) }),
            Error::Auth(AuthError::Unconfirmed {
                last: named("nas"),
                last_id: DeviceId([8; 32]),
                name: named("ws"),
                found: DeviceId([9; 32]),
            }),
            Error::Auth(AuthError::OtherAnswered { announced: named("abab"), found: id }),
            Error::Auth(AuthError::Ourselves),
            Error::Auth(AuthError::PairingNeeded { peer_name: named("ws") }),
            Error::Declined(DeclineReason::ByChoice),
            Error::Declined(DeclineReason::NoAnswer),
            Error::Declined(DeclineReason::NoRoom(missing)),
            Error::Declined(DeclineReason::NotWritable),
            Error::Declined(DeclineReason::Busy),
            Error::Declined(DeclineReason::Paused),
            Error::Declined(DeclineReason::Stopped),
            Error::Declined(DeclineReason::TooManyOffers { wait_ms: 15_000 }),
            Error::Paused(Side::Here),
            Error::Paused(Side::There),
            Error::Cancelled(Side::Here),
            Error::Cancelled(Side::There),
            Error::ConnectionLost(refused()),
            Error::Version { ours: 1, theirs: 2 },
            Error::Tls(named("bad record")),
            Error::FailedThere,
            Error::TurnedAway,
            Error::DestinationFull(None),
            Error::DestinationFull(Some(missing)),
            Error::DestinationGone,
            Error::Invalid(Invalid::SameName("photos".into())),
            Error::Invalid(Invalid::NameTooLong("x".repeat(300).into())),
            Error::Invalid(Invalid::NothingToSend),
            Error::Unanswered,
            Error::ReceiptContradicts(named("files")),
            Error::Stalled { seconds: 600 },
            Error::TooMuch { bytes_max: 20, by: Side::Here },
            Error::TooMuch { bytes_max: 20, by: Side::There },
        ];
        errors.extend(OPERATIONS.map(|operation| Error::Path { path: "/a/b".into(), operation, source: refused() }));
        errors.extend(KINDS.map(|kind| Error::ConnectionLost(io::Error::new(kind, "nothing was heard for 30 s"))));
        for error in errors {
            let told = format!("{error:?}");
            assert_eq!(format!("{:?}", again(error)), told);
        }
    }

    #[test]
    fn of_what_cannot_come_back_the_words_stay() {
        let told = Error::Machine("no such thing").to_string();
        assert!(matches!(again(Error::Machine("no such thing")), Error::Recorded(words) if words == told));
        assert!(matches!(again(Error::Recorded("x".into())), Error::Recorded(words) if words == "x"));
    }

    #[test]
    fn long_texts_are_cut() {
        assert!(matches!(again(Error::Tls("x".repeat(100_000))), Error::Tls(text) if text.len() == TEXT_MAX));
    }

    #[test]
    fn whole_and_partial_come_back_and_what_is_damaged_does_not() {
        assert!(matches!(read(&stored(&Outcome::Complete)), Some(Outcome::Complete)));
        assert!(matches!(read(&stored(&Outcome::Partial)), Some(Outcome::Partial)));
        let whole = stored(&Outcome::Failed(Error::Version { ours: 1, theirs: 2 }));
        for end in 0..whole.len() {
            assert!(read(&whole[..end]).is_none(), "{end}");
        }
        assert!(read(&[&whole[..], &[0]].concat()).is_none());
        assert!(read(&[200]).is_none());
    }

    #[test]
    fn failures_come_back_as_they_were() {
        use crate::error::FailureReason::{
            ChangedWhileReading, Differs, DotName, HomeFolder, InTheWay, IntoItself, Kept, LinkTargetMissing,
            NameNotKept, Os, OwnFolder, PathTooLong, SameFile, SpecialFile,
        };
        let reasons = [
            Os(13),
            SpecialFile,
            ChangedWhileReading,
            PathTooLong,
            InTheWay,
            LinkTargetMissing,
            Kept,
            SameFile,
            IntoItself,
            Differs,
            OwnFolder,
            DotName,
            HomeFolder,
            NameNotKept,
        ];
        for reason in reasons {
            for (operation, side) in OPERATIONS.into_iter().zip([Side::Here, Side::There].into_iter().cycle()) {
                let path = OsString::from_vec(b"odd\xff".to_vec());
                let whole = Failure { path: path.clone().into(), side, operation, reason };
                assert_eq!(failure(path.into_vec(), failure_stored(&whole)), Some(whole));
            }
        }
        assert_eq!(failure(Vec::new(), [0, 8, 0, 0]), None);
        assert_eq!(failure(Vec::new(), [0, 0, 14, 0]), None);
    }
}
