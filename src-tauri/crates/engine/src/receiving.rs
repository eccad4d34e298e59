//! Receiving: the listener and its open code, connections until they are known, offers until they
//! are received; what is got from another device's shares, what other devices get from the shares
//! here, and answers about what is shared.
mod answer_places;
mod answering;
mod arrivals;
pub(crate) mod asking;
mod door;
pub mod event;
mod gets;
pub(crate) mod getting;
mod ids;
pub(crate) mod listeners;
mod listening;
mod listing;
mod noting;
mod offer;
mod parting;
mod queue;
pub mod receive;
mod renewals;
mod serve;
mod serving;
mod shares;
mod taking;
mod visitor;
mod wait;
mod wanted;
