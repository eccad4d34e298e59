//! One lane of the receiver on a thread of its own, which runs only while its feeder waits.
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use ringway_sys::file_io::{FileIo, IoMode};
use ringway_tree::bulk::LaneSource;
use ringway_tree::receive::{Incoming, LaneError};

/// What a lane says before it waits.
enum Said {
    Hungry,
    Ended(Result<(), LaneError>),
}

pub(crate) struct Lane {
    bytes: Option<Sender<Option<Vec<u8>>>>,
    said: Receiver<Said>,
    thread: Option<JoinHandle<()>>,
    pub(crate) ended: Option<Result<(), LaneError>>,
}

/// What the lane reads from.
struct Feed {
    bytes: Receiver<Option<Vec<u8>>>,
    say: Sender<Said>,
    left: Vec<u8>,
    at: usize,
    has_ended: bool,
}

impl LaneSource for Feed {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while self.at == self.left.len() && !self.has_ended && !buf.is_empty() {
            let _ = self.say.send(Said::Hungry);
            match self.bytes.recv() {
                Ok(Some(bytes)) => (self.left, self.at) = (bytes, 0),
                Ok(None) | Err(_) => self.has_ended = true,
            }
        }
        let len = buf.len().min(self.left.len() - self.at);
        buf[..len].copy_from_slice(&self.left[self.at..self.at + len]);
        self.at += len;
        Ok(len)
    }
}

impl Lane {
    pub(crate) fn start(incoming: &Arc<Incoming>) -> Self {
        let ((bytes, to_be_read), (say, said)) = (channel(), channel());
        let incoming = Arc::clone(incoming);
        let thread = std::thread::spawn(move || {
            let mut feed = Feed { bytes: to_be_read, say, left: Vec::new(), at: 0, has_ended: false };
            let mut io = FileIo::new(IoMode::Sync, 64).expect("plain calls");
            let ended = incoming.run_lane(&mut feed, &mut io);
            drop(incoming);
            let _ = feed.say.send(Said::Ended(ended));
        });
        let mut lane = Self { bytes: Some(bytes), said, thread: Some(thread), ended: None };
        lane.wait();
        lane
    }

    /// Until it has nothing more to do.
    fn wait(&mut self) {
        match self.said.recv() {
            Ok(Said::Hungry) => {}
            Ok(Said::Ended(ended)) => self.ended = Some(ended),
            Err(_) => panic!("a lane has panicked"),
        }
    }

    /// Gives it bytes, or the end of its connection.
    pub(crate) fn feed(&mut self, bytes: Option<Vec<u8>>) {
        if let (None, Some(to)) = (&self.ended, &self.bytes) {
            let _ = to.send(bytes);
            self.wait();
        }
    }

    /// Ends it, wherever it is.
    pub(crate) fn end(mut self) {
        self.bytes = None;
        if let Some(thread) = self.thread.take() {
            thread.join().expect("a lane does not panic");
        }
    }
}
