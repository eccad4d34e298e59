//! Whether this machine's kernel has TLS, and how to turn it on.
use std::path::Path;

use ringway_model::{Aim, Remedy, UserTlsReason};

/// The reason for encrypting a lane in userspace.
pub(crate) fn user_tls(missing: ringway_sys::ktls::MissingTls) -> UserTlsReason {
    use ringway_sys::ktls::MissingTls;
    match missing {
        MissingTls::NotLoaded => UserTlsReason::ModuleNotLoaded,
        MissingTls::NotInKernel => UserTlsReason::NotInKernel,
        MissingTls::Unknown => UserTlsReason::ModulesUnseen,
        MissingTls::Refused(errno) | MissingTls::NoLoopback(errno) => UserTlsReason::Refused(errno),
    }
}

/// Commands that turn on kernel TLS if its module is not loaded. They also keep it on if no Ringway
/// package below `root` does.
pub fn remedies(root: &Path) -> Vec<Remedy> {
    let mut commands = vec![Remedy::new(Aim::LoadTls, "sudo modprobe tls")];
    if !["usr/lib", "etc", "usr/local/lib"].iter().any(|at| root.join(at).join("modules-load.d/ringway.conf").exists())
    {
        commands.push(Remedy::new(Aim::KeepTls, "echo tls | sudo tee /etc/modules-load.d/ringway.conf"));
    }
    commands
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn kernel_tls_is_kept_on_by_the_package_or_by_a_command() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(remedies(root.path()).len(), 2);
        let folder = root.path().join("usr/lib/modules-load.d");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("ringway.conf"), "tls\n").unwrap();
        assert_eq!(remedies(root.path()), [Remedy::new(Aim::LoadTls, "sudo modprobe tls")]);
    }
}
