//! Measures on this machine alone which way bytes take best from files to files over a connection:
//! every layer by itself, movers of whole files without our framing, and the real data plane, each
//! with and without encryption. Words and tables are the programs' business.
//!
//! Both ends are threads of this process, connected over 127.0.0.1 under the same socket options as
//! lanes. Plaintext exists in here only, and only on such a pair: see [`loopback`].
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
