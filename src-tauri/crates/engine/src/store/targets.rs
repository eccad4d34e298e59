//! Targets by what the store knows: read once from what a person typed, or from a past transfer.
use std::net::SocketAddr;

use ringway_model::{AuthError, Device, Fault, Invalid};
use ringway_wire::announcement::Fingerprint;
use ringway_wire::name::{hex_digits, reads_as_address};

use super::Store;
use super::history::Remembered;
use crate::devices::target::{Address, Target};
use crate::limits::DEFAULT_PORT;
impl Target {
    /// Reads what a person typed. An id, or its beginning, is a device's and nothing else; text
    /// with a colon or a dot is an address and nothing else; other text is a device's name or else
    /// a host's. Where it is both, and another device was reached at the host, it is neither.
    pub(crate) fn resolve(store: &Store, typed: &str) -> Result<Self, Fault> {
        if let Some(device) = find_device(store, typed)? {
            // Its name may be of its own choice, and the person may mean the host.
            let host = Address::parse(typed, DEFAULT_PORT).map(|address| store.reached_at(&address.key()));
            let is_anothers = host.transpose()?.flatten().is_some_and(|reached| reached != device.id);
            return match is_anothers {
                true => Err(Fault::Invalid(Invalid::AmbiguousName { name: typed.to_owned().into() })),
                false => Ok(Self::Device(device.id)),
            };
        }
        let address = Address::parse(typed, DEFAULT_PORT)
            .ok_or_else(|| Fault::UnknownTarget { target: typed.to_owned().into() })?;
        Ok(Self::Address(address))
    }

    /// What to call it: a device's name here, or an address.
    pub(crate) fn label(&self, store: &Store) -> String {
        match self {
            // A store that cannot be read just now is said by what needs it.
            Self::Device(id) | Self::DeviceAt { id, .. } => {
                store.by_id(*id).ok().flatten().map_or_else(|| id.short(), |device| device.name.0)
            }
            Self::Address(address) => address.to_string(),
            Self::Announced { at, .. } => Address::from(*at).to_string(),
        }
    }
}

/// The target of a past transfer: the device that it reached or was to reach, else the address;
/// there only the receiver that was announced, if one was.
pub(crate) fn of_past(store: &Store, sent: &Remembered) -> Result<Target, Fault> {
    let Remembered { past, target_device, target_announced, .. } = sent;
    let called = || past.target.clone().unwrap_or_default();
    let device = match (past.peer_id.zip(past.peer.clone()), target_device) {
        (Some(reached), _) => Some(reached),
        (None, Some(id)) => Some((*id, called())),
        (None, None) => None,
    };
    let Some((id, name)) = device else {
        let address = past.target.as_deref().and_then(|address| Address::parse(address, DEFAULT_PORT));
        let target = match (target_announced, address) {
            (None, address) => address.map(Target::Address),
            (Some(digits), Some(Address::Socket(at))) => announced_again(store, digits, at)?,
            (Some(_), _) => None,
        };
        return target.ok_or_else(|| Fault::UnknownTarget { target: called() });
    };
    if store.by_id(id)?.is_some() {
        return Ok(Target::Device(id));
    }
    let now = store.by_name(&name)?.map(|device| device.id);
    Err(AuthError::Forgotten { name, id, now }.into())
}

/// A receiver that had announced itself and proved nothing: another device at its address now was
/// not meant. Nor was a paired device that only announced what was looked for; it is one that was
/// reached there with the code.
fn announced_again(store: &Store, digits: &str, at: SocketAddr) -> Result<Option<Target>, Fault> {
    let Ok(fingerprint) = Fingerprint::parse(digits) else { return Ok(None) };
    let paired = store.devices()?.into_iter().find(|device| Fingerprint::of(&device.id.0) == fingerprint);
    let proven = store.reached_at(&Address::Socket(at).key())?;
    let is_meant = paired.is_none_or(|paired| proven == Some(paired.id));
    Ok(is_meant.then_some(Target::Announced { at, fingerprint }))
}

/// A paired device by its id, by 8 or more digits of the id's beginning, with or without dashes, or
/// by its name.
pub(crate) fn find_device(store: &Store, typed: &str) -> Result<Option<Device>, Fault> {
    if reads_as_address(typed) {
        return Ok(None);
    }
    let Some(digits) = hex_digits(typed) else { return store.by_name(typed) };
    let mut matching: Vec<_> = store.devices()?;
    matching.retain(|device| device.id.to_string().starts_with(&digits));
    match matching.len() {
        0 | 1 => Ok(matching.pop()),
        _ => Err(Fault::Invalid(Invalid::AmbiguousId)),
    }
}

