//! What a person chose or dropped, to be sent or copied: the paths stay here, the webview gets
//! names and a number.
//!
//! A choice never changes. What is added or removed makes another one, so that what a number stands
//! for cannot change behind the sender's back, and undoing is going back to an earlier number.
mod counting;
mod item;
pub(crate) mod left_out;

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use ringway_engine::Target;
use ringway_model::{Fault, Invalid, Source};

use crate::dto::{Chosen, MergedSource, SourceKind};
pub(crate) use counting::{Counted, Counting};
use item::{Item, Names, merge, total};
use left_out::LeftOut;

/// Choices remembered: every drag over the window makes one, and so does each change of a list.
/// Only the latest few can still be on the screen, or be taken back.
const CHOICES_MAX: usize = 64;

/// Items of a choice, about 30 MB of names as a file manager drops them.
const ITEMS_MAX: usize = 100_000;

/// Items of a choice that are shown one by one: more would not be read, and each costs a stat(2).
const ITEMS_SHOWN_MAX: usize = 200;

/// Merged items that are named.
const MERGED_SHOWN_MAX: usize = 8;

/// A choice and what it stands for.
struct Kept {
    id: u32,
    items: Vec<Arc<Item>>,
    /// Where items of it went before, if they were chosen from the history; none for what a person
    /// chose or dropped just now.
    bound: Vec<Target>,
    /// What failed when it was sent before, by its path in that transfer.
    failed_before: Vec<PathBuf>,
}

/// The latest choices.
#[derive(Default)]
pub(crate) struct Choices {
    latest: Mutex<Latest>,
    left_out: LeftOut,
}

#[derive(Default)]
struct Latest {
    /// The one that was used last is at the end.
    kept: VecDeque<Arc<Kept>>,
    last_id: u32,
    last_item: u32,
}

/// What is to be sent, and what of it failed before.
pub(super) struct ToSend {
    pub(super) sources: Vec<Source>,
    pub(super) failed_before: Vec<PathBuf>,
}

/// A target that a choice from the history went to before, and what stands for the choice where
/// little fits: a name, and how many more there are.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Elsewhere {
    pub(super) what: String,
    pub(super) more: u64,
    pub(super) was: Target,
}

impl Choices {
    /// `state` is the folder for what may be lost.
    pub(crate) fn open(state: &Path) -> Self {
        Self { latest: Mutex::default(), left_out: LeftOut::open(state) }
    }

    /// Remembers `paths`, of folders with all that is in them; `None` if nothing was chosen.
    ///
    /// # Errors
    /// There are too many.
    pub(crate) fn keep(&self, paths: Vec<PathBuf>) -> Result<Option<Chosen>, Fault> {
        let sources: Vec<_> = paths.into_iter().map(|path| Source { path, contents_only: false }).collect();
        let added = self.latest.lock().items(sources)?;
        let (items, merged) = merge(&[], added);
        Ok(self.remember(items, Vec::new(), Vec::new()).map(|kept| self.shown(&kept, &merged)))
    }

    /// Remembers sources from the history, which went to `target` before, and what failed then;
    /// `None` if there are none.
    ///
    /// # Errors
    /// There are too many.
    pub(super) fn keep_sent(
        &self,
        sources: Vec<Source>,
        target: Target,
        failed_before: Vec<PathBuf>,
    ) -> Result<Option<Chosen>, Fault> {
        let items = self.latest.lock().items(sources)?;
        Ok(self.remember(items, vec![target], failed_before).map(|kept| self.shown(&kept, &[])))
    }

    /// The items of two choices as one, each thing once; what was merged is said.
    ///
    /// # Errors
    /// One of them is too long ago, or together they are too many.
    pub(crate) fn join(&self, id: u32, added: u32) -> Result<Chosen, Fault> {
        let (kept, added) = (self.find(id)?, self.find(added)?);
        if kept.items.len() + added.items.len() > ITEMS_MAX {
            return Err(Fault::Invalid(Invalid::TooMany));
        }
        let (items, merged) = merge(&kept.items, added.items.clone());
        let mut bound = kept.bound.clone();
        bound.extend(added.bound.iter().filter(|target| !kept.bound.contains(target)).cloned());
        let failed_before = kept.failed_before.iter().chain(&added.failed_before).cloned().collect();
        let joined = self.remember(items, bound, failed_before).ok_or(Fault::Gone)?;
        Ok(self.shown(&joined, &merged))
    }

