//! Measures what is done with the contents of small files: reading by plain calls and by the ring,
//! writing, and copying inside the kernel.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use ringway_sys::contents::{Pipe, copy_range, reflink};
use ringway_sys::dir::Dir;
use ringway_sys::file_io::{FileIo, IoMode, ReadFile, ReadOpen};

use crate::ground::{BATCH, FOLDERS, Ground, Measured, SIZES, Tree, Unit, Watch, contents, create, open};

/// The ring's depth, unless a measurement is about the depth.
const DEPTH: u32 = 32;
/// Number of calls for measuring the cost of one call.
const CALLS: usize = 100_000;
/// Empties the kernel's caches (proc(5)).
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Opens, reads and closes cached files, and measures the cost of a ring request by itself.
pub(crate) fn read(ground: &Ground) -> io::Result<Vec<Measured>> {
    let mut measured = Vec::new();
    for (bytes, size) in SIZES {
        let tree = ground.tree(size, FOLDERS, bytes)?;
        for (way, mode) in [("plain calls", IoMode::Sync), ("ring of 32", IoMode::Uring)] {
            let watch = read_tree(&tree, bytes, &mut FileIo::new(mode, DEPTH)?)?;
            measured.push(Measured::new(format!("read {size}, warm, {way}"), Unit::File, tree.len(), watch));
        }
    }
    measured.extend(overhead(ground)?);
    Ok(measured)
}

/// Opens, reads and closes files that are on the disk only, as many at a time as the ring is deep.
pub(crate) fn read_cold(ground: &Ground) -> io::Result<Vec<Measured>> {
    let mut measured = Vec::new();
    for (bytes, size) in SIZES {
        let tree = ground.tree(size, FOLDERS, bytes)?;
        let ways =
            [("plain calls", IoMode::Sync, 1), ("ring of 8", IoMode::Uring, 8), ("ring of 64", IoMode::Uring, 64)];
        for (way, mode, depth) in ways {
            ringway_sys::space::sync_filesystem(&ground.root)?;
            std::fs::write(DROP_CACHES, "3")?;
            let mut io = FileIo::with_workers(mode, depth, depth.min(ringway_sys::file_io::WORKERS_MAX))?;
            let watch = read_tree(&tree, bytes, &mut io)?;
            measured.push(Measured::new(format!("read {size}, cold, {way}"), Unit::File, tree.len(), watch));
        }
    }
    Ok(measured)
}

fn read_tree(tree: &Tree, bytes: usize, io: &mut FileIo) -> io::Result<Watch> {
    let mut watch = Watch::default();
    let batch = BATCH.min(tree.names.len());
    let mut buf = vec![0; batch * bytes];
    let mut results = Vec::new();
    for dir in &tree.folders {
        for names in tree.names.chunks(batch) {
            let request = |(slot, name)| ReadFile { dir: AsFd::as_fd(dir), name, at: slot * bytes, len: bytes };
            let requests: Vec<_> = names.iter().map(|name| name.as_c_str()).enumerate().map(request).collect();
            watch.time(|| io.read_files(&mut buf, &requests, &mut results))?;
            results.drain(..).try_for_each(|result| result.map(drop))?;
        }
    }
    Ok(watch)
}

/// Reads of one byte, to measure the cost of a call alone.
fn overhead(ground: &Ground) -> io::Result<Vec<Measured>> {
    let file = File::from(create(&ground.root, b"one")?);
    file.write_all_at(b"1", 0)?;
    let file = open(&ground.root, b"one")?;
    let mut buf = [0; DEPTH as usize];
    let mut plain = Watch::default();
    plain.time(|| (0..CALLS).try_for_each(|_| file.read_at(&mut buf[..1], 0).map(drop)))?;
    let mut measured = vec![Measured::new("read 1 byte, pread", Unit::Call, CALLS, plain)];
    for depth in [1, DEPTH] {
        let mut ring = FileIo::new(IoMode::Uring, depth)?;
        let requests: Vec<_> = (0..depth as usize).map(|at| ReadOpen { fd: file.as_fd(), at, len: 1 }).collect();
        let (mut watch, mut results) = (Watch::default(), Vec::new());
        let rounds = CALLS / depth as usize;
        watch.time(|| (0..rounds).try_for_each(|_| ring.read_open_files(&mut buf, &requests, &mut results)))?;
        let way = format!("read 1 byte, ring of {depth}");
        measured.push(Measured::new(way, Unit::Call, rounds * depth as usize, watch));
    }
    Ok(measured)
}