#[cfg(test)]
mod tests {
    use ringway_model::DeviceId;

    use super::*;

    const NAS: DeviceId = DeviceId([0xab; 32]);

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        store.pin(NAS, "nas", "10.1.1.1:4").unwrap();
        (folder, store)
    }

    fn address(text: &str) -> Target {
        Target::Address(Address::parse(text, DEFAULT_PORT).unwrap())
    }

    #[test]
    fn a_name_is_a_device_before_it_is_a_host() {
        let (_folder, store) = store();
        assert_eq!(Target::resolve(&store, "NAS").unwrap(), Target::Device(NAS));
        assert_eq!(Target::resolve(&store, "nas.lan").unwrap(), address("nas.lan"));
        assert_eq!(Target::resolve(&store, "other").unwrap(), address("other"));
    }

    #[test]
    fn an_id_is_never_another_devices_name() {
        let (_folder, store) = store();
        // A store that was written to by other means than ours.
        let id = NAS.to_string();
        for (number, name) in [&id[..], &NAS.short(), &id[..8], "abababac"].into_iter().enumerate() {
            store.pin_unchecked(DeviceId([number as u8; 32]), name);
        }
        for typed in [&id[..], &NAS.short(), &id[..8], &id.to_uppercase()] {
            assert_eq!(Target::resolve(&store, typed).unwrap(), Target::Device(NAS), "{typed}");
        }
        let unknown = Target::resolve(&store, "abababac").unwrap_err();
        assert!(
            matches!(unknown, Fault::UnknownTarget { .. }),
            "an id that nobody has is not a host either: {unknown:?}"
        );
    }

    #[test]
    fn an_address_is_never_a_devices_name() {
        let (_folder, store) = store();
        for (number, name) in ["10.0.0.9:17464", "::1", "nas.lan"].into_iter().enumerate() {
            store.pin_unchecked(DeviceId([number as u8; 32]), name);
            assert_eq!(Target::resolve(&store, name).unwrap(), address(name));
        }
    }

    #[test]
    fn the_name_of_a_host_that_is_another_device_leads_to_neither() {
        let (_folder, store) = store();
        let (lab, late) = (DeviceId([1; 32]), DeviceId([2; 32]));
        store.pin(lab, "lab-machine", "").unwrap();
        store.reached(lab, &[Address::parse("fileserver", DEFAULT_PORT).unwrap().key()]).unwrap();
        // Who pairs later does not get that name, whatever it calls itself. A person may give it.
        for name in ["fileserver", "FileServer", "localhost"] {
            store.forget(late).unwrap();
            assert_eq!(store.pin(late, name, "").unwrap().name, *format!("{name} (2)"));
        }
        assert_eq!(Target::resolve(&store, "fileserver").unwrap(), address("fileserver"));
        store.rename(late, "fileserver").unwrap();
        let refused = Target::resolve(&store, "FILESERVER").unwrap_err();
        assert!(matches!(refused, Fault::Invalid(Invalid::AmbiguousName { .. })), "{refused:?}");
        assert_eq!(Target::resolve(&store, "fileserver:17464").unwrap(), address("fileserver"));
        assert_eq!(Target::resolve(&store, &late.to_string()).unwrap(), Target::Device(late));
        // Its own host is no other.
        store.pin(NAS, "nas", "").unwrap();
        store.reached(NAS, &[Address::parse("nas", DEFAULT_PORT).unwrap().key()]).unwrap();
        assert_eq!(Target::resolve(&store, "nas").unwrap(), Target::Device(NAS));
    }

    #[test]
    fn a_beginning_that_several_ids_share_is_refused() {
        let (_folder, store) = store();
        let mut other = NAS;
        other.0[31] = 0;
        store.pin(other, "nearly nas", "").unwrap();
        let refused = Target::resolve(&store, "abababab").unwrap_err();
        assert!(matches!(refused, Fault::Invalid(Invalid::AmbiguousId)), "{refused:?}");
        assert_eq!(Target::resolve(&store, &NAS.to_string()).unwrap(), Target::Device(NAS));
    }
}
