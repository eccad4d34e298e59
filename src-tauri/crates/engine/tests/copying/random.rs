//! Random trees, copied over random trees, against cp -a; a failure names its seed.

use ringway_sys::attributes::Kind;

use crate::both::Case;
use crate::places::Place;
use crate::tree::{Tree, pattern};

/// Trees a filesystem, others on each: some dozens of entries each.
const SEEDS: u64 = 8;

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers for the same seed, everywhere.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) as usize % bound
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// Few names, so that the two trees meet.
const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "\u{e9}\n", "x y", "-r"];

/// Nothing that cp -a keeps of what was there before: see `own_modes`.
const MODES: [u32; 6] = [0o600, 0o644, 0o755, 0o640, 0o777, 0o700];

/// Makes what a draw says below `at`; `source` has what a destination must not, since cp would wait
/// at a FIFO.
fn grow(tree: &Tree, at: &str, depth: usize, source: bool, draw: &mut Draw, linked: &mut Vec<String>) {
    tree.dir(at);
    for name in NAMES {
        let path = format!("{at}/{name}");
        match draw.below(14) {
            0..=4 => {
                let len = draw.one_of(&[0, 1, 100, 4_096, 70_000]);
                tree.file(&path, pattern(draw.below(99), len)).mode(&path, draw.one_of(&MODES));
                if draw.below(4) == 0 {
                    tree.xattr(&path, "user.drawn", &pattern(draw.below(99), 20));
                }
            }
            5..=7 if depth < 3 => grow(tree, &path, depth + 1, source, draw, linked),
            // A destination's leads to nothing that the copy makes: which of the two comes first is
            // chance.
            8 => {
                _ = tree
                    .link(draw.one_of(if source { &["nowhere", "..", "a"] } else { &["nowhere", "..", "/dev"] }), &path)
            }
            9 if source => tree.node(&path, Kind::Fifo, 0o600, (0, 0)).unwrap(),
            9 => {
                // One file outside for each link, so that no two writes meet.
                let outside = format!("outside-{}", path.replace('/', "|"));
                tree.file(&outside, pattern(draw.below(99), 5_000));
                let up = "../".repeat(path.matches('/').count());
                tree.link(&format!("{up}{outside}"), &path);
            }
            10 => _ = tree.sparse(&path, 1 << 20, &[(draw.below(900_000) as u64, 4_096)]),
            11 => {
                // Names of their own, for what stands there decides which of them comes to be the
                // first.
                let path = format!("{at}/hard-{name}");
                match linked.last() {
                    Some(first) if source && draw.below(3) > 0 => tree.hard(first, &path),
                    _ => tree.file(&path, pattern(draw.below(99), 6_000)),
                };
                linked.push(path);
            }
            _ => {}
        }
    }
    tree.mode(at, draw.one_of(&MODES) | 0o700);
}

pub(crate) fn trees(place: &Place) {
    let mut problems = Vec::new();
    let first = place.test.bytes().fold(0, |sum, byte| sum * 31 % 1_000_003 + u64::from(byte));
    for seed in first..first + SEEDS {
        let before = |tree: &Tree| {
            let mut draw = Draw(seed * 1_000 + 7);
            grow(tree, "source", 0, true, &mut draw, &mut Vec::new());
            grow(tree, "into/source", 0, false, &mut draw, &mut Vec::new());
        };
        problems.extend(Case::new(&format!("seed {seed}"), &before, &["source"], "into").problems(place, |_| {}));
    }
    assert!(problems.is_empty(), "unlike what cp does:\n{}", problems.join("\n"));
}
