//! `ringway bench modes` as a process: the table, the JSON, and what is left behind, also when it
//! is interrupted.
#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// How long anything awaited may take: a debug build on busy cores.
const PATIENCE: Duration = Duration::from_secs(60);

const TINY: [&str; 8] = ["--small", "20", "--medium", "5", "--huge", "1500K", "--rounds", "1"];

fn start(folder: &Path, args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringway"));
    command.args(["bench", "modes", "--at"]).arg(folder).args(args);
    // It needs no identity: not even root can make one there.
    for variable in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"] {
        command.env(variable, "/proc/nowhere");
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Its status, standard output and standard error.
fn ended(child: Child) -> (Option<i32>, String, String) {
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).expect("what is printed is text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

#[test]
fn the_table_has_every_mode_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let (status, out, err) = ended(start(folder.path(), &[&TINY[..], &["--lanes", "1"]].concat()));
    assert_eq!((status, err.as_str()), (Some(0), ""), "{out}");
    for part in [
        "small files: 20,",
        "medium files: 5,",
        "huge files: 1,",
        "1 lane",
        "in the way",
        "layer    read, plain calls",
        "layer    encrypt",
        "mover    read+send > recv+write",
        "mover    splice > recv+write",
        "mover    sendfile > splice",
        "transfer plain calls",
        "plaintext",
        "kernel",
    ] {
        assert!(out.contains(part), "no {part:?} in\n{out}");
    }
    assert!(!out.contains("FAILED"), "{out}");
    assert!(is_empty(folder.path()));
}

#[test]
fn the_json_has_a_row_for_each() {
    let folder = tempfile::tempdir().unwrap();
    let args = [&TINY[..], &["--json", "--lanes", "2,1", "--data", "medium"]].concat();
    let (status, out, err) = ended(start(folder.path(), &args));
    assert_eq!((status, err.as_str()), (Some(0), ""), "{out}");
    let events: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events[0]["event"], "conditions");
    let rows = &events[1..];
    assert_eq!(rows.len(), 2 * 36, "{out}");
    for row in rows {
        assert_eq!((&row["event"], &row["dataset"], &row["files"]), (&"measured".into(), &"medium".into(), &5.into()));
        match row["state"].as_str() {
            Some("measured") => {
                assert!(row["bytes_per_s"].as_f64().unwrap() > 0.0 && row["reason"].is_null(), "{row}");
                assert!(row["sender"]["cpu_s"].is_number() || row["receiver"]["cpu_s"].is_number(), "{row}");
            }
            Some("skipped") => assert!(row["reason"].as_str().is_some_and(|why| !why.is_empty()), "{row}"),
            state => panic!("{state:?}: {row}"),
        }
    }
    let lanes: Vec<_> = rows.iter().map(|row| row["lanes"].as_u64().unwrap()).collect();
    assert!(lanes.is_sorted() && lanes[0] == 1 && lanes[71] == 2);
    assert!(is_empty(folder.path()));
}

#[test]
fn an_interrupt_ends_it_and_cleans_up() {
    for signal in [Signal::INT, Signal::TERM] {
        let folder = tempfile::tempdir().unwrap();
        let child = start(folder.path(), &["--huge", "64M", "--data", "huge", "--rounds", "1000"]);
        let begun = Instant::now();
        // In the middle of a run, or between two.
        while !fs::read_dir(folder.path()).unwrap().any(|entry| entry.unwrap().path().join("delivered").exists()) {
            assert!(begun.elapsed() < PATIENCE, "nothing is delivered");
            std::thread::sleep(Duration::from_millis(2));
        }
        kill_process(Pid::from_child(&child), signal).unwrap();
        let asked = Instant::now();
        let (status, _, err) = ended(child);
        assert_eq!(status, Some(1), "{err}");
        assert!(err.contains("Stopped. What was made for measuring has been removed."), "{err}");
        assert!(asked.elapsed() < PATIENCE);
        assert!(is_empty(folder.path()));
    }
}

#[test]
fn a_folder_that_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (status, _, err) = ended(start(&folder.path().join("nowhere"), &TINY));
    assert!(status == Some(1) && err.contains("nowhere"), "{status:?} {err}");
    let there = rustix::fs::statvfs(folder.path()).unwrap();
    if there.f_bavail * there.f_frsize > 200_000_000_000 {
        return println!(
            "skipped: too little room in a_folder_that_cannot_be_used_is_named: there is room for everything"
        );
    }
    let vast = ["--medium", "1000000", "--small", "1000000", "--huge", "64G"];
    let (status, out, err) = ended(start(folder.path(), &vast));
    assert!(status == Some(1) && out.is_empty() && err.contains("too little room") && err.contains("--huge"), "{err}");
}
