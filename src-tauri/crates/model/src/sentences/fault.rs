//! The rows of a fault, and the values for their placeholders.
use std::fmt::{self, Display, Formatter};
use std::net::SocketAddr;
use std::time::Duration;

use super::reason::{missing, operation, share_trouble, sync_io, user_tls};
use super::step::step_after;
use super::table::*;
use super::{Row, Says, figures};
use crate::fault::errno::{EACCES, EADDRINUSE, EADDRNOTAVAIL, ECONNREFUSED, ECONNRESET, ELOOP, ENETUNREACH};
use crate::fault::errno::{ENAMETOOLONG, EOPNOTSUPP, EPIPE, ETIMEDOUT};
use crate::fault::{
    AuthError, DeclineReason, Fault, Invalid, NotFoundKind, Operation, OsError, Remedy, Shortage, StoreTrouble,
};
use crate::paired::NoteText;
use crate::text::{PathText, Text};
use crate::transfer::{Direction, Side};

/// How many names of what has arrived a sentence lists.
const PUBLISHED_SHOWN_MAX: usize = 10;

impl Fault {
    /// What happened and the next step. In a terminal, some next steps have the arguments `folder`,
    /// `file`, `aside`, `forget` and `send`, which are words of a shell: the command provides them.
    pub fn says(&self) -> Says {
        match self {
            Self::FewDescriptors { has, least } => {
                FEW_DESCRIPTORS.says().with("has", figures::count(*has)).with("least", figures::count(*least))
            }
            Self::Path { path, operation, source } => {
                let next = source.errno.and_then(step_after).unwrap_or(PATH);
                failed(PATH, path, *operation, source).and_next(next)
            }
            Self::NotPublished { path, operation, source, published } => {
                let row = if published.is_empty() { PATH } else { NOT_PUBLISHED };
                failed(row, path, *operation, source).and_next(NOT_PUBLISHED).with("names", listed(published))
            }
            Self::NotShared { share } => NOT_SHARED.says().with("share", share),
            Self::NoDropBox { share } => NO_DROP_BOX.says().with("share", share),
            Self::ShareUnavailable { share, trouble } => {
                SHARE_UNAVAILABLE.says().with("share", share).with("why", share_trouble(*trouble))
            }
            Self::PathThere { path, operation, source } => {
                let next = match source.errno {
                    Some(ELOOP) => PATH_THERE_LINK,
                    Some(EOPNOTSUPP) => PATH_THERE_KERNEL,
                    Some(ENAMETOOLONG) => PATH_NAME_TOO_LONG,
                    _ => PATH_THERE,
                };
                failed(PATH_THERE, path, *operation, source).and_next(next)
            }
            Self::AnswerLost(source) => {
                let row = if source.errno == Some(ETIMEDOUT) { ANSWER_SILENT } else { ANSWER_LOST };
                row.says().with("why", source)
            }
            Self::AskingStopped { seconds } => {
                ASKING_STOPPED.says().with("time", figures::time(Duration::from_secs(*seconds)))
            }
            Self::AskingInterrupted { seconds } => {
                ASKING_INTERRUPTED.says().with("time", figures::time(Duration::from_secs(*seconds)))
            }
            Self::AnswerPaused => ANSWER_PAUSED.says(),
            Self::AnswerBusy => ANSWER_BUSY.says(),
            Self::UnknownTarget { target } => {
                let row = if target.contains('%') { UNKNOWN_SCOPE } else { UNKNOWN_TARGET };
                row.says().with("target", target)
            }
            Self::Unreachable { target, source, remedies } => unreachable(target, source, remedies),
            Self::Listen { address, source, remedies } => listen(address, source, remedies),
            Self::Declined(reason) => reason.says(),
            Self::Cancelled { by, kept: false } => at(*by, CANCELLED_HERE, CANCELLED_THERE).says(),
            Self::Cancelled { by, kept: true } => {
                at(*by, CANCELLED_HERE, CANCELLED_THERE).says().and_next(CANCELLED_KEPT)
            }
            Self::ConnectionLost(source) => {
                let row = match source.errno {
                    Some(ECONNRESET | EPIPE) => CONNECTION_CLOSED,
                    Some(ETIMEDOUT) => CONNECTION_SILENT,
                    _ => CONNECTION_LOST,
                };
                row.says().with("why", source).and_next(CONNECTION_LOST)
            }
            Self::TurnedAway => TURNED_AWAY.says(),
            Self::Protocol { detail } => PROTOCOL.says().with("detail", detail),
            Self::MisleadingName => MISLEADING_NAME.says(),
            Self::ReceiptContradicts { detail } => RECEIPT_CONTRADICTS.says().with("detail", detail),
            Self::Stalled { seconds } => STALLED.says().with("time", figures::time(Duration::from_secs(*seconds))),
            Self::Version { ours, theirs } => VERSION.says().with("ours", ours).with("theirs", theirs),
            Self::Tls { detail } => TLS.says().with("detail", detail),
            Self::NoKernelTls { reason, remedies } => {
                let next = if remedies.is_empty() { NO_KERNEL_TLS } else { NO_KERNEL_TLS_LOADABLE };
                let why = user_tls(*reason).what();
                NO_KERNEL_TLS.says().with("why", why).and_next(next).with_remedies(remedies)
            }
            Self::NoIoUring { reason } => NO_IO_URING.says().with("why", sync_io(*reason).what()),
            Self::Config { path, line, detail, nearest } => {
                let row = if line.is_some() { CONFIG } else { CONFIG_WHOLE };
                let says = row.says().with("path", path).with("detail", detail);
                let says = says.with("line", figures::count(line.unwrap_or_default().into()));
                match nearest {
                    Some(nearest) => says.and_next(CONFIG_NEAREST).with("nearest", nearest),
                    None => says.and_next(CONFIG_ANY),
                }
            }
            Self::Store { path, trouble, detail } => {
                STORE.says().with("path", path).with("detail", detail).and_next(step_with_store(*trouble))
            }
            Self::Invalid(what) => what.says(),
            Self::Machine { detail } => OTHER.says().with("detail", detail),
            Self::FailedThere => FAILED_THERE.says(),
            Self::DestinationFull { shortage } => {
                DESTINATION_FULL.says().with("missing", shortage.map(missing).unwrap_or_default())
            }
            Self::Discovery { detail } => DISCOVERY.says().with("detail", detail),
            Self::TooMuch { bytes_max, by } => {
                at(*by, TOO_MUCH_HERE, TOO_MUCH_THERE).says().with("size", figures::bytes(*bytes_max))
            }
            Self::Paused { by } => at(*by, PAUSED_HERE, PAUSED_THERE).says().and_next(PAUSED),
            Self::PeerForgotten => PEER_FORGOTTEN.says(),
            Self::NotServed => NOT_SERVED.says(),
            Self::NoLongerShared { by } => at(*by, NO_LONGER_SHARED_HERE, NO_LONGER_SHARED_THERE).says(),
            Self::DestinationGone => DESTINATION_GONE.says(),
            Self::ProgramEnded => PROGRAM_ENDED.says(),
            Self::Unanswered => UNANSWERED.says(),
            Self::Grown { bytes } => GROWN.says().with("size", figures::bytes(*bytes)),
            Self::Gone => GONE.says(),
            Self::TooManySent => TOO_MANY_SENT.says(),
            Self::NewTarget { to, was, .. } => NEW_TARGET.says().with("to", to).with("was", was),
            Self::NotACode => NOT_A_CODE.says(),
            Self::UnknownWord { position } => {
                let row = if *position == 1 { UNKNOWN_WORD_FIRST } else { UNKNOWN_WORD_SECOND };
                row.says().and_next(UNKNOWN_WORD)
            }
            Self::CodeNumberTooLarge => CODE_NUMBER_TOO_LARGE.says(),
            Self::NotFound { kind, name } => not_found(*kind, name),
            Self::ServiceNotRunning => SERVICE_NOT_RUNNING.says(),
            Self::ServiceGone => SERVICE_GONE.says(),
            Self::ServiceFailed { detail, remedies } => {
                SERVICE_FAILED.says().with("detail", detail).with_remedies(remedies)
            }
            Self::ServiceDiffers { ours, theirs, remedies } => {
                SERVICE_DIFFERS.says().with("ours", ours).with("theirs", theirs).with_remedies(remedies)
            }
            Self::Systemd { detail } => SYSTEMD.says().with("detail", detail),
            Self::NoProgram => NO_PROGRAM.says(),
            Self::NoFileManager { path } => NO_FILE_MANAGER.says().with("path", path),
            Self::Other { detail } => OTHER.says().with("detail", detail),
            Self::Auth(error) => error.says(),
        }
    }
}

