//! The sentences of tray and notifications, in the session's language. Their text is the window's
//! catalogues' (`messages`).
use ringway_model::{Direction, TransferState};

use super::messages;
use super::shown::{Alike, Conflicts, News, Obstacle, Receives, Shown};
use crate::language::Language;

/// What a notification says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) title: String,
    pub(super) body: String,
}

/// The state in words: the tooltip, and the title after the program's name.
pub(super) fn state(shown: &Shown, language: Language) -> String {
    let receiving = match shown.receives {
        Receives::No => messages::tray_off(language),
        Receives::Yes => messages::tray_ready(language),
        Receives::Cannot => messages::tray_cannot(language),
        Receives::Refused => messages::tray_refused(language),
    };
    let mut parts = Vec::new();
    if !shown.requests.is_empty() {
        parts.push(messages::tray_want_to_connect(language, shown.requests.len() as u64));
    }
    if shown.waiting > 0 {
        parts.push(messages::tray_offers_wait(language, shown.waiting as u64));
    }
    if shown.active > 0 {
        parts.push(messages::tray_under_way(language, shown.active as u64));
    }
    if shown.paused > 0 {
        parts.push(messages::tray_paused(language, shown.paused as u64));
    }
    if shown.without_room > 0 {
        parts.push(messages::tray_without_room(language, shown.without_room as u64));
    }
    // "Ready" goes without saying while something moves.
    if parts.is_empty() || shown.receives != Receives::Yes {
        parts.push(receiving.to_owned());
    }
    parts.join(", ")
}

/// The menu's entry for offers.
pub(super) fn inbox(waiting: usize, language: Language) -> String {
    match waiting {
        0 => messages::tray_open_inbox(language).to_owned(),
        _ => messages::tray_open_inbox_waits(language, waiting as u64),
    }
}

