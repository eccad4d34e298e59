//! Copies contents from one open file to another: by sharing, by the kernel, or through a buffer.
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::OnceLock;

use ringway_model::{IoMode, IoPath, Operation};
use ringway_sys::contents::{self, Pipe};
use ringway_sys::file_io::{self, FileIo, IoKind, WriteAt};
use ringway_tree::io_plan::{IoPlan, path_of};
use rustix::io::Errno;

use crate::folder::entry_error::EntryError;
use crate::options::{CopyOptions, KernelCopy, ReflinkMode};

/// Refusals after which sharing is not tried again between two filesystems on which it never
/// worked. There may be several, because single files may be refused (btrfs: those without
/// copy-on-write).
const REFUSALS_MAX: u32 = 8;

/// The most bytes that the kernel is asked to copy by one call. A chunk may be longer, but a call
/// handles no signal before it has ended.
const KERNEL_PIECE: usize = 16 * 1024 * 1024;

/// How contents are copied if they cannot be shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// copy_file_range(2).
    Range,
    /// splice(2) through a pipe.
    Splice,
    /// read and write.
    Buffer,
}

/// From this size on, the kernel's own copying of a file that one thread copies is cheaper than
/// read and write. Measured with two threads on tmpfs: 0.91 of the processor time with 16 KB, 0.83
/// with 64 KB, 0.89 with 100 KB (ext4: 0.84); with 4 KB it is 1.03. All threads take larger files
/// in chunks, for which read and write measure better again.
const KERNEL_FROM: u64 = 16 * 1000;

impl Method {
    /// For a file that one thread copies at once.
    pub(crate) fn for_small(options: &CopyOptions, copies_by_itself: bool, size: u64) -> Self {
        match options.kernel_copy {
            KernelCopy::Auto if size < KERNEL_FROM => Self::Buffer,
            KernelCopy::Auto if options.io == IoMode::Uring => Self::Buffer,
            KernelCopy::Auto if options.reflink == ReflinkMode::Never => Self::Splice,
            KernelCopy::Auto => Self::Range,
            _ => Self::for_large(options, copies_by_itself),
        }
    }

    /// For a file that is copied in chunks.
    pub(crate) fn for_large(options: &CopyOptions, copies_by_itself: bool) -> Self {
        // If blocks can be shared, copy_file_range shares them, too.
        let may_share = options.reflink != ReflinkMode::Never;
        match options.kernel_copy {
            KernelCopy::Range if may_share => Self::Range,
            KernelCopy::Range | KernelCopy::Splice => Self::Splice,
            KernelCopy::Auto if copies_by_itself && may_share => Self::Range,
            KernelCopy::Auto | KernelCopy::Never => Self::Buffer,
        }
    }
}

/// Between which filesystems blocks can be shared, as far as it was tried.
#[derive(Default)]
pub(crate) struct Sharing {
    /// By the source's device: all copies go to one filesystem.
    pairs: HashMap<u64, Pair>,
}

#[derive(Default)]
struct Pair {
    worked: bool,
    refusals: u32,
}

impl Sharing {
    /// Whether blocks of files of this filesystem were shared before.
    pub(crate) fn works(&self, device: u64) -> bool {
        self.pairs.get(&device).is_some_and(|pair| pair.worked)
    }

    /// Shares the blocks of `from` with the empty file `to`; false if the contents have to be
    /// copied.
    pub(crate) fn share(
        &mut self,
        mode: ReflinkMode,
        device: u64,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
    ) -> Result<bool, EntryError> {
        if mode == ReflinkMode::Never {
            return Ok(false);
        }
        let pair = self.pairs.entry(device).or_default();
        if mode == ReflinkMode::Auto && !pair.worked && pair.refusals >= REFUSALS_MAX {
            return Ok(false);
        }
        let shared = contents::reflink(from, to).map_err(|error| EntryError::Target(Operation::Write, error))?;
        match shared {
            true => pair.worked = true,
            false => pair.refusals += 1,
        }
        if !shared && mode == ReflinkMode::Always {
            return Err(EntryError::Target(Operation::Write, Errno::OPNOTSUPP.into()));
        }
        Ok(shared)
    }
}

/// The tools with which one thread copies.
pub(crate) struct Tools<'j> {
    io: IoPlan,
    /// `None` until a ring is needed.
    ring: Option<FileIo>,
    /// What reads instead, if no ring was available.
    fallback: &'j OnceLock<IoPath>,
    pipe: Option<Pipe>,
    /// The device whose files copy_file_range did not copy to the destination, usually because it
    /// is another filesystem.
    refused: Option<u64>,
}

/// A part of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    pub(crate) offset: u64,
    pub(crate) len: usize,
}

impl<'j> Tools<'j> {
    /// Sets `fallback` if no ring is available.
    pub(crate) fn new(io: IoPlan, fallback: &'j OnceLock<IoPath>) -> Self {
        Self { io, ring: None, fallback, pipe: None, refused: None }
    }

