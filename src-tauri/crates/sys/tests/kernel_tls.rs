//! Kernel TLS on a connection to itself: `receive` returns data, alerts, handshake records and
//! forgeries. If the kernel has no TLS the test checks the reason instead.

mod common;

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use ringway_sys::ktls::{KernelTls, MissingTls, Received, TlsStat, expect_no_pad, receive, send_close_notify, support};

use common::{errno, pattern, skipped};

const SOL_TLS: libc::c_int = 282;
const TLS_TX: libc::c_int = 1;
const TLS_RX: libc::c_int = 2;

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (stream, listener.accept().unwrap().0)
}

fn set_ulp(stream: &TcpStream) -> io::Result<()> {
    // SAFETY: pointer and length describe a static string.
    let rc =
        unsafe { libc::setsockopt(stream.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_ULP, c"tls".as_ptr().cast(), 3) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Gives the kernel fixed TLS 1.3 AES-128-GCM keys for one direction (struct
/// tls12_crypto_info_aes_gcm_128, tls.h).
fn set_keys(stream: &TcpStream, direction: libc::c_int) {
    const TLS_1_3: u16 = 0x0304;
    const AES_GCM_128: u16 = 51;
    let mut info = Vec::new();
    info.extend(TLS_1_3.to_ne_bytes());
    info.extend(AES_GCM_128.to_ne_bytes());
    info.extend([3; 8]); // initialisation vector
    info.extend([5; 16]); // key
    info.extend([7; 4]); // salt
    info.extend([0; 8]); // sequence number
    // SAFETY: pointer and length describe `info`.
    let rc = unsafe {
        libc::setsockopt(stream.as_raw_fd(), SOL_TLS, direction, info.as_ptr().cast(), info.len() as libc::socklen_t)
    };
    assert_eq!(rc, 0, "{}", io::Error::last_os_error());
}

/// A sender and a receiver connected by the kernel's TLS; `None`, reported as skipped, if the
/// kernel has none.
fn tls_pair(test: &str) -> Option<(TcpStream, TcpStream)> {
    if let KernelTls::Missing(why) = support() {
        skipped(test, &why.to_string());
        return None;
    }
    let (sender, receiver) = pair();
    set_ulp(&sender).unwrap();
    set_ulp(&receiver).unwrap();
    set_keys(&sender, TLS_TX);
    set_keys(&receiver, TLS_RX);
    Some((sender, receiver))
}

/// Sends `content` as one record of the given type, as `send_close_notify` does for an alert.
fn send_record(stream: &TcpStream, record_type: u8, content: &[u8]) {
    #[repr(C, align(8))]
    struct Control([u8; 64]);
    let mut control = Control([0; 64]);
    let mut vector = libc::iovec { iov_base: content.as_ptr().cast_mut().cast(), iov_len: content.len() };
    // SAFETY: all zeroes is a msghdr; every pointer in it is to a local that lives over the call,
    // with its true length.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut vector;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(1) as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = SOL_TLS;
        (*header).cmsg_type = 1;
        (*header).cmsg_len = libc::CMSG_LEN(1) as _;
        *libc::CMSG_DATA(header) = record_type;
        assert_eq!(libc::sendmsg(stream.as_raw_fd(), &raw const message, 0), content.len() as isize);
    }
}

#[test]
fn support_agrees_with_a_socket() {
    let (stream, _peer) = pair();
    match (set_ulp(&stream), support()) {
        (Ok(()), KernelTls::Available) => {
            assert!(Path::new("/proc/net/tls_stat").exists() && TlsStat::read().is_some())
        }
        (Err(error), KernelTls::Missing(why)) => {
            assert_eq!(errno(&error), libc::ENOENT, "an errno that no test knows");
            // The module can be loaded, is missing, or this cannot be found out.
            assert_eq!(why == MissingTls::NotInKernel, !Path::new("/proc/modules").exists(), "{why:?}");
            assert!(!matches!(why, MissingTls::Refused(_) | MissingTls::NoLoopback(_)), "{why:?}");
            assert_eq!(TlsStat::read(), None);
        }
        (raw, probed) => panic!("{raw:?} but {probed:?}"),
    }
}

#[test]
fn a_plain_socket_is_read_and_its_end_seen() {
    let (mut sender, receiver) = pair();
    let mut buf = [0; 100];
    sender.write_all(b"plain").unwrap();
    assert_eq!(receive(&receiver, &mut buf).unwrap(), Received::Data(5));
    assert_eq!(&buf[..5], b"plain");
    assert_eq!(receive(&receiver, &mut []).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    receiver.set_nonblocking(true).unwrap();
    assert_eq!(receive(&receiver, &mut buf).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    sender.shutdown(Shutdown::Write).unwrap();
    receiver.set_nonblocking(false).unwrap();
    assert_eq!(receive(receiver.as_fd(), &mut buf).unwrap(), Received::Closed);
    // Its socket has no TLS options.
    assert!(!expect_no_pad(&receiver).unwrap());
}

#[test]
fn data_and_control_records_are_distinguished() {
    let Some((mut sender, receiver)) = tls_pair("data_and_control_records_are_distinguished") else { return };
    let before = TlsStat::read().unwrap();
    println!("padding expected away: {}", expect_no_pad(&receiver).unwrap());
    let contents = pattern(1, 100_000);
    let mut buf = vec![0; 100_000];
    sender.write_all(&contents[..40_000]).unwrap();
    let mut got = 0;
    while got < 40_000 {
        match receive(&receiver, &mut buf[got..40_000]).unwrap() {
            Received::Data(bytes) => got += bytes,
            other => panic!("{other:?}"),
        }
    }
    assert!(buf[..got] == contents[..got]);
    // A ticket of usual size and one of the greatest, each between data, read into a small buffer.
    for len in [200, 16_384] {
        let mut ticket = vec![0; len];
        ticket[0] = 4;
        sender.write_all(b"before").unwrap();
        send_record(&sender, 22, &ticket);
        sender.write_all(b"after").unwrap();
        let mut small = [0; 10];
        assert_eq!(receive(&receiver, &mut small).unwrap(), Received::Data(6));
        assert_eq!(receive(&receiver, &mut small).unwrap(), Received::Handshake(4));
        assert_eq!(receive(&receiver, &mut small).unwrap(), Received::Data(5));
        assert_eq!(&small[..5], b"after");
    }
    send_record(&sender, 21, &[2, 40]);
    assert_eq!(receive(&receiver, &mut buf).unwrap(), Received::Alert { level: 2, description: 40 });
    send_close_notify(&sender).unwrap();
    assert_eq!(receive(&receiver, &mut buf).unwrap(), Received::Alert { level: 1, description: 0 });
    sender.shutdown(Shutdown::Write).unwrap();
    assert_eq!(receive(&receiver, &mut buf).unwrap(), Received::Closed);
    let after = TlsStat::read().unwrap();
    assert!(after.current_send > 0 && after.current_receive > 0);
    assert_eq!(after.decrypt_errors, before.decrypt_errors);
}

#[test]
fn a_forged_record_is_an_error() {
    let Some((mut sender, receiver)) = tls_pair("a_forged_record_is_an_error") else { return };
    drop(receiver);
    // A connection with keys on the receiving side only, so that the test can write any bytes to
    // it.
    let (mut forger, forged) = pair();
    set_ulp(&forged).unwrap();
    set_keys(&forged, TLS_RX);
    forger.write_all(&[23, 3, 3, 0, 32]).unwrap();
    forger.write_all(&[9; 32]).unwrap();
    assert_eq!(errno(&receive(&forged, &mut [0; 100]).unwrap_err()), libc::EBADMSG);
    // The kernel does not send plaintext.
    sender.write_all(b"").unwrap();
    let (mut plain, mut eavesdropper) = pair();
    set_ulp(&plain).unwrap();
    set_keys(&plain, TLS_TX);
    plain.write_all(&[b'x'; 100]).unwrap();
    let mut record = [0; 5 + 100 + 1 + 16];
    eavesdropper.read_exact(&mut record).unwrap();
    assert_eq!(&record[..5], [23, 3, 3, 0, 117]);
    assert!(!record.windows(4).any(|bytes| bytes == b"xxxx"));
}
