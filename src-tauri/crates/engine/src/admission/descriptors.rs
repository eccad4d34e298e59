//! How jobs share the limit on open descriptors (RLIMIT_NOFILE), and the least that each needs.
use std::sync::OnceLock;

use ringway_model::Fault;
use ringway_tree::descriptors::{self, LANE, left, limit};

use crate::limits::{
    ANSWERS_MAX, ASKING_MAX, GETS_MAX, LANES_MAX, OFFERS_UNANSWERED_MAX, QUEUE_BYTES_MAX, QUEUED_BYTES,
    RENEWALS_PER_DEVICE_MAX, TRANSFERS_MAX, UNAUTHENTICATED_MAX,
};

/// What one transfer has open at the receiver beside its lanes: the folders that it lands in, its
/// journal and lists, its session.
const RECEIVE_OWN: usize = 16;

/// The same with several lanes, and folders and files on each: what more transfers at once are
/// worth having for.
const RECEIVE_WANTS: usize = 128;

/// What an answer about a share has open: the share, the folders on the way down, what confines its
/// thread, and what is looked at by the way.
const ANSWER: usize = 10;

/// What one get takes that is served from here, if its tree has few folders: its session, a lane or
/// two, the folders on the way down and what waits for the lanes.
const GET_WANTS: usize = 32;

/// With fewer descriptors, all are for transfers, and questions about shares hear "busy".
const ANSWERS_FROM: usize = 160;

/// Transfers at once of which each has all that it may use for itself.
const TRANSFERS_APART: usize = 4;

/// Refuses to begin with fewer than `least`: what would come of it is a part of what was asked for.
///
/// # Errors
/// [`Fault::FewDescriptors`].
pub(crate) fn at_least(least: usize) -> Result<(), Fault> {
    let has = limit();
    if has < least { Err(Fault::FewDescriptors { has: has as u64, least: least as u64 }) } else { Ok(()) }
}

/// What a receiver may keep open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ForReceiving {
    /// Connections that have not shown what they are.
    pub(crate) unauthenticated: usize,
    /// Accepted offers that wait for a place.
    pub(crate) waiting: usize,
    /// Offers that wait for a person's answer.
    pub(crate) unanswered: usize,
    /// Sessions that ask about shares.
    pub(crate) asking: usize,
    /// Answers to them that are looked for at once.
    pub(crate) answers: usize,
    /// What is got from here at once, beside what waits for its device.
    pub(crate) gets: usize,
    /// Transfers of one device that run, or wait for it.
    pub(crate) renewals: usize,
    /// Transfers at once.
    pub(crate) transfers: usize,
    /// Lanes of one of them.
    pub(crate) lanes: u8,
    /// What each of them keeps open beside.
    pub(crate) each: descriptors::ForReceiving,
}

impl ForReceiving {
    /// Decided once.
    pub(crate) fn here() -> Self {
        static HERE: OnceLock<ForReceiving> = OnceLock::new();
        *HERE.get_or_init(|| {
            let here = Self::of(left());
            // What is sent meanwhile leaves these alone.
            descriptors::reserve(here.of_peers());
            here
        })
    }

    /// What peers hold that neither send nor receive.
    fn of_peers(&self) -> usize {
        self.unauthenticated + self.waiting + self.unanswered + self.asking + self.answers * ANSWER
    }

    fn of(left: usize) -> Self {
        let unauthenticated = (left / 8).clamp(4, UNAUTHENTICATED_MAX);
        let waiting = (left / 8).clamp(2, QUEUE_BYTES_MAX / QUEUED_BYTES);
        let unanswered = (left / 16).clamp(2, OFFERS_UNANSWERED_MAX);
        let (asking, answers) = match left {
            ..ANSWERS_FROM => (0, 0),
            _ => ((left / 32).clamp(1, ASKING_MAX), (left / 128).clamp(1, ANSWERS_MAX)),
        };
        let rest = left.saturating_sub(unauthenticated + waiting + unanswered + asking + answers * ANSWER);
        let gets = (rest / GET_WANTS).clamp(1, GETS_MAX);
        let renewals = (left / 32).clamp(8, RENEWALS_PER_DEVICE_MAX);
        let transfers = (rest / RECEIVE_WANTS).clamp(1, TRANSFERS_MAX);
        // Each holds two.
        let attempts = (left / 32).clamp(1, descriptors::ForReceiving::MOST.attempts);
        // Where there may be many transfers, few of them use all that they may.
        let mine = (rest / transfers.min(TRANSFERS_APART)).saturating_sub(RECEIVE_OWN + 2 * attempts);
        let lanes = (mine / (2 * LANE)).clamp(1, LANES_MAX.into());
        let of_lane = (mine / lanes).saturating_sub(LANE);
        Self {
            unauthenticated,
            waiting,
            unanswered,
            asking,
            answers,
            gets,
            renewals,
            transfers,
            lanes: lanes as u8,
            each: descriptors::ForReceiving::within(of_lane, attempts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_fit_into_the_limit() {
        for left in (43..5_000).chain([100_000, 1 << 20]) {
            let share = ForReceiving::of(left);
            let (lanes, each) = (usize::from(share.lanes), share.each);
            let one = RECEIVE_OWN + 2 * each.attempts + lanes * (LANE + each.folders + each.group) + each.resuming;
            assert!(share.of_peers() + one <= left, "{left}: {one} {share:?}");
            assert!(share.gets == 1 || share.of_peers() + share.gets * GET_WANTS <= left, "{left}: {share:?}");
        }
    }

    #[test]
    fn many_descriptors_leave_every_share_at_its_most() {
        let receiving = ForReceiving {
            unauthenticated: 128,
            waiting: 256,
            unanswered: 64,
            asking: 32,
            answers: 8,
            gets: 16,
            renewals: 32,
            transfers: 16,
            lanes: 16,
            each: descriptors::ForReceiving { folders: 64, group: 64, attempts: 32, resuming: 128 },
        };
        assert_eq!(ForReceiving::of(1 << 16), receiving);
    }
}
