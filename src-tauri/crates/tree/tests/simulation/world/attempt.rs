//! One attempt: both ends, as long as they live, and the connections between them.
use std::collections::{BTreeSet, HashMap};

use crate::pipe::{BytePipe, LanePipe};
use crate::random::Random;
use crate::receiver::{Receiver, ReceiverEnd, Site};
use crate::sender::{Sender, SenderEnd, Terms};
use crate::source::Source;

/// An attempt's connections and ends; an end that was killed is None.
pub(super) struct Attempt {
    pub(super) sender: Option<Sender>,
    pub(super) receiver: Option<Receiver>,
    pub(super) to_receiver: BytePipe,
    pub(super) to_sender: BytePipe,
    pub(super) lanes: Vec<LanePipe>,
    /// What the sender had done when it ended, or was killed.
    pub(super) sent: HashMap<Vec<u8>, u64>,
    pub(super) failed: BTreeSet<Vec<u8>>,
    pub(super) failed_there: BTreeSet<Vec<u8>>,
    pub(super) found: u64,
    /// How either ended, unless it was killed.
    pub(super) sender_end: Option<SenderEnd>,
    pub(super) receiver_end: Option<ReceiverEnd>,
    /// Entries that the receiver has not got, when it ended.
    pub(super) failures: u64,
    /// It has kept what is staged.
    pub(super) keeps_staged: bool,
    /// The receiver has accepted it.
    pub(super) has_accepted: bool,
    /// Only the sender has seen its connections end.
    pub(super) is_half_cut: bool,
}

impl Attempt {
    pub(super) fn new(random: &mut Random, source: &Source, terms: Terms, now_ms: u64) -> Self {
        Self {
            sender: Some(Sender::new(random, source, terms, now_ms)),
            receiver: Some(Receiver::new(now_ms)),
            to_receiver: BytePipe::default(),
            to_sender: BytePipe::default(),
            lanes: Vec::new(),
            sent: HashMap::new(),
            failed: BTreeSet::new(),
            failed_there: BTreeSet::new(),
            found: 0,
            sender_end: None,
            receiver_end: None,
            failures: 0,
            keeps_staged: false,
            has_accepted: false,
            is_half_cut: false,
        }
    }

    /// What both ends have to say goes on its way.
    pub(super) fn carry(&mut self) {
        if let Some(sender) = &mut self.sender {
            sender.transmit(&mut self.to_receiver);
        }
        if let Some(receiver) = &mut self.receiver {
            receiver.transmit(&mut self.to_sender);
        }
    }

    /// An end that has ended closes its connections, after what it has said.
    pub(super) fn bury(&mut self, random: &mut Random) {
        if self.sender.as_ref().is_some_and(|sender| sender.end.is_some()) {
            self.end_sender(random, false);
        }
        if let Some(end) = self.receiver.as_ref().and_then(|receiver| receiver.end) {
            self.has_accepted = self.receiver.as_ref().is_some_and(Receiver::has_accepted);
            self.failures = self.receiver.as_ref().map_or(0, |receiver| receiver.failures);
            self.keeps_staged = self.receiver.as_ref().is_some_and(|receiver| receiver.keeps_staged);
            self.receiver_end = Some(end);
            self.receiver = None;
            self.close(random, false);
        }
    }

    fn end_sender(&mut self, random: &mut Random, at_any_byte: bool) {
        if let Some(sender) = self.sender.take() {
            self.sender_end = sender.end;
            self.found = sender.found;
            (self.sent, self.failed, self.failed_there) = (sender.sent, sender.failed, sender.failed_there);
            self.close(random, at_any_byte);
        }
    }

    fn close(&mut self, random: &mut Random, at_any_byte: bool) {
        self.to_receiver.break_off(random, at_any_byte);
        self.to_sender.break_off(random, at_any_byte);
        self.lanes.iter_mut().for_each(|lane| lane.break_off(random));
    }

    pub(super) fn break_session(&mut self, random: &mut Random) {
        self.to_receiver.break_off(random, true);
        self.to_sender.break_off(random, true);
    }

    pub(super) fn kill_sender(&mut self, random: &mut Random) {
        self.end_sender(random, true);
    }

    /// With all that it only remembered.
    pub(super) fn kill_receiver(&mut self, random: &mut Random, site: &mut Site) {
        site.disk.state().die();
        (site.lingering, site.remembered) = (None, None);
        if self.receiver.take().is_some() {
            self.close(random, true);
        }
        site.disk.revive();
    }
}
