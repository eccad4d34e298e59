//! Looks what a request would move, on a thread that can read nothing but the share.
use std::cell::{Cell, RefCell};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use ringway_model::{Counts, Planned};
use ringway_sys::attributes::Metadata;
use ringway_tree::send::{Hides, plan_beneath};
use ringway_wire::control::{GetRefusal, NoAnswer, PlanWriter, PlannedCounts, PlannedEntry, PlannedKind, PlannedPage};
use ringway_wire::lane;

use super::looking::confine;
use crate::receiving::wanted::{NO_DESCRIPTORS, Wanted};
use crate::shared::OpenedShare;
use crate::wire_convert::encode_failure;

/// Hands out the pages of what would be moved, but for the last one, which it returns; none if
/// nobody wants it any more. `page` returns whether more are wanted. With `confines`, the calling
/// thread reaches nothing but the share from now on, and should have no other use.
///
/// # Errors
/// Why nothing would be moved: `EMFILE` and `ENFILE` are no fault of what was asked for.
pub(super) fn look(
    share: OpenedShare,
    wanted: &Wanted,
    confines: bool,
    page: impl FnMut(PlannedPage) -> bool,
    has_ended: impl Fn() -> bool,
) -> Result<Option<PlannedPage>, GetRefusal> {
    let OpenedShare { root, own, .. } = share;
    confine(&root, confines).map_err(|why| match why {
        NoAnswer::Unavailable(trouble) => GetRefusal::Unavailable(trouble),
        _ => NO_DESCRIPTORS,
    })?;
    let hides: Hides = Arc::new(move |there: &Metadata| own.has(there) || own.hang_on(there));
    let (writer, page) = (RefCell::new(PlanWriter::default()), RefCell::new(page));
    let is_unwanted = Cell::new(false);
    let say = |entry| {
        let full = writer.borrow_mut().push(entry);
        if full.is_some_and(|full| !(page.borrow_mut())(full)) {
            is_unwanted.set(true);
        }
    };
    let tell = |what, path: &Path| {
        let kind = match what {
            Planned::Folder => PlannedKind::Folder,
            Planned::Link => PlannedKind::Link,
            Planned::File | Planned::Overwrite | Planned::Special | Planned::Keep => PlannedKind::File,
        };
        say(PlannedEntry::Moves(kind, path.as_os_str().as_bytes().to_vec()));
    };
    let fail = |failure| say(PlannedEntry::Fails(encode_failure(&failure)));
    let is_over = || is_unwanted.get() || has_ended();
    let counts = wanted.look(|wanted| plan_beneath(&root, wanted, hides, tell, fail, is_over))?;
    if is_over() {
        return Ok(None);
    }
    let Counts { files, folders, links, bytes, excluded, failed, .. } = counts;
    let sent = lane::Counts { files, folders, links, bytes };
    Ok(Some(writer.into_inner().last(PlannedCounts { sent, excluded, failed })))
}
