//! What a user's windows and commands share: the controller over the engine, and what crosses to
//! those who show it.
#![forbid(unsafe_code)]

mod app;
pub mod control;
#[cfg(feature = "desktop")]
pub mod desktop;
mod doctor;
pub mod dto;
pub mod language;
pub mod login;
pub mod text;

pub use app::{App, Listener, Reception, Sink};
