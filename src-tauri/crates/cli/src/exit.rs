//! Exit statuses: the one list of them, and which error or report leads to which.
use std::process::ExitCode;

use ringway_engine::SecretError;
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
    /// Whoever read what it prints has gone before all of it was printed, as with `| head`: what a
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
            Fault::Config { .. } | Fault::Invalid(_) => Self::Usage,
            _ => Self::Failed,
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

/// A refusal of the command itself: what is wrong, what to do about it, and how to exit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// How to exit.
    pub(crate) exit: Exit,
    /// What is wrong.
    pub(crate) what: String,
    /// What to do next.
    pub(crate) next: Option<String>,
}

impl Refusal {
    /// Wrong usage.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, what: what.into(), next: None }
    }

    /// A failure.
    pub(crate) fn failed(what: impl Into<String>) -> Self {
        Self { exit: Exit::Failed, what: what.into(), next: None }
    }

    /// The same with advice.
    pub(crate) fn advise(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Refusal {}

/// The status for whatever ended the command early.
pub(crate) fn status_of(error: &anyhow::Error) -> Exit {
    if let Some(refusal) = error.downcast_ref::<Refusal>() {
        refusal.exit
    } else if let Some(error) = error.downcast_ref::<Fault>() {
        error.into()
    } else if error.downcast_ref::<SecretError>().is_some() {
        Exit::Usage
    } else {
        Exit::Failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;
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
    fn context_does_not_hide_what_went_wrong() {
        let error = Err::<(), _>(Fault::Auth(AuthError::WrongCode)).context("pairing").unwrap_err();
        assert_eq!(status_of(&error), Exit::NotAuthenticated);
        let error = Err::<(), _>(SecretError::TooLong).context("file").unwrap_err();
        assert_eq!(status_of(&error), Exit::Usage);
        assert_eq!(status_of(&Refusal::usage("x").into()), Exit::Usage);
        assert_eq!(status_of(&anyhow::anyhow!("whatever")), Exit::Failed);
    }

    #[test]
    fn every_status_is_documented() {
        let ordinary = [Exit::All, Exit::Failed, Exit::Usage, Exit::SomeFailed, Exit::Declined, Exit::NotAuthenticated];
        for exit in ordinary.into_iter().chain([Exit::Terminated, Exit::HungUp]) {
            assert!(EXIT_HELP.contains(&format!("\n  {}  ", exit as u8)), "{exit:?}");
        }
    }
}
