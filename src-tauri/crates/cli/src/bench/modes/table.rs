//! Rows as they come: aligned columns for people, an object each for programs.
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use ringway_bench::{Conditions, Dataset, EndFigures, Figures, Layer, Mode, ModesEvent, Row};

use super::words;
use crate::json::{self, EndOfMode, Event, Measured, MeasuredState};
use crate::output::Output;
use crate::text::{bytes, count, counted, for_terminal};
use crate::words::path_taken::{sync_io, user_tls};

const MB: f64 = 1e6;
const GB: f64 = 1e9;
const MIB: f64 = 1_048_576.0;

/// Columns between the mode and what is in the way, with their widths.
const COLUMNS: [(&str, usize); 7] =
    [("MB/s", 7), ("files/s", 8), ("send", 6), ("recv", 6), ("other", 6), ("busy", 5), ("busy", 5)];
const INSTRUCTIONS: [(&str, usize); 2] = [("insn", 7), ("insn", 7)];

/// Widths of the first columns: group, mode, encryption.
const NAMES: [usize; 3] = [8, 41, 9];

/// What is shown of everything that happens.
pub(super) struct Table {
    out: Output,
    bar: Option<ProgressBar>,
    /// Whose rows come now.
    group: Option<(Dataset, u8)>,
    /// Whether there are figures of instructions.
    pub(super) counted: bool,
    failed: bool,
}

impl Table {
    pub(super) fn new(out: Output) -> Self {
        let bar = out.bar().inspect(|bar| {
            bar.set_style(ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()));
        });
        Self { out, bar, group: None, counted: false, failed: false }
    }

    /// Whether a mode failed, or did not deliver what it should.
    pub(super) fn has_failures(&self) -> bool {
        self.failed
    }

    pub(super) fn end(&self) {
        self.bar.iter().for_each(ProgressBar::finish_and_clear);
    }

    pub(super) fn take(&mut self, event: ModesEvent) {
        match event {
            ModesEvent::Began(conditions) => self.begin(&conditions),
            ModesEvent::Making { dataset, files, bytes: size } => self.show(&format!(
                "Making the {} files: {}, {} …",
                words::dataset(dataset),
                counted(files, "file"),
                bytes(size)
            )),
            ModesEvent::Round { dataset, lanes, round, rounds } => {
                let lanes = counted(lanes.into(), "lane");
                let what = if round == 0 { "proof".to_owned() } else { format!("round {round} of {rounds}") };
                self.show(&format!("{} files, {lanes}: {what}", words::dataset(dataset)));
            }
            ModesEvent::Row(row) => self.row(&row),
        }
    }

    fn show(&self, message: &str) {
        self.bar.iter().for_each(|bar| bar.set_message(message.to_owned()));
    }

    fn begin(&mut self, conditions: &Conditions) {
        self.counted = conditions.instructions.is_ok();
        self.out.event(&conditions_event(conditions));
        let Conditions { filesystem, kernel, processors, rounds, .. } = conditions;
        let folder = conditions.folder.parent().unwrap_or(&conditions.folder);
        self.out.say(format_args!(
            "In {} ({filesystem}), Linux {}, {}: medians of {}.",
            for_terminal(folder),
            for_terminal(kernel),
            counted(*processors as u64, "processor"),
            counted((*rounds).into(), "interleaved round"),
        ));
        if let Some(reason) = conditions.no_kernel_tls {
            self.out.say(format_args!("No kernel TLS: {}.", user_tls(reason)));
        }
        if let Some(reason) = conditions.no_io_uring {
            self.out.say(format_args!("No io_uring: {}.", sync_io(reason)));
        }
        match conditions.instructions {
            Ok(source) => self.out.say(format_args!(
                "Instructions (insn, thousands a MiB) are counted by the {}.",
                words::instructions(source)
            )),
            Err(why) => self.out.say(format_args!("Instructions are not counted: {}.", words::no_instructions(why))),
        }
        self.out.say("send, recv, other: processor seconds a GB at either end and at neither; busy: of the wall time.");
    }

    fn row(&mut self, row: &Row) {
        self.failed |= row.measured.as_ref().is_err_and(|why| !why.is_skipped());
        self.out.event(&row_event(row));
        let group = (row.dataset, row.lanes);
        if self.group != Some(group) {
            self.group = Some(group);
            self.out.say("");
            self.out.say(self.out.bold(&format!(
                "{} files: {}, {}; {}",
                words::dataset(row.dataset),
                count(row.files),
                bytes(row.bytes),
                counted(row.lanes.into(), "lane")
            )));
            self.out.say(self.heading());
        }
        self.out.say(self.line(row));
    }

    /// The columns that this machine has figures for.
    fn columns(&self) -> Vec<(&'static str, usize)> {
        let counts = if self.counted { &INSTRUCTIONS[..] } else { &[] };
        COLUMNS.iter().chain(counts).copied().collect()
    }

    pub(super) fn heading(&self) -> String {
        let figures = self.columns().into_iter().map(|(name, width)| (name.to_owned(), width)).collect();
        aligned(["", "mode", "TLS"].map(str::to_owned), figures, "in the way")
    }

    pub(super) fn line(&self, row: &Row) -> String {
        let names =
            [words::part(row.mode).to_owned(), words::mode(row.mode), words::tls(row.mode).unwrap_or("").to_owned()];
        match &row.measured {
            Ok(figures) => {
                let mut texts = self.figures(row, figures);
                texts.truncate(self.columns().len());
                let widths = self.columns().into_iter().map(|(_, width)| width);
                aligned(names, texts.into_iter().zip(widths).collect(), &in_the_way(row.mode, figures))
            }
            Err(why) => {
                let state = if why.is_skipped() { "skipped" } else { "FAILED" };
                aligned(names, Vec::new(), &format!("{state}: {}", words::not_measured(why)))
            }
        }
    }

    fn figures(&self, row: &Row, figures: &Figures) -> Vec<String> {
        let seconds = figures.wall.as_secs_f64().max(1e-9);
        let per_gb = |cpu: Duration| format!("{:.3}", cpu.as_secs_f64() / (row.bytes as f64 / GB));
        let of = |end: Option<EndFigures>, text: &dyn Fn(EndFigures) -> String| end.map(text).unwrap_or_default();
        let cpu = |end: EndFigures| per_gb(end.cpu);
        let busy = |end: EndFigures| format!("{:.0}%", end.busy * 100.0);
        let per_mib = |end: EndFigures| match end.instructions {
            Some(count) => format!("{:.0}", count as f64 / 1e3 / (row.bytes as f64 / MIB)),
            None => String::new(),
        };
        let files = has_files(row).then(|| count((row.files as f64 / seconds).round() as u64));
        vec![
            count((row.bytes as f64 / MB / seconds).round() as u64),
            files.unwrap_or_default(),
            of(figures.sender, &cpu),
            of(figures.receiver, &cpu),
            per_gb(figures.other_cpu),
            of(figures.sender, &busy),
            of(figures.receiver, &busy),
            of(figures.sender, &per_mib),
            of(figures.receiver, &per_mib),
        ]
    }
}

