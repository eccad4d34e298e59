//! Owns questions and operations about a whole filesystem: kind, medium, free space, preallocation,
//! syncing.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

use rustix::fs::FallocateFlags;
use rustix::io::Errno;

/// Free space on a filesystem (statvfs(3)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Bytes an unprivileged user may still write.
    pub free_bytes: u64,
    /// Bytes it has in all.
    pub total_bytes: u64,
    /// Files that can still be made; `None` if the filesystem has no such limit (btrfs).
    pub free_inodes: Option<u64>,
    /// Longest name in bytes; 0 if the filesystem does not say.
    pub name_max: u64,
}

/// The free space on the filesystem that holds `fd`.
pub fn space(fd: impl AsFd) -> io::Result<Space> {
    let stat = rustix::fs::fstatvfs(fd)?;
    Ok(Space {
        free_bytes: stat.f_bavail.saturating_mul(stat.f_frsize),
        total_bytes: stat.f_blocks.saturating_mul(stat.f_frsize),
        free_inodes: (stat.f_files != 0).then_some(stat.f_favail),
        name_max: stat.f_namemax,
    })
}

/// The id of the filesystem that holds `fd` (`f_fsid` of statvfs(3)). On most filesystems it stays
/// the same after a restart of the machine. 0 if the filesystem has none.
pub fn filesystem_id(fd: impl AsFd) -> io::Result<u64> {
    Ok(rustix::fs::fstatvfs(fd)?.f_fsid)
}

/// The kind of a filesystem, by its magic number (statfs(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Filesystem {
    /// Its magic number.
    pub magic: u64,
    /// Whether it is an ext4 that is known to have a journal. ext2, and ext4 made without a
    /// journal, have the same magic number.
    pub has_journal: bool,
}

/// Magic number of ext2, ext3 and ext4.
const EXT4_MAGIC: u64 = 0xEF53;

/// The inode that mkfs.ext4 gives the journal (EXT4_JOURNAL_INO); jbd2 names the journal by it.
const JOURNAL_INODE: u32 = 8;

/// Magic numbers (statfs(2), linux/magic.h; ZFS, CIFS, exFAT and bcachefs from their sources) and
/// the common names of these filesystems.
const NAMES: [(u64, &str); 20] = [
    (EXT4_MAGIC, "ext4"),
    (0x0102_1994, "tmpfs"),
    (0x9123_683E, "btrfs"),
    (0x5846_5342, "xfs"),
    (0x794C_7630, "overlay"),
    (0x6969, "nfs"),
    (0xFF53_4D42, "cifs"),
    (0xFE53_4D42, "cifs"),
    (0x517B, "cifs"),
    (0x6573_5546, "fuse"),
    (0x00C3_6400, "ceph"),
    (0xF2F5_2010, "f2fs"),
    (0x2FC1_2FC1, "zfs"),
    (0xCA45_1A4E, "bcachefs"),
    (0x4D44, "vfat"),
    (0x2011_BAB0, "exfat"),
    (0x8584_58F6, "ramfs"),
    (0x9FA0, "proc"),
    (0x6265_6572, "sysfs"),
    (0x5346_544E, "ntfs"),
];

/// Magic numbers of filesystems that show what the kernel knows instead of files on a disk
/// (linux/magic.h): proc, sysfs, debugfs, tracefs, securityfs, configfs, cgroup, cgroup2, bpf,
/// pstore, efivarfs, devpts, mqueue, selinux, binfmt_misc, fusectl, nsfs, hugetlbfs.
const KERNEL_VIEWS: [u64; 18] = [
    0x9FA0,
    0x6265_6572,
    0x6462_6720,
    0x7472_6163,
    0x7363_6673,
    0x6265_6570,
    0x0027_E0EB,
    0x6367_7270,
    0xCAFE_4A11,
    0x6165_676C,
    0xDE5E_81E4,
    0x1CD1,
    0x1980_0202,
    0xF97C_FF8C,
    0x4249_4E4D,
    0x6573_5543,
    0x6E73_6673,
    0x9584_58F6,
];

