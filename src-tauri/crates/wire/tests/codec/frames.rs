//! Frames of a lane, with their heads.
use proptest::collection::vec;
use proptest::prelude::*;
use ringway_wire::control::{FRAME_PREFIX_LEN, Message, Micros, ReceiverTimes, Wanted};
use ringway_wire::lane::{
    Attributes, Batch, ChunkLens, ChunkWindow, Counts, DIGEST_LEN, Digest, Entry, EntryKind, FileList, FrameHeader,
    FrameKind, HEADER_LEN, HeadBuffer, Item, Owner, OwnerKind, OwnerNames, OwnerNamesBuffer, RangeHead, RangeStep,
    Timestamp, XattrBuffer,
};
use ringway_wire::limits::{CHUNKED_SIZE_MIN, LANE_BODY_MAX};
use ringway_wire::stretches::Stretches;
use ringway_wire::{Name, ProtocolError, RelPath};

use crate::values::{encoded, file, name, window};

proptest! {
    #[test]
    fn any_bytes_are_a_head_or_an_error(header in any::<[u8; HEADER_LEN]>(), head in vec(any::<u8>(), 0..2000)) {
        let mut header = header;
        header[0] = 1 + header[0] % 2;
        header[1..4].fill(0);
        header[6..8].fill(0);
        if let Ok(header) = FrameHeader::decode(header) {
            if let Ok(batch) = Batch::parse(&header, &head) {
                prop_assert_eq!(batch.items().count(), header.items as usize);
            }
            if let Ok(range) = RangeHead::parse(&header, &head) {
                prop_assert!(range.offset.checked_add(header.body_len.into()).is_some());
            }
            if let Ok(batch) = Batch::parse_proven(&header, &head) {
                let files = batch.counts().files as usize;
                prop_assert!(files == 0 || batch.digest(files - 1).is_some());
                prop_assert_eq!(batch.digest(files), None);
            }
            let _ = RangeHead::parse_proven(&header, &head);
            if let Ok(window) = ChunkWindow::parse(&header, &head) {
                prop_assert_eq!(window.chunks().count(), header.items as usize);
            }
        }
    }

    #[test]
    fn a_batch_is_read_back_as_written(entries in vec((name(), 0..3u8, any::<u32>(), any::<i64>(), 0..500u64), 1..40)) {
        let mut head = HeadBuffer::default();
        let mut xattrs = XattrBuffer::default();
        prop_assert!(xattrs.push(b"user.a", b"value"));
        head.folder(RelPath::new(b"a/b").unwrap());
        let written: Vec<_> = entries.iter().map(|(name, kind, uid, secs, size)| Entry {
            name: Name::new(name).unwrap(),
            kind: match kind {
                0 => EntryKind::File { size: *size, link_id: (uid % 2 == 0).then_some(*size) },
                1 => EntryKind::Symlink { target: b"../../etc/passwd" },
                _ => EntryKind::HardLink { link_id: *size, last: uid % 2 == 0 },
            },
            attributes: Attributes { mode: 0o4755, uid: *uid, gid: 7, mtime: Timestamp { secs: *secs, nanos: 999_999_999 } },
            xattrs: xattrs.as_xattrs(),
        }).collect();
        written.iter().for_each(|entry| head.entry(entry));
        let header = head.batch_header(head.counts().bytes as usize);
        let header = FrameHeader::decode(header.encode()).unwrap();
        let batch = Batch::parse(&header, head.as_bytes()).unwrap();
        prop_assert_eq!(batch.counts(), head.counts());
        let mut at = 0;
        let mut read = Vec::new();
        for item in batch.items().skip(1) {
            let Item::Entry(entry, body) = item else { panic!("a folder came out of nowhere") };
            prop_assert_eq!(body.start, at);
            at = body.end;
            read.push(entry);
        }
        prop_assert_eq!(read, written);
    }

    #[test]
    fn a_window_is_read_back_as_written(
        lens in vec(1..=32_768u32 * 4, 1..60), offset in 0..4u64 << 20, cut in any::<prop::sample::Index>(),
    ) {
        let (header, head) = window(CHUNKED_SIZE_MIN * 2, offset, &lens);
        prop_assert_eq!(FrameHeader::decode(header.encode()), Ok(header));
        prop_assert_eq!(head.counts(), Counts::default());
        let read = ChunkWindow::parse(&header, head.as_bytes()).unwrap();
        prop_assert_eq!((read.number(), read.len(), read.head().file_id, read.head().offset), (3, lens.len(), 7, offset));
        let mut at = offset;
        for ((range, digest), (len, byte)) in read.chunks().zip(lens.iter().zip(0..)) {
            prop_assert_eq!(range, at..at + u64::from(*len));
            prop_assert_eq!(digest, Digest([byte; DIGEST_LEN]));
            at += u64::from(*len);
        }
        prop_assert_eq!(read.range(), offset..at);
        prop_assert!(ChunkWindow::parse(&header, &head.as_bytes()[..cut.index(head.as_bytes().len())]).is_err());
    }

    #[test]
    fn each_file_of_a_proven_batch_has_exactly_one_digest(kinds in vec((any::<bool>(), any::<u8>()), 0..60)) {
        let mut head = HeadBuffer::default();
        head.folder(RelPath::ROOT);
        let mut digests = Vec::new();
        for (is_file, byte) in kinds {
            let kind = if is_file { EntryKind::File { size: 0, link_id: None } } else { EntryKind::Symlink { target: b"x" } };
            head.entry(&Entry { kind, ..file(0) });
            if is_file {
                digests.push(Digest([byte; DIGEST_LEN]));
                head.digest(digests[digests.len() - 1]);
            }
        }
        let header = head.batch_header(0);
        let batch = Batch::parse_proven(&header, head.as_bytes()).unwrap();
        let read: Vec<_> = (0..).map_while(|number| batch.digest(number)).collect();
        prop_assert_eq!(&read, &digests);
        // If nothing is to be proven, any digest is too many. Otherwise one too few or too many is
        // refused.
        prop_assert_eq!(Batch::parse(&header, head.as_bytes()).is_ok(), digests.is_empty());
        let longer = [head.as_bytes(), &[7; DIGEST_LEN]].concat();
        prop_assert_eq!(Batch::parse_proven(&header, &longer).err(), Some(ProtocolError::Trailing));
        if !digests.is_empty() {
            let fewer = &head.as_bytes()[..head.as_bytes().len() - DIGEST_LEN];
            prop_assert_eq!(Batch::parse_proven(&header, fewer).err(), Some(ProtocolError::Truncated));
        }
    }
}

