//! Where a device receives that nobody has set up.
use std::fs;
use std::path::{Path, PathBuf};

use ringway_tree::receive::Homes;

/// The folder in a home that is received into where there is no downloads folder.
const OWN_NAME: &str = "Ringway";

/// Where a device receives that nobody has set up: the downloads folder by xdg-user-dirs
/// (user-dirs.dirs(5)) where it is there, else `Ringway` in the home folder, which the first offer
/// makes. Never a home, as which user-dirs.dirs names what somebody does without, nor what lies in
/// one under a name that begins with a dot.
pub fn default_folder() -> PathBuf {
    let home = std::env::home_dir().unwrap_or_else(|| PathBuf::from("/"));
    let config = std::env::var_os("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from);
    let listed = fs::read_to_string(config.join("user-dirs.dirs")).unwrap_or_default();
    let homes = Homes::known();
    default_in(&home, &listed, |folder| will_do(folder, &homes))
}

/// Whether a folder is one that an account receives into by default, or did before it had a
/// downloads folder: it need not be there.
pub(crate) fn may_be_made(folder: &Path) -> bool {
    folder == default_folder() || std::env::home_dir().is_some_and(|home| folder == home.join(OWN_NAME))
}

/// Whether a folder is there, is no home, and lies in none under a name that begins with a dot:
/// there programs keep their settings and keys.
fn will_do(folder: &Path, homes: &Homes) -> bool {
    // Wherever links lead.
    let Ok(folder) = fs::canonicalize(folder) else { return false };
    let begins_with_dot = |name: &std::ffi::OsStr| name.as_encoded_bytes().starts_with(b".");
    let below = |above: &Path| folder.strip_prefix(above).ok().and_then(|below| below.iter().next());
    folder.ancestors().all(|above| {
        let Ok(there) = ringway_sys::dir::Dir::open(above).and_then(ringway_sys::attributes::metadata_of) else {
            // Somebody may go through a folder and not read it: what is named in it is judged by
            // its name.
            return above != folder && !below(above).is_some_and(begins_with_dot);
        };
        let is_suspect = below(above).is_none_or(begins_with_dot);
        !is_suspect || !homes.clone().and_of([there.uid]).has(&there)
    })
}

fn default_in(home: &Path, user_dirs: &str, will_do: impl Fn(&Path) -> bool) -> PathBuf {
    let downloads = user_dirs
        .lines()
        .find_map(|line| line.trim().strip_prefix("XDG_DOWNLOAD_DIR="))
        .map(|value| value.trim_matches('"'))
        .map(|value| match value.strip_prefix("$HOME") {
            Some(below) => home.join(below.trim_start_matches('/')),
            None => PathBuf::from(value),
        })
        .filter(|path| path.is_absolute())
        .unwrap_or_else(|| home.join("Downloads"));
    if will_do(&downloads) { downloads } else { home.join(OWN_NAME) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_default_is_a_home() {
        let base = tempfile::tempdir().unwrap();
        let home = base.path();
        let default = |user_dirs: &str| default_in(home, user_dirs, |path| path.is_dir() && path != home);
        let ours = home.join("Ringway");
        assert_eq!(default(""), ours, "there is no downloads folder");
        for without in ["XDG_DOWNLOAD_DIR=\"$HOME/\"", "XDG_DOWNLOAD_DIR=\"$HOME\"", "XDG_DOWNLOAD_DIR=\"relative\""] {
            assert_eq!(default(without), ours, "{without}");
        }
        for name in ["Downloads", "Empfangen"] {
            fs::create_dir(home.join(name)).unwrap();
        }
        assert_eq!(default(""), home.join("Downloads"));
        assert_eq!(default("# x\nXDG_DOWNLOAD_DIR=\"$HOME/Empfangen\"\n"), home.join("Empfangen"));
        assert_eq!(default("XDG_DOWNLOAD_DIR=\"$HOME/gone\""), ours);
    }

    #[test]
    fn no_default_lies_in_a_home_under_a_name_that_begins_with_a_dot() {
        let base = tempfile::tempdir().unwrap();
        let (home, other) = (base.path().join("home"), base.path().join("other"));
        for folder in [home.join(".config/deep"), home.join("In/.hidden"), other.join(".ssh")] {
            fs::create_dir_all(folder).unwrap();
        }
        std::os::unix::fs::symlink(".config", home.join("Link")).unwrap();
        let homes = Homes::at(&[&home, &other]);
        let default = |user_dirs: &str| {
            default_in(&home, &format!("XDG_DOWNLOAD_DIR=\"{user_dirs}\""), |path| will_do(path, &homes))
        };
        let ssh = other.join(".ssh");
        let hidden = ["$HOME/.config", "$HOME/.config/deep", "$HOME//./.config", "$HOME/In/../.config", "$HOME/Link"];
        for folder in hidden.into_iter().chain(["$HOME/", "$HOME/.", ssh.to_str().unwrap()]) {
            assert_eq!(default(folder), home.join("Ringway"), "{folder}");
        }
        assert_eq!(default("$HOME/In"), home.join("In"));
        assert_eq!(default("$HOME/In/.hidden"), home.join("In/.hidden"));
    }
}
