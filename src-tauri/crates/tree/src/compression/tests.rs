//! Packing over connections that are slow by a clock, and the judge by itself.
use ringway_wire::lane::FrameKind;

use super::*;

const FRAME: usize = 256 * 1024;

/// A connection that takes `per_mib` for each MiB of it, and keeps what was sent.
struct Slow {
    per_mib: Duration,
    frames: Vec<(FrameHeader, usize)>,
    unpacking: Unpacking,
    expected: Vec<u8>,
}

impl LaneSink for Slow {
    fn send(&mut self, header: &[u8], _head: &[u8], body: &[u8]) -> io::Result<()> {
        let header = FrameHeader::decode(header.try_into().unwrap()).unwrap();
        assert_eq!(header.body_len as usize, self.expected.len());
        if header.packed_len > 0 {
            assert_eq!(header.packed_len as usize, body.len());
            self.unpacking.packed = body.to_vec();
            let mut unpacked = vec![0; header.body_len as usize];
            self.unpacking.unpack(body.len(), &mut unpacked).unwrap();
            assert!(unpacked == self.expected);
        } else {
            assert!(body == self.expected);
        }
        std::thread::sleep(self.per_mib.mul_f64(body.len() as f64 / f64::from(1 << 20)));
        self.frames.push((header, body.len()));
        Ok(())
    }
}

/// Sends so many frames of `body` over a connection of that speed.
fn send(
    body: &[u8],
    frames: usize,
    per_mib: Duration,
    compression: Compression,
) -> (Vec<(FrameHeader, usize)>, Option<PackedBytes>) {
    let counts = Arc::<Packed>::default();
    let mut slow = Slow { per_mib, frames: Vec::new(), unpacking: Unpacking::default(), expected: body.to_vec() };
    let mut packing = Packing::new(compression, Arc::clone(&counts)).unwrap();
    let header =
        FrameHeader { kind: FrameKind::Batch, items: 1, head_len: 0, body_len: body.len() as u32, packed_len: 0 };
    for _ in 0..frames {
        packing.send(&mut slow, &header.encode(), &[], body).unwrap();
    }
    (slow.frames, counts.bytes())
}

fn text() -> Vec<u8> {
    (0..)
        .flat_map(|line: u32| format!("line {line} of a text that has much in common with itself\n").into_bytes())
        .take(FRAME)
        .collect()
}

fn noise() -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u8
    };
    (0..FRAME).map(|_| next()).collect()
}

#[test]
fn what_shrinks_is_packed_for_a_slow_connection() {
    let (frames, counts) = send(&text(), 40, Duration::from_millis(100), Compression::Auto);
    let packed = frames.iter().filter(|(header, _)| header.packed_len > 0).count();
    assert!(packed > 20, "{packed} of {}", frames.len());
    let PackedBytes { contents, wire } = counts.unwrap();
    assert_eq!(contents, (packed * FRAME) as u64);
    assert!(wire * 4 < contents, "{wire} of {contents}");
}

#[test]
fn what_does_not_shrink_or_must_not_is_left_alone() {
    for (body, compression) in [(noise(), Compression::Auto), (text(), Compression::Off)] {
        let (frames, counts) = send(&body, 40, Duration::from_millis(100), compression);
        assert!(frames.iter().all(|(header, sent)| header.packed_len == 0 && *sent == FRAME));
        assert_eq!(counts, None);
    }
}

/// Books windows of one frame each.
fn windows(judge: &mut Judge, count: u32, pace: Duration, waiting: f64) {
    for _ in 0..count {
        judge.sent(FRAME, pace.mul_f64(waiting), pace);
    }
}

#[test]
fn packing_is_not_tried_where_the_connection_keeps_up() {
    let mut judge = Judge::default();
    windows(&mut judge, 1_000, WINDOW, 0.5);
    assert!(!judge.packs());
    windows(&mut judge, 1, WINDOW, 0.9);
    assert!(judge.packs());
}

#[test]
fn packing_that_costs_time_rests_longer_each_time() {
    let mut judge = Judge::default();
    let mut rests = Vec::new();
    for _ in 0..10 {
        let mut rested = 0;
        while !judge.packs() {
            windows(&mut judge, 1, WINDOW, 1.0);
            rested += 1;
        }
        rests.push(rested);
        windows(&mut judge, 1, WINDOW * 2, 0.1);
        assert!(!judge.packs());
    }
    assert_eq!(rests[..4], [1, REST_MIN + 1, 2 * REST_MIN + 1, 4 * REST_MIN + 1]);
    assert_eq!(rests[9], REST_MAX + 1);
}

#[test]
fn packing_that_pays_is_held_against_going_without_less_and_less_often() {
    let mut judge = Judge::default();
    let mut phases = Vec::new();
    for _ in 0..5 {
        windows(&mut judge, 1, WINDOW * 3, 1.0);
        let mut packed = 0;
        while judge.packs() {
            windows(&mut judge, 1, WINDOW, 0.9);
            packed += 1;
        }
        phases.push(packed);
    }
    assert_eq!(phases, [REVIEW_MIN, 4 * REVIEW_MIN, REVIEW_MAX, REVIEW_MAX, REVIEW_MAX]);
}

#[test]
fn a_connection_that_began_slowly_is_soon_known_to_be_faster_without_packing() {
    let mut judge = Judge::default();
    windows(&mut judge, 1, WINDOW * 5, 1.0);
    windows(&mut judge, REVIEW_MIN, WINDOW * 2, 0.1);
    assert!(!judge.packs(), "reviewed");
    windows(&mut judge, 1, WINDOW, 0.5);
    assert!(!judge.packs(), "what is sent lies in the socket's buffer, which was empty");
    windows(&mut judge, 1, WINDOW, 1.0);
    windows(&mut judge, 1, WINDOW * 2, 0.1);
    assert!(!judge.packs(), "twice as slow");
}

#[test]
fn a_packed_body_of_another_length_is_refused() {
    let body = text();
    let packed = zstd::bulk::compress(&body, LEVEL).unwrap();
    let unpack = |packed: &[u8], len: usize| {
        let mut unpacking = Unpacking { packed: packed.to_vec(), ..Unpacking::default() };
        unpacking.unpack(packed.len(), &mut vec![0; len])
    };
    let odd = Err(ProtocolError::BadValue("packed body"));
    assert_eq!(unpack(&packed, FRAME), Ok(()));
    assert_eq!(unpack(&packed, FRAME - 1), odd);
    assert_eq!(unpack(&packed, FRAME + 1), odd);
    assert_eq!(unpack(&packed[..packed.len() - 1], FRAME), odd);
    assert_eq!(unpack(b"no such frame", FRAME), odd);
    assert_eq!(unpack(&[], FRAME), odd);
    // A gigabyte of zeros in some kilobytes stays within the buffer.
    let bomb = zstd::bulk::compress(&vec![0; 1 << 30], LEVEL).unwrap();
    assert_eq!(unpack(&bomb, LANE_BODY_MAX), odd);
}
