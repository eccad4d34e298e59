//! Which folders and files are Ringway's own, and makes those that are missing.
use std::io;
use std::path::Path;

use ringway_model::{Fault, Operation};
use ringway_tree::receive::OwnFolders;

use crate::local::paths::Paths;
use crate::local::private;

/// Files in our folders that decide who is trusted and where offers land.
pub(crate) const FILES: [&str; 3] = ["config.toml", "identity.pem", "ringway.db"];

/// Makes those that are missing, so that no offer can make them first, and looks where they
/// are.
///
/// # Errors
/// One that cannot be made for another reason than permissions: what we may not make, an offer
/// may not make either.
pub(crate) fn make(paths: &Paths) -> Result<OwnFolders, Fault> {
    // The login manager makes a runtime folder for its user. Without it there is none of ours.
    let runtime = paths.runtime.iter().filter(|runtime| runtime.parent().is_some_and(Path::is_dir));
    let all: Vec<_> = [&paths.config, &paths.data, &paths.state].into_iter().chain(runtime).collect();
    for folder in &all {
        match private::make_folder(folder) {
            Ok(()) => {}
            Err(error) if is_forbidden(&error) => {}
            Err(source) => return Err(Fault::path(*folder, Operation::Create, source)),
        }
    }
    let mut own = OwnFolders::default();
    for folder in all {
        own.add_folder(folder);
        FILES.iter().for_each(|name| own.add_file(&folder.join(name)));
    }
    paths.window().iter().for_each(|folder| own.add_folder(folder));
    Ok(own)
}

fn is_forbidden(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

#[cfg(test)]
mod tests {
    use ringway_sys::attributes::metadata_of;
    use ringway_sys::dir::Dir;

    use super::*;

    #[test]
    fn own_folders_that_are_missing_are_made_before_anything_can_land() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths {
            config: home.path().join(".config/ringway"),
            data: home.path().join(".local/share/ringway"),
            state: home.path().join(".local/state/ringway"),
            runtime: None,
        };
        let own = make(&paths).unwrap();
        let there = |folder: &Path| metadata_of(Dir::open(folder).unwrap()).unwrap();
        for folder in [&paths.config, &paths.data, &paths.state] {
            assert!(own.has(&there(folder)), "{folder:?}");
            assert_eq!(there(folder).mode & 0o777, 0o700, "{folder:?}");
        }
        assert!(own.lie_in(&there(home.path())));
    }
}