impl Filesystem {
    /// Its common name, or "other".
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(magic, _)| *magic == self.magic).map_or("other", |(_, name)| name)
    }

    /// Whether a folder has the same inode number after the kernel has forgotten it and looks it up
    /// again. FAT, exFAT and filesystems whose numbers come from a program or a server assign new
    /// ones (iunique(9), `noserverino` of mount.cifs(8), `use_ino` of mount.fuse(8)).
    pub fn keeps_inode_numbers(self) -> bool {
        !matches!(self.name(), "vfat" | "exfat" | "fuse" | "cifs")
    }

    /// Whether the filesystem is another program.
    pub fn is_fuse(self) -> bool {
        self.name() == "fuse"
    }

    /// Whether files live in memory alone, so that there is no disk to wait for, and preallocating
    /// writes zeros.
    pub fn is_memory(self) -> bool {
        matches!(self.name(), "tmpfs" | "ramfs")
    }

    /// Whether, after a power cut, a name given after the contents have reached the device always
    /// leads to these contents. On these filesystems write-back ends once the file's size and
    /// extents are in the journal, and the journal is written in order, behind a flush. btrfs and
    /// f2fs record extents later. An ext4 without a journal writes names and extents in any order.
    pub fn orders_names_behind_contents(self) -> bool {
        match self.name() {
            "ext4" => self.has_journal,
            "xfs" => true,
            _ => false,
        }
    }

    /// Whether its change times come from this kernel's clock. Servers and other programs have
    /// clocks of their own.
    pub fn uses_own_clock(self) -> bool {
        matches!(
            self.name(),
            "ext4" | "xfs" | "btrfs" | "f2fs" | "tmpfs" | "ramfs" | "vfat" | "exfat" | "zfs" | "bcachefs" | "overlay"
        )
    }

    /// Whether a server or a program may carry out copy_file_range(2), so that no byte passes
    /// through this kernel.
    pub fn copies_by_itself(self) -> bool {
        matches!(self.name(), "nfs" | "cifs" | "fuse" | "ceph")
    }
}

/// [`Filesystem::is_fuse`] of the filesystem that holds `fd`, by one call.
pub fn filesystem_is_fuse(fd: impl AsFd) -> io::Result<bool> {
    Ok(Filesystem { magic: magic(fd)?, has_journal: false }.is_fuse())
}

fn magic(fd: impl AsFd) -> io::Result<u64> {
    // The field's width and sign differ between architectures; magic numbers have 32 bits.
    #[allow(clippy::unnecessary_cast)]
    let magic = rustix::fs::fstatfs(fd)?.f_type as u64 & 0xFFFF_FFFF;
    Ok(magic)
}

/// The kind of the filesystem that holds `fd`.
pub fn filesystem(fd: impl AsFd) -> io::Result<Filesystem> {
    let magic = magic(&fd)?;
    let has_journal = magic == EXT4_MAGIC && has_journal(rustix::fs::fstat(fd)?.st_dev);
    Ok(Filesystem { magic, has_journal })
}

/// Whether the filesystem that holds `fd` shows what the kernel knows, as `/proc` does, and has no
/// files of anybody.
pub fn shows_the_kernel(fd: impl AsFd) -> io::Result<bool> {
    Ok(KERNEL_VIEWS.contains(&magic(&fd)?))
}

/// Whether the ext4 on the block device `dev` has a journal; false if that cannot be found out.
fn has_journal(dev: u64) -> bool {
    let link = format!("/sys/dev/block/{}:{}", rustix::fs::major(dev), rustix::fs::minor(dev));
    // The kernel's own name of the device, which a logical volume has too (dm-0).
    let name = match std::fs::read_link(link).ok().as_deref().and_then(Path::file_name).and_then(OsStr::to_str) {
        Some(name) => name.to_owned(),
        None => return false,
    };
    // A confined thread may check whether this path exists, but may not read the other one.
    if Path::new(&format!("/proc/fs/jbd2/{name}-{JOURNAL_INODE}")).exists() {
        return true;
    }
    // The journal is on another device, or in another inode. The file has "<none>", or the number
    // of the journal's thread, which is 0 in a container.
    std::fs::read_to_string(format!("/sys/fs/ext4/{name}/journal_task"))
        .is_ok_and(|task| task.trim().parse::<u32>().is_ok())
}

/// The kind of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// It has platters and a head that seeks.
    Rotational,
    /// It has no moving head, or does not say, like virtual disks.
    Solid,
}

/// The medium of the block device `dev` (makedev(3), as in `Metadata::dev`), by sysfs. A partition
/// has the medium of its disk. `None` if no block device is known, as for tmpfs, btrfs and network
/// filesystems.
pub fn medium(dev: u64) -> Option<Medium> {
    medium_of(&PathBuf::from(format!("/sys/dev/block/{}:{}", rustix::fs::major(dev), rustix::fs::minor(dev))))
}

