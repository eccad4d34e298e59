//! Whole transfers under a virtual clock: the sans-IO machines, codecs, accounts, journal and rules
//! of resuming run against themselves, over connections that break at any byte, ends that are
//! killed between any two calls, a disk that forgets what was not synchronised, one that refuses
//! writes and tells only others, and journals that are spoilt.
//!
//! Transfers are offered once or again and again under the same number, to a receiver that may
//! still take the last session for alive; a full disk pauses them; some are to be proven, on a
//! medium that errs; old files are compared and copied from, while somebody writes to them.
//!
//! What must hold whatever happens: nothing has its final name that is not whole, or where files
//! are merged into a folder and the power goes, nothing that passes for whole; no receipt for what
//! is not there, also when the power goes the moment after; every attempt ends, within minutes on
//! its clock; what was whole or noted is not sent again; what somebody has stopped is not received
//! again; the last attempt, which nothing happens to, leaves the source as it is then.
//!
//! A seed that fails is printed, and played alone by `RINGWAY_SEED=123 cargo test -p ringway-wire
//! --test simulation`; `RINGWAY_SEEDS=1000000` plays more.
mod disk;
mod pipe;
mod random;
mod receiver;
mod sender;
mod source;
mod walks;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use world::{Told, World};

/// Stories told by each run of the tests.
const SEEDS: u64 = 250;

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

/// Plays one; what it was about.
fn play(seed: u64) -> Told {
    let mut world = World::new(seed);
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| world.play())) {
        eprintln!("seed {seed}:\n{}", world.story.join("\n"));
        resume_unwind(panic);
    }
    world.told
}

#[test]
fn every_story_ends_well() {
    if let Some(seed) = from_environment("RINGWAY_SEED") {
        play(seed);
        return;
    }
    let seeds = from_environment("RINGWAY_SEEDS").unwrap_or(SEEDS);
    let (next, told) = (AtomicU64::new(0), Mutex::new(Told::default()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut of_thread = Told::default();
                while let Some(seed) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|seed| *seed < seeds) {
                    of_thread += play(seed);
                }
                *told.lock().expect("no story has failed") += of_thread;
            });
        }
    });
    // Else the stories are not about what they should be, and nothing is proven.
    let Told {
        spared,
        found,
        unproven,
        no_room,
        paused,
        stopped,
        succeeded,
        again,
        torn,
        erred,
        refused,
        unheard,
        struck,
    } = told.into_inner().expect("no story has failed");
    assert!(spared / seeds > 1 << 20, "{spared} bytes were there before");
    assert!(found / seeds > 1 << 18, "{found} bytes were in old files");
    for (what, times) in [
        ("files were not what was sent", unproven),
        ("offers found no room", no_room),
        ("offers found what was paused", paused),
        ("offers were of what was stopped", stopped),
        ("sessions were followed by the next one", succeeded),
        ("receipts were given again", again),
        ("merges were torn by the power", torn),
        ("receivers were killed on a disk that refused writes", refused),
        ("receipts were not heard", unheard),
        ("receivers heard of an error", erred),
    ] {
        assert!(times > seeds / 1000, "{times} {what}");
    }
    println!("{struck:?}");
}
