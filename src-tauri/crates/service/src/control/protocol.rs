//! What service and clients say to each other: one JSON object a line. Both are of one version, or
//! of versions with the same number below.
use ringway_model::{Fault, OnConflict, OnExisting};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use super::path_text::PathText;
use crate::dto::{AppEvent, Asked, Consent, Recipient, ShownSize, Update, View};
use crate::settings::{IntoHome, SettingsChange};

/// Raised whenever something below changes its shape or meaning.
pub const PROTOCOL: u32 = 7;

/// The longest line of a client, without its end: calls are short, and paths come in pieces
/// ([`Call::Gather`]).
pub const REQUEST_LEN_MAX: usize = 1 << 20;

/// The longest line of the service. What the transfers that are listed failed with, a thousand
/// entries each with names as long as they may be, is what makes an answer long.
pub const ANSWER_LEN_MAX: usize = 64 << 20;

/// The service's first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The program's version.
    pub ringway: String,
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// The service's process.
    pub pid: u32,
}

/// A client's line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Given by the client, and repeated in the answer.
    pub number: u64,
    /// What is wanted.
    pub call: Call,
}

/// What may be asked for. No Debug: there are codes among it.
#[expect(missing_docs, reason = "the fields are those of the controller's methods")]
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Call {
    /// Everything there is to show, and from then on [`Told::Event`]s.
    Start,
    /// The same without events.
    Look,
    /// Paths of a choice that does not fit into one line: [`Call::Choose`] takes them together with
    /// its own.
    Gather { paths: Vec<PathText> },
    /// Remembers what was chosen.
    Choose { paths: Vec<PathText> },
    /// Sends a choice. `confirmed` is a new target that a person said yes to in a dialog that no
    /// page draws.
    Send { chosen: u32, target: Recipient, code: Option<String>, verify: bool, confirmed: Option<String> },
    /// Where a copy of a choice would go.
    CopyFolder { chosen: u32 },
    /// Where a picker for that folder begins.
    CopyFolderPicked,
    /// Copies go into another folder from now on.
    PickCopyFolder { folder: PathText },
    /// Copies a choice.
    Copy { chosen: u32, existing: OnExisting, verify: bool },
    /// [`Told::Update`]s of a transfer until it has ended, in place of those that this client had
    /// of it before.
    Watch { id: String },
    /// Cancels a transfer.
    Cancel { id: String },
    /// Pauses a transfer.
    Pause { id: String },
    /// Lets a paused transfer go on, and has one that waits look at once whether it can.
    Resume { id: String },
    /// Takes an ended transfer off the list.
    Dismiss { id: String },
    /// The folder to show for what a transfer brought.
    ArrivedFolder { id: String },
    /// What a transfer brought, the first few.
    ArrivedPaths { id: String },
    /// Past transfers.
    Past { asked: Asked },
    /// What is long of one.
    PastDetails { number: u64 },
    /// Forgets one.
    ForgetPast { number: u64 },
    /// Forgets all.
    ClearPast,
    /// What transfers that did not end keep.
    Unfinished,
    /// Removes one of them.
    DiscardUnfinished { id: String, folder: String },
    /// The folder to show for what one brought.
    PastFolder { number: u64 },
    /// What one brought, the first few.
    PastPaths { number: u64 },
    /// What a transfer of that id sent is chosen once more.
    ChooseAgain { id: String },
    /// Takes an offer in by a yes to what was shown of it.
    Accept { id: String, shown: ShownSize, on_conflict: OnConflict },
    /// Declines an offer.
    Decline { id: String },
    /// Lets an offer land in another folder.
    SetOfferFolder { id: String, folder: PathText, into_home: IntoHome },
    /// Draws a new code.
    RenewCode,
    /// Listens on the port of the settings, or on another for this run.
    Listen { port: Option<u16> },
    /// Listens for who is nearby, or no more, as far as this client is concerned.
    LookAround { on: bool },
    /// Pairs with a receiver.
    Pair { target: Recipient, code: String },
    /// Renames a paired device here.
    RenameDevice { id: String, name: String },
    /// Forgets a paired device.
    ForgetDevice { id: String },
    /// Says what is done with a paired device's offers.
    SetDeviceRule { id: String, consent: Consent, max_bytes: Option<u64> },
    /// Where a picker for a device's folder begins.
    DeviceFolder { id: String },
    /// Says where what a paired device sends lands.
    SetDeviceFolder { id: String, folder: Option<PathText>, into_home: IntoHome },
    /// Changes settings, all of it or nothing.
    ChangeSettings { change: SettingsChange },
    /// Whether, and by what, the service starts when this user logs in.
    StartAtLogin,
    /// Has it start then, or not.
    SetStartAtLogin { on: bool },
    /// This client is the window: true, and [`Told::Raise`] from then on, unless another one is.
    BeWindow,
    /// Has the window come to the front with these paths to send, or with a view, if there is a
    /// window: whether there is.
    Raise { paths: Vec<PathText>, view: Option<View>, token: Option<String> },
    /// Ends the service as SIGTERM does.
    Stop,
}

