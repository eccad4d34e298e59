//! Copying inside one machine: what `cp -a` does, by threads that own directories. It blocks, and
//! leaves to its caller the runtime, the history and what a person sees of it.
mod attributes;
mod chunks;
mod cold;
mod contents;
mod count;
mod crew;
mod descriptors;
mod ends;
mod files;
mod folder;
mod gate;
mod handle;
mod job;
mod large;
pub mod limits;
mod links;
mod observer;
mod options;
mod plan;
mod prepare;
mod queue;
mod rules;
mod run;
mod small;
mod spelling;
mod spot;
#[cfg(test)]
mod tests;
mod verify;
mod wildmatch;
mod worker;

pub use handle::{Amount, CopyHandle, CopyJob, CopyTotals, Progress};
pub use observer::Observer;
pub use options::{CopyOptions, CopyReport, CopyRequest, KernelCopy, Planned, PlannedFn, ReflinkMode, Rule};
