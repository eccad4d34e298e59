//! Who has accepted an offer, and what takes that back before it begins.
use std::sync::Arc;

use ringway_link::session::Session;
use ringway_model::{Consent, DeclineReason, Device, DeviceRule, Fault, Side};
use ringway_wire::control::{Cancel, GetRefusal, Refusal};

use crate::shared::{Grant, Shared};
use crate::store::Pairing;

/// Who has accepted an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Acceptance {
    /// A person, whatever the rule is, unless that is to refuse by now.
    Person,
    /// The device's rule, as long as it stays as it was.
    Rule,
}

/// Why nothing comes of an offer, as its sender is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TakenBack {
    /// The offer is declined.
    Declined(DeclineReason),
    /// The device was forgotten here: it hears what it would hear the next time.
    Forgotten,
    /// A person here has cancelled the transfer.
    Cancelled,
    /// The drop box that it was to land in is none any more, or not for its device.
    NotShared,
}

impl TakenBack {
    /// How a transfer ends that waited for its place.
    pub(super) fn fault(self) -> Fault {
        match self {
            Self::Forgotten => Fault::PeerForgotten,
            Self::NotShared => Fault::NoLongerShared { by: Side::Here },
            Self::Declined(_) | Self::Cancelled => Fault::cancelled(Side::Here),
        }
    }

    pub(super) fn tell(self, session: &mut Session) {
        match self {
            Self::Declined(reason) => session.machine.decline(reason),
            Self::Forgotten => session.machine.refuse(Refusal::NotPaired),
            Self::Cancelled => session.machine.cancel(Cancel::ByPerson),
            Self::NotShared => session.machine.refuse_get(GetRefusal::NoShare),
        }
    }
}

impl Acceptance {
    fn holds(self, before: &DeviceRule, now: &DeviceRule) -> bool {
        now.consent != Consent::Refuse && (self == Self::Person || now == before)
    }

    /// Looks once more before something begins, and has `device` as it is now. What lands in a drop
    /// box needs its `grant` as well.
    ///
    /// # Errors
    /// It does not hold any more: what the sender is told.
    pub(super) fn check(self, shared: &Shared, device: &mut Device, grant: Option<Grant>) -> Result<(), TakenBack> {
        let known = shared.store.by_id(device.id).map_err(|_| TakenBack::Declined(DeclineReason::Busy))?;
        let known = known.ok_or(TakenBack::Forgotten)?;
        let before = std::mem::replace(device, known);
        if !self.holds(&before.rule, &device.rule) {
            return Err(reason(&device.rule));
        }
        match grant.map(|grant| shared.holds(&grant)) {
            None | Some(Ok(true)) => Ok(()),
            Some(Ok(false)) => Err(TakenBack::NotShared),
            Some(Err(_)) => Err(TakenBack::Declined(DeclineReason::Busy)),
        }
    }

    /// Resolves when it does not hold any more, with what the sender is told.
    pub(super) async fn taken_back(
        self,
        shared: &Arc<Shared>,
        device: &Device,
        pairing: Pairing,
        grant: Option<Grant>,
    ) -> TakenBack {
        let revoked = async {
            match grant {
                Some(grant) => shared.revoked(grant).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // A device that is not known any more has no rule either.
            biased;
            () = shared.forgotten(pairing) => TakenBack::Forgotten,
            now = shared.rule_changes(device.id, |now| self.holds(&device.rule, now)) => reason(&now),
            () = revoked => TakenBack::NotShared,
        }
    }
}

/// Why nothing more comes of an acceptance under a rule that has become `now`. A sender that hears
/// "busy" offers it again, and that rule decides.
fn reason(now: &DeviceRule) -> TakenBack {
    TakenBack::Declined(if now.consent == Consent::Refuse { DeclineReason::ByChoice } else { DeclineReason::Busy })
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
