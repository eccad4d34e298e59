//! A transfer's handle: what programs hold while bytes move.
use crate::device::DeviceId;
use crate::event::{Direction, Report, Snapshot, TransferId};

/// One offer under way, in either direction. Clones are the same transfer; dropping every clone does not cancel it.
#[derive(Clone)]
pub struct Transfer {}

impl Transfer {
    /// Its id.
    pub fn id(&self) -> TransferId { unimplemented!() }
    /// Which way.
    pub fn direction(&self) -> Direction { unimplemented!() }
    /// The other device, once it is authenticated.
    pub fn peer(&self) -> Option<(DeviceId, String)> { unimplemented!() }
    /// What to call it: the first top-level name (a peer's text when receiving) and how many more there are.
    pub fn title(&self) -> (std::ffi::OsString, u64) { unimplemented!() }
    /// The figures now.
    pub fn snapshot(&self) -> Snapshot { unimplemented!() }
    /// Stops it cleanly: the other side is told, what is whole stays, staging goes.
    pub fn cancel(&self) { unimplemented!() }
    /// The report, once it has ended; every caller gets it.
    pub async fn wait(&self) -> std::sync::Arc<Report> { unimplemented!() }
}
impl std::fmt::Debug for Transfer { fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str("Transfer") } }
