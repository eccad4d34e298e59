//! A device's rule in words.
use ringway_model::{Consent, DeviceRule};

use crate::text::{bytes, for_terminal};

/// A rule for the table of devices.
pub(crate) fn short(rule: &DeviceRule) -> String {
    let into = rule.folder.as_ref().map(|folder| format!(", into {}", for_terminal(folder))).unwrap_or_default();
    match (rule.consent, rule.bytes_max) {
        (Consent::Ask, _) => format!("ask{into}"),
        (Consent::Accept, None) => format!("accept{into}"),
        (Consent::Accept, Some(size)) => format!("accept up to {}{into}", bytes(size)),
        (Consent::Refuse, _) => "refuse".to_owned(),
    }
}

/// The same as the end of a sentence.
pub(crate) fn sentence(rule: &DeviceRule) -> String {
    let place = match &rule.folder {
        Some(folder) => format!("lands in {}", for_terminal(folder)),
        None => "lands where everything does".to_owned(),
    };
    match (rule.consent, rule.bytes_max) {
        (Consent::Ask, _) => format!("you are asked about each of its offers; what it sends {place}"),
        (Consent::Accept, None) => format!("its offers are accepted without asking; what it sends {place}"),
        (Consent::Accept, Some(size)) => {
            format!(
                "its offers are accepted without asking up to {}, and asked about above; what it sends {place}",
                bytes(size)
            )
        }
        (Consent::Refuse, _) => "its offers are declined without asking".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_reads_as_it_is() {
        let rule = DeviceRule {
            consent: Consent::Accept,
            folder: Some("/srv/a\nb".into()),
            bytes_max: Some(5_000_000),
            ..DeviceRule::default()
        };
        assert_eq!(short(&rule), "accept up to 5.0 MB, into /srv/a\\nb");
        assert_eq!(short(&DeviceRule { consent: Consent::Refuse, ..rule.clone() }), "refuse");
        assert_eq!(short(&DeviceRule::default()), "ask");
        assert!(sentence(&rule).starts_with("its offers are accepted without asking up to 5.0 MB"));
    }
}
