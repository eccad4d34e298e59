//! The commands about this machine's settings and its start at login.
use ringway_service::dto::{StartAtLogin, StoredSettings};
use ringway_service::settings::SettingsChange;
use tauri::{State, WebviewWindow};

use super::{Answer, pick_folder};
use crate::link::Link;

/// Stores name, port, and how many bytes a second each transfer may be sent at.
#[tauri::command]
#[specta::specta]
pub(super) async fn save_settings(
    link: State<'_, Link>,
    name: String,
    port: u16,
    send_limit: Option<u64>,
) -> Answer<StoredSettings> {
    let send_limit = Some(send_limit.into());
    change_settings(&link, SettingsChange { name: Some(name), port: Some(port), send_limit, ..Default::default() })
        .await
}

/// Stores whether the service goes on receiving when the window is closed.
#[tauri::command]
#[specta::specta]
pub(super) async fn set_background(link: State<'_, Link>, background: bool) -> Answer<StoredSettings> {
    change_settings(&link, SettingsChange { background: Some(background), ..Default::default() }).await
}

/// Stores whether this machine is found on its network, and finds others there.
#[tauri::command]
#[specta::specta]
pub(super) async fn set_announce(link: State<'_, Link>, announce: bool) -> Answer<StoredSettings> {
    change_settings(&link, SettingsChange { announce: Some(announce), ..Default::default() }).await
}

/// Stores whether this machine receives.
#[tauri::command]
#[specta::specta]
pub(super) async fn set_receiving(link: State<'_, Link>, receiving: bool) -> Answer<StoredSettings> {
    change_settings(&link, SettingsChange { receiving: Some(receiving), ..Default::default() }).await
}

/// Asks for another receive folder and stores it; none where none was chosen.
#[tauri::command]
#[specta::specta]
pub(super) async fn choose_receive_folder(
    link: State<'_, Link>,
    window: WebviewWindow,
) -> Answer<Option<StoredSettings>> {
    let Some(folder) = pick_folder(&window, None).await else { return Ok(None) };
    let change = SettingsChange { receive_folder: Some(folder.into()), ..Default::default() };
    change_settings(&link, change).await.map(Some)
}

async fn change_settings(link: &Link, change: SettingsChange) -> Answer<StoredSettings> {
    link.service().await?.change_settings(change).await
}

/// Whether, and by what, the service starts when this user logs in.
#[tauri::command]
#[specta::specta]
pub(super) async fn start_at_login(link: State<'_, Link>) -> Answer<StartAtLogin> {
    link.service().await?.start_at_login().await
}

/// Has it start then, or not.
#[tauri::command]
#[specta::specta]
pub(super) async fn set_start_at_login(link: State<'_, Link>, on: bool) -> Answer<StartAtLogin> {
    link.service().await?.set_start_at_login(on).await
}
