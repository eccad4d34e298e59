//! What the connections of one receiver share: the open code, where offers land, the queue.
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::{Mutex, MutexGuard};
use ringway_model::{Fault, IntoHome, PathTaken, Unconfined};
use ringway_tree::io_plan::IoPlan;
use ringway_tree::random;
use ringway_wire::code::{CODE_ENTROPY_LEN, PairingCode, PairingSecret};
use ringway_wire::pair::{Lifetime, OpenCode, Refusal};
use tokio::sync::{Semaphore, mpsc};
use zeroize::Zeroizing;

use super::answer_places::AnswerPlaces;
use super::arrivals::Arrivals;
use super::event::ReceiverEvent;
use super::listeners::Listeners;
use super::listing::Listings;
use super::queue::Queue;
use super::shares::Shares;
use super::taking::Site;
use crate::admission::accept_queue::AcceptQueue;
use crate::admission::back_off::BackOff;
use crate::admission::handshakes::Handshakes;
use crate::admission::token_bucket::TokenBuckets;
use crate::admission::{Origin, boot_ms};
use crate::shared::Shared;

/// What the connections of one receiver share.
pub(crate) struct Listening {
    pub(crate) shared: Arc<Shared>,
    pub(crate) listeners: Arc<Listeners>,
    pub(super) landing: Mutex<Landing>,
    pub(crate) pairing: bool,
    pub(crate) paths: PathTaken,
    pub(crate) io: IoPlan,
    /// How files of shares are read.
    pub(crate) reading: IoPlan,
    /// Whether the shares here are served.
    pub(super) serves: AtomicBool,
    /// Whether what writes files is confined to the destination.
    pub(crate) confinement: Result<(), Unconfined>,
    pub(crate) events: mpsc::Sender<ReceiverEvent>,
    pub(crate) back_off: BackOff,
    pub(crate) accept_queue: Arc<AcceptQueue>,
    pub(crate) handshakes: Handshakes,
    /// Offers of each device that a person is asked about.
    pub(crate) offers_in_vain: TokenBuckets,
    /// Requests of each device for entries of shares, and its offers into drop boxes.
    pub(crate) requests_for_shares: TokenBuckets,
    /// Notes of each device.
    pub(crate) notes: TokenBuckets,
    /// How often the program is told that an offer of a device was refused.
    pub(crate) refusals_told: TokenBuckets,
    /// How often the program is told that an origin tried to pair while no code was open, and all
    /// of them together.
    pub(crate) no_code_told: TokenBuckets,
    pub(crate) no_code_told_of_all: TokenBuckets,
    /// How many known devices' connections are told at a time that they have no place.
    pub(crate) partings: Semaphore,
    /// The places of running transfers.
    pub(crate) queue: Queue,
    /// The names of offers that still arrive.
    pub(crate) arrivals: Arrivals,
    /// What other devices ask about the folders that are shared with them.
    pub(super) answers: AnswerPlaces,
    /// The offers that wait for a person's answer.
    pub(crate) shares: Shares,
    /// What those contain.
    pub(crate) listings: Arc<Listings>,
    pub(super) code: Mutex<Option<Opened>>,
    /// Wrong attempts since a person asked for a code, at all codes together.
    pub(super) wrong_attempts: AtomicU32,
}

/// Where offers land that come from now on.
pub(crate) struct Landing {
    pub(crate) destination: PathBuf,
    /// Whether a device's rule may name another folder.
    pub(crate) rule_folders: bool,
    /// What may land there, where it is a home.
    pub(crate) into_home: IntoHome,
}

pub(super) struct Opened {
    pub(super) open: OpenCode,
    /// What stands in front of the code's words.
    number: Option<u16>,
    pub(super) text: Option<Zeroizing<String>>,
}

impl Listening {
    /// Whether the shares here are served.
    pub(super) fn serves(&self) -> bool {
        self.serves.load(Ordering::Relaxed)
    }

    /// Where and by what it writes.
    pub(super) fn site(&self) -> Site {
        let (shared, confined) = (Arc::clone(&self.shared), self.confinement.is_ok());
        Site { shared, paths: self.paths, io: self.io, confined }
    }

    /// Works on the open code, if there is one.
    pub(crate) fn with_code<T>(&self, work: impl FnOnce(&mut OpenCode, u64) -> T) -> Option<T> {
        let now_ms = boot_ms();
        self.code().as_mut().map(|opened| work(&mut opened.open, now_ms))
    }

    /// Counts a wrong attempt, at whichever code.
    pub(crate) fn count_wrong_attempt(&self) {
        // There is nothing that this count orders. An error means that it stays at its end.
        let _ = self.wrong_attempts.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_add(1));
    }

    /// Whether the program is told that somebody from there tried to pair while no code was open:
    /// such a try costs its peer nothing, and no attempt.
    pub(crate) fn may_tell_no_code(&self, origin: Origin) -> bool {
        let now_ms = boot_ms();
        let all = Origin::of(Ipv4Addr::UNSPECIFIED.into());
        self.no_code_told.take(origin, now_ms) && self.no_code_told_of_all.take(all, now_ms)
    }

    /// Tells the program; one that has gone is told nothing.
    pub(crate) async fn tell(&self, event: ReceiverEvent) {
        let _ = self.events.send(event).await;
    }

    pub(crate) fn landing(&self) -> MutexGuard<'_, Landing> {
        self.landing.lock()
    }

    pub(super) fn code(&self) -> MutexGuard<'_, Option<Opened>> {
        self.code.lock()
    }

    /// The number in front of the code that is open, for finding the machine that shows it.
    pub(crate) fn number_on_show(&self) -> Option<u16> {
        let now_ms = boot_ms();
        self.code().as_ref().filter(|opened| is_open(&opened.open, now_ms))?.number
    }

    pub(super) fn open(
        &self,
        secret: PairingSecret,
        lifetime: Lifetime,
        number: Option<u16>,
        text: Option<Zeroizing<String>>,
    ) {
        let open = OpenCode::new(secret, boot_ms(), lifetime);
        *self.code() = Some(Opened { open, number, text });
    }

    /// From now on no code is open, for attempts that are under way neither.
    pub(super) fn close_code(&self) {
        *self.code() = None;
    }

    pub(super) fn draw_code(&self) -> Result<(), Fault> {
        let code = PairingCode::from_entropy(random::<CODE_ENTROPY_LEN>()?);
        let text = Zeroizing::new(code.expose().to_owned());
        self.open(PairingSecret::from(&code), Lifetime::OneTime, Some(code.number()), Some(text));
        Ok(())
    }
}

/// Whether a code may be tried at all, now or after a wait.
pub(crate) fn is_open(code: &OpenCode, now_ms: u64) -> bool {
    !matches!(code.check(now_ms), Err(Refusal::Expired | Refusal::Burnt))
}
