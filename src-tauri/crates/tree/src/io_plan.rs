//! Which driver moves file bytes: decided once a transfer, opened once a lane.
use std::io;

use ringway_model::{Fault, IoMode, IoPath, SyncIoReason};
use ringway_sys::file_io::{Fallback, FileIo, IoKind};

use crate::descriptors::ForSending;

/// Operations in flight on one lane's ring. Depth is what cold reading wants (measured: 1.5 s at
/// 16, 4.6 s at 2).
const RING_DEPTH: u32 = 32;

/// io-wq workers of a lane's ring: lanes create files, and more of them contend for one directory's
/// lock.
const LANE_WORKERS_MAX: u32 = 4;

/// io-wq workers of a copy's ring: it opens files for reading, and a cold inode is waited for by
/// one of them each.
const COPY_RING_WORKERS_MAX: u32 = 16;

/// A decision, cheap to copy to every lane.
#[derive(Debug, Clone, Copy)]
pub struct IoPlan {
    mode: IoMode,
    path: IoPath,
    depth: u32,
    workers_max: u32,
}

impl IoPlan {
    /// Tries the driver that is asked for.
    pub fn new(mode: IoMode) -> Result<Self, Fault> {
        Self::with(mode, RING_DEPTH.min(ForSending::here().depth), LANE_WORKERS_MAX)
    }

    /// The same for an end that writes: unless io_uring is asked for, plain calls, which take 0.6
    /// to 0.9 of its time there.
    pub fn for_writing(mode: IoMode) -> Result<Self, Fault> {
        if mode != IoMode::Auto {
            return Self::new(mode);
        }
        let path = IoPath::Sync(SyncIoReason::Faster);
        Ok(Self { mode: IoMode::Sync, path, depth: RING_DEPTH, workers_max: LANE_WORKERS_MAX })
    }

    /// The same for a copy, whose rings are read through when a disk is waited for, and open files
    /// besides.
    pub fn with_depth(mode: IoMode, depth: u32) -> Result<Self, Fault> {
        if mode != IoMode::Auto {
            return Self::with(mode, depth, COPY_RING_WORKERS_MAX);
        }
        // Most copies never wait for a disk: they are spared a ring.
        let path =
            ringway_sys::probe::io_uring_allowed().map_or_else(|why| IoPath::Sync(reason_of(why)), |()| IoPath::Uring);
        Ok(Self { mode, path, depth, workers_max: COPY_RING_WORKERS_MAX })
    }

    fn with(mode: IoMode, depth: u32, workers_max: u32) -> Result<Self, Fault> {
        let refused = |error: &io::Error| match ringway_sys::probe::io_uring() {
            Err(reason) => reason_of(reason),
            Ok(()) => SyncIoReason::Refused(error.raw_os_error().unwrap_or(0)),
        };
        let opened = FileIo::with_workers(mode, depth, workers_max)
            .map_err(|error| Fault::NoIoUring { reason: refused(&error) })?;
        Ok(Self { mode, path: path_of(&opened), depth, workers_max })
    }

    /// What it turned out to be.
    pub fn path(&self) -> IoPath {
        self.path
    }

    /// A driver for one lane's thread.
    pub fn open(&self) -> io::Result<FileIo> {
        FileIo::with_workers(self.mode, self.depth, self.workers_max)
    }
}

/// What a driver turned out to be.
pub fn path_of(driver: &FileIo) -> IoPath {
    let choice = driver.choice();
    match (choice.kind, choice.reason) {
        (IoKind::Uring, _) => IoPath::Uring,
        (IoKind::Sync, Some(reason)) => IoPath::Sync(reason_of(reason)),
        (IoKind::Sync, None) => IoPath::Sync(SyncIoReason::Asked),
    }
}

fn reason_of(reason: Fallback) -> SyncIoReason {
    match reason {
        Fallback::NotInKernel => SyncIoReason::NotInKernel,
        Fallback::DisabledBySysctl(_) | Fallback::Filtered => SyncIoReason::Forbidden,
        Fallback::OutOfMemory => SyncIoReason::NoMemory,
        Fallback::MissingOperation(_) => SyncIoReason::OpcodeMissing,
        Fallback::Errno(errno) => SyncIoReason::Refused(errno),
    }
}