#[test]
fn a_proven_list_has_a_digest_for_each_file() {
    let mut head = HeadBuffer::default();
    head.begin_list(5);
    head.folder(RelPath::ROOT);
    for byte in 1..4 {
        head.entry(&file(1 << 40));
        head.digest(Digest([byte; DIGEST_LEN]));
    }
    let header = head.list_header();
    let list = FileList::parse_proven(&header, head.as_bytes()).unwrap();
    assert_eq!((list.number(), list.len()), (5, 3));
    assert_eq!((list.digest(0), list.digest(2)), (Some(Digest([1; DIGEST_LEN])), Some(Digest([3; DIGEST_LEN]))));
    assert_eq!(list.digest(3), None);
    assert_eq!(FileList::parse(&header, head.as_bytes()).err(), Some(ProtocolError::Trailing));
    let fewer = &head.as_bytes()[..head.as_bytes().len() - 1];
    assert_eq!(FileList::parse_proven(&header, fewer).err(), Some(ProtocolError::Truncated));
    let more = [head.as_bytes(), &[0; DIGEST_LEN]].concat();
    assert_eq!(FileList::parse_proven(&header, &more).err(), Some(ProtocolError::Trailing));
}

#[test]
fn a_proven_range_has_one_digest_and_a_plain_one_none() {
    let mut head = HeadBuffer::default();
    let range = RangeHead {
        stamp: 0,
        file_id: 1,
        offset: 5,
        step: RangeStep::More,
        folder: RelPath::ROOT,
        entry: file(100),
        owner_names: OwnerNames::default(),
    };
    let header = head.proven_range(&range, 20, Digest([9; DIGEST_LEN]));
    assert_eq!(header.head_len as usize, head.as_bytes().len());
    assert_eq!(RangeHead::parse_proven(&header, head.as_bytes()), Ok((range, Digest([9; DIGEST_LEN]))));
    assert_eq!(RangeHead::parse(&header, head.as_bytes()).err(), Some(ProtocolError::Trailing));
    let longer = [head.as_bytes(), b"x"].concat();
    assert_eq!(RangeHead::parse_proven(&header, &longer).err(), Some(ProtocolError::Trailing));
    let header = head.range(&range, 20);
    assert_eq!(RangeHead::parse_proven(&header, head.as_bytes()).err(), Some(ProtocolError::Truncated));
}

