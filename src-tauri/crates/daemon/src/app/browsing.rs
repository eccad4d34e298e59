//! What other devices share, listed for clients: each client looks at one folder at a time, and
//! reads its entries page by page.
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use ringway_engine::{Browser, Engine, Listed, PathInShare, Target};
use ringway_model::{DeviceId, Fault};
use tokio::sync::mpsc;

use super::devices::Devices;
use crate::dto::{ListingPage, PathThere};

/// Pages that wait to be read, beside those in the session. Each has at most 1,000 entries, and
/// 32 KiB on the wire.
const PAGES_AHEAD: usize = 4;

/// Pages that are read at once: together they stay far below what a client may leave unread.
const PAGES_AT_ONCE: usize = 4;

/// How long a session waits for the next folder to be looked at. The other device ends it after two
/// minutes.
const IDLE_MAX: Duration = Duration::from_secs(90);

type Page = Result<ListingPage, Fault>;

/// The listings that clients read.
pub(crate) struct Browsing {
    engine: Engine,
    devices: Devices,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: u32,
    listings: HashMap<u32, Arc<Listing>>,
}

/// A listing, as far as it was not read yet.
struct Listing {
    /// One reader at a time; pages keep their order.
    unread: tokio::sync::Mutex<Unread>,
}

struct Unread {
    pages: mpsc::Receiver<Page>,
    /// Why it ended, behind pages that were read together.
    fault: Option<Fault>,
}

/// A client's connection to a device that it browses. It ends when this is dropped.
pub(crate) struct Visit {
    device: DeviceId,
    orders: mpsc::UnboundedSender<Order>,
    listing: u32,
    browsing: Arc<Browsing>,
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.browsing.state.lock().listings.remove(&self.listing);
    }
}

/// What is to be listed next, and where to.
struct Order {
    /// None for the shares.
    at: Option<PathInShare>,
    pages: mpsc::Sender<Page>,
}

impl Browsing {
    pub(super) fn new(engine: Engine, devices: Devices) -> Self {
        Self { engine, devices, state: Mutex::default() }
    }

    /// Begins to list a device's shares, or a folder in one, for the client with that visit: what
    /// it has listed before is given up. The number by which [`Browsing::read`] knows the listing.
    ///
    /// # Errors
    /// No paired device has that id, or the path is none. What goes wrong at the device, the
    /// listing's end says.
    pub(crate) fn list(
        self: &Arc<Self>,
        visit: &mut Option<Visit>,
        device: &str,
        at: Option<PathThere>,
    ) -> Result<u32, Fault> {
        let device = self.devices.id(device)?;
        let at = at.map(PathInShare::try_from).transpose()?;
        let (to, pages) = mpsc::channel(PAGES_AHEAD);
        let order = Order { at, pages: to };
        let listing = {
            let mut state = self.state.lock();
            state.last = state.last.wrapping_add(1);
            let listing = state.last;
            let unread = tokio::sync::Mutex::new(Unread { pages, fault: None });
            state.listings.insert(listing, Arc::new(Listing { unread }));
            listing
        };
        let open = visit.as_mut().filter(|visit| visit.device == device && !visit.orders.is_closed());
        let orders = match open {
            Some(visit) => {
                self.state.lock().listings.remove(&std::mem::replace(&mut visit.listing, listing));
                visit.orders.clone()
            }
            None => {
                let (orders, ordered) = mpsc::unbounded_channel();
                tokio::spawn(attend(self.engine.clone(), device, ordered));
                *visit = Some(Visit { device, orders: orders.clone(), listing, browsing: Arc::clone(self) });
                orders
            }
        };
        // Nobody hears it only if the task has failed: then the listing ends at once.
        let _ = orders.send(order);
        Ok(listing)
    }

