//! Which program listens on a port of this machine, as far as this user may know (proc_net(5)).
use std::fs;
use std::path::{Path, PathBuf};

/// A socket's state in the kernel's table: it listens.
const LISTENS: &str = "0A";

/// Who listens on a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Holder {
    /// A program of this user.
    Ours {
        /// What it is called; `None` if its process cannot be seen, as in another container.
        program: Option<String>,
    },
    /// Another user, by name where it has one here.
    Other(String),
}

impl Holder {
    /// The program that listens on `port`, read from /proc below `root`. None if no program
    /// listens, or if the kernel does not tell.
    pub(crate) fn of(root: &Path, port: u16, our_uid: u32) -> Option<Self> {
        let tables = ["proc/net/tcp", "proc/net/tcp6"].map(|table| fs::read_to_string(root.join(table)));
        let (uid, inode) = tables.into_iter().flatten().find_map(|table| listener(&table, port))?;
        Some(match uid == our_uid {
            true => Self::Ours { program: program(root, &inode) },
            false => Self::Other(user(root, uid).unwrap_or_else(|| uid.to_string())),
        })
    }

    /// Whether it is this user's own Ringway.
    pub(crate) fn is_our_receiver(&self) -> bool {
        matches!(self, Self::Ours { program: Some(program) } if program == "ringway")
    }
}

/// The user and the inode of the socket that listens on `port`.
fn listener(table: &str, port: u16) -> Option<(u32, String)> {
    table.lines().find_map(|line| {
        let fields: Vec<_> = line.split_ascii_whitespace().collect();
        let [_, local, _, state, _, _, _, uid, _, inode, ..] = fields.as_slice() else { return None };
        let (_, listens_on) = local.rsplit_once(':')?;
        let is_it = *state == LISTENS && u16::from_str_radix(listens_on, 16) == Ok(port);
        Some((uid.parse().ok()?, (*inode).to_owned())).filter(|_| is_it)
    })
}

/// What the process is called that has the socket with that inode.
fn program(root: &Path, inode: &str) -> Option<String> {
    let socket = PathBuf::from(format!("socket:[{inode}]"));
    let has = |process: &Path| {
        let mut descriptors = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
        descriptors.any(|descriptor| fs::read_link(descriptor.path()).is_ok_and(|link| link == socket))
    };
    let processes = fs::read_dir(root.join("proc")).ok()?.flatten().map(|entry| entry.path());
    let is_process =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().iter().all(u8::is_ascii_digit));
    let process = processes.filter(is_process).find(|process| has(process))?;
    Some(fs::read_to_string(process.join("comm")).ok()?.trim_end().to_owned())
}

fn user(root: &Path, uid: u32) -> Option<String> {
    let users = fs::read_to_string(root.join("etc/passwd")).ok()?;
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, number) = (fields.next()?, fields.nth(1)?);
        (number.parse() == Ok(uid)).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const HEAD: &str =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

    fn row(port: u16, state: &str, uid: u32, inode: u32) -> String {
        format!(
            "   0: 00000000:{port:04X} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000  {uid}        0 {inode} 1 x 100\n"
        )
    }

    #[test]
    fn listener_is_told_by_its_user_and_its_program() {
        let root = tempfile::tempdir().unwrap();
        let path = |path: &str| root.path().join(path);
        for folder in ["proc/net", "proc/77/fd", "etc"] {
            fs::create_dir_all(path(folder)).unwrap();
        }
        fs::write(path("etc/passwd"), "root:x:0:0::/root:/bin/sh\nbob:x:1002:1002::/home/bob:/bin/sh\n").unwrap();
        let v4 = [HEAD, &row(17464, "01", 1001, 1), &row(9000, "0A", 1002, 2)].concat();
        fs::write(path("proc/net/tcp"), v4).unwrap();
        fs::write(path("proc/net/tcp6"), [HEAD, &row(17464, "0A", 1001, 33), &row(9001, "0A", 1003, 4)].concat())
            .unwrap();
        fs::write(path("proc/77/comm"), "ringway\n").unwrap();
        symlink("socket:[33]", path("proc/77/fd/9")).unwrap();
        let of = |port| Holder::of(root.path(), port, 1001);
        assert_eq!(of(17464), Some(Holder::Ours { program: Some("ringway".into()) }));
        assert!(of(17464).unwrap().is_our_receiver());
        assert_eq!(of(9000), Some(Holder::Other("bob".into())));
        assert_eq!(of(9001), Some(Holder::Other("1003".into())));
        assert_eq!(of(9002), None);
        assert_eq!(Holder::of(root.path(), 17464, 1002), Some(Holder::Other("1001".into())));
    }
}
