//! The state of transfers at one moment.
mod state;

use std::num::NonZeroU32;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::device::DeviceId;
use crate::fault::Interruption;
use crate::text::{PathText, Text};
use crate::transfer::{Bottleneck, Direction, PathTaken, Stage};

pub use state::{TransferAction, TransferState, TransferStatus};

/// A transfer's figures at one moment. They are cheap to take and meant to be polled 10 to 20 times
/// a second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Progress {
    /// Its stage.
    pub stage: Stage,
    /// What the other device is called here, once it is authenticated.
    pub peer: Option<Text>,
    /// The other device's id. A name may change, or become another device's.
    pub peer_id: Option<DeviceId>,
    /// Entries (files, folders, links) done: written at the receiver.
    pub entries_done: u64,
    /// Entries found so far; final when [`Self::totals_final`].
    pub entries_total: u64,
    /// Bytes of file contents done: written at the receiver.
    pub bytes_done: u64,
    /// Bytes of these that were sent, or copied. The others were there already, or belong to files
    /// that stay by the receiver's policy.
    pub bytes_moved: u64,
    /// Bytes found so far; final when [`Self::totals_final`].
    pub bytes_total: u64,
    /// Whether the walk has ended and the totals are firm.
    pub totals_final: bool,
    /// Entries that failed, both ends together.
    pub failed: u64,
    /// Time since bytes began to move, without pauses by a person or by a full disk.
    #[serde(rename = "seconds", with = "crate::time::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[cfg_attr(feature = "bindings", specta(type = u32))]
    pub running_for: Duration,
    /// Smoothed rate of the bytes that are sent, in whole bytes a second.
    pub bytes_per_s: u64,
    /// Smoothed rate in whole entries a second.
    pub entries_per_s: u64,
    /// Time left at the smoothed rate, once totals are firm or nearly so.
    #[serde(rename = "seconds_left", with = "crate::time::seconds::option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    #[cfg_attr(feature = "bindings", specta(type = Option<u32>))]
    pub time_left: Option<Duration>,
    /// How long nothing has moved, from 5 s on: then there is no rate and no time left. None if the
    /// sender's rate limit is the reason.
    #[serde(rename = "stalled_seconds", with = "crate::time::seconds::option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    #[cfg_attr(feature = "bindings", specta(type = Option<u32>))]
    pub stalled_for: Option<Duration>,
    /// What has limited it for about a second. None before that is known, and if no bytes move
    /// between two machines.
    pub limited_by: Option<Bottleneck>,
    /// The sender's rate limit in bytes a second. None without one, and at the receiver.
    pub limit_bytes_per_s: Option<u64>,
    /// How often it continued after its connection had been lost.
    pub reconnected: u32,
    /// Why it does not continue, while it is [`Stage::Reconnecting`] or [`Stage::Paused`].
    pub interruption: Option<Interruption>,
    /// Its place in the receiver's queue, while it is [`Stage::Queued`]: 1 for the next one.
    pub place: Option<NonZeroU32>,
    /// Whether a person can pause it here now.
    pub can_pause: bool,
    /// Lanes in use.
    pub lanes: u8,
    /// The fast paths and fallbacks at this end, once known.
    pub here: Option<PathTaken>,
    /// The fast paths and fallbacks at the other end, once known.
    pub there: Option<PathTaken>,
}

/// A transfer that the service has under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnderWay {
    /// Its id, as `pause`, `resume` and `cancel` take it.
    pub id: String,
    /// Which way it goes, seen from here.
    pub direction: Direction,
    /// What was given as the target; the folder of a copy. None if the other device started it.
    pub target: Option<Text>,
    /// The first top-level name.
    pub title: PathText,
    /// How many more top-level names there are.
    pub more_names: u64,
    /// A share and the path in that, as `SHARE/PATH`: the drop box of the receiver that it is sent
    /// into, or the first entry that is got. None if it is sent into no drop box.
    pub in_share: Option<PathText>,
    /// When it was started here, in seconds since 1970.
    #[serde(with = "crate::time::moment")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[cfg_attr(feature = "bindings", specta(type = u32))]
    pub started_at: SystemTime,
    /// Where it stands.
    #[serde(flatten)]
    pub progress: Progress,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_serialised_in_seconds_under_names_that_say_so() {
        let progress = Progress {
            stage: Stage::Running,
            peer: Some("lab-ws".into()),
            peer_id: Some(DeviceId([0xab; 32])),
            entries_done: 1,
            entries_total: 2,
            bytes_done: 3,
            bytes_moved: 2,
            bytes_total: 4,
            totals_final: false,
            failed: 0,
            running_for: Duration::from_micros(1_234_567),
            bytes_per_s: 7,
            entries_per_s: 1,
            time_left: None,
            stalled_for: Some(Duration::from_millis(5_500)),
            limited_by: Some(Bottleneck::Writing),
            limit_bytes_per_s: Some(3_000_000),
            reconnected: 1,
            interruption: None,
            place: NonZeroU32::new(3),
            can_pause: true,
            lanes: 2,
            here: None,
            there: None,
        };
        let json = serde_json::to_value(&progress).unwrap();
        assert_eq!((&json["seconds"], &json["stalled_seconds"]), (&1.235.into(), &5.5.into()));
        assert_eq!((&json["seconds_left"], &json["place"]), (&serde_json::Value::Null, &3.into()));
        assert_eq!((&json["limited_by"], &json["peer_id"]), (&"writing".into(), &"ab".repeat(32).into()));
        let back = Progress { running_for: Duration::from_millis(1_235), ..progress };
        assert_eq!(serde_json::from_value::<Progress>(json).unwrap(), back);
    }
}
