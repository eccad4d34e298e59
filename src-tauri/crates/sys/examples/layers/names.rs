//! Measures operations on names and inodes: listing, stat, creating, and setting attributes.

use std::fs::File;
use std::hint::black_box;
use std::io;

use ringway_sys::attributes::{self, Timestamp};
use ringway_sys::dir::Dir;

use crate::ground::{FOLDERS, Ground, Measured, Tree, Unit, Watch, create as create_file, open};

/// Lists a cached tree.
pub(crate) fn walk(ground: &Ground) -> io::Result<Vec<Measured>> {
    let tree = ground.tree("walk", FOLDERS, 0)?;
    let mut watch = Watch::default();
    let mut seen = 0;
    watch.time(|| {
        for dir in &tree.folders {
            let mut entries = dir.entries()?;
            while let Some(entry) = entries.next() {
                seen += usize::from(!entry?.name.is_empty());
            }
        }
        Ok(())
    })?;
    Ok(vec![Measured::new("list", Unit::Entry, seen, watch)])
}

/// Calls stat on files, in each way that a copy could.
pub(crate) fn stat(ground: &Ground) -> io::Result<Vec<Measured>> {
    let tree = ground.tree("stat", FOLDERS, 0)?;
    let (mut by_name, mut opening, mut by_fd, mut closing) =
        (Watch::default(), Watch::default(), Watch::default(), Watch::default());
    by_name.time(|| tree.files().try_for_each(|(dir, name)| dir.metadata(name).map(|found| _ = black_box(found))))?;
    tree.in_batches(
        |dir, name| Ok((dir.try_clone()?, name.to_vec())),
        |names| {
            let files: Vec<File> =
                opening.time(|| names.iter().map(|(dir, name)| open(dir, name)).collect::<io::Result<_>>())?;
            by_fd.time(|| {
                files.iter().try_for_each(|file| attributes::metadata_of(file).map(|found| _ = black_box(found)))
            })?;
            closing.time(|| {
                drop(files);
                Ok(())
            })
        },
    )?;
    let of = |way, watch| Measured::new(way, Unit::File, tree.len(), watch);
    Ok(vec![of("stat by name", by_name), of("open for reading", opening), of("fstat", by_fd), of("close", closing)])
}

/// Creates empty files and closes them: by one thread and by two, in separate folders and in one.
pub(crate) fn create(ground: &Ground) -> io::Result<Vec<Measured>> {
    let ways = [("1 thread", 1, FOLDERS), ("2 threads, own folders", 2, FOLDERS), ("2 threads, one folder", 2, 1)];
    let mut measured = Vec::new();
    for (number, (way, threads, folders)) in ways.into_iter().enumerate() {
        let tree = ground.folders(&format!("create-{number}"), folders, 0)?;
        let mut watch = Watch::default();
        watch.time(|| make_files(&tree, threads))?;
        measured.push(Measured::new(format!("create, {way}"), Unit::File, tree.len(), watch));
    }
    Ok(measured)
}

/// Creates the tree's files on `threads` threads. Each thread takes every `threads`th folder, or
/// every `threads`th name if there is one folder.
fn make_files(tree: &Tree, threads: usize) -> io::Result<()> {
    let by_folder = tree.folders.len() > 1;
    let part = |thread: usize| -> io::Result<()> {
        let mine = |number: usize| number % threads == thread;
        for (folder, dir) in tree.folders.iter().enumerate().filter(|(folder, _)| !by_folder || mine(*folder)) {
            for (number, name) in tree.names.iter().enumerate() {
                if by_folder || mine(folder + number) {
                    drop(create_file(dir, name.to_bytes())?);
                }
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|thread| scope.spawn(move || part(thread))).collect();
        started.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })
}

/// Sets and reads the attributes of open files.
pub(crate) fn metadata(ground: &Ground) -> io::Result<Vec<Measured>> {
    type Call = fn(&File) -> io::Result<()>;
    const TIME: Timestamp = Timestamp { secs: 1_000_000_000, nanos: 123_456_789 };
    let calls: [(&str, Call); 4] = [
        ("set times (futimens)", |file| attributes::set_times_both(file, TIME, TIME)),
        ("set mode (fchmod)", |file| attributes::set_mode(file, 0o640)),
        ("set owner (fchown) to what it is", |file| {
            let now = attributes::metadata_of(file)?;
            attributes::set_owner_fd(file, now.uid, now.gid)
        }),
        ("ask for attributes (flistxattr)", |file| attributes::has_xattrs(file).map(drop)),
    ];
    let tree = ground.folders("metadata", FOLDERS, 0)?;
    let mut watches = [Watch::default(); 4];
    let make = |dir: &Dir, name: &[u8]| create_file(dir, name).map(File::from);
    tree.in_batches(make, |files| {
        for ((_, call), watch) in calls.iter().zip(&mut watches) {
            watch.time(|| files.iter().try_for_each(call))?;
        }
        Ok(())
    })?;
    Ok(calls.iter().zip(watches).map(|((way, _), watch)| Measured::new(*way, Unit::File, tree.len(), watch)).collect())
}
