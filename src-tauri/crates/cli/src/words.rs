//! What the command says of faults and failures: the sentences of `model::sentences` with commands
//! as a shell takes them, and a few that only the command has. Everything a peer or a disk named is
//! made harmless first.
pub(crate) mod advised;
pub(crate) mod pace;
pub(crate) mod path_taken;
pub(crate) mod rule;

use std::io;

use ringway_engine::{FreeSpace, OfferSummary, SecretError};
use ringway_model::sentences::{self, Says};
use ringway_model::{AuthError, DeviceId, Direction, Edit, Failure, FailureReason, Fault, LookAlike, OsError, Remedy};

use crate::exit::Refusal;
use crate::text::{bytes, count, for_terminal};

/// That a device's name looks like another one's.
pub(crate) fn looks_like(name: &str, id: DeviceId, other: &LookAlike) -> String {
    let [name, other_name] = [name, &other.name].map(for_terminal);
    format!(
        "{name} ({}) LOOKS LIKE THE NAME OF {other_name} ({}). Compare ids; `ringway devices rename` tells them apart.",
        id.short(),
        other.id.short()
    )
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
}

impl From<Says> for Words {
    fn from(says: Says) -> Self {
        Self { what: says.what(), next: says.in_terminal() }
    }
}

/// Whatever ended the command early.
pub(crate) fn anything(error: &anyhow::Error) -> Words {
    if let Some(refusal) = error.downcast_ref::<Refusal>() {
        Words { what: refusal.what.clone(), next: refusal.next.clone() }
    } else if let Some(error) = error.downcast_ref::<Fault>() {
        self::error(error)
    } else if let Some(secret) = error.downcast_ref::<SecretError>() {
        let words = self::secret(*secret);
        // The context says which source the secret came from.
        Words { what: format!("{}: {}", for_terminal(error.to_string()), words.what), ..words }
    } else {
        Words::only(for_terminal(format!("{error:#}")))
    }
}

/// A fault, with a device whose name is not known.
pub(crate) fn error(fault: &Fault) -> Words {
    marked(fault, commands(fault, fault.says()).into())
}

