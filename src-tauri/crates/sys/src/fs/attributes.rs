//! Owns the attributes of a file: its extended attributes, and its metadata by `metadata`.
mod clone;
mod xattrs;

pub use super::metadata::{
    Kind, Metadata, Timestamp, birth_of, metadata_of, set_file_times, set_group_fd, set_len, set_mode, set_owner_fd,
    set_times_both,
};
pub use clone::{
    XattrsCopied, copy_xattrs, copy_xattrs_at, default_acl, has_default_acl, has_xattrs, is_not_kept, remove_acl,
    remove_acl_at, remove_default_acl,
};
pub use xattrs::{XATTR_VALUE_BYTES_MAX, Xattr, portable_xattrs, set_xattr};
