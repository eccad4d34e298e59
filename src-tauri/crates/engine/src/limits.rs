//! The engine's limits, each with its reason. The wire's own are in [`ringway_wire::limits`].
use std::time::Duration;

pub use ringway_link::limits::{
    FULL_LOOK_EVERY, FULL_TIME_MAX, LANES_MAX, RECORDS_PER_KEY_MAX, RECORDS_PER_KEY_MIN, TICK,
};

/// What an origin has at first, and gets again as time goes by.
#[derive(Debug, Clone, Copy)]
pub struct Allowance {
    /// So many at once.
    pub burst: u32,
    /// And so many a minute.
    pub per_min: u32,
}

/// The port to listen on by default: below Linux's ephemeral range, unassigned, and R-I-N-G on a
/// phone's keys after a 1.
pub const DEFAULT_PORT: u16 = 17464;

/// Wrong codes that are reported to a receiver, over all codes that it draws by itself, until a
/// person has to ask for the next one: seven codes' worth, where people who mistype need one or
/// two. A guesser has 21 chances in 2^22, one in 200,000, however long it goes on.
pub const WRONG_ATTEMPTS_OF_ALL_CODES_MAX: u32 = 21;

/// How often a person is told that an address tried to pair while no code was open: a line in the
/// log and a notice each.
pub const NO_CODE_TOLD: Allowance = Allowance { burst: 3, per_min: 1 };

/// The same of all addresses together.
pub const NO_CODE_TOLD_OF_ALL: Allowance = Allowance { burst: 16, per_min: 4 };

/// Failures a report names: enough to act on, and bounded when a whole tree cannot be written.
pub const FAILURES_LISTED_MAX: usize = 1_000;

/// Names that begin with a dot that the question about an offer points out one by one.
pub const DOT_NAMES_SHOWN_MAX: usize = 8;

/// Connections that have not shown what they are: when more come, those that stall go, so that a
/// flood costs sockets and little else. A handshake under way takes some 60 KiB.
pub const UNAUTHENTICATED_MAX: usize = 128;

/// Those of one address (or IPv6 network), or of one known device: all lanes of a transfer dial at
/// once, and those of another one.
pub const UNAUTHENTICATED_FROM_ONE_MAX: usize = 2 * LANES_MAX as usize;

/// Connections of known devices that are told at a time that there is no place for them; more are
/// closed without a word.
pub const PARTINGS_MAX: usize = UNAUTHENTICATED_MAX;

/// Time for that word.
pub const PARTING_TIME_MAX: Duration = Duration::from_secs(1);

/// Addresses remembered that known devices came from: strangers from elsewhere make room first.
pub const KNOWN_ADDRESSES_MAX: usize = 256;

/// Handshakes that an address may begin: one costs this end half a millisecond of processor time,
/// so eight a second are half a percent. Those of known devices do not count once they have shown
/// who they are; the lanes of two transfers may be on their way to that.
pub const HANDSHAKES_OF_STRANGERS: Allowance = Allowance { burst: 64, per_min: 8 * 60 };

/// The same where known devices came from: strangers behind the same router are not to keep them
/// out. A thirtieth of a processor.
pub const HANDSHAKES_WHERE_KNOWN: Allowance = Allowance { burst: 256, per_min: 64 * 60 };

/// Those of all other addresses together: a twentieth of a processor, however many networks they
/// come from.
pub const HANDSHAKES_OF_ALL_STRANGERS: Allowance = Allowance { burst: 512, per_min: 96 * 60 };

/// How long a connection that has none left waits before it looks again, until it has to leave.
pub const HANDSHAKE_PAUSE: Duration = Duration::from_millis(20);

/// Offers of one device that came to nothing: withdrawn, declined or not answered. A person is
/// asked no more often than that.
pub const OFFERS_IN_VAIN: Allowance = Allowance { burst: 16, per_min: 4 };

/// Requests of one device for entries of shares, and its offers into drop boxes: a person who gets
/// or sends one after the other, and eight transfers that are asked for again every five seconds
/// because they are paused here.
pub const REQUESTS_FOR_SHARES: Allowance = Allowance { burst: 64, per_min: 120 };

/// Notes of one device, whether they are kept or not: more than a person sends, and a script that
/// sends one after the other waits.
pub const NOTES: Allowance = Allowance { burst: 16, per_min: 12 };

