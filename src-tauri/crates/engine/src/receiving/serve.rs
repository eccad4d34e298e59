//! One connection from outside, until it is a lane, an offer, or nothing: handshake, recognition,
//! pairing.
use std::net::SocketAddr;
use std::sync::Arc;

use ringway_link::lane::Lane;
use ringway_link::messages::MessageReader;
use ringway_link::session::{Clock, Session};
use ringway_link::tls::Channel;
use ringway_model::{AuthError, Consent, Device, DeviceId, Fault, PairingRequest, TurnedAway};
use ringway_tree::random;
use ringway_wire::control::{Get, Message, Offer, Refusal, Ticket};
use ringway_wire::pair::{self, AttemptToken, Binding, ENTROPY_LEN, EXPORTER_LABEL, Outcome};
use ringway_wire::session::{Event, Machine, QuestionNumber};
use ringway_wire::{DeviceName, OfferedNames, SelectedPaths};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::admission::accept_queue::Turn;
use crate::admission::{AdmissionSlot, Origin, boot_ms};
use crate::limits::{FIRST_BYTES_TIME_MAX, HANDSHAKE_TIME_MAX, PARTING_TIME_MAX};
use crate::receiving::answering::{self, Asked, Asker};
use crate::receiving::arrivals::Arrival;
use crate::receiving::event::ReceiverEvent;
use crate::receiving::gets::Requester;
use crate::receiving::listening::{Listening, is_open};
use crate::receiving::visitor::Visitor;
use crate::receiving::{noting, offer, serving};
use crate::store::{Pairing, look_alike};

/// Resolves when a connection is evicted from its admission slot. It does not resolve after the
/// connection has given its slot back.
type Evicted = oneshot::Receiver<()>;

/// Serves a connection. Whatever goes wrong with a stranger ends it and is nobody's news; failed
/// authentication is told.
pub(crate) async fn connection(
    listening: Arc<Listening>,
    tcp: TcpStream,
    from: SocketAddr,
    slot: AdmissionSlot,
    mut evicted: Evicted,
) {
    let mut messages = MessageReader::default();
    let greeted = timeout(HANDSHAKE_TIME_MAX, async {
        tcp.set_nodelay(true).map_err(Fault::lost)?;
        // Until it says something, a connection costs its socket and a task.
        // It is looked whether that is there: "readable" may be said of one that has said nothing.
        let spoken = timeout(FIRST_BYTES_TIME_MAX, tcp.peek(&mut [0; 1])).await;
        spoken.map_err(|_| std::io::ErrorKind::TimedOut.into()).flatten().map_err(Fault::lost)?;
        let permit = listening.handshakes.acquire(&slot, Origin::of(from.ip())).await;
        let mut channel = listening.shared.tls.accept(tcp).await?;
        if listening.shared.store.by_id(channel.peer).is_ok_and(|device| device.is_some()) {
            slot.recognise(channel.peer);
            listening.handshakes.refund(permit);
        }
        let first = messages.next(&mut channel.stream).await?;
        Ok::<_, Fault>((channel, first))
    });
    let greeted = tokio::select! {
        // Dropping what serves it closes the connection.
        Ok(()) = &mut evicted => return,
        greeted = greeted => greeted,
    };
    let Ok(Ok((channel, Some(first)))) = greeted else {
        return;
    };
    match first {
        // A device that was forgotten brings no lane any more, even to a transfer that is just
        // being ended.
        Message::LaneJoin { .. } if !listening.shared.store.by_id(channel.peer).is_ok_and(|known| known.is_some()) => {}
        Message::LaneJoin { transfer, lane, connection, ticket } if messages.is_empty() => {
            tokio::select! {
                Ok(()) = evicted => {}
                // A lane that cannot join is closed; its sender hears of it there.
                _ = join_lane(&listening, channel, transfer, lane, connection, ticket, slot) => {}
            }
        }
        first => {
            let visit =
                Visit { listening, from, peer: channel.peer, name: None, attempt: None, turn: None, is_proven: false };
            // The peer was told; what the program should know was told as an event.
            let _ = visit.run(channel, messages, first, slot, evicted).await;
        }
    }
}

