//! The staging folder of the attempt under way: what is filled in it, and how that reaches the
//! disk and the journal.
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use ringway_model::{Fault, Operation};
use ringway_sys::attributes::{Metadata, Timestamp, metadata_of};
use ringway_wire::resume::TREE;

use crate::disk::Dir;
use crate::filesystem::own_names::{OWN_PREFIX, STAGING_ID_DIGITS};
use crate::receive::failures::{EntryError, LaneError, Trouble, during, failed, folder_trouble, not_a_folder};
use crate::receive::manner::Manner;
use crate::receive::options::DestinationOptions;
use crate::receive::received_before::{self, Filled, born};
use crate::receive::root::Root;
use crate::receive::staging::inheritance::Inheritance;
use crate::receive::staging::journal::Journal;
use crate::receive::staging::temporaries::Temporaries;
use crate::receive::staging::unfinished::About;
use crate::receive::staging::writeback::Writeback;
use crate::receive::staging::{self, Claimed, Kept, Names, beside, exchanges, open_made, open_made_as, removal};
use crate::receive::{FILLING_FOLDER_MODE, MADE_FOLDER_MODE, PERMISSION_BITS};

/// The staging folder.
pub(in crate::receive) struct Staging {
    pub(in crate::receive) root: Arc<Root>,
    pub(in crate::receive) name: Vec<u8>,
    pub(in crate::receive) dir: Arc<Dir>,
    /// The next attempt looks for it under that name.
    pub(in crate::receive) is_found_again: bool,
    /// What is there of earlier attempts.
    pub(in crate::receive) kept: Kept,
    pub(in crate::receive) journal: Journal,
    pub(in crate::receive) writeback: Writeback,
    /// The descriptor by which staged files are synchronised before they get a name that everybody
    /// sees: it gets to know of each error that comes after it was opened, also of one that another
    /// descriptor was told.
    pub(in crate::receive) early_sync: Mutex<Dir>,
    /// New top-level folders, built under their own names.
    pub(in crate::receive) tree: Dir,
    /// Whether folders come out of mkdir(2) without their owner's bits: an odd umask or default
    /// ACL.
    pub(in crate::receive) folders_masked: bool,
    /// Permission bits that files lose when they are created in the staging folder: the umask's, or
    /// a default ACL's.
    pub(in crate::receive) files_masked: u32,
    /// What the staging folder passes on to files.
    pub(in crate::receive) inherits: Inheritance,
    /// Folders of the staging tree take different spellings of a name for one.
    pub(in crate::receive) manner: Manner,
    pub(in crate::receive) temporaries: Arc<Temporaries>,
    pub(in crate::receive) times: Times,
    /// Lanes that were begun.
    lanes: AtomicU64,
    /// Something has its final name in a folder that everybody sees.
    pub(in crate::receive) has_merged: AtomicBool,
}

