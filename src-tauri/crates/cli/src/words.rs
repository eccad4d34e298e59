//! What the command says: the sentences of `model::sentences` with commands as a shell takes them,
//! and those that only the command has. Everything a peer or a disk named is made harmless first.
pub(crate) mod advised;
pub(crate) mod note;
pub(crate) mod pace;
pub(crate) mod path_taken;
pub(crate) mod rule;

use std::io;

use ringway_engine::{SecretError, Transfer};
use ringway_model::sentences::{self, Says, Unsuitable};
use ringway_model::{
    AuthError, DeviceId, Direction, Edit, Failure, FailureReason, Fault, FreeSpace, LookAlike, Offer, OsError,
    PairingRequest, Remedy, TurnedAway,
};

use crate::text::{bytes, count, for_terminal};

/// That a paired device's name looks like another one's.
pub(crate) fn looks_like(name: &str, id: DeviceId, other: &LookAlike) -> String {
    let Words { what, next } = other.says().into();
    format!("{} ({}): {what} {}", for_terminal(name), id.short(), next.unwrap_or_default())
}

/// What happened and what to do about it, as whole sentences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Words {
    /// What happened.
    pub(crate) what: String,
    /// What to do next, if there is something to do.
    pub(crate) next: Option<String>,
}

impl Words {
    pub(crate) fn new(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { what: what.into(), next: Some(next.into()) }
    }

    pub(crate) fn only(what: impl Into<String>) -> Self {
        Self { what: what.into(), next: None }
    }

    /// With one more next step.
    pub(crate) fn and(self, next: &str) -> Self {
        let steps: Vec<_> =
            self.next.iter().map(String::as_str).chain([next]).filter(|step| !step.is_empty()).collect();
        Self { next: (!steps.is_empty()).then(|| steps.join(" ")), ..self }
    }
}

impl From<Says> for Words {
    fn from(says: Says) -> Self {
        Self { what: says.what(), next: says.in_terminal() }
    }
}

/// A fault, with a device whose name is not known.
pub(crate) fn error(fault: &Fault) -> Words {
    marked(fault, commands(fault, fault.says()).into())
}

/// The same of a transfer in that direction, where the other device's name may be known; `is_got`
/// where the receiving device has asked for it.
pub(crate) fn error_of(fault: &Fault, direction: Direction, is_got: bool, peer: Option<&str>) -> Words {
    marked(fault, commands(fault, fault.says_of(direction, is_got)).of_peer(peer).into())
}

/// The same of a transfer.
pub(crate) fn error_in(fault: &Fault, transfer: &Transfer, peer: Option<&str>) -> Words {
    error_of(fault, transfer.direction(), transfer.is_got(), peer)
}

/// Marks what may be an attack: a terminal has no icon or colour for that.
fn marked(fault: &Fault, words: Words) -> Words {
    match fault {
        Fault::Auth(AuthError::IdentityChanged { .. } | AuthError::OtherAnswered { .. }) => {
            Words { what: format!("DANGER: {}", words.what), ..words }
        }
        _ => words,
    }
}

/// What to say of a fault, with the words of commands that its next step has.
fn commands(fault: &Fault, says: Says) -> Says {
    match fault {
        Fault::Store { path, .. } => says
            .with("file", advised::path_word(path))
            .with("folder", advised::path_word(path.parent().unwrap_or(path)))
            .with("aside", advised::path_word(&path.with_added_extension("damaged"))),
        Fault::Auth(AuthError::IdentityChanged { expected, .. }) => says.with("forget", advised::forget(*expected)),
        Fault::Auth(AuthError::Unconfirmed { last, last_id, .. }) => {
            says.with("send", advised::send_to(last, *last_id))
        }
        _ => says,
    }
}

/// That a device failed to pair with this one, or to be recognised.
pub(crate) fn pairing_failed(TurnedAway { from, why, attempts_left }: &TurnedAway) -> String {
    let what = sentences::pairing_failed(why, &from.to_string(), *attempts_left).what();
    match why {
        AuthError::WrongCode | AuthError::NoCodeOpen => what,
        other => format!("{what} {}", error(&Fault::Auth(other.clone())).what),
    }
}

/// That a device wants to pair with this one and has no code: who, and what to do.
pub(crate) fn pairing_requested(request: &PairingRequest) -> String {
    let PairingRequest { id, name, paired_as, looks_like, from, .. } = request;
    let again = match paired_as {
        Some(here) => format!(", which is paired here as {} and has forgotten this device,", for_terminal(here)),
        None => String::new(),
    };
    let who = format!("\"{}\" ({}) at {from}{again}", for_terminal(name), id.short());
    let mut line = format!("{who} wants to connect. If you know this device, type the code of this one there.");
    if let Some(other) = looks_like {
        line.push_str(&format!(" WARNING: {}", self::looks_like(name, *id, other)));
    }
    line
}

