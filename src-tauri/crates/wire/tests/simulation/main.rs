//! Whole transfers under a virtual clock: the sans-IO machines, codecs, accounts, journal and rules of resuming run against themselves, over connections
//! that break at any byte, ends that are killed between any two calls, a disk that forgets what was not synchronised, and journals that are spoilt.
//!
//! What must hold whatever happens: nothing has its final name that is not whole; no receipt for what is not there, also when the power goes the moment
//! after; every attempt ends, within minutes on its clock; what was whole or noted is not sent again; the last attempt, which nothing happens to, leaves
//! the source as it is then.
//!
//! A seed that fails is printed, and played alone by `RINGWAY_SEED=123 cargo test -p ringway-wire --test simulation`; `RINGWAY_SEEDS=1000000` plays more.
mod disk;
mod pipe;
mod random;
mod receiver;
mod sender;
mod source;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use world::World;

/// Stories told by each run of the tests.
const SEEDS: u64 = 20_000;

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

/// Plays one; what it has spared.
fn play(seed: u64) -> u64 {
    let mut world = World::new(seed);
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| world.play())) {
        eprintln!("seed {seed}:\n{}", world.story.join("\n"));
        resume_unwind(panic);
    }
    world.spared
}

#[test]
fn every_story_ends_well() {
    if let Some(seed) = from_environment("RINGWAY_SEED") {
        play(seed);
        return;
    }
    let seeds = from_environment("RINGWAY_SEEDS").unwrap_or(SEEDS);
    let (next, spared) = (AtomicU64::new(0), AtomicU64::new(0));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(seed) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|seed| *seed < seeds) {
                    spared.fetch_add(play(seed), Ordering::Relaxed);
                }
            });
        }
    });
    // Else the stories are of attempts that leave nothing behind, and nothing is proven.
    let spared = spared.into_inner() / seeds;
    assert!(spared > 1 << 20, "{spared} bytes a story were there before");
}
