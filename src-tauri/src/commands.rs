//! What the webview may ask for: decode, call the controller, encode. Native dialogs are opened here, never by the webview.
use std::path::{Path, PathBuf};

use ringway_service::App;
use ringway_service::copying::{CopyExisting, CopyFolder};
use ringway_service::dto::{
    AppEvent, Asked, Chosen, Consent, Earlier, EarlierDetails, Everything, Existing, Moving, Pick, StoredSettings,
    Update,
};
use ringway_service::fault::Fault;
use ringway_service::text::shown;
use tauri::ipc::Channel;
use tauri::{AppHandle, State, WebviewWindow};
use tauri_plugin_dialog::{DialogExt, FilePath};
use tauri_plugin_opener::OpenerExt;
use tauri_specta::{Builder, collect_commands};

use crate::bridge;

type Answer<T> = Result<T, Fault>;

/// Every command, for the application and for the generated bindings.
pub(crate) fn all() -> Builder<tauri::Wry> {
    Builder::new()
        .commands(collect_commands![
            start,
            choose_sources,
            send,
            copy_folder,
            choose_copy_folder,
            copy,
            watch,
            cancel,
            resume,
            dismiss,
            open_arrived,
            past,
            past_details,
            forget_past,
            clear_past,
            open_past,
            accept_offer,
            decline_offer,
            choose_offer_folder,
            renew_code,
            listen,
            look_around,
            nearby_address,
            pair,
            rename_device,
            forget_device,
            set_device_rule,
            choose_device_folder,
            clear_device_folder,
            save_settings,
            choose_receive_folder,
        ])
        // Bytes and milliseconds: JSON numbers are exact up to 9 PB and 285,000 years.
        .dangerously_cast_bigints_to_number()
        // One type each way: nothing here is serialised otherwise than it is read.
        .disable_serde_phases()
}

/// Everything to show; what changes later comes through the channel.
#[tauri::command(async)]
#[specta::specta]
fn start(app: State<'_, App>, events: Channel<AppEvent>) -> Answer<Everything> {
    app.start(bridge::sink(events))
}

/// Asks for folders or files to send with the desktop's own picker.
#[tauri::command]
#[specta::specta]
async fn choose_sources(app: State<'_, App>, window: WebviewWindow, pick: Pick) -> Answer<Option<Chosen>> {
    let (answer, answered) = tokio::sync::oneshot::channel();
    let dialog = window.dialog().file().set_parent(&window);
    let done = move |paths: Option<Vec<FilePath>>| drop(answer.send(paths));
    match pick {
        Pick::Folders => dialog.pick_folders(done),
        Pick::Files => dialog.pick_files(done),
    }
    let paths = answered.await.ok().flatten().unwrap_or_default();
    Ok(app.choose(paths.into_iter().filter_map(|path| path.into_path().ok()).collect()))
}

/// Starts sending what was chosen.
#[tauri::command]
#[specta::specta]
async fn send(app: State<'_, App>, chosen: u32, target: String, code: Option<String>, verify: bool) -> Answer<Moving> {
    app.send(chosen, &target, code, verify)
}

/// The folder that a copy of what was chosen would go into; none where one has to be picked first.
#[tauri::command(async)]
#[specta::specta]
fn copy_folder(app: State<'_, App>, chosen: u32) -> Answer<Option<CopyFolder>> {
    Ok(app.copy_folder(chosen))
}

/// Asks for another folder to copy into; none where none was picked.
#[tauri::command]
#[specta::specta]
async fn choose_copy_folder(app: State<'_, App>, window: WebviewWindow, chosen: u32) -> Answer<Option<CopyFolder>> {
    let Some(folder) = pick_folder(&window, app.copy_folder_picked()).await else { return Ok(None) };
    app.pick_copy_folder(folder);
    Ok(app.copy_folder(chosen))
}

/// Starts copying what was chosen into that folder.
#[tauri::command]
#[specta::specta]
async fn copy(app: State<'_, App>, chosen: u32, existing: CopyExisting, verify: bool) -> Answer<Moving> {
    app.copy(chosen, existing, verify)
}