impl Staging {
    /// Takes over what an earlier attempt has left, or makes a new one; `mark` is drawn at random.
    pub(in crate::receive) fn begin(root: &Arc<Root>, options: &DestinationOptions, mark: u64) -> Result<Self, Fault> {
        let at = |operation| {
            let path = options.destination.clone();
            move |source| Fault::path(path, operation, source)
        };
        let attempt = root.recall.as_ref().map_or(options.attempt, |recall| options.attempt.of_store(&recall.key));
        let (stable, transfer) = (attempt.to_string(), options.transfer.to_string());
        let named = |id: &str| [OWN_PREFIX, &id.as_bytes()[..STAGING_ID_DIGITS]].concat();
        let about = About { from: options.from.clone(), names: options.names.clone(), more_names: options.more_names };
        let names = Names { stable: &named(&stable), unique: &named(&transfer) };
        let claimed = staging::claim(root.destination(), names, &about, options.open.attempts)
            .map_err(|(operation, source)| at(operation)(source))?;
        // What it is to go on with is held by now, however old it is.
        staging::remove_stale(root.destination());
        let is_found_again = claimed.name == named(&stable);
        let Claimed { name, dir, masked: folders_masked, was_there, kept } = claimed;
        let temporaries = Arc::new(Temporaries::new(&name, mark, was_there));
        let early_sync = Mutex::new(root.dir.open_dir(&name).map_err(at(Operation::Open))?);
        let (tree, files_masked, manner, inherits) = match Self::open_tree(&dir, folders_masked) {
            Ok(opened) => opened,
            Err((operation, source)) => {
                // What earlier attempts have left waits for a better one. What cannot be removed
                // was not ours.
                if kept.is_empty() {
                    let _ = removal::remove_staging(root.destination(), &name);
                }
                return Err(at(operation)(source));
            }
        };
        let began = received_before::filesystem_time(&dir).ok();
        // Files that an earlier attempt has left are older than this one.
        let first_began = if kept.is_empty() { began } else { born(&dir) };
        Ok(Self {
            root: Arc::clone(root),
            name,
            is_found_again,
            kept,
            journal: Journal::create(&dir),
            writeback: Writeback::after(root.disk().write_back_after()),
            early_sync,
            dir: Arc::new(dir),
            tree,
            folders_masked,
            files_masked,
            inherits,
            manner,
            temporaries,
            times: Times { began, first_began, wrote_until: Mutex::default() },
            lanes: AtomicU64::new(0),
            has_merged: AtomicBool::new(false),
        })
    }

    fn open_tree(staging: &Dir, masked: bool) -> Result<(Dir, u32, Manner, Inheritance), (Operation, io::Error)> {
        let during = |operation| move |error| (operation, error);
        let tree = staging::open_made(staging, TREE, masked).map_err(during(Operation::Open))?;
        // One that an attempt has left says nothing of this one's umask.
        let _ = staging.unlink(b"probe");
        drop(staging.create_new(b"probe", PERMISSION_BITS).map_err(during(Operation::Create))?);
        let files_masked = staging.metadata(b"probe").map(|there| PERMISSION_BITS & !there.mode);
        let files_masked = files_masked.map_err(during(Operation::Open))?;
        staging.unlink(b"probe").map_err(during(Operation::Remove))?;
        let manner = Manner::of(staging, b"probe")?;
        let inherits = metadata_of(&tree).and_then(|there| Inheritance::of(&tree, &there));
        Ok((tree, files_masked, manner, inherits.map_err(during(Operation::Metadata))?))
    }

    /// What a folder that everybody sees passes on, if that is not what the staging folder passes
    /// on: its own list or group, or `None` if the destination has one.
    pub(in crate::receive) fn differing_inheritance(
        &self,
        dir: &Dir,
        there: &Metadata,
    ) -> io::Result<Option<Inheritance>> {
        Inheritance::of(dir, there).map(|inherits| Some(inherits).filter(|inherits| *inherits != self.inherits))
    }

    /// Makes a lane's own folder for temporary files; its name, too.
    ///
    /// # Errors
    /// What an error of the staging folder itself means.
    pub(in crate::receive) fn make_parts(&self) -> Result<(Dir, Vec<u8>), LaneError> {
        let name = format!("parts-{}", self.lanes.fetch_add(1, Ordering::Relaxed)).into_bytes();
        let failed = |operation| move |error| self.staging_error(operation, error);
        self.dir.make_dir(&name, FILLING_FOLDER_MODE).map_err(failed(Operation::Create))?;
        let parts = open_made(&self.dir, &name, self.folders_masked).map_err(failed(Operation::Open))?;
        Ok((parts, name))
    }

    /// Notes bytes that were written, and has the disk go on with them once there are many.
    pub(in crate::receive) fn wrote(&self, bytes: u64, huge: impl FnOnce() -> Vec<OwnedFd>) {
        self.writeback.wrote(bytes, &self.dir, &self.journal, huge);
    }

    /// Notes that something was written that everybody sees.
    pub(in crate::receive) fn note_merged(&self) {
        self.has_merged.store(true, Ordering::Relaxed);
    }

    /// Ends writing into folders that nobody sees yet.
    pub(in crate::receive) fn end_writing(&self) {
        self.times.end_writing(&self.dir);
    }

