//! Start at login: an autostart entry of the desktop (Desktop Application Autostart Specification),
//! or the systemd user unit where that is installed and systemd looks after the session. What is on
//! disk is the setting; nothing else remembers it.
use std::ffi::OsStr;
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ringway_model::{Fault, Operation, StartsBy};

use crate::dto::Means;

const ENTRY: &str = "autostart/org.ringway.Ringway.desktop";
const UNIT: &str = "ringway.service";

/// Where packages and administrators put user units (systemd.unit(5)).
const UNIT_FOLDERS: [&str; 4] =
    ["/etc/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user", "/lib/systemd/user"];

/// Where a session keeps what starts with it.
#[derive(Debug, Clone)]
pub struct Login {
    /// `$XDG_CONFIG_HOME`.
    config: PathBuf,
    /// The program to start.
    program: Option<PathBuf>,
    /// Whether the user's systemd runs and has the unit.
    has_unit: bool,
}

impl Login {
    /// This session's, with the `ringway` that runs now or lies beside what runs.
    pub fn from_env() -> Self {
        let home = std::env::home_dir().unwrap_or_else(|| PathBuf::from("/"));
        let config = absolute_in_env("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        // The private socket is there exactly while the user's own systemd runs (its own
        // sd_booted(3), for users).
        let runs = absolute_in_env("XDG_RUNTIME_DIR").is_some_and(|runtime| runtime.join("systemd/private").exists());
        let own_units = config.join("systemd/user");
        let has_unit = runs && UNIT_FOLDERS.iter().map(Path::new).chain([&*own_units]).any(|at| at.join(UNIT).exists());
        Self { config, program: own_program(), has_unit }
    }

    /// Whether it starts, and by what.
    pub fn state(&self) -> Result<StartsBy, Fault> {
        match self.entry()? {
            Some(entry) if entry.is_on() => Ok(match entry.program() {
                Some(program) if !is_program(&program) => StartsBy::Vanished { program: program.into() },
                _ => StartsBy::Autostart,
            }),
            _ if self.has_unit && self.unit_is_on() => Ok(StartsBy::Unit),
            _ => Ok(StartsBy::Nothing),
        }
    }

    /// What starts it where it is switched on.
    pub fn means(&self) -> Means {
        if self.has_unit { Means::Unit } else { Means::Autostart }
    }

    /// Starts the service at the next login, or does not. What does it is the unit where there is
    /// one, and only one of both.
    pub fn set(&self, is_on: bool) -> Result<StartsBy, Fault> {
        if self.has_unit && (is_on || self.unit_is_on()) {
            systemctl(if is_on { "enable" } else { "disable" })?;
        }
        if is_on && !self.has_unit {
            self.write_entry()?;
        } else {
            self.remove_entry()?;
        }
        self.state()
    }

    /// Names the program that runs now in an entry that names one which has vanished: moved, or
    /// replaced by another package. Returns what it named, if that was so.
    pub fn repair(&self) -> Result<Option<PathBuf>, Fault> {
        match self.state()? {
            StartsBy::Vanished { program } => {
                self.write_entry()?;
                Ok(Some(program.0))
            }
            _ => Ok(None),
        }
    }

    fn path(&self) -> PathBuf {
        self.config.join(ENTRY)
    }

    fn entry(&self) -> Result<Option<Entry>, Fault> {
        let path = self.path();
        match fs::read(&path) {
            Ok(text) => Ok(Some(Entry(text))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Fault::path(path, Operation::Read, source)),
        }
    }

    fn write_entry(&self) -> Result<(), Fault> {
        let program = self.program.as_deref().ok_or(Fault::NoProgram)?;
        let mut text =
            b"[Desktop Entry]\nType=Application\nName=Ringway\nComment=Receive folders in the background\n".to_vec();
        text.extend_from_slice(b"Icon=org.ringway.Ringway\nTerminal=false\nNoDisplay=true\nExec=");
        text.extend_from_slice(&quoted(program.as_os_str().as_bytes()));
        text.extend_from_slice(b" serve\n");
        let path = self.path();
        let temporary = path.with_extension("desktop.new");
        let written = fs::create_dir_all(self.config.join("autostart"))
            .and_then(|()| fs::File::create(&temporary))
            .and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&temporary, &path));
        written.map_err(|source| Fault::path(path, Operation::Write, source))
    }

    fn remove_entry(&self) -> Result<(), Fault> {
        let path = self.path();
        match fs::remove_file(&path) {
            Err(source) if source.kind() != ErrorKind::NotFound => Err(Fault::path(path, Operation::Remove, source)),
            _ => Ok(()),
        }
    }

    fn unit_is_on(&self) -> bool {
        systemctl("is-enabled").is_ok()
    }
}