async fn join_lane(
    listening: &Listening,
    channel: Channel,
    transfer: [u8; 16],
    lane: u8,
    connection: u16,
    ticket: Ticket,
    slot: AdmissionSlot,
) -> Result<(), Fault> {
    let (deliver, successors) = {
        let mut doors = listening.listeners.doors();
        let Some(door) = doors.get_mut(&(channel.peer, transfer)) else { return Ok(()) };
        let Some(entrance) = door.entrances.get_mut(usize::from(lane)) else { return Ok(()) };
        let admitted = connection == entrance.next
            && !entrance.joining
            && door.tickets.ticket(&transfer, lane, connection) == ticket;
        let Some(next) = entrance.next.checked_add(1).filter(|_| admitted) else { return Ok(()) };
        entrance.next = next;
        entrance.joining = connection > 0;
        (door.deliver.clone(), entrance.successors.clone())
    };
    drop(slot);
    let key = (channel.peer, transfer);
    if connection == 0 {
        let channel = welcome_lane(channel).await?;
        // A transfer that has ended meanwhile needs no lane.
        let _ = deliver.send((lane, channel));
        return Ok(());
    }
    // The sender hears that it may go on when there is room: until then the lane is two connections
    // behind.
    let room = timeout(HANDSHAKE_TIME_MAX, successors.reserve()).await;
    {
        let mut doors = listening.listeners.doors();
        let entrance = doors.get_mut(&key).and_then(|door| door.entrances.get_mut(usize::from(lane)));
        if let Some(entrance) = entrance.filter(|entrance| entrance.successors.same_channel(&successors)) {
            entrance.joining = false;
        }
    }
    if let Ok(Ok(room)) = room {
        let taken = async { Lane::take(welcome_lane(channel).await?, listening.paths.tls).await };
        // The lane that waits hears why, if nothing comes of it.
        room.send(taken.await);
    }
    Ok(())
}

async fn welcome_lane(mut channel: Channel) -> Result<Channel, Fault> {
    let mut ready = Vec::new();
    Message::LaneReady.encode(&mut ready);
    channel.stream.write_all(&ready).await.map_err(Fault::lost)?;
    channel.stream.flush().await.map_err(Fault::lost)?;
    Ok(channel)
}

/// When who was not let attempt to pair may come again, milliseconds.
const PAIRING_BUSY_MS: u32 = 1_000;

fn busy_for(ms: u64) -> Refusal {
    Refusal::PairingBusy(u32::try_from(ms).unwrap_or(u32::MAX))
}

/// A session with a peer who may be anyone.
struct Visit {
    listening: Arc<Listening>,
    from: SocketAddr,
    peer: DeviceId,
    name: Option<DeviceName>,
    attempt: Option<AttemptToken>,
    /// Its turn to attempt that.
    turn: Option<Turn>,
    /// The peer has shown that it knows the code.
    is_proven: bool,
}

/// An offer of a known device.
struct FromKnown {
    device: Device,
    pairing: Pairing,
    offer: Offer,
    names: OfferedNames,
    arrival: Option<Arrival>,
}

/// Counts the selected paths of a request as whole; false if there is no memory for them.
fn is_whole(arrival: Option<&Arrival>, selected: &SelectedPaths) -> bool {
    arrival.is_none_or(|arrival| arrival.is_whole(selected.held_bytes()))
}

/// What a visit has come to.
enum Welcomed {
    Offered(Box<FromKnown>),
    /// A known device has sent a note.
    Noted(Box<noting::FromKnown>),
    /// A known device asks for entries of a share.
    Getting(Box<(Device, Pairing, Get, SelectedPaths, Option<Arrival>)>),
    /// A known device asks about shares.
    Asked(Pairing, (QuestionNumber, Asked), Option<Arrival>),
    /// There is no memory for the names of its offer.
    TurnedAway,
    Over,
}

