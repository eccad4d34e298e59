//! The commands that pick the folder to receive into, and set this machine up for the first time.
use std::path::PathBuf;

use parking_lot::Mutex;
use ringway_daemon::dto::SettingsChange;
use ringway_model::{Fault, Invalid, PathText, SettingsInForce};
use tauri::{State, WebviewWindow};

use super::{Answer, allow_home, pick_folder};
use crate::link::Link;

/// Asks for another receive folder and stores it; `None` if none was chosen.
#[tauri::command]
#[specta::specta]
pub(super) async fn choose_receive_folder(
    link: State<'_, Link>,
    window: WebviewWindow,
) -> Answer<Option<SettingsInForce>> {
    let service = link.service().await?;
    let first = service.look().await?.settings.settings.receive_folder.0;
    let Some(folder) = pick_folder(&window, Some(first)).await else { return Ok(None) };
    let set = |into_home| {
        let (receive_folder, into_home) = (Some(folder.clone().into()), Some(into_home));
        let change = SettingsChange { receive_folder, into_home, ..Default::default() };
        let service = service.clone();
        async move { service.change_settings(change).await }
    };
    match allow_home(&window, set).await {
        // It was not allowed after all.
        Err(Fault::Invalid(Invalid::HomeFolder { .. })) => Ok(None),
        set => set.map(Some),
    }
}

/// The folder that was picked before anything is stored; the webview gets a text of it.
#[derive(Default)]
pub(crate) struct FirstFolder(Mutex<Option<PathBuf>>);

/// Asks for the folder to receive into, for [`set_up`]; what to show of it, `None` if none was
/// chosen.
#[tauri::command]
#[specta::specta]
pub(super) async fn choose_first_folder(
    first: State<'_, FirstFolder>,
    window: WebviewWindow,
) -> Answer<Option<PathText>> {
    let Some(folder) = pick_folder(&window, None).await else { return Ok(None) };
    let text = PathText::from(&folder);
    *first.0.lock() = Some(folder);
    Ok(Some(text))
}

/// Sets this machine up: its first settings, with the folder that was picked, if one was. The start
/// at login is left as it is where nothing is said of it; where it cannot be had, nothing is
/// stored.
#[tauri::command]
#[specta::specta]
pub(super) async fn set_up(
    link: State<'_, Link>,
    first: State<'_, FirstFolder>,
    window: WebviewWindow,
    name: String,
    background: bool,
    start_at_login: Option<bool>,
) -> Answer<SettingsInForce> {
    let service = link.service().await?;
    if let Some(on) = start_at_login {
        service.set_start_at_login(on).await?;
    }
    let folder = first.0.lock().clone();
    allow_home(&window, |into_home| {
        let change = SettingsChange {
            name: Some(name.clone()),
            into_home: folder.is_some().then_some(into_home),
            receive_folder: folder.clone().map(Into::into),
            background: Some(background),
            ..Default::default()
        };
        let service = service.clone();
        async move { service.change_settings(change).await }
    })
    .await
}
