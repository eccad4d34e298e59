//! What is attached to entries, and what a destination would attach to them by itself.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ringway_engine::CopyOptions;

use crate::both::{copy_all, cp, drivers, like_cp, some_driver};
use crate::compare;
use crate::places::{Place, is_root};
use crate::tree::Tree;

/// An access control list as the kernel keeps it (linux/posix_acl_xattr.h): version 2, then tag,
/// permissions and id of each entry: the owner rwx, user 12345 r-x, the group r-x, the mask r-x,
/// others nothing.
pub(crate) fn list() -> Vec<u8> {
    const ENTRIES: [(u16, u16, u32); 5] =
        [(1, 7, u32::MAX), (2, 5, 12_345), (4, 5, u32::MAX), (0x10, 5, u32::MAX), (0x20, 0, u32::MAX)];
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in ENTRIES {
        list.extend([tag.to_le_bytes(), permissions.to_le_bytes()].concat());
        list.extend(id.to_le_bytes());
    }
    list
}

pub(crate) fn modes(place: &Place) {
    const MODES: [u32; 14] =
        [0o0, 0o1, 0o200, 0o400, 0o444, 0o640, 0o666, 0o777, 0o1644, 0o2755, 0o4755, 0o6777, 0o7000, 0o2644];
    // As a user only what can be read can be copied.
    let (readable, enterable) = if is_root() { (0, 0) } else { (0o400, 0o500) };
    let tree = Tree::new(place.path("source"));
    for mode in MODES {
        let (file, folder) = (format!("file-{mode:o}"), format!("folder-{mode:o}"));
        tree.file(&file, "data").mode(&file, mode | readable);
        tree.dir(&folder).file(&format!("{folder}/inside"), "data").dir(&format!("{folder}/empty"));
    }
    tree.settle();
    for mode in MODES {
        tree.mode(&format!("folder-{mode:o}"), mode | enterable);
    }
    like_cp(place, &tree.settle());
}

pub(crate) fn owners(place: &Place) {
    if !is_root() {
        return place.skip("owners", "giving files away takes root");
    }
    let tree = Tree::new(place.path("source"));
    for number in 0..60 {
        let name = format!("file-{number}");
        tree.file(&name, "data").owner(&name, number % 3 * 1000, number % 5 * 1000);
        if number % 4 == 0 {
            // chown(2) drops what this sets.
            tree.mode(&name, 0o6755);
        }
    }
    tree.dir("folder/inner").owner("folder", 4_000_000_000, 7).mode("folder", 0o3755).owner("folder/inner", 5, 5);
    tree.file("folder/inner/file", "x").link("x", "folder/link").owner("folder/link", 9, 10);
    like_cp(place, &tree.settle());
}

pub(crate) fn extended(place: &Place) {
    let tree = Tree::new(place.path("source"));
    tree.dir("folder").file("plain", "none").file("file", "data").file("read-only", "data").file("many", "");
    if !tree.xattr("file", "user.note", b"value \xff\0\n") {
        return place.skip("attributes", "this filesystem has none of users");
    }
    assert!(tree.xattr("file", "user.empty", b"") && tree.xattr("folder", "user.folder", b"f"));
    assert!(tree.xattr("read-only", "user.kept", b"although nobody may write"));
    tree.mode("read-only", 0o444);
    (0..12).for_each(|number| assert!(tree.xattr("many", &format!("user.{}{number}", "n".repeat(50)), &[number; 40])));
    let listed = tree.xattr("file", "system.posix_acl_access", &list())
        && tree.xattr("folder", "system.posix_acl_access", &list())
        && tree.xattr("folder", "system.posix_acl_default", &list());
    if !listed {
        place.skip("access control lists", "this filesystem has none");
    }
    if is_root() && !tree.xattr("file", "trusted.root", b"root's") {
        place.skip("attributes of root", "this filesystem has none");
    }
    // A capability: the kernel drops it when the owner changes.
    let capability = [0x02000001_u32.to_le_bytes(), 0x400_u32.to_le_bytes(), [0; 4], [0; 4], [0; 4]].concat();
    if is_root() && tree.xattr("file", "security.capability", &capability) {
        tree.file("capable", "x").owner("capable", 5, 6);
        assert!(tree.xattr("capable", "security.capability", &capability));
    }
    tree.link("file", "link");
    if is_root() {
        tree.xattr("link", "trusted.link", b"the link's own");
    }
    like_cp(place, &tree.settle());
}

