//! A transfer's report, and its parts.
mod past;
mod series;

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::fault::{AuthError, Failure, Fault};
use crate::text::{PathText, Text};
use crate::transfer::{Bottleneck, IoPath, PathTaken};

pub use past::{AfterFailure, Past, PastDetails, PastQuery};
pub use series::SeriesPoint;

/// A transfer's result in numbers. In JSON they are on the same level as the rest of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// Regular files that are there, by the receipt.
    pub files: u64,
    /// Folders.
    pub folders: u64,
    /// Symbolic and hard links.
    pub links: u64,
    /// Bytes of file contents. If the transfer failed, those that were there, as its progress said
    /// last.
    pub bytes: u64,
    /// Bytes of these that this process sent (as far as the receiver confirmed them), received or
    /// copied, over all connections. The others were there already, except [`Self::skipped_bytes`],
    /// or another run of the program moved them. If the transfer failed, all bytes that it moved.
    pub moved: u64,
    /// Files and links that were there already and are the same, those included that another run of
    /// the program has moved there.
    pub unchanged: u64,
    /// Files and links that were there already and stay by policy, whether or not they differ.
    pub skipped: u64,
    /// Bytes of contents that were offered for those files.
    pub skipped_bytes: u64,
    /// Bytes of the other files that were not sent because the files that they replaced had them.
    pub reused: u64,
    /// Files and links at the receiver that were changed there after they were received, and were
    /// kept: the sent versions are beside them.
    pub edited: u64,
    /// At the sender, and of a copy: entries that a pattern left out. A folder counts as one, with
    /// everything in it.
    pub excluded: u64,
    /// Of what was sent: entries that did not get their access control list, because the receiver
    /// did not ask for lists, or its filesystem or system could not keep them. Of a copy, see
    /// `attributes_lost` in the copy's report.
    pub acls_lost: u64,
    /// Of what was sent to a receiver that keeps owners: entries whose user or group has a name
    /// that the receiver does not know. They belong to the user or group with the sender's number.
    pub owners_by_number: u64,
    /// Entries that failed, both ends together.
    pub failed: u64,
}

impl Counts {
    /// Bytes of contents that were there already: of files that are the same, and of parts of files
    /// that were replaced.
    pub fn present_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.moved).saturating_sub(self.skipped_bytes)
    }
}

/// How the time of a transfer's lanes was spent, summed over the lanes: each end's sum is the time
/// that it ran times its lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StageTimes {
    /// At the sender: waiting for the walk to find something.
    #[serde(with = "crate::time::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[cfg_attr(feature = "bindings", specta(type = u32))]
    pub finding: Duration,
    /// At the sender: reading files.
    #[serde(with = "crate::time::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[cfg_attr(feature = "bindings", specta(type = u32))]
    pub reading: Duration,
    /// At the sender: on the processor between file and network.
    #[serde(with = "crate::time::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[cfg_attr(feature = "bindings", specta(type = u32))]
    pub encrypting: Duration,
    /// At the sender: waiting for the network to take more.
    #[serde(with = "crate::time::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[cfg_attr(feature = "bindings", specta(type = u32))]
    pub sending: Duration,
    /// At the sender: waiting because of its rate limit.
    #[serde(with = "crate::time::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[cfg_attr(feature = "bindings", specta(type = u32))]
    pub limited: Duration,
    /// At the receiver: waiting for the network to bring more.
    #[serde(with = "crate::time::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[cfg_attr(feature = "bindings", specta(type = u32))]
    pub receiving: Duration,
    /// At the receiver: on the processor between network and file.
    #[serde(with = "crate::time::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[cfg_attr(feature = "bindings", specta(type = u32))]
    pub decrypting: Duration,
    /// At the receiver: writing files.
    #[serde(with = "crate::time::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[cfg_attr(feature = "bindings", specta(type = u32))]
    pub writing: Duration,
}

