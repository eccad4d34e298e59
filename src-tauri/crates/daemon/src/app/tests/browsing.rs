//! Browsing what another device shares, and getting from it.
use ringway_engine::GetRequest;
use ringway_model::{Pattern, Selection, ShareName, SharedWith, TransferAction};

use super::*;
use crate::app::{HowToGet, Visit};
use crate::dto::{ListingPage, PathThere, PickedThere};

/// Two devices that are paired, the second of which shares a folder `runs`; and that one's id.
async fn met() -> (Machine, Machine, String) {
    let (near, mut far) = (Machine::new("near"), Machine::new("far"));
    let (address, code) = far.listen().await;
    near.app.sending.pair(&Recipient::Typed { text: address }, &code).await.unwrap();
    let runs = far.runs_folder();
    std::fs::create_dir_all(runs.join("night/logs")).unwrap();
    std::fs::write(runs.join("night/result"), "all fine").unwrap();
    std::fs::write(runs.join("night/logs/one"), "line").unwrap();
    far.app.shares.add(runs, "runs", &SharedWith::All, false).unwrap();
    let id = far.app.engine.this_device().id.to_string();
    (near, far, id)
}

fn keeping_both(verify: bool, leave_out: &str) -> HowToGet {
    HowToGet { on_conflict: OnConflict::RenameTop, verify, limit: None, leave_out: leave_out.to_owned() }
}

fn there(names: &[&str]) -> PathThere {
    PathThere { share: ShareName::new("runs").unwrap(), names: names.iter().map(|name| (*name).into()).collect() }
}

fn picked(folder: &[&str], names: &[&str]) -> PickedThere {
    PickedThere { folder: there(folder), names: names.iter().map(|name| (*name).into()).collect() }
}

impl Machine {
    fn runs_folder(&self) -> PathBuf {
        self.folder.path().join("runs")
    }

    /// All names of a listing, those of shares as well, and in how many pages they came.
    async fn read(&self, listing: u32) -> Result<(Vec<String>, usize), Fault> {
        let (mut names, mut pages) = (Vec::new(), 0);
        loop {
            let page = self.app.browsing.read(listing);
            let page = tokio::time::timeout(PATIENCE, page).await.expect("a page comes in time")?;
            pages += 1;
            let is_last = page.is_last();
            match page {
                ListingPage::Shares { shares } => names.extend(shares.iter().map(|share| share.name.to_string())),
                ListingPage::Entries { entries, unread, .. } => {
                    assert_eq!(unread, []);
                    names.extend(entries.iter().map(|entry| entry.path.to_string()));
                }
            }
            if is_last {
                return Ok((names, pages));
            }
        }
    }

