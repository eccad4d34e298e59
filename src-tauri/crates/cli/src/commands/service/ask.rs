//! The commands that ask the service: each connects, asks, shows the answer, and ends.
use std::time::SystemTime;

use anyhow::Result;
use ringway_daemon::control::{Client, Place};
use ringway_daemon::dto::{Everything, Listening, Moving, PairedDevice, Waiting};
use ringway_model::{
    DeviceId, Direction, Fault, Invalid, NotFoundKind, Offer, OnCancel, OnConflict, OpenCode, PairingRequest, Side,
    sentences,
};

use super::{refusal, shown};
use crate::args::destination::destination;
use crate::args::{
    AcceptArgs, BlockArgs, CancelArgs, CodeShownArgs, OfferArgs, OffersArgs, ReportArgs, RequestArgs, TransferArgs,
};
use crate::exit::Exit;
use crate::json::{self, Event};
use crate::output::Output;
use crate::refusal::Refusal;
use crate::text::for_terminal;
use crate::words::{self, Words, advised};

/// The beginning of an id that is taken for one: fewer digits are as likely somebody's name.
const ID_TYPED_MIN: usize = 4;

async fn service() -> Result<Client> {
    let place = Place::find().map_err(|error| refusal(&error))?;
    let (client, _) = Client::connect(&place).await.map_err(|error| refusal(&error))?;
    Ok(client)
}

/// `ringway status`.
pub(crate) async fn status(report: ReportArgs) -> Result<Exit> {
    let out = Output::from(report);
    let client = match service().await {
        Ok(client) => client,
        Err(error) => {
            out.event(&Event::Service { running: false, service: None });
            return Err(error);
        }
    };
    let all = look(&client).await?;
    let now = SystemTime::now();
    out.event(&shown::service_event(client.hello(), &all, now));
    all.offers.iter().for_each(|offer| out.event(&Event::OfferWaits(offer)));
    all.requests.iter().for_each(|request| out.event(&Event::PairingRequested(request)));
    under_way(&all).for_each(|moving| out.event(&json::transfer(moving)));
    all.waiting.iter().for_each(|waiting| out.event(&json::transfer_waits(waiting)));
    all.notes.iter().filter(|note| !note.is_read).for_each(|note| out.event(&Event::Note(note)));
    let blocked = client.blocked_pairings().await?;
    shown::status(client.hello(), &all, &blocked, now).into_iter().for_each(|line| out.say(line));
    Ok(Exit::All)
}

/// `ringway offers`.
pub(crate) async fn offers(args: OffersArgs) -> Result<Exit> {
    let out = Output::from(args.report);
    let client = service().await?;
    let all = look(&client).await?;
    if let Some(typed) = &args.offer {
        let offer = one(&all.offers, &all.devices, typed, NotFoundKind::Offer, of_offer)?;
        return differences(&client, offer, args.on_conflict, &out).await;
    }
    let Everything { requests, offers, .. } = all;
    offers.iter().for_each(|offer| out.event(&Event::OfferWaits(offer)));
    requests.iter().for_each(|request| out.event(&Event::PairingRequested(request)));
    shown::requests(&requests).into_iter().for_each(|line| out.say(line));
    match offers.is_empty() {
        true => out.say("Nothing waits for an answer."),
        false => shown::offers(&offers).into_iter().for_each(|line| out.say(line)),
    }
    Ok(Exit::All)
}

/// How one offer compares with what is in its folder under a policy, and what differs.
async fn differences(client: &Client, offer: &Offer, on_conflict: OnConflict, out: &Output) -> Result<Exit> {
    let differences = client.offer_differences(offer.id.to_string(), on_conflict).await?;
    out.event(&Event::OfferWaits(offer));
    differences.iter().for_each(|difference| out.event(&Event::Difference(difference)));
    let counts = offer.compared_under(on_conflict).as_ref().and_then(sentences::compared);
    let counts =
        counts.map_or_else(|| "not compared".to_owned(), |counts| format!("as listed by the sender, {counts}"));
    out.say(format_args!("{}: {counts}", offer.destination));
    sentences::would_do(offer, on_conflict).into_iter().for_each(|says| out.say(says.what()));
    shown::differences(&differences, SystemTime::now()).into_iter().for_each(|line| out.say(line));
    Ok(Exit::All)
}

