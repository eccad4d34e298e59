//! Events as lines.
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

use ringway_engine::Decision;
use ringway_model::{
    AskedBecause, AuthError, Bottleneck, DeviceId, Direction, Failure, FailureReason, Fault, Interruption, Operation,
    Outage, Outcome, PathText, Progress, Proven, Report, Shortage, Side, Stage, StageTimes, Text,
};
use serde_json::Value;

use super::*;
use crate::exit::Exit;
use crate::refusal::{self, Refusal};
use crate::words;

const HOSTILE: &str = "a\n\"\\\x1b[2J\u{9b}\u{202e}\u{7f}<b>";

fn parsed(event: &Event<'_>) -> Value {
    let line = line(event);
    assert!(!line.chars().any(misleads), "{line:?}");
    assert!(line.starts_with("{\"event\":\""), "{line}");
    serde_json::from_str(&line).unwrap()
}

fn offered(asked_because: Option<AskedBecause>) -> Offer {
    Offer {
        id: TransferId([7; 16]),
        from: HOSTILE.into(),
        from_id: DeviceId([1; 32]),
        looks_like: Some(LookAlike { id: DeviceId([2; 32]), name: HOSTILE.into() }),
        names: vec![HOSTILE.into(), OsString::from_vec(b"caf\xe9".to_vec()).into()],
        kinds: Vec::new(),
        more_names: 3,
        dot_names: vec![".bashrc".into()],
        more_dot_names: 1,
        entries_so_far: 10,
        bytes_so_far: u64::MAX,
        totals_final: false,
        destination: "/in".into(),
        in_share: Some(HOSTILE.into()),
        is_home: false,
        free_space: None,
        asked_because,
        comparison: None,
        in_place: None,
        updates: Vec::new(),
        renamed: Vec::new(),
    }
}

#[test]
fn a_line_is_one_line_that_says_the_same_whatever_the_names() {
    let summary = offered(None);
    let event = || offer(&summary, &Decision::Ask(None));
    let back = parsed(&event());
    assert_eq!(back, json!(event()));
    assert_eq!(line(&Event::Stopped), "{\"event\":\"stopped\"}");
    assert_eq!(back["from"], Text::from(HOSTILE).to_string());
    let shown = &back["names"][0];
    assert_eq!(serde_json::from_value::<PathText>(shown.clone()).unwrap(), HOSTILE, "nothing of a name is lost");
    assert_eq!(back["names"][1], json!({ "path": "caf\\xe9", "path_bytes": "636166e9" }));
    assert_eq!((&back["bytes_so_far"], &back["free_space"]), (&json!(u64::MAX), &Value::Null));
    assert_eq!((&back["rule"], &back["asked_because"]), (&json!("ask"), &Value::Null));
}

#[test]
fn offer_that_is_asked_about_in_spite_of_its_rule_says_why() {
    let because = Some(AskedBecause::TooMuch { bytes_max: 5 });
    let summary = offered(because.clone());
    assert_eq!(
        parsed(&offer(&summary, &Decision::Ask(because)))["asked_because"],
        json!({ "because": "too_much", "bytes_max": 5 })
    );
}

#[test]
fn failures_carry_path_reason_and_errno() {
    let failure = Failure {
        path: HOSTILE.into(),
        side: Side::There,
        operation: Operation::Create,
        reason: FailureReason::Os { errno: 13 },
    };
    let back = parsed(&entry_failed(TransferId([0; 16]), Direction::Sending, false, &failure));
    assert_eq!((&back["event"], &back["errno"]), (&json!("entry_failed"), &json!(13)));
    let path = json!({ "path": back["path"], "path_bytes": back["path_bytes"] });
    assert_eq!(serde_json::from_value::<PathText>(path).unwrap(), failure.path);
    assert_eq!((&back["side"], &back["operation"], &back["reason"]), (&json!("there"), &json!("create"), &json!("os")));
    assert_eq!(back["message"], "Permission denied");
}

#[test]
fn errors_have_a_code_words_and_advice() {
    let fault = Fault::Auth(AuthError::WrongCode);
    let back = parsed(&error(&fault, &words::error(&fault)));
    assert_eq!((&back["event"], &back["code"]), (&json!("error"), &json!("wrong_code")));
    assert!(back["message"].as_str().unwrap().ends_with('.'));
    assert!(back["next"].is_string());
}