    /// A choice without one of its items; `None` if it was the only one.
    ///
    /// # Errors
    /// The choice is too long ago.
    pub(crate) fn without_item(&self, id: u32, item: u32) -> Result<Option<Chosen>, Fault> {
        self.only(id, |one| one.number != item)
    }

    /// A choice without the items of another one; `None` if nothing is left.
    ///
    /// # Errors
    /// One of them is too long ago.
    pub(crate) fn without_chosen(&self, id: u32, other: u32) -> Result<Option<Chosen>, Fault> {
        let other = self.find(other)?;
        let gone: HashSet<_> = other.items.iter().map(|item| item.source.path.as_path()).collect();
        self.only(id, |item| !gone.contains(item.source.path.as_path()))
    }

    fn only(&self, id: u32, stays: impl Fn(&Item) -> bool) -> Result<Option<Chosen>, Fault> {
        let kept = self.find(id)?;
        let items = kept.items.iter().filter(|item| stays(item)).cloned().collect();
        // Something was taken away on purpose.
        Ok(self.remember(items, kept.bound.clone(), Vec::new()).map(|kept| self.shown(&kept, &[])))
    }

    /// Counts a choice's items without what is left out, and shows how large they are, until the
    /// answer is dropped.
    ///
    /// # Errors
    /// The choice is too long ago, or a pattern is not understood.
    pub(crate) fn count(
        &self,
        id: u32,
        leave_out: &str,
        show: impl FnMut(Counted) + Send + 'static,
    ) -> Result<Counting, Fault> {
        let (kept, filter) = (self.find(id)?, left_out::filter(leave_out)?);
        Ok(counting::start(kept.items.clone(), leave_out, filter, ITEMS_SHOWN_MAX, show))
    }

    /// Remembers what is left out of the folders of a choice, if a person chose them and they do
    /// not come from the history.
    pub(super) fn remember_left_out(&self, id: u32, leave_out: &str) {
        let Ok(kept) = self.find(id) else { return };
        if kept.bound.is_empty() {
            self.left_out.remember(folders(&kept), leave_out);
        }
    }

    fn shown(&self, kept: &Kept, merged: &[MergedSource]) -> Chosen {
        let leave_out = if kept.bound.is_empty() { self.left_out.of(folders(kept)) } else { String::new() };
        shown(kept, merged, leave_out)
    }

    /// The same sources again are the same choice, if they are bound to the same targets.
    fn remember(&self, items: Vec<Arc<Item>>, bound: Vec<Target>, failed_before: Vec<PathBuf>) -> Option<Arc<Kept>> {
        if items.is_empty() {
            return None;
        }
        let mut latest = self.latest.lock();
        let is_same = |known: &Kept| {
            known.bound == bound
                && known.failed_before == failed_before
                && known.items.iter().map(|item| &item.source).eq(items.iter().map(|item| &item.source))
        };
        if let Some(known) = latest.kept.iter().find(|known| is_same(known)).map(|known| known.id) {
            return latest.find(known);
        }
        latest.last_id += 1;
        if latest.kept.len() == CHOICES_MAX {
            latest.kept.pop_front();
        }
        let kept = Arc::new(Kept { id: latest.last_id, items, bound, failed_before });
        latest.kept.push_back(Arc::clone(&kept));
        Some(kept)
    }

    fn find(&self, id: u32) -> Result<Arc<Kept>, Fault> {
        self.latest.lock().find(id).ok_or(Fault::Gone)
    }

    /// What choice `id` stands for, to be sent to `target`, and where it went before if that was
    /// elsewhere; `None` if it is too long ago.
    pub(super) fn to_send(&self, id: u32, target: &Target) -> Option<(ToSend, Option<Elsewhere>)> {
        let kept = self.find(id).ok()?;
        let elsewhere = kept.bound.iter().find(|bound| !is_same(bound, target)).map(|was| Elsewhere {
            what: kept.items.first().map(|item| item.name()).unwrap_or_default(),
            more: kept.items.len() as u64 - 1,
            was: was.clone(),
        });
        let sources = kept.items.iter().map(|item| item.source.clone()).collect();
        Some((ToSend { sources, failed_before: kept.failed_before.clone() }, elsewhere))
    }

