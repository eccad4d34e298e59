//! Files and folders by descriptor.
pub mod advice;
pub mod attributes;
pub mod confine;
pub mod contents;
pub mod dir;
pub(crate) mod metadata;
pub mod mounts;
pub mod space;
pub mod sparse;
pub mod writers;