impl AuthError {
    /// What happened and the next step.
    pub fn says(&self) -> Says {
        match self {
            Self::PairingNeeded { peer_name } => PAIRING_NEEDED.says().with("name", peer_name),
            Self::WrongCode => WRONG_CODE.says(),
            Self::NoCodeOpen => NO_VALID_CODE.says(),
            Self::PairingBusy { wait_ms } => PAIRING_BUSY.says().with("time", wait(*wait_ms)),
            Self::IdentityChanged { name, expected, found } => {
                let says = IDENTITY_CHANGED.says().with("name", name);
                says.with("expected", expected.short()).with("found", found.short())
            }
            Self::Unconfirmed { last, name, found, .. } => {
                UNCONFIRMED.says().with("last", last).with("name", name).with("found", found.short())
            }
            Self::OtherAnswered { announced, found } => {
                OTHER_ANSWERED.says().with("announced", announced).with("found", found.short())
            }
            Self::Forgotten { name, id, now } => {
                let says = FORGOTTEN.says().with("name", name).with("id", id.short());
                match now {
                    Some(now) => says.with("now", now.short()).and_next(FORGOTTEN_OTHER),
                    None => says,
                }
            }
            Self::Ourselves => OURSELVES.says(),
        }
    }
}

/// Adds the figures of what a disk lacks.
fn lacking(says: Says, shortage: &Shortage) -> Says {
    // The other two figures show how many bytes are missing.
    let missing = missing(Shortage { needed: 0, ..*shortage });
    let says = says.with("missing", missing);
    says.with("needed", figures::bytes(shortage.needed)).with("free", figures::bytes(shortage.free))
}

