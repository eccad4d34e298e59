//! Drives a session's state machine over its TLS stream: the only place where control messages meet
//! a socket and a clock.
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use ringway_model::Fault;
use ringway_wire::ProtocolError;
use ringway_wire::control::Message;
use ringway_wire::session::{Acceptor, AcceptorEvent, Initiator, InitiatorEvent};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep_until, timeout};
use tokio_rustls::TlsStream;

use crate::messages::MessageReader;
use crate::record_boundary::CorkStream;

/// How long a peer may take none of what we say: control messages are small, so a stuck one is a
/// dead one.
const WRITE_TIME_MAX: Duration = Duration::from_secs(30);

/// What may wait for a peer to read: all failures and edits that are named at the end of a transfer
/// (4 MiB of paths each) and some. The rest of what is said waits where it is until nothing waits
/// here.
const PENDING_MAX: usize = 12 * 1024 * 1024;

/// So much may wait to be read before the machine is asked for more: a page of names and some.
const TAKE_BELOW: usize = 64 * 1024;

/// How long to wait for the peer's end after ours, so that our last message is not lost to a reset.
const CLOSE_TIME_MAX: Duration = Duration::from_secs(5);

/// What both of wire's machines offer.
pub trait Machine {
    /// What it tells its owner.
    type Event;
    /// Takes in what the peer said.
    fn handle_message(&mut self, message: Message, now_ms: u64) -> Result<(), ProtocolError>;
    /// Its time has come.
    fn handle_timeout(&mut self, now_ms: u64) -> Result<(), ProtocolError>;
    /// When its time comes.
    fn poll_timeout(&self) -> Option<u64>;
    /// What it has to say next.
    fn poll_transmit(&mut self) -> Option<Vec<u8>>;
    /// What it has to tell next.
    fn poll_event(&mut self) -> Option<Self::Event>;
    /// Whether the session is over.
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
pub struct Clock(Instant);

impl Clock {
    /// The beginning is now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// How many have passed.
    pub fn now_ms(&self) -> u64 {
        self.0.elapsed().as_millis() as u64
    }
}

/// A machine, its stream and its clock.
pub struct Session<M> {
    /// What says what comes next.
    pub machine: M,
    stream: TlsStream<CorkStream<TcpStream>>,
    messages: MessageReader,
    clock: Clock,
    pending: Vec<u8>,
    written: usize,
    /// There while something waits for the peer to read.
    unread: Option<Unread>,
    /// [`WRITE_TIME_MAX`], but for tests.
    write_time_max: Duration,
}

/// What a session waited for.
enum Step {
    Heard(Option<Message>),
    /// All that it had to say.
    Sent,
    Due,
}

/// What the peer has yet to read.
struct Unread {
    /// When it is given up, unless it has taken something by then.
    by: Instant,
    /// What its kernel had acknowledged when that was decided.
    acknowledged: u64,
}

impl<M: Machine> Session<M> {
    /// A session over a stream of which `messages` may have read some already.
    pub fn new(machine: M, stream: TlsStream<CorkStream<TcpStream>>, messages: MessageReader, clock: Clock) -> Self {
        Self {
            machine,
            stream,
            messages,
            clock,
            pending: Vec::new(),
            written: 0,
            unread: None,
            write_time_max: WRITE_TIME_MAX,
        }
    }

    /// Takes in a message that was read before the machine was there.
    pub fn feed(&mut self, message: Message) -> Result<(), Fault> {
        Ok(self.machine.handle_message(message, self.clock.now_ms())?)
    }

    /// The next event, sending and pinging as due; none when the session is over. Dropping a
    /// pending call loses nothing, and moves no deadline.
    pub async fn next(&mut self) -> Result<Option<M::Event>, Fault> {
        loop {
            // Before anything else: a peer that always has something to say must not keep these
            // from being looked at.
            self.look_at_the_clock()?;
            let is_more = self.take_words()?;
            let is_sent = poll_fn(|cx| Poll::Ready(self.poll_send(cx))).await;
            let is_sent = match is_sent {
                Poll::Ready(sent) => sent.map(|()| true)?,
                Poll::Pending => false,
            };
            if let Some(event) = self.machine.poll_event() {
                return Ok(Some(event));
            }
            if self.machine.is_ended() {
                self.flush().await?;
                return Ok(None);
            }
            if is_more && is_sent {
                continue;
            }
            let due = self.due();
            let step = poll_fn(|cx| {
                if let Poll::Ready(sent) = self.poll_send(cx)
                    && !is_sent
                {
                    return Poll::Ready(sent.map(|()| Step::Sent));
                }
                // It may be dropped and made anew: what it has read is kept.
                pin!(self.messages.next(&mut self.stream)).poll(cx).map_ok(Step::Heard)
            });
            let step = tokio::select! {
                step = step => step?,
                () = sleep_until(due.into()) => Step::Due,
            };
            match step {
                Step::Heard(Some(message)) => self.machine.handle_message(message, self.clock.now_ms())?,
                Step::Heard(None) => return Err(Fault::lost(io::ErrorKind::UnexpectedEof)),
                Step::Sent | Step::Due => {}
            }
        }
    }

