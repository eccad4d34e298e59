//! Where entries land among what is there already: folders, final names, what is replaced or kept,
//! and what a device brought before.
pub(super) mod attributes;
pub(super) mod case_folding;
pub(super) mod edits;
pub(super) mod folder_records;
pub(super) mod folders;
pub(super) mod landing;
pub(super) mod owners;
pub(super) mod policy;
pub(super) mod top_names;
