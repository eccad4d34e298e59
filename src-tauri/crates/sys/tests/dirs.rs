//! Operations on names in directories: nothing leads out, nothing is replaced unless requested;
//! both ways to open a path beneath.

mod common;
#[path = "../../../../tests/deadline.rs"]
mod deadline;

use std::collections::BTreeSet;
use std::ffi::{CString, OsStr};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use ringway_sys::attributes::{Kind, metadata_of};
use ringway_sys::dir::{Beneath, Dir, beneath};

use common::{dir, errno, folders, skipped};

/// Both ways. If the kernel lacks its own, that is left out and reported as skipped.
fn methods(test: &str) -> Vec<Beneath> {
    if beneath() == Beneath::Walk {
        skipped(&format!("{test} by openat2"), "this kernel does not allow openat2");
        return vec![Beneath::Walk];
    }
    vec![Beneath::Openat2, Beneath::Walk]
}

fn ino(dir: &Dir) -> u64 {
    metadata_of(dir).unwrap().ino
}

#[test]
fn a_path_beneath_is_opened() {
    for folder in folders() {
        let inner = folder.path().join("a/b \n/\u{202e}c..");
        fs::create_dir_all(&inner).unwrap();
        for method in methods("a_path_beneath_is_opened") {
            let opened = dir(folder.path()).open_beneath_by("a/b \n/\u{202e}c..".as_bytes(), method).unwrap();
            assert_eq!(ino(&opened), fs::metadata(&inner).unwrap().ino());
        }
        assert_eq!(
            ino(&dir(folder.path()).open_beneath(b"a").unwrap()),
            fs::metadata(folder.path().join("a")).unwrap().ino()
        );
    }
}

#[test]
fn nothing_leads_out() {
    for folder in folders() {
        let path = folder.path();
        fs::create_dir_all(path.join("root/sub/deep")).unwrap();
        fs::create_dir(path.join("outside")).unwrap();
        fs::write(path.join("root/file"), "").unwrap();
        symlink("../outside", path.join("root/out")).unwrap();
        symlink(path.join("outside"), path.join("root/absolute")).unwrap();
        symlink("sub", path.join("root/within")).unwrap();
        symlink("loop", path.join("root/loop")).unwrap();
        let root = dir(&path.join("root"));
        for method in methods("nothing_leads_out") {
            let refused = |rel: &[u8]| root.open_beneath_by(rel, method).unwrap_err();
            let malformed: [&[u8]; 12] = [
                b"",
                b".",
                b"..",
                b"/",
                b"/etc",
                b"sub/..",
                b"sub/../../outside",
                b"sub//deep",
                b"sub/",
                b"./sub",
                b"sub\0",
                b"../root",
            ];
            for rel in malformed {
                assert_eq!(refused(rel).kind(), io::ErrorKind::InvalidInput, "{:?}", OsStr::from_bytes(rel));
            }
            for link in ["out", "absolute", "within", "within/deep", "loop", "out/x"] {
                assert_eq!(errno(&refused(link.as_bytes())), libc::ELOOP, "{link} by {method:?}");
            }
            assert_eq!(errno(&refused(b"file")), libc::ENOTDIR);
            assert_eq!(errno(&refused(b"file/x")), libc::ENOTDIR);
            assert_eq!(errno(&refused(b"missing")), libc::ENOENT);
            assert_eq!(errno(&refused(&[b'n'; 256])), libc::ENAMETOOLONG);
            if Path::new("/proc/self/cwd").exists() {
                let magic = dir(Path::new("/proc/self")).open_beneath_by(b"cwd", method).unwrap_err();
                assert_eq!(errno(&magic), libc::ELOOP);
            }
        }
        assert_eq!(errno(&root.open_dir(b"within").unwrap_err()), libc::ELOOP);
    }
}

#[test]
fn a_path_longer_than_one_call_takes_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let name = [b'd'; 200];
    let mut current = dir(folder.path());
    for _ in 0..1000 {
        current.make_dir(&name, 0o700).unwrap();
        current = current.open_dir(&name).unwrap();
    }
    let rel = vec![name.as_slice(); 1000].join(&b'/');
    for method in methods("a_path_longer_than_one_call_takes_is_opened") {
        assert_eq!(ino(&dir(folder.path()).open_beneath_by(&rel, method).unwrap()), ino(&current));
    }
}

