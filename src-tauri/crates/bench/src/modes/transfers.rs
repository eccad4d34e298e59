//! All layers together: the data plane of a real transfer, from the walk to the receiver's
//! synchronising, without a session.
use std::io;
use std::sync::Arc;
use std::time::Instant;

use ringway_model::{OnConflict, Source, TransferId};
use ringway_sys::file_io::FileIo;
use ringway_sys::thread::cpu_time;
use ringway_tree::receive::{AttemptKey, DestinationOptions, Expected, Incoming, LaneError};
use ringway_tree::send::Outgoing;
use ringway_wire::OfferedNames;

use crate::bench::Bench;
use crate::data::Data;
use crate::loopback::Watched;
use crate::meter::{Counting, Round, both};
use crate::mode::{Calls, Cipher, NotMeasured};
use crate::modes::layers::driver;
use ringway_tree::descriptors::{ForReceiving, left};
use ringway_tree::random;

pub(crate) fn run(
    bench: &Bench<'_>,
    cipher: Cipher,
    read: Calls,
    write: Calls,
    data: &Data,
    lanes: u8,
    prove: bool,
) -> Result<Round, NotMeasured> {
    let watched = |end| Watched { end, stop: bench.stop };
    let mut ends = Vec::new();
    for (near, far) in bench.wire.lanes(cipher, lanes)? {
        ends.push(((watched(near), driver(read)?), (watched(far), driver(write)?)));
    }
    let root = bench.work.delivered();
    let transfer = random()?;
    let incoming = Incoming::begin(DestinationOptions {
        destination: root.clone(),
        expected: Expected::Made,
        transfer: TransferId(transfer),
        on_conflict: OnConflict::Replace,
        keep_owner: false,
        owners_by_name: false,
        keep_setuid: false,
        keep_acls: false,
        widen_modes: false,
        brought_before: Box::new(|_| None),
        others_brought: Box::new(|| false),
        announce: None,
        whose: None,
        recall: None,
        attempt: AttemptKey::new(&transfer, &OfferedNames::default()),
        from: String::new(),
        names: Vec::new(),
        more_names: 0,
        offered: None,
        asked: None,
        answers: None,
        // Half of the remaining descriptors; the other half is the sending end's.
        open: ForReceiving::within(left() / 2 / usize::from(lanes), 1),
        prove: false,
        allowance: None,
        own: Default::default(),
        into_home: ringway_model::IntoHome::DotNames,
        homes: Default::default(),
        tops: Default::default(),
    })?;
    let moved = cross(bench, data, &incoming, ends);
    if moved.is_err() {
        incoming.cancel();
        // If something cannot be removed here, it is removed with the whole folder.
        let _ = incoming.abandon();
    }
    let round = moved?;
    let name = data.root().file_name().unwrap_or_default();
    if prove && !data.is_at(&root.join(name))? {
        return Err(NotMeasured::Differs);
    }
    Ok(round)
}

/// Moves the tree, and finishes it at the receiving end.
fn cross<'s>(
    bench: &Bench<'s>,
    data: &Data,
    incoming: &Arc<Incoming>,
    ends: Vec<((Watched<'s>, FileIo), (Watched<'s>, FileIo))>,
) -> Result<Round, NotMeasured> {
    let began = Instant::now();
    let outgoing = Outgoing::start(&[Source { path: data.root().to_owned(), contents_only: false }])?;
    let send = |_, (mut to, mut io): (Watched<'_>, FileIo)| {
        outgoing.run_lane(&mut to, &mut io)?;
        to.end.close()
    };
    let receive = |_, (mut from, mut io): (Watched<'_>, FileIo)| {
        incoming.run_lane(&mut from, &mut io).map_err(|error| match error {
            LaneError::Source(error) => error,
            other => io::Error::other(other.to_string()),
        })
    };
    let (mut round, _) = both(bench.counting, ends, send, receive)?;
    let cpu = cpu_time();
    let finished = incoming.finish(&outgoing.sent()).map_err(|error| NotMeasured::Failed(error.to_string()));
    let finishing = cpu_time().saturating_sub(cpu);
    round.wall = began.elapsed();
    if let Some(end) = &mut round.receiver {
        end.cpu += finishing;
        let counted = end.instructions.as_mut().filter(|_| bench.counting == Counting::Clock);
        counted.into_iter().for_each(|count| *count += finishing.as_nanos() as u64);
    }
    finished?;
    match outgoing.failed() + incoming.results().failed() {
        0 => Ok(round),
        failed => Err(NotMeasured::Failed(format!("{failed} entries failed"))),
    }
}