    /// Whether nothing waits for the peer to read.
    pub fn has_sent_all(&self) -> bool {
        self.unread.is_none()
    }

    /// Sends what the machine has to say, all of it.
    pub async fn flush(&mut self) -> Result<(), Fault> {
        loop {
            self.take_words()?;
            let Some(by) = self.unread.as_ref().map(|unread| unread.by) else { return Ok(()) };
            tokio::select! {
                sent = poll_fn(|cx| self.poll_send(cx)) => sent?,
                () = sleep_until(by.into()) => {}
            }
            self.look_at_the_reader()?;
        }
    }

    /// When something has to be done whatever the peer does.
    fn due(&self) -> Instant {
        let machine = self.machine.poll_timeout().map(|ms| self.clock.0 + Duration::from_millis(ms));
        let unread = self.unread.as_ref().map(|unread| unread.by);
        machine.into_iter().chain(unread).min().unwrap_or_else(|| Instant::now() + WRITE_TIME_MAX)
    }

    fn look_at_the_clock(&mut self) -> Result<(), Fault> {
        let now_ms = self.clock.now_ms();
        if self.machine.poll_timeout().is_some_and(|due| due <= now_ms) {
            self.machine.handle_timeout(now_ms)?;
        }
        self.look_at_the_reader()
    }

    /// Gives up a peer whose kernel has taken nothing for too long: it does not read.
    fn look_at_the_reader(&mut self) -> Result<(), Fault> {
        let now = Instant::now();
        let Some(Unread { acknowledged: before, .. }) = self.unread.as_ref().filter(|unread| unread.by <= now) else {
            return Ok(());
        };
        let acknowledged = self.acknowledged();
        if acknowledged <= *before {
            return Err(ProtocolError::Silent.into());
        }
        self.unread = Some(Unread { by: now + self.write_time_max, acknowledged });
        Ok(())
    }

    fn acknowledged(&self) -> u64 {
        ringway_sys::socket::tcp_path(&self.stream.get_ref().0.io).map_or(0, |path| path.acknowledged)
    }

    /// Takes over what the machine has to say, unless enough waits to be read; whether there was
    /// anything.
    fn take_words(&mut self) -> Result<bool, Fault> {
        if self.pending.len() - self.written >= TAKE_BELOW {
            return Ok(false);
        }
        let Some(more) = self.machine.poll_transmit() else { return Ok(false) };
        self.pending.drain(..std::mem::take(&mut self.written));
        if self.pending.len() + more.len() > PENDING_MAX {
            return Err(ProtocolError::Silent.into());
        }
        self.pending.extend_from_slice(&more);
        if self.unread.is_none() {
            self.unread = Some(Unread { by: Instant::now() + self.write_time_max, acknowledged: self.acknowledged() });
        }
        Ok(true)
    }

    /// Sends what waits; ready when the kernel has all of it.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        if self.unread.is_none() {
            return Poll::Ready(Ok(()));
        }
        while self.written < self.pending.len() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.pending[self.written..]));
            match written.map_err(Fault::lost)? {
                0 => return Poll::Ready(Err(Fault::lost(io::ErrorKind::WriteZero))),
                written => self.written += written,
            }
        }
        ready!(Pin::new(&mut self.stream).poll_flush(cx)).map_err(Fault::lost)?;
        self.pending.clear();
        (self.written, self.unread) = (0, None);
        Poll::Ready(Ok(()))
    }

    /// Sends the last words and waits for the peer to have read them.
    pub async fn close(self) {
        // The session is over either way.
        let _ = self.close_heard().await;
    }

    /// The same; whether the peer has read them, as its own orderly end shows.
    pub async fn close_heard(mut self) -> bool {
        let closing = async {
            self.flush().await?;
            self.stream.shutdown().await.map_err(Fault::lost)?;
            let mut rest = [0; 1024];
            // What still comes says nothing any more; the end is what is waited for.
            while self.stream.read(&mut rest).await.map_err(Fault::lost)? > 0 {}
            Ok::<_, Fault>(())
        };
        timeout(CLOSE_TIME_MAX, closing).await.is_ok_and(|closed| closed.is_ok())
    }
}

#[cfg(test)]
mod tests {
    use ringway_wire::DeviceName;
    use ringway_wire::control::{Greeting, Hello};
    use ringway_wire::limits::VERSION;
    use tokio::time::timeout;

