//! One layer at a time: files to memory, memory to memory, memory to a socket, and back.
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use ringway_model::IoMode;
use ringway_sys::file_io::{FileIo, ReadFile, WriteAt};
use ringway_tree::bulk::LaneSink;
use ringway_tree::io_plan::IoPlan;
use ringway_wire::record::{CONTENT_MAX, ContentType, OVERHEAD, Opener, RecordError, Sealer, Suite, record_len};

use crate::bench::Bench;
use crate::data::{Data, Digest, Folders, PIECE, Stretch, file_name, noise};
use crate::loopback::End;
use crate::meter::{Round, Side, alone, both};
use crate::mode::{Calls, Cipher, Layer, NotMeasured};

/// Files that are read or written together: as many as a receiver writes at a time.
const GROUP_FILES: usize = 64;

/// Records that are sealed one after the other: as many as a lane writes to its socket at once.
const RECORDS: usize = 32;

/// Keys for records that are not sent.
const KEY: [u8; 32] = [7; 32];
const IV: [u8; 12] = [9; 12];

pub(crate) fn run(bench: &Bench<'_>, layer: Layer, data: &Data, lanes: u8, prove: bool) -> Result<Round, NotMeasured> {
    match layer {
        Layer::Read(calls) => read(bench, calls, data, lanes, prove),
        Layer::Write(calls) => write(bench, calls, data, lanes, prove),
        Layer::Send(cipher) => across(bench, cipher, data, lanes, prove, false),
        Layer::Receive(cipher) => across(bench, cipher, data, lanes, prove, true),
        Layer::Encrypt => encrypt(bench, data, lanes, prove),
        Layer::Decrypt => decrypt(bench, data, lanes, prove),
    }
}

/// The driver of a transfer's lane.
pub(crate) fn driver(calls: Calls) -> Result<FileIo, NotMeasured> {
    let mode = match calls {
        Calls::Plain => IoMode::Sync,
        Calls::Uring => IoMode::Uring,
    };
    Ok(IoPlan::new(mode)?.open()?)
}

/// A driver for each lane.
fn drivers(calls: Calls, lanes: u8) -> Result<Vec<FileIo>, NotMeasured> {
    (0..lanes).map(|_| driver(calls)).collect()
}

fn same(same: bool) -> Result<(), NotMeasured> {
    if same { Ok(()) } else { Err(NotMeasured::Differs) }
}

/// Bytes of the dataset for one of `lanes` lanes, for layers without files.
fn bytes_of(data: &Data, lane: usize, lanes: usize) -> u64 {
    data.share(lane, lanes).iter().map(|stretch| stretch.len).sum()
}

/// The lengths of the pieces of this many bytes.
fn pieces(bytes: u64) -> impl Iterator<Item = usize> {
    Stretch { file: 0, offset: 0, len: bytes }.pieces().map(|(_, len)| len)
}

/// Groups of whole files that fit into a piece; no groups for larger files.
fn groups(share: &[Stretch]) -> impl Iterator<Item = &[Stretch]> {
    let len = share.first().map_or(1, |stretch| stretch.len.max(1)) as usize;
    share.chunks((PIECE / len).clamp(1, GROUP_FILES))
}

fn read(bench: &Bench<'_>, calls: Calls, data: &Data, lanes: u8, prove: bool) -> Result<Round, NotMeasured> {
    let folders = data.source()?;
    let count = usize::from(lanes);
    let (round, seen) = alone(bench.counting, Side::Sender, drivers(calls, lanes)?, |lane, mut io| {
        let mut seen = prove.then(Digest::default);
        let share = data.share(lane, count);
        let mut buf = vec![0; PIECE];
        if data.files() == 1 {
            for stretch in share {
                let file = folders.open(stretch.file)?;
                for (offset, len) in stretch.pieces() {
                    bench.check()?;
                    whole(io.read_at(file.as_fd(), offset, &mut buf[..len])?, len)?;
                    seen.iter_mut().for_each(|seen| seen.add(stretch.file, offset, &buf[..len]));
                }
            }
        } else {
            read_groups(bench, &folders, &share, &mut io, &mut buf, &mut seen)?;
        }
        Ok(seen.unwrap_or_default())
    })?;
    same(!prove || seen.into_iter().sum::<Digest>() == data.digest())?;
    Ok(round)
}