/// Lets a transfer's snapshots flow through the channel until it ends.
#[tauri::command]
#[specta::specta]
async fn watch(app: State<'_, App>, id: String, updates: Channel<Update>) -> Answer<()> {
    let transfer = app.transfer(&id)?;
    tokio::spawn(bridge::watch(app.inner().clone(), transfer, updates));
    Ok(())
}

/// Cancels a transfer.
#[tauri::command]
#[specta::specta]
async fn cancel(app: State<'_, App>, id: String) -> Answer<()> {
    app.transfer(&id)?.cancel();
    Ok(())
}

/// Has a transfer that waits look at once whether it can go on.
#[tauri::command]
#[specta::specta]
async fn resume(app: State<'_, App>, id: String) -> Answer<()> {
    app.transfer(&id)?.resume();
    Ok(())
}

/// Takes an ended transfer off the list.
#[tauri::command]
#[specta::specta]
async fn dismiss(app: State<'_, App>, id: String) -> Answer<()> {
    app.dismiss(&id);
    Ok(())
}

/// Shows what a transfer brought in the desktop's file manager.
#[tauri::command(async)]
#[specta::specta]
fn open_arrived(app: State<'_, App>, handle: AppHandle, id: String) -> Answer<()> {
    reveal(&handle, &app.arrived_folder(&id)?)
}

/// The latest past transfers of those that are asked for; 30 at a time.
#[tauri::command(async)]
#[specta::specta]
fn past(app: State<'_, App>, asked: Asked) -> Answer<Vec<Earlier>> {
    app.past(asked)
}

/// What is long of a past transfer.
#[tauri::command(async)]
#[specta::specta]
fn past_details(app: State<'_, App>, number: u64) -> Answer<EarlierDetails> {
    app.past_details(number)
}

/// Forgets a past transfer, not what it brought.
#[tauri::command(async)]
#[specta::specta]
fn forget_past(app: State<'_, App>, number: u64) -> Answer<()> {
    app.forget_past(number)
}

/// Forgets all past transfers, not what they brought.
#[tauri::command(async)]
#[specta::specta]
fn clear_past(app: State<'_, App>) -> Answer<()> {
    app.clear_past()
}

/// Shows what a past transfer brought in the desktop's file manager.
#[tauri::command(async)]
#[specta::specta]
fn open_past(app: State<'_, App>, handle: AppHandle, number: u64) -> Answer<()> {
    reveal(&handle, &app.past_folder(number)?)
}

fn reveal(handle: &AppHandle, folder: &Path) -> Answer<()> {
    let fault = || Fault::NoFileManager { path: shown(folder) };
    let text = folder.to_str().ok_or_else(fault)?;
    handle.opener().open_path(text, None::<&str>).map_err(|_| fault())
}

/// Takes an offer in.
#[tauri::command]
#[specta::specta]
async fn accept_offer(app: State<'_, App>, id: String, existing: Existing) -> Answer<Moving> {
    app.accept(&id, existing).await
}

/// Declines an offer.
#[tauri::command]
#[specta::specta]
async fn decline_offer(app: State<'_, App>, id: String) -> Answer<()> {
    app.decline(&id)
}

/// Asks for another folder for one offer; false where none was chosen.
#[tauri::command]
#[specta::specta]
async fn choose_offer_folder(app: State<'_, App>, window: WebviewWindow, id: String) -> Answer<bool> {
    match pick_folder(&window, None).await {
        Some(folder) => app.set_offer_folder(&id, folder).map(|()| true),
        None => Ok(false),
    }
}

/// Draws a new code.
#[tauri::command]
#[specta::specta]
async fn renew_code(app: State<'_, App>) -> Answer<()> {
    app.renew_code().await
}

/// Listens on the settings' port, or on another for this run (0: any that is free).
#[tauri::command]
#[specta::specta]
async fn listen(app: State<'_, App>, port: Option<u16>) -> Answer<()> {
    app.listen(port).await;
    Ok(())
}

/// Listens for who is nearby from now on, or no more.
#[tauri::command]
#[specta::specta]
async fn look_around(app: State<'_, App>, on: bool) -> Answer<()> {
    app.look_around(on);
    Ok(())
}

