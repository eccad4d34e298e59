//! What a person chose or dropped, to be sent or copied: the paths stay here, the webview gets
//! names and a number.
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

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
    latest: VecDeque<Kept>,
    last_id: u32,
}

impl Choices {
    /// Remembers `paths`, of folders with all that is in them; none where nothing was chosen.
    pub(crate) fn keep(&mut self, paths: Vec<PathBuf>) -> Option<Chosen> {
        self.remember(paths.into_iter().map(|path| Source { path, contents_only: false }).collect(), None)
    }

    /// Remembers sources from the history, which went to `target` before; none where there are
    /// none.
    pub(crate) fn keep_sent(&mut self, sources: Vec<Source>, target: Target) -> Option<Chosen> {
        self.remember(sources, Some(target))
    }

    /// The same sources again are the same choice, if they are bound to the same target.
    fn remember(&mut self, sources: Vec<Source>, bound: Option<Target>) -> Option<Chosen> {
        if sources.is_empty() {
            return None;
        }
        if let Some(known) = self.latest.iter().find(|known| known.sources == sources && known.bound == bound) {
            return Some(known.chosen.clone());
        }
        self.last_id += 1;
        let items = sources.iter().take(NAMES_SHOWN_MAX).map(|source| describe(&source.path)).collect();
        let more = sources.len().saturating_sub(NAMES_SHOWN_MAX) as u64;
        let chosen = Chosen { id: self.last_id, items, more };
        if self.latest.len() == CHOICES_MAX {
            self.latest.pop_front();
        }
        self.latest.push_back(Kept { chosen: chosen.clone(), sources, bound });
        Some(chosen)
    }

    /// What choice `id` stands for; none where it is too long ago.
    pub(crate) fn sources(&self, id: u32) -> Option<Vec<Source>> {
        self.find(id).map(|kept| kept.sources.clone())
    }

    /// The name that stands for choice `id` where little fits, and how many more there are; none
    /// where it is too long ago.
    pub(crate) fn title(&self, id: u32) -> Option<(String, u64)> {
        let kept = self.find(id)?;
        let name = kept.chosen.items.first()?.name.clone();
        Some((name, kept.sources.len() as u64 - 1))
    }

    /// The only target that choice `id` went to before, if it came from the history and `target` is
    /// another one.
    pub(crate) fn elsewhere(&self, id: u32, target: &Target) -> Option<&Target> {
        self.find(id)?.bound.as_ref().filter(|bound| !is_same(bound, target))
    }

    fn find(&self, id: u32) -> Option<&Kept> {
        self.latest.iter().find(|kept| kept.chosen.id == id)
    }

    /// The same as paths alone.
    pub(crate) fn paths(&self, id: u32) -> Option<Vec<PathBuf>> {
        Some(self.sources(id)?.into_iter().map(|source| source.path).collect())
    }
}

/// Whether `target` leads where `bound` does: to the same key, or to the same address whoever is
/// there.
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
        let mut choices = Choices::default();
        let first = choices.keep(vec!["/a".into()]).unwrap();
        let again = choices.keep(vec!["/a".into()]).unwrap();
        let other = choices.keep(vec!["/b".into()]).unwrap();
        assert_eq!(first.id, again.id);
        assert_ne!(first.id, other.id);
        assert_eq!(choices.keep(vec![]), None);
    }

    #[test]
    fn old_choices_are_forgotten_and_long_ones_are_cut_for_showing_only() {
        let mut choices = Choices::default();
        let many: Vec<PathBuf> = (0..100).map(|number| format!("/many/{number}").into()).collect();
        let long = choices.keep(many).unwrap();
        assert_eq!((long.items.len(), long.more), (NAMES_SHOWN_MAX, 68));
        assert_eq!(choices.sources(long.id).unwrap().len(), 100);
        for number in 0..CHOICES_MAX {
            choices.keep(vec![format!("/{number}").into()]);
        }
        assert!(choices.sources(long.id).is_none());
    }

    #[test]
    fn a_choice_from_the_history_is_bound_to_its_target_and_a_new_one_is_not() {
        let target = |text: &str| Target::Address(text.parse::<std::net::SocketAddr>().unwrap().into());
        let (there, elsewhere) = (target("10.0.0.7:1"), target("10.0.0.8:1"));
        let mut choices = Choices::default();
        let sources = vec![Source { path: "/a".into(), contents_only: false }];
        let sent = choices.keep_sent(sources.clone(), there.clone()).unwrap();
        let dropped = choices.keep(vec!["/a".into()]).unwrap();
        let again = choices.keep_sent(sources, there.clone()).unwrap();
        assert_eq!(sent.id, again.id);
        assert_ne!(sent.id, dropped.id, "what is dropped now frees nothing that was sent before");
        assert_eq!(choices.elsewhere(sent.id, &there), None);
        assert_eq!(choices.elsewhere(sent.id, &elsewhere), Some(&there));
        assert_eq!(choices.elsewhere(dropped.id, &elsewhere), None);
    }
}
