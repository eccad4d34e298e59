//! The session's two state machines, without IO: messages and time are inputs; messages, events and
//! deadlines are outputs.
//!
//! Both have the same contract. Pass every message to `handle_message`, and call `handle_timeout`
//! when `poll_timeout` has passed. After either, drain `poll_event` and send what `poll_transmit`
//! returns. An `Err` ends the connection. Times are milliseconds on any monotonic clock.
use std::collections::VecDeque;

use crate::ProtocolError;
use crate::control::Message;
use crate::limits::{PING_AFTER_MS, SILENCE_MAX_MS};

mod acceptor;
mod asking;
mod initiator;
#[cfg(test)]
mod tests;

pub use acceptor::{Acceptor, AcceptorEvent};
pub use asking::QuestionNumber;
pub use initiator::{HandedOver, Initiator, InitiatorEvent, Pairing};

/// The state that both machines have: bytes to send, events to report, and the two clocks of
/// liveness.
struct Link<E> {
    transmit: Vec<u8>,
    events: VecDeque<E>,
    heard_ms: u64,
    said_ms: u64,
    now_ms: u64,
    deadline_ms: Option<u64>,
    /// Whether an answer to a ping is among the bytes to send.
    pong_waits: bool,
}

impl<E> Link<E> {
    fn new(now_ms: u64, deadline_ms: Option<u64>) -> Self {
        Self {
            transmit: Vec::new(),
            events: VecDeque::new(),
            heard_ms: now_ms,
            said_ms: now_ms,
            now_ms,
            deadline_ms,
            pong_waits: false,
        }
    }

    fn say(&mut self, message: &Message) {
        message.encode(&mut self.transmit);
        self.said_ms = self.now_ms;
    }

    /// Answers a ping, once for all that arrived since the last bytes were sent. So a peer that
    /// sends pings and does not read makes nothing grow.
    fn pong(&mut self) {
        if !std::mem::replace(&mut self.pong_waits, true) {
            self.say(&Message::Pong);
        }
    }

    fn tell(&mut self, event: E) {
        self.events.push_back(event);
    }

    fn hear(&mut self, now_ms: u64) {
        self.now_ms = self.now_ms.max(now_ms);
        self.heard_ms = self.now_ms;
    }

    fn has_more(&self) -> bool {
        !self.transmit.is_empty()
    }

    fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.pong_waits = false;
        if self.transmit.is_empty() { None } else { Some(std::mem::take(&mut self.transmit)) }
    }

    /// The next deadline: the state's, the next ping, or giving up.
    fn poll_timeout(&self) -> u64 {
        let liveness = (self.said_ms + PING_AFTER_MS).min(self.heard_ms + SILENCE_MAX_MS);
        self.deadline_ms.map_or(liveness, |deadline| deadline.min(liveness))
    }

    fn handle_timeout(&mut self, now_ms: u64) -> Result<(), ProtocolError> {
        self.now_ms = self.now_ms.max(now_ms);
        if self.now_ms >= self.heard_ms + SILENCE_MAX_MS || self.deadline_ms.is_some_and(|at| self.now_ms >= at) {
            return Err(ProtocolError::Silent);
        }
        if self.now_ms >= self.said_ms + PING_AFTER_MS {
            self.say(&Message::Ping);
        }
        Ok(())
    }
}
