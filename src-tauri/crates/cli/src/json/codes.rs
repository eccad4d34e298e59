//! The names that `--json` has for variants: those of the model, and of what only a command meets.
use ringway_engine::Planned;
use ringway_model::Fault;
use serde::Serialize;
use serde_json::{Value, json};

use crate::exit::{Exit, status_of};

/// What a variant is called: its name, or the value of its tag `key`.
pub(crate) fn tag(value: impl Serialize, key: &str) -> String {
    match json!(value) {
        Value::String(name) => name,
        Value::Object(fields) => match fields.get(key) {
            Some(Value::String(name)) => name.clone(),
            _ => fields.keys().next().cloned().unwrap_or_default(),
        },
        _ => String::new(),
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
    }
}

/// The code of what ended the command early: the fault's, or one by its exit status.
pub(crate) fn code_of(error: &anyhow::Error) -> String {
    match (error.downcast_ref::<Fault>(), status_of(error)) {
        (Some(error), _) => error.code(),
        (None, Exit::Usage) => "usage".to_owned(),
        (None, Exit::NotAuthenticated) => "pairing_needed".to_owned(),
        (None, _) => "failed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_model::AuthError;

    use crate::exit::Refusal;

    #[test]
    fn what_ended_the_command_has_a_name_whatever_it_was() {
        let auth = anyhow::Error::from(Fault::Auth(AuthError::NoCodeOpen)).context("somewhere");
        assert_eq!(code_of(&auth), "no_code_open");
        assert_eq!(code_of(&Refusal::usage("x").into()), "usage");
        assert_eq!(code_of(&Refusal { exit: Exit::NotAuthenticated, ..Refusal::usage("x") }.into()), "pairing_needed");
        assert_eq!(code_of(&anyhow::anyhow!("x")), "failed");
    }
}
