//! What a device gets past its rule that has been paired and is hostile: nothing that the rule does
//! not say, whatever it says of its offers.
use std::os::unix::fs::MetadataExt;

use ringway_engine::Decision;
use ringway_model::{AskedBecause, Consent, DeclineReason, DeviceId, DeviceRule, OnCancel, Side, Stage};
use ringway_wire::control::Cancel;
use ringway_wire::lane::{
    Attributes, Entry, EntryKind, OwnerNames, RangeHead, RangeStep, Timestamp, XattrBuffer, Xattrs,
};
use ringway_wire::name::Name;

use super::mallory::{Channel, Inside};
use super::*;

/// What may come without asking.
pub(super) const BYTES_MAX: u64 = 3 << 20;

/// What is sent at a time: an odd part of that.
pub(super) const PIECE: usize = 700_000;

/// Bytes of an extended attribute that any filesystem takes.
const ATTRIBUTE: usize = 3_000;

/// A receiver that knows Mallory, and has a rule.
struct Ruled {
    lab: Device,
    receiver: Receiver,
    address: SocketAddr,
    mallory: Mallory,
}

impl Ruled {
    async fn new(consent: Consent, bytes_max: Option<u64>) -> Self {
        let lab = Device::new("lab");
        let (mut receiver, address) = lab.receiver().await;
        let mallory = Mallory::new();
        let mut inside = mallory.offers(address, "guest", Some(CODE), &offer()).await;
        offered(&mut receiver).await.decline(ringway_model::DeclineReason::ByChoice);
        assert!(matches!(inside.session.hear().await, Some(Message::Decline(DeclineReason::ByChoice))));
        let ruled = Self { lab, receiver, address, mallory };
        ruled.set(consent, bytes_max);
        ruled
    }

    fn set(&self, consent: Consent, bytes_max: Option<u64>) {
        let rule = DeviceRule { consent, bytes_max, ..DeviceRule::default() };
        self.lab.engine.set_rule(DeviceId(self.mallory.id()), &rule).unwrap();
    }

    /// An offer of the device that is known now.
    async fn offers(&self, offer: &Offer) -> Inside {
        self.mallory.offers(self.address, "guest", None, offer).await
    }

    /// What a rule has accepted is taken in, as programs do.
    async fn accepted(&mut self) -> Transfer {
        let offer = offered(&mut self.receiver).await;
        let Decision::Accept { bytes_max } = *offer.decision() else { panic!("{:?}", offer.summary()) };
        offer.accept(AcceptOptions { bytes_max, ..AcceptOptions::default() }).await.unwrap()
    }

    /// Bytes that everything in the destination takes, hidden or not.
    fn taken(&self) -> u64 {
        fn below(folder: &std::path::Path) -> u64 {
            let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
            let taken = |path: PathBuf| match path.symlink_metadata() {
                Ok(there) if there.is_dir() => below(&path),
                Ok(there) => there.blocks() * 512,
                // It was just moved to where it belongs.
                Err(_) => 0,
            };
            entries.map(taken).sum()
        }
        below(&self.lab.path("in"))
    }
}

/// Why the receiver stopped; `None` if it only closed.
pub(super) async fn cancelled(inside: &mut Inside) -> Option<Cancel> {
    let why = async {
        loop {
            match inside.session.hear().await {
                Some(Message::Cancel(cancel)) => return Some(cancel),
                Some(_) => {}
                None => return None,
            }
        }
    };
    timeout(LONG, why).await.unwrap()
}

pub(super) fn small(names: &[&str]) -> Offer {
    let names = names.iter().map(|name| name.as_bytes().to_vec()).collect();
    Offer { names, so_far: Totals { entries: 1, bytes: 1, complete: true }, ..offer() }
}

