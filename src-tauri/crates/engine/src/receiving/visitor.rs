//! A known device's session that has offered something, until somebody takes it over.
use std::sync::Arc;

use ringway_link::session::Session;
use ringway_link::tls::TicketKey;
use ringway_model::{Device, DeviceRule};
use ringway_tree::receive::AttemptKey;
use ringway_wire::OfferedNames;
use ringway_wire::control::Offer;

use super::arrivals::Arrival;
use crate::devices::rules::of_drop_box;
use crate::shared::{DropPlace, Grant};
use crate::store::Pairing;

/// A session that is authenticated and has offered something.
pub(crate) struct Visitor {
    pub(crate) session: Session,
    pub(crate) tickets: TicketKey,
    pub(crate) device: Device,
    /// The pairing that its offer is of.
    pub(crate) pairing: Pairing,
    pub(crate) offer: Offer,
    /// All its top-level names.
    pub(crate) names: Arc<OfferedNames>,
    /// What counts them if they came in pages, until something else does.
    pub(crate) arrival: Option<Arrival>,
    /// Where in a drop box it is to land, once that was looked at; `None` if it names no share, or
    /// where a person has chosen another folder.
    pub(crate) drop: Option<DropPlace>,
}

impl Visitor {
    /// The rule that decides about its offer.
    pub(crate) fn rule(&self) -> DeviceRule {
        let rule = &self.device.rule;
        self.drop.as_ref().map_or_else(|| rule.clone(), |place| of_drop_box(rule, place.drop, place.folder()))
    }

    /// Until when its offer may land in a drop box.
    pub(crate) fn grant(&self) -> Option<Grant> {
        self.drop.as_ref().map(|place| place.grant)
    }

    /// What an offer of the same into the same place has in common with this one.
    pub(crate) fn attempt(&self) -> AttemptKey {
        let attempt = AttemptKey::new(&self.device.id.0, &self.names);
        self.drop.as_ref().map_or(attempt, |place| attempt.within(&place.key()))
    }

    /// Lets go of all but the session, before that is closed: its peer may take its time.
    pub(crate) fn into_session(self) -> Session {
        self.session
    }
}
