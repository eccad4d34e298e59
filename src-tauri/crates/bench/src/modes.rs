//! The three groups of modes: each layer alone, movers of whole files, whole transfers.
pub(crate) mod layers;
pub(crate) mod movers;
pub(crate) mod transfers;
