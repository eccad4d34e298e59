//! Whole files from one end to the other, with only their lengths between them: the limit of the
//! system calls themselves.
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use ringway_sys::file_io::{read_at, write_all_at};
use ringway_sys::stream::{More, RingStream, StreamPipe, send_all, send_file};
use ringway_tree::bulk::LaneSink;

use crate::bench::Bench;
use crate::data::{Data, Folders, PIECE, Stretch};
use crate::loopback::{End, read_exact, write_all};
use crate::meter::{Round, both};
use crate::mode::{Cipher, Inward, NotMeasured, Outward};

/// Requested size of the pipe: the most that an unprivileged user may request (pipe(7)).
const PIPE_LEN: usize = 1 << 20;

/// The size of uring-sync's pipe, and of its splices.
const SMALL_PIPE_LEN: usize = 128 * 1024;

/// Bytes that the kernel moves before the thread checks whether the measurement is stopped.
const KERNEL_LEN: u64 = 16 * 1024 * 1024;

/// A file's length, before its contents.
const HEADER_LEN: usize = size_of::<u64>();

/// Follows the last file.
const END: u64 = u64::MAX;

type Ways = (Outward, Inward, Cipher);

pub(crate) fn run(bench: &Bench<'_>, ways: Ways, data: &Data, lanes: u8, prove: bool) -> Result<Round, NotMeasured> {
    let (out, into, cipher) = ways;
    let source = data.source()?;
    let root = bench.work.delivered();
    let delivered = data.make_folders(&root)?;
    let count = usize::from(lanes);
    let mut ends = Vec::new();
    for (near, far) in bench.wire.lanes(cipher, lanes)? {
        ends.push((Sender::new(out, near)?, Receiver::new(into, far)?));
    }
    let send = |lane, mut sender: Sender| {
        for stretch in data.share(lane, count) {
            sender.send(bench, &source, stretch)?;
        }
        sender.end.send(&END.to_le_bytes(), &[], &[])
    };
    let receive = |lane, mut receiver: Receiver| {
        for stretch in data.share(lane, count) {
            receiver.receive(bench, &delivered, stretch)?;
        }
        receiver.header(END)
    };
    let (round, _) = both(bench.counting, ends, send, receive)?;
    if prove && !data.is_at(&root)? {
        return Err(NotMeasured::Differs);
    }
    Ok(round)
}

/// The parts of a stretch that the kernel moves in one call.
fn goes(stretch: Stretch) -> impl Iterator<Item = (u64, u64)> {
    let end = stretch.offset + stretch.len;
    (stretch.offset..end).step_by(KERNEL_LEN as usize).map(move |at| (at, (end - at).min(KERNEL_LEN)))
}

/// One lane's sending end.
struct Sender {
    end: End,
    way: SendingWay,
}

enum SendingWay {
    ReadSend(Vec<u8>),
    UringReadSend(Box<RingStream>, Vec<u8>),
    Splice(StreamPipe, More),
    UringSplice(Box<RingStream>),
    SendFile,
}

impl Sender {
    fn new(out: Outward, end: End) -> io::Result<Self> {
        let way = match out {
            Outward::ReadSend => SendingWay::ReadSend(vec![0; PIECE]),
            Outward::UringReadSend => SendingWay::UringReadSend(Box::new(RingStream::new(PIPE_LEN)?), vec![0; PIECE]),
            Outward::Splice => SendingWay::Splice(StreamPipe::new(PIPE_LEN)?, More::WhereTrue),
            Outward::SpliceAlwaysMore => SendingWay::Splice(StreamPipe::new(SMALL_PIPE_LEN)?, More::Always),
            Outward::UringSplice => SendingWay::UringSplice(Box::new(RingStream::new(PIPE_LEN)?)),
            Outward::SendFile => SendingWay::SendFile,
        };
        Ok(Self { end, way })
    }

