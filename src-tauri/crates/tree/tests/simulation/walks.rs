//! Every crash point of some small transfers: the receiver is killed, or its power goes, just
//! before each of its operations on the disk, and the next attempt must end well.
mod links;

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::world::World;

/// Power cuts before each operation: what is left differs. Large files take longer.
const CUTS: usize = 3;
const CUTS_LARGE: usize = 1;

/// Stories that are looked at for one of a kind.
const LOOKED_AT: u64 = 2_000;

/// The smallest story of a kind among the first ones that have several files.
fn story(is_large: bool, is_there: bool, proves: bool) -> u64 {
    let bytes_min = if is_large { 7 << 20 } else { 200_000 };
    let fits = |seed: &u64| {
        let world = World::new(*seed);
        world.is_of() == (is_large, is_there, proves) && world.bytes() > bytes_min && (world.replaces() || !is_there)
    };
    (0..LOOKED_AT).filter(fits).take(8).min_by_key(|seed| World::new(*seed).bytes()).expect("a story of each kind")
}

/// The operations before which it was struck.
fn walk(is_large: bool, is_there: bool, proves: bool) -> HashSet<&'static str> {
    let seed = story(is_large, is_there, proves);
    let operations = World::new(seed).operations();
    assert!(operations > 30, "{operations} operations");
    let (next, struck) = (AtomicUsize::new(0), Mutex::new(HashSet::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < operations) {
                    for time in 0..=if is_large { CUTS_LARGE } else { CUTS } {
                        let mut world = World::new(seed);
                        world.shuffle(time as u64);
                        let crash = || world.crash_before(at, time > 0);
                        if let Err(panic) = catch_unwind(AssertUnwindSafe(crash)) {
                            eprintln!("story {seed}, {time}:\n{}", world.story.join("\n"));
                            resume_unwind(panic);
                        }
                        struck.lock().extend(world.told.struck);
                    }
                }
            });
        }
    });
    println!("story {seed}: {operations} operations");
    struck.into_inner()
}

/// It is about those operations.
fn check_struck(struck: &HashSet<&'static str>, kinds: &[&'static str]) {
    let spared: Vec<_> = kinds.iter().filter(|kind| !struck.contains(*kind)).collect();
    assert!(spared.is_empty(), "the receiver was never struck before: {spared:?}");
}

#[test]
fn a_new_folder_of_small_files_survives_a_crash_before_each_operation() {
    let struck = walk(false, false, false);
    check_struck(&struck, &["make a folder", "create", "write", "set a time", "set a mode", "rename"]);
    check_struck(&struck, &["synchronise", "synchronise a file", "synchronise a folder", "unlink", "remove a folder"]);
}

#[test]
fn a_merge_of_small_files_survives_a_crash_before_each_operation() {
    check_struck(&walk(false, true, false), &["write out", "rename over"]);
}

#[test]
fn a_proven_merge_survives_a_crash_before_each_operation() {
    check_struck(&walk(false, true, true), &["write out", "rename over"]);
}

#[test]
fn a_new_large_file_survives_a_crash_before_each_operation() {
    check_struck(&walk(true, false, false), &["set a length"]);
}

#[test]
fn a_large_file_that_replaces_another_survives_a_crash_before_each_operation() {
    check_struck(&walk(true, true, false), &["set a length", "write out", "rename over"]);
}
