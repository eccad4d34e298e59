//! Parts of sentences: why an entry failed and what to do about it, what is missing at a disk, what
//! was being done, why a fast path is not taken, what limits a transfer.
use super::step::step_after;
use super::table::*;
use super::{Row, Says, figures};
use crate::fault::errno::ECANCELED;
use crate::fault::{Aim, Failure, FailureReason, Operation, OsError, Remedy, ShareTrouble, Shortage};
use crate::transfer::{Bottleneck, Direction, Side, SyncIoReason, UserTlsReason};

/// The operation, as in "could not be …".
pub fn operation(operation: Operation) -> &'static str {
    let row = match operation {
        Operation::Open => OPERATION_OPEN,
        Operation::Read => OPERATION_READ,
        Operation::Write => OPERATION_WRITE,
        Operation::Create => OPERATION_CREATE,
        Operation::Rename => OPERATION_RENAME,
        Operation::Metadata => OPERATION_METADATA,
        Operation::Link => OPERATION_LINK,
        Operation::Sync => OPERATION_SYNC,
        Operation::Remove => OPERATION_REMOVE,
    };
    row.what
}

/// Why a share cannot be read, as the end of a sentence.
pub fn share_trouble(trouble: ShareTrouble) -> &'static str {
    let row = match trouble {
        ShareTrouble::Missing => SHARE_MISSING,
        ShareTrouble::NotMounted => SHARE_NOT_MOUNTED,
        ShareTrouble::Replaced => SHARE_REPLACED,
        ShareTrouble::NotReadable => SHARE_NOT_READABLE,
        ShareTrouble::Failed => SHARE_FAILED,
        ShareTrouble::NotAnswering => SHARE_NOT_ANSWERING,
        ShareTrouble::NotWritable => SHARE_NOT_WRITABLE,
    };
    row.what
}

/// A command, and what it is for.
pub fn remedy(Remedy { aim, command }: &Remedy) -> String {
    let label = match aim {
        Aim::Ufw => REMEDY_UFW,
        Aim::Firewalld => REMEDY_FIREWALLD,
        Aim::LoadTls => REMEDY_LOAD_TLS,
        Aim::KeepTls => REMEDY_KEEP_TLS,
        Aim::WhoListens => REMEDY_WHO_LISTENS,
        Aim::Serve => REMEDY_SERVE,
        Aim::RestartService => REMEDY_RESTART_SERVICE,
    };
    let label = label.what;
    format!("{label}: `{command}`.")
}

/// What a disk lacks by its figures, as the end of a sentence about it. The figures do not show
/// quotas.
pub fn missing(shortage: Shortage) -> String {
    let row = match (shortage.bytes(), shortage.entries) {
        (0, 0) => return String::new(),
        (_, 0) => MISSING_BYTES,
        (0, _) => MISSING_ITEMS,
        (_, _) => MISSING_BOTH,
    };
    row.says().with("size", figures::bytes(shortage.bytes())).with("n", figures::count(shortage.entries)).what()
}

/// The system's message for an errno.
pub(super) fn system(errno: i32) -> String {
    OsError::from(std::io::Error::from_raw_os_error(errno)).to_string()
}

/// Why encryption runs in userspace.
pub fn user_tls(reason: UserTlsReason) -> Says {
    match reason {
        UserTlsReason::Asked => TLS_ASKED.says(),
        UserTlsReason::NotInKernel => TLS_NOT_IN_KERNEL.says(),
        UserTlsReason::ModuleNotLoaded => TLS_MODULE_NOT_LOADED.says(),
        UserTlsReason::ModulesUnseen => TLS_MODULES_UNSEEN.says(),
        UserTlsReason::Refused(errno) => TLS_REFUSED.says().with("why", system(errno)),
    }
}

