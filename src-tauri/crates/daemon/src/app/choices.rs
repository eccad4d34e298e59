//! What a person chose or dropped, to be sent or copied: the paths stay here, the webview gets
//! names and a number.
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use ringway_engine::Target;
use ringway_model::Source;

use crate::dto::{Chosen, ChosenSource, SourceKind};
use crate::text::shown;

/// Choices remembered: every drag over the window makes one, and only the latest few can still be
/// on the screen.
const CHOICES_MAX: usize = 16;

/// Names shown of one choice: more would not be read, and each costs a stat(2).
const NAMES_SHOWN_MAX: usize = 32;

/// A choice and what it stands for.
struct Kept {
    chosen: Chosen,
    sources: Vec<Source>,
    /// Where it went before, if it was chosen from the history; none for what a person chose or
    /// dropped just now.
    bound: Option<Target>,
}

/// The latest choices.
#[derive(Default)]
pub(crate) struct Choices {
    latest: Mutex<Latest>,
}

#[derive(Default)]
struct Latest {
    kept: VecDeque<Kept>,
    last_id: u32,
}

/// The only target that a choice from the history went to before, and what stands for the choice
/// where little fits: a name, and how many more there are.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Elsewhere {
    pub(super) what: String,
    pub(super) more: u64,
    pub(super) was: Target,
}

impl Choices {
    /// Remembers `paths`, of folders with all that is in them; none where nothing was chosen.
    pub(crate) fn keep(&self, paths: Vec<PathBuf>) -> Option<Chosen> {
        self.remember(paths.into_iter().map(|path| Source { path, contents_only: false }).collect(), None)
    }

    /// Remembers sources from the history, which went to `target` before; none where there are
    /// none.
    pub(super) fn keep_sent(&self, sources: Vec<Source>, target: Target) -> Option<Chosen> {
        self.remember(sources, Some(target))
    }

    /// The same sources again are the same choice, if they are bound to the same target.
    fn remember(&self, sources: Vec<Source>, bound: Option<Target>) -> Option<Chosen> {
        if sources.is_empty() {
            return None;
        }
        let mut latest = self.latest.lock();
        if let Some(known) = latest.kept.iter().find(|known| known.sources == sources && known.bound == bound) {
            return Some(known.chosen.clone());
        }
        latest.last_id += 1;
        let items = sources.iter().take(NAMES_SHOWN_MAX).map(|source| describe(&source.path)).collect();
        let more = sources.len().saturating_sub(NAMES_SHOWN_MAX) as u64;
        let chosen = Chosen { id: latest.last_id, items, more };
        if latest.kept.len() == CHOICES_MAX {
            latest.kept.pop_front();
        }
        latest.kept.push_back(Kept { chosen: chosen.clone(), sources, bound });
        Some(chosen)
    }

    /// What choice `id` stands for, to be sent to `target`, and where it went before if that was
    /// elsewhere; none where it is too long ago.
    pub(super) fn to_send(&self, id: u32, target: &Target) -> Option<(Vec<Source>, Option<Elsewhere>)> {
        let latest = self.latest.lock();
        let Kept { chosen, sources, bound } = latest.find(id)?;
        let elsewhere = bound.as_ref().filter(|bound| !is_same(bound, target)).map(|was| Elsewhere {
            what: chosen.items.first().map(|item| item.name.clone()).unwrap_or_default(),
            more: sources.len() as u64 - 1,
            was: was.clone(),
        });
        Some((sources.clone(), elsewhere))
    }

    /// The paths of choice `id`; none where it is too long ago.
    pub(super) fn paths(&self, id: u32) -> Option<Vec<PathBuf>> {
        let latest = self.latest.lock();
        Some(latest.find(id)?.sources.iter().map(|source| source.path.clone()).collect())
    }
}

impl Latest {
    fn find(&self, id: u32) -> Option<&Kept> {
        self.kept.iter().find(|kept| kept.chosen.id == id)
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

fn describe(path: &Path) -> ChosenSource {
    let kind = match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() => SourceKind::Folder,
        Ok(meta) if meta.is_file() => SourceKind::File,
        Ok(_) => SourceKind::Other,
        Err(_) => SourceKind::Unreadable,
    };
    ChosenSource { name: path.file_name().map_or_else(|| shown(path), shown), kind }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_without_following_links() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir(root.join("set")).unwrap();
        std::fs::write(root.join("one.txt"), "x").unwrap();
        std::os::unix::fs::symlink(root.join("set"), root.join("link")).unwrap();
        let paths = ["set", "one.txt", "link", "gone"].map(|name| root.join(name)).to_vec();
        let chosen = Choices::default().keep(paths).unwrap();
        let kinds: Vec<_> = chosen.items.iter().map(|item| item.kind).collect();
        assert_eq!(kinds, [SourceKind::Folder, SourceKind::File, SourceKind::Other, SourceKind::Unreadable]);
    }

    #[test]
    fn entering_and_dropping_the_same_things_is_one_choice() {
        let choices = Choices::default();
        let first = choices.keep(vec!["/a".into()]).unwrap();
        let again = choices.keep(vec!["/a".into()]).unwrap();
        let other = choices.keep(vec!["/b".into()]).unwrap();
        assert_eq!(first.id, again.id);
        assert_ne!(first.id, other.id);
        assert_eq!(choices.keep(vec![]), None);
    }

    #[test]
    fn old_choices_are_forgotten_and_long_ones_are_cut_for_showing_only() {
        let choices = Choices::default();
        let many: Vec<PathBuf> = (0..100).map(|number| format!("/many/{number}").into()).collect();
        let long = choices.keep(many).unwrap();
        assert_eq!((long.items.len(), long.more), (NAMES_SHOWN_MAX, 68));
        assert_eq!(choices.paths(long.id).unwrap().len(), 100);
        for number in 0..CHOICES_MAX {
            choices.keep(vec![format!("/{number}").into()]);
        }
        assert!(choices.paths(long.id).is_none());
    }

    #[test]
    fn a_choice_from_the_history_is_bound_to_its_target_and_a_new_one_is_not() {
        let target = |text: &str| Target::Address(text.parse::<std::net::SocketAddr>().unwrap().into());
        let (there, elsewhere) = (target("10.0.0.7:1"), target("10.0.0.8:1"));
        let choices = Choices::default();
        let sources = vec![Source { path: "/a".into(), contents_only: false }];
        let sent = choices.keep_sent(sources.clone(), there.clone()).unwrap();
        let dropped = choices.keep(vec!["/a".into()]).unwrap();
        let again = choices.keep_sent(sources, there.clone()).unwrap();
        assert_eq!(sent.id, again.id);
        assert_ne!(sent.id, dropped.id, "what is dropped now frees nothing that was sent before");
        let went = |id, target| choices.to_send(id, target).unwrap().1.map(|elsewhere| elsewhere.was);
        assert_eq!(went(sent.id, &there), None);
        assert_eq!(went(sent.id, &elsewhere).as_ref(), Some(&there));
        assert_eq!(went(dropped.id, &elsewhere), None);
    }
}
