//! Users and groups of the sender's names: what they are here, and that nobody becomes root.
use ringway_sys::users;
use ringway_wire::ProtocolError;
use ringway_wire::lane::{Owner, OwnerKind, OwnerNames, OwnerNamesBuffer};
use ringway_wire::limits::{OWNER_NAMES_PER_HEAD_MAX, OWNERS_NAMED_MAX};

use super::*;

/// A user and a group of every Linux system.
const HERE: &str = "daemon";
const NOBODYS: &str = "no-such-name-here";

fn user(id: u32) -> Owner {
    Owner::new(OwnerKind::User, id).unwrap()
}

fn group(id: u32) -> Owner {
    Owner::new(OwnerKind::Group, id).unwrap()
}

fn by_name(site: &Site) -> DestinationOptions {
    DestinationOptions { keep_owner: true, owners_by_name: true, ..site.options(OnConflict::Replace) }
}

fn owned(uid: u32, gid: u32) -> Attributes {
    Attributes { uid, gid, ..attributes(0o644) }
}

/// A folder, a small file, a link and a large file of each user, who are called by these names.
fn lane() -> Lane {
    let users = [(60_001, HERE), (60_002, "root"), (60_003, NOBODYS), (60_004, ""), (0, "")];
    let mut lane = Lane::default();
    for (uid, name) in users {
        let (top, of) = (format!("of-{uid}"), owned(uid, if uid == 0 { 0 } else { uid + 100 }));
        lane.head.folder_with_attributes(path(&top), &Attributes { mode: 0o755, ..of }, Xattrs::default());
        if uid != 0 {
            lane.head.owner_names().push(user(uid), name);
            lane.head.owner_names().push(group(uid + 100), name);
        }
        lane = lane
            .entry(&Entry { attributes: of, ..file("small", 1, 0) }, b"x")
            .entry(&Entry { attributes: of, ..symlink("link", "small") }, b"")
            .flush();
        let large = Entry { attributes: of, ..file("large", 5, 0o644) };
        lane = lane.range(uid.into(), &top, large, 0, b"12345", RangeStep::Last { data_bytes: 5 });
    }
    lane
}

#[test]
fn entries_belong_to_who_has_the_name_here_and_else_to_who_has_the_number() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: keeping owners needs root");
        return;
    }
    let (uid, gid) = (users::user_id(HERE).unwrap(), users::group_id(HERE).unwrap());
    let site = Site::new();
    let there = |by_name: bool, rel: &str| {
        let numeric = DestinationOptions { owners_by_name: false, ..self::by_name(&site) };
        let options = if by_name { self::by_name(&site) } else { numeric };
        let incoming = Incoming::begin(options).unwrap();
        assert_eq!(incoming.accepted(1).owner_names, by_name);
        let lane = if by_name { lane() } else { unnamed() };
        let (receipt, _, failures) = cross(&incoming, vec![lane]);
        assert_eq!(failures, []);
        // The folders, small files, links and large files of "root" and of nobody.
        assert_eq!(receipt.owners_by_number, if by_name { 8 } else { 0 }, "{rel}");
        ["", "/small", "/link", "/large"].map(|entry| {
            let there = fs::symlink_metadata(site.at(&format!("{rel}{entry}"))).unwrap();
            (there.uid(), there.gid())
        })
    };
    assert_eq!(there(true, "of-60001"), [(uid, gid); 4]);
    assert_eq!(there(true, "of-60002"), [(60_002, 60_102); 4], "nobody becomes root by a name");
    assert_eq!(there(true, "of-60003"), [(60_003, 60_103); 4]);
    assert_eq!(there(true, "of-60004"), [(60_004, 60_104); 4]);
    assert_eq!(there(true, "of-0"), [(0, 0); 4]);
    // What is here already follows.
    assert_eq!(there(false, "of-60001"), [(60_001, 60_101); 4]);
    assert_eq!(there(true, "of-60001"), [(uid, gid); 4]);
}

/// The same without names.
fn unnamed() -> Lane {
    let mut lane = Lane::default();
    let of = owned(60_001, 60_101);
    lane.head.folder_with_attributes(path("of-60001"), &Attributes { mode: 0o755, ..of }, Xattrs::default());
    let large = Entry { attributes: of, ..file("large", 5, 0o644) };
    lane.entry(&Entry { attributes: of, ..file("small", 1, 0) }, b"x")
        .entry(&Entry { attributes: of, ..symlink("link", "small") }, b"")
        .flush()
        .range(1, "of-60001", large, 0, b"12345", RangeStep::Last { data_bytes: 5 })
}