impl StageTimes {
    /// The sum of both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            finding: self.finding + other.finding,
            reading: self.reading + other.reading,
            encrypting: self.encrypting + other.encrypting,
            sending: self.sending + other.sending,
            limited: self.limited + other.limited,
            receiving: self.receiving + other.receiving,
            decrypting: self.decrypting + other.decrypting,
            writing: self.writing + other.writing,
        }
    }

    /// The difference to an earlier state; a value that another end has lowered since counts as
    /// nothing.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            finding: self.finding.saturating_sub(before.finding),
            reading: self.reading.saturating_sub(before.reading),
            encrypting: self.encrypting.saturating_sub(before.encrypting),
            sending: self.sending.saturating_sub(before.sending),
            limited: self.limited.saturating_sub(before.limited),
            receiving: self.receiving.saturating_sub(before.receiving),
            decrypting: self.decrypting.saturating_sub(before.decrypting),
            writing: self.writing.saturating_sub(before.writing),
        }
    }
}

/// The effect of compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PackedBytes {
    /// Bytes of file contents that were compressed.
    pub contents: u64,
    /// Bytes that they took on the network.
    pub wire: u64,
}

/// What was read back from the receiver's disk and found equal to what the sender had read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Proven {
    /// Files.
    pub files: u64,
    /// Bytes of their contents; holes do not count.
    pub bytes: u64,
    /// How long it took, after everything was written.
    #[serde(rename = "seconds", with = "crate::time::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[cfg_attr(feature = "bindings", specta(type = u32))]
    pub took: Duration,
}

/// A file or link at the receiver that was changed there after it was received, and was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Edit {
    /// Its path within the transfer; any bytes, if the other end reports it.
    #[serde(flatten)]
    pub path: PathText,
    /// The name of the sender's version, in the same folder.
    pub beside: PathText,
}

/// How a transfer ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "outcome", content = "error", rename_all = "snake_case")]
pub enum Outcome {
    /// Everything arrived, was renamed and synchronised, and the receipt says so.
    Complete,
    /// There is a receipt, but some entries failed: they are listed.
    Partial,
    /// Nothing was completed, or it is unknown whether anything was. The fault says why.
    Failed(Fault),
}

impl Outcome {
    /// As JSON text, for the history.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Parses what [`Self::to_json`] wrote; none if a damaged store or a later version has
    /// something else.
    pub fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok().or_else(|| Self::with_wait_ms(text))
    }

    /// Whether it ended because a code is needed, or another one. The same is started again
    /// with it.
    pub fn needs_code(&self) -> bool {
        use AuthError::{NoCodeOpen, PairingNeeded, WrongCode};
        matches!(self, Self::Failed(Fault::Auth(PairingNeeded { .. } | WrongCode | NoCodeOpen)))
    }

    /// Parses an outcome from a history in which waits were in milliseconds.
    fn with_wait_ms(text: &str) -> Option<Self> {
        let mut value: serde_json::Value = serde_json::from_str(text).ok()?;
        let error = value.get_mut("error")?.as_object_mut()?;
        let wait_ms = error.remove("wait_ms")?.as_f64()?;
        error.insert("wait_seconds".to_owned(), (wait_ms / 1_000.0).into());
        serde_json::from_value(value).ok()
    }
}

