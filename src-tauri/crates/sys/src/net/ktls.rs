//! Owns what kernel TLS needs in addition to the `ktls` crate: whether the kernel has it and why
//! not, handing over a connection for C libraries for which that crate does not compile, control
//! records, and the kernel's counters.
//!
//! Constants and rules are those of include/uapi/linux/tls.h and Documentation/networking/tls.rst.

mod keys;
mod support;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::io::Errno;

pub use keys::{Cipher, RecordKeys, hand_over};
pub use support::{KernelTls, MissingTls, TlsStat, support};

/// Level of kernel TLS in setsockopt and control messages (include/linux/socket.h).
const SOL_TLS: libc::c_int = 282;
/// Control message that sends a record of another type than data.
const TLS_SET_RECORD_TYPE: libc::c_int = 1;
/// Control message with the type of a received record.
const TLS_GET_RECORD_TYPE: libc::c_int = 2;
/// Socket option: decrypt TLS 1.3 records straight to the reader, expecting no padding (Linux 6.0).
const TLS_RX_EXPECT_NO_PAD: libc::c_int = 4;

/// Record types (RFC 8446 section 5.1).
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;

/// Longest content of a TLS record (RFC 8446 section 5.1).
const RECORD_BYTES_MAX: usize = 16_384;

/// Space for a control message of one byte. CMSG_SPACE(1) is 24 on 64-bit machines and 16 on 32-bit
/// ones.
const CONTROL_BYTES: usize = 64;

/// The alert that ends a connection properly: level warning, description close_notify (RFC 8446
/// section 6.1).
const CLOSE_NOTIFY: [u8; 2] = [1, 0];

/// What was read from a kernel TLS socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// This many bytes of data, at least one.
    Data(usize),
    /// The peer's TCP stream has ended, properly or not. Only the protocol above TLS tells whether
    /// that was the end.
    Closed,
    /// An alert; `description` 0 is close_notify (RFC 8446 section 6).
    Alert {
        /// 1 is a warning, 2 is fatal; TLS 1.3 gives the level no meaning.
        level: u8,
        /// Which alert.
        description: u8,
    },
    /// A handshake message of this type, which was consumed: 4 is a ticket, 24 a key update (RFC
    /// 8446 section 4). After a key update the kernel cannot read on without new keys.
    Handshake(u8),
    /// A record of another type, which was consumed.
    Other(u8),
}

/// Tells the kernel that received TLS 1.3 records have no padding, which saves a copy. Padded
/// records are still read, more slowly. To be called after the receive keys were set. `Ok(false)`
/// on kernels before 6.0, and for TLS 1.2.
pub fn expect_no_pad(fd: impl AsFd) -> io::Result<bool> {
    match crate::socket::set_int(fd.as_fd().as_raw_fd(), SOL_TLS, TLS_RX_EXPECT_NO_PAD, 1) {
        Ok(()) => Ok(true),
        Err(error) => match Errno::from_io_error(&error) {
            Some(Errno::NOPROTOOPT | Errno::INVAL | Errno::OPNOTSUPP) => Ok(false),
            _ => Err(error),
        },
    }
}

/// Reads decrypted data into `buf`, or returns the next control record.
///
/// # Errors
/// All errors of read(2) except EIO, which announces a control record: `EBADMSG` for a record that
/// does not authenticate, `EINVAL` or `EMSGSIZE` for a broken header. All of them end the
/// connection, because the kernel does not recover and may hang on the next read. `WouldBlock` is
/// not one of these. `InvalidInput` for an empty `buf`.
pub fn receive(fd: impl AsFd, buf: &mut [u8]) -> io::Result<Received> {
    if buf.is_empty() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let fd = fd.as_fd();
    match rustix::io::retry_on_intr(|| rustix::io::read(fd, &mut *buf)) {
        Ok(0) => Ok(Received::Closed),
        Ok(bytes) => Ok(Received::Data(bytes)),
        Err(Errno::IO) => receive_control(fd, buf),
        Err(error) => Err(error.into()),
    }
}

