//! What the webview may ask for: decode, ask the service, encode. Native dialogs are opened here,
//! never by the webview.
mod settings;

use std::path::PathBuf;

use ringway_model::{Fault, Invalid, OnConflict, OnExisting};
use ringway_service::copying::CopyFolder;
use ringway_service::dto::{
    Again, AppEvent, Asked, Chosen, Consent, Earlier, EarlierDetails, Everything, Moving, Pick, Recipient, ShownSize,
    Unfinished, Update,
};
use ringway_service::settings::IntoHome;
use tauri::ipc::Channel;
use tauri::{AppHandle, State, WebviewWindow};
use tauri_plugin_dialog::{DialogExt, FilePath};
use tauri_specta::{Builder, collect_commands};

use crate::link::Link;
use crate::{confirming, files};

type Answer<T> = Result<T, Fault>;

pub(crate) use settings::FirstFolder;

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
            pause,
            resume,
            dismiss,
            open_arrived,
            reveal_arrived,
            past,
            past_details,
            forget_past,
            clear_past,
            unfinished,
            discard_unfinished,
            choose_again,
            open_past,
            reveal_past,
            accept_offer,
            decline_offer,
            choose_offer_folder,
            renew_code,
            listen,
            look_around,
            pair,
            rename_device,
            forget_device,
            set_device_rule,
            choose_device_folder,
            clear_device_folder,
            settings::save_settings,
            settings::set_background,
            settings::set_announce,
            settings::set_receiving,
            settings::choose_receive_folder,
            settings::start_at_login,
            settings::set_start_at_login,
            settings::choose_first_folder,
            settings::set_up,
            start_service,
        ])
        // Bytes and milliseconds: JSON numbers are exact up to 9 PB and 285,000 years.
        .dangerously_cast_bigints_to_number()
        // One type each way: nothing here is serialised otherwise than it is read.
        .disable_serde_phases()
}

/// Everything to show; what changes later comes through the channel.
#[tauri::command]
#[specta::specta]
async fn start(link: State<'_, Link>, events: Channel<AppEvent>) -> Answer<Everything> {
    link.show(events).await
}

/// Has the service started that was lost; whether that went well comes as an event.
#[tauri::command]
#[specta::specta]
async fn start_service(link: State<'_, Link>) -> Answer<()> {
    link.start_again();
    Ok(())
}

/// Asks for folders or files to send with the desktop's own picker.
#[tauri::command]
#[specta::specta]
async fn choose_sources(link: State<'_, Link>, window: WebviewWindow, pick: Pick) -> Answer<Option<Chosen>> {
    let (answer, answered) = tokio::sync::oneshot::channel();
    let dialog = window.dialog().file().set_parent(&window);
    let done = move |paths: Option<Vec<FilePath>>| drop(answer.send(paths));
    match pick {
        Pick::Folders => dialog.pick_folders(done),
        Pick::Files => dialog.pick_files(done),
    }
    let paths = answered.await.ok().flatten().unwrap_or_default();
    link.service().await?.choose(paths.into_iter().filter_map(|path| path.into_path().ok()).collect()).await
}

/// Starts sending what was chosen. What was chosen from the history goes to a new target only after
/// a click in a native dialog.
#[tauri::command]
#[specta::specta]
async fn send(
    link: State<'_, Link>,
    window: WebviewWindow,
    chosen: u32,
    target: Recipient,
    code: Option<String>,
    verify: bool,
) -> Answer<Moving> {
    let service = link.service().await?;
    let refused = match service.send(chosen, target.clone(), code.clone(), verify, None).await {
        Err(refused) => refused,
        begun => return begun,
    };
    match confirming::new_target(&window, &refused).await {
        Some(confirmed) => service.send(chosen, target, code, verify, Some(confirmed)).await,
        None => Err(refused),
    }
}

/// The folder that a copy of what was chosen would go into; none where one has to be picked first.
#[tauri::command]
#[specta::specta]
async fn copy_folder(link: State<'_, Link>, chosen: u32) -> Answer<Option<CopyFolder>> {
    link.service().await?.copy_folder(chosen).await
}