    /// The paths of choice `id`, to be shared.
    ///
    /// # Errors
    /// The choice is too long ago, or comes from the history: nobody pointed at these paths now.
    pub(super) fn to_share(&self, id: u32) -> Result<Vec<PathBuf>, Fault> {
        let kept = self.find(id)?;
        match kept.bound.is_empty() {
            true => Ok(kept.items.iter().map(|item| item.source.path.clone()).collect()),
            false => Err(Fault::Gone),
        }
    }

    /// The paths of choice `id`; `None` if it is too long ago.
    pub(super) fn paths(&self, id: u32) -> Option<Vec<PathBuf>> {
        let kept = self.find(id).ok()?;
        Some(kept.items.iter().map(|item| item.source.path.clone()).collect())
    }
}

impl Latest {
    /// What is used stays longest.
    fn find(&mut self, id: u32) -> Option<Arc<Kept>> {
        let at = self.kept.iter().position(|kept| kept.id == id)?;
        let kept = self.kept.remove(at)?;
        self.kept.push_back(Arc::clone(&kept));
        Some(kept)
    }

    fn items(&mut self, sources: Vec<Source>) -> Result<Vec<Arc<Item>>, Fault> {
        if sources.len() > ITEMS_MAX {
            return Err(Fault::Invalid(Invalid::TooMany));
        }
        let numbered = sources.into_iter().map(|source| {
            self.last_item += 1;
            Item::new(self.last_item, source)
        });
        Ok(numbered.collect())
    }
}

/// The folders of a choice that are named one by one.
fn folders(kept: &Kept) -> impl Iterator<Item = &Path> {
    let shown = kept.items.iter().take(ITEMS_SHOWN_MAX);
    shown.filter(|item| item.kind() == SourceKind::Folder).map(|item| item.source.path.as_path())
}

fn shown(kept: &Kept, merged: &[MergedSource], leave_out: String) -> Chosen {
    let names = Names::of(&kept.items);
    let items = kept.items.iter().take(ITEMS_SHOWN_MAX).map(|item| item.shown(&names)).collect();
    Chosen {
        id: kept.id,
        items,
        more: kept.items.len().saturating_sub(ITEMS_SHOWN_MAX) as u64,
        total: total(&kept.items),
        leave_out,
        merged: merged.iter().take(MERGED_SHOWN_MAX).cloned().collect(),
        more_merged: merged.len().saturating_sub(MERGED_SHOWN_MAX) as u64,
    }
}