/// Copies into a folder that `prepare` has made, by cp and by every driver.
fn into_prepared(place: &Place, source: &Path, prepare: impl Fn(&Tree)) {
    let prepared = |name: &str| {
        let tree = Tree::new(place.path(name));
        prepare(&tree);
        tree.path("into")
    };
    let expected = prepared("expected");
    assert!(cp(&[], &[source], &expected));
    own_modes(source, &expected.join("source"));
    for (number, (driver, options)) in drivers(place).into_iter().enumerate() {
        let got = prepared(&format!("got-{number}"));
        copy_all(&[source], &got, &options);
        compare::same(&expected.join("source"), &got.join("source"), driver);
    }
}

/// Gives everything in a tree the modes of the other. cp sets permissions by way of a list where it
/// can, and that leaves setuid and setgid as they happen to be: inherited from the parent, or of
/// the file that was there before. Here a copy has the source's.
pub(crate) fn own_modes(source: &Path, copy: &Path) {
    let metadata = fs::symlink_metadata(source).unwrap();
    if metadata.is_dir() {
        fs::read_dir(source)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .for_each(|name| own_modes(&source.join(&name), &copy.join(&name)));
    }
    if !metadata.is_symlink() {
        fs::set_permissions(copy, metadata.permissions()).unwrap();
    }
}

fn varied(place: &Place) -> std::path::PathBuf {
    let tree = Tree::new(place.path("source"));
    tree.dir("folder/inner").file("file", "data").file("private", "x").mode("private", 0o600);
    tree.file("folder/all", "y").mode("folder/all", 0o666).link("file", "link").dir("closed").mode("closed", 0o700);
    tree.file("script", "#!").mode("script", 0o755).file("folder/large", crate::tree::pattern(3, 2_000_000));
    tree.node("fifo", ringway_sys::attributes::Kind::Fifo, 0o622, (0, 0)).unwrap();
    tree.settle()
}

pub(crate) fn inherited_list(place: &Place) {
    let probe = Tree::new(place.path("probe"));
    if !probe.dir("folder").xattr("folder", "system.posix_acl_default", &list()) {
        return place.skip("access control lists", "this filesystem has none");
    }
    into_prepared(place, &varied(place), |tree| {
        assert!(tree.dir("into").xattr("into", "system.posix_acl_default", &list()));
    });
}

/// Nor from a folder that may be searched and written to, and not listed.
pub(crate) fn inherited_unlisted(place: &Place) {
    let from = Tree::new(place.path("from"));
    from.dir("folder").file("file", "x").mode("file", 0o660).file("folder/inner", "y").mode("folder/inner", 0o660);
    for (number, (driver, options)) in drivers(place).into_iter().enumerate() {
        for (verify, atomic) in [(false, false), (true, false), (false, true)] {
            let into = format!("into-{number}-{verify}-{atomic}");
            let tree = Tree::new(place.path("to"));
            if !tree.dir(&into).xattr(&into, "system.posix_acl_default", &list()) {
                return place.skip("access control lists", "this filesystem has none");
            }
            tree.mode(&into, 0o300);
            let options = CopyOptions { verify, atomic, ..options.clone() };
            copy_all(&[&from.path("file"), &from.path("folder")], &tree.path(&into), &options);
            tree.mode(&into, 0o700);
            for copy in ["file", "folder", "folder/inner"] {
                let copy = tree.path(&into).join(copy);
                let list = rustix::fs::getxattr(&copy, "system.posix_acl_access", &mut [0_u8; 256][..]);
                assert_eq!(list, Err(rustix::io::Errno::NODATA), "{driver} {verify} {atomic} {}", copy.display());
            }
        }
    }
}

/// Nor by what is copied right into such a folder and is not opened for that.
pub(crate) fn inherited_by_nodes(place: &Place) {
    let tree = Tree::new(place.path("from"));
    if !tree.dir("into").xattr("into", "system.posix_acl_default", &list()) {
        return place.skip("access control lists", "this filesystem has none");
    }
    tree.node("fifo", ringway_sys::attributes::Kind::Fifo, 0o664, (0, 0)).unwrap();
    let (driver, options) = some_driver(place, "nodes");
    copy_all(&[&tree.path("fifo")], &tree.path("into"), &options);
    let copy = tree.path("into/fifo");
    assert_eq!(fs::symlink_metadata(&copy).unwrap().permissions().mode() & 0o7777, 0o664, "{driver}");
    let list = rustix::fs::lgetxattr(&copy, "system.posix_acl_access", &mut [0_u8; 256][..]);
    assert_eq!(list, Err(rustix::io::Errno::NODATA), "{driver}");
}

pub(crate) fn inherited_group(place: &Place) {
    if !is_root() {
        return place.skip("a group", "giving files away takes root");
    }
    into_prepared(place, &varied(place), |tree| {
        tree.dir("into").owner("into", 0, 4321).mode("into", 0o2775);
    });
}
