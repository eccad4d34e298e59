//! The receive side: what a transfer writes, and where it may.
mod homes;
mod own_folders;
pub mod owner_bit;
mod shown_size;

pub use homes::{Homes, is_home};
pub use own_folders::OwnFolders;
pub use shown_size::ShownSize;