/// Notes that are kept: 12.5 MiB of text. The oldest ones that were read make room.
pub const NOTES_MAX: u32 = 200;

/// Those of one device: three devices leave the others a place.
pub const NOTES_OF_ONE_MAX: u32 = NOTES_MAX / 4;

/// Ids of notes that are remembered, so that none arrives twice: those of one device for more than
/// an hour, as often as it may send any.
pub const NOTE_IDS_MAX: u32 = 1_000;

/// How long a sender waits to hear that its note is kept, while the other end is there: a busy disk
/// takes seconds.
pub const NOTE_ANSWER_TIME_MAX: Duration = Duration::from_secs(60);

/// What other devices get from the shares here at a time, or may go on with. Each takes a walk, up
/// to 16 lanes and their descriptors: with few, `descriptors::ForReceiving` allows fewer at once.
pub const GETS_MAX: usize = 16;

/// The same of one device.
pub const GETS_OF_ONE_MAX: usize = 8;

/// What a person here has ended of what others get, of which their devices may not know yet. Older
/// ones are forgotten.
pub const GETS_ENDED_MAX: usize = 256;

/// How long a device that gets something waits for its size at most, where its disk has less free
/// space than [`SCARCE_BYTES`]: what plainly does not fit is then refused before its first byte.
pub const COUNTED_TIME_MAX: Duration = Duration::from_secs(1);

/// With fewer entries than this, a first count says too little about the total size, and the
/// requester waits for more. A tenth of a second is enough to count some ten thousand.
pub const COUNTED_ENTRIES_MIN: u64 = 1_000;

/// See [`COUNTED_TIME_MAX`].
pub const SCARCE_BYTES: u64 = 16_000_000_000;

/// How long patterns of another device may be compared with the names of a folder before anything
/// of it is offered: half a million ordinary names with a thousand ordinary patterns. A device
/// chooses its patterns, and a comparison takes what they say.
pub const SELECTING_TIME_MAX: Duration = Duration::from_secs(60);

/// How long a device that gets something may take none of it, before it is given up.
pub const SERVED_STALL_TIME_MAX: Duration = Duration::from_secs(10 * 60);

/// Origins whose token buckets are remembered.
pub const TOKEN_BUCKETS_MAX: usize = 4_096;

/// Time for a connection's first bytes: an honest client sends them with the first round trip.
pub const FIRST_BYTES_TIME_MAX: Duration = Duration::from_secs(5);

/// Time for TLS and hello together: slow lines manage, a slow-loris does not hold a place for long.
pub const HANDSHAKE_TIME_MAX: Duration = Duration::from_secs(15);

/// Time for an attempt to pair while others wait for theirs: it takes two round trips and no
/// person. A lost packet costs a second, and a peer that loses its turn after its proof must take
/// that for a wrong code.
pub const PAIRING_TURN_TIME: Duration = Duration::from_secs(3);

/// How long an attempt to pair waits for its turn: less than the peer waits for the answer.
pub const PAIRING_QUEUE_WAIT_MAX: Duration = Duration::from_secs(8);

/// Attempts to pair that wait for their turn, one from each address.
pub const PAIRING_QUEUE_LEN_MAX: usize = 32;

/// Attempts to pair that an address may fail in before it waits: those of one code, and a slip with
/// the next.
pub const PAIRING_FAILURES_FREE: u32 = ringway_wire::pair::MAX_WRONG_ATTEMPTS + 1;

/// Addresses remembered that failed to pair.
pub const FAILING_ADDRESSES_MAX: usize = 1_024;

/// How long a request to pair is shown that nobody answers, milliseconds: as long as a code lives.
pub const REQUEST_TIME_MAX_MS: u64 = ringway_wire::pair::CODE_LIFETIME_MS;

/// Requests to pair that are shown at a time: more than a person answers at once.
pub const REQUESTS_MAX: usize = 4;

/// How long it counts that a request was shown, milliseconds.
pub const REQUESTS_COUNTED_MS: u64 = 60 * 60 * 1000;

/// How often one device or address is shown in that time: two for a person who was not there.
pub const REQUESTS_OF_ONE_MAX: usize = 3;

/// How often any are: a flood from many addresses is a nuisance that ends. Those that pair do not
/// count.
pub const REQUESTS_OF_ALL_MAX: usize = 8;