/// Free space at an offer's destination, as text after the offer's size: `; 2.0 GB free here`, and
/// why the folder does not suit the offer.
pub(crate) fn free_space(offer: &Offer, free: FreeSpace) -> String {
    let mut line = format!("; {} free here", bytes(free.free_bytes));
    let missing = offer.bytes_so_far.checked_sub(free.free_bytes).filter(|missing| *missing > 0);
    let left = free.free_entries.filter(|left| *left < offer.entries_so_far);
    let too_long = |max: u64| offer.names.iter().any(|name| name.as_os_str().len() as u64 > max);
    let unsuitable = [
        (!free.writable).then_some(Unsuitable::NotWritable),
        missing.map(Unsuitable::TooLarge),
        left.map(Unsuitable::TooMany),
        free.name_max.filter(|max| too_long(*max)).map(Unsuitable::NamesTooLong),
    ];
    for why in unsuitable.into_iter().flatten() {
        line.push_str(&format!("\n  WARNING: {}", why.says().what()));
    }
    line
}

/// Commands, each with what it is for, as sentences.
pub(crate) fn remedies(commands: &[Remedy]) -> String {
    commands.iter().map(sentences::remedy).collect::<Vec<_>>().join(" ")
}

/// A text that is no code.
pub(crate) fn secret(error: SecretError) -> Words {
    let example = || self::error(&Fault::NotACode).next;
    match error {
        SecretError::NotACode => self::error(&Fault::NotACode),
        SecretError::NumberTooLarge => self::error(&Fault::CodeNumberTooLarge),
        SecretError::UnknownWord { position } => self::error(&Fault::UnknownWord { position }),
        SecretError::TooShort { len } => Words {
            what: format!("This is neither a code nor, with its {len} bytes, long enough as a standing secret."),
            next: example(),
        },
        SecretError::TooLong => Words {
            what: "This is too long for a code or a standing secret: is it the right file?".to_owned(),
            next: example(),
        },
    }
}

/// One entry that did not make it: `path: why`. The other device is named where its name is known.
/// `is_got` where the receiving device has asked for it.
pub(crate) fn failure(failure: &Failure, direction: Direction, is_got: bool, peer: Option<&str>) -> String {
    format!("{}: {}", for_terminal(&failure.path), reason(failure, direction, is_got, peer))
}

/// Why one entry did not make it; its path is the subject.
fn reason(failure: &Failure, direction: Direction, is_got: bool, peer: Option<&str>) -> String {
    let says = sentences::failure(failure, direction, is_got).of_peer(peer);
    match says.in_terminal() {
        Some(next) => format!("{} ({next})", says.what()),
        None => says.what(),
    }
}

/// Of a file at the receiver that differed and stayed.
pub(crate) fn edit(edit: &Edit, direction: Direction) -> String {
    let (path, beside) = (for_terminal(&edit.path), for_terminal(&edit.beside));
    match direction {
        Direction::Sending => {
            format!("{path}: differs at the receiver and is kept there; what you sent is beside it as {beside}")
        }
        _ => format!("{path}: differs here and is kept; what was received is beside it as {beside}"),
    }
}

/// The same as `--json` has it: of an error of the system's, only what the system calls it.
pub(crate) fn failure_reason(failure: &Failure, direction: Direction, is_got: bool) -> String {
    match failure.reason {
        FailureReason::Os { errno } | FailureReason::CutShort { errno } => {
            os(&io::Error::from_raw_os_error(errno).into())
        }
        _ => reason(failure, direction, is_got, None),
    }
}

/// `1 entry`, `2 entries`.
pub(crate) fn entries(number: u64) -> String {
    if number == 1 { "1 entry".to_owned() } else { format!("{} entries", count(number)) }
}

