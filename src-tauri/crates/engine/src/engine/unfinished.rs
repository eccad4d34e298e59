//! What transfers that did not end have left, to go on from there.
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringway_model::{Fault, Operation, Unfinished};

use super::Engine;
use crate::limits::LOOKS_AT_ONCE_MAX;
use crate::shared::{Look, Looks};
use crate::store::landed;

/// What was found of unfinished transfers.
#[derive(Debug, Default)]
pub struct FoundUnfinished {
    /// What they have left, the latest first.
    pub left: Vec<Unfinished>,
    /// Folders whose filesystem does not answer: what is left there is not known.
    pub unanswered: Vec<PathBuf>,
}

impl Engine {
    /// What transfers that did not end have left in the folders that this device receives into: the
    /// receive folder, those of the rules, those of past transfers, and those into which one has
    /// begun. Folders that cannot be read are passed over. It looks at every file that was left, so
    /// it takes a while.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn unfinished(&self) -> Result<FoundUnfinished, Fault> {
        let rules = self.devices()?.into_iter().filter_map(|device| device.rule.folder).map(|folder| folder.0);
        let known = [self.shared.store.received_into()?, self.shared.store.begun_into()?];
        let folders = [self.settings().receive_folder.0].into_iter().chain(rules).chain(known.into_iter().flatten());
        let folders: BTreeSet<_> = folders.collect();
        let (folders, unanswered) = answering(&self.shared.looks, &folders.into_iter().collect::<Vec<_>>());
        let found = folders.iter().filter_map(|folder| ringway_tree::receive::unfinished(folder).ok());
        let mut left: Vec<_> = found.flatten().collect();
        left.sort_by_key(|left| std::cmp::Reverse(left.last_at_work));
        Ok(FoundUnfinished { left, unanswered })
    }

    /// What is left in one folder, of whichever program.
    ///
    /// # Errors
    /// [`Fault::Path`]: it cannot be opened or read, or its filesystem does not answer.
    pub fn unfinished_in(&self, folder: &Path) -> Result<Vec<Unfinished>, Fault> {
        if !self.shared.looks.answers(folder) {
            return Err(Fault::path(folder.to_owned(), Operation::Read, io::ErrorKind::TimedOut));
        }
        ringway_tree::receive::unfinished(folder)
    }

    /// Removes what a transfer has left: the same send again begins anew. False if it is not there
    /// any more, or a transfer is at work in it.
    ///
    /// # Errors
    /// [`Fault::Path`]: it cannot be removed, or not all of it.
    pub fn discard_unfinished(&self, left: &Unfinished) -> Result<bool, Fault> {
        let recall = landed::recall(&self.shared.store, &left.folder, |add| add());
        ringway_tree::receive::discard(&left.folder, &left.id, recall.as_ref())
    }
}

/// Which of these folders are there, each once and by what it really is, and which do not answer.
/// The latter are waited for together.
fn answering(looks: &Arc<Looks>, folders: &[PathBuf]) -> (BTreeSet<PathBuf>, Vec<PathBuf>) {
    let (mut there, mut unanswered) = (BTreeSet::new(), Vec::new());
    for some in folders.chunks(LOOKS_AT_ONCE_MAX) {
        let begun: Vec<_> = some.iter().map(|folder| (folder, begin(looks, folder.clone()))).collect();
        for (folder, look) in begun {
            match look.and_then(Look::wait) {
                Ok(Ok(really)) => drop(there.insert(really)),
                Err(error) if error.kind() == io::ErrorKind::TimedOut => unanswered.push(folder.clone()),
                Ok(Err(_)) | Err(_) => {}
            }
        }
    }
    (there, unanswered)
}

fn begin(looks: &Arc<Looks>, folder: PathBuf) -> io::Result<Look<io::Result<PathBuf>>> {
    looks.begin(&folder.clone(), move || {
        let really = folder.canonicalize()?;
        // The path alone may be known without asking.
        rustix::fs::statfs(&really)?;
        Ok(really)
    })
}
