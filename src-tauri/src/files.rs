//! Received files, in the desktop's own file manager.
use std::path::{Path, PathBuf};

use ringway_daemon::control::protocol::GivenPath;
use ringway_daemon::text::shown;
use ringway_model::Fault;
use tauri::AppHandle;
use tauri_plugin_opener::OpenerExt;

/// Opens a folder.
///
/// # Errors
/// [`Fault::NoFileManager`].
pub(crate) fn open(handle: &AppHandle, folder: &Path) -> Result<(), Fault> {
    let fault = || Fault::NoFileManager { path: shown(folder).into() };
    let text = folder.to_str().ok_or_else(fault)?;
    handle.opener().open_path(text, None::<&str>).map_err(|_| fault())
}

/// Shows paths selected in the folder that they are in, or that folder alone where the file manager
/// cannot do it (org.freedesktop.FileManager1). A link that a peer sent is not followed: of that
/// the folder is shown.
///
/// # Errors
/// [`Fault::Gone`] where nothing of it is there any more; [`Fault::NoFileManager`].
pub(crate) async fn select(handle: AppHandle, paths: Vec<GivenPath>) -> Result<(), Fault> {
    let failed = |error: tauri::Error| Fault::Other { detail: error.to_string().into() };
    // Looking at paths and calls on the bus both wait.
    tauri::async_runtime::spawn_blocking(move || {
        let there: Vec<_> =
            paths.into_iter().filter_map(|path| Some((path.0.symlink_metadata().ok()?, path.0))).collect();
        let (_, first) = there.first().ok_or(Fault::Gone)?;
        let folder = first.parent().ok_or(Fault::Gone)?.to_owned();
        let selected: Vec<PathBuf> =
            there.into_iter().filter(|(meta, _)| !meta.is_symlink()).map(|(_, path)| path).collect();
        if selected.is_empty() || handle.opener().reveal_items_in_dir(&selected).is_err() {
            return open(&handle, &folder);
        }
        Ok(())
    })
    .await
    .map_err(failed)?
}
