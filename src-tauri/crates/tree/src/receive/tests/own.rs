//! Ringway's own folders beneath the destination, above it, and behind links and mounts.

use std::os::unix::fs::DirBuilderExt;

use ringway_model::{IntoHome, Invalid, Side};

use super::*;
use crate::receive::{Homes, OwnFolders};

/// Folders as a device has them.
struct Paths {
    config: PathBuf,
    data: PathBuf,
    state: PathBuf,
}

impl Paths {
    /// Makes those that are missing, as the engine does.
    fn own(&self) -> OwnFolders {
        let mut own = OwnFolders::default();
        for folder in [&self.config, &self.data, &self.state] {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).unwrap();
            own.add_folder(folder);
            ["config.toml", "identity.pem", "ringway.db"].iter().for_each(|name| own.add_file(&folder.join(name)));
        }
        own
    }
}

/// A destination that is a home with Ringway's folders in it, and what lies there.
struct Home {
    site: Site,
    paths: Paths,
}

impl Home {
    /// `base` is the home in the destination's `rel`.
    fn new(rel: &str) -> Self {
        let site = Site::new();
        let home = site.at(rel);
        let paths = Paths {
            config: home.join(".config/ringway"),
            data: home.join(".local/share/ringway"),
            state: home.join(".local/state/ringway"),
        };
        paths.own();
        fs::write(paths.data.join("identity.pem"), "key").unwrap();
        fs::write(paths.config.join("config.toml"), "settings").unwrap();
        Self { site, paths }
    }

    fn options(&self) -> DestinationOptions {
        DestinationOptions { own: self.paths.own(), ..self.site.options(OnConflict::Replace) }
    }

    /// Sends that, and shows that nothing of ours has changed.
    fn cross(&self, lane: Lane) -> Vec<Failure> {
        let (_, _, failures) = cross(&Incoming::begin(self.options()).unwrap(), vec![lane]);
        self.is_untouched();
        failures
    }

    fn is_untouched(&self) {
        let read = |path: PathBuf| fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        assert_eq!(read(self.paths.data.join("identity.pem")), "key");
        assert_eq!(read(self.paths.config.join("config.toml")), "settings");
        assert_eq!(names_in(&self.paths.data), ["identity.pem"]);
        assert_eq!(names_in(&self.paths.config), ["config.toml"]);
        for folder in [&self.paths.data, &self.paths.config, &self.paths.state] {
            assert_eq!(fs::metadata(folder).unwrap().mode() & 0o7777, 0o700, "{folder:?}");
        }
    }
}

fn refused(at: &str) -> Failure {
    Failure { path: at.into(), side: Side::Here, operation: Operation::Create, reason: FailureReason::OwnFolder }
}

#[test]
fn entries_that_lead_into_ringways_own_folders_are_refused_and_the_rest_arrives() {
    let home = Home::new("");
    let lane = Lane::default()
        .made(".local", 0o755)
        .made(".local/share/ringway", 0o777)
        .file("identity.pem", b"mallory")
        .file("ringway.db", b"mallory")
        .made(".local/share/other", 0o755)
        .file("fine", b"fine")
        .folder(".config/ringway")
        .file("config.toml", b"mallory")
        .folder(".config/ringway/deeper/still")
        .file("x", b"x");
    let failures = home.cross(lane);
    let wanted = [
        ".local/share/ringway",
        ".local/share/ringway/identity.pem",
        ".local/share/ringway/ringway.db",
        ".config/ringway/config.toml",
        ".config/ringway/deeper/still/x",
    ];
    assert_eq!(failures, wanted.map(refused));
    assert_eq!(home.site.text(".local/share/other/fine"), "fine");
    assert_eq!(fs::metadata(home.site.at(".local")).unwrap().mode() & 0o7777, 0o700, "who holds ours keeps its mode");
}