    /// Whether the disk took all that it was to take. What it did not memory may have lost.
    pub(in crate::receive) fn is_sound(&self) -> bool {
        !self.writeback.has_failed()
    }

    /// Whether size and time prove nothing of what has its final name.
    pub(in crate::receive) fn is_suspect(&self) -> bool {
        self.kept.is_suspect() || !self.is_sound() && self.has_merged.load(Ordering::Relaxed)
    }

    /// Removes what an attempt has left, unless another attempt has taken it over. Best
    /// effort: what stays is hidden, and goes after a week.
    pub(in crate::receive) fn discard_kept(&self) {
        if staging::lock_again(&self.root.dir, &self.name, &self.dir) {
            // Nobody would be helped by hearing that it could not be removed.
            let _ = exchanges::settle_left(&self.root.dir, &self.dir)
                .map(|()| beside::remove_left(&self.root.dir, &self.dir, &self.name));
            let _ = removal::remove_staging(self.root.destination(), &self.name);
        }
    }

    /// Whether the destination has been removed under us.
    pub(in crate::receive) fn is_gone(&self) -> bool {
        self.root.dir.metadata(&self.name).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    }

    /// What an error of the staging folder itself means.
    fn staging_error(&self, operation: Operation, error: io::Error) -> LaneError {
        match self.or_gone(operation)(error) {
            Trouble::Fatal(error) => error,
            Trouble::Entry(error) => LaneError::Staging { operation, source: error.into() },
        }
    }

    /// Sorts an error like [`during`], after looking whether the destination has gone altogether.
    pub(in crate::receive) fn or_gone(&self, operation: Operation) -> impl Fn(io::Error) -> Trouble {
        move |error| {
            if error.kind() == io::ErrorKind::NotFound && self.is_gone() {
                return LaneError::DestinationGone.into();
            }
            if not_a_folder(&error) { failed(operation, &error).into() } else { during(operation)(error) }
        }
    }

    /// Makes `name` in `parent`, or finds that it is there, spelt in just that way, and opens it.
    pub(in crate::receive) fn make_in(
        &self,
        parent: &Dir,
        name: &[u8],
        exact: impl FnOnce() -> Result<bool, Trouble>,
    ) -> Result<Dir, Trouble> {
        let masked = match parent.make_dir(name, MADE_FOLDER_MODE) {
            Ok(()) => self.folders_masked,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !exact()? => {
                return Err(EntryError::IN_THE_WAY.into());
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(self.or_gone(Operation::Create)(error)),
        };
        open_made_as(parent, name, MADE_FOLDER_MODE, masked).map_err(folder_trouble(Operation::Open))
    }

    /// The first names at the top of the staging tree.
    pub(in crate::receive) fn staged(&self, names_max: usize) -> io::Result<Vec<Vec<u8>>> {
        let mut names = Vec::new();
        let mut entries = self.tree.entries()?;
        while names.len() < names_max
            && let Some(entry) = entries.next()
        {
            names.push(entry?.name.to_vec());
        }
        Ok(names)
    }
}

/// When this transfer wrote, by the destination's own clock; `None` if that tells no time.
pub(in crate::receive) struct Times {
    /// When this attempt began.
    pub(in crate::receive) began: Option<Timestamp>,
    /// When the first attempt began, as far as that is known.
    pub(in crate::receive) first_began: Option<Timestamp>,
    /// Until when it has written into folders that nobody sees yet.
    wrote_until: Mutex<Option<Timestamp>>,
}

impl Times {
    /// Nothing of new folders is written from here on, and the first of them is seen only after
    /// this: what changes later was changed by somebody else.
    pub(in crate::receive) fn end_writing(&self, staging: &Dir) {
        let mut until = self.wrote_until.lock();
        if until.is_none() {
            *until = received_before::filesystem_time(staging).ok();
        }
    }

    /// When the files of new folders were made and written.
    pub(in crate::receive) fn filled(&self) -> Option<Filled> {
        let until = *self.wrote_until.lock();
        Some(Filled::new(self.first_began?, self.began?, until?))
    }
}
