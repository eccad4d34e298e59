//! Owns the socket options of a bulk lane, and TCP's measurements of its path.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{RecvFlags, recv, sockopt};

/// Unanswered probes before the kernel gives up a silent connection (tcp(7), TCP_KEEPCNT). The
/// kernel's default of 9 would mean 11 minutes.
const KEEPALIVE_PROBES: u32 = 3;

/// Requests a send buffer of `bytes`. The kernel doubles it and limits it to net.core.wmem_max
/// (socket(7)). Returns the buffer's size.
pub fn set_send_buffer(fd: impl AsFd, bytes: usize) -> io::Result<usize> {
    let fd = fd.as_fd();
    sockopt::set_socket_send_buffer_size(fd, bytes)?;
    Ok(sockopt::socket_send_buffer_size(fd)?)
}

/// Requests a receive buffer of `bytes`. The kernel doubles it and limits it to net.core.rmem_max.
/// Returns the buffer's size.
pub fn set_receive_buffer(fd: impl AsFd, bytes: usize) -> io::Result<usize> {
    let fd = fd.as_fd();
    sockopt::set_socket_recv_buffer_size(fd, bytes)?;
    Ok(sockopt::socket_recv_buffer_size(fd)?)
}

/// The size of the receive buffer, as the kernel counts it: twice what it holds. It grows if no
/// size was set.
pub fn receive_buffer(fd: impl AsFd) -> io::Result<usize> {
    Ok(sockopt::socket_recv_buffer_size(fd.as_fd())?)
}

/// Chooses a TCP connection's congestion control by name (TCP_CONGESTION, tcp(7)).
///
/// # Errors
/// `NotFound` if the kernel has no such algorithm, `PermissionDenied` if only root may choose it.
pub fn set_congestion_control(fd: impl AsFd, name: &str) -> io::Result<()> {
    Ok(sockopt::set_tcp_congestion(fd.as_fd(), name)?)
}

/// Makes the socket accept data only while fewer than `bytes` of it are unsent (TCP_NOTSENT_LOWAT,
/// tcp(7)), however large its send buffer is. A writer that waits goes on at half of that.
pub fn set_unsent_low_water(fd: impl AsFd, bytes: usize) -> io::Result<()> {
    let value = libc::c_int::try_from(bytes).map_err(|_| io::ErrorKind::InvalidInput)?;
    set_int(fd.as_fd().as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, value)
}

/// Makes the socket readable only once `bytes` have arrived (SO_RCVLOWAT, socket(7)), which saves
/// wake-ups.
///
/// Use it with poll and a read that does not block. A blocking read may take a part and then sleep
/// until `bytes` *more* have arrived, because the kernel compares the mark with the unread bytes
/// (tcp_data_ready). Set it back to 1 before the last bytes of anything that the peer waits on, or
/// both wait forever.
pub fn set_receive_low_water(fd: impl AsFd, bytes: usize) -> io::Result<()> {
    let value = libc::c_int::try_from(bytes).map_err(|_| io::ErrorKind::InvalidInput)?;
    set_int(fd.as_fd().as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVLOWAT, value)
}

/// Reads the bytes that have arrived, up to the length of `buf`, without waiting (recv(2),
/// MSG_DONTWAIT); 0 at the stream's end.
///
/// # Errors
/// `WouldBlock` if nothing has arrived, and the errors of recv(2) for a broken connection.
pub fn receive_now(fd: impl AsFd, buf: &mut [u8]) -> io::Result<usize> {
    let received = rustix::io::retry_on_intr(|| recv(fd.as_fd(), &mut *buf, RecvFlags::DONTWAIT))?;
    Ok(received.0)
}

/// Waits until the socket is readable: the low-water mark is reached, or the stream has ended or
/// broken (poll(2)).
pub fn wait_readable(fd: impl AsFd) -> io::Result<()> {
    let fd = fd.as_fd();
    rustix::io::retry_on_intr(|| poll(&mut [PollFd::new(&fd, PollFlags::IN)], None))?;
    Ok(())
}

