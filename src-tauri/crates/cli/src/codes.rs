//! The names that `--json` has for the engine's variants: lower case, words joined by underscores.
//! They never change once published.
use ringway_engine::error::Unavailable;
use ringway_engine::{
    AuthError, DeclineReason, Error, FailureReason, Invalid, Outage, Planned, SyncIoReason, UserTlsReason,
};
use ringway_model::Side;

use crate::exit::{Exit, status_of};

/// What a transfer waits for.
pub(crate) fn outage(outage: Outage) -> &'static str {
    match outage {
        Outage::Broken => "broken",
        Outage::Silent => "silent",
        Outage::Unreachable => "unreachable",
        Outage::Busy => "busy",
        Outage::TooManyOffers => "too_many_offers",
        Outage::Full(_) => "full",
        Outage::Paused(Side::Here) => "paused_here",
        Outage::Paused(Side::There) => "paused_there",
    }
}

/// Why an entry failed.
pub(crate) fn failure_code(reason: FailureReason) -> &'static str {
    match reason {
        FailureReason::Os(_) => "os",
        FailureReason::SpecialFile => "special_file",
        FailureReason::ChangedWhileReading => "changed_while_reading",
        FailureReason::PathTooLong => "path_too_long",
        FailureReason::InTheWay => "in_the_way",
        FailureReason::LinkTargetMissing => "link_target_missing",
        FailureReason::Kept => "kept",
        FailureReason::SameFile => "same_file",
        FailureReason::IntoItself => "into_itself",
        FailureReason::Differs => "differs",
        FailureReason::OwnFolder => "own_folder",
        FailureReason::DotName => "dot_name",
        FailureReason::HomeFolder => "home_folder",
        FailureReason::NameNotKept => "name_not_kept",
        _ => "other",
    }
}

/// What a dry run would do.
pub(crate) fn planned_code(what: Planned) -> &'static str {
    match what {
        Planned::Folder => "folder",
        Planned::File => "file",
        Planned::Overwrite => "overwrite",
        Planned::Link => "link",
        Planned::Special => "special",
        Planned::Keep => "keep",
        _ => "other",
    }
}

/// Why an offer was declined.
pub(crate) fn decline_code(reason: DeclineReason) -> &'static str {
    match reason {
        DeclineReason::ByChoice => "by_choice",
        DeclineReason::NoAnswer => "no_answer",
        DeclineReason::NoRoom(_) => "no_room",
        DeclineReason::NotWritable => "not_writable",
        DeclineReason::Busy => "busy",
        DeclineReason::Paused => "paused",
        DeclineReason::Stopped => "stopped",
        DeclineReason::TooManyOffers { .. } => "too_many_offers",
        _ => "other",
    }
}

/// Why encryption runs in userspace.
pub(crate) fn tls_code(reason: UserTlsReason) -> &'static str {
    match reason {
        UserTlsReason::Asked => "asked",
        UserTlsReason::NotInKernel => "not_in_kernel",
        UserTlsReason::ModuleNotLoaded => "module_not_loaded",
        UserTlsReason::Refused(_) => "refused",
        _ => "other",
    }
}

/// Why file IO runs on plain system calls.
pub(crate) fn io_code(reason: SyncIoReason) -> &'static str {
    match reason {
        SyncIoReason::Asked => "asked",
        SyncIoReason::Faster => "faster",
        SyncIoReason::NotInKernel => "not_in_kernel",
        SyncIoReason::Forbidden => "forbidden",
        SyncIoReason::NoMemory => "no_memory",
        SyncIoReason::OpcodeMissing => "opcode_missing",
        SyncIoReason::Refused(_) => "refused",
        _ => "other",
    }
}

/// Why two devices did not recognise each other.
pub(crate) fn auth_code(error: &AuthError) -> &'static str {
    match error {
        AuthError::PairingNeeded { .. } => "pairing_needed",
        AuthError::WrongCode => "wrong_code",
        AuthError::NoCodeOpen => "no_code_open",
        AuthError::PairingBusy { .. } => "pairing_busy",
        AuthError::IdentityChanged { .. } => "identity_changed",
        AuthError::Unconfirmed { .. } => "unconfirmed",
        AuthError::OtherAnswered { .. } => "other_answered",
        AuthError::Forgotten { .. } => "forgotten",
        AuthError::Ourselves => "ourselves",
        _ => "not_authenticated",
    }
}

/// What a script branches on.
pub(crate) fn error_code(error: &Error) -> &'static str {
    match error {
        Error::Path { .. } => "path",
        Error::NotPublished { .. } => "not_published",
        Error::FewDescriptors { .. } => "few_descriptors",
        Error::UnknownTarget(_) => "unknown_target",
        Error::Unreachable { .. } => "unreachable",
        Error::Listen { .. } => "listen",
        Error::Auth(auth) => auth_code(auth),
        Error::Declined(_) => "declined",
        Error::Cancelled(_) => "cancelled",
        Error::ConnectionLost(_) => "connection_lost",
        Error::Protocol(_) => "protocol",
        Error::ReceiptContradicts(_) => "receipt_contradicts",
        Error::Stalled { .. } => "stalled",
        Error::Version { .. } => "version",
        Error::Tls(_) => "tls",
        Error::NotAvailable(Unavailable::KernelTls(_)) => "no_kernel_tls",
        Error::NotAvailable(_) => "no_io_uring",
        Error::Config { .. } => "config",
        Error::Store { .. } => "store",
        Error::Invalid(Invalid::OwnFolder(_)) => "own_folder",
        Error::Invalid(Invalid::HomeFolder(_)) => "home_folder",
        Error::Invalid(_) => "invalid",
        Error::Discovery(_) => "discovery",
        Error::DestinationFull(_) => "destination_full",
        Error::DestinationGone => "destination_gone",
        Error::TooMuch { .. } => "too_much",
        Error::Paused(_) => "paused",
        Error::FailedThere => "failed_there",
        Error::TurnedAway => "turned_away",
        Error::Unanswered => "unanswered",
        Error::PeerForgotten => "peer_forgotten",
        _ => "other",
    }
}

/// The same for whatever ended the command early.
pub(crate) fn code_of(error: &anyhow::Error) -> &'static str {
    match (error.downcast_ref::<Error>(), status_of(error)) {
        (Some(error), _) => error_code(error),
        (None, Exit::Usage) => "usage",
        (None, Exit::NotAuthenticated) => "pairing_needed",
        (None, _) => "failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Refusal;

    #[test]
    fn what_ended_the_command_has_a_name_whatever_it_was() {
        let auth = anyhow::Error::from(Error::Auth(AuthError::NoCodeOpen)).context("somewhere");
        assert_eq!(code_of(&auth), "no_code_open");
        assert_eq!(code_of(&Refusal::usage("x").into()), "usage");
        assert_eq!(code_of(&Refusal { exit: Exit::NotAuthenticated, ..Refusal::usage("x") }.into()), "pairing_needed");
        assert_eq!(code_of(&anyhow::anyhow!("x")), "failed");
    }

    #[test]
    fn names_are_lower_case_with_underscores() {
        let names = [
            error_code(&Error::DestinationFull(None)),
            auth_code(&AuthError::WrongCode),
            decline_code(DeclineReason::NoRoom(ringway_engine::Shortage { needed: 1, free: 0, entries: 0 })),
            failure_code(FailureReason::LinkTargetMissing),
            outage(Outage::Unreachable),
            tls_code(UserTlsReason::ModuleNotLoaded),
            io_code(SyncIoReason::OpcodeMissing),
        ];
        for name in names {
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
        }
    }
}