/// Reads the control record that made a plain read fail with EIO. The kernel returns one non-data
/// record per call, completely if the buffer is large enough. So the buffer here is as long as the
/// longest record.
#[cold]
fn receive_control(fd: BorrowedFd<'_>, buf: &mut [u8]) -> io::Result<Received> {
    let mut record = [0; RECORD_BYTES_MAX];
    let (bytes, record_type) = receive_message(fd, &mut record)?;
    let content = &record[..bytes];
    match record_type {
        // None: this is no TLS socket, or the data came without its type. In both cases no read
        // fails with EIO before.
        None | Some(APPLICATION_DATA) => {
            let room = buf.get_mut(..bytes).ok_or(io::ErrorKind::InvalidData)?;
            room.copy_from_slice(content);
            Ok(if bytes == 0 { Received::Closed } else { Received::Data(bytes) })
        }
        Some(ALERT) => match *content {
            [level, description] => Ok(Received::Alert { level, description }),
            _ => Err(io::ErrorKind::InvalidData.into()),
        },
        Some(HANDSHAKE) => Ok(Received::Handshake(*content.first().ok_or(io::ErrorKind::InvalidData)?)),
        Some(other) => Ok(Received::Other(other)),
    }
}

/// A control buffer with the alignment that CMSG_FIRSTHDR asks for.
#[repr(C)]
struct Control {
    align: [libc::cmsghdr; 0],
    bytes: [u8; CONTROL_BYTES],
}

impl Control {
    const fn new() -> Self {
        Self { align: [], bytes: [0; CONTROL_BYTES] }
    }
}

/// A `msghdr` over one buffer and a control buffer; valid as long as both and `vector` are.
fn message(vector: &mut libc::iovec, control: &mut Control, control_bytes: usize) -> libc::msghdr {
    // SAFETY: `msghdr` is integers and pointers, for which all zeroes, null, is a value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = vector;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes.as_mut_ptr().cast();
    message.msg_controllen = control_bytes as _;
    message
}

/// recvmsg(2) of one record, with its type if the kernel returned it.
fn receive_message(fd: BorrowedFd<'_>, buf: &mut [u8]) -> io::Result<(usize, Option<u8>)> {
    let mut vector = libc::iovec { iov_base: buf.as_mut_ptr().cast(), iov_len: buf.len() };
    let mut control = Control::new();
    let mut message = message(&mut vector, &mut control, CONTROL_BYTES);
    let bytes = loop {
        // SAFETY: `message` points to `vector`, `buf` and `control`, all live and exclusively
        // borrowed here, with their true lengths.
        match usize::try_from(unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut message, 0) }) {
            Ok(bytes) => break bytes,
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            },
        }
    };
    // SAFETY: the kernel has set `msg_controllen` to what it filled of `control`, which is aligned
    // for `cmsghdr`.
    let header = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
    if header.is_null() {
        return Ok((bytes, None));
    }
    // SAFETY: CMSG_FIRSTHDR gave a header that lies whole within what the kernel filled.
    let (level, kind, length) = unsafe { ((*header).cmsg_level, (*header).cmsg_type, (*header).cmsg_len as usize) };
    // SAFETY: CMSG_LEN only computes.
    let expected = unsafe { libc::CMSG_LEN(1) } as usize;
    if (level, kind) != (SOL_TLS, TLS_GET_RECORD_TYPE) || length < expected {
        return Ok((bytes, None));
    }
    // SAFETY: the header says that one byte of data follows it, which the kernel wrote into
    // `control`.
    Ok((bytes, Some(unsafe { *libc::CMSG_DATA(header) })))
}

/// Tells the peer that nothing more will be sent (RFC 8446 section 6.1). All data must have been
/// sent before. The TCP stream stays open.
pub fn send_close_notify(fd: impl AsFd) -> io::Result<()> {
    let fd = fd.as_fd();
    let mut alert = CLOSE_NOTIFY;
    let mut vector = libc::iovec { iov_base: alert.as_mut_ptr().cast(), iov_len: alert.len() };
    let mut control = Control::new();
    // SAFETY: CMSG_SPACE only computes.
    let space = unsafe { libc::CMSG_SPACE(1) } as usize;
    let message = message(&mut vector, &mut control, space);
    // SAFETY: `message` names `space` bytes of the aligned `control`, at most CONTROL_BYTES, which
    // hold one header and one byte of data.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = SOL_TLS;
        (*header).cmsg_type = TLS_SET_RECORD_TYPE;
        (*header).cmsg_len = libc::CMSG_LEN(1) as _;
        *libc::CMSG_DATA(header) = ALERT;
    }
    loop {
        // SAFETY: `message` points to `vector`, `alert` and `control`, all live and only read here.
        // MSG_NOSIGNAL: a closed peer is an error.
        let sent = unsafe { libc::sendmsg(fd.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
        match usize::try_from(sent) {
            Ok(bytes) if bytes == CLOSE_NOTIFY.len() => return Ok(()),
            // The kernel makes one record of one call, so an alert is never sent in halves.
            Ok(_) => return Err(io::ErrorKind::WriteZero.into()),
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            },
        }
    }
}
