//! Rules: what a paired device's offers meet before anybody is asked. Keeping them is the store's
//! business, asking is the programs'.
use std::path::{Path, PathBuf};

use ringway_model::{AskedBecause, Consent, DeviceRule, DropBox, IntoHome};
use rustix::fs::{Access, access};

/// What a rule looks at of an offer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Offered {
    /// Bytes of contents that its sender says it has found by now.
    pub bytes: u64,
    /// Whether it says that this is all.
    pub is_final: bool,
    /// Where it was to land, by the rule or with everything else, and what is there cannot be
    /// received into.
    pub lacks_folder: Option<PathBuf>,
    /// The same was accepted before up to so many bytes, and stopped for being more.
    pub stopped_at: Option<u64>,
}

impl Offered {
    /// Whether what else its sender finds could change what becomes of it.
    pub(crate) fn awaits_more(&self, rule: &DeviceRule) -> bool {
        !self.is_final && matches!(Decision::of(rule, self), Decision::Accept { bytes_max: Some(_) })
    }

    fn is_more_than(&self, bytes_max: u64) -> bool {
        self.bytes > bytes_max || self.stopped_at.is_some_and(|at| at >= bytes_max)
    }
}

/// What becomes of an offer by its device's rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// A person is asked: why, where the rule would have accepted it or names another folder.
    Ask(Option<AskedBecause>),
    /// Nobody is asked.
    Accept {
        /// It is stopped where it turns out to be more: an offer's size is what its sender says,
        /// and may not be all by then.
        bytes_max: Option<u64>,
    },
    /// Nobody is asked, and it is declined.
    Decline,
}

impl Decision {
    /// What becomes of an offer by that rule.
    pub fn of(rule: &DeviceRule, offered: &Offered) -> Self {
        if rule.consent == Consent::Refuse {
            return Self::Decline;
        }
        if let Some(folder) = &offered.lacks_folder {
            return Self::Ask(Some(AskedBecause::NoFolder { folder: folder.into() }));
        }
        match (rule.consent, rule.bytes_max) {
            (Consent::Accept, Some(bytes_max)) if offered.is_more_than(bytes_max) => {
                Self::Ask(Some(AskedBecause::TooMuch { bytes_max }))
            }
            (Consent::Accept, bytes_max) => Self::Accept { bytes_max },
            _ => Self::Ask(None),
        }
    }

    /// Why a person is asked in spite of the rule, where that is so.
    pub fn asked_because(&self) -> Option<&AskedBecause> {
        match self {
            Self::Ask(because) => because.as_ref(),
            Self::Accept { .. } | Self::Decline => None,
        }
    }
}

/// The rule for what a device sends into a drop box: the person who made that has accepted it, up
/// to a size. A device whose offers are refused sends nothing there either.
pub(crate) fn of_drop_box(rule: &DeviceRule, drop: DropBox, folder: PathBuf) -> DeviceRule {
    let consent = match rule.consent {
        Consent::Refuse => Consent::Refuse,
        Consent::Ask | Consent::Accept => Consent::Accept,
    };
    DeviceRule { consent, folder: Some(folder.into()), bytes_max: drop.bytes_max, into_home: IntoHome::Refuse }
}

