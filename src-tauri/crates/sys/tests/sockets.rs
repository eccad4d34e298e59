//! Socket options are read back as the kernel keeps them, and probes agree with what happens.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use ringway_sys::probe::{self, Whose};
use ringway_sys::socket;
use rustix::net::sockopt;

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (stream, listener.accept().unwrap().0)
}

#[test]
fn options_are_set() {
    let (stream, _peer) = pair();
    // The kernel doubles the requested size and keeps half for its own use (socket(7)).
    assert_eq!(socket::set_send_buffer(&stream, 65_536).unwrap(), 131_072);
    assert_eq!(socket::set_receive_buffer(&stream, 65_536).unwrap(), 131_072);
    socket::set_nodelay(&stream, true).unwrap();
    assert!(sockopt::tcp_nodelay(&stream).unwrap());
    socket::set_keepalive(&stream, Duration::from_secs(20), Duration::from_secs(5)).unwrap();
    assert!(sockopt::socket_keepalive(&stream).unwrap());
    assert_eq!(sockopt::tcp_keepidle(&stream).unwrap(), Duration::from_secs(20));
    assert_eq!(sockopt::tcp_keepintvl(&stream).unwrap(), Duration::from_secs(5));
    assert_eq!(sockopt::tcp_keepcnt(&stream).unwrap(), 3);
    socket::set_user_timeout(&stream, Duration::from_millis(30_500)).unwrap();
    assert_eq!(sockopt::tcp_user_timeout(&stream).unwrap(), 30_500);
    assert!(socket::set_user_timeout(&stream, Duration::from_secs(1 << 40)).is_err());
    assert!(socket::set_receive_low_water(&stream, usize::MAX).is_err());
}

#[test]
fn a_socket_takes_little_more_than_it_can_send() {
    let taken = |unsent_max: Option<usize>| {
        let (mut stream, _peer) = pair();
        socket::set_send_buffer(&stream, 2 * 1024 * 1024).unwrap();
        if let Some(bytes) = unsent_max {
            socket::set_unsent_low_water(&stream, bytes).unwrap();
        }
        stream.set_nonblocking(true).unwrap();
        // The peer reads nothing, so its kernel takes the same part in both cases.
        std::iter::from_fn(|| stream.write(&[0; 4096]).ok()).sum::<usize>()
    };
    let (little, much) = (taken(Some(16_384)), taken(None));
    assert!(little + 1024 * 1024 < much, "{little} {much}");
    let (stream, _peer) = pair();
    assert!(socket::set_unsent_low_water(&stream, usize::MAX).is_err());
}

#[test]
fn a_socket_is_readable_from_the_low_water_mark_on() {
    let (mut stream, mut peer) = pair();
    let readable = |stream: &TcpStream, limit_ms: i32| {
        let mut poll = libc::pollfd { fd: stream.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one pollfd, live and exclusively borrowed over the call.
        unsafe { libc::poll(&raw mut poll, 1, limit_ms) == 1 }
    };
    socket::set_receive_low_water(&stream, 100).unwrap();
    peer.write_all(&[1; 60]).unwrap();
    assert!(!readable(&stream, 50));
    peer.write_all(&[1; 60]).unwrap();
    assert!(readable(&stream, 10_000));
    assert_eq!(stream.read(&mut [0; 200]).unwrap(), 120);
    socket::set_receive_low_water(&stream, 1).unwrap();
    peer.write_all(&[1; 2]).unwrap();
    assert!(readable(&stream, 10_000));
    assert_eq!(stream.read(&mut [0; 200]).unwrap(), 2);
}

#[test]
fn tcp_reports_its_path() {
    let (mut stream, mut peer) = pair();
    stream.write_all(&[0; 10_000]).unwrap();
    peer.read_exact(&mut [0; 10_000]).unwrap();
    let path = socket::tcp_path(&stream).unwrap();
    assert!(path.rtt > Duration::ZERO && path.rtt < Duration::from_secs(1));
    assert!(socket::tcp_path(&peer).unwrap().since_data < Duration::from_secs(60));
    assert_eq!(path.unanswered, None);
    assert!(path.acknowledged >= 10_000, "{path:?}");
    assert!(path.segment_bytes > 500 && path.congestion_window_segments > 0);
    assert!(socket::tcp_path(std::fs::File::open("/dev/null").unwrap()).is_err());
}

#[test]
fn this_machine_is_described() {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(probe::kernel_release(), release.trim());
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert_eq!(probe::host_name(), name.trim());
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap();
    let has = |flag| cpu.split_ascii_whitespace().any(|word| word == flag);
    assert_eq!(probe::cpu_aes().single, has("aes"));
    assert_eq!(probe::cpu_aes().vector, has("vaes"));
}

#[test]
fn the_limit_on_open_files_is_raised_to_its_maximum() {
    let before = probe::open_files_limit();
    assert!(before.soft <= before.hard);
    let after = probe::raise_open_files_limit().unwrap();
    assert_eq!((after.soft, after.hard), (before.hard, before.hard));
}

#[test]
fn cpu_time_and_memory_are_counted() {
    let before = probe::usage(Whose::Thread);
    let began = Instant::now();
    let mut memory = vec![0_u8; 32 << 20];
    while (probe::usage(Whose::Thread).cpu() - before.cpu()) < Duration::from_millis(20) {
        memory.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
        assert!(began.elapsed() < Duration::from_secs(60), "no CPU time is counted");
    }
    assert!(probe::usage(Whose::Process).cpu() >= probe::usage(Whose::Thread).cpu());
    assert!(probe::usage(Whose::Thread).peak_memory_bytes >= memory.len() as u64);
}
