//! What the service refuses a call with, in words: those of the engine's errors that it was made
//! of.
use std::io;
use std::path::PathBuf;

use ringway_engine::{AuthError, DeclineReason, Error, Invalid, SecretError, Shortage};
use ringway_service::fault::{Declined, Fault, OsFault, Unfit};

use crate::exit::{Exit, Refusal};
use crate::text::{bytes, for_terminal};
use crate::words::{self, Words};

/// A refusal with the same words and exit status as if this command had met the error itself.
pub(crate) fn refusal(fault: Fault) -> Refusal {
    let (exit, words) = match known(fault) {
        Ok(error) => (Exit::from(&error), words::error(&error)),
        // Paths were made safe to show already; these words are the same as the engine's.
        Err(Fault::Invalid { why: Unfit::OwnFolder { folder }, .. }) => {
            let words = words::error(&Error::Invalid(Invalid::OwnFolder(folder.into())));
            (Exit::Usage, words)
        }
        Err(Fault::Invalid { why: Unfit::HomeFolder { folder }, .. }) => {
            let words = words::error(&Error::Invalid(Invalid::HomeFolder(folder.into())));
            (Exit::Usage, words)
        }
        Err(fault @ Fault::Invalid { .. }) => (Exit::Usage, own(&fault)),
        Err(fault) => (Exit::Failed, own(&fault)),
    };
    Refusal { exit, what: words.what, next: words.next }
}

/// The same in words alone.
pub(crate) fn words(fault: Fault) -> Words {
    let Refusal { what, next, .. } = refusal(fault);
    Words { what, next }
}

fn own(fault: &Fault) -> Words {
    match fault {
        Fault::Gone => Words::new(
            "That is not there any more: it was answered, withdrawn or has ended meanwhile.",
            "`ringway status` shows what there is.",
        ),
        Fault::Grown { bytes: size } => Words::new(
            format!("The offer has grown to {} since it was looked at.", bytes(*size)),
            "`ringway offers` shows it; run `ringway accept` again to take all of that.",
        ),
        Fault::TooManySent => Words::only("More was sent at once than is remembered."),
        Fault::ServiceGone => Words::new("The service ended before it answered.", "`ringway serve` starts it again."),
        Fault::Protocol { detail } => Words::only(format!("The other side broke the protocol: {detail}.")),
        Fault::IdentityChanged { name, expected, found } => {
            Words::only(format!("DANGER: \"{name}\" answered with another key. Known: {expected}. Found: {found}."))
        }
        Fault::NoKernelTls { remedies } => {
            Words::new("Kernel TLS was asked for and is not to be had.", words::load_tls(remedies))
        }
        Fault::NoIoUring => Words::only("io_uring was asked for and is not to be had."),
        Fault::Invalid { what, .. } => Words::new(format!("Not acceptable: {what}."), "Change it and try again."),
        Fault::NotACode => words::secret(SecretError::NotACode),
        Fault::UnknownWord { position } => words::secret(SecretError::UnknownWord { position: *position }),
        Fault::CodeNumberTooLarge => words::secret(SecretError::NumberTooLarge),
        Fault::Systemd { detail } => Words::new(
            format!("systemd does not change when the service starts: {}.", for_terminal(detail)),
            "`systemctl --user status ringway` says how it stands.",
        ),
        Fault::NoProgram => Words::only("The installed ringway command is not found."),
        Fault::Other { detail } => Words::only(format!("{}.", for_terminal(detail))),
        other => Words::only(format!("The service says no: {other:?}.")),
    }
}

fn os(os: OsFault) -> io::Error {
    os.errno.map_or_else(|| io::Error::other(os.detail), io::Error::from_raw_os_error)
}

