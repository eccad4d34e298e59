//! Whether comparing a large file that has changed with the receiver's version is worth it, which
//! is so if sending it takes longer.
use std::time::Duration;

use parking_lot::Mutex;
use ringway_model::Delta;

/// From this rate of the line on, sending a file whole is faster than comparing it, at both ends on
/// two cores (measured, docs/design/measuring.md).
const SLOW_BYTES_PER_S: f64 = 400e6;

/// After this many bytes or this much time of sending, the line's rate is known. Before, the
/// sockets' buffers take the first megabytes at once.
const KNOWN_BYTES: u64 = 16 * 1024 * 1024;
const KNOWN_AFTER: Duration = Duration::from_millis(250);

/// Beyond this many bytes, past sending is weighted by half.
const PAST_BYTES: u64 = 8 * KNOWN_BYTES;

/// The line's rate, and the decision by it.
#[derive(Debug, Default)]
pub(in crate::send) struct Worth(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    delta: Delta,
    bytes: u64,
    /// The sum over all lanes.
    sending: Duration,
}

impl Worth {
    /// Sets when files are compared.
    pub(in crate::send) fn choose(&self, delta: Delta) {
        self.0.lock().delta = delta;
    }

    /// Whether comparing is not turned off.
    pub(in crate::send) fn may_compare(&self) -> bool {
        self.0.lock().delta != Delta::Off
    }

    /// Adds bytes that were sent on a lane's connection in that time.
    pub(in crate::send) fn sent(&self, bytes: usize, took: Duration) {
        let mut state = self.0.lock();
        state.bytes += bytes as u64;
        state.sending += took;
        if state.bytes > PAST_BYTES {
            state.bytes /= 2;
            state.sending /= 2;
        }
    }

    /// Whether comparing is worth it with this many lanes; `None` as long as the line's rate is not
    /// known.
    pub(in crate::send) fn is_worth_it(&self, lanes: u64) -> Option<bool> {
        let state = self.0.lock();
        match state.delta {
            Delta::On => Some(true),
            Delta::Off => Some(false),
            Delta::Auto if state.bytes < KNOWN_BYTES && state.sending < KNOWN_AFTER => None,
            Delta::Auto => {
                let lane = state.bytes as f64 / state.sending.as_secs_f64().max(f64::MIN_POSITIVE);
                Some(lane * (lanes.max(1) as f64) < SLOW_BYTES_PER_S)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1024 * 1024;

    #[test]
    fn only_a_slow_line_is_worth_comparing_for() {
        let (slow, fast) = (Worth::default(), Worth::default());
        assert_eq!(slow.is_worth_it(1), None);
        // Bytes that the buffers take at once prove nothing.
        slow.sent(4 * MIB, Duration::from_millis(1));
        assert_eq!(slow.is_worth_it(1), None);
        slow.sent(4 * MIB, Duration::from_millis(300));
        assert_eq!(slow.is_worth_it(1), Some(true));
        // This many lanes together are as fast as one fast lane.
        assert_eq!(slow.is_worth_it(16), Some(false));
        (0..16).for_each(|_| fast.sent(MIB, Duration::from_millis(1)));
        assert_eq!(fast.is_worth_it(1), Some(false));
        // The line becomes slow, and that is noticed.
        (0..200).for_each(|_| fast.sent(MIB, Duration::from_millis(10)));
        assert_eq!(fast.is_worth_it(1), Some(true));
    }

    #[test]
    fn an_explicit_choice_holds_on_every_line() {
        let worth = Worth::default();
        worth.choose(Delta::On);
        assert_eq!(worth.is_worth_it(1), Some(true));
        worth.choose(Delta::Off);
        worth.sent(64 * MIB, Duration::from_secs(60));
        assert_eq!(worth.is_worth_it(1), Some(false));
    }
}
