//! Durations in JSON: seconds with a fraction of whole milliseconds, for `#[serde(with)]`.
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    rounded(*time).serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    duration(f64::deserialize(deserializer)?)
}

/// Durations that may be missing.
pub(crate) mod option {
    use super::{Deserialize, Deserializer, Duration, Serialize, Serializer, duration, rounded};

    pub(crate) fn serialize<S: Serializer>(time: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        time.map(rounded).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        Option::<f64>::deserialize(deserializer)?.map(duration).transpose()
    }
}

/// Whole milliseconds in Rust, seconds in JSON.
pub(crate) mod of_ms {
    use super::{Deserialize, Deserializer, Duration, Serialize, Serializer, duration, rounded};

    pub(crate) fn serialize<S: Serializer>(ms: &(impl Copy + Into<u64>), serializer: S) -> Result<S::Ok, S::Error> {
        rounded(Duration::from_millis((*ms).into())).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, N: TryFrom<u128>>(deserializer: D) -> Result<N, D::Error> {
        let ms = duration::<D::Error>(f64::deserialize(deserializer)?)?.as_millis();
        N::try_from(ms).map_err(|_| serde::de::Error::custom("a time that is too long"))
    }
}

pub(crate) fn rounded(time: Duration) -> f64 {
    (time.as_secs_f64() * 1_000.0).round() / 1_000.0
}

pub(crate) fn duration<E: serde::de::Error>(seconds: f64) -> Result<Duration, E> {
    Duration::try_from_secs_f64(seconds).map_err(E::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Times {
        #[serde(with = "super")]
        all: Duration,
        #[serde(with = "option")]
        left: Option<Duration>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Wait {
        #[serde(rename = "seconds", with = "of_ms")]
        ms: u32,
    }

    #[test]
    fn milliseconds_are_seconds_in_json() {
        assert_eq!(serde_json::to_string(&Wait { ms: 1_500 }).unwrap(), r#"{"seconds":1.5}"#);
        assert_eq!(serde_json::from_str::<Wait>(r#"{"seconds":1.5}"#).unwrap(), Wait { ms: 1_500 });
        assert!(serde_json::from_str::<Wait>(r#"{"seconds":1e9}"#).is_err());
    }

    #[test]
    fn durations_are_seconds_to_the_millisecond() {
        let times = Times { all: Duration::from_micros(1_234_567), left: Some(Duration::from_millis(1)) };
        let json = serde_json::to_string(&times).unwrap();
        assert_eq!(json, r#"{"all":1.235,"left":0.001}"#);
        let back = Times { all: Duration::from_millis(1_235), ..times };
        assert_eq!(serde_json::from_str::<Times>(&json).unwrap(), back);
    }

    #[test]
    fn numbers_that_are_no_duration_are_rejected() {
        for json in [r#"{"all":-1,"left":null}"#, r#"{"all":1e40,"left":null}"#] {
            assert!(serde_json::from_str::<Times>(json).is_err(), "{json}");
        }
    }
}