/// The same of a transfer in that direction, where the other device's name may be known.
pub(crate) fn error_of(fault: &Fault, direction: Direction, peer: Option<&str>) -> Words {
    marked(fault, commands(fault, fault.says_of(direction)).of_peer(peer).into())
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

/// Why a stranger was turned away, seen from the receiver.
pub(crate) fn turned_away(error: &AuthError) -> String {
    match error {
        AuthError::WrongCode => "the code was wrong.".into(),
        AuthError::NoCodeOpen => "no code is open here.".into(),
        AuthError::PairingBusy { .. } => "another pairing was under way.".into(),
        AuthError::IdentityChanged { name, expected, found } => format!(
            "DANGER: it calls itself \"{}\", which is the name of another device here. Known: {}. Found: {}.",
            for_terminal(name),
            expected.short(),
            found.short()
        ),
        other => other.says().what(),
    }
}

/// Free space at an offer's destination, as text after the offer's size: `; 2.0 GB free here`, and
/// warnings.
pub(crate) fn free_space(offer: &OfferSummary, free: FreeSpace) -> String {
    let mut line = format!("; {} free here", bytes(free.free_bytes));
    if !free.is_writable {
        line.push_str(", but THIS FOLDER CANNOT BE WRITTEN TO");
    }
    // What is sparse, or there already, takes less: a person knows that better.
    if let Some(missing) = offer.bytes_so_far.checked_sub(free.free_bytes).filter(|missing| *missing > 0) {
        line.push_str(&format!(", {} TOO LITTLE unless some of it is here already", bytes(missing)));
    }
    if let Some(left) = free.free_entries.filter(|left| *left < offer.entries_so_far) {
        line.push_str(&format!(", and room for {} ONLY", entries(left)));
    }
    let too_long = |max: u64| offer.names.iter().any(|name| name.len() as u64 > max);
    if let Some(max) = free.name_max.filter(|max| too_long(*max)) {
        line.push_str(&format!(", and names may have {max} bytes at most"));
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
pub(crate) fn failure(failure: &Failure, direction: Direction, peer: Option<&str>) -> String {
    format!("{}: {}", for_terminal(&failure.path), reason(failure, direction, peer))
}

/// Why one entry did not make it; its path is the subject.
fn reason(failure: &Failure, direction: Direction, peer: Option<&str>) -> String {
    let says = sentences::failure(failure, direction).of_peer(peer);
    match says.in_terminal() {
        Some(next) => format!("{} ({next})", says.what()),
        None => says.what(),
    }
}

/// Of a file that the receiver had edited.
pub(crate) fn edit(edit: &Edit, direction: Direction) -> String {
    let (path, beside) = (for_terminal(&edit.path), for_terminal(&edit.beside));
    match direction {
        Direction::Sending => {
            format!("{path}: was edited at the receiver and is kept there; what you sent is beside it as {beside}")
        }
        _ => format!("{path}: was edited here and is kept; what was received is beside it as {beside}"),
    }
}

/// The same as `--json` has it: of an error of the system's, only what the system calls it.
pub(crate) fn failure_reason(failure: &Failure, direction: Direction) -> String {
    match failure.reason {
        FailureReason::Os { errno } | FailureReason::CutShort { errno } => {
            os(&io::Error::from_raw_os_error(errno).into())
        }
        _ => reason(failure, direction, None),
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
    use ringway_model::{DeclineReason, Invalid, Operation, Shortage, Side, StoreTrouble, SyncIoReason, UserTlsReason};
    use std::path::{Path, PathBuf};

    fn enoent() -> io::Error {
        io::Error::from_raw_os_error(2)
    }

    /// One of each variant, with hostile text wherever text may be a peer's.
    fn errors() -> Vec<Fault> {
        let evil = "x\x1b[31m\u{202e}";
        let path = PathBuf::from(evil);
        let auth = [
            AuthError::PairingNeeded { peer_name: evil.into() },
            AuthError::WrongCode,
            AuthError::NoCodeOpen,
            AuthError::PairingBusy { wait_ms: 1_200 },
            AuthError::IdentityChanged { name: evil.into(), expected: DeviceId([1; 32]), found: DeviceId([2; 32]) },
            AuthError::Unconfirmed {
                last: evil.into(),
                last_id: DeviceId([1; 32]),
                name: evil.into(),
                found: DeviceId([2; 32]),
            },
            AuthError::OtherAnswered { announced: evil.into(), found: DeviceId([2; 32]) },
            AuthError::Forgotten { name: evil.into(), id: DeviceId([1; 32]), now: Some(DeviceId([2; 32])) },
            AuthError::Ourselves,
        ];
        let declined = [
            DeclineReason::ByChoice,
            DeclineReason::NoAnswer,
            DeclineReason::NoRoom(Shortage { needed: 2_000_000, free: 1_000, entries: 0 }),
            DeclineReason::NotWritable,
            DeclineReason::Busy,
            DeclineReason::Paused,
            DeclineReason::Stopped,
            DeclineReason::TooManyOffers { wait_ms: 15_000 },
        ];
        let tls = [
            UserTlsReason::Asked,
            UserTlsReason::NotInKernel,
            UserTlsReason::ModuleNotLoaded,
            UserTlsReason::Refused(1),
        ];
        let io = [
            SyncIoReason::Asked,
            SyncIoReason::Faster,
            SyncIoReason::NotInKernel,
            SyncIoReason::Forbidden,
            SyncIoReason::NoMemory,
            SyncIoReason::OpcodeMissing,
            SyncIoReason::Refused(1),
        ];
        let mut all = vec![
            Fault::Path { path: path.clone().into(), operation: Operation::Open, source: enoent().into() },
            Fault::NotPublished {
                path: path.clone().into(),
                operation: Operation::Rename,
                source: enoent().into(),
                published: vec![path.clone().into(); 20],
            },
            Fault::UnknownTarget { target: evil.into() },
            Fault::unreachable(evil, enoent()),
            Fault::listen(evil, enoent()),
            Fault::cancelled(Side::Here),
            Fault::cancelled(Side::There),
            Fault::PeerForgotten,
            Fault::ConnectionLost(enoent().into()),
            Fault::Version { ours: 1, theirs: 2 },
            Fault::Tls { detail: evil.into() },
            Fault::FailedThere,
            Fault::TurnedAway,
            Fault::ReceiptContradicts { detail: evil.into() },
            Fault::Stalled { seconds: 600 },
            Fault::Discovery { detail: evil.into() },
            Fault::DestinationGone,
            Fault::Config { path: path.clone().into(), line: Some(2), detail: evil.into(), nearest: None },
            Fault::Config { path: path.clone().into(), line: None, detail: evil.into(), nearest: Some("port".into()) },
            Fault::Invalid(Invalid::SameName { name: "photos".into() }),
            Fault::Invalid(ringway_model::Invalid::AmbiguousName { name: evil.into() }),
            Fault::DestinationFull { shortage: None },
            Fault::DestinationFull { shortage: Some(Shortage { needed: 2_000_000, free: 1_000, entries: 7 }) },
        ];
        let troubles = [
            StoreTrouble::Full,
            StoreTrouble::NotWritable,
            StoreTrouble::NotReadable,
            StoreTrouble::Busy,
            StoreTrouble::DamagedDatabase,
            StoreTrouble::DamagedIdentity,
            StoreTrouble::Untrusted,
            StoreTrouble::Other,
        ];
        all.extend(troubles.map(|trouble| Fault::Store { path: path.clone().into(), trouble, detail: evil.into() }));
        all.extend(auth.into_iter().map(Fault::Auth));
        all.extend(declined.map(Fault::Declined));
        all.extend(tls.map(|reason| Fault::NoKernelTls { reason, remedies: Vec::new() }));
        all.extend(io.map(|reason| Fault::NoIoUring { reason }));
        all
    }

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
        for error in errors() {
            let words = self::error(&error);
            assert_sentence(&words.what);
            words.next.iter().for_each(|next| assert_sentence(next));
            if let Fault::Auth(auth) = &error {
                assert_sentence(&turned_away(auth));
            }
            let wrapped = anything(&anyhow::Error::new(error).context("somewhere"));
            assert_eq!(wrapped, words);
        }
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
        let reasons = [
            FailureReason::Os { errno: 13 },
            FailureReason::SpecialFile,
            FailureReason::ChangedWhileReading,
            FailureReason::PathTooLong,
            FailureReason::InTheWay,
            FailureReason::LinkTargetMissing,
            FailureReason::Kept,
            FailureReason::SameFile,
            FailureReason::IntoItself,
            FailureReason::Differs,
            FailureReason::OwnFolder,
            FailureReason::DotName,
            FailureReason::HomeFolder,
            FailureReason::NameNotKept,
        ];
        let operations = [
            Operation::Open,
            Operation::Read,
            Operation::Write,
            Operation::Create,
            Operation::Rename,
            Operation::Metadata,
            Operation::Link,
            Operation::Sync,
        ];
        for reason in reasons {
            for operation in operations {
                let failed = Failure { path: "a\nb".into(), side: Side::There, operation, reason };
                let said = failure(&failed, Direction::Sending, None);
                assert!(said.starts_with("a\\nb: ") && said.len() > 15, "{said}");
            }
        }
        let failed = Failure {
            path: "secret".into(),
            side: Side::Here,
            operation: Operation::Open,
            reason: FailureReason::Os { errno: 13 },
        };
        assert_eq!(failure(&failed, Direction::Sending, None), "secret: could not be opened here: Permission denied");
        assert_eq!(failure(&failed, Direction::Copying, None), "secret: could not be opened: Permission denied");
        assert_eq!(failure_reason(&failed, Direction::Sending), "Permission denied");
        let differs = Failure { reason: FailureReason::Differs, ..failed.clone() };
        assert!(!failure_reason(&differs, Direction::Copying).contains("removed"), "a copy removes nothing");
        let cut_short = |errno| Failure { reason: FailureReason::CutShort { errno }, ..failed.clone() };
        assert!(failure(&cut_short(125), Direction::Copying, None).ends_with("is incomplete: copy it again"));
        assert!(failure(&cut_short(28), Direction::Copying, None).contains("(No space left on device)"));
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
