//! The command line.
use clap::Parser;
use ringway_bench::{Cipher, Dataset, ModesOptions, Part};

use super::{BenchCommand, ModesArgs};
use crate::args::{Cli, Command};

fn parse(line: &[&str]) -> Result<ModesArgs, clap::Error> {
    let cli = Cli::try_parse_from(["ringway", "bench", "modes"].iter().chain(line))?;
    match cli.command {
        Command::Bench(args) => {
            let BenchCommand::Modes(args) = args.what;
            Ok(args)
        }
        other => panic!("{other:?}"),
    }
}

fn options(line: &[&str]) -> ModesOptions {
    parse(line).unwrap_or_else(|error| panic!("{line:?}: {error}")).options()
}

#[test]
fn without_options_everything_is_measured() {
    assert_eq!(options(&[]), ModesOptions::default());
}

#[test]
fn everything_can_be_chosen() {
    let chosen = options(&[
        "--at",
        "/mnt",
        "--part",
        "movers,layers",
        "--data=huge",
        "--tls",
        "plaintext,kernel",
        "--lanes",
        "2,4",
        "--rounds",
        "7",
        "--small",
        "5",
        "--medium",
        "6",
        "--huge",
        "3M",
        "--instruction-clock",
    ]);
    assert_eq!(chosen.folder.as_deref(), Some(std::path::Path::new("/mnt")));
    assert_eq!((chosen.parts, chosen.datasets), (vec![Part::Movers, Part::Layers], vec![Dataset::Huge]));
    assert_eq!((chosen.ciphers, chosen.lanes), (vec![Cipher::Plaintext, Cipher::Kernel], vec![2, 4]));
    assert_eq!((chosen.rounds, chosen.clock_counts_instructions), (7, true));
    let sizes = chosen.sizes;
    assert_eq!((sizes.small_files, sizes.medium_files, sizes.huge_bytes), (5, 6, 3 << 20));
}

#[test]
fn what_makes_no_sense_is_refused() {
    for bad in [
        &["--part", "all"][..],
        &["--tls", "none"],
        &["--lanes", "0"],
        &["--lanes", "17"],
        &["--rounds", "0"],
        &["--small", "0"],
        &["--medium", "1000001"],
        &["--huge", "0"],
        &["--huge", "65G"],
        &["--huge", "1.5G"],
        &["--huge", "99999999999999999999"],
        &["somewhere"],
    ] {
        assert_eq!(parse(bad).unwrap_err().exit_code(), 2, "{bad:?}");
    }
    assert_eq!(Cli::try_parse_from(["ringway", "bench"]).unwrap_err().exit_code(), 2);
}
