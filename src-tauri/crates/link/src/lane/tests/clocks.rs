//! The clocks of lanes over connections that sleep and spin.
use std::io;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use ringway_tree::bulk::{LaneSink, LaneSource};
use ringway_wire::control::Micros;

use super::sending;
use crate::bottleneck::{Clocks, processor_time};
use crate::lane::{ReceivingLane, Share};

const SHORT: Duration = Duration::from_millis(30);

/// A lane that keeps its thread busy, or lets it wait.
struct Line {
    busy: Duration,
    waits: Duration,
}

impl Line {
    fn work(&self) {
        let until = processor_time() + self.busy;
        while processor_time() < until {}
        std::thread::sleep(self.waits);
    }
}

impl LaneSink for Line {
    fn send(&mut self, _header: &[u8], _head: &[u8], _body: &[u8]) -> io::Result<()> {
        self.work();
        Ok(())
    }
}

impl LaneSource for Line {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.work();
        Ok(buf.len())
    }
}

fn secs(time: Micros) -> Duration {
    time.into()
}

#[test]
fn a_senders_time_is_counted_by_activity() {
    let clocks = Clocks::default();
    let mut lane = sending(Line { busy: SHORT, waits: SHORT * 2 }, Share::needed(Arc::default()), clocks.lane());
    lane.idle(true);
    std::thread::sleep(SHORT * 3);
    lane.idle(false);
    std::thread::sleep(SHORT);
    lane.send(&[], &[], &[]).unwrap();
    drop(lane);
    let times = clocks.of_sender();
    assert!(secs(times.finding) >= SHORT * 3, "{times:?}");
    assert!(secs(times.reading) >= SHORT, "{times:?}");
    // The clock was read just before the lane began to spin, and just after that.
    assert!(secs(times.encrypting) >= SHORT, "{times:?}");
    assert!(secs(times.sending) >= SHORT * 2, "{times:?}");
    assert_eq!(secs(times.limited), Duration::ZERO);
    std::thread::sleep(SHORT);
    assert_eq!(clocks.of_sender(), times, "a lane that has ended spends no time");
}

#[test]
fn lanes_are_summed_and_a_receivers_own_time_is_writing() {
    let clocks = Clocks::default();
    let lanes: Vec<_> = (0..3)
        .map(|_| {
            let mut lane = ReceivingLane::new(Line { busy: Duration::ZERO, waits: SHORT }, clocks.lane());
            std::thread::spawn(move || {
                lane.read(&mut [0; 16]).unwrap();
                lane.read(&mut [0; 16]).unwrap();
                lane.frame_read();
                std::thread::sleep(SHORT);
            })
        })
        .collect();
    lanes.into_iter().for_each(|lane| lane.join().unwrap());
    let times = clocks.of_receiver();
    assert!(secs(times.receiving) >= SHORT * 6 && secs(times.writing) >= SHORT * 3, "{times:?}");
}

#[test]
fn a_call_that_does_not_return_counts_while_it_lasts() {
    struct Stuck(mpsc::Receiver<()>);
    impl LaneSink for Stuck {
        fn send(&mut self, _header: &[u8], _head: &[u8], _body: &[u8]) -> io::Result<()> {
            self.0.recv().map_err(io::Error::other)
        }
    }
    let clocks = Clocks::default();
    let (go_on, stuck) = mpsc::channel();
    let mut lane = sending(Stuck(stuck), Share::needed(Arc::default()), clocks.lane());
    let thread = std::thread::spawn(move || lane.send(&[], &[], &[]));
    while secs(clocks.of_sender().sending) < SHORT {
        std::thread::sleep(Duration::from_millis(1));
    }
    go_on.send(()).unwrap();
    thread.join().unwrap().unwrap();
    assert!(secs(clocks.of_sender().sending) >= SHORT);
}
