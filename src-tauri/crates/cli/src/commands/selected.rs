//! Reads what `send`, `get` and `copy` are to select, unless a stop is asked for meanwhile.
use anyhow::Result;
use ringway_model::{Pattern, Selection};

use crate::args::{SelectionArgs, SelectionSources};
use crate::exit::{Exit, OrExit};
use crate::interrupt::Interrupts;
use crate::output::Output;
use crate::text::for_terminal;

/// [`SelectionArgs::selection`], which may wait for a person or another process; how the command
/// ends if a stop is asked for meanwhile, or if a list is empty, which leaves nothing to `verb`.
///
/// # Errors
/// As with [`SelectionArgs::selection`].
pub(crate) async fn read(
    args: &SelectionArgs,
    from: SelectionSources,
    remembered: Vec<Pattern>,
    verb: &str,
    out: &Output,
    interrupts: &Interrupts,
) -> Result<OrExit<Selection>> {
    let read = match args.files().next() {
        None => args.selection(&from, remembered),
        Some(_) => {
            let args = args.clone();
            match interrupts.unless_asked(move || args.selection(&from, remembered)).await? {
                Some(read) => read,
                None => return Ok(Err(interrupts.exit())),
            }
        }
    };
    let selection = read?;
    if let (Some([]), Some(file)) = (selection.paths.as_deref(), args.list()) {
        out.warn(format_args!("{} lists no path: there is nothing to {verb}.", for_terminal(file)));
        return Ok(Err(Exit::All));
    }
    Ok(Ok(selection))
}
