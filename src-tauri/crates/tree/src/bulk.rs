//! What carries a lane's bytes. Sender and receiver write and read frames by these traits, which
//! connections implement.
use std::io;

/// Where a lane's bytes go. One call a frame; head and body are separate so nothing is copied
/// together.
pub trait LaneSink {
    /// Sends one frame.
    fn send(&mut self, header: &[u8], head: &[u8], body: &[u8]) -> io::Result<()>;

    /// Told before the lane waits for the walk, and after: for who takes the time.
    fn idle(&mut self, _idle: bool) {}

    /// Told before the lane waits for an answer of the receiver, and after.
    fn asks(&mut self, asks: bool) {
        self.idle(asks);
    }

    /// Whether the lane is to take no more work. What it has begun still goes this way.
    fn is_spent(&self) -> bool {
        false
    }
}

/// A lane's bytes in order; 0 means the end.
pub trait LaneSource {
    /// Reads some bytes, at least one unless `buf` is empty or the lane has ended. `buf` is no
    /// longer than what the peer has announced, so that the implementation may wait for all of it.
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize>;

    /// Told before a frame's body is read: for who counts what comes.
    fn body_begins(&mut self) {}

    /// Told when a frame has been read whole: for who takes the time.
    fn frame_read(&mut self) {}

    /// Goes on with the lane's next connection, as a frame has said. Lanes that have but one
    /// refuse.
    fn renew(&mut self) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::InvalidData, "a lane that cannot be renewed"))
    }
}