    use super::*;
    use crate::lane::tests::channels;
    use crate::limits::TICK;
    use crate::tls::Channel;

    const LONG: Duration = Duration::from_secs(20);

    /// A session that has said hello to a peer that has not answered yet, and may take so long to
    /// read what is said. Little fits between the two, so that little has to be said.
    async fn session(write_time_max: Duration) -> (Session<Initiator>, Channel) {
        let (session, peer) = roomy_session(write_time_max).await;
        ringway_sys::socket::set_send_buffer(&session.stream.get_ref().0.io, 4_096).unwrap();
        ringway_sys::socket::set_receive_buffer(&peer.stream.get_ref().0.io, 4_096).unwrap();
        (session, peer)
    }

    /// The same with buffers as the kernel gives them.
    async fn roomy_session(write_time_max: Duration) -> (Session<Initiator>, Channel) {
        let (ours, theirs) = channels().await;
        let clock = Clock::start();
        let greeting = Greeting { name: DeviceName::new("laptop").unwrap() };
        let machine = Initiator::new(&greeting, true, None, clock.now_ms());
        let session = Session::new(machine, ours.stream, MessageReader::default(), clock);
        (Session { write_time_max, ..session }, theirs)
    }

    fn encoded(message: &Message) -> Vec<u8> {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        bytes
    }

    fn hello() -> Message {
        let name = DeviceName::new("lab").unwrap();
        Message::Hello(Hello { version: VERSION, name, known: true, pairing: false })
    }

    /// Says hello and then asks and asks, without reading anything.
    async fn asks_without_reading(mut peer: Channel) {
        peer.stream.write_all(&encoded(&hello())).await.unwrap();
        let pings = encoded(&Message::Ping).repeat(10_000);
        while peer.stream.write_all(&pings).await.is_ok() {}
        std::future::pending().await
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn peer_that_asks_and_does_not_read_is_given_up_however_often_the_call_is_dropped() {
        let (mut session, peer) = session(Duration::from_millis(500)).await;
        let asking = tokio::spawn(asks_without_reading(peer));
        let ended = timeout(LONG, async {
            loop {
                // As a job does, which has other things to look at each tick.
                match timeout(TICK, session.next()).await {
                    Ok(Ok(event)) => assert!(event.is_some()),
                    Ok(Err(error)) => return error,
                    Err(_) => assert!(session.pending.len() <= PENDING_MAX),
                }
            }
        });
        let ended = ended.await.expect("a deadline");
        assert!(
            matches!(ended, Fault::ConnectionLost(ref error) if error.kind() == std::io::ErrorKind::TimedOut),
            "{ended}"
        );
        asking.abort();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_waits_for_a_peer_to_read_is_bounded() {
        let (mut session, peer) = session(LONG).await;
        session.next_event_is_none().await;
        let asking = tokio::spawn(asks_without_reading(peer));
        let ended = timeout(Duration::from_secs(1), async { while session.next().await.is_ok() {} }).await;
        assert!(ended.is_err() && !session.has_sent_all(), "it is asked and waits");
        assert!(session.pending.len() < 2 * TAKE_BELOW, "{}", session.pending.len());
        asking.abort();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn messages_are_heard_while_others_wait_to_be_read() {
        let (mut session, mut peer) = session(LONG).await;
        session.next_event_is_none().await;
        // More than both sockets hold.
        session.pending = vec![0; PENDING_MAX];
        session.unread = Some(Unread { by: Instant::now() + LONG, acknowledged: 0 });
        peer.stream.write_all(&encoded(&hello())).await.unwrap();
        peer.stream.flush().await.unwrap();
        let event = timeout(LONG, session.next()).await.expect("it reads").unwrap();
        assert!(matches!(event, Some(InitiatorEvent::HelloReceived { .. })), "{event:?}");
        assert!(!session.has_sent_all());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn peer_that_reads_slowly_is_waited_for() {
        let (mut session, mut peer) = roomy_session(Duration::from_secs(1)).await;
        session.next_event_is_none().await;
        session.pending = vec![0; PENDING_MAX];
        session.unread = Some(Unread { by: Instant::now(), acknowledged: 0 });
        let reading = tokio::spawn(async move {
            let mut bytes = vec![0; PENDING_MAX / 8];
            for _ in 0..8 {
                peer.stream.read_exact(&mut bytes).await.unwrap();
                tokio::time::sleep(Duration::from_millis(250)).await;
            }
            peer
        });
        timeout(LONG, session.flush()).await.expect("it reads").unwrap();
        assert!(session.has_sent_all());
        reading.abort();
    }

    impl Session<Initiator> {
        /// What it has to say goes out, and nothing comes.
        async fn next_event_is_none(&mut self) {
            assert!(timeout(TICK, self.next()).await.is_err());
        }
    }
}
