//! The paths that a device asks for alone, as a person listed them: all of them in bounded memory.
use crate::ProtocolError;
use crate::limits::{SELECTED_BYTES_MAX, SELECTED_PAGE_BYTES_MAX, SELECTED_PATHS_MAX};
use crate::name::RelPath;

/// A list of paths, end to end with a NUL behind each, so that many of them take little memory.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SelectedPaths {
    bytes: Vec<u8>,
    len: usize,
}

impl std::fmt::Debug for SelectedPaths {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SelectedPaths({} paths)", self.len)
    }
}

impl SelectedPaths {
    /// Adds a path.
    ///
    /// # Errors
    /// If there are too many paths, or too many bytes of them.
    pub fn push(&mut self, path: RelPath<'_>) -> Result<(), ProtocolError> {
        let bounded = |what, value, limit: usize| match value > limit {
            true => Err(ProtocolError::TooLarge { what, value: value as u64, limit: limit as u64 }),
            false => Ok(()),
        };
        bounded("number of selected paths", self.len + 1, SELECTED_PATHS_MAX)?;
        bounded("length of selected paths", self.bytes.len() + path.as_bytes().len() + 1, SELECTED_BYTES_MAX)?;
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.len += 1;
        Ok(())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of memory that they take.
    pub fn held_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        from(&self.bytes)
    }

    /// The paths from byte `at` on that fit into one message, and the byte at which the next ones
    /// begin.
    pub(crate) fn page(&self, at: usize) -> (Vec<Vec<u8>>, usize) {
        let (mut page, mut end, mut left) = (Vec::new(), at, SELECTED_PAGE_BYTES_MAX);
        for path in from(&self.bytes[at..]) {
            // Each has a length of two bytes.
            let Some(rest) = left.checked_sub(path.len() + 2) else { break };
            (left, end) = (rest, end + path.len() + 1);
            page.push(path.to_vec());
        }
        (page, end)
    }
}

fn from(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == 0).map(|path| &path[..path.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(paths: &[&[u8]]) -> SelectedPaths {
        let mut selected = SelectedPaths::default();
        paths.iter().for_each(|path| selected.push(RelPath::new(path).unwrap()).unwrap());
        selected
    }

    #[test]
    fn pages_have_all_paths_in_order() {
        let long = [b'x'; 200];
        let paths: Vec<_> = (0..1_000).map(|at| if at % 7 == 0 { &b""[..] } else { &long[..at % 200] }).collect();
        let all = selected(&paths);
        assert_eq!((all.len(), all.iter().collect::<Vec<_>>()), (1_000, paths.clone()));
        let (mut pages, mut at) = (Vec::new(), 0);
        loop {
            let (page, next) = all.page(at);
            if page.is_empty() {
                break;
            }
            assert!(page.iter().map(|path| path.len() + 2).sum::<usize>() <= SELECTED_PAGE_BYTES_MAX);
            pages.extend(page);
            at = next;
        }
        assert_eq!(pages, paths);
    }

    #[test]
    fn number_and_length_are_bounded() {
        let mut many = SelectedPaths::default();
        (0..SELECTED_PATHS_MAX).for_each(|_| many.push(RelPath::ROOT).unwrap());
        assert!(many.push(RelPath::ROOT).is_err());
        let mut long = SelectedPaths::default();
        let path = vec![vec![b'x'; 255]; 16].join(&b'/');
        (0..SELECTED_BYTES_MAX / 4_096).for_each(|_| long.push(RelPath::new(&path).unwrap()).unwrap());
        assert!(long.push(RelPath::ROOT).is_err());
    }
}
