//! Measures each layer of a copy by itself. `layers LAYER FOLDER FILES MIB` prints a tab-separated
//! line for each way: its name, the unit, how many units, and the nanoseconds of wall and processor
//! time that all of them took.
//!
//! `npm run bench -- --part layers` runs it on each filesystem and makes the table. FOLDER must be
//! empty. The files that are made there stay.

mod contents;
mod ground;
mod large;
mod names;

use std::env;
use std::io;
use std::process::ExitCode;

use ground::{Ground, Measured};

/// A layer's ways, measured one after the other.
type Layer = fn(&Ground) -> io::Result<Vec<Measured>>;

/// Every layer by name, in the order in which a copy goes through them.
const LAYERS: [(&str, Layer); 9] = [
    ("walk", names::walk),
    ("stat", names::stat),
    ("create", names::create),
    ("read", contents::read),
    ("read-cold", contents::read_cold),
    ("write", contents::write),
    ("inside", contents::inside),
    ("metadata", names::metadata),
    ("large", large::large),
];

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    if args == ["--list"] {
        LAYERS.iter().for_each(|(name, _)| println!("{name}"));
        return ExitCode::SUCCESS;
    }
    let Some((layer, ground)) = parse(&args) else {
        eprintln!("layers LAYER FOLDER FILES MIB, or layers --list");
        return ExitCode::from(2);
    };
    match ground.and_then(|ground| layer(&ground)) {
        Ok(measured) => {
            measured.iter().for_each(|one| println!("{one}"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("layers: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(args: &[String]) -> Option<(Layer, io::Result<Ground>)> {
    let [layer, folder, files, mib] = args else { return None };
    let (_, layer) = LAYERS.iter().find(|(name, _)| name == layer)?;
    Some((*layer, Ground::new(folder.as_ref(), files.parse().ok()?, mib.parse().ok()?)))
}
