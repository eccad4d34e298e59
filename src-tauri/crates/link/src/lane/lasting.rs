//! A lane that outlives its connection. Before a key has protected too many records (RFC 8446
//! section 5.5), the lane continues in a new connection with new keys. A key update would cost
//! less, but a kernel before 6.14 does not support one.
use std::collections::HashMap;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use ringway_tree::bulk::{LaneSink, LaneSource};
use ringway_wire::lane::FrameHeader;
use ringway_wire::record::CONTENT_MAX;
use tokio::sync::watch;

use super::{LONG_LINK_FOR_LANES, Lane};
use crate::bottleneck::LaneClock;
use crate::limits::TICK;
use crate::rate_limit::{RateLimiter, split_off};

/// From this multiple of the least round-trip time on, data waits in a queue on the way. BBR alone
/// probes with a quarter more than the link carries.
const QUEUEING_MIN: f64 = 1.5;

/// Ends a transfer's lanes from another thread. Everything that they wait for fails at once, and
/// lanes that are added later fail too.
#[derive(Clone, Default)]
pub struct LaneStops(Arc<Stops>);

#[derive(Default)]
struct Stops {
    /// Each lane's present connection, by the number of the lane.
    connections: Mutex<HashMap<u8, Connection>>,
    /// Bytes acknowledged on connections that lanes have left.
    acknowledged_before: AtomicU64,
    stopped: watch::Sender<bool>,
    seen: Mutex<LanesSeen>,
    is_looking: AtomicBool,
}

/// A connection of a lane.
#[derive(Clone)]
struct Connection {
    tcp: Arc<TcpStream>,
    /// Bytes acknowledged on it before it became a lane's.
    before: u64,
}

impl Connection {
    /// Bytes that the peer's kernel has acknowledged on it as a lane's.
    fn acknowledged(&self) -> u64 {
        acknowledged(&self.tcp).saturating_sub(self.before)
    }
}

/// What the kernel said of a transfer's lanes at the last [`LaneStops::look`].
#[derive(Debug, Clone, Copy, Default)]
pub struct LanesSeen {
    /// See [`LaneStops::acknowledged`].
    pub acknowledged: u64,
    /// How long before that data had arrived on any lane; `None` if there were none, or if the
    /// kernel does not report it.
    pub since_data: Option<Duration>,
    /// Whether the lanes fill a long link: their data waits in a queue on most of them, so more
    /// lanes would only share the same rate. A short link has queues in the two machines as well,
    /// which say nothing about it.
    pub fill_the_link: bool,
}

impl LaneStops {
    /// Sets the connection on which a lane continues.
    pub fn set(&self, number: u8, lane: &Lane) -> io::Result<()> {
        let tcp = Arc::new(lane.tcp().try_clone()?);
        let mut connections = self.0.connections.lock();
        if *self.0.stopped.borrow() {
            stop(&tcp);
        }
        let before = acknowledged(&tcp);
        if let Some(left) = connections.insert(number, Connection { tcp, before }) {
            self.0.acknowledged_before.fetch_add(left.acknowledged(), Ordering::Relaxed);
        }
        Ok(())
    }

    /// Ends one lane only.
    pub fn stop_one(&self, number: u8) {
        let connections = self.0.connections.lock();
        connections.get(&number).into_iter().for_each(|connection| stop(&connection.tcp));
    }

    /// Looks at all lanes, unless a look is under way, and ends each whose peer has acknowledged
    /// nothing for `limit`, however often data was sent again. A stalled disk there does not cause
    /// this, because its kernel still acknowledges.
    ///
    /// It looks on another thread, because a call about a socket waits while the lane's thread is
    /// in one. On a busy processor that held up the session for 43 to 87 ms (docs/benchmarks.md).
    pub fn look(&self, limit: Option<Duration>) {
        if self.0.connections.lock().is_empty() || self.0.is_looking.swap(true, Ordering::Relaxed) {
            return;
        }
        let stops = self.clone();
        drop(tokio::task::spawn_blocking(move || {
            let seen = stops.look_at(limit);
            *stops.0.seen.lock() = seen;
            stops.0.is_looking.store(false, Ordering::Relaxed);
        }));
    }

    /// What the last look has found.
    pub fn seen(&self) -> LanesSeen {
        *self.0.seen.lock()
    }

