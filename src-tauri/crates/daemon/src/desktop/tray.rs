//! The icon in the panel and its menu: StatusNotifierItem and com.canonical.dbusmenu (`ksni` speaks
//! both), following what is shown. It decides nothing: clicks become what is asked.
use std::sync::atomic::{AtomicBool, Ordering};

use ksni::menu::{CheckmarkItem, StandardItem};
use ksni::{Category, Handle, Icon, MenuItem, OfflineReason, Status, ToolTip, Tray, TrayMethods};
use tokio::sync::{mpsc, watch};

use super::shown::{Asked, Receives, Shown, State};
use super::{Log, icons, messages, words};
use crate::dto::View;
use crate::language::Language;

/// Shows `shown` until its sender goes. Without a bus it ends at once; a panel that comes later, or
/// again, is registered with anew.
pub(super) async fn follow(
    mut shown: watch::Receiver<Shown>,
    asked: mpsc::Sender<Asked>,
    language: Language,
    log: Log,
) {
    let item = Item {
        shown: shown.borrow_and_update().clone(),
        asked,
        language,
        log: log.clone(),
        said_missing: AtomicBool::new(false),
    };
    let handle: Handle<Item> = match item.assume_sni_available(true).spawn().await {
        Ok(handle) => handle,
        Err(error) => return log(&format!("no tray icon: {error}")),
    };
    while shown.changed().await.is_ok() {
        let now = shown.borrow_and_update().clone();
        if handle.update(|item| item.shown = now).await.is_none() {
            return;
        }
    }
    handle.shutdown().await;
}

struct Item {
    shown: Shown,
    asked: mpsc::Sender<Asked>,
    language: Language,
    log: Log,
    said_missing: AtomicBool,
}

impl Item {
    /// A click that finds the queue full is lost: the person sees that nothing happened, and clicks
    /// again.
    fn ask(&self, asked: Asked) {
        let _ = self.asked.try_send(asked);
    }

    fn open(&self, view: Option<View>) {
        self.ask(Asked::Open { view, offer: None, token: ksni::current_xdg_activation_token() });
    }
}

impl Tray for Item {
    fn id(&self) -> String {
        "org.ringway.Ringway".to_owned()
    }

    fn category(&self) -> Category {
        Category::Communications
    }

    fn title(&self) -> String {
        format!("Ringway: {}", words::state(&self.shown, self.language))
    }

    fn status(&self) -> Status {
        match self.shown.state() {
            State::NeedsYou => Status::NeedsAttention,
            // "Passive" would be hidden: nobody finds the way to switch it on again.
            State::Idle | State::Active | State::Off => Status::Active,
        }
    }

    fn icon_name(&self) -> String {
        icons::name(self.shown.state()).to_owned()
    }

    fn icon_pixmap(&self) -> Vec<Icon> {
        icons::pixmaps(self.shown.state())
    }

    fn attention_icon_name(&self) -> String {
        icons::name(State::NeedsYou).to_owned()
    }

    fn attention_icon_pixmap(&self) -> Vec<Icon> {
        icons::pixmaps(State::NeedsYou)
    }

    fn tool_tip(&self) -> ToolTip {
        ToolTip {
            title: "Ringway".to_owned(),
            description: words::state(&self.shown, self.language),
            ..ToolTip::default()
        }
    }

    fn activate(&mut self, _x: i32, _y: i32) {
        self.open((self.shown.waiting > 0 || !self.shown.requests.is_empty()).then_some(View::Inbox));
    }

    fn menu(&self) -> Vec<MenuItem<Self>> {
        let entry = |label: String, activate: fn(&mut Self)| -> MenuItem<Self> {
            StandardItem { label: words::label(&label), activate: Box::new(activate), ..StandardItem::default() }.into()
        };
        // The window shows the code in large letters.
        let asks = |name: &String| {
            entry(messages::notice_wants_to_connect(self.language, name), |item| item.open(Some(View::Inbox)))
        };
        let mut menu: Vec<_> = self.shown.requests.iter().map(asks).collect();
        menu.push(
            CheckmarkItem {
                label: messages::tray_receiving(self.language).to_owned(),
                checked: self.shown.receives.is_on(),
                activate: Box::new(|item: &mut Self| item.ask(Asked::Receive(!item.shown.receives.is_on()))),
                ..CheckmarkItem::default()
            }
            .into(),
        );
        match (&self.shown.code, self.shown.receives) {
            (Some(code), _) => {
                menu.push(entry(messages::tray_code(self.language, code), |item| item.open(Some(View::Inbox))));
                menu.push(entry(messages::tray_new_code(self.language).to_owned(), |item| item.ask(Asked::FreshCode)));
            }
            (None, Receives::Yes) => {
                // A menu closes on a click: the code is seen in the window.
                let show = |item: &mut Self| item.ask(Asked::ShowCode { token: ksni::current_xdg_activation_token() });
                menu.push(entry(messages::tray_show_code(self.language).to_owned(), show));
            }
            (None, Receives::Cannot | Receives::Refused) => {
                menu.push(entry(messages::tray_why_not(self.language).to_owned(), |item| item.open(Some(View::Inbox))))
            }
            (None, Receives::No) => {}
        }
        menu.extend([
            MenuItem::Separator,
            entry(words::inbox(self.shown.waiting, self.language), |item| item.open(Some(View::Inbox))),
            entry(messages::tray_send_folder(self.language).to_owned(), |item| item.open(Some(View::Send))),
            entry(messages::tray_open(self.language).to_owned(), |item| item.open(None)),
            MenuItem::Separator,
            entry(messages::tray_quit(self.language).to_owned(), |item| item.ask(Asked::Quit)),
        ]);
        menu
    }

    fn watcher_offline(&self, reason: OfflineReason) -> bool {
        if !self.said_missing.swap(true, Ordering::Relaxed) {
            let why = match reason {
                OfflineReason::Error(error) => format!(" ({error})"),
                _ => String::new(),
            };
            (self.log)(&format!("no panel shows the tray icon now{why}; it appears when one does"));
        }
        true
    }
}