impl Fault {
    /// The same of a transfer in that direction; `is_got` where the receiving device has asked for
    /// it (`ringway get`, `ringway ls`). The next step is that of this end: only the device that
    /// has started a transfer can repeat it. A copy's folder is the argument `destination`.
    pub fn says_of(&self, direction: Direction, is_got: bool) -> Says {
        match (direction, is_got) {
            (Direction::Sending, false) => self.says(),
            (Direction::Receiving, false) => self.says_of_offer(),
            (Direction::Receiving, true) => self.says_of_get(),
            (Direction::Sending, true) => self.says_of_served(),
            (Direction::Copying, _) => self.says_of_copy(),
        }
    }

    /// What a device says that was offered it: it may itself have declined, and the sender repeats
    /// it.
    fn says_of_offer(&self) -> Says {
        match self {
            Self::Declined(DeclineReason::NoRoom(shortage)) => lacking(DECLINED_HERE_NO_SPACE.says(), shortage),
            Self::Declined(DeclineReason::Busy) => DECLINED_HERE_BUSY.says(),
            Self::Declined(DeclineReason::Stopped) => DECLINED_HERE_STOPPED.says(),
            // The sender waits.
            Self::Stalled { seconds } => STALLED_HERE.says().with("time", figures::time(Duration::from_secs(*seconds))),
            Self::Cancelled { kept: true, .. } => self.says().and_next(OFFERED_KEPT),
            Self::Cancelled { kept: false, .. } => self.says().and_next(OFFERED_REMOVED),
            Self::DestinationFull { .. } => self.says().and_next(OFFERED_FULL),
            Self::PeerForgotten => self.says().and_next(OFFERED_FORGOTTEN),
            Self::NotPublished { .. } => self.says().and_next(OFFERED_NOT_PUBLISHED),
            Self::ConnectionLost(_) | Self::FailedThere | Self::ProgramEnded | Self::Paused { .. } => {
                self.says().and_next(OFFERED_AGAIN)
            }
            _ => self.says(),
        }
    }

