//! A lane's connection after its handshake: handed to the kernel when it can be, else encrypted
//! here; blocking, for one thread.
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
pub use lasting::{Arriving, Begun, LaneStops, Renewing, Succeeding};
pub use receiving::ReceivingLane;
pub use relay::{Relay, Share};
pub use sending::SendingLane;
pub use user::{LowWater, UserTls};

/// Socket buffers of a lane that is encrypted here. Measured: autotuned ones wake either side too
/// often, larger ones miss the cache.
const SOCKET_BUFFER_LEN: usize = 2 * 1024 * 1024;

/// From this round-trip time on the kernel sizes them: [`SOCKET_BUFFER_LEN`] is what is under way
/// at 1 GB/s, and a lane could send no more. It is below [`LONG_LINK_FOR_LANES`], for leaving them
/// to the kernel costs a few wake-ups where it was not needed, and a lane too many costs a core.
const LONG_LINK_FOR_BUFFERS: Duration = Duration::from_millis(2);

/// From this round-trip time on a transfer begins with several lanes: one connection seldom fills
/// such a link, for it starts slowly and takes long to recover from each loss.
pub(crate) const LONG_LINK_FOR_LANES: Duration = Duration::from_millis(5);

/// What sends over a long link, where the kernel has it and lets us choose it
/// (net.ipv4.tcp_allowed_congestion_control): a model of the path, instead of half the speed for
/// each packet lost.
const LONG_LINK_CONGESTION_CONTROL: &str = "bbr";

/// A lane on which nothing comes asks whether its connection is still there, so that one whose
/// packets alone are dropped ends while the session lives: after `LANE_SILENCE_MAX_MS`. One with
/// data under way is not asked ([`LaneStops::stop_unanswered`] is for that).
const KEEPALIVE_IDLE: Duration = Duration::from_secs(15);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);

/// What a record is that does not decrypt, whoever found out.
const ALTERED: &str = "what came is not what was sent: a record was altered on the way";

/// One end of a lane.
pub enum Lane {
    /// The kernel encrypts; what rustls had decrypted before the hand-off comes first.
    Kernel {
        /// The socket.
        tcp: TcpStream,
        /// What rustls had decrypted.
        early: io::Cursor<Vec<u8>>,
    },
    /// We encrypt, with the keys that the handshake made.
    User {
        /// The socket.
        tcp: TcpStream,
        /// The keys, and what is under way.
        tls: Box<UserTls>,
    },
}

/// Runs a lane's work on a thread of its own and says how it ended, whatever happens to it.
pub fn spawn<T: Send + 'static>(
    name: String,
    work: impl FnOnce() -> T + Send + 'static,
    panicked: impl FnOnce() -> T + Send + 'static,
    ended: mpsc::UnboundedSender<T>,
) -> Result<JoinHandle<()>, Fault> {
    let work = move || {
        // Nothing that the lane shares is looked at again but to end the transfer.
        let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| panicked());
        // The job may have ended meanwhile.
        let _ = ended.send(done);
    };
    std::thread::Builder::new().name(name).spawn(work).map_err(Fault::lost)
}

/// What the mode means on this machine: the path a lane will take, or that it cannot.
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
    /// Takes a connection over from the control plane. Everything that was to be said on it in
    /// messages has been said and read.
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
        // Our own records are never padded; a kernel older than 6.0 merely does without the saving.
        let _ = ringway_sys::ktls::expect_no_pad(tcp.as_fd());
        // Its buffers stay the kernel's: records that wait for being decrypted take more room than
        // plain segments, so that a receive buffer that was set (to what net.core.rmem_max allows)
        // overflows, and what is dropped there is missed for 200 ms at times.
        let tcp = blocking(CorkStream::new(tcp))?;
        Ok(Self::Kernel { tcp, early: io::Cursor::new(early) })
    }

    fn tcp(&self) -> &TcpStream {
        match self {
            Self::Kernel { tcp, .. } | Self::User { tcp, .. } => tcp,
        }
    }

    /// Says that nothing follows (close_notify), so that the peer can tell an end from a cut.
    pub fn close(&mut self) -> io::Result<()> {
        match self {
            Self::Kernel { tcp, .. } => ringway_sys::ktls::send_close_notify(tcp.as_fd()),
            Self::User { tcp, tls } => tls.close(tcp),
        }
    }
}

/// The socket for a thread of its own.
fn blocking(cork: CorkStream<tokio::net::TcpStream>) -> Result<TcpStream, Fault> {
    let made = || -> io::Result<TcpStream> {
        let tcp = cork.io.into_std()?;
        tcp.set_nonblocking(false)?;
        ringway_sys::socket::set_keepalive(&tcp, KEEPALIVE_IDLE, KEEPALIVE_INTERVAL)?;
        if is_long(&tcp) {
            // Without it, the kernel's own choice does.
            let _ = ringway_sys::socket::set_congestion_control(&tcp, LONG_LINK_CONGESTION_CONTROL);
        }
        Ok(tcp)
    };
    made().map_err(Fault::lost)
}

/// A link that nothing is known of is taken for a short one.
fn is_long(tcp: &TcpStream) -> bool {
    ringway_sys::socket::tcp_path(tcp).is_ok_and(|path| path.rtt >= LONG_LINK_FOR_BUFFERS)
}

/// Gives a socket the buffers of a lane that is encrypted here, and says how many bytes its receive
/// buffer has as the kernel counts them.
pub fn set_buffers(tcp: &TcpStream) -> io::Result<usize> {
    if is_long(tcp) {
        return ringway_sys::socket::receive_buffer(tcp);
    }
    ringway_sys::socket::set_send_buffer(tcp, SOCKET_BUFFER_LEN)?;
    ringway_sys::socket::set_receive_buffer(tcp, SOCKET_BUFFER_LEN)
}

/// What rustls has decrypted already. The cork ends this at a record's boundary, so that no part of
/// a record is left inside.
async fn drain(stream: &mut (impl AsyncRead + Unpin)) -> Result<Vec<u8>, Fault> {
    let mut early = Vec::new();
    loop {
        match stream.read_buf(&mut early).await {
            Ok(0) => return Ok(early),
            // How rustls calls the cork.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(early),
            Ok(_) => {}
            Err(error) => return Err(Fault::ConnectionLost(error.into())),
        }
    }
}

impl LaneSink for Lane {
    fn send(&mut self, header: &[u8], head: &[u8], body: &[u8]) -> io::Result<()> {
        match self {
            // Each call ends its last record. A body that begins with one is encrypted and
            // decrypted in whole pages at both ends, which saves 3 % of all that a large file
            // takes.
            Self::Kernel { tcp, .. } => {
                write_all_vectored(tcp, [header, head, &[]])?;
                write_all_vectored(tcp, [body, &[], &[]])
            }
            Self::User { tcp, tls } => tls.send(tcp, [header, head, body]),
        }
    }
}

/// One call for header, head and body, so that the kernel fills whole records across them; short
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

/// Tickets and key updates are never sent to us, so any record but data and an end is a fault of
/// the peer's.
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