/// `ringway accept`.
pub(crate) async fn accept(args: AcceptArgs) -> Result<Exit> {
    let out = Output::from(args.report);
    let folder = args.into.as_deref().map(destination).transpose()?;
    let client = service().await?;
    let all = look(&client).await?;
    let is_compared = folder.is_none();
    let offer = one(&all.offers, &all.devices, &args.offer, NotFoundKind::Offer, of_offer)?;
    let id = offer.id.to_string();
    if let Some(folder) = folder {
        let into_home = args.home.into_home();
        client.set_offer_folder(id.clone(), folder.into(), into_home).await?;
    }
    let on_conflict = args.on_conflict;
    let moving = client.accept(id, offer.size(), on_conflict).await?;
    out.event(&json::transfer(&moving));
    if on_conflict == OnConflict::Replace {
        let says = sentences::replaces(Some(offer).filter(|_| is_compared));
        says.into_iter().for_each(|says| out.say(says.what()));
    }
    out.say(format_args!(
        "Accepted {} from {}. The service receives it; `ringway status` shows how far it is.",
        shown::names(&offer.names, offer.more_names),
        offer.from
    ));
    Ok(Exit::All)
}

/// `ringway decline`.
pub(crate) async fn decline(args: OfferArgs) -> Result<Exit> {
    let out = Output::from(args.report);
    let client = service().await?;
    let all = look(&client).await?;
    let offer = one(&all.offers, &all.devices, &args.offer, NotFoundKind::Offer, of_offer)?;
    let id = offer.id.to_string();
    client.decline(id.clone()).await?;
    out.event(&Event::Declined { id: &id });
    out.say(format_args!("Declined what {} offered.", offer.from));
    Ok(Exit::All)
}

/// `ringway allow`.
pub(crate) async fn allow(args: RequestArgs) -> Result<Exit> {
    let (out, client, request) = requested(args).await?;
    client.allow_pairing(request.id.to_string()).await?;
    let listening = client.look().await?.listening;
    let now = SystemTime::now();
    let open = shown::open_code(&listening, now).cloned();
    out.event(&Event::PairingAllowed { id: request.id });
    out.event(&json::code(open.unwrap_or(OpenCode { code: None, code_valid_until: None })));
    let name = for_terminal(&request.name);
    out.say(format_args!("Type the code on {name} ({}):", request.id.short()));
    out.must_say(shown::code_line(&listening, now));
    Ok(Exit::All)
}

/// `ringway dismiss`.
pub(crate) async fn dismiss(args: RequestArgs) -> Result<Exit> {
    let (out, client, request) = requested(args).await?;
    client.dismiss_pairing(request.id.to_string()).await?;
    out.event(&Event::PairingDismissed { id: request.id });
    out.say(format_args!("{} is not shown for ten minutes.", for_terminal(&request.name)));
    Ok(Exit::All)
}

/// `ringway block`.
pub(crate) async fn block(BlockArgs { request: args, undo }: BlockArgs) -> Result<Exit> {
    if undo {
        return unblock(args).await;
    }
    let (out, client, request) = requested(args).await?;
    client.block_pairing(request.id.to_string()).await?;
    out.event(&Event::PairingBlocked { id: request.id });
    out.say(format_args!(
        "{} is not shown any more, nor are others at {}, until the service ends. `ringway block --undo {}` takes that back.",
        for_terminal(&request.name),
        request.from,
        request.id.short()
    ));
    Ok(Exit::All)
}

/// `ringway block --undo`.
async fn unblock(args: RequestArgs) -> Result<Exit> {
    let client = service().await?;
    let blocked = client.blocked_pairings().await?;
    let devices = client.look().await?.devices;
    let request = one(&blocked, &devices, &args.device, NotFoundKind::BlockedDevice, of_request)?;
    client.unblock_pairing(request.id).await?;
    let out = Output::from(args.report);
    out.event(&Event::PairingUnblocked { id: request.id });
    out.say(format_args!("{} is not blocked any more: its request is shown again.", for_terminal(&request.name)));
    Ok(Exit::All)
}

/// The device that is meant, among those that want to connect.
async fn requested(args: RequestArgs) -> Result<(Output, Client, PairingRequest)> {
    let client = service().await?;
    let Everything { requests, devices, .. } = client.look().await?;
    let request = one(&requests, &devices, &args.device, NotFoundKind::PairingRequest, of_request)?.clone();
    Ok((Output::from(args.report), client, request))
}

