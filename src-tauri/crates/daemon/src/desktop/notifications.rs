//! Notifications (org.freedesktop.Notifications): what is worth one is shown, offers with their
//! answers where the desktop has buttons, and taken back when it no longer holds. What is answered
//! becomes what is asked.
use ringway_model::{ShownSize, TransferState};
use std::collections::HashMap;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use tokio::sync::mpsc;
use zbus::Proxy;
use zbus::names::{OwnedUniqueName, UniqueName};
use zbus::zvariant::Value;

use super::allowance::Allowance;
use super::shown::{Asked, News};
use super::{Log, messages, words};
use crate::dto::View;
use crate::language::Language;

/// Offers whose notification is remembered: more of them than an engine lets wait.
const OPEN_MAX: usize = 64;

/// The name under which the icon and the desktop file are installed.
const DESKTOP_ENTRY: &str = "org.ringway.Ringway";

/// How long a notification stays (Desktop Notifications Specification, "expire_timeout").
const FOR_EVER: i32 = 0;
const AS_THE_DESKTOP_HAS_IT: i32 = -1;

const SERVER: &str = "org.freedesktop.Notifications";
const PATH: &str = "/org/freedesktop/Notifications";

/// A server that has not answered by then is stuck: others wait behind it.
const ANSWER_AFTER_MAX: Duration = Duration::from_secs(10);

/// Shows `news` until its sender goes. Without a bus it ends at once; without a server each is
/// tried anew, and the first says so.
pub(super) async fn follow(mut news: mpsc::Receiver<News>, asked: mpsc::Sender<Asked>, language: Language, log: Log) {
    if let Err(error) = attend(&mut news, &asked, language, &log).await {
        log(&format!("no notifications: {error}"));
    }
}

async fn attend(
    news: &mut mpsc::Receiver<News>,
    asked: &mpsc::Sender<Asked>,
    language: Language,
    log: &Log,
) -> zbus::Result<()> {
    let bus = zbus::connection::Builder::session()?.method_timeout(ANSWER_AFTER_MAX).build().await?;
    let server = Proxy::new(&bus, SERVER, PATH, SERVER).await?;
    // One stream for all of them: a click's signal comes before the one that its notification is
    // closed.
    let mut signals = server.receive_all_signals().await?;
    let mut owners = server.receive_owner_changed().await?;
    let mut board = Board {
        server,
        language,
        open: Vec::new(),
        token: None,
        allowance: Allowance::new(Instant::now()),
        said: false,
    };
    loop {
        tokio::select! {
            news = news.recv() => match news {
                Some(news) => board.tell(news, log).await,
                None => break,
            },
            Some(signal) = signals.next() => if let Some(answer) = board.heard(&signal) {
                // Answered is answered: what is shown of the offer after that is another question.
                if let Asked::Accept { id, .. } | Asked::AllowPairing { id, .. } = &answer {
                    let _ = board.gone(id).await;
                }
                // A queue that is full loses the click: the offer still waits in the inbox.
                let _ = asked.try_send(answer);
            },
            // Another server numbers anew, and knows nothing of the old one's.
            Some(owner) = owners.next() => {
                board.open.retain(|open| owner.as_ref().is_some_and(|owner| open.server == *owner));
            }
        }
    }
    board.close_all().await;
    Ok(())
}

/// What is on the screen.
struct Board {
    server: Proxy<'static>,
    language: Language,
    open: Vec<Open>,
    token: Option<(u32, String)>,
    allowance: Allowance,
    said: bool,
}

/// A notification that somebody may still answer.
struct Open {
    id: u32,
    /// Which server numbered it.
    server: OwnedUniqueName,
    /// What it asks; `None` if it only opens the window.
    question: Option<Question>,
    /// What that shows then.
    view: Option<View>,
    /// What it says of an offer that may change.
    said: Option<Said>,
}

/// What a notification says of an offer that is said anew when it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Said {
    folder: String,
    is_final: bool,
    is_compared: bool,
}

impl Said {
    /// Whether `now` is worth another notification: totals and comparisons end once, and only a
    /// person here changes the folder.
    fn is_outdated_by(&self, now: &Self) -> bool {
        let is_news = |before: bool, now: bool| now && !before;
        self.folder != now.folder || is_news(self.is_final, now.is_final) || is_news(self.is_compared, now.is_compared)
    }
}

