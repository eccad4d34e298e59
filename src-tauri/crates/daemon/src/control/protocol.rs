//! What service and clients say to each other: one JSON object a line. Both are of one version, or
//! of versions with the same number below.
use ringway_model::Fault;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::api::operations;
use super::api::types::*;
pub use crate::dto::GivenPath;
use crate::dto::{AppEvent, Update};

/// Raised whenever something below changes its shape or meaning.
pub const PROTOCOL: u32 = 19;

/// The longest line of a client, without its end. The longest call gets picked entries of a folder:
/// 65,536 names with 4 MiB, whose bytes take seven each at most (`\xNN`, and two digits more).
/// Paths of this device come in pieces ([`Call::Gather`]).
pub const REQUEST_LEN_MAX: usize = 32 << 20;

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

/// The types that a field of the page's calls may have. None of them holds a path, leave to receive
/// into a home, or a change of settings.
trait PageField {}

macro_rules! page_fields {
    ($($type:ty),+) => {
        $(impl PageField for $type {})+
    };
}

page_fields!(
    bool, u16, u32, u64, String, Consent, DeviceId, DropBox, OnCancel, OnConflict, OnExisting, PastQuery, Recipient,
    SharedWith, ShownSize
);

// What a path in another device's share says, that device looks at.
page_fields!(PathThere, PickedThere);

impl<T: PageField> PageField for Option<T> {}

impl<T: PageField> PageField for Vec<T> {}

