//! What the front end sees of transfers that did not end.
use ringway_engine::FoundUnfinished;
use ringway_model::{PathText, Unfinished};
use serde::{Deserialize, Serialize};

/// What unfinished transfers keep on this device's disks.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
pub struct UnfinishedList {
    /// The latest first.
    pub left: Vec<Unfinished>,
    /// Folders whose filesystem does not answer: what is kept there is not known.
    pub unanswered: Vec<PathText>,
}

impl From<FoundUnfinished> for UnfinishedList {
    fn from(FoundUnfinished { left, unanswered }: FoundUnfinished) -> Self {
        Self { left, unanswered: unanswered.into_iter().map(PathText::from).collect() }
    }
}
