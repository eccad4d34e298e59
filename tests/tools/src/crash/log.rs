//! The log of dm-log-writes (Documentation/admin-guide/device-mapper/log-writes.rst), and the disk
//! that a power cut leaves.

use std::error::Error;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

const MAGIC: u64 = 0x006a_7366_7773_6872;
const FLUSH: u64 = 1;
const FUA: u64 = 2;
const DISCARD: u64 = 4;
const MARK: u64 = 8;
/// The header of an entry, which has its own sector in the log.
const HEADER_BYTES: usize = 32;
/// The unit in which a disk loses parts of a write.
const SECTOR_BYTES: u64 = 512;
/// Marks of the test: the receiver listens, and the sender has its receipt.
const BEGUN: &[u8] = b"begun";
const RECEIPT: &[u8] = b"receipt";

struct Entry {
    flags: u64,
    /// Its offset on the disk, and in the log.
    to: u64,
    from: u64,
    length: u64,
}

/// The writes, in the order in which dm-log-writes logs them: a flush follows all writes that it
/// covers.
struct Log {
    file: File,
    entries: Vec<Entry>,
    /// How many entries there were when each mark was set.
    begun: usize,
    receipt: usize,
}

/// Which of the writes that no flush covers survive.
#[derive(Debug, Clone, Copy)]
enum Survives {
    /// Those before the cut.
    InOrder,
    /// Any of them, and parts of some.
    Any,
    Nothing,
}

/// Makes `image`, which is the disk before the log began, the one that a power cut leaves. `seed`
/// draws the instant and what the disk's own memory loses.
pub(super) fn cut(log: &Path, image: &Path, seed: u64) -> Result<(), Box<dyn Error>> {
    let log = Log::read(File::open(log)?)?;
    let mut draw = Draw(seed);
    let image = File::options().write(true).open(image)?;
    // A quarter of the seeds cut right after the receipt.
    let at = if seed.is_multiple_of(4) { log.receipt } else { log.begun + draw.below(log.entries.len() - log.begun) };
    let survives = [Survives::InOrder, Survives::Any, Survives::Nothing][(seed % 3) as usize];
    let flush = |entry: &Entry| entry.flags & FLUSH != 0;
    let certain = log.entries[..at].iter().rposition(flush).map_or(0, |position| position + 1);
    let next = log.entries[at..].iter().position(flush).map_or(log.entries.len(), |position| at + position);
    let mut lost = 0;
    for (position, entry) in log.entries[..next].iter().enumerate() {
        let is_there = position < certain || (position < at && entry.flags & FUA != 0);
        let length = match survives {
            _ if is_there => entry.length,
            Survives::InOrder if position < at => entry.length,
            Survives::InOrder | Survives::Nothing => 0,
            Survives::Any => match draw.below(8) {
                0 => draw.below((entry.length / SECTOR_BYTES + 1) as usize) as u64 * SECTOR_BYTES,
                1..4 => 0,
                _ => entry.length,
            },
        };
        lost += u64::from(length < entry.length);
        log.play(entry, length, &image)?;
    }
    let receipt = if at >= log.receipt { "after" } else { "before" };
    let uncertain = next - certain;
    println!(
        "cut at {at} of {} writes, {receipt} the receipt: {lost} of {uncertain} are lost ({survives:?})",
        log.entries.len()
    );
    Ok(())
}

impl Log {
    fn read(mut file: File) -> Result<Self, Box<dyn Error>> {
        let mut first = [0; HEADER_BYTES];
        file.read_exact(&mut first)?;
        let word = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at * 8..][..8].try_into().expect("eight bytes"));
        if word(&first, 0) != MAGIC {
            return Err("no log of dm-log-writes".into());
        }
        let sector = word(&first, 3) & u64::from(u32::MAX);
        let (mut entries, mut begun, mut receipt) = (Vec::new(), None, None);
        let mut at = sector;
        for _ in 0..word(&first, 2) {
            let mut header = [0; HEADER_BYTES];
            file.read_exact_at(&mut header, at)?;
            let [to, sectors, flags, data_length] = [0, 1, 2, 3].map(|field| word(&header, field));
            if flags & MARK != 0 {
                let mut mark = vec![0; data_length as usize];
                file.read_exact_at(&mut mark, at + HEADER_BYTES as u64)?;
                match mark.split(|byte| *byte == 0).next() {
                    Some(BEGUN) => begun = Some(entries.len()),
                    Some(RECEIPT) => receipt = Some(entries.len()),
                    _ => {}
                }
            }
            let length = if flags & (DISCARD | MARK) == 0 { sectors * sector } else { 0 };
            entries.push(Entry { flags, to: to * sector, from: at + sector, length });
            at += sector + length;
        }
        Ok(Self {
            file,
            entries,
            begun: begun.ok_or("no mark of the beginning")?,
            receipt: receipt.ok_or("no mark of the receipt")?,
        })
    }

    fn play(&self, entry: &Entry, length: u64, image: &File) -> io::Result<()> {
        let mut bytes = vec![0; length as usize];
        self.file.read_exact_at(&mut bytes, entry.from)?;
        image.write_all_at(&bytes, entry.to)
    }
}

/// Random numbers that a seed reproduces (splitmix64).
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end.max(1) as u64) as usize
    }
}