/// What a notification asks.
#[derive(Clone)]
enum Question {
    /// Whether to accept the offer with that id, of which this size was said.
    Offer(String, ShownSize),
    /// Whether the device with that id may try a code.
    Request(String),
}

impl Question {
    fn id(&self) -> &str {
        match self {
            Self::Offer(id, _) | Self::Request(id) => id,
        }
    }
}

impl Open {
    fn is_about(&self, asked: &str) -> bool {
        self.question.as_ref().is_some_and(|question| question.id() == asked)
    }
}

impl Board {
    /// Shows it, replaces it, or takes it back.
    async fn tell(&mut self, news: News, log: &Log) {
        let told = match &news {
            News::Offer { id, bytes, is_final, folder, conflicts, .. } => {
                let said = Said { folder: folder.clone(), is_final: *is_final, is_compared: conflicts.is_some() };
                self.offer(&news, id, ShownSize { bytes: *bytes, is_final: *is_final }, said).await
            }
            News::OfferGone { id } | News::RequestGone { id } => self.gone(id).await,
            News::Request { id, .. } => self.request(&news, id).await,
            News::Ended { .. }
            | News::Note { .. }
            | News::Paired { .. }
            | News::NotReceiving { .. }
            | News::NoRoom { .. } => self.passing(&news).await,
        };
        if let Err(error) = told
            && !std::mem::replace(&mut self.said, true)
        {
            log(&format!("no notifications now: {error}"));
        }
    }

    /// Once when it comes, and once more when its totals or its conflicts are known: a screen is no
    /// progress bar. Whenever its folder is another one, too: "Accept" is a yes to what is said.
    async fn offer(&mut self, news: &News, offer: &str, shown: ShownSize, said: Said) -> zbus::Result<()> {
        let open = self.open.iter().position(|open| open.is_about(offer));
        let replaces = match open {
            Some(at) if !self.open[at].said.as_ref().is_some_and(|before| before.is_outdated_by(&said)) => {
                return Ok(());
            }
            Some(at) => self.open[at].id,
            None if self.open.len() < OPEN_MAX && self.allowance.take(Instant::now()) => 0,
            None => return Ok(()),
        };
        let language = self.language;
        let actions = [
            "default",
            messages::tray_open_inbox(language),
            "accept",
            messages::notice_accept(language),
            "decline",
            messages::notice_decline(language),
        ];
        let (id, server) = self.show(news, replaces, &actions, "transfer", FOR_EVER).await?;
        self.open.retain(|open| open.id != replaces && open.id != id);
        let question = Some(Question::Offer(offer.to_owned(), shown));
        self.open.push(Open { id, server, question, view: Some(View::Inbox), said: Some(said) });
        Ok(())
    }

    /// Shown once: the device that asks cannot change it. The code is never in it, because a locked
    /// screen may show it.
    async fn request(&mut self, news: &News, device: &str) -> zbus::Result<()> {
        let is_open = self.open.iter().any(|open| open.is_about(device));
        if is_open || self.open.len() >= OPEN_MAX || !self.allowance.take(Instant::now()) {
            return Ok(());
        }
        let language = self.language;
        let actions = [
            "default",
            messages::tray_open_inbox(language),
            "allow",
            messages::notice_allow(language),
            "block",
            messages::notice_block(language),
        ];
        let (id, server) = self.show(news, 0, &actions, "device", FOR_EVER).await?;
        self.open.retain(|open| open.id != id);
        let question = Some(Question::Request(device.to_owned()));
        self.open.push(Open { id, server, question, view: Some(View::Inbox), said: None });
        Ok(())
    }

    async fn gone(&mut self, asked: &str) -> zbus::Result<()> {
        let Some(at) = self.open.iter().position(|open| open.is_about(asked)) else { return Ok(()) };
        let id = self.open.remove(at).id;
        self.close(id).await
    }