#[test]
fn access_control_lists_name_who_has_the_names_here() {
    let none = u32::MAX;
    let list = |id: u32, group: u32| {
        let entries = [(1_u16, 6_u16, none), (2, 7, id), (4, 4, none), (8, 5, group), (0x10, 7, none), (0x20, 0, none)];
        let entry = |(tag, permissions, id): (u16, u16, u32)| {
            [&tag.to_le_bytes()[..], &permissions.to_le_bytes(), &id.to_le_bytes()].concat()
        };
        [&2_u32.to_le_bytes()[..], &entries.map(entry).concat()].concat()
    };
    let (uid, gid) = (users::user_id(HERE).unwrap(), users::group_id(HERE).unwrap());
    for (name, wanted) in [(HERE, list(uid, gid)), ("root", list(60_001, 60_101)), (NOBODYS, list(60_001, 60_101))] {
        let site = Site::new();
        fs::create_dir_all(site.at("")).unwrap();
        let mut xattrs = XattrBuffer::default();
        assert!(xattrs.push(b"system.posix_acl_access", &list(60_001, 60_101)));
        let mut lane = Lane::default();
        lane.head.folder_with_attributes(path("top"), &attributes(0o670), xattrs.as_xattrs());
        lane.head.owner_names().push(user(60_001), name);
        lane.head.owner_names().push(group(60_101), name);
        let lane = lane.entry(&Entry { xattrs: xattrs.as_xattrs(), ..file("file", 1, 0o670) }, b"x");
        let options = DestinationOptions { keep_acls: true, owners_by_name: true, ..site.options(OnConflict::Replace) };
        let (receipt, _, failures) = cross(&Incoming::begin(options).unwrap(), vec![lane]);
        assert_eq!(failures, []);
        if receipt.acls_lost > 0 {
            println!("skipped: no access control lists on {}", site.at("").display());
            return;
        }
        for rel in ["top", "top/file"] {
            let mut value = vec![0; 4096];
            let len = rustix::fs::lgetxattr(site.at(rel), "system.posix_acl_access", &mut value[..]).unwrap();
            assert_eq!(value[..len], wanted, "{rel}, {name}");
        }
    }
}

/// Runs a lane that breaks the protocol.
fn refused(options: DestinationOptions, lane: Lane) -> ProtocolError {
    let incoming = Incoming::begin(options).unwrap();
    let (bytes, _) = lane.end();
    let broken = match incoming.run_lane(&mut Wire::new(bytes), &mut io(IoMode::Sync)) {
        Err(LaneError::Protocol(error)) => error,
        other => panic!("{other:?}"),
    };
    incoming.abandon().unwrap();
    broken
}

#[test]
fn names_that_nobody_asked_for_are_refused_in_each_kind_of_frame() {
    let site = Site::new();
    let mut names = OwnerNamesBuffer::default();
    names.push(user(1000), HERE);
    let batch = || {
        let mut lane = Lane::default().folder("").file("file", b"x");
        lane.head.owner_names().push(user(1000), HERE);
        lane
    };
    let range = |owner_names: OwnerNames<'_>| {
        let mut lane = Lane::default();
        let (step, entry) = (RangeStep::Last { data_bytes: 5 }, file("large", 5, 0o644));
        let head = RangeHead { file_id: 1, offset: 0, step, stamp: 0, folder: RelPath::ROOT, entry, owner_names };
        let header = lane.head.range(&head, 5);
        lane.frame(header, b"12345");
        lane
    };
    let wanted = ProtocolError::BadValue("owner names that nobody asked for");
    for options in [site.options(OnConflict::Replace), DestinationOptions { keep_owner: false, ..by_name(&site) }] {
        assert_eq!(refused(options, batch()), wanted);
    }
    assert_eq!(refused(site.options(OnConflict::Replace), range(names.as_names())), wanted);
}

#[test]
fn endless_names_end_the_transfer() {
    let site = Site::new();
    let mut lane = Lane::default();
    let mut id = 0;
    while id < OWNERS_NAMED_MAX as u32 + 1 {
        lane = lane.folder("");
        for _ in 0..OWNER_NAMES_PER_HEAD_MAX {
            id += 1;
            lane.head.owner_names().push(user(id), "root");
        }
        lane = lane.flush();
    }
    let limit = OWNERS_NAMED_MAX as u64;
    let wanted = ProtocolError::TooLarge { what: "named users and groups", value: limit + 1, limit };
    assert_eq!(refused(by_name(&site), lane), wanted);
    // The same ones again are no more than before.
    let mut lane = Lane::default();
    for _ in 0..4 * OWNERS_NAMED_MAX / OWNER_NAMES_PER_HEAD_MAX {
        lane = lane.folder("");
        (1..=OWNER_NAMES_PER_HEAD_MAX as u32).for_each(|id| lane.head.owner_names().push(user(id), "root"));
        lane = lane.flush();
    }
    let (_, _, failures) = cross(&Incoming::begin(by_name(&site)).unwrap(), vec![lane]);
    assert_eq!(failures, []);
}