#[test]
fn own_folders_are_recognised_at_any_depth_and_by_ranges_links_and_symlinks() {
    let home = Home::new("srv/homes/me");
    let ours = "srv/homes/me/.local/share/ringway";
    let lane = Lane::default()
        .folder(ours)
        .entry(&symlink("identity.pem", "/elsewhere"), b"")
        .folder("srv/homes")
        .entry(&linked("first", 1, 5), b"1")
        .folder(ours)
        .entry(&hard_link("identity.pem", 5, true), b"")
        .range(0, ours, file("identity.pem", 3, 0o600), 0, b"new", RangeStep::Last { data_bytes: 3 });
    let failures = home.cross(lane);
    assert_eq!(failures, [(); 3].map(|()| refused(&format!("{ours}/identity.pem"))));
    assert_eq!(home.site.text("srv/homes/first"), "1");
}

#[test]
fn a_bind_mount_of_an_own_folder_is_refused_like_the_folder_itself() {
    let home = Home::new("me");
    for name in ["ours", "above"] {
        fs::create_dir(home.site.at(name)).unwrap();
    }
    let Some(_ours) = Mount::bind(&home.paths.data, &home.site.at("ours")) else { return };
    let Some(_above) = Mount::bind(&home.site.at("me"), &home.site.at("above")) else { return };
    let lane = Lane::default()
        .folder("ours")
        .file("identity.pem", b"mallory")
        .folder("above/.config/ringway")
        .file("config.toml", b"mallory");
    assert_eq!(home.cross(lane), ["ours/identity.pem", "above/.config/ringway/config.toml"].map(refused));
    let inside = DestinationOptions { destination: home.site.at("ours"), ..home.options() };
    assert!(matches!(Incoming::begin(inside), Err(Fault::Invalid(Invalid::OwnFolder { .. }))));
}

#[test]
fn links_on_the_way_to_own_folders_and_files_behind_links_are_not_replaced() {
    let home = Home::new("me");
    // As who keeps settings under version control has them.
    fs::rename(home.site.at("me/.local"), home.site.at("dotlocal")).unwrap();
    std::os::unix::fs::symlink("../dotlocal", home.site.at("me/.local")).unwrap();
    fs::rename(home.paths.config.join("config.toml"), home.site.at("dotfile")).unwrap();
    std::os::unix::fs::symlink(home.site.at("dotfile"), home.paths.config.join("config.toml")).unwrap();
    let lane = Lane::default()
        .folder("")
        .file("dotfile", b"mallory")
        .folder("me")
        .entry(&symlink(".local", "fake"), b"")
        .file(".local", b"file")
        .folder("dotlocal/share/ringway")
        .file("identity.pem", b"mallory")
        .folder("me/.local/share/ringway")
        .file("identity.pem", b"mallory");
    let failures = home.cross(lane);
    let mut wanted = ["dotfile", "me/.local", "me/.local", "dotlocal/share/ringway/identity.pem"].map(refused).to_vec();
    // A link is never followed, whatever it leads to.
    let in_the_way = FailureReason::InTheWay;
    wanted.push(Failure { reason: in_the_way, ..refused("me/.local/share/ringway/identity.pem") });
    assert_eq!(failures, wanted);
    assert_eq!(home.site.text("dotfile"), "settings");
}

#[test]
fn nothing_is_received_into_an_own_folder_nor_into_what_lies_in_one() {
    let home = Home::new("me");
    fs::create_dir_all(home.paths.state.join("in/here")).unwrap();
    std::os::unix::fs::symlink(&home.paths.config, home.site.at("link")).unwrap();
    let places = [home.paths.data.clone(), home.paths.state.join("in/here"), home.site.at("link")];
    for destination in places {
        let began = Incoming::begin(DestinationOptions { destination: destination.clone(), ..home.options() });
        assert!(matches!(began, Err(Fault::Invalid(Invalid::OwnFolder { .. }))), "{destination:?}");
    }
    home.is_untouched();
    Incoming::begin(DestinationOptions { destination: home.site.at("me"), ..home.options() })
        .unwrap()
        .abandon()
        .unwrap();
}

#[test]
fn own_folders_that_are_missing_are_made_before_anything_can_land() {
    let home = Home::new("me");
    fs::remove_dir_all(home.site.at("me")).unwrap();
    let failures = cross(
        &Incoming::begin(home.options()).unwrap(),
        vec![Lane::default().folder("me/.local/share/ringway").file("identity.pem", b"mallory")],
    );
    assert_eq!(failures.2, [refused("me/.local/share/ringway/identity.pem")]);
    assert_eq!(names_in(&home.paths.data), [""; 0]);
}

