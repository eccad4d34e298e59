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