/// What a notification says of `news`; `None` if it takes one back.
pub(super) fn news(news: &News, language: Language) -> Option<Words> {
    Some(match news {
        News::Offer {
            from,
            names,
            more,
            entries,
            folder,
            left,
            conflicts,
            looks_like,
            dotted,
            bytes: count,
            is_final,
            ..
        } => {
            let mut body = named(&names.join(", "), *more, language);
            if *entries > 0 {
                body.push_str(", ");
                body.push_str(&messages::notice_items(language, *entries));
            }
            if *is_final || *count > 0 {
                let size = bytes(*count, language);
                let said = if *is_final { size } else { messages::notice_so_far(language, &size) };
                body.push_str(", ");
                body.push_str(&said);
            }
            body.push_str(". ");
            body.push_str(&match left {
                Some(left) => messages::notice_offer_leaves(language, folder, &bytes(*left, language)),
                None => messages::notice_offer_into(language, folder),
            });
            if let Some(Conflicts { count: n @ 1.., at_least }) = conflicts {
                body.push_str(". ");
                body.push_str(&match at_least {
                    true => messages::notice_conflicts_at_least(language, *n),
                    false => messages::notice_conflicts(language, *n),
                });
            }
            if let Some(other) = looks_like {
                body.push_str(". ");
                body.push_str(&messages::notice_looks_like(language, from, other));
            }
            if *dotted > 0 {
                // The sentence about the name ends with its own full stop.
                body.push_str(if looks_like.is_some() { " " } else { ". " });
                body.push_str(&messages::notice_dot_names(language, *dotted));
            }
            Words { title: messages::notice_offers(language, from), body }
        }
        News::OfferGone { .. } | News::RequestGone { .. } => return None,
        News::Request { name, looks_like, .. } => {
            let mut body = messages::notice_request_explained(language).to_owned();
            if let Some(alike) = looks_like {
                body.push(' ');
                body.push_str(&match alike {
                    Alike::ThisDevice => messages::notice_looks_like_this(language, name),
                    Alike::Other(other) => messages::notice_looks_like(language, name, other),
                });
            }
            Words { title: messages::notice_wants_to_connect(language, name), body }
        }
        News::Ended { direction, title, more, peer, state, bytes: count, present } => {
            let what = named(title, *more, language);
            let size = || match present {
                0 => bytes(*count, language),
                present => messages::notice_moved_of(language, &bytes(*count, language), &bytes(*present, language)),
            };
            let (head, end) = match (state, direction) {
                (TransferState::Declined, _) => {
                    return Some(Words { title: messages::notice_declined(language, peer), body: what });
                }
                (TransferState::Unanswered, _) => {
                    return Some(Words { title: messages::notice_unanswered(language, peer), body: what });
                }
                (TransferState::CancelledHere | TransferState::CancelledThere, _) => {
                    return Some(Words { title: messages::notice_cancelled(language, peer), body: what });
                }
                (TransferState::Done, Direction::Sending) => (messages::notice_sent(language), size()),
                (TransferState::Done, Direction::Receiving) => (messages::notice_received(language), size()),
                (TransferState::Done, Direction::Copying) => (messages::notice_copied(language), size()),
                (TransferState::DoneWithFailures, _) => {
                    (messages::notice_partial(language), messages::notice_see_missing(language).to_owned())
                }
                (_, direction) => {
                    let head = match direction {
                        Direction::Sending => messages::notice_sending_failed(language),
                        Direction::Receiving => messages::notice_receiving_failed(language),
                        Direction::Copying => messages::notice_copying_failed(language),
                    };
                    (head, messages::notice_see_why(language).to_owned())
                }
            };
            let body = match direction {
                Direction::Sending => messages::notice_to(language, &end, peer, &what),
                Direction::Receiving => messages::notice_from(language, &end, peer, &what),
                Direction::Copying => messages::notice_into(language, &end, peer, &what),
            };
            Words { title: head.to_owned(), body }
        }
        News::NotReceiving { obstacle } => Words {
            title: messages::notice_not_receiving(language).to_owned(),
            body: match obstacle {
                Obstacle::Port(port) => messages::notice_port_in_use(language, &port.to_string()),
                Obstacle::Folder(folder) => messages::notice_folder_unusable(language, folder),
                Obstacle::Other => messages::notice_not_switched_on(language).to_owned(),
            },
        },
        News::NoRoom { direction, title, more, peer } => {
            let what = named(title, *more, language);
            let title = match direction {
                Direction::Sending => messages::notice_full_there(language, peer),
                Direction::Receiving | Direction::Copying => messages::notice_full_here(language).to_owned(),
            };
            let body = match direction {
                Direction::Sending => messages::notice_waits_there(language, &what),
                Direction::Receiving => {
                    messages::notice_from(language, messages::notice_make_room(language), peer, &what)
                }
                Direction::Copying => {
                    messages::notice_into(language, messages::notice_make_room(language), peer, &what)
                }
            };
            Words { title, body }
        }
        News::Note { from, line } => Words { title: messages::notice_note_from(language, from), body: line.clone() },
        News::Paired { name } => Words {
            title: messages::notice_paired(language).to_owned(),
            body: messages::notice_know_each_other(language, name),
        },
    })
}

/// Text for a server that reads the body as markup: only what has a meaning there is escaped
/// (Desktop Notifications Specification, "Markup").
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            _ => out.push(c),
        }
    }
    out
}

/// A menu's label: an underscore would mark the letter behind it (com.canonical.dbusmenu, "label").
pub(super) fn label(text: &str) -> String {
    text.replace('_', "__")
}

fn named(title: &str, more: u64, language: Language) -> String {
    if more == 0 { title.to_owned() } else { messages::notice_named(language, more, title) }
}

