//! Announces to the disk which files the lanes will read next, as long as they do come from a disk.
use ringway_sys::advice::will_need;
use ringway_sys::dir::Dir;
use ringway_sys::probe::{Whose, usage};

use crate::send::queue::{Batch, BatchItem, Unit};

/// Units that are not announced after one was found to be in memory. Testing one of so many costs
/// little, and quickly shows where a source begins to be cold.
const SKIPPED: u32 = 32;

/// The announced part of a large file. By the time it is read, the kernel reads ahead by itself.
const LARGE_BYTES: u64 = 1024 * 1024;

/// Files count as coming from a disk if at least this part of the announced bytes did (half).
const PART: u64 = 2;

/// Bytes of one block of getrusage(2)'s count.
const BLOCK_BYTES: u64 = 512;

/// The walk's view of the source. The queue is the distance by which it is ahead of the lanes.
#[derive(Debug, Default)]
pub(in crate::send) struct Ahead {
    skipped: u32,
}

impl Ahead {
    /// Makes the disk begin to read the files of a unit that no lane has yet.
    pub(in crate::send) fn announce(&mut self, unit: &Unit) {
        if self.skipped > 0 {
            self.skipped -= 1;
            return;
        }
        let before = usage(Whose::Thread).input_blocks_512;
        let announced = match unit {
            Unit::Batch(batch) => announce_files(batch),
            Unit::Large(large) => announce(&large.folder, &large.name, large.metadata.size),
            Unit::Share(_) => 0,
        };
        let read = (usage(Whose::Thread).input_blocks_512 - before) * BLOCK_BYTES;
        if read == 0 || read < announced / PART {
            self.skipped = SKIPPED;
        }
    }
}

/// Returns the bytes that it announced.
fn announce_files(batch: &Batch) -> u64 {
    let (mut dir, mut announced) = (None, 0);
    for item in &batch.items {
        match item {
            BatchItem::Folder(index) | BatchItem::NewFolder(index, _) => dir = batch.folder(*index).dir.as_deref(),
            BatchItem::File(file) => {
                announced += dir.map_or(0, |dir| announce(dir, batch.name(file.name).to_bytes(), file.metadata.size));
            }
            BatchItem::Symlink { .. } | BatchItem::HardLink { .. } => {}
        }
    }
    announced
}

fn announce(dir: &Dir, name: &[u8], size: u64) -> u64 {
    let bytes = size.min(LARGE_BYTES);
    // The lane that is to send a file finds out, and reports, that it cannot be opened.
    match dir.open_read(name) {
        Ok(file) if bytes > 0 => {
            will_need(file, bytes);
            bytes
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::path::Path;
    use std::sync::Arc;

    use ringway_sys::advice::dont_need;
    use ringway_sys::space::filesystem;

    use super::*;
    use crate::send::queue::FolderPath;

    const LEN: usize = 64 * 1024;

    /// Drops a file from memory, so that it is only on its disk.
    fn cold(path: &Path) {
        let mut file = fs::File::create(path).unwrap();
        file.write_all(&[7; LEN]).unwrap();
        file.sync_all().unwrap();
        dont_need(file);
    }

    /// Blocks that were read from a disk for this thread.
    fn input() -> u64 {
        usage(Whose::Thread).input_blocks_512
    }

    fn batch_of(dir: &Arc<Dir>, name: &str) -> Unit {
        let mut batch = Batch::default();
        batch.file(&FolderPath::from(&b"top"[..]), dir, name.as_bytes(), dir.metadata(name.as_bytes()).unwrap(), None);
        Unit::Batch(batch)
    }

    #[test]
    fn files_on_a_disk_are_announced_until_some_were_cached() {
        let home = tempfile::tempdir().unwrap();
        if filesystem(fs::File::open(home.path()).unwrap()).unwrap().is_memory() {
            println!("skipped: the folder for temporary files is in memory");
            return;
        }
        let dir = Arc::new(Dir::open(home.path()).unwrap());
        let mut ahead = Ahead::default();
        for name in ["first", "second", "third"] {
            cold(&home.path().join(name));
        }
        for name in ["first", "second"] {
            let before = input();
            ahead.announce(&batch_of(&dir, name));
            assert!((input() - before) * BLOCK_BYTES >= LEN as u64, "{name} is read by now");
            assert_eq!(ahead.skipped, 0);
        }
        ahead.announce(&batch_of(&dir, "second"));
        assert_eq!(ahead.skipped, SKIPPED, "it is in memory, so what follows may be, too");
        let before = input();
        ahead.announce(&batch_of(&dir, "third"));
        assert_eq!((ahead.skipped, input()), (SKIPPED - 1, before), "it is left to who reads it");
    }
}