    fn says_of_copy(&self) -> Says {
        match self {
            Self::ProgramEnded => self.says().and_next(COPY_CANCELLED),
            Self::DestinationFull { .. } => COPY_FULL.says(),
            Self::DestinationGone => COPY_GONE.says(),
            Self::Cancelled { .. } => COPY_CANCELLED.says(),
            Self::Gone => COPY_SELECTION_GONE.says(),
            _ => self.says(),
        }
    }

    /// What a device says that serves it: the other one repeats it.
    fn says_of_served(&self) -> Says {
        match self {
            Self::Cancelled { .. } | Self::PeerForgotten => self.says().and_next(SERVED_KEPT),
            Self::ConnectionLost(_)
            | Self::Stalled { .. }
            | Self::FailedThere
            | Self::NotPublished { .. }
            | Self::DestinationFull { .. }
            | Self::ReceiptContradicts { .. }
            | Self::ProgramEnded
            | Self::Paused { .. } => self.says().and_next(SERVED_AGAIN),
            _ => self.says(),
        }
    }

    /// What the device says that asked for it.
    fn says_of_get(&self) -> Says {
        match self {
            Self::Declined(DeclineReason::NoRoom(_)) => self.says_of_offer().and_next(GET_ROOM),
            Self::Declined(DeclineReason::Busy) => DECLINED_BUSY.says().and_next(GET_BUSY),
            Self::Declined(DeclineReason::Paused) => DECLINED_PAUSED.says().and_next(GET_PAUSED),
            Self::Declined(DeclineReason::TooManyOffers { wait_ms }) => {
                self.says().and_next(GET_TOO_MANY).with("time", wait((*wait_ms).into()))
            }
            Self::Stalled { .. } => self.says_of_offer().and_next(GET_RESUME),
            Self::Cancelled { kept: true, .. } | Self::ProgramEnded | Self::FailedThere | Self::Paused { .. } => {
                self.says().and_next(GET_RESUME)
            }
            Self::Cancelled { .. } | Self::ConnectionLost(_) => self.says().and_next(GET_AGAIN),
            Self::DestinationFull { .. } => self.says().and_next(GET_FULL),
            Self::NotPublished { .. } => self.says().and_next(GET_NOT_PUBLISHED),
            Self::PeerForgotten => self.says().and_next(GET_FORGOTTEN),
            Self::DestinationGone => self.says().and_next(GET_GONE),
            Self::TurnedAway => self.says().and_next(GET_SOON),
            Self::Unreachable { source, remedies, .. } if source.errno == Some(ECONNREFUSED) && remedies.is_empty() => {
                self.says().and_next(GET_REFUSED)
            }
            Self::Auth(AuthError::PairingNeeded { .. } | AuthError::NoCodeOpen) => self.says().and_next(GET_PAIRING),
            _ => self.says(),
        }
    }
}

