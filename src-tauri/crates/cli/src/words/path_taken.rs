//! Which of the fast paths and fallbacks ran, and why, in words.
use std::io;

use ringway_model::{IoPath, PathTaken, SyncIoReason, TlsPath, Unconfined, UserTlsReason};

use crate::words::os;

/// Why encryption runs in userspace.
pub(crate) fn user_tls(reason: UserTlsReason) -> String {
    match reason {
        UserTlsReason::Asked => "userspace was asked for".into(),
        UserTlsReason::NotInKernel => "this kernel was built without TLS".into(),
        UserTlsReason::ModuleNotLoaded => "the kernel's tls module is not loaded".into(),
        UserTlsReason::ModulesUnseen => {
            "the kernel has none now, and what it could load cannot be seen from here, as in a container".into()
        }
        UserTlsReason::Refused(errno) => {
            format!("the kernel refused: {}", os(&io::Error::from_raw_os_error(errno).into()))
        }
    }
}

/// Why file IO runs on plain system calls.
pub(crate) fn sync_io(reason: SyncIoReason) -> String {
    match reason {
        SyncIoReason::Asked => "plain system calls were asked for".into(),
        SyncIoReason::Faster => "they are faster for writing files".into(),
        SyncIoReason::NotInKernel => "this kernel was built without io_uring".into(),
        SyncIoReason::Forbidden => {
            "it is forbidden (sysctl kernel.io_uring_disabled, seccomp or a container's policy)".into()
        }
        SyncIoReason::NoMemory => "there is not enough lockable memory (ulimit -l)".into(),
        SyncIoReason::OpcodeMissing => "this kernel's io_uring is too old".into(),
        SyncIoReason::Refused(errno) => {
            format!("the kernel refused: {}", os(&io::Error::from_raw_os_error(errno).into()))
        }
    }
}

/// Why what writes files is not confined to the folder that they go to.
pub(crate) fn unconfined(reason: Unconfined) -> String {
    match reason {
        Unconfined::NotInKernel => "this kernel has no Landlock".into(),
        Unconfined::SwitchedOff => "Landlock is switched off (lsm= on the kernel's command line)".into(),
        Unconfined::TooOld => "this kernel's Landlock is too old (5.19 is needed)".into(),
        Unconfined::Refused(errno) => {
            format!("the kernel refused Landlock: {}", os(&io::Error::from_raw_os_error(errno).into()))
        }
    }
}

/// Who encrypts at the two ends, short enough for a progress line.
pub(crate) fn encryption(here: Option<PathTaken>, there: Option<PathTaken>) -> Option<&'static str> {
    let kernel = |path: PathTaken| path.tls == TlsPath::Kernel;
    Some(match (here.map(kernel)?, there.map(kernel)) {
        (true, Some(true)) => "kernel TLS at both ends",
        (true, Some(false)) => "kernel TLS here, userspace TLS there",
        (false, Some(true)) => "userspace TLS here, kernel TLS there",
        (false, Some(false)) => "userspace TLS at both ends",
        (true, None) => "kernel TLS here",
        (false, None) => "userspace TLS here",
    })
}

/// The paths of one end in full, with the reasons.
pub(crate) fn path_taken(path: PathTaken) -> String {
    let tls = match path.tls {
        TlsPath::Kernel => "kernel TLS".to_owned(),
        TlsPath::User(reason) => format!("userspace TLS ({})", user_tls(reason)),
    };
    let io = match path.io {
        IoPath::Uring => "io_uring".to_owned(),
        IoPath::Sync(reason) => format!("plain system calls ({})", sync_io(reason)),
    };
    format!("{tls}, {io}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_taken_is_said_for_both_ends() {
        let kernel = PathTaken { tls: TlsPath::Kernel, io: IoPath::Uring };
        let user =
            PathTaken { tls: TlsPath::User(UserTlsReason::NotInKernel), io: IoPath::Sync(SyncIoReason::Forbidden) };
        assert_eq!(encryption(None, Some(user)), None);
        assert_eq!(encryption(Some(kernel), Some(kernel)), Some("kernel TLS at both ends"));
        assert_eq!(encryption(Some(kernel), Some(user)), Some("kernel TLS here, userspace TLS there"));
        assert_eq!(encryption(Some(user), None), Some("userspace TLS here"));
        assert!(path_taken(user).contains("built without TLS"));
    }
}
