//! Where a file or link is until it has its name.
use std::sync::Arc;

use crate::disk::Dir;

/// Where a file or link is while it is not whole.
#[derive(Debug, Clone)]
pub(in crate::receive) enum Spot {
    /// At its own name, in the staging tree.
    Own,
    /// In the staging folder.
    Part(Arc<Dir>, Vec<u8>),
    /// In its own folder under a temporary name. The staging folder has the record of its exchange.
    Beside(Arc<Dir>, Vec<u8>),
    /// In the staging folder, to stay there: it cannot have its name.
    Aside(Arc<Dir>, Vec<u8>),
}

impl Spot {
    /// The folder that has the record of its exchange: what is staged in a folder that everybody
    /// sees is found from the staging folder.
    pub(in crate::receive) fn records<'d>(&'d self, staging: &'d Dir) -> &'d Dir {
        match self {
            Self::Part(dir, _) => dir,
            Self::Beside(..) | Self::Own | Self::Aside(..) => staging,
        }
    }
}
