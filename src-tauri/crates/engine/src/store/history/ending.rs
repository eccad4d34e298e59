//! Failures as numbers for the store, and back.
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use ringway_model::{Failure, FailureReason, Operation, Side};

use crate::wire_convert::{CUT_SHORT, OPERATIONS, decode_reason, operation_code, reason_code};

/// A failure's side, operation, reason and errno (0 where it has none), as the store keeps them.
pub(crate) fn failure_stored(failure: &Failure) -> [i32; 4] {
    let side = i32::from(failure.side == Side::There);
    let (reason, errno) = reason_code(failure.reason);
    [side, operation_code(failure.operation).into(), reason.into(), errno]
}

/// The failure that [`failure_stored`] was given; `None` if it is no such thing.
pub(crate) fn failure(path: Vec<u8>, [side, doing, reason, errno]: [i32; 4]) -> Option<Failure> {
    let reason = match u8::try_from(reason).ok()? {
        CUT_SHORT => FailureReason::CutShort { errno },
        number => decode_reason(number, errno)?,
    };
    let side = if side == 0 { Side::Here } else { Side::There };
    let operation = operation(u64::try_from(doing).ok()?)?;
    Some(Failure { path: OsString::from_vec(path).into(), side, operation, reason })
}

fn operation(number: u64) -> Option<Operation> {
    OPERATIONS.get(usize::try_from(number).ok()?).copied()
}

#[cfg(test)]
mod tests {
    use ringway_model::samples::FAILURE_REASONS;

    use super::*;

    #[test]
    fn failures_come_back_as_they_were() {
        for reason in FAILURE_REASONS {
            for (operation, side) in OPERATIONS.into_iter().zip([Side::Here, Side::There].into_iter().cycle()) {
                let path = OsString::from_vec(b"odd\xff".to_vec());
                let whole = Failure { path: path.clone().into(), side, operation, reason };
                assert_eq!(failure(path.into_vec(), failure_stored(&whole)), Some(whole));
            }
        }
        assert_eq!(failure(Vec::new(), [0, OPERATIONS.len() as i32, 0, 0]), None);
        assert_eq!(failure(Vec::new(), [0, 0, 14, 0]), None);
    }
}