/// `ringway code`.
pub(crate) async fn code(args: CodeShownArgs) -> Result<Exit> {
    let out = Output::from(args.report);
    let client = service().await?;
    if !client.look().await?.settings.settings.receiving {
        return Err(Refusal::failed("The service does not receive, so it has no code.")
            .advise("`ringway settings --receiving on` switches that on.")
            .into());
    }
    if args.new {
        client.renew_code().await?;
    }
    let listening = client.look().await?.listening;
    if let Listening::Failed { fault, .. } = listening {
        return Err(fault.into());
    }
    let now = SystemTime::now();
    let open = shown::open_code(&listening, now).cloned();
    out.event(&json::code(open.unwrap_or(OpenCode { code: None, code_valid_until: None })));
    out.must_say(shown::code_line(&listening, now));
    Ok(Exit::All)
}

/// `ringway cancel`.
pub(crate) async fn cancel(args: CancelArgs) -> Result<Exit> {
    let client = service().await?;
    let all = client.look().await?;
    let waiting = all.waiting.iter().map(of_waiting);
    let listed: Vec<_> = under_way(&all).map(of_transfer).chain(waiting).collect();
    let id = one(&listed, &all.devices, &args.transfer.transfer, NotFoundKind::Transfer, Meant::clone)?.id.clone();
    let out = Output::from(args.transfer.report);
    let short = shown::short(&id);
    if all.waiting.iter().any(|waiting| waiting.id == id) {
        client.remove_waiting(id.clone()).await?;
        out.event(&Event::Cancelled { id: &id });
        out.say(format_args!("Transfer {short} does not begin."));
        return Ok(Exit::All);
    }
    let found = under_way(&all).find(|moving| moving.transfer.id == id);
    let then = if args.remove { OnCancel::Remove } else { OnCancel::Keep };
    client.cancel(id.clone(), then).await?;
    out.event(&Event::Cancelled { id: &id });
    let next = found.map(|moving| after_cancel(moving, then)).unwrap_or_default();
    out.say(format_args!("Transfer {short} is cancelled. {next}"));
    Ok(Exit::All)
}

/// What becomes of what has arrived of a transfer that is cancelled here, as its history has it.
fn after_cancel(Moving { transfer, .. }: &Moving, then: OnCancel) -> String {
    let (direction, is_asked_for) = (transfer.direction, transfer.target.is_some());
    let is_got = is_asked_for == (direction == Direction::Receiving) && direction != Direction::Copying;
    let says = Fault::Cancelled { by: Side::Here, kept: then == OnCancel::Keep }.says_of(direction, is_got);
    let says = says.of_peer(transfer.progress.peer.as_deref());
    let says = says.with("destination", for_terminal(transfer.target.as_deref().unwrap_or_default()));
    Words::from(says).next.unwrap_or_default()
}

/// `ringway pause`.
pub(crate) async fn pause(args: TransferArgs) -> Result<Exit> {
    let (out, client, id) = running(args).await?;
    client.pause(id.clone()).await?;
    out.event(&Event::Paused { id: &id });
    let short = shown::short(&id);
    out.say(format_args!("Transfer {short} is paused. It goes on with `{}`.", advised::resume(&short)));
    Ok(Exit::All)
}

/// `ringway resume`.
pub(crate) async fn resume(args: TransferArgs) -> Result<Exit> {
    let (out, client, id) = running(args).await?;
    client.resume(id.clone()).await?;
    out.event(&Event::Resumed { id: &id });
    out.say(format_args!("Transfer {} goes on, as soon as it can.", shown::short(&id)));
    Ok(Exit::All)
}

/// The transfer that is meant, among those that have not ended.
async fn running(args: TransferArgs) -> Result<(Output, Client, String)> {
    let client = service().await?;
    let all = client.look().await?;
    let listed: Vec<_> = under_way(&all).map(of_transfer).collect();
    let id = one(&listed, &all.devices, &args.transfer, NotFoundKind::Transfer, Meant::clone)?.id.clone();
    Ok((Output::from(args.report), client, id))
}

/// `ringway stop`.
pub(crate) async fn stop(report: ReportArgs) -> Result<Exit> {
    let out = Output::from(report);
    let place = Place::find().map_err(|error| refusal(&error))?;
    let (client, mut notices) = Client::connect(&place).await.map_err(|error| refusal(&error))?;
    let left = client.look().await?.transfers;
    let running = left.iter().filter(|moving| moving.report.is_none()).count();
    if running > 0 {
        out.say("It gives what runs a moment to end.");
    }
    match client.stop().await {
        // It may have ended before its answer was out: that is what was asked for.
        Ok(()) | Err(Fault::ServiceGone) => {}
        Err(fault) => return Err(fault.into()),
    }
    while notices.recv().await.is_some() {}
    out.event(&Event::Stopped);
    out.say("The service has ended.");
    Ok(Exit::All)
}

