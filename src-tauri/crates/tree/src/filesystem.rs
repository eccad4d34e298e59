//! What filesystems do each in its own way: listing, spelling of names, granularity of times,
//! targets of links, free space; and which entries are selected.
pub mod free_space;
pub mod granularity;
pub mod listing;
pub mod selection;
pub mod spelling;
pub mod target;
