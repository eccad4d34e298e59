//! The settings file: read, checked and written back without losing a person's comments.
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ringway_wire::DeviceName;
use toml_edit::{DocumentMut, Item, Value};

use crate::device::DeviceId;
use crate::error::{Error, Invalid, Operation};
use crate::homes::default_folder;
use crate::identity::make_private_folder;
use crate::limits::DEFAULT_PORT;
use crate::options::{IntoHome, RateLimit, Settings};
use crate::private;

const FILE_NAME: &str = "config.toml";

/// What a receive folder takes that is a home.
const INTO_HOME: &str = "into_home";

/// Its words; to refuse is to say nothing.
const INTO_HOMES: [(&str, IntoHome); 2] = [("no-dot-names", IntoHome::NoDotNames), ("dot-names", IntoHome::DotNames)];

fn known_into_home(text: &str) -> Option<IntoHome> {
    INTO_HOMES.iter().find(|(word, _)| *word == text).map(|(_, known)| *known)
}

/// Reads the settings; what is missing has its default.
pub(crate) fn read(folder: &Path, id: DeviceId) -> Result<Settings, Error> {
    let (path, document) = document(folder)?;
    let bad = |what: &str| Error::Store { path: path.clone(), reason: format!("{what} is not acceptable") };
    let text = |key: &str| match document.get(key) {
        None => Ok(None),
        Some(item) => item.as_str().map(|text| Some(text.to_owned())).ok_or_else(|| bad(key)),
    };
    let name = match text("name")? {
        Some(name) => match DeviceName::new(&name) {
            Ok(_) => name,
            Err(_) => {
                return Err(Error::Store { path, reason: format!("name is not acceptable: {}", Invalid::DeviceName) });
            }
        },
        None => default_name(&rustix::system::uname().nodename().to_string_lossy(), id),
    };
    let receive_folder = text("receive_folder")?.map_or_else(default_folder, PathBuf::from);
    let into_home = match text(INTO_HOME)? {
        None => IntoHome::Refuse,
        Some(said) => known_into_home(&said).ok_or_else(|| bad(INTO_HOME))?,
    };
    let port = match document.get("port") {
        None => DEFAULT_PORT,
        Some(item) => item
            .as_integer()
            .and_then(|port| u16::try_from(port).ok())
            .filter(|port| *port > 0)
            .ok_or_else(|| bad("port"))?,
    };
    let send_limit = match document.get("send_limit") {
        None => None,
        Some(item) => {
            let limit = item.as_integer().and_then(|limit| u64::try_from(limit).ok());
            Some(limit.and_then(|limit| RateLimit::new(limit).ok()).ok_or_else(|| bad("send_limit"))?)
        }
    };
    let switch = |key: &str| match document.get(key) {
        None => Ok(true),
        Some(item) => item.as_bool().ok_or_else(|| bad(key)),
    };
    let [announce, background, receiving] = [switch("announce")?, switch("background")?, switch("receiving")?];
    Ok(Settings { name, receive_folder, into_home, port, announce, send_limit, background, receiving })
}

/// Whether any were ever written, by whatever program or hand.
pub(crate) fn exist(folder: &Path) -> bool {
    folder.join(FILE_NAME).symlink_metadata().is_ok()
}

