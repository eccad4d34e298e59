//! A lane that is encrypted here. Records go from their place in memory to the socket, and from the
//! socket to where the bytes belong.
use std::io::{self, Write};
use std::net::TcpStream;
use std::ops::Range;

use ringway_model::Fault;
use ringway_sys::socket::{self, set_receive_low_water};
use ringway_wire::record::{
    CONTENT_MAX, ContentType, OVERHEAD, Opener, RECORD_MAX, RecordError, Sealer, Suite, inner_len, record_len,
};
use rustls::{Connection, ConnectionTrafficSecrets};

use super::ALTERED;
use crate::tls::tls_error;

/// Records in one write. Measured: fewer cost wake-ups, more exceed the cache.
const RECORDS_PER_WRITE: usize = 32;

/// Bytes of ciphertext that are read from the socket in one call.
const RECEIVE_LEN: usize = 512 * 1024;

/// Bytes that a receiver waits for at once, if so many are due: half of what the socket buffers, so
/// that the sender never waits meanwhile. If fewer are due the smaller mark is used, then none.
const LOW_WATERS: [usize; 2] = [256 * 1024, 64 * 1024];

/// The most records without content in a row. No honest sender needs more.
const EMPTY_MAX: u32 = 32;

/// Alert levels and descriptions (RFC 8446 section 6).
const WARNING: u8 = 1;
const FATAL: u8 = 2;
const CLOSE_NOTIFY: u8 = 0;
const UNEXPECTED_MESSAGE: u8 = 10;
const BAD_RECORD_MAC: u8 = 20;
const RECORD_OVERFLOW: u8 = 22;

/// Both directions' keys, and the ciphertext that is under way. A lane carries bulk in one
/// direction only, and the other direction's buffer is never allocated.
pub struct UserTls {
    sealer: Sealer,
    opener: Opener,
    /// Sealed records before they are written.
    sealed: Vec<u8>,
    /// Bytes from the socket; `unopened` is the range not opened yet.
    received: Vec<u8>,
    unopened: Range<usize>,
    /// Content for which its reader had no space.
    spare: Vec<u8>,
    left: Range<usize>,
    low_water: LowWater,
    empty: u32,
    closed: bool,
}

impl UserTls {
    /// Takes over a connection after its handshake. `early` has the bytes that were decrypted
    /// already. `room` is the size of the socket's receive buffer as the kernel counts it: twice
    /// what it holds (socket(7)).
    pub(super) fn take(connection: Connection, early: Vec<u8>, room: usize) -> Result<Self, Fault> {
        let secrets = connection.dangerous_extract_secrets().map_err(tls_error)?;
        let (sequence, keys) = secrets.tx;
        let sealer = with_keys(keys, |suite, key, iv| Sealer::new(suite, key, iv, sequence))?;
        let (sequence, keys) = secrets.rx;
        let opener = with_keys(keys, |suite, key, iv| Opener::new(suite, key, iv, sequence))?;
        Ok(Self {
            sealer,
            opener,
            sealed: Vec::new(),
            received: Vec::new(),
            unopened: 0..0,
            left: 0..early.len(),
            spare: early,
            low_water: LowWater::new(room),
            empty: 0,
            closed: false,
        })
    }

    /// Sends the parts as one stream.
    pub(super) fn send(&mut self, tcp: &mut TcpStream, parts: [&[u8]; 3]) -> io::Result<()> {
        self.sealed.resize(RECORDS_PER_WRITE * (CONTENT_MAX + OVERHEAD), 0);
        let mut gathered = [0; CONTENT_MAX];
        let mut parts = Parts(parts);
        let mut filled = 0;
        while let Some(content) = parts.next(&mut gathered) {
            filled += self.sealer.seal(ContentType::Data, content, &mut self.sealed[filled..]).map_err(refused)?;
            if self.sealed.len() - filled < CONTENT_MAX + OVERHEAD {
                tcp.write_all(&self.sealed[..filled])?;
                filled = 0;
            }
        }
        tcp.write_all(&self.sealed[..filled])
    }

    /// Announces that nothing follows.
    pub(super) fn close(&mut self, tcp: &mut TcpStream) -> io::Result<()> {
        self.alert(tcp, [WARNING, CLOSE_NOTIFY])
    }

    fn alert(&mut self, tcp: &mut TcpStream, alert: [u8; 2]) -> io::Result<()> {
        let mut record = [0; 2 + OVERHEAD];
        let len = self.sealer.seal(ContentType::Alert, &alert, &mut record).map_err(refused)?;
        tcp.write_all(&record[..len])
    }

    /// Fills `buf`, which must not be longer than what the peer has announced. It reads less only
    /// at the lane's end.
    pub(super) fn read(&mut self, tcp: &mut TcpStream, buf: &mut [u8]) -> io::Result<usize> {
        let mut filled = self.take_spare(buf);
        while filled < buf.len() && !self.closed {
            let opened = match self.open_next(&mut buf[filled..]) {
                Ok(opened) => opened,
                Err(error) => {
                    let why = match error {
                        RecordError::Altered => BAD_RECORD_MAC,
                        RecordError::Length(_) => RECORD_OVERFLOW,
                        _ => UNEXPECTED_MESSAGE,
                    };
                    // A peer that reads gets the alert. If the alert is lost, nothing changes.
                    let _ = self.alert(tcp, [FATAL, why]);
                    return Err(refused(error));
                }
            };
            match opened {
                Some(Opened::Content(0)) if self.empty == EMPTY_MAX => return Err(refused(RecordError::Content)),
                Some(Opened::Content(len)) => {
                    self.empty = if len == 0 { self.empty + 1 } else { 0 };
                    filled += len;
                }
                Some(Opened::Closed) => self.closed = true,
                None if self.receive(tcp, buf.len() - filled)? => {}
                // A cut. Only the receipt distinguishes an end from it.
                None => break,
            }
        }
        Ok(filled)
    }