/// Asks for another folder to copy into; none where none was picked.
#[tauri::command]
#[specta::specta]
async fn choose_copy_folder(link: State<'_, Link>, window: WebviewWindow, chosen: u32) -> Answer<Option<CopyFolder>> {
    let service = link.service().await?;
    let first = service.copy_folder_picked().await?.map(|folder| folder.0);
    let Some(folder) = pick_folder(&window, first).await else { return Ok(None) };
    service.pick_copy_folder(folder).await?;
    service.copy_folder(chosen).await
}

/// Starts copying what was chosen into that folder.
#[tauri::command]
#[specta::specta]
async fn copy(link: State<'_, Link>, chosen: u32, existing: OnExisting, verify: bool) -> Answer<Moving> {
    link.service().await?.copy(chosen, existing, verify).await
}

/// Lets a transfer's snapshots flow through the channel until it ends.
#[tauri::command]
#[specta::specta]
async fn watch(link: State<'_, Link>, id: String, updates: Channel<Update>) -> Answer<()> {
    let mut told = link.service().await?.watch(id).await?;
    tauri::async_runtime::spawn(async move {
        while let Some(update) = told.recv().await {
            if updates.send(update).is_err() {
                // The page is gone.
                return;
            }
        }
    });
    Ok(())
}

/// Cancels a transfer.
#[tauri::command]
#[specta::specta]
async fn cancel(link: State<'_, Link>, id: String) -> Answer<()> {
    link.service().await?.cancel(id).await
}

/// Pauses a transfer.
#[tauri::command]
#[specta::specta]
async fn pause(link: State<'_, Link>, id: String) -> Answer<()> {
    link.service().await?.pause(id).await
}

/// Lets a paused transfer go on, and has one that waits look at once whether it can.
#[tauri::command]
#[specta::specta]
async fn resume(link: State<'_, Link>, id: String) -> Answer<()> {
    link.service().await?.resume(id).await
}

/// Takes an ended transfer off the list.
#[tauri::command]
#[specta::specta]
async fn dismiss(link: State<'_, Link>, id: String) -> Answer<()> {
    link.service().await?.dismiss(id).await
}

/// Shows what a transfer brought in the desktop's file manager.
#[tauri::command]
#[specta::specta]
async fn open_arrived(link: State<'_, Link>, handle: AppHandle, id: String) -> Answer<()> {
    let folder = link.service().await?.arrived_folder(id).await?;
    files::open(&handle, &folder.0)
}

/// Selects what a transfer brought in the desktop's file manager.
#[tauri::command]
#[specta::specta]
async fn reveal_arrived(link: State<'_, Link>, handle: AppHandle, id: String) -> Answer<()> {
    files::select(handle, link.service().await?.arrived_paths(id).await?).await
}

/// The latest past transfers of those that are asked for; 30 at a time.
#[tauri::command]
#[specta::specta]
async fn past(link: State<'_, Link>, asked: Asked) -> Answer<Vec<Earlier>> {
    link.service().await?.past(asked).await
}

/// What is long of a past transfer.
#[tauri::command]
#[specta::specta]
async fn past_details(link: State<'_, Link>, number: u64) -> Answer<EarlierDetails> {
    link.service().await?.past_details(number).await
}

/// Forgets a past transfer, not what it brought.
#[tauri::command]
#[specta::specta]
async fn forget_past(link: State<'_, Link>, number: u64) -> Answer<()> {
    link.service().await?.forget_past(number).await
}

/// Forgets all past transfers, not what they brought.
#[tauri::command]
#[specta::specta]
async fn clear_past(link: State<'_, Link>) -> Answer<()> {
    link.service().await?.clear_past().await
}

/// What transfers that did not end keep.
#[tauri::command]
#[specta::specta]
async fn unfinished(link: State<'_, Link>) -> Answer<Vec<Unfinished>> {
    link.service().await?.unfinished().await
}

/// Removes what one of them keeps.
#[tauri::command]
#[specta::specta]
async fn discard_unfinished(link: State<'_, Link>, id: String, folder: String) -> Answer<()> {
    link.service().await?.discard_unfinished(id, folder).await
}

