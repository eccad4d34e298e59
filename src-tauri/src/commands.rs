//! What the webview may ask for: one command passes its calls to the service, and the others are
//! for what takes a channel, a native dialog or the file manager.
mod settings;

use std::path::PathBuf;

use ringway_daemon::control::protocol::{PageAnswers, PageCall};
use ringway_daemon::dto::CopyFolder;
use ringway_daemon::dto::{AppEvent, Chosen, Everything, Moving, Pick, PickedThere, Recipient, Sent, Update};
use ringway_daemon::language::Language;
use ringway_model::{Fault, IntoHome, Invalid, NoteText, OnConflict, Share, SharedWith};
use tauri::ipc::Channel;
use tauri::{AppHandle, State, WebviewWindow, Wry};
use tauri_plugin_dialog::{DialogExt, FileDialogBuilder, FilePath};
use tauri_specta::{Builder, collect_commands};

use crate::link::Link;
use crate::{clipboard, confirming, files, messages};

type Answer<T> = Result<T, Fault>;

pub(crate) use settings::FirstFolder;

/// Every command, for the application and for the generated bindings.
pub(crate) fn all() -> Builder<tauri::Wry> {
    Builder::new()
        .commands(collect_commands![
            call,
            start,
            choose_sources,
            paste_sources,
            paste_text,
            copy_text,
            send,
            choose_copy_folder,
            get_into,
            share_chosen,
            watch,
            open_arrived,
            reveal_arrived,
            open_past,
            reveal_past,
            choose_offer_folder,
            choose_device_folder,
            settings::choose_receive_folder,
            settings::choose_first_folder,
            settings::set_up,
            start_service,
        ])
        .typ::<PageAnswers>()
        .constant("NOTE_LEN_MAX", NoteText::LEN_MAX)
        // Bytes and milliseconds: JSON numbers are exact up to 9 PB and 285,000 years.
        .dangerously_cast_bigints_to_number()
        // One type each way: nothing here is serialised otherwise than it is read.
        .disable_serde_phases()
}