fn read_groups(
    bench: &Bench<'_>,
    folders: &Folders,
    share: &[Stretch],
    io: &mut FileIo,
    buf: &mut [u8],
    seen: &mut Option<Digest>,
) -> io::Result<()> {
    let mut results = Vec::new();
    for group in groups(share) {
        bench.check()?;
        let names: Vec<CString> = group.iter().map(|stretch| file_name(stretch.file)).collect();
        let len = group[0].len as usize;
        let named = group.iter().zip(&names).enumerate();
        let requests: Vec<ReadFile<'_>> = named
            .map(|(at, (stretch, name))| ReadFile { dir: folders.of(stretch.file).as_fd(), name, at: at * len, len })
            .collect();
        io.read_files(buf, &requests, &mut results)?;
        for (at, (stretch, result)) in group.iter().zip(results.drain(..)).enumerate() {
            whole(result?, len)?;
            seen.iter_mut().for_each(|seen| seen.add(stretch.file, 0, &buf[at * len..(at + 1) * len]));
        }
    }
    Ok(())
}

fn whole(read: usize, len: usize) -> io::Result<()> {
    if read == len { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn write(bench: &Bench<'_>, calls: Calls, data: &Data, lanes: u8, prove: bool) -> Result<Round, NotMeasured> {
    let root = bench.work.delivered();
    let folders = data.make_folders(&root)?;
    let (count, bytes) = (usize::from(lanes), noise());
    let (round, _) = alone(bench.counting, Side::Receiver, drivers(calls, lanes)?, |lane, mut io| {
        let mut results = Vec::new();
        for group in groups(&data.share(lane, count)) {
            bench.check()?;
            let files: Vec<OwnedFd> =
                group.iter().map(|stretch| folders.make(stretch.file)).collect::<io::Result<_>>()?;
            for (offset, len) in group[0].pieces() {
                bench.check()?;
                let bytes = &bytes[..len];
                let writes: Vec<WriteAt<'_>> =
                    files.iter().map(|file| WriteAt { fd: file.as_fd(), offset, bytes }).collect();
                io.write_all_at(&writes, &mut results);
                results.drain(..).collect::<io::Result<()>>()?;
            }
        }
        Ok(())
    })?;
    if prove {
        let mut wanted = Digest::default();
        for stretch in data.share(0, 1) {
            stretch.pieces().for_each(|(offset, len)| wanted.add(stretch.file, offset, &bytes[..len]));
        }
        same(data.is_at_with(&root, wanted)?)?;
    }
    Ok(round)
}

/// Memory to a socket, and from the socket to memory if it is `kept`; otherwise the bytes are
/// discarded.
fn across(
    bench: &Bench<'_>,
    cipher: Cipher,
    data: &Data,
    lanes: u8,
    prove: bool,
    kept: bool,
) -> Result<Round, NotMeasured> {
    let (count, bytes) = (usize::from(lanes), noise());
    let send = |lane, mut end: End| {
        for len in pieces(bytes_of(data, lane, count)) {
            bench.check()?;
            end.send(&[], &[], &bytes[..len])?;
        }
        Ok(())
    };
    let receive = |lane, mut end: End| {
        let (mut buf, mut same) = (vec![0; PIECE], true);
        for len in pieces(bytes_of(data, lane, count)) {
            bench.check()?;
            match kept || prove {
                true => end.fill(&mut buf[..len])?,
                false => end.drain(&mut buf[..len])?,
            }
            same &= !prove || buf[..len] == bytes[..len];
        }
        Ok(same)
    };
    let (round, same_all) = both(bench.counting, bench.wire.lanes(cipher, lanes)?, send, receive)?;
    same(same_all.into_iter().all(|one| one))?;
    Ok(round)
}

/// The suite that lanes prefer on this machine, and its key.
fn suite() -> (Suite, &'static [u8]) {
    match ringway_sys::probe::cpu_aes().single {
        true => (Suite::Aes128Gcm, &KEY[..16]),
        false => (Suite::ChaCha20Poly1305, &KEY[..]),
    }
}

fn records(error: RecordError) -> io::Error {
    io::Error::other(error.to_string())
}

fn sealer() -> io::Result<Sealer> {
    let (suite, key) = suite();
    Sealer::new(suite, key, IV, 0).map_err(records)
}

fn opener() -> io::Result<Opener> {
    let (suite, key) = suite();
    Opener::new(suite, key, IV, 0).map_err(records)
}

/// Seals `content` in records, one after the other.
fn seal(sealer: &mut Sealer, content: &[u8], out: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    for content in content.chunks(CONTENT_MAX) {
        filled += sealer.seal(ContentType::Data, content, &mut out[filled..]).map_err(records)?;
    }
    Ok(filled)
}

/// Opens all records in `sealed` to where their contents belong, each over the type byte of the one
/// before, as a lane does.
fn open(opener: &mut Opener, sealed: &[u8], out: &mut [u8]) -> io::Result<usize> {
    let (mut at, mut filled) = (0, 0);
    while at < sealed.len() {
        let len = record_len(&sealed[at..]).map_err(records)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let record = sealed.get(at..at + len).ok_or(io::ErrorKind::UnexpectedEof)?;
        filled += opener.open(record, &mut out[filled..]).map_err(records)?.1;
        at += len;
    }
    Ok(filled)
}

fn encrypt(bench: &Bench<'_>, data: &Data, lanes: u8, prove: bool) -> Result<Round, NotMeasured> {
    let (count, bytes) = (usize::from(lanes), noise());
    let (round, same_all) = alone(bench.counting, Side::Sender, vec![(); count], |lane, ()| {
        let mut sealed = vec![0; RECORDS * (CONTENT_MAX + OVERHEAD)];
        let (mut sealer, mut proof) = (sealer()?, if prove { Some((opener()?, vec![0; PIECE + 1])) } else { None });
        let mut same = true;
        for len in pieces(bytes_of(data, lane, count)) {
            bench.check()?;
            for content in bytes[..len].chunks(RECORDS * CONTENT_MAX) {
                let filled = seal(&mut sealer, content, &mut sealed)?;
                if let Some((opener, out)) = &mut proof {
                    let opened = open(opener, &sealed[..filled], out)?;
                    same &= out[..opened] == *content;
                }
            }
        }
        Ok(same)
    })?;
    same(same_all.into_iter().all(|one| one))?;
    Ok(round)
}

fn decrypt(bench: &Bench<'_>, data: &Data, lanes: u8, prove: bool) -> Result<Round, NotMeasured> {
    let (count, bytes) = (usize::from(lanes), noise());
    // The same records are opened again and again, each time with a new opener that expects the
    // first of them. The cost of the opener is negligible.
    let sealed = |len: usize| {
        let mut sealed = vec![0; len.div_ceil(CONTENT_MAX) * (CONTENT_MAX + OVERHEAD)];
        let filled = seal(&mut sealer()?, &bytes[..len], &mut sealed)?;
        sealed.truncate(filled);
        Ok::<_, io::Error>(sealed)
    };
    let full = sealed(PIECE)?;
    let rests = (0..count).map(|lane| sealed((bytes_of(data, lane, count) % PIECE as u64) as usize));
    let rests: Vec<Vec<u8>> = rests.collect::<io::Result<_>>()?;
    let (round, same_all) = alone(bench.counting, Side::Receiver, rests, |lane, rest| {
        let (mut out, mut same) = (vec![0; PIECE + 1], true);
        for len in pieces(bytes_of(data, lane, count)) {
            bench.check()?;
            let opened = open(&mut opener()?, if len == PIECE { &full } else { &rest }, &mut out)?;
            same &= opened == len && (!prove || out[..len] == bytes[..len]);
        }
        Ok(same)
    })?;
    same(same_all.into_iter().all(|one| one))?;
    Ok(round)
}
