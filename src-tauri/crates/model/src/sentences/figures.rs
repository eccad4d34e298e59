//! Sizes, counts and times as English text, for sentences and for the terminal.
use std::time::Duration;

/// A size in decimal units, in which disks and networks are sold: 1 kB is 1,000 bytes.
pub fn bytes(count: u64) -> String {
    if count < 1_000 { format!("{count} B") } else { scaled(count as f64) }
}

/// About three significant digits, for counts of at least 1,000.
pub fn scaled(count: f64) -> String {
    let mut value = count;
    let mut unit = "";
    for next in ["kB", "MB", "GB", "TB", "PB", "EB"] {
        if !unit.is_empty() && value < 999.5 {
            break;
        }
        value /= 1_000.0;
        unit = next;
    }
    if value < 9.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// A count with its thousands separated.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A time in its two largest units: `3 s`, `10 min`, `1 min 30 s`, `2 h 5 min`. It is rounded up to
/// whole seconds.
pub fn time(time: Duration) -> String {
    let seconds = time.as_secs() + u64::from(time.subsec_nanos() > 0);
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes, rest) {
        (0, 0, rest) => format!("{rest} s"),
        (0, minutes, 0) => format!("{minutes} min"),
        (0, minutes, rest) => format!("{minutes} min {rest} s"),
        (hours, 0, _) => format!("{hours} h"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_has_no_more_than_two_units() {
        let said = |seconds: f64| time(Duration::from_secs_f64(seconds));
        assert_eq!([said(0.0), said(1.2), said(59.0), said(600.0)], ["0 s", "2 s", "59 s", "10 min"]);
        assert_eq!([said(90.0), said(3_600.0), said(7_509.0)], ["1 min 30 s", "1 h", "2 h 5 min"]);
    }
}
