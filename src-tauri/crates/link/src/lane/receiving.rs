//! The receiving end of a lane: its connection, and its clock. Between frames, the lane's thread
//! works on files.
use std::io;

use ringway_tree::bulk::LaneSource;

use super::Succeeding;
use crate::bottleneck::{Activity, LaneClock};

/// A lane that receives.
pub struct ReceivingLane<C = Succeeding> {
    connection: C,
    clock: LaneClock,
    /// Whether a frame is being read.
    reading: bool,
}

impl<C> ReceivingLane<C> {
    /// A lane over `connection`. Its clock begins with the first call.
    pub fn new(connection: C, clock: LaneClock) -> Self {
        Self { connection, clock, reading: false }
    }
}

impl<C> Drop for ReceivingLane<C> {
    fn drop(&mut self) {
        self.clock.stop();
    }
}

impl<C: LaneSource> LaneSource for ReceivingLane<C> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if !std::mem::replace(&mut self.reading, true) {
            self.clock.enter(Activity::Wire);
        }
        self.connection.read(buf)
    }

    fn body_begins(&mut self) {
        self.connection.body_begins();
    }

    fn frame_read(&mut self) {
        self.reading = false;
        self.clock.enter(Activity::Files);
        self.connection.frame_read();
    }

    fn renew(&mut self) -> io::Result<()> {
        // Waiting for the next connection is waiting for the network.
        self.reading = true;
        self.clock.enter(Activity::Wire);
        self.connection.renew()
    }
}
