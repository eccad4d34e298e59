//! Folders that are shared by the window's calls.
use ringway_model::{Invalid, SharedWith};

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_is_shared_listed_and_shared_no_longer() {
    let machine = Machine::new("near");
    let runs = machine.folder.path().join("runs");
    std::fs::create_dir(&runs).unwrap();
    let share = machine.app.shares.add(runs.clone(), " runs ", &SharedWith::NOBODY, false).unwrap();
    assert_eq!((share.name.as_str(), &*share.folder, share.unavailable), ("runs", &*runs, None));
    assert_eq!(machine.app.shares.list().unwrap(), [share]);
    machine.app.shares.remove("RUNS").unwrap();
    assert!(machine.app.shares.list().unwrap().is_empty());
    for name in ["runs", "a/b"] {
        let gone = machine.app.shares.remove(name);
        assert!(matches!(gone, Err(Fault::Invalid(Invalid::UnknownShare { .. }))), "{gone:?}");
    }
    let own = machine.app.shares.add(machine.folder.path().join("data"), "keys", &SharedWith::All, true);
    assert!(matches!(own, Err(Fault::Invalid(Invalid::SharedOwnFolder { .. }))), "{own:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn chosen_folders_are_shared_under_names_that_are_free_and_readers_change() {
    let mut machine = Machine::new("near");
    let folder = |path: &str| {
        let folder = machine.folder.path().join(path);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    };
    let (runs, other, odd) = (folder("a/runs"), folder("b/RUNS"), folder("4000"));
    let chosen = machine.app.choices.keep(vec![runs.clone(), other, odd]).unwrap().unwrap();
    let added = machine.app.shares.add_chosen(chosen.id, None, &SharedWith::NOBODY, false).unwrap();
    let names = |shares: &[ringway_model::Share]| shares.iter().map(|share| share.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(&added), ["runs", "RUNS (2)", "folder"]);
    machine.event(|event| matches!(event, AppEvent::SharesChanged).then_some(())).await;
    // The same folder again is the same share.
    let again = machine.app.choices.keep(vec![runs]).unwrap().unwrap();
    let again = machine.app.shares.add_chosen(again.id, Some("runs"), &SharedWith::All, false).unwrap();
    assert_eq!((names(&again), &again[0].with), (vec!["runs".to_owned()], &SharedWith::All));
    machine.app.shares.set_readers("runs", &SharedWith::NOBODY).unwrap();
    assert_eq!(
        machine.app.shares.list().unwrap().iter().find(|share| share.name.as_str() == "runs").unwrap().with,
        SharedWith::NOBODY
    );
    let unknown = machine.app.shares.set_readers("none", &SharedWith::All);
    assert!(matches!(unknown, Err(Fault::Invalid(Invalid::UnknownShare { .. }))), "{unknown:?}");
    // What the history has is no folder that somebody points at now.
    let sources = vec![ringway_model::Source { path: machine.folder.path().join("4000"), contents_only: false }];
    let target = Target::Device(machine.app.engine.this_device().id);
    let sent = machine.app.choices.keep_sent(sources, target, Vec::new()).unwrap().unwrap();
    for chosen in [sent.id, 9_999] {
        assert_eq!(machine.app.shares.add_chosen(chosen, None, &SharedWith::All, false), Err(Fault::Gone));
    }
}
