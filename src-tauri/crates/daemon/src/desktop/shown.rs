//! What the tray shows, what is announced, and what a person asks for there: plain values between
//! the controller and the bus.

use ringway_model::{Direction, ShownSize, TransferState};

use crate::dto::View;

/// Whether this device receives.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Receives {
    /// Switched off.
    No,
    /// It listens.
    Yes,
    /// It is switched on, and cannot listen.
    Cannot,
    /// It could not be switched on.
    Refused,
}

impl Receives {
    /// Whether it is switched on.
    pub fn is_on(self) -> bool {
        matches!(self, Self::Yes | Self::Cannot)
    }
}

/// What the tray shows. It has no Debug: the code is a secret while it is open.
#[derive(Clone, PartialEq, Eq)]
pub struct Shown {
    /// Whether this device receives.
    pub receives: Receives,
    /// Transfers that are under way.
    pub active: usize,
    /// Transfers that are paused.
    pub paused: usize,
    /// Transfers for which this machine's disk has no room.
    pub without_room: usize,
    /// Offers that wait for a person.
    pub waiting: usize,
    /// What the devices call themselves that want to pair and that nobody has allowed yet.
    pub requests: Vec<String>,
    /// The code that is open.
    pub code: Option<String>,
}

impl Default for Shown {
    fn default() -> Self {
        Self {
            receives: Receives::No,
            active: 0,
            paused: 0,
            without_room: 0,
            waiting: 0,
            requests: Vec::new(),
            code: None,
        }
    }
}

/// The one state that the icon is for: what needs a person before what goes by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Ready, with nothing to do.
    Idle,
    /// A transfer is under way.
    Active,
    /// An offer or a new device waits, a disk is full, or receiving has failed.
    NeedsYou,
    /// Not receiving.
    Off,
}

impl Shown {
    /// What the icon says.
    pub fn state(&self) -> State {
        let waits = self.waiting > 0 || !self.requests.is_empty();
        if waits || self.without_room > 0 || self.receives == Receives::Cannot {
            State::NeedsYou
        } else if self.active > 0 {
            State::Active
        } else if !self.receives.is_on() {
            State::Off
        } else {
            State::Idle
        }
    }
}

/// What a person asked for, in the tray or in a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// To receive, or to stop.
    Receive(bool),
    /// Another code.
    FreshCode,
    /// Another code, and the window that shows it; `token` as in `Open`.
    ShowCode {
        /// `None` if the desktop gave none.
        token: Option<String>,
    },
    /// The window. `token` is the desktop's leave to come to the front (xdg-activation-v1).
    Open {
        /// What it is to show; none for what it shows by itself.
        view: Option<View>,
        /// The id of the offer that a person looks at.
        offer: Option<String>,
        /// `None` if the desktop gave none.
        token: Option<String>,
    },
    /// To take an offer.
    Accept {
        /// Its id.
        id: String,
        /// What its notification said of its size.
        shown: ShownSize,
    },
    /// To decline the offer with this id.
    Decline(String),
    /// To let the device with this id try a code, and the window that shows it; `token` as in
    /// `Open`.
    AllowPairing {
        /// The device's id.
        id: String,
        /// `None` if the desktop gave none.
        token: Option<String>,
    },
    /// To hear no more of the device with this id.
    BlockPairing(String),
    /// To end the service.
    Quit,
}

/// What keeps this device from receiving.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// Another program listens at this port.
    Port(u16),
    /// Nothing can land in this folder.
    Folder(String),
    /// What the window has the words for.
    Other,
}

/// Whose name a device's looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Alike {
    /// This device's.
    ThisDevice,
    /// That of a paired device, by its name.
    Other(String),
}

/// What an offer would meet in its folder, once that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conflicts {
    /// Entries there that differ, or are in the way.
    pub count: u64,
    /// Whether there may be more.
    pub at_least: bool,
}

/// What is worth a notification. Every text is safe to show, but for markup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// An offer waits for an answer. The same offer may be told again with firmer totals.
    Offer {
        /// What its answer names.
        id: String,
        /// Who offers.
        from: String,
        /// The first of the top-level names, at least one.
        names: Vec<String>,
        /// Names beyond those.
        more: u64,
        /// Files, folders and links known so far.
        entries: u64,
        /// The folder that it would land in.
        folder: String,
        /// Bytes that would be free there afterwards; none if that is not known.
        left: Option<u64>,
        /// What is there; none until that is compared, and if it cannot be.
        conflicts: Option<Conflicts>,
        /// The name of another paired device, where the sender's looks like it.
        looks_like: Option<String>,
        /// How many of all names begin with a dot.
        dotted: u64,
        /// Bytes known so far.
        bytes: u64,
        /// Whether that is all of them.
        is_final: bool,
    },
    /// It waits no more: answered elsewhere, withdrawn or too late.
    OfferGone {
        /// As in `Offer`.
        id: String,
    },
    /// A device wants to pair and has no code.
    Request {
        /// Its id.
        id: String,
        /// What it calls itself.
        name: String,
        /// Whose name this looks like.
        looks_like: Option<Alike>,
    },
    /// It waits no more: answered elsewhere, paired, or too late.
    RequestGone {
        /// As in `Request`.
        id: String,
    },
    /// A note has arrived.
    Note {
        /// The device that sent it.
        from: String,
        /// The first line that has something.
        line: String,
    },
    /// A transfer ended by itself, not because somebody here stopped it.
    Ended {
        /// Which way it went.
        direction: Direction,
        /// The first of its top-level names.
        title: String,
        /// Names beyond the first.
        more: u64,
        /// The other device, or the folder of a copy.
        peer: String,
        /// How it ended.
        state: TransferState,
        /// What was moved.
        bytes: u64,
        /// What was there already.
        present: u64,
    },
    /// Somebody wanted to receive, and it could not be switched on.
    NotReceiving {
        /// What was in the way.
        obstacle: Obstacle,
    },
    /// A transfer waits because a disk is full.
    NoRoom {
        /// Which way it goes.
        direction: Direction,
        /// The first of its top-level names.
        title: String,
        /// Names beyond the first.
        more: u64,
        /// The other device, or the folder of a copy.
        peer: String,
    },
    /// Another device knows this one now.
    Paired {
        /// What it calls itself.
        name: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_a_person_comes_before_what_goes_by_itself() {
        let mut shown = Shown::default();
        assert_eq!(shown.state(), State::Off);
        shown.receives = Receives::Yes;
        assert_eq!(shown.state(), State::Idle);
        shown.active = 2;
        assert_eq!(shown.state(), State::Active);
        shown.waiting = 1;
        assert_eq!(shown.state(), State::NeedsYou);
        shown = Shown { receives: Receives::Cannot, ..Shown::default() };
        assert_eq!(shown.state(), State::NeedsYou);
        // Sending goes on while nothing is received.
        shown = Shown { active: 1, ..Shown::default() };
        assert_eq!(shown.state(), State::Active);
        // Who has paused something knows; who has a full disk may not.
        shown = Shown { receives: Receives::Yes, paused: 1, ..Shown::default() };
        assert_eq!(shown.state(), State::Idle);
        shown.without_room = 1;
        assert_eq!(shown.state(), State::NeedsYou);
        shown = Shown { receives: Receives::Yes, requests: vec!["ada-laptop".into()], ..Shown::default() };
        assert_eq!(shown.state(), State::NeedsYou);
    }
}
