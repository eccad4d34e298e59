//! What is asked of a person, or waited for, before a receiver takes something: its code, whether
//! it is the right device, and the end of another pairing.
use std::time::Duration;

use ringway_engine::{GivenSecret, Target};
use ringway_model::AuthError;

use super::ask_for_code;
use crate::ask::prompt::{self, Lines};
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::output::Output;
use crate::text::for_terminal;

/// Codes that are asked for: as many as a code survives.
const ASKED_MAX: u32 = 3;

/// How often a receiver that is busy with another pairing is tried again before giving up.
const BUSY_RETRIES_MAX: u32 = 5;

/// As long as a busy receiver is waited for at a time, whatever it asks for.
const BUSY_WAIT_MAX: Duration = Duration::from_secs(30);

/// The target, and the code for it.
pub(super) struct Contact<'a> {
    pub(super) out: &'a Output,
    pub(super) interrupts: &'a Interrupts,
    pub(super) target: Target,
    pub(super) secret: Option<GivenSecret>,
    /// Whether there is somebody to ask for a code.
    may_ask: bool,
    lines: Option<Lines>,
    asked: u32,
    busy: u32,
}

/// What follows an attempt.
pub(super) enum Next {
    /// Another one, with what was learnt.
    Again,
    /// Nothing helps: its result is to be told.
    Settled,
    /// The command ends, and nothing is left to tell.
    Over(Exit),
}

impl<'a> Contact<'a> {
    pub(super) fn new(
        out: &'a Output,
        interrupts: &'a Interrupts,
        target: Target,
        secret: Option<GivenSecret>,
        may_ask: bool,
        lines: Option<Lines>,
    ) -> Self {
        Self { out, interrupts, target, secret, may_ask, lines, asked: 0, busy: 0 }
    }

    /// Looks at why an attempt was refused.
    pub(super) async fn after(&mut self, error: Option<&AuthError>) -> Next {
        match error {
            Some(AuthError::PairingBusy { wait_ms }) if self.busy < BUSY_RETRIES_MAX => {
                self.busy += 1;
                let wait = Duration::from_millis(*wait_ms).min(BUSY_WAIT_MAX);
                self.out.say(format_args!("The receiver is busy; trying again in {} s.", wait.as_secs().max(1)));
                tokio::select! {
                    () = tokio::time::sleep(wait) => Next::Again,
                    () = self.interrupts.asked() => Next::Over(self.interrupts.exit()),
                }
            }
            Some(error @ (AuthError::PairingNeeded { .. } | AuthError::WrongCode))
                if self.may_ask && self.asked < ASKED_MAX =>
            {
                self.asked += 1;
                match self.ask(error).await {
                    Some(given) => self.secret = Some(given),
                    None => return self.given_up(),
                }
                Next::Again
            }
            Some(AuthError::Unconfirmed { last, name, found, .. }) if self.may_ask => {
                if let Target::Address(at) = &self.target {
                    let confirmed = Target::DeviceAt { id: *found, at: at.clone() };
                    let (name, id) = (for_terminal(name), found.short());
                    let last = for_terminal(last);
                    let answers =
                        format!("\"{last}\" was there last; now \"{name}\" ({id}) answers, which is paired, too.");
                    let question = format!("{answers} Send to \"{name}\"? [y/N] ");
                    if self.confirm(&question).await {
                        self.target = confirmed;
                        return Next::Again;
                    }
                }
                self.given_up()
            }
            _ => Next::Settled,
        }
    }

    fn given_up(&self) -> Next {
        Next::Over(if self.interrupts.is_asked() { self.interrupts.exit() } else { Exit::NotAuthenticated })
    }

    /// Whether a person says yes.
    async fn confirm(&mut self, question: &str) -> bool {
        let lines = self.lines.get_or_insert_with(Lines::start);
        tokio::select! {
            typed = lines.ask(question) => {
                typed.is_some_and(|typed| matches!(&*typed.trim().to_ascii_lowercase(), "y" | "yes"))
            }
            () = self.interrupts.asked() => false,
        }
    }

    /// Asks for the code; none when the person gives up.
    async fn ask(&mut self, why: &AuthError) -> Option<GivenSecret> {
        match why {
            AuthError::PairingNeeded { peer_name } => eprintln!(
                "This machine and \"{}\" are not paired. Its `ringway recv` shows a code, such as 42-river-castle.",
                for_terminal(peer_name)
            ),
            _ => eprintln!("The code was wrong, or the receiver has replaced it: type the one that it shows now."),
        }
        let lines = self.lines.get_or_insert_with(Lines::start);
        tokio::select! {
            given = ask_for_code(lines) => given,
            () = self.interrupts.asked() => {
                prompt::restore_echo();
                eprintln!();
                None
            }
        }
    }
}
