//! What is measured, by its words: the same in the table and as JSON, where scripts read them.
use ringway_bench::{
    Calls, Cipher, Dataset, InstructionSource, Inward, Layer, LimitingEnd, Mode, NoInstructions, NotMeasured, Outward,
};

use crate::text::for_terminal;
use crate::words::path_taken::{sync_io, user_tls};

pub(super) fn dataset(dataset: Dataset) -> &'static str {
    match dataset {
        Dataset::Small => "small",
        Dataset::Medium => "medium",
        Dataset::Huge => "huge",
    }
}

pub(super) fn cipher(cipher: Cipher) -> &'static str {
    match cipher {
        Cipher::Plaintext => "plaintext",
        Cipher::User => "user",
        Cipher::Kernel => "kernel",
    }
}

fn calls(calls: Calls) -> &'static str {
    match calls {
        Calls::Plain => "plain calls",
        Calls::Uring => "io_uring",
    }
}

/// Which group a mode is of.
pub(super) fn part(mode: Mode) -> &'static str {
    match mode {
        Mode::Layer(_) => "layer",
        Mode::Mover { .. } => "mover",
        Mode::Transfer { .. } => "transfer",
    }
}

/// Who encrypts in it; `None` if nothing is on a connection.
pub(super) fn tls(mode: Mode) -> Option<&'static str> {
    match mode {
        Mode::Layer(Layer::Send(by) | Layer::Receive(by)) | Mode::Mover { cipher: by, .. } => Some(cipher(by)),
        Mode::Transfer { cipher: by, .. } => Some(cipher(by)),
        Mode::Layer(Layer::Encrypt | Layer::Decrypt) => Some(cipher(Cipher::User)),
        Mode::Layer(Layer::Read(_) | Layer::Write(_)) => None,
    }
}

/// A mode beside its group and its encryption.
pub(super) fn mode(mode: Mode) -> String {
    match mode {
        Mode::Layer(layer) => self::layer(layer),
        Mode::Mover { out, into, .. } => format!("{} > {}", outward(out), inward(into)),
        Mode::Transfer { read, write, .. } if read == write => calls(read).to_owned(),
        Mode::Transfer { read, write, .. } => format!("read by {}, write by {}", calls(read), calls(write)),
    }
}

pub(super) fn layer(layer: Layer) -> String {
    match layer {
        Layer::Read(by) => format!("read, {}", calls(by)),
        Layer::Send(_) => "send".to_owned(),
        Layer::Encrypt => "encrypt".to_owned(),
        Layer::Receive(_) => "receive".to_owned(),
        Layer::Decrypt => "decrypt".to_owned(),
        Layer::Write(by) => format!("write, {}", calls(by)),
    }
}

fn outward(out: Outward) -> &'static str {
    match out {
        Outward::ReadSend => "read+send",
        Outward::UringReadSend => "io_uring read+send",
        Outward::Splice => "splice",
        Outward::SpliceAlwaysMore => "splice, always MORE",
        Outward::UringSplice => "io_uring splice",
        Outward::SendFile => "sendfile",
    }
}

fn inward(into: Inward) -> &'static str {
    match into {
        Inward::ReceiveWrite => "recv+write",
        Inward::UringReceiveWrite => "io_uring recv+write",
        Inward::Splice => "splice",
    }
}

pub(super) fn bottleneck(bottleneck: LimitingEnd) -> &'static str {
    match bottleneck {
        LimitingEnd::Sender => "sender",
        LimitingEnd::Receiver => "receiver",
        LimitingEnd::Elsewhere => "elsewhere",
        LimitingEnd::Waiting => "waiting",
    }
}

/// Why a row has no figures; what the kernel said is shown as text.
pub(super) fn not_measured(why: &NotMeasured) -> String {
    match why {
        NotMeasured::KernelTls(reason) => format!("no kernel TLS: {}", user_tls(*reason)),
        NotMeasured::IoUring(reason) => format!("no io_uring: {}", sync_io(*reason)),
        NotMeasured::Differs => "what arrived is not what was sent".to_owned(),
        NotMeasured::Failed(said) => for_terminal(said),
    }
}

pub(super) fn instructions(source: InstructionSource) -> &'static str {
    match source {
        InstructionSource::Processor => "processor",
        InstructionSource::Clock => "clock",
    }
}

pub(super) fn no_instructions(why: NoInstructions) -> String {
    match why {
        NoInstructions::NotInKernel => "this kernel has no performance counters".to_owned(),
        NoInstructions::NotInProcessor => "the processor offers no counter, as in most virtual machines".to_owned(),
        NoInstructions::Forbidden => {
            "they are forbidden (sysctl kernel.perf_event_paranoid, or a container's policy)".to_owned()
        }
        NoInstructions::Refused(errno) => format!("the kernel refused (errno {errno})"),
    }
}