#[test]
fn a_parent_swapped_for_a_link_is_never_followed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::create_dir_all(path.join("root/real/inner")).unwrap();
    fs::create_dir_all(path.join("outside/inner")).unwrap();
    symlink("../outside", path.join("root/link")).unwrap();
    let outside = fs::metadata(path.join("outside/inner")).unwrap().ino();
    let (root, done) = (dir(&path.join("root")), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let swapper = scope.spawn(|| {
            let goes_on = deadline::while_not(&done);
            while goes_on() {
                for name in ["real", "link"] {
                    fs::rename(path.join("root").join(name), path.join("root/name")).unwrap();
                    fs::rename(path.join("root/name"), path.join("root").join(name)).unwrap();
                }
            }
        });
        for method in methods("a_parent_swapped_for_a_link_is_never_followed") {
            for _ in 0..5_000 {
                match root.open_beneath_by(b"name/inner", method) {
                    Ok(opened) => assert_ne!(ino(&opened), outside),
                    Err(error) => {
                        assert!([libc::ELOOP, libc::ENOENT, libc::ENOTDIR].contains(&errno(&error)), "{error:?}")
                    }
                }
            }
        }
        done.store(true, Ordering::Relaxed);
        swapper.join().unwrap();
    });
}

#[test]
fn every_operation_takes_one_component_alone() {
    let folder = tempfile::tempdir().unwrap();
    let here = dir(folder.path());
    here.make_dir(b"sub", 0o700).unwrap();
    here.create_new(b"file", 0o600).unwrap();
    let bad: [&[u8]; 8] = [b"", b".", b"..", b"/", b"sub/x", b"/etc", b"x\0", b"sub/.."];
    for name in bad {
        let refusals = [
            here.make_dir(name, 0o700).unwrap_err(),
            here.create_new(name, 0o600).unwrap_err(),
            here.open_read(name).unwrap_err(),
            here.open_write(name).unwrap_err(),
            here.open_dir(name).map(drop).unwrap_err(),
            here.symlink(b"target", name).unwrap_err(),
            here.hard_link(&here, b"file", name).unwrap_err(),
            here.hard_link(&here, name, b"new").unwrap_err(),
            here.rename(name, &here, b"new").unwrap_err(),
            here.rename(b"file", &here, name).unwrap_err(),
            here.rename_noreplace(name, &here, b"new").unwrap_err(),
            here.rename_noreplace(b"file", &here, name).unwrap_err(),
            here.rename_noreplace_emulated(name, &here, b"new").unwrap_err(),
            here.rename_noreplace_emulated(b"file", &here, name).unwrap_err(),
            here.unlink(name).unwrap_err(),
            here.remove_dir(name).unwrap_err(),
            here.metadata(name).unwrap_err(),
            here.read_link(name).unwrap_err(),
            here.portable_xattrs(name).unwrap_err(),
            here.set_owner(name, 0, 0).unwrap_err(),
        ];
        for (number, refusal) in refusals.iter().enumerate() {
            assert_eq!(
                refusal.kind(),
                io::ErrorKind::InvalidInput,
                "operation {number}, {:?}",
                OsStr::from_bytes(name)
            );
            assert_eq!(refusal.raw_os_error(), None, "operation {number} reached the kernel");
        }
    }
}

