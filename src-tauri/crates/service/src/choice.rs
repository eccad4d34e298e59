//! What a person chose or dropped, to be sent or copied: the paths stay here, the webview gets names and a number.
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use ringway_engine::Source;

use crate::dto::{Chosen, ChosenSource, SourceKind};
use crate::text::shown;

/// Choices remembered: every drag over the window makes one, and only the latest few can still be on the screen.
const CHOICES_MAX: usize = 16;

/// Names shown of one choice: more would not be read, and each costs a stat(2).
const NAMES_SHOWN_MAX: usize = 32;

/// The latest choices.
#[derive(Default)]
pub(crate) struct Choices {
    latest: VecDeque<(Chosen, Vec<Source>)>,
    last_id: u32,
}

impl Choices {
    /// Remembers `paths`, of folders with all that is in them; none where nothing was chosen.
    pub(crate) fn keep(&mut self, paths: Vec<PathBuf>) -> Option<Chosen> {
        self.keep_sources(paths.into_iter().map(|path| Source { path, contents_only: false }).collect())
    }

    /// Remembers sources; none where there are none. The same ones again are the same choice.
    pub(crate) fn keep_sources(&mut self, sources: Vec<Source>) -> Option<Chosen> {
        if sources.is_empty() {
            return None;
        }
        if let Some((chosen, _)) = self.latest.iter().find(|(_, known)| *known == sources) {
            return Some(chosen.clone());
        }
        self.last_id += 1;
        let items = sources.iter().take(NAMES_SHOWN_MAX).map(|source| describe(&source.path)).collect();
        let more = sources.len().saturating_sub(NAMES_SHOWN_MAX) as u64;
        let chosen = Chosen { id: self.last_id, items, more };
        if self.latest.len() == CHOICES_MAX {
            self.latest.pop_front();
        }
        self.latest.push_back((chosen.clone(), sources));
        Some(chosen)
    }

    /// What choice `id` stands for; none where it is too long ago.
    pub(crate) fn sources(&self, id: u32) -> Option<Vec<Source>> {
        self.latest.iter().find(|(chosen, _)| chosen.id == id).map(|(_, sources)| sources.clone())
    }

    /// The same as paths alone.
    pub(crate) fn paths(&self, id: u32) -> Option<Vec<PathBuf>> {
        Some(self.sources(id)?.into_iter().map(|source| source.path).collect())
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
}