/// Why file IO runs on plain system calls.
pub fn sync_io(reason: SyncIoReason) -> Says {
    match reason {
        SyncIoReason::Asked => FILES_ASKED.says(),
        SyncIoReason::Faster => FILES_FASTER.says(),
        SyncIoReason::NotInKernel => FILES_NOT_IN_KERNEL.says(),
        SyncIoReason::Forbidden => FILES_FORBIDDEN.says(),
        SyncIoReason::NoMemory => FILES_NO_MEMORY.says(),
        SyncIoReason::OpcodeMissing => FILES_OPCODE_MISSING.says(),
        SyncIoReason::Refused(errno) => FILES_REFUSED.says().with("why", system(errno)),
    }
}

impl Bottleneck {
    /// What limits a transfer, as in "limited by …"; `is_got` where the receiving device has asked
    /// for it. Then either end may have set the limit.
    pub fn says(self, direction: Direction, is_got: bool) -> Says {
        let (at_sender, here, there) = match self {
            Self::Finding => (true, LIMIT_FINDING_HERE, LIMIT_FINDING_THERE),
            Self::Reading => (true, LIMIT_READING_HERE, LIMIT_READING_THERE),
            Self::Encrypting => (true, LIMIT_ENCRYPTING_HERE, LIMIT_ENCRYPTING_THERE),
            Self::Limit if is_got => return LIMIT_LIMIT_GET.says(),
            Self::Limit => (true, LIMIT_LIMIT_HERE, LIMIT_LIMIT_THERE),
            Self::Decrypting => (false, LIMIT_DECRYPTING_HERE, LIMIT_DECRYPTING_THERE),
            Self::Writing => (false, LIMIT_WRITING_HERE, LIMIT_WRITING_THERE),
            Self::Network => return LIMIT_NETWORK.says(),
            Self::Stalled => return LIMIT_STALLED.says(),
        };
        let is_here = at_sender == (direction != Direction::Receiving);
        if is_here { here.says() } else { there.says() }
    }
}

/// Why one entry was not moved, with its path as the subject; `is_got` where the receiving device
/// has asked for it.
pub fn failure(failure: &Failure, direction: Direction, is_got: bool) -> Says {
    let row = match direction {
        Direction::Copying => copy_failure(failure.reason),
        Direction::Sending | Direction::Receiving => {
            let is_receivers = (failure.side == Side::Here) == (direction == Direction::Receiving);
            let by_reason = if is_got { got_failure } else { transfer_failure };
            let after_arrival = if is_receivers { after_arrival(failure, is_got) } else { None };
            after_arrival.unwrap_or_else(|| by_reason(failure.reason, failure.side))
        }
    };
    match failure.reason {
        FailureReason::Os { errno } | FailureReason::CutShort { errno } => {
            row.says().with("operation", operation(failure.operation)).with("why", system(errno))
        }
        _ => row.says(),
    }
}

/// What to do about an entry that was not copied inside this machine.
pub fn copy_step(failure: &Failure) -> Says {
    let row = match failure.reason {
        FailureReason::IntoItself => REFUSED_INTO_ITSELF,
        FailureReason::SameFile => REFUSED_SAME_FILE,
        FailureReason::InTheWay => REFUSED_CONFLICT,
        FailureReason::Os { errno } => step_after(errno).unwrap_or(REFUSED_OTHER),
        _ => REFUSED_OTHER,
    };
    row.says()
}

/// That a copy came to nothing.
pub fn nothing_copied() -> Says {
    COPY_NOTHING.says()
}

/// What a copy that ended early had done.
pub fn copied_so_far(moved: &str) -> Says {
    COPY_SO_FAR.says().with("moved", moved)
}

