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
