//! Commands that remove what keeps this machine from being reached, or from being faster: those
//! that fit here.
use std::fs;
use std::path::Path;

use ringway_model::{Aim, Direction, PastQuery, Remedy};

use crate::Engine;
use crate::limits::DEFAULT_PORT;

pub use ringway_link::kernel_tls::remedies as kernel_tls;

/// The firewalls that are on below `root`, each with what lets `port` in. The rules themselves are
/// for root to read: it may be in already.
pub fn firewalls_here(root: &Path, port: u16) -> Vec<Remedy> {
    let there = |path: &str| root.join(path).exists();
    // What the packages install knows the port that is listened on by default, and mDNS.
    let is_named = |path: &str| port == DEFAULT_PORT && there(path);
    let mut found = Vec::new();
    if is_ufw_on(root) {
        found.push(Remedy::ufw(port, is_named("etc/ufw/applications.d/ringway")));
    }
    if is_firewalld_on(root) {
        let named =
            is_named("usr/lib/firewalld/services/ringway.xml") || is_named("etc/firewalld/services/ringway.xml");
        found.push(Remedy::firewalld(port, named));
    }
    found
}

/// The same for this machine. None once something was received here: then the firewall lets
/// connections in.
pub fn firewalls_to_open(engine: &Engine, port: u16) -> Vec<Remedy> {
    let query = PastQuery { direction: Some(Direction::Receiving), ..PastQuery::default() };
    match engine.past(&query, 1) {
        Ok(received) if received.is_empty() => firewalls_here(Path::new("/"), port),
        _ => Vec::new(),
    }
}

/// What says why the service does not start.
pub fn serve() -> Remedy {
    Remedy::new(Aim::Serve, "ringway serve")
}

/// What replaces a service of another version, where systemd runs it.
pub fn restart_service() -> Remedy {
    Remedy::new(Aim::RestartService, "systemctl --user restart ringway")
}

fn is_ufw_on(root: &Path) -> bool {
    let said = fs::read_to_string(root.join("etc/ufw/ufw.conf")).unwrap_or_default();
    said.lines().any(|line| line.trim().eq_ignore_ascii_case("ENABLED=yes"))
}

/// Whether its unit has processes, as systemd's tree of control groups shows to everybody; else
/// whether a process is where its number is kept. Its folder in /run says nothing: that is made at
/// every start, for a firewall that is off, too.
fn is_firewalld_on(root: &Path) -> bool {
    let unit =
        ["sys/fs/cgroup", "sys/fs/cgroup/systemd"].map(|at| root.join(at).join("system.slice/firewalld.service"));
    let number = fs::read_to_string(root.join("run/firewalld.pid")).unwrap_or_default();
    let number = number.trim();
    unit.iter().any(|unit| unit.exists()) || (number.parse::<u32>().is_ok() && root.join("proc").join(number).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Root(tempfile::TempDir);

    impl Root {
        fn with(files: &[(&str, &str)]) -> Self {
            let root = Self(tempfile::tempdir().unwrap());
            for (path, text) in files {
                let path = root.0.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            root
        }

        fn firewalls(&self, port: u16) -> Vec<String> {
            firewalls_here(self.0.path(), port).into_iter().map(|remedy| remedy.command).collect()
        }
    }

    const NO_COMMANDS: [&str; 0] = [];

    #[test]
    fn a_firewall_that_is_on_is_found_and_one_that_is_off_is_not() {
        let off = Root::with(&[
            ("etc/ufw/ufw.conf", "# ENABLED=yes\nENABLED=no\n"),
            ("run/firewalld/x", ""),
            ("run/firewalld.pid", "17\n"),
        ]);
        assert_eq!(off.firewalls(DEFAULT_PORT), NO_COMMANDS);
        let ufw = Root::with(&[("etc/ufw/ufw.conf", "LOGLEVEL=low\n enabled=Yes\n")]);
        assert_eq!(ufw.firewalls(4000), ["sudo ufw allow 4000/tcp"]);
        let wanted = ["sudo firewall-cmd --permanent --add-port=4000/tcp && sudo firewall-cmd --reload"];
        for on in [
            Root::with(&[("sys/fs/cgroup/system.slice/firewalld.service/cgroup.procs", "")]),
            Root::with(&[("run/firewalld.pid", "17"), ("proc/17/comm", "firewalld")]),
        ] {
            assert_eq!(on.firewalls(4000), wanted);
        }
    }

    #[test]
    fn what_the_packages_install_is_named_where_it_is_the_port_that_is_meant() {
        let root = Root::with(&[
            ("etc/ufw/ufw.conf", "ENABLED=yes"),
            ("etc/ufw/applications.d/ringway", ""),
            ("sys/fs/cgroup/system.slice/firewalld.service/cgroup.procs", ""),
            ("usr/lib/firewalld/services/ringway.xml", ""),
        ]);
        assert_eq!(
            root.firewalls(DEFAULT_PORT),
            [
                "sudo ufw allow Ringway",
                "sudo firewall-cmd --permanent --add-service=ringway && sudo firewall-cmd --reload"
            ]
        );
        assert!(root.firewalls(4000).iter().all(|command| command.contains("4000/tcp")));
    }

    #[test]
    fn only_what_a_firewall_makes_of_a_call_has_its_commands() {
        for (target, errno, count) in [
            ("10.0.0.9:17464", Some(110), 2),
            ("[fd00::1]:4000", Some(113), 2),
            ("10.0.0.9:17464", Some(111), 0),
            ("lab:17464", None, 0),
            ("lab", Some(110), 0),
        ] {
            assert_eq!(Remedy::against_firewall_at(target, errno).len(), count, "{target} {errno:?}");
        }
    }

    #[test]
    fn who_has_a_port_is_shown_where_it_is_taken() {
        assert_eq!(Remedy::for_taken_port("[::]:17464", Some(98)), [Remedy::who_listens(17_464)]);
        assert!(Remedy::for_taken_port("[::]:17464", Some(13)).is_empty());
    }
}
