//! If the connection of an added lane breaks before its first frame was sent, nothing is lost: the
//! transfer's other lanes send its frames.
use std::io;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use ringway_tree::bulk::LaneSink;
use ringway_wire::lane::{FrameHeader, HEADER_LEN};

/// Shared by the lanes of a sending transfer.
#[derive(Default)]
pub struct Relay {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Lanes that may have frames for others: their first frame was not sent yet, or their
    /// connection broke before that.
    untried: usize,
    /// A frame that waits for a lane to send it.
    frame: Option<Frame>,
    stopped: bool,
}

struct Frame {
    header: [u8; HEADER_LEN],
    head: Vec<u8>,
    body: Vec<u8>,
}

impl Relay {
    /// Nothing more is sent. Waiting lanes are woken at once.
    pub fn stop(&self) {
        self.state.lock().stopped = true;
        self.changed.notify_all();
    }

    /// A lane that counted as untried will leave no frames to others.
    fn tried(&self) {
        self.state.lock().untried -= 1;
        self.changed.notify_all();
    }

    /// Leaves a frame for another lane, once the previous one was taken.
    fn leave(&self, frame: Frame) -> io::Result<()> {
        let mut state = self.state.lock();
        while state.frame.is_some() && !state.stopped {
            self.changed.wait(&mut state);
        }
        if state.stopped {
            return Err(io::ErrorKind::Interrupted.into());
        }
        state.frame = Some(frame);
        self.changed.notify_all();
        Ok(())
    }

    /// The waiting frame, if there is one.
    fn take(&self) -> Option<Frame> {
        let frame = self.state.lock().frame.take()?;
        self.changed.notify_all();
        Some(frame)
    }

    /// The same, but waits as long as a frame may still come.
    fn take_last(&self) -> io::Result<Option<Frame>> {
        let mut state = self.state.lock();
        loop {
            if state.stopped {
                return Err(io::ErrorKind::Interrupted.into());
            }
            if let Some(frame) = state.frame.take() {
                self.changed.notify_all();
                return Ok(Some(frame));
            }
            if state.untried == 0 {
                return Ok(None);
            }
            self.changed.wait(&mut state);
        }
    }
}

/// A lane's share in the work of its transfer.
///
/// A lane ends only when no other lane can have frames for it any more. So there is a lane for each
/// frame that is left: while an untried lane took its work, a lane that is not untried was also at
/// work.
pub struct Share {
    relay: Arc<Relay>,
    standing: Standing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// The transfer depends on the lane, or the lane has sent a frame. If it breaks, the transfer
    /// ends, because frames may be lost.
    Needed,
    /// The lane was added, and has not sent a frame yet.
    Untried,
    /// The lane broke before its first frame.
    Broken,
}

impl Share {
    /// The share of a lane that is needed.
    pub fn needed(relay: Arc<Relay>) -> Self {
        Self { relay, standing: Standing::Needed }
    }

    /// The share of a lane that was added while others are at work.
    pub fn added(relay: Arc<Relay>) -> Self {
        relay.state.lock().untried += 1;
        Self { relay, standing: Standing::Untried }
    }

    /// Whether this lane has sent nothing, so that the receiver waits for nothing.
    pub(super) fn is_unused(&self) -> bool {
        self.standing != Standing::Needed
    }

    /// Whether the lane takes no more work.
    pub(super) fn is_spent(&self) -> bool {
        self.standing == Standing::Broken
    }