/// Writes new files in one call each, and closes them.
pub(crate) fn write(ground: &Ground) -> io::Result<Vec<Measured>> {
    let mut measured = Vec::new();
    for (bytes, size) in SIZES {
        let tree = ground.folders(size, FOLDERS, bytes)?;
        let contents = contents(bytes);
        let (mut writing, mut closing) = (Watch::default(), Watch::default());
        tree.in_batches(
            |dir, name| create(dir, name).map(File::from),
            |files| {
                writing.time(|| files.iter().try_for_each(|file| file.write_all_at(&contents, 0)))?;
                closing.time(|| {
                    files.clear();
                    Ok(())
                })
            },
        )?;
        measured.push(Measured::new(format!("write {size}"), Unit::File, tree.len(), writing));
        measured.push(Measured::new(format!("close after writing {size}"), Unit::File, tree.len(), closing));
    }
    Ok(measured)
}

/// A way to copy the contents of one open file into another, new one; false if this filesystem does
/// not support it.
type Transport<'t> = &'t mut dyn FnMut(&File, &File) -> io::Result<bool>;

/// Copies contents between two open files: through memory, and by the kernel's own calls.
pub(crate) fn inside(ground: &Ground) -> io::Result<Vec<Measured>> {
    let mut measured = Vec::new();
    for (bytes, size) in SIZES {
        let source = ground.tree(size, FOLDERS, bytes)?;
        let mut buf = vec![0; bytes + 1];
        let mut pipe = Pipe::new()?;
        let ways: [(&str, Transport<'_>); 4] = [
            ("read, write", &mut |from, to| {
                let got = from.read_at(&mut buf, 0)?;
                to.write_all_at(&buf[..got], 0).map(|()| true)
            }),
            ("copy_file_range", &mut |from, to| Ok(copy_range(from, 0, to, 0, bytes)?.is_some())),
            ("splice", &mut |from, to| Ok(pipe.splice(from, 0, to, 0, bytes)?.is_some())),
            ("reflink", &mut |from, to| reflink(from, to)),
        ];
        for (way, transport) in ways {
            if let Some(watch) = carry(ground, &source, &format!("{way} {size}"), transport)? {
                measured.push(Measured::new(format!("{size} by {way}"), Unit::File, source.len(), watch));
            }
        }
    }
    Ok(measured)
}

/// Copies all of `source`; `None` if this filesystem does not support that way.
fn carry(ground: &Ground, source: &Tree, name: &str, transport: Transport<'_>) -> io::Result<Option<Watch>> {
    let names = source.names.clone();
    let target = Tree { names, folders: ground.folders(name, source.folders.len(), 0)?.folders };
    let mut watch = Watch::default();
    for (from, to) in source.folders.iter().zip(&target.folders) {
        let pair = |name: &[u8]| Ok((open(from, name)?, writable(to, name)?));
        for names in target.names.chunks(BATCH) {
            let pairs: Vec<(File, File)> = names.iter().map(|name| pair(name.to_bytes())).collect::<io::Result<_>>()?;
            let done = watch.time(|| {
                for (from, to) in &pairs {
                    if !transport(from, to)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            })?;
            if !done {
                return Ok(None);
            }
        }
    }
    Ok(Some(watch))
}

fn writable(dir: &Dir, name: &[u8]) -> io::Result<File> {
    create(dir, name).map(File::from)
}