/// Generates [`Call`], [`PageCall`] and [`PageAnswers`] from the rows of the API.
macro_rules! calls {
    (page { $($page:tt)+ } programs { $($programs:tt)+ } by_hand { $($by_hand:tt)+ }) => {
        calls! { @all $($page)+ $($programs)+ $($by_hand)+ }
        calls! { @page $($page)+ }
    };
    (@all $(
        $(#[$doc:meta])+ $variant:ident $name:ident $(($($field:ident: $type:ty),+))? -> $answer:ty
            = $manner:ident |$on:ident| $does:expr;
    )+) => {
        /// What may be asked for. No Debug: there are codes among it.
        #[expect(missing_docs, reason = "the fields are those of the controller's methods")]
        #[derive(Serialize, Deserialize)]
        #[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
        pub enum Call {
            $($(#[$doc])+ $variant $({ $($field: $type),+ })?,)+
        }
    };
    (@page $(
        $(#[$doc:meta])+ $variant:ident $name:ident $(($($field:ident: $type:ty),+))? -> $answer:ty
            = $manner:ident |$on:ident| $does:expr;
    )+) => {
        /// What the window's page may ask for, in the same JSON. Nothing else parses as one.
        #[expect(missing_docs, reason = "the fields are those of the controller's methods")]
        #[derive(Deserialize)]
        #[cfg_attr(feature = "bindings", derive(specta::Type))]
        #[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
        pub enum PageCall {
            $($(#[$doc])+ $variant $({ $($field: $type),+ })?,)+
        }

        const _: () = {
            const fn is_page_field<T: PageField>() {}
            $($($(is_page_field::<$type>();)+)?)+
        };

        impl From<PageCall> for Call {
            fn from(call: PageCall) -> Self {
                match call {
                    $(PageCall::$variant $({ $($field),+ })? => Self::$variant $({ $($field),+ })?,)+
                }
            }
        }

        /// The type of the answer to each call of the page, for the bindings. Nothing makes one.
        #[cfg(feature = "bindings")]
        #[derive(Serialize, specta::Type)]
        #[serde(rename_all = "camelCase")]
        pub struct PageAnswers {
            $($(#[$doc])+ pub $name: $answer,)+
        }
    };
}
operations!(calls);

/// A line of the service's.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Told {
    /// The first line.
    Hello(Hello),
    /// In place of the first line: there are too many clients. The connection ends.
    Busy,
    /// The result of a call.
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
        paths: Vec<GivenPath>,
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
        let send = r#"{"number":2,"call":{"send":{"chosen":3,"target":{"to":"typed","text":"lab"},"code":null,"verify":true,"limit":null,"leaveOut":"","inShare":null,"confirmed":null}}}"#;
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
            r#"{"number":1,"call":{"cancel":{"id":"x"}}}"#,
            r#"{"number":1,"call":{"cancel":{"id":"x","then":"leave"}}}"#,
            r#"{"number":1,"call":{"cancel":{"id":"x","then":"keep","more":1}}}"#,
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

    /// Calls that programs may make and the page must not.
    const BEYOND_THE_PAGE: [&str; 19] = [
        r#""start""#,
        r#"{"gather":{"paths":["/etc"]}}"#,
        r#"{"choose":{"paths":["/etc"]}}"#,
        r#"{"send":{"chosen":1,"target":{"to":"typed","text":"a"},"code":null,"verify":true,"limit":null,"leaveOut":"","inShare":null,"confirmed":"a"}}"#,
        r#"{"pickCopyFolder":{"folder":"/etc"}}"#,
        r#""copyFolderPicked""#,
        r#"{"arrivedFolder":{"id":"a"}}"#,
        r#"{"pastPaths":{"number":1}}"#,
        r#"{"setOfferFolder":{"id":"a","folder":"/home","intoHome":"dot_names"}}"#,
        r#"{"deviceFolder":{"id":"a"}}"#,
        r#"{"setDeviceFolder":{"id":"a","folder":"/home","intoHome":"dot_names"}}"#,
        r#"{"changeSettings":{"change":{"receiveFolder":"/home","intoHome":"dot_names"}}}"#,
        r#"{"addShare":{"folder":"/etc","name":"a","with":{"with":"all"},"allowHome":true}}"#,
        r#"{"shareChosen":{"chosen":1,"name":null,"with":{"with":"all"},"allowHome":true}}"#,
        r#"{"getInto":{"device":"a","picked":{"folder":{"share":"a","names":[]},"names":[]},"onConflict":"replace","verify":false,"limit":null,"leaveOut":"","folder":"/home","intoHome":"dot_names"}}"#,
        r#"{"watch":{"id":"a"}}"#,
        r#""beWindow""#,
        r#"{"raise":{"paths":["/etc"],"view":null,"token":null}}"#,
        r#""stop""#,
    ];

    #[test]
    fn the_page_cannot_name_paths_confirm_or_end_the_service() {
        for call in BEYOND_THE_PAGE {
            assert!(serde_json::from_str::<Call>(call).is_ok(), "{call} is no call");
            assert!(serde_json::from_str::<PageCall>(call).is_err(), "{call}");
        }
        for (call, more) in [
            (r#"{"clearDeviceFolder":{"id":"a"}}"#, r#","folder":"/home"}}"#),
            (r#"{"saveSettings":{"name":"a","port":1,"sendLimit":null}}"#, r#","receiveFolder":"/home"}}"#),
        ] {
            assert!(serde_json::from_str::<PageCall>(call).is_ok(), "{call}");
            let with_more = call.replace("}}", more);
            assert!(serde_json::from_str::<PageCall>(&with_more).is_err(), "{with_more}");
        }
    }

    /// A type with [`specta::Type`] has `Absent` twice. Then the compiler cannot tell which one is
    /// meant below, and rejects this test.
    #[cfg(feature = "bindings")]
    #[test]
    fn paths_homes_and_changes_of_settings_are_no_types_of_the_bindings() {
        trait Absent<By> {
            fn holds() {}
        }
        struct Type;
        impl<T: ?Sized> Absent<()> for T {}
        impl<T: ?Sized + specta::Type> Absent<Type> for T {}
        <GivenPath as Absent<_>>::holds();
        <IntoHome as Absent<_>>::holds();
        <SettingsChange as Absent<_>>::holds();
    }

    proptest! {
        #[test]
        fn garbage_is_refused_or_read_and_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
            let _ = serde_json::from_slice::<Request>(&bytes);
            let _ = serde_json::from_slice::<Told>(&bytes);
        }

        #[test]
        fn a_request_with_a_byte_changed_is_refused_or_read(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut line = br#"{"number":7,"call":{"accept":{"id":"00ff","shown":{"bytes":9,"is_final":true},"on_conflict":"rename_top"}}}"#.to_vec();
            let at = at.index(line.len());
            line[at] = byte;
            let _ = serde_json::from_slice::<Request>(&line);
        }
    }
}
