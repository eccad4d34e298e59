//! Drives a session's state machine over its TLS stream. This is the only place where control
//! messages meet a socket and a clock.
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ringway_model::Fault;
use ringway_wire::ProtocolError;
use ringway_wire::control::{Cancel, Message};
use ringway_wire::session::{Event, Machine};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_rustls::TlsStream;

use crate::messages::MessageReader;
use crate::record_boundary::CorkStream;

/// How long a peer may accept none of the sent bytes. Control messages are small, so a peer that is
/// stuck is dead.
const WRITE_TIME_MAX: Duration = Duration::from_secs(30);

/// The most bytes that may wait for a peer to read: all failures and edits that are named at the
/// end of a transfer (4 MiB of paths each), and more. Further messages wait at their origin until
/// nothing waits here.
const PENDING_MAX: usize = 12 * 1024 * 1024;

/// The machine is asked for more only while fewer bytes than this wait to be read: a page of names,
/// and more.
const TAKE_BELOW: usize = 64 * 1024;

/// How long to wait for the peer's end after this end's, so that the last message is not lost to a
/// reset.
const CLOSE_TIME_MAX: Duration = Duration::from_secs(5);

/// A session's milliseconds, counted from its beginning.
#[derive(Clone, Copy)]
pub struct Clock(Instant);

impl Clock {
    /// Starts now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// The milliseconds since then.
    pub fn now_ms(&self) -> u64 {
        self.0.elapsed().as_millis() as u64
    }
}

/// A machine, its stream and its clock.
pub struct Session {
    /// The machine, which decides what comes next.
    pub machine: Machine,
    stream: TlsStream<CorkStream<TcpStream>>,
    messages: MessageReader,
    clock: Clock,
    pending: Vec<u8>,
    written: usize,
    /// Set while bytes wait for the peer to read.
    unread: Option<Unread>,
    /// [`WRITE_TIME_MAX`]; tests change it.
    write_time_max: Duration,
}

/// The result of a session's wait.
enum Step {
    Heard(Option<Message>),
    /// Everything was sent.
    Sent,
    Due,
}

/// Bytes that the peer has not read yet.
struct Unread {
    /// When the peer is given up, unless it has read some by then.
    by: Instant,
    /// The bytes that its kernel had acknowledged when the deadline was set.
    acknowledged: u64,
}