    /// Sends a frame over the lane's own connection `to`, after frames that others have left. A
    /// lane that broke at its beginning leaves the frame to the others.
    pub(super) fn send(&mut self, to: &mut impl LaneSink, header: &[u8], head: &[u8], body: &[u8]) -> io::Result<()> {
        let is_end = header == FrameHeader::END.encode();
        match self.standing {
            Standing::Needed => {
                while let Some(frame) = if is_end { self.relay.take_last()? } else { self.relay.take() } {
                    to.send(&frame.header, &frame.head, &frame.body)?;
                }
                to.send(header, head, body)
            }
            Standing::Untried if to.send(header, head, body).is_ok() => {
                self.standing = Standing::Needed;
                self.relay.tried();
                Ok(())
            }
            // Only a part of the frame has arrived, so the receiver discards it.
            Standing::Untried | Standing::Broken => {
                self.standing = Standing::Broken;
                if is_end {
                    return Ok(());
                }
                let header = header.try_into().map_err(|_| io::ErrorKind::InvalidInput)?;
                self.relay.leave(Frame { header, head: head.to_vec(), body: body.to_vec() })
            }
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.is_unused() {
            self.relay.tried();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::time::Duration;

    use ringway_wire::lane::FrameKind;

    use super::super::SendingLane;
    use super::super::tests::sending;
    use super::*;
    use crate::bottleneck::LaneClock;

    /// Records what it was told to send, by the first byte of the body; the end is 0.
    struct Line(Option<Sender<u8>>);

    impl LaneSink for Line {
        fn send(&mut self, _: &[u8], _: &[u8], body: &[u8]) -> io::Result<()> {
            let to = self.0.as_ref().ok_or(io::ErrorKind::ConnectionReset)?;
            to.send(body.first().copied().unwrap_or_default()).map_err(|_| io::ErrorKind::BrokenPipe.into())
        }
    }

    fn needed_lane(line: Line, relay: Arc<Relay>) -> SendingLane<Line> {
        sending(line, Share::needed(relay), LaneClock::default())
    }

    fn added_lane(line: Line, relay: Arc<Relay>) -> SendingLane<Line> {
        sending(line, Share::added(relay), LaneClock::default())
    }

    fn batch(number: u8) -> ([u8; HEADER_LEN], [u8; 1]) {
        let header = FrameHeader { kind: FrameKind::Batch, items: 1, head_len: 0, body_len: 1, packed_len: 0 };
        (header.encode(), [number])
    }

    fn send(lane: &mut SendingLane<Line>, number: u8) -> io::Result<()> {
        let (header, body) = batch(number);
        lane.send(&header, &[], &body)
    }

    fn end(lane: &mut SendingLane<Line>) -> io::Result<()> {
        lane.send(&FrameHeader::END.encode(), &[], &[])
    }

    #[test]
    fn an_added_lane_that_breaks_at_once_leaves_its_frames_to_the_others() {
        let relay = Arc::new(Relay::default());
        let (line, came) = channel();
        let mut needed = needed_lane(Line(Some(line)), relay.clone());
        let mut added = added_lane(Line(None), relay);
        send(&mut needed, 1).unwrap();
        let needed = std::thread::spawn(move || end(&mut needed));
        // It waits for frames that may be left to it.
        assert_eq!(came.recv_timeout(Duration::from_secs(10)), Ok(1));
        assert!(came.recv_timeout(Duration::from_millis(50)).is_err());
        assert!(!added.is_spent());
        send(&mut added, 2).unwrap();
        assert!(added.is_spent() && added.is_unused());
        send(&mut added, 3).unwrap();
        end(&mut added).unwrap();
        drop(added);
        needed.join().unwrap().unwrap();
        assert_eq!(came.iter().collect::<Vec<_>>(), [2, 3, 0]);
    }

    #[test]
    fn an_added_lane_is_like_any_other_after_its_first_frame() {
        let relay = Arc::new(Relay::default());
        let (line, came) = channel();
        let mut added = added_lane(Line(Some(line)), relay.clone());
        assert!(added.is_unused());
        send(&mut added, 1).unwrap();
        assert!(!added.is_unused());
        // No lane waits for it any more.
        let (other, others) = channel();
        end(&mut needed_lane(Line(Some(other)), relay)).unwrap();
        assert_eq!(others.recv(), Ok(0));
        drop(came);
        assert_eq!(send(&mut added, 2).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert!(!added.is_spent());
    }

    #[test]
    fn an_unused_lane_delays_no_other_lane() {
        let relay = Arc::new(Relay::default());
        drop(added_lane(Line(None), relay.clone()));
        let (line, came) = channel();
        end(&mut needed_lane(Line(Some(line)), relay)).unwrap();
        assert_eq!(came.recv(), Ok(0));
    }

    #[test]
    fn waiting_lanes_fail_at_once_when_stopped() {
        let relay = Arc::new(Relay::default());
        let mut added = added_lane(Line(None), relay.clone());
        send(&mut added, 1).unwrap();
        // There is space for one.
        let leaving = std::thread::spawn(move || send(&mut added, 2));
        std::thread::sleep(Duration::from_millis(20));
        relay.stop();
        assert_eq!(leaving.join().unwrap().unwrap_err().kind(), io::ErrorKind::Interrupted);
        let (line, _came) = channel();
        let ended = end(&mut needed_lane(Line(Some(line)), relay));
        assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::Interrupted);
    }
}