/// A transfer's final report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// How it ended.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Its numbers.
    #[serde(flatten)]
    pub counts: Counts,
    /// Bytes of contents that the sender had found by the end: what was to be there. 0 where that
    /// is not known.
    pub bytes_planned: u64,
    /// What was verified, if that was asked for and there is a receipt.
    pub proven: Option<Proven>,
    /// Files and links at the receiver that were kept, by name, the first 1,000.
    pub edits: Vec<Edit>,
    /// The failed entries by name, the first 1,000.
    pub failures: Vec<Failure>,
    /// From the first byte to the receipt, without pauses by a person or by a full disk.
    #[serde(rename = "seconds", with = "crate::time::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[cfg_attr(feature = "bindings", specta(type = u32))]
    pub running_for: Duration,
    /// What limited it for the longest time. None if it was too short to tell, or inside one
    /// machine.
    pub limited_by: Option<Bottleneck>,
    /// The sender's rate limit in bytes a second. None without one, and at the receiver.
    pub limit_bytes_per_s: Option<u64>,
    /// How the time of its lanes was spent. None if not both ends reported it, or inside one
    /// machine.
    pub times: Option<StageTimes>,
    /// Lanes used.
    pub lanes: u8,
    /// Added lanes that were given up because they could not connect, or broke before they carried
    /// anything.
    pub lanes_dropped: u8,
    /// How often it continued after its connection had been lost.
    pub reconnected: u32,
    /// At the sender: bytes of contents that were compressed, before and after. None if nothing
    /// was.
    pub packed: Option<PackedBytes>,
    /// The fast paths and fallbacks at this end, if it came so far.
    pub here: Option<PathTaken>,
    /// The fast paths and fallbacks at the other end, if it came so far.
    pub there: Option<PathTaken>,
    /// At the receiver, and of a copy: the top-level paths under their final names, the first few.
    pub arrived: Vec<PathText>,
    /// At the receiver: its staging folder, if it could not be removed after everything had its
    /// final name. A later transfer removes it.
    pub left_behind: Option<PathText>,
    /// Of a copy inside this machine: what it chose and did.
    pub copy: Option<CopyReport>,
    /// When it ended.
    #[serde(with = "crate::time::moment")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[cfg_attr(feature = "bindings", specta(type = u32))]
    pub ended_at: SystemTime,
}

/// Of a report, what the history keeps as one text: how bytes moved at both ends, and what only the
/// receiver or a copy has.
#[derive(Serialize, Deserialize)]
struct Rest {
    here: Option<PathTaken>,
    there: Option<PathTaken>,
    left_behind: Option<PathText>,
    copy: Option<CopyReport>,
}

impl Report {
    /// How bytes moved, the staging folder that is left, and what a copy did, as JSON text for the
    /// history.
    pub fn rest_to_json(&self) -> String {
        let (left_behind, copy) = (self.left_behind.clone(), self.copy.clone());
        serde_json::to_string(&Rest { here: self.here, there: self.there, left_behind, copy }).unwrap_or_default()
    }

    /// The report with what [`Self::rest_to_json`] wrote; without it if a damaged store or a later
    /// version has something else.
    #[must_use]
    pub fn with_rest(self, text: &str) -> Self {
        match serde_json::from_str(text) {
            Ok(Rest { here, there, left_behind, copy }) => Self { here, there, left_behind, copy, ..self },
            Err(_) => self,
        }
    }

    /// The report of a transfer that never began: everything else is none or zero.
    pub fn new(outcome: Outcome, ended_at: SystemTime) -> Self {
        Self {
            outcome,
            counts: Counts::default(),
            bytes_planned: 0,
            proven: None,
            edits: Vec::new(),
            failures: Vec::new(),
            running_for: Duration::ZERO,
            limited_by: None,
            limit_bytes_per_s: None,
            times: None,
            lanes: 0,
            lanes_dropped: 0,
            reconnected: 0,
            packed: None,
            here: None,
            there: None,
            arrived: Vec::new(),
            left_behind: None,
            copy: None,
            ended_at,
        }
    }
}

