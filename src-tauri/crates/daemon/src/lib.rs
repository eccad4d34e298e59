//! What a user's windows and commands share: the controller over the engine, and what crosses to
//! those who show it.
#![forbid(unsafe_code)]

mod app;
#[cfg(test)]
mod app_tests;
mod choice;
pub mod control;
pub mod copying;
#[cfg(feature = "desktop")]
pub mod desktop;
mod destination;
pub mod dto;
pub mod language;
pub mod login;
mod nearby;
mod past;
mod receiving;
pub mod settings;
pub mod text;
mod unfinished;
mod watching;

pub use app::{App, Listener, Sink};
pub use receiving::Reception;