/// Sends small writes at once (TCP_NODELAY, tcp(7)).
pub fn set_nodelay(fd: impl AsFd, on: bool) -> io::Result<()> {
    Ok(sockopt::set_tcp_nodelay(fd, on)?)
}

/// Probes a silent connection after `idle` and then every `interval`, both at least a second. It
/// gives up after three probes.
pub fn set_keepalive(fd: impl AsFd, idle: Duration, interval: Duration) -> io::Result<()> {
    let fd = fd.as_fd();
    sockopt::set_socket_keepalive(fd, true)?;
    sockopt::set_tcp_keepidle(fd, idle)?;
    sockopt::set_tcp_keepintvl(fd, interval)?;
    Ok(sockopt::set_tcp_keepcnt(fd, KEEPALIVE_PROBES)?)
}

/// Gives up the connection if sent data stays unacknowledged for `limit` (TCP_USER_TIMEOUT,
/// tcp(7)). Zero selects the kernel's default.
pub fn set_user_timeout(fd: impl AsFd, limit: Duration) -> io::Result<()> {
    let limit_ms = u32::try_from(limit.as_millis()).map_err(|_| io::ErrorKind::InvalidInput)?;
    Ok(sockopt::set_tcp_user_timeout(fd, limit_ms)?)
}

/// What the kernel knows of a TCP connection's path (TCP_INFO).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpPath {
    /// Smoothed round-trip time.
    pub rtt: Duration,
    /// Its mean deviation.
    pub rtt_variation: Duration,
    /// The least round-trip time of the last minutes, if the kernel reports one (since 4.9). What
    /// exceeds it is time in queues.
    pub rtt_min: Option<Duration>,
    /// The round-trip time as this end measures it by the data that it receives; zero if little has
    /// arrived.
    pub rtt_receiving: Duration,
    /// Segments sent again since the connection began.
    pub retransmits: u32,
    /// Congestion window in segments.
    pub congestion_window_segments: u32,
    /// Bytes a segment carries.
    pub segment_bytes: u32,
    /// Time since data last arrived. If none has arrived, it is counted from some time before the
    /// connection.
    pub since_data: Duration,
    /// Time since the last acknowledgement, if a segment was retransmitted since and is
    /// unacknowledged. A peer that accepts no data for now still acknowledges.
    pub unanswered: Option<Duration>,
    /// Bytes that the peer's kernel has acknowledged since the connection began, including those
    /// that the peer has not read.
    pub acknowledged: u64,
}

/// Reads [`TcpPath`] of a connected TCP socket.
pub fn tcp_path(fd: impl AsFd) -> io::Result<TcpPath> {
    // SAFETY: `tcp_info` is plain integers, for which all zeroes is a value.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the pointer and `length` describe `info`, live and exclusively borrowed over the
    // call; a kernel that knows a shorter structure fills less and leaves the zeroes.
    let rc = unsafe {
        libc::getsockopt(
            fd.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    if rc != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(TcpPath {
        rtt: Duration::from_micros(info.tcpi_rtt.into()),
        rtt_variation: Duration::from_micros(info.tcpi_rttvar.into()),
        rtt_min: (1..u32::MAX).contains(&info.tcpi_min_rtt).then(|| Duration::from_micros(info.tcpi_min_rtt.into())),
        rtt_receiving: Duration::from_micros(info.tcpi_rcv_rtt.into()),
        retransmits: info.tcpi_total_retrans,
        congestion_window_segments: info.tcpi_snd_cwnd,
        segment_bytes: info.tcpi_snd_mss,
        since_data: Duration::from_millis(info.tcpi_last_data_recv.into()),
        acknowledged: info.tcpi_bytes_acked,
        unanswered: (info.tcpi_retransmits > 0).then(|| Duration::from_millis(info.tcpi_last_ack_recv.into())),
    })
}

/// setsockopt(2) with a C int.
pub(crate) fn set_int(
    fd: std::os::fd::RawFd,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: the pointer and length describe `value`, which lives over the call and is only read.
    let rc = unsafe {
        libc::setsockopt(fd, level, option, (&raw const value).cast(), size_of::<libc::c_int>() as libc::socklen_t)
    };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