/// A line of the service's.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Told {
    /// The first line.
    Hello(Hello),
    /// In place of the first line: there are too many clients. The connection ends.
    Busy,
    /// What came of a call.
    Answer {
        /// The request's number.
        number: u64,
        /// By the call.
        ok: Value,
    },
    /// A call that came to nothing.
    Refused {
        /// The request's number.
        number: u64,
        /// Why.
        fault: Fault,
    },
    /// Something happened.
    Event(AppEvent),
    /// A watched transfer's figures, or its end.
    Update {
        /// The transfer.
        id: String,
        /// How it stands.
        update: Update,
    },
    /// The window is to come to the front.
    Raise {
        /// What it is to offer for sending.
        paths: Vec<PathText>,
        /// What it is to show.
        view: Option<View>,
        /// The desktop's leave to do that, which was given to another process.
        token: Option<String>,
    },
    /// The last line was no request. The connection ends.
    Misunderstood {
        /// What is wrong with it, in English.
        detail: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_look_as_they_are_written_down() {
        let request = |text: &str| serde_json::from_str::<Request>(text);
        assert!(matches!(request(r#"{"number":1,"call":"start"}"#), Ok(Request { number: 1, call: Call::Start })));
        let send = r#"{"number":2,"call":{"send":{"chosen":3,"target":{"to":"typed","text":"lab"},"code":null,"verify":true,"confirmed":null}}}"#;
        assert_eq!(serde_json::to_string(&request(send).unwrap()).unwrap(), send);
        for bad in [
            "",
            "{}",
            "[]",
            "null",
            r#"{"number":1}"#,
            r#"{"number":-1,"call":"start"}"#,
            r#"{"number":1,"call":"begin"}"#,
            r#"{"number":1,"call":{"cancel":{}}}"#,
            r#"{"number":1,"call":{"cancel":{"id":"x","more":1}}}"#,
            r#"{"number":1,"call":"start","call":"stop"}"#,
        ] {
            assert!(request(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn deep_nesting_is_refused_before_it_fills_the_stack() {
        let deep = "[".repeat(REQUEST_LEN_MAX);
        assert!(serde_json::from_str::<Request>(&deep).is_err());
    }

    proptest! {
        #[test]
        fn garbage_is_refused_or_read_and_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
            let _ = serde_json::from_slice::<Request>(&bytes);
            let _ = serde_json::from_slice::<Told>(&bytes);
        }

        #[test]
        fn a_request_with_a_byte_changed_is_refused_or_read(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut line = br#"{"number":7,"call":{"accept":{"id":"00ff","shown":{"bytes":9,"isFinal":true},"on_conflict":"rename_top"}}}"#.to_vec();
            let at = at.index(line.len());
            line[at] = byte;
            let _ = serde_json::from_slice::<Request>(&line);
        }
    }
}
