//! Receiving: the listener and its open code, connections until they are known, offers until they
//! are received, and answers about what is shared.
mod answer_places;
mod answering;
mod arrivals;
mod door;
pub mod event;
pub(crate) mod listeners;
mod listening;
mod listing;
mod offer;
mod queue;
pub mod receive;
mod renewals;
mod serve;
mod shares;
mod visitor;
