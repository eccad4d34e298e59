//! Who has accepted an offer, and what takes that back before it begins.
use std::sync::Arc;

use crate::Inner;
use crate::device::Device;
use crate::error::DeclineReason;
use crate::rules::{Consent, DeviceRule};
use crate::store::PairingNumber;

/// Who has accepted an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Acceptance {
    /// A person, whatever the rule is, unless that is to refuse by now.
    Person,
    /// The device's rule, as long as it stays as it was.
    Rule,
}

impl Acceptance {
    fn holds(self, before: &DeviceRule, now: &DeviceRule) -> bool {
        now.consent != Consent::Refuse && (self == Self::Person || now == before)
    }

    /// Looks once more before something begins, and has `device` as it is now.
    ///
    /// # Errors
    /// It does not hold any more: what the sender is told.
    pub(super) fn check(self, inner: &Inner, device: &mut Device) -> Result<(), DeclineReason> {
        let known = inner.store.by_id(device.id).map_err(|_| DeclineReason::Busy)?;
        let known = known.ok_or(DeclineReason::ByChoice)?;
        let before = std::mem::replace(device, known);
        if self.holds(&before.rule, &device.rule) { Ok(()) } else { Err(reason(&device.rule)) }
    }

    /// Resolves when it does not hold any more, with what the sender is told.
    pub(super) async fn taken_back(
        self,
        inner: &Arc<Inner>,
        (device, pairing): (&Device, PairingNumber),
    ) -> DeclineReason {
        tokio::select! {
            () = inner.forgotten(device.id, pairing) => DeclineReason::ByChoice,
            now = inner.rule_changes(device.id, |now| self.holds(&device.rule, now)) => reason(&now),
        }
    }
}

/// Why nothing more comes of an acceptance under a rule that has become `now`. A sender that hears "busy" offers it again, and that rule decides.
fn reason(now: &DeviceRule) -> DeclineReason {
    if now.consent == Consent::Refuse { DeclineReason::ByChoice } else { DeclineReason::Busy }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_that_was_changed_has_accepted_nothing() {
        let rule = |consent, bytes_max| DeviceRule { consent, bytes_max, ..DeviceRule::default() };
        let before = rule(Consent::Accept, Some(100));
        for (now, by_person, by_rule) in [
            (rule(Consent::Accept, Some(100)), true, true),
            (rule(Consent::Accept, Some(50)), true, false),
            (rule(Consent::Accept, None), true, false),
            (rule(Consent::Ask, Some(100)), true, false),
            (rule(Consent::Refuse, Some(100)), false, false),
        ] {
            assert_eq!(Acceptance::Person.holds(&before, &now), by_person, "{now:?}");
            assert_eq!(Acceptance::Rule.holds(&before, &now), by_rule, "{now:?}");
        }
    }
}
