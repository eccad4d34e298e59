//! What the kernel's refusals mean for the paths that a transfer takes.
use ringway_model::{Unconfined, UserTlsReason};

/// Why a lane is encrypted in userspace.
pub(crate) fn user_tls(missing: ringway_sys::ktls::MissingTls) -> UserTlsReason {
    use ringway_sys::ktls::MissingTls;
    match missing {
        MissingTls::NotLoaded => UserTlsReason::ModuleNotLoaded,
        MissingTls::NotInKernel => UserTlsReason::NotInKernel,
        MissingTls::Unknown => UserTlsReason::ModulesUnseen,
        MissingTls::Refused(errno) | MissingTls::NoLoopback(errno) => UserTlsReason::Refused(errno),
    }
}

/// Why the threads that write what is received can reach more than its folder.
pub(crate) fn unconfined(why: ringway_sys::confine::Unconfined) -> Unconfined {
    use ringway_sys::confine::Unconfined as Sys;
    match why {
        Sys::NotInKernel => Unconfined::NotInKernel,
        Sys::SwitchedOff => Unconfined::SwitchedOff,
        Sys::TooOld => Unconfined::TooOld,
        Sys::Refused(errno) => Unconfined::Refused(errno),
    }
}
