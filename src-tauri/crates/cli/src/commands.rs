//! The commands, one module each: each checks its arguments, has the engine or the service do the
//! work, and reports the result.
pub(crate) mod copy;
pub(crate) mod devices;
pub(crate) mod doctor;
pub(crate) mod get;
pub(crate) mod inbox;
pub(crate) mod ls;
pub(crate) mod manual;
pub(crate) mod nearby;
pub(crate) mod notes;
pub(crate) mod pair;
mod planned;
pub(crate) mod recv;
pub(crate) mod selected;
pub(crate) mod send;
pub(crate) mod service;
pub(crate) mod settings;
pub(crate) mod share;
