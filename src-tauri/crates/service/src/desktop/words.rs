//! The sentences of tray and notifications.
use super::shown::{Ending, News, Receives, Shown, Way};

/// What a notification says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) title: String,
    pub(super) body: String,
}

/// The state in words: the tooltip, and the title after the program's name.
pub(super) fn state(shown: &Shown) -> String {
    let receiving = match shown.receives {
        Receives::No => "receiving is off",
        Receives::Yes => "ready to receive",
        Receives::Cannot => "cannot receive: open Ringway to see why",
    };
    let mut parts = Vec::new();
    if shown.waiting > 0 {
        parts.push(counted(shown.waiting, "offer waits for you", "offers wait for you"));
    }
    if shown.active > 0 {
        parts.push(counted(shown.active, "transfer under way", "transfers under way"));
    }
    // "Ready" goes without saying while something moves.
    if parts.is_empty() || shown.receives != Receives::Yes {
        parts.push(receiving.to_owned());
    }
    parts.join(", ")
}

/// The menu's entry for offers.
pub(super) fn inbox(waiting: usize) -> String {
    match waiting {
        0 => "Open inbox".to_owned(),
        _ => format!("Open inbox ({})", counted(waiting, "waits", "wait")),
    }
}

/// What a notification says of `news`; none where it takes one back.
pub(super) fn news(news: &News) -> Option<Words> {
    Some(match news {
        News::Offer { from, title, more, bytes: count, is_final, .. } => {
            let so_far = if *is_final { "" } else { " so far" };
            let size = if *count == 0 && !is_final { String::new() } else { format!(", {}{so_far}", bytes(*count)) };
            Words { title: format!("{from} offers a folder"), body: format!("{}{size}", named(title, *more)) }
        }
        News::OfferGone { .. } => return None,
        News::Ended { way, title, more, peer, ending, bytes: count } => {
            let what = named(title, *more);
            let place = match way {
                Way::Sent => format!("to {peer}"),
                Way::Received => format!("from {peer}"),
                Way::Copied => format!("into {peer}"),
            };
            let (head, tail) = match (way, ending) {
                (Way::Sent, Ending::Whole) => ("Sent", bytes(*count)),
                (Way::Received, Ending::Whole) => ("Received", bytes(*count)),
                (Way::Copied, Ending::Whole) => ("Copied", bytes(*count)),
                (_, Ending::Partial) => ("Not all arrived", "open Ringway to see what is missing".to_owned()),
                (Way::Sent, Ending::Failed) => ("Sending failed", "open Ringway to see why".to_owned()),
                (Way::Received, Ending::Failed) => ("Receiving failed", "open Ringway to see why".to_owned()),
                (Way::Copied, Ending::Failed) => ("Copying failed", "open Ringway to see why".to_owned()),
            };
            Words { title: head.to_owned(), body: format!("{what} {place}: {tail}") }
        }
        News::Paired { name } => {
            Words { title: "Paired".to_owned(), body: format!("{name} and this device know each other now.") }
        }
    })
}

/// Text for a server that reads the body as markup: only what has a meaning there is escaped (Desktop Notifications
/// Specification, "Markup").
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

fn named(title: &str, more: u64) -> String {
    if more == 0 { title.to_owned() } else { format!("{title} and {more} more") }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Decimal units, three digits or so: 1 kB is 1,000 bytes.
fn bytes(count: u64) -> String {
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
    if value < 9.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
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
            (Shown { active: 1, ..idle.clone() }, "1 transfer under way"),
            (Shown { active: 3, waiting: 1, ..idle.clone() }, "1 offer waits for you, 3 transfers under way"),
            (Shown { active: 1, receives: Receives::No, ..idle.clone() }, "1 transfer under way, receiving is off"),
            (Shown { receives: Receives::Cannot, ..idle }, "cannot receive: open Ringway to see why"),
        ] {
            assert_eq!(state(&shown), words);
        }
    }

    #[test]
    fn an_offer_says_who_what_and_how_much() {
        let offer = |more, bytes, is_final| News::Offer {
            id: "1".into(),
            from: "lab-ws".into(),
            title: "data".into(),
            more,
            bytes,
            is_final,
        };
        for (news_, body) in [
            (offer(0, 0, false), "data"),
            (offer(2, 1_500_000, false), "data and 2 more, 1.5 MB so far"),
            (offer(0, 999_999, true), "data, 1.0 MB"),
            (offer(0, 0, true), "data, 0 B"),
        ] {
            let words = news(&news_).unwrap();
            assert_eq!((words.title.as_str(), words.body.as_str()), ("lab-ws offers a folder", body));
        }
        assert_eq!(news(&News::OfferGone { id: "1".into() }), None);
    }

    #[test]
    fn sizes_are_short_up_to_the_largest() {
        let all = [0, 999, 1_000, 9_949, 9_960, 999_499, 999_500, 2_000_000_000, u64::MAX].map(bytes);
        assert_eq!(all, ["0 B", "999 B", "1.0 kB", "9.9 kB", "10 kB", "999 kB", "1.0 MB", "2.0 GB", "18 EB"]);
    }

    #[test]
    fn markup_and_access_keys_are_text() {
        assert_eq!(escaped("<b>a & 'b' \"c\"</b>"), "&lt;b&gt;a &amp; &apos;b&apos; &quot;c&quot;&lt;/b&gt;");
        assert_eq!(label("7_a"), "7__a");
    }
}
