//! Access control lists and groups: what was sent, and what folders pass on.
use super::*;

/// A list that names a user: the owner reads and writes, user 1000 does everything, the owning
/// group reads, and others do nothing. The mode of what has it shows the mask to the group.
fn named_list() -> Vec<u8> {
    let none = u32::MAX;
    let entries = [(1_u16, 6_u16, none), (2, 7, 1000), (4, 4, none), (0x10, 7, none), (0x20, 0, none)];
    let entry = |(tag, permissions, id): (u16, u16, u32)| {
        [&tag.to_le_bytes()[..], &permissions.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    [&2_u32.to_le_bytes()[..], &entries.map(entry).concat()].concat()
}

fn list_of(path: &std::path::Path, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 4096];
    let len = rustix::fs::lgetxattr(path, name, &mut value[..]).ok()?;
    Some(value[..len].to_vec())
}

const ACCESS: &str = "system.posix_acl_access";
const DEFAULT: &str = "system.posix_acl_default";

/// A file, a large file and a folder with lists, and a file and a folder without.
fn listed_lane(access: Xattrs<'_>, both: Xattrs<'_>) -> Lane {
    let large = Entry { xattrs: access, ..file("large", 5, 0o670) };
    let small = Entry { xattrs: access, ..file("small", 1, 0o670) };
    let mut lane = Lane::default();
    lane.head.folder_with_attributes(path("top"), &attributes(0o670), both);
    let lane = lane.entry(&small, b"x").file("plain", b"x").made("top/below", 0o755).file("inside", b"x").flush();
    lane.range(0, "top", large, 0, b"12345", RangeStep::Last { data_bytes: 5 })
}

/// Whether the disk of a site has lists; if not, that is printed.
fn takes_lists(site: &Site, list: &[u8]) -> bool {
    fs::create_dir_all(site.at("")).unwrap();
    let taken = rustix::fs::setxattr(site.at(""), ACCESS, list, rustix::fs::XattrFlags::empty());
    if taken.is_err() {
        println!("skipped: no access control lists on {}", site.at("").display());
        return false;
    }
    rustix::fs::removexattr(site.at(""), ACCESS).unwrap();
    true
}

fn sets(path: &std::path::Path, name: &str, list: &[u8]) {
    rustix::fs::setxattr(path, name, list, rustix::fs::XattrFlags::empty()).unwrap();
}

/// Small files, and a large one, in a folder that is there and in the destination itself.
fn into_what_exists() -> Lane {
    let lane =
        Lane::default().folder("").file("alone", b"x").folder("top").file("small", b"x").made("top/below", 0o755);
    let lane = lane.entry(&file("inside", 1, 0o640), b"x").flush();
    lane.range(0, "top", file("large", 5, 0o640), 0, b"12345", RangeStep::Last { data_bytes: 5 })
}

#[test]
fn files_get_the_list_that_their_own_folder_passes_on_and_no_other() {
    let list = named_list();
    for site in [Site::new(), Site::in_memory()] {
        if !takes_lists(&site, &list) {
            continue;
        }
        // The destination passes a list on, and the folder that is there does not.
        fs::create_dir(site.at("top")).unwrap();
        sets(&site.at(""), DEFAULT, &list);
        let (_, _, failures) = cross(&site.begin(OnConflict::Replace), vec![into_what_exists()]);
        assert_eq!(failures, vec![]);
        assert!(list_of(&site.at("alone"), ACCESS).is_some());
        for rel in ["top/small", "top/large", "top/below", "top/below/inside"] {
            assert_eq!(list_of(&site.at(rel), ACCESS), None, "{rel}");
        }
        let mode = |rel: &str| fs::metadata(site.at(rel)).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode("top/large"), mode("top/below/inside")), (0o640, 0o640));

        // The other way round, also where what was there is replaced.
        rustix::fs::removexattr(site.at(""), DEFAULT).unwrap();
        sets(&site.at("top"), DEFAULT, &list);
        for rel in ["alone", "top/small", "top/large"] {
            fs::write(site.at(rel), "something else").unwrap();
        }
        fs::remove_dir_all(site.at("top/below")).unwrap();
        let (_, _, failures) = cross(&site.begin(OnConflict::Replace), vec![into_what_exists()]);
        assert_eq!(failures, vec![]);
        assert_eq!(list_of(&site.at("alone"), ACCESS), None);
        for rel in ["top/small", "top/large", "top/below", "top/below/inside"] {
            assert!(list_of(&site.at(rel), ACCESS).is_some(), "{rel}");
        }
        assert_eq!((mode("top/large"), mode("top/below/inside")), (0o640, 0o640), "no wider than it was sent");
    }
}

