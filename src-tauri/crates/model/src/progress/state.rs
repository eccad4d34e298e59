//! What a transfer is doing, in the one word that people read, and what a person can do about it.
//! Words, icons and colours are the window's and the tray's.
use serde::{Deserialize, Serialize};

use super::Progress;
use crate::fault::{DeclineReason, Fault, Outage};
use crate::report::{Outcome, Past, Report};
use crate::transfer::{Direction, Side, Stage};

/// What a transfer is doing, or how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "snake_case")]
pub enum TransferState {
    /// It waits here for another transfer to the same device. It has not begun.
    WaitingTurn,
    /// The receiver has not answered the offer yet.
    AwaitingAnswer,
    /// It was accepted and waits for a place at the receiver.
    Queued,
    /// The sender reaches the receiver; a copy looks at what there is.
    Preparing,
    /// Bytes move.
    Moving,
    /// Nothing has moved for a while, although both ends are connected.
    Stalled,
    /// The connection was lost; it continues by itself once there is a new one.
    Interrupted,
    /// A person has paused it, here or there.
    Paused,
    /// The disk that it goes to is full; it continues by itself once there is space.
    OutOfSpace,
    /// Everything has been moved; it is synchronised, renamed or read back.
    Finishing,
    /// Everything arrived.
    Done,
    /// It ended, and some entries failed.
    DoneWithFailures,
    /// A person there, or a rule of theirs, said no.
    Declined,
    /// Nobody answered the offer in time.
    Unanswered,
    /// A person here stopped it.
    CancelledHere,
    /// A person there stopped it.
    CancelledThere,
    /// It failed.
    Failed,
}

/// What a person can do about a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "snake_case")]
pub enum TransferAction {
    /// Before the one in front of it.
    MoveUp,
    /// After the one behind it.
    MoveDown,
    /// Pause it.
    Pause,
    /// Let a paused one continue.
    Resume,
    /// Look at once whether it can continue.
    TryNow,
    /// Stop it.
    Cancel,
    /// Show what it brought.
    OpenFolder,
    /// Send the same to the same device once more.
    SendAgain,
    /// Get the same from the same device once more.
    GetAgain,
    /// One of these two where something failed: what arrived does not move again.
    Retry,
    /// Copy the list of failures.
    CopyList,
    /// Take it off the list; files stay.
    Remove,
}

impl TransferState {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::WaitingTurn,
        Self::AwaitingAnswer,
        Self::Queued,
        Self::Preparing,
        Self::Moving,
        Self::Stalled,
        Self::Interrupted,
        Self::Paused,
        Self::OutOfSpace,
        Self::Finishing,
        Self::Done,
        Self::DoneWithFailures,
        Self::Declined,
        Self::Unanswered,
        Self::CancelledHere,
        Self::CancelledThere,
        Self::Failed,
    ];

    /// The state of a transfer that stands at `progress`, and has ended if there is a report.
    pub fn of(progress: &Progress, report: Option<&Report>) -> Self {
        if let Some(report) = report {
            return Self::ended(&report.outcome);
        }
        match progress.stage {
            Stage::Connecting => Self::Preparing,
            Stage::AwaitingAnswer => Self::AwaitingAnswer,
            Stage::Queued => Self::Queued,
            Stage::Running if progress.stalled_for.is_some() => Self::Stalled,
            Stage::Running => Self::Moving,
            // Its report is about to be there.
            Stage::Finishing | Stage::Verifying | Stage::Ended => Self::Finishing,
            Stage::Reconnecting => Self::Interrupted,
            Stage::Paused => match progress.interruption.map(|interruption| interruption.why) {
                Some(Outage::Full(_)) => Self::OutOfSpace,
                _ => Self::Paused,
            },
        }
    }

    /// The state of a transfer that ended so.
    pub fn ended(outcome: &Outcome) -> Self {
        let fault = match outcome {
            Outcome::Complete => return Self::Done,
            Outcome::Partial => return Self::DoneWithFailures,
            Outcome::Failed(fault) => fault,
        };
        match fault {
            Fault::Cancelled { by: Side::Here, .. }
            | Fault::NoLongerShared { by: Side::Here }
            | Fault::PeerForgotten => Self::CancelledHere,
            Fault::Cancelled { by: Side::There, .. } | Fault::NoLongerShared { by: Side::There } => {
                Self::CancelledThere
            }
            Fault::Unanswered | Fault::Declined(DeclineReason::NoAnswer) => Self::Unanswered,
            Fault::Declined(DeclineReason::ByChoice | DeclineReason::Stopped) => Self::Declined,
            _ => Self::Failed,
        }
    }

    /// Whether the transfer has ended.
    pub const fn is_over(self) -> bool {
        matches!(
            self,
            Self::Done
                | Self::DoneWithFailures
                | Self::Declined
                | Self::Unanswered
                | Self::CancelledHere
                | Self::CancelledThere
                | Self::Failed
        )
    }

    /// Whether a person should look at it: something failed. What people decided is no failure.
    pub const fn has_failed(self) -> bool {
        matches!(self, Self::DoneWithFailures | Self::Failed)
    }
}

