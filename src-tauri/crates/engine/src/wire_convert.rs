//! Conversions between model's types and the wire's: paths taken, operations, reasons, failures,
//! edits. Numbers of operations and reasons also go into the store.
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use ringway_model::{
    Edit, EntryKind, EntryThere, Failure, FailureReason, Fault, IoPath, Operation, PathTaken, PathText, Proven, Side,
    SyncIoReason, TlsPath, UserTlsReason,
};
use ringway_sys::attributes::{Kind, Metadata};
use ringway_wire::control::{self, Cancel, EntryFailed, EntryKept, PathCodes};
use ringway_wire::entries::{Attributes, FolderEntry};
use ringway_wire::limits::PATH_MAX;

/// This end's paths, to tell the other.
pub(crate) fn encode_paths(paths: PathTaken) -> PathCodes {
    let (tls, tls_errno) = match paths.tls {
        TlsPath::Kernel => (0, 0),
        TlsPath::User(UserTlsReason::Asked) => (1, 0),
        TlsPath::User(UserTlsReason::NotInKernel) => (2, 0),
        TlsPath::User(UserTlsReason::ModuleNotLoaded) => (3, 0),
        TlsPath::User(UserTlsReason::Refused(errno)) => (4, errno),
        TlsPath::User(UserTlsReason::ModulesUnseen) => (5, 0),
    };
    let (io, io_errno) = match paths.io {
        IoPath::Uring => (0, 0),
        IoPath::Sync(SyncIoReason::Asked) => (1, 0),
        IoPath::Sync(SyncIoReason::NotInKernel) => (2, 0),
        IoPath::Sync(SyncIoReason::Forbidden) => (3, 0),
        IoPath::Sync(SyncIoReason::NoMemory) => (4, 0),
        IoPath::Sync(SyncIoReason::OpcodeMissing) => (5, 0),
        IoPath::Sync(SyncIoReason::Refused(errno)) => (6, errno),
        IoPath::Sync(SyncIoReason::Faster) => (7, 0),
    };
    PathCodes { tls, tls_errno, io, io_errno }
}

/// The other end's paths; an unknown reason is kept as its errno.
pub(crate) fn decode_paths(codes: PathCodes) -> PathTaken {
    let tls = match codes.tls {
        0 => TlsPath::Kernel,
        1 => TlsPath::User(UserTlsReason::Asked),
        2 => TlsPath::User(UserTlsReason::NotInKernel),
        3 => TlsPath::User(UserTlsReason::ModuleNotLoaded),
        5 => TlsPath::User(UserTlsReason::ModulesUnseen),
        _ => TlsPath::User(UserTlsReason::Refused(codes.tls_errno)),
    };
    let io = match codes.io {
        0 => IoPath::Uring,
        1 => IoPath::Sync(SyncIoReason::Asked),
        2 => IoPath::Sync(SyncIoReason::NotInKernel),
        3 => IoPath::Sync(SyncIoReason::Forbidden),
        4 => IoPath::Sync(SyncIoReason::NoMemory),
        5 => IoPath::Sync(SyncIoReason::OpcodeMissing),
        7 => IoPath::Sync(SyncIoReason::Faster),
        _ => IoPath::Sync(SyncIoReason::Refused(codes.io_errno)),
    };
    PathTaken { tls, io }
}

/// What a device says of an entry of one of its shares.
pub(crate) fn encode_entry<'a>(there: &Metadata, target: &'a [u8]) -> Attributes<'a> {
    let kind = match there.kind {
        Kind::File => EntryKind::File,
        Kind::Dir => EntryKind::Folder,
        Kind::Symlink => EntryKind::Link,
        Kind::Fifo => EntryKind::Fifo,
        Kind::Socket => EntryKind::Socket,
        Kind::CharDevice => EntryKind::CharDevice,
        Kind::BlockDevice => EntryKind::BlockDevice,
    };
    let size = there.size.min(i64::MAX as u64);
    Attributes { kind, mode: there.mode as u16, size, secs: there.mtime.secs, nanos: there.mtime.nanos, target }
}

