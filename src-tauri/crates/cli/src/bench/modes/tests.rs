//! How rows are written.
use std::time::Duration;

use ringway_bench::{
    Calls, Cipher, Dataset, EndFigures, Figures, Inward, Layer, LimitingEnd, Mode, NotMeasured, Outward, Row,
};
use ringway_model::{SyncIoReason, UserTlsReason};

use super::words;

fn row(mode: Mode, measured: Result<Figures, NotMeasured>) -> Row {
    Row { mode, dataset: Dataset::Medium, lanes: 1, files: 2_000, bytes: 200_000_000, measured }
}

fn figures() -> Figures {
    let end =
        |ms, instructions| Some(EndFigures { cpu: Duration::from_millis(ms), busy: ms as f64 / 100.0, instructions });
    Figures {
        wall: Duration::from_millis(100),
        wall_min: Duration::from_millis(90),
        wall_max: Duration::from_millis(120),
        sender: end(40, Some(381_470_000)),
        receiver: end(96, None),
        other_cpu: Duration::from_millis(2),
        bottleneck: LimitingEnd::Receiver,
        slowest_layer: Some(Layer::Write(Calls::Plain)),
    }
}

const MOVER: Mode = Mode::Mover { out: Outward::SendFile, into: Inward::ReceiveWrite, cipher: Cipher::Kernel };

#[test]
fn a_row_has_its_figures_in_columns() {
    let mut table = super::Table::new(crate::output::Output::from(crate::args::ReportArgs { json: false }));
    let line = table.line(&row(MOVER, Ok(figures())));
    let words: Vec<&str> = line.split_whitespace().collect();
    let wanted =
        "mover sendfile > recv+write kernel 2,000 20,000 0.200 0.480 0.010 40% 96% receiver; write, plain calls";
    assert_eq!(words, wanted.split(' ').collect::<Vec<_>>(), "{line}");
    table.counted = true;
    let counted = table.line(&row(MOVER, Ok(figures())));
    assert!(counted.contains("40%   96%    2000          receiver"), "{counted}");
    // A heading stands over what it names.
    let (heading, end) = (table.heading(), |line: &str, text: &str| line.find(text).unwrap() + text.len());
    assert_eq!(end(&heading, "MB/s"), end(&counted, "2,000"));
    assert_eq!(heading.find("in the way"), counted.find("receiver"));
    let memory = Figures { receiver: None, ..figures() };
    let encrypt = table.line(&row(Mode::Layer(Layer::Encrypt), Ok(memory)));
    assert!(!encrypt.contains("20,000") && !encrypt.contains("sender"), "{encrypt}");
}

#[test]
fn what_is_not_measured_says_why() {
    let table = super::Table::new(crate::output::Output::from(crate::args::ReportArgs { json: false }));
    let line = |why| table.line(&row(MOVER, Err(why)));
    assert!(
        line(NotMeasured::KernelTls(UserTlsReason::NotInKernel))
            .ends_with("skipped: no kernel TLS: this kernel has no TLS")
    );
    assert!(line(NotMeasured::IoUring(SyncIoReason::NotInKernel)).contains("skipped: no io_uring"));
    assert!(line(NotMeasured::Differs).ends_with("FAILED: what arrived is not what was sent"));
    assert!(line(NotMeasured::Failed("a\x1b[2Jb".into())).contains("FAILED: a\\u{1b}[2Jb"));
}

#[test]
fn modes_are_told_apart_by_their_words() {
    let mut seen = std::collections::HashSet::new();
    let layers = [Layer::Read(Calls::Plain), Layer::Read(Calls::Uring), Layer::Encrypt, Layer::Decrypt]
        .into_iter()
        .chain([Layer::Write(Calls::Plain), Layer::Write(Calls::Uring)])
        .chain([Cipher::Plaintext, Cipher::Kernel].map(Layer::Send))
        .chain([Cipher::Plaintext, Cipher::Kernel].map(Layer::Receive));
    let outs = [
        Outward::ReadSend,
        Outward::UringReadSend,
        Outward::Splice,
        Outward::SpliceAlwaysMore,
        Outward::UringSplice,
        Outward::SendFile,
    ];
    let ins = [Inward::ReceiveWrite, Inward::UringReceiveWrite, Inward::Splice];
    let movers = outs.iter().flat_map(|out| ins.map(|into| Mode::Mover { out: *out, into, cipher: Cipher::User }));
    let calls = [Calls::Plain, Calls::Uring];
    let transfers =
        calls.into_iter().flat_map(|read| calls.map(|write| Mode::Transfer { cipher: Cipher::User, read, write }));
    for mode in layers.map(Mode::Layer).chain(movers).chain(transfers) {
        let name = (words::part(mode), words::mode(mode), words::tls(mode));
        assert!(name.1.len() <= 41, "{name:?} is longer than its column");
        assert!(seen.insert(name), "{mode:?}");
    }
    assert_eq!(seen.len(), 10 + 18 + 4);
}
