//! Measures ways to copy the contents of one large file: chunk sizes, threads, preallocation, and
//! the kernel's own calls.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};

use ringway_sys::contents::{Pipe, copy_range, reflink};
use ringway_sys::space::{preallocate, sync_filesystem};

use crate::ground::{Ground, Measured, Unit, Watch, contents, create, open};

const CHUNKS: [(usize, &str); 4] =
    [(128 << 10, "128 KiB"), (256 << 10, "256 KiB"), (1 << 20, "1 MiB"), (4 << 20, "4 MiB")];
/// Bytes that the kernel is asked to copy at a time.
const RANGE_BYTES: usize = 16 << 20;
/// The source is written in pieces of this length.
const PIECE_BYTES: usize = 4 << 20;
const SOURCE: &[u8] = b"large";
const TARGET: &[u8] = b"copy";

/// Each way copies the same file to a new one, which is removed before the next way runs.
pub(crate) fn large(ground: &Ground) -> io::Result<Vec<Measured>> {
    let bytes = ground.large_bytes;
    let source = File::from(create(&ground.root, SOURCE)?);
    let piece = contents(PIECE_BYTES);
    for at in (0..bytes).step_by(PIECE_BYTES) {
        source.write_all_at(&piece[..PIECE_BYTES.min((bytes - at) as usize)], at)?;
    }
    let source = &open(&ground.root, SOURCE)?;
    let mut measured = Vec::new();
    for (threads, by) in [(1, "1 thread"), (2, "2 threads")] {
        for (chunk, size) in CHUNKS {
            for (preallocated, reserved) in [(false, ""), (true, ", preallocated")] {
                let copy = |to: &File| {
                    // If the filesystem cannot preallocate, there is nothing to compare.
                    if preallocated && !preallocate(to, bytes)? {
                        return Ok(false);
                    }
                    shared_out(bytes, chunk, threads, || read_and_write(source, to, chunk))
                };
                measured.extend(one(ground, &format!("large, {by}, {size}{reserved}"), copy)?);
            }
        }
        let ranges =
            |to: &File| shared_out(bytes, RANGE_BYTES, threads, || Ok(|at, len| copy_range(source, at, to, at, len)));
        measured.extend(one(ground, &format!("large, {by}, copy_file_range"), ranges)?);
        let spliced = |to: &File| shared_out(bytes, RANGE_BYTES, threads, || splice(source, to));
        measured.extend(one(ground, &format!("large, {by}, splice"), spliced)?);
    }
    measured.extend(one(ground, "large, reflink", |to| reflink(source, to))?);
    Ok(measured)
}

/// Times `copy` into a new file; returns nothing if `copy` is not supported here.
fn one(ground: &Ground, way: &str, copy: impl FnOnce(&File) -> io::Result<bool>) -> io::Result<Option<Measured>> {
    sync_filesystem(&ground.root)?;
    let target = File::from(create(&ground.root, TARGET)?);
    let mut watch = Watch::default();
    let done = watch.time(|| copy(&target))?;
    drop(target);
    ground.root.unlink(TARGET)?;
    Ok(done.then(|| Measured::new(way, Unit::Byte, ground.large_bytes as usize, watch)))
}

/// Reads and writes a chunk through its own buffer.
fn read_and_write<'f>(from: &'f File, to: &'f File, chunk: usize) -> io::Result<impl FnMut(u64, usize) -> Copied + 'f> {
    let mut buf = vec![0; chunk];
    Ok(move |at, len: usize| {
        from.read_exact_at(&mut buf[..len], at)?;
        to.write_all_at(&buf[..len], at)?;
        Ok(Some(len))
    })
}

/// Moves pages through its own pipe.
fn splice<'f>(from: &'f File, to: &'f File) -> io::Result<impl FnMut(u64, usize) -> Copied + 'f> {
    let mut pipe = Pipe::new()?;
    Ok(move |at, len| pipe.splice(from, at, to, at, len))
}

/// How many of the requested bytes were copied; `None` if that way is not supported here.
type Copied = io::Result<Option<usize>>;

/// Copies chunk by chunk on `threads` threads. Each thread makes its own copier and takes the next
/// free chunk.
fn shared_out<W: FnMut(u64, usize) -> Copied>(
    bytes: u64,
    chunk: usize,
    threads: usize,
    way: impl Fn() -> io::Result<W> + Sync,
) -> io::Result<bool> {
    let next = AtomicU64::new(0);
    let work = || -> io::Result<bool> {
        let mut copy = way()?;
        loop {
            let start = next.fetch_add(chunk as u64, Ordering::Relaxed);
            let end = bytes.min(start.saturating_add(chunk as u64));
            let mut at = start;
            while at < end {
                match copy(at, (end - at) as usize)? {
                    None => return Ok(false),
                    Some(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Some(copied) => at += copied as u64,
                }
            }
            if end == bytes {
                return Ok(true);
            }
        }
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mine = work();
        let mut all = others.into_iter().map(|thread| thread.join().expect("no panic")).chain([mine]);
        all.try_fold(true, |every, one| Ok(every && one?))
    })
}
