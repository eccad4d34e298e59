//! Reading, writing and sending: by io_uring, and by plain calls.
pub mod file_io;
pub(crate) mod ring;
pub mod stream;