/// How long one is not shown that a person has sent away, milliseconds.
pub const REQUEST_PAUSE_MS: u64 = 10 * 60 * 1000;

/// Devices that are remembered as blocked: a person has clicked on each.
pub const REQUESTERS_BLOCKED_MAX: usize = 256;

/// Offers of all devices that wait for a person's answer, at most: with few descriptors
/// `descriptors::ForReceiving` allows fewer. They take no place from transfers. More than a person
/// answers at a time.
pub const OFFERS_UNANSWERED_MAX: usize = 64;

/// Offers of one device that wait for a person's answer: eight devices fill the list together.
pub const OFFERS_OF_ONE_MAX: usize = 8;

/// Bytes of names that the offers of all devices hold which nobody has answered: those that wait
/// for a person, and those that still arrive.
pub const OFFERS_UNANSWERED_BYTES_MAX: usize = 64 << 20;

/// The part of those for offers that still arrive, so that they and those that wait take no memory
/// from each other: two of the longest lists (6 MiB each), or hundreds of ordinary ones.
pub const NAMES_ARRIVING_BYTES_MAX: usize = 16 << 20;

/// Those of one device that still arrive: one of the longest lists and the beginning of others.
pub const NAMES_ARRIVING_OF_ONE_BYTES_MAX: usize = NAMES_ARRIVING_BYTES_MAX / 2;

/// Those that wait for a person: a long list (4 MiB) each of eleven devices.
pub const OFFERS_ASKED_BYTES_MAX: usize = OFFERS_UNANSWERED_BYTES_MAX - NAMES_ARRIVING_BYTES_MAX;

/// Bytes of listings that are kept of offers that wait for a person, so that they can be compared
/// with another folder: four of the longest, or eight of 100,000 entries with ordinary paths. What
/// does not fit is not compared.
pub const LISTINGS_BYTES_MAX: usize = 4 * ringway_wire::limits::LISTING_BYTES_MAX;

/// Offers that are compared at once; of more, nothing is said. A disk that does not answer keeps
/// its thread.
pub const COMPARISONS_MAX: usize = 8;

/// Transfers that have ended while offers are compared again. After more, all that wait are.
pub const WRITTEN_MAX: usize = 64;

/// How long an offer waits before the sender lists it: an answer by rule is there before, and a
/// person notices no delay.
pub const LISTING_AFTER: Duration = Duration::from_millis(250);

/// Devices nearby that are listed: a large office, and bounded whatever somebody on the network
/// makes up.
pub const NEARBY_MAX: usize = 128;

/// Addresses of one of them: a few of each family on a few networks.
pub const NEARBY_ADDRESSES_MAX: usize = 16;

/// DNS records that are remembered of what is heard on the network: some for each device that may
/// be listed, twice over.
pub const NEARBY_RECORDS_MAX: i64 = 4_096;

/// Addresses that are tried for a paired device that is not where it was, whatever the network says
/// where it is.
pub const NEARBY_TRIED_MAX: usize = 32;

/// Time to connect to one address.
pub const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);

/// Pause before the next address is dialled too, while those before have not answered (RFC 8305
/// section 5, Connection Attempt Delay).
pub const NEXT_ADDRESS_AFTER: Duration = Duration::from_millis(250);

/// How long IPv4 addresses wait for the resolver's answer about IPv6 (RFC 8305 section 3,
/// Resolution Delay).
pub const RESOLUTION_DELAY: Duration = Duration::from_millis(50);

/// Time for the resolver: its own default is two tries of five seconds at each server
/// (resolv.conf(5)).
pub const LOOKUP_TIME_MAX: Duration = Duration::from_secs(20);

/// Addresses of one device that are dialled, whatever its name leads to.
pub const ADDRESSES_DIALLED_MAX: usize = 32;

/// Time an offer waits for a person.
pub const ANSWER_TIME_MAX: Duration = Duration::from_secs(10 * 60);

/// How long a rule with a size waits to hear how much there is before it accepts what is little so
/// far: a walk of a second finds tens of thousands of entries. A sender's walk may not end before
/// it is accepted, so what is accepted is held to the size.
pub const RULE_WAIT_MAX: Duration = Duration::from_secs(1);

/// How long it is remembered that something was more than a rule lets in, so that the next offer of
/// it is asked about: until a person is back.
pub const TOO_MUCH_TIME_MAX: Duration = Duration::from_secs(24 * 3600);

