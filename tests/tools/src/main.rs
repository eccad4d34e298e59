//! The tests' own tool: `tree` builds an odd tree to send, `proxy` is a network that flips a bit or
//! cuts or holds a connection, and `crash` replays power cuts from a log of a disk's writes.
#![forbid(unsafe_code)]

mod crash;
mod proxy;
mod tree;

use std::process::ExitCode;

const USAGE: &str = "usage: ringway-testtools tree DIR [--bulk-mib N] [--small N] [--all-modes]
       ringway-testtools proxy LISTEN TARGET [--flip-after BYTES | --cut-after BYTES | --hold-after BYTES |
           --hold-one-after BYTES | --swallow-after BYTES] [--back]
       ringway-testtools crash trees OLDER NEWER
       ringway-testtools crash cut LOG IMAGE SEED
       ringway-testtools crash judge OLDER NEWER NOW nothing|gone|damaged";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let outcome = match arguments.next().as_deref() {
        Some("crash") => crash::main(arguments),
        Some("tree") => tree::main(arguments),
        Some("proxy") => proxy::main(arguments),
        _ => Err(USAGE.into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ringway-testtools: {error}");
            ExitCode::FAILURE
        }
    }
}