#[test]
fn a_head_full_of_files_has_room_for_their_digests() {
    let mut xattrs = XattrBuffer::default();
    assert!(xattrs.push(b"user.a", &[7; 60_000]));
    let mut head = HeadBuffer::default();
    head.folder(RelPath::ROOT);
    while head.has_room() {
        head.entry(&Entry { xattrs: xattrs.as_xattrs(), ..file(0) });
        head.digest(Digest([1; DIGEST_LEN]));
        // With a small attribute, the digests are what fills the head.
        xattrs = XattrBuffer::default();
    }
    assert!(FrameHeader::decode(head.batch_header(0).encode()).is_ok());
}

fn user(id: u32) -> Owner {
    Owner::new(OwnerKind::User, id).unwrap()
}

fn group(id: u32) -> Owner {
    Owner::new(OwnerKind::Group, id).unwrap()
}

#[test]
fn names_of_owners_are_read_back_from_each_kind_of_head() {
    let mut names = OwnerNamesBuffer::default();
    names.push(user(1000), "alice");
    names.push(user(1000), "somebody else");
    names.push(group(1000), "EXAMPLE\\domain users");
    // What the wire does not take is left out.
    for name in ["", "a/b", "a:b", "a\nb", "a\0b", "a\u{7f}b", &"x".repeat(257)] {
        names.push(user(7), name);
    }
    let wanted = [(user(1000), "alice"), (group(1000), "EXAMPLE\\domain users")];
    assert_eq!(names.as_names().iter().collect::<Vec<_>>(), wanted);

    let mut head = HeadBuffer::default();
    head.folder(RelPath::ROOT);
    head.entry(&file(0));
    wanted.iter().for_each(|(owner, name)| head.owner_names().push(*owner, name));
    head.digest(Digest([1; DIGEST_LEN]));
    let header = head.batch_header(0);
    let batch = Batch::parse_proven(&header, head.as_bytes()).unwrap();
    assert_eq!(batch.owner_names().iter().collect::<Vec<_>>(), wanted);
    assert_eq!(batch.digest(0), Some(Digest([1; DIGEST_LEN])));
    // A second header of the same head is the same.
    assert_eq!(head.batch_header(0), header);

    head.begin_list(5);
    head.folder(RelPath::ROOT);
    head.entry(&file(1 << 40));
    wanted.iter().for_each(|(owner, name)| head.owner_names().push(*owner, name));
    let header = head.list_header();
    let list = FileList::parse(&header, head.as_bytes()).unwrap();
    assert_eq!(list.owner_names().iter().collect::<Vec<_>>(), wanted);

    let of = RangeHead {
        stamp: 0,
        file_id: 1,
        offset: 5,
        step: RangeStep::More,
        folder: RelPath::ROOT,
        entry: file(CHUNKED_SIZE_MIN),
        owner_names: names.as_names(),
    };
    let header = head.range(&of, 20);
    assert_eq!(RangeHead::parse(&header, head.as_bytes()), Ok(of));
    head.begin_chunks(3, &of);
    head.chunk(32 * 1024, Digest([7; DIGEST_LEN]));
    let window = ChunkWindow::parse(&head.chunks_header(), head.as_bytes()).unwrap();
    assert_eq!(*window.head(), of);
    assert_eq!(window.chunks().count(), 1);
}