impl Session {
    /// A session over a stream from which `messages` may have read some bytes already.
    pub fn new(
        machine: Machine,
        stream: TlsStream<CorkStream<TcpStream>>,
        messages: MessageReader,
        clock: Clock,
    ) -> Self {
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

    /// Handles a message that was read before the machine existed.
    pub fn feed(&mut self, message: Message) -> Result<(), Fault> {
        Ok(self.machine.handle_message(message, self.clock.now_ms())?)
    }

    /// The next event, sending and pinging as due; `None` when the session has ended. Dropping a
    /// pending call loses nothing and moves no deadline.
    pub async fn next(&mut self) -> Result<Option<Event>, Fault> {
        loop {
            // Checked first, so that a peer that always sends something cannot delay these checks.
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
                // It may be dropped and made again, because the bytes read are kept.
                pin!(self.messages.next(&mut self.stream)).poll(cx).map_ok(Step::Heard)
            });
            let step = tokio::select! {
                step = step => step?,
                () = sleep_until(due) => Step::Due,
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

    /// Sends everything that the machine has to send.
    pub async fn flush(&mut self) -> Result<(), Fault> {
        loop {
            self.take_words()?;
            let Some(by) = self.unread.as_ref().map(|unread| unread.by) else { return Ok(()) };
            tokio::select! {
                sent = poll_fn(|cx| self.poll_send(cx)) => sent?,
                () = sleep_until(by) => {}
            }
            self.look_at_the_reader()?;
        }
    }

    /// The next moment at which the session has to act, whatever the peer does.
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

    /// Gives up a peer whose kernel has accepted nothing for too long, because it does not read.
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

    /// Takes the machine's bytes to send, unless enough bytes wait to be read. Returns whether
    /// there were any.
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

    /// Sends the waiting bytes. Ready when the kernel has all of them.
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

    /// Sends the last bytes and waits until the peer has read them.
    pub async fn close(self) {
        // The session has ended either way.
        let _ = self.close_heard().await;
    }

    /// The same; returns whether the peer has read them, as its own orderly end shows.
    pub async fn close_heard(mut self) -> bool {
        let closing = async {
            self.flush().await?;
            self.stream.shutdown().await.map_err(Fault::lost)?;
            let mut rest = [0; 1024];
            // Further bytes have no meaning; this waits for the end.
            while self.stream.read(&mut rest).await.map_err(Fault::lost)? > 0 {}
            Ok::<_, Fault>(())
        };
        timeout(CLOSE_TIME_MAX, closing).await.is_ok_and(|closed| closed.is_ok())
    }

    /// The same, and why the peer has cancelled, if it has: it may have said so before it had this
    /// end's answer. Nothing else that it still says has a meaning.
    pub async fn close_hearing(mut self) -> (bool, Option<Cancel>) {
        let mut heard = None;
        while let Some(event) = self.machine.poll_event() {
            if let Event::Cancelled(cancel) = event {
                heard = Some(cancel);
            }
        }
        let closing = async {
            self.flush().await?;
            self.stream.shutdown().await.map_err(Fault::lost)?;
            while let Some(message) = self.messages.next(&mut self.stream).await? {
                if let Message::Cancel(cancel) = message {
                    heard.get_or_insert(cancel);
                }
            }
            Ok::<_, Fault>(())
        };
        let is_read = timeout(CLOSE_TIME_MAX, closing).await.is_ok_and(|closed| closed.is_ok());
        (is_read, heard)
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

    /// A session that has sent hello to a peer that has not answered yet, and that may take this
    /// long to read. The buffers between the two are small, so that few bytes fill them.
    async fn session(write_time_max: Duration) -> (Session, Channel) {
        let (session, peer) = roomy_session(write_time_max).await;
        ringway_sys::socket::set_send_buffer(&session.stream.get_ref().0.io, 4_096).unwrap();
        ringway_sys::socket::set_receive_buffer(&peer.stream.get_ref().0.io, 4_096).unwrap();
        (session, peer)
    }

    /// The same with the kernel's default buffers.
    async fn roomy_session(write_time_max: Duration) -> (Session, Channel) {
        let (ours, theirs) = channels().await;
        let clock = Clock::start();
        let greeting = Greeting { name: DeviceName::new("laptop").unwrap() };
        let machine = Machine::dial(&greeting, true, None, clock.now_ms());
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

    /// Sends hello and then request after request, without reading.
    async fn asks_without_reading(mut peer: Channel) {
        peer.stream.write_all(&encoded(&hello())).await.unwrap();
        let pings = encoded(&Message::Ping).repeat(10_000);
        while peer.stream.write_all(&pings).await.is_ok() {}
        std::future::pending().await
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn peer_that_sends_without_reading_is_given_up_even_if_calls_are_dropped() {
        let (mut session, peer) = session(Duration::from_millis(500)).await;
        let asking = tokio::spawn(asks_without_reading(peer));
        let ended = timeout(LONG, async {
            loop {
                // Like a job, which has other things to check at each tick.
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
    async fn messages_are_read_while_others_wait_to_be_sent() {
        let (mut session, mut peer) = session(LONG).await;
        session.next_event_is_none().await;
        // More than both sockets hold.
        session.pending = vec![0; PENDING_MAX];
        session.unread = Some(Unread { by: Instant::now() + LONG, acknowledged: 0 });
        peer.stream.write_all(&encoded(&hello())).await.unwrap();
        peer.stream.flush().await.unwrap();
        let event = timeout(LONG, session.next()).await.expect("it reads").unwrap();
        assert!(matches!(event, Some(Event::HelloReceived { .. })), "{event:?}");
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

    impl Session {
        /// Everything is sent, and no event comes.
        async fn next_event_is_none(&mut self) {
            assert!(timeout(TICK, self.next()).await.is_err());
        }
    }
}
