//! Errors and reasons in plain sentences: what happened, and what to do next. Everything a peer or
//! a disk named is made harmless first.
pub(crate) mod advised;
pub(crate) mod pace;
pub(crate) mod path_taken;
pub(crate) mod rule;

use std::io;
use std::path::Path;
use std::time::Duration;

use ringway_engine::{FreeSpace, OfferSummary, SecretError};
use ringway_model::{
    Aim, AuthError, DeclineReason, DeviceId, Direction, Edit, Failure, FailureReason, Fault, Invalid, LookAlike,
    Operation, OsError, Remedy, Shortage, Side, StoreTrouble,
};
use rustix::io::Errno;

use crate::exit::Refusal;
use crate::text::{bytes, count, for_terminal, took};
use path_taken::{sync_io, user_tls};

/// After an end that was too early.
const STOPPED: &str = "Nothing half-written stands under a final name. Send the same again to complete it.";

/// After an end that nobody asked for.
const BROKEN: &str =
    "Nothing half-written stands under a final name. Send the same again: it goes on from what has arrived.";

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

/// Names of what has arrived that an error lists.
const PUBLISHED_SHOWN_MAX: usize = 10;

/// An engine's error.
pub(crate) fn error(error: &Fault) -> Words {
    match error {
        Fault::Path { path, operation, source } => path_error(&for_terminal(path), *operation, source),
        Fault::NotPublished { path, operation, source, published } => {
            let named: Vec<_> = published.iter().take(PUBLISHED_SHOWN_MAX).map(for_terminal).collect();
            let more = published.len().saturating_sub(named.len());
            let there = match (named.is_empty(), more) {
                (true, _) => String::new(),
                (false, 0) => format!(" Already there: {}.", named.join(", ")),
                (false, more) => format!(" Already there: {} and {more} more.", named.join(", ")),
            };
            Words::new(
                format!("{} could not be {}: {}.{there}", for_terminal(path), done(*operation), os(source)),
                "What has been received is kept. Remove the obstacle, and send the same again to go on.",
            )
        }
        Fault::UnknownTarget { target } if target.contains('%') => Words::new(
            format!("{} is no address of the link on an interface of this machine.", for_terminal(target)),
            "It is written as fe80::1%eth0, with the interface of this machine that leads there (`ip link` lists them), or without: then each is tried.",
        ),
        Fault::UnknownTarget { target } => Words::new(
            format!("There is no paired device and no address called \"{}\".", for_terminal(target)),
            "The last argument is the target: a name from `ringway devices`, or HOST or HOST:PORT as `ringway recv` shows it.",
        ),
        Fault::Unreachable { target, source, .. } => unreachable(&for_terminal(target), source),
        Fault::Listen { address, source, .. } => listen(&for_terminal(address), source),
        Fault::Auth(auth) => self::auth(auth),
        Fault::Declined(reason) => declined(*reason),
        Fault::Cancelled { by: Side::Here } => Words::new("Stopped here.", STOPPED),
        Fault::Cancelled { by: Side::There } => Words::new(
            "It was cancelled at the other device.",
            "What was whole in folders that were there before stays; a folder that was new has gone. Send the same again.",
        ),
        Fault::PeerForgotten => Words::new(
            "Stopped: the device was forgotten here.",
            "What was whole in folders that were there before stays; a folder that was new has gone. To go on, pair the two devices again and send the same again.",
        ),
        Fault::ConnectionLost(source) => Words::new(
            match source.kind() {
                io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                    "The other side was gone before the receipt: it ended, or the network broke.".to_owned()
                }
                io::ErrorKind::TimedOut => {
                    "Nothing was heard from the other side for too long: it sleeps, or the network is down.".to_owned()
                }
                _ => format!("The connection broke before the receipt: {}.", os(source)),
            },
            BROKEN,
        ),
        Fault::MisleadingName => Words::new(
            "The other device has a name that reads as an id or an address, which no device may have.",
            "Rename it there: `ringway settings --name NEW`.",
        ),
        Fault::Protocol { detail } => Words::new(
            format!("The other side broke the protocol: {}.", for_terminal(detail)),
            "Is it a Ringway of the same version (`ringway --version` on both)?",
        ),
        Fault::ReceiptContradicts { detail: how } => Words::new(
            format!("The receipt of the other side contradicts what was sent: {}.", for_terminal(how)),
            "What arrived is not known. Look into the folder at the receiver, and send the same again; both sides need the same version.",
        ),
        Fault::Stalled { seconds } => Words::new(
            format!("The other side took nothing more for {}.", took(Duration::from_secs(*seconds))),
            "What is whole is kept there. Send the same again to go on; --timeout says how long to wait.",
        ),
        Fault::Version { ours, theirs } => Words::new(
            format!("The other side speaks version {theirs} of the protocol, this one speaks {ours}."),
            "Install the same version of Ringway on both machines.",
        ),
        Fault::Tls { detail } => Words::new(
            format!("No encrypted connection came about, or it was tampered with: {}.", for_terminal(detail)),
            "Is it really Ringway that listens at that port? If so, something between the two machines alters the traffic.",
        ),
        Fault::FewDescriptors { has, least } => Words::new(
            format!("This process may open {has} file descriptors, and Ringway needs at least {least} for this."),
            "Raise the limit of this shell: `sudo prlimit --pid $$ --nofile=1024:1024`. In a systemd unit it is LimitNOFILE=1024.",
        ),
        Fault::NoKernelTls { reason, remedies } => Words::new(
            format!("Kernel TLS was asked for and is unavailable: {}.", user_tls(*reason)),
            match remedies.is_empty() {
                false => format!("{} Or leave --tls out.", load_tls(remedies)),
                true => "Leave --tls out: userspace encryption is the same on the wire.".to_owned(),
            },
        ),
        Fault::NoIoUring { reason } => Words::new(
            format!("io_uring was asked for and is unavailable: {}.", sync_io(*reason)),
            "Leave --io out: plain system calls do the same.",
        ),
        Fault::Config { path, line, detail: reason, nearest } => {
            let line = line.map_or_else(String::new, |line| format!(", line {line}"));
            let what = format!("{}{line}: {}.", for_terminal(path), for_terminal(reason));
            match nearest {
                Some(nearest) => {
                    let nearest = for_terminal(nearest);
                    Words::new(what, format!("Did you mean {nearest}? Correct that line, or remove it."))
                }
                None => Words::new(what, "Correct that line, or remove it: what is not set has its default."),
            }
        }
        Fault::Store { path, trouble, detail: reason } => store(path, *trouble, reason),
        Fault::Invalid(Invalid::OwnFolder { folder }) => Words::new(
            format!("{} belongs to Ringway itself: nothing is received into it.", for_terminal(folder)),
            "Name another folder.",
        ),
        Fault::Invalid(Invalid::HomeFolder { folder }) => Words::new(
            format!(
                "{} is a home folder. What lands there can change how programs start, so nothing is received into it.",
                for_terminal(folder)
            ),
            "Name a folder inside it, such as Downloads, or say --allow-home.",
        ),
        Fault::Invalid(Invalid::AmbiguousName { name }) => {
            let name = for_terminal(name);
            Words::new(
                format!("{name:?} is the name of a paired device, and the host at which another device was reached."),
                format!(
                    "For the host say {name}:{}; for the device give its id, which `ringway devices` lists.",
                    ringway_engine::limits::DEFAULT_PORT
                ),
            )
        }
        Fault::Invalid(what) => Words::only(format!("Not acceptable: {}.", for_terminal(what.to_string()))),
        Fault::DestinationFull { shortage } => Words::new(
            format!("The disk at the destination is full{}.", shortage.map(missing).unwrap_or_default()),
            "What is whole is kept. Make room there, and send the same again to go on; or receive into another folder.",
        ),
        Fault::Discovery { detail } => Words::new(
            format!(
                "This machine cannot announce itself or hear others on the local network: {}.",
                for_terminal(detail)
            ),
            "Nothing else needs that: give the address of the other machine.",
        ),
        Fault::Unanswered => Words::new(
            "Nobody answered this offer here.",
            "Have it sent again. `ringway devices rule NAME --accept` takes in what that machine sends without asking.",
        ),
        Fault::TurnedAway => Words::new(
            "The connection was closed before anything was offered. Nothing was sent.",
            "The receiver may have too many connections at once, or may be ending. Send the same again in a moment.",
        ),
        Fault::FailedThere => Words::new(
            "The other side could not go on, and stopped.",
            "It says there why. What is whole is kept: send the same again afterwards to go on from there.",
        ),
        Fault::TooMuch { bytes_max, by: Side::Here } => Words::new(
            format!("Stopped: it is more than the {} that were accepted.", bytes(*bytes_max)),
            "What is whole is kept. When it is sent again, you are asked; `ringway devices rule` changes the rule.",
        ),
        Fault::TooMuch { bytes_max, by: Side::There } => Words::new(
            format!("The receiver stopped it: {} were accepted there, and this is more.", bytes(*bytes_max)),
            "What is whole is kept there. Send the same again: then somebody is asked there.",
        ),
        Fault::Paused { by: Side::Here } => Words::new(
            "It was paused here, and not resumed in time.",
            "What is whole is kept there. Send the same again to go on.",
        ),
        Fault::Paused { by: Side::There } => Words::new(
            "It was paused by the other side, and not resumed in time.",
            "What is whole is kept. When the same is sent again, it goes on from there.",
        ),
        Fault::DestinationGone => Words::new(
            "The folder that was received into has been removed, renamed or unmounted.",
            "Put it back, or receive into another one, and send the same again.",
        ),
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
        Fault::NotACode => secret(SecretError::NotACode),
        Fault::UnknownWord { position } => secret(SecretError::UnknownWord { position: *position }),
        Fault::CodeNumberTooLarge => secret(SecretError::NumberTooLarge),
        Fault::Systemd { detail } => Words::new(
            format!("systemd does not change when the service starts: {}.", for_terminal(detail)),
            "`systemctl --user status ringway` says how it stands.",
        ),
        Fault::NoProgram => Words::only("The installed ringway command is not found."),
        Fault::Machine { .. }
        | Fault::NewTarget { .. }
        | Fault::NoFileManager { .. }
        | Fault::ServiceFailed { .. }
        | Fault::ServiceDiffers { .. }
        | Fault::Other { .. } => Words::only(format!("{}.", for_terminal(error.to_string()))),
    }
}

