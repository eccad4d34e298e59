//! Copying inside one machine: what `cp -a` does, by threads that own directories. It blocks, and
//! leaves to its caller the runtime, the history and what a person sees of it.
#![forbid(unsafe_code)]

mod attributes;
#[cfg(test)]
#[path = "../../../../tests/deadline.rs"]
mod deadline;
mod folder;
mod handle;
mod job;
pub mod limits;
mod observer;
mod options;
mod prepare;
mod rules;
mod run;
mod worker;

pub use handle::{CopyHandle, CopyJob, Progress};
pub use observer::{Amount, Observer};
pub use options::{CopyOptions, CopyRequest, KernelCopy, PlannedFn, ReflinkMode, Rule};
