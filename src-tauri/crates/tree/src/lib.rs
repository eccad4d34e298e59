//! The data plane on files: trees become lane frames, and lane frames become files. Connections are
//! handed to it as traits: it knows neither sockets nor tokio.
#![forbid(unsafe_code)]

pub mod bulk;
pub mod chunking;
pub mod descriptors;
pub mod filesystem;
pub mod io_plan;
pub mod limits;
pub mod page_buffer;
pub mod readback;
pub mod receive;
