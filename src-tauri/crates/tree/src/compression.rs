//! Bodies packed on the way (Zstandard), where a lane waits for its connection and only while that
//! gains time.
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ringway_model::{Compression, PackedBytes};
use ringway_wire::ProtocolError;
use ringway_wire::lane::{FrameHeader, HEADER_LEN};
use ringway_wire::limits::LANE_BODY_MAX;
use zstd::bulk::{Compressor, Decompressor};

use crate::bulk::LaneSink;

/// The level that is fastest but for those that hardly pack.
const LEVEL: i32 = 1;

/// Bytes at a body's beginning that are packed to see whether the rest is worth it.
const SAMPLE_LEN: usize = 64 * 1024;

/// Shorter bodies are sent as they are.
const BODY_MIN: usize = 1024;

/// A lane's pace is looked at after so long.
const WINDOW: Duration = Duration::from_millis(50);

/// Part of its time that a lane must spend on its connection before packing is tried: below it the
/// time goes elsewhere.
const WAITING_MIN: f64 = 0.8;

/// Bodies in a row that did not shrink, after which packing rests.
const FUTILE_MAX: u32 = 4;

/// Windows that packing rests after it did not pay, the first time and at the most: twice as many
/// each time.
const REST_MIN: u32 = 2;
const REST_MAX: u32 = 256;

/// Windows of packing after which one without tells what that is worth now, the first time and at
/// the most: four times as many each time. The first one is early, because a connection that has
/// just begun is slower without packing than it will be (slow start, RFC 9438 section 4.10).
const REVIEW_MIN: u32 = 4;
const REVIEW_MAX: u32 = 64;

/// What packing came to, on all lanes of a transfer.
#[derive(Debug, Default)]
pub struct Packed {
    contents: AtomicU64,
    wire: AtomicU64,
}

impl Packed {
    /// None if nothing was packed.
    pub fn bytes(&self) -> Option<PackedBytes> {
        let [contents, wire] = [&self.contents, &self.wire].map(|count| count.load(Ordering::Relaxed));
        (contents > 0).then_some(PackedBytes { contents, wire })
    }
}

/// What packs the bodies of a lane's frames while that pays.
pub struct Packing {
    /// `None` if nothing is to be packed.
    compressor: Option<Compressor<'static>>,
    packed: Vec<u8>,
    judge: Judge,
    /// When the last frame had been sent.
    sent: Instant,
    counts: Arc<Packed>,
}

impl Packing {
    /// Packs what is sent by it; `counts` says what that came to.
    ///
    /// # Errors
    /// The compressor has no memory.
    pub fn new(compression: Compression, counts: Arc<Packed>) -> io::Result<Self> {
        let compressor = match compression {
            Compression::Auto => Some(Compressor::new(LEVEL)?),
            Compression::Off => None,
        };
        Ok(Self { compressor, packed: Vec::new(), judge: Judge::default(), sent: Instant::now(), counts })
    }

    /// Packs `body`; its length then, or none if it does not get an eighth shorter.
    fn pack(&mut self, body: &[u8]) -> Option<usize> {
        let compressor = self.compressor.as_mut()?;
        let sample = &body[..body.len().min(SAMPLE_LEN)];
        if self.packed.is_empty() {
            // Whole at once: pages that nothing is written to take no memory, and what shrinks well
            // needs few. Of 16 lanes that is 12 MiB.
            self.packed = vec![0; shorter(LANE_BODY_MAX)];
        }
        let len = compressor.compress_to_buffer(sample, &mut self.packed[..shorter(sample.len())]).ok()?;
        if sample.len() == body.len() {
            return Some(len);
        }
        // It fails where there is no room for the result.
        compressor.compress_to_buffer(body, &mut self.packed[..shorter(body.len())]).ok()
    }

    /// Sends a frame to `to`, packed where that pays.
    ///
    /// # Errors
    /// What sending it met.
    pub fn send(&mut self, to: &mut impl LaneSink, header: &[u8], head: &[u8], body: &[u8]) -> io::Result<()> {
        if self.compressor.is_none() {
            return to.send(header, head, body);
        }
        let mut packed = None;
        if self.judge.packs() && body.len() >= BODY_MIN {
            packed = self.pack(body);
            self.judge.shrank(packed.is_some());
        }
        let begun = Instant::now();
        match packed {
            None => to.send(header, head, body)?,
            Some(len) => {
                self.counts.contents.fetch_add(body.len() as u64, Ordering::Relaxed);
                self.counts.wire.fetch_add(len as u64, Ordering::Relaxed);
                to.send(&packed_header(header, len)?, head, &self.packed[..len])?;
            }
        }
        let now = Instant::now();
        self.judge.sent(body.len(), now - begun, now - self.sent);
        self.sent = now;
        Ok(())
    }

