//! What is said of offers and of devices that pair: names that look alike, offers beyond a rule, a
//! folder that does not suit an offer, codes.
use super::table::*;
use super::{Row, Says, figures};
use crate::device::{DeviceId, LookAlike};
use crate::fault::AuthError;
use crate::offer::{Comparison, ComparisonState, Offer};
use crate::paired::AskedBecause;
use crate::text::{PathText, Text};
use crate::transfer::OnConflict;

impl LookAlike {
    /// That the name of a paired device looks like this one's.
    pub fn says(&self) -> Says {
        self.fill(DEVICE_LOOKS_LIKE.says())
    }

    /// That the name of a device that offers something looks like this one's.
    pub fn says_of_offer(&self, from: &str, from_id: DeviceId) -> Says {
        self.fill(OFFER_LOOKS_LIKE.says()).with("from", Text::from(from)).with("fromId", from_id.short())
    }

    fn fill(&self, says: Says) -> Says {
        says.with("name", &self.name).with("id", self.id.short())
    }
}

impl AskedBecause {
    /// Why a person is asked in spite of a rule.
    pub fn says(&self) -> Says {
        match self {
            Self::TooMuch { bytes_max } => OFFER_TOO_MUCH.says().with("size", figures::bytes(*bytes_max)),
            Self::NoFolder { folder } => OFFER_NO_FOLDER.says().with("folder", folder),
        }
    }
}

/// Why a folder does not suit an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsuitable {
    /// Nothing can be written to it.
    NotWritable,
    /// So many bytes are missing on its disk.
    TooLarge(u64),
    /// Its disk can hold only so many more items.
    TooMany(u64),
    /// Names may only have so many bytes there.
    NamesTooLong(u64),
}

impl Unsuitable {
    /// The same in words.
    pub fn says(self) -> Says {
        match self {
            Self::NotWritable => OFFER_NOT_WRITABLE.says(),
            Self::TooLarge(missing) => OFFER_TOO_LARGE.says().with("missing", figures::bytes(missing)),
            Self::TooMany(n) => OFFER_TOO_MANY.says().with("n", figures::count(n)),
            Self::NamesTooLong(n) => OFFER_NAMES_TOO_LONG.says().with("n", figures::count(n)),
        }
    }
}

/// What an offer would do to what is in its folder, such as "18 new, 303 unchanged, 1 differs
/// here". None if that is not known.
pub fn compared(comparison: &Comparison) -> Option<String> {
    let Comparison { state, new, unchanged, differing, edited, in_the_way, unreadable, at_least } = *comparison;
    let parts = [
        (COMPARISON_NEW, new),
        (COMPARISON_UNCHANGED, unchanged),
        (COMPARISON_DIFFERING, differing),
        (COMPARISON_IN_THE_WAY, in_the_way),
        (COMPARISON_UNREADABLE, unreadable),
    ];
    let says = |(row, n): (Row, u64)| {
        let count = row.says().with("n", figures::count(n)).what();
        match row.key == COMPARISON_DIFFERING.key && edited > 0 {
            true => COMPARISON_EDITED.says().with("differing", count).with("n", figures::count(edited)).what(),
            false => count,
        }
    };
    let counts: Vec<_> = parts.into_iter().filter(|(_, n)| *n > 0).map(says).collect();
    let counts = if counts.is_empty() { says((COMPARISON_NEW, 0)) } else { counts.join(", ") };
    match state {
        ComparisonState::Unknown => None,
        ComparisonState::Comparing => Some(COMPARISON_SO_FAR.says().with("counts", counts).what()),
        ComparisonState::Done if at_least => Some(COMPARISON_AT_LEAST.says().with("counts", counts).what()),
        ComparisonState::Done => Some(counts),
    }
}

