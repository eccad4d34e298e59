//! Which folders are homes: what lands in one can change how programs start, so that nothing is
//! received into a home that nobody has chosen.
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use ringway_sys::attributes::Metadata;
use rustix::fs::{AtFlags, CWD};

/// Accounts of `/etc/passwd` whose homes are looked at: more than any machine keeps there that does
/// not ask a directory server.
const ACCOUNTS_MAX: usize = 4_096;

/// Homes by device and inode, as a receiver compares them with the folders that it opens. Looked up
/// beforehand: confined threads cannot do it.
#[derive(Debug, Clone, Default)]
pub struct Homes(HashSet<(u64, u64)>);

impl Homes {
    /// Those that HOME and `/etc/passwd` name, and this user's. Homes are not mounted for it.
    pub fn known() -> Self {
        let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let all = std::env::home_dir().into_iter().chain(listed(&accounts));
        Self(all.filter_map(|home| identity(&home)).collect()).and_of([rustix::process::geteuid().as_raw()])
    }

    /// The homes of these users as well, whom only a directory server may know.
    pub fn and_of(mut self, users: impl IntoIterator<Item = u32>) -> Self {
        let users: HashSet<_> = users.into_iter().collect();
        self.0.extend(users.into_iter().filter_map(ringway_sys::users::home_of).filter_map(|home| identity(&home)));
        self
    }

    /// Exactly these.
    #[doc(hidden)]
    pub fn at(homes: &[&Path]) -> Self {
        Self(homes.iter().filter_map(|home| identity(home)).collect())
    }

    /// Whether an open folder is one of them.
    pub fn has(&self, folder: &Metadata) -> bool {
        self.0.contains(&(folder.dev, folder.ino))
    }
}

/// Whether an open folder is somebody's home, by whatever path or mount.
pub fn is_home(folder: &Metadata) -> bool {
    Homes::known().and_of([folder.uid]).has(folder)
}

/// The homes of a file like `/etc/passwd` (passwd(5)).
fn listed(accounts: &str) -> impl Iterator<Item = PathBuf> {
    accounts.lines().take(ACCOUNTS_MAX).filter_map(|line| line.split(':').nth(5)).map(PathBuf::from)
}

fn identity(home: &Path) -> Option<(u64, u64)> {
    if !home.is_absolute() {
        return None;
    }
    let there = rustix::fs::statat(CWD, home, AtFlags::NO_AUTOMOUNT).ok()?;
    // The fields' widths differ between architectures.
    #[allow(clippy::unnecessary_cast)]
    Some((there.st_dev as u64, there.st_ino as u64))
}

#[cfg(test)]
mod tests {
    use ringway_sys::attributes::metadata_of;
    use ringway_sys::dir::Dir;

    use super::*;

    #[test]
    fn a_home_is_known_by_whatever_path_leads_to_it() {
        let base = tempfile::tempdir().unwrap();
        let home = base.path().join("home");
        fs::create_dir(&home).unwrap();
        std::os::unix::fs::symlink(&home, base.path().join("link")).unwrap();
        let accounts = format!("root:x:0:0::/root:/bin/sh\nme:x:1:1::{}:/bin/sh\nbroken\n", home.display());
        let known = |path: &Path| {
            let folder = metadata_of(Dir::open(path).unwrap()).unwrap();
            listed(&accounts).any(|home| Homes::at(&[&home]).has(&folder))
        };
        assert!(known(&home) && known(&base.path().join("link")) && known(&home.join("../home/.")));
        assert!(!known(base.path()));
    }

    #[test]
    fn the_home_of_this_user_is_one() {
        let Some(home) = std::env::home_dir().and_then(|home| Dir::open(&home).ok()) else {
            return println!("skipped: this user has no home");
        };
        assert!(is_home(&metadata_of(home).unwrap()));
        assert!(!is_home(&metadata_of(Dir::open(tempfile::tempdir().unwrap().path()).unwrap()).unwrap()));
    }
}
