//! A lane's connection after its handshake: handed to the kernel if possible, else encrypted here.
//! It blocks, and one thread uses it.
pub mod growth;
mod kernel;
mod lasting;
mod receiving;
mod relay;
mod sending;
#[cfg(test)]
pub(crate) mod tests;
mod user;

use std::io::{self, IoSlice, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::JoinHandle;
use std::time::Duration;

use ringway_model::{Fault, TlsMode, TlsPath, UserTlsReason};
use ringway_sys::ktls::{KernelTls, Received};
use ringway_tree::bulk::{LaneSink, LaneSource};
use rustix::io::Errno;
use rustls::Connection;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;
use tokio_rustls::TlsStream;

use crate::kernel_tls;
use crate::record_boundary::CorkStream;
use crate::tls::Channel;
pub use lasting::{Arriving, Begun, LaneStops, LanesSeen, Renewing, Succeeding, Successor};
pub use receiving::ReceivingLane;
pub use relay::{Relay, Share};
pub use sending::SendingLane;
pub use user::{LowWater, UserTls};

/// Socket buffers of a lane that is encrypted here. Measured: autotuned ones wake either side too
/// often, and larger ones exceed the cache.
const SOCKET_BUFFER_LEN: usize = 2 * 1024 * 1024;

/// From this round-trip time on the kernel sizes the buffers. At 1 GB/s, [`SOCKET_BUFFER_LEN`]
/// bytes are then under way, and a lane could not send more. It is below [`LONG_LINK_FOR_LANES`],
/// because buffers that the kernel sizes needlessly cost a few wake-ups, while a needless lane
/// costs a core.
const LONG_LINK_FOR_BUFFERS: Duration = Duration::from_millis(2);

/// From this round-trip time on a transfer begins with several lanes. One connection seldom fills
/// such a link, because it starts slowly and recovers slowly from each loss.
pub(crate) const LONG_LINK_FOR_LANES: Duration = Duration::from_millis(5);

/// The congestion control for a long link, if the kernel has it and permits it
/// (net.ipv4.tcp_allowed_congestion_control). It models the path, instead of halving the rate for
/// each lost packet.
const LONG_LINK_CONGESTION_CONTROL: &str = "bbr";

/// Over a long link a lane takes more data while it has less than this unsent. The kernel sizes its
/// send buffer, which holds seconds of a slow lane's data. At the end of a transfer the other lanes
/// would wait for those, and while it runs they would count as sent.
const LONG_LINK_UNSENT_MAX: usize = 128 * 1024;

/// After this silence a lane's connection is probed. So a connection whose packets alone are
/// dropped ends while the session lives, after `LANE_SILENCE_MAX_MS`. A connection with data under
/// way is not probed; [`LaneStops::look`] handles that.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(15);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);

/// The error for a record that does not decrypt, whether the kernel or this process found it.
const ALTERED: &str = "the received record is not the one that was sent: it was altered on the way";

/// One end of a lane.
pub enum Lane {
    /// The kernel encrypts. Bytes that rustls had decrypted before the hand-off are read first.
    Kernel {
        /// The socket.
        tcp: TcpStream,
        /// The bytes that rustls had decrypted.
        early: io::Cursor<Vec<u8>>,
    },
    /// This process encrypts, with the keys from the handshake.
    User {
        /// The socket.
        tcp: TcpStream,
        /// The keys, and the data under way.
        tls: Box<UserTls>,
    },
}

/// Runs a lane's work on a separate thread and reports how it ended, even after a panic.
pub fn spawn<T: Send + 'static>(
    name: String,
    work: impl FnOnce() -> T + Send + 'static,
    panicked: impl FnOnce() -> T + Send + 'static,
    ended: mpsc::UnboundedSender<T>,
) -> Result<JoinHandle<()>, Fault> {
    let work = move || {
        // State that the lane shares is only used to end the transfer after that.
        let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| panicked());
        // The job may have ended meanwhile.
        let _ = ended.send(done);
    };
    std::thread::Builder::new().name(name).spawn(work).map_err(Fault::lost)
}

/// The path that a lane takes on this machine in this mode, or the reason why it cannot.
pub fn plan(mode: TlsMode) -> Result<TlsPath, Fault> {
    let reason = match (mode, ringway_sys::ktls::support()) {
        (TlsMode::User, _) => return Ok(TlsPath::User(UserTlsReason::Asked)),
        (_, KernelTls::Available) => return Ok(TlsPath::Kernel),
        (_, KernelTls::Missing(reason)) => kernel_tls::user_tls(reason),
    };
    match mode {
        TlsMode::Kernel => {
            let remedies = match reason {
                UserTlsReason::ModuleNotLoaded => kernel_tls::remedies(std::path::Path::new("/")),
                _ => Vec::new(),
            };
            Err(Fault::NoKernelTls { reason, remedies })
        }
        _ => Ok(TlsPath::User(reason)),
    }
}

impl Lane {
    /// Takes over a connection from the control plane. All control messages on it must have been
    /// sent and read.
    pub async fn take(channel: Channel, path: TlsPath) -> Result<Self, Fault> {
        match path {
            TlsPath::Kernel => Self::take_to_kernel(channel).await,
            TlsPath::User(_) => {
                let mut stream = channel.stream;
                stream.get_mut().0.corked = true;
                let early = drain(&mut stream).await?;
                let (cork, connection) = match stream {
                    TlsStream::Client(stream) => {
                        let (cork, tls) = stream.into_inner();
                        (cork, Connection::Client(tls))
                    }
                    TlsStream::Server(stream) => {
                        let (cork, tls) = stream.into_inner();
                        (cork, Connection::Server(tls))
                    }
                };
                let tcp = blocking(cork)?;
                let room = set_buffers(&tcp).map_err(Fault::lost)?;
                Ok(Self::User { tcp, tls: Box::new(UserTls::take(connection, early, room)?) })
            }
        }
    }

