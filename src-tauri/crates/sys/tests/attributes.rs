//! Attributes of files and properties of their filesystem: every value is read back as it was set.

mod common;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, symlink};
use std::path::Path;

use ringway_sys::attributes::{
    Kind, Timestamp, XATTR_VALUE_BYTES_MAX, is_not_kept, metadata_of, portable_xattrs, set_file_times, set_len,
    set_mode, set_owner_fd, set_xattr,
};
use ringway_sys::space::{preallocate, space, sync_dir, sync_filesystem};
use ringway_sys::sparse::next_data;

use common::{dir, folders, is_root, pattern, skipped};

/// 1901-12-13, just before 1970, 1970, now, 2038-01-19 and the second after, 2106, 2200-01-01.
const TIMES: [(i64, u32); 9] = [
    (-2_147_483_648, 0),
    (-1, 999_999_999),
    (-86_400, 1),
    (0, 0),
    (1_795_251_600, 123_456_789),
    (2_147_483_647, 999_999_999),
    (2_147_483_648, 1),
    (4_294_967_296, 5),
    (7_258_118_400, 987_654_321),
];

#[test]
fn times_from_1901_to_2200_come_back() {
    for folder in folders() {
        let here = dir(folder.path());
        let file = here.create_new(b"file", 0o600).unwrap();
        here.make_dir(b"dir", 0o700).unwrap();
        here.symlink(b"file", b"link").unwrap();
        for (secs, nanos) in TIMES {
            let mtime = Timestamp { secs, nanos };
            set_file_times(&file, mtime).unwrap();
            assert_eq!(metadata_of(&file).unwrap().mtime, mtime);
            set_file_times(&file, Timestamp { secs: 5, nanos: 5 }).unwrap();
            for name in [b"dir".as_slice(), b"link"] {
                let accessed =
                    |name: &str| fs::symlink_metadata(folder.path().join(name)).map(|m| (m.atime(), m.atime_nsec()));
                let before = accessed(std::str::from_utf8(name).unwrap()).unwrap();
                here.set_times(name, mtime).unwrap();
                assert_eq!(here.metadata(name).unwrap().mtime, mtime);
                assert_eq!(accessed(std::str::from_utf8(name).unwrap()).unwrap(), before);
            }
            assert_eq!(metadata_of(&file).unwrap().mtime, Timestamp { secs: 5, nanos: 5 }, "a link was followed");
        }
        // UTIME_NOW and UTIME_OMIT lie in this range: a peer that sends them is refused.
        for nanos in [1_000_000_000, 0x3fff_ffff, 0x3fff_fffe, u32::MAX] {
            let refused = set_file_times(&file, Timestamp { secs: 0, nanos }).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
        }
    }
}