    fn look_at(&self, limit: Option<Duration>) -> LanesSeen {
        let (connections, before) = {
            let connections = self.0.connections.lock();
            (connections.values().cloned().collect::<Vec<_>>(), self.0.acknowledged_before.load(Ordering::Relaxed))
        };
        let mut seen = LanesSeen { acknowledged: before, ..LanesSeen::default() };
        let mut queueing = 0;
        for Connection { tcp, before } in &connections {
            let Ok(path) = ringway_sys::socket::tcp_path(tcp) else { continue };
            seen.acknowledged = seen.acknowledged.saturating_add(path.acknowledged.saturating_sub(*before));
            seen.since_data = seen.since_data.into_iter().chain([path.since_data]).min();
            let least = path.rtt_min.filter(|least| *least >= LONG_LINK_FOR_LANES);
            let waits = |least: Duration| path.rtt.max(path.rtt_receiving) >= least.mul_f64(QUEUEING_MIN);
            queueing += usize::from(least.is_some_and(waits));
            if limit.is_some_and(|limit| path.unanswered.is_some_and(|since| since >= limit)) {
                stop(tcp);
            }
        }
        seen.fill_the_link = queueing * 2 > connections.len();
        seen
    }

    /// Bytes that the peer's kernel has acknowledged on all lanes so far: progress that this end
    /// observes itself.
    pub fn acknowledged(&self) -> u64 {
        let connections = self.0.connections.lock();
        let now = connections.values().map(Connection::acknowledged).fold(0, u64::saturating_add);
        now.saturating_add(self.0.acknowledged_before.load(Ordering::Relaxed))
    }

    /// Ends all of them.
    pub fn stop(&self) {
        let connections = self.0.connections.lock();
        self.0.stopped.send_replace(true);
        connections.values().for_each(|connection| stop(&connection.tcp));
    }

    /// Waits until they are stopped, for code that is about to open a connection.
    pub async fn stopped(&self) {
        // Its sender lives as long as this value.
        let _ = self.0.stopped.subscribe().wait_for(|stopped| *stopped).await;
    }
}

fn acknowledged(connection: &TcpStream) -> u64 {
    ringway_sys::socket::tcp_path(connection).map_or(0, |path| path.acknowledged)
}

fn stop(connection: &TcpStream) {
    // A socket that has ended already needs no stop.
    let _ = connection.shutdown(Shutdown::Both);
}

/// Opens a lane's next connection, by its number.
type Renew = Box<dyn FnMut(u16) -> io::Result<Lane> + Send>;

/// The sending end.
pub struct Renewing {
    lane: Lane,
    connection: u16,
    records: u64,
    records_max: u64,
    renew: Renew,
    limiter: Option<(Arc<RateLimiter>, LaneClock)>,
}

impl Renewing {
    /// A lane on its first connection, which sends at most `records_max` records on each. At least
    /// a frame of the largest size, and the end, must fit.
    pub fn new(lane: Lane, records_max: u64, renew: Renew) -> Self {
        Self { lane, connection: 0, records: 0, records_max, renew, limiter: None }
    }

    /// The same with a rate limit. `clock` counts the time that it waits for the limit.
    pub fn held_to(mut self, limiter: Arc<RateLimiter>, clock: LaneClock) -> Self {
        self.limiter = Some((limiter, clock));
        self
    }

    /// Announces that nothing follows.
    pub fn close(&mut self) -> io::Result<()> {
        self.lane.close()
    }

    fn go_on(&mut self) -> io::Result<()> {
        // The receiver also counts the connection after it.
        let next = self.connection.checked_add(1).filter(|next| *next < u16::MAX);
        self.connection = next.ok_or_else(|| io::Error::other("a lane has used up its connections"))?;
        self.lane.send(&FrameHeader::RENEW.encode(), &[], &[])?;
        self.lane.close()?;
        self.lane = (self.renew)(self.connection)?;
        self.records = 0;
        Ok(())
    }
}

/// The most records of a frame, whether the kernel makes them or this process: the kernel begins a
/// new record with each call, and head and body are one call each.
fn records(len: usize) -> u64 {
    len.div_ceil(CONTENT_MAX) as u64 + 2
}

impl LaneSink for Renewing {
    fn send(&mut self, header: &[u8], head: &[u8], body: &[u8]) -> io::Result<()> {
        let needed = records(header.len() + head.len() + body.len());
        // There must still be records for announcing the next connection, and for the alert that
        // closes this one.
        let reserved = records(0) * 2;
        if self.records > 0 && self.records + needed + reserved > self.records_max {
            self.go_on()?;
        }
        self.records += needed;
        let Some((limiter, clock)) = &self.limiter else { return self.lane.send(header, head, body) };
        let mut parts = [header, head, body];
        loop {
            let piece = split_off(&mut parts, limiter.piece_len());
            limiter.draw(piece.iter().map(|part| part.len()).sum(), clock)?;
            let is_last = parts.iter().all(|part| part.is_empty());
            self.lane.send(piece[0], piece[1], piece[2])?;
            if is_last {
                return Ok(());
            }
        }
    }
}

