//! From a target to the addresses to dial, and which of them answers: Happy Eyeballs (RFC 8305)
//! over all that are known.
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::thread;

use ringway_model::{Device, Fault, Invalid};
use ringway_sys::resolve::{self, Family};
use ringway_wire::announcement::Fingerprint;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use crate::devices::target::{Address, Target};
use crate::limits::{
    ADDRESSES_DIALLED_MAX, CONNECT_TIME_MAX, DEFAULT_PORT, LOOKUP_TIME_MAX, NEXT_ADDRESS_AFTER, RESOLUTION_DELAY,
};
use crate::reach::interfaces;
use crate::store::Store;

/// Where to go, and whom to find there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Destination {
    /// None of a paired device that was never reached.
    pub(crate) address: Option<Address>,
    /// Where the device has answered before: which of the addresses that a name leads to come
    /// first, and what else is dialled for a device.
    pub(crate) answered: Vec<Candidate>,
    /// The device that must answer, where the target names one.
    pub(crate) device: Option<Device>,
    /// The announced beginning of the answering device's id; `None` if nothing was announced.
    pub(crate) announced: Option<Fingerprint>,
    /// A person gave the address. What is known of a device's address otherwise may be of its own
    /// making.
    pub(crate) is_typed: bool,
    /// Only pairing is wanted: the device that answers must prove the secret, even if the target
    /// names it.
    pub(crate) is_to_pair: bool,
}

impl Destination {
    /// Of a target, as the store knows it now. A device that was forgotten is no target.
    pub(crate) fn of(store: &Store, target: &Target) -> Result<Self, Fault> {
        let nowhere = Self {
            address: None,
            answered: Vec::new(),
            device: None,
            announced: None,
            is_typed: false,
            is_to_pair: false,
        };
        match target {
            Target::Device(id) => {
                let device = store.by_id(*id)?.ok_or(Fault::Invalid(Invalid::UnknownDevice))?;
                let address = device.last_address.as_deref();
                let address = address.and_then(|address| Address::parse(address, DEFAULT_PORT));
                Self::of_device(store, device, address)
            }
            Target::DeviceAt { id, at } => {
                let device = store.by_id(*id)?.ok_or(Fault::Invalid(Invalid::UnknownDevice))?;
                Ok(Self { address: Some(at.clone()), device: Some(device), is_typed: true, ..nowhere })
            }
            Target::Address(address) => {
                let device = store.reached_at(&address.key())?;
                let answered = device.map_or(Ok(Vec::new()), |id| answered(store, id))?;
                let answered = answered.into_iter().filter(|candidate| candidate.meant == *address).collect();
                Ok(Self { address: Some(address.clone()), answered, is_typed: true, ..nowhere })
            }
            Target::Announced { at, fingerprint } => {
                Ok(Self { address: Some((*at).into()), announced: Some(*fingerprint), ..nowhere })
            }
        }
    }

    /// Of a device, wherever it is; `address` is where it should be.
    pub(crate) fn of_device(store: &Store, device: Device, address: Option<Address>) -> Result<Self, Fault> {
        let answered = answered(store, device.id)?;
        Ok(Self { address, answered, device: Some(device), announced: None, is_typed: false, is_to_pair: false })
    }

    /// What is dialled, in that order, as far as it needs no resolver; and the host that is looked
    /// up beside.
    fn candidates(&self) -> (Vec<Candidate>, Option<Address>) {
        // A person who gave an address meant that one. A device's own key is proven wherever it is.
        let elsewhere = || self.answered.iter().filter(|_| self.device.is_some()).cloned();
        match &self.address {
            None => (elsewhere().collect(), None),
            Some(address @ Address::Socket(at)) => {
                let there = match at {
                    // An address of the link is one on each link, unless its interface was given.
                    SocketAddr::V6(v6) if v6.ip().is_unicast_link_local() && v6.scope_id() == 0 => {
                        interfaces::on_each_link(*v6.ip(), v6.port())
                    }
                    _ => vec![*at],
                };
                let others = elsewhere().filter(|other| !there.contains(&other.at));
                let there = there.iter().map(|at| Candidate { at: *at, meant: address.clone() });
                (there.chain(others).collect(), None)
            }
            Some(host) => (elsewhere().collect(), Some(host.clone())),
        }
    }
}

fn answered(store: &Store, id: ringway_model::DeviceId) -> Result<Vec<Candidate>, Fault> {
    let known = store.answered_at(id)?.into_iter();
    Ok(known
        .filter_map(|(at, meant)| match at {
            Address::Socket(at) => Some(Candidate { at, meant }),
            Address::Host(..) => None,
        })
        .collect())
}