fn transfer_failure(reason: FailureReason, side: Side) -> Row {
    let at = |here, there| if side == Side::Here { here } else { there };
    match reason {
        FailureReason::Os { .. } => at(FAILURE_OS_HERE, FAILURE_OS_THERE),
        FailureReason::SpecialFile => FAILURE_SPECIAL_FILE,
        FailureReason::ChangedWhileReading => at(FAILURE_CHANGED_HERE, FAILURE_CHANGED_THERE),
        FailureReason::PathTooLong => FAILURE_PATH_TOO_LONG,
        FailureReason::InTheWay => at(FAILURE_CONFLICT_HERE, FAILURE_CONFLICT_THERE),
        FailureReason::LinkTargetMissing => FAILURE_LINK_TARGET_MISSING,
        FailureReason::Kept => at(FAILURE_KEPT_HERE, FAILURE_KEPT_THERE),
        FailureReason::Differs => at(FAILURE_DIFFERS_HERE, FAILURE_DIFFERS_THERE),
        FailureReason::OwnFolder => at(FAILURE_OWN_FOLDER_HERE, FAILURE_OWN_FOLDER_THERE),
        FailureReason::DotName => at(FAILURE_DOT_NAME_HERE, FAILURE_DOT_NAME_THERE),
        FailureReason::HomeFolder => at(FAILURE_HOME_FOLDER_HERE, FAILURE_HOME_FOLDER_THERE),
        FailureReason::NameNotKept => at(FAILURE_NAME_UNSUPPORTED_HERE, FAILURE_NAME_UNSUPPORTED_THERE),
        // Only copies fail for these reasons.
        FailureReason::SameFile | FailureReason::IntoItself | FailureReason::CutShort { .. } => copy_failure(reason),
    }
}

/// What the receiver found when it read a file back. Its operation tells what became of the file.
fn after_arrival(failure: &Failure, is_got: bool) -> Option<Row> {
    let rows = match (failure.reason, failure.operation) {
        (FailureReason::ChangedWhileReading, Operation::Read) if is_got => [FAILURE_GET_SAVED, FAILURE_SERVED_SAVED],
        (FailureReason::ChangedWhileReading, Operation::Read) => [FAILURE_SAVED_HERE, FAILURE_SAVED_THERE],
        (FailureReason::Differs, Operation::Rename) if is_got => [FAILURE_GET_UNVERIFIED, FAILURE_SERVED_UNVERIFIED],
        (FailureReason::Differs, Operation::Rename) => [FAILURE_UNVERIFIED_HERE, FAILURE_UNVERIFIED_THERE],
        _ => return None,
    };
    let [here, there] = rows;
    Some(if failure.side == Side::Here { here } else { there })
}

/// What was asked for is got again, and not sent.
fn got_failure(reason: FailureReason, side: Side) -> Row {
    match (reason, side) {
        (FailureReason::ChangedWhileReading, Side::Here) => FAILURE_SERVED_CHANGED,
        (FailureReason::ChangedWhileReading, Side::There) => FAILURE_GET_CHANGED,
        (FailureReason::Differs, Side::Here) => FAILURE_GET_DIFFERS,
        (FailureReason::Differs, Side::There) => FAILURE_SERVED_DIFFERS,
        _ => transfer_failure(reason, side),
    }
}

fn copy_failure(reason: FailureReason) -> Row {
    match reason {
        FailureReason::Os { .. } => COPY_OS,
        FailureReason::SpecialFile => COPY_SPECIAL_FILE,
        FailureReason::ChangedWhileReading => COPY_CHANGED,
        FailureReason::InTheWay => COPY_CONFLICT,
        FailureReason::LinkTargetMissing => COPY_LINK_TARGET_MISSING,
        FailureReason::Kept => COPY_KEPT,
        FailureReason::SameFile => COPY_SAME_FILE,
        FailureReason::IntoItself => COPY_INTO_ITSELF,
        FailureReason::Differs => COPY_DIFFERS,
        FailureReason::CutShort { errno: ECANCELED } => COPY_CUT_SHORT,
        FailureReason::CutShort { .. } => COPY_CUT_SHORT_OS,
        // Only transfers fail for these reasons, or both have the same sentence.
        FailureReason::PathTooLong
        | FailureReason::OwnFolder
        | FailureReason::DotName
        | FailureReason::HomeFolder
        | FailureReason::NameNotKept => transfer_failure(reason, Side::Here),
    }
}
