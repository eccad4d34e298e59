//! What a confined thread can do beneath its directory, and that it cannot leave it.

mod common;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use ringway_sys::attributes::Timestamp;
use ringway_sys::confine::{Unconfined, support, thread_beneath, thread_reads_beneath};
use ringway_sys::file_io::{FileIo, IoMode, ReadFile, WriteAt};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

use common::{dir, refuse_calls, skipped};

/// A directory to be confined to, beside entries that must not be reached.
struct Ground(tempfile::TempDir);

impl Ground {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["in/a", "in/b", "out"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("out/secret"), "secret").unwrap();
        fs::write(folder.path().join("in/file"), "file").unwrap();
        symlink("../../out/secret", folder.path().join("in/a/link")).unwrap();
        symlink("../out", folder.path().join("in/folder")).unwrap();
        Self(folder)
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }
}

/// Runs `body` on a thread that is confined to `beneath`, or reports why that is skipped.
fn confined(test: &str, beneath: &Path, body: impl FnOnce() + Send) {
    if let Err(why) = support() {
        return skipped(test, &format!("{why:?}"));
    }
    let beneath = dir(beneath);
    std::thread::scope(|scope| {
        let thread = scope.spawn(move || {
            thread_beneath(&beneath).unwrap();
            body();
        });
        thread.join().unwrap();
    });
}

fn is_refused<T>(what: &str, outcome: io::Result<T>) {
    let error = outcome.err().unwrap_or_else(|| panic!("{what} went through"));
    let errno = Errno::from_io_error(&error);
    assert!(matches!(errno, Some(Errno::ACCESS | Errno::XDEV)), "{what}: {error}");
}

#[test]
fn a_confined_root_thread_keeps_only_the_capabilities_to_write_files() {
    const TEST: &str = "a_confined_root_thread_keeps_only_the_capabilities_to_write_files";
    let needed = CapabilitySet::CHOWN | CapabilitySet::DAC_OVERRIDE | CapabilitySet::FOWNER | CapabilitySet::FSETID;
    if !capabilities(None).unwrap().effective.contains(needed | CapabilitySet::SYS_ADMIN) {
        return skipped(TEST, "the tests do not run as root with all of its privileges");
    }
    let ground = Ground::new();
    let file = ground.path("in/file");
    std::os::unix::fs::chown(&file, Some(1234), Some(1234)).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).unwrap();
    confined(TEST, &ground.path("in"), || {
        let CapabilitySets { effective, permitted, inheritable } = capabilities(None).unwrap();
        let kept = needed | CapabilitySet::SYS_RESOURCE | CapabilitySet::IPC_LOCK;
        assert!(kept.contains(effective | permitted) && inheritable.is_empty(), "{effective:?} {permitted:?}");
        let inside = dir(&ground.path("in"));
        let opened = inside.open_write(b"file").expect("another's file, which not even its owner may write");
        File::from(opened).write_all(b"more").unwrap();
        inside.set_owner(b"file", 4321, 4321).unwrap();
        inside.set_mode(b"file", 0o6755).unwrap();
        inside.set_times(b"file", Timestamp { secs: 1, nanos: 0 }).unwrap();
        let there = inside.metadata(b"file").unwrap();
        assert_eq!((there.uid, there.mode, there.mtime.secs), (4321, 0o6755, 1));
        let back = set_capabilities(
            None,
            CapabilitySets { effective: needed | CapabilitySet::SYS_ADMIN, permitted, inheritable },
        );
        assert_eq!(back, Err(Errno::PERM), "what was given up does not come back");
    });
    assert!(capabilities(None).unwrap().effective.contains(CapabilitySet::SYS_ADMIN), "other threads keep theirs");
}