    fn send(&mut self, bench: &Bench<'_>, source: &Folders, stretch: Stretch) -> io::Result<()> {
        let file = source.open(stretch.file)?;
        let header = stretch.len.to_le_bytes();
        let end = &mut self.end;
        match &mut self.way {
            SendingWay::ReadSend(buf) => {
                // In one call with the following contents, like lanes.
                let mut header = &header[..];
                for (offset, len) in stretch.pieces() {
                    bench.check()?;
                    whole(read_at(file.as_fd(), offset, &mut buf[..len])?, len)?;
                    end.send(std::mem::take(&mut header), &[], &buf[..len])?;
                }
            }
            SendingWay::UringReadSend(ring, buf) => {
                ring.send_all(end.socket()?, &header, true)?;
                for (offset, len) in stretch.pieces() {
                    bench.check()?;
                    ring.read_exact_at(&file, offset, &mut buf[..len])?;
                    ring.send_all(end.socket()?, &buf[..len], false)?;
                }
            }
            SendingWay::Splice(pipe, more) => {
                match more {
                    More::WhereTrue => send_all(end.socket()?, &header, true)?,
                    More::Always => write_all(end.socket()?, &header)?,
                }
                for (offset, len) in goes(stretch) {
                    bench.check()?;
                    pipe.send(&file, offset, len, end.socket()?, *more)?;
                }
            }
            SendingWay::UringSplice(ring) => {
                send_all(end.socket()?, &header, true)?;
                for (offset, len) in goes(stretch) {
                    bench.check()?;
                    ring.splice_out(&file, offset, len, end.socket()?)?;
                }
            }
            SendingWay::SendFile => {
                send_all(end.socket()?, &header, true)?;
                for (offset, len) in goes(stretch) {
                    bench.check()?;
                    send_file(end.socket()?, &file, offset, len)?;
                }
            }
        }
        Ok(())
    }
}

/// One lane's receiving end.
struct Receiver {
    end: End,
    way: ReceivingWay,
}

enum ReceivingWay {
    ReceiveWrite(Vec<u8>),
    UringReceiveWrite(Box<RingStream>, Vec<u8>),
    Splice(StreamPipe),
}

impl Receiver {
    fn new(into: Inward, end: End) -> io::Result<Self> {
        let way = match into {
            Inward::ReceiveWrite => ReceivingWay::ReceiveWrite(vec![0; PIECE]),
            Inward::UringReceiveWrite => {
                ReceivingWay::UringReceiveWrite(Box::new(RingStream::new(PIPE_LEN)?), vec![0; PIECE])
            }
            Inward::Splice => ReceivingWay::Splice(StreamPipe::new(PIPE_LEN)?),
        };
        Ok(Self { end, way })
    }

    /// Reads a file's length, which must be `due`: both ends know the files.
    fn header(&mut self, due: u64) -> io::Result<()> {
        let mut header = [0; HEADER_LEN];
        match &self.way {
            ReceivingWay::ReceiveWrite(_) => self.end.fill(&mut header)?,
            ReceivingWay::UringReceiveWrite(..) | ReceivingWay::Splice(_) => {
                read_exact(self.end.socket()?, &mut header)?
            }
        }
        if u64::from_le_bytes(header) == due { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
    }

    fn receive(&mut self, bench: &Bench<'_>, delivered: &Folders, stretch: Stretch) -> io::Result<()> {
        self.header(stretch.len)?;
        let file: OwnedFd = delivered.make(stretch.file)?;
        let end = &mut self.end;
        match &mut self.way {
            ReceivingWay::ReceiveWrite(buf) => {
                for (offset, len) in stretch.pieces() {
                    bench.check()?;
                    end.fill(&mut buf[..len])?;
                    write_all_at(file.as_fd(), offset, &buf[..len])?;
                }
            }
            ReceivingWay::UringReceiveWrite(ring, buf) => {
                for (offset, len) in stretch.pieces() {
                    bench.check()?;
                    let mut filled = 0;
                    while filled < len {
                        match ring.receive(end.socket()?, &mut buf[filled..len])? {
                            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                            read => filled += read,
                        }
                    }
                    ring.write_all_at(&file, offset, &buf[..len])?;
                }
            }
            ReceivingWay::Splice(pipe) => {
                for (offset, len) in goes(stretch) {
                    bench.check()?;
                    pipe.receive(end.socket()?, &file, offset, len)?;
                }
            }
        }
        Ok(())
    }
}

fn whole(read: usize, len: usize) -> io::Result<()> {
    if read == len { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
