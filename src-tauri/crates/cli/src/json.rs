//! `--json`: one object per line on standard output, each with its `event`. The interface is the
//! table in [`events`].
//!
//! Fields may be added; a program must ignore events and fields that it does not know. Numbers are
//! whole unless said otherwise, sizes are bytes, moments are seconds since 1970, durations are
//! seconds with a fraction. Text is safe to print: controls and characters that reorder text are
//! escaped. A path is text; where its bytes are not UTF-8, `path` shows U+FFFD for them and
//! `path_bytes` has them in hex.
pub(crate) mod codes;
mod events;

use std::ffi::OsStr;
use std::fmt::Write;
use std::num::NonZeroU32;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use ringway_engine::{Decision, Device, NearbyDevice, OfferSummary, Past, Planned, Transfer, Unfinished};
use ringway_model::{
    AuthError, Consent, CopyReport, DeclineReason, DeviceRule, Direction, Edit, Failure, FailureReason, Fault, IoPath,
    LookAlike, Outcome, PastDetails, PathTaken, Progress, Report, SeriesPoint, TlsPath, TransferId, moment,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::text::misleads;
use crate::words::{self, Words};
use codes::{code_of, planned_code, tag};

pub(crate) use events::help;

/// What a variant without fields is called.
pub(crate) fn name_of(value: impl Serialize) -> String {
    json!(value).as_str().unwrap_or_default().to_owned()
}

/// One line, the event's name first: what is a control or would reorder text is escaped, so that
/// the line can be shown as it is.
pub(crate) fn line(value: &Value) -> String {
    let mut rest = value.clone();
    let event = rest.as_object_mut().and_then(|fields| fields.remove("event"));
    let rest = rest.to_string();
    let text = match event {
        Some(event) if rest == "{}" => format!("{{\"event\":{event}}}"),
        Some(event) => format!("{{\"event\":{event},{}", &rest[1..]),
        None => rest,
    };
    let mut out = String::with_capacity(text.len());
    // Such characters stand only inside of strings: the syntax of JSON has none.
    for c in text.chars() {
        if misleads(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// `{"path": …}`, with `path_bytes` where the text cannot say it all.
pub(crate) fn path(path: impl AsRef<OsStr>) -> Map<String, Value> {
    let path = path.as_ref();
    let mut object = Map::new();
    object.insert("path".into(), path.to_string_lossy().into());
    if path.to_str().is_none() {
        let mut hex = String::new();
        for byte in path.as_bytes() {
            let _ = write!(hex, "{byte:02x}");
        }
        object.insert("path_bytes".into(), hex.into());
    }
    object
}

/// Seconds since 1970; negative before.
pub(crate) fn unix(moment: SystemTime) -> i64 {
    match moment.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_secs()).map_or(i64::MIN, |seconds| -seconds),
    }
}

/// `code`.
pub(crate) fn code(text: Option<&str>, valid_until: Option<SystemTime>) -> Value {
    json!({ "event": "code", "code": text, "code_valid_until": valid_until.map(unix) })
}

/// Another device whose name looks the same.
fn named(device: &LookAlike) -> Value {
    json!({ "name": device.name, "id": device.id.to_string() })
}

/// `paired`.
pub(crate) fn paired(device: &Device, looks_like: Option<&LookAlike>) -> Value {
    let looks_like = looks_like.map(named);
    json!({ "event": "paired", "name": device.name, "id": device.id.to_string(), "looks_like": looks_like })
}

/// `auth_failed`.
pub(crate) fn auth_failed(from: &str, why: &AuthError, attempts_left: Option<u8>) -> Value {
    let message = words::turned_away(why);
    json!({ "event": "auth_failed", "from": from, "code": tag(why, "code"), "message": message, "tries_left": attempts_left })
}

/// `offer`.
pub(crate) fn offer(offer: &OfferSummary) -> Value {
    let mut value = json!({ "event": "offer" });
    extend(&mut value, offered(offer));
    let decision = match offer.decision {
        Decision::Ask(_) => Consent::Ask,
        Decision::Accept { .. } => Consent::Accept,
        Decision::Decline => Consent::Refuse,
    };
    value["rule"] = json!(decision);
    value["asked_because"] = offer.decision.asked_because().map(|because| tag(because, "because")).into();
    value["destination"] = path(&offer.destination).into();
    value
}

/// `refused`.
pub(crate) fn refused(offer: &OfferSummary) -> Value {
    let mut value = json!({ "event": "refused" });
    extend(&mut value, offered(offer));
    value
}

fn offered(offer: &OfferSummary) -> Value {
    json!({
        "id": offer.id.to_string(),
        "from": offer.from_name,
        "from_id": offer.from.to_string(),
        "looks_like": offer.looks_like.as_ref().map(named),
        "names": offer.names.iter().map(path).collect::<Vec<_>>(),
        "more_names": offer.more_names,
        "dot_names": offer.dot_names.iter().map(path).collect::<Vec<_>>(),
        "more_dot_names": offer.more_dot_names,
        "entries_so_far": offer.entries_so_far,
        "bytes_so_far": offer.bytes_so_far,
        "totals_final": offer.totals_final,
        "free_bytes": offer.free_space.map(|free| free.free_bytes),
        "free_entries": offer.free_space.and_then(|free| free.free_entries),
        "name_max": offer.free_space.and_then(|free| free.name_max),
        "writable": offer.free_space.map(|free| free.is_writable),
    })
}

/// `answered`.
pub(crate) fn answered(id: TransferId, declined: Option<DeclineReason>) -> Value {
    json!({
        "event": "answered",
        "id": id.to_string(),
        "accepted": declined.is_none(),
        "reason": declined.map(|reason| tag(reason, "reason")),
    })
}

/// `started`.
pub(crate) fn started(transfer: &Transfer, progress: &Progress) -> Value {
    let (title, more) = transfer.title();
    let mut value = json!({ "event": "started", "more_names": more });
    extend(&mut value, of_transfer(transfer));
    extend(&mut value, of_lanes(transfer.direction(), progress.lanes, Some((progress.here, progress.there))));
    value["title"] = Value::Object(path(title));
    value
}

/// `planned`.
pub(crate) fn planned(id: TransferId, what: Planned, at: &Path) -> Value {
    let mut value = json!({ "event": "planned", "id": id.to_string(), "action": planned_code(what) });
    extend(&mut value, Value::Object(path(at)));
    value
}

/// `progress`.
pub(crate) fn progress(id: TransferId, direction: Direction, progress: &Progress) -> Value {
    let mut value = json!({
        "event": "progress",
        "id": id.to_string(),
        "stage": progress.stage,
        "entries_done": progress.entries_done,
        "entries_total": progress.entries_total,
        "bytes_done": progress.bytes_done,
        "bytes_moved": progress.bytes_moved,
        "bytes_total": progress.bytes_total,
        "totals_final": progress.totals_final,
        "failed": progress.failed,
        "bytes_per_s": progress.bytes_per_s,
        "entries_per_s": progress.entries_per_s,
        "seconds": seconds(progress.running_for.as_secs_f64()),
        "seconds_left": progress.time_left.map(|left| seconds(left.as_secs_f64())),
        "stalled_seconds": progress.stalled_for.map(|still| seconds(still.as_secs_f64())),
    });
    extend(&mut value, of_lanes(direction, progress.lanes, None));
    if direction != Direction::Copying {
        value["limited_by"] = json!(progress.limited_by);
        value["interruption"] = json!(progress.interruption);
        value["place"] = progress.place.map(NonZeroU32::get).into();
    }
    value
}

/// `entry_failed`.
pub(crate) fn entry_failed(id: TransferId, failure: &Failure) -> Value {
    let mut value = json!({ "event": "entry_failed", "id": id.to_string() });
    extend(&mut value, of_failure(failure));
    value
}

/// `entry_kept`.
pub(crate) fn entry_kept(id: TransferId, edit: &Edit) -> Value {
    let mut value = json!({ "event": "entry_kept", "id": id.to_string() });
    extend(&mut value, of_edit(edit));
    value
}

fn of_edit(edit: &Edit) -> Value {
    let mut value = json!({ "beside": path(&edit.beside) });
    extend(&mut value, Value::Object(path(&edit.path)));
    value
}

fn of_failure(failure: &Failure) -> Value {
    let errno = match failure.reason {
        FailureReason::Os { errno } | FailureReason::CutShort { errno } => Some(errno),
        _ => None,
    };
    let mut value = json!({
        "side": failure.side,
        "operation": failure.operation,
        "reason": tag(failure.reason, "reason"),
        "errno": errno,
        "message": words::failure_reason(failure),
    });
    extend(&mut value, Value::Object(path(&failure.path)));
    value
}

/// `unfinished`.
pub(crate) fn unfinished(left: &Unfinished) -> Value {
    json!({
        "event": "unfinished",
        "id": left.id,
        "folder": path(&left.folder),
        "from": left.from,
        "names": left.names.iter().map(path).collect::<Vec<_>>(),
        "more_names": left.more_names,
        "files": left.files,
        "disk_bytes": left.disk_bytes,
        "last_at_work": unix(left.last_used),
        "in_use": left.is_in_use,
    })
}

/// `past`; with all that is known of it, if it is shown by itself.
pub(crate) fn past(past: &Past, details: Option<&PastDetails>) -> Value {
    let (outcome, error) = ending(&past.report.outcome, None);
    let (title, more_names) = &past.title;
    let mut value = json!({
        "event": "past",
        "number": past.number,
        "id": past.id.to_string(),
        "direction": past.direction,
        "peer": past.peer.as_ref().map(|(_, name)| name),
        "peer_id": past.peer.as_ref().map(|(id, _)| id.to_string()),
        "target": past.target,
        "title": path(title),
        "more_names": more_names,
        "paths": past.paths.iter().map(path).collect::<Vec<_>>(),
        "ended_at": unix(past.report.ended_at),
        "outcome": outcome,
        "error": error,
        "proven": past.report.proven,
        "seconds": seconds(past.report.running_for.as_secs_f64()),
        "limited_by": past.report.limited_by,
        "reconnected": past.report.reconnected,
    });
    extend(&mut value, json!(past.report.counts));
    if let Some(details) = details {
        value["failures"] = details.failures.iter().map(of_failure).collect();
        value["kept"] = details.edits.iter().map(of_edit).collect();
        value["series"] = details.series.iter().map(of_point).collect();
    }
    value
}

fn of_point(point: &SeriesPoint) -> Value {
    json!({
        "seconds": seconds(point.at.as_secs_f64()),
        "bytes": point.bytes,
        "entries": point.entries,
        "limited_by": point.limited_by,
    })
}

/// An outcome's name, and its error; `why` says in words what it failed with, where that was said
/// otherwise.
fn ending(outcome: &Outcome, why: Option<&Words>) -> (&'static str, Value) {
    match outcome {
        Outcome::Complete => ("complete", Value::Null),
        Outcome::Partial => ("partial", Value::Null),
        Outcome::Failed(error) => {
            let own = why.is_none().then(|| words::error(error));
            ("failed", why.or(own.as_ref()).map(|words| why_failed(error, words)).into())
        }
    }
}

/// `finished`; `why` says in words what it failed with.
pub(crate) fn finished(transfer: &Transfer, report: &Report, why: Option<&Words>) -> Value {
    let (outcome, error) = ending(&report.outcome, why);
    let mut value = json!({
        "event": "finished",
        "outcome": outcome,
        "error": error,
        "seconds": seconds(report.running_for.as_secs_f64()),
        "arrived": report.arrived.iter().map(path).collect::<Vec<_>>(),
    });
    extend(&mut value, json!(report.counts));
    extend(&mut value, of_transfer(transfer));
    extend(&mut value, of_lanes(transfer.direction(), report.lanes, Some((report.here, report.there))));
    if transfer.direction() != Direction::Copying {
        value["limited_by"] = json!(report.limited_by);
        value["times"] = json!(report.times);
        value["lanes_dropped"] = report.lanes_dropped.into();
        value["reconnected"] = report.reconnected.into();
        value["packed"] = json!(report.packed);
        value["left_behind"] = report.left_behind.as_deref().map(path).into();
        value["proven"] = json!(report.proven);
    }
    value
}

/// What `finished` says of a copy beyond a transfer's counts.
pub(crate) fn copy_report(report: &CopyReport) -> Value {
    let (io, io_reason) = io_choice(report.io);
    json!({
        "threads": report.threads,
        "queue_depth": report.queue_depth,
        "chunk_bytes": report.chunk_bytes,
        "io": io,
        "io_reason": io_reason,
        "filesystem": report.filesystem,
        "reflinked_bytes": report.reflinked_bytes,
        "kernel_bytes": report.kernel_bytes,
        "buffered_bytes": report.buffered_bytes,
        "uring_bytes": report.uring_bytes,
        "specials": report.specials,
        "excluded": report.excluded,
        "verified": report.verified,
        "owners_lost": report.owners_lost,
        "attributes_lost": report.attributes_lost,
        "began": report.began.map(moment::exact),
    })
}

/// `error`.
pub(crate) fn error(code: &str, words: &Words) -> Value {
    let mut value = json!({ "event": "error" });
    extend(&mut value, fault(code, words));
    value
}

/// `error`, of what ended the command early.
pub(crate) fn ended_early(error: &anyhow::Error, words: &Words) -> Value {
    match error.downcast_ref::<Fault>() {
        Some(fault) => not_received(fault, words),
        None => self::error(&code_of(error), words),
    }
}

/// `error`, of an offer that was accepted and came to nothing.
pub(crate) fn not_received(error: &Fault, words: &Words) -> Value {
    let mut value = json!({ "event": "error" });
    extend(&mut value, why_failed(error, words));
    value
}

/// With figures where room was missing.
fn why_failed(error: &Fault, words: &Words) -> Value {
    let mut value = fault(&error.code(), words);
    if let Fault::Declined(DeclineReason::NoRoom(shortage)) | Fault::DestinationFull { shortage: Some(shortage) } =
        error
    {
        value["needed_bytes"] = shortage.needed.into();
        value["free_bytes"] = shortage.free.into();
        value["missing_entries"] = shortage.entries.into();
    }
    match error {
        Fault::Declined(reason) => value["reason"] = tag(reason, "reason").into(),
        Fault::Invalid(reason) => value["reason"] = tag(reason, "reason").into(),
        _ => {}
    }
    if let Fault::Declined(DeclineReason::TooManyOffers { wait_ms }) = error {
        value["wait_seconds"] = (f64::from(*wait_ms) / 1_000.0).into();
    }
    value
}

fn fault(code: &str, words: &Words) -> Value {
    json!({ "code": code, "message": words.what, "next": words.next })
}

/// `device`.
pub(crate) fn device(device: &Device, looks_like: Option<&LookAlike>) -> Value {
    json!({
        "event": "device",
        "name": device.name,
        "id": device.id.to_string(),
        "paired_at": unix(device.paired_at),
        "last_seen": device.last_seen.map(unix),
        "last_address": device.last_address,
        "rule": rule(&device.rule),
        "looks_like": looks_like.map(named),
    })
}

/// What happens to a device's offers before anybody is asked.
pub(crate) fn rule(rule: &DeviceRule) -> Value {
    json!({
        "offers": rule.consent,
        "folder": rule.folder.as_ref().map(path),
        "max_bytes": rule.bytes_max,
    })
}

/// `nearby`: what a receiver says of itself, all of it unproven but for the name that it is known
/// by here.
pub(crate) fn nearby(device: &NearbyDevice) -> Value {
    let NearbyDevice { said, addresses, known } = device;
    json!({
        "event": "nearby",
        "name": said.name.as_str(),
        "id_begins": said.fingerprint.to_hex(),
        "kind": device.said.kind,
        "code_number": said.code,
        "version": said.version,
        "addresses": addresses.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "paired_as": known.as_ref().map(|device| device.name.as_str()),
    })
}

fn of_transfer(transfer: &Transfer) -> Value {
    let mut value = json!({ "id": transfer.id().to_string(), "direction": transfer.direction() });
    if transfer.direction() != Direction::Copying {
        let peer = transfer.peer();
        value["peer"] = peer.as_ref().map(|(_, name)| name.as_str()).into();
        value["peer_id"] = peer.as_ref().map(|(id, _)| id.to_string()).into();
    }
    value
}

/// Lanes and the paths taken at both ends, which a copy inside one machine does not have.
fn of_lanes(direction: Direction, lanes: u8, taken: Option<(Option<PathTaken>, Option<PathTaken>)>) -> Value {
    if direction == Direction::Copying {
        return Value::Null;
    }
    let mut value = taken.map_or_else(|| json!({}), |(here, there)| paths(here, there));
    value["lanes"] = lanes.into();
    value
}

pub(crate) fn extend(value: &mut Value, more: Value) {
    if let (Value::Object(object), Value::Object(more)) = (value, more) {
        object.extend(more);
    }
}

/// Milliseconds are as fine as a second's fraction gets.
fn seconds(time: f64) -> f64 {
    (time * 1_000.0).round() / 1_000.0
}

/// What runs, and why it is not the fast path.
fn tls_choice(path: TlsPath) -> (String, Option<String>) {
    let reason = match path {
        TlsPath::Kernel => None,
        TlsPath::User(reason) => Some(tag(reason, "")),
    };
    (tag(path, ""), reason)
}

/// The same of files.
fn io_choice(path: IoPath) -> (String, Option<String>) {
    let reason = match path {
        IoPath::Uring => None,
        IoPath::Sync(reason) => Some(tag(reason, "")),
    };
    (tag(path, ""), reason)
}

fn paths(here: Option<PathTaken>, there: Option<PathTaken>) -> Value {
    let tls = |path: PathTaken| tls_choice(path.tls);
    let io = |path: PathTaken| io_choice(path.io);
    let mut object = Map::new();
    let mut reasons = Map::new();
    for (key, choice) in [
        ("tls_here", here.map(tls)),
        ("tls_there", there.map(tls)),
        ("io_here", here.map(io)),
        ("io_there", there.map(io)),
    ] {
        let (name, reason) = choice.unzip();
        object.insert(key.into(), name.into());
        if let Some(reason) = reason.flatten() {
            reasons.insert(key.into(), reason.into());
        }
    }
    object.insert("reasons".into(), Value::Object(reasons));
    Value::Object(object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    use std::time::Duration;

    use ringway_model::{
        Bottleneck, DeviceId, Interruption, Operation, Outage, Proven, Side, Stage, StageTimes, SyncIoReason,
        UserTlsReason,
    };

    const HOSTILE: &str = "a\n\"\\\x1b[2J\u{9b}\u{202e}\u{7f}<b>";

    fn parsed(value: &Value) -> Value {
        let line = line(value);
        assert!(!line.chars().any(misleads), "{line:?}");
        serde_json::from_str(&line).unwrap()
    }

    #[test]
    fn a_line_is_one_line_that_says_the_same_whatever_the_names() {
        let offer = offer(&OfferSummary {
            id: TransferId([7; 16]),
            from: DeviceId([1; 32]),
            from_name: HOSTILE.into(),
            looks_like: Some(LookAlike { id: DeviceId([2; 32]), name: HOSTILE.into() }),
            names: vec![HOSTILE.into(), OsString::from_vec(b"caf\xe9".to_vec())],
            more_names: 3,
            dot_names: vec![".bashrc".into()],
            more_dot_names: 1,
            entries_so_far: 10,
            bytes_so_far: u64::MAX,
            totals_final: false,
            decision: Decision::Ask(None),
            destination: "/in".into(),
            free_space: None,
        });
        let back = parsed(&offer);
        assert_eq!(back, offer);
        assert!(line(&offer).starts_with("{\"event\":\"offer\","));
        assert_eq!(line(&json!({ "event": "x" })), "{\"event\":\"x\"}");
        assert_eq!(back["from"], HOSTILE);
        assert_eq!(back["names"][0]["path"], HOSTILE);
        assert_eq!(back["names"][1], json!({ "path": "caf\u{fffd}", "path_bytes": "636166e9" }));
        assert_eq!(back["bytes_so_far"], u64::MAX);
    }

    #[test]
    fn failures_carry_path_reason_and_errno() {
        let failure = Failure {
            path: HOSTILE.into(),
            side: Side::There,
            operation: Operation::Create,
            reason: FailureReason::Os { errno: 13 },
        };
        let back = parsed(&entry_failed(TransferId([0; 16]), &failure));
        assert_eq!(
            (&back["event"], &back["path"], &back["errno"]),
            (&json!("entry_failed"), &json!(HOSTILE), &json!(13))
        );
        assert_eq!(
            (&back["side"], &back["operation"], &back["reason"]),
            (&json!("there"), &json!("create"), &json!("os"))
        );
        assert_eq!(back["message"], "Permission denied");
    }

    #[test]
    fn the_paths_taken_come_with_their_reasons() {
        let here = PathTaken { tls: TlsPath::Kernel, io: IoPath::Sync(SyncIoReason::Forbidden) };
        let there = PathTaken { tls: TlsPath::User(UserTlsReason::NotInKernel), io: IoPath::Uring };
        assert_eq!(
            paths(Some(here), Some(there)),
            json!({
                "tls_here": "kernel", "tls_there": "user", "io_here": "sync", "io_there": "uring",
                "reasons": { "io_here": "forbidden", "tls_there": "not_in_kernel" },
            })
        );
        assert_eq!(paths(None, None)["tls_here"], Value::Null);
    }

    #[test]
    fn errors_have_a_code_words_and_advice() {
        let error = Fault::Auth(AuthError::WrongCode);
        let back = parsed(&super::error(&error.code(), &words::error(&error)));
        assert_eq!((&back["event"], &back["code"]), (&json!("error"), &json!("wrong_code")));
        assert!(back["message"].as_str().unwrap().ends_with('.'));
        assert!(back["next"].is_string());
    }

    #[test]
    fn a_snapshot_without_end_in_sight_says_null() {
        let snapshot = Progress {
            stage: Stage::Running,
            peer: None,
            peer_id: None,
            entries_done: 1,
            entries_total: 2,
            bytes_done: 3,
            bytes_moved: 2,
            bytes_total: 4,
            totals_final: false,
            failed: 0,
            running_for: Duration::from_micros(1_234_567),
            bytes_per_s: 0,
            entries_per_s: 0,
            time_left: None,
            stalled_for: None,
            limited_by: None,
            interruption: None,
            place: None,
            can_pause: true,
            lanes: 2,
            here: None,
            there: None,
        };
        let back = parsed(&progress(TransferId([0xab; 16]), Direction::Sending, &snapshot));
        assert_eq!(back["id"], "ab".repeat(16));
        assert_eq!((&back["seconds"], &back["seconds_left"]), (&json!(1.235), &Value::Null));
        assert_eq!((&back["bytes_per_s"], &back["entries_per_s"]), (&json!(0), &json!(0)));
        assert_eq!(back["lanes"], 2);
        assert_eq!(back.get("limited_by"), Some(&Value::Null));
        let limited = Progress { limited_by: Some(Bottleneck::Writing), ..snapshot.clone() };
        assert_eq!(parsed(&progress(TransferId([0; 16]), Direction::Receiving, &limited))["limited_by"], "writing");
        let (next_try, gives_up) = (Some(Duration::from_millis(3_500)), Some(Duration::from_secs(900)));
        let waits = Interruption { why: Outage::Unreachable, next_try, gives_up };
        let waiting = Progress { stage: Stage::Reconnecting, interruption: Some(waits), ..snapshot.clone() };
        let waiting = parsed(&progress(TransferId([0; 16]), Direction::Sending, &waiting));
        assert_eq!(waiting["stage"], "reconnecting");
        let said = json!({ "why": "unreachable", "next_try_seconds": 3.5, "gives_up_seconds": 900.0 });
        assert_eq!((&waiting["interruption"], back.get("interruption")), (&said, Some(&Value::Null)));
        let copying = parsed(&progress(TransferId([0xab; 16]), Direction::Copying, &snapshot));
        assert_eq!((copying.get("lanes"), copying.get("limited_by")), (None, None), "a copy has no lanes");
        assert_eq!((&copying["stage"], &copying["bytes_done"]), (&json!("running"), &json!(3)));
    }

    #[test]
    fn what_limits_and_where_time_went_is_documented() {
        for what in Bottleneck::ALL {
            assert!(help().contains(&name_of(what)), "{what:?}");
        }
        let spent = StageTimes { reading: Duration::from_micros(1_234_567), ..StageTimes::default() };
        let back = json!(spent);
        assert_eq!((&back["reading"], &back["writing"]), (&json!(1.235), &json!(0.0)));
        for key in back.as_object().unwrap().keys() {
            assert!(help().contains(key.as_str()), "{key} is not documented");
        }
    }

    #[test]
    fn a_proof_says_how_much_and_how_long() {
        let back = json!(Proven { files: 3, bytes: 7, took: Duration::from_millis(1_500) });
        assert_eq!(back, json!({ "files": 3, "bytes": 7, "seconds": 1.5 }));
        assert!(help().contains("proven (after send --verify: {files, bytes, seconds}"));
    }

    #[test]
    fn what_is_planned_has_a_name_and_a_path() {
        let back = parsed(&planned(TransferId([1; 16]), Planned::Overwrite, Path::new(HOSTILE)));
        assert_eq!(
            (&back["event"], &back["action"], &back["path"]),
            (&json!("planned"), &json!("overwrite"), &json!(HOSTILE))
        );
    }

    #[test]
    fn a_copy_says_what_it_chose() {
        let report = CopyReport {
            threads: 2,
            queue_depth: 32,
            chunk_bytes: 1 << 20,
            io: IoPath::Sync(SyncIoReason::Forbidden),
            filesystem: "ext4".into(),
            reflinked_bytes: 1,
            kernel_bytes: 2,
            buffered_bytes: 3,
            uring_bytes: 4,
            specials: 5,
            excluded: 6,
            verified: 7,
            owners_lost: 8,
            attributes_lost: 9,
            began: Some(UNIX_EPOCH + Duration::from_nanos(10_000_000_001)),
        };
        let back = copy_report(&report);
        assert_eq!((&back["io"], &back["io_reason"]), (&json!("sync"), &json!("forbidden")));
        assert_eq!((&back["threads"], &back["filesystem"]), (&json!(2), &json!("ext4")));
        assert_eq!(back["began"], json!("10.000000001"));
        for key in back.as_object().unwrap().keys() {
            assert!(help().contains(key.as_str()), "{key} is not documented");
        }
    }

    #[test]
    fn moments_before_1970_are_negative() {
        assert_eq!(unix(UNIX_EPOCH - Duration::from_secs(5)), -5);
        assert_eq!(unix(UNIX_EPOCH + Duration::from_secs(5)), 5);
    }
}
