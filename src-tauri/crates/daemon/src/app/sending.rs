//! Sending what was chosen to the chosen target; pairing without sending; and sending again what
//! the history has.
mod queue;

use std::sync::Arc;
use std::time::Duration;

use ringway_engine::selection::to_line;
use ringway_engine::{
    Engine, Fingerprint, GivenSecret, NoteRequest, PairingSecret, PathInShare, Resend, SendRequest, Target,
    TransferOptions,
};
use ringway_model::{FailureReason, Fault, Invalid, NoteText, RateLimit, Text};

use super::choices::{Choices, Elsewhere, ToSend, left_out};
use super::devices::Devices;
use super::nearby::NearbyDevices;
use crate::dto::{Again, Recipient, Sent};
use crate::text::shown_text;
pub(crate) use queue::Queue;

/// How long a note is sent again after the connection was lost: as long as a person looks at the
/// window, who can send it again by hand.
const NOTE_RETRY: Duration = Duration::from_secs(60);

/// How something is to be sent.
#[derive(Debug, Clone, Default)]
pub(crate) struct HowToSend {
    /// Whether it is read back there.
    pub(crate) verify: bool,
    /// Bytes a second; none is what the settings say.
    pub(crate) limit: Option<u64>,
    /// What is left out: patterns as in a .gitignore file, one a line.
    pub(crate) leave_out: String,
    /// The place in a drop box there where it is to land, as `SHARE/PATH`; none is where that
    /// device receives.
    pub(crate) in_share: Option<String>,
}

/// No state of its own but the queue.
#[derive(Clone)]
pub(crate) struct Sending {
    pub(super) engine: Engine,
    pub(super) choices: Arc<Choices>,
    pub(super) nearby: Arc<NearbyDevices>,
    pub(super) devices: Devices,
    pub(crate) queue: Arc<Queue>,
}

impl Sending {
    /// Whom a window means. A receiver that announces itself is looked for at its addresses; typed
    /// text is read here and nowhere below.
    pub(crate) async fn target(&self, recipient: &Recipient) -> Result<Target, Fault> {
        match recipient {
            Recipient::Device { id } => Ok(Target::Device(self.devices.id(id)?)),
            Recipient::Nearby { id } => self.nearby.target(id).await,
            Recipient::Typed { text } => Ok(self.engine.resolve(text.trim())?),
            Recipient::Confirmed { id, text } => match self.engine.resolve(text.trim())? {
                Target::Address(at) => Ok(Target::DeviceAt { id: self.devices.id(id)?, at }),
                _ => Err(Fault::Gone),
            },
            Recipient::Announced { id, at } => {
                let at = at.parse().map_err(|_| Fault::Gone)?;
                Ok(Target::Announced { at, fingerprint: Fingerprint::parse(id).map_err(|_| Fault::Gone)? })
            }
        }
    }

    /// Starts sending choice `chosen` to `target`, with a code if the two devices have not met.
    /// What goes to a paired device waits for what goes there already. `confirmed` is the target
    /// that a person said yes to outside the page, in the words of [`Fault::NewTarget`].
    ///
    /// # Errors
    /// [`Fault::NewTarget`] where the choice comes from the history, went to another target, and
    /// nobody has confirmed this one; a limit of nothing; a pattern that is not understood; and
    /// where too much waits.
    pub(crate) fn send(
        &self,
        chosen: u32,
        target: Target,
        code: Option<String>,
        how: HowToSend,
        confirmed: Option<&str>,
    ) -> Result<Sent, Fault> {
        let (ToSend { sources, failed_before }, elsewhere) =
            self.choices.to_send(chosen, &target).ok_or(Fault::Gone)?;
        if let Some(Elsewhere { what, more, was }) = elsewhere {
            let to = self.in_full(&target);
            if confirmed != Some(&to) {
                let was = self.in_full(&was).into();
                return Err(Fault::NewTarget { what: what.into(), more, to: to.into(), was });
            }
        }
        let code = code.as_deref().map(secret).transpose()?;
        let limit = match how.limit {
            Some(bytes_per_s) => Some(RateLimit::new(bytes_per_s)?),
            None => self.engine.settings().send_limit,
        };
        let selection = left_out::selection(&how.leave_out)?;
        let in_share = how.in_share.as_deref().map(str::trim).filter(|place| !place.is_empty());
        let in_share = in_share.map(|place| PathInShare::parse(place.as_bytes())).transpose()?;
        let request = SendRequest {
            failed_before,
            in_share,
            options: TransferOptions {
                selection,
                code,
                limit,
                verify: how.verify,
                retry: Some(ringway_engine::limits::RETRY_DEFAULT),
                timeout: Some(ringway_engine::limits::STALL_TIME_DEFAULT),
                ..TransferOptions::default()
            },
            ..SendRequest::new(sources, target)
        };
        let sent = self.queue.send(request)?;
        self.choices.remember_left_out(chosen, &how.leave_out);
        Ok(sent)
    }

