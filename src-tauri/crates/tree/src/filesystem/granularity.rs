//! How finely filesystems keep times.
use ringway_sys::attributes::{Metadata, Timestamp};

/// What filesystems keep times in, the coarsest first: FAT, ext3 and HFS, exFAT, some of FUSE, CIFS
/// and NTFS.
const GRAINS_NANOS: [i128; 5] = [2_000_000_000, 1_000_000_000, 10_000_000, 1_000, 100];

/// A time in nanoseconds since the epoch.
pub fn nanos(time: Timestamp) -> i128 {
    i128::from(time.secs) * 1_000_000_000 + i128::from(time.nanos)
}

/// Another file's time as far as the filesystem of `there` keeps it: a copy that lost the rest is
/// neither older nor another. How fine that is shows in a time that nobody can set: one that a
/// coarser grain fits by chance is rare.
pub fn as_kept_by(there: &Metadata, time: Timestamp) -> i128 {
    let fits = |grain: &&i128| nanos(there.ctime) % **grain == 0 && nanos(there.mtime) % **grain == 0;
    let grain = GRAINS_NANOS.iter().find(fits).unwrap_or(&1);
    nanos(time).div_euclid(*grain) * grain
}
