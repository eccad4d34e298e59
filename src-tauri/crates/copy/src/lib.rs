//! Copying inside one machine: what `cp -a` does, by threads that own directories. It blocks, and
//! leaves to its caller the runtime, the history and what a person sees of it.
#![forbid(unsafe_code)]

mod attributes;
mod chunks;
mod cold_cache;
mod contents;
mod control;
mod count_ahead;
#[cfg(test)]
#[path = "../../../../tests/deadline.rs"]
mod deadline;
mod descriptors;
mod dir_cache;
mod entry_error;
mod files;
mod folder;
mod handle;
mod hard_links;
mod job;
mod large_files;
pub mod limits;
mod name_collisions;
mod observer;
mod options;
mod overwrite;
mod plan;
mod pool;
mod prepare;
mod queue;
mod rules;
mod run;
mod small_files;
#[cfg(test)]
mod tests;
mod verify;
mod wildmatch;
mod worker;

pub use handle::{Amount, CopyHandle, CopyJob, CopyTotals, Progress};
pub use observer::Observer;
pub use options::{CopyOptions, CopyReport, CopyRequest, KernelCopy, PlannedFn, ReflinkMode, Rule};