#[test]
fn what_was_sent_without_a_list_has_none_where_lists_are_kept() {
    let list = named_list();
    for site in [Site::new(), Site::in_memory()] {
        if !takes_lists(&site, &list) {
            continue;
        }
        for passes_on in ["", "top"] {
            fs::create_dir_all(site.at("top")).unwrap();
            sets(&site.at(passes_on), DEFAULT, &list);
            let options = DestinationOptions { keep_acls: true, ..site.options(OnConflict::Replace) };
            let lane = into_what_exists().made("new", 0o750).entry(&file("inside", 1, 0o640), b"x");
            let (receipt, _, failures) = cross(&Incoming::begin(options).unwrap(), vec![lane]);
            assert_eq!((failures, receipt.acls_lost), (vec![], 0));
            for rel in ["alone", "top/small", "top/large", "top/below", "top/below/inside", "new", "new/inside"] {
                assert_eq!((list_of(&site.at(rel), ACCESS), list_of(&site.at(rel), DEFAULT)), (None, None), "{rel}");
            }
            let mode = |rel: &str| fs::metadata(site.at(rel)).unwrap().permissions().mode() & 0o7777;
            assert_eq!((mode("new"), mode("new/inside"), mode("top/large")), (0o750, 0o640, 0o640));
            for rel in ["alone", "new", "top"] {
                let _ = fs::remove_dir_all(site.at(rel)).or_else(|_| fs::remove_file(site.at(rel)));
            }
        }
    }
}

#[test]
fn files_get_the_group_of_their_own_folder_where_that_passes_it_on_and_no_other() {
    let own = rustix::process::getegid();
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root may give a folder a group that it is not in");
        return;
    }
    let other = own.as_raw() + 77;
    let passes_on = |path: &std::path::Path, does: bool| {
        std::os::unix::fs::chown(path, None, Some(if does { other } else { own.as_raw() })).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(if does { 0o2775 } else { 0o775 })).unwrap();
    };
    for (top, destination) in [(false, true), (true, false), (true, true)] {
        let site = Site::new();
        fs::create_dir_all(site.at("top")).unwrap();
        passes_on(&site.at(""), destination);
        passes_on(&site.at("top"), top);
        let (_, _, failures) = cross(&site.begin(OnConflict::Replace), vec![into_what_exists()]);
        assert_eq!(failures, vec![]);
        let group = |rel: &str| fs::metadata(site.at(rel)).unwrap().gid() == other;
        assert_eq!(group("alone"), destination);
        for rel in ["top/small", "top/large", "top/below", "top/below/inside"] {
            assert_eq!(group(rel), top, "{rel}: {top} {destination}");
        }
    }
}

#[test]
fn access_control_lists_are_kept_where_that_is_asked_for_and_else_let_nobody_in() {
    let list = named_list();
    let (mut access, mut both) = (XattrBuffer::default(), XattrBuffer::default());
    assert!(access.push(ACCESS.as_bytes(), &list));
    assert!(both.push(ACCESS.as_bytes(), &list) && both.push(DEFAULT.as_bytes(), &list));
    let lane = || listed_lane(access.as_xattrs(), both.as_xattrs());
    for site in [Site::new(), Site::in_memory()] {
        if !takes_lists(&site, &list) {
            continue;
        }
        let mode = |rel: &str| fs::metadata(site.at(rel)).unwrap().permissions().mode() & 0o7777;
        let (receipt, _, failures) = cross(&site.begin(OnConflict::Replace), vec![lane()]);
        assert_eq!((failures, receipt.acls_lost), (vec![], 3));
        for rel in ["top", "top/small", "top/large"] {
            assert_eq!((mode(rel), list_of(&site.at(rel), ACCESS)), (0o640, None), "{rel}: its group only reads");
        }
        assert_eq!(list_of(&site.at("top"), DEFAULT), None);
        // What is there already gets its list as well, as it gets its mode. A folder that existed
        // gets it only where that may widen its mode.
        for (widen_modes, lost) in [(false, 1), (true, 0), (false, 0)] {
            let options = DestinationOptions { keep_acls: true, widen_modes, ..site.options(OnConflict::Replace) };
            let (receipt, _, failures) = cross(&Incoming::begin(options).unwrap(), vec![lane()]);
            assert_eq!((failures, receipt.acls_lost), (vec![], lost), "{widen_modes}");
            for rel in ["top/small", "top/large"] {
                assert_eq!((mode(rel), list_of(&site.at(rel), ACCESS)), (0o670, Some(list.clone())), "{rel}");
            }
        }
        assert_eq!((mode("top"), list_of(&site.at("top"), ACCESS)), (0o670, Some(list.clone())));
        assert_eq!(list_of(&site.at("top"), DEFAULT), Some(list.clone()));
        // The default list came last, so that nothing has inherited it.
        for rel in ["top/plain", "top/below", "top/below/inside"] {
            assert_eq!((list_of(&site.at(rel), ACCESS), list_of(&site.at(rel), DEFAULT)), (None, None), "{rel}");
        }
        let anew = Site::within(tempfile::tempdir_in(site.at("").parent().unwrap()).unwrap());
        let options = DestinationOptions { keep_acls: true, ..anew.options(OnConflict::Replace) };
        let (receipt, _, failures) = cross(&Incoming::begin(options).unwrap(), vec![lane()]);
        assert_eq!((failures, receipt.acls_lost), (vec![], 0));
        assert_eq!(list_of(&anew.at("top"), DEFAULT), Some(list.clone()));
        assert_eq!(list_of(&anew.at("top/small"), ACCESS), Some(list.clone()));
        assert_eq!(list_of(&anew.at("top/plain"), ACCESS), None);
    }
}
