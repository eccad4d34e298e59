//! A sending transfer's lanes: opening their connections, the first of each and those that they go
//! on in, and counting what became of them.
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ringway_model::{DeviceId, Fault, TlsPath};
use ringway_wire::control::Message;
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::find::dial_any;
use crate::engine::Inner;
use crate::limits::HANDSHAKE_TIME_MAX;
use crate::transfers::transfer::Transfer;
use ringway_link::lane::growth::LaneGrowth;
use ringway_link::lane::{Lane, LaneStops};
use ringway_link::messages::MessageReader;
use ringway_link::tls::{Channel, Expected, TicketKey};

/// Pauses before a lane's next connection is tried again, each twice as long as the one before: a
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

    pub(super) fn open(&mut self, opener: &Arc<LaneOpener>, more: u8) {
        for number in self.begun..self.begun + more {
            let opener = Arc::clone(opener);
            self.opening.spawn(async move { (number, opener.open(number, 0).await) });
        }
        self.begun += more;
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

/// Opens the connections of a transfer's lanes: the first of each, and those that they go on in.
pub(super) struct LaneOpener {
    pub(super) inner: Arc<Inner>,
    pub(super) transfer: Transfer,
    pub(super) tickets: TicketKey,
    /// Where the session's connection was made, and then the other addresses that were known.
    pub(super) addresses: Vec<SocketAddr>,
    pub(super) peer: DeviceId,
    pub(super) tls: TlsPath,
    pub(super) stops: LaneStops,
}

impl LaneOpener {
    /// Until the join is said nothing has happened that could not happen again: a lane that went
    /// well so far is not given up for a moment without network, addresses or descriptors, or for a
    /// listener that others keep busy.
    async fn dial(&self, again: bool) -> Result<Channel, Fault> {
        let mut pause = REDIAL_PAUSE;
        loop {
            let name = self.transfer.peer().map(|(_, name)| name).unwrap_or_default();
            match dial_any(&self.inner, &self.addresses, Expected::Device { id: self.peer, name }).await {
                Ok(channel) => return Ok(channel),
                Err(Fault::ConnectionLost(_) | Fault::Unreachable { .. }) if again && pause <= REDIAL_PAUSE_MAX => {
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) async fn open(&self, lane: u8, connection: u16) -> Result<Lane, Fault> {
        let mut channel = self.dial(connection > 0).await?;
        let transfer = self.transfer.id().0;
        let ticket = self.tickets.ticket(&transfer, lane, connection);
        let mut join = Vec::new();
        Message::LaneJoin { transfer, lane, connection, ticket }.encode(&mut join);
        let joining = async {
            channel.stream.write_all(&join).await.map_err(Fault::lost)?;
            channel.stream.flush().await.map_err(Fault::lost)?;
            MessageReader::default().next(&mut channel.stream).await
        };
        match timeout(HANDSHAKE_TIME_MAX, joining).await {
            Ok(Ok(Some(Message::LaneReady))) => {}
            Ok(Err(error)) => return Err(error),
            Ok(Ok(_)) => return Err(Fault::lost(std::io::ErrorKind::ConnectionAborted)),
            Err(_) => return Err(Fault::lost(std::io::ErrorKind::TimedOut)),
        }
        let taken = Lane::take(channel, self.tls).await?;
        self.stops.set(lane, &taken).map_err(Fault::lost)?;
        Ok(taken)
    }
}

/// The next lane that is open, or could not be opened; none while there is nothing to wait for.
pub(super) async fn next_opened(lanes: &mut Option<Lanes>) -> Option<(u8, Result<Lane, Fault>)> {
    let opened = lanes.as_mut()?.opening.join_next().await?;
    Some(opened.expect("opening a lane does not panic, and nobody stops it"))
}
