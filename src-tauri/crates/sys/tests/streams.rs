//! Every way between a file and a socket transfers exactly the bytes of a stretch, whatever its
//! length.

mod common;

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use ringway_sys::stream::{More, RingStream, StreamPipe, discard_now, send_all, send_file};
use ringway_sys::thread::cpu_time;

use common::{folders, pattern, skipped};

const PIPE: usize = 64 * 1024;

/// Lengths around those of a pipe and a page, from an odd offset.
const OFFSET: usize = 1_003;
const LENGTHS: [usize; 6] = [1, 4_096, PIPE - 1, PIPE, PIPE + 1, 3_000_001];

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (stream, listener.accept().unwrap().0)
}

fn file(path: &Path, bytes: &[u8]) -> File {
    fs::write(path, bytes).unwrap();
    File::open(path).unwrap()
}

type Send<'s> = &'s mut dyn FnMut(&File, u64, u64, &TcpStream) -> io::Result<()>;

/// Each stretch arrives at the other end exactly as it is in the file.
fn sends(way: &str, send: Send<'_>) {
    for folder in folders() {
        for (seed, len) in LENGTHS.into_iter().enumerate() {
            let all = pattern(seed, OFFSET + len + 77);
            let file = file(&folder.path().join("file"), &all);
            let (near, mut far) = pair();
            let taking = std::thread::spawn(move || {
                let mut taken = Vec::new();
                far.read_to_end(&mut taken).map(|_| taken)
            });
            send(&file, OFFSET as u64, len as u64, &near).unwrap_or_else(|error| panic!("{way}, {len}: {error}"));
            drop(near);
            let taken = taking.join().unwrap().unwrap();
            assert!(taken == all[OFFSET..OFFSET + len], "{way}: {len} bytes, {} taken", taken.len());
        }
    }
}

#[test]
fn sent_bytes_are_those_of_the_file() {
    sends("sendfile", &mut |file, offset, len, socket| send_file(socket, file, offset, len));
    let pipe = StreamPipe::new(PIPE).unwrap();
    for more in [More::WhereTrue, More::Always] {
        sends("splice", &mut |file, offset, len, socket| pipe.send(file, offset, len, socket, more));
    }
    sends("send", &mut |file, offset, len, socket| {
        let mut bytes = vec![0; len as usize];
        std::os::unix::fs::FileExt::read_exact_at(file, &mut bytes, offset)?;
        send_all(socket, &bytes, false)
    });
    let mut ring = match RingStream::new(PIPE) {
        Ok(ring) => ring,
        Err(error) => return skipped("sent_bytes_are_those_of_the_file with io_uring", &error.to_string()),
    };
    sends("splice by io_uring", &mut |file, offset, len, socket| ring.splice_out(file, offset, len, socket));
    sends("send by io_uring", &mut |file, offset, len, socket| {
        let mut bytes = vec![0; len as usize];
        ring.read_exact_at(file, offset, &mut bytes)?;
        ring.send_all(socket, &bytes, false)
    });
}

type Receive<'r> = &'r mut dyn FnMut(&TcpStream, &File, u64, u64) -> io::Result<()>;

fn receives(way: &str, receive: Receive<'_>) {
    for folder in folders() {
        for (seed, len) in LENGTHS.into_iter().enumerate() {
            let all = pattern(seed, len);
            let path = folder.path().join("file");
            let file = File::create(&path).unwrap();
            let (mut near, far) = pair();
            let sent = all.clone();
            let sending = std::thread::spawn(move || near.write_all(&sent));
            receive(&far, &file, OFFSET as u64, len as u64).unwrap_or_else(|error| panic!("{way}, {len}: {error}"));
            sending.join().unwrap().unwrap();
            let there = fs::read(&path).unwrap();
            assert!(there[..OFFSET].iter().all(|byte| *byte == 0) && there[OFFSET..] == all, "{way}: {len} bytes");
        }
    }
}

#[test]
fn received_bytes_land_at_their_offset() {
    let pipe = StreamPipe::new(PIPE).unwrap();
    receives("splice", &mut |socket, file, offset, len| pipe.receive(socket, file, offset, len));
    let mut ring = match RingStream::new(PIPE) {
        Ok(ring) => ring,
        Err(error) => return skipped("received_bytes_land_at_their_offset with io_uring", &error.to_string()),
    };
    receives("recv by io_uring", &mut |socket, file, offset, len| {
        let (mut buf, mut done) = (vec![0; 100_000], 0);
        while done < len {
            let wanted = buf.len().min((len - done) as usize);
            let read = ring.receive(socket, &mut buf[..wanted])?;
            ring.write_all_at(file, offset + done, &buf[..read])?;
            done += read as u64;
        }
        Ok(())
    });
}

#[test]
fn early_ends_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let short = file(&folder.path().join("short"), &[7; 100]);
    let pipe = StreamPipe::new(PIPE).unwrap();
    let (near, far) = pair();
    assert_eq!(send_file(&near, &short, 0, 101).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    assert_eq!(pipe.send(&short, 100, 1, &near, More::WhereTrue).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    drop(near);
    let into = File::create(folder.path().join("into")).unwrap();
    assert_eq!(pipe.receive(&far, &into, 0, 101).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    if let Ok(mut ring) = RingStream::new(PIPE) {
        let (near, _far) = pair();
        assert_eq!(ring.splice_out(&short, 100, 1, &near).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(ring.read_exact_at(&short, 99, &mut [0; 2]).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}

#[test]
fn discarded_bytes_are_gone_and_the_rest_stays() {
    let (mut near, mut far) = pair();
    near.write_all(b"away with this, and keep that").unwrap();
    drop(near);
    let mut gone = 0;
    while gone < 20 {
        match discard_now(&far, 20 - gone) {
            Ok(0) => panic!("the end came first"),
            Ok(discarded) => gone += discarded,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
    let mut rest = String::new();
    far.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "keep that");
    assert_eq!(discard_now(&far, 1).unwrap(), 0);
}

#[test]
fn a_thread_has_a_clock_of_its_own() {
    let busy = std::thread::spawn(|| {
        let before = cpu_time();
        while cpu_time() - before < Duration::from_millis(20) {
            std::hint::spin_loop();
        }
    });
    let before = cpu_time();
    busy.join().unwrap();
    assert!(cpu_time() - before < Duration::from_millis(20), "another thread's work was counted");
}