#[test]
fn errors_have_the_fields_of_their_fault() {
    let shortage = Shortage { needed: 9, free: 4, entries: 1 };
    let fault = Fault::Declined(DeclineReason::NoRoom(shortage));
    let back = parsed(&error(&fault, &words::error(&fault)));
    assert_eq!((&back["code"], &back["reason"]), (&json!("declined"), &json!("no_room")));
    assert_eq!((&back["needed"], &back["free"], &back["entries"]), (&json!(9), &json!(4), &json!(1)));
    let fault = Fault::DestinationFull { shortage: Some(shortage) };
    assert_eq!(parsed(&error(&fault, &words::error(&fault)))["shortage"], json!(shortage));
    let fault = Fault::Declined(DeclineReason::TooManyOffers { wait_ms: 1_500 });
    assert_eq!(parsed(&error(&fault, &words::error(&fault)))["wait_seconds"], 1.5);
}

#[test]
fn what_ended_the_command_has_a_code_whatever_it_was() {
    let code = |error: anyhow::Error| parsed(&ended_early(&error, &refusal::words_of(&error)))["code"].clone();
    assert_eq!(code(anyhow::Error::from(Fault::Auth(AuthError::NoCodeOpen)).context("somewhere")), "no_code_open");
    assert_eq!(code(Refusal::usage("x").into()), "usage");
    assert_eq!(code(Refusal { exit: Exit::NotAuthenticated, ..Refusal::usage("x") }.into()), "pairing_needed");
    assert_eq!(code(anyhow::anyhow!("x")), "failed");
}

#[test]
fn progress_without_end_in_sight_says_null() {
    let so_far = Progress {
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
        limit_bytes_per_s: None,
        reconnected: 0,
        interruption: None,
        place: None,
        can_pause: true,
        lanes: 2,
        here: None,
        there: None,
    };
    let back = parsed(&progress(TransferId([0xab; 16]), &so_far));
    assert_eq!(back["id"], "ab".repeat(16));
    assert_eq!((&back["seconds"], &back["seconds_left"]), (&json!(1.235), &Value::Null));
    assert_eq!(back["lanes"], 2);
    assert_eq!(back.get("limited_by"), Some(&Value::Null));
    let limited = Progress { limited_by: Some(Bottleneck::Writing), ..so_far.clone() };
    assert_eq!(parsed(&progress(TransferId([0; 16]), &limited))["limited_by"], "writing");
    let (next_try, gives_up) = (Some(Duration::from_millis(3_500)), Some(Duration::from_secs(900)));
    let waits = Interruption { why: Outage::Unreachable, next_try, gives_up };
    let waiting = Progress { stage: Stage::Reconnecting, interruption: Some(waits), ..so_far };
    let waiting = parsed(&progress(TransferId([0; 16]), &waiting));
    assert_eq!(waiting["stage"], "reconnecting");
    let said = json!({ "why": "unreachable", "next_try_seconds": 3.5, "gives_up_seconds": 900.0 });
    assert_eq!((&waiting["interruption"], back.get("interruption")), (&said, Some(&Value::Null)));
}

#[test]
fn what_limits_and_where_time_went_is_in_the_manual() {
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
fn what_is_planned_has_a_name_and_a_path() {
    let back = parsed(&planned(TransferId([1; 16]), Planned::Overwrite, Path::new("a\nb")));
    assert_eq!((&back["event"], &back["action"]), (&json!("planned"), &json!("overwrite")));
    assert_eq!((&back["path"], &back["path_bytes"]), (&json!("a\\nb"), &json!("610a62")));
}

#[test]
fn a_proof_of_a_report_stands_beside_its_counts() {
    let proven = Some(Proven { files: 3, bytes: 7, took: Duration::from_millis(1_500) });
    let back = json!(Report { proven, ..Report::new(Outcome::Complete, std::time::UNIX_EPOCH) });
    assert_eq!((&back["outcome"], back.get("error")), (&json!("complete"), None));
    assert_eq!((&back["proven"]["seconds"], &back["files"]), (&json!(1.5), &json!(0)));
}
