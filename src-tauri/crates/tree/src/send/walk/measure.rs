//! Measuring a source before anybody sends it: how many files it has and how large they are, as the
//! walk that sends would find them.
use std::sync::Arc;

use ringway_model::{FailureReason, Fault, Operation, Source};
use ringway_sys::attributes::Metadata;
use ringway_sys::dir::Dir;
use ringway_sys::thread::give_way;

use crate::filesystem::selection::Filter;
use crate::send::links::{Links, Seen};
use crate::send::queue::{Cancelled, FolderPath, bytes_of};
use crate::send::walk::roots;
use crate::send::walk::{Finds, Scope, Walk};

/// What was found of a source so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Measured {
    /// Files and symbolic links.
    pub files: u64,
    /// The folders that hold them, and the source itself if it is one.
    pub folders: u64,
    /// Bytes of the files' contents; those of a file with several names count once.
    pub bytes: u64,
    /// Entries that a pattern leaves out; a folder counts as one.
    pub excluded: u64,
}

/// Measures one source without what the filter leaves out. `goes_on` sees what was found after each
/// entry, and ends the walk with false; then the answer is none. The calling thread gives way to
/// all others from now on: it should have no other use.
///
/// # Errors
/// The source cannot be opened.
pub fn measure(
    source: &Source,
    filter: Option<&Arc<Filter>>,
    goes_on: impl FnMut(&Measured) -> bool,
) -> Result<Option<Measured>, Fault> {
    give_way();
    let filter = filter.cloned();
    let roots = roots::resolve(std::slice::from_ref(source), filter.as_deref())?;
    let offered = Arc::new(roots::names(&roots, filter.as_deref(), &|| true)?);
    let measuring = Measuring { measured: Measured::default(), links: Links::default(), goes_on };
    let mut walk = Walk::new(measuring, Scope { offered, filter });
    let walked = roots.into_iter().try_for_each(|root| walk.root(root));
    let measured = walk.into_finds().measured;
    Ok(walked.is_ok().then_some(measured))
}

struct Measuring<G> {
    measured: Measured,
    links: Links,
    goes_on: G,
}

impl<G: FnMut(&Measured) -> bool> Measuring<G> {
    fn found(&mut self, count: impl FnOnce(&mut Measured)) -> Result<(), Cancelled> {
        count(&mut self.measured);
        if (self.goes_on)(&self.measured) { Ok(()) } else { Err(Cancelled) }
    }
}

impl<G: FnMut(&Measured) -> bool> Finds for Measuring<G> {
    fn folder(&mut self, _: &FolderPath, _: &Metadata, _: Option<&Arc<Dir>>) -> Result<(), Cancelled> {
        self.found(|measured| measured.folders += 1)
    }

    fn file(&mut self, _: &FolderPath, _: &Arc<Dir>, _: &[u8], metadata: &Metadata) -> Result<(), Cancelled> {
        let bytes = match self.links.see(metadata, || None) {
            Seen::Alone | Seen::First(_) => bytes_of(metadata),
            Seen::Again(_) => 0,
        };
        self.found(|measured| {
            measured.files += 1;
            measured.bytes += bytes;
        })
    }

    fn symlink(&mut self, _: &FolderPath, _: &[u8], _: &[u8], _: &Metadata) -> Result<(), Cancelled> {
        self.found(|measured| measured.files += 1)
    }

    fn left_out(&mut self) -> Result<(), Cancelled> {
        self.found(|measured| measured.excluded += 1)
    }

    fn failed(&self, _: &[u8], _: &[u8], _: Operation, _: FailureReason) {}

    fn let_go(&mut self) -> Result<(), Cancelled> {
        Ok(())
    }

    fn is_over(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use ringway_model::{Pattern, Selection};

    use super::*;

    fn source(path: std::path::PathBuf) -> Source {
        Source { path, contents_only: false }
    }

    #[test]
    fn files_links_and_folders_are_measured_as_they_would_be_sent() {
        let base = tempfile::tempdir().unwrap();
        let tree = base.path().join("tree");
        std::fs::create_dir_all(tree.join("below/empty")).unwrap();
        std::fs::write(tree.join("ten"), [1; 10]).unwrap();
        std::fs::write(tree.join("below/hundred"), [1; 100]).unwrap();
        std::fs::hard_link(tree.join("ten"), tree.join("below/ten-too")).unwrap();
        std::os::unix::fs::symlink("/nowhere", tree.join("link")).unwrap();
        let measured = measure(&source(tree.clone()), None, |_| true).unwrap();
        assert_eq!(measured, Some(Measured { files: 4, folders: 3, bytes: 110, excluded: 0 }));
        let file = measure(&source(tree.join("ten")), None, |_| true).unwrap();
        assert_eq!(file, Some(Measured { files: 1, folders: 0, bytes: 10, excluded: 0 }));
        let selection = Selection { patterns: vec![Pattern::Exclude(b"below".to_vec())], paths: None };
        let filter = Filter::new(&selection).unwrap();
        let measured = measure(&source(tree.clone()), filter.as_ref(), |_| true).unwrap();
        assert_eq!(measured, Some(Measured { files: 2, folders: 1, bytes: 10, excluded: 1 }));
        assert!(measure(&source(base.path().join("gone")), None, |_| true).is_err());
    }

    #[test]
    fn a_measurement_ends_when_nobody_wants_it_any_more() {
        let base = tempfile::tempdir().unwrap();
        for number in 0..100 {
            std::fs::write(base.path().join(format!("{number}")), "x").unwrap();
        }
        let mut seen = 0;
        let ended = measure(&source(base.path().to_owned()), None, |measured| {
            seen = measured.files;
            seen < 5
        });
        assert_eq!((ended.unwrap(), seen), (None, 5));
    }
}