/// The same at the other end; the errno of an entry that could not be read.
pub(crate) fn decode_entry(entry: &FolderEntry<'_>) -> Result<EntryThere, (PathText, i32)> {
    let path = PathText::from(OsStr::from_bytes(entry.path.as_bytes()));
    let Attributes { kind, mode, size, secs, nanos, target } = match entry.what {
        Ok(there) => there,
        Err(errno) => return Err((path, errno)),
    };
    let target = (kind == EntryKind::Link).then(|| OsStr::from_bytes(target).into());
    Ok(EntryThere { path, kind, size, mode, modified_seconds: secs, modified_nanos: nanos, target })
}

/// The errno of an error; EIO for one that has none.
pub(crate) fn errno_of(error: &std::io::Error) -> i32 {
    error.raw_os_error().unwrap_or(rustix::io::Errno::IO.raw_os_error())
}

/// Operations by their number, on the wire and in the store: new ones go to the end.
pub(crate) const OPERATIONS: [Operation; 9] = [
    Operation::Open,
    Operation::Read,
    Operation::Write,
    Operation::Create,
    Operation::Rename,
    Operation::Metadata,
    Operation::Link,
    Operation::Sync,
    Operation::Remove,
];

/// An operation's place among [`OPERATIONS`].
pub(crate) fn operation_code(operation: Operation) -> u8 {
    OPERATIONS.iter().position(|known| *known == operation).unwrap_or(0) as u8
}

/// Reasons by their numbers, on the wire and in the store; those of the system have 0, and their
/// errno.
const REASONS: [FailureReason; 13] = [
    FailureReason::SpecialFile,
    FailureReason::ChangedWhileReading,
    FailureReason::PathTooLong,
    FailureReason::InTheWay,
    FailureReason::LinkTargetMissing,
    FailureReason::Kept,
    FailureReason::SameFile,
    FailureReason::IntoItself,
    FailureReason::Differs,
    FailureReason::OwnFolder,
    FailureReason::DotName,
    FailureReason::HomeFolder,
    FailureReason::NameNotKept,
];

/// The number of [`FailureReason::CutShort`] in the history. On the wire it means nothing.
pub(crate) const CUT_SHORT: u8 = 200;

/// A reason's number, and its errno.
pub(crate) fn reason_code(reason: FailureReason) -> (u8, i32) {
    match reason {
        FailureReason::Os { errno } => (0, errno),
        FailureReason::CutShort { errno } => (CUT_SHORT, errno),
        reason => (REASONS.iter().position(|known| *known == reason).map_or(0, |at| at as u8 + 1), 0),
    }
}

/// The reason with that number; none for an unknown number.
pub(crate) fn decode_reason(number: u8, errno: i32) -> Option<FailureReason> {
    match number.checked_sub(1) {
        None => Some(FailureReason::Os { errno }),
        Some(at) => REASONS.get(usize::from(at)).copied(),
    }
}

/// As much of a path, from its beginning, as the wire takes: whole components.
fn shortened(path: &[u8]) -> Vec<u8> {
    let ends = std::iter::once(path.len()).chain((0..path.len()).rev().filter(|at| path[*at] == b'/'));
    let fitting = ends.map(|end| &path[..end]).filter(|path| path.len() <= PATH_MAX);
    fitting
        .filter_map(|path| ringway_wire::RelPath::new(path).ok())
        .next()
        .map_or_else(Vec::new, |path| path.as_bytes().to_vec())
}

/// A failure here, to tell the other end. Of a path that the wire does not take the beginning is
/// told.
pub(crate) fn encode_failure(failure: &Failure) -> EntryFailed {
    use std::os::unix::ffi::OsStrExt;
    let path = failure.path.as_os_str().as_bytes();
    let (reason, errno) = reason_code(failure.reason);
    EntryFailed { path: shortened(path), operation: operation_code(failure.operation), reason, errno }
}