/// An address to dial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) at: SocketAddr,
    /// What led to it: what people are told, and what is remembered.
    pub(crate) meant: Address,
}

impl From<SocketAddr> for Candidate {
    fn from(at: SocketAddr) -> Self {
        Self { at, meant: at.into() }
    }
}

/// Connects to one address.
pub(crate) async fn connect(candidate: &Candidate) -> Result<TcpStream, Fault> {
    let unreachable = |source| Fault::unreachable(candidate.meant.to_string(), source);
    match timeout(CONNECT_TIME_MAX, TcpStream::connect(candidate.at)).await {
        Ok(Ok(tcp)) => {
            tcp.set_nodelay(true).map_err(unreachable)?;
            Ok(tcp)
        }
        Ok(Err(error)) => Err(unreachable(error)),
        Err(_) => Err(unreachable(io::ErrorKind::TimedOut.into())),
    }
}

/// What the resolver says of one family.
type Answer = (Family, io::Result<Vec<SocketAddr>>);

/// Addresses that wait to be dialled.
struct Waiting {
    /// Those that are known, before all others.
    known: VecDeque<Candidate>,
    v6: VecDeque<Candidate>,
    v4: VecDeque<Candidate>,
    /// The family of the next one that the resolver named (RFC 8305 section 4: they take turns,
    /// IPv6 first).
    next: Family,
    /// Everything that ever waited.
    all: Vec<Candidate>,
    /// Where the device answered before: these come first within their family.
    answered: Vec<SocketAddr>,
}

impl Waiting {
    /// Whether an address of that family would come before those of the other.
    fn prefers(&self, family: Family) -> bool {
        family == Family::V6 || self.answered.iter().any(SocketAddr::is_ipv4)
    }

    fn is_empty(&self) -> bool {
        self.known.is_empty() && self.v6.is_empty() && self.v4.is_empty()
    }

    fn add(&mut self, meant: &Address, found: Vec<SocketAddr>) {
        let mut found: Vec<_> = found.into_iter().map(|at| Candidate { at, meant: meant.clone() }).collect();
        let rank = |at: &SocketAddr| self.answered.iter().position(|known| known == at).unwrap_or(usize::MAX);
        found.sort_by_key(|candidate| rank(&candidate.at));
        for candidate in found {
            if self.all.len() >= ADDRESSES_DIALLED_MAX || self.all.iter().any(|other| other.at == candidate.at) {
                continue;
            }
            self.all.push(candidate.clone());
            if self.answered.contains(&candidate.at) {
                self.known.push_back(candidate);
            } else if candidate.at.is_ipv6() {
                self.v6.push_back(candidate);
            } else {
                self.v4.push_back(candidate);
            }
        }
    }

    fn pop(&mut self) -> Option<Candidate> {
        if let Some(known) = self.known.pop_front() {
            return Some(known);
        }
        let (turn, other) = match self.next {
            Family::V6 => (self.v6.pop_front(), Family::V4),
            Family::V4 => (self.v4.pop_front(), Family::V6),
        };
        if turn.is_some() {
            self.next = other;
            return turn;
        }
        self.v6.pop_front().or_else(|| self.v4.pop_front())
    }
}

/// What answered first.
pub(crate) struct Won<T> {
    pub(crate) value: T,
    pub(crate) candidate: Candidate,
    /// The other addresses that were known by then: a lane dials them where this one fails.
    pub(crate) others: Vec<SocketAddr>,
}

/// Dials the addresses of `destination`, each a little after the one before or as soon as that has
/// failed, and takes the first for which `attempt` succeeds. A device has its key wherever it is,
/// so others are passed over. Another device than the one that was reached at a typed address ends
/// the race.
///
/// # Errors
/// The most telling one.
pub(crate) async fn race<T, F>(destination: &Destination, attempt: impl Fn(Candidate) -> F) -> Result<Won<T>, Fault>
where
    T: Send + 'static,
    F: Future<Output = Result<T, Fault>> + Send + 'static,
{
    let (known, host) = destination.candidates();
    let answers = host.as_ref().map(look_up);
    let answered = destination.answered.iter().map(|candidate| candidate.at).collect();
    let meant = Meant { address: destination.address.clone(), is_one_device: destination.device.is_some() };
    race_over(meant, known, answered, host.zip(answers), attempt).await
}