    /// A target in words that stand for no other one: a device's name here and its id, or an
    /// address.
    fn in_full(&self, target: &Target) -> String {
        let label = self.engine.label(target);
        shown_text(&match target {
            Target::Device(id) => format!("{label} ({})", id.short()),
            Target::DeviceAt { id, at } => format!("{label} ({}), {at}", id.short()),
            Target::Announced { fingerprint, .. } => format!("{label} ({})", fingerprint.short()),
            Target::Address(_) => label,
        })
    }

    /// Sends a note, with a code if the two devices have not met; what the other device is called.
    ///
    /// # Errors
    /// [`Invalid::Note`], or it does not arrive.
    pub(crate) async fn note(
        &self,
        recipient: &Recipient,
        text: String,
        code: Option<String>,
    ) -> Result<String, Fault> {
        let text = NoteText::from_bytes(text.into_bytes()).map_err(|_| Fault::Invalid(Invalid::Note))?;
        let code = code.as_deref().map(secret).transpose()?;
        let (target, is_pairing) = (self.target(recipient).await?, code.is_some());
        let request = NoteRequest { target, code, text, retry: Some(NOTE_RETRY) };
        let sent = self.engine.send_note(request, |_| {}).await;
        // The two may have met although the note was declined.
        if is_pairing {
            self.devices.tell();
        }
        Ok(shown_text(&sent?.name))
    }

    /// Pairs without sending anything; what the other machine is called then.
    pub(crate) async fn pair(&self, recipient: &Recipient, code: &str) -> Result<String, Fault> {
        let code = secret(code)?;
        let target = self.target(recipient).await?;
        let device = self.engine.pair(target, code).await?;
        self.devices.tell();
        Ok(shown_text(&device.name))
    }

    /// Asks a receiver to show its code; what it is called where both are paired already.
    pub(crate) async fn request_pairing(&self, recipient: &Recipient) -> Result<Option<String>, Fault> {
        let target = self.target(recipient).await?;
        let paired = self.engine.request_pairing(target).await?;
        Ok(paired.map(|device| shown_text(&device.name)))
    }

    /// Chooses once more what a transfer of that id sent, and returns its target. [`Self::send`]
    /// takes that choice to nobody else without a confirmation.
    ///
    /// # Errors
    /// [`Fault::Forgotten`] where that device was forgotten since, [`Fault::Gone`] where it is not
    /// remembered, [`Fault::TooManySent`] where not all of it is.
    pub(crate) fn choose_again(&self, id: &str) -> Result<Again, Fault> {
        let id = id.parse().map_err(|_| Fault::Gone)?;
        let sent = self.engine.past_sent(id)?.ok_or(Fault::Gone)?;
        let target = self.engine.target_of(&sent)?;
        let resend = sent.resend.filter(|resend| !resend.by_list).ok_or(Fault::TooManySent)?;
        let Resend { sources, selection, verify, in_share, .. } = resend;
        let lines: Vec<_> = selection.patterns.iter().map(to_line).collect();
        // A command may have had a pattern that is no text.
        let leave_out = String::from_utf8(lines.join(&b'\n')).map_err(|_| Fault::TooManySent)?;
        let in_share = in_share.map(|place| place.shown().0.into_os_string().into_string()).transpose();
        let in_share = in_share.map_err(|_| Fault::TooManySent)?;
        let (_, details) = self.engine.past_transfer(sent.past.number)?.ok_or(Fault::Gone)?;
        // What cannot be sent may be removed: that mends it.
        let missed = details.failures.into_iter().filter(|failure| failure.reason != FailureReason::SpecialFile);
        let failed = missed.map(|failure| failure.path.0).collect();
        let chosen = self.choices.keep_sent(sources, target.clone(), failed)?.ok_or(Fault::Gone)?;
        let label = self.engine.label(&target);
        let shown_label = Text::from(label.as_str());
        let target = match &target {
            Target::Device(id) | Target::DeviceAt { id, .. } => Recipient::Device { id: id.to_string() },
            Target::Announced { at, fingerprint } => {
                Recipient::Announced { id: fingerprint.to_hex(), at: at.to_string() }
            }
            Target::Address(_) => Recipient::Typed { text: label },
        };
        Ok(Again { chosen, target, label: shown_label, verify, leave_out, in_share })
    }
}

/// What the other device shows, or the standing secret of one that has no screen.
fn secret(typed: &str) -> Result<PairingSecret, Fault> {
    Ok(GivenSecret::parse(typed.trim().as_bytes())?.to_pairing_secret())
}