#[test]
fn nobody_is_named_by_number_0_and_no_name_is_any_text() {
    assert_eq!(Owner::new(OwnerKind::User, 0), None);
    assert_eq!(Owner::new(OwnerKind::Group, u32::MAX), None);
    let mut head = HeadBuffer::default();
    head.folder(RelPath::ROOT);
    head.owner_names().push(user(0x0102_0304), "alice");
    let header = head.batch_header(0);
    let with = |from: &[u8], to: &[u8]| {
        let whole = head.as_bytes();
        let at = whole.windows(from.len()).position(|part| part == from).unwrap();
        let mut changed = whole.to_vec();
        changed[at..at + to.len()].copy_from_slice(to);
        Batch::parse(&header, &changed).err()
    };
    let id = &[4, 3, 2, 1][..];
    assert_eq!(with(id, id), None);
    for nobody in [[0; 4], [0xff; 4]] {
        assert_eq!(with(id, &nobody), Some(ProtocolError::BadValue("owner")));
    }
    assert_eq!(with(&[0, 4, 3, 2, 1], &[2]), Some(ProtocolError::Unknown { what: "owner", value: 2 }));
    for name in [b"al/ce", b"al:ce", b"al\nce", b"al\0ce"] {
        assert_eq!(with(b"alice", name), Some(ProtocolError::BadValue("owner name")), "{name:?}");
    }
    assert_eq!(with(b"alice", b"al\xffce"), Some(ProtocolError::BadText));
    let is_too_many = |error| matches!(error, Some(ProtocolError::TooLarge { what: "names of users and groups", .. }));
    assert!(is_too_many(with(&[1, 0, 0, 4], &[1, 5])));
    assert_eq!(with(&[1, 0, 0, 4], &[2, 0]), Some(ProtocolError::Truncated));
}

#[test]
fn a_head_full_of_access_control_lists_has_room_for_their_names() {
    let name = |id: u32| format!("{id}{}", "x".repeat(240));
    let mut head = HeadBuffer::default();
    head.name_owners();
    head.folder(RelPath::ROOT);
    let mut entries = 0;
    while head.has_room() {
        // Each names 248 users whom no other one names.
        for id in 1..=248 {
            let owner = user(entries * 1_000 + id);
            head.owner_names().push(owner, &name(id));
            assert!(head.owner_names().has(owner));
        }
        head.entry(&file(0));
        entries += 1;
    }
    assert!(entries > 1);
    let header = FrameHeader::decode(head.batch_header(0).encode()).unwrap();
    let batch = Batch::parse(&header, head.as_bytes()).unwrap();
    assert_eq!(batch.owner_names().iter().count() as u32, entries * 248);
}

#[test]
fn headers_beyond_the_limits_are_refused() {
    let header = |items: u32, head: u32, body: u32| {
        let mut bytes = [0; HEADER_LEN];
        bytes[0] = 1;
        bytes[4..8].copy_from_slice(&items.to_le_bytes());
        bytes[8..12].copy_from_slice(&head.to_le_bytes());
        bytes[12..16].copy_from_slice(&body.to_le_bytes());
        FrameHeader::decode(bytes)
    };
    assert!(header(1, 100, LANE_BODY_MAX as u32).is_ok());
    for (items, head, body) in [(1, u32::MAX, 0), (1, 0, u32::MAX), (u32::MAX, 0, 0), (0, 0, 0)] {
        assert!(header(items, head, body).is_err());
    }
    assert!(Message::payload_len(u32::MAX.to_le_bytes()).is_err());
    assert!(Message::payload_len([0; 4]).is_err());
}

#[test]
fn a_packed_body_is_shorter_than_what_it_holds() {
    let header = |kind: FrameKind, packed_len: u32, body_len: u32| {
        let items = u32::from(matches!(kind, FrameKind::Batch | FrameKind::Range));
        let header = FrameHeader { kind, items, head_len: 0, body_len, packed_len };
        FrameHeader::decode(header.encode()).map(|decoded| assert_eq!(decoded, header))
    };
    let longest = LANE_BODY_MAX as u32;
    for kind in [FrameKind::Batch, FrameKind::Range] {
        assert_eq!(header(kind, longest - 1, longest), Ok(()));
        assert_eq!(header(kind, 1, 2), Ok(()));
        for (packed_len, body_len) in [(longest, longest), (1, 0), (7, 7), ((1 << 24) - 1, longest)] {
            assert_eq!(header(kind, packed_len, body_len), Err(ProtocolError::BadValue("packed body")));
        }
    }
    for kind in [FrameKind::End, FrameKind::Renew, FrameKind::List] {
        assert!(header(kind, 1, 2).is_err());
    }
}

