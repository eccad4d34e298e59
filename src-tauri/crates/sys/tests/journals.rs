//! Which filesystems count as writing names behind contents, on real mounts.

mod common;

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use ringway_sys::confine::{support, thread_beneath};
use ringway_sys::space::{filesystem, write_out};

use common::{dir, skipped, with_own_mounts};

/// Each way to make a filesystem, and whether it writes names behind contents.
const MADE: [(&str, &[&str], bool); 5] = [
    ("ext4 with a journal", &["mkfs.ext4", "-q", "-F"], true),
    ("ext4 without a journal", &["mkfs.ext4", "-q", "-F", "-O", "^has_journal"], false),
    ("ext3", &["mkfs.ext3", "-q", "-F"], true),
    ("ext2", &["mkfs.ext2", "-q", "-F"], false),
    ("xfs", &["mkfs.xfs", "-q", "-f"], true),
];

/// The smallest image that mkfs.xfs accepts.
const IMAGE_BYTES: u64 = 300 << 20;

/// Runs a program; returns its output if it fails.
fn run(program: &[&str], last: &[&Path]) -> Result<(), String> {
    let output = Command::new(program[0]).args(&program[1..]).args(last).output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

/// Whether the filesystem that holds this folder writes names behind contents.
fn is_ordered(at: &Path) -> bool {
    let file = File::create(at.join("file")).unwrap();
    let found = filesystem(&file).unwrap();
    write_out(&file, found).unwrap();
    found.orders_names_behind_contents()
}

#[test]
fn only_a_journal_makes_ext4_write_names_behind_contents() {
    const TEST: &str = "only_a_journal_makes_ext4_write_names_behind_contents";
    with_own_mounts(TEST, || {
        for (kind, make, expected) in MADE {
            let folder = tempfile::tempdir().unwrap();
            let (image, at) = (folder.path().join("image"), folder.path().join("at"));
            File::create(&image).unwrap().set_len(IMAGE_BYTES).unwrap();
            fs::create_dir(&at).unwrap();
            let mounted = run(make, &[&image]).and_then(|()| run(&["mount", "-o", "loop"], &[&image, &at]));
            if let Err(why) = mounted {
                skipped(&format!("{TEST}: {kind}"), &why);
                continue;
            }
            assert_eq!(is_ordered(&at), expected, "{kind}");
            // A thread that may open nothing outside may meet a mount inside the destination.
            match support() {
                Ok(()) => std::thread::scope(|scope| {
                    scope.spawn(|| {
                        thread_beneath(&dir(folder.path())).unwrap();
                        assert_eq!(is_ordered(&at), expected, "{kind}, on a confined thread");
                    });
                }),
                Err(why) => skipped(&format!("{TEST}: {kind}, confined"), &format!("{why:?}")),
            }
            run(&["umount"], &[&at]).unwrap();
        }
    });
}

/// A journal on a device of its own is not named after the filesystem's device.
#[test]
fn journal_on_another_device_is_found() {
    const TEST: &str = "journal_on_another_device_is_found";
    with_own_mounts(TEST, || {
        let folder = tempfile::tempdir().unwrap();
        let (image, journal, at) =
            (folder.path().join("image"), folder.path().join("journal"), folder.path().join("at"));
        for file in [&image, &journal] {
            File::create(file).unwrap().set_len(64 << 20).unwrap();
        }
        fs::create_dir(&at).unwrap();
        let attached = Command::new("losetup").args(["--find", "--show"]).arg(&journal).output();
        let device = match attached {
            Ok(output) if output.status.success() => String::from_utf8(output.stdout).unwrap().trim().to_owned(),
            _ => return skipped(TEST, "no loop device"),
        };
        let found = run(&["mkfs.ext4", "-q", "-F", "-b", "4096", "-O", "journal_dev", &device], &[])
            .and_then(|()| run(&["mkfs.ext4", "-q", "-F", "-b", "4096", "-J", &format!("device={device}")], &[&image]))
            .and_then(|()| run(&["mount", "-o", "loop"], &[&image, &at]))
            .map(|()| {
                let found = is_ordered(&at);
                run(&["umount"], &[&at]).unwrap();
                found
            });
        run(&["losetup", "--detach", &device], &[]).unwrap();
        match found {
            Ok(is_ordered) => assert!(is_ordered),
            Err(why) => skipped(TEST, &why),
        }
    });
}