impl DeclineReason {
    /// What happened and the next step.
    pub fn says(&self) -> Says {
        match self {
            Self::ByChoice => DECLINED.says(),
            Self::NoAnswer => DECLINED_NO_ANSWER.says(),
            Self::NoRoom(shortage) => lacking(DECLINED_NO_SPACE.says(), shortage),
            Self::NotWritable => DECLINED_NOT_WRITABLE.says(),
            Self::Busy => DECLINED_BUSY.says(),
            Self::Paused => DECLINED_PAUSED.says(),
            Self::Stopped => DECLINED_STOPPED.says(),
            Self::TooManyOffers { wait_ms } => DECLINED_TOO_MANY_OFFERS.says().with("time", wait((*wait_ms).into())),
            Self::TooManyNotes { wait_ms } => DECLINED_TOO_MANY_NOTES.says().with("time", wait((*wait_ms).into())),
            Self::NotesFull => DECLINED_NOTES_FULL.says(),
        }
    }
}

impl Invalid {
    /// What is wrong and the next step.
    pub fn says(&self) -> Says {
        match self {
            Self::NothingToSend => NOTHING_TO_SEND.says(),
            Self::SameName { name } => SAME_NAME.says().with("name", name),
            Self::NameTooLong { name } => NAME_TOO_LONG.says().with("name", name),
            Self::DeviceName => DEVICE_NAME.says(),
            Self::NameTaken => NAME_TAKEN.says(),
            Self::Note => UNFIT_NOTE.says().with("n", figures::count(NoteText::LEN_MAX as u64)),
            Self::AmbiguousId => AMBIGUOUS_ID.says(),
            Self::AmbiguousName { name } => AMBIGUOUS_NAME.says().with("name", name),
            Self::UnknownDevice => UNKNOWN_DEVICE.says(),
            Self::Port => PORT.says(),
            Self::ReceiveFolder | Self::RuleFolder => FOLDER.says(),
            Self::OwnFolder { folder } => OWN_FOLDER.says().with("folder", folder).and_next(FOLDER),
            Self::HomeFolder { folder } => HOME_FOLDER.says().with("folder", folder),
            Self::RuleSize => RULE_SIZE.says(),
            Self::ShareName => SHARE_NAME.says(),
            Self::ShareNameTaken { name } => SHARE_NAME_TAKEN.says().with("name", name),
            Self::UnknownShare { name } => UNKNOWN_SHARE.says().with("name", name),
            Self::SharedOwnFolder { folder } => SHARED_OWN_FOLDER.says().with("folder", folder).and_next(FOLDER),
            Self::DropInHome { folder } => DROP_IN_HOME.says().with("folder", folder),
            Self::DropNotWritable { folder } => DROP_NOT_WRITABLE.says().with("folder", folder),
            Self::SharedHomeFolder { folder } => SHARED_HOME_FOLDER.says().with("folder", folder),
            Self::TooManyShares => TOO_MANY_SHARES.says(),
            Self::ShareReference => SHARE_REFERENCE.says(),
            Self::Limit => LIMIT.says(),
            Self::PairingOff => PAIRING_OFF.says(),
            Self::TransferId => TRANSFER_ID.says(),
            Self::Running => RUNNING.says(),
            Self::CannotPause => CANNOT_PAUSE.says(),
            Self::CannotCancel => CANNOT_CANCEL.says(),
            Self::PauseNotBegun => PAUSE_NOT_BEGUN.says(),
            Self::PauseNoRetry => PAUSE_NO_RETRY.says(),
            Self::PauseTooMany { max } => PAUSE_TOO_MANY.says().with("n", figures::count((*max).into())),
            Self::NoDestination => NO_DESTINATION.says(),
            Self::TooMany => TOO_MANY.says(),
            Self::Pattern { pattern } => PATTERN.says().with("pattern", pattern),
            Self::PatternPath { pattern } => PATTERN_PATH.says().with("pattern", pattern),
            Self::Option { detail } => INVALID.says().with("detail", detail),
        }
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.says().what())
    }
}

impl Display for AuthError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.says().what())
    }
}

impl Display for Invalid {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.says().what())
    }
}

impl std::error::Error for Fault {}

impl std::error::Error for AuthError {}

