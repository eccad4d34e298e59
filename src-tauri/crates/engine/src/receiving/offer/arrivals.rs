//! The names of offers that still arrive: how much of them there may be, and whose list gives way.
use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use ringway_model::DeviceId;
use tokio::sync::oneshot;

use crate::limits::{NAMES_ARRIVING_BYTES_MAX, NAMES_ARRIVING_OF_ONE_BYTES_MAX};

/// The lists of one listener that have begun to arrive and are counted nowhere else yet.
#[derive(Default)]
pub(crate) struct Arrivals(Arc<Mutex<Arriving>>);

#[derive(Default)]
struct Arriving {
    lists: HashMap<u64, List>,
    /// The number of the next one.
    next: u64,
}

struct List {
    device: DeviceId,
    bytes: usize,
    /// Tells its session to end; none once the list is whole.
    leave: Option<oneshot::Sender<()>>,
}

/// One list, until it is dropped.
pub(crate) struct Arrival {
    all: Arc<Mutex<Arriving>>,
    number: u64,
    told_to_leave: oneshot::Receiver<()>,
}

impl Arrivals {
    /// A list of `device`, of which nothing is counted yet.
    pub(crate) fn begin(&self, device: DeviceId) -> Arrival {
        let (leave, told_to_leave) = oneshot::channel();
        let mut arriving = self.0.lock();
        let number = arriving.next;
        arriving.next += 1;
        arriving.lists.insert(number, List { device, bytes: 0, leave: Some(leave) });
        Arrival { all: Arc::clone(&self.0), number, told_to_leave }
    }
}

impl Arrival {
    /// Counts the list as so many bytes. False if they do not fit, or if the list has given way to
    /// another one: its session is to end.
    pub(crate) fn holds(&self, bytes: usize) -> bool {
        self.all.lock().hold(self.number, bytes)
    }

    /// The same for the last page: from now on the list gives way to no other.
    pub(crate) fn is_whole(&self, bytes: usize) -> bool {
        let mut all = self.all.lock();
        let holds = all.hold(self.number, bytes);
        if let Some(list) = all.lists.get_mut(&self.number) {
            list.leave = None;
        }
        holds
    }

    /// Resolves when the list has to give way.
    pub(crate) async fn told_to_leave(&mut self) {
        if (&mut self.told_to_leave).await.is_err() {
            // It is whole.
            std::future::pending().await
        }
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        self.all.lock().lists.remove(&self.number);
    }
}

impl Arriving {
    fn hold(&mut self, number: u64, bytes: usize) -> bool {
        let Some(&List { device, bytes: before, .. }) = self.lists.get(&number) else { return false };
        let more = bytes.saturating_sub(before);
        let of_device = self.of(device) + more;
        if of_device > NAMES_ARRIVING_OF_ONE_BYTES_MAX {
            return false;
        }
        while self.lists.values().map(|list| list.bytes).sum::<usize>() + more > NAMES_ARRIVING_BYTES_MAX {
            if !self.make_room(of_device) {
                return false;
            }
        }
        if let Some(list) = self.lists.get_mut(&number) {
            list.bytes = bytes;
        }
        true
    }

    fn of(&self, device: DeviceId) -> usize {
        self.lists.values().filter(|list| list.device == device).map(|list| list.bytes).sum()
    }

    /// Ends the longest list of the device that holds most, if that is more than `of_device` bytes.
    fn make_room(&mut self, of_device: usize) -> bool {
        let weight = |list: &List| (self.of(list.device), list.bytes);
        let unfinished = self.lists.iter().filter(|(_, list)| list.leave.is_some() && list.bytes > 0);
        let most = unfinished.map(|(number, list)| (weight(list), *number)).max();
        let Some((_, number)) = most.filter(|((holds, _), _)| *holds > of_device) else { return false };
        if let Some(leave) = self.lists.remove(&number).and_then(|list| list.leave) {
            // Its session may be ending by itself.
            let _ = leave.send(());
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(number: u8) -> DeviceId {
        DeviceId([number; 32])
    }

    fn held(arrivals: &Arrivals) -> usize {
        arrivals.0.lock().lists.values().map(|list| list.bytes).sum()
    }

    fn has_left(arrival: &mut Arrival) -> bool {
        arrival.told_to_leave.try_recv().is_ok()
    }

    #[test]
    fn one_device_has_half_of_the_bytes_and_no_more() {
        let arrivals = Arrivals::default();
        let lists: Vec<_> = (0..32).map(|_| arrivals.begin(device(1))).collect();
        let each = NAMES_ARRIVING_OF_ONE_BYTES_MAX / 8;
        assert_eq!(lists.iter().filter(|list| list.holds(each)).count(), 8);
        assert_eq!(held(&arrivals), NAMES_ARRIVING_OF_ONE_BYTES_MAX);
        drop(lists);
        assert!(arrivals.begin(device(1)).holds(each) && held(&arrivals) == 0);
    }

    #[test]
    fn list_gives_way_to_a_device_that_holds_less() {
        let arrivals = Arrivals::default();
        let mut greedy = [1, 2].map(|number| arrivals.begin(device(number)));
        assert!(greedy.iter().all(|list| list.holds(NAMES_ARRIVING_OF_ONE_BYTES_MAX)));
        let modest = arrivals.begin(device(3));
        assert!(modest.holds(1_000_000) && modest.holds(2_000_000));
        assert_eq!(greedy.iter_mut().map(|list| u8::from(has_left(list))).sum::<u8>(), 1);
        assert!(held(&arrivals) <= NAMES_ARRIVING_BYTES_MAX);
        // What has given way holds nothing from then on.
        assert_eq!(greedy.iter().filter(|list| list.holds(1)).count(), 1);
    }

    #[test]
    fn list_gives_way_neither_to_its_equals_nor_once_it_is_whole() {
        let arrivals = Arrivals::default();
        let mut lists: Vec<_> = (0..4).map(|number| arrivals.begin(device(number))).collect();
        let each = NAMES_ARRIVING_BYTES_MAX / 4;
        assert!(lists.iter().all(|list| list.holds(each)));
        assert!(!lists[0].holds(each + 1) && !lists.iter_mut().any(has_left), "none holds more than it does");
        assert!(lists.iter().all(|list| list.is_whole(each)));
        assert!(!arrivals.begin(device(9)).holds(1) && !lists.iter_mut().any(has_left));
    }

    #[test]
    fn one_that_would_hold_too_much_leaves_room_for_the_others_of_its_device() {
        let arrivals = Arrivals::default();
        let mut lists: Vec<_> = (0..8).map(|_| arrivals.begin(device(1))).collect();
        let page = 32 << 10;
        let longest = 6 << 20;
        // All of them arrive at once, a page of each in turn; those that find no room are over.
        let mut whole = 0;
        for bytes in (page..=longest).step_by(page) {
            lists.retain(|list| list.holds(bytes));
            whole = lists.len();
        }
        assert!(whole >= 1, "some arrive");
    }
}
