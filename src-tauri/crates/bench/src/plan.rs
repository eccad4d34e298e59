//! Which modes are measured on which files, what this machine lacks for a mode, and which layers
//! each mode consists of.
use std::time::Duration;

use ringway_model::{Fault, IoMode, SyncIoReason, TlsMode, UserTlsReason};
use ringway_tree::io_plan::IoPlan;

use crate::mode::{Calls, Cipher, Dataset, Inward, Layer, Mode, NotMeasured, Outward, Part};
use crate::options::ModesOptions;
use ringway_link::lane;

/// The movers of raw sockets, in plaintext or kernel TLS: each way out with the plainest way in,
/// and the other way round.
const MOVERS: [(Outward, Inward); 8] = [
    (Outward::ReadSend, Inward::ReceiveWrite),
    (Outward::Splice, Inward::ReceiveWrite),
    (Outward::SpliceAlwaysMore, Inward::ReceiveWrite),
    (Outward::SendFile, Inward::ReceiveWrite),
    (Outward::ReadSend, Inward::Splice),
    (Outward::SendFile, Inward::Splice),
    (Outward::UringReadSend, Inward::UringReceiveWrite),
    (Outward::UringSplice, Inward::ReceiveWrite),
];

/// How transfers read and write: with plain calls; with their own choice; with io_uring.
const TRANSFERS: [(Calls, Calls); 3] =
    [(Calls::Plain, Calls::Plain), (Calls::Uring, Calls::Plain), (Calls::Uring, Calls::Uring)];

/// The modes for these files, in the order of the table.
pub(crate) fn modes(options: &ModesOptions, dataset: Dataset) -> Vec<Mode> {
    let mut modes = Vec::new();
    for part in Part::ALL.into_iter().filter(|part| options.parts.contains(part)) {
        match part {
            Part::Layers => modes.extend(layers(options).into_iter().map(Mode::Layer)),
            // For small files, the cost of opening and making them hides the cost of a mover.
            Part::Movers if dataset == Dataset::Small => {}
            Part::Movers => modes.extend(ciphers(options).flat_map(movers)),
            Part::Transfers => modes.extend(
                ciphers(options)
                    .flat_map(|cipher| TRANSFERS.map(|(read, write)| Mode::Transfer { cipher, read, write })),
            ),
        }
    }
    modes
}

fn ciphers(options: &ModesOptions) -> impl Iterator<Item = Cipher> {
    Cipher::ALL.into_iter().filter(|cipher| options.ciphers.contains(cipher))
}

fn layers(options: &ModesOptions) -> Vec<Layer> {
    // In userspace a lane sends records over a socket that knows nothing of them. So its layers are
    // those of plaintext, and those of the records.
    let sockets: Vec<Cipher> = ciphers(options).filter(|cipher| *cipher != Cipher::User).collect();
    let user = options.ciphers.contains(&Cipher::User);
    let both = [Calls::Plain, Calls::Uring];
    let mut layers = Vec::from(both.map(Layer::Read));
    layers.extend(user.then_some(Layer::Encrypt));
    layers.extend(sockets.iter().copied().map(Layer::Send));
    layers.extend(sockets.iter().copied().map(Layer::Receive));
    layers.extend(user.then_some(Layer::Decrypt));
    layers.extend(both.map(Layer::Write));
    layers
}

fn movers(cipher: Cipher) -> Vec<Mode> {
    // The kernel cannot splice records that it does not make.
    let ways = if cipher == Cipher::User { &MOVERS[..1] } else { &MOVERS[..] };
    ways.iter().map(|(out, into)| Mode::Mover { out: *out, into: *into, cipher }).collect()
}

/// What this machine lacks for a mode.
pub(crate) fn unavailable(mode: Mode) -> Option<NotMeasured> {
    let kernel = match mode {
        Mode::Layer(Layer::Send(cipher) | Layer::Receive(cipher)) => cipher,
        Mode::Mover { cipher, .. } | Mode::Transfer { cipher, .. } => cipher,
        Mode::Layer(_) => Cipher::Plaintext,
    } == Cipher::Kernel;
    let uring = match mode {
        Mode::Layer(Layer::Read(calls) | Layer::Write(calls)) => calls == Calls::Uring,
        Mode::Layer(_) => false,
        Mode::Mover { out, into, .. } => {
            matches!(out, Outward::UringReadSend | Outward::UringSplice) || into == Inward::UringReceiveWrite
        }
        Mode::Transfer { read, write, .. } => [read, write].contains(&Calls::Uring),
    };
    let no_kernel = || no_kernel_tls().filter(|_| kernel).map(NotMeasured::KernelTls);
    no_kernel().or_else(|| no_io_uring().filter(|_| uring).map(NotMeasured::IoUring))
}

/// Why kernel TLS is unavailable.
pub(crate) fn no_kernel_tls() -> Option<UserTlsReason> {
    match lane::plan(TlsMode::Kernel) {
        Err(Fault::NoKernelTls { reason, .. }) => Some(reason),
        _ => None,
    }
}

