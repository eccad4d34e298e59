//! `ringway copy` as a process: exit statuses, what it prints and where, and in what state it
//! leaves things.
#![forbid(unsafe_code)]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use serde_json::Value;

/// How long anything awaited may take: a debug build on busy cores.
const PATIENCE: Duration = Duration::from_secs(60);

/// Mostly large enough to be met in the middle of its copy, in chunks of a page by one thread.
const LARGE: usize = 64 << 20;

/// A machine on which this is not met in the middle is not slowed down by `SLOWLY`.
const LARGEST: usize = LARGE << 4;

/// Tests with files of that size go one by one: together they would take a small machine's memory.
static LARGE_FILES: Mutex<()> = Mutex::new(());

/// What makes a copy take its time, whatever the filesystem can do.
const SLOWLY: [&str; 6] = ["--reflink=never", "--no-splice", "-j", "1", "-c", "4K"];

/// A folder for one test, in which `ringway copy` runs.
struct Place {
    base: tempfile::TempDir,
}

/// What a run came to.
struct Ran {
    status: Option<i32>,
    out: String,
    err: String,
}

impl Ran {
    fn from(child: Child) -> Self {
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).expect("what is printed is text");
        Self { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// The command that the last message recommends.
    #[track_caller]
    fn advised(&self) -> String {
        let line = self.err.lines().rev().find_map(|line| line.split_once("To finish the copy, run: "));
        line.unwrap_or_else(|| panic!("no command in\n{}", self.err)).1.to_owned()
    }

    fn events(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"))).collect()
    }

    #[track_caller]
    fn assert(&self, status: i32, out: &[&str], err: &[&str]) {
        assert_eq!(self.status, Some(status), "\n{}\n{}", self.out, self.err);
        out.iter().for_each(|part| assert!(self.out.contains(part), "no {part:?} in\n{}", self.out));
        err.iter().for_each(|part| assert!(self.err.contains(part), "no {part:?} in\n{}", self.err));
    }
}

impl Place {
    fn new() -> Self {
        Self { base: tempfile::tempdir().unwrap() }
    }

    /// One with a folder `src` of two files, a link and a folder.
    fn with_tree() -> Self {
        let place = Self::new();
        fs::create_dir_all(place.at("src/deep/empty")).unwrap();
        place.write("src/a", "first");
        place.write("src/deep/b", "second");
        symlink("a", place.at("src/link")).unwrap();
        fs::set_permissions(place.at("src/a"), fs::Permissions::from_mode(0o640)).unwrap();
        fs::File::open(place.at("src/a"))
            .unwrap()
            .set_modified(std::time::UNIX_EPOCH + Duration::new(1_000, 7))
            .unwrap();
        place
    }

    fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.base.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.at(path), text).unwrap();
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.at(path)).ok()
    }

    fn start<S: AsRef<OsStr>>(&self, args: &[S]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ringway"));
        command.arg("copy").args(args).current_dir(self.base.path());
        // Not even root can make anything there.
        for variable in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"] {
            command.env(variable, "/proc/nowhere");
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn copy<S: AsRef<OsStr>>(&self, args: &[S]) -> Ran {
        Ran::from(self.start(args))
    }

    /// Copies without root's right to open what its mode closes, behind `before` (strace, say).
    /// `None` if that cannot be had here.
    fn copy_unprivileged(&self, before: &[&str], args: &[&str]) -> Option<Ran> {
        let setpriv = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"];
        let drops = if rustix::process::geteuid().is_root() { &setpriv[..] } else { &[] };
        let line: Vec<&str> =
            before.iter().chain(drops).copied().chain([env!("CARGO_BIN_EXE_ringway"), "copy"]).collect();
        let works = |line: &[&str]| {
            Command::new(line[0])
                .args(&line[1..])
                .current_dir(self.base.path())
                .output()
                .is_ok_and(|ran| ran.status.success())
        };
        if !works(&[before, drops, &["true"]].concat()) {
            return None;
        }
        let mut command = Command::new(line[0]);
        command.args(&line[1..]).args(args).current_dir(self.base.path());
        Some(Ran::from(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()))
    }

    fn mode(&self, path: &str, mode: u32) {
        fs::set_permissions(self.at(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Runs a command as a person would who copied it from a message.
    fn run(&self, command: &str) -> Ran {
        let programs = Path::new(env!("CARGO_BIN_EXE_ringway")).parent().unwrap();
        let path = std::env::join_paths(
            [programs.to_owned()].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
        );
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(self.base.path()).env("PATH", path.unwrap());
        Ran::from(shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Starts to copy `big` to `dst` slowly, over what `before` is, and holds the command in the
    /// middle of that. Nobody else has one held meanwhile.
    fn held_in_the_middle(&self, more: &[&str], before: Option<&str>) -> (Child, MutexGuard<'static, ()>) {
        let alone = LARGE_FILES.lock().unwrap_or_else(PoisonError::into_inner);
        let dst = self.at("dst");
        let len = || fs::metadata(&dst).map_or(0, |found| found.len());
        let mut size = LARGE;
        while size <= LARGEST {
            fs::write(self.at("big"), vec![0xa5; size]).unwrap();
            before.iter().for_each(|text| fs::write(&dst, text).unwrap());
            let child = self.start(&[&SLOWLY, more, &["big", "dst"]].concat());
            let started = Instant::now();
            while len() < 1 << 20 {
                assert!(started.elapsed() < PATIENCE, "it does not begin");
                std::thread::sleep(Duration::from_micros(200));
            }
            hold(&child);
            if len() < size as u64 {
                return (child, alone);
            }
            signal(&child, Signal::CONT);
            Ran::from(child).assert(0, &[], &[]);
            fs::remove_file(&dst).unwrap();
            size *= 2;
        }
        panic!("{LARGEST} bytes are copied sooner than that is seen");
    }
}

/// Stops it, and waits until it stands still or has ended.
fn hold(child: &Child) {
    signal(child, Signal::STOP);
    let options = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(Pid::from_child(child)), options).unwrap();
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn a_tree_is_copied_without_a_home() {
    let place = Place::with_tree();
    let ran = place.copy(&["src", "dst"]);
    ran.assert(0, &["Copied src: 2 files, 3 folders, 1 link, 11 B in "], &[]);
    assert_eq!((ran.out.lines().count(), &*ran.err), (1, ""));
    assert_eq!(place.read("dst/a").as_deref(), Some("first"));
    assert_eq!(place.read("dst/deep/b").as_deref(), Some("second"));
    assert_eq!(fs::read_link(place.at("dst/link")).unwrap(), Path::new("a"));
    let copied = fs::metadata(place.at("dst/a")).unwrap();
    assert_eq!((copied.mode() & 0o7777, copied.mtime(), copied.mtime_nsec()), (0o640, 1_000, 7));
    assert!(place.at("dst/deep/empty").is_dir());
    // Once more: into the folder that is there now, and with -T over it.
    assert_eq!(place.copy(&["-a", "src", "dst"]).status, Some(0));
    assert_eq!(place.read("dst/src/a").as_deref(), Some("first"));
    place.write("src/a", "changed");
    assert_eq!(place.copy(&["-aT", "src", "dst"]).status, Some(0));
    assert_eq!(place.read("dst/a").as_deref(), Some("changed"));
}

#[test]
fn several_sources_go_into_a_folder() {
    let place = Place::with_tree();
    place.write("file", "third");
    fs::create_dir(place.at("into")).unwrap();
    place.copy(&["src", "file", "into"]).assert(0, &["Copied src and 1 more: 3 files"], &[]);
    assert_eq!(place.read("into/file").as_deref(), Some("third"));
    fs::create_dir(place.at("other")).unwrap();
    assert_eq!(place.copy(&["-t", "other", "src", "file"]).status, Some(0));
    fs::create_dir(place.at("again")).unwrap();
    place.write("again/file", "another");
    let both = "file and again/file would both become other/file.";
    place.copy(&["file", "again/file", "other"]).assert(2, &[], &[both, "Rename one"]);
    place.copy(&["src", "src", "other"]).assert(2, &[], &["src is given twice."]);
    assert_eq!(place.read("other/src/a").as_deref(), Some("first"));
}

#[test]
fn what_it_was_stopped_by_the_shell_is_not_its_time() {
    const STOOD: Duration = Duration::from_secs(4);
    let place = Place::new();
    let begun = Instant::now();
    let (child, _alone) = place.held_in_the_middle(&["--json"], None);
    std::thread::sleep(STOOD);
    signal(&child, Signal::CONT);
    let ran = Ran::from(child);
    ran.assert(0, &[], &[]);
    let whole = begun.elapsed();
    let events = ran.events();
    let finished = events.last().unwrap();
    // But for the time between two looks.
    let stood = STOOD - Duration::from_millis(200);
    let seconds = finished["seconds"].as_f64().unwrap();
    assert!(Duration::from_secs_f64(seconds) + stood <= whole, "{seconds} of {whole:?}");
    for told in events.iter().filter(|event| event["event"] == "progress") {
        assert!(told["seconds"].as_f64().unwrap() <= seconds, "{told}");
    }
}

#[test]
fn programs_read_one_event_a_line() {
    let place = Place::with_tree();
    let ran = place.copy(&["--json", "src", "dst"]);
    ran.assert(0, &[], &[]);
    assert_eq!(ran.err, "");
    let events = ran.events();
    let (first, last) = (&events[0], &events[events.len() - 1]);
    assert_eq!(
        (&first["event"], &first["direction"], &first["title"]["path"]),
        (&"started".into(), &"copying".into(), &"src".into())
    );
    assert_eq!(
        (&last["event"], &last["outcome"], &last["dry_run"]),
        (&"finished".into(), &"complete".into(), &false.into())
    );
    assert_eq!(
        (&last["files"], &last["folders"], &last["links"], &last["bytes"]),
        (&2.into(), &3.into(), &1.into(), &11.into())
    );
    let copy = &last["copy"];
    assert!(copy["threads"].as_u64() >= Some(1) && copy["filesystem"].is_string(), "{copy}");
    let moved = ["reflinked_bytes", "kernel_bytes", "buffered_bytes"].map(|key| copy[key].as_u64().unwrap());
    assert_eq!(moved.iter().sum::<u64>(), 11, "{copy}");
    for event in &events {
        for key in ["peer", "peer_id", "here", "there"] {
            assert_eq!(event.get(key), Some(&Value::Null), "a copy has no {key}");
        }
        assert_eq!(event["lanes"], 0);
    }
}

#[test]
fn a_dry_run_says_everything_and_writes_nothing() {
    let place = Place::with_tree();
    fs::create_dir_all(place.at("dst/src")).unwrap();
    place.write("dst/src/a", "older");
    let ran = place.copy(&["--dry-run", "src", "dst"]);
    ran.assert(
        0,
        &["over  dst/src/a\n", "new   dst/src/deep/b\n", "dir   dst/src/deep/\n", "link  dst/src/link\n"],
        &[],
    );
    assert!(ran.out.lines().last().unwrap().starts_with("Would copy src: 2 files"), "{}", ran.out);
    assert!(ran.out.ends_with("Nothing was written.\n"), "{}", ran.out);
    assert_eq!(place.read("dst/src/a").as_deref(), Some("older"));
    assert!(!place.at("dst/src/deep").exists());

    place.copy(&["--dry-run", "-n", "src", "dst"]).assert(
        0,
        &["keep  dst/src/a\n", "1 entry was already there and kept; 1 of these differs from the source."],
        &[],
    );

    let events = place.copy(&["--dry-run", "--json", "src", "dst"]).events();
    let planned: Vec<_> = events.iter().filter(|event| event["event"] == "planned").collect();
    assert!(planned.iter().any(|event| event["action"] == "overwrite" && event["path"] == "dst/src/a"), "{planned:?}");
    assert!(planned.iter().all(|event| event["id"] == events[0]["id"]));
    assert_eq!(events[events.len() - 1]["dry_run"], true);
    let quiet = place.copy(&["--dry-run", "--json", "--quiet", "src", "dst"]).events();
    assert_eq!(quiet.iter().filter(|event| event["event"] == "planned").count(), planned.len());
    let verbose = place.copy(&["--dry-run", "-v", "src", "dst"]);
    verbose.assert(0, &["Threads: "], &[]);
    assert!(!verbose.out.contains("Reading: ") && !verbose.out.contains("Contents: "), "{}", verbose.out);
    let quiet = place.copy(&["--dry-run", "--quiet", "src", "dst"]);
    assert_eq!((quiet.status, &*quiet.out, &*quiet.err), (Some(0), "", ""));
}

#[test]
fn a_failure_is_named_and_the_rest_is_copied() {
    let place = Place::with_tree();
    // A folder stands where a file should go; nothing of it is deleted to make room.
    fs::create_dir_all(place.at("dst/src/a/stays")).unwrap();
    let ran = place.copy(&["src", "dst"]);
    ran.assert(
        3,
        &["Copied src: 1 file", "1 FAILED."],
        &["ringway: dst/src/a: ", "another type", "Move the item there aside"],
    );
    assert!(place.at("dst/src/a/stays").is_dir());
    assert_eq!(place.read("dst/src/deep/b").as_deref(), Some("second"));

    let ran = place.copy(&["--json", "src", "dst"]);
    let events = ran.events();
    let failed: Vec<_> = events.iter().filter(|event| event["event"] == "entry_failed").collect();
    assert_eq!(
        (failed.len(), &failed[0]["path"], &failed[0]["reason"]),
        (1, &"dst/src/a".into(), &"in_the_way".into())
    );
    let last = &events[events.len() - 1];
    assert_eq!((ran.status, &last["outcome"], &last["failed"]), (Some(3), &"partial".into(), &1.into()));

    let ran = place.copy(&["nope", "src/a", "dst"]);
    ran.assert(3, &["1 FAILED."], &["nope", "No such file", "Check the spelling"]);
    assert_eq!(place.read("dst/a").as_deref(), Some("first"));
}

#[test]
fn what_cannot_work_is_said_with_a_next_step() {
    let place = Place::with_tree();
    place.write("file", "x");
    place.copy(&["nope", "dst"]).assert(1, &[], &["nope cannot be copied: No such file", "Check the spelling."]);
    place.copy(&["src", "file", "none"]).assert(1, &[], &["several sources need one", "mkdir -p none"]);
    place.copy(&["-t", "none", "src"]).assert(1, &[], &["no folder none", "mkdir -p none"]);
    place.copy(&["src", "none/dst"]).assert(1, &[], &["no folder none", "mkdir -p none"]);
    place.copy(&["src"]).assert(2, &[], &["Where to copy src to is missing", "For example"]);
    place.copy(&["-T", "src", "file", "none"]).assert(2, &[], &["-T takes one SOURCE"]);
    place.copy(&["-j", "0", "src", "dst"]).assert(2, &[], &["0 is not in 1..=256"]);
    place.copy(&["-c", "1", "src", "dst"]).assert(2, &[], &["a chunk has 4K to 64M"]);
    place.copy(&["--exclude", "[z", "src", "dst"]).assert(2, &[], &["pattern"]);
    place.copy(&["--exclude", "", "src", "dst"]).assert(2, &[], &["pattern", "is empty"]);
    place.copy(&["-q", "src", "dst"]).assert(2, &[], &["--quiet is the word for being quiet"]);
    place.copy(&["file", "none/"]).assert(1, &[], &["slash at its end asks for a folder"]);
    assert!(!place.at("dst").exists() && !place.at("none").exists());
    let events = place.copy(&["--json", "nope", "dst"]).events();
    assert_eq!((&events[0]["event"], &events[0]["code"]), (&"error".into(), &"path".into()));
}

#[test]
fn nothing_is_copied_into_or_over_itself() {
    let place = Place::with_tree();
    let ran = place.copy(&["src", "src/deep"]);
    assert_ne!(ran.status, Some(0), "{}", ran.err);
    ran.assert(ran.status.unwrap(), &[], &["into itself", "outside"]);
    assert!(!place.at("src/deep/src/deep/src").exists());
    let ran = place.copy(&["src/a", "src/a"]);
    assert_ne!(ran.status, Some(0), "{}", ran.err);
    ran.assert(ran.status.unwrap(), &[], &["same file"]);
    assert_eq!(place.read("src/a").as_deref(), Some("first"));
}

#[test]
fn a_link_takes_the_place_of_nothing_that_it_leads_to() {
    let place = Place::new();
    place.write("f", "precious");
    symlink("f", place.at("fl")).unwrap();
    for line in [&["fl", "f"][..], &["-T", "fl", "f"], &["-u", "fl", "f"], &["--atomic", "fl", "f"]] {
        place.copy(line).assert(3, &[], &["same file", "Choose another folder."]);
        assert_eq!(place.read("f").as_deref(), Some("precious"), "{line:?}");
        assert!(!place.at("f").is_symlink());
    }
    place.copy(&["-n", "fl", "f"]).assert(
        0,
        &["1 entry was already there and kept; 1 of these differs from the source."],
        &[],
    );
}

#[test]
fn a_result_that_cannot_be_printed_is_a_failure_and_a_reader_that_has_gone_is_told_by_the_status() {
    let place = Place::with_tree();
    let run = |args: &[&str], out: Stdio| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ringway"));
        command.arg("copy").args(args).current_dir(place.base.path()).stdout(out).stderr(Stdio::piped());
        Ran::from(command.spawn().unwrap())
    };
    // What a command prints besides its result is nobody's business.
    let printed: [(&[&str], i32, i32); 3] =
        [(&["--dry-run", "src", "dst"], 1, 141), (&["--json", "src", "dst"], 1, 141), (&["src", "dst"], 0, 0)];
    for (args, status, without_reader) in printed {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let ran = run(args, full.into());
        ran.assert(status, &[], &["ringway: standard output: No space left on device"]);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        run(args, writer.into()).assert(without_reader, &[], &[]);
    }
    assert_eq!(place.read("dst/src/a").as_deref(), Some("first"), "what is printed keeps nothing from being copied");
}

#[test]
fn files_that_exist_are_kept_as_asked() {
    let place = Place::with_tree();
    assert_eq!(place.copy(&["-T", "src", "dst"]).status, Some(0));
    place.write("dst/a", "newer than its source");
    place.copy(&["-uT", "src", "dst"]).assert(
        0,
        &["3 entries were as new or newer there and kept; 1 of these differs from the source."],
        &[],
    );
    assert_eq!(place.read("dst/a").as_deref(), Some("newer than its source"));
    place.write("src/a", "newest");
    let newest = std::time::SystemTime::now() + Duration::from_secs(60);
    fs::File::open(place.at("src/a")).unwrap().set_modified(newest).unwrap();
    place.copy(&["-nT", "src", "dst"]).assert(
        0,
        &["3 entries were already there and kept; 1 of these differs from the source."],
        &[],
    );
    assert_eq!(place.read("dst/a").as_deref(), Some("newer than its source"));
    place.copy(&["-uT", "src", "dst"]).assert(0, &["2 entries were as new or newer there and kept."], &[]);
    assert_eq!(place.read("dst/a").as_deref(), Some("newest"));
}

#[test]
fn the_last_pattern_that_matches_decides() {
    let place = Place::with_tree();
    for name in ["src/keep.tmp", "src/x.tmp", "src/deep/y.tmp"] {
        place.write(name, "");
    }
    let ran = place.copy(&["--exclude", "*.tmp", "--include", "keep.tmp", "src", "one"]);
    ran.assert(0, &["2 entries left out, as asked."], &[]);
    assert!(
        place.at("one/keep.tmp").exists() && !place.at("one/x.tmp").exists() && !place.at("one/deep/y.tmp").exists()
    );
    assert_eq!(place.copy(&["--include", "keep.tmp", "--exclude", "*.tmp", "src", "two"]).status, Some(0));
    assert!(!place.at("two/keep.tmp").exists() && place.at("two/a").exists());
    place.copy(&["--exclude=/deep", "src", "three"]).assert(0, &["1 entry left out, as asked."], &[]);
    assert!(!place.at("three/deep").exists() && place.at("three/x.tmp").exists());
}

#[test]
fn quiet_is_quiet_and_verbose_says_why() {
    let place = Place::with_tree();
    let quiet = place.copy(&["--quiet", "src", "dst"]);
    assert_eq!((quiet.status, &*quiet.out, &*quiet.err), (Some(0), "", ""));
    fs::create_dir_all(place.at("other/src/a")).unwrap();
    let failing = place.copy(&["--quiet", "src", "other"]);
    assert_eq!((failing.status, &*failing.out), (Some(3), ""));
    assert!(failing.err.contains("other/src/a"), "{}", failing.err);
    place.copy(&["-av", "-j", "3", "-q", "8", "-c", "128K", "--reflink=never", "src", "loud"]).assert(
        0,
        &[
            "Destination's filesystem: ",
            "Threads: 3 (as asked)",
            "chunks of 128K (as asked)",
            "Reading: ",
            "Contents: 11 B",
        ],
        &[],
    );
    place.copy(&["-v", "--io", "sync", "src", "louder"]).assert(
        0,
        &["Threads: ", "(chosen", "plain system calls (as configured)"],
        &[],
    );
}

#[test]
fn what_was_written_is_read_back_where_that_is_asked() {
    let place = Place::with_tree();
    place.copy(&["--verify", "src", "dst"]).assert(0, &["2 files read back and found equal."], &[]);
    assert_eq!(place.copy(&["--atomic", "src", "whole"]).status, Some(0));
    assert_eq!(place.read("whole/deep/b").as_deref(), Some("second"));
    assert_eq!(fs::read_dir(place.at("whole")).unwrap().count(), 3, "no temporary name is left");
}

#[test]
fn every_way_gives_the_same() {
    let place = Place::with_tree();
    for (index, way) in [
        &["--io", "sync"][..],
        &["--no-splice"],
        &["--kernel-copy", "range"],
        &["--kernel-copy", "splice"],
        &["--reflink=never", "-j", "1"],
    ]
    .iter()
    .enumerate()
    {
        let to = format!("dst{index}");
        place.copy(&[way, &["src", &*to][..]].concat()).assert(0, &["2 files, 3 folders, 1 link"], &[]);
        assert_eq!(place.read(&format!("{to}/deep/b")).as_deref(), Some("second"), "{way:?}");
    }
    let ring = place.copy(&["--io", "uring", "src", "ring"]);
    if ring.err.contains("io_uring is required but not available") {
        println!("skipped: copying through io_uring: {}", ring.err.trim());
        ring.assert(1, &[], &["Leave --io out"]);
    } else {
        ring.assert(0, &["2 files"], &[]);
    }
}

#[test]
fn sharing_blocks_where_it_is_demanded_and_impossible_says_what_to_leave_out() {
    let shared = Path::new("/dev/shm");
    let Ok(base) = tempfile::tempdir_in(shared) else {
        println!("skipped: --reflink=always without reflinks: no tmpfs at {}", shared.display());
        return;
    };
    let place = Place { base };
    place.write("file", "x");
    place.copy(&["--reflink", "file", "dst"]).assert(
        3,
        &["Nothing was copied. 1 FAILED."],
        &["dst", "leave --reflink=always out"],
    );
    assert!(!place.at("dst").exists(), "what cannot be completed is not left there");
    assert_eq!(place.copy(&["--reflink=auto", "file", "dst"]).status, Some(0));
}

#[test]
fn names_need_not_be_text() {
    let place = Place::with_tree();
    let odd = OsStr::from_bytes(b"caf\xe9\x1b[31m");
    fs::rename(place.at("src"), place.at(odd)).unwrap();
    let ran = place.copy(&[odd, OsStr::new("dst")]);
    ran.assert(0, &["Copied caf\\xe9\\u{1b}[31m: 2 files"], &[]);
    assert_eq!(place.read("dst/a").as_deref(), Some("first"));
    let events = place.copy(&[OsStr::new("--json"), odd, OsStr::new("dst")]).events();
    assert_eq!(events[0]["title"]["path_bytes"], "636166e91b5b33316d");
}

#[test]
fn a_stopped_copy_leaves_no_half_written_new_file() {
    let place = Place::new();
    let (child, _alone) = place.held_in_the_middle(&[], None);
    // Both at once, as timeout(1) does it: that is one request and not a second one to quit at
    // once.
    signal(&child, Signal::INT);
    signal(&child, Signal::TERM);
    signal(&child, Signal::CONT);
    let ran = Ran::from(child);
    ran.assert(1, &["Stopping cleanly"], &["Cancelled. So far: ", "No new file is incomplete."]);
    assert!(!place.at("dst").exists());
    place.run(&ran.advised()).assert(0, &["Copied big: 1 file"], &[]);
    assert!(fs::read(place.at("dst")).unwrap() == fs::read(place.at("big")).unwrap());
}

#[test]
fn copy_whose_terminal_goes_away_leaves_no_half_written_new_file() {
    let place = Place::new();
    let (child, _alone) = place.held_in_the_middle(&[], None);
    signal(&child, Signal::HUP);
    signal(&child, Signal::CONT);
    let ran = Ran::from(child);
    ran.assert(129, &[], &["Cancelled. So far: ", "No new file is incomplete."]);
    assert!(!place.at("dst").exists());
    place.run(&ran.advised()).assert(0, &["Copied big: 1 file"], &[]);
}

#[test]
fn stopped_copy_leaves_a_read_only_folder_open_to_its_owner_until_it_is_finished() {
    let place = Place::new();
    let _alone = LARGE_FILES.lock().unwrap_or_else(PoisonError::into_inner);
    fs::create_dir(place.at("src")).unwrap();
    fs::write(place.at("src/big"), vec![0xa5; LARGEST]).unwrap();
    fs::set_permissions(place.at("src"), fs::Permissions::from_mode(0o555)).unwrap();
    let child = place.start(&[&SLOWLY[..], &["src", "dst"]].concat());
    let started = Instant::now();
    while fs::metadata(place.at("dst/big")).map_or(0, |found| found.len()) == 0 {
        assert!(started.elapsed() < PATIENCE, "it does not begin");
        std::thread::sleep(Duration::from_micros(200));
    }
    signal(&child, Signal::TERM);
    let ran = Ran::from(child);
    ran.assert(143, &[], &["Cancelled. So far: "]);
    let mode = || fs::metadata(place.at("dst")).unwrap().mode() & 0o7777;
    assert_eq!(mode(), 0o755);
    place.run(&ran.advised()).assert(0, &["Copied src: 1 file"], &[]);
    assert_eq!(mode(), 0o555);
    fs::set_permissions(place.at("src"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_stopped_copy_names_the_file_that_it_was_writing_over() {
    let place = Place::new();
    let (child, _alone) = place.held_in_the_middle(&["--json"], Some("what was there"));
    signal(&child, Signal::TERM);
    signal(&child, Signal::CONT);
    let ran = Ran::from(child);
    ran.assert(143, &[], &["ringway: dst: was being overwritten", "incomplete", "copied again"]);
    let events = ran.events();
    let last = &events[events.len() - 1];
    assert_eq!((&last["outcome"], &last["error"]["code"]), (&"failed".into(), &"cancelled".into()));
    assert!(events.iter().any(|event| event["event"] == "entry_failed" && event["path"] == "dst"));
    // Older than whatever it is a copy of, so that -u takes it up again.
    let left = fs::metadata(place.at("dst")).unwrap();
    assert_eq!((left.mtime(), left.mtime_nsec()), (0, 0));
    assert_eq!(place.run(&ran.advised()).status, Some(0));
    assert!(fs::read(place.at("dst")).unwrap() == fs::read(place.at("big")).unwrap());
}

#[test]
fn progress_is_told_without_a_terminal_where_it_is_asked_for() {
    let place = Place::new();
    let (child, _alone) = place.held_in_the_middle(&["--progress"], None);
    std::thread::sleep(Duration::from_millis(1_200));
    signal(&child, Signal::CONT);
    let ran = Ran::from(child);
    ran.assert(0, &["Copied big: 1 file"], &["big: 0 ", "B/s"]);
    assert!(!ran.err.contains('\x1b') && !ran.err.contains('\r'), "no terminal, no terminal codes: {:?}", ran.err);
}

#[test]
fn a_full_destination_says_how_far_it_came() {
    let place = Place::new();
    fs::create_dir(place.at("small")).unwrap();
    let Some(_mounted) = Mounted::new(&place.at("small"), "size=4m") else {
        println!("skipped: a full destination: mounting needs root");
        return;
    };
    fs::create_dir(place.at("src")).unwrap();
    for index in 0..16 {
        fs::write(place.at(format!("src/{index}")), vec![7; 1 << 20]).unwrap();
    }
    let ran = place.copy(&["-j", "1", "src", "small"]);
    ran.assert(1, &[], &["No space left in ", "was removed", "Free up space"]);
    for entry in fs::read_dir(place.at("small/src")).unwrap() {
        assert_eq!(entry.unwrap().metadata().unwrap().len(), 1 << 20, "what stays is whole");
    }
    assert_eq!(ran.err.matches("Free up space").count(), 1, "{}", ran.err);
    // A destination that the copy made is there the next time, so that the same command would go
    // into it.
    fs::remove_dir_all(place.at("small/src")).unwrap();
    let made = place.copy(&["src", "small/new"]);
    made.assert(1, &[], &["Free up space"]);
    place.run(&made.advised()).assert(1, &[], &["No space left in "]);
    assert!(!place.at("small/new/src").exists());
    assert_eq!(place.copy(&["-uT", "src", "small/new"]).status, Some(1));
    assert!(!place.at("small/new/src").exists());
    let events = place.copy(&["--json", "src", "small"]).events();
    assert_eq!(events[events.len() - 1]["error"]["code"], "destination_full");
    // A file that existed is reported when it is cut short; with --atomic it is not cut short.
    fs::remove_dir_all(place.at("small/src")).unwrap();
    fs::remove_dir_all(place.at("small/new")).unwrap();
    fs::write(place.at("large"), vec![7; 8 << 20]).unwrap();
    place.write("small/large", "what was there");
    place.copy(&["--atomic", "large", "small"]).assert(1, &[], &["large: could not be written: No space"]);
    assert_eq!(place.read("small/large").as_deref(), Some("what was there"));
    let incomplete =
        "ringway: small/large: was being overwritten and is incomplete, because it could not be written (No space left";
    let ran = place.copy(&["large", "small"]);
    ran.assert(1, &[], &[incomplete, "Files that were being overwritten are incomplete", "are copied again"]);
    assert!(!ran.err.contains("was removed"), "{}", ran.err);
}

/// An entry of a tree: its path, kind and mode, contents, time, and which paths are the same file.
type Entry = (PathBuf, u32, Vec<u8>, i64, Vec<PathBuf>);

/// What a tree holds, by path.
fn contents(root: &Path) -> Vec<Entry> {
    let mut found = Vec::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let metadata = fs::symlink_metadata(&entry).unwrap();
            let (mut time, mut bytes) = (metadata.mtime(), Vec::new());
            match metadata.is_dir() {
                true => waiting.push(entry.clone()),
                false if metadata.is_symlink() => {
                    bytes = fs::read_link(&entry).unwrap().into_os_string().into_encoded_bytes();
                    time = 0;
                }
                false => bytes = fs::read(&entry).unwrap(),
            }
            found.push((entry, metadata.mode(), bytes, time, metadata.ino()));
        }
    }
    let below = |path: &Path| path.strip_prefix(root).unwrap().to_owned();
    let names = |ino: u64| {
        let mut names: Vec<_> = found.iter().filter(|entry| entry.4 == ino).map(|entry| below(&entry.0)).collect();
        names.sort();
        names
    };
    let mut contents: Vec<Entry> = found
        .iter()
        .map(|(path, mode, bytes, time, ino)| (below(path), *mode, bytes.clone(), *time, names(*ino)))
        .collect();
    contents.sort();
    contents
}

#[test]
fn the_advised_command_finishes_what_a_full_disk_ended() {
    const FILES: u64 = 12;
    for (number, mode) in
        [&[][..], &["-u"], &["-n"], &["--atomic"], &["-u", "--atomic"], &["--exclude", "1"]].iter().enumerate()
    {
        let place = Place::new();
        fs::create_dir_all(place.at("src/deep")).unwrap();
        // Two files have names at both ends of the order, so that some are linked after room was
        // made.
        for index in 0..FILES {
            let (name, time) = (format!("src/{index}"), if index % 4 == 0 { 0 } else { 2_000 + index });
            fs::write(place.at(&name), vec![index as u8; 1 << 20]).unwrap();
            let file = fs::File::options().write(true).open(place.at(&name)).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(time)).unwrap();
            if index % 3 == 0 {
                fs::hard_link(place.at(&name), place.at(format!("src/deep/again-{index}"))).unwrap();
            }
        }
        symlink("../0", place.at("src/deep/link")).unwrap();
        for disk in ["small", "large"] {
            fs::create_dir(place.at(disk)).unwrap();
        }
        let Some(_small) = Mounted::new(&place.at("small"), "size=6m") else {
            return println!("skipped: the_advised_command_finishes_what_a_full_disk_ended: mounting needs root");
        };
        // What was there before: older and newer than its source, as large as it, and not.
        let before = |disk: &str| {
            fs::create_dir_all(place.at(format!("{disk}/src/deep"))).unwrap();
            for (name, len, time) in [
                ("0", 10, 1_000),
                ("1", 1 << 20, 9_000),
                ("2", 10, 1_000),
                ("9", 10, 9_000),
                ("10", 10, 9_000),
                ("deep/again-9", 7, 9_000),
            ] {
                let path = place.at(format!("{disk}/src/{name}"));
                fs::write(&path, vec![0xee; len]).unwrap();
                let file = fs::File::options().write(true).open(&path).unwrap();
                file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(time)).unwrap();
            }
        };
        ["small", "large"].iter().for_each(|disk| before(disk));
        // One thread: which of a file's names is met first says whether a newer file that is kept
        // stands for the others, as with cp.
        let copied = place.copy(&[mode, &["-j", "1", "src", "large"][..]].concat());
        assert_eq!(copied.status, Some(0), "{}", copied.err);
        let full = place.copy(&[mode, &["-j", "1", "src", "small"][..]].concat());
        full.assert(1, &[], &["No space left in ", "Free up space"]);
        // A second try is as far, and advises what the first one did.
        let again = place.run(&full.advised());
        again.assert(1, &[], &["No space left in "]);
        assert_eq!(again.advised(), full.advised(), "{mode:?}");
        let grown = Command::new("mount").args(["-o", "remount,size=64m"]).arg(place.at("small")).status().unwrap();
        assert!(grown.success());
        let finished = place.run(&again.advised());
        finished.assert(0, &["there already and kept"], &[]);
        assert_eq!(contents(&place.at("small")), contents(&place.at("large")), "{number}: {mode:?}\n{}", full.err);
    }
}

#[test]
fn a_continued_copy_leaves_the_names_of_a_file_one_file() {
    use std::os::unix::fs::MetadataExt;
    for completed in ["a/f", "g", "h"] {
        let place = Place::new();
        fs::create_dir_all(place.at("src/a")).unwrap();
        fs::write(place.at("src/a/f"), vec![7; 6_000]).unwrap();
        fs::hard_link(place.at("src/a/f"), place.at("src/g")).unwrap();
        fs::hard_link(place.at("src/a/f"), place.at("src/h")).unwrap();
        let began = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let began = format!("{}.{:09}", began.as_secs(), began.subsec_nanos());
        // The clock of files lags behind by up to a tick.
        std::thread::sleep(Duration::from_millis(50));
        fs::create_dir_all(place.at("into/src/a")).unwrap();
        place.run(&format!("ringway copy -T src/{completed} into/src/{completed}")).assert(0, &[], &[]);
        place.copy(&["--continue", &began, "src", "into"]).assert(0, &[], &[]);
        let [f, g, h] = ["a/f", "g", "h"].map(|name| fs::metadata(place.at(format!("into/src/{name}"))).unwrap().ino());
        assert!(f == g && g == h, "{completed} was there: {f} {g} {h}");
    }
}

#[test]
fn a_read_only_destination_says_what_to_do() {
    let place = Place::with_tree();
    fs::create_dir(place.at("ro")).unwrap();
    let Some(_mounted) = Mounted::new(&place.at("ro"), "ro") else {
        println!("skipped: a read-only destination: mounting needs root");
        return;
    };
    let ran = place.copy(&["src", "ro"]);
    assert_ne!(ran.status, Some(0));
    ran.assert(ran.status.unwrap(), &[], &["Read-only file system", "Choose a writable folder."]);
}

/// A tmpfs that goes away with the test.
struct Mounted(PathBuf);

impl Mounted {
    fn new(at: &Path, options: &str) -> Option<Self> {
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", options, "none"]).arg(at).output().ok()?;
        mount.status.success().then(|| Self(at.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Calls that change what is on a disk.
const WRITING_CALLS: &str = "trace=?open,openat,?openat2,?creat,?mkdir,mkdirat,?rename,?renameat,renameat2,?unlink,unlinkat,?rmdir,?link,linkat,\
    ?symlink,symlinkat,?mknod,mknodat,?chmod,fchmod,fchmodat,?fchmodat2,?chown,?lchown,fchown,fchownat,utimensat,?utime,?utimes,?futimesat,setxattr,\
    lsetxattr,fsetxattr,?setxattrat,removexattr,lremovexattr,fremovexattr,?removexattrat,truncate,ftruncate,fallocate";

#[test]
fn a_dry_run_changes_nothing_even_where_a_source_folder_cannot_be_opened() {
    let place = Place::with_tree();
    fs::create_dir_all(place.at("src/closed/inner")).unwrap();
    fs::create_dir_all(place.at("dst/src/closed")).unwrap();
    place.write("dst/src/a", "old");
    place.mode("src/closed", 0o100);
    place.mode("dst/src/closed", 0o750);
    let look = || {
        let metadata = |path: &str| fs::metadata(place.at(path)).unwrap();
        let of =
            |found: fs::Metadata| (found.mode(), found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec());
        ["dst", "dst/src", "dst/src/a", "dst/src/closed", "src", "src/closed"].map(metadata).map(of)
    };
    let before = look();
    let dry = |before: &[&str], more: &[&str]| {
        place.copy_unprivileged(before, &[&["--dry-run"], more, &["src", "dst"]].concat())
    };
    for more in [&[][..], &["-u"], &["-n"], &["--verify"], &["--atomic", "-j", "4"]] {
        let Some(ran) = dry(&[], more) else {
            println!("skipped: a_dry_run_changes_nothing_even_where_a_source_folder_cannot_be_opened: no setpriv");
            break;
        };
        ran.assert(3, &["Nothing was written."], &["src/closed: could not be opened"]);
        assert_eq!(look(), before, "{more:?}");
        let Some(traced) = dry(&["strace", "-f", "-qq", "-e", WRITING_CALLS, "-o", "calls"], more) else {
            println!("skipped: a dry run under strace: strace is not installed, or may not trace");
            continue;
        };
        traced.assert(3, &["Nothing was written."], &[]);
        let calls = place.read("calls").unwrap();
        assert!(calls.contains("openat"), "{calls}");
        let writes = |call: &&str| {
            let opens = call.contains(" open") || call.contains("open(") || call.contains("openat");
            let to_write =
                ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TMPFILE", "O_TRUNC"].iter().any(|flag| call.contains(flag));
            !call.contains("\"/dev/") && !call.contains("\"/proc/") && (!opens || to_write)
        };
        let written: Vec<&str> = calls.lines().filter(writes).collect();
        assert_eq!(written, Vec::<&str>::new(), "{more:?}");
    }
    let read_only =
        Command::new("mount").args(["--bind", "-o", "ro"]).arg(place.at("dst")).arg(place.at("dst")).output();
    if !read_only.is_ok_and(|mounted| mounted.status.success()) {
        return println!("skipped: a dry run onto a read-only mount: mounting needs root");
    }
    let _mounted = Mounted(place.at("dst"));
    let ran = place.copy(&["--dry-run", "src", "dst"]);
    // It says what the copy would meet.
    ran.assert(3, &["Nothing was written."], &["could not be created: Read-only file system"]);
}

#[test]
fn what_exists_is_kept_whatever_it_and_its_source_are() {
    let place = Place::with_tree();
    fs::create_dir_all(place.at("dst/src/deep")).unwrap();
    symlink("nowhere", place.at("dst/src/a")).unwrap();
    place.write("dst/src/deep/b", "kept");
    place.mode("src/deep/b", 0o0);
    for (mode, dangling) in [("-n", Some(())), ("-u", None)] {
        if dangling.is_none() {
            fs::remove_file(place.at("dst/src/a")).unwrap();
        }
        for dry in [&["--dry-run"][..], &[]] {
            let Some(ran) = place.copy_unprivileged(&[], &[&[mode], dry, &["src", "dst"]].concat()) else {
                return println!("skipped: what_exists_is_kept_whatever_it_and_its_source_are: no setpriv");
            };
            ran.assert(0, &[], &[]);
            assert_eq!(place.read("dst/src/deep/b").as_deref(), Some("kept"), "{mode}");
            let link = fs::read_link(place.at("dst/src/a")).ok();
            assert_eq!(link.as_deref(), dangling.map(|()| Path::new("nowhere")), "{mode}");
        }
    }
    assert_eq!(place.read("dst/src/a").as_deref(), Some("first"));
    // Where it has to be read, it is named.
    let ran = place.copy_unprivileged(&[], &["src", "dst"]).unwrap();
    ran.assert(3, &[], &["src/deep/b: could not be opened"]);
}

#[test]
fn a_copy_is_verified_in_a_folder_whose_parent_takes_nothing() {
    let place = Place::with_tree();
    fs::create_dir_all(place.at("closed/dst")).unwrap();
    place.mode("closed", 0o555);
    let Some(ran) = place.copy_unprivileged(&[], &["--verify", "-T", "src", "closed/dst"]) else {
        return println!("skipped: a_copy_is_verified_in_a_folder_whose_parent_takes_nothing: no setpriv");
    };
    place.mode("closed", 0o755);
    ran.assert(0, &["2 files read back and found equal."], &[]);
}

#[test]
fn other_names_of_a_file_arrive_where_a_folder_has_its_first_name() {
    for taken in ["a", "again", "deep/more"] {
        let place = Place::with_tree();
        fs::hard_link(place.at("src/a"), place.at("src/again")).unwrap();
        fs::hard_link(place.at("src/a"), place.at("src/deep/more")).unwrap();
        fs::create_dir_all(place.at("dst/src").join(taken)).unwrap();
        place.copy(&["src", "dst"]).assert(3, &[], &[taken]);
        let others: Vec<_> = ["a", "again", "deep/more"].iter().filter(|name| **name != taken).collect();
        for name in &others {
            assert_eq!(place.read(&format!("dst/src/{name}")).as_deref(), Some("first"), "{name} without {taken}");
        }
        let number = |name: &str| fs::metadata(place.at("dst/src").join(name)).unwrap().ino();
        assert_eq!(number(others[0]), number(others[1]), "without {taken}");
    }
}
