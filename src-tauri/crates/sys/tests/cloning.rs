//! Properties that a copy inside one machine keeps and a transfer does not: every namespace of
//! attributes, both times, groups, device nodes.

mod common;

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use ringway_sys::attributes::{
    Kind, Timestamp, XattrsCopied, copy_xattrs, copy_xattrs_at, has_default_acl, has_xattrs, metadata_of, remove_acl,
    remove_acl_at, remove_default_acl, set_group_fd, set_mode, set_times_both,
};
use ringway_sys::space::{Filesystem, Medium, filesystem, medium};
use rustix::fs::XattrFlags;

use common::{dir, errno, folders, is_root, mount, pattern, skipped, with_own_mounts, without_privileges};

/// An access control list in the kernel's format (linux/posix_acl_xattr.h): version 2, then tag,
/// permissions and id of each entry: the owner rwx, user 12345 r-x, the group r-x, the mask r-x,
/// others nothing.
const ACL: [u8; 44] = {
    const ENTRIES: [(u16, u16, u32); 5] =
        [(1, 7, u32::MAX), (2, 5, 12_345), (4, 5, u32::MAX), (0x10, 5, u32::MAX), (0x20, 0, u32::MAX)];
    let mut list = [0; 44];
    list[0] = 2;
    let mut entry = 0;
    while entry < ENTRIES.len() {
        let (tag, permissions, id) = ENTRIES[entry];
        let at = 4 + 8 * entry;
        (list[at], list[at + 2]) = (tag as u8, permissions as u8);
        let id = id.to_le_bytes();
        (list[at + 4], list[at + 5], list[at + 6], list[at + 7]) = (id[0], id[1], id[2], id[3]);
        entry += 1;
    }
    list
};

fn set(fd: impl AsFd, name: &str, value: &[u8]) -> rustix::io::Result<()> {
    rustix::fs::fsetxattr(fd, name, value, XattrFlags::empty())
}

fn value(fd: impl AsFd, name: &str) -> Vec<u8> {
    let mut bytes = vec![0; 65_536];
    let length = rustix::fs::fgetxattr(fd, name, &mut bytes).unwrap();
    bytes.truncate(length);
    bytes
}

fn time(secs: i64, nanos: u32) -> Timestamp {
    Timestamp { secs, nanos }
}

#[test]
fn both_times_are_set_on_the_entry_itself() {
    for folder in folders() {
        let here = dir(folder.path());
        let file = here.create_new(b"file", 0o600).unwrap();
        here.symlink(b"file", b"link").unwrap();
        let (atime, mtime) = (time(1_000_000_000, 123_456_789), time(-1, 999_999_999));
        set_times_both(&file, atime, mtime).unwrap();
        here.set_times_both(b"link", mtime, atime).unwrap();
        let of = |name: &[u8]| here.metadata(name).map(|found| (found.atime, found.mtime)).unwrap();
        assert_eq!((of(b"file"), of(b"link")), ((atime, mtime), (mtime, atime)));
        assert!(metadata_of(&file).unwrap().ctime > atime);
        assert_eq!(
            set_times_both(&file, time(0, 1_000_000_000), mtime).unwrap_err().kind(),
            io::ErrorKind::InvalidInput
        );
        assert_eq!(
            here.set_times_both(b"file", atime, time(0, u32::MAX)).unwrap_err().kind(),
            io::ErrorKind::InvalidInput
        );
        assert_eq!(of(b"file"), (atime, mtime));
    }
}

#[test]
fn every_namespace_is_copied() {
    const TEST: &str = "every_namespace_is_copied";
    for folder in folders() {
        let here = dir(folder.path());
        let (from, to) = (here.create_new(b"from", 0o600).unwrap(), here.create_new(b"to", 0o600).unwrap());
        assert!(!has_xattrs(&from).unwrap());
        assert_eq!(copy_xattrs(&from, &to).unwrap(), XattrsCopied::default());
        if let Err(error) = set(&from, "user.small", b"") {
            skipped(TEST, &format!("{}: {error}", folder.path().display()));
            continue;
        }
        let mut names = vec!["user.small"];
        set(&from, "user.long", &pattern(1, 3_000)).unwrap();
        names.push("user.long");
        for (name, bytes) in [("system.posix_acl_access", ACL.as_slice()), ("trusted.root", b"only")] {
            match set(&from, name, bytes) {
                Ok(()) => names.push(name),
                Err(error) => skipped(&format!("{TEST}: {name}"), &format!("{}: {error}", folder.path().display())),
            }
        }
        assert!(has_xattrs(&from).unwrap());
        set(&to, "user.other", b"stays").unwrap();
        let count = names.len() as u32;
        assert_eq!(copy_xattrs(&from, &to).unwrap(), XattrsCopied { set: count, lost: 0, group_of_lost_list: None });
        for name in names {
            assert_eq!(value(&to, name), value(&from, name), "{name}");
        }
        assert_eq!(value(&to, "user.other"), b"stays");
    }
    assert!(!has_xattrs(File::open("/proc/version").unwrap()).unwrap());
}

