//! Measures threads: both ends' work begins at the same moment, and each end's times are kept
//! separate.
use std::io;
use std::sync::Barrier;
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use ringway_sys::instructions::InstructionCounter;
use ringway_sys::probe::{Whose, usage};
use ringway_sys::thread::cpu_time;

use crate::mode::{EndFigures, Figures, Layer, LimitingEnd};

/// An end that works for less than this part of the time is not the bottleneck.
const BUSY_MIN: f64 = 0.5;

/// How instructions are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counting {
    Processor,
    Clock,
    Nothing,
}

/// The resources that one end's threads used in one round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndRound {
    pub(crate) cpu: Duration,
    /// The busiest thread's part of `cpu`.
    pub(crate) busiest: Duration,
    pub(crate) instructions: Option<u64>,
}

/// One round of one mode.
#[derive(Debug, Clone)]
pub(crate) struct Round {
    pub(crate) wall: Duration,
    pub(crate) sender: Option<EndRound>,
    pub(crate) receiver: Option<EndRound>,
    pub(crate) other_cpu: Duration,
}

/// The resources that one thread used.
struct Spent {
    began: Instant,
    ended: Instant,
    cpu: Duration,
    instructions: Option<u64>,
}

/// The result of a thread's work, and the resources that it used.
type Done<T> = (io::Result<T>, Spent);

/// The end of a layer that has only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Sender,
    Receiver,
}

/// Runs one thread for each of `lanes` on both ends at once, and returns the results of the
/// receiving ones.
///
/// # Errors
/// The first thread's error, except those that only mean a lost other end.
pub(crate) fn both<S: Send, R: Send, T: Send>(
    counting: Counting,
    lanes: Vec<(S, R)>,
    send: impl Fn(usize, S) -> io::Result<()> + Sync,
    receive: impl Fn(usize, R) -> io::Result<T> + Sync,
) -> io::Result<(Round, Vec<T>)> {
    let start = Barrier::new(2 * lanes.len());
    let before = usage(Whose::Process).cpu();
    let (sent, received): (Vec<Done<()>>, Vec<Done<T>>) = std::thread::scope(|scope| {
        let (start, send, receive) = (&start, &send, &receive);
        let handles: Vec<_> = lanes
            .into_iter()
            .enumerate()
            .map(|(number, (near, far))| {
                let sending = spawn(scope, counting, start, move || send(number, near));
                (sending, spawn(scope, counting, start, move || receive(number, far)))
            })
            .collect();
        handles.into_iter().map(|(sending, receiving)| (join(sending), join(receiving))).unzip()
    });
    let process = usage(Whose::Process).cpu().saturating_sub(before);
    let (sent, sender) = sum(sent);
    let (received, receiver) = sum(received);
    let round = Round {
        wall: sender.ended.max(receiver.ended) - sender.began.min(receiver.began),
        other_cpu: process.saturating_sub(sender.round.cpu + receiver.round.cpu),
        sender: Some(sender.round),
        receiver: Some(receiver.round),
    };
    match (sent, received) {
        (Ok(_), Ok(made)) => Ok((round, made)),
        (Err(near), Err(far)) => Err(if is_loss(&near) { far } else { near }),
        (Err(error), Ok(_)) | (Ok(_), Err(error)) => Err(error),
    }
}

/// The same for a layer of one end.
pub(crate) fn alone<S: Send, T: Send>(
    counting: Counting,
    side: Side,
    lanes: Vec<S>,
    work: impl Fn(usize, S) -> io::Result<T> + Sync,
) -> io::Result<(Round, Vec<T>)> {
    let start = Barrier::new(lanes.len());
    let before = usage(Whose::Process).cpu();
    let done: Vec<Done<T>> = std::thread::scope(|scope| {
        let (start, work) = (&start, &work);
        let spawn = |(number, lane)| spawn(scope, counting, start, move || work(number, lane));
        let handles: Vec<_> = lanes.into_iter().enumerate().map(spawn).collect();
        handles.into_iter().map(join).collect()
    });
    let process = usage(Whose::Process).cpu().saturating_sub(before);
    let (made, end) = sum(done);
    let end_of = |one| (side == one).then_some(end.round);
    let round = Round {
        wall: end.ended - end.began,
        sender: end_of(Side::Sender),
        receiver: end_of(Side::Receiver),
        other_cpu: process.saturating_sub(end.round.cpu),
    };
    Ok((round, made?))
}

fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    counting: Counting,
    start: &'scope Barrier,
    work: impl FnOnce() -> io::Result<T> + Send + 'scope,
) -> ScopedJoinHandle<'scope, Done<T>> {
    scope.spawn(move || {
        let counter = (counting == Counting::Processor).then(InstructionCounter::start).and_then(Result::ok);
        let instructions = |cpu: Duration| match (counting, &counter) {
            (Counting::Clock, _) => Some(cpu.as_nanos() as u64),
            (_, Some(counter)) => counter.read().ok(),
            _ => None,
        };
        start.wait();
        let (began, cpu) = (Instant::now(), cpu_time());
        let count = instructions(cpu);
        let done = work();
        let (now, ended) = (cpu_time(), Instant::now());
        let instructions = instructions(now).zip(count).map(|(after, before)| after.saturating_sub(before));
        (done, Spent { began, ended, cpu: now.saturating_sub(cpu), instructions })
    })
}

fn join<T>(thread: ScopedJoinHandle<'_, Done<T>>) -> Done<T> {
    match thread.join() {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// An end's threads together.
struct Together {
    began: Instant,
    ended: Instant,
    round: EndRound,
}

/// The first error, except those that only mean that the other end has gone.
fn sum<T>(done: Vec<Done<T>>) -> (io::Result<Vec<T>>, Together) {
    let all = |of: fn(&Spent) -> Instant| done.iter().map(move |(_, spent)| of(spent));
    let together = Together {
        began: all(|spent| spent.began).min().expect("a lane at least"),
        ended: all(|spent| spent.ended).max().expect("a lane at least"),
        round: EndRound {
            cpu: done.iter().map(|(_, spent)| spent.cpu).sum(),
            busiest: done.iter().map(|(_, spent)| spent.cpu).max().unwrap_or_default(),
            instructions: done.iter().map(|(_, spent)| spent.instructions).sum(),
        },
    };
    let (mut made, mut failed): (_, Option<io::Error>) = (Vec::with_capacity(done.len()), None);
    for (result, _) in done {
        match result {
            Ok(one) => made.push(one),
            Err(error) if failed.as_ref().is_none_or(is_loss) => failed = Some(error),
            Err(_) => {}
        }
    }
    (failed.map_or(Ok(made), Err), together)
}

/// Whether an error only means that the other end has gone, which has a reason of its own.
fn is_loss(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}

/// The middle one, or the mean of the two middle ones; zero if there are none.
pub(crate) fn median(mut all: Vec<Duration>) -> Duration {
    all.sort_unstable();
    match all.len() {
        0 => Duration::ZERO,
        len if len % 2 == 1 => all[len / 2],
        len => (all[len / 2 - 1] + all[len / 2]) / 2,
    }
}

/// The figures of the rounds, of which there is at least one.
pub(crate) fn figures(rounds: &[Round], slowest_layer: Option<Layer>) -> Figures {
    let walls = rounds.iter().map(|round| round.wall);
    let (wall_min, wall_max) = (walls.clone().min().unwrap_or_default(), walls.clone().max().unwrap_or_default());
    let sender = end(rounds, |round| round.sender);
    let receiver = end(rounds, |round| round.receiver);
    let busy = |end: Option<EndFigures>| end.map_or(0.0, |end| end.busy);
    let (wall, other_cpu) = (median(walls.collect()), median(rounds.iter().map(|round| round.other_cpu).collect()));
    let other = other_cpu.as_secs_f64() / wall.as_secs_f64().max(1e-9);
    let bottleneck = match (busy(sender), busy(receiver)) {
        (near, far) if near.max(far).max(other) < BUSY_MIN => LimitingEnd::Waiting,
        (near, far) if other > near.max(far) => LimitingEnd::Elsewhere,
        (near, far) if near >= far => LimitingEnd::Sender,
        _ => LimitingEnd::Receiver,
    };
    Figures { wall, wall_min, wall_max, sender, receiver, other_cpu, bottleneck, slowest_layer }
}

fn end(rounds: &[Round], of: impl Fn(&Round) -> Option<EndRound>) -> Option<EndFigures> {
    let all: Option<Vec<EndRound>> = rounds.iter().map(&of).collect();
    let all = all.filter(|all| !all.is_empty())?;
    let busy =
        rounds.iter().zip(&all).map(|(round, end)| end.busiest.as_secs_f64() / round.wall.as_secs_f64().max(1e-9));
    let mut busy: Vec<f64> = busy.map(|share| share.min(1.0)).collect();
    busy.sort_unstable_by(f64::total_cmp);
    let counts: Option<Vec<u64>> = all.iter().map(|end| end.instructions).collect();
    let instructions = counts.map(|mut counts| {
        counts.sort_unstable();
        counts[counts.len() / 2]
    });
    Some(EndFigures { cpu: median(all.iter().map(|end| end.cpu).collect()), busy: busy[busy.len() / 2], instructions })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(wall_ms: u64, sender_ms: u64, receiver_ms: u64) -> Round {
        let end = |ms| {
            let cpu = Duration::from_millis(ms);
            Some(EndRound { cpu, busiest: cpu, instructions: Some(ms * 1_000) })
        };
        Round {
            wall: Duration::from_millis(wall_ms),
            sender: end(sender_ms),
            receiver: end(receiver_ms),
            other_cpu: Duration::ZERO,
        }
    }

    #[test]
    fn figures_are_medians_of_rounds() {
        let figures = figures(&[round(100, 90, 40), round(900, 80, 50), round(110, 100, 30)], Some(Layer::Encrypt));
        assert_eq!(figures.wall, Duration::from_millis(110));
        assert_eq!((figures.wall_min, figures.wall_max), (Duration::from_millis(100), Duration::from_millis(900)));
        let (sender, receiver) = (figures.sender.unwrap(), figures.receiver.unwrap());
        assert_eq!((sender.cpu, receiver.cpu), (Duration::from_millis(90), Duration::from_millis(40)));
        assert_eq!(sender.instructions, Some(90_000));
        assert!((sender.busy - 0.9).abs() < 1e-9, "{sender:?}");
        assert_eq!((figures.bottleneck, figures.slowest_layer), (LimitingEnd::Sender, Some(Layer::Encrypt)));
    }

    #[test]
    fn the_busier_end_is_the_bottleneck_if_it_is_busy() {
        let bottleneck = |near, far| figures(&[round(100, near, far)], None).bottleneck;
        assert_eq!(bottleneck(60, 99), LimitingEnd::Receiver);
        assert_eq!(bottleneck(99, 60), LimitingEnd::Sender);
        assert_eq!(bottleneck(40, 49), LimitingEnd::Waiting);
        let elsewhere = Round { other_cpu: Duration::from_millis(80), ..round(100, 60, 70) };
        assert_eq!(figures(&[elsewhere], None).bottleneck, LimitingEnd::Elsewhere);
        let half = Round { receiver: None, ..round(100, 100, 0) };
        let figures = figures(&[half], None);
        assert_eq!((figures.receiver, figures.bottleneck), (None, LimitingEnd::Sender));
    }

    #[test]
    fn the_first_error_is_reported_and_not_its_consequences() {
        let failed = both(
            Counting::Nothing,
            vec![((), ()), ((), ())],
            |_, ()| Err(io::ErrorKind::BrokenPipe.into()),
            |lane, ()| {
                if lane == 1 {
                    Err::<(), _>(io::Error::other("the disk"))
                } else {
                    Err(io::ErrorKind::UnexpectedEof.into())
                }
            },
        );
        assert_eq!(failed.unwrap_err().to_string(), "the disk");
    }

    #[test]
    fn each_ends_work_is_measured_separately() {
        let busy = || {
            let before = cpu_time();
            while cpu_time() - before < Duration::from_millis(30) {
                std::hint::spin_loop();
            }
        };
        let (round, made) = both(
            Counting::Clock,
            vec![((), ())],
            |_, ()| Ok(()),
            |lane, ()| {
                busy();
                Ok(lane)
            },
        )
        .unwrap();
        let (sender, receiver) = (round.sender.unwrap(), round.receiver.unwrap());
        assert_eq!(made, [0]);
        assert!(receiver.cpu >= Duration::from_millis(30) && sender.cpu < receiver.cpu, "{round:?}");
        assert_eq!(receiver.instructions, Some(receiver.cpu.as_nanos() as u64));
        assert!(round.wall >= Duration::from_millis(30));
    }
}