    /// What nobody has to answer; the oldest of those makes room.
    async fn passing(&mut self, news: &News) -> zbus::Result<()> {
        if !self.allowance.take(Instant::now()) {
            return Ok(());
        }
        let (category, view) = match news {
            News::Ended { state: TransferState::Done, .. } => ("transfer.complete", None),
            News::Ended { state, .. } if state.has_failed() => ("transfer.error", None),
            News::Ended { .. } => ("transfer", None),
            News::NoRoom { .. } => ("transfer.error", None),
            News::Note { .. } => ("im.received", Some(View::Inbox)),
            // The inbox says why at length, with the commands that help.
            News::NotReceiving { .. } => ("network.error", Some(View::Inbox)),
            _ => ("device.added", None),
        };
        let (id, server) = self
            .show(news, 0, &["default", messages::tray_open(self.language)], category, AS_THE_DESKTOP_HAS_IT)
            .await?;
        self.open.retain(|open| open.id != id);
        if self.open.len() >= OPEN_MAX
            && let Some(oldest) = self.open.iter().position(|open| open.question.is_none())
        {
            self.open.remove(oldest);
        }
        if self.open.len() < OPEN_MAX {
            self.open.push(Open { id, server, question: None, view, said: None });
        }
        Ok(())
    }

    /// Its number, and whose that is.
    async fn show(
        &self,
        news: &News,
        replaces: u32,
        actions: &[&str],
        category: &str,
        expires: i32,
    ) -> zbus::Result<(u32, OwnedUniqueName)> {
        let words = words::news(news, self.language).ok_or(zbus::Error::Unsupported)?;
        // Asked each time: another server may have come, and these are few.
        let capabilities: Vec<String> = self.server.call("GetCapabilities", &()).await?;
        let has = |wanted: &str| capabilities.iter().any(|one| one == wanted);
        let body = if has("body-markup") { words::escaped(&words.body) } else { words.body };
        let actions = if has("actions") { actions } else { &[] };
        let hints: HashMap<_, Value<'_>> =
            HashMap::from([("desktop-entry", DESKTOP_ENTRY.into()), ("category", category.into())]);
        let said = ("Ringway", replaces, DESKTOP_ENTRY, &words.title, &body, actions, hints, expires);
        let reply = self.server.call_method("Notify", &said).await?;
        let server = reply.header().sender().ok_or(zbus::Error::MissingField)?.to_owned().into();
        Ok((reply.body().deserialize()?, server))
    }

    /// What a signal of the server's asks for.
    fn heard(&mut self, signal: &zbus::Message) -> Option<Asked> {
        let (header, body) = (signal.header(), signal.body());
        let server = header.sender()?;
        match header.member()?.as_str() {
            // It comes before the action that it is for (Desktop Notifications Specification 1.2,
            // "ActivationToken").
            "ActivationToken" => {
                self.token = body.deserialize().ok();
                None
            }
            "ActionInvoked" => {
                let (id, action): (u32, String) = body.deserialize().ok()?;
                self.answered(id, server, &action)
            }
            "NotificationClosed" => {
                let (id, _reason): (u32, u32) = body.deserialize().ok()?;
                self.open.retain(|open| open.id != id || open.server != *server);
                None
            }
            _ => None,
        }
    }

    /// What a click asks for. One on a notification that is not ours, or gone, asks for nothing.
    fn answered(&mut self, id: u32, server: &UniqueName<'_>, action: &str) -> Option<Asked> {
        let open = self.open.iter().find(|open| open.id == id && open.server == *server)?;
        let token = self.token.take_if(|(of, _)| *of == id).map(|(_, token)| token);
        match (open.question.clone(), action) {
            (Some(Question::Offer(id, shown)), "accept") => Some(Asked::Accept { id, shown }),
            (Some(Question::Offer(id, _)), "decline") => Some(Asked::Decline(id)),
            (Some(Question::Request(id)), "allow") => Some(Asked::AllowPairing { id, token }),
            (Some(Question::Request(id)), "block") => Some(Asked::BlockPairing(id)),
            (Some(Question::Offer(id, _)), "default") => Some(Asked::Open { view: open.view, offer: Some(id), token }),
            (_, "default") => Some(Asked::Open { view: open.view, offer: None, token }),
            _ => None,
        }
    }

    /// Nobody is left to answer.
    async fn close_all(&mut self) {
        for open in std::mem::take(&mut self.open).iter().filter(|open| open.question.is_some()) {
            // The server may have gone before us.
            let _ = self.close(open.id).await;
        }
    }

    /// One that is gone already is as good: servers answer that with an error, or with nothing.
    async fn close(&self, id: u32) -> zbus::Result<()> {
        match self.server.call_method("CloseNotification", &id).await {
            Ok(_) | Err(zbus::Error::MethodError(..)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
