//! Lines of bounded length from a socket.
use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

/// Reads a line into `line`, without its end; false at the end of what is sent. What stands there
/// without a line's end is no line.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] for a line that is longer than `len_max`, of which no more than
/// that is held; and what the socket says.
pub(crate) async fn read_line(
    from: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
    len_max: usize,
) -> io::Result<bool> {
    line.clear();
    from.take(len_max as u64 + 1).read_until(b'\n', line).await?;
    if line.pop_if(|last| *last == b'\n').is_some() {
        return Ok(true);
    }
    if line.len() > len_max { Err(io::ErrorKind::InvalidData.into()) } else { Ok(false) }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(mut text: &[u8]) -> (Vec<Vec<u8>>, bool) {
        let (mut all, mut line) = (Vec::new(), Vec::new());
        loop {
            match read_line(&mut text, &mut line, 4).await {
                Ok(true) => all.push(line.clone()),
                Ok(false) => return (all, true),
                Err(_) => return (all, false),
            }
        }
    }

    #[tokio::test]
    async fn lines_are_cut_at_their_ends_and_long_ones_refused() {
        let own = |lines: &[&str]| lines.iter().map(|line| line.as_bytes().to_vec()).collect::<Vec<_>>();
        assert_eq!(lines(b"a\n\n1234\n").await, (own(&["a", "", "1234"]), true));
        assert_eq!(lines(b"a\nrest").await, (own(&["a"]), true));
        assert_eq!(lines(b"a\n12345\n").await, (own(&["a"]), false));
        assert_eq!(lines(b"").await, (own(&[]), true));
    }
}
