//! This process: its memory, threads, instructions, output and users.
pub mod heap;
pub mod instructions;
pub mod output;
pub mod thread;
pub mod users;
