//! Runs a measurement: each mode in rounds, on one dataset after the other.
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ringway_model::{Fault, Side};
use ringway_sys::instructions::InstructionCounter;

use crate::bench::Bench;
use crate::data::Data;
use crate::loopback::Wire;
use crate::meter::{self, Counting, Round, median};
use crate::mode::{Conditions, Dataset, InstructionSource, Layer, Mode, ModesEvent, NoInstructions, NotMeasured, Row};
use crate::modes::{layers, movers, transfers};
use crate::options::ModesOptions;
use crate::plan;
use crate::work::Work;

/// Measures everything that is requested, one row after the other, and removes everything that it
/// has made, however it ends. It blocks, so run it on a separate thread. Setting `stop` ends it
/// within moments.
///
/// # Errors
/// [`Fault::Invalid`] for impossible options, [`Fault::Path`] for a folder that cannot be used or
/// has too little free space, and [`Fault::Cancelled`]. A mode that fails becomes a row with its
/// error.
pub fn run(options: &ModesOptions, stop: &AtomicBool, tell: &mut dyn FnMut(ModesEvent)) -> Result<(), Fault> {
    options.check()?;
    let work = Work::begin(options)?;
    let (source, counting) = instruction_source(options.clock_counts_instructions);
    tell(ModesEvent::Began(Conditions {
        folder: work.path().to_owned(),
        filesystem: work.filesystem(),
        kernel: ringway_sys::probe::kernel_release(),
        processors: std::thread::available_parallelism().map_or(1, usize::from),
        rounds: options.rounds,
        no_kernel_tls: plan::no_kernel_tls(),
        no_io_uring: plan::no_io_uring(),
        instructions: source,
    }));
    let bench = Bench { options, wire: Wire::new()?, work: &work, counting, stop };
    for dataset in Dataset::ALL.into_iter().filter(|dataset| options.datasets.contains(dataset)) {
        let (files, file_len) = options.sizes.of(dataset);
        tell(ModesEvent::Making { dataset, files, bytes: files * file_len });
        let data =
            Data::make(&work.path().join("data"), dataset, files, file_len, stop).map_err(|error| match error {
                _ if stop.load(Ordering::Relaxed) => Fault::cancelled(Side::Here),
                source => work.error(source),
            })?;
        work.settle().map_err(|source| work.error(source))?;
        for lanes in options.lanes_in_order() {
            bench.measure(&data, lanes, tell)?;
        }
        data.remove().map_err(|source| work.error(source))?;
    }
    Ok(())
}

fn instruction_source(clock: bool) -> (Result<InstructionSource, NoInstructions>, Counting) {
    match InstructionCounter::start() {
        _ if clock => (Ok(InstructionSource::Clock), Counting::Clock),
        Ok(_) => (Ok(InstructionSource::Processor), Counting::Processor),
        Err(reason) => (Err(reason.into()), Counting::Nothing),
    }
}

/// One mode, and its results so far.
struct Cell {
    mode: Mode,
    rounds: Result<Vec<Round>, NotMeasured>,
}

impl Bench<'_> {
    /// Measures all modes on one dataset with one number of lanes. There is a round of each mode,
    /// then the next round of each, so that other activity affects all alike.
    fn measure(&self, data: &Data, lanes: u8, tell: &mut dyn FnMut(ModesEvent)) -> Result<(), Fault> {
        let cell = |mode| Cell { mode, rounds: plan::unavailable(mode).map_or_else(|| Ok(Vec::new()), Err) };
        let mut cells: Vec<Cell> = plan::modes(self.options, data.dataset()).into_iter().map(cell).collect();
        let rounds = self.options.rounds;
        for round in 0..=rounds {
            tell(ModesEvent::Round { dataset: data.dataset(), lanes, round, rounds });
            for cell in &mut cells {
                let Ok(so_far) = &mut cell.rounds else { continue };
                match self.run_once(cell.mode, data, lanes, round == 0) {
                    _ if self.stop.load(Ordering::Relaxed) => return Err(Fault::cancelled(Side::Here)),
                    Ok(done) if round > 0 => so_far.push(done),
                    Ok(_) => {}
                    Err(why) => cell.rounds = Err(why),
                }
            }
        }
        let layers: Vec<(Layer, Duration)> = cells.iter().filter_map(Cell::layer).collect();
        for cell in cells {
            let slowest_layer = plan::slowest(cell.mode, &layers);
            tell(ModesEvent::Row(Row {
                mode: cell.mode,
                dataset: data.dataset(),
                lanes,
                files: data.files(),
                bytes: data.bytes(),
                measured: cell.rounds.map(|rounds| meter::figures(&rounds, slowest_layer)),
            }));
        }
        Ok(())
    }

    /// One run. With `prove`, what arrived is compared with what was sent, outside of the measured
    /// time.
    pub(crate) fn run_once(&self, mode: Mode, data: &Data, lanes: u8, prove: bool) -> Result<Round, NotMeasured> {
        let run = match mode {
            Mode::Layer(layer) => layers::run(self, layer, data, lanes, prove),
            Mode::Mover { out, into, cipher } => movers::run(self, (out, into, cipher), data, lanes, prove),
            Mode::Transfer { cipher, read, write } => transfers::run(self, cipher, read, write, data, lanes, prove),
        };
        let cleared = self.work.clear();
        let round = run?;
        cleared?;
        Ok(round)
    }
}

impl Cell {
    fn layer(&self) -> Option<(Layer, Duration)> {
        match (self.mode, &self.rounds) {
            (Mode::Layer(layer), Ok(rounds)) => Some((layer, median(rounds.iter().map(|round| round.wall).collect()))),
            _ => None,
        }
    }
}