/// Whether a rule's folder can be received into. It is not made: on a disk that is not mounted it
/// would land somewhere else.
pub(crate) fn is_usable(folder: &Path) -> bool {
    folder.is_dir() && access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(consent: Consent, bytes_max: Option<u64>) -> DeviceRule {
        DeviceRule { consent, bytes_max, ..DeviceRule::default() }
    }

    fn offered(bytes: u64, is_final: bool) -> Offered {
        Offered { bytes, is_final, ..Offered::default() }
    }

    const ANYTHING: Decision = Decision::Accept { bytes_max: None };
    const UP_TO_10: Decision = Decision::Accept { bytes_max: Some(10) };
    const MORE_THAN_10: Decision = Decision::Ask(Some(AskedBecause::TooMuch { bytes_max: 10 }));

    #[test]
    fn asking_is_the_default_and_a_size_changes_nothing_of_it() {
        for bytes_max in [None, Some(10)] {
            for bytes in [0, 10, 11, u64::MAX] {
                assert_eq!(Decision::of(&rule(Consent::Ask, bytes_max), &offered(bytes, true)), Decision::Ask(None));
            }
        }
        assert_eq!(DeviceRule::default(), rule(Consent::Ask, None));
    }

    #[test]
    fn a_size_lets_in_what_is_not_more_and_holds_it_to_that() {
        let accept = rule(Consent::Accept, Some(10));
        for (bytes, decision) in [(0, UP_TO_10), (10, UP_TO_10), (11, MORE_THAN_10), (u64::MAX, MORE_THAN_10)] {
            assert_eq!(Decision::of(&accept, &offered(bytes, true)), decision);
            assert_eq!(Decision::of(&accept, &offered(bytes, false)), decision, "what is too much does not get less");
        }
        assert_eq!(Decision::of(&rule(Consent::Accept, None), &offered(u64::MAX, false)), ANYTHING);
    }

    #[test]
    fn more_is_waited_for_only_where_it_could_change_something() {
        let accept = rule(Consent::Accept, Some(10));
        assert!(offered(10, false).awaits_more(&accept));
        assert!(!offered(10, true).awaits_more(&accept) && !offered(11, false).awaits_more(&accept));
        for other in [rule(Consent::Accept, None), rule(Consent::Ask, Some(10)), rule(Consent::Refuse, Some(10))] {
            assert!(!offered(1, false).awaits_more(&other), "{other:?}");
        }
    }

    #[test]
    fn what_was_stopped_for_its_size_is_asked_about_however_small_it_says_it_is() {
        let again = Offered { stopped_at: Some(10), ..offered(1, false) };
        assert_eq!(Decision::of(&rule(Consent::Accept, Some(10)), &again), MORE_THAN_10);
        let more = Decision::Accept { bytes_max: Some(11) };
        assert_eq!(Decision::of(&rule(Consent::Accept, Some(11)), &again), more, "the rule was changed since");
        assert_eq!(Decision::of(&rule(Consent::Accept, None), &again), ANYTHING);
        assert_eq!(Decision::of(&rule(Consent::Ask, Some(10)), &again), Decision::Ask(None));
        assert_eq!(Decision::of(&rule(Consent::Refuse, Some(10)), &again), Decision::Decline);
    }

    #[test]
    fn a_folder_that_is_not_there_is_said_but_not_to_who_is_refused() {
        let gone = Offered { lacks_folder: Some("/media/usb".into()), ..offered(11, true) };
        let into = |consent| DeviceRule { folder: Some("/media/usb".into()), ..rule(consent, Some(10)) };
        let asked = Decision::Ask(Some(AskedBecause::NoFolder { folder: "/media/usb".into() }));
        assert_eq!(Decision::of(&into(Consent::Accept), &gone), asked);
        assert_eq!(Decision::of(&into(Consent::Ask), &gone), asked);
        assert_eq!(Decision::of(&into(Consent::Refuse), &gone), Decision::Decline);
        assert_eq!(Decision::of(&into(Consent::Accept), &offered(10, true)), UP_TO_10);
    }

    #[test]
    fn a_drop_box_takes_up_to_its_size_whatever_the_rule_says_but_refusal() {
        let of = |consent, rule_max, drop_max| {
            let drop = DropBox { bytes_max: drop_max };
            of_drop_box(&rule(consent, rule_max), drop, "/srv/inbox".into())
        };
        for consent in [Consent::Ask, Consent::Accept] {
            let up_to_10 = of(consent, Some(5), Some(10));
            assert_eq!(Decision::of(&up_to_10, &offered(10, true)), UP_TO_10);
            assert_eq!(Decision::of(&up_to_10, &offered(11, true)), MORE_THAN_10);
            let again = Offered { stopped_at: Some(10), ..offered(1, true) };
            assert_eq!(Decision::of(&up_to_10, &again), MORE_THAN_10);
            assert_eq!(Decision::of(&of(consent, Some(5), None), &offered(u64::MAX, true)), ANYTHING);
        }
        assert_eq!(Decision::of(&of(Consent::Refuse, None, None), &offered(1, true)), Decision::Decline);
    }

    #[test]
    fn a_folder_is_used_only_where_it_is_one() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), "x").unwrap();
        assert!(is_usable(folder.path()));
        assert!(!is_usable(&folder.path().join("file")) && !is_usable(&folder.path().join("gone")));
    }
}
