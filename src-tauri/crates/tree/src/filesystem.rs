//! What filesystems do each in its own way: listing in the order of inodes or of names, spelling of
//! names, granularity of times, targets of links, free space; names of users and groups; and which
//! entries are selected.
pub mod browse;
pub mod free_space;
pub mod granularity;
pub mod listing;
pub mod own_names;
pub(crate) mod owners;
pub mod selection;
pub mod spelling;
pub mod target;