/// A transfer's state, and what a person can do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
pub struct TransferStatus {
    /// Its state.
    pub state: TransferState,
    /// The actions that exist in it, the most likely first.
    pub actions: Vec<TransferAction>,
}

impl TransferStatus {
    /// The status of a transfer that goes `direction`, was started by that side, and stands at
    /// `progress`.
    pub fn of(direction: Direction, started_by: Side, progress: &Progress, report: Option<&Report>) -> Self {
        let state = TransferState::of(progress, report);
        match report {
            Some(report) => Self { state, actions: after(state, direction, started_by, report) },
            None => Self { state, actions: meanwhile(state, started_by, progress) },
        }
    }

    /// The status of a past transfer.
    pub fn past(past: &Past) -> Self {
        let state = TransferState::ended(&past.report.outcome);
        Self { state, actions: after(state, past.direction, past.started_by(), &past.report) }
    }

    /// The same where not all is remembered that it takes to start it once more.
    pub fn never_again(mut self) -> Self {
        use TransferAction::{GetAgain, Retry, SendAgain};
        self.actions.retain(|action| !matches!(action, SendAgain | GetAgain | Retry));
        self
    }

    /// The status of what waits for its turn. `before` and `behind` say whether others wait.
    pub fn waiting_turn(before: bool, behind: bool) -> Self {
        let moves = [(before, TransferAction::MoveUp), (behind, TransferAction::MoveDown)];
        let mut actions: Vec<_> = moves.into_iter().filter_map(|(can, action)| can.then_some(action)).collect();
        actions.push(TransferAction::Remove);
        Self { state: TransferState::WaitingTurn, actions }
    }
}

fn meanwhile(state: TransferState, started_by: Side, progress: &Progress) -> Vec<TransferAction> {
    let is_paused_there =
        matches!(progress.interruption.map(|interruption| interruption.why), Some(Outage::Paused { by: Side::There }));
    let mut actions = Vec::new();
    match state {
        TransferState::Paused if !is_paused_there => actions.push(TransferAction::Resume),
        TransferState::OutOfSpace => actions.push(TransferAction::TryNow),
        // The other one dials. Here it can only be waited for.
        TransferState::Interrupted if started_by == Side::Here => actions.push(TransferAction::TryNow),
        _ => {}
    }
    if progress.can_pause && state != TransferState::Paused {
        actions.push(TransferAction::Pause);
    }
    actions.push(TransferAction::Cancel);
    actions
}