    fn take_spare(&mut self, buf: &mut [u8]) -> usize {
        let len = self.left.len().min(buf.len());
        let from = self.left.start;
        buf[..len].copy_from_slice(&self.spare[from..from + len]);
        self.left.start += len;
        len
    }

    /// Opens the next whole record that has been received, if there is one.
    fn open_next(&mut self, buf: &mut [u8]) -> Result<Option<Opened>, RecordError> {
        let unopened = &self.received[self.unopened.clone()];
        let Some(len) = record_len(unopened)?.filter(|len| *len <= unopened.len()) else { return Ok(None) };
        let record = &unopened[..len];
        let inner = inner_len(len);
        // The type after the content is overwritten by the next record. There is no space for it
        // after the last one.
        let fits = inner <= buf.len();
        if !fits {
            self.spare.resize(self.spare.len().max(inner), 0);
        }
        let out = if fits { &mut buf[..inner] } else { &mut self.spare[..inner] };
        let (kind, content) = self.opener.open(record, out)?;
        let is_close = out[..content] == [WARNING, CLOSE_NOTIFY];
        self.unopened.start += len;
        match kind {
            ContentType::Data if fits => Ok(Some(Opened::Content(content))),
            ContentType::Data => {
                self.left = 0..content;
                Ok(Some(Opened::Content(self.take_spare(buf))))
            }
            ContentType::Alert if is_close => Ok(Some(Opened::Closed)),
            // This end never gets tickets or key updates, so any other record is an error of the
            // peer.
            ContentType::Alert | ContentType::Handshake => Err(RecordError::Content),
        }
    }

    /// Waits for more bytes from the socket, of which at least `due` are to come; false at its end.
    fn receive(&mut self, tcp: &TcpStream, due: usize) -> io::Result<bool> {
        self.received.resize(RECEIVE_LEN + RECORD_MAX, 0);
        let kept = self.unopened.len();
        self.received.copy_within(self.unopened.clone(), 0);
        self.unopened = 0..kept;
        // A record is longer than its content, and the bytes of it that are here do not come again.
        let due = due.saturating_sub(kept);
        loop {
            match socket::receive_now(tcp, &mut self.received[kept..]) {
                Ok(0) => return Ok(false),
                Ok(read) => {
                    self.unopened.end += read;
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            self.low_water.wait(tcp, due)?;
        }
    }
}

/// How many bytes must have arrived before a receiver is woken.
pub struct LowWater {
    mark: usize,
    mark_max: usize,
}

impl LowWater {
    /// For a socket without a mark, whose receive buffer has the size `room` as the kernel counts
    /// it.
    pub fn new(room: usize) -> Self {
        // A mark that exceeds the buffer may never be reached.
        Self { mark: 1, mark_max: room / 4 }
    }

    /// Waits for more bytes from the socket, of which at least `due` are to come.
    pub fn wait(&mut self, tcp: &TcpStream, due: usize) -> io::Result<()> {
        let due = due.min(self.mark_max);
        let mark = LOW_WATERS.into_iter().find(|mark| *mark <= due).unwrap_or(1);
        if mark != self.mark {
            set_receive_low_water(tcp, mark)?;
            self.mark = mark;
        }
        socket::wait_readable(tcp)
    }
}

/// The kind of a record that was opened.
enum Opened {
    /// This many bytes of content were put in their place.
    Content(usize),
    /// The peer's end.
    Closed,
}

/// The frame's parts, in pieces of one record each.
struct Parts<'p>([&'p [u8]; 3]);

impl<'p> Parts<'p> {
    /// The next piece: in place if it lies in one part, else gathered.
    fn next<'g>(&mut self, gathered: &'g mut [u8; CONTENT_MAX]) -> Option<&'g [u8]>
    where
        'p: 'g,
    {
        let first = self.0.iter().position(|part| !part.is_empty())?;
        let rest: usize = self.0.iter().map(|part| part.len()).sum();
        if self.0[first].len() >= rest.min(CONTENT_MAX) {
            let (piece, behind) = self.0[first].split_at(rest.min(CONTENT_MAX));
            self.0[first] = behind;
            return Some(piece);
        }
        let mut filled = 0;
        for part in &mut self.0 {
            let (piece, behind) = part.split_at(part.len().min(CONTENT_MAX - filled));
            gathered[filled..filled + piece.len()].copy_from_slice(piece);
            filled += piece.len();
            *part = behind;
        }
        Some(&gathered[..filled])
    }
}

fn with_keys<T>(
    keys: ConnectionTrafficSecrets,
    make: impl FnOnce(Suite, &[u8], [u8; 12]) -> Result<T, RecordError>,
) -> Result<T, Fault> {
    let (suite, key, iv) = match &keys {
        ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (Suite::Aes128Gcm, key, iv),
        ConnectionTrafficSecrets::Aes256Gcm { key, iv } => (Suite::Aes256Gcm, key, iv),
        ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => (Suite::ChaCha20Poly1305, key, iv),
        _ => return Err(Fault::Tls { detail: ("a cipher suite that was not offered").into() }),
    };
    let iv = iv
        .as_ref()
        .try_into()
        .map_err(|_| Fault::Tls { detail: ("an initialisation vector of another length").into() })?;
    make(suite, key.as_ref(), iv).map_err(|error| Fault::Tls { detail: error.to_string().into() })
}

/// The error that ends the lane.
fn refused(error: RecordError) -> io::Error {
    match error {
        RecordError::Altered => io::Error::new(io::ErrorKind::InvalidData, ALTERED),
        error => io::Error::new(io::ErrorKind::InvalidData, error),
    }
}
