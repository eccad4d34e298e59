//! Text for a terminal: names made harmless, and sizes, rates, counts and times as people read
//! them.
use std::ffi::OsStr;
use std::time::{Duration, SystemTime};

pub(crate) use ringway_model::misleading::misleads;
use ringway_model::sentences::figures::scaled;
pub(crate) use ringway_model::sentences::figures::{bytes, count};

/// A name, path or any text of a peer's or a disk's, safe to print: bytes that are not UTF-8 as
/// `\xNN`, controls and characters that reorder or hide text as `\u{…}`, so that nothing moves the
/// cursor, rings, or shows as what it is not. As the window shows it.
pub(crate) fn for_terminal(text: impl AsRef<OsStr>) -> String {
    ringway_daemon::text::shown(text)
}

/// A rate in decimal units a second.
pub(crate) fn rate(bytes_per_s: f64) -> String {
    let whole = bytes_per_s.max(0.0);
    if whole < 999.5 { format!("{whole:.0} B/s") } else { format!("{}/s", scaled(whole)) }
}

/// A count with its noun, which takes an s.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}

/// Names that are safe to show already, and how many more there are.
pub(crate) fn and_more(names: String, more: u64) -> String {
    if more == 0 { names } else { format!("{names} and {} more", count(more)) }
}

/// A duration as a clock shows it: `0:12`, `1:02:03`.
pub(crate) fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// How long something took: `230 ms`, `12.3 s`, `1:02:03`.
pub(crate) fn took(time: Duration) -> String {
    match time.as_secs() {
        0 => format!("{} ms", time.as_millis()),
        1..60 => format!("{:.1} s", time.as_secs_f64()),
        _ => clock(time),
    }
}

/// How long ago a moment was, to the coarsest unit that says something.
pub(crate) fn ago(moment: SystemTime, now: SystemTime) -> String {
    let seconds = now.duration_since(moment).unwrap_or_default().as_secs();
    let (number, unit) = match seconds {
        0..60 => return "just now".into(),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{} ago", counted(number, unit))
}

/// How long from `now` to `moment`, in words.
pub(crate) fn for_how_long(moment: SystemTime, now: SystemTime) -> String {
    let seconds = moment.duration_since(now).unwrap_or_default().as_secs();
    if seconds < 60 { counted(seconds, "second") } else { counted(seconds.div_ceil(60), "minute") }
}

/// Seconds from 1970 to the farthest moment that is shown: 30,000 years.
const SECONDS_MAX: i64 = 1_000_000_000_000;

/// A moment in seconds since 1970 as RFC 3339 writes it, in UTC.
pub(crate) fn utc(seconds: i64) -> String {
    // The kernel has no others; a peer may say anything.
    let seconds = seconds.clamp(-SECONDS_MAX, SECONDS_MAX);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // From days to a date by eras of 400 years that begin in March ("chrono-compatible low-level
    // date algorithms", civil_from_days).
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Rows with their columns set below each other.
pub(crate) fn table<const COLUMNS: usize>(rows: Vec<[String; COLUMNS]>) -> Vec<String> {
    let widths: [usize; COLUMNS] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default());
    rows.iter()
        .map(|row| {
            let cells: Vec<_> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
            cells.join("  ").trim_end().to_owned()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_in_a_name_reaches_the_terminal_as_a_control(name in proptest::collection::vec(any::<u8>(), 0..80)) {
            let shown = for_terminal(OsStr::from_bytes(&name));
            prop_assert!(!shown.chars().any(misleads), "{shown:?}");
        }

        #[test]
        fn no_text_does_either(name in "\\PC*|[\u{0}-\u{9f}]*|[\u{2000}-\u{206f}]*") {
            prop_assert!(!for_terminal(&name).chars().any(misleads));
        }

        #[test]
        fn letters_digits_and_marks_stay_as_they_are(name in "[\\p{L}\\p{N}\\p{S} ._-]*") {
            // Some of them are blank or fill a place.
            let name: String = name.chars().filter(|c| !misleads(*c)).collect();
            prop_assert_eq!(for_terminal(&name), name);
        }
    }

    #[test]
    fn what_hides_or_reorders_is_spelt_out() {
        assert_eq!(for_terminal("cod\u{202e}gpj.exe"), "cod\\u{202e}gpj.exe");
        assert_eq!(for_terminal("a\nb\x1b[2J\x07"), "a\\nb\\u{1b}[2J\\u{7}");
        assert_eq!(for_terminal("\u{9b}31m"), "\\u{9b}31m");
        assert_eq!(for_terminal(OsStr::from_bytes(b"caf\xe9.txt")), "caf\\xe9.txt");
        assert_eq!(for_terminal("n\u{ad}a\u{2800}s\u{e0041}"), "n\\u{ad}a\\u{2800}s\\u{e0041}");
        assert_eq!(for_terminal("<b>{{x}}</b>"), "<b>{{x}}</b>");
    }

    #[test]
    fn sizes_are_decimal_and_short() {
        let cases = [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 kB"),
            (9_940, "9.9 kB"),
            (9_960, "10 kB"),
            (999_499, "999 kB"),
            (999_500, "1.0 MB"),
            (12_345_678, "12 MB"),
            (2_147_483_648, "2.1 GB"),
            (u64::MAX, "18 EB"),
        ];
        for (size, text) in cases {
            assert_eq!(bytes(size), text);
        }
        assert_eq!(rate(1.44e9), "1.4 GB/s");
        assert_eq!(rate(12.0), "12 B/s");
        assert_eq!(rate(-1.0), "0 B/s");
        assert_eq!(rate(999.6), "1.0 kB/s");
    }

    #[test]
    fn columns_stand_below_each_other_whatever_the_script() {
        let rows = vec![["a".to_owned(), "b".to_owned()], ["Übung".to_owned(), String::new()]];
        assert_eq!(table(rows), ["a      b", "Übung"]);
    }

    #[test]
    fn counts_and_times() {
        assert_eq!([count(0), count(999), count(1_000), count(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([counted(1, "file"), counted(2, "file")], ["1 file", "2 files"]);
        assert_eq!(clock(Duration::from_secs(12)), "0:12");
        assert_eq!(clock(Duration::from_secs(3_723)), "1:02:03");
        assert_eq!(took(Duration::from_millis(230)), "230 ms");
        assert_eq!(took(Duration::from_millis(12_345)), "12.3 s");
        assert_eq!(took(Duration::from_secs(61)), "1:01");
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        assert_eq!(ago(now - Duration::from_secs(59), now), "just now");
        assert_eq!(ago(now - Duration::from_secs(7_300), now), "2 hours ago");
        assert_eq!(ago(now + Duration::from_secs(5), now), "just now");
        assert_eq!([utc(-1), utc(951_782_400)], ["1969-12-31T23:59:59Z", "2000-02-29T00:00:00Z"]);
        assert_eq!(for_how_long(now + Duration::from_secs(599), now), "10 minutes");
        assert_eq!(for_how_long(now - Duration::from_secs(1), now), "0 seconds");
    }
}
