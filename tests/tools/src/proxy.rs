//! A TCP relay between two ends that, once, flips one bit inside a TLS record, cuts a connection in
//! mid-stream, holds everything still until a line arrives on standard input, or from then on
//! passes nothing of one connection on, which it takes in no more or for nothing. It tells what it
//! does in JSON lines.

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

/// RFC 8446 section 5.1: type, two bytes of version, two of length.
const RECORD_HEADER_LENGTH: usize = 5;
/// Content type of an encrypted record.
const APPLICATION_DATA: u8 = 23;
/// One more than a record may hold (RFC 8446 section 5.2: 2^14 + 256), headers included.
const BUFFER_LENGTH: usize = 1 << 15;

#[derive(Clone, Copy)]
enum Harm {
    None,
    Flip { after: u64 },
    Cut { after: u64 },
    Hold { after: u64 },
    HoldOne { after: u64 },
    Swallow { after: u64 },
}

/// The state that all connections share.
#[derive(Default)]
struct Road {
    harmed: AtomicBool,
    held: Mutex<bool>,
    released: Condvar,
}

impl Road {
    fn hold(&self, held: bool) {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = held;
        self.released.notify_all();
    }

    fn wait(&self) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.released.wait_while(held, |held| *held));
    }
}

pub(crate) fn main(mut arguments: impl Iterator<Item = String>) -> Result<(), Box<dyn Error>> {
    let listen = arguments.next().ok_or(crate::USAGE)?;
    let target = arguments.next().ok_or(crate::USAGE)?;
    let harm = match (arguments.next().as_deref(), arguments.next()) {
        (Some("--flip-after"), Some(after)) => Harm::Flip { after: after.parse()? },
        (Some("--cut-after"), Some(after)) => Harm::Cut { after: after.parse()? },
        (Some("--hold-after"), Some(after)) => Harm::Hold { after: after.parse()? },
        (Some("--hold-one-after"), Some(after)) => Harm::HoldOne { after: after.parse()? },
        (Some("--swallow-after"), Some(after)) => Harm::Swallow { after: after.parse()? },
        (None, _) => Harm::None,
        _ => return Err(crate::USAGE.into()),
    };
    // The harm is done to what comes back from the target instead.
    let is_back = match arguments.next().as_deref() {
        None => false,
        Some("--back") => true,
        Some(_) => return Err(crate::USAGE.into()),
    };
    let listener = TcpListener::bind(&listen)?;
    println!(r#"{{"event":"listening","address":"{}"}}"#, listener.local_addr()?);
    let road = Arc::new(Road::default());
    let releasing = Arc::clone(&road);
    thread::spawn(move || io::stdin().lines().map_while(Result::ok).for_each(|_| releasing.hold(false)));
    for near in listener.incoming() {
        let near = near?;
        // If nothing listens there, a connection ends as soon as it has begun.
        let Ok(far) = TcpStream::connect(&target) else { continue };
        for stream in [&near, &far] {
            stream.set_nodelay(true)?;
        }
        let (near_back, far_back) = (near.try_clone()?, far.try_clone()?);
        let road = Arc::clone(&road);
        // The tests want an end to vanish, so its error does not matter here.
        let (harmed, other) =
            if is_back { ((far_back, near_back), (near, far)) } else { ((near, far), (far_back, near_back)) };
        thread::spawn(move || forward(harmed.0, harmed.1, harm, &road).is_ok());
        thread::spawn(move || relay(other.0, other.1).is_ok());
    }
    Ok(())
}

/// Passes bytes on as they come, until either end is gone.
fn relay(mut from: TcpStream, mut to: TcpStream) -> io::Result<()> {
    let copied = io::copy(&mut from, &mut to);
    to.shutdown(Shutdown::Write)?;
    copied.map(|_| ())
}

/// Passes record after record on, so that the harm is done to a record's body and never to its
/// header.
fn forward(mut from: TcpStream, mut to: TcpStream, harm: Harm, road: &Road) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_LENGTH];
    let mut passed = 0;
    while let Some(length) = read_record(&mut from, &mut buffer)? {
        let record = &mut buffer[..length];
        passed += length as u64;
        match harm {
            Harm::Flip { after } if due(passed, after, record, road) => {
                record[RECORD_HEADER_LENGTH + (length - RECORD_HEADER_LENGTH) / 2] ^= 1;
                println!(r#"{{"event":"flipped","bytes":{passed}}}"#);
            }
            Harm::Cut { after } if due(passed, after, record, road) => {
                to.write_all(&record[..length / 2])?;
                println!(r#"{{"event":"cut","bytes":{passed}}}"#);
                from.shutdown(Shutdown::Both)?;
                return to.shutdown(Shutdown::Both);
            }
            Harm::Hold { after } if due(passed, after, record, road) => {
                road.hold(true);
                println!(r#"{{"event":"holding","bytes":{passed}}}"#);
            }
            Harm::HoldOne { after } if due(passed, after, record, road) => {
                println!(r#"{{"event":"holding one","bytes":{passed}}}"#);
                stay(from, to);
            }
            Harm::Swallow { after } if due(passed, after, record, road) => {
                println!(r#"{{"event":"swallowing","bytes":{passed}}}"#);
                // Reads until the stream's end, which is not passed on either.
                let _ = io::copy(&mut from, &mut io::sink());
                stay(from, to);
            }
            _ => {}
        }
        road.wait();
        to.write_all(record)?;
    }
    to.shutdown(Shutdown::Write)
}

/// Keeps both connections open, and does nothing else.
fn stay(_from: TcpStream, _to: TcpStream) -> ! {
    loop {
        thread::park();
    }
}

/// Whether this record is the one to harm: the first encrypted one after `after` bytes, on any
/// connection.
fn due(passed: u64, after: u64, record: &[u8], road: &Road) -> bool {
    passed > after && record[0] == APPLICATION_DATA && !road.harmed.swap(true, Ordering::SeqCst)
}

/// One whole record in `buffer`, and its length; None at the stream's end.
fn read_record(from: &mut TcpStream, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    let (header, body) = buffer.split_at_mut(RECORD_HEADER_LENGTH);
    match from.read_exact(header) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
    let body = body.get_mut(..length).ok_or(io::ErrorKind::InvalidData)?;
    from.read_exact(body)?;
    Ok(Some(RECORD_HEADER_LENGTH + length))
}
