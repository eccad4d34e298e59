//! Whether something can be received into a folder.
use std::io;
use std::path::Path;

use ringway_engine::free_space;
use ringway_model::{Fault, Operation};
use rustix::fs::{Access, access};
use rustix::io::Errno;

/// Whether something can be received into a folder. One that is not absolute is refused when it is
/// stored.
pub(in crate::app) fn usable(folder: &Path) -> Result<(), Fault> {
    if !folder.is_absolute() {
        return Ok(());
    }
    let failed = |operation, source| Fault::path(folder.to_owned(), operation, source);
    let found = folder.metadata().map_err(|source| failed(Operation::Open, source))?;
    if !found.is_dir() {
        return Err(failed(Operation::Open, io::Error::from(Errno::NOTDIR)));
    }
    access(folder, Access::WRITE_OK | Access::EXEC_OK).map_err(|errno| failed(Operation::Write, errno.into()))
}

/// Whether offers can land in a folder. The account's default one is made for the first of them.
pub(super) fn can_land(folder: &Path) -> Result<(), Fault> {
    match usable(folder) {
        Err(Fault::Path { source, .. })
            if source.kind() == io::ErrorKind::NotFound
                && folder == ringway_engine::default_folder()
                && free_space::look(folder).is_some_and(|free| free.writable) =>
        {
            Ok(())
        }
        other => other,
    }
}
