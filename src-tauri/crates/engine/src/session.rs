//! Drives a session's state machine over its TLS stream: the only place where control messages meet a socket and a clock.
use std::io;
use std::time::{Duration, Instant};

use ringway_wire::ProtocolError;
use ringway_wire::control::Message;
use ringway_wire::session::{Acceptor, AcceptorEvent, Initiator, InitiatorEvent};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep_until, timeout};
use tokio_rustls::TlsStream;

use crate::cork::CorkStream;
use crate::error::Error;
use crate::messages::MessageReader;

/// How long a peer may take to read what we say: control messages are small, so a stuck one is a dead one.
const WRITE_TIME_MAX: Duration = Duration::from_secs(30);

/// How long to wait for the peer's end after ours, so that our last message is not lost to a reset.
const CLOSE_TIME_MAX: Duration = Duration::from_secs(5);

/// What both of wire's machines offer.
pub(crate) trait Machine {
    type Event;
    fn handle_message(&mut self, message: Message, now_ms: u64) -> Result<(), ProtocolError>;
    fn handle_timeout(&mut self, now_ms: u64) -> Result<(), ProtocolError>;
    fn poll_timeout(&self) -> Option<u64>;
    fn poll_transmit(&mut self) -> Option<Vec<u8>>;
    fn poll_event(&mut self) -> Option<Self::Event>;
    fn is_ended(&self) -> bool;
}

macro_rules! machine {
    ($machine:ty, $event:ty) => {
        impl Machine for $machine {
            type Event = $event;
            fn handle_message(&mut self, message: Message, now_ms: u64) -> Result<(), ProtocolError> {
                <$machine>::handle_message(self, message, now_ms)
            }
            fn handle_timeout(&mut self, now_ms: u64) -> Result<(), ProtocolError> {
                <$machine>::handle_timeout(self, now_ms)
            }
            fn poll_timeout(&self) -> Option<u64> {
                <$machine>::poll_timeout(self)
            }
            fn poll_transmit(&mut self) -> Option<Vec<u8>> {
                <$machine>::poll_transmit(self)
            }
            fn poll_event(&mut self) -> Option<Self::Event> {
                <$machine>::poll_event(self)
            }
            fn is_ended(&self) -> bool {
                <$machine>::is_ended(self)
            }
        }
    };
}

machine!(Initiator, InitiatorEvent);
machine!(Acceptor, AcceptorEvent);

/// A session's milliseconds, counted from its beginning.
#[derive(Clone, Copy)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.0.elapsed().as_millis() as u64
    }
}

/// A machine, its stream and its clock.
pub(crate) struct Session<M> {
    pub(crate) machine: M,
    stream: TlsStream<CorkStream<TcpStream>>,
    messages: MessageReader,
    clock: Clock,
    pending: Vec<u8>,
    written: usize,
}

impl<M: Machine> Session<M> {
    pub(crate) fn new(
        machine: M,
        stream: TlsStream<CorkStream<TcpStream>>,
        messages: MessageReader,
        clock: Clock,
    ) -> Self {
        Self { machine, stream, messages, clock, pending: Vec::new(), written: 0 }
    }

    /// Takes in a message that was read before the machine was there.
    pub(crate) fn feed(&mut self, message: Message) -> Result<(), Error> {
        Ok(self.machine.handle_message(message, self.clock.now_ms())?)
    }

    /// The next event, sending and pinging as due; none when the session is over. Dropping a pending call loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Option<M::Event>, Error> {
        loop {
            self.flush().await?;
            if let Some(event) = self.machine.poll_event() {
                return Ok(Some(event));
            }
            if self.machine.is_ended() {
                return Ok(None);
            }
            let due = self.machine.poll_timeout().map(|ms| self.clock.0 + Duration::from_millis(ms));
            let due = due.unwrap_or_else(|| Instant::now() + WRITE_TIME_MAX);
            tokio::select! {
                message = self.messages.next(&mut self.stream) => match message? {
                    Some(message) => self.machine.handle_message(message, self.clock.now_ms())?,
                    None => return Err(Error::ConnectionLost(io::ErrorKind::UnexpectedEof.into())),
                },
                () = sleep_until(due.into()) => self.machine.handle_timeout(self.clock.now_ms())?,
            }
        }
    }

    /// Whether nothing waits for the peer to read.
    pub(crate) fn has_sent_all(&self) -> bool {
        self.written == self.pending.len()
    }

    /// Sends what the machine has to say.
    pub(crate) async fn flush(&mut self) -> Result<(), Error> {
        if let Some(more) = self.machine.poll_transmit() {
            self.pending.extend_from_slice(&more);
        }
        if self.written == self.pending.len() {
            return Ok(());
        }
        let sending = async {
            while self.written < self.pending.len() {
                self.written += self.stream.write(&self.pending[self.written..]).await?;
            }
            self.stream.flush().await
        };
        match timeout(WRITE_TIME_MAX, sending).await {
            Ok(sent) => sent.map_err(Error::ConnectionLost)?,
            Err(_) => return Err(ProtocolError::Silent.into()),
        }
        self.pending.clear();
        self.written = 0;
        Ok(())
    }

    /// Sends the last words and waits for the peer to have read them.
    pub(crate) async fn close(self) {
        // The session is over either way.
        let _ = self.close_heard().await;
    }

    /// The same; whether the peer has read them, as its own orderly end shows.
    pub(crate) async fn close_heard(mut self) -> bool {
        let closing = async {
            self.flush().await?;
            self.stream.shutdown().await.map_err(Error::ConnectionLost)?;
            let mut rest = [0; 1024];
            // What still comes says nothing any more; the end is what is waited for.
            while self.stream.read(&mut rest).await.map_err(Error::ConnectionLost)? > 0 {}
            Ok::<_, Error>(())
        };
        timeout(CLOSE_TIME_MAX, closing).await.is_ok_and(|closed| closed.is_ok())
    }
}
