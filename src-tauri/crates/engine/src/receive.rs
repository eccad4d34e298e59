//! Listening: connections in, pairing, offers, transfers.
use std::net::{IpAddr, SocketAddr};
use std::time::SystemTime;

use crate::Error;
use crate::error::DeclineReason;
use crate::event::{OfferSummary, ReceiverEvent};
use crate::options::AcceptOptions;
use crate::transfer::Transfer;

/// A listening receiver. Dropping it stops listening; running transfers go on.
pub struct Receiver {}

/// The code that is open now.
pub struct ShownCode {
    /// As a person reads it out, e.g. `42-river-candle`. None where a standing secret or a given code is in force: it is not shown.
    pub text: Option<zeroize::Zeroizing<String>>,
    /// When it expires; none for a standing secret.
    pub valid_until: Option<SystemTime>,
}

impl Receiver {
    /// The socket address that is bound.
    pub fn local_address(&self) -> SocketAddr { unimplemented!() }
    /// This machine's addresses that others may type: not loopback, IPv4 first.
    pub fn addresses(&self) -> Vec<IpAddr> { unimplemented!() }
    /// The open code, none while pairing is closed (after a success or three wrong tries, until [`Receiver::renew_code`]).
    pub fn code(&self) -> Option<ShownCode> { unimplemented!() }
    /// Draws a new code; the old one is void.
    pub fn renew_code(&self) { unimplemented!() }
    /// The next event; none after `Stopped`.
    pub async fn next_event(&mut self) -> Option<ReceiverEvent> { unimplemented!() }
    /// Stops listening. Running transfers go on.
    pub async fn stop(&self) { unimplemented!() }
}

/// An offer that waits for an answer. Dropping it declines.
#[derive(Debug)]
pub struct IncomingOffer {}

impl IncomingOffer {
    /// What it says of itself; totals may have grown since.
    pub fn summary(&self) -> OfferSummary { unimplemented!() }
    /// Takes it in. Fails when the destination cannot be used (the offer is then declined with the reason) or the peer has gone.
    pub async fn accept(self, _options: AcceptOptions) -> Result<Transfer, Error> { unimplemented!() }
    /// Declines it.
    pub fn decline(self, _reason: DeclineReason) { unimplemented!() }
}
