//! Which devices something is received from at the same time.
use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use ringway_model::DeviceId;

/// All that this program receives. One entry for each device, and devices are paired before
/// anything is received from them.
#[derive(Default)]
pub(crate) struct Receptions {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    begun: u64,
    from: HashMap<DeviceId, From>,
}

#[derive(Default)]
struct From {
    running: usize,
    /// The number of the last one that began.
    last: u64,
}

/// One that runs, until it is dropped.
pub(crate) struct Reception {
    all: Arc<Receptions>,
    device: DeviceId,
    number: u64,
    /// Nothing was received from another device when it began.
    began_alone: bool,
}

impl Receptions {
    /// Begins to receive from a device.
    pub(crate) fn begin(self: &Arc<Self>, device: DeviceId) -> Reception {
        let mut state = self.state.lock();
        state.begun += 1;
        let number = state.begun;
        let began_alone = state.from.iter().all(|(other, from)| *other == device || from.running == 0);
        let from = state.from.entry(device).or_default();
        from.running += 1;
        from.last = number;
        Reception { all: Arc::clone(self), device, number, began_alone }
    }
}

impl Reception {
    /// Whether nothing was received from any other device since it began.
    pub(crate) fn is_alone(&self) -> bool {
        let state = self.all.state.lock();
        let is_earlier = |(device, from): (&DeviceId, &From)| *device == self.device || from.last < self.number;
        self.began_alone && state.from.iter().all(is_earlier)
    }
}

impl Drop for Reception {
    fn drop(&mut self) {
        if let Some(from) = self.all.state.lock().from.get_mut(&self.device) {
            from.running -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_alone_only_where_nothing_came_from_another_device_since_it_began() {
        let all = Arc::new(Receptions::default());
        let [laptop, phone] = [1, 2].map(|byte| DeviceId([byte; 32]));
        let first = all.begin(laptop);
        let beside = all.begin(laptop);
        assert!(first.is_alone() && beside.is_alone(), "both are of one device");
        let other = all.begin(phone);
        assert!(!first.is_alone() && !other.is_alone());
        drop((first, beside));
        assert!(!other.is_alone(), "they ran while it did");
        let later = all.begin(laptop);
        assert!(!later.is_alone());
        drop(other);
        assert!(!later.is_alone());
        drop(later);
        assert!(all.begin(laptop).is_alone());
    }
}
