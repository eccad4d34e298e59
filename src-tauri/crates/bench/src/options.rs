//! What is to be measured, and the bounds of the options.
use std::path::PathBuf;

use ringway_model::Fault;

use crate::limits::{BYTES_MAX, FILES_MAX, LANES_MAX, ROUNDS_MAX};
use crate::mode::{Cipher, Dataset, Part};

/// Bytes of one small file.
const SMALL_LEN: u64 = 4_096;

/// Bytes of one medium file.
const MEDIUM_LEN: u64 = 100_000;

/// The most lanes beyond one that are measured by default. On more processors, more lanes show
/// little.
const LANES_DEFAULT_MAX: usize = 4;

/// The size of each dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Files of 4 KB.
    pub small_files: u64,
    /// Files of 100 KB.
    pub medium_files: u64,
    /// Bytes of the one file.
    pub huge_bytes: u64,
}

impl Default for Sizes {
    /// Enough that a round takes a tenth of a second or more, and the whole measurement minutes.
    fn default() -> Self {
        Self { small_files: 20_000, medium_files: 3_000, huge_bytes: 512 * 1024 * 1024 }
    }
}

impl Sizes {
    /// Files of a dataset, and the bytes of each.
    pub(crate) fn of(&self, dataset: Dataset) -> (u64, u64) {
        match dataset {
            Dataset::Small => (self.small_files, SMALL_LEN),
            Dataset::Medium => (self.medium_files, MEDIUM_LEN),
            Dataset::Huge => (1, self.huge_bytes),
        }
    }
}

/// What is to be measured, where, and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModesOptions {
    /// The folder to work in, which must exist. Files that are made there are removed again. `None`
    /// means /dev/shm, or else the folder for temporary files.
    pub folder: Option<PathBuf>,
    /// The datasets.
    pub datasets: Vec<Dataset>,
    /// Their sizes.
    pub sizes: Sizes,
    /// The groups of modes.
    pub parts: Vec<Part>,
    /// The kinds of encryption.
    pub ciphers: Vec<Cipher>,
    /// The numbers of lanes, each of which is measured.
    pub lanes: Vec<u8>,
    /// Rounds that count, interleaved. One more comes before them.
    pub rounds: u32,
    /// Whether the clock counts instructions, a nanosecond each (QEMU's `-icount shift=0`).
    /// Processor time is then also reported as instructions.
    pub clock_counts_instructions: bool,
}

impl Default for ModesOptions {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            folder: None,
            datasets: Dataset::ALL.to_vec(),
            sizes: Sizes::default(),
            parts: Part::ALL.to_vec(),
            ciphers: Cipher::ALL.to_vec(),
            lanes: vec![1, processors.min(LANES_DEFAULT_MAX) as u8],
            rounds: 3,
            clock_counts_instructions: false,
        }
    }
}

impl ModesOptions {
    /// Refuses options that cannot be measured.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        let lists = [self.datasets.len(), self.parts.len(), self.ciphers.len(), self.lanes.len()];
        if lists.contains(&0) {
            return Err(Fault::option("there is nothing to measure"));
        }
        if self.lanes.iter().any(|lanes| !(1..=LANES_MAX).contains(lanes)) {
            return Err(Fault::option("a transfer has 1 to 16 lanes"));
        }
        if !(1..=ROUNDS_MAX).contains(&self.rounds) {
            return Err(Fault::option("there are 1 to 1,000 rounds"));
        }
        for dataset in &self.datasets {
            let (files, len) = self.sizes.of(*dataset);
            if !(1..=FILES_MAX).contains(&files) || !(1..=BYTES_MAX).contains(&len) {
                return Err(Fault::option("a dataset has 1 to 1,000,000 files, and the huge one 1 byte to 64 GiB"));
            }
        }
        Ok(())
    }

    /// Each number of lanes once, the smallest first.
    pub(crate) fn lanes_in_order(&self) -> Vec<u8> {
        let mut lanes = self.lanes.clone();
        lanes.sort_unstable();
        lanes.dedup();
        lanes
    }
}
