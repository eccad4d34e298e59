//! The honest peers that a session under test talks to, and the set-up of both sides.
use super::sessions::messages;
use ringway_wire::DeviceName;
use ringway_wire::code::{PairingCode, PairingSecret};
use ringway_wire::control::{
    Accept, Answer, Greeting, Message, Micros, NoAnswer, Offer, Progress, Proven, Receipt, ReceiverTimes, SenderTimes,
    Totals,
};
use ringway_wire::lane::Counts;
use ringway_wire::pair::{Binding, ENTROPY_LEN};
use ringway_wire::session::{Event, Machine, Pairing};

/// Which side knows the other, and which has which code.
#[derive(Default, Clone, Copy)]
pub(crate) struct Setup {
    /// The initiator knows the acceptor's key.
    pub(crate) known: bool,
    /// The acceptor knows the initiator's key.
    pub(crate) peer_known: bool,
    has_code: bool,
    right_code: bool,
    /// The initiator wants the transfer verified, and offers it again when the connection is lost.
    pub(crate) proves: bool,
}

impl Setup {
    pub(crate) fn new(flags: u8) -> Self {
        Self {
            known: flags & 1 != 0,
            peer_known: flags & 2 != 0,
            has_code: flags & 4 == 0,
            right_code: flags & 8 == 0,
            proves: flags & 16 != 0,
        }
    }

    pub(crate) fn same_code(&self) -> bool {
        self.has_code && self.right_code
    }

    pub(crate) fn initiator(&self, now_ms: u64) -> Machine {
        let pairing = self.has_code.then(|| Pairing {
            secret: secret(if self.right_code { 1 } else { 2 }).into(),
            binding: binding(),
            entropy: [0x11; ENTROPY_LEN].into(),
            always: false,
        });
        Machine::dial(&greeting("laptop"), self.known, pairing, now_ms)
    }

    pub(crate) fn acceptor(&self, now_ms: u64) -> Machine {
        Machine::listen(greeting("lab-ws"), now_ms)
    }

    pub(crate) fn pair(&self, acceptor: &mut Machine) {
        acceptor.pair(&secret(1), binding(), &[0x22; ENTROPY_LEN]);
    }
}

fn greeting(name: &str) -> Greeting {
    Greeting { name: DeviceName::new(name).expect("a name") }
}

fn secret(which: u8) -> PairingSecret {
    PairingSecret::from(&PairingCode::from_entropy([which; 4]))
}

fn binding() -> Binding {
    Binding::new([1; 32], [2; 32], [3; 32]).expect("two devices")
}

pub(crate) fn offer(proves: bool) -> Offer {
    Offer {
        transfer: [9; 16],
        names: vec![b"dataset-v3".to_vec()],
        more_names: 0,
        so_far: Totals::default(),
        lanes: 4,
        prove: proves,
        retry_s: if proves { 900 } else { 0 },
        in_share: None,
    }
}

fn micros(micros: u64) -> Micros {
    Micros::new(micros).expect("a time")
}

pub(crate) fn sender_times() -> SenderTimes {
    let [finding, reading, encrypting, sending, limited] = [1, 2, 3, 4, 5].map(micros);
    SenderTimes { finding, reading, encrypting, sending, limited }
}

pub(crate) fn receiver_times() -> ReceiverTimes {
    ReceiverTimes { receiving: micros(6), decrypting: micros(7), writing: Micros::MAX }
}

pub(crate) fn counts() -> Counts {
    Counts { files: 1, folders: 1, links: 0, bytes: 7 }
}

/// The proof for a receipt that counts [`counts`].
pub(crate) fn proven() -> Proven {
    let Counts { files, bytes, .. } = counts();
    Proven { files, bytes, took: Micros::MAX }
}

/// The acceptor that accepts everything.
pub(crate) struct HonestAcceptor {
    machine: Machine,
    setup: Setup,
    /// It has closed the connection after a message that it did not understand.
    pub(crate) gone: bool,
    pub(crate) code_proven: bool,
    /// The transfer is to be verified.
    proves: bool,
}

impl HonestAcceptor {
    pub(crate) fn new(setup: &Setup, now_ms: u64) -> Self {
        Self { machine: setup.acceptor(now_ms), setup: *setup, gone: false, code_proven: false, proves: false }
    }

    pub(crate) fn hear(&mut self, payload: &[u8], now_ms: u64) -> Vec<Vec<u8>> {
        hear(&mut self.machine, &mut self.gone, payload, now_ms);
        while let Some(event) = self.machine.poll_event() {
            match event {
                Event::HelloReceived { .. } => self.machine.welcome(self.setup.peer_known, true),
                Event::PairingStarted => self.setup.pair(&mut self.machine),
                Event::CodeProven => {
                    self.code_proven = true;
                    self.machine.confirm();
                }
                Event::PairingConcluded => self.machine.paired(),
                Event::ReceiptWanted(_) => self.machine.earlier_receipt(None),
                Event::NoteReceived(..) => self.machine.keep_note(),
                Event::GetReceived(..) => self.machine.offer(&offer(false)),
                Event::Accepted(_) => self.machine.finish(counts(), 0, 1),
                Event::Asked(number, _) => self.machine.answer(number, Answer::Refused(NoAnswer::Busy)),
                Event::Offered(offer, _) => {
                    self.proves = offer.prove;
                    self.machine.accept(Accept { lanes: offer.lanes, lists: true, doubts: None, owner_names: false });
                }
                Event::FinishReceived { sent, failed, .. } => {
                    if self.proves {
                        self.machine.proving(Progress { entries: sent.entries(), bytes: sent.bytes });
                    }
                    let proven = Proven { files: sent.files, bytes: sent.bytes, took: Micros::MAX };
                    self.machine.receipt(Receipt {
                        there: sent,
                        moved: sent.bytes,
                        failed,
                        proven: self.proves.then_some(proven),
                        ..Receipt::default()
                    });
                }
                _ => {}
            }
        }
        messages(&mut self.machine)
    }
}

/// The initiator that offers as soon as it may, and finishes sending as soon as it is accepted.
pub(crate) struct HonestInitiator {
    machine: Machine,
    proves: bool,
    /// It has closed the connection after a message that it did not understand.
    pub(crate) gone: bool,
}

impl HonestInitiator {
    pub(crate) fn new(setup: &Setup, now_ms: u64) -> Self {
        Self { machine: setup.initiator(now_ms), proves: setup.proves, gone: false }
    }

    pub(crate) fn say(&mut self) -> Vec<Vec<u8>> {
        messages(&mut self.machine)
    }

    pub(crate) fn hear(&mut self, payload: &[u8], now_ms: u64) -> Vec<Vec<u8>> {
        hear(&mut self.machine, &mut self.gone, payload, now_ms);
        while let Some(event) = self.machine.poll_event() {
            match event {
                Event::Authenticated => self.machine.offer(&offer(self.proves)),
                Event::Accepted(_) => {
                    self.machine.totals(Totals { entries: 2, bytes: 7, complete: true });
                    self.machine.finish(counts(), 0, 1);
                }
                _ => {}
            }
        }
        self.say()
    }
}

/// An honest peer closes the connection after a message that it does not understand.
fn hear(machine: &mut Machine, gone: &mut bool, payload: &[u8], now_ms: u64) {
    let message = Message::decode(payload).expect("the machine under test speaks the protocol");
    if !*gone {
        *gone = machine.handle_message(message, now_ms).is_err();
    }
}