/// The engine's error; what is not made of one, or has lost too much on the way, comes back.
fn known(fault: Fault) -> Result<Error, Fault> {
    Ok(match fault {
        Fault::Path { path, operation, os: why } => {
            Error::Path { path: PathBuf::from(path), operation, source: os(why) }
        }
        Fault::UnknownTarget { target } => Error::UnknownTarget(target),
        Fault::Unreachable { target, os: why, .. } => Error::Unreachable { target, source: os(why) },
        Fault::Listen { address, os: why, .. } => Error::Listen { address, source: os(why) },
        Fault::PairingNeeded { peer } => Error::Auth(AuthError::PairingNeeded { peer_name: peer }),
        Fault::WrongCode => Error::Auth(AuthError::WrongCode),
        Fault::NoCodeOpen => Error::Auth(AuthError::NoCodeOpen),
        Fault::PairingBusy { wait_ms } => Error::Auth(AuthError::PairingBusy { wait_ms }),
        Fault::Ourselves => Error::Auth(AuthError::Ourselves),
        Fault::Declined { why } => Error::Declined(declined(why)),
        Fault::Cancelled { by } => Error::Cancelled(by),
        Fault::ConnectionLost { os: why } => Error::ConnectionLost(os(why)),
        Fault::Version { ours, theirs } => Error::Version { ours, theirs },
        Fault::Tls { detail } => Error::Tls(detail),
        Fault::Config { path, line, detail, nearest } => {
            Error::Config { path: PathBuf::from(path), line, reason: detail, nearest }
        }
        Fault::Store { path, trouble, detail } => Error::Store { path: PathBuf::from(path), trouble, reason: detail },
        Fault::DestinationFull { missing_bytes, missing_entries } => {
            Error::DestinationFull(Some(Shortage { needed: missing_bytes, free: 0, entries: missing_entries }))
        }
        Fault::Paused { by } => Error::Paused(by),
        Fault::PeerForgotten => Error::PeerForgotten,
        Fault::DestinationGone => Error::DestinationGone,
        Fault::FailedThere => Error::FailedThere,
        Fault::TurnedAway => Error::TurnedAway,
        Fault::ReceiptContradicts { detail } => Error::ReceiptContradicts(detail),
        Fault::Stalled { seconds } => Error::Stalled { seconds },
        Fault::Unanswered => Error::Unanswered,
        Fault::TooMuch { max_bytes, by } => Error::TooMuch { bytes_max: max_bytes, by },
        other => return Err(other),
    })
}

fn declined(why: Declined) -> DeclineReason {
    match why {
        Declined::NoAnswer => DeclineReason::NoAnswer,
        Declined::NoRoom { needed, free, entries } => DeclineReason::NoRoom(Shortage { needed, free, entries }),
        Declined::NotWritable => DeclineReason::NotWritable,
        Declined::Busy => DeclineReason::Busy,
        Declined::Paused => DeclineReason::Paused,
        Declined::Stopped => DeclineReason::Stopped,
        Declined::TooManyOffers { wait_ms } => DeclineReason::TooManyOffers { wait_ms },
        Declined::ByChoice | Declined::Other => DeclineReason::ByChoice,
    }
}

#[cfg(test)]
mod tests {
    use ringway_model::{Operation, StoreTrouble};
    use ringway_service::fault::Unfit;

    use super::*;

    #[test]
    fn a_fault_has_the_words_and_status_of_the_error_that_it_was() {
        let full = || Error::DestinationFull(Some(Shortage { needed: 9, free: 0, entries: 2 }));
        let path = || Error::Path {
            path: "/in".into(),
            operation: Operation::Create,
            source: io::Error::from_raw_os_error(13),
        };
        let errors: [fn() -> Error; 7] = [
            || Error::Config {
                path: "/config.toml".into(),
                line: Some(3),
                reason: "there is no setting prot".into(),
                nearest: Some("port".into()),
            },
            || Error::Store {
                path: "/ringway.db".into(),
                trouble: StoreTrouble::Full,
                reason: "database or disk is full".into(),
            },
            || Error::Auth(AuthError::WrongCode),
            || Error::Declined(DeclineReason::NotWritable),
            || Error::UnknownTarget("lab".into()),
            || Error::PeerForgotten,
            || Error::DestinationGone,
        ];
        for error in errors.iter().map(|error| error()).chain([full(), path()]) {
            let refusal = refusal(Fault::from(&error));
            let wanted = words::error(&error);
            assert_eq!((refusal.what, refusal.next, refusal.exit), (wanted.what, wanted.next, Exit::from(&error)));
        }
    }

    #[test]
    fn what_is_the_services_own_has_words_too() {
        assert_eq!(
            refusal(Fault::Invalid { why: Unfit::DeviceName, what: "a name has letters".into() }).exit,
            Exit::Usage
        );
        for fault in [Fault::Gone, Fault::ServiceGone, Fault::Other { detail: "odd".into() }] {
            assert!(words(fault).what.ends_with('.'));
        }
    }
}