fn after(state: TransferState, direction: Direction, started_by: Side, report: &Report) -> Vec<TransferAction> {
    let again = match (started_by, direction) {
        (Side::Here, Direction::Sending) => Some(TransferAction::SendAgain),
        (Side::Here, Direction::Receiving) => Some(TransferAction::GetAgain),
        _ => None,
    };
    let mut actions = Vec::new();
    if state != TransferState::Done {
        actions.extend(again.map(|again| if state.has_failed() { TransferAction::Retry } else { again }));
    }
    if !report.arrived.is_empty() {
        actions.push(TransferAction::OpenFolder);
    }
    if state == TransferState::Done {
        actions.extend(again);
    }
    if state == TransferState::DoneWithFailures {
        actions.push(TransferAction::CopyList);
    }
    actions.push(TransferAction::Remove);
    actions
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::fault::{Interruption, OsError, Shortage};
    use crate::id::TransferId;
    use crate::text::PathText;
    use TransferAction::*;
    use TransferState::*;

    fn at(stage: Stage, why: Option<Outage>) -> Progress {
        let interruption = why.map(|why| Interruption { why, next_try: None, gives_up: None });
        Progress {
            stage,
            peer: None,
            peer_id: None,
            entries_done: 0,
            entries_total: 0,
            bytes_done: 0,
            bytes_moved: 0,
            bytes_total: 0,
            totals_final: false,
            failed: 0,
            running_for: Duration::ZERO,
            bytes_per_s: 0,
            entries_per_s: 0,
            time_left: None,
            stalled_for: None,
            limited_by: None,
            limit_bytes_per_s: None,
            reconnected: 0,
            interruption,
            place: None,
            can_pause: matches!(stage, Stage::Running),
            lanes: 0,
            here: None,
            there: None,
        }
    }

    fn ended(outcome: Outcome, arrived: &[&str]) -> Report {
        let arrived = arrived.iter().map(|path| PathText::from(*path)).collect();
        Report { arrived, ..Report::new(outcome, SystemTime::UNIX_EPOCH) }
    }

    /// The side that starts what is no get: the sender.
    fn started_by(direction: Direction) -> Side {
        if direction == Direction::Receiving { Side::There } else { Side::Here }
    }

    fn past(direction: Direction, started_by: Side, report: &Report) -> Past {
        Past {
            number: 1,
            id: TransferId([0; 16]),
            direction,
            peer: None,
            peer_id: None,
            target: (started_by == Side::Here).then(|| "lab-ws".into()),
            in_share: None,
            title: "a".into(),
            more_names: 0,
            paths: Vec::new(),
            report: report.clone(),
        }
    }

    #[test]
    fn who_started_it_can_start_it_again() {
        use Direction::{Receiving, Sending};
        let (whole, partly) = (ended(Outcome::Complete, &["/in/a"]), ended(Outcome::Partial, &["/in/a"]));
        let cancelled = ended(Outcome::Failed(Fault::cancelled(Side::Here)), &[]);
        for (direction, by, report, actions) in [
            (Receiving, Side::Here, &whole, vec![OpenFolder, GetAgain, Remove]),
            (Receiving, Side::Here, &partly, vec![Retry, OpenFolder, CopyList, Remove]),
            (Receiving, Side::Here, &cancelled, vec![GetAgain, Remove]),
            (Sending, Side::There, &ended(Outcome::Complete, &[]), vec![Remove]),
            (Sending, Side::There, &ended(Outcome::Partial, &[]), vec![CopyList, Remove]),
        ] {
            let status = TransferStatus::past(&past(direction, by, report));
            assert_eq!(status.actions, actions, "{direction:?} {by:?}");
            let left: Vec<_> = actions.into_iter().filter(|action| ![GetAgain, Retry].contains(action)).collect();
            assert_eq!(status.never_again().actions, left, "{direction:?} {by:?}");
        }
        let lost = at(Stage::Reconnecting, Some(Outage::Broken));
        let actions = |direction, by| TransferStatus::of(direction, by, &lost, None).actions;
        assert_eq!(actions(Receiving, Side::Here), [TryNow, Cancel]);
        assert_eq!(actions(Sending, Side::There), [Cancel]);
    }

    const FULL: Outage = Outage::Full(Shortage { needed: 9, free: 4, entries: 0 });

    #[test]
    fn every_state_follows_from_progress_and_report_and_has_its_actions() {
        use Direction::{Copying, Receiving, Sending};
        let stalled = Progress { stalled_for: Some(Duration::from_secs(6)), ..at(Stage::Running, None) };
        let paused = |by| at(Stage::Paused, Some(Outage::Paused { by }));
        let under_way: &[(Direction, Progress, TransferState, &[TransferAction])] = &[
            (Sending, at(Stage::Connecting, None), Preparing, &[Cancel]),
            (Sending, at(Stage::AwaitingAnswer, None), AwaitingAnswer, &[Cancel]),
            (Sending, at(Stage::Queued, None), Queued, &[Cancel]),
            (Receiving, at(Stage::Running, None), Moving, &[Pause, Cancel]),
            (Sending, stalled, Stalled, &[Pause, Cancel]),
            (Sending, at(Stage::Reconnecting, Some(Outage::Broken)), Interrupted, &[TryNow, Cancel]),
            (Receiving, at(Stage::Reconnecting, Some(Outage::Silent)), Interrupted, &[Cancel]),
            (Sending, paused(Side::Here), Paused, &[Resume, Cancel]),
            (Copying, paused(Side::Here), Paused, &[Resume, Cancel]),
            (Receiving, paused(Side::There), Paused, &[Cancel]),
            (Receiving, at(Stage::Paused, Some(FULL)), OutOfSpace, &[TryNow, Cancel]),
            (Sending, at(Stage::Finishing, None), Finishing, &[Cancel]),
            (Copying, at(Stage::Verifying, None), Finishing, &[Cancel]),
            (Sending, at(Stage::Ended, None), Finishing, &[Cancel]),
        ];
        let declined = |reason| Outcome::Failed(Fault::Declined(reason));
        let cancelled = |by| Outcome::Failed(Fault::cancelled(by));
        let lost = Outcome::Failed(Fault::ConnectionLost(OsError::from(std::io::ErrorKind::ConnectionReset)));
        let over: &[(Direction, Report, TransferState, &[TransferAction])] = &[
            (Sending, ended(Outcome::Complete, &[]), Done, &[SendAgain, Remove]),
            (Receiving, ended(Outcome::Complete, &["/in/a"]), Done, &[OpenFolder, Remove]),
            (Sending, ended(Outcome::Partial, &[]), DoneWithFailures, &[Retry, CopyList, Remove]),
            (Receiving, ended(Outcome::Partial, &["/in/a"]), DoneWithFailures, &[OpenFolder, CopyList, Remove]),
            (Sending, ended(declined(DeclineReason::ByChoice), &[]), Declined, &[SendAgain, Remove]),
            (Sending, ended(declined(DeclineReason::Stopped), &[]), Declined, &[SendAgain, Remove]),
            (Sending, ended(declined(DeclineReason::NoAnswer), &[]), Unanswered, &[SendAgain, Remove]),
            (Receiving, ended(Outcome::Failed(Fault::Unanswered), &[]), Unanswered, &[Remove]),
            (Sending, ended(cancelled(Side::Here), &[]), CancelledHere, &[SendAgain, Remove]),
            (Receiving, ended(Outcome::Failed(Fault::PeerForgotten), &[]), CancelledHere, &[Remove]),
            (Sending, ended(cancelled(Side::There), &[]), CancelledThere, &[SendAgain, Remove]),
            (Sending, ended(declined(DeclineReason::NotWritable), &[]), Failed, &[Retry, Remove]),
            (Sending, ended(lost, &[]), Failed, &[Retry, Remove]),
        ];
        let mut seen = vec![TransferStatus::waiting_turn(true, true).state];
        for (direction, progress, state, actions) in under_way {
            let status = TransferStatus::of(*direction, started_by(*direction), progress, None);
            assert_eq!((status.state, status.actions.as_slice()), (*state, *actions), "{progress:?}");
            assert!(!state.is_over() && !state.has_failed());
            seen.push(*state);
        }
        for (direction, report, state, actions) in over {
            let status = TransferStatus::of(*direction, started_by(*direction), &at(Stage::Ended, None), Some(report));
            assert_eq!(status, TransferStatus::past(&past(*direction, started_by(*direction), report)));
            assert_eq!((status.state, status.actions.as_slice()), (*state, *actions), "{report:?}");
            assert!(state.is_over());
            seen.push(*state);
        }
        for state in TransferState::ALL {
            assert!(seen.contains(&state), "{state:?} is in no row");
        }
    }

    /// What a state's actions are called in the window. One that failed lists nothing to retry.
    fn words_of(state: TransferState, action: TransferAction) -> &'static [&'static str] {
        match action {
            MoveUp => &["Move up"],
            MoveDown => &["Move down"],
            Pause => &["Pause"],
            Resume => &["Resume"],
            TryNow => &["Try now"],
            Cancel => &["Cancel"],
            OpenFolder => &["Open folder"],
            SendAgain => &["Send again"],
            GetAgain => &["Get again"],
            Retry if state == Failed => &["Send again", "Get again"],
            Retry => &["Retry these"],
            CopyList => &["Copy list"],
            Remove => &["Remove"],
        }
    }

    /// A cell with actions: what stands in brackets says when there is one.
    fn words_in(cell: &str) -> BTreeSet<String> {
        let outside = cell.split('(').map(|part| part.split_once(')').map_or(part, |(_, outside)| outside));
        let words = outside.collect::<String>().replace(" from list", "").replace(" or ", ",").replace(';', ",");
        words.split(',').map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
    }

    #[test]
    fn tables_of_states_in_the_documentation_have_the_actions_of_the_model() {
        let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut note = |status: TransferStatus| {
            let name = serde_json::to_value(status.state).unwrap().as_str().unwrap().to_owned();
            let words = status.actions.iter().flat_map(|action| words_of(status.state, *action));
            all.entry(name).or_default().extend(words.map(|word| (*word).to_owned()));
        };
        note(TransferStatus::waiting_turn(true, true));
        let outages = [None, Some(Outage::Broken), Some(FULL), Some(Outage::Paused { by: Side::Here })];
        let stages = [
            (Stage::Connecting, false),
            (Stage::AwaitingAnswer, false),
            (Stage::Queued, false),
            (Stage::Running, true),
            (Stage::Finishing, false),
            (Stage::Reconnecting, true),
            (Stage::Paused, false),
        ];
        for ((stage, can_pause), why) in stages.iter().flat_map(|stage| outages.map(|why| (*stage, why))) {
            let stalled_for = [None, Some(Duration::from_secs(6))];
            for stalled_for in stalled_for {
                let progress = Progress { can_pause, stalled_for, ..at(stage, why) };
                note(TransferStatus::of(Direction::Sending, Side::Here, &progress, None));
            }
        }
        let declined = |reason| Outcome::Failed(Fault::Declined(reason));
        let cancelled = |by| Outcome::Failed(Fault::cancelled(by));
        for (outcome, arrived) in [
            (Outcome::Complete, &["/in/a"][..]),
            (Outcome::Partial, &["/in/a"]),
            (declined(DeclineReason::ByChoice), &[]),
            (Outcome::Failed(Fault::Unanswered), &[]),
            (cancelled(Side::Here), &["/in/a"]),
            (cancelled(Side::There), &["/in/a"]),
            (Outcome::Failed(Fault::DestinationGone), &["/in/a"]),
        ] {
            for direction in [Direction::Sending, Direction::Receiving] {
                note(TransferStatus::past(&past(direction, Side::Here, &ended(outcome.clone(), arrived))));
            }
        }
        assert_eq!(all.len(), TransferState::ALL.len());

        let page = |path: &str| {
            let path = format!("{}/../../../docs/{path}", env!("CARGO_MANIFEST_DIR"));
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
        };
        let design = page("design/window.md");
        let mut seen = 0;
        for cells in design.lines().map(|line| line.split('|').map(str::trim).collect::<Vec<_>>()) {
            for name in cells.get(1).into_iter().flat_map(|names| names.split(", ")).map(|name| name.trim_matches('`'))
            {
                if let (Some(actions), Some(cell)) = (all.get(name), cells.get(5)) {
                    assert_eq!(&words_in(cell), actions, "design/window.md: {name}");
                    seen += 1;
                }
            }
        }
        assert_eq!(seen, all.len());
        let rows = [
            ("Waiting for NAME to finish", "waiting_turn"),
            ("Waiting for an answer", "awaiting_answer"),
            ("Queued", "queued"),
            ("Preparing", "preparing"),
            ("Sending, Receiving, Copying", "moving"),
            ("Stalled", "stalled"),
            ("Interrupted", "interrupted"),
            ("Paused", "paused"),
            ("Disk full", "out_of_space"),
            ("Finishing", "finishing"),
            ("Sent, Received, Copied", "done"),
            ("3 items failed", "done_with_failures"),
            ("Declined", "declined"),
            ("Not answered", "unanswered"),
            ("Cancelled, Cancelled by NAME", "cancelled_here"),
            ("Cancelled, Cancelled by NAME", "cancelled_there"),
            ("Failed", "failed"),
        ];
        let words = page("window.md");
        for (word, name) in rows {
            let row =
                words.lines().find(|line| line.starts_with(&format!("| {word} |"))).unwrap_or_else(|| panic!("{word}"));
            let cell = row.split('|').nth(3).unwrap();
            assert_eq!(&words_in(cell), &all[name], "window.md: {word}");
        }
    }

    #[test]
    fn what_people_decided_is_no_failure() {
        let failures: Vec<_> = TransferState::ALL.into_iter().filter(|state| state.has_failed()).collect();
        assert_eq!(failures, [DoneWithFailures, Failed]);
    }

    #[test]
    fn what_waits_for_its_turn_moves_only_past_others() {
        assert_eq!(TransferStatus::waiting_turn(false, false).actions, [Remove]);
        assert_eq!(TransferStatus::waiting_turn(true, true).actions, [MoveUp, MoveDown, Remove]);
    }
}