#[test]
fn attributes_that_a_user_may_not_set_count_as_lost() {
    const TEST: &str = "attributes_that_a_user_may_not_set_count_as_lost";
    let folder = tempfile::tempdir().unwrap();
    let here = dir(folder.path());
    let (from, to) = (here.create_new(b"from", 0o644).unwrap(), here.create_new(b"to", 0o644).unwrap());
    if set(&from, "user.x", b"x").is_err() || !is_root() {
        return skipped(TEST, "takes attributes, and root to make a file that is not one's own");
    }
    // The destination belongs to root. Writing attributes needs write permission (xattr(7)), and an
    // open descriptor alone does not give it.
    let copied = without_privileges(|| copy_xattrs(&from, &to)).unwrap();
    assert_eq!(copied, XattrsCopied { set: 0, lost: 1, group_of_lost_list: None });
    assert!(!has_xattrs(&to).unwrap());
    // This filesystem has no such attributes.
    let without = File::open("/proc/version").unwrap();
    assert_eq!(copy_xattrs(&from, &without).unwrap(), XattrsCopied { set: 0, lost: 1, group_of_lost_list: None });
}

#[test]
fn attributes_of_read_only_files_can_be_set() {
    const TEST: &str = "attributes_of_read_only_files_can_be_set";
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let here = dir(folder.path());
    without_privileges(|| {
        let (from, to) = (here.create_new(b"from", 0o600).unwrap(), here.create_new(b"to", 0o600).unwrap());
        if set(&from, "user.x", b"x").is_err() {
            return skipped(TEST, "this filesystem has no attributes of users");
        }
        for mode in [0o444, 0o000, 0o4500] {
            set_mode(&to, mode).unwrap();
            assert_eq!(copy_xattrs(&from, &to).unwrap(), XattrsCopied { set: 1, lost: 0, group_of_lost_list: None });
            assert_eq!(metadata_of(&to).unwrap().mode, mode);
        }
        set_mode(&to, 0o600).unwrap();
        assert_eq!(value(&to, "user.x"), b"x");
    });
}

#[test]
fn a_too_long_value_is_lost_and_a_full_filesystem_is_an_error() {
    const TEST: &str = "a_too_long_value_is_lost_and_a_full_filesystem_is_an_error";
    let (here, there) = (tempfile::tempdir_in("/dev/shm").unwrap(), tempfile::tempdir().unwrap());
    let (from, to) =
        (dir(here.path()).create_new(b"f", 0o600).unwrap(), dir(there.path()).create_new(b"t", 0o600).unwrap());
    if filesystem(&to).unwrap().name() != "ext4" || set(&from, "user.long", &pattern(1, 60_000)).is_err() {
        return skipped(TEST, "takes ext4, whose attributes are short, and a tmpfs, whose attributes are long");
    }
    match set(&to, "user.probe", &pattern(1, 60_000)) {
        Ok(()) => skipped(TEST, "this ext4 takes long attributes"),
        Err(_) => {
            assert_eq!(copy_xattrs(&from, &to).unwrap(), XattrsCopied { set: 0, lost: 1, group_of_lost_list: None })
        }
    }
    with_own_mounts(TEST, || {
        let small = tempfile::tempdir().unwrap();
        let path = std::ffi::CString::new(small.path().as_os_str().as_encoded_bytes()).unwrap();
        if let Err(error) = mount(c"none", &path, c"tmpfs", 0, c"size=64k") {
            return skipped(TEST, &format!("no tmpfs: {error}"));
        }
        let to = dir(small.path()).create_new(b"t", 0o600).unwrap();
        // The kernel may charge attributes of a tmpfs to memory alone.
        if let Err(error) = copy_xattrs(&from, &to) {
            assert_eq!(errno(&error), libc::ENOSPC);
        }
        // SAFETY: the path lives over the call and ends with NUL.
        unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) };
    });
}