/// A failure at the other end.
pub(crate) fn decode_failure(failed: EntryFailed) -> Failure {
    use std::os::unix::ffi::OsStringExt;
    Failure {
        path: std::ffi::OsString::from_vec(failed.path).into(),
        side: Side::There,
        operation: OPERATIONS.get(usize::from(failed.operation)).copied().unwrap_or(Operation::Open),
        reason: decode_reason(failed.reason, failed.errno).unwrap_or(FailureReason::Os { errno: failed.errno }),
    }
}

/// A file that was kept here, to tell the other end. A path that the wire would not carry is
/// shortened to nothing.
pub(crate) fn encode_edit(edit: &Edit) -> EntryKept {
    use std::os::unix::ffi::OsStrExt;
    let path = ringway_wire::RelPath::new(edit.path.as_os_str().as_bytes());
    EntryKept {
        path: path.map(|path| path.as_bytes().to_vec()).unwrap_or_default(),
        beside: edit.beside.as_os_str().as_bytes().to_vec(),
    }
}

/// One at the other end.
pub(crate) fn decode_edit(kept: EntryKept) -> Edit {
    use std::os::unix::ffi::OsStringExt;
    let text = std::ffi::OsString::from_vec;
    Edit { path: text(kept.path).into(), beside: text(kept.beside).into() }
}

/// What a receiver says that it has proven.
pub(crate) fn decode_proven(proven: control::Proven) -> Proven {
    let control::Proven { files, bytes, took } = proven;
    Proven { files, bytes, took: took.into() }
}

/// Why the other end has cancelled, as it ends here.
pub(crate) fn decode_cancel(cancel: Cancel) -> Fault {
    match cancel {
        Cancel::ByPerson => Fault::cancelled(Side::There),
        Cancel::ByPersonKeeping => Fault::Cancelled { by: Side::There, kept: true },
        Cancel::DestinationFull(shortage) => Fault::DestinationFull { shortage: Some(shortage) },
        Cancel::ConnectionLost => Fault::ConnectionLost(std::io::ErrorKind::ConnectionReset.into()),
        Cancel::TooMuch(bytes_max) => Fault::TooMuch { bytes_max, by: Side::There },
        Cancel::Failed => Fault::FailedThere,
        Cancel::Paused => Fault::Paused { by: Side::There },
        Cancel::NotShared => Fault::NoLongerShared { by: Side::There },
    }
}

#[cfg(test)]
mod tests {
    use ringway_model::samples::{self, SYNC_IO_REASONS, USER_TLS_REASONS};

    use super::*;

    #[test]
    fn of_a_path_that_is_too_long_the_beginning_is_told() {
        let part = |len: usize| "d".repeat(len);
        let longest = format!("{}/{}", vec![part(255); 15].join("/"), part(255));
        assert_eq!(longest.len(), PATH_MAX);
        for (path, told) in [
            ("a/b".to_owned(), "a/b".to_owned()),
            (longest.clone(), longest.clone()),
            (format!("{longest}/{}/c", part(255)), longest.clone()),
            (format!("a/{}", part(256)), "a".to_owned()),
            (part(5_000), String::new()),
        ] {
            assert_eq!(shortened(path.as_bytes()), told.as_bytes());
        }
    }

    #[test]
    fn paths_and_failures_cross_unchanged() {
        for tls in [TlsPath::Kernel].into_iter().chain(USER_TLS_REASONS.map(TlsPath::User)) {
            for io in [IoPath::Uring].into_iter().chain(SYNC_IO_REASONS.map(IoPath::Sync)) {
                let taken = PathTaken { tls, io };
                assert_eq!(decode_paths(encode_paths(taken)), taken);
            }
        }
        for operation in samples::OPERATIONS {
            for reason in [FailureReason::Os { errno: 13 }].into_iter().chain(REASONS) {
                let failure = Failure { path: "a/b".into(), side: Side::Here, operation, reason };
                let crossed = decode_failure(encode_failure(&failure));
                assert_eq!(crossed, Failure { side: Side::There, ..failure });
            }
        }
    }
}