/// The choices that a copy inside this machine made by itself, and its counts beyond [`Counts`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CopyReport {
    /// Threads that were started to copy: one if there was no work for a second.
    pub threads: u64,
    /// Requests in flight on each thread's ring.
    pub queue_depth: u32,
    /// Bytes of one read and one write of a large file.
    pub chunk_bytes: u64,
    /// How files are read when reading waits for a disk, and always if `--io` says so; plain calls
    /// as soon as one thread had no ring.
    pub io: IoPath,
    /// The kind of filesystem that was copied to, as in "ext4".
    pub filesystem: Text,
    /// Bytes whose blocks are shared with the source.
    pub reflinked_bytes: u64,
    /// Bytes that the kernel copied by itself (copy_file_range, splice).
    pub kernel_bytes: u64,
    /// Bytes that went through memory of ours.
    pub buffered_bytes: u64,
    /// Of those, bytes that were read through io_uring.
    pub uring_bytes: u64,
    /// FIFOs, sockets and device nodes.
    pub specials: u64,
    /// Files that were read back and found equal.
    pub verified: u64,
    /// Entries that could not be given their owner or group. `cp -a` does not report these to a
    /// user who is not root.
    pub owners_lost: u64,
    /// Entries that could not be given an access control list or extended attribute, mostly because
    /// the destination has none.
    pub attributes_lost: u64,
    /// When this copy began, or the first one that it continues, in the form for `ringway copy
    /// --continue`. None if files get their times from another machine or program, whose clock may
    /// differ.
    #[serde(with = "crate::time::moment::exact_option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    #[cfg_attr(feature = "bindings", specta(type = Option<String>))]
    pub began: Option<SystemTime>,
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;
    use crate::transfer::SyncIoReason;

    #[test]
    fn waits_of_an_older_history_were_milliseconds() {
        let declined = r#"{"outcome":"failed","error":{"code":"declined","reason":"too_many_offers","wait_ms":15000}}"#;
        let fault = Fault::Declined(crate::DeclineReason::TooManyOffers { wait_ms: 15_000 });
        assert_eq!(Outcome::from_json(declined), Some(Outcome::Failed(fault)));
        let busy = r#"{"outcome":"failed","error":{"code":"pairing_busy","wait_ms":1500}}"#;
        let fault = Fault::Auth(crate::AuthError::PairingBusy { wait_ms: 1_500 });
        assert_eq!(Outcome::from_json(busy), Some(Outcome::Failed(fault)));
        assert_eq!(Outcome::from_json(r#"{"outcome":"failed","error":{"code":"no_such_code","wait_ms":1}}"#), None);
    }

    #[test]
    fn report_survives_serde_with_its_outcome_and_counts_beside_the_rest() {
        let copy = CopyReport {
            threads: 2,
            queue_depth: 32,
            chunk_bytes: 1 << 20,
            io: IoPath::Sync(SyncIoReason::Forbidden),
            filesystem: "ext4".into(),
            reflinked_bytes: 1,
            kernel_bytes: 2,
            buffered_bytes: 3,
            uring_bytes: 4,
            specials: 5,
            verified: 7,
            owners_lost: 8,
            attributes_lost: 9,
            began: Some(UNIX_EPOCH + Duration::from_nanos(10_000_000_001)),
        };
        let outcome = Outcome::Failed(Fault::DestinationFull { shortage: None });
        let report = Report {
            counts: Counts { files: 3, bytes: u64::MAX, ..Counts::default() },
            running_for: Duration::from_millis(1_234),
            limited_by: Some(Bottleneck::Limit),
            times: Some(StageTimes { reading: Duration::from_millis(1_235), ..StageTimes::default() }),
            arrived: vec!["/in/a\nb".into()],
            copy: Some(copy),
            ..Report::new(outcome, UNIX_EPOCH + Duration::from_secs(7))
        };
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!((&json["outcome"], &json["error"]["code"]), (&"failed".into(), &"destination_full".into()));
        assert_eq!((&json["files"], &json["seconds"], &json["ended_at"]), (&3.into(), &1.234.into(), &7.0.into()));
        assert_eq!(
            (&json["arrived"][0]["path"], &json["copy"]["began"]),
            (&"/in/a\\nb".into(), &"10.000000001".into())
        );
        assert_eq!(serde_json::from_value::<Report>(json).unwrap(), report);
    }
}