/// Whether `target` leads where `bound` does: to the same key, or to the same address, whichever
/// device answers there.
fn is_same(bound: &Target, target: &Target) -> bool {
    match (bound, target) {
        (
            Target::Device(one) | Target::DeviceAt { id: one, .. },
            Target::Device(other) | Target::DeviceAt { id: other, .. },
        ) => one == other,
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;
    use crate::dto::{ChosenSize, SizeState};

    fn keep<const N: usize>(choices: &Choices, paths: [&std::path::Path; N]) -> Chosen {
        choices.keep(paths.map(std::path::Path::to_owned).to_vec()).unwrap().unwrap()
    }

    fn names(chosen: &Chosen) -> Vec<&str> {
        chosen.items.iter().map(|item| item.name.as_str()).collect()
    }

    fn merged(chosen: &Chosen) -> Vec<(&str, Option<&str>)> {
        chosen.merged.iter().map(|merged| (merged.name.as_str(), merged.within.as_deref())).collect()
    }

    #[test]
    fn kinds_are_told_without_following_links() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir(root.join("set")).unwrap();
        std::fs::write(root.join("one.txt"), "x").unwrap();
        std::os::unix::fs::symlink(root.join("set"), root.join("link")).unwrap();
        let paths = ["set", "one.txt", "link", "gone"].map(|name| root.join(name)).to_vec();
        let chosen = Choices::default().keep(paths).unwrap().unwrap();
        let kinds: Vec<_> = chosen.items.iter().map(|item| item.kind).collect();
        assert_eq!(kinds, [SourceKind::Folder, SourceKind::File, SourceKind::Other, SourceKind::Unreadable]);
    }

    #[test]
    fn entering_and_dropping_the_same_things_is_one_choice() {
        let choices = Choices::default();
        let first = keep(&choices, ["/a".as_ref()]);
        let again = keep(&choices, ["/a".as_ref()]);
        let other = keep(&choices, ["/b".as_ref()]);
        assert_eq!(first.id, again.id);
        assert_ne!(first.id, other.id);
        assert_eq!(choices.keep(vec![]).unwrap(), None);
    }

    #[test]
    fn old_choices_are_forgotten_and_long_ones_are_cut_for_showing_only() {
        let choices = Choices::default();
        let many: Vec<PathBuf> = (0..300).map(|number| format!("/many/{number}").into()).collect();
        let long = choices.keep(many).unwrap().unwrap();
        assert_eq!((long.items.len(), long.more), (ITEMS_SHOWN_MAX, 100));
        assert_eq!(choices.paths(long.id).unwrap().len(), 300);
        for number in 1..CHOICES_MAX {
            keep(&choices, [format!("/{number}").as_ref()]);
        }
        assert!(choices.paths(long.id).is_some(), "and what is used stays");
        for number in 1..=CHOICES_MAX {
            keep(&choices, [format!("/later/{number}").as_ref()]);
        }
        assert!(choices.paths(long.id).is_none());
    }

    #[test]
    fn a_choice_from_the_history_is_bound_to_its_target_and_a_new_one_is_not() {
        let target = |text: &str| Target::Address(text.parse::<std::net::SocketAddr>().unwrap().into());
        let (there, elsewhere) = (target("10.0.0.7:1"), target("10.0.0.8:1"));
        let choices = Choices::default();
        let sources = vec![Source { path: "/a".into(), contents_only: false }];
        let sent = choices.keep_sent(sources.clone(), there.clone(), Vec::new()).unwrap().unwrap();
        let dropped = keep(&choices, ["/a".as_ref()]);
        let again = choices.keep_sent(sources, there.clone(), Vec::new()).unwrap().unwrap();
        assert_eq!(sent.id, again.id);
        assert_ne!(sent.id, dropped.id, "what is dropped now frees nothing that was sent before");
        let went = |id, target| choices.to_send(id, target).unwrap().1.map(|elsewhere| elsewhere.was);
        assert_eq!(went(sent.id, &there), None);
        assert_eq!(went(sent.id, &elsewhere).as_ref(), Some(&there));
        assert_eq!(went(dropped.id, &elsewhere), None);
        let source = Source { path: "/b".into(), contents_only: false };
        let other = choices.keep_sent(vec![source], elsewhere.clone(), Vec::new());
        let joined = choices.join(dropped.id, sent.id).unwrap();
        assert_eq!(went(joined.id, &elsewhere).as_ref(), Some(&there), "joining frees nothing");
        let both = choices.join(joined.id, other.unwrap().unwrap().id).unwrap();
        assert_eq!(went(both.id, &elsewhere).as_ref(), Some(&there));
        assert_eq!(went(both.id, &there).as_ref(), Some(&elsewhere));
        let rest = choices.without_item(both.id, both.items[0].item).unwrap().unwrap();
        assert_eq!(went(rest.id, &there).as_ref(), Some(&elsewhere), "nor does taking something away");
    }

    #[test]
    fn what_is_added_comes_behind_and_what_is_there_twice_or_within_is_merged_and_said() {
        let base = tempfile::tempdir().unwrap();
        let path = |name: &str| base.path().join(name);
        std::fs::create_dir_all(path("album/raw")).unwrap();
        std::fs::create_dir(path("notes")).unwrap();
        std::fs::write(path("album/raw/one"), "x").unwrap();
        std::os::unix::fs::symlink(path("notes"), path("link")).unwrap();
        let choices = Choices::default();
        let first = keep(&choices, [&path("album/raw/one"), &path("notes")]);
        let album = keep(&choices, [&path("album/"), &path("notes/."), &path("album/raw")]);
        assert_eq!((names(&album), merged(&album)), (vec!["album", "notes"], vec![("raw", Some("album"))]));
        let both = choices.join(first.id, album.id).unwrap();
        assert_eq!(names(&both), ["notes", "album"]);
        assert_eq!(merged(&both), [("one", Some("album")), ("notes", None)]);
        assert_eq!(names(&first), ["one", "notes"], "and the choice before is still what it was");

        let behind_link = keep(&choices, [&path("link"), &path("link/inside")]);
        assert_eq!(merged(&behind_link), [], "a link is sent as a link");
        let only = choices.without_chosen(both.id, album.id).unwrap();
        assert_eq!(only, None);
        let rest = choices.without_item(both.id, both.items[0].item).unwrap().unwrap();
        assert_eq!(names(&rest), ["album"]);
        assert_eq!(choices.without_item(rest.id, rest.items[0].item).unwrap(), None);
    }

    #[test]
    fn names_that_only_one_can_have_are_pointed_out() {
        let choices = Choices::default();
        let chosen = keep(&choices, ["/a/photos".as_ref(), "/b/photos".as_ref(), "/b/music".as_ref()]);
        assert_eq!(chosen.items.iter().map(|item| item.same_name).collect::<Vec<_>>(), [true, true, false]);
        let rest = choices.without_item(chosen.id, chosen.items[0].item).unwrap().unwrap();
        assert!(rest.items.iter().all(|item| !item.same_name));
    }

    #[test]
    fn more_items_than_a_choice_may_have_are_refused() {
        let choices = Choices::default();
        let many = |folder: &str, count: usize| (0..count).map(|number| format!("/{folder}/{number}").into()).collect();
        assert_eq!(choices.keep(many("a", ITEMS_MAX + 1)), Err(Fault::Invalid(Invalid::TooMany)));
        let [most, one] = [many("a", ITEMS_MAX), many("b", 1)].map(|paths| choices.keep(paths).unwrap().unwrap());
        assert_eq!(choices.join(most.id, one.id), Err(Fault::Invalid(Invalid::TooMany)));
    }

    #[test]
    fn sizes_are_counted_in_the_background_and_told_item_by_item_and_together() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("set");
        std::fs::create_dir_all(folder.join("below")).unwrap();
        std::fs::write(folder.join("below/ten"), [1; 10]).unwrap();
        std::fs::write(base.path().join("hundred"), [1; 100]).unwrap();
        let choices = Choices::default();
        let chosen = keep(&choices, [&folder, &base.path().join("hundred")]);
        assert_eq!(chosen.items[1].size, ChosenSize { items: 1, bytes: 100, excluded: 0, state: SizeState::Exact });
        assert_eq!(chosen.total.state, SizeState::Counting);
        let counted = |id, leave_out| {
            let (tell, told) = mpsc::channel();
            let counting = choices.count(id, leave_out, move |counted| drop(tell.send(counted))).unwrap();
            let mut sizes = Vec::new();
            let total = loop {
                let counted = told.recv_timeout(Duration::from_secs(30)).unwrap();
                sizes.extend(counted.sizes);
                if counted.total.state != SizeState::Counting {
                    break counted.total;
                }
            };
            drop(counting);
            (sizes, total)
        };
        let (sizes, total) = counted(chosen.id, "");
        assert_eq!(total, ChosenSize { items: 4, bytes: 110, excluded: 0, state: SizeState::Exact });
        let of_folder = sizes.iter().rfind(|size| size.item == chosen.items[0].item).unwrap();
        assert_eq!(of_folder.size, ChosenSize { items: 3, bytes: 10, excluded: 0, state: SizeState::Exact });
        // What was counted once is known wherever it is chosen together with something else.
        std::fs::write(folder.join("later"), "x").unwrap();
        let joined = choices.join(keep(&choices, ["/gone".as_ref()]).id, chosen.id).unwrap();
        assert_eq!((joined.total.items, joined.total.bytes), (4, 110));
        let (_, total) = counted(chosen.id, "/below");
        assert_eq!(total, ChosenSize { items: 3, bytes: 101, excluded: 1, state: SizeState::Exact });
        let (_, total) = counted(chosen.id, "");
        assert_eq!(total, ChosenSize { items: 5, bytes: 111, excluded: 0, state: SizeState::Exact });
        assert!(choices.count(chosen.id, "a[b", |_| {}).is_err());
    }

    #[test]
    fn counting_ends_when_nobody_looks_any_more() {
        let base = tempfile::tempdir().unwrap();
        for number in 0..20 {
            std::fs::create_dir(base.path().join(format!("{number}"))).unwrap();
        }
        let choices = Choices::default();
        let chosen = keep(&choices, [base.path()]);
        let (tell, told) = mpsc::channel();
        let counting = choices.count(chosen.id, "", move |counted| drop(tell.send(counted))).unwrap();
        drop(counting);
        // The thread lets its end of the channel go.
        while told.recv_timeout(Duration::from_secs(30)).is_ok() {}
        assert_eq!(told.try_recv().err(), Some(mpsc::TryRecvError::Disconnected));
    }
}