/// Shows what a past transfer brought in the desktop's file manager.
#[tauri::command]
#[specta::specta]
async fn open_past(link: State<'_, Link>, handle: AppHandle, number: u64) -> Answer<()> {
    let folder = link.service().await?.past_folder(number).await?;
    files::open(&handle, &folder.0)
}

/// Selects what a past transfer brought in the desktop's file manager.
#[tauri::command]
#[specta::specta]
async fn reveal_past(link: State<'_, Link>, handle: AppHandle, number: u64) -> Answer<()> {
    files::select(handle, link.service().await?.past_paths(number).await?).await
}

/// Chooses once more what a transfer sent, and says to whom it went.
#[tauri::command]
#[specta::specta]
async fn choose_again(link: State<'_, Link>, id: String) -> Answer<Again> {
    link.service().await?.choose_again(id).await
}

/// Takes an offer in by a yes to what was shown of it.
#[tauri::command]
#[specta::specta]
async fn accept_offer(link: State<'_, Link>, id: String, shown: ShownSize, on_conflict: OnConflict) -> Answer<Moving> {
    link.service().await?.accept(id, shown, on_conflict).await
}

/// Declines an offer.
#[tauri::command]
#[specta::specta]
async fn decline_offer(link: State<'_, Link>, id: String) -> Answer<()> {
    link.service().await?.decline(id).await
}

/// Asks for another folder for one offer; false where none was chosen.
#[tauri::command]
#[specta::specta]
async fn choose_offer_folder(link: State<'_, Link>, window: WebviewWindow, id: String) -> Answer<bool> {
    let Some(folder) = pick_folder(&window, None).await else { return Ok(false) };
    let service = link.service().await?;
    let set = |into_home| {
        let (service, id, folder) = (service.clone(), id.clone(), folder.clone());
        async move { service.set_offer_folder(id, folder, into_home).await }
    };
    unless_refused(allow_home(&window, set).await)
}

/// Draws a new code.
#[tauri::command]
#[specta::specta]
async fn renew_code(link: State<'_, Link>) -> Answer<()> {
    link.service().await?.renew_code().await
}

/// Listens on the settings' port, or on another for this run (0: any that is free).
#[tauri::command]
#[specta::specta]
async fn listen(link: State<'_, Link>, port: Option<u16>) -> Answer<()> {
    link.service().await?.listen(port).await
}

/// Listens for who is nearby from now on, or no more.
#[tauri::command]
#[specta::specta]
async fn look_around(link: State<'_, Link>, on: bool) -> Answer<()> {
    link.service().await?.look_around(on).await
}

/// Pairs with a receiver without sending anything; what it is called then.
#[tauri::command]
#[specta::specta]
async fn pair(link: State<'_, Link>, target: Recipient, code: String) -> Answer<String> {
    link.service().await?.pair(target, code).await
}

/// Renames a paired device here.
#[tauri::command]
#[specta::specta]
async fn rename_device(link: State<'_, Link>, id: String, name: String) -> Answer<()> {
    link.service().await?.rename_device(id, name).await
}

/// Forgets a paired device.
#[tauri::command]
#[specta::specta]
async fn forget_device(link: State<'_, Link>, id: String) -> Answer<()> {
    link.service().await?.forget_device(id).await
}

/// Says what is done with a paired device's offers, and how many bytes one may have to be accepted
/// without asking.
#[tauri::command]
#[specta::specta]
async fn set_device_rule(link: State<'_, Link>, id: String, consent: Consent, max_bytes: Option<u64>) -> Answer<()> {
    link.service().await?.set_device_rule(id, consent, max_bytes).await
}

/// Asks for the folder that a paired device's offers are to land in; false where none was chosen.
#[tauri::command]
#[specta::specta]
async fn choose_device_folder(link: State<'_, Link>, window: WebviewWindow, id: String) -> Answer<bool> {
    let service = link.service().await?;
    let first = service.device_folder(id.clone()).await?.map(|folder| folder.0);
    let Some(folder) = pick_folder(&window, first).await else { return Ok(false) };
    let set = |into_home| {
        let (service, id, folder) = (service.clone(), id.clone(), Some(folder.clone()));
        async move { service.set_device_folder(id, folder, into_home).await }
    };
    unless_refused(allow_home(&window, set).await)
}

