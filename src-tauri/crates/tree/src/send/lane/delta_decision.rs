//! Whether a large file that has changed is worth comparing with what the receiver has of it: where
//! the line takes longer than that.
use std::time::Duration;

use parking_lot::Mutex;
use ringway_model::Delta;

/// Bytes a second of a line from which on a file is sent whole sooner than it is compared, at both
/// ends on two cores (measured, docs/design/measuring.md).
const SLOW_BYTES_PER_S: f64 = 400e6;

/// What has to be sent, or the time that has to be spent with it, before the line is known: the
/// sockets' buffers take the first megabytes at once.
const KNOWN_BYTES: u64 = 16 * 1024 * 1024;
const KNOWN_AFTER: Duration = Duration::from_millis(250);

/// Beyond so much, what was counts half of what is.
const PAST_BYTES: u64 = 8 * KNOWN_BYTES;

/// How fast the line is, and what is made of it.
#[derive(Debug, Default)]
pub(in crate::send) struct Worth(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    delta: Delta,
    bytes: u64,
    /// Of all lanes together.
    sending: Duration,
}

impl Worth {
    /// When files are compared.
    pub(in crate::send) fn choose(&self, delta: Delta) {
        self.0.lock().delta = delta;
    }

    /// Whether nobody has said that nothing is compared.
    pub(in crate::send) fn may_compare(&self) -> bool {
        self.0.lock().delta != Delta::Off
    }

    /// So much went to a lane's connection in that time.
    pub(in crate::send) fn sent(&self, bytes: usize, took: Duration) {
        let mut state = self.0.lock();
        state.bytes += bytes as u64;
        state.sending += took;
        if state.bytes > PAST_BYTES {
            state.bytes /= 2;
            state.sending /= 2;
        }
    }

    /// Whether comparing is worth it with so many lanes; none as long as the line is not known.
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
        // What the buffers take at once proves nothing.
        slow.sent(4 * MIB, Duration::from_millis(1));
        assert_eq!(slow.is_worth_it(1), None);
        slow.sent(4 * MIB, Duration::from_millis(300));
        assert_eq!(slow.is_worth_it(1), Some(true));
        // As many lanes as that together are as fast as a fast one.
        assert_eq!(slow.is_worth_it(16), Some(false));
        (0..16).for_each(|_| fast.sent(MIB, Duration::from_millis(1)));
        assert_eq!(fast.is_worth_it(1), Some(false));
        // It gets slow, and that is noticed.
        (0..200).for_each(|_| fast.sent(MIB, Duration::from_millis(10)));
        assert_eq!(fast.is_worth_it(1), Some(true));
    }

    #[test]
    fn what_was_chosen_holds_on_every_line() {
        let worth = Worth::default();
        worth.choose(Delta::On);
        assert_eq!(worth.is_worth_it(1), Some(true));
        worth.choose(Delta::Off);
        worth.sent(64 * MIB, Duration::from_secs(60));
        assert_eq!(worth.is_worth_it(1), Some(false));
    }
}