/// Writes the settings, leaving everything else in the file as it is.
pub(crate) fn write(folder: &Path, settings: &Settings) -> Result<(), Error> {
    DeviceName::new(&settings.name).map_err(|_| Error::Invalid(Invalid::DeviceName))?;
    if settings.port == 0 {
        return Err(Error::Invalid(Invalid::Port));
    }
    let receive_folder = settings.receive_folder.to_str().ok_or(Error::Invalid(Invalid::ReceiveFolder))?;
    if !settings.receive_folder.is_absolute() {
        return Err(Error::Invalid(Invalid::ReceiveFolder));
    }
    let (path, mut document) = document(folder)?;
    set(&mut document, "name", settings.name.as_str().into());
    set(&mut document, "receive_folder", receive_folder.into());
    match INTO_HOMES.iter().find(|(_, known)| *known == settings.into_home) {
        Some((word, _)) => set(&mut document, INTO_HOME, (*word).into()),
        None => drop(document.remove(INTO_HOME)),
    }
    set(&mut document, "port", i64::from(settings.port).into());
    let switches =
        [("announce", settings.announce), ("background", settings.background), ("receiving", settings.receiving)];
    for (key, is_on) in switches {
        match is_on {
            true => drop(document.remove(key)),
            false => set(&mut document, key, false.into()),
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
    written.map_err(|source| Error::Path { path, operation: Operation::Write, source })
}

/// Sets a value, with the comment and blanks around the old one.
fn set(document: &mut DocumentMut, key: &str, mut value: Value) {
    if let Some(old) = document.get(key).and_then(Item::as_value) {
        *value.decor_mut() = old.decor().clone();
    }
    document[key] = Item::Value(value);
}

fn document(folder: &Path) -> Result<(PathBuf, DocumentMut), Error> {
    let path = folder.join(FILE_NAME);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(source) => return Err(Error::Path { path, operation: Operation::Read, source }),
    };
    match text.parse() {
        Ok(document) => Ok((path, document)),
        Err(error) => Err(Error::Store { path, reason: format!("{error}") }),
    }
}

/// The host's name without its domain; `device-` and the id's first digits where no device may be called that, as in containers, whose host
/// names read as ids.
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
    use super::*;

    const ID: DeviceId = DeviceId([0xab; 32]);

    #[test]
    fn defaults_hold_until_something_is_written_and_comments_survive() {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = read(folder.path(), ID).unwrap();
        assert!(!exist(folder.path()), "reading writes nothing");
        assert_eq!(settings.port, DEFAULT_PORT);
        assert!(!settings.name.is_empty());
        fs::write(folder.path().join(FILE_NAME), "# mine\nport = 4000 # odd\nextra = true\n").unwrap();
        settings = read(folder.path(), ID).unwrap();
        assert_eq!(settings.port, 4000);
        settings.name = "laptop".into();
        settings.receive_folder = "/tmp".into();
        write(folder.path(), &settings).unwrap();
        assert!(exist(folder.path()));
        let text = fs::read_to_string(folder.path().join(FILE_NAME)).unwrap();
        assert!(text.contains("# mine") && text.contains("# odd") && text.contains("extra = true"), "{text}");
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
    fn switches_are_on_until_they_are_turned_off() {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = read(folder.path(), ID).unwrap();
        assert!(settings.announce && settings.background && settings.receiving);
        settings.receive_folder = "/tmp".into();
        for on in [[false, true, true], [true, false, true], [true, true, false], [true; 3]] {
            [settings.announce, settings.background, settings.receiving] = on;
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

    #[test]
    fn nonsense_is_refused_with_the_files_name() {
        let folder = tempfile::tempdir().unwrap();
        for bad in [
            "port = 0",
            "port = 70000",
            "port = \"x\"",
            "name = 3",
            "name = \"\\u001b[31m\"",
            "name = \"10.0.0.1\"",
            "name = \"3f2b1c9d8e7f\"",
            "name = \"n\\u00adas\"",
            "send_limit = 0",
            "send_limit = -1",
            "background = 1",
            "receiving = \"no\"",
            "into_home = \"yes\"",
            "= =",
        ] {
            fs::write(folder.path().join(FILE_NAME), bad).unwrap();
            assert!(matches!(read(folder.path(), ID), Err(Error::Store { .. })), "{bad}");
        }
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
        };
        for bad in [
            Settings { name: String::new(), ..good.clone() },
            Settings { name: "10.0.0.1".into(), ..good.clone() },
            Settings { name: "3f2b1c9d8e7f".into(), ..good.clone() },
            Settings { receive_folder: "relative".into(), ..good.clone() },
            Settings { port: 0, ..good.clone() },
        ] {
            assert!(matches!(write(folder.path(), &bad), Err(Error::Invalid(_))));
        }
        write(folder.path(), &good).unwrap();
    }
}
