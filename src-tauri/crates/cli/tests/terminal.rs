//! The command at a real (pseudo) terminal: what it asks, what it takes for an answer, and what it
//! shows of what is typed.
#![forbid(unsafe_code)]

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

/// How long anything awaited may take: a debug build on busy cores.
const PATIENCE: Duration = Duration::from_secs(60);

/// A command at a terminal of its own.
struct Terminal {
    child: Child,
    keyboard: File,
    screen: Arc<Mutex<String>>,
    /// Fills the screen until nobody has the terminal open any more.
    reader: JoinHandle<()>,
    seen: usize,
}

impl Terminal {
    /// Starts `ringway ARGS` as the device whose folders are below `device`.
    fn start(device: &Path, args: &[&str]) -> Self {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let name = std::ffi::OsString::from_vec(ptsname(&controller, Vec::new()).unwrap().into_bytes());
        // Else it becomes the controlling terminal of a test program that leads a session, as it
        // does under `npm test`, and its end hangs that program up (tty_ioctl(4), SIGHUP).
        let no_controlling = OFlags::NOCTTY.bits() as i32;
        let open = || OpenOptions::new().read(true).write(true).custom_flags(no_controlling).open(&name);
        let end = || Stdio::from(open().unwrap());
        let mut command = Command::new(env!("CARGO_BIN_EXE_ringway"));
        command.args(args).current_dir(device).env_remove("RINGWAY_CODE").env("NO_COLOR", "1").env("TERM", "xterm");
        for variable in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"] {
            command.env(variable, device);
        }
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let keyboard = File::from(controller);
        let (mut source, screen) = (keyboard.try_clone().unwrap(), Arc::<Mutex<String>>::default());
        let shown = Arc::clone(&screen);
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(len @ 1..) = source.read(&mut buffer) {
                shown.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..len]));
            }
        });
        Self { child, keyboard, screen, reader, seen: 0 }
    }

    /// Waits for `text` after what was waited for before, and gives what stands between that and
    /// the line's end.
    fn see(&mut self, text: &str) -> String {
        let started = Instant::now();
        loop {
            let screen = self.screen.lock().unwrap().clone();
            if let Some(at) = screen[self.seen..].find(text) {
                let after = self.seen + at + text.len();
                if let Some(end) = screen[after..].find('\n').or_else(|| text.ends_with(' ').then_some(0)) {
                    self.seen = after;
                    return screen[after..after + end].trim().to_owned();
                }
            }
            assert!(started.elapsed() < PATIENCE, "no {text:?} in\n{screen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn type_line(&mut self, line: &str) {
        self.keyboard.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn echoes(&self) -> bool {
        tcgetattr(&self.keyboard).unwrap().local_modes.contains(LocalModes::ECHO)
    }

    /// Waits until echo is on or off as wanted.
    fn wait_for_echo(&self, wanted: bool) {
        let started = Instant::now();
        while self.echoes() != wanted {
            assert!(started.elapsed() < PATIENCE, "echo stays {}", !wanted);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn interrupt(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
    }

    /// Stops it as Ctrl-Z does, and waits until it stands still or has ended.
    fn hold(&self) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::STOP).unwrap();
        let options = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(pid), options).unwrap();
    }

    fn go_on(&self) {
        kill_process(Pid::from_child(&self.child), Signal::CONT).unwrap();
    }

    fn shows(&self, text: &str) -> bool {
        self.screen.lock().unwrap().contains(text)
    }

    fn wait_until_shown(&self, text: &str) {
        let started = Instant::now();
        while !self.shows(text) {
            assert!(started.elapsed() < PATIENCE, "no {text:?} in\n{}", self.screen.lock().unwrap());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Its status, once it has ended and all that it wrote is on the screen.
    fn exit(&mut self) -> Option<i32> {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap()
                && self.reader.is_finished()
            {
                return status.code();
            }
            assert!(started.elapsed() < PATIENCE, "no end:\n{}", self.screen.lock().unwrap());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Two devices side by side, a file to send and a folder to receive into.
struct Pair {
    base: tempfile::TempDir,
}

impl Pair {
    fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        for name in ["near", "far"] {
            fs::create_dir_all(base.path().join(name).join("ringway")).unwrap();
            fs::write(base.path().join(name).join("ringway/config.toml"), format!("name = \"{name}\"\n")).unwrap();
        }
        fs::create_dir(base.path().join("far/inbox")).unwrap();
        fs::write(base.path().join("near/file"), "content").unwrap();
        Self { base }
    }

    /// The receiver, its address and its code.
    fn receiver(&self, args: &[&str]) -> (Terminal, String, String) {
        let all = [&["recv", "inbox", "--listen", "127.0.0.1:0"], args].concat();
        let mut receiving = Terminal::start(&self.base.path().join("far"), &all);
        let code = receiving.see("Code:").split("   ").next().unwrap_or_default().to_owned();
        let address = receiving.see("Address:");
        (receiving, address, code)
    }

    fn sender(&self, address: &str) -> Terminal {
        Terminal::start(&self.base.path().join("near"), &["send", "file", address])
    }

    fn arrived(&self) -> Option<String> {
        fs::read_to_string(self.base.path().join("far/inbox/file")).ok()
    }
}

#[test]
fn the_code_is_asked_for_and_the_offer_is_answered() {
    let pair = Pair::new();
    let (mut receiving, address, code) = pair.receiver(&["--once"]);
    let mut sending = pair.sender(&address);
    sending.see("unseen): ");
    sending.type_line("7-rivver-canal");
    sending.see("is not in any code");
    sending.see("unseen): ");
    sending.type_line("7-zebra-zebra");
    sending.see("The code was wrong");
    sending.see("unseen): ");
    sending.type_line(&code.replace('-', " ").to_uppercase());
    receiving.see("near offers 1 item: file");
    receiving.see("[y/n] ");
    receiving.type_line("");
    receiving.see("Please type y or n");
    receiving.see("[y/n] ");
    receiving.type_line("y");
    assert_eq!(receiving.see("Accepted from near: "), "file.");
    assert_eq!((sending.exit(), receiving.exit()), (Some(0), Some(0)));
    assert_eq!(pair.arrived().as_deref(), Some("content"));
}

/// A question about one device's offer, and another device whose offer waits behind it: answered in
/// between, withdrawn, and answered again.
fn a_withdrawn_question_takes_its_answer_with_it(args: &[&str]) {
    let pair = Pair::new();
    let (near, other) = (pair.base.path().join("near"), pair.base.path().join("other"));
    fs::create_dir_all(other.join("ringway")).unwrap();
    fs::write(other.join("ringway/config.toml"), "name = \"other\"\n").unwrap();
    fs::write(other.join("secret"), "content").unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("127.0.0.1:{port}");
    let far = [&["recv", "inbox", "--no-announce", "--listen", &address], args].concat();
    let mut receiving = Terminal::start(&pair.base.path().join("far"), &far);
    for device in [&near, &other] {
        let code = receiving.see("Code:").split("   ").next().unwrap_or_default().to_owned();
        let mut pairing = Terminal::start(device, &["pair", &address]);
        pairing.see("unseen): ");
        pairing.type_line(&code);
        assert_eq!(pairing.exit(), Some(0));
    }
    receiving.see("Code:");
    let mut first = Terminal::start(&near, &["send", "file", &address]);
    receiving.see("near offers 1 item: file");
    receiving.see("[y/n] ");
    let mut second = Terminal::start(&other, &["send", "secret", &address]);
    second.wait_until_shown("to accept");
    // Half an answer, to the question that is about to go.
    receiving.keyboard.write_all(b"y").unwrap();
    first.interrupt();
    first.exit();
    receiving.see("The offer was withdrawn.");
    receiving.see("other offers 1 item: secret");
    receiving.see("[y/n] ");
    receiving.type_line("");
    receiving.see("Please ");
    receiving.see("[y/n] ");
    assert!(!receiving.shows("Accepted from"));
    // However soon that is: an answer before the question can have been read is asked for again.
    let started = Instant::now();
    while !receiving.shows("Declined from other: secret.") {
        assert!(started.elapsed() < PATIENCE, "{}", receiving.screen.lock().unwrap());
        receiving.type_line("n");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(second.exit(), Some(4));
    assert!(fs::read_dir(pair.base.path().join("far/inbox")).unwrap().next().is_none());
    receiving.interrupt();
    receiving.exit();
}

#[test]
fn half_an_answer_is_gone_when_its_question_is_asked_again_below_news() {
    let pair = Pair::new();
    let (mut receiving, address, code) = pair.receiver(&[]);
    let mut sending = pair.sender(&address);
    sending.see("unseen): ");
    sending.type_line(&code);
    receiving.see("near offers 1 item: file");
    receiving.see("Compared with that folder");
    receiving.see("[y/n] ");
    receiving.keyboard.write_all(b"y").unwrap();
    // A stranger chooses this moment.
    let other = pair.base.path().join("other");
    fs::create_dir_all(other.join("ringway")).unwrap();
    fs::write(other.join("ringway/config.toml"), "name = \"other\"\n").unwrap();
    fs::write(other.join("file"), "content").unwrap();
    let stranger = Terminal::start(&other, &["send", "file", &address]);
    receiving.see("wants to connect");
    receiving.see("[y/n] ");
    receiving.type_line("");
    receiving.see("Please type y or n");
    assert!(!receiving.shows("Accepted from"));
    assert_eq!(pair.arrived(), None);
    for mut end in [stranger, sending, receiving] {
        end.interrupt();
        end.exit();
    }
}

#[test]
fn an_answer_counts_for_the_offer_that_was_asked_about() {
    a_withdrawn_question_takes_its_answer_with_it(&[]);
}

#[test]
fn an_answer_counts_for_the_offer_that_was_asked_about_when_little_is_said() {
    a_withdrawn_question_takes_its_answer_with_it(&["-q"]);
}

#[test]
fn an_offer_that_is_turned_down_is_exit_4_at_both_ends() {
    let pair = Pair::new();
    let (mut receiving, address, code) = pair.receiver(&["--once"]);
    let mut sending = pair.sender(&address);
    sending.see("unseen): ");
    sending.type_line(&code);
    receiving.see("[y/n] ");
    receiving.type_line("n");
    assert_eq!((sending.exit(), receiving.exit()), (Some(4), Some(4)));
    assert_eq!(pair.arrived(), None);
}

#[test]
fn enter_draws_a_new_code_and_the_old_one_is_void() {
    let pair = Pair::new();
    let (mut receiving, address, old) = pair.receiver(&["--yes"]);
    receiving.type_line("");
    let new = receiving.see("Code:").split("   ").next().unwrap_or_default().to_owned();
    assert_ne!(old, new);
    let mut sending = pair.sender(&address);
    sending.see("unseen): ");
    sending.type_line(&old);
    sending.see("The code was wrong");
    sending.see("unseen): ");
    sending.type_line(&new);
    assert_eq!(sending.exit(), Some(0));
    receiving.interrupt();
    assert_eq!(receiving.exit(), Some(0), "stopping an idle receiver is no failure");
    assert_eq!(pair.arrived().as_deref(), Some("content"));
}

#[test]
fn a_standing_secret_is_typed_unseen_and_ctrl_c_gives_the_echo_back() {
    let pair = Pair::new();
    let (_receiving, address, _) = pair.receiver(&[]);
    let mut sending = pair.sender(&address);
    sending.see("unseen): ");
    assert!(sending.echoes());
    sending.type_line("");
    sending.see("Standing secret: ");
    sending.wait_for_echo(false);
    sending.type_line("too short");
    sending.see("neither a code nor");
    sending.wait_for_echo(true);
    assert!(!sending.screen.lock().unwrap().contains("too short"));
    sending.see("unseen): ");
    sending.type_line("");
    sending.see("Standing secret: ");
    sending.wait_for_echo(false);
    sending.interrupt();
    assert_eq!(sending.exit(), Some(1));
    sending.wait_for_echo(true);
}

#[test]
fn what_limits_a_transfer_stands_below_its_bar_and_is_said_in_the_end() {
    let pair = Pair::new();
    fs::write(pair.base.path().join("near/file"), vec![7; 1_200_000]).unwrap();
    let (mut receiving, address, code) = pair.receiver(&["--once", "--yes"]);
    let near = pair.base.path().join("near");
    let mut sending = Terminal::start(&near, &["send", "file", &address, "--limit", "600K"]);
    sending.see("unseen): ");
    sending.type_line(&code);
    assert_eq!((sending.exit(), receiving.exit()), (Some(0), Some(0)));
    sending.see("Limited by the upload limit here.");
    receiving.see("Limited by the upload limit on near.");
    assert!(sending.shows("limited by: the upload limit here"), "{}", sending.screen.lock().unwrap());
    assert!(receiving.shows("limited by: the upload limit on near"), "{}", receiving.screen.lock().unwrap());
}

#[test]
fn a_copy_shows_a_bar_and_ctrl_c_stops_it() {
    /// Sizes to try, each for machines that are too fast for the one before.
    const SIZES: [usize; 4] = [64 << 20, 128 << 20, 256 << 20, 512 << 20];
    let base = tempfile::tempdir().unwrap();
    let dst = base.path().join("dst");
    let slowly = ["copy", "big", "dst", "--reflink=never", "--no-splice", "-j", "1", "-c", "4K"];
    for size in SIZES {
        fs::write(base.path().join("big"), vec![0xa5; size]).unwrap();
        let mut copying = Terminal::start(base.path(), &slowly);
        let started = Instant::now();
        while !fs::metadata(&dst).is_ok_and(|found| found.len() > 0) {
            assert!(started.elapsed() < PATIENCE, "it does not begin");
            std::thread::sleep(Duration::from_micros(200));
        }
        // In steps too small to end it, with time between them for a bar to fall due.
        copying.hold();
        while !copying.shows("big: ") && fs::metadata(&dst).unwrap().len() < size as u64 {
            assert!(started.elapsed() < PATIENCE, "no bar:\n{}", copying.screen.lock().unwrap());
            std::thread::sleep(Duration::from_millis(100));
            copying.go_on();
            std::thread::sleep(Duration::from_millis(1));
            copying.hold();
        }
        let amid = fs::metadata(&dst).unwrap().len() < size as u64;
        copying.interrupt();
        copying.go_on();
        if amid {
            copying.see("Cancelled. So far: ");
            assert_eq!(copying.exit(), Some(1));
            assert!(!dst.exists());
            return;
        }
        copying.exit();
        let _ = fs::remove_file(&dst);
    }
    panic!("{SIZES:?} bytes are copied before a bar is seen");
}

/// What a terminal would act on, or show as something else: the title set, the screen cleared,
/// colours, the cursor moved, a bell, a line of its own, text that runs backwards, or is not seen.
const TRICKS: [&str; 8] = [
    "\u{1b}]0;owned\u{7}",
    "\u{1b}[2J",
    "\u{1b}[31m",
    "\u{1b}[9;9H",
    "\u{9b}5A",
    "line\nbreak",
    "\u{202e}gpj.exe",
    "hid\u{200b}den",
];

/// None of them is on the screen, in whatever way a terminal has put its line ends; all of `spelt`
/// is.
fn assert_harmless(terminal: &Terminal, spelt: &[&str]) {
    let screen = terminal.screen.lock().unwrap().replace('\r', "");
    for trick in TRICKS {
        assert!(!screen.contains(trick), "{trick:?} in\n{screen:?}");
    }
    assert!(!screen.contains(['\u{7}', '\u{9b}', '\u{202e}', '\u{200b}']), "{screen:?}");
    for text in spelt {
        assert!(screen.contains(text), "no {text:?} in\n{screen:?}");
    }
}

#[test]
fn names_that_would_drive_a_terminal_are_spelt_out_at_both_ends() {
    let pair = Pair::new();
    let (near, far) = (pair.base.path().join("near"), pair.base.path().join("far"));
    let tops: Vec<String> = TRICKS.iter().enumerate().map(|(number, trick)| format!("{number}{trick}")).collect();
    for top in &tops {
        fs::create_dir_all(near.join(top)).unwrap();
        for trick in TRICKS {
            fs::write(near.join(top).join(trick), "content").unwrap();
            // What cannot be sent is named at both ends.
            let special = near.join(top).join(format!("socket {trick}"));
            drop(std::os::unix::net::UnixListener::bind(special).unwrap());
        }
    }
    let (mut receiving, address, code) = pair.receiver(&["--once", "-v"]);
    let mut args = vec!["send", "-v", &address];
    args.splice(1..1, tops.iter().map(String::as_str));
    let mut sending = Terminal::start(&near, &args);
    sending.see("unseen): ");
    sending.type_line(&code);
    receiving.see("[y/n] ");
    receiving.type_line("y");
    assert_eq!((sending.exit(), receiving.exit()), (Some(3), Some(3)), "all but the sockets");
    for top in &tops {
        assert_eq!(fs::read_dir(far.join("inbox").join(top)).unwrap().count(), TRICKS.len());
    }
    let spelt = ["\\u{1b}]0;owned\\u{7}", "\\u{1b}[2J", "\\u{9b}5A", "line\\nbreak", "\\u{202e}gpj.exe"];
    assert_harmless(&sending, &spelt);
    assert_harmless(&receiving, &spelt);
    for device in [&near, &far] {
        let mut looking = Terminal::start(device, &["inbox", "--all"]);
        assert_eq!(looking.exit(), Some(0));
        assert_harmless(&looking, &["\\u{1b}]0;owned\\u{7}"]);
    }
}

#[test]
fn a_device_cannot_call_itself_what_drives_a_terminal() {
    let pair = Pair::new();
    let near = pair.base.path().join("near");
    let (_receiving, address, _) = pair.receiver(&["--once"]);
    for trick in TRICKS {
        let escaped: String = trick.chars().map(|c| format!("\\U{:08X}", u32::from(c))).collect();
        fs::write(near.join("ringway/config.toml"), format!("name = \"{escaped}\"\n")).unwrap();
        let mut sending = Terminal::start(&near, &["send", "file", &address]);
        assert_eq!(sending.exit(), Some(2), "{trick:?}:\n{}", sending.screen.lock().unwrap());
        assert_harmless(&sending, &[]);
        let mut naming = Terminal::start(&near, &["settings", "--name", trick]);
        assert!(naming.exit().is_some_and(|status| status != 0), "{trick:?}");
        assert_harmless(&naming, &[]);
    }
}
