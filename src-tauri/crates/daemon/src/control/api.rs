//! The control API: defines each operation once, and leaves what is generated from that to others.
//!
//! A user of [`operations`] hands it a macro, which gets all rows: `protocol` generates the enums
//! and the types of the bindings, `client` the methods, `guest` the dispatch.
//!
//! A row is `Variant method(field: Type, ...) -> Answer = manner |on| expression;`. The manner says
//! where the service evaluates the expression, and what `on` is:
//!
//! | manner | evaluated | `on` |
//! |---|---|---|
//! | `ordered` | before the service reads the client's next request | `Guest`: this client |
//! | `task` | in a task of its own, which may await | `Shared`: what all clients share |
//! | `blocking` | on a thread of its own, which may wait for a disk | `App`: the controller |

/// The types of fields and answers, for the modules that use the rows.
pub(super) mod types {
    pub(crate) use ringway_model::{
        Consent, DeviceId, Difference, DropBox, EntryKind, IntoHome, OnCancel, OnConflict, OnExisting, PairingRequest,
        PastDetails, PastQuery, SettingsInForce, Share, SharedWith, ShownSize,
    };

    pub(crate) use crate::dto::{
        About, Again, Chosen, ComparedBefore, CopyFolder, Earlier, Everything, GivenPath, ListingPage, Moving,
        NoteContents, PathThere, PickedThere, Recipient, Sent, SettingsChange, StartAtLogin, UnfinishedList, View,
    };
}

