//! Amounts of bytes as they are typed, with a unit; and a limit on sending: so many a second, or
//! none.
use ringway_model::RateLimit;

/// What each unit means: powers of 1000 for the plain letter, of 1024 with an i.
const UNITS: [(&str, u64); 9] = [
    ("", 1),
    ("K", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
];

const FORM: &str = "a limit is bytes a second, as in 500K, 20M or 1.5Gi, or none";

/// Bytes as a person types them, with or without a unit. A B after the unit changes nothing; a b
/// would mean bits, and is refused. An amount too large for the result becomes the largest one.
pub(crate) fn amount(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.strip_suffix('B').unwrap_or(unit);
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit || (unit == "k" && *name == "K"))?;
    let number: f64 = number.parse().ok()?;
    Some((number * *factor as f64).round() as u64)
}

/// `--limit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitArg {
    /// As fast as possible.
    Off,
    /// No faster than this.
    To(RateLimit),
}

impl LimitArg {
    /// Parses what was typed.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self::Off);
        }
        let limit = RateLimit::new(amount(text).ok_or(FORM)?);
        limit
            .map(Self::To)
            .map_err(|_| "a limit is at least 1K, 1,000 bytes a second, and at most 1000T; none is no limit".to_owned())
    }

    pub(crate) fn limit(self) -> Option<RateLimit> {
        match self {
            Self::Off => None,
            Self::To(limit) => Some(limit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_of_1000_and_with_an_i_of_1024() {
        for (text, bytes_per_s) in [
            ("1000", 1_000),
            ("1K", 1_000),
            ("500k", 500_000),
            ("20M", 20_000_000),
            ("20MB", 20_000_000),
            ("1.5M", 1_500_000),
            ("2G", 2_000_000_000),
            ("1Ki", 1_024),
            ("1.5MiB", 1_572_864),
            ("1Gi", 1 << 30),
            ("1000T", RateLimit::BYTES_PER_S_MAX),
        ] {
            let limit = LimitArg::parse(text).unwrap().limit().unwrap();
            assert_eq!(limit.bytes_per_s(), bytes_per_s, "{text}");
        }
        assert_eq!(LimitArg::parse("none"), Ok(LimitArg::Off));
    }

    #[test]
    fn what_is_no_limit_says_what_one_looks_like() {
        for bad in
            ["", "fast", "M", "20X", "20Mb", "20m", "-5M", "1..5M", "20 M", "0x10", "1e9", "20Mi/s", "inf", "nan", "."]
        {
            assert_eq!(LimitArg::parse(bad), Err(FORM.to_owned()), "{bad}");
        }
        for bad in ["0", "0M", "10", "999", "1001T", "99999999999999999999999T"] {
            assert!(LimitArg::parse(bad).unwrap_err().contains("at least 1K"), "{bad}");
        }
    }
}