#[test]
fn a_home_takes_nothing_until_it_is_allowed() {
    let Some(home) = std::env::home_dir().filter(|home| home.is_dir()) else {
        return println!("skipped: this user has no home");
    };
    let site = Site::new();
    let homes = Homes::known();
    let refused = Incoming::begin(DestinationOptions { destination: home, homes, ..site.options(OnConflict::Replace) });
    assert!(matches!(refused, Err(Fault::Invalid(Invalid::HomeFolder { .. }))));
}

/// A destination with homes below it, one at its top and one deeper, and what is sent there.
fn to_homes(into_home: IntoHome) -> (Site, Vec<Failure>) {
    let site = Site::new();
    let homes = ["me", "staff/her"].map(|home| site.at(home));
    for home in &homes {
        fs::create_dir_all(home).unwrap();
        fs::write(home.join(".bashrc"), "mine").unwrap();
    }
    let homes = Homes::at(&homes.each_ref().map(PathBuf::as_path));
    let options = DestinationOptions { homes, into_home, ..site.options(OnConflict::Replace) };
    let lane = Lane::default()
        .made("me", 0o777)
        .file(".bashrc", b"mallory")
        .file("notes", b"notes")
        .entry(&symlink(".profile", "/elsewhere"), b"")
        .made("me/.ssh", 0o755)
        .file("authorized_keys", b"mallory")
        .folder("staff/her")
        .entry(&linked("first", 1, 5), b"1")
        .entry(&hard_link(".first", 5, true), b"")
        .range(0, "staff/her", file(".bashrc", 3, 0o600), 0, b"new", RangeStep::Last { data_bytes: 3 })
        .folder("staff/her/work")
        .file(".hidden", b"x")
        .folder("staff")
        .file(".hidden", b"x");
    let (_, _, failures) = cross(&Incoming::begin(options).unwrap(), vec![lane]);
    (site, failures)
}

fn refused_for(reason: FailureReason, paths: &[&str]) -> Vec<Failure> {
    paths.iter().map(|path| Failure { reason, ..refused(path) }).collect()
}

#[test]
fn homes_below_the_receive_folder_take_nothing_until_they_are_allowed() {
    let (site, mut failures) = to_homes(IntoHome::Refuse);
    let mut wanted = refused_for(
        FailureReason::HomeFolder,
        &[
            "me",
            "me/.bashrc",
            "me/notes",
            "me/.profile",
            "me/.ssh",
            "me/.ssh/authorized_keys",
            "staff/her/first",
            "staff/her/.first",
            "staff/her/.bashrc",
            "staff/her/work/.hidden",
        ],
    );
    failures.sort_by(|a, b| a.path.cmp(&b.path));
    wanted.sort_by(|a, b| a.path.cmp(&b.path));
    assert_eq!(failures, wanted);
    assert_eq!(names_in(&site.at("me")), [".bashrc"]);
    assert_eq!(names_in(&site.at("staff/her")), [".bashrc"]);
    assert_eq!((site.text("me/.bashrc"), site.text("staff/her/.bashrc")), ("mine".into(), "mine".into()));
    assert_eq!(site.text("staff/.hidden"), "x");
}

#[test]
fn homes_below_the_receive_folder_take_names_with_a_dot_only_where_that_is_allowed() {
    let (site, mut failures) = to_homes(IntoHome::NoDotNames);
    let mut wanted = refused_for(
        FailureReason::DotName,
        &["me/.bashrc", "me/.profile", "me/.ssh", "me/.ssh/authorized_keys", "staff/her/.first", "staff/her/.bashrc"],
    );
    failures.sort_by(|a, b| a.path.cmp(&b.path));
    wanted.sort_by(|a, b| a.path.cmp(&b.path));
    assert_eq!(failures, wanted);
    assert_eq!((site.text("me/.bashrc"), site.text("staff/her/.bashrc")), ("mine".into(), "mine".into()));
    assert_eq!((site.text("me/notes"), site.text("staff/her/work/.hidden")), ("notes".into(), "x".into()));

    let (site, failures) = to_homes(IntoHome::DotNames);
    assert_eq!(failures, []);
    assert_eq!((site.text("me/.bashrc"), site.text("staff/her/.bashrc")), ("mallory".into(), "new".into()));
}
