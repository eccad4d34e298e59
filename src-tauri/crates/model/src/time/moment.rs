//! Moments in JSON: seconds since 1970 with a fraction of whole milliseconds, for `#[serde(with)]`;
//! and to the nanosecond, as text.
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::seconds::{duration, rounded};

pub(crate) fn serialize<S: Serializer>(moment: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    rounded(since_1970(*moment)).serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
    let since = duration(f64::deserialize(deserializer)?)?;
    UNIX_EPOCH.checked_add(since).ok_or_else(|| serde::de::Error::custom("no moment of this clock"))
}

/// The same of moments that may be missing.
pub(crate) mod option {
    use super::{
        Deserialize, Deserializer, Serialize, Serializer, SystemTime, UNIX_EPOCH, duration, rounded, since_1970,
    };

    pub(crate) fn serialize<S: Serializer>(moment: &Option<SystemTime>, serializer: S) -> Result<S::Ok, S::Error> {
        moment.map(|moment| rounded(since_1970(moment))).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SystemTime>, D::Error> {
        let Some(seconds) = Option::<f64>::deserialize(deserializer)? else { return Ok(None) };
        let moment = UNIX_EPOCH.checked_add(duration(seconds)?);
        moment.map(Some).ok_or_else(|| serde::de::Error::custom("no moment of this clock"))
    }
}

/// To the nanosecond: seconds since 1970, a point and nine digits.
pub fn exact(moment: SystemTime) -> String {
    let since = since_1970(moment);
    format!("{}.{:09}", since.as_secs(), since.subsec_nanos())
}

/// Parses what [`exact`] wrote.
pub fn parse_exact(text: &str) -> Option<SystemTime> {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (secs, nanos) = text.split_once('.')?;
    if !(digits(secs) && digits(nanos) && nanos.len() == 9) {
        return None;
    }
    UNIX_EPOCH.checked_add(Duration::new(secs.parse().ok()?, nanos.parse().ok()?))
}

/// Moments to the nanosecond that may be missing.
pub(crate) mod exact_option {
    use super::{Deserialize, Deserializer, Serialize, Serializer, SystemTime, exact, parse_exact};

    pub(crate) fn serialize<S: Serializer>(moment: &Option<SystemTime>, serializer: S) -> Result<S::Ok, S::Error> {
        moment.map(exact).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SystemTime>, D::Error> {
        let read = |text: String| parse_exact(&text).ok_or_else(|| serde::de::Error::custom("no moment"));
        Option::<String>::deserialize(deserializer)?.map(read).transpose()
    }
}

/// The time since 1970; zero for earlier moments.
fn since_1970(moment: SystemTime) -> Duration {
    moment.duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Moments {
        #[serde(with = "super")]
        ended: SystemTime,
        #[serde(with = "exact_option")]
        began: Option<SystemTime>,
        #[serde(with = "option")]
        seen: Option<SystemTime>,
    }

    #[test]
    fn moments_are_seconds_since_1970() {
        let began = UNIX_EPOCH + Duration::from_nanos(1_764_014_195_000_000_004);
        let ended = UNIX_EPOCH + Duration::from_millis(1_764_014_195_123);
        let moments = Moments { ended, began: Some(began), seen: Some(UNIX_EPOCH - Duration::from_secs(5)) };
        let json = r#"{"ended":1764014195.123,"began":"1764014195.000000004","seen":0.0}"#;
        assert_eq!(serde_json::to_string(&moments).unwrap(), json);
        let back: Moments = serde_json::from_str(json).unwrap();
        let apart = back.ended.duration_since(moments.ended).unwrap_or_else(|error| error.duration());
        assert!(apart < Duration::from_micros(1), "{apart:?}");
        assert_eq!((back.began, back.seen), (moments.began, Some(UNIX_EPOCH)));
        let none = Moments { began: None, seen: None, ..back };
        let json = serde_json::to_string(&none).unwrap();
        assert_eq!(serde_json::from_str::<Moments>(&json).unwrap(), none);
    }

    #[test]
    fn text_that_is_no_moment_is_rejected() {
        for text in ["", "1", "1.", "1.5", "-1.000000000", "1.00000000x", "99999999999999999999.000000000"] {
            assert_eq!(parse_exact(text), None, "{text}");
        }
        assert!(serde_json::from_str::<Moments>(r#"{"ended":-1,"began":null,"seen":null}"#).is_err());
    }
}