    /// The lane has had nothing to send until now: that says nothing of its connection.
    pub fn idled(&mut self) {
        self.sent = Instant::now();
    }
}

/// What a body of `len` bytes may take packed, at most.
fn shorter(len: usize) -> usize {
    len - len / 8
}

fn packed_header(header: &[u8], len: usize) -> io::Result<[u8; HEADER_LEN]> {
    let odd = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let mut header = FrameHeader::decode(header.try_into().map_err(odd)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error.to_string()))?;
    header.packed_len = len as u32;
    Ok(header.encode())
}

/// Whether packing gains time, from how a lane gets on with it and without.
#[derive(Debug, Default)]
struct Judge {
    packing: bool,
    /// Windows without packing that are still to come; as many more if it is in vain again.
    rest: u32,
    next_rest: u32,
    /// Windows since it was packing, and how many there are until it is reviewed.
    windows: u32,
    next_review: u32,
    /// Bodies in a row that did not shrink.
    futile: u32,
    /// Seconds a byte in the last window without packing.
    plain_pace: f64,
    /// This window so far.
    bytes: u64,
    waited: Duration,
    elapsed: Duration,
}

impl Judge {
    fn packs(&self) -> bool {
        self.packing
    }

    /// A body was packed, or could not be.
    fn shrank(&mut self, shrank: bool) {
        self.futile = if shrank { 0 } else { self.futile + 1 };
        if self.futile >= FUTILE_MAX {
            self.in_vain();
        }
    }

    /// A frame was sent with so many bytes of body: how long its connection took, and how long it
    /// is since the one before.
    fn sent(&mut self, bytes: usize, waited: Duration, elapsed: Duration) {
        self.bytes += bytes as u64;
        self.waited += waited;
        self.elapsed += elapsed;
        if self.elapsed < WINDOW || self.bytes == 0 {
            return;
        }
        let pace = self.elapsed.as_secs_f64() / self.bytes as f64;
        let waiting = self.waited.as_secs_f64() / self.elapsed.as_secs_f64();
        self.begin_window();
        if !self.packing {
            self.plain_pace = pace;
            if self.rest > 0 {
                self.rest -= 1;
            } else if waiting >= WAITING_MIN {
                (self.packing, self.windows, self.futile) = (true, 0, 0);
                self.next_review = (self.next_review * 4).clamp(REVIEW_MIN, REVIEW_MAX);
            }
            return;
        }
        self.windows += 1;
        if pace > self.plain_pace {
            self.in_vain();
        } else if self.windows >= self.next_review {
            (self.packing, self.next_rest) = (false, 0);
        }
    }

    fn in_vain(&mut self) {
        self.packing = false;
        self.next_review = 0;
        self.next_rest = (self.next_rest * 2).clamp(REST_MIN, REST_MAX);
        self.rest = self.next_rest;
        self.begin_window();
    }

    fn begin_window(&mut self) {
        (self.bytes, self.waited, self.elapsed) = (0, Duration::ZERO, Duration::ZERO);
    }
}

/// What a receiving lane unpacks with; made when the first packed body comes.
#[derive(Default)]
pub struct Unpacking {
    decompressor: Option<Decompressor<'static>>,
    /// A packed body as it came.
    pub packed: Vec<u8>,
}

impl Unpacking {
    /// Unpacks the first `len` bytes of the received bytes into the whole of `body`, which holds no
    /// more than [`LANE_BODY_MAX`].
    ///
    /// # Errors
    /// It is not Zstandard, or has another length.
    pub fn unpack(&mut self, len: usize, body: &mut [u8]) -> Result<(), ProtocolError> {
        debug_assert!(body.len() <= LANE_BODY_MAX);
        let odd = ProtocolError::BadValue("packed body");
        if self.decompressor.is_none() {
            self.decompressor = Decompressor::new().ok();
        }
        let Some(decompressor) = &mut self.decompressor else { return Err(odd) };
        // It writes nowhere but there, whatever the frame says of its size or window.
        match decompressor.decompress_to_buffer(&self.packed[..len], body) {
            Ok(unpacked) if unpacked == body.len() => Ok(()),
            _ => Err(odd),
        }
    }
}