    /// The thread's ring, made when it is first needed. If there is none for this thread, it reads
    /// by plain calls.
    pub(crate) fn ring(&mut self) -> io::Result<&mut FileIo> {
        if self.ring.is_none() {
            let ring = self.io.open()?;
            if ring.kind() == IoKind::Sync {
                // Another thread's reason may be there already, and is as good.
                let _ = self.fallback.set(path_of(&ring));
            }
            self.ring = Some(ring);
        }
        Ok(self.ring.as_mut().expect("made above"))
    }

    /// Whether a ring was needed and unavailable.
    pub(crate) fn has_no_ring(&self) -> bool {
        self.ring.as_ref().is_some_and(|ring| ring.kind() == IoKind::Sync)
    }

    /// Lets the kernel copy a part by `method`, or by splice between two files if copy_file_range
    /// does not work. Returns the bytes copied, fewer only at the source's end. `None` if the
    /// kernel does not support it.
    pub(crate) fn by_kernel(
        &mut self,
        method: Method,
        device: u64,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        part: Part,
    ) -> io::Result<Option<usize>> {
        if method == Method::Range && self.refused != Some(device) {
            if let Some(bytes) = self.in_kernel(Method::Range, from, to, part)? {
                return Ok(Some(bytes));
            }
            self.refused = Some(device);
        }
        match method {
            Method::Buffer => Ok(None),
            Method::Range | Method::Splice => self.in_kernel(Method::Splice, from, to, part),
        }
    }

    /// The same by exactly this method.
    fn in_kernel(
        &mut self,
        method: Method,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        part: Part,
    ) -> io::Result<Option<usize>> {
        let mut done = 0;
        while done < part.len {
            let (at, len) = (part.offset + done as u64, (part.len - done).min(KERNEL_PIECE));
            let copied = match method {
                Method::Range => contents::copy_range(from, at, to, at, len)?,
                Method::Splice => match &mut self.pipe {
                    Some(pipe) => pipe.splice(from, at, to, at, len)?,
                    none => none.insert(Pipe::new()?).splice(from, at, to, at, len)?,
                },
                Method::Buffer => None,
            };
            match copied {
                None if done == 0 => return Ok(None),
                None | Some(0) => break,
                Some(bytes) => done += bytes,
            }
        }
        Ok(Some(done))
    }
}

/// Reads a part into `buffer`, through `ring` if there is one. It reads fewer bytes only at the
/// file's end.
pub(crate) fn read(
    ring: Option<&mut FileIo>,
    from: BorrowedFd<'_>,
    offset: u64,
    buffer: &mut [u8],
) -> io::Result<usize> {
    match ring {
        Some(ring) => ring.read_at(from, offset, buffer),
        None => file_io::read_at(from, offset, buffer),
    }
}

/// Writes all of `bytes`, through `ring` if there is one.
pub(crate) fn write(ring: Option<&mut FileIo>, to: BorrowedFd<'_>, offset: u64, bytes: &[u8]) -> io::Result<()> {
    if let Some(ring) = ring {
        let mut results = Vec::with_capacity(1);
        ring.write_all_at(&[WriteAt { fd: to.as_fd(), offset, bytes }], &mut results);
        return results.pop().unwrap_or(Ok(()));
    }
    file_io::write_all_at(to, offset, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_model::SyncIoReason;

    #[test]
    fn files_that_must_not_share_blocks_use_no_call_that_may_share() {
        for kernel_copy in [KernelCopy::Auto, KernelCopy::Range, KernelCopy::Splice, KernelCopy::Never] {
            let by = |reflink| CopyOptions { kernel_copy, reflink, ..CopyOptions::default() };
            for (itself, size) in [(false, 1), (true, 1), (false, KERNEL_FROM), (true, KERNEL_FROM)] {
                let ways = |options| [Method::for_small(&options, itself, size), Method::for_large(&options, itself)];
                assert!(!ways(by(ReflinkMode::Never)).contains(&Method::Range), "{kernel_copy:?}, {itself}, {size}");
                let both = ways(by(ReflinkMode::Auto));
                match kernel_copy {
                    KernelCopy::Range => assert_eq!(both, [Method::Range; 2]),
                    KernelCopy::Splice => assert_eq!(both, [Method::Splice; 2]),
                    KernelCopy::Never => assert_eq!(both, [Method::Buffer; 2]),
                    KernelCopy::Auto => {
                        let by_kernel = |it| if it { Method::Range } else { Method::Buffer };
                        assert_eq!(both, [by_kernel(size == KERNEL_FROM), by_kernel(itself)]);
                    }
                }
            }
        }
    }

    #[test]
    fn a_thread_without_a_ring_reports_the_fallback() {
        let fallback = OnceLock::new();
        let mut tools = Tools::new(IoPlan::with_depth(IoMode::Sync, 1).unwrap(), &fallback);
        assert!(!tools.has_no_ring() && fallback.get().is_none(), "none was wanted yet");
        assert_eq!(tools.ring().unwrap().kind(), IoKind::Sync);
        assert!(tools.has_no_ring());
        assert_eq!(fallback.get(), Some(&IoPath::Sync(SyncIoReason::Asked)));
    }
}