/// What the system calls an error, without the number.
pub(crate) fn os(error: &OsError) -> String {
    error.detail.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_model::{Operation, Side, UserTlsReason, samples};
    use std::path::Path;

    fn assert_sentence(text: &str) {
        assert!(text.len() > 10, "{text:?}");
        assert!(text.ends_with(['.', '?', '`']), "{text:?}");
        assert!(!text.chars().any(crate::text::misleads), "{text:?}");
        assert!(!text.contains("os error"), "{text:?}");
        for word in ["{file}", "{folder}", "{aside}", "{forget}", "{send}"] {
            assert!(!text.contains(word), "{text:?}");
        }
    }

    #[test]
    fn wrong_code_may_be_one_that_was_replaced() {
        let told = error(&Fault::Auth(AuthError::WrongCode));
        assert!(told.what.contains("replaced"), "{}", told.what);
        assert!(told.next.is_some_and(|next| next.contains("shows now")));
    }

    #[test]
    fn every_error_has_sentences_that_no_peer_can_forge() {
        for error in samples::faults(samples::HOSTILE) {
            let words = self::error(&error);
            assert_sentence(&words.what);
            words.next.iter().for_each(|next| assert_sentence(next));
            if let Fault::Auth(auth) = &error {
                let from = std::net::Ipv4Addr::new(10, 0, 0, 9).into();
                assert_sentence(&pairing_failed(&TurnedAway { from, why: auth.clone(), attempts_left: None }));
            }
            let wrapped = crate::refusal::words_of(&anyhow::Error::new(error).context("somewhere"));
            assert_eq!(wrapped, words);
        }
    }

    #[test]
    fn a_request_to_pair_says_who_it_is_and_warns_of_names_that_look_alike() {
        let id = DeviceId([7; 32]);
        let from = std::net::Ipv4Addr::new(10, 0, 0, 9).into();
        let plain = PairingRequest { id, name: "ada".into(), paired_as: None, looks_like: None, from, allowed: false };
        let line = pairing_requested(&plain);
        assert!(line.starts_with("\"ada\" (0707-0707-0707-0707) at 10.0.0.9 wants to connect."), "{line}");
        let other = LookAlike { id: DeviceId([8; 32]), name: "nas".into() };
        let hostile = PairingRequest { name: samples::HOSTILE.into(), looks_like: Some(other), ..plain.clone() };
        let line = pairing_requested(&hostile);
        assert_sentence(&line);
        assert!(line.contains("WARNING") && line.contains("nas"), "{line}");
        let again = PairingRequest { paired_as: Some("ada".into()), ..plain };
        assert!(pairing_requested(&again).contains("has forgotten this device"));
    }

    #[test]
    fn every_errno_of_reaching_and_listening_says_what_to_do() {
        for errno in [2, 13, 98, 99, 101, 110, 111, 113] {
            let source = || io::Error::from_raw_os_error(errno);
            assert!(error(&Fault::unreachable("h:1", source())).next.is_some());
            assert_sentence(&error(&Fault::listen("h:1", source())).what);
        }
        let refused = error(&Fault::unreachable("lab:17464", io::Error::from_raw_os_error(111)));
        assert!(refused.next.unwrap().contains("ringway recv"));
        let module = error(&Fault::NoKernelTls {
            reason: UserTlsReason::ModuleNotLoaded,
            remedies: ringway_engine::remedy::kernel_tls(Path::new("/")),
        });
        assert!(module.next.unwrap().contains("sudo modprobe tls"));
    }

    #[test]
    fn every_failure_names_the_file_and_the_reason() {
        for reason in samples::FAILURE_REASONS {
            for operation in samples::OPERATIONS {
                let failed = Failure { path: "a\nb".into(), side: Side::There, operation, reason };
                let said = failure(&failed, Direction::Sending, false, None);
                assert!(said.starts_with("a\\nb: ") && said.len() > 15, "{said}");
            }
        }
        let failed = Failure {
            path: "secret".into(),
            side: Side::Here,
            operation: Operation::Open,
            reason: FailureReason::Os { errno: 13 },
        };
        assert_eq!(
            failure(&failed, Direction::Sending, false, None),
            "secret: could not be opened here: Permission denied"
        );
        assert_eq!(failure(&failed, Direction::Copying, false, None), "secret: could not be opened: Permission denied");
        assert_eq!(failure_reason(&failed, Direction::Sending, false), "Permission denied");
        let differs = Failure { reason: FailureReason::Differs, ..failed.clone() };
        assert!(!failure_reason(&differs, Direction::Copying, false).contains("removed"), "a copy removes nothing");
        let cut_short = |errno| Failure { reason: FailureReason::CutShort { errno }, ..failed.clone() };
        assert!(failure(&cut_short(125), Direction::Copying, false, None).ends_with("is incomplete: copy it again"));
        assert!(failure(&cut_short(28), Direction::Copying, false, None).contains("(No space left on device)"));
    }

    #[test]
    fn every_refused_secret_is_explained_without_repeating_it() {
        let all = [
            SecretError::NotACode,
            SecretError::NumberTooLarge,
            SecretError::UnknownWord { position: 1 },
            SecretError::UnknownWord { position: 2 },
            SecretError::TooShort { len: 5 },
            SecretError::TooLong,
        ];
        for error in all {
            let words = secret(error);
            assert_sentence(&words.what);
            assert_sentence(&words.next.unwrap());
        }
    }
}
