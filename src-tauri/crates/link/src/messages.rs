//! Control messages over a TLS stream: framing for tokio, cancel-safe in both directions.
use std::io;

use ringway_model::Fault;
use ringway_wire::control::{FRAME_PREFIX_LEN, Message};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Reads framed messages. Dropping a pending [`MessageReader::next`] loses nothing.
#[derive(Default)]
pub struct MessageReader {
    buffer: Vec<u8>,
}

impl MessageReader {
    /// The next message; `None` at a clean end between messages.
    pub async fn next(&mut self, stream: &mut (impl AsyncRead + Unpin)) -> Result<Option<Message>, Fault> {
        loop {
            if let Some((message, used)) = self.parse()? {
                self.buffer.drain(..used);
                return Ok(Some(message));
            }
            match stream.read_buf(&mut self.buffer).await {
                Ok(0) if self.buffer.is_empty() => return Ok(None),
                Ok(0) => return Err(Fault::lost(io::ErrorKind::UnexpectedEof)),
                Ok(_) => {}
                // Said without rustls's sentence, which is for its users.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(Fault::lost(error.kind())),
                Err(error) => return Err(Fault::ConnectionLost(error.into())),
            }
        }
    }

    /// Whether no bytes beyond the last message have arrived: nothing may follow a lane's first
    /// message.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    fn parse(&self) -> Result<Option<(Message, usize)>, Fault> {
        let Some(prefix) = self.buffer.first_chunk::<FRAME_PREFIX_LEN>() else {
            return Ok(None);
        };
        let end = FRAME_PREFIX_LEN + Message::payload_len(*prefix)?;
        match self.buffer.get(FRAME_PREFIX_LEN..end) {
            Some(payload) => Ok(Some((Message::decode(payload)?, end))),
            None => Ok(None),
        }
    }
}
