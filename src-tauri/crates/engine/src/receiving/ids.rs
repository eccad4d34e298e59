//! The ids of one transfer: a program that is started anew goes on with it under an id of its own.
use std::collections::VecDeque;

use crate::limits::LATER_IDS_MAX;

/// Ids under which a device went on with a transfer, or wanted to: the latest ones, but for the
/// first.
#[derive(Debug, Clone, Default)]
pub(super) struct LaterIds(VecDeque<[u8; 16]>);

impl LaterIds {
    pub(super) fn has(&self, id: &[u8; 16]) -> bool {
        self.0.contains(id)
    }

    pub(super) fn add(&mut self, id: [u8; 16]) {
        if self.has(&id) {
            return;
        }
        if self.0.len() == LATER_IDS_MAX {
            self.0.pop_front();
        }
        self.0.push_back(id);
    }

    /// It is the id of something else from now on.
    pub(super) fn remove(&mut self, id: &[u8; 16]) {
        self.0.retain(|later| later != id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_of_the_latest_are_kept_as_there_may_be() {
        let mut ids = LaterIds::default();
        let id = |number: usize| [number as u8; 16];
        for number in 0..=LATER_IDS_MAX {
            ids.add(id(number));
            ids.add(id(number));
        }
        assert!(!ids.has(&id(0)) && (1..=LATER_IDS_MAX).all(|number| ids.has(&id(number))));
        ids.remove(&id(1));
        assert!(!ids.has(&id(1)));
    }
}