/// Whether a rate of files says anything: there are several, and the mode has to do with them.
fn has_files(row: &Row) -> bool {
    let memory_only =
        matches!(row.mode, Mode::Layer(Layer::Send(_) | Layer::Receive(_) | Layer::Encrypt | Layer::Decrypt));
    row.files > 1 && !memory_only
}

fn in_the_way(mode: Mode, figures: &Figures) -> String {
    if let Mode::Layer(_) = mode {
        return String::new();
    }
    let end = words::bottleneck(figures.bottleneck);
    figures.slowest_layer.map_or_else(|| end.to_owned(), |layer| format!("{end}; {}", words::layer(layer)))
}

fn aligned(names: [String; 3], figures: Vec<(String, usize)>, last: &str) -> String {
    let mut line: String = names.iter().zip(NAMES).map(|(name, width)| format!("{name:<width$} ")).collect();
    line.extend(figures.iter().map(|(text, width)| format!(" {text:>width$}")));
    format!("{line}  {last}").trim_end().to_owned()
}

fn conditions_event(conditions: &Conditions) -> Event<'_> {
    Event::Conditions(json::Conditions {
        folder: (&conditions.folder).into(),
        filesystem: conditions.filesystem,
        kernel: &conditions.kernel,
        processors: conditions.processors,
        rounds: conditions.rounds,
        no_kernel_tls: conditions.no_kernel_tls.map(user_tls),
        no_io_uring: conditions.no_io_uring.map(sync_io),
        instructions: conditions.instructions.ok().map(words::instructions),
        no_instructions: conditions.instructions.err().map(words::no_instructions),
    })
}

fn row_event(row: &Row) -> Event<'static> {
    let state = match &row.measured {
        Ok(_) => MeasuredState::Measured,
        Err(why) if why.is_skipped() => MeasuredState::Skipped,
        Err(_) => MeasuredState::Failed,
    };
    Event::Measured(Box::new(Measured {
        part: words::part(row.mode),
        mode: words::mode(row.mode),
        tls: words::tls(row.mode),
        dataset: words::dataset(row.dataset),
        files: row.files,
        bytes: row.bytes,
        lanes: row.lanes,
        state,
        reason: row.measured.as_ref().err().map(words::not_measured),
        figures: row.measured.as_ref().ok().map(|figures| figures_of(row, figures)),
    }))
}

fn figures_of(row: &Row, figures: &Figures) -> json::Figures {
    let seconds = figures.wall.as_secs_f64().max(1e-9);
    let end =
        |end: EndFigures| EndOfMode { cpu_s: end.cpu.as_secs_f64(), busy: end.busy, instructions: end.instructions };
    json::Figures {
        seconds: figures.wall.as_secs_f64(),
        seconds_min: figures.wall_min.as_secs_f64(),
        seconds_max: figures.wall_max.as_secs_f64(),
        bytes_per_s: row.bytes as f64 / seconds,
        files_per_s: row.files as f64 / seconds,
        sender: figures.sender.map(end),
        receiver: figures.receiver.map(end),
        other_cpu_s: figures.other_cpu.as_secs_f64(),
        bottleneck: words::bottleneck(figures.bottleneck),
        slowest_layer: figures.slowest_layer.map(words::layer),
    }
}
