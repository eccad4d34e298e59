//! This process: its memory, threads, instructions and users.
pub mod heap;
pub mod instructions;
pub mod thread;
pub mod users;
