//! What ends a command early: refusals of the command itself, and the code, the sentences and the
//! exit status of any error.
use ringway_engine::SecretError;
use ringway_model::Fault;

use crate::exit::Exit;
use crate::text::for_terminal;
use crate::words::{self, Words};

/// A refusal of the command itself: what is wrong, what to do about it, and how to exit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// How to exit.
    pub(crate) exit: Exit,
    /// What is wrong.
    pub(crate) what: String,
    /// What to do next.
    pub(crate) next: Option<String>,
    /// The fault whose code programs read, if there is one for it.
    pub(crate) cause: Option<Box<Fault>>,
}

impl Refusal {
    /// Wrong usage.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, what: what.into(), next: None, cause: None }
    }

    /// A failure.
    pub(crate) fn failed(what: impl Into<String>) -> Self {
        Self { exit: Exit::Failed, what: what.into(), next: None, cause: None }
    }

    /// A fault, said in these words.
    pub(crate) fn of(cause: Fault, Words { what, next }: Words) -> Self {
        Self { exit: Exit::from(&cause), what, next, cause: Some(Box::new(cause)) }
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

impl From<Fault> for Refusal {
    fn from(cause: Fault) -> Self {
        let words = words::error(&cause);
        Self::of(cause, words)
    }
}

/// The fault that ended the command early, if it was one.
pub(crate) fn fault_of(error: &anyhow::Error) -> Option<&Fault> {
    let of_refusal = error.downcast_ref::<Refusal>().and_then(|refusal| refusal.cause.as_deref());
    of_refusal.or_else(|| error.downcast_ref())
}

/// The exit status after what ended the command early.
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

/// What ended the command early, in sentences.
pub(crate) fn words_of(error: &anyhow::Error) -> Words {
    if let Some(refusal) = error.downcast_ref::<Refusal>() {
        Words { what: refusal.what.clone(), next: refusal.next.clone() }
    } else if let Some(error) = error.downcast_ref::<Fault>() {
        words::error(error)
    } else if let Some(secret) = error.downcast_ref::<SecretError>() {
        let Words { what, next } = words::secret(*secret);
        // The context says which source the secret came from.
        Words { what: format!("{}: {what}", for_terminal(error.to_string())), next }
    } else {
        Words::only(for_terminal(format!("{error:#}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;
    use ringway_model::AuthError;

    #[test]
    fn context_does_not_hide_what_went_wrong() {
        let error = Err::<(), _>(Fault::Auth(AuthError::WrongCode)).context("pairing").unwrap_err();
        assert_eq!(status_of(&error), Exit::NotAuthenticated);
        let error = Err::<(), _>(SecretError::TooLong).context("file").unwrap_err();
        assert_eq!(status_of(&error), Exit::Usage);
        assert_eq!(status_of(&Refusal::usage("x").into()), Exit::Usage);
        assert_eq!(status_of(&anyhow::anyhow!("whatever")), Exit::Failed);
    }
}
