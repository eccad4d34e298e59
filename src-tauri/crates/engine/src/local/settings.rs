//! The settings file: read, checked and written back without losing a person's comments.
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ringway_model::{DeviceId, Fault, IntoHome, Invalid, Operation, RateLimit, Settings};
use ringway_wire::DeviceName;
use toml_edit::{Document, DocumentMut, Item, Value};

use crate::limits::DEFAULT_PORT;
use crate::local::default_folder::default_folder;
use crate::local::identity::make_private_folder;
use crate::local::private;

const FILE_NAME: &str = "config.toml";

/// What a receive folder takes that is a home.
const INTO_HOME: &str = "into_home";

/// Its words; to refuse is to say nothing.
const INTO_HOMES: [(&str, IntoHome); 2] = [("no-dot-names", IntoHome::NoDotNames), ("dot-names", IntoHome::DotNames)];

fn known_into_home(text: &str) -> Option<IntoHome> {
    INTO_HOMES.iter().find(|(word, _)| *word == text).map(|(_, known)| *known)
}

/// Every setting.
const KEYS: [&str; 9] =
    ["name", "receive_folder", INTO_HOME, "port", "send_limit", "announce", "background", "receiving", "acls"];

/// Letters that a misspelt setting may differ in from the one that was meant.
const MISSPELT_MAX: usize = 3;

/// Reads the settings; what is missing has its default, and what is no setting is refused.
pub(crate) fn read(folder: &Path, id: DeviceId) -> Result<Settings, Fault> {
    let file = SettingsFile::open(folder)?;
    file.check_keys()?;
    let name = match file.text("name")? {
        Some(name) => match DeviceName::new(&name) {
            Ok(_) => name,
            Err(_) => {
                // The sentence about the file ends with a full stop.
                let rule = Invalid::DeviceName.says().in_terminal().unwrap_or_default();
                return Err(file.bad("name", &format!("is not acceptable. {}", rule.trim_end_matches('.'))));
            }
        },
        None => default_name(&rustix::system::uname().nodename().to_string_lossy(), id),
    };
    let receive_folder = file.text("receive_folder")?.map_or_else(default_folder, PathBuf::from);
    let into_home = match file.text(INTO_HOME)? {
        None => IntoHome::Refuse,
        Some(said) => {
            known_into_home(&said).ok_or_else(|| file.bad(INTO_HOME, "is one of \"no-dot-names\" and \"dot-names\""))?
        }
    };
    let port = match file.document.get("port") {
        None => DEFAULT_PORT,
        Some(item) => item
            .as_integer()
            .and_then(|port| u16::try_from(port).ok())
            .filter(|port| *port > 0)
            .ok_or_else(|| file.bad("port", "is a whole number from 1 to 65535"))?,
    };
    let send_limit = match file.document.get("send_limit") {
        None => None,
        Some(item) => {
            let limit = item.as_integer().and_then(|limit| u64::try_from(limit).ok());
            let limit = limit.and_then(|limit| RateLimit::new(limit).ok());
            Some(limit.ok_or_else(|| file.bad("send_limit", "is bytes a second, 1000 to 1000000000000000"))?)
        }
    };
    let [announce, background, receiving] =
        [file.switch("announce", true)?, file.switch("background", true)?, file.switch("receiving", true)?];
    let acls = file.switch("acls", false)?;
    let (name, receive_folder) = (name.into(), receive_folder.into());
    Ok(Settings { name, receive_folder, into_home, port, announce, send_limit, background, receiving, acls })
}

/// The file as it was read, which knows where in it everything is.
struct SettingsFile {
    path: PathBuf,
    document: Document<String>,
}

