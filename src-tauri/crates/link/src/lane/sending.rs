//! The sending end of a lane. A frame passes through compression, the share in the relay, and the
//! connection. The clock takes the time.
use std::io;

use ringway_tree::bulk::LaneSink;
use ringway_tree::compression::Packing;

use super::{Renewing, Share};
use crate::bottleneck::{Activity, LaneClock};

/// A lane that sends.
pub struct SendingLane<C = Renewing> {
    packing: Packing,
    share: Share,
    connection: C,
    clock: LaneClock,
}

impl<C> SendingLane<C> {
    /// A lane over `connection`. Its clock begins with the first call.
    pub fn new(connection: C, share: Share, packing: Packing, clock: LaneClock) -> Self {
        Self { packing, share, connection, clock }
    }

    /// Whether this lane has sent nothing, so that the receiver waits for nothing.
    pub fn is_unused(&self) -> bool {
        self.share.is_unused()
    }
}

impl SendingLane {
    /// Announces that nothing follows.
    ///
    /// # Errors
    /// The error of sending that.
    pub fn close(&mut self) -> io::Result<()> {
        self.connection.close()
    }
}

impl<C> Drop for SendingLane<C> {
    fn drop(&mut self) {
        self.clock.stop();
    }
}

impl<C: LaneSink> LaneSink for SendingLane<C> {
    fn send(&mut self, header: &[u8], head: &[u8], body: &[u8]) -> io::Result<()> {
        self.clock.enter(Activity::Wire);
        let mut shared = Shared { share: &mut self.share, connection: &mut self.connection };
        let sent = self.packing.send(&mut shared, header, head, body);
        self.clock.enter(Activity::Files);
        sent
    }

    fn idle(&mut self, idle: bool) {
        self.clock.enter(if idle { Activity::Finding } else { Activity::Files });
    }

    fn asks(&mut self, asks: bool) {
        self.clock.enter(if asks { Activity::Wire } else { Activity::Files });
        self.packing.idled();
    }

    fn is_spent(&self) -> bool {
        self.share.is_spent()
    }
}

/// Where compressed frames go: to this lane, or to another one in its place.
struct Shared<'l, C> {
    share: &'l mut Share,
    connection: &'l mut C,
}

impl<C: LaneSink> LaneSink for Shared<'_, C> {
    fn send(&mut self, header: &[u8], head: &[u8], body: &[u8]) -> io::Result<()> {
        self.share.send(self.connection, header, head, body)
    }
}