/// Decimal units, three digits or so: 1 kB is 1,000 bytes.
fn bytes(count: u64, language: Language) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if count < 1_000 {
        return format!("{count} B");
    }
    let mut value = count as f64 / 1_000.0;
    let mut units = UNITS.iter();
    let mut unit = units.next().unwrap_or(&"");
    while value >= 999.5
        && let Some(next) = units.next()
    {
        value /= 1_000.0;
        unit = next;
    }
    if value < 9.95 {
        format!("{value:.1} {unit}").replace('.', &language.decimal_mark().to_string())
    } else {
        format!("{value:.0} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_said_in_words() {
        let idle = Shown { receives: Receives::Yes, ..Shown::default() };
        for (shown, words) in [
            (Shown::default(), "receiving is off"),
            (idle.clone(), "ready to receive"),
            (Shown { active: 1, ..idle.clone() }, "1 transfer running"),
            (Shown { active: 3, waiting: 1, ..idle.clone() }, "1 offer waiting, 3 transfers running"),
            (Shown { active: 1, receives: Receives::No, ..idle.clone() }, "1 transfer running, receiving is off"),
            (Shown { active: 1, paused: 2, ..idle.clone() }, "1 transfer running, 2 paused"),
            (Shown { paused: 1, ..idle.clone() }, "1 paused"),
            (Shown { requests: vec!["ada".into()], ..idle.clone() }, "1 device wants to connect"),
            (Shown { without_room: 1, ..idle.clone() }, "1 waiting for disk space"),
            (Shown { receives: Receives::Cannot, ..idle.clone() }, "cannot receive: open Ringway to see why"),
            (
                Shown { receives: Receives::Refused, ..idle },
                "receiving could not be turned on: open Ringway to see why",
            ),
        ] {
            assert_eq!(state(&shown, Language::En), words);
        }
    }

    #[test]
    fn an_offer_says_who_what_and_how_much() {
        let dotted_offer = |more, dotted, bytes, is_final| News::Offer {
            id: "1".into(),
            from: "lab-ws".into(),
            names: vec!["data".into()],
            more,
            entries: 0,
            folder: "/in".into(),
            left: None,
            conflicts: None,
            looks_like: None,
            dotted,
            bytes,
            is_final,
        };
        let offer = |more, bytes, is_final| dotted_offer(more, 0, bytes, is_final);
        for (news_, body) in [
            (offer(0, 0, false), "data. Into /in"),
            (offer(2, 1_500_000, false), "data and 2 more, 1.5 MB so far. Into /in"),
            (offer(0, 999_999, true), "data, 1.0 MB. Into /in"),
            (offer(0, 0, true), "data, 0 B. Into /in"),
            (dotted_offer(0, 2, 0, true), "data, 0 B. Into /in. 2 names begin with a dot"),
        ] {
            let words = news(&news_, Language::En).unwrap();
            assert_eq!((words.title.as_str(), words.body.as_str()), ("Offer from lab-ws", body));
        }
        assert_eq!(news(&News::OfferGone { id: "1".into() }, Language::En), None);
    }

    #[test]
    fn an_offer_says_what_it_meets_there() {
        let offer = |conflicts| News::Offer {
            id: "1".into(),
            from: "lab-ws".into(),
            names: vec!["data".into()],
            more: 0,
            entries: 0,
            folder: "/in".into(),
            left: None,
            conflicts,
            looks_like: None,
            dotted: 0,
            bytes: 0,
            is_final: true,
        };
        let said = |count, at_least| news(&offer(Some(Conflicts { count, at_least })), Language::En).unwrap().body;
        assert_eq!(said(0, false), "data, 0 B. Into /in");
        assert_eq!(said(1, false), "data, 0 B. Into /in. 1 existing item differs");
        assert_eq!(said(1_000, true), "data, 0 B. Into /in. At least 1000 existing items differ");
    }

    #[test]
    fn an_offer_from_a_name_that_looks_like_another_says_so() {
        let offer = |dotted| News::Offer {
            id: "1".into(),
            // The second letter is Cyrillic.
            from: "n\u{430}s".into(),
            names: vec!["data".into()],
            more: 0,
            entries: 0,
            folder: "/in".into(),
            left: None,
            conflicts: None,
            looks_like: Some("nas".into()),
            dotted,
            bytes: 0,
            is_final: true,
        };
        let said = |dotted, language| news(&offer(dotted), language).unwrap().body;
        let alike = "data, 0 B. Into /in. The name n\u{430}s looks like that of another device, nas. Compare the IDs in Ringway.";
        assert_eq!(said(0, Language::En), alike);
        assert_eq!(said(1, Language::En), format!("{alike} 1 name begins with a dot"));
        assert!(said(0, Language::De).contains("eines anderen Geräts, nas."));
    }

    #[test]
    fn a_request_to_pair_says_who_and_that_the_code_decides() {
        let request = |looks_like: Option<Alike>| {
            news(&News::Request { id: "1".into(), name: "ada-laptop".into(), looks_like }, Language::En).unwrap()
        };
        let Words { title, body } = request(None);
        assert_eq!(title, "ada-laptop wants to connect");
        assert!(body.contains("code"), "{body}");
        let other = request(Some(Alike::Other("ada-1aptop".into())));
        assert!(other.body.contains("looks like that of another device, ada-1aptop"));
        assert!(request(Some(Alike::ThisDevice)).body.contains("looks like that of this device"));
        assert_eq!(news(&News::RequestGone { id: "1".into() }, Language::En), None);
    }

    #[test]
    fn sizes_are_short_up_to_the_largest() {
        let all = [0, 999, 1_000, 9_949, 9_960, 999_499, 999_500, 2_000_000_000, u64::MAX]
            .map(|count| bytes(count, Language::En));
        assert_eq!(all, ["0 B", "999 B", "1.0 kB", "9.9 kB", "10 kB", "999 kB", "1.0 MB", "2.0 GB", "18 EB"]);
    }

    #[test]
    fn german_has_its_own_plurals_and_numbers() {
        let de = Language::De;
        let waiting = |waiting| state(&Shown { receives: Receives::Yes, waiting, active: 2, ..Shown::default() }, de);
        assert_eq!(waiting(1), "1 Angebot wartet, 2 Übertragungen laufen");
        assert_eq!(waiting(3), "3 Angebote warten, 2 Übertragungen laufen");
        assert_eq!(
            [0, 1, 2].map(|n| inbox(n, de)),
            ["Eingang öffnen", "Eingang öffnen (1 wartet)", "Eingang öffnen (2 warten)"]
        );
        let offer = News::Offer {
            id: "1".into(),
            from: "lab-ws".into(),
            names: vec!["data".into(), "set".into()],
            more: 2,
            entries: 1,
            folder: "/in".into(),
            left: Some(9_000_000_000),
            conflicts: Some(Conflicts { count: 2, at_least: true }),
            looks_like: None,
            dotted: 0,
            bytes: 1_500_000,
            is_final: false,
        };
        let words = news(&offer, de).unwrap();
        assert_eq!(words.title, "Angebot von lab-ws");
        assert_eq!(
            words.body,
            "data, set und 2 weitere, 1 Element, bisher 1,5 MB. Nach /in, danach 9,0 GB frei. Mindestens 2 vorhandene Elemente weichen ab"
        );
        let ended = News::Ended {
            direction: Direction::Copying,
            title: "{x}".into(),
            more: 0,
            peer: "/mnt".into(),
            state: TransferState::DoneWithFailures,
            bytes: 0,
            present: 0,
        };
        assert_eq!(news(&ended, de).unwrap().body, "{x} nach /mnt: Ringway zeigt, was fehlt");
    }

    #[test]
    fn what_people_decided_is_not_announced_as_a_failure() {
        let ended = |state| News::Ended {
            direction: Direction::Sending,
            title: "data".into(),
            more: 0,
            peer: "lab-ws".into(),
            state,
            bytes: 0,
            present: 0,
        };
        for (state, title) in [
            (TransferState::Declined, "Declined by lab-ws"),
            (TransferState::CancelledThere, "Cancelled by lab-ws"),
            (TransferState::Unanswered, "lab-ws did not answer"),
            (TransferState::Failed, "Sending failed"),
        ] {
            assert_eq!(news(&ended(state), Language::En).unwrap().title, title);
        }
    }

    #[test]
    fn markup_and_access_keys_are_text() {
        assert_eq!(escaped("<b>a & 'b' \"c\"</b>"), "&lt;b&gt;a &amp; &apos;b&apos; &quot;c&quot;&lt;/b&gt;");
        assert_eq!(label("7_a"), "7__a");
    }
}
