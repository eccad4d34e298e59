//! A note from a known device: kept and told, or declined. Nobody is asked about it.
use std::sync::Arc;

use ringway_link::session::Session;
use ringway_model::{Consent, DeclineReason, Device, Fault, NoteText};
use ringway_wire::control::{Cancel, NoteId, Refusal};

use super::event::ReceiverEvent;
use super::listening::Listening;
use crate::admission::{Origin, boot_ms};
use crate::store::{Kept, Pairing};

/// A note of a known device.
pub(super) struct FromKnown {
    pub(super) device: Device,
    pub(super) pairing: Pairing,
    pub(super) id: NoteId,
    pub(super) text: NoteText,
}

/// Keeps it, and then tells its sender and the program.
pub(super) async fn run(listening: &Arc<Listening>, mut session: Session, note: FromKnown) {
    // Before this program ends, its sender has heard.
    let _under_way = listening.queue.offered();
    let device = note.device.clone();
    // A program that does not look keeps no sender waiting, nor the other way round.
    let lost = async |session: Session, why| {
        tokio::join!(session.close(), listening.tell(ReceiverEvent::NoteLost(device, why)));
    };
    match look(listening, note).await {
        Answer::Keep(kept) => {
            session.machine.keep_note();
            let tell = async {
                if let Some(kept) = kept {
                    listening.tell(ReceiverEvent::NoteReceived(kept)).await;
                }
            };
            tokio::join!(session.close(), tell);
        }
        Answer::Decline(DeclineReason::NotesFull) => {
            session.machine.decline(DeclineReason::NotesFull);
            lost(session, None).await;
        }
        Answer::Decline(why) => {
            session.machine.decline(why);
            session.close().await;
        }
        Answer::NotPaired => {
            session.machine.refuse(Refusal::NotPaired);
            session.close().await;
        }
        Answer::Failed(why) => {
            session.machine.cancel(Cancel::Failed);
            lost(session, Some(why)).await;
        }
    }
}

enum Answer {
    /// The note, if it is here for the first time.
    Keep(Option<ringway_model::Note>),
    Decline(DeclineReason),
    NotPaired,
    /// What this device keeps cannot be written.
    Failed(Fault),
}

async fn look(listening: &Arc<Listening>, FromKnown { device, pairing, id, text }: FromKnown) -> Answer {
    if device.rule.consent == Consent::Refuse {
        return Answer::Decline(DeclineReason::ByChoice);
    }
    let (origin, now_ms) = (Origin::Device(device.id), boot_ms());
    if !listening.notes.take(origin, now_ms) {
        let wait_ms = u32::try_from(listening.notes.wait_ms(origin, now_ms)).unwrap_or(u32::MAX);
        return Answer::Decline(DeclineReason::TooManyNotes { wait_ms });
    }
    let shared = Arc::clone(&listening.shared);
    // It waits for the disk, and perhaps for another program of this device.
    let keeping = tokio::task::spawn_blocking(move || shared.store.keep_note(pairing, id, &text));
    match keeping.await.expect("keeping a note does not panic") {
        Ok(Kept::New(kept)) => Answer::Keep(Some(kept)),
        Ok(Kept::Before) => Answer::Keep(None),
        Ok(Kept::Full) => Answer::Decline(DeclineReason::NotesFull),
        Ok(Kept::Forgotten) => Answer::NotPaired,
        Err(why) => Answer::Failed(why),
    }
}
