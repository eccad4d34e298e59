//! A transfer's lanes: opening their connections, the first of each and those that they go on in,
//! and counting what became of those on which this end sends.
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ringway_link::lane::growth::LaneGrowth;
use ringway_link::lane::{Lane, LaneStops, Successor};
use ringway_link::tls::{Channel, Expected, TicketKey};
use ringway_model::{DeviceId, Fault, TlsPath};
use ringway_wire::control::{FRAME_PREFIX_LEN, Message};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::find::dial_any;
use super::reach::{is_crowded, spread};
use crate::limits::HANDSHAKE_TIME_MAX;
use crate::shared::Shared;
use crate::transfers::transfer::Transfer;

/// Pauses before a lane's connection is dialled again, each twice as long as the one before: a
/// quarter of a minute in all.
const REDIAL_PAUSE: Duration = Duration::from_millis(250);
const REDIAL_PAUSE_MAX: Duration = Duration::from_secs(8);

/// The lanes of a running transfer.
pub(super) struct Lanes {
    pub(super) opening: JoinSet<(u8, Result<Lane, Fault>)>,
    /// Lanes that were begun to be opened: the number of the next one.
    begun: u8,
    /// Lanes without which there is no transfer; more are a gain, and done without where they
    /// cannot be had.
    pub(super) needed: u8,
    /// Those that the receiver is to see the end of.
    pub(super) started: u8,
    pub(super) running: u8,
    pub(super) growth: LaneGrowth,
}

/// How a lane's thread ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LaneEnd {
    /// It has said its end.
    Whole,
    /// It was added and broke before its first frame had gone: the others have sent what it had.
    Dropped,
}

impl Lanes {
    /// None yet.
    pub(super) fn new(needed: u8, growth: LaneGrowth) -> Self {
        Self { opening: JoinSet::new(), begun: 0, needed, started: 0, running: 0, growth }
    }

    /// Opens more of them, where this end does that.
    pub(super) fn open(&mut self, origin: &LaneOrigin, more: u8) {
        let LaneOrigin::Dialled(opener) = origin else { return };
        for number in self.begun..self.begun + more {
            let opener = Arc::clone(opener);
            self.opening.spawn(async move { (number, opener.open(number, 0).await) });
        }
        self.begun += more;
    }

    /// Whether the transfer depends on that lane. Of lanes that the other end dials, the first one
    /// that comes is needed.
    pub(super) fn is_needed(&self, number: u8, origin: &LaneOrigin) -> bool {
        match origin {
            LaneOrigin::Dialled(_) => number < self.needed,
            LaneOrigin::Admitted(_) => self.started == 0,
        }
    }

    /// One that was added is done without.
    pub(super) fn dropped(&mut self, transfer: &Transfer) {
        self.growth.dropped();
        let mut figures = transfer.figures();
        figures.lanes = self.started;
        figures.lanes_dropped += 1;
    }

    /// Everything was handed over.
    pub(super) fn are_over(&self) -> bool {
        self.started > 0 && self.running == 0 && self.opening.is_empty()
    }
}

/// Where a source's lanes come from.
pub(crate) enum LaneOrigin {
    /// This end dials them.
    Dialled(Arc<LaneOpener>),
    /// The other end does.
    Admitted(Admitted),
}

/// The lanes that the other end dials.
pub(crate) struct Admitted {
    /// The first connection of each.
    pub(crate) joined: mpsc::UnboundedReceiver<(u8, Channel)>,
    /// Where each lane's later connections come from, until it is started.
    pub(crate) successors: Vec<Option<Successor>>,
}

/// Opens the connections of a transfer's lanes: the first of each, and those that they go on in.
pub(crate) struct LaneOpener {
    pub(crate) shared: Arc<Shared>,
    pub(crate) transfer: Transfer,
    pub(crate) tickets: TicketKey,
    /// Where the session's connection was made, and then the other addresses that were known.
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) peer: DeviceId,
    /// Lanes from this number on are a gain, and not dialled again.
    pub(crate) needed: u8,
    pub(crate) tls: TlsPath,
    pub(crate) stops: LaneStops,
}

impl LaneOpener {
    /// Opens a lane's connection, as this end uses it.
    pub(super) async fn open(&self, lane: u8, connection: u16) -> Result<Lane, Fault> {
        let taken = Lane::take(self.join(lane, connection).await?, self.tls).await?;
        self.stops.set(lane, &taken).map_err(Fault::lost)?;
        Ok(taken)
    }

