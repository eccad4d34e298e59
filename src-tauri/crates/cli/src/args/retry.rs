//! How long a sender tries to go on, as it is typed: a number with a unit, or no.
use std::time::Duration;

use ringway_engine::limits::RETRY_MAX;

const FORM: &str = "a time is a number of seconds, minutes or hours, as in 30s, 15m or 2h, or no";

/// `--retry`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetryArg {
    /// Not at all.
    No,
    /// For this long after each loss.
    For(Duration),
}

impl RetryArg {
    /// Parses what was typed. A number without a unit is refused, because its unit could be any.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text == "no" {
            return Ok(Self::No);
        }
        let end = text.find(|c: char| !c.is_ascii_digit()).ok_or(FORM)?;
        let (number, unit) = text.split_at(end);
        let seconds: u64 = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 3_600,
            _ => return Err(FORM.to_owned()),
        };
        let number: u64 = number.parse().map_err(|_| FORM)?;
        match Duration::from_secs(number.saturating_mul(seconds)) {
            Duration::ZERO => Ok(Self::No),
            time if time <= RETRY_MAX => Ok(Self::For(time)),
            _ => Err("what was received is kept for a week, 168h, at most".to_owned()),
        }
    }

    pub(crate) fn time(self) -> Option<Duration> {
        match self {
            Self::No => None,
            Self::For(time) => Some(time),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit_and_a_bound() {
        let time = |text| RetryArg::parse(text).map(|arg| arg.time().map(|time| time.as_secs()));
        for (text, seconds) in [("30s", 30), ("15m", 900), ("2h", 7_200), ("168h", 604_800)] {
            assert_eq!(time(text), Ok(Some(seconds)), "{text}");
        }
        for text in ["no", "0s", "0h"] {
            assert_eq!(time(text), Ok(None), "{text}");
        }
        for text in
            ["", "15", "m", "1.5h", "-1s", "15 m", "169h", "99999999999999999999h", "99999999999999999h", "never"]
        {
            assert!(time(text).is_err(), "{text}");
        }
    }
}