/// What keeps this device's own state from being used, and the remedy that loses nothing.
fn store(path: &Path, trouble: StoreTrouble, reason: &str) -> Words {
    let (name, reason) = (for_terminal(path), for_terminal(reason));
    // As words of a command.
    let (file, folder) = (advised::path_word(path), advised::path_word(path.parent().unwrap_or(path)));
    let aside = advised::path_word(&path.with_added_extension("damaged"));
    let what = format!("{name} cannot be used: {reason}.");
    match trouble {
        StoreTrouble::Full => Words::new(
            format!("{name} cannot be written: its disk, or a quota, is full ({reason})."),
            format!("Make room on that disk (`df {folder}`), then try again. Leave the file where it is."),
        ),
        StoreTrouble::NotWritable => Words::new(
            format!("{name} cannot be written: {reason}."),
            format!(
                "`ls -ld {folder} {file}` shows permissions, `findmnt -T {folder}` whether the disk is mounted read-only. \
                 Leave the file where it is."
            ),
        ),
        StoreTrouble::NotReadable => Words::new(
            format!("{name} cannot be read: {reason}."),
            format!(
                "`ls -ld {folder} {file}` shows whose it is. Give this user access to it again (chown, chmod u+rw)."
            ),
        ),
        StoreTrouble::Busy => Words::new(
            format!("{name} is locked by another program: {reason}."),
            format!("Try again. `fuser {file}` shows which program that is."),
        ),
        StoreTrouble::DamagedDatabase => Words::new(
            what,
            format!(
                "Restore it from a backup. Without one, move this file alone away (`mv {file} {aside}`): the \
                 identity stays, paired devices have to be paired again, and the history is lost."
            ),
        ),
        StoreTrouble::DamagedIdentity => Words::new(
            what,
            format!(
                "Restore it from a backup. Without one, move this file alone away (`mv {file} {aside}`): this \
                 machine then gets a new identity, and every device has to forget it and pair with it again."
            ),
        ),
        StoreTrouble::Untrusted => Words::only(what),
        StoreTrouble::Other => Words::new(
            what,
            format!("`ls -ld {folder} {file}` shows what is there, `sudo dmesg | tail` whether the disk failed."),
        ),
    }
}