    async fn names(
        &self,
        visit: &mut Option<Visit>,
        device: &str,
        at: Option<PathThere>,
    ) -> Result<Vec<String>, Fault> {
        let listing = self.app.browsing.list(visit, device, at)?;
        self.read(listing).await.map(|(names, _)| names)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn shares_and_folders_are_listed_and_what_cannot_be_says_why() {
    let (near, far, id) = met().await;
    let mut visit = None;
    assert_eq!(near.names(&mut visit, &id, None).await.unwrap(), ["runs"]);
    assert_eq!(near.names(&mut visit, &id, Some(there(&[]))).await.unwrap(), ["night"]);
    assert_eq!(near.names(&mut visit, &id, Some(there(&["night"]))).await.unwrap(), ["logs", "result"]);
    let missing = near.names(&mut visit, &id, Some(there(&["day"]))).await;
    assert!(matches!(missing, Err(Fault::PathThere { .. })), "{missing:?}");
    let above = near.names(&mut visit, &id, Some(there(&["..", "data"]))).await;
    assert!(matches!(above, Err(Fault::Invalid(_))), "{above:?}");
    far.app.shares.remove("runs").unwrap();
    let taken_back = near.names(&mut visit, &id, Some(there(&[]))).await;
    assert!(matches!(taken_back, Err(Fault::NotShared { .. })), "{taken_back:?}");
    assert_eq!(near.names(&mut visit, &id, None).await.unwrap(), [] as [&str; 0]);
    assert_eq!(near.app.browsing.list(&mut visit, "none", None), Err(Fault::Gone));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_folder_comes_in_pages_and_another_one_takes_its_place() {
    let (near, far, id) = met().await;
    let many = far.runs_folder().join("many");
    std::fs::create_dir(&many).unwrap();
    for number in 0..12_000 {
        std::fs::write(many.join(format!("{number:05}")), "").unwrap();
    }
    let mut visit = None;
    let listing = near.app.browsing.list(&mut visit, &id, Some(there(&["many"]))).unwrap();
    let (names, pages) = near.read(listing).await.unwrap();
    assert!(names.len() == 12_000 && names.is_sorted(), "{}", names.len());
    assert!(pages >= 3, "{pages} pages");
    assert_eq!(near.read(listing).await, Err(Fault::Gone), "it has been read");
    // Nobody reads it to its end.
    let given_up = near.app.browsing.list(&mut visit, &id, Some(there(&["many"]))).unwrap();
    let first = near.app.browsing.read(given_up).await.unwrap();
    assert!(!first.is_last());
    for _ in 0..20 {
        near.app.browsing.list(&mut visit, &id, Some(there(&["many"]))).unwrap();
    }
    assert_eq!(near.names(&mut visit, &id, Some(there(&["night"]))).await.unwrap(), ["logs", "result"]);
    assert_eq!(near.app.browsing.read(given_up).await, Err(Fault::Gone));
    let last = near.app.browsing.list(&mut visit, &id, Some(there(&["many"]))).unwrap();
    drop(visit);
    assert_eq!(near.app.browsing.read(last).await, Err(Fault::Gone));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_that_has_gone_and_comes_back_is_browsed_again() {
    let (near, far, id) = met().await;
    far.app.receiving.stop(false).await;
    let mut visit = None;
    let gone = near.names(&mut visit, &id, Some(there(&[]))).await;
    assert!(matches!(gone, Err(Fault::Unreachable { .. } | Fault::AnswerLost(_))), "{gone:?}");
    far.app.receiving.listen(Some(0)).await;
    let Listening::On { port, .. } = far.app.receiving.listening() else { panic!("does not listen") };
    // Without announcements, nobody tells its new port.
    near.app
        .engine
        .browse(&near.app.engine.resolve(&format!("127.0.0.1:{port}")).unwrap())
        .await
        .unwrap()
        .close()
        .await;
    assert_eq!(near.names(&mut visit, &id, Some(there(&[]))).await.unwrap(), ["night"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_got_is_a_transfer_that_can_be_got_again() {
    let (near, mut far, id) = met().await;
    let moving = near.app.getting.get(&id, picked(&["night"], &[]), keeping_both(true, ""), None).unwrap();
    assert_eq!((moving.transfer.direction, moving.transfer.target.as_deref()), (Direction::Receiving, Some("far")));
    assert_eq!(moving.transfer.in_share, Some("runs/night".into()));
    let served = far.event(|event| match event {
        AppEvent::TransferStarted { transfer } => Some(transfer),
        _ => None,
    });
    let served = served.await;
    assert_eq!((served.transfer.direction, served.transfer.target.as_deref()), (Direction::Sending, None));
    assert_eq!(served.transfer.in_share, Some("runs/night".into()));
    let report = near.ended(&moving.transfer.id).await;
    assert_eq!((report.outcome, report.counts.files), (Outcome::Complete, 2));
    assert_eq!(std::fs::read(near.inbox().join("night/logs/one")).unwrap(), b"line");
    let past = near.app.history.page(&PastQuery::default()).unwrap().remove(0);
    assert_eq!(past.past.key().to_string(), moving.transfer.id, "the list and the history name it alike");
    assert_eq!(past.past.in_share, Some("runs/night".into()));
    assert_eq!(past.status.actions, [TransferAction::OpenFolder, TransferAction::GetAgain, TransferAction::Remove]);

    std::fs::write(far.runs_folder().join("night/result"), "better").unwrap();
    let again = near.app.getting.again(&moving.transfer.id, None).unwrap();
    let report = near.ended(&again.transfer.id).await;
    assert_eq!((report.outcome, report.counts.moved), (Outcome::Complete, 6));
    assert_eq!(std::fs::read(near.inbox().join("night/result")).unwrap(), b"better");
    assert!(!near.inbox().join("night (1)").exists());
    far.ended(&served.transfer.id).await;
    let past = far.app.history.page(&PastQuery::default()).unwrap().remove(0);
    assert_eq!((past.past.target, past.status.actions), (None, vec![TransferAction::Remove]));
    assert_eq!(past.past.in_share, Some("runs/night".into()));
    assert_eq!(far.app.getting.again(&served.transfer.id, None).err(), Some(Fault::Gone));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_matches_a_pattern_is_not_got_nor_got_again() {
    let (near, _far, id) = met().await;
    let get =
        |leave_out: &str| near.app.getting.get(&id, picked(&["night"], &[]), keeping_both(false, leave_out), None);
    let refused = get("logs/\na[b").err();
    assert!(matches!(refused, Some(Fault::Invalid(ringway_model::Invalid::Pattern { .. }))), "{refused:?}");
    let got = get("logs/\n").unwrap().transfer.id;
    assert_eq!(near.ended(&got).await.outcome, Outcome::Complete);
    let again = near.app.getting.again(&got, None).unwrap().transfer.id;
    assert_eq!(near.ended(&again).await.outcome, Outcome::Complete);
    let night = near.inbox().join("night");
    assert!(night.join("result").exists() && !night.join("logs").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_picked_entries_each_is_got_and_no_other() {
    let (near, far, id) = met().await;
    let many = far.runs_folder().join("many");
    std::fs::create_dir_all(many.join("folder/deep")).unwrap();
    for name in ["folder/keep", "folder/x.tmp", "folder/top", "folder/deep/top"] {
        std::fs::write(many.join(name), "x").unwrap();
    }
    let name = |number: usize| format!("{number:04}.tmp");
    (0..2_500).for_each(|number| std::fs::write(many.join(name(number)), "").unwrap());
    let wanted: Vec<_> = (0..2_000).map(name).chain(["folder".to_owned()]).collect();
    let names: Vec<_> = wanted.iter().map(String::as_str).collect();
    let get = |limit| {
        let how = HowToGet { limit, ..keeping_both(false, "*.tmp\n/top") };
        near.app.getting.get(&id, picked(&["many"], &names), how, None)
    };
    assert!(matches!(get(Some(1)), Err(Fault::Invalid(ringway_model::Invalid::Limit))));
    let got = get(None).unwrap().transfer.id;
    let report = near.ended(&got).await;
    assert_eq!((report.outcome, report.counts.files), (Outcome::Complete, 2_002));
    let there = |name: &str| near.inbox().join(name).exists();
    assert!(wanted.iter().all(|name| there(name)) && !there(&name(2_000)) && !there("many"));
    for (name, is_there) in
        [("folder/keep", true), ("folder/deep/top", true), ("folder/top", false), ("folder/x.tmp", false)]
    {
        assert_eq!(there(name), is_there, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_get_keeps_to_its_limit() {
    let (near, far, id) = met().await;
    std::fs::write(far.runs_folder().join("large"), vec![7; 1_000_000]).unwrap();
    let how = HowToGet { limit: Some(500_000), ..keeping_both(false, "") };
    let began = std::time::Instant::now();
    let got = near.app.getting.get(&id, picked(&[], &["large"]), how, None).unwrap().transfer.id;
    assert_eq!(near.ended(&got).await.outcome, Outcome::Complete);
    assert!(began.elapsed() > Duration::from_secs(1), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn another_folder_is_taken_if_it_may_be_and_is_offered_again() {
    let (near, _far, id) = met().await;
    let folder = near.folder.path().join("results");
    std::fs::create_dir(&folder).unwrap();
    let get = |folder: &Path| {
        let into = Some((folder.to_owned(), ringway_model::IntoHome::Refuse));
        near.app.getting.get(&id, picked(&["night"], &["result"]), keeping_both(false, ""), into)
    };
    let own = get(&near.folder.path().join("data")).err();
    assert!(matches!(own, Some(Fault::Invalid(_))), "{own:?}");
    assert_eq!(near.app.getting.folder_picked.offered(), None);
    let moving = get(&folder).unwrap();
    assert_eq!(near.ended(&moving.transfer.id).await.outcome, Outcome::Complete);
    assert_eq!(std::fs::read(folder.join("result")).unwrap(), b"all fine");
    assert_eq!(near.app.getting.folder_picked.offered(), Some(folder));
}

/// Gets `night` as a command does that has an engine of its own, and says what the history calls
/// that.
async fn got_by_a_command(near: &Machine, folder: &Path, selection: Selection) -> String {
    let own = |part: &str| near.folder.path().join(part);
    let paths = Paths { config: own("config"), data: own("data"), state: own("state"), runtime: None };
    let engine = Engine::open(paths).unwrap();
    engine.take_folder(folder);
    let (target, path) = (engine.resolve("far").unwrap(), there(&["night"]).try_into().unwrap());
    let mut request = GetRequest::new(target, vec![path], folder.to_owned());
    request.options.selection = selection;
    let transfer = engine.get(request);
    let report = tokio::time::timeout(PATIENCE, transfer.wait()).await.unwrap();
    assert_eq!(report.outcome, Outcome::Complete);
    transfer.id().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_has_got_since_into_a_new_folder_is_got_again_into_that_one() {
    let (near, _far, _) = met().await;
    let folder = near.folder.path().join("results");
    let again = async |got: &str| {
        let moving = near.app.getting.again(got, None).unwrap();
        near.ended(&moving.transfer.id).await.outcome
    };
    std::fs::create_dir(&folder).unwrap();
    let first = got_by_a_command(&near, &folder, Selection::default()).await;
    assert_eq!(again(&first).await, Outcome::Complete);
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::create_dir(&folder).unwrap();
    let gone = Outcome::Failed(Fault::DestinationGone);
    assert_eq!(again(&first).await, gone, "nobody has chosen the new one");
    let second = got_by_a_command(&near, &folder, Selection::default()).await;
    assert_eq!(again(&second).await, Outcome::Complete);
    assert_eq!(again(&first).await, gone, "that one was got into another folder");
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::create_dir(&folder).unwrap();
    assert_eq!(again(&second).await, gone);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_remembered_whole_is_not_offered_to_be_got_again() {
    let (near, _far, _) = met().await;
    let patterns = Selection { patterns: vec![Pattern::Exclude(b"*.key".to_vec())], paths: None };
    let listed = Selection { patterns: Vec::new(), paths: Some(vec![b"result".to_vec()]) };
    for (selection, is_remembered) in [(patterns, true), (listed, false), (Selection::default(), true)] {
        let got = got_by_a_command(&near, &near.inbox(), selection).await;
        let past = near.app.history.page(&PastQuery::default()).unwrap().remove(0);
        assert_eq!(past.past.id.to_string(), got);
        assert_eq!(past.status.actions.contains(&TransferAction::GetAgain), is_remembered);
        assert_eq!(near.app.getting.again(&got, None).err(), (!is_remembered).then_some(Fault::TooManySent));
    }
}
