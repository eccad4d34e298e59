//! Ringway's engine: jobs that move folders, reported as events and progress, behind one handle
//! for command and window.
#![forbid(unsafe_code)]

mod admission;
#[cfg(test)]
#[path = "../../../../tests/deadline.rs"]
mod deadline;
mod devices;
mod engine;
pub mod limits;
mod local;
mod reach;
mod receiving;
mod send;
mod shared;
mod store;
mod transfers;
mod wire_convert;

pub use devices::{device, reference, rules, target};
pub use engine::remedy;
pub use local::{paths, private};
pub use receiving::{event, receive};
pub use send::dry_run;
pub use store::{history, series};
pub use transfers::{copying, options, transfer};

pub use devices::reference::{PathInShare, Reference};
pub use devices::rules::Decision;
pub use devices::target::{Address, Target, parse_zoned};
pub use engine::unfinished::FoundUnfinished;
pub use engine::{Engine, draw_transfer_id};
pub use local::default_folder::default_folder;
pub use local::paths::Paths;
pub use reach::discovery::{Announced, Nearby};
pub use receiving::asking::Asker;
pub use receiving::event::ReceiverEvent;
pub use receiving::getting::picked::picked;
pub use receiving::receive::{IncomingOffer, Receiver, ShownCode};
pub use ringway_sys::heap::return_large_blocks;
pub use ringway_sys::output::was_closed as is_output_closed;
pub use ringway_tree::filesystem::{free_space, selection};
pub use ringway_tree::receive::{close_folders, covered_by};
pub use ringway_tree::send::{Measured, measure};
pub use ringway_wire::ProtocolError;
pub use ringway_wire::announcement::{Announcement, Fingerprint};
pub use ringway_wire::code::{GivenSecret, PairingSecret, SecretError};
pub use send::browse::{Browsed, Browser, Carrier, Listed, Unread};
pub use send::note::{NoteOutage, NoteRequest, NoteWaits};
pub use store::history::{KeptAttributes, Landing, LastStarted, Reget, Remembered, Resend};
pub use transfers::copying::{CopyOptions, CopyRequest, KernelCopy, PlannedFn, ReflinkMode};
pub use transfers::options::{AcceptOptions, GetRequest, ReceiveOptions, SendRequest, TransferOptions};
pub use transfers::transfer::Transfer;