fn entry<'a>(name: &'a str, size: u64, xattrs: Xattrs<'a>) -> Entry<'a> {
    let attributes = Attributes { mode: 0o644, uid: 0, gid: 0, mtime: Timestamp { secs: 7, nanos: 0 } };
    Entry {
        name: Name::new(name.as_bytes()).unwrap(),
        kind: EntryKind::File { size, link_id: None },
        attributes,
        xattrs,
    }
}

/// How more comes than was said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Lie {
    /// In many small files.
    Batches,
    /// In one large file.
    Ranges,
    /// In small files that are packed to nearly nothing.
    Packed,
    /// In extended attributes of empty files.
    Attributes,
    /// It is said, once it was accepted.
    Totals,
}

/// More of it, for the `number`th time.
pub(super) async fn more(lie: Lie, number: u64, session: &mut Channel, lane: &mut Channel) {
    let (mut head, body) = (HeadBuffer::default(), vec![number as u8 | 1; PIECE]);
    let name = format!("{number}");
    let top = RelPath::new(b"x").unwrap();
    let (header, body) = match lie {
        Lie::Totals => {
            let so_far = Totals { entries: 1, bytes: number * PIECE as u64, complete: false };
            return session.say(&Message::Totals(so_far)).await;
        }
        Lie::Ranges => {
            let (offset, entry) = (number * PIECE as u64, entry("large", 1 << 40, Xattrs::default()));
            let range = RangeHead {
                stamp: 0,
                file_id: 1,
                offset,
                step: RangeStep::More,
                folder: top,
                entry,
                owner_names: OwnerNames::default(),
            };
            (head.range(&range, PIECE), body)
        }
        Lie::Attributes => {
            let mut xattrs = XattrBuffer::default();
            assert!(xattrs.push(b"user.x", &[b'x'; ATTRIBUTE]));
            head.folder(top);
            for file in 0..PIECE / ATTRIBUTE {
                head.entry(&entry(&format!("{number}-{file}"), 0, xattrs.as_xattrs()));
            }
            (head.batch_header(0), Vec::new())
        }
        Lie::Batches | Lie::Packed => {
            head.folder(top);
            head.entry(&entry(&name, PIECE as u64, Xattrs::default()));
            let header = head.batch_header(PIECE);
            match lie {
                Lie::Packed => {
                    let packed = zstd::bulk::compress(&body, 1).unwrap();
                    (FrameHeader { packed_len: packed.len() as u32, ..header }, packed)
                }
                _ => (header, body),
            }
        }
    };
    lane.say_raw(&[&header.encode()[..], head.as_bytes(), &body].concat()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_says_less_than_comes_is_stopped_at_what_its_rule_lets_in_and_asked_about_next_time() {
    for lie in [Lie::Batches, Lie::Ranges, Lie::Packed, Lie::Attributes, Lie::Totals] {
        let mut ruled = Ruled::new(Consent::Accept, Some(BYTES_MAX)).await;
        let mut inside = ruled.offers(&small(&["x"])).await;
        let transfer = ruled.accepted().await;
        assert!(matches!(inside.session.hear().await, Some(Message::Accept(_))));
        let mut lane = ruled.mallory.joins(inside.exporter, ruled.address, 0, 0).await.unwrap();
        for number in 0..2 * BYTES_MAX / PIECE as u64 {
            more(lie, number, &mut inside.session, &mut lane).await;
        }
        assert_eq!(cancelled(&mut inside).await, Some(Cancel::TooMuch(BYTES_MAX)), "{lie:?}");
        drop((inside, lane));
        let report = timeout(LONG, transfer.wait()).await.unwrap();
        let stopped =
            matches!(report.outcome, Outcome::Failed(Fault::TooMuch { bytes_max: BYTES_MAX, by: Side::Here }));
        // Attributes are refused where a filesystem keeps none.
        assert!(stopped && (report.failures.is_empty() || lie == Lie::Attributes), "{lie:?}: {report:?}");
        let taken = ruled.taken();
        // Folders, the journal and the last page of each file take some; attributes of each file a
        // page.
        let more = if lie == Lie::Attributes { BYTES_MAX } else { 512 * 1024 };
        assert!(taken <= BYTES_MAX + more, "{lie:?}: {taken}");
        // Everything up to the limit was received: the transfer was not stopped for another reason.
        let wanted = BYTES_MAX / PIECE as u64 * PIECE as u64;
        assert!(lie == Lie::Totals || lie == Lie::Attributes || taken >= wanted, "{lie:?}: {taken}");

        // However small it says it is now, and by whatever number.
        let _again = ruled.offers(&Offer { transfer: [8; 16], ..small(&["x"]) }).await;
        let asked = offered(&mut ruled.receiver).await.decision().clone();
        assert_eq!(asked, Decision::Ask(Some(AskedBecause::TooMuch { bytes_max: BYTES_MAX })), "{lie:?}");
        let _other = ruled.offers(&Offer { transfer: [9; 16], ..small(&["y"]) }).await;
        let other = offered(&mut ruled.receiver).await.decision().clone();
        assert_eq!(other, Decision::Accept { bytes_max: Some(BYTES_MAX) }, "{lie:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_in_several_sessions_counts_together() {
    let mut ruled = Ruled::new(Consent::Accept, Some(BYTES_MAX)).await;
    let small = Offer { retry_s: 60, ..small(&["x"]) };
    let mut transfer = None;
    for session in 0..4 {
        let mut inside = ruled.offers(&small).await;
        if transfer.is_none() {
            transfer = Some(ruled.accepted().await);
        }
        assert!(matches!(inside.session.hear().await, Some(Message::Accept(_))), "session {session}");
        let mut lane = ruled.mallory.joins(inside.exporter, ruled.address, 0, 0).await.unwrap();
        for piece in 0..2 {
            more(Lie::Batches, session * 2 + piece, &mut inside.session, &mut lane).await;
        }
        if session == 2 {
            // 4.2 of 3.1 MB: the fifth piece was one too many.
            assert_eq!(cancelled(&mut inside).await, Some(Cancel::TooMuch(BYTES_MAX)));
            drop((inside, lane));
            let report = timeout(LONG, transfer.as_ref().unwrap().wait()).await.unwrap();
            assert!(matches!(report.outcome, Outcome::Failed(Fault::TooMuch { .. })), "{report:?}");
            return;
        }
        // All of it is taken in before the connection is lost.
        let came = (session + 1) * 2 * PIECE as u64;
        let there = async {
            while ruled.taken() < came {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(LONG, there).await.unwrap();
    }
    panic!("never stopped");
}

#[tokio::test(flavor = "multi_thread")]
async fn totals_that_are_not_final_are_waited_for_and_decide() {
    for (then, wanted) in [
        (Totals { entries: 2, bytes: BYTES_MAX, complete: true }, Decision::Accept { bytes_max: Some(BYTES_MAX) }),
        (
            Totals { entries: 2, bytes: BYTES_MAX + 1, complete: false },
            Decision::Ask(Some(AskedBecause::TooMuch { bytes_max: BYTES_MAX })),
        ),
    ] {
        let mut ruled = Ruled::new(Consent::Accept, Some(BYTES_MAX)).await;
        let so_far = Totals { entries: 1, bytes: 1, complete: false };
        let mut inside = ruled.offers(&Offer { so_far, ..small(&["x"]) }).await;
        inside.session.say(&Message::Totals(then)).await;
        let asked = offered(&mut ruled.receiver).await;
        assert_eq!((asked.decision(), asked.summary().bytes_so_far), (&wanted, then.bytes));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_refused_bothers_nobody_and_hears_no_more_than_no() {
    let mut ruled = Ruled::new(Consent::Refuse, None).await;
    let mut told = 0;
    for number in 0..40 {
        let mut inside = ruled.offers(&Offer { transfer: [number; 16], ..small(&["x"]) }).await;
        let answer = inside.session.hear().await;
        assert!(matches!(answer, Some(Message::Decline(DeclineReason::ByChoice))), "{answer:?}");
    }
    while let Ok(Some(event)) = timeout(Duration::from_millis(300), ruled.receiver.next_event()).await {
        assert!(!matches!(event, ReceiverEvent::OfferReceived(_)), "{event:?}");
        told += usize::from(matches!(event, ReceiverEvent::OfferRefused(_)));
    }
    // Of the sixteen that it may have in vain, the first was asked about.
    assert!((15..=17).contains(&told), "{told}");
    assert_eq!(ruled.taken(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_to_refuse_holds_for_what_was_accepted_before_and_interrupted() {
    let mut ruled = Ruled::new(Consent::Accept, None).await;
    let renewing = Offer { retry_s: 60, ..small(&["x"]) };
    let mut inside = ruled.offers(&renewing).await;
    let transfer = ruled.accepted().await;
    assert!(matches!(inside.session.hear().await, Some(Message::Accept(_))));
    drop(inside);
    let mut inside = ruled.offers(&renewing).await;
    assert!(matches!(inside.session.hear().await, Some(Message::Accept(_))), "nobody is asked again");
    drop(inside);
    ruled.set(Consent::Refuse, None);
    let mut inside = ruled.offers(&renewing).await;
    assert!(matches!(inside.session.hear().await, Some(Message::Decline(DeclineReason::ByChoice))));
    transfer.cancel(OnCancel::Remove);
    timeout(LONG, transfer.wait()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_was_made_stricter_holds_for_what_was_interrupted_before() {
    for (consent, bytes_max, decision) in
        [(Consent::Ask, None, Decision::Ask(None)), (Consent::Accept, Some(1), Decision::Accept { bytes_max: Some(1) })]
    {
        let mut ruled = Ruled::new(Consent::Accept, None).await;
        let renewing = Offer { retry_s: 60, ..small(&["x"]) };
        let mut inside = ruled.offers(&renewing).await;
        let transfer = ruled.accepted().await;
        assert!(matches!(inside.session.hear().await, Some(Message::Accept(_))));
        drop(inside);
        let mut stages = transfer.stages();
        timeout(LONG, stages.wait_for(|stage| *stage == Stage::Reconnecting)).await.unwrap().unwrap();
        ruled.set(consent, bytes_max);
        let _asking = ruled.offers(&renewing).await;
        let asked = offered(&mut ruled.receiver).await;
        assert_eq!(*asked.decision(), decision);
        timeout(LONG, transfer.wait()).await.expect("it is given up");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rules_folder_takes_what_comes_and_one_that_has_gone_is_not_made() {
    let mut ruled = Ruled::new(Consent::Accept, None).await;
    let folder = ruled.lab.path("from guest");
    let rule = DeviceRule { consent: Consent::Accept, folder: Some(folder.clone().into()), ..DeviceRule::default() };
    ruled.lab.engine.set_rule(DeviceId(ruled.mallory.id()), &rule).unwrap();
    let _asking = ruled.offers(&small(&["x"])).await;
    let asked = offered(&mut ruled.receiver).await;
    let summary = asked.summary();
    assert_eq!(*asked.decision(), Decision::Ask(Some(AskedBecause::NoFolder { folder: (&folder).into() })));
    assert_eq!(summary.destination.0, ruled.lab.path("in"), "where everything lands");
    assert!(!folder.exists());
    fs::create_dir(&folder).unwrap();
    let mut inside = ruled.offers(&Offer { transfer: [8; 16], ..small(&["x"]) }).await;
    let transfer = ruled.accepted().await;
    assert!(matches!(inside.session.hear().await, Some(Message::Accept(_))));
    let left = fs::read_dir(&folder).unwrap().count();
    assert_eq!((left, fs::read_dir(ruled.lab.path("in")).unwrap().count()), (1, 0), "the staging folder is there");
    transfer.cancel(OnCancel::Remove);
    timeout(LONG, transfer.wait()).await.unwrap();
}
