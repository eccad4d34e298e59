//! How windows and commands reach the service of their user: a socket that only they can open, and
//! lines of JSON over it.
mod api;
pub mod client;
mod guest;
mod lines;
mod outbox;
pub mod place;
pub mod protocol;
pub mod server;
mod shared;
#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;

pub use client::Client;
pub use place::{Hold, Place};
pub use server::Server;

/// Why the service cannot be reached, or cannot be the service.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// There is no folder for sockets of this user.
    #[error("there is no folder for sockets of this user: neither XDG_RUNTIME_DIR nor {} is there", .tried.display())]
    NoPlace {
        /// The folder that was looked for last.
        tried: PathBuf,
    },
    /// Others can reach into the folder.
    #[error("{} is another user's, or open to others", .path.display())]
    NotPrivate {
        /// The folder.
        path: PathBuf,
    },
    /// Another process is the service already.
    #[error("the service of this user runs already{}", pid.map(|pid| format!(", as process {pid}")).unwrap_or_default())]
    Taken {
        /// Its process, as far as it has said so.
        pid: Option<u32>,
    },
    /// Nobody listens at the socket.
    #[error("the service does not run")]
    NotRunning,
    /// Another user listens at the socket.
    #[error("the service at {} is another user's", .path.display())]
    Stranger {
        /// The socket.
        path: PathBuf,
    },
    /// It is of a version that this program does not understand.
    #[error("the service that runs is version {version} and speaks protocol {theirs}, this program speaks {ours}")]
    OtherProtocol {
        /// Our protocol.
        ours: u32,
        /// The service's.
        theirs: u32,
        /// The service's version.
        version: String,
    },
    /// It has too many clients.
    #[error("the service has too many clients")]
    Busy,
    /// It says nothing, or nothing that makes sense.
    #[error("what listens at {} does not answer as the service does", .path.display())]
    Silent {
        /// The socket.
        path: PathBuf,
    },
    /// A file of the service's could not be used.
    #[error("{}: {source}", .path.display())]
    Path {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}
