//! Power cuts replayed from a log of dm-log-writes: the two versions of a tree, a disk as a cut
//! leaves it, and what is found on it afterwards.

mod log;
mod versions;

use std::error::Error;
use std::path::PathBuf;

pub(crate) fn main(mut arguments: impl Iterator<Item = String>) -> Result<(), Box<dyn Error>> {
    let command = arguments.next();
    let rest: Vec<String> = arguments.collect();
    match (command.as_deref(), rest.as_slice()) {
        (Some("trees"), [older, newer]) => Ok(versions::make(&PathBuf::from(older), &PathBuf::from(newer))?),
        (Some("cut"), [log, image, seed]) => log::cut(log.as_ref(), image.as_ref(), seed.parse()?),
        (Some("judge"), [older, newer, now, allows]) => {
            versions::judge(older.as_ref(), newer.as_ref(), now.as_ref(), allows)
        }
        _ => Err(crate::USAGE.into()),
    }
}
