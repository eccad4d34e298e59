//! Commands with names in them that messages tell people to run: each name is one word of a POSIX
//! shell, whatever a peer or a disk has put into it.
use std::ffi::{OsStr, OsString};
use std::path::Path;

use ringway_model::DeviceId;

use crate::text::for_terminal;

/// Text as one word of a POSIX shell (2.2.2 Single-Quotes), harmless on a terminal. What cannot be
/// printed is spelt out, and then means nothing to the shell.
fn word(text: impl AsRef<OsStr>) -> String {
    let text = for_terminal(text);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b':' | b'-');
    match !text.is_empty() && text.bytes().all(is_plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// A path as one word that no command takes for an option.
pub(crate) fn path_word(path: &Path) -> String {
    match path.as_os_str().as_encoded_bytes().first() {
        Some(b'-') => word(Path::new(".").join(path)),
        _ => word(path),
    }
}

/// Sending to a paired device whose id is not known here.
pub(crate) fn send_to_name(name: &str) -> String {
    let end_of_options = if name.starts_with('-') { "-- " } else { "" };
    format!("ringway send FOLDER {end_of_options}{}", word(name))
}

/// Sending to a paired device: by its id where its name would be taken for an option or for a path.
pub(crate) fn send_to(name: &str, id: DeviceId) -> String {
    match name.starts_with('-') || name.contains('/') {
        true => format!("ringway send FOLDER {}", id.short()),
        false => send_to_name(name),
    }
}

/// Sending to an address.
pub(crate) fn send_to_address(address: &str) -> String {
    format!("ringway send FOLDER {}", word(address))
}

/// Pairing with what a person named as a device.
pub(crate) fn pair(device: &str) -> String {
    let end_of_options = if device.starts_with('-') { "-- " } else { "" };
    format!("ringway pair {end_of_options}{}", word(device))
}

/// Forgetting a device: by its id, which no other has.
pub(crate) fn forget(id: DeviceId) -> String {
    format!("ringway devices forget {}", id.short())
}

/// Going on with a transfer that is paused, by the beginning of its id.
pub(crate) fn resume(id: &str) -> String {
    format!("ringway resume {}", word(id))
}

/// Sending again what the history has under a number.
pub(crate) fn send_again(number: u64) -> String {
    format!("ringway send --again {number}")
}

/// The same of what a list has selected, which is not remembered.
pub(crate) fn send_again_by_list(number: u64) -> String {
    format!("{} --files-from LIST", send_again(number))
}

/// Getting again what the history has under a number.
pub(crate) fn get_again(number: u64) -> String {
    format!("ringway get --again {number}")
}

/// The same of what a list has selected, which is not remembered.
pub(crate) fn get_again_by_list(number: u64) -> String {
    format!("{} --files-from LIST", get_again(number))
}

/// Making a folder.
pub(crate) fn make_folder(path: &Path) -> String {
    format!("mkdir -p {}", path_word(path))
}

/// Keeping a file from others.
pub(crate) fn close_file(path: &Path) -> String {
    format!("chmod 600 {}", path_word(path))
}

/// Copying to some folder.
pub(crate) fn copy(path: &Path, to: &str) -> String {
    format!("ringway copy {} {to}", path_word(path))
}

/// The copy that a command line `words` asked for, continued. `None` if a word cannot be shown as
/// it is.
pub(crate) fn continue_copy(words: &[OsString], began: Option<&str>, exact: bool) -> Option<String> {
    let mut line = String::from("ringway copy");
    if exact {
        line.push_str(" -T");
    }
    if let Some(began) = began {
        line.push_str(&format!(" --continue {began}"));
    }
    for text in words {
        if text.to_str() != Some(&for_terminal(text)) {
            return None;
        }
        line.push(' ');
        line.push_str(&word(text));
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    /// Names that a shell would act on. What they would do is make a file.
    const HOSTILE: [&str; 18] = [
        "x;touch pwned",
        "$(touch pwned)",
        "`touch pwned`",
        "a\" && touch pwned \"b",
        "a' && touch pwned 'b",
        "'; touch pwned; '",
        "'$(touch pwned)'",
        "| touch pwned",
        "> pwned",
        "& touch pwned &",
        "--yes",
        "-",
        "!!",
        "it's",
        "*",
        "~",
        "# a",
        "a\\",
    ];

    /// The words that a shell makes of a command; nothing else may come of it.
    fn words_of(command: &str) -> Vec<String> {
        let base = tempfile::tempdir().unwrap();
        // Two files, so that a pattern would show.
        for name in ["one", "two"] {
            fs::write(base.path().join(name), "").unwrap();
        }
        let shell = |args: &[&str]| {
            Command::new("sh").args(args).current_dir(base.path()).env("HOME", "/home/somebody").output().unwrap()
        };
        assert!(shell(&["-n", "-c", command]).status.success(), "{command}");
        let said = shell(&["-c", &format!("printf '%s\\n' {command}")]);
        assert!(said.status.success(), "{command}");
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 2, "{command}");
        String::from_utf8(said.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_hostile_name_is_one_word_of_every_command_that_is_advised() {
        let id = DeviceId([0xab; 32]);
        for name in HOSTILE {
            let path = Path::new(name);
            let spelt = if name.starts_with('-') { format!("./{name}") } else { name.to_owned() };
            let by_name: &[&str] = if name.starts_with('-') { &["--", name] } else { &[name] };
            let by_id = id.short();
            let target = if name.starts_with('-') { by_id.as_str() } else { name };
            assert_eq!(words_of(&send_to_name(name)), [&["ringway", "send", "FOLDER"], by_name].concat());
            assert_eq!(words_of(&send_to(name, id)), ["ringway", "send", "FOLDER", target]);
            assert_eq!(words_of(&send_to_address(name)), ["ringway", "send", "FOLDER", name]);
            assert_eq!(words_of(&resume(name)), ["ringway", "resume", name]);
            assert_eq!(words_of(&make_folder(path)), ["mkdir", "-p", &spelt]);
            assert_eq!(words_of(&close_file(path)), ["chmod", "600", &spelt]);
            assert_eq!(words_of(&copy(path, "/mnt/disk")), ["ringway", "copy", &spelt, "/mnt/disk"]);
        }
        let words = HOSTILE.map(OsString::from);
        let shown = words_of(&continue_copy(&words, Some("1.5"), true).unwrap());
        assert_eq!(shown, [&["ringway", "copy", "-T", "--continue", "1.5"][..], &HOSTILE].concat());
        assert_eq!(continue_copy(&["a\u{1b}b".into()], None, false), None);
        assert_eq!(words_of(&forget(id)), ["ringway", "devices", "forget", &id.short()]);
        assert_eq!(send_to("a/b", id), format!("ringway send FOLDER {}", id.short()));
    }

    #[test]
    fn what_needs_no_quotes_has_none_and_what_drives_a_terminal_is_spelt_out() {
        assert_eq!(send_to_name("lab-ws"), "ringway send FOLDER lab-ws");
        assert_eq!(send_to_address("192.168.1.20:4000"), "ringway send FOLDER 192.168.1.20:4000");
        assert_eq!(word(""), "''");
        assert_eq!(word("a\n\u{1b}[2J"), "'a\\n\\u{1b}[2J'");
    }

    /// The beginning of commands that are put together nowhere else.
    const COMMANDS: [&str; 7] =
        ["ringway send ", "ringway devices ", "ringway resume", "ringway copy ", "mkdir ", "chmod ", "chown "];

    fn sources(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match entry.is_dir() {
                true => sources(&entry, found),
                false => found.push(entry),
            }
        }
    }

    #[test]
    fn no_other_module_puts_text_into_a_command() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut files = Vec::new();
        for folder in [here.join("src"), here.join("../daemon/src"), here.join("../engine/src")] {
            sources(&folder, &mut files);
        }
        for file in files.iter().filter(|file| !file.ends_with("advised.rs")) {
            let text = fs::read_to_string(file).unwrap();
            for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
                for command in COMMANDS {
                    let after = line.split(command).skip(1).map(|rest| rest.split(['`', '.', ',', '(']).next());
                    let has_text = after.flatten().any(|rest| rest.contains('{'));
                    assert!(!has_text, "{}:{}: {line}", file.display(), number + 1);
                }
            }
        }
    }
}
