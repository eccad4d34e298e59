//! Reads what `send`, `get` and `copy` are to select, unless a stop is asked for meanwhile.
use anyhow::Result;
use ringway_model::{Pattern, Selection};

use crate::args::{SelectionArgs, SelectionSources};
use crate::interrupt::Interrupts;
use crate::output::Output;
use crate::text::for_terminal;

/// [`SelectionArgs::selection`], which may wait for a person or another process; none if a stop is
/// asked for meanwhile. Warns of an empty list.
///
/// # Errors
/// As with [`SelectionArgs::selection`].
pub(crate) async fn read(
    args: &SelectionArgs,
    from: SelectionSources,
    remembered: Vec<Pattern>,
    out: &Output,
    interrupts: &Interrupts,
) -> Result<Option<Selection>> {
    let read = match args.files().next() {
        None => args.selection(&from, remembered),
        Some(_) => {
            let args = args.clone();
            match interrupts.unless_asked(move || args.selection(&from, remembered)).await? {
                Some(read) => read,
                None => return Ok(None),
            }
        }
    };
    let selection = read?;
    if let (Some([]), Some(file)) = (selection.paths.as_deref(), args.list()) {
        out.warn(format_args!("{} lists no path, so nothing is selected.", for_terminal(file)));
    }
    Ok(Some(selection))
}
