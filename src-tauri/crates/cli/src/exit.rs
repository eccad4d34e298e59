//! Exit statuses: the one list of them, and which fault or report leads to which.
use std::process::ExitCode;

use ringway_model::{Fault, Outcome, Report};

/// How the command ends. The numbers are an interface for scripts: `--help` and the man page list
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything that was asked for has been done.
    All = 0,
    /// It failed, or was stopped with Ctrl-C.
    Failed = 1,
    /// The command line, a setting or a code makes no sense.
    Usage = 2,
    /// The transfer ended with its receipt, but some files failed; each is named.
    SomeFailed = 3,
    /// The receiver declined the offer, or the device that was asked for something cannot serve it
    /// now.
    Declined = 4,
    /// The two devices do not know each other, the code was wrong, or a known device answered with
    /// another key.
    NotAuthenticated = 5,
    /// SIGHUP ended it: its terminal was closed.
    HungUp = 129,
    /// The reader of its output closed it before all of it was printed, as with `| head`: what a
    /// shell says of a program that SIGPIPE has killed.
    NoReader = 141,
    /// SIGTERM ended it (128 and its number, as a shell says it of what a signal has killed).
    Terminated = 143,
}

/// What a command goes on with, or how it ends without that.
pub(crate) type OrExit<T> = Result<T, Exit>;

/// The list above for people.
pub(crate) const EXIT_HELP: &str = "\
Exit status:
  0  everything arrived or was copied, or what was asked for has been done
  1  failed, or stopped with Ctrl-C
  2  wrong usage: the command line, a setting or a code makes no sense
  3  some files failed; each is named, all others arrived or were copied
  4  declined by the other device
  5  not authenticated: unknown device, wrong code, or a changed key
  143  ended by SIGTERM; what arrived is kept, and the same command resumes
  129  the same by SIGHUP, as when its terminal is closed, unless nohup(1) keeps the signal away
  141  done, but the reader of the output closed it early, as with `| head`";

/// How many lines of it hold for a copy: the heading and the statuses 0 to 3.
pub(crate) const COPY_EXIT_LINES: usize = 5;

/// The others that a copy has.
pub(crate) const COPY_SIGNALS_HELP: &str = "\
  129  ended by SIGHUP, as when its terminal is closed: as with Ctrl-C, unless nohup(1) keeps the signal away
  143  ended by SIGTERM, as with Ctrl-C";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl From<&Fault> for Exit {
    fn from(error: &Fault) -> Self {
        match error {
            Fault::Auth(_) => Self::NotAuthenticated,
            Fault::Declined(_) | Fault::TurnedAway => Self::Declined,
            Fault::Config { .. }
            | Fault::Invalid(_)
            | Fault::NotACode
            | Fault::UnknownWord { .. }
            | Fault::CodeNumberTooLarge => Self::Usage,
            Fault::FewDescriptors { .. }
            | Fault::Path { .. }
            | Fault::NotPublished { .. }
            | Fault::NotShared { .. }
            | Fault::NoDropBox { .. }
            | Fault::NotServed
            | Fault::ShareUnavailable { .. }
            | Fault::PathThere { .. }
            | Fault::AnswerLost(_)
            | Fault::AskingStopped { .. }
            | Fault::AskingInterrupted { .. }
            | Fault::AnswerPaused
            | Fault::AnswerBusy
            | Fault::UnknownTarget { .. }
            | Fault::Unreachable { .. }
            | Fault::Listen { .. }
            | Fault::Cancelled { .. }
            | Fault::ConnectionLost(_)
            | Fault::Protocol { .. }
            | Fault::MisleadingName
            | Fault::ReceiptContradicts { .. }
            | Fault::Stalled { .. }
            | Fault::Version { .. }
            | Fault::Tls { .. }
            | Fault::NoKernelTls { .. }
            | Fault::NoIoUring { .. }
            | Fault::Store { .. }
            | Fault::Machine { .. }
            | Fault::FailedThere
            | Fault::DestinationFull { .. }
            | Fault::Discovery { .. }
            | Fault::TooMuch { .. }
            | Fault::Paused { .. }
            | Fault::PeerForgotten
            | Fault::NoLongerShared { .. }
            | Fault::DestinationGone
            | Fault::ProgramEnded
            | Fault::Unanswered
            | Fault::Grown { .. }
            | Fault::Gone
            | Fault::NotFound { .. }
            | Fault::TooManySent
            | Fault::NewTarget { .. }
            | Fault::ServiceNotRunning
            | Fault::ServiceGone
            | Fault::ServiceFailed { .. }
            | Fault::ServiceDiffers { .. }
            | Fault::Systemd { .. }
            | Fault::NoProgram
            | Fault::NoFileManager { .. }
            | Fault::Other { .. } => Self::Failed,
        }
    }
}

impl From<&Report> for Exit {
    fn from(report: &Report) -> Self {
        match &report.outcome {
            Outcome::Complete => Self::All,
            Outcome::Partial => Self::SomeFailed,
            Outcome::Failed(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_model::{AuthError, DeclineReason, Invalid, Shortage};
    use ringway_model::{Side, StoreTrouble};

    #[test]
    fn errors_lead_to_the_documented_statuses() {
        let cases = [
            (Fault::Auth(AuthError::WrongCode), 5),
            (Fault::Auth(AuthError::PairingNeeded { peer_name: "x".into() }), 5),
            (Fault::Auth(AuthError::Ourselves), 5),
            (Fault::Declined(DeclineReason::ByChoice), 4),
            (Fault::Declined(DeclineReason::NoRoom(Shortage { needed: 2, free: 1, entries: 0 })), 4),
            (Fault::Invalid(Invalid::DeviceName), 2),
            (Fault::Config { path: "/c".into(), line: Some(1), detail: "x".into(), nearest: None }, 2),
            (Fault::Store { path: "/db".into(), trouble: StoreTrouble::Full, detail: "x".into() }, 1),
            (Fault::cancelled(Side::Here), 1),
            (Fault::cancelled(Side::There), 1),
            (Fault::TurnedAway, 4),
            (Fault::PeerForgotten, 1),
            (Fault::UnknownTarget { target: ("x").into() }, 1),
            (Fault::DestinationFull { shortage: None }, 1),
        ];
        for (error, status) in cases {
            assert_eq!(Exit::from(&error) as u8, status, "{error:?}");
        }
    }

    #[test]
    fn every_status_is_documented() {
        let ordinary = [Exit::All, Exit::Failed, Exit::Usage, Exit::SomeFailed, Exit::Declined, Exit::NotAuthenticated];
        for exit in ordinary.into_iter().chain([Exit::Terminated, Exit::HungUp]) {
            assert!(EXIT_HELP.contains(&format!("\n  {}  ", exit as u8)), "{exit:?}");
        }
    }
}
