//! A disk that is full: the transfer is paused, offered again and declined, until there is room, or
//! somebody says that there is, or nobody waits any more.
use ringway_model::DeclineReason;

use super::attempt::Attempt;
use super::faults::Fault;
use super::{Outcome, World};
use crate::receiver::{ReceiverEnd, Standing};
use crate::sender::SenderEnd;

/// A sender looks again so often, and for so long (as the engine does).
const LOOK_EVERY_MS: u64 = 5_000;
const LOOKED_FOR_MS: u64 = 8 * 60 * 60 * 1000;

impl World {
    /// Until there is room, or it is given up; true if all is there meanwhile.
    pub(super) fn wait_for_room(&mut self) -> bool {
        // Room that never comes takes thousands of looks.
        let looks = if self.random.once_in(400) { usize::MAX } else { self.random.below(5) };
        let since_ms = self.now_ms;
        for look in 0.. {
            self.pass(LOOK_EVERY_MS);
            if look == looks {
                self.story.push(format!("room after {look} looks"));
                return false;
            }
            if self.now_ms > since_ms + LOOKED_FOR_MS {
                self.story.push("no room, ever".to_owned());
                (self.is_new, self.site.remembered) = (true, None);
                return false;
            }
            if self.random.once_in(8) && looks < usize::MAX {
                // A person says that it may go on, which is so or not.
                self.story.push("told to go on".to_owned());
                self.site.disk.state().plan.room = Some(self.random.below(40));
                self.site.goes_on();
                match self.attempt(Fault::None, 0) {
                    Outcome::Whole => return true,
                    Outcome::Full => {}
                    Outcome::Partial | Outcome::Lost => return false,
                }
                continue;
            }
            assert_eq!(self.attempt(Fault::None, 0), Outcome::Full, "there was no room");
        }
        false
    }

    /// What was declined was for a reason, which both ends know alike, and nothing was touched for
    /// it.
    pub(super) fn check_declined(&mut self, standing: Option<Standing>, attempt: &Attempt, had_lingering: bool) {
        let Some(ReceiverEnd::Declined(decline)) = attempt.receiver_end else {
            let held = matches!(standing, Some(Standing::Stopped | Standing::Paused));
            assert!(!attempt.has_accepted || !held, "what was stopped or paused is received again");
            let told = matches!(attempt.sender_end, Some(SenderEnd::NoRoom(_) | SenderEnd::Paused));
            assert!(!told, "nobody has said that");
            return;
        };
        // A session that lingers may have found the disk full since; what is remembered goes with
        // who is killed.
        let stands = |as_what| standing == Some(as_what) || self.standing() == Some(as_what);
        match decline {
            DeclineReason::NoRoom(shortage) if stands(Standing::Full) => {
                self.told.no_room += 1;
                let heard = attempt.sender_end;
                assert!(heard == Some(SenderEnd::NoRoom(shortage)) || heard == Some(SenderEnd::Failed), "{heard:?}");
            }
            DeclineReason::Paused if stands(Standing::Paused) => {
                self.told.paused += 1;
                let heard = attempt.sender_end;
                // Its sender may have been killed or stopped meanwhile.
                assert!(!matches!(heard, Some(SenderEnd::Receipt | SenderEnd::NoRoom(_))), "{heard:?}");
            }
            DeclineReason::ByChoice if stands(Standing::Stopped) => self.told.stopped += 1,
            _ => panic!("declined for nothing: {decline:?}"),
        }
        let has_changed = self.site.disk.state().calls() != self.calls_before;
        assert!(!has_changed || had_lingering, "something was done for what was declined");
    }
}