/// The same over addresses that are known already.
pub(crate) async fn race_of<T, F>(known: Vec<Candidate>, attempt: impl Fn(Candidate) -> F) -> Result<Won<T>, Fault>
where
    T: Send + 'static,
    F: Future<Output = Result<T, Fault>> + Send + 'static,
{
    let meant = Meant { address: None, is_one_device: true };
    race_over(meant, known, Vec::new(), None, attempt).await
}

/// What a race is for.
struct Meant {
    /// What errors name.
    address: Option<Address>,
    /// One device is meant, by its key.
    is_one_device: bool,
}

async fn race_over<T, F>(
    meant: Meant,
    known: Vec<Candidate>,
    answered: Vec<SocketAddr>,
    lookup: Option<(Address, mpsc::UnboundedReceiver<Answer>)>,
    attempt: impl Fn(Candidate) -> F,
) -> Result<Won<T>, Fault>
where
    T: Send + 'static,
    F: Future<Output = Result<T, Fault>> + Send + 'static,
{
    let mut waiting = Waiting {
        all: known.clone(),
        known: known.into(),
        v6: VecDeque::new(),
        v4: VecDeque::new(),
        next: Family::V6,
        answered,
    };
    let (host, mut answers) = lookup.unzip();
    let is_asked = host.is_some();
    let Meant { address, is_one_device } = meant;
    let meant = host.clone().or(address);
    let mut awaited: Vec<Family> = if answers.is_some() { vec![Family::V6, Family::V4] } else { Vec::new() };
    let (mut next_at, lookup_ends) = (Instant::now(), Instant::now() + LOOKUP_TIME_MAX);
    let mut tries: JoinSet<(Candidate, Result<T, Fault>)> = JoinSet::new();
    let mut why: Option<Fault> = None;
    let mut not_found = None;
    loop {
        tokio::select! {
            // Addresses that are known are looked at before one of them is chosen.
            biased;
            answer = next_answer(&mut answers), if answers.is_some() => {
                let Some((family, answer)) = answer else {
                    answers = None;
                    continue;
                };
                awaited.retain(|awaited| *awaited != family);
                match (answer, &host) {
                    (Ok(found), Some(host)) => waiting.add(host, found),
                    (Err(error), _) => not_found = not_found.or(Some(error)),
                    (Ok(_), None) => {}
                }
                if tries.is_empty() {
                    // IPv6 goes first, and where the device answered before, if that is known soon.
                    let is_early = waiting.known.is_empty() && awaited.iter().any(|family| waiting.prefers(*family));
                    next_at = if is_early { Instant::now() + RESOLUTION_DELAY } else { Instant::now() };
                }
            }
            () = sleep_until(lookup_ends), if answers.is_some() => answers = None,
            Some(tried) = tries.join_next(), if !tries.is_empty() => match tried {
                Ok((candidate, Ok(value))) => {
                    let others = waiting.all.iter().map(|other| other.at).filter(|other| *other != candidate.at).collect();
                    return Ok(Won { value, candidate, others });
                }
                Ok((_, Err(error @ Fault::Auth(_)))) if !is_one_device => return Err(error),
                Ok((_, Err(error))) => {
                    why = Some(match why {
                        Some(before) if tells(&before) >= tells(&error) => before,
                        _ => error,
                    });
                    next_at = Instant::now();
                }
                Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
            },
            () = sleep_until(next_at), if !waiting.is_empty() => {
                let Some(candidate) = waiting.pop() else { continue };
                next_at = Instant::now() + NEXT_ADDRESS_AFTER;
                let tried = attempt(candidate.clone());
                tries.spawn(async move { (candidate, tried.await) });
            }
            else => break,
        }
    }
    Err(why.unwrap_or_else(|| {
        // Without a candidate and without a resolver it is an address of the link, and no interface
        // is up.
        let kind = if is_asked { io::ErrorKind::TimedOut } else { io::ErrorKind::NetworkUnreachable };
        let target = meant.map(|meant| meant.to_string()).unwrap_or_default();
        Fault::unreachable(target, not_found.unwrap_or_else(|| kind.into()))
    }))
}

/// How much an error tells of the device that was meant: that another key answers more than
/// silence.
fn tells(error: &Fault) -> u8 {
    match error {
        Fault::Unreachable { source, .. } => match source.kind() {
            io::ErrorKind::ConnectionRefused => 2,
            io::ErrorKind::TimedOut | io::ErrorKind::HostUnreachable => 1,
            _ => 0,
        },
        Fault::ConnectionLost(_) => 3,
        _ => 4,
    }
}