#[test]
fn attributes_of_links_and_nodes_are_copied() {
    const TEST: &str = "attributes_of_links_and_nodes_are_copied";
    let folder = tempfile::tempdir().unwrap();
    let here = dir(folder.path());
    for name in ["from", "to"] {
        let file = here.create_new(name.as_bytes(), 0o600).unwrap();
        let _ = set(&file, "user.file", name.as_bytes());
        symlink(name, folder.path().join(format!("{name}-link"))).unwrap();
        here.make_node(format!("{name}-fifo").as_bytes(), Kind::Fifo, 0o600, 0).unwrap();
    }
    let trusted = |name: &str| {
        let path = folder.path().join(name);
        let mut bytes = [0; 16];
        rustix::fs::lgetxattr(&path, "trusted.own", &mut bytes).map(|length| bytes[..length].to_vec())
    };
    for kind in ["link", "fifo"] {
        let (from, to) = (format!("from-{kind}"), format!("to-{kind}"));
        assert_eq!(copy_xattrs_at(&here, from.as_bytes(), &here, to.as_bytes()).unwrap(), XattrsCopied::default());
        let path = folder.path().join(&from);
        if rustix::fs::lsetxattr(&path, "trusted.own", kind.as_bytes(), XattrFlags::empty()).is_err() {
            skipped(TEST, "attributes in trusted. take root and a filesystem that has them");
            continue;
        }
        let copied = copy_xattrs_at(&here, from.as_bytes(), &here, to.as_bytes()).unwrap();
        assert_eq!(
            (copied, trusted(&to).unwrap()),
            (XattrsCopied { set: 1, lost: 0, group_of_lost_list: None }, kind.as_bytes().to_vec())
        );
    }
    assert!(trusted("to").is_err(), "a link was followed");
    for (from, to) in [("missing", "to-link"), ("../x", "to"), ("", "to"), ("from", "a/b")] {
        assert!(copy_xattrs_at(&here, from.as_bytes(), &here, to.as_bytes()).is_err());
    }
}

#[test]
fn access_control_lists_are_found_and_removed() {
    const TEST: &str = "access_control_lists_are_found_and_removed";
    for folder in folders() {
        let here = dir(folder.path());
        let _ = remove_default_acl(&here);
        assert!(!has_default_acl(&here).unwrap());
        here.make_dir(b"parent", 0o700).unwrap();
        let parent = here.open_dir(b"parent").unwrap();
        if let Err(error) = set(&parent, "system.posix_acl_default", &ACL) {
            skipped(TEST, &format!("{}: {error}", folder.path().display()));
            continue;
        }
        assert!(has_default_acl(&parent).unwrap());
        let file = parent.create_new(b"file", 0o666).unwrap();
        assert_eq!(value(&file, "system.posix_acl_access").len(), ACL.len());
        remove_acl(&file).unwrap();
        remove_acl(&file).unwrap();
        set_mode(&file, 0o640).unwrap();
        assert!(!has_xattrs(&file).unwrap());
        parent.make_node(b"fifo", Kind::Fifo, 0o666, 0).unwrap();
        let fifo = folder.path().join("parent/fifo");
        let list = || rustix::fs::lgetxattr(&fifo, "system.posix_acl_access", &mut [0_u8; 256][..]);
        assert_eq!(list(), Ok(ACL.len()));
        remove_acl_at(&parent, b"fifo").unwrap();
        remove_acl_at(&parent, b"fifo").unwrap();
        assert_eq!(list(), Err(rustix::io::Errno::NODATA));
        assert!(remove_acl_at(&parent, b"missing").is_err() && remove_acl_at(&parent, b"../parent").is_err());
        remove_default_acl(&parent).unwrap();
        remove_default_acl(&parent).unwrap();
        assert!(!has_default_acl(&parent).unwrap());
    }
    let proc = dir(Path::new("/proc"));
    assert!(!has_default_acl(&proc).unwrap());
    remove_default_acl(&proc).unwrap();
}

