//! Where filesystems are mounted.
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rustix::fs::{AtFlags, StatxFlags};

/// The mount point of the filesystem that holds `fd`, as this process sees it
/// (proc_pid_mountinfo(5)).
///
/// # Errors
/// The kernel's error; `Unsupported` before Linux 5.8, which does not report the mount, and if the
/// mount is not listed.
pub fn mount_point(fd: impl AsFd) -> io::Result<PathBuf> {
    let asked = rustix::fs::statx(fd, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID)?;
    if asked.stx_mask & StatxFlags::MNT_ID.bits() == 0 {
        return Err(io::ErrorKind::Unsupported.into());
    }
    find(&fs::read("/proc/self/mountinfo")?, asked.stx_mnt_id).ok_or_else(|| io::ErrorKind::Unsupported.into())
}

/// The mount point of the mount with the number `id`.
fn find(list: &[u8], id: u64) -> Option<PathBuf> {
    list.split(|&byte| byte == b'\n').find_map(|line| {
        let mut fields = line.split(|&byte| byte == b' ');
        let number = std::str::from_utf8(fields.next()?).ok()?.parse::<u64>().ok()?;
        let point = fields.nth(3).filter(|_| number == id)?;
        Some(OsString::from_vec(unescaped(point)).into())
    })
}

/// Blanks, tabs, newlines and backslashes are written as three octal digits.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.filter(|_| byte == b'\\').and_then(|digits| u8::from_str_radix(digits, 8).ok());
        out.push(escaped.unwrap_or(byte));
        rest = if escaped.is_some() { &after[3..] } else { after };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dir::Dir;
    use std::path::Path;

    #[test]
    fn a_mount_is_found_by_its_number_whatever_its_path_has_in_it() {
        let list =
            b"21 1 8:1 / / rw - ext4 /dev/a rw\n22 21 8:2 /x /mnt/a\\040disk\\134 rw shared:1 - ext4 /dev/b rw\n";
        assert_eq!(find(list, 21).as_deref(), Some(Path::new("/")));
        assert_eq!(find(list, 22).as_deref(), Some(Path::new("/mnt/a disk\\")));
        assert_eq!(find(list, 2), None);
        assert_eq!(find(b"", 2), None);
    }

    #[test]
    fn the_mount_point_of_proc_is_found() {
        let Ok(point) = mount_point(Dir::open(Path::new("/proc/self")).unwrap()) else {
            return println!("skipped: this kernel does not tell mounts");
        };
        assert_eq!(point, Path::new("/proc"));
    }
}
