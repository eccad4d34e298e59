//! What `bench modes` measured.
use ringway_model::PathText;
use serde::Serialize;

/// The conditions under which everything is measured.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Conditions<'a> {
    /// The folder in which all files are made and removed again.
    pub(crate) folder: PathText,
    /// Its kind of filesystem.
    pub(crate) filesystem: &'a str,
    /// The kernel's release.
    pub(crate) kernel: &'a str,
    /// Processors that this process may use.
    pub(crate) processors: usize,
    /// Rounds that count.
    pub(crate) rounds: u32,
    /// Why there are no rows with kernel TLS, if there are none.
    pub(crate) no_kernel_tls: Option<String>,
    /// Why there are no rows with io_uring, if there are none.
    pub(crate) no_io_uring: Option<String>,
    /// What counts instructions: the processor or the clock; null if nothing does.
    pub(crate) instructions: Option<&'a str>,
    /// Why instructions are not counted, if they are not.
    pub(crate) no_instructions: Option<String>,
}

/// A mode with one data set and one number of lanes.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Measured {
    /// The group of the mode: layer, mover or transfer.
    pub(crate) part: &'static str,
    /// The mode, in words.
    pub(crate) mode: String,
    /// What encrypts: plaintext, user or kernel; null if the mode uses no connection.
    pub(crate) tls: Option<&'static str>,
    /// The files: small, medium or huge.
    pub(crate) dataset: &'static str,
    /// How many files.
    pub(crate) files: u64,
    /// Bytes of their contents.
    pub(crate) bytes: u64,
    /// Threads at each end, and connections.
    pub(crate) lanes: u8,
    /// Whether it could be measured.
    pub(crate) state: MeasuredState,
    /// Why it could not be measured, if it could not.
    pub(crate) reason: Option<String>,
    #[serde(flatten)]
    pub(crate) figures: Option<Figures>,
}

/// Whether a mode could be measured.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum MeasuredState {
    /// There are figures.
    Measured,
    /// This machine lacks something that the mode needs.
    Skipped,
    /// It failed, or delivered wrong bytes.
    Failed,
}

/// The figures of a mode: medians over the rounds.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Figures {
    /// Where measured: seconds of wall time.
    pub(crate) seconds: f64,
    /// Where measured: seconds of the shortest round.
    pub(crate) seconds_min: f64,
    /// Where measured: seconds of the longest round.
    pub(crate) seconds_max: f64,
    /// Where measured: bytes a second.
    pub(crate) bytes_per_s: f64,
    /// Where measured: files a second.
    pub(crate) files_per_s: f64,
    /// Where measured: the sending end; null for a layer that has only a receiving end.
    pub(crate) sender: Option<EndOfMode>,
    /// Where measured: the receiving end; null for a layer that has only a sending end.
    pub(crate) receiver: Option<EndOfMode>,
    /// Where measured: processor seconds that belong to neither end.
    pub(crate) other_cpu_s: f64,
    /// Where measured: which end is busiest: sender, receiver, elsewhere or waiting.
    pub(crate) bottleneck: &'static str,
    /// Where measured: which of the mode's layers took longest when measured alone; null if they
    /// were not.
    pub(crate) slowest_layer: Option<String>,
}

/// The threads of one end.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct EndOfMode {
    /// Their processor seconds, added up.
    pub(crate) cpu_s: f64,
    /// The share of the wall time that the busiest of them was on a processor, from 0 to 1.
    pub(crate) busy: f64,
    /// Their instructions, added up; null if they are not counted.
    pub(crate) instructions: Option<u64>,
}