/// What the service has, with its offers under the names that their devices have now.
async fn look(client: &Client) -> Result<Everything> {
    let mut all = client.look().await?;
    for offer in &mut all.offers {
        offer.from = of_offer(offer).name(&all.devices).into();
    }
    Ok(all)
}

/// Those that have not ended.
fn under_way(all: &Everything) -> impl Iterator<Item = &Moving> {
    all.transfers.iter().filter(|moving| moving.report.is_none())
}

/// What a command may mean: an offer, or a transfer.
#[derive(Clone)]
struct Meant<'a> {
    id: String,
    /// What its device was called when it began.
    called: &'a str,
    /// That device's id; none before it is authenticated.
    device: Option<DeviceId>,
}

impl<'a> Meant<'a> {
    /// What its device is called now. Names change, and another device may have got one.
    fn name(&self, devices: &'a [PairedDevice]) -> &'a str {
        let now = devices.iter().find(|paired| self.device == Some(paired.device.id));
        now.map_or(self.called, |paired| &paired.device.name)
    }

    /// Whether its device is called that. A paired device's name means that device alone.
    fn is_called(&self, typed: &str, devices: &'a [PairedDevice]) -> bool {
        let is_others = is_device(devices, typed)
            && self.device.is_some_and(|id| !devices.iter().any(|paired| paired.device.id == id));
        !is_others && self.name(devices).eq_ignore_ascii_case(typed)
    }
}

fn of_offer(offer: &Offer) -> Meant<'_> {
    Meant { id: offer.id.to_string(), called: &offer.from, device: Some(offer.from_id) }
}

fn of_request(request: &PairingRequest) -> Meant<'_> {
    Meant { id: request.id.to_string(), called: &request.name, device: Some(request.id) }
}

fn of_transfer(Moving { transfer, .. }: &Moving) -> Meant<'_> {
    Meant {
        id: transfer.id.clone(),
        called: transfer.progress.peer.as_deref().or(transfer.target.as_deref()).unwrap_or_default(),
        device: transfer.progress.peer_id,
    }
}

fn of_waiting(waiting: &Waiting) -> Meant<'_> {
    Meant { id: waiting.id.clone(), called: &waiting.target, device: Some(waiting.device) }
}

/// Whether a paired device is called that, as the trust store compares names.
fn is_device(devices: &[PairedDevice], typed: &str) -> bool {
    devices.iter().any(|paired| paired.device.name.eq_ignore_ascii_case(typed))
}

/// The one that is meant by a device's name or by the beginning of its id. Senders draw the ids of
/// transfers: what is the name of a paired device means that device, and never another one's id.
fn one<'a, T>(
    all: &'a [T],
    devices: &'a [PairedDevice],
    typed: &str,
    kind: NotFoundKind,
    of: impl Fn(&'a T) -> Meant<'a>,
) -> Result<&'a T, Refusal> {
    // Ids of devices are shown in groups, and those of transfers have a hyphen of their own.
    let digits = typed.replace('-', "").to_ascii_lowercase();
    let by_name: Vec<_> = all.iter().filter(|one| of(one).is_called(typed, devices)).collect();
    let by_id: Vec<_> = all
        .iter()
        .filter(|one| digits.len() >= ID_TYPED_MIN && of(one).id.replace('-', "").starts_with(&digits))
        .collect();
    let is_name = is_device(devices, typed) || !by_name.is_empty();
    let shown_name = for_terminal(typed);
    let described = |found: &[&'a T]| {
        let ids: Vec<_> = found.iter().map(|one| of(one).id).collect();
        let of_each = found
            .iter()
            .map(|one| format!("{} ({})", for_terminal(of(one).name(devices)), distinct(&of(one).id, &ids)));
        of_each.collect::<Vec<_>>().join(", ")
    };
    match (if is_name { &by_name } else { &by_id }).as_slice() {
        [only] => Ok(only),
        [] if is_name && !by_id.is_empty() => {
            let fault = Fault::not_found(kind, typed);
            let what =
                format!("{} Others have an ID that begins so: {}.", words::error(&fault).what, described(&by_id));
            Err(Refusal::of(fault, Words::new(what, "Give more of the ID to choose one of them.")))
        }
        [] => Err(Fault::not_found(kind, typed).into()),
        several => {
            let words = Words::new(
                format!("\"{shown_name}\" is ambiguous: {}.", described(several)),
                "Give the beginning of the ID of one of them.",
            );
            Err(Refusal::of(Invalid::AmbiguousId.into(), words))
        }
    }
}

