//! Owns the question whether this kernel has TLS and why not, and the kernel's own counters of it.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::sync::OnceLock;

use rustix::io::Errno;

/// Whether this kernel accepts TLS connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelTls {
    /// It does.
    Available,
    /// It does not, for this reason.
    Missing(MissingTls),
}

/// Why there is no kernel TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MissingTls {
    /// The module is installed but not loaded, and an unprivileged process cannot load it. `sudo
    /// modprobe tls` helps.
    #[error("the kernel's tls module is not loaded: run `sudo modprobe tls`")]
    NotLoaded,
    /// The running kernel has no such module (CONFIG_TLS is off, or its package is not installed).
    #[error("this kernel has no tls module")]
    NotInKernel,
    /// The kernel does not have TLS now, and its modules cannot be seen from here, as in a
    /// container.
    #[error("kernel TLS is off, and this system's modules cannot be seen: try `sudo modprobe tls` on the host")]
    Unknown,
    /// The module is loaded or built in, but the kernel refuses with this errno.
    #[error("the kernel refuses kernel TLS (errno {0})")]
    Refused(i32),
    /// No loopback connection could be made for the trial (errno).
    #[error("no loopback connection to try kernel TLS on (errno {0})")]
    NoLoopback(i32),
}

/// Whether this kernel accepts TLS connections. It is tried once per process, on a connection to
/// itself.
pub fn support() -> KernelTls {
    static SUPPORT: OnceLock<KernelTls> = OnceLock::new();
    *SUPPORT.get_or_init(|| match loopback_pair() {
        Ok((stream, _peer)) => match set_upper_protocol(&stream) {
            Ok(()) => KernelTls::Available,
            Err(error) => KernelTls::Missing(why_missing(error.raw_os_error().unwrap_or(0))),
        },
        Err(error) => KernelTls::Missing(MissingTls::NoLoopback(error.raw_os_error().unwrap_or(0))),
    })
}

fn loopback_pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).or_else(|_| TcpListener::bind((Ipv6Addr::LOCALHOST, 0)))?;
    let stream = TcpStream::connect(listener.local_addr()?)?;
    // Another process may have connected first. Its stream is dropped with ours, and nothing is
    // read from either.
    let (peer, _) = listener.accept()?;
    Ok((stream, peer))
}

/// setsockopt(TCP_ULP, "tls") (tls.rst).
fn set_upper_protocol(stream: &TcpStream) -> io::Result<()> {
    const NAME: &[u8] = b"tls";
    // SAFETY: the pointer and length describe `NAME`, which is only read.
    let rc = unsafe {
        libc::setsockopt(
            stream.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_ULP,
            NAME.as_ptr().cast(),
            NAME.len() as libc::socklen_t,
        )
    };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn why_missing(errno: i32) -> MissingTls {
    // ENOENT: no protocol of that name is registered; ENOPROTOOPT: a kernel before 4.13, which has
    // no protocols at all.
    if errno == Errno::NOPROTOOPT.raw_os_error() {
        return MissingTls::NotInKernel;
    }
    if errno != Errno::NOENT.raw_os_error() || Path::new("/sys/module/tls").exists() {
        return MissingTls::Refused(errno);
    }
    // A kernel without loadable modules has none that could be loaded.
    if !Path::new("/proc/modules").exists() && Path::new("/proc/version").exists() {
        return MissingTls::NotInKernel;
    }
    installed_in(&Path::new("/lib/modules").join(crate::probe::kernel_release()))
}

/// Checks the running kernel's module folder: modules.dep lists a loadable `tls.ko`, perhaps
/// compressed.
fn installed_in(folder: &Path) -> MissingTls {
    match std::fs::read_to_string(folder.join("modules.dep")) {
        Ok(list) if names_tls_module(&list) => MissingTls::NotLoaded,
        Ok(_) => MissingTls::NotInKernel,
        Err(_) => MissingTls::Unknown,
    }
}

fn names_tls_module(modules_dep: &str) -> bool {
    modules_dep
        .lines()
        .filter_map(|line| line.split(':').next())
        .filter_map(|path| path.rsplit('/').next())
        .any(|file| file == "tls.ko" || file.starts_with("tls.ko."))
}

/// The kernel's own count of TLS connections and errors since boot, in this network namespace
/// (/proc/net/tls_stat, tls.rst).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TlsStat {
    /// Connections for which the kernel encrypts now (TlsCurrTxSw).
    pub current_send: u64,
    /// Connections for which the kernel decrypts now (TlsCurrRxSw).
    pub current_receive: u64,
    /// All connections for which the kernel has encrypted (TlsTxSw).
    pub total_send: u64,
    /// All connections for which the kernel has decrypted (TlsRxSw).
    pub total_receive: u64,
    /// All connections given to a network card, sending and receiving together (TlsTxDevice +
    /// TlsRxDevice).
    pub total_device: u64,
    /// Records that did not authenticate (TlsDecryptError).
    pub decrypt_errors: u64,
    /// Records decrypted again because they were not plain data (TlsDecryptRetry).
    pub decrypt_retries: u64,
    /// Records with padding where none was expected (TlsRxNoPadViolation).
    pub padding_violations: u64,
}