/// What an offer would do beyond its counts: under `update`, which other names it updates or gets;
/// under `replace`, how many items of the owner's it overwrites, as far as that is known.
pub fn would_do(offer: &Offer, on_conflict: OnConflict) -> Vec<Says> {
    let named = |row: Row, names: &[PathText]| {
        let names: Vec<_> = names.iter().map(ToString::to_string).collect();
        (!names.is_empty()).then(|| row.says().with("names", names.join(", ")))
    };
    let says = match on_conflict {
        OnConflict::RenameTop => [named(OFFER_UPDATES, &offer.updates), named(OFFER_RENAMED, &offer.renamed)],
        OnConflict::Replace => [offer.compared_under(on_conflict).and_then(|compared| overwrites(&compared)), None],
        OnConflict::Keep | OnConflict::Rename => [None, None],
    };
    says.into_iter().flatten().collect()
}

fn overwrites(compared: &Comparison) -> Option<Says> {
    let row = match compared.state {
        ComparisonState::Done if !compared.at_least => OFFER_OVERWRITES,
        ComparisonState::Done | ComparisonState::Comparing => OFFER_OVERWRITES_AT_LEAST,
        ComparisonState::Unknown => return None,
    };
    (compared.edited > 0).then(|| row.says().with("n", figures::count(compared.edited)))
}

/// What the owner loses by `replace`, also where it is not known how much that is, as of an offer
/// that was not compared with its folder. None if that is nothing.
pub fn replaces(offer: Option<&Offer>) -> Option<Says> {
    let compared = offer.and_then(|offer| offer.compared_under(OnConflict::Replace));
    let is_whole = |found: &Comparison| found.state == ComparisonState::Done && !found.at_least;
    match compared.as_ref().and_then(overwrites) {
        None if !compared.as_ref().is_some_and(is_whole) => Some(OFFER_OVERWRITES_ALL.says()),
        said => said,
    }
}

/// That so many offered names begin with a dot. `names` are safe to show.
pub fn dot_names(n: u64, names: &str) -> Says {
    OFFER_DOT_NAMES.says().with("n", figures::count(n)).with("names", names)
}

/// That a device at the address `from` failed to pair with this one. `attempts_left` is how many
/// attempts the code has, where that is known.
pub fn pairing_failed(why: &AuthError, from: &str, attempts_left: Option<u8>) -> Says {
    let says = match (why, attempts_left) {
        (AuthError::WrongCode, None) => PAIRING_WRONG_CODE.says(),
        (AuthError::WrongCode, Some(0)) => PAIRING_WRONG_CODE_LAST.says(),
        (AuthError::WrongCode, Some(left)) => PAIRING_WRONG_CODE_LEFT.says().with("n", left),
        (AuthError::NoCodeOpen, _) => PAIRING_NO_CODE.says(),
        _ => PAIRING_FAILED.says(),
    };
    says.with("from", Text::from(from))
}

/// That several devices show a code with that number. `names` are safe to show.
pub fn code_ambiguous(number: u16, names: &str) -> Says {
    CODE_AMBIGUOUS.says().with("number", number).with("names", names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparison_is_told_in_counts_that_are_not_zero() {
        let done = Comparison { state: ComparisonState::Done, ..Comparison::default() };
        let album = Comparison { new: 18, unchanged: 1_303, differing: 1, ..done };
        for (comparison, said) in [
            (album, Some("18 new, 1,303 unchanged, 1 differs here")),
            (
                Comparison { differing: 3, edited: 2, ..album },
                Some("18 new, 1,303 unchanged, 3 differ here (2 changed here or from elsewhere)"),
            ),
            (Comparison { at_least: true, ..album }, Some("at least 18 new, 1,303 unchanged, 1 differs here")),
            (
                Comparison { differing: 2, in_the_way: 1, unreadable: 3, ..done },
                Some("2 differ here, 1 blocked by another item here, 3 not readable here"),
            ),
            (done, Some("0 new")),
            (Comparison { state: ComparisonState::Comparing, new: 5, ..done }, Some("5 new so far")),
            (Comparison { state: ComparisonState::Unknown, ..album }, None),
        ] {
            assert_eq!(compared(&comparison).as_deref(), said, "{comparison:?}");
        }
    }
}