impl SettingsFile {
    fn open(folder: &Path) -> Result<Self, Fault> {
        let path = folder.join(FILE_NAME);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(source) => return Err(Fault::of_state(&path, Operation::Read, &source)),
        };
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let line = line_at(error.as_bytes(), error.utf8_error().valid_up_to());
                let reason = "this is not UTF-8 text".into();
                return Err(Fault::Config { path: path.into(), line: Some(line), detail: reason, nearest: None });
            }
        };
        match Document::parse(text.clone()) {
            Ok(document) => Ok(Self { path, document }),
            Err(error) => {
                let line = error.span().map(|span| line_at(text.as_bytes(), span.start));
                // The parser's sentences may have several lines.
                let said = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
                Err(Fault::Config {
                    path: path.into(),
                    line,
                    detail: format!("this is not TOML: {said}").into(),
                    nearest: None,
                })
            }
        }
    }

    /// Refuses the first key that is no setting: a misspelt one would change nothing, in silence.
    fn check_keys(&self) -> Result<(), Fault> {
        let Some((key, _)) = self.document.iter().find(|(key, _)| !KEYS.contains(key)) else { return Ok(()) };
        let near = KEYS.map(|known| (distance(&key.to_lowercase(), known), known));
        let nearest = near.into_iter().min().filter(|(distance, known)| *distance <= MISSPELT_MAX.min(known.len() / 2));
        let reason = match nearest {
            Some(_) => format!("there is no setting {key}"),
            None => format!("there is no setting {key}; the settings are {}", KEYS.join(", ")),
        };
        let (path, line) = (self.path.clone(), self.line(key));
        Err(Fault::Config {
            path: path.into(),
            line,
            detail: reason.into(),
            nearest: nearest.map(|(_, known)| known.to_owned()).map(Into::into),
        })
    }

    fn text(&self, key: &str) -> Result<Option<String>, Fault> {
        match self.document.get(key) {
            None => Ok(None),
            Some(item) => {
                item.as_str().map(|text| Some(text.to_owned())).ok_or_else(|| self.bad(key, "is text in quotes"))
            }
        }
    }

    fn switch(&self, key: &str, default: bool) -> Result<bool, Fault> {
        match self.document.get(key) {
            None => Ok(default),
            Some(item) => item.as_bool().ok_or_else(|| self.bad(key, "is true or false")),
        }
    }

    fn bad(&self, key: &str, wanted: &str) -> Fault {
        let reason = format!("{key} {wanted}");
        Fault::Config { path: self.path.clone().into(), line: self.line(key), detail: reason.into(), nearest: None }
    }

    fn line(&self, key: &str) -> Option<u32> {
        let span = self.document.key(key)?.span()?;
        Some(line_at(self.document.raw().as_bytes(), span.start))
    }
}

/// The line of a byte, counted from 1.
fn line_at(text: &[u8], byte: usize) -> u32 {
    let before = &text[..byte.min(text.len())];
    u32::try_from(before.iter().filter(|byte| **byte == b'\n').count()).unwrap_or(u32::MAX).saturating_add(1)
}

/// Letters to insert, remove or replace to make one word the other (Levenshtein), two that were
/// swapped counting as two.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for (column, known) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *known);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

/// Whether any were ever written, by whatever program or hand.
pub(crate) fn exist(folder: &Path) -> bool {
    folder.join(FILE_NAME).symlink_metadata().is_ok()
}

/// Writes the settings, leaving everything else in the file as it is.
pub(crate) fn write(folder: &Path, settings: &Settings) -> Result<(), Fault> {
    DeviceName::new(&settings.name).map_err(|_| Fault::Invalid(Invalid::DeviceName))?;
    if settings.port == 0 {
        return Err(Fault::Invalid(Invalid::Port));
    }
    let receive_folder = settings.receive_folder.to_str().ok_or(Fault::Invalid(Invalid::ReceiveFolder))?;
    if !settings.receive_folder.is_absolute() {
        return Err(Fault::Invalid(Invalid::ReceiveFolder));
    }
    let SettingsFile { path, document } = SettingsFile::open(folder)?;
    let mut document = document.into_mut();
    set(&mut document, "name", (&*settings.name).into());
    set(&mut document, "receive_folder", receive_folder.into());
    match INTO_HOMES.iter().find(|(_, known)| *known == settings.into_home) {
        Some((word, _)) => set(&mut document, INTO_HOME, (*word).into()),
        None => drop(document.remove(INTO_HOME)),
    }
    set(&mut document, "port", i64::from(settings.port).into());
    for (key, is_on, default) in [
        ("announce", settings.announce, true),
        ("background", settings.background, true),
        ("receiving", settings.receiving, true),
        ("acls", settings.acls, false),
    ] {
        match is_on == default {
            true => drop(document.remove(key)),
            false => set(&mut document, key, is_on.into()),
        }
    }
    match settings.send_limit.map(|limit| i64::try_from(limit.bytes_per_s()).unwrap_or(i64::MAX)) {
        Some(limit) => set(&mut document, "send_limit", limit.into()),
        None => drop(document.remove("send_limit")),
    }
    make_private_folder(folder)?;
    let temporary = path.with_extension("toml.new");
    let written = private::open_file(fs::OpenOptions::new().write(true).create(true).truncate(true), &temporary)
        .and_then(|mut file| file.write_all(document.to_string().as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&temporary, &path));
    written.map_err(|source| Fault::of_state(&path, Operation::Write, &source))
}