/// Asks the resolver for each family by itself, so that an answer that never comes keeps nobody
/// waiting (RFC 8305 section 3). On threads of their own: a program that has ended does not wait
/// for the resolver.
fn look_up(address: &Address) -> mpsc::UnboundedReceiver<Answer> {
    let (tell, told) = mpsc::unbounded_channel();
    let Address::Host(host, port) = address else { return told };
    for family in [Family::V6, Family::V4] {
        let (host, port, tell, failed) = (host.clone(), *port, tell.clone(), tell.clone());
        let asking = thread::Builder::new().name("resolver".into()).spawn(move || {
            // The race may be over.
            let _ = tell.send((family, resolve::addresses(&host, family, port)));
        });
        if let Err(error) = asking {
            let _ = failed.send((family, Err(error)));
        }
    }
    told
}

/// The resolver's next answer; never where none is awaited.
async fn next_answer(answers: &mut Option<mpsc::UnboundedReceiver<Answer>>) -> Option<Answer> {
    match answers {
        Some(answers) => answers.recv().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use ringway_model::DeviceId;

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    fn host() -> Address {
        Address::Host("nas.lan".into(), 5)
    }

    const V6: [&str; 2] = ["[fd00::1]:5", "[fd00::2]:5"];
    const V4: [&str; 2] = ["10.0.0.1:5", "10.0.0.2:5"];

    /// A race in which `alive` alone answers, after a round trip; the addresses in the order in
    /// which they were dialled, with the milliseconds.
    async fn dialled(
        known: &[&str],
        answered: &[&str],
        lookup: Option<mpsc::UnboundedReceiver<Answer>>,
        alive: &str,
    ) -> (Result<Won<()>, Fault>, Vec<(SocketAddr, u64)>) {
        let (begin, order) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
        let (alive, noted) = (at(alive), Arc::clone(&order));
        let known = known.iter().map(|text| at(text).into()).collect();
        let answered = answered.iter().map(|text| at(text)).collect();
        let meant = Meant { address: None, is_one_device: true };
        let won = race_over(meant, known, answered, lookup.map(|lookup| (host(), lookup)), move |candidate| {
            noted.lock().push((candidate.at, begin.elapsed().as_millis() as u64));
            async move {
                if candidate.at == alive {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    return Ok(());
                }
                tokio::time::sleep(CONNECT_TIME_MAX).await;
                let source = io::ErrorKind::TimedOut;
                Err(Fault::unreachable(candidate.meant.to_string(), source))
            }
        })
        .await;
        let order = order.lock().clone();
        (won, order)
    }

    /// A resolver that answers for each family after some time; never for one that is missing.
    fn resolver(
        answers: Vec<(Family, u64, io::Result<Vec<SocketAddr>>)>,
        forever: bool,
    ) -> mpsc::UnboundedReceiver<Answer> {
        let (tell, told) = mpsc::unbounded_channel();
        for (family, after, answer) in answers {
            let tell = tell.clone();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(after)).await;
                let _ = tell.send((family, answer));
            });
        }
        if forever {
            tokio::spawn(async move {
                std::future::pending::<()>().await;
                drop(tell);
            });
        }
        told
    }

    fn all(texts: [&str; 2]) -> io::Result<Vec<SocketAddr>> {
        Ok(texts.map(at).to_vec())
    }

    #[tokio::test(start_paused = true)]
    async fn families_take_turns_a_quarter_of_a_second_apart() {
        let told = resolver(vec![(Family::V6, 0, all(V6)), (Family::V4, 0, all(V4))], false);
        let (won, order) = dialled(&[], &[], Some(told), V4[1]).await;
        let won = won.unwrap();
        assert_eq!((won.candidate.at, &won.candidate.meant), (at(V4[1]), &host()));
        assert_eq!(won.others.len(), 3);
        let wanted = [(V6[0], 0), (V4[0], 250), (V6[1], 500), (V4[1], 750)];
        assert_eq!(order, wanted.map(|(text, ms)| (at(text), ms)));
    }

    #[tokio::test(start_paused = true)]
    async fn an_unanswered_question_for_ipv6_delays_ipv4_by_the_resolution_delay() {
        let told = resolver(vec![(Family::V4, 10, all(V4))], true);
        let (won, order) = dialled(&[], &[], Some(told), V4[0]).await;
        assert!(won.is_ok());
        assert_eq!(order, [(at(V4[0]), 60)]);
    }

    #[tokio::test(start_paused = true)]
    async fn addresses_that_answered_before_come_first() {
        let told = resolver(vec![(Family::V6, 0, all(V6)), (Family::V4, 0, all(V4))], false);
        let (won, order) = dialled(&[], &[V4[1]], Some(told), V4[1]).await;
        assert!(won.is_ok());
        assert_eq!(order, [(at(V4[1]), 0)]);
        let told = resolver(vec![(Family::V6, 10, all(V6))], true);
        let (won, order) = dialled(&["10.9.9.9:5"], &[], Some(told), V6[0]).await;
        assert!(won.is_ok());
        assert_eq!(order, [(at("10.9.9.9:5"), 0), (at(V6[0]), 250)], "history does not wait for the resolver");
    }

    #[tokio::test(start_paused = true)]
    async fn silence_everywhere_ends_soon_after_one_connection_would() {
        let begin = Instant::now();
        let told = resolver(vec![(Family::V6, 0, all(V6)), (Family::V4, 0, all(V4))], false);
        let (won, order) = dialled(&[], &[], Some(told), "10.0.0.9:5").await;
        assert!(matches!(won.err(), Some(Fault::Unreachable { target, .. }) if target == "nas.lan:5"));
        assert_eq!((order.len(), begin.elapsed()), (4, CONNECT_TIME_MAX + 3 * NEXT_ADDRESS_AFTER));
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_nobody_knows_is_told_as_the_resolver_does() {
        let none = || Err(io::Error::other("Name or service not known"));
        let told = resolver(vec![(Family::V6, 5, none()), (Family::V4, 9, none())], false);
        let (won, order) = dialled(&[], &[], Some(told), "10.0.0.9:5").await;
        let Some(Fault::Unreachable { target, source, .. }) = won.err() else { panic!() };
        assert_eq!((&*target, source.to_string().as_str()), ("nas.lan:5", "Name or service not known"));
        assert!(order.is_empty());
        let (won, _) = dialled(&[], &[], Some(resolver(Vec::new(), true)), "10.0.0.9:5").await;
        let Some(Fault::Unreachable { source, .. }) = won.err() else { panic!() };
        assert_eq!(source.kind(), io::ErrorKind::TimedOut, "a resolver that never answers");
    }

    #[tokio::test(start_paused = true)]
    async fn failed_attempt_has_the_next_one_begin_at_once_and_the_most_telling_error_stays() {
        let known = V4.into_iter().chain(V6).map(|text| at(text).into()).collect();
        let begin = Instant::now();
        let refused = race_of::<(), _>(known, |candidate| async move {
            let kind = match candidate.at {
                one if one == at(V4[0]) => io::ErrorKind::NetworkUnreachable,
                one if one == at(V4[1]) => io::ErrorKind::ConnectionRefused,
                _ => io::ErrorKind::TimedOut,
            };
            Err(Fault::unreachable(candidate.meant.to_string(), kind))
        });
        let Some(Fault::Unreachable { target, .. }) = refused.await.err() else { panic!() };
        assert_eq!((&*target, begin.elapsed()), (V4[1], Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn another_key_ends_the_race_to_a_typed_address_and_is_passed_over_for_a_device() {
        for (is_one_device, wanted) in [(true, true), (false, false)] {
            let known = V4.into_iter().map(|text| at(text).into()).collect();
            let meant = Meant { address: None, is_one_device };
            let won = race_over(meant, known, Vec::new(), None, |candidate| async move {
                if candidate.at == at(V4[0]) { Err(Fault::Auth(ringway_model::AuthError::Ourselves)) } else { Ok(()) }
            });
            assert_eq!(won.await.is_ok(), wanted, "{is_one_device}");
        }
    }

    #[test]
    fn a_device_brings_its_addresses_and_its_key() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let id = DeviceId([0xab; 32]);
        let (lan, name) = (Address::Socket(at("10.1.1.9:4")), Address::Host("nas.lan".into(), 4));
        store.pin(id, "nas", "10.1.1.1:4").unwrap();
        store.answered(id, &lan, &name).unwrap();
        let found = Destination::of(&store, &Target::Device(id)).unwrap();
        let (candidates, host) = found.candidates();
        assert_eq!(candidates.iter().map(|one| one.at).collect::<Vec<_>>(), [at("10.1.1.1:4"), at("10.1.1.9:4")]);
        assert_eq!((host, found.device.unwrap().id), (None, id));
        store.reached(id, &[name.key()]).unwrap();
        let typed = Destination::of(&store, &Target::Address(name.clone())).unwrap();
        assert_eq!(typed.candidates(), (Vec::new(), Some(name)), "what a person typed is looked up");
        assert_eq!(typed.answered[0].at, at("10.1.1.9:4"), "and begins with what answered");
        store.forget(id).unwrap();
        assert!(matches!(Destination::of(&store, &Target::Device(id)), Err(Fault::Invalid(Invalid::UnknownDevice))));
    }
}