    /// Opens a lane's next connections for a thread that may open none itself, because it is
    /// confined.
    pub(crate) fn successor(self: &Arc<Self>, lane: u8) -> Successor {
        let (opener, runtime) = (Arc::clone(self), Handle::current());
        let mut connection = 0_u16;
        Box::new(move || {
            let next = connection.checked_add(1);
            connection = next.ok_or_else(|| std::io::Error::other("a lane has used up its connections"))?;
            let (give, opened) = std::sync::mpsc::channel();
            let opener = Arc::clone(&opener);
            drop(runtime.spawn(async move {
                tokio::select! {
                    opened = opener.open(lane, connection) => drop(give.send(opened)),
                    () = opener.stops.stopped() => {}
                }
            }));
            opened.recv().map_err(|_| std::io::ErrorKind::ConnectionAborted)?.map_err(std::io::Error::other)
        })
    }

    /// Opens a lane's connection, up to the first byte of bulk. Until a listener has admitted it,
    /// nothing has happened that could not happen again. So one that others keep busy is dialled
    /// again, as is one that a lane under way cannot reach for a moment.
    pub(crate) async fn join(&self, lane: u8, connection: u16) -> Result<Channel, Fault> {
        let mut pause = REDIAL_PAUSE;
        loop {
            let error = match self.join_once(lane, connection).await {
                Ok(channel) => return Ok(channel),
                Err(error) => error,
            };
            let again = match error {
                Fault::ConnectionLost(_) | Fault::Unreachable { .. } if connection > 0 => true,
                _ => lane < self.needed && is_crowded(&error),
            };
            if !again || pause > REDIAL_PAUSE_MAX {
                return Err(if again && connection == 0 { Fault::TurnedAway } else { error });
            }
            tokio::time::sleep(spread(pause)?).await;
            pause *= 2;
        }
    }

    async fn join_once(&self, lane: u8, connection: u16) -> Result<Channel, Fault> {
        let name = self.transfer.peer().map(|(_, name)| name).unwrap_or_default();
        let expected = Expected::Device { id: self.peer, name };
        let mut channel = dial_any(&self.shared, &self.addresses, expected).await?;
        let transfer = self.transfer.id().0;
        let ticket = self.tickets.ticket(&transfer, lane, connection);
        let mut join = Vec::new();
        Message::LaneJoin { transfer, lane, connection, ticket }.encode(&mut join);
        let joining = async {
            channel.stream.write_all(&join).await.map_err(Fault::lost)?;
            channel.stream.flush().await.map_err(Fault::lost)?;
            read_alone(&mut channel.stream).await
        };
        match timeout(HANDSHAKE_TIME_MAX, joining).await {
            Ok(Ok(Message::LaneReady)) => Ok(channel),
            Ok(Err(error)) => Err(error),
            Ok(Ok(_)) => Err(Fault::lost(std::io::ErrorKind::ConnectionAborted)),
            Err(_) => Err(Fault::lost(std::io::ErrorKind::TimedOut)),
        }
    }
}

/// Reads one message and not a byte more: bulk may follow it at once, where the other end sends.
async fn read_alone(stream: &mut (impl AsyncRead + Unpin)) -> Result<Message, Fault> {
    let mut prefix = [0; FRAME_PREFIX_LEN];
    stream.read_exact(&mut prefix).await.map_err(Fault::lost)?;
    let mut payload = vec![0; Message::payload_len(prefix)?];
    stream.read_exact(&mut payload).await.map_err(Fault::lost)?;
    Ok(Message::decode(&payload)?)
}

impl LaneOrigin {
    /// The next lane that the other end has opened; never, where this end does that.
    async fn next_joined(&mut self) -> Option<(u8, Channel)> {
        match self {
            Self::Dialled(_) => std::future::pending().await,
            Self::Admitted(admitted) => admitted.joined.recv().await,
        }
    }
}

/// The next lane that is open, or could not be opened; none while there is nothing to wait for.
/// Dropping a pending call loses nothing.
pub(super) async fn next_opened(
    lanes: &mut Option<Lanes>,
    origin: &mut LaneOrigin,
    tls: TlsPath,
    stops: &LaneStops,
) -> Option<(u8, Result<Lane, Fault>)> {
    let lanes = lanes.as_mut()?;
    loop {
        tokio::select! {
            Some(opened) = lanes.opening.join_next() => {
                return Some(opened.expect("opening a lane does not panic, and nobody stops it"));
            }
            Some((number, channel)) = origin.next_joined() => {
                let stops = stops.clone();
                lanes.opening.spawn(async move {
                    let taken = Lane::take(channel, tls).await.and_then(|taken| {
                        stops.set(number, &taken).map_err(Fault::lost)?;
                        Ok(taken)
                    });
                    (number, taken)
                });
            }
            else => return None,
        }
    }
}
