//! Limits of the data plane, each with its reason. The wire's own are in [`ringway_wire::limits`].

/// What may come beyond the size that a person accepted, once that was final: one part in so many.
/// Files grow while they are sent, and what was under way when a connection was lost comes again.
pub const ACCEPTED_MARGIN_PART: u64 = 4;

/// And so much at the least: what the lanes of a small transfer have under way twice over, and its
/// extended attributes.
pub const ACCEPTED_MARGIN_MIN: u64 = 32 << 20;

/// How many times the size may come that a person accepted while it was still counted. In the end
/// it is also held to what its sender said it had counted.
pub const ACCEPTED_GROWTH: u64 = 4;

/// And so much more at the least: whoever answers within the first second has seen next to nothing
/// of a large folder.
pub const ACCEPTED_GROWTH_MIN: u64 = 1 << 30;
