//! The folders that offers land in, as they were when somebody chose them: where a disk is
//! unmounted or a folder is removed, what comes would land elsewhere.
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use parking_lot::{Mutex, MutexGuard};
use ringway_sys::dir::Dir;
use ringway_sys::mounts::mount_point;
use ringway_tree::receive::{Expected, FolderIdentity};

use crate::local::default_folder::may_be_made;

/// What was found at each path when it was first looked at.
#[derive(Default)]
pub(crate) struct Places(Mutex<HashMap<PathBuf, FolderIdentity>>);

impl Places {
    /// What has to be at a path, which from now on is what is there now unless something was noted
    /// before. Only the folder that an account receives into by default is made: nobody has chosen
    /// it, so that it need not be there. `mounted` is where its disk was mounted when it was
    /// chosen, if that is known: until the disk is there nothing is noted.
    pub(crate) fn expect(&self, path: &Path, mounted: impl FnOnce() -> Option<PathBuf>) -> Expected {
        if may_be_made(path) && !path.exists() {
            self.noted().remove(path);
            return Expected::Made;
        }
        if let Some(identity) = self.noted().get(path) {
            return Expected::Folder(*identity);
        }
        // Its disk may take long, and other folders do not wait for it.
        let Ok(folder) = Dir::open(path) else { return Expected::Any };
        if mounted().is_some_and(|at| lacks_mount(&folder, &at)) {
            return Expected::Mounted;
        }
        let Ok(identity) = FolderIdentity::of(&folder) else { return Expected::Any };
        Expected::Folder(*self.noted().entry(path.to_owned()).or_insert(identity))
    }

    /// What is there now counts, wherever its disk was before: somebody has chosen it.
    pub(crate) fn choose(&self, path: &Path) {
        let chosen = Dir::open(path).and_then(|folder| FolderIdentity::of(&folder));
        let mut noted = self.noted();
        match chosen {
            Ok(identity) => noted.insert(path.to_owned(), identity),
            Err(_) => noted.remove(path),
        };
    }

    fn noted(&self) -> MutexGuard<'_, HashMap<PathBuf, FolderIdentity>> {
        self.0.lock()
    }
}

/// Whether a folder that was on a disk mounted at `at` lies on what that was mounted onto. Its path
/// may lead there by links.
pub(crate) fn lacks_mount(folder: &Dir, at: &Path) -> bool {
    mount_point(folder).is_ok_and(|now| now != at && at.starts_with(now))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ringway_model::{Fault, Operation};

    use super::*;

    /// Without the disk being known that a folder was on.
    impl Places {
        fn expect_any(&self, path: &Path) -> Expected {
            self.expect(path, || None)
        }
    }

    #[test]
    fn a_folder_whose_disk_is_not_mounted_is_not_there() {
        let base = tempfile::tempdir().unwrap();
        let inbox = base.path().join("inbox");
        fs::create_dir(&inbox).unwrap();
        let places = Places::default();
        let Ok(now) = mount_point(Dir::open(&inbox).unwrap()) else {
            return println!("skipped: this kernel does not tell mounts");
        };
        for at in [base.path(), &inbox] {
            let expected = places.expect(&inbox, || Some(at.to_owned()));
            assert_eq!(expected, Expected::Mounted);
            assert!(!expected.is_there(&inbox) && matches!(expected.open(&inbox), Err(Fault::DestinationGone)));
        }
        assert!(Places::default().expect(&inbox, || Some(now)).is_there(&inbox), "it is mounted");
        places.choose(&inbox);
        let expected = places.expect(&inbox, || Some(inbox.clone()));
        assert!(expected.is_there(&inbox), "who wants it there without the disk has said so");
    }

    #[test]
    fn another_folder_at_the_same_path_is_not_what_was_noted() {
        let base = tempfile::tempdir().unwrap();
        let (inbox, aside) = (base.path().join("inbox"), base.path().join("aside"));
        fs::create_dir(&inbox).unwrap();
        let places = Places::default();
        let expected = places.expect_any(&inbox);
        assert!(expected.open(&inbox).is_ok() && expected.is_there(&inbox));
        fs::rename(&inbox, &aside).unwrap();
        assert!(matches!(places.expect_any(&inbox).open(&inbox), Err(Fault::DestinationGone)));
        assert!(!inbox.exists(), "and it is not made");
        fs::create_dir(&inbox).unwrap();
        assert!(matches!(places.expect_any(&inbox).open(&inbox), Err(Fault::DestinationGone)));
        fs::remove_dir(&inbox).unwrap();
        fs::rename(&aside, &inbox).unwrap();
        assert!(places.expect_any(&inbox).open(&inbox).is_ok(), "it is back");
    }

    #[test]
    fn a_folder_that_was_made_since_is_another_one_though_it_has_the_inode_number() {
        let base = tempfile::tempdir().unwrap();
        let inbox = base.path().join("inbox");
        fs::create_dir(&inbox).unwrap();
        let expected = Places::default().expect_any(&inbox);
        // ext4 gives a number that has become free to the next folder.
        for _ in 0..8 {
            fs::remove_dir(&inbox).unwrap();
            fs::create_dir(&inbox).unwrap();
            assert!(matches!(expected.open(&inbox), Err(Fault::DestinationGone)));
        }
    }

    #[test]
    fn a_folder_that_is_chosen_anew_is_noted_anew() {
        let base = tempfile::tempdir().unwrap();
        let (inbox, aside) = (base.path().join("inbox"), base.path().join("aside"));
        fs::create_dir(&inbox).unwrap();
        let places = Places::default();
        places.expect_any(&inbox);
        fs::rename(&inbox, &aside).unwrap();
        fs::create_dir(&inbox).unwrap();
        assert!(!places.expect_any(&inbox).is_there(&inbox));
        places.choose(&inbox);
        assert!(places.expect_any(&inbox).is_there(&inbox));
    }

    #[test]
    fn a_folder_that_was_never_there_is_not_made() {
        let base = tempfile::tempdir().unwrap();
        let gone = base.path().join("gone");
        let expected = Places::default().expect_any(&gone);
        assert!(!expected.is_there(&gone));
        assert!(matches!(expected.open(&gone), Err(Fault::Path { operation: Operation::Open, .. })));
        assert!(!gone.exists());
    }
}
