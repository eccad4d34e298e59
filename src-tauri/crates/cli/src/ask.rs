//! What a person is asked at the terminal, and what stands for a typed answer: a file, standard
//! input or the environment.
pub(crate) mod code_source;
pub(crate) mod prompt;
pub(crate) mod questions;
