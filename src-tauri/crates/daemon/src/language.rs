//! Which language tray, notifications and native dialogs speak: the session's, as gettext reads it
//! (GNU gettext manual, "Locale Environment Variables").

/// A language that there are messages in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// English, which stands for every language without messages.
    En,
    /// German.
    De,
}

impl Language {
    /// The language of the session that this process belongs to.
    pub fn of_session() -> Self {
        Self::wished(|name| std::env::var(name).ok())
    }

    /// LC_ALL, LC_MESSAGES or LANG, whichever is set first, is the locale. Unless that is C,
    /// LANGUAGE names what is preferred to it, in order.
    fn wished(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &&str| variable(name).filter(|value| !value.is_empty());
        let Some(locale) = ["LC_ALL", "LC_MESSAGES", "LANG"].iter().find_map(set) else { return Self::En };
        if ["C", "POSIX"].contains(&locale.split('.').next().unwrap_or_default()) {
            return Self::En;
        }
        let preferred = set(&"LANGUAGE").unwrap_or_default();
        preferred.split(':').chain([locale.as_str()]).find_map(Self::of_locale).unwrap_or(Self::En)
    }

    /// `de`, `de_AT`, `de_DE.UTF-8@euro`.
    fn of_locale(name: &str) -> Option<Self> {
        match name.split(['_', '.', '@']).next() {
            Some("en") => Some(Self::En),
            Some("de") => Some(Self::De),
            _ => None,
        }
    }

    /// What is between a number's whole and its parts.
    pub fn decimal_mark(self) -> char {
        match self {
            Self::En => '.',
            Self::De => ',',
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sessions_language_is_spoken_where_there_are_messages_in_it() {
        for (set, spoken) in [
            (&[][..], Language::En),
            (&[("LANG", "de_AT.UTF-8")], Language::De),
            (&[("LANG", "de_DE"), ("LC_MESSAGES", "en_GB.UTF-8")], Language::En),
            (&[("LC_ALL", "de"), ("LC_MESSAGES", "en_GB"), ("LANG", "en_US")], Language::De),
            (&[("LC_ALL", ""), ("LANG", "de_DE@euro")], Language::De),
            (&[("LANG", "en_US.UTF-8"), ("LANGUAGE", "nds:de_DE:en")], Language::De),
            (&[("LANG", "de_DE.UTF-8"), ("LANGUAGE", "en")], Language::En),
            (&[("LANG", "de_DE.UTF-8"), ("LANGUAGE", "fr:it")], Language::De),
            (&[("LANG", "fr_FR.UTF-8")], Language::En),
            // The locale C means no translation, whatever LANGUAGE prefers.
            (&[("LANG", "C.UTF-8"), ("LANGUAGE", "de")], Language::En),
            (&[("LANGUAGE", "de")], Language::En),
            (&[("LANG", "deutsch")], Language::En),
        ] {
            let variable = |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
            assert_eq!(Language::wished(variable), spoken, "{set:?}");
        }
    }
}
