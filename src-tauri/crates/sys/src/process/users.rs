//! Owns queries of the system's databases of users and groups, which may include directory servers
//! (getpwuid_r(3), getgrgid_r(3)). A statically linked program asks `/etc/passwd` and `/etc/group`.
use std::path::PathBuf;

use nix::unistd::{Gid, Group, Uid, User};

/// What stands in a name for bytes that are no UTF-8.
const NOT_TEXT: char = char::REPLACEMENT_CHARACTER;

/// The home of the user with this number in the user database; `None` if the database has no such
/// user, or cannot be read.
pub fn home_of(uid: u32) -> Option<PathBuf> {
    User::from_uid(Uid::from_raw(uid)).ok().flatten().map(|user| user.dir)
}

/// The name of the user with this number, if it is text.
pub fn user_name(uid: u32) -> Option<String> {
    let name = User::from_uid(Uid::from_raw(uid)).ok().flatten()?.name;
    (!name.contains(NOT_TEXT)).then_some(name)
}

/// The name of the group with this number, if it is text.
pub fn group_name(gid: u32) -> Option<String> {
    let name = Group::from_gid(Gid::from_raw(gid)).ok().flatten()?.name;
    (!name.contains(NOT_TEXT)).then_some(name)
}

/// The number of the user with this name.
pub fn user_id(name: &str) -> Option<u32> {
    User::from_name(name).ok().flatten().map(|user| user.uid.as_raw())
}

/// The number of the group with this name.
pub fn group_id(name: &str) -> Option<u32> {
    Group::from_name(name).ok().flatten().map(|group| group.gid.as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_has_a_home_and_an_unknown_user_has_none() {
        assert!(home_of(0).is_some_and(|home| home.is_absolute()));
        assert_eq!(home_of(u32::MAX - 1), None);
    }

    #[test]
    fn root_has_a_name_and_nobody_has_an_unknown_one() {
        assert_eq!((user_name(0).as_deref(), user_id("root")), (Some("root"), Some(0)));
        assert_eq!((group_name(0).as_deref(), group_id("root")), (Some("root"), Some(0)));
        assert_eq!((user_name(u32::MAX - 1), group_name(u32::MAX - 1)), (None, None));
        // As a peer may send it.
        for name in ["", "no such name here", "a/b", "a:b", "a\nb", "a\0b", &"x".repeat(4096)] {
            assert_eq!((user_id(name), group_id(name)), (None, None), "{name:?}");
        }
    }
}
