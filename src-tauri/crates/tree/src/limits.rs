//! Limits of the data plane, each with its reason. The wire's own are in [`ringway_wire::limits`].
use std::time::Duration;

/// What may come beyond the size that a person accepted, once that was final: one part in so many.
/// Files grow while they are sent, and what was under way when a connection was lost comes again.
pub const ACCEPTED_MARGIN_PART: u64 = 4;

/// And so much at the least: what the lanes of a small transfer have under way twice over, and its
/// extended attributes.
pub const ACCEPTED_MARGIN_MIN: u64 = 32 << 20;

/// How many times the size may come that a person accepted while it was still counted. In the end
/// it is also held to what its sender said it had counted.
pub const ACCEPTED_GROWTH: u64 = 4;

/// Bytes that an accepted offer may always grow by: within the first second a person has seen next
/// to nothing of a large folder.
pub const ACCEPTED_GROWTH_MIN: u64 = 1 << 30;

/// Bytes of the paths of failures that are named to the peer: what is named waits for a peer who
/// may not read. 10,000 of ordinary length take a quarter.
pub const NAMED_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Top-level paths a report names.
pub const ARRIVED_LISTED_MAX: usize = 64;

/// Top-level files and folders that are remembered of each device; of more, those go that it has
/// not brought or changed for the longest time, and count as the owner's from then on.
pub const BROUGHT_NAMES_MAX: usize = 10_000;

/// Time for the listing of an offer that waits, and for comparing it with a folder. Of what takes
/// longer, a person sees "at least".
pub const LISTING_TIME_MAX: Duration = Duration::from_secs(10);

/// The longest time that one lookup in the databases of users and groups may take: a directory
/// server answers within it, or its client's own timeout is still far.
pub(crate) const OWNER_LOOKUP_TIME_MAX: Duration = Duration::from_secs(5);

/// The time for all lookups of a session together. 40,000 users at a millisecond each fit in it.
/// What is not looked up keeps its number.
pub(crate) const OWNER_LOOKUPS_TIME_MAX: Duration = Duration::from_secs(60);

/// Bytes of the names of users and groups that a sender keeps.
pub(crate) const OWNER_NAMES_BYTES_MAX: usize = 4 * 1024 * 1024;
