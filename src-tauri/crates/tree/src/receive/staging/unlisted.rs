//! Makes room on a full disk for the next attempt: removes the files of this one and of earlier
//! ones that it would not believe, because no journal lists them. They are sent again.
use std::collections::{HashMap, HashSet};

use crate::disk::Dir;
use ringway_sys::attributes::{Kind, Metadata};
use ringway_wire::journal::{Begun, Noted, Version};
use ringway_wire::resume::{self, Belief, TREE};
use ringway_wire::{Name, RelPath};

use crate::receive::staging::{found, journal, names_of};

/// Bytes of the paths of folders that wait to be looked through. What does not fit stays.
const PATHS_MAX: usize = 16 * 1024 * 1024;

/// What an attempt's journal lists of its tree.
struct Listed {
    whole: HashSet<u64>,
    begun: HashMap<Box<[u8]>, (Version, Begun)>,
    belief: Belief,
}

impl Listed {
    fn new(noted: Noted, belief: Belief) -> Self {
        let Noted { begun, durable, doubtful, .. } = noted;
        let mut whole = durable;
        // What no sync covers is compared, or sent again.
        if belief == Belief::Compared {
            whole.extend(doubtful);
        }
        let by_place = |(version, begun): (Version, Begun)| (begun.place.clone(), (version, begun));
        Self { whole, begun: begun.into_iter().map(by_place).collect(), belief }
    }

    fn has(&self, folder: RelPath<'_>, name: &[u8], there: &Metadata) -> bool {
        let there = found(there);
        let place = [TREE, folder.as_bytes(), name].into_iter().filter(|part| !part.is_empty());
        let begun = self.begun.get(place.collect::<Vec<_>>().join(&b'/').as_slice());
        self.whole.contains(&journal::mark(folder.as_bytes(), name, there.size, there.mtime))
            || begun.is_some_and(|(version, begun)| resume::going_on(&there, version, begun, self.belief).is_some())
    }
}

/// Removes such files from the trees of a staging folder. Best effort: what stays takes room.
pub(in crate::receive) fn remove(staging: &Dir) {
    let Ok(names) = names_of(staging, resume::is_kept) else { return };
    let earlier = resume::take_over(names.iter().map(Vec::as_slice), [], false).attempts;
    let earlier = earlier.iter().filter_map(|name| staging.open_dir(name).ok());
    let attempts: Vec<_> = staging.try_clone().into_iter().chain(earlier).collect();
    let mut left = journal::READ_MAX;
    let noted: Vec<_> = attempts.iter().map(|attempt| journal::read(attempt, &mut left)).collect();
    if left == 0 {
        // Nobody knows what the rest lists.
        return;
    }
    let sum = |bytes: fn(&Noted) -> u64| noted.iter().map(bytes).fold(0, u64::saturating_add);
    let belief = Belief::in_what_is_noted(sum(|noted| noted.durable_bytes), sum(|noted| noted.doubtful_bytes));
    for (attempt, noted) in attempts.iter().zip(noted) {
        if let Ok(tree) = attempt.open_dir(TREE) {
            remove_from(&tree, &Listed::new(noted, belief));
        }
    }
}

fn remove_from(tree: &Dir, listed: &Listed) {
    let (mut folders, mut waiting) = (vec![Vec::new()], 0);
    while let Some(path) = folders.pop() {
        waiting -= path.len();
        let opened = if path.is_empty() { tree.try_clone() } else { tree.open_beneath(&path) };
        let (Ok(dir), Ok(folder)) = (opened, RelPath::new(&path)) else { continue };
        let Ok(mut entries) = dir.entries() else { continue };
        while let Some(Ok(entry)) = entries.next() {
            let (Ok(there), Ok(name)) = (dir.metadata(entry.name), Name::new(entry.name)) else { continue };
            match there.kind {
                Kind::Dir => {
                    let below = folder.join(name).ok().filter(|below| waiting + below.len() <= PATHS_MAX);
                    waiting += below.as_ref().map_or(0, Vec::len);
                    folders.extend(below);
                }
                Kind::File if !listed.has(folder, entry.name, &there) => {
                    let _ = dir.unlink(entry.name);
                }
                _ => {}
            }
        }
    }
}
