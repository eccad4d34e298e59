//! Connections of this process with itself: the only place where a lane's bytes are not encrypted.
//!
//! Only [`pair`] makes a [`PlainLane`]. It makes both ends and keeps them inside this process. So
//! nothing can be sent to another machine in plaintext, whatever the options.
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;

use ringway_model::{Fault, TlsPath, UserTlsReason};
use ringway_sys::socket;
use ringway_sys::stream::discard_now;
use ringway_tree::bulk::{LaneSink, LaneSource};
use tokio::runtime::{Builder, Runtime};

use crate::mode::Cipher;
use crate::work::check;
use ringway_link::key::DeviceKey;
use ringway_link::lane::{Lane, LowWater, set_buffers, write_all_vectored};
use ringway_link::tls::{Expected, Tls};

/// Two sockets of this process, connected with each other over 127.0.0.1: the connecting one first.
fn pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    let ours = near.local_addr()?;
    // Other programs on this machine may connect to the port while it listens. They are not
    // accepted.
    let far = loop {
        let (far, from) = listener.accept()?;
        if from == ours {
            break far;
        }
    };
    // As lanes have it.
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    Ok((near, far))
}

/// One end of a connection that is not encrypted. The other end is in this process.
pub(crate) struct PlainLane {
    tcp: TcpStream,
    low_water: LowWater,
}

impl PlainLane {
    fn pair() -> io::Result<(Self, Self)> {
        let end = |tcp: TcpStream| {
            let room = set_buffers(&tcp)?;
            Ok::<_, io::Error>(Self { tcp, low_water: LowWater::new(room) })
        };
        let (near, far) = pair()?;
        Ok((end(near)?, end(far)?))
    }

    /// Removes `len` bytes from the socket without copying them.
    fn discard(&mut self, len: usize) -> io::Result<()> {
        let mut left = len;
        while left > 0 {
            let due = left;
            left -= self.now_or_later(due, |tcp| discard_now(tcp, due))?;
        }
        Ok(())
    }

    /// Reads what has arrived, by a call that does not wait. If nothing has, it waits as lanes do.
    /// An error at the stream's end.
    fn now_or_later(&mut self, due: usize, mut take: impl FnMut(&TcpStream) -> io::Result<usize>) -> io::Result<usize> {
        loop {
            match take(&self.tcp) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.low_water.wait(&self.tcp, due)?,
                taken => return taken,
            }
        }
    }
}

/// One end of a connection, with any kind of encryption.
pub(crate) enum End {
    Plain(PlainLane),
    Tls(Lane),
}

impl End {
    /// The socket, if the kernel itself may move bytes into it and out of it.
    pub(crate) fn socket(&self) -> io::Result<&TcpStream> {
        match self {
            Self::Plain(lane) => Ok(&lane.tcp),
            Self::Tls(Lane::Kernel { tcp, early }) if early.get_ref().is_empty() => Ok(tcp),
            Self::Tls(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Fills all of `buf`.
    pub(crate) fn fill(&mut self, buf: &mut [u8]) -> io::Result<()> {
        let mut filled = 0;
        while filled < buf.len() {
            match LaneSource::read(self, &mut buf[filled..])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => filled += read,
            }
        }
        Ok(())
    }

    /// Reads and discards as many bytes as fill `buf`, in the cheapest way. Bytes that the kernel
    /// decrypts have to be copied somewhere.
    pub(crate) fn drain(&mut self, buf: &mut [u8]) -> io::Result<()> {
        match self {
            Self::Plain(lane) => lane.discard(buf.len()),
            Self::Tls(_) => self.fill(buf),
        }
    }

    /// Announces that nothing follows, as a lane does.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(lane) => lane.tcp.shutdown(std::net::Shutdown::Write),
            Self::Tls(lane) => lane.close(),
        }
    }
}

impl LaneSink for End {
    fn send(&mut self, header: &[u8], head: &[u8], body: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(lane) => write_all_vectored(&mut lane.tcp, [header, head, body]),
            Self::Tls(lane) => lane.send(header, head, body),
        }
    }
}

impl LaneSource for End {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(lane) => match lane.now_or_later(buf.len(), |tcp| socket::receive_now(tcp, &mut *buf)) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
                read => read,
            },
            Self::Tls(lane) => lane.read(buf),
        }
    }
}

/// An end that fails once the measurement is stopped.
pub(crate) struct Watched<'s> {
    pub(crate) end: End,
    pub(crate) stop: &'s AtomicBool,
}

impl LaneSink for Watched<'_> {
    fn send(&mut self, header: &[u8], head: &[u8], body: &[u8]) -> io::Result<()> {
        check(self.stop)?;
        self.end.send(header, head, body)
    }
}

impl LaneSource for Watched<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        check(self.stop)?;
        self.end.read(buf)
    }
}

/// Makes connections, with a key that lives as long as this value.
pub(crate) struct Wire {
    tls: Tls,
    runtime: Runtime,
}

impl Wire {
    pub(crate) fn new() -> Result<Self, Fault> {
        let runtime = Builder::new_current_thread().enable_io().build().map_err(Fault::lost)?;
        Ok(Self { tls: Tls::new(&DeviceKey::fleeting()?)?, runtime })
    }

    /// Both ends of a connection, the sending one first: after a real handshake, and handed over as
    /// lanes are.
    pub(crate) fn connect(&self, cipher: Cipher) -> Result<(End, End), Fault> {
        let path = match cipher {
            Cipher::Plaintext => {
                let (near, far) = PlainLane::pair().map_err(Fault::lost)?;
                return Ok((End::Plain(near), End::Plain(far)));
            }
            Cipher::User => TlsPath::User(UserTlsReason::Asked),
            Cipher::Kernel => TlsPath::Kernel,
        };
        self.runtime.block_on(async {
            let for_tokio = |tcp: TcpStream| {
                tcp.set_nonblocking(true)?;
                tokio::net::TcpStream::from_std(tcp)
            };
            let made = pair().and_then(|(near, far)| Ok((for_tokio(near)?, for_tokio(far)?)));
            let (near, far) = made.map_err(Fault::lost)?;
            let (connected, accepted) = tokio::join!(self.tls.connect(near, Expected::Anyone), self.tls.accept(far));
            let (near, far) = (Lane::take(connected?, path).await?, Lane::take(accepted?, path).await?);
            Ok((End::Tls(near), End::Tls(far)))
        })
    }

    /// A connection for each lane.
    pub(crate) fn lanes(&self, cipher: Cipher, lanes: u8) -> Result<Vec<(End, End)>, Fault> {
        (0..lanes).map(|_| self.connect(cipher)).collect()
    }
}

/// Reads until `buf` is full, from a socket that is in plaintext or encrypted by the kernel.
pub(crate) fn read_exact(mut socket: &TcpStream, buf: &mut [u8]) -> io::Result<()> {
    socket.read_exact(buf)
}

/// Writes without telling the kernel whether more follows.
pub(crate) fn write_all(mut socket: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    socket.write_all(bytes)
}
