//! One thing that a person chose: where it lies, what it is, and how large it is as far as that was
//! counted.
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use ringway_model::Source;

use crate::dto::{ChosenSize, ChosenSource, MergedSource, SizeState, SourceKind};
use crate::text::shown;

/// How long a count holds. A folder that is chosen again later may have changed.
const COUNT_HOLDS: Duration = Duration::from_secs(5);

/// Choices that have it share it, so that it is counted once.
pub(super) struct Item {
    pub(super) number: u32,
    pub(super) source: Source,
    kind: OnceLock<SourceKind>,
    size: Mutex<Size>,
}

/// A size, and what is left out of it.
#[derive(Default)]
struct Size {
    counted: ChosenSize,
    leave_out: String,
    /// When it was counted to its end.
    at: Option<Instant>,
}

impl Item {
    pub(super) fn new(number: u32, source: Source) -> Arc<Self> {
        Arc::new(Self { number, source, kind: OnceLock::new(), size: Mutex::default() })
    }

    /// What it was when it was looked at first; a link is not followed. The size of anything but a
    /// folder is known with that.
    pub(super) fn kind(&self) -> SourceKind {
        *self.kind.get_or_init(|| {
            let (kind, bytes) = match self.source.path.symlink_metadata() {
                Ok(meta) if meta.is_dir() => return SourceKind::Folder,
                Ok(meta) if meta.is_file() => (SourceKind::File, meta.len()),
                Ok(_) => (SourceKind::Other, 0),
                Err(_) => (SourceKind::Unreadable, 0),
            };
            let items = u64::from(kind != SourceKind::Unreadable);
            self.size.lock().counted = ChosenSize { items, bytes, excluded: 0, state: SizeState::Exact };
            kind
        })
    }

    pub(super) fn size(&self) -> ChosenSize {
        self.size.lock().counted
    }

    /// Whether the size of this folder is known without what is left out. It is to be counted
    /// again if something else was left out before, or if that was some time ago.
    pub(super) fn is_counted_without(&self, leave_out: &str) -> bool {
        let mut size = self.size.lock();
        if size.leave_out != leave_out {
            *size = Size { leave_out: leave_out.to_owned(), ..Size::default() };
        }
        size.at.is_some_and(|at| at.elapsed() < COUNT_HOLDS)
    }

    /// Takes a size that was counted; while counting goes on, it never shrinks. Nothing if another
    /// window leaves out something else by now.
    pub(super) fn take_size(&self, counted: ChosenSize, leave_out: &str) {
        let mut size = self.size.lock();
        let is_more = counted.state != SizeState::Counting || counted.items > size.counted.items;
        if is_more && size.leave_out == leave_out {
            size.counted = counted;
            size.at = (counted.state != SizeState::Counting).then(Instant::now);
        }
    }

    pub(super) fn name(&self) -> String {
        shown_name(&self.source.path)
    }

    pub(super) fn shown(&self, names: &Names<'_>) -> ChosenSource {
        let kind = self.kind();
        ChosenSource {
            item: self.number,
            name: self.name(),
            kind,
            size: self.size(),
            same_name: names.is_shared(&self.source),
        }
    }
}

fn shown_name(path: &Path) -> String {
    path.file_name().map_or_else(|| shown(path), shown)
}

/// All of them together.
pub(super) fn total(items: &[Arc<Item>]) -> ChosenSize {
    let mut total = ChosenSize { state: SizeState::Exact, ..ChosenSize::default() };
    for size in items.iter().map(|item| item.size()) {
        total.items = total.items.saturating_add(size.items);
        total.bytes = total.bytes.saturating_add(size.bytes);
        total.excluded = total.excluded.saturating_add(size.excluded);
        total.state = match (total.state, size.state) {
            (SizeState::Counting, _) | (_, SizeState::Counting) => SizeState::Counting,
            (SizeState::AtLeast, _) | (_, SizeState::AtLeast) => SizeState::AtLeast,
            _ => SizeState::Exact,
        };
    }
    total
}

/// How often each name is there.
pub(super) struct Names<'a>(HashMap<&'a OsStr, u32>);

impl<'a> Names<'a> {
    pub(super) fn of(items: &'a [Arc<Item>]) -> Self {
        let mut names = HashMap::new();
        for name in items.iter().filter_map(|item| own_name(&item.source)) {
            *names.entry(name).or_default() += 1;
        }
        Self(names)
    }

    fn is_shared(&self, source: &Source) -> bool {
        own_name(source).and_then(|name| self.0.get(name)).is_some_and(|times| *times > 1)
    }
}

/// The name that it has at the receiver; contents have their own.
fn own_name(source: &Source) -> Option<&OsStr> {
    source.path.file_name().filter(|_| !source.contents_only)
}

/// Adds `added` to `items`, without what is there twice and what lies in a folder that is there:
/// the choice that results, and what was merged.
pub(super) fn merge(items: &[Arc<Item>], added: Vec<Arc<Item>>) -> (Vec<Arc<Item>>, Vec<MergedSource>) {
    let all: Vec<(PathBuf, Arc<Item>)> = items
        .iter()
        .cloned()
        .chain(added)
        // Without slashes at the end and dots between, which name the same.
        .map(|item| (item.source.path.components().collect(), item))
        .collect();
    let whole: HashMap<&Path, &Arc<Item>> = all
        .iter()
        .rev()
        .filter(|(_, item)| !item.source.contents_only)
        .map(|(path, item)| (path.as_path(), item))
        .collect();
    let folder_around = |path: &Path| {
        let above = path.ancestors().skip(1).filter_map(|above| whole.get(above));
        // What lies behind a link is not sent with it.
        above.filter(|item| item.kind() == SourceKind::Folder).last().map(|item| item.name())
    };
    let mut seen = std::collections::HashSet::new();
    let (mut kept, mut merged) = (Vec::new(), Vec::new());
    for (path, item) in &all {
        if !seen.insert((path.as_path(), item.source.contents_only)) {
            merged.push(MergedSource { name: item.name(), within: None });
            continue;
        }
        // Contents without their folder lie elsewhere at the receiver.
        match folder_around(path).filter(|_| !item.source.contents_only) {
            Some(within) => merged.push(MergedSource { name: item.name(), within: Some(within) }),
            None => kept.push(Arc::clone(item)),
        }
    }
    (kept, merged)
}