/// If a frame takes longer than this to arrive, its pieces are reported. So a slow line shows
/// progress: this is a few ticks.
const SLOW_FRAME: Duration = Duration::from_millis(250);

/// How much of the next frame is read at once, after `bytes` bytes took that long. On a slow line
/// it is as much as arrives between two readings of the progress.
fn piece_len(bytes: usize, took: Duration) -> usize {
    if took <= SLOW_FRAME {
        return usize::MAX;
    }
    let in_a_tick = bytes as f64 * TICK.as_secs_f64() / took.as_secs_f64();
    (in_a_tick as usize / CONTENT_MAX).max(1) * CONTENT_MAX
}

/// Waits for a lane's next connection, or opens it, after the other end has announced it.
pub type Successor = Box<dyn FnMut() -> io::Result<Lane> + Send>;

/// The receiving end.
pub struct Succeeding {
    lane: Lane,
    number: u8,
    successor: Successor,
    stops: LaneStops,
    begun: Begun,
    arriving: Arriving,
    /// When the first bytes of this frame arrived.
    frame_begun: Option<Instant>,
    /// The bytes of the frame so far.
    frame_bytes: usize,
    in_body: bool,
    /// The bytes of its body so far.
    body_bytes: u64,
    /// How much is read at once.
    piece_len: usize,
}

/// Bytes of the bodies of incomplete frames that are arriving, on all lanes of a transfer together.
/// Clones belong to the same transfer.
#[derive(Clone, Default)]
pub struct Arriving(Arc<AtomicU64>);

impl Arriving {
    /// The present number.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Whether a complete frame has arrived on a lane. Clones belong to the same lane.
#[derive(Clone, Default)]
pub struct Begun(Arc<AtomicBool>);

impl Begun {
    /// Whether one has arrived.
    pub fn has(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl Succeeding {
    /// Lane `number` on its first connection. The next connections come from `successor`.
    pub fn new(lane: Lane, number: u8, successor: Successor, stops: LaneStops) -> Self {
        Self {
            lane,
            number,
            successor,
            stops,
            begun: Begun::default(),
            arriving: Arriving::default(),
            frame_begun: None,
            frame_bytes: 0,
            in_body: false,
            body_bytes: 0,
            // The first frame may be slow.
            piece_len: CONTENT_MAX,
        }
    }

    /// The same, counted together with what arrives on other lanes.
    pub fn counted_in(mut self, arriving: Arriving) -> Self {
        self.arriving = arriving;
        self
    }

    fn frame_ends(&mut self) {
        self.arriving.0.fetch_sub(std::mem::take(&mut self.body_bytes), Ordering::Relaxed);
        self.in_body = false;
    }

    /// Tells other threads whether a frame has arrived.
    pub fn begun(&self) -> Begun {
        self.begun.clone()
    }
}

impl Drop for Succeeding {
    fn drop(&mut self) {
        self.frame_ends();
    }
}

impl LaneSource for Succeeding {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let most = buf.len().min(self.piece_len);
        let read = self.lane.read(&mut buf[..most])?;
        self.frame_begun.get_or_insert_with(Instant::now);
        self.frame_bytes += read;
        if self.in_body {
            self.body_bytes += read as u64;
            self.arriving.0.fetch_add(read as u64, Ordering::Relaxed);
        }
        Ok(read)
    }

    fn body_begins(&mut self) {
        self.in_body = true;
    }

    fn frame_read(&mut self) {
        self.begun.0.store(true, Ordering::Release);
        let took = self.frame_begun.take().map_or(Duration::ZERO, |begun| begun.elapsed());
        self.piece_len = piece_len(std::mem::take(&mut self.frame_bytes), took);
        // From here on it is counted where it is written.
        self.frame_ends();
    }

    fn renew(&mut self) -> io::Result<()> {
        let next = (self.successor)()?;
        self.stops.set(self.number, &next)?;
        self.lane = next;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_line_reads_frames_in_pieces_and_a_fast_line_whole_ones() {
        for (took_ms, piece) in [(0, usize::MAX), (250, usize::MAX), (1_000, 6 * CONTENT_MAX), (60_000, CONTENT_MAX)] {
            assert_eq!(piece_len(1 << 20, Duration::from_millis(took_ms)), piece, "{took_ms} ms");
        }
    }
}
