//! The wire's limits, each with its reason.

/// Protocol version spoken here.
pub const VERSION: u16 = 2;

/// ALPN protocol name (RFC 7301): only Ringway answers, and only this version's framing.
pub const ALPN: &[u8] = b"ringway/1";

/// A control frame's payload: an offer with 64 names of 255 bytes fits several times over.
pub const CONTROL_FRAME_MAX: usize = 64 * 1024;

/// One path component, as Linux's NAME_MAX.
pub const NAME_MAX: usize = 255;

/// A path within a transfer, as Linux's PATH_MAX less its NUL.
pub const PATH_MAX: usize = 4095;

/// A symlink's target, as Linux's PATH_MAX less its NUL.
pub const LINK_TARGET_MAX: usize = 4095;

/// A device's own name: fits a card and a DNS label.
pub const DEVICE_NAME_MAX: usize = 64;

/// Keys and values of an announcement: several times what there are, for those of versions to come.
pub const ANNOUNCED_PAIRS_MAX: usize = 32;

/// A value in an announcement: as much as one string of a TXT record holds (RFC 6763 section 6.1).
pub const ANNOUNCED_TEXT_MAX: usize = 255;

/// Top-level names in an offer's own message, to be shown; the others follow in pages.
pub const OFFER_NAMES_MAX: usize = 64;

/// Top-level names of one offer: the largest folders whose contents people send by themselves.
/// Larger ones are sent as the folder, which is one name.
pub const OFFERED_NAMES_MAX: usize = 1 << 19;

/// Bytes of those names. Both ends hold them while the transfer runs, with 4 bytes for each name: 6
/// MiB at most.
pub const OFFERED_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Bytes of names in one page, with their lengths: half a control frame.
pub const OFFERED_PAGE_BYTES_MAX: usize = CONTROL_FRAME_MAX / 2;

/// Time for all pages of an offer: the longest offer at 0.3 Mbit/s.
pub const OFFERED_TIME_MAX_MS: u64 = 120_000;

/// A lane frame's head: 4,096 items of ordinary length fit, as does one item with every limit
/// reached.
pub const LANE_HEAD_MAX: usize = 1024 * 1024;

/// A lane frame's body: large enough that headers and wake-ups do not count, small enough that
/// several fit in an end's 64 MiB.
pub const LANE_BODY_MAX: usize = 1024 * 1024;

/// Items in one batch head: bounds the receiver's work per frame.
pub const BATCH_ITEMS_MAX: usize = 4096;

/// An extended attribute's name, as Linux's XATTR_NAME_MAX.
pub const XATTR_NAME_MAX: usize = 255;

/// All extended attributes of one entry, names and values: Linux caps a value and a list at 64 KiB
/// each.
pub const XATTRS_TOTAL_MAX: usize = 256 * 1024;

/// Extended attributes of one entry.
pub const XATTR_COUNT_MAX: usize = 256;

/// Files in ranges at the same time, all lanes together: each holds a descriptor at the receiver.
/// Those that 16 lanes send, and those of which a piece is still under way on a slow one: its
/// connection buffers some 6 pieces.
pub const OPEN_RANGED_MAX: usize = 128;

/// Separate pieces of one ranged file that may be outstanding: lanes deliver nearly in order, so
/// few suffice; bounds memory.
pub const RANGE_PIECES_MAX: usize = 4096;

/// Stretches of a file that a receiver says it has, to go on with it: a tenth of what it may be
/// received in, so that there is room for the rest.
pub const HAS_MAX: usize = 409;

/// The smallest file that is sent in chunks where something is there under its name: for less,
/// asking takes longer than it spares on most lines.
pub const CHUNKED_SIZE_MIN: u64 = 8 * 1024 * 1024;

/// The shortest and the longest that chunks are on average. 32 KiB of a file take 36 bytes to tell;
/// the longest chunk is 1 MiB then, and an end has two of them in memory.
pub const CHUNK_LEN_MIN: u64 = 32 * 1024;
/// See [`CHUNK_LEN_MIN`].
pub const CHUNK_LEN_MAX: u64 = 256 * 1024;

/// Between those, a file has about as many chunks: 2.4 MB to tell.
pub const CHUNKS_AIMED_AT: u64 = 65_536;

/// Files with several names that are remembered at once: their ids take 10 MiB at the receiver.
/// Further ones travel as separate files.
pub const LINK_SETS_MAX: usize = 262_144;

/// Files with several names, by their ids, whose further names both ends count as links where the
/// receiver keeps what has them. A bit each at the receiver.
pub const KEPT_LINK_SETS_MAX: u64 = 1 << 20;

/// Files that a journal remembers: about 20 MiB where their paths are of ordinary length.
pub const JOURNAL_FILES_MAX: usize = 65_536;

/// Failures named to the peer; more are only counted.
pub const FAILURES_NAMED_MAX: u64 = 10_000;

/// Failures that one entry may be counted as by a receiver: its attributes, its contents when they
/// are read back, and its removal.
pub const FAILURES_PER_ENTRY_MAX: u64 = 4;

/// Entries of any kind that a message counts: no filesystem has as many inodes, and sums of a few
/// such counters cannot overflow.
pub const ENTRIES_MAX: u64 = 1 << 48;

/// Lanes of one transfer.
pub const LANES_MAX: u8 = 16;

/// A silent session sends a ping after this many milliseconds.
pub const PING_AFTER_MS: u64 = 4_000;

/// A session that has heard nothing for so many milliseconds is dead: three pings went unanswered.
/// TCP sends again what was lost within 12.6 s of silence (six times, RFC 6298), so that an outage
/// of 10 s is borne.
pub const SILENCE_MAX_MS: u64 = 15_000;

/// A lane on which nothing moves for so many milliseconds, although its session lives and nobody
/// works, is given up: longer than a session's silence, for a lane that loses many packets waits
/// for them alone.
pub const LANE_SILENCE_MAX_MS: u64 = 30_000;

/// TLS and hello together: slow lines manage, a slow-loris does not hold a place for long.
pub const HELLO_TIME_MAX_MS: u64 = 15_000;

/// Pairing, from hello to the last message: both sides have the code already.
pub const PAIRING_TIME_MAX_MS: u64 = 15_000;
