//! Limits the bytes a second of all lanes of a transfer together.
use std::io;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use ringway_model::RateLimit;
use ringway_wire::record::CONTENT_MAX;

use crate::bottleneck::{Activity, LaneClock};

/// Sending that was missed for up to this long may be made up for: enough for a thread that wakes
/// late, too little for the line to notice.
const BURST: Duration = Duration::from_millis(100);

/// Frames are sent in this many pieces a second, if whole records in such pieces fit the limit.
const PIECES_PER_S: u64 = 20;

/// The longest piece. No frame is longer.
const PIECE_MAX: usize = 4 * 1024 * 1024;

/// A token bucket from which all lanes of a transfer draw. Each draws the bytes that it is about to
/// send, and waits until the bucket has refilled for the bytes drawn before.
pub struct RateLimiter {
    limit: RateLimit,
    drawn: Mutex<Drawn>,
    stopped: Condvar,
}

struct Drawn {
    /// When the bucket has refilled for everything that was drawn.
    paid_at: Instant,
    stopped: bool,
}

impl RateLimiter {
    /// Nothing is drawn yet.
    pub fn new(limit: RateLimit) -> Self {
        Self { limit, drawn: Mutex::new(Drawn { paid_at: Instant::now(), stopped: false }), stopped: Condvar::new() }
    }

    /// Bytes to send between two waits: whole records, so that sending in pieces does not make more
    /// of them.
    pub fn piece_len(&self) -> usize {
        let wanted = usize::try_from(self.limit.bytes_per_s() / PIECES_PER_S).unwrap_or(PIECE_MAX);
        (wanted.min(PIECE_MAX) / CONTENT_MAX).max(1) * CONTENT_MAX
    }

    /// Draws `len` bytes and waits until they may be sent; `clock` counts the wait. Fails once the
    /// limiter is stopped.
    pub fn draw(&self, len: usize, clock: &LaneClock) -> io::Result<()> {
        let mut drawn = self.drawn.lock();
        let now = Instant::now();
        // If the clock has just begun, there is no missed time to make up for.
        let due = now.checked_sub(BURST).map_or(drawn.paid_at, |from| drawn.paid_at.max(from));
        drawn.paid_at = due + self.cost(len);
        if due > now && !drawn.stopped {
            clock.enter(Activity::Limited);
            loop {
                let left = due.saturating_duration_since(Instant::now());
                if left.is_zero() || drawn.stopped {
                    break;
                }
                self.stopped.wait_for(&mut drawn, left);
            }
            clock.enter(Activity::Wire);
        }
        if drawn.stopped { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
    }

    fn cost(&self, len: usize) -> Duration {
        let nanos = len as u128 * 1_000_000_000 / u128::from(self.limit.bytes_per_s());
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Nothing more is sent. Waiting lanes are woken at once.
    pub fn stop(&self) {
        self.drawn.lock().stopped = true;
        self.stopped.notify_all();
    }
}

/// Takes the next `len` bytes off the parts of a frame.
pub fn split_off<'b>(parts: &mut [&'b [u8]; 3], mut len: usize) -> [&'b [u8]; 3] {
    std::array::from_fn(|part| {
        let (piece, rest) = parts[part].split_at(parts[part].len().min(len));
        parts[part] = rest;
        len -= piece.len();
        piece
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn limiter(bytes_per_s: u64) -> RateLimiter {
        RateLimiter::new(RateLimit::new(bytes_per_s).unwrap())
    }

    /// Time that `lanes` threads take to draw `pieces` of `len` bytes each.
    fn drawing(limiter: &Arc<RateLimiter>, lanes: usize, pieces: usize, len: usize) -> Duration {
        let begun = Instant::now();
        let lanes: Vec<_> = (0..lanes)
            .map(|_| {
                let limiter = Arc::clone(limiter);
                std::thread::spawn(move || (0..pieces).for_each(|_| limiter.draw(len, &LaneClock::default()).unwrap()))
            })
            .collect();
        lanes.into_iter().for_each(|lane| lane.join().unwrap());
        begun.elapsed()
    }

    #[test]
    fn no_number_of_lanes_draws_faster_than_the_limit() {
        for lanes in [1, 3] {
            let limiter = Arc::new(limiter(1_000_000));
            let took = drawing(&limiter, lanes, 60 / lanes, 10_000);
            // The first piece is sent at once, and a burst's worth did not have to be waited for.
            let least = Duration::from_millis(590).saturating_sub(BURST);
            assert!(took >= least, "{lanes} lanes: {took:?}");
        }
    }

    #[test]
    fn unused_rate_is_not_saved_up() {
        let limiter = Arc::new(limiter(1_000_000));
        std::thread::sleep(Duration::from_millis(300));
        let took = drawing(&limiter, 1, 31, 10_000);
        assert!(took >= Duration::from_millis(300) - BURST, "{took:?}");
    }

    #[test]
    fn waiting_lanes_fail_at_once_when_stopped() {
        let limiter = Arc::new(limiter(RateLimit::BYTES_PER_S_MIN));
        let clock = LaneClock::default();
        limiter.draw(1 << 20, &clock).unwrap();
        let waiting = {
            let limiter = Arc::clone(&limiter);
            std::thread::spawn(move || limiter.draw(1, &LaneClock::default()))
        };
        std::thread::sleep(Duration::from_millis(20));
        limiter.stop();
        // The wait would take a thousand seconds, longer than this test.
        assert_eq!(waiting.join().unwrap().unwrap_err().kind(), io::ErrorKind::Interrupted);
        assert!(limiter.draw(1, &clock).is_err());
    }

    #[test]
    fn pieces_are_whole_records_and_add_up_to_the_frame() {
        for (limit, piece_len) in [(1_000, CONTENT_MAX), (1_000_000, 3 * CONTENT_MAX), (u64::MAX >> 1, PIECE_MAX)] {
            assert_eq!(limiter(limit.min(RateLimit::BYTES_PER_S_MAX)).piece_len(), piece_len, "{limit}");
        }
        let frame: Vec<u8> = (0..=255).collect();
        for len in [1, 7, 100, 255, 256, 300] {
            let mut parts = [&frame[..16], &frame[16..16], &frame[16..]];
            let mut whole = Vec::new();
            while parts.iter().any(|part| !part.is_empty()) {
                let piece = split_off(&mut parts, len).concat();
                assert!(piece.len() == len || parts.iter().all(|part| part.is_empty()));
                whole.extend(piece);
            }
            assert_eq!(whole, frame, "{len}");
        }
    }
}