#[test]
fn a_filter_that_forbids_dropping_capabilities_affects_only_root() {
    const TEST: &str = "a_filter_that_forbids_dropping_capabilities_affects_only_root";
    let ground = Ground::new();
    for has_none in [true, false] {
        let had_some = !capabilities(None).unwrap().permitted.is_empty();
        let beneath = dir(&ground.path("in"));
        if let Err(why) = support() {
            return skipped(TEST, &format!("{why:?}"));
        }
        let confined = std::thread::scope(|scope| {
            let thread = scope.spawn(move || {
                if has_none {
                    let none = CapabilitySet::empty();
                    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
                        .unwrap();
                }
                refuse_calls(&[libc::SYS_capset], libc::EPERM).then(|| thread_beneath(&beneath))
            });
            thread.join().unwrap()
        });
        match confined {
            None => return skipped(TEST, "no seccomp filter can be set here"),
            Some(confined) => assert_eq!(confined.is_ok(), has_none || !had_some, "{confined:?}"),
        }
    }
}

#[test]
fn everything_that_receiving_needs_works_beneath() {
    let ground = Ground::new();
    confined("everything_that_receiving_needs_works_beneath", &ground.path("in"), || {
        let inside = dir(&ground.path("in"));
        inside.make_dir(b"c", 0o700).unwrap();
        let a = inside.open_beneath(b"a").unwrap();
        File::from(a.create_new(b"new", 0o600).unwrap()).write_all(b"contents").unwrap();
        a.rename_noreplace(b"new", &inside.open_dir(b"c").unwrap(), b"moved").unwrap();
        fs::hard_link(ground.path("in/c/moved"), ground.path("in/b/name")).unwrap();
        symlink("anywhere", ground.path("in/b/link")).unwrap();
        OpenOptions::new().write(true).truncate(true).open(ground.path("in/file")).unwrap();
        fs::remove_file(ground.path("in/c/moved")).unwrap();
        fs::remove_dir(ground.path("in/c")).unwrap();
        assert_eq!(inside.open_dir(b"b").unwrap().entries().unwrap().next().unwrap().unwrap().name.len(), 4);
        fs::set_permissions(ground.path("in/b/name"), fs::Permissions::from_mode(0o640)).unwrap();
        ringway_sys::space::sync_filesystem(&inside).unwrap();
        // The uring mode also tests operations on the ring's own worker threads.
        for mode in [IoMode::Sync, IoMode::Uring] {
            let Ok(mut io) = FileIo::new(mode, 4) else { continue };
            let file = inside.open_dir(b"b").unwrap().create_new(format!("{mode:?}").as_bytes(), 0o600).unwrap();
            let mut written = Vec::new();
            io.write_all_at(&[WriteAt { fd: file.as_fd(), offset: 0, bytes: b"x" }], &mut written);
            written.into_iter().collect::<io::Result<()>>().unwrap();
        }
    });
}

#[test]
fn no_way_leads_out() {
    let ground = Ground::new();
    // Descriptors that were open before stay usable: confinement restricts what the thread opens.
    let out = File::open(ground.path("out")).unwrap();
    confined("no_way_leads_out", &ground.path("in"), || {
        let at = |name| -> io::Result<File> {
            Ok(rustix::fs::openat(&out, name, OFlags::RDONLY | OFlags::NOFOLLOW, Mode::empty())?.into())
        };
        is_refused("a path", File::open(ground.path("out/secret")));
        is_refused("a path with ..", File::open(ground.path("in/../out/secret")));
        is_refused("a link", File::open(ground.path("in/a/link")));
        is_refused("a linked folder", File::open(ground.path("in/folder/secret")));
        is_refused("a folder that was open", at("secret"));
        is_refused("/proc", File::open("/proc/self/environ"));
        is_refused("what everybody may read", File::open("/etc/passwd"));
        is_refused("listing", fs::read_dir(ground.path("out")));
        is_refused("creating", File::create(ground.path("out/new")));
        is_refused("making a folder", fs::create_dir(ground.path("out/new")));
        is_refused("writing", OpenOptions::new().write(true).open(ground.path("out/secret")));
        is_refused("removing", fs::remove_file(ground.path("out/secret")));
        is_refused("renaming out", fs::rename(ground.path("in/file"), ground.path("out/file")));
        is_refused("renaming in", fs::rename(ground.path("out/secret"), ground.path("in/secret")));
        is_refused("linking out", fs::hard_link(ground.path("in/file"), ground.path("out/file")));
        is_refused("linking in", fs::hard_link(ground.path("out/secret"), ground.path("in/secret")));
        is_refused("a link outside", symlink("x", ground.path("out/link")));
        is_refused("a program", Command::new("/bin/true").status());
        let fifo = rustix::fs::mkfifoat(dir(&ground.path("in")), "fifo", Mode::RUSR);
        is_refused("a FIFO", fifo.map_err(io::Error::from));
        // Threads that it starts are confined as well.
        let started = std::thread::scope(|scope| scope.spawn(|| File::open(ground.path("out/secret"))).join().unwrap());
        is_refused("a thread of its own", started);
        for mode in [IoMode::Sync, IoMode::Uring] {
            let Ok(mut io) = FileIo::new(mode, 4) else { continue };
            let (mut buf, mut results) = ([0; 8], Vec::new());
            let request = ReadFile { dir: out.as_fd(), name: c"secret", at: 0, len: 8 };
            io.read_files(&mut buf, &[request], &mut results).unwrap();
            is_refused(&format!("{mode:?}"), results.remove(0));
        }
    });
    assert_eq!(fs::read(ground.path("out/secret")).unwrap(), b"secret", "other threads are as free as before");
    assert_eq!(fs::read_dir(ground.path("out")).unwrap().count(), 1);
}

