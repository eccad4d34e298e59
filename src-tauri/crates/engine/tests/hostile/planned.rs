//! What a device that serves a share can make another one believe of a get that it only plans.
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ringway_engine::GetRequest;
use ringway_model::{OnCancel, Pattern, Planned, Report, Side};
use ringway_wire::control::{Answer, GetRefusal, NoAnswer, PlannedCounts, PlannedEntry, PlannedKind, PlannedPage};
use ringway_wire::lane;
use ringway_wire::limits::PAGES_AHEAD_MAX;
use tokio::sync::watch;

use super::getting::{request, requested};
use super::*;

fn moves(kind: PlannedKind, path: &str) -> PlannedEntry {
    PlannedEntry::Moves(kind, path.into())
}

/// A page of these entries; the last one where there are counts.
fn page(entries: &[(PlannedKind, &str)], counts: Option<lane::Counts>) -> Answer {
    let entries = entries.iter().map(|(kind, path)| moves(*kind, path)).collect();
    let counts = counts.map(|sent| PlannedCounts { sent, ..PlannedCounts::default() });
    Answer::Planned(PlannedPage { entries, counts })
}

/// What a laptop is told of `mine/a`, of which it leaves some out, by a device that answers so, and
/// how that ended.
async fn told_of(answers: Vec<(u32, Answer)>) -> (Vec<PathBuf>, Arc<Report>) {
    let laptop = Device::new("laptop");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move {
        let (mut session, _) = requested(&listener).await;
        for (number, answer) in answers {
            session.say(&Message::Answered { number, answer }).await;
        }
        while session.hear().await.is_some() {}
    });
    let told = Arc::<Mutex<Vec<PathBuf>>>::default();
    let tell = Arc::clone(&told);
    let planned = Arc::new(move |_: Planned, path: &Path| tell.lock().unwrap().push(path.to_owned()));
    let transfer = laptop.engine.plan_get(some_of(&laptop, address), planned);
    let report = timeout(LONG, transfer.wait()).await.unwrap();
    timeout(LONG, serving).await.unwrap().unwrap();
    assert_eq!(fs::read_dir(laptop.path("in")).unwrap().count(), 0, "something landed");
    let told = told.lock().unwrap().clone();
    (told, report)
}

fn some_of(laptop: &Device, address: SocketAddr) -> GetRequest {
    let mut request = request(laptop, address, &["mine/a"]);
    request.options.selection.patterns = ["*.o", "cache/"].map(|text| Pattern::Exclude(text.into())).to_vec();
    request
}

const FILE: PlannedKind = PlannedKind::File;
const FOLDER: PlannedKind = PlannedKind::Folder;

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_names_only_what_the_get_would_take_and_adds_up() {
    let counts = |files, folders| Some(lane::Counts { files, folders, ..lane::Counts::default() });
    let lies: Vec<(&str, Vec<(u32, Answer)>)> = vec![
        ("a name that was not asked for", vec![(0, page(&[(FILE, "b")], counts(1, 0)))]),
        ("what is in such a folder", vec![(0, page(&[(FILE, "b/a")], counts(1, 0)))]),
        ("what a pattern leaves out", vec![(0, page(&[(FOLDER, "a"), (FILE, "a/x.o")], counts(1, 1)))]),
        ("what is in a folder left out", vec![(0, page(&[(FILE, "a/x"), (FILE, "a/cache/y/z")], counts(2, 0)))]),
        ("less than its counts", vec![(0, page(&[(FILE, "a/x")], None)), (0, page(&[], counts(2, 0)))]),
        ("more than its counts", vec![(0, page(&[(FILE, "a/x"), (FILE, "a/y")], counts(1, 0)))]),
        ("another kind", vec![(0, page(&[(FILE, "a")], counts(0, 1)))]),
        ("another number", vec![(1, page(&[(FILE, "a")], counts(1, 0)))]),
        ("another answer", vec![(0, Answer::Shares(Vec::new()))]),
    ];
    for (lie, answers) in lies {
        let (told, report) = told_of(answers).await;
        assert!(matches!(report.outcome, Outcome::Failed(Fault::Protocol { .. })), "{lie}: {:?}", report.outcome);
        let is_ours = |path: &PathBuf| path.starts_with("a") && !path.starts_with("a/cache") && !path.ends_with("x.o");
        assert!(told.iter().all(is_ours), "{lie}: {told:?}");
    }
    let honest = [(FOLDER, "a"), (FILE, "a/x"), (FILE, "a/y/cache"), (FOLDER, "a/y")];
    let (told, report) = told_of(vec![(0, page(&honest[..2], None)), (0, page(&honest[2..], counts(2, 2)))]).await;
    assert!(matches!(report.outcome, Outcome::Complete), "{report:?}");
    assert_eq!(told, honest.iter().map(|(_, path)| PathBuf::from(path)).collect::<Vec<_>>());
    for (why, is_named) in [
        (Answer::NotPlanned(GetRefusal::Path(99, 2)), "path"),
        (Answer::Refused(NoAnswer::NotShared), "not shared"),
        (Answer::Refused(NoAnswer::Busy), "busy"),
    ] {
        let (_, report) = told_of(vec![(0, why)]).await;
        let Outcome::Failed(fault) = &report.outcome else { panic!("{report:?}") };
        let is = match fault {
            Fault::PathThere { .. } => "path",
            Fault::NotShared { .. } => "not shared",
            Fault::AnswerBusy => "busy",
            _ => "",
        };
        assert_eq!(is, is_named, "{fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_without_end_goes_no_further_than_it_is_read_and_can_be_cancelled() {
    let laptop = Device::new("laptop");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (still, mut stands_still) = watch::channel(0);
    let serving = tokio::spawn(async move {
        let (mut session, _) = requested(&listener).await;
        let page = |number: u32| page(&[(FILE, format!("a/{number}").as_str())], None);
        session.answers_without_end(0, PAGES_AHEAD_MAX, page, &still).await
    });
    // Its reader goes on when that is said.
    let (go_on, goes_on) = std::sync::mpsc::channel::<()>();
    let (goes_on, count) = (Mutex::new(goes_on), Arc::<Mutex<u32>>::default());
    let counted = Arc::clone(&count);
    let planned = Arc::new(move |_: Planned, _: &Path| {
        *counted.lock().unwrap() += 1;
        let _ = goes_on.lock().unwrap().recv();
    });
    let transfer = laptop.engine.plan_get(some_of(&laptop, address), planned);
    timeout(LONG, stands_still.changed()).await.unwrap().unwrap();
    let (sent, read) = (*stands_still.borrow_and_update(), *count.lock().unwrap());
    assert!(sent <= read + u32::from(PAGES_AHEAD_MAX), "{sent} pages were sent, {read} read");
    for _ in 0..10 * PAGES_AHEAD_MAX {
        go_on.send(()).unwrap();
    }
    timeout(LONG, stands_still.wait_for(|more| *more > 10 * u32::from(PAGES_AHEAD_MAX))).await.unwrap().unwrap();
    let sent = *stands_still.borrow();
    assert!(sent <= 12 * u32::from(PAGES_AHEAD_MAX), "{sent} pages were sent");
    transfer.cancel(OnCancel::Keep);
    let report = timeout(LONG, transfer.wait()).await.unwrap();
    assert!(matches!(report.outcome, Outcome::Failed(Fault::Cancelled { by: Side::Here, .. })), "{report:?}");
    drop(go_on);
    timeout(LONG, serving).await.unwrap().unwrap();
}
