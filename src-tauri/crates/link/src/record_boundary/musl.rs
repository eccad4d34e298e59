//! `CorkStream` for musl: it follows the headers of the records that are read through it.
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Type, version and length (RFC 8446 section 5.1).
const HEADER_LEN: usize = 5;

/// A stream that can stop reading between two records.
pub struct CorkStream<S> {
    /// The underlying stream.
    pub io: S,
    /// Whether reading ends, as at the end of the stream, before the next record.
    pub corked: bool,
    at: At,
}

/// The position in a record.
enum At {
    Header { bytes: [u8; HEADER_LEN], read: usize },
    Content { left: usize },
}

const BEGINNING: At = At::Header { bytes: [0; HEADER_LEN], read: 0 };

impl<S> CorkStream<S> {
    /// A stream that is not corked.
    pub fn new(io: S) -> Self {
        Self { io, corked: false, at: BEGINNING }
    }
}

impl At {
    /// Bytes to read until the position's next change.
    fn wanted(&self) -> usize {
        match self {
            Self::Header { read, .. } => HEADER_LEN - read,
            Self::Content { left } => *left,
        }
    }

    /// Advances by `part`, which is no longer than the wanted bytes. A length that no record may
    /// have is refused by rustls, which reads it too.
    fn advance(&mut self, part: &[u8]) {
        match self {
            Self::Header { bytes, read } => {
                bytes[*read..][..part.len()].copy_from_slice(part);
                *read += part.len();
                if *read == HEADER_LEN {
                    *self = Self::Content { left: u16::from_be_bytes([bytes[3], bytes[4]]).into() };
                }
            }
            Self::Content { left } => *left -= part.len(),
        }
        if matches!(self, Self::Content { left: 0 }) {
            *self = BEGINNING;
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for CorkStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.corked && matches!(this.at, At::Header { read: 0, .. }) {
            return Poll::Ready(Ok(()));
        }
        let room = this.at.wanted().min(buf.remaining());
        let mut part = ReadBuf::new(buf.initialize_unfilled_to(room));
        ready!(Pin::new(&mut this.io).poll_read(context, &mut part))?;
        this.at.advance(part.filled());
        let read = part.filled().len();
        buf.advance(read);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for CorkStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::AsyncReadExt;

    use super::*;

    fn record(len: usize) -> Vec<u8> {
        let mut record = vec![23, 3, 3];
        record.extend((len as u16).to_be_bytes());
        record.extend(vec![7; len]);
        record
    }

    /// A source that returns its bytes in pieces of the given sizes, over and over.
    struct Pieces<'a> {
        left: &'a [u8],
        sizes: std::iter::Cycle<std::slice::Iter<'a, usize>>,
    }

    impl AsyncRead for Pieces<'_> {
        fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            let size = self.sizes.next().copied().unwrap_or(1).min(buf.remaining()).min(self.left.len());
            let (now, later) = self.left.split_at(size);
            buf.put_slice(now);
            self.left = later;
            Poll::Ready(Ok(()))
        }
    }

    proptest! {
        /// Wherever the reader is when the cork is set, reading ends after the current record, and
        /// no byte is lost or read twice.
        #[test]
        fn corked_reading_ends_between_two_records(
            lens in proptest::collection::vec(0_usize..300, 1..8),
            sizes in proptest::collection::vec(1_usize..40, 1..5),
            room in 1_usize..64,
            reads in 0_usize..40,
        ) {
            let records: Vec<_> = lens.iter().map(|len| record(*len)).collect();
            let all = records.concat();
            let mut ends = vec![0];
            records.iter().for_each(|record| ends.push(ends[ends.len() - 1] + record.len()));
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let mut cork = CorkStream::new(Pieces { left: &all, sizes: sizes.iter().cycle() });
                let (mut read, mut buf) = (Vec::new(), vec![0; room]);
                for _ in 0..reads {
                    let count = cork.read(&mut buf).await.unwrap();
                    read.extend_from_slice(&buf[..count]);
                }
                let before = read.len();
                cork.corked = true;
                loop {
                    let count = cork.read(&mut buf).await.unwrap();
                    if count == 0 {
                        break;
                    }
                    read.extend_from_slice(&buf[..count]);
                }
                let wanted = *ends.iter().find(|end| **end >= before).unwrap();
                assert_eq!(read.len(), wanted);
                assert_eq!([&read[..], cork.io.left].concat(), all);
            });
        }
    }
}