    /// The next page of a listing, as soon as there is one.
    ///
    /// # Errors
    /// Why the listing ends here; [`Fault::Gone`] where it was given up, or has been read.
    pub(crate) async fn read(&self, listing: u32) -> Result<ListingPage, Fault> {
        let found = self.state.lock().listings.get(&listing).cloned().ok_or(Fault::Gone)?;
        let mut unread = found.unread.lock().await;
        if let Some(fault) = unread.fault.take() {
            return Err(fault);
        }
        let mut page = unread.pages.recv().await.ok_or(Fault::Gone)??;
        for _ in 1..PAGES_AT_ONCE {
            if page.is_last() {
                break;
            }
            match unread.pages.try_recv() {
                Ok(Ok(next)) => page.append(next),
                Ok(Err(fault)) => {
                    unread.fault = Some(fault);
                    break;
                }
                Err(_) => break,
            }
        }
        Ok(page)
    }
}

/// Lists what a client orders, in one session as long as it lasts, until the client orders no more.
async fn attend(engine: Engine, device: DeviceId, mut orders: mpsc::UnboundedReceiver<Order>) {
    let mut browser = None;
    let mut next = None;
    loop {
        let order = match next.take() {
            Some(order) => order,
            None => match wait(&mut browser, &mut orders).await {
                Some(order) => order,
                None => break,
            },
        };
        tokio::select! {
            () = answer(&engine, device, &mut browser, order) => {}
            // Nobody reads what is being listed any more.
            order = orders.recv() => match order {
                Some(order) => next = Some(order),
                None => break,
            },
        }
    }
    if let Some(browser) = browser {
        browser.close().await;
    }
}

/// The next order. An idle session is kept for a while.
async fn wait(browser: &mut Option<Browser>, orders: &mut mpsc::UnboundedReceiver<Order>) -> Option<Order> {
    if let Some(open) = browser {
        tokio::select! {
            order = orders.recv() => return order,
            () = open.ended() => {}
            () = tokio::time::sleep(IDLE_MAX) => {}
        }
    }
    if let Some(idle) = browser.take() {
        // An order that comes meanwhile does not wait until the session is closed.
        tokio::spawn(idle.close());
    }
    orders.recv().await
}

async fn answer(engine: &Engine, device: DeviceId, browser: &mut Option<Browser>, Order { at, pages }: Order) {
    let was_open = browser.is_some();
    let mut ended = list(engine, device, browser, at.as_ref(), &pages).await;
    let is_lost = matches!(ended, Err((Fault::AnswerLost(_) | Fault::AskingStopped { .. }, false)));
    if was_open && is_lost {
        // The session has ended while nobody looked.
        *browser = None;
        ended = list(engine, device, browser, at.as_ref(), &pages).await;
    }
    let Err((fault, _)) = ended else { return };
    if !matches!(fault, Fault::NotShared { .. } | Fault::ShareUnavailable { .. } | Fault::PathThere { .. }) {
        *browser = None;
    }
    // A reader that has gone needs no reason.
    let _ = pages.send(Err(fault)).await;
}

/// Lists one folder, or the shares. A fault comes with whether anything was listed before it.
async fn list(
    engine: &Engine,
    device: DeviceId,
    browser: &mut Option<Browser>,
    at: Option<&PathInShare>,
    pages: &mpsc::Sender<Page>,
) -> Result<(), (Fault, bool)> {
    let browser = match browser {
        Some(browser) => browser,
        None => browser.insert(engine.browse(&Target::Device(device)).await.map_err(|fault| (fault, false))?),
    };
    let Some(at) = at else {
        let shares = browser.shares().await.map_err(|fault| (fault, false))?;
        let _ = pages.send(Ok(ListingPage::Shares { shares })).await;
        return Ok(());
    };
    let mut has_listed = false;
    let show = |page| {
        has_listed = true;
        let pages = pages.clone();
        async move { pages.send(Ok(ListingPage::of(page))).await.is_ok() }
    };
    let listed = browser.entries(at, Listed::Folder, show).await;
    listed.map_err(|fault| (fault, has_listed))?;
    let _ = pages.send(Ok(ListingPage::end())).await;
    Ok(())
}
