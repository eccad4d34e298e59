//! Between the controller and the desktop: what happens there is shown and told here, and what is
//! asked here is done there.
use std::net::SocketAddr;

use ringway_engine::Transfer;
use ringway_model::{
    ComparisonState, DeviceId, Direction, Fault, Offer, OnConflict, Outcome, PairingRequest, Report, Stage,
    TransferState,
};
use rustix::io::Errno;
use tokio::sync::mpsc;

use super::shown::{Alike, Asked, Conflicts, News, Obstacle, Receives, Shown};
use super::{Desktop, Log, has_bus, open_window};
use crate::app::App;
use crate::dto::{AppEvent, Listening, SettingsChange, View};
use crate::text::{shown as shown_name, shown_text};

/// Events that may wait. What is shown is looked up anew after each, so one that finds no place is
/// at worst not announced.
const EVENTS_MAX: usize = 256;

/// Names of an offer that a notification shows.
const NAMES_SHOWN: usize = 3;

/// Shows `app` on the desktop until a person there asks for the service's end. Where there is no
/// desktop, that is never.
pub async fn attend(app: App, log: Log) {
    if !has_bus(|name| std::env::var_os(name)) {
        return std::future::pending().await;
    }
    let (events, mut happened) = mpsc::channel(EVENTS_MAX);
    let told = events.clone();
    let sink = Box::new(move |event| drop(told.try_send(Happened::Event(event))));
    let _listener = match app.start(sink) {
        Ok((_, listener)) => Some(listener),
        Err(fault) => {
            log(&format!("tray and notifications follow nothing: {fault:?}"));
            None
        }
    };
    let (desktop, mut asked) = Desktop::start(&log);
    let mut requests = Vec::new();
    loop {
        desktop.show(now(&app));
        tokio::select! {
            // The sender is ours: there is always a next one.
            Some(happened) = happened.recv() => match happened {
                Happened::Event(AppEvent::TransferStarted { transfer }) => {
                    if let Ok(found) = app.transfers.find(&transfer.transfer.id) {
                        let events = events.clone();
                        let target = transfer.transfer.target.unwrap_or_default().0;
                        tokio::spawn(follow(found, target, events));
                    }
                }
                Happened::Event(AppEvent::RequestsChanged { requests: now }) => {
                    requested(&desktop, app.device_id(), &mut requests, now);
                }
                Happened::Event(event) => tell(&desktop, event),
                Happened::Stands(news) => news.into_iter().for_each(|news| desktop.tell(news)),
            },
            // `None` if neither tray nor notifications could begin.
            Some(asked) = asked.recv() => match asked {
                Asked::Quit => return,
                asked => act(&app, &desktop, asked, &log).await,
            },
        }
    }
}

enum Happened {
    Event(AppEvent),
    /// A transfer was paused, goes on or ended, and what is worth saying of that.
    Stands(Option<News>),
}

/// Tells how a transfer stands whenever that changes what is shown, until it has ended. That a disk
/// is full is said once of each.
async fn follow(transfer: Transfer, target: String, events: mpsc::Sender<Happened>) {
    let mut stages = transfer.stages();
    let (mut was, mut said_full) = (None, false);
    loop {
        if *stages.borrow_and_update() == Stage::Ended {
            break;
        }
        let state = TransferState::of(&transfer.progress(), None);
        let waits = matches!(state, TransferState::Paused | TransferState::OutOfSpace).then_some(state);
        if waits != was {
            let is_full = state == TransferState::OutOfSpace && !std::mem::replace(&mut said_full, true);
            let news = is_full.then(|| no_room(&transfer, &target));
            was = waits;
            // The listener ends with the service.
            let _ = events.send(Happened::Stands(news)).await;
        }
        // The transfer is ours: its sender lives.
        let _ = stages.changed().await;
    }
    let report = transfer.wait().await;
    let _ = events.send(Happened::Stands(ended(&transfer, &report, &target))).await;
}