impl std::error::Error for Invalid {}

fn not_found(kind: NotFoundKind, name: &Text) -> Says {
    let row = match kind {
        NotFoundKind::Device => NOT_FOUND_DEVICE,
        NotFoundKind::Offer => NOT_FOUND_OFFER,
        NotFoundKind::PairingRequest => NOT_FOUND_PAIRING_REQUEST,
        NotFoundKind::BlockedDevice => NOT_FOUND_BLOCKED_DEVICE,
        NotFoundKind::Transfer => NOT_FOUND_TRANSFER,
        NotFoundKind::PastTransfer => NOT_FOUND_PAST_TRANSFER,
        NotFoundKind::Note => NOT_FOUND_NOTE,
        NotFoundKind::Unfinished => NOT_FOUND_UNFINISHED,
        NotFoundKind::Receiver => return CODE_NOT_FOUND.says().with("number", name),
    };
    row.says().with("name", name)
}

fn at(side: Side, here: Row, there: Row) -> Row {
    match side {
        Side::Here => here,
        Side::There => there,
    }
}

/// Milliseconds to wait, in whole seconds.
fn wait(ms: u64) -> String {
    figures::time(Duration::from_secs(ms.div_ceil(1_000).max(1)))
}

fn failed(row: Row, path: &PathText, doing: Operation, source: &OsError) -> Says {
    row.says().with("path", path).with("operation", operation(doing)).with("why", source)
}

fn listed(published: &[PathText]) -> String {
    let shown: Vec<_> = published.iter().take(PUBLISHED_SHOWN_MAX).map(PathText::to_string).collect();
    let names = shown.join(", ");
    match published.len() - shown.len() {
        0 => names,
        more => NOT_PUBLISHED_MORE.says().with("names", names).with("n", figures::count(more as u64)).what(),
    }
}

fn unreachable(target: &Text, source: &OsError, remedies: &[Remedy]) -> Says {
    let says = |row: Row| row.says().with("target", target).with("why", source).with_remedies(remedies);
    let next = match source.errno {
        // The resolver's errors have no errno.
        None => return says(UNREACHABLE_NO_NAME),
        Some(_) if !remedies.is_empty() => UNREACHABLE_FIREWALL,
        Some(ECONNREFUSED) => UNREACHABLE_REFUSED,
        Some(ENETUNREACH) => UNREACHABLE_NO_NETWORK,
        Some(_) => UNREACHABLE,
    };
    says(UNREACHABLE).and_next(next)
}

fn listen(address: &Text, source: &OsError, remedies: &[Remedy]) -> Says {
    // An address that means all of this device's addresses need not be named.
    let everywhere = address.parse::<SocketAddr>().ok().filter(|address| address.ip().is_unspecified());
    let says = match everywhere {
        Some(address) => LISTEN.says().with("port", address.port()),
        None => LISTEN_AT.says().with("address", address),
    };
    let next = match source.errno {
        Some(EADDRINUSE) => LISTEN,
        Some(EACCES) => LISTEN_DENIED,
        Some(EADDRNOTAVAIL) => LISTEN_NO_ADDRESS,
        _ => LISTEN_OTHER,
    };
    says.with("why", source).and_next(next).with_remedies(remedies)
}

fn step_with_store(trouble: StoreTrouble) -> Row {
    match trouble {
        StoreTrouble::Full => STORE_FULL,
        StoreTrouble::NotWritable => STORE_NOT_WRITABLE,
        StoreTrouble::NotReadable => STORE_NOT_READABLE,
        StoreTrouble::Busy => STORE_BUSY,
        StoreTrouble::DamagedDatabase => STORE_DAMAGED_DATABASE,
        StoreTrouble::DamagedIdentity => STORE_DAMAGED_IDENTITY,
        StoreTrouble::Untrusted => STORE_UNTRUSTED,
        StoreTrouble::Other => STORE_OTHER,
    }
}
