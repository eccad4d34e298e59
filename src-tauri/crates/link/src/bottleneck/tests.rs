//! Tests the rule with arbitrary times.
use proptest::prelude::*;
use ringway_wire::control::Micros;

use super::*;

/// Times in thousandths of a second: finding, reading, encrypting, sending, limited; receiving,
/// decrypting, writing.
fn times(sender: [u64; 5], receiver: [u64; 3]) -> StageTimes {
    let [finding, reading, encrypting, sending, limited] = sender.map(Duration::from_millis);
    let [receiving, decrypting, writing] = receiver.map(Duration::from_millis);
    StageTimes { finding, reading, encrypting, sending, limited, receiving, decrypting, writing }
}

#[test]
fn the_end_that_does_not_wait_is_the_bottleneck() {
    use Bottleneck::*;
    for (sender, receiver, limits) in [
        // Both wait: the network between them.
        ([0, 50, 50, 900, 0], [900, 50, 50], Network),
        ([0, 200, 200, 600, 0], [250, 250, 500], Network),
        // Only the sender waits.
        ([0, 100, 100, 800, 0], [50, 300, 650], Writing),
        ([0, 100, 100, 800, 0], [50, 600, 350], Decrypting),
        // Only the receiver does.
        ([0, 700, 250, 50, 0], [600, 200, 200], Reading),
        ([0, 250, 700, 50, 0], [600, 200, 200], Encrypting),
        ([800, 100, 50, 50, 0], [900, 50, 50], Finding),
        // Neither: the larger stage of all.
        ([0, 500, 450, 50, 0], [50, 250, 700], Writing),
        ([0, 900, 50, 50, 0], [50, 350, 600], Reading),
        // The sender waits for its rate limit.
        ([0, 50, 50, 100, 800], [900, 50, 50], Limit),
        ([0, 800, 50, 0, 150], [900, 50, 50], Limit),
        // One of them, or both, did not report.
        ([0, 100, 100, 800, 0], [0, 0, 0], Network),
        ([0, 900, 100, 0, 0], [0, 0, 0], Reading),
        ([0, 0, 0, 0, 0], [900, 50, 50], Network),
        ([0, 0, 0, 0, 0], [0, 100, 900], Writing),
        ([0; 5], [0; 3], Network),
    ] {
        assert_eq!(bottleneck_of(&times(sender, receiver), None), limits, "{sender:?} {receiver:?}");
    }
}

#[test]
fn similar_stages_do_not_alternate() {
    use Bottleneck::*;
    let reading = times([0, 500, 480, 20, 0], [500, 250, 250]);
    let encrypting = times([0, 480, 500, 20, 0], [500, 250, 250]);
    for before in [Reading, Encrypting] {
        assert_eq!([bottleneck_of(&reading, Some(before)), bottleneck_of(&encrypting, Some(before))], [before; 2]);
    }
    let waits_now_and_then = times([0, 400, 380, 220, 0], [230, 370, 400]);
    assert_eq!(bottleneck_of(&waits_now_and_then, None), Network);
    assert_eq!(bottleneck_of(&waits_now_and_then, Some(Reading)), Reading);
    assert_eq!(bottleneck_of(&times([0, 420, 400, 180, 0], [230, 370, 400]), Some(Network)), Network);
}

fn any_time() -> impl Strategy<Value = Duration> {
    prop_oneof![Just(0), 0..2_000_000u64, 0..=1u64 << 56].prop_map(Duration::from_micros)
}

fn any_times() -> impl Strategy<Value = StageTimes> {
    let sender = (any_time(), any_time(), any_time(), any_time(), any_time());
    (sender, (any_time(), any_time(), any_time())).prop_map(
        |((finding, reading, encrypting, sending, limited), (receiving, decrypting, writing))| StageTimes {
            finding,
            reading,
            encrypting,
            sending,
            limited,
            receiving,
            decrypting,
            writing,
        },
    )
}

