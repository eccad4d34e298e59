//! The wire's limits, each with its reason.

/// The protocol version of this program.
pub const VERSION: u16 = 3;

/// ALPN protocol name (RFC 7301). Only Ringway with this version's framing answers to it.
pub const ALPN: &[u8] = b"ringway/1";

/// A control frame's payload. An offer with 64 names of 255 bytes fits several times.
pub const CONTROL_FRAME_MAX: usize = 64 * 1024;

/// One path component, as Linux's NAME_MAX.
pub const NAME_MAX: usize = 255;

/// A path within a transfer, as Linux's PATH_MAX less its NUL.
pub const PATH_MAX: usize = 4095;

/// A symlink's target, as Linux's PATH_MAX less its NUL.
pub const LINK_TARGET_MAX: usize = 4095;

/// A device's own name. It fits on a card and in a DNS label.
pub const DEVICE_NAME_MAX: usize = 64;

/// Keys and values of an announcement: several times today's number, for later versions.
pub const ANNOUNCED_PAIRS_MAX: usize = 32;

/// A value in an announcement: the length of one string of a TXT record (RFC 6763 section 6.1).
pub const ANNOUNCED_TEXT_MAX: usize = 255;

/// Top-level names in an offer's own message, for display. The others follow in pages.
pub const OFFER_NAMES_MAX: usize = 64;

/// Top-level names of one offer: the largest folders whose contents people send by themselves. A
/// larger folder is sent as one name.
pub const OFFERED_NAMES_MAX: usize = 1 << 19;

/// Bytes of those names. Both ends keep them while the transfer runs, with 4 bytes for each name: 6
/// MiB at most.
pub const OFFERED_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Bytes of names in one page, including their lengths: half a control frame.
pub const OFFERED_PAGE_BYTES_MAX: usize = CONTROL_FRAME_MAX / 2;

/// Paths in one request for entries of a share: as many as a person selects in a folder. Who wants
/// more asks for the folder.
pub const GET_PATHS_MAX: usize = 1_024;

/// Bytes of those paths: half a control frame.
pub const GET_PATHS_BYTES_MAX: usize = CONTROL_FRAME_MAX / 2;

/// Patterns in one request for entries of a share: more than a person writes. An entry is compared
/// with each of them.
pub const GET_PATTERNS_MAX: usize = 1_000;

/// Bytes of those patterns: a quarter of a control frame. The serving end compares the worst of
/// them with the longest path in less than a second.
pub const GET_PATTERNS_BYTES_MAX: usize = CONTROL_FRAME_MAX / 4;

/// Paths that a request may list of its folder, and their bytes with a NUL each: those of a tree of
/// tens of thousands of files. The serving end keeps them while it walks, at some 100 bytes each.
pub const SELECTED_PATHS_MAX: usize = 1 << 16;
/// See [`SELECTED_PATHS_MAX`].
pub const SELECTED_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Bytes of those in one page, including their lengths: half a control frame.
pub const SELECTED_PAGE_BYTES_MAX: usize = CONTROL_FRAME_MAX / 2;

/// Time for all pages of an offer, of listed paths or of a note: enough for the longest ones at 0.3
/// Mbit/s.
pub const OFFERED_TIME_MAX_MS: u64 = 120_000;

/// Entries that are listed of an offer while it waits. The receiver compares each with its disk,
/// which takes a second for so many; of a larger tree it says "at least".
pub const LISTING_ENTRIES_MAX: usize = 100_000;

/// Bytes of that listing, as it is sent and as a receiver may keep it: twice what paths of ordinary
/// length take.
pub const LISTING_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Bytes of one page of it: half a control frame.
pub const LISTING_PAGE_BYTES_MAX: usize = CONTROL_FRAME_MAX / 2;

/// Entries of one page, so that a page takes a receiver few milliseconds.
pub const LISTING_PAGE_ENTRIES_MAX: usize = 1_000;

/// Shares of one device, all of which fit into one answer.
pub const SHARES_MAX: usize = 256;

/// Questions about shares that one session may have open: those of one person who browses, and
/// some for programs.
pub const QUESTIONS_MAX: usize = 8;

/// Bytes of one page of a shared folder: half a control frame.
pub const ENTRIES_PAGE_BYTES_MAX: usize = CONTROL_FRAME_MAX / 2;

/// Entries of one page, so that the first one comes soon.
pub const ENTRIES_PAGE_LEN_MAX: usize = 1_000;

/// Pages that a listing may send before the other end asks for more. They fill a link of 100 Mbit/s
/// over 40 ms, and bound what a listing that nobody wants any more has under way.
pub const PAGES_AHEAD_MAX: u8 = 16;

/// Bytes of one page of a file: half a control frame.
pub const RANGE_PAGE_BYTES_MAX: usize = CONTROL_FRAME_MAX / 2;

/// Bytes of a file that one question asks for: as many as the pages hold that may be sent at once.
pub const RANGE_BYTES_MAX: u32 = PAGES_AHEAD_MAX as u32 * RANGE_PAGE_BYTES_MAX as u32;

/// A session that answers questions about shares ends after so many milliseconds without one.
pub const QUESTIONS_IDLE_MAX_MS: u64 = 120_000;

/// A note's text.
pub const NOTE_LEN_MAX: usize = ringway_model::NoteText::LEN_MAX;