/// A desktop entry's bytes.
struct Entry(Vec<u8>);

impl Entry {
    /// The last value of a key in its one group that counts.
    fn value(&self, key: &str) -> Option<&[u8]> {
        let mut is_entry = false;
        let mut found = None;
        for line in self.0.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
            if line.starts_with(b"[") {
                is_entry = line == b"[Desktop Entry]";
            } else if is_entry && let Some(at) = line.iter().position(|byte| *byte == b'=') {
                let (name, value) = (line[..at].trim_ascii(), line[at + 1..].trim_ascii());
                found = if name == key.as_bytes() { Some(value) } else { found };
            }
        }
        found
    }

    /// People switch entries off in their desktop's own list.
    fn is_on(&self) -> bool {
        self.value("Hidden") != Some(b"true") && self.value("X-GNOME-Autostart-enabled") != Some(b"false")
    }

    fn program(&self) -> Option<PathBuf> {
        let first = first_word(self.value("Exec")?)?;
        Some(PathBuf::from(OsStr::from_bytes(&first))).filter(|path| path.is_absolute())
    }
}

/// A path as one word of an Exec line: within quotes, with a backslash before what the quotes leave
/// special, which is doubled once more since values are strings, and `%%` for a percent sign
/// (Desktop Entry Specification, "The Exec key").
fn quoted(path: &[u8]) -> Vec<u8> {
    let mut out = vec![b'"'];
    for byte in path {
        match byte {
            b'"' | b'`' | b'$' => out.extend([b'\\', b'\\', *byte]),
            b'\\' => out.extend_from_slice(br"\\\\"),
            b'%' => out.extend_from_slice(b"%%"),
            b'\n' => out.extend_from_slice(br"\n"),
            _ => out.push(*byte),
        }
    }
    out.push(b'"');
    out
}

/// The first word of an Exec line, back from how `quoted` and other programs write it.
fn first_word(line: &[u8]) -> Option<Vec<u8>> {
    let line = unescaped(line);
    let mut bytes = line.iter().copied();
    let mut out = Vec::new();
    let mut within = false;
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => within = !within,
            b'\\' if within => out.push(bytes.next()?),
            b' ' if !within => break,
            b'%' => {
                // Any other field code stands for what is opened.
                out.push(bytes.next().filter(|next| *next == b'%')?);
            }
            _ => out.push(byte),
        }
    }
    (!within && !out.is_empty()).then_some(out)
}

/// A value of the type string (the same, "Possible value types").
fn unescaped(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    let mut bytes = value.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => match bytes.next() {
                Some(b's') => out.push(b' '),
                Some(b'n') => out.push(b'\n'),
                Some(b't') => out.push(b'\t'),
                Some(b'r') => out.push(b'\r'),
                Some(other) => out.push(other),
                None => {}
            },
            _ => out.push(byte),
        }
    }
    out
}