fn any_before() -> impl Strategy<Value = Option<Bottleneck>> {
    prop::option::of(prop::sample::select(&Bottleneck::ALL[..]))
}

proptest! {
    #[test]
    fn the_named_stage_took_time_or_both_ends_wait(times in any_times(), before in any_before()) {
        let sender = shares([times.finding, times.reading, times.encrypting, times.sending, times.limited]);
        let receiver = shares([times.receiving, times.decrypting, times.writing]);
        let named = bottleneck_of(&times, before);
        let (share, least) = match named {
            Bottleneck::Limit => (sender[4], LIMITED_MIN - HYSTERESIS),
            Bottleneck::Finding => (sender[0], 0.2),
            Bottleneck::Reading => (sender[1], 0.2),
            Bottleneck::Encrypting => (sender[2], 0.2),
            Bottleneck::Decrypting => (receiver[1], 0.3),
            Bottleneck::Writing => (receiver[2], 0.3),
            Bottleneck::Network => {
                let busier = sender[..3].iter().sum::<f64>().max(receiver[1..].iter().sum());
                (1.0 - busier, 1.0 - BUSY_MIN - HYSTERESIS)
            }
            // The times do not show a stall.
            Bottleneck::Stalled => (0.0, 1.0),
        };
        prop_assert!(share >= least - 1e-9, "{:?}: {} of {:?}", named, share, times);
    }

    #[test]
    fn the_bottleneck_does_not_depend_on_the_duration(times in any_times(), before in any_before(), factor in 1..9u32) {
        // Sums of clocks stay below a hundred years, so this cannot overflow.
        let longer = StageTimes {
            finding: times.finding * factor,
            reading: times.reading * factor,
            encrypting: times.encrypting * factor,
            sending: times.sending * factor,
            limited: times.limited * factor,
            receiving: times.receiving * factor,
            decrypting: times.decrypting * factor,
            writing: times.writing * factor,
        };
        // If two stages are nearly equal, rounding decides.
        prop_assume!(!near_a_bound(&times));
        prop_assert_eq!(bottleneck_of(&times, before), bottleneck_of(&longer, before));
    }

    #[test]
    fn the_gauge_accepts_any_reported_times(
        told in prop::collection::vec((any::<u32>(), any_times()), 0..60),
    ) {
        let mut gauge = Gauge::default();
        for (at_ms, times) in told {
            gauge.sender(SenderTimes { reading: times.reading.into(), sending: times.sending.into(), ..Default::default() });
            gauge.receiver(ReceiverTimes { writing: times.writing.into(), ..Default::default() });
            gauge.sample(Duration::from_millis(at_ms.into()), None);
            prop_assert!(gauge.samples.len() <= SAMPLES_MAX);
        }
        prop_assert!(gauge.longest().is_none() || gauge.bottleneck().is_some());
    }
}

/// Whether a share is so close to another, or a sum to a bound, that rounding could change the
/// decision.
fn near_a_bound(times: &StageTimes) -> bool {
    let sender = shares([times.finding, times.reading, times.encrypting, times.sending, times.limited]);
    let receiver = shares([times.receiving, times.decrypting, times.writing]);
    let stages = [sender[0], sender[1], sender[2], receiver[1], receiver[2]];
    let near = |a: f64, b: f64| [-HYSTERESIS, 0.0, HYSTERESIS].iter().any(|lean| (a - b + lean).abs() < 1e-6);
    let sums = [sender[..3].iter().sum::<f64>(), receiver[1..].iter().sum::<f64>()];
    let alike = (0..stages.len()).any(|a| (0..a).any(|b| stages[a] > 0.0 && near(stages[a], stages[b])));
    alike || sums.iter().any(|sum| near(*sum, BUSY_MIN)) || near(sender[4], LIMITED_MIN)
}