/// As much of an id as tells it from the others that were found, and no less than is shown
/// elsewhere.
fn distinct(id: &str, found: &[String]) -> String {
    let shared = |other: &str| id.bytes().zip(other.bytes()).take_while(|(ours, theirs)| ours == theirs).count();
    let others = found.iter().map(String::as_str).filter(|other| *other != id);
    let len = others.map(|other| shared(other) + 1).max().unwrap_or_default();
    for_terminal(id.get(..len.max(shown::short(id).len())).unwrap_or(id))
}

#[cfg(test)]
mod tests {
    use ringway_model::{Device, DeviceRule};

    use super::*;

    /// A paired device by its name and a byte of its id.
    fn paired(name: &str, id: u8) -> PairedDevice {
        let device = Device {
            id: DeviceId([id; 32]),
            name: name.into(),
            paired_at: SystemTime::UNIX_EPOCH,
            last_seen: None,
            last_address: None,
            rule: DeviceRule::default(),
        };
        PairedDevice { device, looks_like: None, last_transfer: None }
    }

    /// Id, name when it began, a byte of the device's id.
    type Own = (&'static str, &'static str, u8);

    fn found<'a>(all: &'a [Own], devices: &'a [PairedDevice], typed: &str) -> Result<&'a str, Refusal> {
        let meant = |own: &'a Own| Meant { id: own.0.to_owned(), called: own.1, device: Some(DeviceId([own.2; 32])) };
        one(all, devices, typed, NotFoundKind::Offer, meant).map(|own| own.0)
    }

    #[test]
    fn a_name_or_the_beginning_of_an_id_means_one_and_no_more() {
        let all = [("3f2a00010", "laptop", 0xaa), ("3f2a00011", "laptop", 0xaa), ("77770000", "lab", 0xbb)];
        let devices = [paired("laptop", 0xaa), paired("lab", 0xbb)];
        let found = |typed: &str| found(&all, &devices, typed);
        assert_eq!(found("lab"), Ok("77770000"));
        assert_eq!(found("7777"), Ok("77770000"));
        assert_eq!(found("3F2A00011"), Ok("3f2a00011"));
        let both = "laptop (3f2a00010), laptop (3f2a00011)";
        assert!(found("laptop").unwrap_err().what.contains(both));
        assert!(found("3f2a").unwrap_err().what.contains(both));
        for none in ["777", "nobody", ""] {
            assert!(found(none).unwrap_err().what.contains("No offer"), "{none}");
        }
    }

    #[test]
    fn an_id_is_taken_with_its_hyphens_and_without() {
        let all = [("175bab7a-b7a71039", "laptop", 0xaa), ("175bab7a-c0000000", "laptop", 0xaa)];
        for typed in ["175bab7a-b7a71039", "175bab7ab7a71039", "175b-ab7a-b7a7"] {
            assert_eq!(found(&all, &[], typed), Ok(all[0].0), "{typed}");
        }
    }

    #[test]
    fn an_id_that_begins_like_a_paired_devices_name_is_not_taken_for_that_device() {
        let devices = [paired("caca", 0xaa), paired("mallory", 0xbb)];
        let mallorys = ("caca0001", "mallory", 0xbb);
        for typed in ["caca", "CACA"] {
            let refused = found(&[mallorys], &devices, typed).unwrap_err();
            assert!(refused.what.contains("mallory (caca0001)"), "{}", refused.what);
        }
        assert_eq!(found(&[mallorys, ("11110000", "caca", 0xaa)], &devices, "caca"), Ok("11110000"));
        assert_eq!(found(&[mallorys], &devices, "caca0"), Ok("caca0001"));
    }

    #[test]
    fn a_name_that_another_device_has_by_now_means_that_one() {
        let all = [("11110000", "a", 0xaa), ("22220000", "c", 0xcc)];
        // The first was renamed, or forgotten, and the second one is called so now.
        for devices in [vec![paired("old", 0xaa), paired("a", 0xcc)], vec![paired("a", 0xcc)]] {
            assert_eq!(found(&all, &devices, "a"), Ok("22220000"));
            assert!(found(&all, &devices, "c").is_err());
            assert!(found(&all[..1], &devices, "a").unwrap_err().what.contains("No offer"));
        }
        assert_eq!(found(&all, &[paired("old", 0xaa), paired("a", 0xcc)], "OLD"), Ok("11110000"));
    }
}