fn now(app: &App) -> Shown {
    let (receives, code) = match app.receiving.listening() {
        Listening::Off { refused: None } => (Receives::No, None),
        Listening::Off { refused: Some(_) } => (Receives::Refused, None),
        Listening::On { code, .. } => (Receives::Yes, code.and_then(|code| code.code)),
        Listening::Failed { .. } => (Receives::Cannot, None),
    };
    let waiting = app.offers.shown().len();
    let asking = app.receiving.requests.shown().into_iter().filter(|request| !request.allowed);
    let requests = asking.map(|request| request.name.to_string()).collect();
    let mut shown = Shown { receives, code, waiting, requests, active: 0, paused: 0, without_room: 0 };
    for transfer in app.transfers.running_of(|_| true) {
        match TransferState::of(&transfer.progress(), None) {
            // Where the other machine's disk is full, that machine says so.
            TransferState::OutOfSpace if transfer.direction() != Direction::Sending => shown.without_room += 1,
            TransferState::Paused | TransferState::OutOfSpace => shown.paused += 1,
            _ => shown.active += 1,
        }
    }
    shown
}

fn tell(desktop: &Desktop, event: AppEvent) {
    match event {
        AppEvent::OfferChanged { offer } => desktop.tell(offered(*offer)),
        AppEvent::OfferGone { id, .. } => desktop.tell(News::OfferGone { id: id.to_string() }),
        AppEvent::NoteReceived { note } => {
            desktop.tell(News::Note { from: note.from.to_string(), line: note.first_line.to_string() });
        }
        AppEvent::DevicePaired { device } => desktop.tell(News::Paired { name: device.name.to_string() }),
        _ => {}
    }
}

/// Announces each device once that wants to pair, and takes that back when it was answered.
fn requested(desktop: &Desktop, own: DeviceId, before: &mut Vec<PairingRequest>, now: Vec<PairingRequest>) {
    let waits = |request: &&PairingRequest| !request.allowed;
    let is_among = |requests: &[PairingRequest], id| requests.iter().filter(waits).any(|other| other.id == id);
    for request in before.iter().filter(waits).filter(|request| !is_among(&now, request.id)) {
        desktop.tell(News::RequestGone { id: request.id.to_string() });
    }
    for request in now.iter().filter(waits).filter(|request| !is_among(before, request.id)) {
        desktop.tell(News::Request {
            id: request.id.to_string(),
            name: request.name.to_string(),
            looks_like: request.looks_like.as_ref().map(|other| match other.id == own {
                true => Alike::ThisDevice,
                false => Alike::Other(other.name.to_string()),
            }),
        });
    }
    *before = now;
}

fn offered(offer: Offer) -> News {
    let dotted = offer.dot_names.len() as u64 + offer.more_dot_names;
    let names: Vec<_> = offer.names.iter().take(NAMES_SHOWN).map(ToString::to_string).collect();
    let more = offer.more_names + (offer.names.len() - names.len()) as u64;
    let (bytes, is_final) = (offer.bytes_so_far, offer.totals_final);
    let looks_like = offer.looks_like.map(|other| other.name.to_string());
    let conflicts = offer
        .comparison
        .filter(|compared| compared.state == ComparisonState::Done)
        .map(|compared| Conflicts { count: compared.differing + compared.in_the_way, at_least: compared.at_least });
    News::Offer {
        id: offer.id.to_string(),
        from: offer.from.to_string(),
        names,
        more,
        entries: offer.entries_so_far,
        folder: offer.destination.to_string(),
        left: offer.free_space.and_then(|free| free.free_bytes.checked_sub(bytes)).filter(|_| is_final),
        conflicts,
        looks_like,
        dotted,
        bytes,
        is_final,
    }
}

/// What somebody here stopped is no news to them.
fn ended(transfer: &Transfer, report: &Report, target: &str) -> Option<News> {
    let state = TransferState::ended(&report.outcome);
    // That two devices have to be paired first is no failure: the window asks for the code.
    if state == TransferState::CancelledHere || report.outcome.needs_code() {
        return None;
    }
    let Named { direction, title, more, peer } = named(transfer, target);
    let (bytes, present) = (report.counts.moved, report.counts.present_bytes());
    Some(News::Ended { direction, title, more, peer, state, bytes, present })
}

