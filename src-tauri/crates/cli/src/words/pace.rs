//! What limits a transfer and where its time went, in words.
use std::time::Duration;

use ringway_model::{Bottleneck, Direction, StageTimes};

/// What limits a transfer to or from `peer`, as in "limited by ...".
pub(crate) fn bottleneck(what: Bottleneck, direction: Direction, peer: &str) -> String {
    let (at_sender, at_receiver) = match direction {
        Direction::Receiving => (format!("on {peer}"), "here".to_owned()),
        _ => ("here".to_owned(), format!("on {peer}")),
    };
    match what {
        Bottleneck::Finding => format!("finding files {at_sender}"),
        Bottleneck::Reading => format!("reading {at_sender}"),
        Bottleneck::Encrypting => format!("the processor {at_sender} (encrypting)"),
        Bottleneck::Network => "the network".to_owned(),
        Bottleneck::Decrypting => format!("the processor {at_receiver} (decrypting)"),
        Bottleneck::Writing => format!("writing {at_receiver}"),
        Bottleneck::Limit => format!("the limit set {at_sender}"),
        Bottleneck::Stalled => "stalls (nothing moved)".to_owned(),
    }
}

/// Where the time of each end's lanes went: this end's, then the other's.
pub(crate) fn times(times: &StageTimes, direction: Direction) -> [String; 2] {
    let sender = shares([
        ("finding files", times.finding),
        ("reading", times.reading),
        ("encrypting", times.encrypting),
        ("waiting for the network", times.sending),
        ("waiting for the limit", times.limited),
    ]);
    let receiver = shares([
        ("waiting for the network", times.receiving),
        ("decrypting", times.decrypting),
        ("writing", times.writing),
    ]);
    match direction {
        Direction::Receiving => [receiver, sender],
        _ => [sender, receiver],
    }
}

/// `reading 61 %, encrypting 39 %`: what has less than a hundredth is left out.
fn shares<const N: usize>(stages: [(&str, Duration); N]) -> String {
    let all: f64 = stages.iter().map(|(_, time)| time.as_secs_f64()).sum();
    let share = |time: Duration| if all > 0.0 { (time.as_secs_f64() / all * 100.0).round() as u32 } else { 0 };
    let shown = stages.map(|(stage, time)| (stage, share(time)));
    let shown: Vec<_> = shown.iter().filter(|(_, share)| *share > 0).collect();
    match shown.is_empty() {
        true => "no time to speak of".to_owned(),
        false => shown.iter().map(|(stage, share)| format!("{stage} {share} %")).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_stage_is_here_or_there_by_who_looks() {
        let said = |what, direction| bottleneck(what, direction, "lab");
        assert_eq!(said(Bottleneck::Writing, Direction::Sending), "writing on lab");
        assert_eq!(said(Bottleneck::Writing, Direction::Receiving), "writing here");
        assert_eq!(said(Bottleneck::Encrypting, Direction::Sending), "the processor here (encrypting)");
        assert_eq!(said(Bottleneck::Limit, Direction::Receiving), "the limit set on lab");
        for direction in [Direction::Sending, Direction::Receiving] {
            assert_eq!(said(Bottleneck::Network, direction), "the network");
            let mut all: Vec<_> = Bottleneck::ALL.into_iter().map(|what| said(what, direction)).collect();
            all.sort();
            all.dedup();
            assert_eq!(all.len(), Bottleneck::ALL.len(), "each has words of its own");
        }
    }

    #[test]
    fn shares_are_of_each_ends_own_time() {
        let spent = StageTimes {
            reading: Duration::from_secs(6),
            encrypting: Duration::from_secs(3),
            sending: Duration::from_secs(1),
            finding: Duration::from_millis(1),
            receiving: Duration::from_secs(1),
            writing: Duration::from_secs(3),
            ..StageTimes::default()
        };
        let sender = "reading 60 %, encrypting 30 %, waiting for the network 10 %".to_owned();
        let receiver = "waiting for the network 25 %, writing 75 %".to_owned();
        assert_eq!(times(&spent, Direction::Sending), [sender.clone(), receiver.clone()]);
        assert_eq!(times(&spent, Direction::Receiving), [receiver, sender]);
        assert_eq!(times(&StageTimes::default(), Direction::Sending)[0], "no time to speak of");
    }
}
