//! A known device's session that has offered something, until somebody takes it over.
use ringway_model::Device;
use std::sync::Arc;

use ringway_link::session::Session;
use ringway_link::tls::TicketKey;
use ringway_wire::OfferedNames;
use ringway_wire::control::Offer;

use super::arrivals::Arrival;
use crate::store::PairingNumber;

/// A session that is authenticated and has offered something.
pub(crate) struct Visitor {
    pub(crate) session: Session,
    pub(crate) tickets: TicketKey,
    pub(crate) device: Device,
    /// The pairing that its offer is of.
    pub(crate) pairing: PairingNumber,
    pub(crate) offer: Offer,
    /// All its top-level names.
    pub(crate) names: Arc<OfferedNames>,
    /// What counts them if they came in pages, until something else does.
    pub(crate) arrival: Option<Arrival>,
}

impl Visitor {
    /// Lets go of all but the session, before that is closed: its peer may take its time.
    pub(crate) fn into_session(self) -> Session {
        self.session
    }
}
