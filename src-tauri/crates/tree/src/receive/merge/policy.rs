//! What the receiver allows where something is there already: what stays, what is replaced, and
//! which attributes are corrected.
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use ringway_model::{OnConflict, Operation};
use ringway_sys::attributes::{Kind, Metadata, metadata_of};
use ringway_wire::RelPath;
use ringway_wire::lane::{Attributes, Entry, EntryKind};
use rustix::io::Errno;

use crate::disk::{Dir, NameIn};
use crate::readback;
use crate::receive::failures::{EntryError, Trouble, during, is};
use crate::receive::flags::Flags;
use crate::receive::merge::attributes::{AttributePolicy, Dress, timestamp};
use crate::receive::merge::edits::Edits;
use crate::receive::merge::folder_records::FolderRecord;
use crate::receive::merge::folders::{Folder, Landing, Policy};
use crate::receive::merge::landing::{Decision, Landed, is_same, link_id, rename_over};
use crate::receive::merge::top_names::TopNames;
use crate::receive::numbered::NameHere;
use crate::receive::received_before;
use crate::receive::staging::attempt::Staging;
use crate::receive::staging::exchanges::{self, Exchange};
use crate::receive::staging::inheritance::SETGID;
use crate::receive::staging::spot::Spot;
use crate::receive::{MADE_FOLDER_MODE, OWNER_READS};

/// What happens to what is there, and to the names of what comes.
pub(in crate::receive) struct MergePolicy {
    /// What happens to files that exist.
    pub(in crate::receive) on_conflict: OnConflict,
    /// Size and time of files prove nothing here.
    pub(in crate::receive) doubts_files: bool,
    pub(in crate::receive) attributes: AttributePolicy,
    pub(in crate::receive) top: TopNames,
}