fn path_error(path: &str, operation: Operation, source: &OsError) -> Words {
    let what = format!("{path} could not be {}: {}.", done(operation), os(source));
    match source.kind() {
        io::ErrorKind::NotFound => Words::new(what, "Check the spelling."),
        io::ErrorKind::PermissionDenied => Words::new(what, "Check its permissions (ls -ld), or name another folder."),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Words::new(what, "Make room there, then try again.")
        }
        io::ErrorKind::ReadOnlyFilesystem => Words::new(what, "Name a folder on a file system that can be written to."),
        io::ErrorKind::NotADirectory => Words::new(what, "A part of that path is a file: name a folder."),
        io::ErrorKind::InvalidFilename => {
            Words::new(what, "That file system takes no such name: choose a shorter one.")
        }
        _ if is(source, Errno::IO) => {
            Words::new(what, "The disk failed: `sudo dmesg | tail` says more. Save what is on it, and choose another.")
        }
        _ if is(source, Errno::MFILE) => Words::new(
            what,
            "Raise the limit of this shell: `sudo prlimit --pid $$ --nofile=4096:4096`, then try again.",
        ),
        _ => Words::only(what),
    }
}

fn unreachable(target: &str, source: &OsError) -> Words {
    match source.kind() {
        io::ErrorKind::ConnectionRefused => Words::new(
            format!("{target} is there, but nothing listens at that port."),
            "Start `ringway recv` on it, and use the address and port that it shows. If it receives already, a firewall \
             refuses: `ringway doctor` on it shows the command that opens the port.",
        ),
        io::ErrorKind::NetworkUnreachable => Words::new(
            format!("{target} cannot be reached: {}.", os(source)),
            "This machine has no way to that network: is it connected? `ringway doctor` lists the addresses that it has.",
        ),
        io::ErrorKind::TimedOut | io::ErrorKind::HostUnreachable => Words::new(
            format!("{target} cannot be reached: {}.", os(source)),
            format!(
                "Is that machine on, on a network that this one reaches, and does it receive? Then its firewall is probably in the way{}",
                port_of(target).map_or_else(
                    || ": `ringway doctor` on it shows the command that opens the port.".to_owned(),
                    |port| format!(". On that machine: {}.", firewalls(&Remedy::firewalls_elsewhere(port))),
                )
            ),
        ),
        // The resolver's errors are no errno.
        _ if source.errno.is_none() => Words::new(
            format!("{target} cannot be found: {}.", os(source)),
            "It is neither the name of a paired device (`ringway devices`) nor of a host. An address, as in 192.168.1.20, always works.",
        ),
        _ => Words::new(
            format!("{target} cannot be reached: {}.", os(source)),
            "Check the address: the receiver shows it.",
        ),
    }
}