/// The service's answer to a call of the page, as it came. [`PageAnswers`] has its type.
#[derive(serde::Serialize, specta::Type)]
#[serde(transparent)]
struct Passed(#[specta(type = specta_typescript::Unknown)] serde_json::Value);

/// Passes a call of the page to the service. Operations that only programs may ask for do not parse
/// as a [`PageCall`].
#[tauri::command]
#[specta::specta]
async fn call(link: State<'_, Link>, call: PageCall) -> Answer<Passed> {
    link.service().await?.pass(call).await.map(Passed)
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
    let service = link.service().await?;
    let title = match pick {
        Pick::Folders => messages::dialog_pick_folders,
        Pick::Files => messages::dialog_pick_files,
    };
    let dialog = dialog_in(&window, title, service.sources_picked().await?.map(|folder| folder.0));
    let done = move |paths: Option<Vec<FilePath>>| drop(answer.send(paths));
    match pick {
        Pick::Folders => dialog.pick_folders(done),
        Pick::Files => dialog.pick_files(done),
    }
    let paths = answered.await.ok().flatten().unwrap_or_default();
    let paths: Vec<_> = paths.into_iter().filter_map(|path| path.into_path().ok()).collect();
    let service = link.service().await?;
    if let Some(folder) = paths.first().and_then(|path| path.parent()) {
        service.keep_sources_picked(folder.to_owned().into()).await?;
    }
    service.choose(paths).await
}

/// Chooses the files that were copied elsewhere, for the key that pastes; `None` if the clipboard
/// has no files.
#[tauri::command]
#[specta::specta]
async fn paste_sources(link: State<'_, Link>, window: WebviewWindow) -> Answer<Option<Chosen>> {
    let files = clipboard::copied_files(&window).await;
    link.service().await?.choose(files).await
}

/// The text that was copied elsewhere, for the key that pastes; `None` if the clipboard has none.
#[tauri::command]
#[specta::specta]
async fn paste_text(window: WebviewWindow) -> Answer<Option<String>> {
    Ok(clipboard::copied_text(&window).await)
}

/// Puts a text onto the clipboard; false if that could not be done.
#[tauri::command]
#[specta::specta]
async fn copy_text(window: WebviewWindow, text: String) -> Answer<bool> {
    Ok(clipboard::copy_text(&window, text).await)
}

/// Starts sending what was chosen, or has it wait for its turn. What was chosen from the history
/// goes to a new target only after a click in a native dialog.
#[allow(clippy::too_many_arguments, reason = "one for each field of the call")]
#[tauri::command]
#[specta::specta]
async fn send(
    link: State<'_, Link>,
    window: WebviewWindow,
    chosen: u32,
    target: Recipient,
    code: Option<String>,
    verify: bool,
    limit: Option<u64>,
    leave_out: String,
    in_share: Option<String>,
) -> Answer<Sent> {
    let service = link.service().await?;
    let refused = match service
        .send(chosen, target.clone(), code.clone(), verify, limit, leave_out.clone(), in_share.clone(), None)
        .await
    {
        Err(refused) => refused,
        begun => return begun,
    };
    match confirming::new_target(&window, &refused).await {
        Some(confirmed) => {
            service.send(chosen, target, code, verify, limit, leave_out, in_share, Some(confirmed)).await
        }
        None => Err(refused),
    }
}

/// Asks for another folder to copy into; `None` if none was picked.
#[tauri::command]
#[specta::specta]
async fn choose_copy_folder(link: State<'_, Link>, window: WebviewWindow, chosen: u32) -> Answer<Option<CopyFolder>> {
    let service = link.service().await?;
    let first = service.copy_folder_picked().await?.map(|folder| folder.0);
    let Some(folder) = pick_folder(&window, first).await else { return Ok(None) };
    service.pick_copy_folder(folder.into()).await?;
    service.copy_folder(chosen).await
}

/// Asks for a folder, and gets entries of another device's share into it; `None` if none was
/// picked.
#[allow(clippy::too_many_arguments, reason = "one for each field of the call")]
#[tauri::command]
#[specta::specta]
async fn get_into(
    link: State<'_, Link>,
    window: WebviewWindow,
    device: String,
    picked: PickedThere,
    on_conflict: OnConflict,
    verify: bool,
    limit: Option<u64>,
    leave_out: String,
) -> Answer<Option<Moving>> {
    let service = link.service().await?;
    let first = service.get_folder_picked().await?.map(|folder| folder.0);
    let Some(folder) = pick_folder(&window, first).await else { return Ok(None) };
    let get = |into_home| {
        let (service, device, picked) = (service.clone(), device.clone(), picked.clone());
        let (leave_out, folder) = (leave_out.clone(), folder.clone().into());
        async move { service.get_into(device, picked, on_conflict, verify, limit, leave_out, folder, into_home).await }
    };
    match allow_home(&window, get).await {
        Ok(moving) => Ok(Some(moving)),
        Err(Fault::Invalid(Invalid::HomeFolder { .. })) => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// Shares the folders of a choice with some paired devices, or with all; where one is a home, only
/// after a native dialog has asked. `None` if that was answered no.
#[tauri::command]
#[specta::specta]
async fn share_chosen(
    link: State<'_, Link>,
    window: WebviewWindow,
    chosen: u32,
    name: Option<String>,
    readers: SharedWith,
) -> Answer<Option<Vec<Share>>> {
    let service = link.service().await?;
    match service.share_chosen(chosen, name.clone(), readers.clone(), false).await {
        Err(Fault::Invalid(Invalid::SharedHomeFolder { folder })) => {
            if !confirming::shared_home(&window, &folder.to_string()).await {
                return Ok(None);
            }
            service.share_chosen(chosen, name, readers, true).await.map(Some)
        }
        answer => answer.map(Some),
    }
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

/// Asks for another folder for one offer; false where none was chosen.
#[tauri::command]
#[specta::specta]
async fn choose_offer_folder(link: State<'_, Link>, window: WebviewWindow, id: String) -> Answer<bool> {
    let service = link.service().await?;
    let first = service.offer_folder(id.clone()).await?.0;
    let Some(folder) = pick_folder(&window, Some(first)).await else { return Ok(false) };
    let set = |into_home| {
        let (service, id, folder) = (service.clone(), id.clone(), folder.clone());
        async move { service.set_offer_folder(id, folder.into(), into_home).await }
    };
    unless_refused(allow_home(&window, set).await)
}

/// Asks for the folder that a paired device's offers are to land in; false where none was chosen.
#[tauri::command]
#[specta::specta]
async fn choose_device_folder(link: State<'_, Link>, window: WebviewWindow, id: String) -> Answer<bool> {
    let service = link.service().await?;
    let first = service.device_folder(id.clone()).await?.map(|folder| folder.0);
    let Some(folder) = pick_folder(&window, first).await else { return Ok(false) };
    let set = |into_home| {
        let (service, id, folder) = (service.clone(), id.clone(), folder.clone());
        async move { service.set_device_folder(id, folder.into(), into_home).await }
    };
    unless_refused(allow_home(&window, set).await)
}

/// The desktop's own picker. It begins in `first`, or else in the home folder: GTK's list of recent
/// files has hardly what is looked for. Without a `title` it would have an English one.
fn dialog_in(
    window: &WebviewWindow,
    title: fn(Language) -> &'static str,
    first: Option<PathBuf>,
) -> FileDialogBuilder<Wry> {
    let dialog = window.dialog().file().set_parent(window).set_title(title(Language::of_session()));
    let first = first.filter(|folder| folder.is_dir()).or_else(std::env::home_dir);
    first.into_iter().fold(dialog, |dialog, folder| dialog.set_directory(folder))
}

/// Asks for a folder with the desktop's own picker, which begins in `first`.
async fn pick_folder(window: &WebviewWindow, first: Option<PathBuf>) -> Option<PathBuf> {
    let (answer, answered) = tokio::sync::oneshot::channel();
    dialog_in(window, messages::dialog_pick_folder, first).pick_folder(move |path| drop(answer.send(path)));
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