fn absolute_in_env(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The `ringway` that runs now or lies beside what runs, else the one on PATH.
pub(crate) fn own_program() -> Option<PathBuf> {
    program(std::env::current_exe().ok(), &std::env::var_os("PATH").unwrap_or_default())
}

/// The command that will be there at the next login: the one that runs, the one beside what runs,
/// else the one on PATH.
fn program(running: Option<PathBuf>, path: &OsStr) -> Option<PathBuf> {
    let beside = running.map(|running| running.with_file_name("ringway"));
    // A program that was replaced while it runs reads as "… (deleted)", which is no program.
    beside
        .into_iter()
        .chain(std::env::split_paths(path).map(|folder| folder.join("ringway")))
        .find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    path.is_absolute() && path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

fn systemctl(verb: &str) -> Result<(), Fault> {
    let done = Command::new("systemctl").args(["--user", "--quiet", verb, UNIT]).stdin(Stdio::null()).output();
    let failed = |said: &str| Fault::Systemd { detail: said.trim_end_matches('.').into() };
    let done = done.map_err(|error| failed(&error.to_string()))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(failed(said.lines().last().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A program in a folder of that name, and a login without systemd that would start it.
    fn login(base: &Path, folder: &str) -> (Login, PathBuf) {
        let program = base.join(folder).join("ringway");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::write(&program, "").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        (Login { config: base.join("config"), program: Some(program.clone()), has_unit: false }, program)
    }

    #[test]
    fn an_entry_is_written_read_and_removed() {
        let base = tempfile::tempdir().unwrap();
        let (login, program) = login(base.path(), "bin");
        assert_eq!(login.state().unwrap(), StartsBy::Nothing);
        assert_eq!(login.set(true).unwrap(), StartsBy::Autostart);
        let text = fs::read_to_string(login.path()).unwrap();
        assert!(text.contains(&format!("\nExec=\"{}\" serve\n", program.display())), "{text}");
        assert_eq!(login.set(false).unwrap(), StartsBy::Nothing);
        assert!(!login.path().exists());
        assert_eq!(login.set(false).unwrap(), StartsBy::Nothing);
    }

    #[test]
    fn a_program_that_has_vanished_is_noticed_and_replaced() {
        let base = tempfile::tempdir().unwrap();
        let (old, program) = login(base.path(), "old");
        let (new, _) = login(base.path(), "new");
        old.set(true).unwrap();
        assert_eq!(new.repair().unwrap(), None, "an existing one stays as it is");
        fs::remove_file(&program).unwrap();
        assert_eq!(new.state().unwrap(), StartsBy::Vanished { program: program.clone().into() });
        assert_eq!(new.repair().unwrap(), Some(program));
        assert_eq!(new.state().unwrap(), StartsBy::Autostart);
        assert!(fs::read_to_string(new.path()).unwrap().contains("/new/ringway"));
    }

    #[test]
    fn an_entry_that_was_switched_off_in_the_desktop_stays_off() {
        let base = tempfile::tempdir().unwrap();
        let (login, program) = login(base.path(), "bin");
        login.set(true).unwrap();
        let text = fs::read_to_string(login.path()).unwrap();
        for line in ["Hidden=true", "X-GNOME-Autostart-enabled=false"] {
            fs::write(login.path(), format!("{text}{line}\n")).unwrap();
            fs::remove_file(&program).ok();
            assert_eq!(login.state().unwrap(), StartsBy::Nothing, "{line}");
            assert_eq!(login.repair().unwrap(), None, "{line}");
        }
        // In another group it says nothing of the entry.
        fs::write(login.path(), format!("{text}[Desktop Action x]\nHidden=true\n")).unwrap();
        assert!(matches!(login.state().unwrap(), StartsBy::Vanished { .. }));
    }

    #[test]
    fn odd_paths_come_back_from_an_exec_line() {
        for path in ["/a b/ringway", "/50%/r", r"/back\slash/r", "/$HOME`x`/\"q\"/r", "/new\nline/r", "/ünï/r"] {
            let mut line = quoted(path.as_bytes());
            assert!(!line.contains(&b'\n'));
            line.extend_from_slice(b" serve");
            assert_eq!(first_word(&line).as_deref(), Some(path.as_bytes()), "{path}");
        }
        assert_eq!(first_word(b"/usr/bin/ringway serve").as_deref(), Some(b"/usr/bin/ringway".as_slice()));
        assert_eq!(first_word(br"/usr/my\sbin/r"), Some(b"/usr/my".to_vec()), "an escaped blank separates words, too");
        assert_eq!([first_word(b""), first_word(b"\"/open"), first_word(b"%U")], [None, None, None]);
    }

    #[test]
    fn a_program_that_was_replaced_while_it_runs_is_looked_for_elsewhere() {
        let base = tempfile::tempdir().unwrap();
        let (_, on_path) = login(base.path(), "usr");
        let path = base.path().join("usr").into_os_string();
        let deleted = base.path().join("gone").join("ringway (deleted)");
        assert_eq!(program(Some(deleted), &path), Some(on_path.clone()));
        assert_eq!(program(Some(base.path().join("usr/ringway-desktop")), OsStr::new("")), Some(on_path));
        assert_eq!(program(None, OsStr::new("relative:")), None);
    }
}