/// Ticks of a tenth of a second, each with the times of both ends since the last one.
fn ticked(ticks: impl IntoIterator<Item = StageTimes>) -> Gauge {
    let mut gauge = Gauge::default();
    let (mut sender, mut receiver) = (SenderTimes::default(), ReceiverTimes::default());
    let add = |to: &mut Micros, more: Duration| *to = (Duration::from(*to) + more).into();
    for (tick, times) in (1u32..).zip(ticks) {
        add(&mut sender.finding, times.finding);
        add(&mut sender.reading, times.reading);
        add(&mut sender.encrypting, times.encrypting);
        add(&mut sender.sending, times.sending);
        add(&mut sender.limited, times.limited);
        add(&mut receiver.receiving, times.receiving);
        add(&mut receiver.decrypting, times.decrypting);
        add(&mut receiver.writing, times.writing);
        gauge.sender(sender);
        gauge.receiver(receiver);
        gauge.sample(Duration::from_millis(100) * tick, None);
    }
    gauge
}

#[test]
fn a_change_is_named_within_the_window_and_the_longest_is_kept() {
    let writing = times([0, 20, 20, 60, 0], [0, 20, 80]);
    let network = times([0, 5, 5, 90, 0], [90, 5, 5]);
    assert_eq!(ticked([writing; 3]).bottleneck(), None, "too early to tell");
    assert_eq!(ticked([writing; 4]).bottleneck(), Some(Bottleneck::Writing));
    let opening = times([0, 0, 0, 100, 0], [100, 0, 0]);
    let opened = ticked([opening].into_iter().chain([writing; 3]));
    assert_eq!(opened.bottleneck(), Some(Bottleneck::Writing), "bytes before the first sample do not count");
    let changed = ticked([writing; 30].into_iter().chain([network; 10]));
    assert_eq!(changed.bottleneck(), Some(Bottleneck::Network));
    assert_eq!(changed.longest(), Some(Bottleneck::Writing));
    assert_eq!(changed.times().unwrap().writing, Duration::from_millis(30 * 80 + 10 * 5));
}

#[test]
fn stalled_time_is_not_the_networks_and_a_stall_ends_with_work() {
    let waiting = times([0, 0, 0, 100, 0], [100, 0, 0]);
    let mut gauge = ticked([times([0, 5, 5, 90, 0], [90, 5, 5]); 10].into_iter().chain([waiting; 50]));
    assert_eq!(gauge.longest(), Some(Bottleneck::Network), "nobody has said yet that nothing moves");
    gauge.sample(Duration::from_millis(6_100), Some(Duration::from_secs(5)));
    assert_eq!((gauge.bottleneck(), gauge.longest()), (Some(Bottleneck::Stalled), Some(Bottleneck::Stalled)));
    gauge.sample(Duration::from_millis(6_200), Some(Duration::from_millis(5_100)));
    let named_for = gauge.named_for;
    assert_eq!(named_for[Bottleneck::Stalled as usize], Duration::from_millis(5_200), "its beginning counts once");
    assert_eq!(
        named_for[Bottleneck::Network as usize],
        named_for.iter().sum::<Duration>() - Duration::from_millis(5_200)
    );
    gauge.sample(Duration::from_millis(6_300), None);
    assert_eq!(gauge.bottleneck(), Some(Bottleneck::Network));
}

#[test]
fn a_working_disk_is_the_bottleneck_at_any_rate() {
    let mut gauge = ticked([times([0, 0, 0, 100, 0], [0, 0, 100]); 10]);
    gauge.sample(Duration::from_millis(1_100), Some(Duration::from_secs(9)));
    assert_eq!(gauge.bottleneck(), Some(Bottleneck::Writing));
}

#[test]
fn one_ends_times_alone_name_no_bottleneck() {
    let mut gauge = Gauge::default();
    gauge.sender(SenderTimes { reading: Micros::MAX, ..SenderTimes::default() });
    gauge.sample(Duration::from_secs(5), None);
    assert_eq!((gauge.bottleneck(), gauge.longest(), gauge.times()), (None, None, None));
}
