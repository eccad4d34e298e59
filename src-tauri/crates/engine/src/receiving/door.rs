//! Where the lanes of running transfers come in, whichever end sends on them.
use ringway_link::lane::Lane;
use ringway_link::tls::{Channel, TicketKey};
use ringway_model::Fault;
use tokio::sync::mpsc;

/// Where a running transfer's lanes come in.
pub(crate) struct LaneDoor {
    pub(crate) tickets: TicketKey,
    /// One for each lane.
    pub(crate) entrances: Vec<Entrance>,
    pub(crate) deliver: mpsc::UnboundedSender<(u8, Channel)>,
}

/// Where one lane's connections come in, each of them once and in order.
pub(crate) struct Entrance {
    /// The number of the next one.
    pub(crate) next: u16,
    /// The one before that has yet to get through the door.
    pub(crate) joining: bool,
    /// For all but the first: to the lane that runs. One waits there, and one more before the door.
    pub(crate) successors: mpsc::Sender<Result<Lane, Fault>>,
}
