//! Measures, on this machine alone, which I/O methods are fastest from files to files over a
//! connection: every layer by itself, movers of whole files without Ringway's framing, and the real
//! data plane, each with and without encryption. Words and tables belong to the programs.
//!
//! Both ends are threads of this process, connected over 127.0.0.1 with the same socket options as
//! lanes. Plaintext exists only here, and only on such a pair: see [`loopback`].
#![forbid(unsafe_code)]

mod bench;
mod data;
pub mod limits;
mod loopback;
mod meter;
mod mode;
mod modes;
mod options;
mod plan;
mod run;
#[cfg(test)]
mod tests;
mod work;

pub use mode::{
    Calls, Cipher, Conditions, Dataset, EndFigures, Figures, InstructionSource, Inward, Layer, LimitingEnd, Mode,
    ModesEvent, NoInstructions, NotMeasured, Outward, Part, Row,
};
pub use options::{ModesOptions, Sizes};
pub use run::run;