/// How long a sender tries to go on after its connection was lost, unless it is told otherwise: a
/// machine restarts its network, a cable is found.
pub const RETRY_DEFAULT: Duration = Duration::from_secs(15 * 60);

/// The longest that one may be told to: beyond a week what was kept at the receiver is removed.
pub const RETRY_MAX: Duration = Duration::from_secs(7 * 24 * 3600);

/// How soon after a transfer's beginning it is noted how far it has come, and how often from then
/// on: one write to the store each. A program that is killed leaves what was noted last.
pub const NOTED_FIRST_AFTER: Duration = Duration::from_secs(5);
/// See [`NOTED_FIRST_AFTER`].
pub const NOTED_EVERY: Duration = Duration::from_secs(60);

/// How often it is tried to write down how a transfer ended, where that could not be done at its
/// end: a person who has made room looks soon.
pub const NOTED_AGAIN_EVERY: Duration = Duration::from_secs(10);

/// A transfer of which nothing has moved for so long is said to be stalled.
pub const STALLED_AFTER: Duration = Duration::from_secs(5);

/// How long a sender waits while data is to move and the receiver takes none of it and does not say
/// that it is at its own work, unless it is told otherwise. A receiver whose disk is busy says so;
/// lanes that are cut are noticed after half a minute.
pub const STALL_TIME_DEFAULT: Duration = Duration::from_secs(10 * 60);

/// The least that one may be told to: shorter silences are ordinary on a bad line.
pub const STALL_TIME_MIN: Duration = Duration::from_secs(1);

/// What a receiver takes at the least of what is sent, for each second that the sender waited: a
/// receiver that takes less counts as taking nothing. The slowest modems moved more.
pub const MOVING_BYTES_PER_S: u64 = 100;

/// How long a receiver may be at its own work while nothing moves (a disk that stalls, comparing,
/// synchronising, reading back), and so much more for each [`WORKING_BYTES_PER_S`] that the
/// transfer has.
pub const WORKING_TIME_MIN: Duration = Duration::from_secs(2 * 3600);

/// The slowest disk that is waited for: an SD card under random writes.
pub const WORKING_BYTES_PER_S: u64 = 1 << 20;

/// How long a receiver lets an accepted transfer go on without asking again, whatever its sender
/// says; and how long it shows it as interrupted.
pub const RENEWAL_TIME_MAX: Duration = Duration::from_secs(15 * 60);

/// How long a transfer stays paused that a person has paused, before it is given up: as long.
pub const PAUSE_TIME_MAX: Duration = FULL_TIME_MAX;

/// The longest time between two words of who gets something that it still waits for its own disk.
/// With a shorter `--retry` it is a quarter of that, so that the serving device, which gives up 15
/// seconds after that time, hears it before.
pub const FULL_TOLD_EVERY_MAX: Duration = Duration::from_secs(30);

/// How long a cancelled transfer tries to reach the other end, which waits for it: that answered
/// some seconds ago, and takes long only if it is busy.
pub const GOODBYE_TIME_MAX: Duration = Duration::from_secs(10);

/// How long a transfer that was handed over whole, and is cancelled then, waits for the receiver's
/// word: whether everything gets its name is decided there, and that may take a slow disk a while.
pub const TAKEN_BACK_TIME_MAX: Duration = Duration::from_secs(30);

/// The same as [`GOODBYE_TIME_MAX`] where the connection is lost, and a person waits for what may
/// be in vain.
pub const LOST_GOODBYE_TIME_MAX: Duration = Duration::from_secs(3);

/// How long nothing is heard of the other end of a transfer that is paused here before that is
/// taken to have gone: it comes every 5 seconds ([`FULL_LOOK_EVERY`]), or every half a minute while
/// its connection is lost (`link::retry`).
pub const SILENT_AFTER: Duration = Duration::from_secs(60);

/// Transfers of one device that a receiver remembers for that: four times as many as run at once,
/// so that a person can pause a crowd of them. Each that waits takes some 800 KiB and five
/// descriptors. With few descriptors `descriptors::ForReceiving` allows fewer.
pub const RENEWALS_PER_DEVICE_MAX: usize = 32;

/// Bytes that their top-level names hold, all those of one device together: eight of the longest
/// lists.
pub const RENEWALS_NAMES_BYTES_MAX: usize = 48 << 20;