#[test]
fn files_are_created_new_and_links_not_followed() {
    for folder in folders() {
        let here = dir(folder.path());
        let mut file = File::from(here.create_new(b"file", 0o640).unwrap());
        file.write_all(b"contents").unwrap();
        assert_eq!(fs::metadata(folder.path().join("file")).unwrap().permissions().mode() & 0o7777, 0o640);
        here.symlink(b"nowhere\xff", b"dangling").unwrap();
        assert_eq!(here.read_link(b"dangling").unwrap(), b"nowhere\xff");
        for taken in [b"file".as_slice(), b"dangling"] {
            assert_eq!(here.create_new(taken, 0o600).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        }
        assert!(!folder.path().join("nowhere").exists());
        assert_eq!(errno(&here.open_read(b"dangling").unwrap_err()), libc::ELOOP);
        assert_eq!(errno(&here.open_write(b"dangling").unwrap_err()), libc::ELOOP);
        let mut read = String::new();
        File::from(here.open_read(b"file").unwrap()).read_to_string(&mut read).unwrap();
        assert_eq!(read, "contents");
        here.hard_link(&here, b"dangling", b"also dangling").unwrap();
        assert_eq!(here.metadata(b"also dangling").unwrap().kind, Kind::Symlink);
        assert_eq!(here.metadata(b"dangling").unwrap().nlink, 2);
        here.unlink(b"dangling").unwrap();
        assert_eq!(here.metadata(b"dangling").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(here.read_link(b"file").unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}

#[test]
fn a_file_of_another_owner_is_opened_for_reading() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.path().join("file"), "x").unwrap();
    fs::set_permissions(folder.path().join("file"), fs::Permissions::from_mode(0o644)).unwrap();
    let here = dir(folder.path());
    // O_NOATIME is refused to everybody but the owner. This process runs as root, so the thread
    // below is not the owner.
    common::without_privileges(|| here.open_read(b"file").unwrap());
}

#[test]
fn renaming_without_replacing() {
    for folder in folders() {
        let root = dir(folder.path());
        type Rename = fn(&Dir, &[u8], &Dir, &[u8]) -> io::Result<()>;
        let ways: [(&[u8], Rename); 2] =
            [(b"kernel", Dir::rename_noreplace), (b"emulated", Dir::rename_noreplace_emulated)];
        for (way, rename) in ways {
            root.make_dir(way, 0o700).unwrap();
            let (from, to) = (root.open_dir(way).unwrap(), root.open_dir(way).unwrap());
            from.make_dir(b"to", 0o700).unwrap();
            let to = to.open_dir(b"to").unwrap();
            from.create_new(b"file", 0o600).unwrap();
            from.make_dir(b"dir", 0o700).unwrap();
            from.symlink(b"nowhere", b"link").unwrap();
            for name in [b"file".as_slice(), b"dir", b"link"] {
                let before = from.metadata(name).unwrap();
                rename(&from, name, &to, b"moved").unwrap();
                assert_eq!(from.metadata(name).unwrap_err().kind(), io::ErrorKind::NotFound);
                let after = to.metadata(b"moved").unwrap();
                assert_eq!((after.ino, after.kind, after.mtime), (before.ino, before.kind, before.mtime));
                rename(&to, b"moved", &from, name).unwrap();
                assert_eq!(from.metadata(name).unwrap().nlink, before.nlink);
            }
            for name in [b"file".as_slice(), b"dir", b"link"] {
                for taken in [b"file".as_slice(), b"dir", b"link"].into_iter().filter(|&taken| taken != name) {
                    assert_eq!(rename(&from, name, &from, taken).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
                }
            }
            assert_eq!(from.metadata(b"file").unwrap().nlink, 1);
            assert_eq!(rename(&from, b"missing", &to, b"x").unwrap_err().kind(), io::ErrorKind::NotFound);
            // The plain rename replaces it.
            to.create_new(b"old", 0o600).unwrap();
            from.rename(b"file", &to, b"old").unwrap();
        }
    }
}

#[test]
fn a_listing_gives_each_name_once() {
    for folder in folders() {
        let here = dir(folder.path());
        let mut expected = BTreeSet::new();
        for number in 0..3_000 {
            let name = [format!("{number}-").into_bytes(), vec![b'x' + (number % 3) as u8; number % 200]].concat();
            here.create_new(&name, 0o600).unwrap();
            expected.insert(name);
        }
        for name in [b"\xff\n".as_slice(), b"...", b".hidden"] {
            here.make_dir(name, 0o700).unwrap();
            expected.insert(name.to_vec());
        }
        here.symlink(b"x", b"link").unwrap();
        expected.insert(b"link".to_vec());
        // Two listings at once, one of them one entry ahead.
        let (mut first, mut second) = (here.entries().unwrap(), here.try_clone().unwrap().entries().unwrap());
        first.next().unwrap().unwrap();
        let mut listed = BTreeSet::new();
        while let Some(entry) = second.next() {
            let entry = entry.unwrap();
            let metadata = here.metadata(entry.name).unwrap();
            assert_eq!(entry.ino, metadata.ino);
            assert!(entry.kind.is_none_or(|kind| kind == metadata.kind));
            assert!(listed.insert(entry.name.to_vec()), "listed twice");
            first.next();
        }
        assert_eq!(listed, expected);
        assert!(second.next().is_none());
    }
}

#[test]
fn a_folder_that_vanishes_is_listed_as_empty() {
    let folder = tempfile::tempdir().unwrap();
    dir(folder.path()).make_dir(b"gone", 0o700).unwrap();
    let gone = dir(folder.path()).open_dir(b"gone").unwrap();
    let mut entries = gone.entries().unwrap();
    dir(folder.path()).remove_dir(b"gone").unwrap();
    assert!(entries.next().is_none());
}

#[test]
fn an_unnamed_file_is_used_where_there_is_one() {
    for folder in folders() {
        let Some(fd) = dir(folder.path()).unnamed_file().unwrap() else {
            skipped("an_unnamed_file_is_used_where_there_is_one", "this filesystem has no O_TMPFILE");
            continue;
        };
        File::from(fd).write_all(b"spool").unwrap();
        assert!(dir(folder.path()).entries().unwrap().next().is_none());
    }
    assert!(dir(Path::new("/proc")).unnamed_file().unwrap().is_none(), "/proc has unnamed files?");
}

#[test]
fn only_directories_are_directories() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    symlink(folder.path(), folder.path().join("link")).unwrap();
    assert_eq!(errno(&Dir::open(&folder.path().join("file")).unwrap_err()), libc::ENOTDIR);
    assert_eq!(ino(&dir(&folder.path().join("link"))), ino(&dir(folder.path())));
    let file = File::open(folder.path().join("file")).unwrap();
    assert_eq!(Dir::from_fd(file.into()).unwrap_err().kind(), io::ErrorKind::NotADirectory);
    let same = Dir::from_fd(dir(folder.path()).into()).unwrap();
    assert_eq!(ino(&same), ino(&dir(folder.path())));
    assert!(same.as_fd().try_clone_to_owned().is_ok());
}

#[test]
fn without_proc_attributes_are_read_by_opening() {
    const TEST: &str = "without_proc_attributes_are_read_by_opening";
    let folder = tempfile::tempdir().unwrap();
    let here = dir(folder.path());
    let file = here.create_new(b"file", 0o600).unwrap();
    if let Err(error) = ringway_sys::attributes::set_xattr(&file, b"user.a", b"1") {
        return skipped(TEST, &format!("no user attributes here: {error}"));
    }
    common::with_own_mounts(TEST, || {
        let proc = CString::new("/proc").unwrap();
        common::mount(c"none", &proc, c"tmpfs", 0, c"").unwrap();
        assert!(fs::metadata("/proc/self").is_err());
        assert_eq!(here.portable_xattrs(b"file").unwrap(), [(b"user.a".to_vec(), b"1".to_vec())]);
        assert_eq!(here.portable_xattrs(b"missing").unwrap_err().kind(), io::ErrorKind::NotFound);
    });
}

#[test]
fn the_mode_of_a_special_file_is_set_without_opening_it() {
    let folder = tempfile::tempdir().unwrap();
    let dir = Dir::open(folder.path()).unwrap();
    dir.make_node(b"pipe", Kind::Fifo, 0o600, 0).unwrap();
    dir.set_mode(b"pipe", 0o4751).unwrap();
    assert_eq!(dir.metadata(b"pipe").unwrap().mode, 0o4751);
    dir.symlink(b"pipe", b"link").unwrap();
    let refused = dir.set_mode(b"link", 0o777).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(libc::ELOOP));
    assert_eq!(dir.metadata(b"pipe").unwrap().mode, 0o4751);
}
