//! Folders where nothing may land unless that is allowed: homes, and Ringway's own.
pub(super) mod homes;
pub(super) mod own_folders;
