//! The end of a session that brings nothing more of a transfer that waits here.
use ringway_link::session::Session;
use ringway_model::{Fault, Side};

use crate::transfers::transfer::Transfer;
use crate::wire_convert::decode_cancel;

/// Closes a session in which more of `transfer` was refused for now, and ends the transfer if a
/// person at the other end has cancelled it. That is said behind the offer, or the request, so that
/// it may be heard after the answer. Returns whether the other end has heard all.
pub(super) async fn close(session: Session, transfer: &Transfer) -> bool {
    let (is_heard, cancel) = session.close_hearing().await;
    if let Some(cancel) = cancel {
        end_if_cancelled(transfer, &decode_cancel(cancel));
    }
    is_heard
}

/// Ends the transfer if that is the word of a person at the other end, in a session that it has not
/// got.
pub(super) fn end_if_cancelled(transfer: &Transfer, ended: &Fault) {
    if let Fault::Cancelled { by: Side::There, kept } = ended {
        transfer.stop_as_cancelled_there(*kept);
    }
}
