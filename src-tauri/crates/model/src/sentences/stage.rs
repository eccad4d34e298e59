//! Where a transfer stands, why it does not continue, and until when that is waited for.
use std::time::Duration;

use super::reason::missing;
use super::table::*;
use super::{Row, Says, figures};
use crate::fault::{Interruption, Outage};
use crate::progress::Progress;
use crate::transfer::{Direction, Side, Stage};

impl Progress {
    /// Where a transfer in that direction stands. `is_got` where the receiving device has asked for
    /// it. `peer` is the other device's name, or the folder of a copy. None once it has ended.
    pub fn says(&self, direction: Direction, is_got: bool, peer: Option<&str>) -> Option<Says> {
        let is_sending = direction == Direction::Sending;
        let row = match self.stage {
            Stage::Connecting if direction == Direction::Copying => STAGE_STARTING,
            Stage::Connecting => STAGE_CONNECTING,
            Stage::AwaitingAnswer => STAGE_AWAITING_ANSWER,
            Stage::Queued => {
                let row = if is_sending { STAGE_QUEUED_THERE } else { STAGE_QUEUED_HERE };
                let place = self.place.map_or(1, |place| place.get());
                return Some(row.says().with("place", place).of_peer(peer));
            }
            Stage::Running => match self.stalled_for {
                Some(still) => return Some(STAGE_STALLED.says().with("time", left(still))),
                None => running(direction),
            },
            Stage::Finishing if is_sending => STAGE_FINISHING_THERE,
            Stage::Finishing => STAGE_FINISHING_HERE,
            Stage::Verifying => STAGE_VERIFYING,
            Stage::Reconnecting | Stage::Paused => match self.interruption {
                Some(interruption) => return Some(interruption.says(direction, is_got, peer)),
                None => STAGE_RESUMING,
            },
            Stage::Ended => return None,
        };
        Some(row.says().of_peer(peer))
    }
}

fn running(direction: Direction) -> Row {
    match direction {
        Direction::Sending => STAGE_SENDING,
        Direction::Receiving => STAGE_RECEIVING,
        Direction::Copying => STAGE_COPYING,
    }
}

impl Interruption {
    /// Why a transfer in that direction does not continue, and until when that is waited for. The
    /// device that has started it tries again; the other one waits.
    pub fn says(&self, direction: Direction, is_got: bool, peer: Option<&str>) -> Says {
        let tries = is_got == (direction == Direction::Receiving);
        // Only a copy inside this machine is never given up: it was paused here.
        let Some(gives_up) = self.gives_up else { return WAIT_PAUSED.says() };
        let says = match self.why {
            Outage::Full(shortage) => {
                let row = if direction == Direction::Receiving { WAIT_FULL_HERE } else { WAIT_FULL_THERE };
                row.says().with("missing", missing(shortage))
            }
            Outage::Paused { by: Side::Here } => WAIT_PAUSED_HERE.says(),
            Outage::Paused { by: Side::There } => WAIT_PAUSED_THERE.says(),
            _ if !tries => WAIT_FOR_PEER.says(),
            Outage::Broken | Outage::Silent | Outage::Unreachable | Outage::Busy | Outage::TooManyOffers => {
                let why = outage(self.why).map(|why| why.of_peer(peer).what()).unwrap_or_default();
                match self.next_try {
                    Some(next_try) => WAIT_TRYING_IN.says().with("why", why).with("time", left(next_try)),
                    None => WAIT_TRYING_NOW.says().with("why", why),
                }
            }
        };
        says.with("left", left(gives_up)).of_peer(peer)
    }
}

/// What stands between the two ends, as the reason for another attempt. None of a pause and of a
/// full disk, which no attempt ends.
pub fn outage(why: Outage) -> Option<Says> {
    let row = match why {
        Outage::Broken => WAIT_BROKEN,
        Outage::Silent => WAIT_SILENT,
        Outage::Unreachable => WAIT_UNREACHABLE,
        Outage::Busy => WAIT_BUSY,
        Outage::TooManyOffers => WAIT_TOO_MANY_OFFERS,
        Outage::Full(_) | Outage::Paused { .. } => return None,
    };
    Some(row.says())
}

/// At least a second: what is being waited for is not over.
fn left(time: Duration) -> String {
    figures::time(time.max(Duration::from_secs(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Shortage;

    #[test]
    fn an_interruption_says_who_waits_for_what_and_how_long() {
        let waits = |why, next_try| Interruption { why, next_try, gives_up: Some(Duration::from_millis(899_100)) };
        let sending = |waits: Interruption| waits.says(Direction::Sending, false, Some("lab-ws")).what();
        let receiving = |waits: Interruption| waits.says(Direction::Receiving, false, Some("laptop")).what();
        assert_eq!(
            sending(waits(Outage::Broken, Some(Duration::from_millis(3_200)))),
            "Connection to lab-ws lost. Trying again in 4 s, for another 15 min"
        );
        assert_eq!(sending(waits(Outage::Unreachable, None)), "lab-ws cannot be reached. Trying again…");
        assert_eq!(receiving(waits(Outage::Silent, None)), "Interrupted. Waiting for laptop for another 15 min");
        let paused = |by| waits(Outage::Paused { by }, None);
        assert_eq!(sending(paused(Side::There)), "Paused by lab-ws for at most another 15 min");
        assert_eq!(receiving(paused(Side::Here)), "Paused here. Resume within 15 min");
        let full = Outage::Full(Shortage { needed: 40_000_000, free: 8_000_000, entries: 0 });
        assert_eq!(
            sending(waits(full, Some(Duration::from_secs(5)))),
            "Paused: the disk of lab-ws is full, 32 MB more needed. Resumes if there is space within 15 min"
        );
        assert_eq!(
            receiving(waits(Outage::Full(Shortage::default()), None)),
            "Paused: the disk is full. Free up space within 15 min to resume"
        );
        let got = |direction| waits(Outage::Broken, None).says(direction, true, Some("lab-ws")).what();
        assert_eq!(got(Direction::Receiving), "Connection to lab-ws lost. Trying again…");
        assert_eq!(got(Direction::Sending), "Interrupted. Waiting for lab-ws for another 15 min");
        let copying = Interruption { gives_up: None, ..paused(Side::Here) };
        assert_eq!(copying.says(Direction::Copying, false, None).what(), "Paused");
    }
}