    async fn take_to_kernel(channel: Channel) -> Result<Self, Fault> {
        let (early, tcp) = kernel::hand_over(channel.stream).await?;
        // Ringway's records are never padded. On a kernel before 6.0 this only saves nothing.
        let _ = ringway_sys::ktls::expect_no_pad(tcp.as_fd());
        // The kernel sizes the buffers here. Records that wait for decryption take more space than
        // plain segments, so a receive buffer of fixed size (as far as net.core.rmem_max allows)
        // overflows. Dropped data is then sometimes missing for 200 ms.
        let tcp = blocking(CorkStream::new(tcp))?;
        Ok(Self::Kernel { tcp, early: io::Cursor::new(early) })
    }

    fn tcp(&self) -> &TcpStream {
        match self {
            Self::Kernel { tcp, .. } | Self::User { tcp, .. } => tcp,
        }
    }

    /// Announces that nothing follows (close_notify), so that the peer can tell an end from a cut.
    pub fn close(&mut self) -> io::Result<()> {
        match self {
            Self::Kernel { tcp, .. } => ringway_sys::ktls::send_close_notify(tcp.as_fd()),
            Self::User { tcp, tls } => tls.close(tcp),
        }
    }
}

/// The socket, blocking, for a separate thread.
fn blocking(cork: CorkStream<tokio::net::TcpStream>) -> Result<TcpStream, Fault> {
    let made = || -> io::Result<TcpStream> {
        let tcp = cork.io.into_std()?;
        tcp.set_nonblocking(false)?;
        ringway_sys::socket::set_keepalive(&tcp, KEEPALIVE_IDLE, KEEPALIVE_INTERVAL)?;
        if is_long(&tcp) {
            // Without them, the kernel's defaults are used.
            let _ = ringway_sys::socket::set_congestion_control(&tcp, LONG_LINK_CONGESTION_CONTROL);
            let _ = ringway_sys::socket::set_unsent_low_water(&tcp, LONG_LINK_UNSENT_MAX);
        }
        Ok(tcp)
    };
    made().map_err(Fault::lost)
}

/// Whether the link is long. An unknown link counts as short.
fn is_long(tcp: &TcpStream) -> bool {
    ringway_sys::socket::tcp_path(tcp).is_ok_and(|path| path.rtt >= LONG_LINK_FOR_BUFFERS)
}

/// Gives a socket the buffers of a lane that is encrypted here. Returns the size of its receive
/// buffer as the kernel counts it.
pub fn set_buffers(tcp: &TcpStream) -> io::Result<usize> {
    if is_long(tcp) {
        return ringway_sys::socket::receive_buffer(tcp);
    }
    ringway_sys::socket::set_send_buffer(tcp, SOCKET_BUFFER_LEN)?;
    ringway_sys::socket::set_receive_buffer(tcp, SOCKET_BUFFER_LEN)
}

/// The bytes that rustls has decrypted already. The cork ends this at a record boundary, so that
/// rustls holds no part of a record.
async fn drain(stream: &mut (impl AsyncRead + Unpin)) -> Result<Vec<u8>, Fault> {
    let mut early = Vec::new();
    loop {
        match stream.read_buf(&mut early).await {
            Ok(0) => return Ok(early),
            // This is how rustls reports the cork.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(early),
            Ok(_) => {}
            Err(error) => return Err(Fault::ConnectionLost(error.into())),
        }
    }
}

impl LaneSink for Lane {
    fn send(&mut self, header: &[u8], head: &[u8], body: &[u8]) -> io::Result<()> {
        match self {
            // Each call ends its last record. A body that begins with a record is encrypted and
            // decrypted in whole pages at both ends, which saves 3 % of a large file's cost.
            Self::Kernel { tcp, .. } => {
                write_all_vectored(tcp, [header, head, &[]])?;
                write_all_vectored(tcp, [body, &[], &[]])
            }
            Self::User { tcp, tls } => tls.send(tcp, [header, head, body]),
        }
    }
}

/// One call for header, head and body, so that the kernel fills whole records across them. Short
/// writes are continued.
pub fn write_all_vectored(tcp: &mut TcpStream, parts: [&[u8]; 3]) -> io::Result<()> {
    let mut slices = parts.map(IoSlice::new);
    let mut slices = &mut slices[..];
    IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        match tcp.write_vectored(slices) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut slices, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl LaneSource for Lane {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Kernel { tcp, early } => match io::Read::read(early, buf)? {
                0 => read_from_kernel(tcp, buf),
                read => Ok(read),
            },
            Self::User { tcp, tls } => tls.read(tcp, buf),
        }
    }
}

/// This end never gets tickets or key updates, so any record except data and an end is an error of
/// the peer.
fn read_from_kernel(tcp: &TcpStream, buf: &mut [u8]) -> io::Result<usize> {
    let received =
        ringway_sys::ktls::receive(tcp.as_fd(), buf).map_err(|error| match Errno::from_io_error(&error) {
            Some(Errno::BADMSG) => io::Error::new(io::ErrorKind::InvalidData, ALTERED),
            _ => error,
        })?;
    match received {
        Received::Data(read) => Ok(read),
        Received::Closed => Ok(0),
        Received::Alert { description: 0, .. } => Ok(0),
        Received::Alert { .. } => Err(io::Error::new(io::ErrorKind::InvalidData, "TLS alert on a lane")),
        Received::Handshake(_) | Received::Other(_) => {
            Err(io::Error::new(io::ErrorKind::InvalidData, "unexpected TLS record on a lane"))
        }
    }
}