#[test]
fn each_kind_is_recognised() {
    let folder = tempfile::tempdir().unwrap();
    let here = dir(folder.path());
    fs::write(folder.path().join("file"), pattern(1, 5000)).unwrap();
    fs::hard_link(folder.path().join("file"), folder.path().join("second")).unwrap();
    symlink("12345", folder.path().join("link")).unwrap();
    here.make_dir(b"dir", 0o700).unwrap();
    rustix::fs::mknodat(&here, c"fifo", rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
    let kind = |name: &str| here.metadata(name.as_bytes()).unwrap().kind;
    let kinds = ["file", "link", "dir", "fifo", "socket"].map(kind);
    assert_eq!(kinds, [Kind::File, Kind::Symlink, Kind::Dir, Kind::Fifo, Kind::Socket]);
    assert_eq!(dir(Path::new("/dev")).metadata(b"null").unwrap().kind, Kind::CharDevice);
    let (file, expected) = (here.metadata(b"file").unwrap(), fs::metadata(folder.path().join("file")).unwrap());
    assert_eq!((file.size, file.nlink, file.ino, file.dev), (5000, 2, expected.ino(), expected.dev()));
    assert_eq!((file.uid, file.gid, file.blocks_512), (expected.uid(), expected.gid(), expected.blocks()));
    assert_eq!(here.metadata(b"link").unwrap().size, 5);
}

#[test]
fn modes_are_set_whatever_the_umask() {
    for folder in folders() {
        let here = dir(folder.path());
        let file = here.create_new(b"file", 0o600).unwrap();
        for mode in [0o777, 0o000, 0o4755, 0o2755, 0o1666, 0o7777, 0o640] {
            set_mode(&file, mode).unwrap();
            assert_eq!(here.metadata(b"file").unwrap().mode, mode);
        }
        here.make_dir(b"dir", 0o700).unwrap();
        set_mode(here.open_dir(b"dir").unwrap(), 0o3775).unwrap();
        assert_eq!(here.metadata(b"dir").unwrap().mode, 0o3775);
    }
}

#[test]
fn owners_are_set_on_the_entry_itself() {
    if !is_root() {
        return skipped("owners_are_set_on_the_entry_itself", "giving files away takes root");
    }
    let folder = tempfile::tempdir().unwrap();
    let here = dir(folder.path());
    let file = here.create_new(b"file", 0o600).unwrap();
    here.symlink(b"file", b"link").unwrap();
    here.set_owner(b"link", 1234, 4321).unwrap();
    let owner = |name: &[u8]| here.metadata(name).map(|metadata| (metadata.uid, metadata.gid)).unwrap();
    assert_eq!((owner(b"link"), owner(b"file")), ((1234, 4321), (0, 0)));
    set_mode(&file, 0o6755).unwrap();
    set_owner_fd(&file, 77, 4_000_000_000).unwrap();
    assert_eq!((owner(b"file"), here.metadata(b"file").unwrap().mode), ((77, 4_000_000_000), 0o755));
    // For chown(2) this means "leave as it is".
    assert_eq!(set_owner_fd(&file, u32::MAX, 0).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    assert_eq!(here.set_owner(b"file", 0, u32::MAX).unwrap_err().kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn user_attributes_come_back_and_no_others() {
    const TEST: &str = "user_attributes_come_back_and_no_others";
    for folder in folders() {
        let here = dir(folder.path());
        let file = here.create_new(b"file", 0o600).unwrap();
        assert!(portable_xattrs(&file).unwrap().is_empty());
        if let Err(error) = set_xattr(&file, b"user.empty", b"") {
            skipped(TEST, &format!("{}: {error}", folder.path().display()));
            continue;
        }
        let mut expected = vec![(b"user.empty".to_vec(), vec![])];
        // More names than fit into the first list, with all bytes that a name may have.
        for number in 0..12_u8 {
            let name = [b"user.".as_slice(), &[b'a' + number; 60], b"\xff\n."].concat();
            expected.push((name, pattern(number.into(), 100)));
        }
        expected.iter().for_each(|(name, value)| set_xattr(&file, name, value).unwrap());
        if is_root() {
            rustix::fs::fsetxattr(&file, "trusted.secret", b"x", rustix::fs::XattrFlags::empty()).unwrap();
        }
        let sorted = |mut xattrs: Vec<_>| {
            xattrs.sort();
            xattrs
        };
        assert_eq!(sorted(portable_xattrs(&file).unwrap()), sorted(expected.clone()));
        assert_eq!(sorted(here.portable_xattrs(b"file").unwrap()), sorted(expected.clone()));
        set_xattr(&file, b"user.empty", b"replaced").unwrap();
        assert!(portable_xattrs(&file).unwrap().contains(&(b"user.empty".to_vec(), b"replaced".to_vec())));
        for name in [b"trusted.x".as_slice(), b"user.", b"", b"security.capability", b"userx"] {
            assert_eq!(set_xattr(&file, name, b"x").unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
        assert!(set_xattr(&file, b"user.big", &vec![0; XATTR_VALUE_BYTES_MAX + 1]).is_err());
        // The attributes of a link itself, not those of its target.
        here.symlink(b"file", b"link").unwrap();
        rustix::fs::mknodat(&here, c"fifo", rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(here.portable_xattrs(b"link").unwrap().is_empty());
        assert!(here.portable_xattrs(b"fifo").unwrap().is_empty());
        assert_eq!(here.portable_xattrs(b"missing").unwrap_err().kind(), io::ErrorKind::NotFound);
        here.make_dir(b"dir", 0o700).unwrap();
        set_xattr(here.open_dir(b"dir").unwrap(), b"user.d", b"1").unwrap();
        assert_eq!(here.portable_xattrs(b"dir").unwrap(), [(b"user.d".to_vec(), b"1".to_vec())]);
    }
    assert!(portable_xattrs(File::open("/proc/version").unwrap()).unwrap().is_empty());
}

#[test]
fn access_control_lists_are_read_and_set_with_the_mode_that_they_show() {
    const TEST: &str = "access_control_lists_are_read_and_set_with_the_mode_that_they_show";
    let entry = |tag: u16, permissions: u16, id: u32| {
        [&tag.to_le_bytes()[..], &permissions.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    let none = u32::MAX;
    let entries = [entry(1, 6, none), entry(2, 7, 1000), entry(4, 4, none), entry(0x10, 7, none), entry(0x20, 0, none)];
    let list = [&2_u32.to_le_bytes()[..], &entries.concat()].concat();
    let (access, default) = (b"system.posix_acl_access".as_slice(), b"system.posix_acl_default".as_slice());
    for folder in folders() {
        let here = dir(folder.path());
        let file = File::create(folder.path().join("file")).unwrap();
        match set_xattr(&file, access, &list) {
            Err(error) if is_not_kept(&error, &file) => {
                skipped(TEST, "this filesystem has no such lists");
                continue;
            }
            set => set.unwrap(),
        }
        assert_eq!(metadata_of(&file).unwrap().mode, 0o670, "the group shows the mask");
        set_mode(&file, 0o640).unwrap();
        set_mode(&file, 0o670).unwrap();
        let pair = |name: &[u8]| (name.to_vec(), list.clone());
        assert_eq!(portable_xattrs(&file).unwrap(), [pair(access)], "a mode changes the mask alone");
        assert_eq!(here.portable_xattrs(b"file").unwrap(), [pair(access)]);
        // A file passes nothing on, and nobody has this id.
        assert!(is_not_kept(&set_xattr(&file, default, &list).unwrap_err(), &file));
        let odd = [&2_u32.to_le_bytes()[..], &entry(1, 6, none), &entry(2, 7, none)].concat();
        assert!(is_not_kept(&set_xattr(&file, access, &odd).unwrap_err(), &file));
        here.make_dir(b"dir", 0o700).unwrap();
        set_xattr(here.open_dir(b"dir").unwrap(), default, &list).unwrap();
        assert_eq!(here.portable_xattrs(b"dir").unwrap(), [pair(default)]);
    }
    let kernel = File::open("/proc/version").unwrap();
    assert!(is_not_kept(&set_xattr(&kernel, access, &list).unwrap_err(), &kernel));
}

#[test]
fn holes_are_found() {
    const STEP: u64 = 1 << 20;
    for folder in folders() {
        let file = File::options().create_new(true).read(true).write(true).open(folder.path().join("file")).unwrap();
        set_len(&file, 10 * STEP).unwrap();
        assert_eq!(next_data(&file, 0, 10 * STEP).unwrap(), None, "all of it is a hole");
        for start in [2, 5] {
            file.write_all_at(&pattern(1, STEP as usize), start * STEP).unwrap();
        }
        let mut found = Vec::new();
        let mut offset = 0;
        while let Some(range) = next_data(&file, offset, 10 * STEP).unwrap() {
            offset = range.end;
            found.push(range);
        }
        assert_eq!(found, [2 * STEP..3 * STEP, 5 * STEP..6 * STEP]);
        assert_eq!(next_data(&file, 2 * STEP + 100, 2 * STEP + 200).unwrap(), Some(2 * STEP + 100..2 * STEP + 200));
        assert_eq!(next_data(&file, 6 * STEP, 10 * STEP).unwrap(), None);
        assert_eq!(next_data(&file, 3 * STEP, 4 * STEP).unwrap(), None, "data beyond the size that was asked");
        set_len(&file, STEP).unwrap();
        assert_eq!(next_data(&file, 5 * STEP, 10 * STEP).unwrap(), None, "shrunk since");
        assert_eq!(metadata_of(&file).unwrap().size, STEP);
    }
    // A file that cannot report holes counts as all data.
    assert_eq!(next_data(File::open("/proc/self/maps").unwrap(), 3, 10).unwrap(), Some(3..10));
}

#[test]
fn free_space_is_reported_and_reserved() {
    for folder in folders() {
        let here = dir(folder.path());
        let room = space(&here).unwrap();
        assert!(room.free_bytes <= room.total_bytes && room.total_bytes > 0);
        assert_eq!(room.name_max, 255);
        let file = here.create_new(b"file", 0o600).unwrap();
        assert!(!preallocate(&file, 0).unwrap());
        match preallocate(&file, 1 << 20).unwrap() {
            true => assert!(metadata_of(&file).unwrap().blocks_512 >= (1 << 20) / 512),
            false => skipped("free_space_is_reported_and_reserved: reserved", "this filesystem cannot preallocate"),
        }
        assert_eq!(metadata_of(&file).unwrap().size, 0);
        assert!(preallocate(&file, 1 << 60).is_err());
        sync_dir(&here).unwrap();
        sync_filesystem(&here).unwrap();
    }
    // /proc has no count of files, and its directories cannot be synced.
    assert_eq!(space(dir(Path::new("/proc"))).unwrap().free_inodes, None);
    sync_dir(dir(Path::new("/proc"))).unwrap();
}