#[test]
fn a_list_names_files_of_any_size_and_nothing_else() {
    let mut head = HeadBuffer::default();
    let written = [file(1 << 40), file(0)];
    let listed = |head: &mut HeadBuffer| {
        head.begin_list(7);
        head.folder(RelPath::new(b"a").unwrap());
        written.iter().for_each(|entry| head.entry(entry));
    };
    listed(&mut head);
    let header = FrameHeader::decode(head.list_header().encode()).unwrap();
    let list = FileList::parse(&header, head.as_bytes()).unwrap();
    assert_eq!((list.number(), list.len(), head.counts()), (7, 2, Counts::default()));
    assert!(list.files().eq(written.iter().map(|entry| (RelPath::new(b"a").unwrap(), *entry))));

    let refused = |head: &mut HeadBuffer| {
        let header = head.list_header();
        FileList::parse(&header, head.as_bytes()).map(drop)
    };
    listed(&mut head);
    head.folder_with_attributes(RelPath::new(b"a").unwrap(), &Attributes::default(), Default::default());
    assert_eq!(refused(&mut head), Err(ProtocolError::BadValue("listed entry")));
    listed(&mut head);
    head.entry(&Entry { kind: EntryKind::Symlink { target: b"x" }, ..file(0) });
    assert_eq!(refused(&mut head), Err(ProtocolError::BadValue("listed entry")));
    head.begin_list(7);
    head.folder(RelPath::ROOT);
    assert_eq!(refused(&mut head), Err(ProtocolError::BadValue("list without files")));
    head.begin_list(7);
    head.entry(&file(0));
    assert_eq!(refused(&mut head), Err(ProtocolError::BadValue("entry before its folder")));
    let with_contents = FrameHeader { body_len: 1, ..header };
    assert_eq!(FrameHeader::decode(with_contents.encode()), Err(ProtocolError::BadValue("list with contents")));
}

#[test]
fn an_answer_to_a_list_has_one_encoding() {
    let payload = |wanted| encoded(&Message::Wanted(wanted))[FRAME_PREFIX_LEN..].to_vec();
    let wanted = |kept| Wanted { list: 1, files: vec![true, false, true], has: Stretches::default(), basis: 0, kept };
    let mut bytes = payload(wanted(vec![false, true, false]));
    assert_eq!((bytes[7], bytes.last()), (0b101, Some(&0b10)));
    // Flags that are refused: no file stays, a wanted one stays, or one stays that was not listed.
    for kept in [0, 0b1, 0b11, 0b1010] {
        *bytes.last_mut().unwrap() = kept;
        assert_eq!(Message::decode(&bytes), Err(ProtocolError::BadValue("answer to a list")), "{kept:b}");
    }
    let mut bytes = payload(wanted(Vec::new()));
    bytes[7] |= 0b1000;
    assert_eq!(Message::decode(&bytes), Err(ProtocolError::BadValue("answer to a list")));
    for (len, allowed) in [(0u16, false), (4096, true), (4097, false)] {
        let bytes = [&[24, 1, 0, 0, 0][..], &len.to_le_bytes(), &vec![0; usize::from(len).div_ceil(8) + 11]].concat();
        assert_eq!(Message::decode(&bytes).is_ok(), allowed, "{len} files");
    }
}

#[test]
fn chunks_are_looked_for_only_where_one_file_is_wanted() {
    let answer = |files: &[bool], basis| {
        let wanted = Wanted { list: 1, files: files.to_vec(), has: Stretches::default(), basis, kept: Vec::new() };
        Message::decode(&encoded(&Message::Wanted(wanted))[FRAME_PREFIX_LEN..]).map(drop)
    };
    assert_eq!(answer(&[true], i64::MAX as u64), Ok(()));
    for (files, basis) in [(&[false][..], 1), (&[true, true], 1), (&[true], 1 << 63)] {
        assert_eq!(answer(files, basis), Err(ProtocolError::BadValue("answer to a list")), "{files:?} {basis}");
    }
}

fn read_window(size: u64, offset: u64, lens: &[u32]) -> Result<std::ops::Range<u64>, ProtocolError> {
    let (header, head) = window(size, offset, lens);
    let header = FrameHeader::decode(header.encode())?;
    ChunkWindow::parse(&header, head.as_bytes()).map(|window| window.range())
}

