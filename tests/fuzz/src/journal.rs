//! The journal of an attempt: from damaged bytes, exactly the records before the damage are read,
//! and they can be written again.
use super::input::Input;
use ringway_wire::control::{FRAME_PREFIX_LEN, Message, Wanted};
use ringway_wire::journal::{Begun, Recorder, Version, replay};
use ringway_wire::lane::Timestamp;
use ringway_wire::resume::{Belief, Found, going_on};
use ringway_wire::stretches::Stretches;
use ringway_wire::{Name, RelPath};
use std::collections::HashMap;

/// The first byte chooses one of the checks.
pub fn journal(data: &[u8]) {
    let mut input = Input::new(data);
    match input.byte() % 3 {
        0 => check(&replay(input.take(usize::MAX)).begun),
        1 => sealed(&mut input),
        _ => damaged(&mut input),
    }
}

/// Records with valid checksums, so that their contents are checked.
fn sealed(input: &mut Input<'_>) {
    let (mut bytes, mut sum) = (Vec::new(), !FIRST_SUM);
    while !input.is_empty() {
        let record = input.chunk();
        sum = crc(sum, record);
        bytes.extend_from_slice(record);
        bytes.extend_from_slice(&(!sum).to_le_bytes());
    }
    check(&replay(&bytes).begun);
}

/// The initial value of wire's checksum, for an empty journal.
const FIRST_SUM: u32 = 0x5257_4a34;

/// CRC-32 as in IEEE 802.3, a bit at a time; inverted before and after by the caller.
fn crc(sum: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(sum, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg()))
    })
}

/// The records keep to their bounds, and are read as the same after they are written again.
fn check(known: &HashMap<Version, Begun>) {
    let (mut recorder, mut bytes) = (Recorder::default(), Vec::new());
    for (version, begun) in known {
        assert!(RelPath::new(&version.folder).is_ok() && Name::new(&version.name).is_ok());
        assert!(RelPath::new(&begun.place).is_ok_and(|place| !place.is_root()));
        assert!(version.mtime.nanos < 1_000_000_000 && version.size <= i64::MAX as u64);
        assert!(begun.has.iter().all(|stretch| stretch.start < stretch.end && stretch.end <= version.size));
        assert!(begun.durable.iter().all(|part| is_within(&part, &begun.has)), "durable, and not written");
        let number = recorder.begin(version, &begun.place, &begun.has, &mut bytes);
        assert!(number.is_some(), "read, and refused when written");
        told(version, begun);
    }
    let all_durable =
        |(version, begun): (&Version, &Begun)| (version.clone(), Begun { durable: begun.has.clone(), ..begun.clone() });
    assert_eq!(replay(&bytes).begun, known.iter().map(all_durable).collect());
}

fn is_within(part: &std::ops::Range<u64>, all: &Stretches) -> bool {
    all.iter().any(|all| all.start <= part.start && part.end <= all.end)
}

/// The state that an attempt continues with can be sent to the sender, who reads it unchanged.
fn told(version: &Version, begun: &Begun) {
    let found = Found { is_file: true, size: version.size, mtime: version.mtime, names: 1 };
    let Some(has) = going_on(&found, version, begun, Belief::Synced) else {
        return;
    };
    assert!(has.iter().all(|part| is_within(&part, &begun.durable)));
    let wanted = Message::Wanted(Wanted { list: 0, files: vec![true], has, basis: 0, kept: vec![] });
    let mut frame = Vec::new();
    wanted.encode(&mut frame);
    assert_eq!(Message::decode(&frame[FRAME_PREFIX_LEN..]), Ok(wanted));
}

/// The contents of the journal after each of its records.
type Known = Vec<(usize, HashMap<Version, Begun>)>;

/// Writes a journal, and changes one of its bytes or truncates it: exactly the records before that
/// place are read.
fn damaged(input: &mut Input<'_>) {
    let (kind, at, xor) = (input.byte(), usize::from(input.u16()), input.byte().max(1));
    let (mut bytes, known) = written(input);
    let before = match bytes.get_mut(at) {
        None => bytes.len(),
        Some(byte) if kind % 2 == 0 => {
            *byte ^= xor;
            at
        }
        Some(_) => {
            bytes.truncate(at);
            at
        }
    };
    let expected = known.iter().rev().find(|(end, _)| *end <= before).map(|(_, known)| known.clone());
    let read = replay(&bytes).begun;
    assert_eq!(read, expected.unwrap_or_default());
    check(&read);
}

/// A journal as an attempt writes it, with few files and few places.
fn written(input: &mut Input<'_>) -> (Vec<u8>, Known) {
    let (mut recorder, mut bytes, mut known) = (Recorder::default(), Vec::new(), Known::new());
    let mut begun: Vec<(Version, Begun)> = Vec::new();
    while !input.is_empty() {
        let choice = input.byte();
        let number = usize::from(choice & 7);
        match begun.get_mut(number) {
            Some((version, begun)) => {
                let (start, len) = (u64::from(input.byte()), u64::from(input.byte()) + 1);
                let end = (start + len).min(version.size);
                if start < end {
                    recorder.range(number as u32, start, end, &mut bytes);
                    begun.has.add(start, end);
                }
            }
            None => {
                let place = [b'p' + (choice >> 3 & 3)];
                let mtime = Timestamp { secs: i64::from(choice >> 5), nanos: 0 };
                let version = Version { folder: Box::default(), name: [b'x'].into(), size: 300, mtime, stamp: 1 };
                let number = recorder.begin(&version, &place, &Stretches::default(), &mut bytes);
                assert_eq!(number, Some(begun.len() as u32));
                begun.push((
                    version,
                    Begun { place: place.into(), has: Stretches::default(), durable: Stretches::default() },
                ));
            }
        }
        let is_last = |at: usize, place: &[u8]| begun[at + 1..].iter().all(|(_, later)| *later.place != *place);
        let last = begun.iter().enumerate().filter(|(at, (_, begun))| is_last(*at, &begun.place));
        known.push((bytes.len(), last.map(|(_, file)| file.clone()).collect()));
    }
    (bytes, known)
}
