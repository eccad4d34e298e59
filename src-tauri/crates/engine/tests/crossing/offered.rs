//! The next offer that a receiver hears of, for the tests of two programs.
use std::time::Duration;

use ringway_engine::{IncomingOffer, Receiver, ReceiverEvent};

/// As long as an offer may take on a machine that does much else.
const OFFERED_WITHIN: Duration = Duration::from_secs(60);

pub(crate) async fn offered(receiver: &mut Receiver) -> IncomingOffer {
    let offered = async {
        loop {
            if let Some(ReceiverEvent::OfferReceived(offer)) = receiver.next_event().await {
                return offer;
            }
        }
    };
    tokio::time::timeout(OFFERED_WITHIN, offered).await.expect("an offer")
}
