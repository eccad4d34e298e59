//! The listing of an offer that waits for an answer, page by page.
use std::sync::Arc;

use ringway_tree::send::Outgoing;
use ringway_wire::listing::ListingPage;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::limits::LISTING_AFTER;

/// Pages that wait for the connection.
const PAGES_MAX: usize = 2;

/// How far the listing has got.
pub(super) enum Listing {
    /// The offer was made then.
    Due(Instant),
    /// Its pages.
    Begun(mpsc::Receiver<ListingPage>),
    /// There is nothing more to list.
    Over,
}

impl Listing {
    /// The next page. None if that was the last one. Dropping a pending call loses nothing.
    pub(super) async fn next(&mut self, outgoing: &Arc<Outgoing>) -> Option<ListingPage> {
        if let Self::Due(offered) = self {
            tokio::time::sleep_until(*offered + LISTING_AFTER).await;
            let (give, pages) = mpsc::channel(PAGES_MAX);
            outgoing.list_unanswered(move |page| give.blocking_send(page).is_ok());
            *self = Self::Begun(pages);
        }
        let page = match self {
            Self::Begun(pages) => pages.recv().await,
            Self::Due(_) | Self::Over => std::future::pending().await,
        };
        if page.is_none() {
            *self = Self::Over;
        }
        page
    }
}