impl TlsStat {
    /// Reads the counters; `None` if the tls module is not loaded.
    pub fn read() -> Option<Self> {
        std::fs::read_to_string("/proc/net/tls_stat").ok().map(|text| Self::parse(&text))
    }

    /// Parses lines of a name and a number. A counter that the kernel does not have is 0.
    fn parse(text: &str) -> Self {
        let mut stat = Self::default();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some(name), Some(value)) = (words.next(), words.next().and_then(|word| word.parse::<u64>().ok()))
            else {
                continue;
            };
            match name {
                "TlsCurrTxSw" => stat.current_send = value,
                "TlsCurrRxSw" => stat.current_receive = value,
                "TlsTxSw" => stat.total_send = value,
                "TlsRxSw" => stat.total_receive = value,
                "TlsTxDevice" | "TlsRxDevice" => stat.total_device += value,
                "TlsDecryptError" => stat.decrypt_errors = value,
                "TlsDecryptRetry" => stat.decrypt_retries = value,
                "TlsRxNoPadViolation" => stat.padding_violations = value,
                _ => {}
            }
        }
        stat
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_by_name() {
        let text = "TlsCurrTxSw                     \t1\nTlsCurrRxSw                     \t2\nTlsTxSw                         \t30\n\
                    TlsRxSw                         \t40\nTlsTxDevice                     \t5\nTlsRxDevice                     \t6\n\
                    TlsDecryptError                 \t7\nTlsRxDeviceResync               \t8\nTlsDecryptRetry                 \t9\n\
                    TlsRxNoPadViolation             \t10\nTlsRxRekeyOk                    \t11\nnonsense\nTlsTxSw x\n";
        let expected = TlsStat {
            current_send: 1,
            current_receive: 2,
            total_send: 30,
            total_receive: 40,
            total_device: 11,
            decrypt_errors: 7,
            decrypt_retries: 9,
            padding_violations: 10,
        };
        assert_eq!(TlsStat::parse(text), expected);
    }

    #[test]
    fn the_module_is_found_by_its_whole_name() {
        assert!(names_tls_module("kernel/net/ipv4/tcp_bbr.ko:\nkernel/net/tls/tls.ko.xz: kernel/lib/x.ko.xz\n"));
        assert!(names_tls_module("kernel/net/tls/tls.ko:\n"));
        // The name does not count as a dependency of another module, nor as the end of another
        // name.
        assert!(!names_tls_module(
            "kernel/drivers/x.ko: kernel/net/tls/tls.ko\nkernel/fs/mytls.ko:\nkernel/net/tls/tls.kox:\n"
        ));
    }

    #[test]
    fn each_reason_is_distinguished() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(installed_in(folder.path()), MissingTls::Unknown);
        std::fs::write(folder.path().join("modules.dep"), "kernel/fs/fuse/fuse.ko:\n").unwrap();
        assert_eq!(installed_in(folder.path()), MissingTls::NotInKernel);
        std::fs::write(folder.path().join("modules.dep"), "kernel/net/tls/tls.ko.zst:\n").unwrap();
        assert_eq!(installed_in(folder.path()), MissingTls::NotLoaded);
        assert_eq!(why_missing(Errno::NOPROTOOPT.raw_os_error()), MissingTls::NotInKernel);
        assert_eq!(why_missing(Errno::PERM.raw_os_error()), MissingTls::Refused(1));
    }
}