#[test]
fn chunks_that_no_file_has_are_refused() {
    let size = CHUNKED_SIZE_MIN;
    let longest = ChunkLens::of(size).max as u32;
    assert_eq!(read_window(size, 5, &[1, longest]), Ok(5..6 + u64::from(longest)));
    assert_eq!(read_window(size, size - 1, &[1]), Ok(size - 1..size));
    assert_eq!(read_window(size - 1, 0, &[1]), Err(ProtocolError::BadValue("entry in chunks")));
    assert_eq!(read_window(size, 0, &[1, 0]), Err(ProtocolError::BadValue("empty chunk")));
    assert_eq!(read_window(size, 0, &[]), Err(ProtocolError::BadValue("window without chunks")));
    let too_long = ProtocolError::TooLarge { what: "chunk", value: u64::from(longest) + 1, limit: longest.into() };
    assert_eq!(read_window(size, 0, &[longest + 1]), Err(too_long));
    let behind = Err(ProtocolError::Range { id: 7, why: "past the end of the file" });
    assert_eq!(read_window(size, size - 1, &[1, 1]), behind);
    assert_eq!(read_window(size, u64::MAX, &[1]), behind);
    assert!(read_window(size, 0, &[1; 4096]).is_ok());
    assert!(matches!(read_window(size, 0, &[1; 4097]), Err(ProtocolError::TooLarge { .. })));
    let (header, head) = window(size, 0, &[1, 2]);
    let with_contents = FrameHeader { body_len: 1, ..header };
    assert_eq!(FrameHeader::decode(with_contents.encode()), Err(ProtocolError::BadValue("chunks with contents")));
    let cut = &head.as_bytes()[..head.as_bytes().len() - 1];
    assert_eq!(ChunkWindow::parse(&header, cut).err(), Some(ProtocolError::Truncated));
    let more = [head.as_bytes(), &[0; 36]].concat();
    assert_eq!(ChunkWindow::parse(&header, &more).err(), Some(ProtocolError::Trailing));
}

#[test]
fn a_batch_that_does_not_add_up_is_refused() {
    let mut head = HeadBuffer::default();
    head.folder(RelPath::ROOT);
    head.entry(&file(10));
    for body_len in [9, 11] {
        let header = head.batch_header(body_len);
        assert!(Batch::parse(&header, head.as_bytes()).is_err());
    }
    let mut header = head.batch_header(10);
    assert!(Batch::parse(&header, head.as_bytes()).is_ok());
    header.items = 1;
    assert!(Batch::parse(&header, head.as_bytes()).is_err());
    header.items = 3;
    assert!(Batch::parse(&header, head.as_bytes()).is_err());
    let mut homeless = HeadBuffer::default();
    homeless.entry(&file(0));
    assert_eq!(
        Batch::parse(&homeless.batch_header(0), homeless.as_bytes()).err(),
        Some(ProtocolError::BadValue("entry before its folder"))
    );
}

#[test]
fn only_user_attributes_cross() {
    let mut xattrs = XattrBuffer::default();
    for bad in [&b"security.selinux"[..], b"trusted.x", b"system.posix_acl_access", b"user.", b"user.a\0b"] {
        assert!(!xattrs.push(bad, b"x"));
    }
    assert!(!xattrs.push(b"user.big", &vec![0; 257 * 1024]));
    assert!(xattrs.push(b"user.ok", b""));
    assert_eq!(xattrs.as_xattrs().iter().collect::<Vec<_>>(), [(&b"user.ok"[..], &b""[..])]);
}

#[test]
fn a_time_beyond_all_bounds_is_refused() {
    let mut bytes = encoded(&Message::ReceiverTimes(ReceiverTimes { writing: Micros::MAX, ..Default::default() }));
    assert!(Message::decode(&bytes[FRAME_PREFIX_LEN..]).is_ok());
    let last = bytes.len() - 8;
    bytes[last] = 1;
    let refused = Message::decode(&bytes[FRAME_PREFIX_LEN..]);
    assert!(matches!(refused, Err(ProtocolError::TooLarge { what: "time", .. })), "{refused:?}");
    assert_eq!(Micros::from(std::time::Duration::MAX), Micros::MAX);
}