/// Transfers of one device that are over and still remembered: their senders hear that they were
/// stopped, or get their receipts again. As many as may wait to be received. The oldest are
/// forgotten first.
pub const RENEWALS_ENDED_MAX: usize = 256;

/// How long a program that ends waits for a transfer that gets its names, or was handed over whole.
/// Less than what systemd or timeout(1) usually allow.
pub const ENDING_TIME_MAX: Duration = Duration::from_secs(5);

/// Ids of programs, one started after the other, that wait for the same transfer, or have waited.
/// Of more, the oldest do not hear what becomes of it.
pub const LATER_IDS_MAX: usize = 16;

/// Transfers running at once on one receiver.
pub const TRANSFERS_MAX: usize = 16;

/// Transfers of one device that run at once: half of all places, so that no device keeps the others
/// out.
pub const TRANSFERS_OF_ONE_MAX: usize = TRANSFERS_MAX / 2;

/// Places that only devices with a rule to accept get: what people accept may be paused and stall
/// for hours.
pub const PLACES_FOR_RULES: usize = 4;

/// What an accepted offer takes of the queue while it waits for a place, beside its names: its
/// connection with TLS, its task, and what the kernel buffers.
pub const QUEUED_BYTES: usize = 128 << 10;

/// All of the queue: 256 offers with few names.
pub const QUEUE_BYTES_MAX: usize = 256 * QUEUED_BYTES;

/// How long a question that goes beside what is got waits for a session: as long as the longest
/// pause between two attempts to connect again (`link::retry`).
pub const ASKING_WAIT_MAX: Duration = Duration::from_secs(30);

/// How long a first contact is tried again that was turned away before any secret was tried: a
/// hundred at once take a small machine some ten seconds.
pub const FIRST_CONTACT_TIME_MAX: Duration = Duration::from_secs(60);

/// Folders that are shared at once: more than a person keeps in view.
pub const SHARES_MAX: usize = ringway_wire::limits::SHARES_MAX;

/// Sessions in which other devices ask about shares, and those of one device: a window and a few
/// commands. Each takes a connection with TLS. With few descriptors `descriptors::ForReceiving`
/// allows fewer, as with answers.
pub const ASKING_MAX: usize = 32;
/// See [`ASKING_MAX`].
pub const ASKING_OF_ONE_MAX: usize = 8;

/// Answers that are looked for in shared folders at once, each on a thread: together they take at
/// most half of what this program may use, by their names
/// ([`NAMES_BYTES_MAX`](ringway_tree::filesystem::browse::NAMES_BYTES_MAX)).
pub const ANSWERS_MAX: usize = 8;

/// Those of one device: two devices leave others a place.
pub const ANSWERS_OF_ONE_MAX: usize = 3;

/// How long a question waits for its place.
pub const ANSWER_PLACE_TIME_MAX: Duration = Duration::from_secs(15);

/// How long an answer waits for the other end to ask for more of it, before its place goes to
/// others: a person who looks at a page asks anew.
pub const ANSWER_PAUSE_MAX: Duration = Duration::from_secs(60);

/// How long the filesystem of a share, or of the folder that offers land in, may take to answer
/// before it counts as one that does not. A disk that has to start takes less as a rule. Two such
/// waits are shorter than the silence after which the other end gives up
/// ([`SILENCE_MAX_MS`](ringway_wire::limits::SILENCE_MAX_MS)).
pub const LOOK_TIME_MAX: Duration = Duration::from_secs(5);

/// Folders that are looked at at once, each on a thread, for a listing of all shares, or of what
/// unfinished transfers have left.
pub const LOOKS_AT_ONCE_MAX: usize = 32;

/// How often it is looked whether another program of this device has forgotten one that something
/// runs with.
pub const FORGOTTEN_LOOK_EVERY: Duration = Duration::from_secs(1);

/// Events that wait for a program which does not look: a listener then waits too.
pub const EVENTS_QUEUED_MAX: usize = 64;

/// Descriptors that sending and receiving need at the least: one transfer over one lane, a few
/// strangers, and what a program keeps open.
pub const DESCRIPTORS_MIN: usize = 64;

/// When a lane breaks, the reason is often on its way in a message: how long to wait for it.
pub const REASON_TIME_MAX: Duration = Duration::from_secs(3);