#[test]
fn groups_are_set_without_the_owner() {
    if !is_root() {
        return skipped("groups_are_set_without_the_owner", "giving files away takes root");
    }
    let folder = tempfile::tempdir().unwrap();
    let here = dir(folder.path());
    let file = here.create_new(b"file", 0o600).unwrap();
    here.symlink(b"file", b"link").unwrap();
    here.set_owner(b"file", 77, 77).unwrap();
    set_group_fd(&file, 1234).unwrap();
    here.set_group(b"link", 4321).unwrap();
    let owner = |name: &[u8]| here.metadata(name).map(|found| (found.uid, found.gid)).unwrap();
    assert_eq!((owner(b"file"), owner(b"link")), ((77, 1234), (0, 4321)));
    assert_eq!(set_group_fd(&file, u32::MAX).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    assert_eq!(here.set_group(b"file", u32::MAX).unwrap_err().kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn nodes_are_made_as_they_are_asked_for() {
    const TEST: &str = "nodes_are_made_as_they_are_asked_for";
    let folder = tempfile::tempdir().unwrap();
    let here = dir(folder.path());
    here.make_node(b"fifo", Kind::Fifo, 0o600, 99).unwrap();
    here.make_node(b"socket", Kind::Socket, 0o600, 99).unwrap();
    let kind = |name: &str| fs::symlink_metadata(folder.path().join(name)).unwrap().file_type();
    assert!(kind("fifo").is_fifo() && kind("socket").is_socket());
    assert_eq!(here.make_node(b"fifo", Kind::Fifo, 0o600, 0).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    for kind in [Kind::File, Kind::Dir, Kind::Symlink] {
        assert_eq!(here.make_node(b"x", kind, 0o600, 0).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
    assert_eq!(here.make_node(b"../x", Kind::Fifo, 0o600, 0).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    // A minor number of more than eight bits needs the kernel's wide encoding.
    let wide = rustix::fs::makedev(259, 70_000);
    for (name, kind, rdev) in [("null", Kind::CharDevice, rustix::fs::makedev(1, 3)), ("wide", Kind::BlockDevice, wide)]
    {
        match here.make_node(name.as_bytes(), kind, 0o600, rdev) {
            Ok(()) => {
                let made = here.metadata(name.as_bytes()).unwrap();
                assert_eq!((made.kind, made.rdev), (kind, rdev));
                assert_eq!(fs::symlink_metadata(folder.path().join(name)).unwrap().rdev(), rdev);
            }
            Err(error) => skipped(&format!("{TEST}: {name}"), &format!("device nodes take CAP_MKNOD: {error}")),
        }
    }
}

#[test]
fn an_existing_link_is_written_through_if_requested() {
    let folder = tempfile::tempdir().unwrap();
    let here = dir(folder.path());
    fs::write(folder.path().join("file"), "kept").unwrap();
    symlink("file", folder.path().join("link")).unwrap();
    symlink("nowhere", folder.path().join("dangling")).unwrap();
    symlink("circle", folder.path().join("circle")).unwrap();
    here.make_node(b"fifo", Kind::Fifo, 0o600, 0).unwrap();
    let through = here.open_write_following(b"link").unwrap();
    assert_eq!(metadata_of(&through).unwrap(), here.metadata_following(b"link").unwrap());
    assert_eq!(metadata_of(&through).unwrap().kind, Kind::File);
    assert_eq!(fs::read(folder.path().join("file")).unwrap(), b"kept", "truncated");
    for (name, expected) in [("dangling", libc::ENOENT), ("circle", libc::ELOOP), ("fifo", libc::ENXIO)] {
        assert_eq!(errno(&here.open_write_following(name.as_bytes()).unwrap_err()), expected, "{name}");
    }
    for name in ["dangling", "circle"] {
        assert!(here.metadata_following(name.as_bytes()).is_err());
        assert_eq!(here.metadata(name.as_bytes()).unwrap().kind, Kind::Symlink);
    }
    assert_eq!(here.open_write_following(b"../x").unwrap_err().kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn a_folder_knows_its_parent() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("inner")).unwrap();
    let here = dir(folder.path());
    let parent = here.open_dir(b"inner").unwrap().open_parent().unwrap();
    let same = |left: &ringway_sys::dir::Dir, right: &ringway_sys::dir::Dir| {
        let (left, right) = (metadata_of(left).unwrap(), metadata_of(right).unwrap());
        (left.dev, left.ino) == (right.dev, right.ino)
    };
    assert!(same(&parent, &here));
    let root = dir(Path::new("/"));
    assert!(same(&root, &root.open_parent().unwrap()));
}

#[test]
fn opening_without_asking_for_the_access_time_reads_the_same() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.path().join("file"), "data").unwrap();
    symlink("file", folder.path().join("link")).unwrap();
    let here = dir(folder.path());
    without_privileges(|| {
        for fd in [here.open_read(b"file").unwrap(), here.open_read_atime(b"file").unwrap()] {
            assert_eq!(io::read_to_string(File::from(fd)).unwrap(), "data");
        }
        assert_eq!(errno(&here.open_read_atime(b"link").unwrap_err()), libc::ELOOP);
    });
}

#[test]
fn filesystems_and_media_are_recognised() {
    let name = |path: &str| filesystem(dir(Path::new(path))).unwrap().name();
    assert_eq!(name("/proc"), "proc");
    let shm = filesystem(dir(Path::new("/dev/shm"))).unwrap();
    assert_eq!((shm.name(), shm.is_memory(), shm.copies_by_itself()), ("tmpfs", true, false));
    assert_eq!(medium(metadata_of(dir(Path::new("/dev/shm"))).unwrap().dev), None);
    for (magic, name, by_itself) in
        [(0x6969, "nfs", true), (0xFE53_4D42, "cifs", true), (0xEF53, "ext4", false), (0x1234_5678, "other", false)]
    {
        let filesystem = Filesystem { magic, has_journal: false };
        assert_eq!((filesystem.name(), filesystem.copies_by_itself()), (name, by_itself));
    }
    // Compares with sysfs for each disk and partition here.
    let Ok(devices) = fs::read_dir("/sys/dev/block") else {
        return skipped("filesystems_and_media_are_recognised: media", "no sysfs");
    };
    let mut told = 0;
    for device in devices.map(|entry| entry.unwrap().file_name().into_string().unwrap()) {
        let (major, minor) = device.split_once(':').unwrap();
        let found = medium(rustix::fs::makedev(major.parse().unwrap(), minor.parse().unwrap()));
        assert!(matches!(found, Some(Medium::Rotational | Medium::Solid)), "{device}: {found:?}");
        told += 1;
    }
    if told == 0 {
        skipped("filesystems_and_media_are_recognised: media", "no block device");
    }
}

#[test]
fn a_thread_has_a_umask_of_its_own() {
    const TEST: &str = "a_thread_has_a_umask_of_its_own";
    let folder = tempfile::tempdir().unwrap();
    let here = dir(folder.path());
    let own = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            ringway_sys::thread::own_umask()?;
            here.create_new(b"exact", 0o666)?;
            here.make_dir(b"folder", 0o1777)?;
            // Threads that it starts from now on share its umask.
            std::thread::scope(|inner| inner.spawn(|| here.create_new(b"inherited", 0o646)).join().unwrap())
        });
        thread.join().unwrap()
    });
    if let Err(error) = own {
        return skipped(TEST, &format!("unshare(2) is refused: {error}"));
    }
    here.create_new(b"usual", 0o666).unwrap();
    let mode = |name: &[u8]| here.metadata(name).unwrap().mode;
    assert_eq!((mode(b"exact"), mode(b"folder"), mode(b"inherited")), (0o666, 0o1777, 0o646));
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let umask = status.lines().find_map(|line| line.strip_prefix("Umask:")).unwrap();
    let umask = u32::from_str_radix(umask.trim(), 8).unwrap();
    assert_ne!(umask, 0, "this test needs a umask to tell");
    assert_eq!(mode(b"usual"), 0o666 & !umask);
}

#[test]
fn reading_from_a_medium_is_counted() {
    use ringway_sys::probe::{Whose, usage};
    const TEST: &str = "reading_from_a_medium_is_counted";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cold");
    fs::write(&path, pattern(1, 1 << 20)).unwrap();
    let file = File::open(&path).unwrap();
    if filesystem(&file).unwrap().is_memory() {
        return skipped(TEST, "temporary files are in memory");
    }
    file.sync_all().unwrap();
    ringway_sys::advice::dont_need(&file);
    let before = usage(Whose::Thread);
    assert_eq!(io::read_to_string(&file).map_err(|error| error.kind()), Err(io::ErrorKind::InvalidData));
    let after = usage(Whose::Thread);
    assert!(after.input_blocks_512 >= before.input_blocks_512 + (1 << 20) / 512 / 2, "{before:?} {after:?}");
}