fn medium_of(device: &Path) -> Option<Medium> {
    // The link is resolved before `..`, which then leads to the disk that has the partition.
    let medium =
        ["queue/rotational", "../queue/rotational"].into_iter().find_map(|below| {
            match std::fs::read_to_string(device.join(below)).ok()?.trim() {
                "0" => Some(Medium::Solid),
                "1" => Some(Medium::Rotational),
                _ => None,
            }
        });
    // A virtio disk is always reported as rotational, because its driver does not know.
    let is_virtual = || {
        std::fs::canonicalize(device)
            .is_ok_and(|path| path.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"virtio")))
    };
    match medium {
        Some(Medium::Rotational) if is_virtual() => Some(Medium::Solid),
        medium => medium,
    }
}

/// Writes everything that is cached for the filesystem that holds `fd` to its disk (syncfs(2)).
/// From Linux 5.8 on it also reports errors of earlier write-back.
pub fn sync_filesystem(fd: impl AsFd) -> io::Result<()> {
    Ok(rustix::fs::syncfs(fd)?)
}

/// Starts writing a file's contents to the device without waiting (sync_file_range(2)). This is
/// only a hint: an error here comes again in [`write_out`].
pub fn begin_write_out(file: impl AsFd) {
    let _ = sync_file_range(file, libc::SYNC_FILE_RANGE_WRITE);
}

/// Writes a file's contents to the device and waits for that. So after a power cut, a name given
/// afterwards never leads to incomplete contents. This needs no flush if the filesystem [orders
/// names behind contents](Filesystem::orders_names_behind_contents), and a flush (fdatasync(2))
/// otherwise.
pub fn write_out(file: impl AsFd, on: Filesystem) -> io::Result<()> {
    const WHOLE: libc::c_uint =
        libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    if on.is_memory() {
        return Ok(());
    }
    if on.orders_names_behind_contents() {
        match sync_file_range(&file, WHOLE) {
            Err(errno @ (Errno::IO | Errno::NOSPC | Errno::DQUOT)) => return Err(errno.into()),
            // A filter may forbid the call (seccomp).
            Err(_) => {}
            Ok(()) => return Ok(()),
        }
    }
    Ok(rustix::fs::fdatasync(file)?)
}

fn sync_file_range(file: impl AsFd, flags: libc::c_uint) -> Result<(), Errno> {
    // SAFETY: takes no pointers; a length of 0 means up to the end.
    match unsafe { libc::sync_file_range(file.as_fd().as_raw_fd(), 0, 0, flags) } {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)),
    }
}

/// Makes the names in the directory durable (fsync(2)). If a filesystem cannot sync a directory,
/// there is nothing to make durable.
pub fn sync_dir(dir: impl AsFd) -> io::Result<()> {
    match rustix::fs::fsync(dir) {
        Err(Errno::INVAL) => Ok(()),
        other => Ok(other?),
    }
}

/// Reserves space for the first `bytes` bytes of the open file without changing its length
/// (fallocate(2)). `Ok(false)` if the filesystem cannot, or if `bytes` is 0.
pub fn preallocate(fd: impl AsFd, bytes: u64) -> io::Result<bool> {
    if bytes == 0 {
        return Ok(false);
    }
    loop {
        match rustix::fs::fallocate(fd.as_fd(), FallocateFlags::KEEP_SIZE, 0, bytes) {
            Ok(()) => return Ok(true),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    //! Tests of `medium` with folders that are laid out like sysfs.
    use super::*;

    /// A disk at `path` with that content of `rotational`, its partition, and the kernel's link to
    /// the partition.
    fn disk(sysfs: &Path, path: &str, rotational: &str) -> (PathBuf, PathBuf) {
        let disk = sysfs.join(path);
        std::fs::create_dir_all(disk.join("queue")).unwrap();
        std::fs::create_dir_all(disk.join("part1")).unwrap();
        std::fs::write(disk.join("queue/rotational"), rotational).unwrap();
        let link = sysfs.join("8:1");
        std::os::unix::fs::symlink(disk.join("part1"), &link).unwrap();
        (disk, link)
    }

    #[test]
    fn a_virtual_disk_does_not_count_as_rotational() {
        for (path, rotational, expected) in [
            ("pci0000:00/ata1/block/sda", "1\n", Some(Medium::Rotational)),
            ("pci0000:00/nvme/nvme0/nvme0n1", "0\n", Some(Medium::Solid)),
            ("pci0000:00/virtio1/block/vda", "1\n", Some(Medium::Solid)),
            ("pci0000:00/ata1/block/sda", "what?\n", None),
        ] {
            let sysfs = tempfile::tempdir().unwrap();
            let (disk, partition) = disk(sysfs.path(), path, rotational);
            assert_eq!(medium_of(&disk), expected, "{path}");
            assert_eq!(medium_of(&partition), expected, "a partition of {path}");
        }
        assert_eq!(medium_of(Path::new("/nowhere")), None);
    }
}
