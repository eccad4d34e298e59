//! Owns memory that begins at a page, for bulk bytes: kernel TLS works page by page, and what lies
//! across two takes it twice the steps.

use std::ops::{Deref, DerefMut};

/// Bytes of a page, or a part of one where pages are larger.
const PAGE_LEN: usize = 4096;

/// A buffer that is made when it is first needed, grows and is kept.
#[derive(Default)]
pub(crate) struct PageBuffer {
    bytes: Vec<u8>,
    start: usize,
}

impl PageBuffer {
    /// A buffer of `len` bytes.
    pub(crate) fn new(len: usize) -> Self {
        let mut buffer = Self::default();
        buffer.grow(len);
        buffer
    }

    /// Its first `len` bytes, after it has been made as long. What it held may be gone.
    pub(crate) fn grow(&mut self, len: usize) -> &mut [u8] {
        if self.len() < len {
            self.bytes = vec![0; len + PAGE_LEN];
            // Below a page, but where pointers have no addresses (align_offset): there any place
            // does.
            self.start = self.bytes.as_ptr().align_offset(PAGE_LEN).min(PAGE_LEN);
        }
        let start = self.start;
        &mut self.bytes[start..start + len]
    }
}

impl Deref for PageBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(self.start..self.start + self.bytes.len().saturating_sub(PAGE_LEN)).unwrap_or_default()
    }
}

impl DerefMut for PageBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        let len = self.bytes.len().saturating_sub(PAGE_LEN);
        self.bytes.get_mut(self.start..self.start + len).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn begins_at_a_page_and_is_as_long_as_asked_for() {
        let mut buffer = PageBuffer::default();
        assert!(buffer.is_empty());
        for len in [1, 4096, 70_000, 1 << 20] {
            assert_eq!(buffer.grow(len).len(), len);
            assert!(buffer.as_ptr().addr().is_multiple_of(PAGE_LEN));
            assert_eq!(buffer.len(), len);
            buffer[len - 1] = 7;
        }
        assert_eq!(buffer.grow(10).len(), 10);
        assert_eq!(buffer.len(), 1 << 20);
    }
}