/// Sets a value, with the comment and blanks around the old one.
fn set(document: &mut DocumentMut, key: &str, mut value: Value) {
    if let Some(old) = document.get(key).and_then(Item::as_value) {
        *value.decor_mut() = old.decor().clone();
    }
    document[key] = Item::Value(value);
}

/// The host's name without its domain; `device-` and the id's first digits where no device may be
/// called that, as in containers, whose host names read as ids.
fn default_name(host: &str, id: DeviceId) -> String {
    let short = host.split('.').next().unwrap_or_default();
    match DeviceName::new(short) {
        Ok(_) => short.to_owned(),
        Err(_) => stand_in_name(id),
    }
}

fn stand_in_name(id: DeviceId) -> String {
    format!("device-{}", &id.to_string()[..4])
}

/// The host's name, where a device has another one because it may not be called that.
pub(crate) fn unusable_host_name(name: &str, id: DeviceId) -> Option<String> {
    (name == stand_in_name(id)).then(|| rustix::system::uname().nodename().to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use ringway_model::Text;

    use super::*;

    const ID: DeviceId = DeviceId([0xab; 32]);

    #[test]
    fn defaults_hold_until_something_is_written_and_comments_survive() {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = read(folder.path(), ID).unwrap();
        assert!(!exist(folder.path()), "reading writes nothing");
        assert_eq!(settings.port, DEFAULT_PORT);
        assert!(!settings.name.is_empty());
        fs::write(folder.path().join(FILE_NAME), "# mine\nport = 4000 # odd\n").unwrap();
        settings = read(folder.path(), ID).unwrap();
        assert_eq!(settings.port, 4000);
        settings.name = "laptop".into();
        settings.receive_folder = "/tmp".into();
        write(folder.path(), &settings).unwrap();
        assert!(exist(folder.path()));
        let text = fs::read_to_string(folder.path().join(FILE_NAME)).unwrap();
        assert!(text.contains("# mine") && text.contains("# odd"), "{text}");
        assert_eq!(read(folder.path(), ID).unwrap(), settings);
    }

    #[test]
    fn a_host_name_that_reads_as_an_id_is_replaced() {
        for (host, name) in [("lab-ws", "lab-ws"), ("lab.example.org", "lab"), ("abcdef", "abcdef")] {
            assert_eq!(default_name(host, ID), name);
        }
        for host in ["3f2b1c9d8e7f", "", "::", "\u{ad}", &"x".repeat(65)] {
            assert_eq!(default_name(host, ID), "device-abab", "{host:?}");
            assert!(DeviceName::new("device-abab").is_ok());
        }
    }

    #[test]
    fn switches_have_their_default_until_they_are_changed() {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = read(folder.path(), ID).unwrap();
        assert!(settings.announce && settings.background && settings.receiving && !settings.acls);
        settings.receive_folder = "/tmp".into();
        for on in [
            [false, true, true, false],
            [true, false, true, false],
            [true, true, false, false],
            [true; 4],
            [true, true, true, false],
        ] {
            [settings.announce, settings.background, settings.receiving, settings.acls] = on;
            write(folder.path(), &settings).unwrap();
            assert_eq!(read(folder.path(), ID).unwrap(), settings);
        }
    }

    #[test]
    fn what_a_home_takes_is_kept_until_it_is_refused_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = read(folder.path(), ID).unwrap();
        assert_eq!(settings.into_home, IntoHome::Refuse);
        settings.receive_folder = "/tmp".into();
        for into_home in [IntoHome::NoDotNames, IntoHome::DotNames, IntoHome::Refuse] {
            settings.into_home = into_home;
            write(folder.path(), &settings).unwrap();
            assert_eq!(read(folder.path(), ID).unwrap(), settings);
        }
    }

    #[test]
    fn a_limit_is_kept_until_it_is_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = read(folder.path(), ID).unwrap();
        assert_eq!(settings.send_limit, None);
        settings.receive_folder = "/tmp".into();
        for limit in [Some(RateLimit::BYTES_PER_S_MIN), Some(RateLimit::BYTES_PER_S_MAX), None] {
            settings.send_limit = limit.map(|limit| RateLimit::new(limit).unwrap());
            write(folder.path(), &settings).unwrap();
            assert_eq!(read(folder.path(), ID).unwrap(), settings);
        }
    }

    /// What reading a file with that text is refused with: the line, the reason, and the setting
    /// that was meant.
    fn refused(text: &[u8]) -> (Option<u32>, String, Option<String>) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE_NAME), text).unwrap();
        match read(folder.path(), ID) {
            Err(Fault::Config { path, line, detail: reason, nearest }) => {
                assert_eq!(path.0, folder.path().join(FILE_NAME));
                (line, reason.0, nearest.map(|nearest| nearest.0))
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_bad_value_is_refused_with_its_line_and_what_it_may_be() {
        for (bad, wanted) in [
            ("port = 0", "port is a whole number"),
            ("port = 70000", "port is a whole number"),
            ("port = \"x\"", "port is a whole number"),
            ("name = 3", "name is text in quotes"),
            ("name = \"\\u001b[31m\"", "name is not acceptable"),
            ("name = \"10.0.0.1\"", "name is not acceptable"),
            ("name = \"3f2b1c9d8e7f\"", "name is not acceptable"),
            ("name = \"n\\u00adas\"", "name is not acceptable"),
            ("send_limit = 0", "send_limit is bytes a second"),
            ("send_limit = -1", "send_limit is bytes a second"),
            ("background = 1", "background is true or false"),
            ("receiving = \"no\"", "receiving is true or false"),
            ("acls = \"yes\"", "acls is true or false"),
            ("into_home = \"yes\"", "into_home is one of"),
            ("= =", "this is not TOML"),
        ] {
            let (line, reason, nearest) = refused(format!("# mine\n\n{bad}\n").as_bytes());
            assert_eq!((line, nearest), (Some(3), None), "{bad}: {reason}");
            assert!(reason.starts_with(wanted) && !reason.contains('\n'), "{bad}: {reason}");
        }
        assert_eq!(refused(b"port = 1\nname = \"\xff\"\n").0, Some(2));
    }

    #[test]
    fn an_unknown_setting_is_refused_with_its_line_and_the_nearest_known_one() {
        for (key, near) in [
            ("recieve_folder", Some("receive_folder")),
            ("receive-folder", Some("receive_folder")),
            ("Port", Some("port")),
            ("prot", Some("port")),
            ("anounce", Some("announce")),
            ("receivng", Some("receiving")),
            ("colour", None),
            ("x", None),
        ] {
            let (line, reason, nearest) = refused(format!("port = 1\n{key} = true\n").as_bytes());
            assert_eq!((line, nearest.as_deref()), (Some(2), near), "{key}");
            assert!(reason.contains(&format!("no setting {key}")), "{reason}");
            assert_eq!(near.is_none(), reason.contains("the settings are name, "), "{reason}");
        }
        assert!(refused(b"port = 1\n[window]\nzoom = 2\n").1.contains("no setting window"));
    }

    #[test]
    fn nonsense_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let good = Settings {
            name: "a".into(),
            receive_folder: "/tmp".into(),
            into_home: IntoHome::Refuse,
            port: 1,
            announce: true,
            send_limit: None,
            background: true,
            receiving: true,
            acls: false,
        };
        for bad in [
            Settings { name: Text::default(), ..good.clone() },
            Settings { name: "10.0.0.1".into(), ..good.clone() },
            Settings { name: "3f2b1c9d8e7f".into(), ..good.clone() },
            Settings { receive_folder: "relative".into(), ..good.clone() },
            Settings { port: 0, ..good.clone() },
        ] {
            assert!(matches!(write(folder.path(), &bad), Err(Fault::Invalid(_))));
        }
        write(folder.path(), &good).unwrap();
    }
}
