//! Ends what runs with a device that was forgotten.
use crate::transfers::transfer::Transfer;

/// Works on `transfer`, which ends as soon as its device is `forgotten`.
pub(crate) async fn stop_when<T>(
    forgotten: impl Future<Output = ()>,
    transfer: &Transfer,
    work: impl Future<Output = T>,
) -> T {
    tokio::pin!(work);
    tokio::select! {
        biased;
        () = forgotten => transfer.stop_as_forgotten(),
        done = &mut work => return done,
    }
    work.await
}