/// What waits because a disk is full, here or there.
fn no_room(transfer: &Transfer, target: &str) -> News {
    let Named { direction, title, more, peer } = named(transfer, target);
    News::NoRoom { direction, title, more, peer }
}

/// What a transfer is called in a notification.
struct Named {
    direction: Direction,
    title: String,
    more: u64,
    peer: String,
}

fn named(transfer: &Transfer, target: &str) -> Named {
    let direction = transfer.direction();
    let (title, more) = transfer.title();
    let peer = transfer.peer().map_or_else(|| target.to_owned(), |(_, name)| name);
    Named { direction, title: shown_name(title), more, peer: shown_text(&peer) }
}

async fn act(app: &App, desktop: &Desktop, asked: Asked, log: &Log) {
    match asked {
        Asked::Receive(is_on) => {
            let change = SettingsChange { receiving: Some(is_on), ..SettingsChange::default() };
            match app.settings.change(change).await {
                Ok(_) => {}
                Err(fault) if is_on => desktop.tell(News::NotReceiving { obstacle: obstacle(fault) }),
                Err(fault) => log(&format!("receiving is not switched off: {fault:?}")),
            }
        }
        Asked::FreshCode => draw_code(app, log).await,
        Asked::ShowCode { token } => {
            draw_code(app, log).await;
            open_window(Some(View::Inbox), token, log);
        }
        Asked::Open { view, offer, token } => {
            if let Some(id) = offer {
                app.offers.bring_forward(&id);
            }
            open_window(view, token, log);
        }
        Asked::Accept { id, shown } => {
            let offer = app.offers.shown().into_iter().find(|offer| offer.id.to_string() == id);
            // An existing folder is never written into without having been looked at: the window
            // asks about that.
            match (app.offers.accept(&id, shown, OnConflict::RenameTop).await, offer) {
                // It is shown again, with what it has grown to.
                (Ok(_) | Err(Fault::Grown { .. }), _) | (Err(_), None) => {}
                (Err(fault), Some(offer)) => {
                    log(&format!("an offer that was accepted is not received: {fault:?}"));
                    desktop.tell(not_received(offer, fault));
                }
            }
        }
        // An error means that it has gone meanwhile.
        Asked::Decline(id) => drop(app.offers.decline(&id)),
        Asked::AllowPairing { id, token } => {
            if let Err(fault) = app.receiving.allow_pairing(&id).await {
                log(&format!("a device that was allowed cannot pair: {fault:?}"));
            }
            open_window(Some(View::Inbox), token, log);
        }
        Asked::BlockPairing(id) => drop(app.receiving.block_pairing(&id).await),
        // The caller's.
        Asked::Quit => {}
    }
}

async fn draw_code(app: &App, log: &Log) {
    if let Err(fault) = app.receiving.renew_code().await {
        log(&format!("no new code: {fault:?}"));
    }
}

/// What is in the way, where a few words say it and what to do.
fn obstacle(fault: Fault) -> Obstacle {
    match fault {
        Fault::Listen { address, source, .. } if source.errno == Some(Errno::ADDRINUSE.raw_os_error()) => {
            address.parse().map_or(Obstacle::Other, |address: SocketAddr| Obstacle::Port(address.port()))
        }
        Fault::Path { path, .. } => Obstacle::Folder(path.to_string()),
        _ => Obstacle::Other,
    }
}

fn not_received(offer: Offer, fault: Fault) -> News {
    let peer = offer.from.to_string();
    match offered(offer) {
        News::Offer { names, more, .. } => {
            let more = more + names.len().saturating_sub(1) as u64;
            let title = names.into_iter().next().unwrap_or_default();
            let state = TransferState::ended(&Outcome::Failed(fault));
            News::Ended { direction: Direction::Receiving, title, more, peer, state, bytes: 0, present: 0 }
        }
        other => other,
    }
}