/// Of `host:port`.
fn port_of(target: &str) -> Option<u16> {
    target.rsplit_once(':')?.1.parse().ok()
}

/// The command of each firewall, with its name.
pub(crate) fn firewalls(commands: &[Remedy]) -> String {
    let named = |Remedy { aim, command }: &Remedy| match aim {
        Aim::Firewalld => format!("`{command}` where firewalld is on"),
        _ => format!("`{command}` where ufw is on"),
    };
    commands.iter().map(named).collect::<Vec<_>>().join(", ")
}

fn is(error: &OsError, known: Errno) -> bool {
    error.errno == Some(known.raw_os_error())
}

fn listen(address: &str, source: &OsError) -> Words {
    let what = format!("Cannot listen on {address}: {}.", os(source));
    match source.kind() {
        io::ErrorKind::AddrInUse => Words::new(
            what,
            format!(
                "Another receiver may be running; stop it, or choose another port: --listen :0 takes a free one.{}",
                port_of(address)
                    .map(|port| format!(" Who has it: `{}`", Remedy::who_listens(port).command))
                    .unwrap_or_default()
            ),
        ),
        io::ErrorKind::PermissionDenied => {
            Words::new(what, "Ports below 1024 are for root; choose a higher one with --listen :PORT.")
        }
        io::ErrorKind::AddrNotAvailable => {
            Words::new(what, "This machine has no such address; `ringway doctor` lists the ones it has.")
        }
        _ => Words::only(what),
    }
}