/// Bytes of one page of it: half a control frame.
pub const NOTE_PAGE_BYTES_MAX: usize = CONTROL_FRAME_MAX / 2;

/// A lane frame's head. It fits 4,096 items of ordinary length, or one item with every limit
/// reached.
pub const LANE_HEAD_MAX: usize = 1024 * 1024;

/// A lane frame's body: large enough that headers and wake-ups cost little, small enough that
/// several fit in an end's 64 MiB.
pub const LANE_BODY_MAX: usize = 1024 * 1024;

/// Items in one batch head. This bounds the receiver's work for each frame.
pub const BATCH_ITEMS_MAX: usize = 4096;

/// An extended attribute's name, as Linux's XATTR_NAME_MAX.
pub const XATTR_NAME_MAX: usize = 255;

/// All extended attributes of one entry, names and values. Linux limits a value and a list to 64
/// KiB each.
pub const XATTRS_TOTAL_MAX: usize = 256 * 1024;

/// Extended attributes of one entry.
pub const XATTR_COUNT_MAX: usize = 256;

/// Entries of one access control list. ext4 takes more only in a block of its own, and people write
/// a handful.
pub const ACL_ENTRIES_MAX: usize = 128;

/// The name of a user or group. Linux allows 32 bytes; directories such as Active Directory have
/// longer ones.
pub const OWNER_NAME_MAX: usize = 256;

/// Names of users and groups in one head: several times what two entries with the longest access
/// control lists bring.
pub const OWNER_NAMES_PER_HEAD_MAX: usize = 1024;

/// Users and groups whose names one session may tell: as many as the largest universities have. The
/// receiver keeps two numbers of each: 2 MiB at most.
pub const OWNERS_NAMED_MAX: usize = 1 << 17;

/// Files in ranges at the same time, on all lanes together; each takes a descriptor at the
/// receiver. This is enough for the files that 16 lanes send, and for those of which a piece is
/// still under way on a slow lane, whose connection buffers about 6 pieces.
pub const OPEN_RANGED_MAX: usize = 128;

/// Separate pieces of one ranged file that may be outstanding. It bounds memory. Lanes deliver
/// nearly in order, so few are needed.
pub const RANGE_PIECES_MAX: usize = 4096;

/// Stretches of a file that a receiver reports to have, so that the sender continues it: a tenth of
/// the pieces that it may be received in, which leaves space for the rest.
pub const HAS_MAX: usize = 409;

/// The smallest file that is sent in chunks if the receiver has a file of its name. For smaller
/// ones, asking takes longer than it saves on most lines.
pub const CHUNKED_SIZE_MIN: u64 = 8 * 1024 * 1024;

/// The shortest and the longest average length of chunks. For each 32 KiB of a file, 36 bytes are
/// sent. The longest chunk is then 1 MiB, and an end has two of them in memory.
pub const CHUNK_LEN_MIN: u64 = 32 * 1024;
/// See [`CHUNK_LEN_MIN`].
pub const CHUNK_LEN_MAX: u64 = 256 * 1024;

/// Between those lengths, a file has about this many chunks, which take 2.4 MB to send.
pub const CHUNKS_AIMED_AT: u64 = 65_536;

/// Files with several names that the receiver remembers at once; their ids take 10 MiB. Further
/// ones are sent as separate files.
pub const LINK_SETS_MAX: usize = 262_144;

/// Files with several names, by id, whose further names both ends count as links if the receiver
/// keeps the file. Each takes a bit at the receiver.
pub const KEPT_LINK_SETS_MAX: u64 = 1 << 20;

/// Files that a journal remembers: about 20 MiB if their paths have ordinary length.
pub const JOURNAL_FILES_MAX: usize = 65_536;

/// Failures that are named to the peer. Further ones are only counted.
pub const FAILURES_NAMED_MAX: u64 = 10_000;

/// Failures that a receiver may count for one entry: its attributes, its contents when they are
/// read back, and its removal.
pub const FAILURES_PER_ENTRY_MAX: u64 = 4;

/// Entries of any kind that a message may count. No filesystem has as many inodes, and sums of a
/// few such counters cannot overflow.
pub const ENTRIES_MAX: u64 = 1 << 48;

/// Lanes of one transfer.
pub const LANES_MAX: u8 = 16;

/// After this many milliseconds of silence, a session sends a ping.
pub const PING_AFTER_MS: u64 = 4_000;

/// A session that has received nothing for this many milliseconds is dead: three pings went
/// unanswered. TCP retransmits lost data within 12.6 s of silence (six times, RFC 6298), so a
/// session survives an outage of 10 s.
pub const SILENCE_MAX_MS: u64 = 15_000;

/// A lane is given up if nothing moves on it for this many milliseconds, although its session lives
/// and neither end is working. This is longer than a session's silence, because a lane that loses
/// many packets waits for them alone.
pub const LANE_SILENCE_MAX_MS: u64 = 30_000;

/// TLS and hello together: enough for slow lines, and short enough that a slow-loris attack does
/// not hold a place for long.
pub const HELLO_TIME_MAX_MS: u64 = 15_000;

/// Pairing, from hello to the last message. Both sides have the code already.
pub const PAIRING_TIME_MAX_MS: u64 = 15_000;

/// Nanoseconds in a second.
pub(crate) const NANOS_PER_SEC: u32 = 1_000_000_000;