impl Visit {
    async fn run(
        mut self,
        channel: Channel,
        messages: MessageReader,
        first: Message,
        slot: AdmissionSlot,
        evicted: Evicted,
    ) -> Result<(), Fault> {
        let clock = Clock::start();
        let exporter = channel.export(EXPORTER_LABEL)?;
        let tickets = channel.ticket_key()?;
        let greeting = self.listening.shared.greeting()?;
        let machine = Machine::listen(greeting, clock.now_ms());
        let mut session = Session::new(machine, channel.stream, messages, clock);
        let welcomed = match session.feed(first) {
            Ok(()) => tokio::select! {
                Ok(()) = evicted => return self.turn_away(session, slot).await,
                welcomed = self.welcome(&mut session, &exporter) => welcomed,
            },
            Err(error) => Err(error),
        };
        self.give_back(Outcome::Abandoned);
        match welcomed {
            Ok(Welcomed::Offered(offered)) => {
                drop(slot);
                let FromKnown { device, pairing, offer, names, arrival } = *offered;
                let (listening, names) = (Arc::clone(&self.listening), Arc::new(names));
                offer::run(listening, Visitor { session, tickets, device, pairing, offer, names, arrival, drop: None })
                    .await;
                Ok(())
            }
            Ok(Welcomed::Noted(note)) => {
                // It keeps its slot, which bounds how many there are at once.
                noting::run(&self.listening, session, *note).await;
                drop(slot);
                Ok(())
            }
            Ok(Welcomed::Getting(asked)) => {
                drop(slot);
                let (device, pairing, get, selected, arrival) = *asked;
                let requester = Requester { session, tickets, device, pairing, get, selected, _arrival: arrival };
                serving::run(Arc::clone(&self.listening), requester).await;
                Ok(())
            }
            Ok(Welcomed::Asked(pairing, first, arrival)) => {
                match self.listening.answers.begin_session(self.peer) {
                    Some(place) => {
                        drop(slot);
                        let asker = Asker { session, device: self.peer, pairing, place, _arrival: arrival };
                        answering::run(Arc::clone(&self.listening), asker, first).await;
                    }
                    // It keeps its slot, so that those that are turned away are bounded as well.
                    None => answering::turn_away(&self.listening, session, first.0).await,
                }
                Ok(())
            }
            Ok(Welcomed::TurnedAway) => self.turn_away(session, slot).await,
            Ok(Welcomed::Over) => {
                session.close().await;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Its admission slot was given away. A known device is told so: its person would take a
    /// closed connection for a broken network.
    async fn turn_away(self, mut session: Session, slot: AdmissionSlot) -> Result<(), Fault> {
        drop(slot);
        let is_known = self.listening.shared.store.by_id(self.peer).is_ok_and(|device| device.is_some());
        // One that was not welcomed yet comes again by itself. What is said to who attempts to pair
        // must not tell of the code.
        let may_be_told = is_known && self.name.is_some() && self.attempt.is_none();
        if let (true, Ok(_parting)) = (may_be_told, self.listening.partings.try_acquire()) {
            session.machine.refuse(busy_for(PAIRING_BUSY_MS.into()));
            // Who does not listen is left.
            let _ = timeout(PARTING_TIME_MAX, session.close()).await;
        }
        Ok(())
    }

    /// Until an offer is made by someone known, or the session ends.
    async fn welcome(&mut self, session: &mut Session, exporter: &[u8; 32]) -> Result<Welcomed, Fault> {
        let mut arrival: Option<Arrival> = None;
        loop {
            let event = match (self.turn.as_ref().filter(|_| !self.is_proven), &mut arrival) {
                (None, None) => session.next().await?,
                (None, Some(arrival)) => tokio::select! {
                    event = session.next() => event?,
                    () = arrival.told_to_leave() => return Ok(Welcomed::TurnedAway),
                },
                (Some(turn), _) => tokio::select! {
                    event = session.next() => event?,
                    () = turn.expired() => {
                        session.machine.refuse(Refusal::PairingBusy(PAIRING_BUSY_MS));
                        self.give_back(Outcome::Abandoned);
                        continue;
                    }
                },
            };
            let Some(event) = event else { return Ok(Welcomed::Over) };
            match event {
                Event::HelloReceived { peer_name, known, pairing, .. } => {
                    self.name = Some(peer_name);
                    self.hello(session, known, pairing).await?;
                }
                Event::PairingStarted => self.pair(session, exporter).await?,
                Event::CodeProven if self.may_conclude() => {
                    self.is_proven = true;
                    session.machine.confirm();
                }
                Event::PairingConcluded if self.may_conclude() => self.conclude(session).await?,
                // The code ended while the attempt lasted: it lets in nobody any more, and its end
                // is not to be told from a wrong attempt.
                Event::CodeProven | Event::PairingConcluded => {
                    session.machine.refuse(Refusal::WrongCode);
                    self.give_back(Outcome::Abandoned);
                }
                Event::WrongCode => self.wrong_code().await,
                Event::NamesArriving(bytes) => {
                    let arrival = arrival.get_or_insert_with(|| self.listening.arrivals.begin(self.peer));
                    if !arrival.holds(bytes) {
                        return Ok(Welcomed::TurnedAway);
                    }
                }
                Event::Offered(offer, names) => {
                    if arrival.as_ref().is_some_and(|arrival| !arrival.is_whole(names.held_bytes())) {
                        return Ok(Welcomed::TurnedAway);
                    }
                    // The pairing first: who is forgotten and pairs between the two is taken for
                    // who it was before, and asked about.
                    let pairing = self.listening.shared.store.pairing(self.peer)?;
                    let Some(device) = self.listening.shared.store.by_id(self.peer)? else {
                        session.machine.refuse(Refusal::NotPaired);
                        return Ok(Welcomed::Over);
                    };
                    let offered = FromKnown { device, pairing, offer, names, arrival };
                    return Ok(Welcomed::Offered(Box::new(offered)));
                }
                Event::GetReceived(get, selected) => {
                    if !is_whole(arrival.as_ref(), &selected) {
                        return Ok(Welcomed::TurnedAway);
                    }
                    // As above.
                    let pairing = self.listening.shared.store.pairing(self.peer)?;
                    let Some(device) = self.listening.shared.store.by_id(self.peer)? else {
                        session.machine.refuse(Refusal::NotPaired);
                        return Ok(Welcomed::Over);
                    };
                    return Ok(Welcomed::Getting(Box::new((device, pairing, get, selected, arrival))));
                }
                Event::NoteReceived(id, text) => {
                    // As above.
                    let pairing = self.listening.shared.store.pairing(self.peer)?;
                    let Some(device) = self.listening.shared.store.by_id(self.peer)? else {
                        session.machine.refuse(Refusal::NotPaired);
                        return Ok(Welcomed::Over);
                    };
                    return Ok(Welcomed::Noted(Box::new(noting::FromKnown { device, pairing, id, text })));
                }
                Event::Asked(number, question) => {
                    return self.asked(session, (number, Asked::Question(question)), None);
                }
                Event::PlanAsked(number, get, selected) => {
                    if !is_whole(arrival.as_ref(), &selected) {
                        return Ok(Welcomed::TurnedAway);
                    }
                    return self.asked(session, (number, Asked::Plan(Box::new((get, selected)))), arrival);
                }
                Event::ReceiptWanted(transfer) => {
                    let device = self.listening.shared.store.by_id(self.peer)?;
                    let is_refused = device.is_none_or(|device| device.rule.consent == Consent::Refuse);
                    let renewals = &self.listening.listeners.renewals;
                    renewals.only_of(self.listening.shared.store.pairing(self.peer)?);
                    let receipt = renewals.receipt((self.peer, transfer));
                    session.machine.earlier_receipt(receipt.filter(|_| !is_refused));
                }
                Event::Cancelled(_) => return Ok(Welcomed::Over),
                _ => {}
            }
        }
    }

    /// A question of a device, if it is known.
    fn asked(
        &self,
        session: &mut Session,
        first: (QuestionNumber, Asked),
        arrival: Option<Arrival>,
    ) -> Result<Welcomed, Fault> {
        let pairing = self.listening.shared.store.pairing(self.peer)?;
        if self.listening.shared.store.by_id(self.peer)?.is_none() {
            session.machine.refuse(Refusal::NotPaired);
            return Ok(Welcomed::Over);
        }
        Ok(Welcomed::Asked(pairing, first, arrival))
    }

    /// Answers hello. `is_known_there` is what the peer says, and `has_code` whether it wants to
    /// pair.
    async fn hello(&mut self, session: &mut Session, is_known_there: bool, has_code: bool) -> Result<(), Fault> {
        let store = &self.listening.shared.store;
        if self.peer == self.listening.shared.identity.id() {
            session.machine.refuse(Refusal::Ourselves);
            return Ok(());
        }
        // A stranger is answered the same whatever it calls itself: nobody finds out who is known
        // here.
        let known = store.by_id(self.peer)?.is_some();
        if known {
            // A note for the next time: state that cannot be written keeps no known device out.
            let _ = store.came_from(self.peer, self.from.ip().to_canonical());
        }
        let open = self.listening.with_code(|code, now_ms| is_open(code, now_ms)).unwrap_or(false);
        session.machine.welcome(known, open);
        if !(has_code || known && is_known_there) {
            self.request_pairing();
        }
        Ok(())
    }

    /// Has a person shown that this peer wants to pair, if that is to be shown. It is not of an
    /// address that has to wait because it failed to pair.
    fn request_pairing(&self) {
        let Some(name) = self.name.clone().filter(|_| self.listening.pairing) else { return };
        let (listening, peer, from) = (Arc::clone(&self.listening), self.peer, self.from.ip().to_canonical());
        // In a task of its own: the answer is the same, and as fast, whether it is shown or not.
        tokio::spawn(async move {
            let (now_ms, origin, requests) = (boot_ms(), Origin::of(from), &listening.listeners.requests);
            if listening.back_off.wait_ms(&origin, now_ms) > 0 || !requests.may_take(peer, origin, now_ms) {
                return;
            }
            // A store that cannot be read leaves out what it would add.
            let store = &listening.shared.store;
            let request = PairingRequest {
                id: peer,
                name: name.as_str().into(),
                paired_as: store.by_id(peer).ok().flatten().map(|device| device.name),
                looks_like: look_alike::find(store, peer, name.as_str())
                    .ok()
                    .flatten()
                    .or_else(|| look_alike::this_device(&listening.shared.this_device(), name.as_str())),
                from,
                allowed: false,
            };
            if requests.take(request.clone(), now_ms) {
                listening.tell(ReceiverEvent::PairingRequested(request)).await;
            }
        });
    }

    async fn pair(&mut self, session: &mut Session, exporter: &[u8; 32]) -> Result<(), Fault> {
        let Ok(binding) = Binding::new(self.peer.0, self.listening.shared.identity.id().0, *exporter) else {
            session.machine.refuse(Refusal::Ourselves);
            return Ok(());
        };
        let entropy = zeroize::Zeroizing::new(random::<ENTROPY_LEN>()?);
        if !self.takes_turn(session).await {
            return Ok(());
        }
        let begun = self.listening.with_code(|code, now_ms| {
            let attempt = code.begin(now_ms)?;
            match code.secret(&attempt) {
                Some(secret) => session.machine.pair(secret, binding, &entropy),
                None => session.machine.refuse(Refusal::NoCodeOpen),
            }
            Ok(attempt)
        });
        match begun {
            Some(Ok(attempt)) => self.attempt = Some(attempt),
            // What it waits for is the code's, after wrong attempts of others.
            Some(Err(pair::Refusal::BackOff { ms })) => session.machine.refuse(busy_for(ms)),
            Some(Err(pair::Refusal::Busy)) => session.machine.refuse(Refusal::PairingBusy(PAIRING_BUSY_MS)),
            Some(Err(pair::Refusal::Expired | pair::Refusal::Burnt)) | None => {
                session.machine.refuse(Refusal::NoCodeOpen);
                if self.listening.may_tell_no_code(Origin::of(self.from.ip())) {
                    self.auth_failed(AuthError::NoCodeOpen, None).await;
                }
                // Its code is of no use: it may ask for another one.
                self.request_pairing();
            }
        }
        Ok(())
    }

    /// Waits until it is this peer's turn to attempt to pair; false where it was told to come again
    /// later. That is no news for the program: what made an address wait was told, and nobody here
    /// could do anything about others being faster.
    async fn takes_turn(&mut self, session: &mut Session) -> bool {
        let origin = Origin::of(self.from.ip());
        let back_off = &self.listening.back_off;
        let asked = self.listening.with_code(|code, now_ms| {
            is_open(code, now_ms).then(|| (back_off.wait_ms(&origin, now_ms), back_off.failures_of(&origin, now_ms)))
        });
        // A code that is closed is closed for who would have to wait, too.
        let Some((wait_ms, failures)) = asked.flatten() else { return true };
        if wait_ms > 0 {
            session.machine.refuse(busy_for(wait_ms));
            return false;
        }
        self.turn = self.listening.accept_queue.take(origin, failures).await;
        if self.turn.is_none() {
            session.machine.refuse(Refusal::PairingBusy(PAIRING_BUSY_MS));
        }
        self.turn.is_some()
    }

    async fn wrong_code(&mut self) {
        self.give_back(Outcome::WrongSecret);
        self.listening.count_wrong_attempt();
        let left = self.listening.with_code(|code, _| code.attempts_left()).flatten();
        self.auth_failed(AuthError::WrongCode, left.and_then(|left| u8::try_from(left).ok())).await;
        if left == Some(0) {
            self.listening.tell(ReceiverEvent::CodeChanged).await;
        }
    }

    /// Whether the very code that this attempt is of is open now. A receiver that has stopped has
    /// none.
    fn may_conclude(&self) -> bool {
        let Some(attempt) = &self.attempt else { return false };
        self.listening.with_code(|code, now_ms| code.may_conclude(attempt, now_ms)).unwrap_or(false)
    }

    async fn conclude(&mut self, session: &mut Session) -> Result<(), Fault> {
        let name = self.name.as_ref().map_or("", DeviceName::as_str);
        let store = &self.listening.shared.store;
        let from = self.from.ip().to_canonical();
        let device = match store.by_id(self.peer)? {
            // It has proven itself once more, under whatever name it has here.
            Some(device) => {
                let _ = store.came_from(self.peer, from);
                device
            }
            None => store.pin(self.peer, name, &from.to_string())?,
        };
        session.machine.paired();
        self.give_back(Outcome::Paired);
        self.listening.listeners.requests.paired(self.peer, Origin::of(self.from.ip()));
        self.listening.tell(ReceiverEvent::DevicePaired(device)).await;
        self.listening.tell(ReceiverEvent::CodeChanged).await;
        Ok(())
    }

    async fn auth_failed(&self, why: AuthError, attempts_left: Option<u8>) {
        let failed = TurnedAway::new(self.from, why, attempts_left);
        self.listening.tell(ReceiverEvent::TurnedAway(failed)).await;
    }

    /// Ends the attempt that is under way, if one is.
    fn give_back(&mut self, outcome: Outcome) {
        if let Some(attempt) = self.attempt.take() {
            let origin = Origin::of(self.from.ip());
            self.listening.with_code(|code, now_ms| {
                code.finish(attempt, outcome, now_ms);
                match outcome {
                    Outcome::Paired => self.listening.back_off.paired(&origin),
                    Outcome::WrongSecret | Outcome::Abandoned => self.listening.back_off.failed(origin, now_ms),
                }
            });
        }
        self.turn = None;
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.give_back(Outcome::Abandoned);
    }
}