/// A failure to recognise each other.
pub(crate) fn auth(error: &AuthError) -> Words {
    match error {
        AuthError::PairingNeeded { peer_name } => Words::new(
            format!(
                "This machine and the other one, which calls itself \"{}\", are not paired: they have not met, or one has forgotten the other.",
                for_terminal(peer_name)
            ),
            "Enter the code that its `ringway recv` shows: at the prompt in a terminal, with --code-file FILE, or in RINGWAY_CODE.",
        ),
        AuthError::WrongCode => Words::new(
            "The code was wrong, or the receiver has replaced it.",
            "Ask for the one that the receiver shows now. After three wrong tries a code is void and the receiver shows a new one.",
        ),
        AuthError::NoCodeOpen => Words::new(
            "The receiver has no code open: it has expired or been used, was burnt by wrong tries, or pairing is off there.",
            "Have the receiver show a new code (ENTER at its terminal, or start it again) and use that one. A paired device needs none: \
             name it instead of its address, and leave the code out.",
        ),
        AuthError::PairingBusy { wait_ms } => Words::new(
            "The receiver is busy with another attempt to pair.",
            format!("Try again in {} s.", wait_ms.div_ceil(1_000).max(1)),
        ),
        AuthError::IdentityChanged { name, expected, found } => Words::new(
            format!(
                "DANGER: \"{}\" answered with another key than the one it was paired with. Known: {}. Found: {}. Nothing was sent to it.",
                for_terminal(name),
                expected.short(),
                found.short()
            ),
            format!(
                "Someone may be posing as that machine. If you know that it was reinstalled: `{}`, and pair again.",
                advised::forget(*expected)
            ),
        ),
        AuthError::Unconfirmed { last, last_id, name, found } => Words::new(
            format!(
                "\"{}\" was at that address last, and now another paired device answers: \"{}\" ({}). Nothing was sent to it.",
                for_terminal(last),
                for_terminal(name),
                found.short()
            ),
            format!(
                "Name the device that you mean, for example `{}`; or give the code that the receiver shows.",
                advised::send_to(last, *last_id)
            ),
        ),
        AuthError::OtherAnswered { announced, found } => Words::new(
            format!(
                "DANGER: another device answered than the one that was announced. Announced: {}. Found: {}. Nothing was sent.",
                for_terminal(announced),
                found.short()
            ),
            "Someone may be posing as that receiver. Name it by its address, with the code that it shows.",
        ),
        AuthError::Forgotten { name, id, now } => Words::new(
            format!(
                "It was sent to \"{}\" ({}), which was forgotten here.{} Nothing was sent.",
                for_terminal(name),
                id.short(),
                now.map(|now| format!(" The device that has this name now is another one ({}).", now.short()))
                    .unwrap_or_default()
            ),
            "To send it elsewhere, name the files and the target: ringway send FOLDER TARGET.",
        ),
        AuthError::Ourselves => {
            Words::new("That is this very device.", "Name another machine; `ringway copy` copies on this one.")
        }
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
        other => auth(other).what,
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

/// What is missing, as the end of a sentence about that: `, 32.0 MB missing for the rest`. A quota
/// shows in no figure.
pub(crate) fn missing(shortage: Shortage) -> String {
    let places = (shortage.entries > 0).then(|| format!("places for {}", entries(shortage.entries)));
    let missing: Vec<String> =
        (shortage.bytes() > 0).then(|| bytes(shortage.bytes())).into_iter().chain(places).collect();
    if missing.is_empty() { String::new() } else { format!(", {} missing for the rest", missing.join(" and ")) }
}

fn declined(reason: DeclineReason) -> Words {
    match reason {
        DeclineReason::ByChoice => Words::new(
            "The receiver declined.",
            "A person there said no, or its rule for this machine does. Ask its owner, then send again.",
        ),
        DeclineReason::NoAnswer => Words::new(
            "Nobody at the receiver answered.",
            "Ask the person there, or start the receiver with --yes, and send again.",
        ),
        DeclineReason::NoRoom(shortage) => Words::new(
            format!(
                "There is not enough room at the destination: {} needed, {} free{}.",
                bytes(shortage.needed),
                bytes(shortage.free),
                missing(Shortage { needed: 0, ..shortage })
            ),
            "Make room there, or receive into another folder, and send again.",
        ),
        DeclineReason::NotWritable => Words::new(
            "The destination folder cannot be written to.",
            "Check its permissions, or receive into another folder, and send again.",
        ),
        DeclineReason::Busy => Words::new(
            "The receiver is busy with other transfers.",
            "Wait until one of them has ended, and send again.",
        ),
        DeclineReason::Paused => Words::new(
            "Somebody at the receiver has paused this transfer.",
            "Have it resumed there, and send the same again.",
        ),
        DeclineReason::Stopped => Words::new(
            "The receiver has stopped receiving.",
            "Have receiving switched on there, and send the same again.",
        ),
        DeclineReason::TooManyOffers { wait_ms } => Words::new(
            "Too many offers of this machine came to nothing there (withdrawn, declined or not answered): nobody is asked for now.",
            format!(
                "Send the same again in {} s; --retry waits for that. A rule there that accepts needs nobody to be asked.",
                wait_ms.div_ceil(1_000).max(1)
            ),
        ),
    }
}

/// What turns kernel TLS on, as sentences.
pub(crate) fn load_tls(commands: &[Remedy]) -> String {
    let said = |Remedy { aim, command }: &Remedy| match aim {
        Aim::KeepTls => format!("At every start: `{command}`."),
        _ => format!("Turn it on: `{command}`."),
    };
    commands.iter().map(said).collect::<Vec<_>>().join(" ")
}

/// A text that is no code.
pub(crate) fn secret(error: SecretError) -> Words {
    let example = "A code is a number and two words, as in 42-river-castle; a standing secret has 16 to 1,024 bytes.";
    match error {
        SecretError::NotACode => Words::new("That is not a code.", example),
        SecretError::NumberTooLarge => Words::new("The number in front of a code has at most three digits.", example),
        SecretError::UnknownWord { position } => {
            let which = if position == 1 { "first" } else { "second" };
            Words::new(
                format!("The {which} word of the code is misspelt: no code has it."),
                "No try was lost. Type it again.",
            )
        }
        SecretError::TooShort { len } => Words::new(
            format!("That is neither a code nor, with its {len} bytes, long enough as a standing secret."),
            example,
        ),
        SecretError::TooLong => {
            Words::new("That is too long for a code or a standing secret: is it the right file?", example)
        }
    }
}

/// One entry that did not make it: `path: why`.
pub(crate) fn failure(failure: &Failure, direction: Direction) -> String {
    let side = match failure.side {
        _ if direction == Direction::Copying => "",
        Side::Here => " here",
        Side::There => " at the other end",
    };
    let path = for_terminal(&failure.path);
    match failure.reason {
        // What was there before cannot be had back, so it is told.
        FailureReason::CutShort { errno } if errno == Errno::CANCELED.raw_os_error() => {
            format!("{path}: was being written over when the copy was stopped, and is incomplete")
        }
        FailureReason::CutShort { .. } => {
            format!("{path}: was being written over, and is incomplete: {}", failure_reason(failure.reason))
        }
        FailureReason::Os { .. } => {
            format!("{path}: could not be {}{side}: {}", done(failure.operation), failure_reason(failure.reason))
        }
        reason => format!("{path}: {}", failure_reason(reason)),
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

/// Why one entry did not make it.
pub(crate) fn failure_reason(reason: FailureReason) -> String {
    match reason {
        FailureReason::Os { errno } | FailureReason::CutShort { errno } => os(&io::Error::from_raw_os_error(errno).into()),
        FailureReason::SpecialFile => "is a socket, FIFO or device, which cannot be sent".into(),
        FailureReason::ChangedWhileReading => "changed while it was being read; try again when it is at rest".into(),
        FailureReason::PathTooLong => "its path is longer than 4,095 bytes, so neither it nor what is in it can be sent".into(),
        FailureReason::InTheWay => {
            "something else has this name at the destination, of another kind or in another spelling; it was left as it is".into()
        }
        FailureReason::LinkTargetMissing => "is a hard link to a file that did not arrive".into(),
        FailureReason::Kept => "was there already and was kept, as asked".into(),
        FailureReason::SameFile => "is the same file at the source and at the destination".into(),
        FailureReason::IntoItself => "cannot be copied into itself".into(),
        FailureReason::OwnFolder => {
            "leads into Ringway's own folders at the receiver, where nothing is received".into()
        }
        FailureReason::DotName => {
            "begins with a dot, which the receiver takes at the top of a home folder only with --dot-names".into()
        }
        FailureReason::HomeFolder => {
            "leads into a home folder, where the receiver takes something only with --allow-home".into()
        }
        FailureReason::NameNotKept => {
            "has a name that the destination's file system cannot hold; rename it at the source".into()
        }
        FailureReason::Differs => "reads back from the destination differently than it was read from the source".into(),
    }
}

/// `1 entry`, `2 entries`.
pub(crate) fn entries(number: u64) -> String {
    if number == 1 { "1 entry".to_owned() } else { format!("{} entries", count(number)) }
}

fn done(operation: Operation) -> &'static str {
    match operation {
        Operation::Open => "opened",
        Operation::Read => "read",
        Operation::Write => "written",
        Operation::Create => "made",
        Operation::Rename => "given its name",
        Operation::Metadata => "given its mode, times, owner or attributes",
        Operation::Link => "linked",
        Operation::Sync => "made durable",
    }
}

/// What the system calls an error, without the number.
pub(crate) fn os(error: &OsError) -> String {
    error.detail.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_model::UserTlsReason;
    use ringway_model::{DeviceId, SyncIoReason};
    use std::path::PathBuf;

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
            Fault::Cancelled { by: Side::Here },
            Fault::Cancelled { by: Side::There },
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
    }

    #[test]
    fn wrong_code_may_be_one_that_was_replaced() {
        let told = auth(&AuthError::WrongCode);
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
                let said = failure(&failed, Direction::Sending);
                assert!(said.starts_with("a\\nb: ") && said.len() > 15, "{said}");
            }
        }
        let failed = Failure {
            path: "secret".into(),
            side: Side::Here,
            operation: Operation::Open,
            reason: FailureReason::Os { errno: 13 },
        };
        assert_eq!(failure(&failed, Direction::Sending), "secret: could not be opened here: Permission denied");
        assert_eq!(failure(&failed, Direction::Copying), "secret: could not be opened: Permission denied");
        let cut_short = |errno| Failure { reason: FailureReason::CutShort { errno }, ..failed.clone() };
        assert!(failure(&cut_short(125), Direction::Copying).ends_with("is incomplete"));
        assert!(failure(&cut_short(28), Direction::Copying).ends_with("and is incomplete: No space left on device"));
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