/// Lets a paired device's offers land in the receive folder.
#[tauri::command]
#[specta::specta]
async fn clear_device_folder(link: State<'_, Link>, id: String) -> Answer<()> {
    link.service().await?.set_device_folder(id, None, IntoHome::Refuse).await
}

/// Asks for a folder with the desktop's own picker, which begins in `first`.
async fn pick_folder(window: &WebviewWindow, first: Option<PathBuf>) -> Option<PathBuf> {
    let (answer, answered) = tokio::sync::oneshot::channel();
    let dialog = window.dialog().file().set_parent(window);
    let dialog = first.into_iter().fold(dialog, |dialog, folder| dialog.set_directory(folder));
    dialog.pick_folder(move |path| drop(answer.send(path)));
    answered.await.ok().flatten().and_then(|path| path.into_path().ok())
}

/// Has a folder set that was picked; where it is a home, only after a native dialog has asked. The
/// fault is still [`Invalid::HomeFolder`] if that was answered no: the page can neither answer the
/// dialog nor say what it asks.
async fn allow_home<T, Set>(window: &WebviewWindow, set: impl Fn(IntoHome) -> Set) -> Answer<T>
where
    Set: Future<Output = Answer<T>>,
{
    let ask = |folder: String| async move { confirming::home(window, &folder).await };
    set_asking(set, ask).await
}

async fn set_asking<T, Set, Asked>(set: impl Fn(IntoHome) -> Set, ask: impl FnOnce(String) -> Asked) -> Answer<T>
where
    Set: Future<Output = Answer<T>>,
    Asked: Future<Output = bool>,
{
    let fault = match set(IntoHome::Refuse).await {
        Err(fault) => fault,
        set => return set,
    };
    match &fault {
        Fault::Invalid(Invalid::HomeFolder { folder }) if ask(folder.to_string()).await => {
            set(IntoHome::NoDotNames).await
        }
        _ => Err(fault),
    }
}

/// Whether a folder was set: a home that was not allowed after all is no fault to show.
fn unless_refused(set: Answer<()>) -> Answer<bool> {
    match set {
        Ok(()) => Ok(true),
        Err(Fault::Invalid(Invalid::HomeFolder { .. })) => Ok(false),
        Err(fault) => Err(fault),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::future::ready;
    use std::path::Path;

    use super::*;

    use specta_typescript::Typescript;

    /// What was set and asked when somebody picks a folder that is a home, or is none, and answers
    /// so.
    fn picked(is_home: bool, yes: bool) -> (Answer<bool>, Vec<String>) {
        let done = RefCell::new(Vec::new());
        let set = |into_home| {
            done.borrow_mut().push(format!("{into_home:?}"));
            let why = Invalid::HomeFolder { folder: "/home/me".into() };
            ready(match into_home == IntoHome::Refuse && is_home {
                true => Err(Fault::Invalid(why)),
                false => Ok(()),
            })
        };
        let ask = |folder: String| {
            done.borrow_mut().push(format!("ask about {folder}"));
            ready(yes)
        };
        let answer = tauri::async_runtime::block_on(set_asking(set, ask));
        (unless_refused(answer), done.into_inner())
    }

    #[test]
    fn a_home_that_was_picked_is_set_only_after_the_person_has_allowed_it() {
        let (answer, done) = picked(true, true);
        assert!(answer.unwrap());
        assert_eq!(done, ["Refuse", "ask about /home/me", "NoDotNames"]);
        let (answer, done) = picked(true, false);
        assert!(!answer.unwrap());
        assert_eq!(done, ["Refuse", "ask about /home/me"]);
        let (answer, done) = picked(false, true);
        assert!(answer.unwrap());
        assert_eq!(done, ["Refuse"]);
    }

    /// Set to `write`, the test below brings the file up to date instead of comparing (`npm run
    /// bindings`).
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