/// Hands all operations to the macro `generate`, in three groups:
///
/// - `page`: the window's page may ask for these without a dialog. It is less trusted than
///   programs, so no row may take a path, leave to receive into a home, or a confirmation. A row
///   with a field whose type is not listed as `PageField` in `protocol` does not compile.
/// - `programs`: only the shell and the command may ask for these.
/// - `by_hand`: likewise, but `Client` has methods for them that do more than ask.
macro_rules! operations {
    ($generate:ident) => {
        $generate! {
            page {
                /// Two choices as one, each thing once.
                JoinChosen join_chosen(chosen: u32, added: u32) -> Chosen =
                    blocking |app| app.choices.join(chosen, added)?;
                /// A choice without one of its items; none if it was the only one.
                WithoutItem without_item(chosen: u32, item: u32) -> Option<Chosen> =
                    blocking |app| app.choices.without_item(chosen, item)?;
                /// A choice without the items of another one; none if nothing is left.
                WithoutChosen without_chosen(chosen: u32, other: u32) -> Option<Chosen> =
                    blocking |app| app.choices.without_chosen(chosen, other)?;
                /// Counts a choice's items for this client, which is sent their sizes; none ends
                /// that. What the patterns leave out is not in the sizes; their errors are told.
                CountChosen count_chosen(chosen: Option<u32>, leave_out: String) -> () =
                    ordered |guest| guest.count_chosen(chosen, &leave_out)?;
                /// Has a waiting transfer change places with the one before or behind it that goes
                /// to the same device.
                ShiftWaiting shift_waiting(id: String, up: bool) -> () =
                    blocking |app| app.sending.queue.shift(&id, up)?;
                /// Removes a transfer that waits for its turn.
                RemoveWaiting remove_waiting(id: String) -> () = blocking |app| app.sending.queue.remove(&id)?;
                /// Where a copy of a choice would go; none if a folder must be picked first.
                CopyFolder copy_folder(chosen: u32) -> Option<CopyFolder> = blocking |app| app.copying.folder(chosen);
                /// Copies a choice into that folder, without what the patterns leave out: one a
                /// line, as in a .gitignore file.
                Copy copy(chosen: u32, existing: OnExisting, verify: bool, leave_out: String) -> Moving =
                    blocking |app| app.copying.start(chosen, existing, verify, &leave_out)?;
                /// Cancels a transfer, and says whether the receiver keeps what has arrived. Once
                /// that is decided it fails where it is too late.
                Cancel cancel(id: String, then: OnCancel) -> () =
                    task |shared| shared.app.transfers.find(&id)?.cancel_decided(then).await?;
                /// Pauses a transfer.
                Pause pause(id: String) -> () = blocking |app| app.transfers.find(&id)?.pause()?;
                /// Resumes a paused transfer. One that waits to reconnect tries at once.
                Resume resume(id: String) -> () = blocking |app| app.transfers.find(&id)?.resume();
                /// Takes an ended transfer off the list.
                Dismiss dismiss(id: String) -> () = blocking |app| app.transfers.dismiss(&id);
                /// The same, and removes it from the history; its files stay.
                ForgetTransfer forget_transfer(id: String) -> () = blocking |app| app.forget_transfer(&id)?;
                /// The latest past transfers that match; 30 at a time.
                Past past(query: PastQuery) -> Vec<Earlier> = blocking |app| app.history.page(&query)?;
                /// The details of one, which may be long.
                PastDetails past_details(number: u64) -> PastDetails = blocking |app| app.history.details(number)?;
                /// Removes one from the history; its files stay.
                ForgetPast forget_past(number: u64) -> () = blocking |app| app.history.forget(number)?;
                /// Empties the history; the files stay.
                ClearPast clear_past -> () = blocking |app| app.history.clear()?;
                /// The text of a note.
                NoteContents note_contents(number: u64) -> NoteContents =
                    blocking |app| app.notes.contents(number)?;
                /// A person has seen the text of a note: it may make room for others.
                ReadNote read_note(number: u64) -> () = blocking |app| app.notes.read(number)?;
                /// Deletes a note.
                ForgetNote forget_note(number: u64) -> () = blocking |app| app.notes.forget(number)?;
                /// Sends a note; the answer is the device's name, once the note is kept there.
                SendNote send_note(target: Recipient, text: String, code: Option<String>) -> String =
                    task |shared| shared.app.sending.note(&target, text, code).await?;
                /// The staging folders of unfinished transfers.
                Unfinished unfinished -> UnfinishedList = blocking |app| app.unfinished.list()?;
                /// Removes one of them, by its id and folder as listed.
                DiscardUnfinished discard_unfinished(id: String, folder: String) -> () =
                    blocking |app| app.unfinished.discard(&id, &folder)?;
                /// Chooses again what the transfer of that id sent, and names its target.
                ChooseAgain choose_again(id: String) -> Again = blocking |app| app.sending.choose_again(&id)?;
                /// Accepts an offer of the size that the person saw.
                Accept accept(id: String, shown: ShownSize, on_conflict: OnConflict) -> Moving =
                    task |shared| shared.app.offers.accept(&id, shown, on_conflict).await?;
                /// The entries of an offer that differ from what is in its folder, as that policy
                /// goes by them and as far as they were found; at most 1,000.
                OfferDifferences offer_differences(id: String, on_conflict: OnConflict) -> Vec<Difference> =
                    blocking |app| app.offers.differences(&id, on_conflict)?;
                /// How a transfer's offer compared with its folder before it was received; none
                /// if that is not kept any more.
                ComparedBefore compared_before(id: String) -> Option<ComparedBefore> =
                    blocking |app| app.transfers.compared_before(&id);
                /// What each of the first few paths is now that a transfer received.
                ArrivedKinds arrived_kinds(id: String) -> Vec<Option<EntryKind>> =
                    blocking |app| app.transfers.arrived_kinds(&id)?;
                /// The same of a past transfer.
                PastKinds past_kinds(number: u64) -> Vec<Option<EntryKind>> =
                    blocking |app| app.history.kinds(number)?;
                /// Declines an offer.
                Decline decline(id: String) -> () = blocking |app| app.offers.decline(&id)?;
                /// Lets a device that wants to pair try a code. If none is open, one is drawn.
                AllowPairing allow_pairing(id: String) -> () =
                    task |shared| shared.app.receiving.allow_pairing(&id).await?;
                /// Takes a device's wish to pair off the screen for a while.
                DismissPairing dismiss_pairing(id: String) -> () =
                    blocking |app| app.receiving.requests.dismiss(&id)?;
                /// Shows nothing of that device any more, nor of others at its address, until the
                /// service ends.
                BlockPairing block_pairing(id: String) -> () = task |shared| shared.app.receiving.block_pairing(&id).await?;
                /// The requests of the devices that are blocked.
                BlockedPairings blocked_pairings -> Vec<PairingRequest> =
                    blocking |app| app.receiving.requests.blocked();
                /// Takes a block back: its request is shown again.
                UnblockPairing unblock_pairing(id: DeviceId) -> () =
                    blocking |app| app.receiving.requests.unblock(id)?;
                /// Asks a receiver to show its code; the answer is its name where both are paired
                /// already.
                RequestPairing request_pairing(target: Recipient) -> Option<String> =
                    task |shared| shared.app.sending.request_pairing(&target).await?;
                /// Draws a new code.
                RenewCode renew_code -> () = task |shared| shared.app.receiving.renew_code().await?;
                /// Listens on the port of the settings, or on another for this run (0: a free one).
                Listen listen(port: Option<u16>) -> () = task |shared| shared.app.receiving.listen(port).await;
                /// Starts or stops looking for nearby devices, for this client.
                LookAround look_around(on: bool) -> () = ordered |guest| guest.look_around(on);
                /// Pairs with a receiver without sending anything; the answer is its name.
                Pair pair(target: Recipient, code: String) -> String =
                    task |shared| shared.app.sending.pair(&target, &code).await?;
                /// Renames a paired device here.
                RenameDevice rename_device(id: String, name: String) -> () =
                    blocking |app| app.devices.rename(&id, &name)?;
                /// Forgets a paired device.
                ForgetDevice forget_device(id: String) -> () = blocking |app| app.devices.forget(&id)?;
                /// Sets how a paired device's offers are answered, and the size up to which they
                /// are accepted without asking.
                SetDeviceRule set_device_rule(id: String, consent: Consent, bytes_max: Option<u64>) -> () =
                    blocking |app| app.devices.set_rule(&id, consent, bytes_max)?;
                /// Receives a paired device's offers into the receive folder.
                ClearDeviceFolder clear_device_folder(id: String) -> () =
                    blocking |app| app.devices.set_folder(&id, None, ringway_model::IntoHome::Refuse)?;
                /// The folders that paired devices may read, and which of them cannot be read now.
                Shares shares -> Vec<Share> = blocking |app| app.shares.list()?;
                /// Has other devices read a share than before.
                SetReaders set_readers(name: String, with: SharedWith) -> () =
                    blocking |app| app.shares.set_readers(&name, &with)?;
                /// Shares a folder no longer; its files stay.
                RemoveShare remove_share(name: String) -> () = blocking |app| app.shares.remove(&name)?;
                /// Makes a share a drop box, into which its devices may also send, or none.
                SetDropBox set_drop_box(name: String, drop: Option<DropBox>) -> () =
                    blocking |app| app.shares.set_drop(&name, drop)?;
                /// Lists the shares of a paired device, or what is in a folder of one, for this
                /// client. What it has listed before is given up. The answer is the listing's
                /// number.
                Browse browse(device: String, at: Option<PathThere>) -> u32 =
                    ordered |guest| guest.browse(&device, at)?;
                /// The next page of a listing, once it is there.
                ReadListing read_listing(listing: u32) -> ListingPage =
                    task |shared| shared.app.browsing.read(listing).await?;
                /// Gives up what this client has listed, and leaves the device.
                StopBrowsing stop_browsing -> () = ordered |guest| guest.stop_browsing();
                /// Gets what was picked in a folder of a paired device into the receive folder,
                /// `limit` bytes/s at most, without what the patterns leave out of each entry: one
                /// a line, as in a .gitignore file.
                Get get(
                    device: String,
                    picked: PickedThere,
                    on_conflict: OnConflict,
                    verify: bool,
                    limit: Option<u64>,
                    leave_out: String
                ) -> Moving = blocking |app| {
                    let how = HowToGet { on_conflict, verify, limit, leave_out };
                    app.getting.get(&device, picked, how, None)?
                };
                /// Gets again what the transfer of that id got, into the same folder, at most
                /// `limit` bytes/s.
                GetAgain get_again(id: String, limit: Option<u64>) -> Moving =
                    blocking |app| app.getting.again(&id, limit)?;
                /// Stores name, port, and the rate limit of each transfer that is sent, in bytes/s.
                SaveSettings save_settings(name: String, port: u16, send_limit: Option<u64>) -> SettingsInForce =
                    task |shared| {
                        let send_limit = Some(send_limit.into());
                        let change = SettingsChange { name: Some(name), port: Some(port), send_limit, ..Default::default() };
                        shared.app.settings.change(change).await?
                    };
                /// Stores whether the service continues when the window is closed.
                SetBackground set_background(background: bool) -> SettingsInForce = task |shared| {
                    let change = SettingsChange { background: Some(background), ..Default::default() };
                    shared.app.settings.change(change).await?
                };
                /// Stores whether this device announces itself, and looks for others.
                SetAnnounce set_announce(announce: bool) -> SettingsInForce = task |shared| {
                    let change = SettingsChange { announce: Some(announce), ..Default::default() };
                    shared.app.settings.change(change).await?
                };
                /// Stores whether this device receives.
                SetReceiving set_receiving(receiving: bool) -> SettingsInForce = task |shared| {
                    let change = SettingsChange { receiving: Some(receiving), ..Default::default() };
                    shared.app.settings.change(change).await?
                };
                /// Stores whether the service keeps the access control lists of what it receives
                /// and gets.
                SetAcls set_acls(acls: bool) -> SettingsInForce = task |shared| {
                    let change = SettingsChange { acls: Some(acls), ..Default::default() };
                    shared.app.settings.change(change).await?
                };
                /// Whether, and by what, the service starts when this user logs in.
                StartAtLogin start_at_login -> StartAtLogin = blocking |app| app.settings.start_at_login()?;
                /// Switches the start at login on or off.
                SetStartAtLogin set_start_at_login(on: bool) -> StartAtLogin =
                    blocking |app| app.settings.set_start_at_login(on)?;
                /// This program's version, and where it keeps what it owns.
                About about -> About = blocking |app| app.about()?;
                /// What `ringway doctor` prints, which has no secrets.
                Diagnose diagnose -> String = blocking |app| app.diagnose()?;
            }
            programs {
                /// Everything to show. The client is sent events from then on.
                Start start -> Everything = ordered |guest| guest.start()?;
                /// Everything to show, without events.
                Look look -> Everything = blocking |app| app.everything()?;
                /// Sends a choice, `limit` bytes/s at most if that is not what the settings say,
                /// without what the patterns leave out: one a line, as in a .gitignore file.
                /// `confirmed` is a new target that a person confirmed in a dialog that no page
                /// draws. `in_share` is the place in a drop box there, as `SHARE/PATH`.
                Send send(
                    chosen: u32,
                    target: Recipient,
                    code: Option<String>,
                    verify: bool,
                    limit: Option<u64>,
                    leave_out: String,
                    in_share: Option<String>,
                    confirmed: Option<String>
                ) -> Sent = task |shared| {
                        let (app, target) = (shared.app.clone(), shared.app.sending.target(&target).await?);
                        let how = HowToSend { verify, limit, leave_out, in_share };
                        aside(move || app.sending.send(chosen, target, code, how, confirmed.as_deref())).await?
                    };
                /// The folder in which a picker for the folder of copies begins.
                CopyFolderPicked copy_folder_picked -> Option<GivenPath> =
                    blocking |app| app.copying.picked().map(GivenPath);
                /// Sets the folder that copies go into.
                PickCopyFolder pick_copy_folder(folder: GivenPath) -> () = blocking |app| app.copying.pick(folder.0);
                /// The folder to show for what a transfer received.
                ArrivedFolder arrived_folder(id: String) -> GivenPath = blocking |app| app.transfers.arrived_folder(&id)?.into();
                /// The first few paths that a transfer received.
                ArrivedPaths arrived_paths(id: String) -> Vec<GivenPath> =
                    blocking |app| app.transfers.arrived_paths(&id)?.into_iter().map(GivenPath).collect();
                /// The folder to show for what a past transfer received.
                PastFolder past_folder(number: u64) -> GivenPath = blocking |app| app.history.folder(number)?.into();
                /// The first few paths that a past transfer received, or sent.
                PastPaths past_paths(number: u64) -> Vec<GivenPath> =
                    blocking |app| app.history.paths(number)?.into_iter().map(GivenPath).collect();
                /// The folder in which a picker for an offer's folder begins.
                OfferFolder offer_folder(id: String) -> GivenPath = blocking |app| app.offers.folder(&id)?.into();
                /// The folder in which a picker for what is sent begins; none if none was picked.
                SourcesPicked sources_picked -> Option<GivenPath> =
                    blocking |app| app.sources_picked.offered().map(GivenPath);
                /// Has the next picker for what is sent begin in that folder.
                KeepSourcesPicked keep_sources_picked(folder: GivenPath) -> () =
                    blocking |app| app.sources_picked.pick(folder.0);
                /// Receives one offer into another folder.
                SetOfferFolder set_offer_folder(id: String, folder: GivenPath, into_home: IntoHome) -> () =
                    blocking |app| app.offers.set_folder(&id, folder.0, into_home)?;
                /// The folder in which a picker for a device's folder begins.
                DeviceFolder device_folder(id: String) -> Option<GivenPath> =
                    blocking |app| app.devices.folder(&id)?.map(GivenPath);
                /// Sets the folder that a paired device's offers are received into.
                SetDeviceFolder set_device_folder(id: String, folder: GivenPath, into_home: IntoHome) -> () =
                    blocking |app| app.devices.set_folder(&id, Some(folder.0), into_home)?;
                /// Shares a folder with some paired devices, or with all. The same folder under the
                /// same name is shared with those that are named now. `allow_home` lets it be a
                /// home folder.
                AddShare add_share(folder: GivenPath, name: String, with: SharedWith, allow_home: bool) -> Share =
                    blocking |app| app.shares.add(folder.0, &name, &with, allow_home)?;
                /// Shares the folders of a choice; the name is for one folder.
                ShareChosen share_chosen(chosen: u32, name: Option<String>, with: SharedWith, allow_home: bool) -> Vec<Share> =
                    blocking |app| app.shares.add_chosen(chosen, name.as_deref(), &with, allow_home)?;
                /// The folder in which a picker for a folder to get into begins; none if none was
                /// picked.
                GetFolderPicked get_folder_picked -> Option<GivenPath> =
                    blocking |app| app.getting.folder_picked.offered().map(GivenPath);
                /// Gets what was picked in a folder of a paired device into that folder.
                GetInto get_into(
                    device: String,
                    picked: PickedThere,
                    on_conflict: OnConflict,
                    verify: bool,
                    limit: Option<u64>,
                    leave_out: String,
                    folder: GivenPath,
                    into_home: IntoHome
                ) -> Moving = blocking |app| {
                    let how = HowToGet { on_conflict, verify, limit, leave_out };
                    app.getting.get(&device, picked, how, Some((folder.0, into_home)))?
                };
                /// Changes settings, all or none.
                ChangeSettings change_settings(change: SettingsChange) -> SettingsInForce =
                    task |shared| shared.app.settings.change(change).await?;
                /// Makes this client the window, which is sent `Told::Raise` from then on; false if
                /// another client is the window.
                BeWindow be_window -> bool = ordered |guest| guest.be_window();
                /// Ends the service as SIGTERM does.
                Stop stop -> () = task |shared| shared.stop.notify_one();
            }
            by_hand {
                /// Adds paths of a choice that does not fit into one line. The next `Choose` takes
                /// them together with its own.
                Gather gather(paths: Vec<GivenPath>) -> () = ordered |guest| guest.gather(paths)?;
                /// Remembers what was chosen; none if that is nothing.
                Choose choose(paths: Vec<GivenPath>) -> Option<Chosen> = ordered |guest| guest.choose(paths).await?;
                /// Sends this client updates of a transfer until it ends. An earlier watch of the
                /// same transfer ends.
                Watch watch(id: String) -> () = ordered |guest| guest.watch(id)?;
                /// Brings the window to the front with these paths to send, or with a view; false
                /// if there is no window. `token` is the caller's activation token of the desktop.
                Raise raise(paths: Vec<GivenPath>, view: Option<View>, token: Option<String>) -> bool =
                    task |shared| shared.raise(paths, view, token);
            }
        }
    };
}
pub(super) use operations;