/// The address at which a device nearby answers.
#[tauri::command]
#[specta::specta]
async fn nearby_address(app: State<'_, App>, id: String) -> Answer<String> {
    app.nearby_address(&id).await
}

/// Pairs with a receiver without sending anything.
#[tauri::command]
#[specta::specta]
async fn pair(app: State<'_, App>, target: String, code: String) -> Answer<()> {
    app.pair(&target, &code).await
}

/// Renames a paired device here.
#[tauri::command]
#[specta::specta]
async fn rename_device(app: State<'_, App>, id: String, name: String) -> Answer<()> {
    app.rename_device(&id, &name)
}

/// Forgets a paired device.
#[tauri::command]
#[specta::specta]
async fn forget_device(app: State<'_, App>, id: String) -> Answer<()> {
    app.forget_device(&id)
}

/// Says what is done with a paired device's offers, and how many bytes one may have to be accepted without asking.
#[tauri::command]
#[specta::specta]
async fn set_device_rule(app: State<'_, App>, id: String, consent: Consent, max_bytes: Option<u64>) -> Answer<()> {
    app.set_device_rule(&id, consent, max_bytes)
}

/// Asks for the folder that a paired device's offers are to land in; false where none was chosen.
#[tauri::command]
#[specta::specta]
async fn choose_device_folder(app: State<'_, App>, window: WebviewWindow, id: String) -> Answer<bool> {
    match pick_folder(&window, app.device_folder(&id)?).await {
        Some(folder) => app.set_device_folder(&id, Some(folder)).map(|()| true),
        None => Ok(false),
    }
}

/// Lets a paired device's offers land in the receive folder.
#[tauri::command]
#[specta::specta]
async fn clear_device_folder(app: State<'_, App>, id: String) -> Answer<()> {
    app.set_device_folder(&id, None)
}

/// Stores name, port, and how many bytes a second each transfer may be sent at.
#[tauri::command]
#[specta::specta]
async fn save_settings(
    app: State<'_, App>,
    name: String,
    port: u16,
    send_limit: Option<u64>,
) -> Answer<StoredSettings> {
    app.save_settings(&name, port, send_limit).await
}

/// Asks for another receive folder and stores it; none where none was chosen.
#[tauri::command]
#[specta::specta]
async fn choose_receive_folder(app: State<'_, App>, window: WebviewWindow) -> Answer<Option<StoredSettings>> {
    match pick_folder(&window, None).await {
        Some(folder) => app.save_receive_folder(folder).await.map(Some),
        None => Ok(None),
    }
}

/// Asks for a folder with the desktop's own picker, which begins in `first`.
async fn pick_folder(window: &WebviewWindow, first: Option<PathBuf>) -> Option<PathBuf> {
    let (answer, answered) = tokio::sync::oneshot::channel();
    let dialog = window.dialog().file().set_parent(window);
    let dialog = first.into_iter().fold(dialog, |dialog, folder| dialog.set_directory(folder));
    dialog.pick_folder(move |path| drop(answer.send(path)));
    answered.await.ok().flatten().and_then(|path| path.into_path().ok())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use specta_typescript::Typescript;

    /// Set to `write`, the test below brings the file up to date instead of comparing (`npm run bindings`).
    const VARIABLE: &str = "RINGWAY_BINDINGS";

    #[test]
    fn bindings_are_up_to_date() {
        let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/ipc/bindings.ts");
        let folder = tempfile::tempdir().unwrap();
        let generated = folder.path().join("bindings.ts");
        let header = "// Generated from the shell's commands and types by `npm run bindings`: do not edit.\n";
        super::all().export(Typescript::default().header(header), &generated).unwrap();
        let new = std::fs::read_to_string(&generated).unwrap();
        if std::env::var(VARIABLE).as_deref() == Ok("write") {
            std::fs::write(&committed, &new).unwrap();
        }
        let old = std::fs::read_to_string(&committed).unwrap_or_default();
        assert!(old == new, "src/ipc/bindings.ts is out of date: run `npm run bindings`");
    }
}