impl MergePolicy {
    /// Looks what has the entry's name in a visible folder, and decides by the policy.
    pub(in crate::receive) fn decide(&self, folder: &Folder, entry: &Entry<'_>) -> Result<Decision, Trouble> {
        let name = entry.name.as_bytes();
        let there = match folder.dir.metadata(name) {
            Ok(there) => there,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Decision::Absent),
            Err(error) => return Err(during(Operation::Open)(error)),
        };
        if self.attributes.root.own.hang_on(&there) {
            return Err(EntryError::OWN_FOLDER.into());
        }
        let replaceable = matches!(there.kind, Kind::File | Kind::Symlink);
        let is_doubted = self.is_doubted(entry);
        match self.top.policy_for(folder, name) {
            (Policy::Number, _) if replaceable && self.is_numbered_already(folder, entry, &there) => Ok(Decision::Kept),
            (Policy::Number, _) => Ok(Decision::Number),
            _ if !replaceable => Err(EntryError::IN_THE_WAY.into()),
            // What this folder takes for the same name may have come a moment ago.
            _ if !folder.has_exactly(name).map_err(during(Operation::Read))? => Err(EntryError::IN_THE_WAY.into()),
            (Policy::Keep, _) => Ok(Decision::Kept),
            _ if !is_doubted
                && is_same(&folder.dir, name, &there, entry)
                && !self.is_anothers(folder, entry, &there) =>
            {
                Ok(self.same_or_kept(folder, entry, &there))
            }
            (Policy::Replace, _) => Ok(Decision::Replace),
            (Policy::Update, Some(brought)) if self.top.is_received(&brought, folder, name, &there) => {
                Ok(Decision::Replace)
            }
            (Policy::Update, _) if !is_doubted && self.top.beside(folder, entry).is_some() => Ok(Decision::Beside),
            (Policy::Update, _) => Ok(Decision::Edited),
        }
    }

    /// A file that is equal. One of several names that the receiver has changed besides its
    /// contents, or whose mode is not to be corrected, stays as any that is kept does, so that no
    /// other name of the sender's becomes a link to it.
    pub(in crate::receive) fn same_or_kept(&self, folder: &Folder, entry: &Entry<'_>, there: &Metadata) -> Decision {
        let stays_other = || {
            there.nlink > 1
                && !self.attributes.widen_modes
                && there.mode != self.attributes.mode_of(&entry.attributes, entry.xattrs)
        };
        let is_own =
            link_id(entry).is_some() && (self.top.is_edited(folder, entry.name.as_bytes(), there) || stays_other());
        if is_own { Decision::Kept } else { Decision::Same }
    }

    /// Whether this very version is there, under its name or a numbered one, where both would be
    /// kept: an attempt that broke off has brought it, or it never differed. At the top, where
    /// anybody's file may be, size and time are believed of what is known to be the device's.
    /// Others' contents are compared once they are here.
    pub(in crate::receive) fn is_numbered_already(&self, folder: &Folder, entry: &Entry<'_>, there: &Metadata) -> bool {
        if !self.may_be_numbered_already(entry) || self.is_doubted(entry) {
            return false;
        }
        if !self.believes_size_and_time() && !matches!(entry.kind, EntryKind::Symlink { .. }) {
            return self.top.has_received_number(folder, entry);
        }
        is_same(&folder.dir, entry.name.as_bytes(), there, entry) || self.top.beside_by_time(folder, entry).is_some()
    }

    /// Whether it is told before an entry comes that this version is there, so that it is not
    /// numbered. The contents of a file with several names are wanted for those that are not there.
    pub(in crate::receive) fn may_be_numbered_already(&self, entry: &Entry<'_>) -> bool {
        let is_linked = matches!(entry.kind, EntryKind::File { link_id: Some(_), .. } | EntryKind::HardLink { .. });
        matches!(self.on_conflict, OnConflict::Rename | OnConflict::RenameTop) && !is_linked
    }

    /// Whether size and time tell that a file whose name is another's is there already.
    pub(in crate::receive) fn believes_size_and_time(&self) -> bool {
        self.on_conflict != OnConflict::RenameTop
    }

    /// Whether this transfer has put another entry's file under an entry's name: their sizes and
    /// times may be equal by chance.
    pub(in crate::receive) fn is_anothers(&self, folder: &Folder, entry: &Entry<'_>, there: &Metadata) -> bool {
        matches!(entry.kind, EntryKind::File { .. }) && self.top.is_put_beside(folder, entry.name.as_bytes(), there)
    }

    /// Whether size and time of an entry prove nothing here.
    pub(in crate::receive) fn is_doubted(&self, entry: &Entry<'_>) -> bool {
        self.doubts_files && matches!(entry.kind, EntryKind::File { .. })
    }

    /// Whether what is there stays because everything does. Under other policies what stays is the
    /// same as what was sent.
    pub(in crate::receive) fn is_skipped(&self, landed: &Landed) -> bool {
        self.on_conflict == OnConflict::Keep && *landed == Landed::Kept
    }

    /// Whether what is changed there stays, until the instant in which a name is given. Under
    /// `replace` nothing does: what others save, receive or write to meanwhile is replaced too.
    pub(in crate::receive) fn keeps_edits(&self, folder: &Folder) -> bool {
        match folder.landing {
            Landing::Root => self.on_conflict != OnConflict::Replace,
            landing => landing == Landing::Merged(Policy::Update),
        }
    }

    pub(in crate::receive) fn is_edited_now(&self, folder: &Folder, name: &[u8]) -> bool {
        self.keeps_edits(folder)
            && folder.dir.metadata(name).is_ok_and(|there| self.top.is_edited(folder, name, &there))
    }

    /// Renames what is whole over what is there, which other names may keep. `staging` is the
    /// staging folder.
    pub(in crate::receive) fn replace(
        &self,
        spot: &Spot,
        folder: &Folder,
        names: NameHere<'_>,
        staging: &Dir,
    ) -> io::Result<()> {
        let NameHere { sent: name, here } = names;
        let (from, to) = (spot.place(folder, name), NameIn { dir: &folder.dir, name: here });
        let was = folder.dir.metadata(here).ok();
        // Losing a name changes its change time.
        let kept = was.filter(|was| was.nlink > 1 && was.kind == Kind::File && self.top.is_ours(folder, name, was));
        let kept = kept.and_then(|was| folder.dir.open_read(here).ok().map(|file| (was, file)));
        let is_edited = |was: &Metadata| match here == name {
            true => self.top.is_edited(folder, name, was),
            false => self.top.is_edited_number(folder, names, was),
        };
        match was.filter(|_| self.keeps_edits(folder)) {
            Some(was) if is_edited(&was) => return Err(io::ErrorKind::AlreadyExists.into()),
            Some(was) => {
                let path = self.attributes.root.here(&folder.path);
                exchange_with(from, to, &path, &was, spot.records(staging))?
            }
            // What is saved there from now on is the owner's.
            None if self.keeps_edits(folder) => from.dir.rename_noreplace(from.name, to.dir, to.name)?,
            None => from.dir.rename(from.name, to.dir, to.name)?,
        }
        match (was, kept.and_then(|(was, file)| Some((was, metadata_of(&file).ok()?)))) {
            (_, Some((was, now))) => self.top.note_changed(folder, name, &was, &now),
            (Some(was), None) => self.top.note_replaced(folder, name, &was),
            (None, None) => {}
        }
        Ok(())
    }

    /// The sender's version is beside an edited file, where it was before.
    pub(in crate::receive) fn landed_beside(&self, folder: &Folder, entry: &Entry<'_>, edits: &Edits) -> Landed {
        // What was proven may be anybody's.
        match self.top.beside(folder, entry).or_else(|| self.top.beside_by_time(folder, entry)) {
            Some(beside) => {
                edits.note(folder, entry, &beside);
                Landed::Beside(beside)
            }
            None => Landed::Unchanged,
        }
    }

    /// Whether the file under its name here holds what is whole. It is read from its medium; what
    /// cannot be read is not known to be the same.
    pub(in crate::receive) fn has_contents_of(
        &self,
        spot: &Spot,
        folder: &Folder,
        names: NameHere<'_>,
        flags: &Flags,
    ) -> bool {
        let from = spot.place(folder, names.sent);
        let equal = || -> io::Result<bool> {
            let (whole, there) = (from.dir.open_read(from.name)?, folder.dir.open_read(names.here)?);
            let is_file = |file: &OwnedFd| metadata_of(file).is_ok_and(|found| found.kind == Kind::File);
            self.attributes.root.disk().drop_cached(there.as_fd());
            Ok(is_file(&whole) && is_file(&there) && readback::is_equal(&whole, &there, || !flags.goes_on())?)
        };
        equal().unwrap_or(false)
    }

    /// Corrects mode, owner and extended attributes of a file whose contents are taken to be equal.
    /// What the receiver has changed since it was received stays. So does one with several names,
    /// which may be the receiver's own and private elsewhere, unless the receiver asked for modes.
    pub(in crate::receive) fn touch_up(&self, folder: &Folder, entry: &Entry<'_>) -> io::Result<()> {
        let (dir, name) = (&folder.dir, entry.name.as_bytes());
        let there = dir.metadata(name)?;
        let attributes = &entry.attributes;
        let mode = self.attributes.mode_of(attributes, entry.xattrs);
        let owner_differs = self.attributes.keep_owner && (there.uid, there.gid) != (attributes.uid, attributes.gid);
        if there.kind != Kind::File || (there.mode == mode && !owner_differs && entry.xattrs.is_empty()) {
            return Ok(());
        }
        if self.top.is_edited(folder, name, &there) {
            return Ok(());
        }
        let is_ours = self.top.is_ours(folder, name, &there);
        let file = match dir.open_read(name).or_else(|_| dir.open_write(name)) {
            Err(error) if is(&error, Errno::ACCESS) && self.attributes.may_open_own(&there) => {
                dir.set_mode(name, there.mode | OWNER_READS)?;
                dir.open_read(name)?
            }
            opened => opened?,
        };
        let touched = self.attributes.touch_up_file(&file, entry);
        if is_ours && let Ok(now) = metadata_of(&file) {
            self.top.note_changed(folder, name, &there, &now);
        }
        touched
    }

    /// The same for one that is there already, where that differs: it may be somebody else's.
    pub(in crate::receive) fn touch_up_link(
        &self,
        folder: &Folder,
        name: &[u8],
        attributes: &Attributes,
    ) -> io::Result<()> {
        let there = folder.dir.metadata(name)?;
        let owner_differs = self.attributes.keep_owner && (there.uid, there.gid) != (attributes.uid, attributes.gid);
        if there.mtime == timestamp(attributes.mtime) && !owner_differs {
            return Ok(());
        }
        if self.top.is_edited(folder, name, &there) {
            return Ok(());
        }
        // As with a file, another name of it may be the receiver's own.
        if there.nlink > 1 && !self.attributes.widen_modes {
            return Ok(());
        }
        let is_ours = self.top.is_ours(folder, name, &there);
        self.attributes.set_link_attributes(&folder.dir, name, attributes)?;
        if is_ours && let Ok(now) = folder.dir.metadata(name) {
            self.top.note_changed(folder, name, &there, &now);
        }
        Ok(())
    }

    /// Whether the visible folder at `path` was made by this transfer, or by one before it, and has
    /// not got its own mode yet.
    pub(in crate::receive) fn was_made(&self, staging: &Staging, dir: &Dir, path: &[u8]) -> io::Result<bool> {
        let there = metadata_of(dir)?;
        if there.mode & !SETGID != MADE_FOLDER_MODE {
            return Ok(false);
        }
        // Nobody else's folder that happens to have that mode: one that is older than all attempts
        // is not.
        let born = received_before::born(dir);
        if staging.temporaries.may_be_left() || born.zip(staging.times.began).is_none_or(|(born, began)| born >= began)
        {
            return Ok(true);
        }
        // Left so by an earlier transfer whose disk refused the mode. Where that device may replace
        // anyway, it gets it now.
        let is_brought = || RelPath::new(path).is_ok_and(|path| self.top.brought_at(path).is_some());
        Ok(self.on_conflict == OnConflict::Replace && is_brought())
    }

    /// Whether a folder is given the sender's attributes: one that existed only where the receiver
    /// said to replace.
    pub(in crate::receive) fn may_dress(&self, staging: &Staging, folder: &Folder) -> io::Result<bool> {
        Ok(folder.is_staged()
            || self.on_conflict == OnConflict::Replace
            || self.was_made(staging, &folder.dir, &folder.path)?)
    }

    /// The same for a folder that others see.
    pub(in crate::receive) fn dress_merged(
        &self,
        staging: &Staging,
        dir: &Dir,
        folder: &FolderRecord<'_>,
    ) -> io::Result<()> {
        match self.on_conflict {
            _ if self.was_made(staging, dir, folder.path.as_bytes())? => {
                self.attributes.dress(dir, folder, Dress::Made)
            }
            OnConflict::Replace if self.attributes.widen_modes => self.attributes.dress(dir, folder, Dress::Made),
            OnConflict::Replace => self.attributes.dress(dir, folder, Dress::Existing),
            OnConflict::Keep | OnConflict::Rename | OnConflict::RenameTop => Ok(()),
        }
    }
}

/// Exchanges what is whole with what `was` there, in the folder at `path`, and removes that. After
/// a crash in between, and as long as a file of the owner's that was taken can be given no name, a
/// record tells which of the two is the owner's.
fn exchange_with(from: NameIn<'_>, to: NameIn<'_>, path: &[u8], was: &Metadata, records: &Dir) -> io::Result<()> {
    let staged = from.dir.metadata(from.name)?;
    let recorded = exchanges::record(records, from.name, Exchange::of(path, to.name, &staged, was)?)?;
    let replaced = rename_over(from, to, &staged, was);
    if replaced.is_ok() || !recorded.may_hold_owners(from) {
        recorded.forget();
    }
    replaced
}
