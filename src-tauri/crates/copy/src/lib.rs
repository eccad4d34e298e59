//! Copying inside one machine: what `cp -a` does, with threads that own directories. It blocks. The
//! runtime, the history and everything shown to a person belong to its caller.
#![forbid(unsafe_code)]

mod attributes;
#[cfg(test)]
#[path = "../../../../tests/deadline.rs"]
mod deadline;
#[cfg(test)]
#[path = "../../../../tests/filtered.rs"]
mod filtered;
mod folder;
mod handle;
mod job;
pub mod limits;
mod observer;
mod options;
mod prepare;
mod run;
mod worker;

pub use handle::{CopyHandle, CopyJob, Progress};
pub use observer::{Amount, Observer};
pub use options::{CopyOptions, CopyRequest, KernelCopy, PlannedFn, ReflinkMode};
