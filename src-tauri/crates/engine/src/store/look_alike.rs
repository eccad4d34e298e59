//! Device names that look alike: by the skeletons of Unicode Technical Standard 39, section 4,
//! without regard to case.
use ringway_model::{DeviceId, Fault, LookAlike, ThisDevice};
use unicode_security::confusable_detection::skeleton;

use crate::store::Store;

/// What a name looks like as it is, in small letters and in capitals: letters are confused as they
/// are shown, and I looks like l where i does not. Nobody counts blanks.
fn looks(name: &str) -> [String; 3] {
    let name: String = name.split_whitespace().collect();
    [name.clone(), name.to_lowercase(), name.to_uppercase()].map(|name| {
        let shown: String = skeleton(&name).collect();
        skeleton(&shown.to_lowercase()).collect()
    })
}

/// Whether people may confuse the names.
fn is_alike(one: &[String; 3], other: &str) -> bool {
    looks(other).iter().any(|look| one.contains(look))
}

/// The first paired device, other than `id` itself, whose name looks like `name`.
pub(crate) fn find(store: &Store, id: DeviceId, name: &str) -> Result<Option<LookAlike>, Fault> {
    let wanted = looks(name);
    let found = store.devices()?.into_iter().find(|other| other.id != id && is_alike(&wanted, &other.name));
    Ok(found.map(|other| LookAlike { id: other.id, name: other.name }))
}

/// This device itself, if its name looks like `name`, which a stranger gives itself.
pub(crate) fn this_device(own: &ThisDevice, name: &str) -> Option<LookAlike> {
    is_alike(&looks(name), &own.name).then(|| LookAlike { id: own.id, name: own.name.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_scripts_digits_and_cases_look_alike() {
        for (one, other) in [
            ("nas", "n\u{430}s"),
            ("lab ws", "lab  ws"),
            ("lab ws", "lab \u{3000}ws "),
            ("lab", "l ab"),
            ("my lab", "mylab"),
            ("NAS", "n\u{430}s"),
            ("nas", "N\u{410}S"),
            ("nas", "\u{578}as"),
            ("lab1", "labl"),
            ("lab1", "LABI"),
            ("lab1", "lab\u{406}"),
            ("n0de", "node"),
            ("modem", "rnodern"),
            ("caf\u{e9}", "cafe\u{301}"),
            ("Ada's laptop", "Ada\u{2019}s l\u{430}pt\u{43e}p"),
            ("alice", "\u{410}L\u{406}\u{421}\u{415}"),
            ("ALICE", "\u{430}l\u{456}\u{441}\u{435}"),
            ("alice", "AL1CE"),
            ("alice", "ALlCE"),
            ("OFFICE", "o\u{fb03}ce"),
            ("mini", "\u{41c}\u{406}N\u{406}"),
        ] {
            assert!(is_alike(&looks(one), other), "{one} and {other}");
            assert!(is_alike(&looks(other), one), "{other} and {one}");
        }
    }

    #[test]
    fn names_that_nobody_confuses_do_not_look_alike() {
        for (one, other) in
            [("nas", "nas 2"), ("lab-1", "lab-2"), ("laptop", "desktop"), ("b\u{fc}ro", "buro"), ("日本", "中国")]
        {
            assert!(!is_alike(&looks(one), other), "{one} and {other}");
        }
    }

    #[test]
    fn a_stranger_by_this_devices_name_is_pointed_out() {
        let own = ThisDevice { id: DeviceId([9; 32]), name: "ada-laptop".into() };
        assert_eq!(this_device(&own, "\u{430}da-laptop").map(|found| found.id), Some(own.id));
        assert_eq!(this_device(&own, "ada-desktop"), None);
    }

    #[test]
    fn a_device_looks_like_another_one_and_never_like_itself() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let [nas, other, lab] = [1, 2, 3].map(|number| DeviceId([number; 32]));
        store.pin(nas, "nas", "").unwrap();
        store.pin(other, "n\u{430}s", "").unwrap();
        store.pin(lab, "lab", "").unwrap();
        let like = |id, name| find(&store, id, name).unwrap().map(|other| other.id);
        assert_eq!(like(other, "n\u{430}s"), Some(nas));
        assert_eq!(like(nas, "nas"), Some(other));
        assert_eq!(like(lab, "lab"), None);
        store.forget(other).unwrap();
        assert_eq!(like(nas, "nas"), None);
    }
}