/// Why io_uring is unavailable.
pub(crate) fn no_io_uring() -> Option<SyncIoReason> {
    match IoPlan::new(IoMode::Uring) {
        Err(Fault::NoIoUring { reason }) => Some(reason),
        _ => None,
    }
}

/// The layers of a mode that are measured by themselves.
fn made_of(mode: Mode) -> Vec<Layer> {
    let (cipher, read, write) = match mode {
        Mode::Layer(_) => return Vec::new(),
        Mode::Mover { out, into, cipher } => {
            let read = match out {
                Outward::ReadSend => Some(Calls::Plain),
                Outward::UringReadSend => Some(Calls::Uring),
                Outward::Splice | Outward::SpliceAlwaysMore | Outward::UringSplice | Outward::SendFile => None,
            };
            let write = match into {
                Inward::ReceiveWrite => Some(Calls::Plain),
                Inward::UringReceiveWrite => Some(Calls::Uring),
                Inward::Splice => None,
            };
            (cipher, read, write)
        }
        Mode::Transfer { cipher, read, write } => (cipher, Some(read), Some(write)),
    };
    let socket = if cipher == Cipher::User { Cipher::Plaintext } else { cipher };
    let mut layers: Vec<Layer> = read.map(Layer::Read).into_iter().collect();
    layers.extend((cipher == Cipher::User).then_some(Layer::Encrypt));
    layers.extend([Layer::Send(socket), Layer::Receive(socket)]);
    layers.extend((cipher == Cipher::User).then_some(Layer::Decrypt));
    layers.extend(write.map(Layer::Write));
    layers
}

/// The layer of a mode that took longest alone, if all of its layers were measured.
pub(crate) fn slowest(mode: Mode, measured: &[(Layer, Duration)]) -> Option<Layer> {
    let wall = |layer: Layer| measured.iter().find(|(one, _)| *one == layer).map(|(_, wall)| (*wall, layer));
    let walls: Option<Vec<(Duration, Layer)>> = made_of(mode).into_iter().map(wall).collect();
    walls?.into_iter().max_by_key(|(wall, _)| *wall).map(|(_, layer)| layer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_requested_mode_is_planned_once() {
        let all = ModesOptions::default();
        for (dataset, wanted) in
            [(Dataset::Small, 10 + 9), (Dataset::Medium, 10 + 17 + 9), (Dataset::Huge, 10 + 17 + 9)]
        {
            let planned = modes(&all, dataset);
            let different: std::collections::HashSet<Mode> = planned.iter().copied().collect();
            assert_eq!((planned.len(), different.len()), (wanted, wanted), "{dataset:?}");
        }
        let user = ModesOptions { ciphers: vec![Cipher::User], ..ModesOptions::default() };
        let uses_others = |mode: &Mode| match mode {
            Mode::Layer(layer) => matches!(layer, Layer::Send(_) | Layer::Receive(_)),
            Mode::Mover { cipher, .. } | Mode::Transfer { cipher, .. } => *cipher != Cipher::User,
        };
        assert!(!modes(&user, Dataset::Huge).iter().any(uses_others));
        let movers = ModesOptions { parts: vec![Part::Movers], ..ModesOptions::default() };
        assert!(modes(&movers, Dataset::Huge).iter().all(|mode| matches!(mode, Mode::Mover { .. })));
    }

    #[test]
    fn the_slowest_layer_belongs_to_the_mode() {
        let measured = |write_ms| {
            [
                (Layer::Read(Calls::Plain), 30),
                (Layer::Encrypt, 20),
                (Layer::Send(Cipher::Plaintext), 10),
                (Layer::Send(Cipher::Kernel), 900),
                (Layer::Receive(Cipher::Plaintext), 11),
                (Layer::Decrypt, 21),
                (Layer::Write(Calls::Plain), write_ms),
                (Layer::Write(Calls::Uring), 800),
            ]
            .map(|(layer, ms)| (layer, Duration::from_millis(ms)))
        };
        let user = Mode::Transfer { cipher: Cipher::User, read: Calls::Plain, write: Calls::Plain };
        assert_eq!(slowest(user, &measured(40)), Some(Layer::Write(Calls::Plain)));
        assert_eq!(slowest(user, &measured(5)), Some(Layer::Read(Calls::Plain)));
        let splice = Mode::Mover { out: Outward::Splice, into: Inward::ReceiveWrite, cipher: Cipher::Plaintext };
        assert_eq!(slowest(splice, &measured(5)), Some(Layer::Receive(Cipher::Plaintext)), "nothing is read in it");
        assert_eq!(slowest(user, &measured(40)[1..]), None, "a layer that was not measured may be the slowest");
        assert_eq!(slowest(Mode::Layer(Layer::Encrypt), &measured(40)), None);
    }
}
