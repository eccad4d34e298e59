//! The operations of a disk, each of which is done, written down, and may be the one before which
//! the program is killed.
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ringway_sys::attributes::{Metadata, Timestamp, metadata_of};
use ringway_sys::dir::Dir;
use ringway_sys::file_io::{FileIo, WriteAt, write_all_at};
use ringway_sys::space::Filesystem;
use ringway_tree::disk::{Disk, Work};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::medium::{Change, Undo};
use super::{Contents, Ino, Node, Simulated, State, What, attributes, errno, hold, ino, stat_at};

impl State {
    /// Whether the next operation is done.
    fn begin(&mut self, what: &'static str) -> io::Result<()> {
        let is_its_end = self.plan.dies_at == Some(self.calls) || self.plan.dies_before == Some(what);
        if self.died_in.is_none() && is_its_end {
            self.died_in = Some(what);
        }
        if self.died_in.is_some() {
            return Err(errno(Errno::IO));
        }
        self.calls += 1;
        Ok(())
    }

    fn takes_room(&mut self) -> io::Result<()> {
        match &mut self.plan.room {
            Some(0) => Err(errno(Errno::NOSPC)),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Whether a folder takes what is to be renamed into it.
    fn takes_names(&self, folder: &Dir) -> io::Result<()> {
        let Some(refused) = self.plan.refuses_names.filter(|_| self.plan.saves.is_none()) else { return Ok(()) };
        let path = std::fs::read_link(format!("/proc/self/fd/{}", folder.as_fd().as_raw_fd()))?;
        let is_ours = path.iter().any(|part| super::super::receiver::is_staging(part.as_encoded_bytes()));
        if is_ours { Ok(()) } else { Err(errno(refused)) }
    }

    fn log(&mut self, undo: Undo) {
        self.log.push(Change { call: self.calls, undo });
    }

    /// Gives a name to something, or to nothing.
    fn name(&mut self, folder: Ino, name: &[u8], number: Option<Ino>) {
        let Some(What::Folder(names)) = self.nodes.get_mut(&folder).map(|node| &mut node.what) else {
            panic!("a folder that nobody has made");
        };
        let before = match number {
            Some(number) => names.insert(name.to_vec(), number),
            None => names.remove(name),
        };
        self.log(Undo::Name { folder, name: name.to_vec(), before });
    }

    /// Takes in what was made under a name.
    fn made(&mut self, dir: &Dir, name: &[u8]) -> Stat {
        let (fd, stat) = hold(dir, name);
        let what = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => What::Folder(Default::default()),
            // Nothing of it is on the medium.
            FileType::RegularFile => {
                What::File(Contents { medium: Some(Vec::new()), grows: true, ..Contents::default() })
            }
            _ => What::Other,
        };
        self.nodes.insert(stat.st_ino, Node { fd, what, attributes: attributes(&stat) });
        self.name(ino(dir), name, Some(stat.st_ino));
        stat
    }

    /// Notes mode and time as they are now.
    fn note(&mut self, of: Ino) {
        let Some(node) = self.nodes.get_mut(&of) else { return };
        let stat = rustix::fs::fstat(&node.fd).expect("it is open");
        let now = attributes(&stat);
        let before = std::mem::replace(&mut node.attributes, now);
        if before.mode != now.mode {
            self.log(Undo::Mode { of, before: before.mode });
        }
        if before.mtime != now.mtime {
            self.log(Undo::Time { of, before: before.mtime });
        }
    }

    /// What is written to from here on is on the medium as it is.
    fn soils(&mut self, file: Ino) {
        let is_clean = matches!(&self.nodes[&file].what, What::File(contents) if contents.medium.is_none());
        let medium = is_clean.then(|| self.without_refused(file));
        if let (Some(medium), Some(What::File(contents))) =
            (medium, self.nodes.get_mut(&file).map(|node| &mut node.what))
        {
            contents.medium = Some(medium);
        }
    }

    fn write(&mut self, file: BorrowedFd<'_>, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.begin("write")?;
        let number = ino(file);
        self.soils(number);
        if let Err(error) = self.takes_room() {
            write_all_at(file, offset, &bytes[..bytes.len() / 2])?;
            self.note(number);
            return Err(error);
        }
        let rots = self.plan.rots_after == Some(0) && !bytes.is_empty();
        self.plan.rots_after = self.plan.rots_after.and_then(|left| left.checked_sub(1));
        write_all_at(file, offset, bytes)?;
        if rots {
            let at = bytes.len() / 2;
            write_all_at(file, offset + at as u64, &[!bytes[at]])?;
            self.rotten.insert(number);
        }
        if let Some(What::File(contents)) = self.nodes.get_mut(&number).map(|node| &mut node.what) {
            let blocks = offset as usize / super::BLOCK..=(offset as usize + bytes.len()) / super::BLOCK;
            contents.refused.retain(|block, _| !blocks.contains(block));
        }
        self.note(number);
        Ok(())
    }

    /// Has something keep its inode that is about to lose its last name.
    fn keeps(&mut self, dir: &Dir, name: &[u8], stat: &Stat) {
        if stat.st_nlink == 1 && self.nodes.contains_key(&stat.st_ino) {
            let kept = stat.st_ino.to_string();
            rustix::fs::linkat(dir, name, &self.grave, kept, AtFlags::empty()).expect("a link");
        }
    }

    fn told(&mut self, dir: &Dir) -> Arc<AtomicU64> {
        let errors = self.errors;
        Arc::clone(self.told.entry(dir.as_fd().as_raw_fd()).or_insert_with(|| Arc::new(AtomicU64::new(errors))))
    }
}

fn is_folder(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

impl Disk for Simulated {
    fn make_dir(&self, dir: &Dir, name: &[u8], mode: u32) -> io::Result<()> {
        let mut state = self.state();
        state.begin("make a folder")?;
        if stat_at(dir, name).is_none() {
            state.takes_room()?;
        }
        dir.make_dir(name, mode)?;
        state.made(dir, name);
        Ok(())
    }

    fn create_new(&self, dir: &Dir, name: &[u8], mode: u32) -> io::Result<OwnedFd> {
        let mut state = self.state();
        state.begin("create")?;
        if stat_at(dir, name).is_none() {
            state.takes_room()?;
        }
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(dir, name, flags, Mode::from_raw_mode(mode))?;
        let number = state.made(dir, name).st_ino;
        // However little its mode allows.
        state.nodes.get_mut(&number).expect("it was made").fd = file.try_clone()?;
        Ok(file)
    }

    fn symlink(&self, target: &[u8], dir: &Dir, name: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        state.begin("make a symbolic link")?;
        if stat_at(dir, name).is_none() {
            state.takes_room()?;
        }
        dir.symlink(target, name)?;
        state.made(dir, name);
        Ok(())
    }

    fn hard_link(&self, from: (&Dir, &[u8]), to: (&Dir, &[u8])) -> io::Result<()> {
        let mut state = self.state();
        state.begin("make a hard link")?;
        to.0.hard_link(from.0, from.1, to.1)?;
        let number = stat_at(to.0, to.1).expect("it was made").st_ino;
        state.name(ino(to.0), to.1, Some(number));
        Ok(())
    }

    fn rename(&self, from: (&Dir, &[u8]), to: (&Dir, &[u8])) -> io::Result<()> {
        let mut state = self.state();
        state.begin("rename over")?;
        state.takes_names(to.0)?;
        let (what, over) = (stat_at(from.0, from.1), stat_at(to.0, to.1));
        let over = over.filter(|over| !is_folder(over) && what.is_some_and(|what| what.st_ino != over.st_ino));
        if let Some(over) = &over {
            state.keeps(to.0, to.1, over);
        }
        if let Err(error) = from.0.rename(from.1, to.0, to.1) {
            let _ = over.map(|over| rustix::fs::unlinkat(&state.grave, over.st_ino.to_string(), AtFlags::empty()));
            return Err(error);
        }
        let number = what.expect("it was renamed").st_ino;
        state.name(ino(from.0), from.1, None);
        state.name(ino(to.0), to.1, Some(number));
        Ok(())
    }

    fn rename_noreplace(&self, from: (&Dir, &[u8]), to: (&Dir, &[u8])) -> io::Result<()> {
        let mut state = self.state();
        state.begin("rename")?;
        state.takes_names(to.0)?;
        from.0.rename_noreplace(from.1, to.0, to.1)?;
        let number = stat_at(to.0, to.1).expect("it was renamed").st_ino;
        state.name(ino(from.0), from.1, None);
        state.name(ino(to.0), to.1, Some(number));
        Ok(())
    }

    fn exchange(&self, from: (&Dir, &[u8]), to: (&Dir, &[u8])) -> io::Result<()> {
        let mut state = self.state();
        state.begin("exchange")?;
        state.takes_names(to.0)?;
        if let Some(save) = state.plan.saves.take() {
            drop(state);
            self.outside(save);
            state = self.state();
        }
        from.0.exchange(from.1, to.0, to.1)?;
        for (dir, name) in [from, to] {
            let number = stat_at(dir, name).expect("it was exchanged").st_ino;
            state.name(ino(dir), name, Some(number));
        }
        Ok(())
    }

    fn unlink(&self, dir: &Dir, name: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        state.begin("unlink")?;
        let there = stat_at(dir, name).filter(|there| there.st_nlink == 1 && !is_folder(there));
        match there {
            Some(there) => rustix::fs::renameat(dir, name, &state.grave, there.st_ino.to_string())?,
            None => dir.unlink(name)?,
        }
        state.name(ino(dir), name, None);
        Ok(())
    }

    fn remove_dir(&self, dir: &Dir, name: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        state.begin("remove a folder")?;
        match stat_at(dir, name) {
            Some(there) if is_folder(&there) && state.names(there.st_ino).is_empty() => {
                rustix::fs::renameat(dir, name, &state.grave, there.st_ino.to_string())?;
            }
            _ => dir.remove_dir(name)?,
        }
        state.name(ino(dir), name, None);
        Ok(())
    }

    fn set_mode_at(&self, dir: &Dir, name: &[u8], mode: u32) -> io::Result<()> {
        let mut state = self.state();
        state.begin("set a mode")?;
        dir.set_mode(name, mode)?;
        let number = stat_at(dir, name).expect("it is there").st_ino;
        state.note(number);
        Ok(())
    }

    fn set_folder_mode_at(&self, dir: &Dir, name: &[u8], mode: u32) -> io::Result<()> {
        self.set_mode_at(dir, name, mode)
    }

    fn set_times_at(&self, dir: &Dir, name: &[u8], atime: Option<Timestamp>, mtime: Timestamp) -> io::Result<()> {
        let mut state = self.state();
        state.begin("set a time")?;
        match atime {
            Some(atime) => dir.set_times_both(name, atime, mtime)?,
            None => dir.set_times(name, mtime)?,
        }
        let number = stat_at(dir, name).expect("it is there").st_ino;
        state.note(number);
        Ok(())
    }

    fn set_owner_at(&self, dir: &Dir, name: &[u8], uid: u32, gid: u32) -> io::Result<()> {
        self.state().begin("set an owner")?;
        dir.set_owner(name, uid, gid)
    }

    fn set_mode(&self, fd: BorrowedFd<'_>, mode: u32) -> io::Result<()> {
        let mut state = self.state();
        state.begin("set a mode")?;
        ringway_sys::attributes::set_mode(fd, mode)?;
        state.note(ino(fd));
        Ok(())
    }

    fn set_times(&self, fd: BorrowedFd<'_>, atime: Option<Timestamp>, mtime: Timestamp) -> io::Result<()> {
        let mut state = self.state();
        state.begin("set a time")?;
        match atime {
            Some(atime) => ringway_sys::attributes::set_times_both(fd, atime, mtime)?,
            None => ringway_sys::attributes::set_file_times(fd, mtime)?,
        }
        state.note(ino(fd));
        Ok(())
    }

    fn set_owner(&self, fd: BorrowedFd<'_>, uid: u32, gid: u32) -> io::Result<()> {
        self.state().begin("set an owner")?;
        ringway_sys::attributes::set_owner_fd(fd, uid, gid)
    }

    fn set_group(&self, fd: BorrowedFd<'_>, gid: u32) -> io::Result<()> {
        self.state().begin("set a group")?;
        ringway_sys::attributes::set_group_fd(fd, gid)
    }

    fn remove_acl(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.state().begin("remove a list")?;
        ringway_sys::attributes::remove_acl(fd)
    }

    fn remove_default_acl(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.state().begin("remove a default list")?;
        ringway_sys::attributes::remove_default_acl(fd)
    }

    fn set_xattr(&self, fd: BorrowedFd<'_>, name: &[u8], value: &[u8]) -> io::Result<()> {
        self.state().begin("set an attribute")?;
        ringway_sys::attributes::set_xattr(fd, name, value)
    }

    fn set_len(&self, file: BorrowedFd<'_>, bytes: u64) -> io::Result<()> {
        let mut state = self.state();
        state.begin("set a length")?;
        let number = ino(file);
        state.soils(number);
        ringway_sys::attributes::set_len(file, bytes)?;
        let node = state.nodes.get_mut(&number).expect("it is known");
        let before = node.attributes.size;
        if let What::File(contents) = &mut node.what {
            contents.grows = false;
        }
        state.log(Undo::Size { file: number, before });
        state.note(number);
        Ok(())
    }

    fn write_all(&self, _io: &mut FileIo, writes: &[WriteAt<'_>], results: &mut Vec<io::Result<()>>) {
        let mut state = self.state();
        results.clear();
        results.extend(writes.iter().map(|write| state.write(write.fd, write.offset, write.bytes)));
    }

    fn write_at(&self, file: BorrowedFd<'_>, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.state().write(file, offset, bytes)
    }

    fn copy_range(
        &self,
        _from: BorrowedFd<'_>,
        _from_offset: u64,
        _to: BorrowedFd<'_>,
        _to_offset: u64,
        _len: usize,
    ) -> io::Result<Option<usize>> {
        // By way of memory, which is written down.
        Ok(None)
    }

    fn filesystem(&self, _fd: BorrowedFd<'_>) -> io::Result<Filesystem> {
        Ok(self.state().filesystem)
    }

    fn begin_write_out(&self, _file: BorrowedFd<'_>) {}

    fn write_out(&self, file: BorrowedFd<'_>, _on: Filesystem) -> io::Result<()> {
        let mut state = self.state();
        state.begin("write out")?;
        state.write_out_file(ino(file))
    }

    fn sync_dir(&self, dir: &Dir) -> io::Result<()> {
        let mut state = self.state();
        state.begin("synchronise a folder")?;
        state.sync_folder(ino(dir));
        Ok(())
    }

    fn sync_filesystem(&self, dir: &Dir) -> io::Result<()> {
        let mut state = self.state();
        state.begin("synchronise")?;
        let (told, errors) = (state.told(dir), state.errors);
        state.sync();
        if told.swap(errors, Ordering::Relaxed) < errors { state.reports() } else { Ok(()) }
    }

    fn sync_data(&self, file: BorrowedFd<'_>) -> io::Result<()> {
        let mut state = self.state();
        state.begin("synchronise a file")?;
        state.write_out_file(ino(file))
    }

    fn drop_cached(&self, file: BorrowedFd<'_>) {
        let mut state = self.state();
        // What the medium has refused counts as written: it is as clean as the rest.
        state.forget_file(ino(file));
    }

    /// This program keeps open what a killed receiver, whose process has gone, would have closed.
    fn has_writers(&self, _file: BorrowedFd<'_>) -> bool {
        false
    }

    /// What the medium does to a file is no change of it.
    fn metadata(&self, file: BorrowedFd<'_>) -> io::Result<Metadata> {
        let there = metadata_of(file)?;
        Ok(Metadata { ctime: self.state().changed(there.ino, there.ctime), ..there })
    }

    fn opened(&self, dir: &Dir) {
        let mut state = self.state();
        let errors = state.errors;
        state.told.insert(dir.as_fd().as_raw_fd(), Arc::new(AtomicU64::new(errors)));
    }

    fn cloned(&self, from: &Dir, dir: &Dir) {
        let mut state = self.state();
        let told = state.told(from);
        state.told.insert(dir.as_fd().as_raw_fd(), told);
    }

    fn write_back_after(&self) -> u64 {
        self.state().plan.write_back_after
    }

    fn readers(&self, _dev: u64) -> usize {
        1
    }

    fn beside(&self, work: Work) -> bool {
        let is_slow = self.state().plan.is_slow;
        if !is_slow {
            work();
        }
        !is_slow
    }
}
