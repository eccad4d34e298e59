//! Measures how the contents of one large file are brought into another: chunk sizes, threads, preallocation, and the kernel's own ways.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};

use ringway_sys::contents::{Pipe, copy_range, reflink};
use ringway_sys::space::{preallocate, sync_filesystem};

use crate::ground::{Ground, Measured, Unit, Watch, contents, create, open};

const CHUNKS: [(usize, &str); 3] = [(256 << 10, "256 KiB"), (1 << 20, "1 MiB"), (4 << 20, "4 MiB")];
/// What the kernel is asked to copy at a time.
const RANGE_BYTES: usize = 16 << 20;
const SOURCE: &[u8] = b"large";
const TARGET: &[u8] = b"copy";

/// Each way copies the same file to a new one, which is removed before the next.
pub(crate) fn large(ground: &Ground) -> io::Result<Vec<Measured>> {
    let source = File::from(create(&ground.root, SOURCE)?);
    let piece = contents(CHUNKS[2].0);
    for at in (0..ground.large_bytes).step_by(piece.len()) {
        source.write_all_at(&piece[..piece.len().min((ground.large_bytes - at) as usize)], at)?;
    }
    let source = open(&ground.root, SOURCE)?;
    let mut measured = Vec::new();
    for threads in [1, 2] {
        for (chunk, size) in CHUNKS {
            for preallocated in [false, true] {
                let way = format!("{threads} thread{}, {size}", if threads == 1 { "" } else { "s" });
                let way = if preallocated { format!("{way}, preallocated") } else { way };
                let copy = |to: &File| {
                    // Where the filesystem cannot, there is nothing to compare.
                    if preallocated && !preallocate(to, ground.large_bytes)? {
                        return Ok(false);
                    }
                    in_chunks(&source, to, ground.large_bytes, chunk, threads).map(|()| true)
                };
                measured.extend(one(ground, &format!("large, {way}"), copy)?);
            }
        }
    }
    measured.extend(one(ground, "large, copy_file_range", |to| {
        by_kernel(ground.large_bytes, |at, len| copy_range(&source, at, to, at, len))
    })?);
    let mut pipe = Pipe::new()?;
    measured.extend(one(ground, "large, splice", |to| {
        by_kernel(ground.large_bytes, |at, len| pipe.splice(&source, at, to, at, len))
    })?);
    measured.extend(one(ground, "large, reflink", |to| reflink(&source, to))?);
    Ok(measured)
}

/// Times `copy` into a new file; nothing where it says that it is not to be had.
fn one(ground: &Ground, way: &str, copy: impl FnOnce(&File) -> io::Result<bool>) -> io::Result<Option<Measured>> {
    sync_filesystem(&ground.root)?;
    let target = File::from(create(&ground.root, TARGET)?);
    let mut watch = Watch::default();
    let done = watch.time(|| copy(&target))?;
    drop(target);
    ground.root.unlink(TARGET)?;
    Ok(done.then(|| Measured::new(way, Unit::Byte, ground.large_bytes as usize, watch)))
}

/// Reads and writes chunk by chunk, each thread taking the next one that nobody has.
fn in_chunks(from: &File, to: &File, bytes: u64, chunk: usize, threads: usize) -> io::Result<()> {
    let next = AtomicU64::new(0);
    let work = || {
        let mut buf = vec![0; chunk];
        loop {
            let at = next.fetch_add(chunk as u64, Ordering::Relaxed);
            if at >= bytes {
                return Ok(());
            }
            let len = chunk.min((bytes - at) as usize);
            from.read_exact_at(&mut buf[..len], at)?;
            to.write_all_at(&buf[..len], at)?;
        }
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mine: io::Result<()> = work();
        others.into_iter().map(|thread| thread.join().expect("no panic")).chain([mine]).collect()
    })
}

/// Lets the kernel copy range by range; false where it does not.
fn by_kernel(bytes: u64, mut copy: impl FnMut(u64, usize) -> io::Result<Option<usize>>) -> io::Result<bool> {
    let mut at = 0;
    while at < bytes {
        match copy(at, RANGE_BYTES.min((bytes - at) as usize))? {
            None => return Ok(false),
            Some(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Some(copied) => at += copied as u64,
        }
    }
    Ok(true)
}