#[test]
fn open_descriptors_stay_usable_and_new_connections_are_refused() {
    const TEST: &str = "open_descriptors_stay_usable_and_new_connections_are_refused";
    let ground = Ground::new();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let mut near = TcpStream::connect(address).unwrap();
    let (mut far, _) = listener.accept().unwrap();
    let network = has_network_rules();
    confined(TEST, &ground.path("in"), move || {
        near.write_all(b"x").unwrap();
        let mut byte = [0];
        far.read_exact(&mut byte).unwrap();
        match network {
            true => is_refused("connecting", TcpStream::connect(address)),
            false => skipped(TEST, "this kernel's Landlock knows no TCP (before Linux 6.7)"),
        }
    });
}

/// Whether Landlock is of version 4 at least (Linux 6.7).
fn has_network_rules() -> bool {
    // SAFETY: with this flag the call takes no attributes, makes nothing and returns the version
    // (landlock_create_ruleset(2)).
    unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<libc::c_void>(), 0, 1) >= 4 }
}

#[test]
fn a_filter_that_forbids_landlock_is_reported() {
    const TEST: &str = "a_filter_that_forbids_landlock_is_reported";
    for (errno, expected) in [
        (libc::ENOSYS, Unconfined::NotInKernel),
        (libc::EOPNOTSUPP, Unconfined::SwitchedOff),
        (libc::EPERM, Unconfined::Refused(libc::EPERM)),
    ] {
        std::thread::scope(|scope| {
            let filtered = scope.spawn(|| match refuse_calls(&[libc::SYS_landlock_create_ruleset], errno) {
                true => assert_eq!(support(), Err(expected)),
                false => skipped(TEST, "no seccomp filter can be set here"),
            });
            filtered.join().unwrap();
        });
    }
}

#[test]
fn a_thread_confined_to_reading_changes_nothing_and_reads_nothing_else() {
    const TEST: &str = "a_thread_confined_to_reading_changes_nothing_and_reads_nothing_else";
    if let Err(why) = support() {
        return skipped(TEST, &format!("{why:?}"));
    }
    let ground = Ground::new();
    let inside = dir(&ground.path("in"));
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            thread_reads_beneath(&inside).unwrap();
            let mut contents = String::new();
            File::from(inside.open_read(b"file").unwrap()).read_to_string(&mut contents).unwrap();
            assert_eq!(contents, "file");
            assert!(inside.entries().unwrap().next().is_some());
            is_refused("writing", inside.open_write(b"file"));
            is_refused("creating", inside.create_new(b"new", 0o600));
            is_refused("making a folder", inside.make_dir(b"folder2", 0o700));
            is_refused("removing", inside.unlink(b"file"));
            is_refused("renaming", inside.rename(b"file", &inside, b"other"));
            is_refused("a file outside", File::open(ground.path("out/secret")));
            is_refused("a folder outside", fs::read_dir(ground.path("out")));
        });
        thread.join().unwrap();
    });
    assert_eq!(fs::read_to_string(ground.path("in/file")).unwrap(), "file");
}
