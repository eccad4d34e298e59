//! What the owner saves between two of the receiver's calls to the disk: it stays.
use std::os::fd::OwnedFd;

use ringway_model::PathText;
use ringway_sys::dir::Dir as KernelDir;

use super::*;
use crate::disk::Disk;

const UPDATE: OnConflict = OnConflict::RenameTop;
const CHANGED: FailureReason = FailureReason::ChangedWhileReading;

/// Which of the receiver's calls the owner is quicker than.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    BeforeCreating,
    BeforeExchanging,
    BeforeNaming,
    BeforeLinking,
    AfterLinking,
    /// Before a name is taken away, by whatever call.
    BeforeRemoving,
    /// After a file has landed, before its times are noted.
    BeforeNoting,
}

type Act = Box<dyn FnOnce() + Send>;

/// The kernel's disk, and what the owner does meanwhile: each once, one after the other.
struct Meanwhile(Mutex<Vec<(When, Act)>>, Medium);

impl Meanwhile {
    fn new(acts: Vec<(When, Act)>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(acts), Medium::default()))
    }

    fn act(&self, when: When) {
        let mut acts = self.0.lock();
        if acts.first().is_some_and(|(first, _)| *first == when) {
            acts.remove(0).1();
        }
    }

    fn check_all_done(&self) {
        assert_eq!(self.0.lock().iter().map(|(when, _)| *when).collect::<Vec<_>>(), []);
    }
}

impl Disk for Meanwhile {
    fn create_new(&self, dir: &KernelDir, name: &[u8], mode: u32) -> io::Result<OwnedFd> {
        // The staging folder is prepared first.
        if name == b"1" {
            self.act(When::BeforeCreating);
        }
        dir.create_new(name, mode)
    }

    fn hard_link(&self, from: (&KernelDir, &[u8]), to: (&KernelDir, &[u8])) -> io::Result<()> {
        self.act(When::BeforeLinking);
        to.0.hard_link(from.0, from.1, to.1)?;
        self.act(When::AfterLinking);
        Ok(())
    }

    fn rename(&self, from: (&KernelDir, &[u8]), to: (&KernelDir, &[u8])) -> io::Result<()> {
        self.act(When::BeforeNaming);
        from.0.rename(from.1, to.0, to.1)
    }

    fn rename_noreplace(&self, from: (&KernelDir, &[u8]), to: (&KernelDir, &[u8])) -> io::Result<()> {
        self.act(When::BeforeNaming);
        self.act(When::BeforeRemoving);
        from.0.rename_noreplace(from.1, to.0, to.1)
    }

    fn unlink(&self, dir: &KernelDir, name: &[u8]) -> io::Result<()> {
        self.act(When::BeforeRemoving);
        dir.unlink(name)
    }

    fn metadata(&self, file: BorrowedFd<'_>) -> io::Result<Metadata> {
        self.act(When::BeforeNoting);
        self.1.metadata(file)
    }

    fn exchange(&self, from: (&KernelDir, &[u8]), to: (&KernelDir, &[u8])) -> io::Result<()> {
        self.act(When::BeforeExchanging);
        from.0.exchange(from.1, to.0, to.1)
    }
}

/// The sender has changed it since.
fn newer<'a>(text: &'a str, contents: &[u8]) -> Entry<'a> {
    let entry = file(text, contents.len(), 0o644);
    let mtime = Timestamp { secs: 1_700_000_000, nanos: 1 };
    Entry { attributes: Attributes { mtime, ..entry.attributes }, ..entry }
}

/// Saves as editors do.
fn saves(site: &Site, rel: &str, text: &'static str) -> Act {
    let (temporary, at) = (site.root.join(".saving"), site.at(rel));
    Box::new(move || {
        fs::write(&temporary, text).unwrap();
        fs::rename(&temporary, at).unwrap();
    })
}

fn received() -> Site {
    let site = Site::new();
    receive_old(&site);
    site
}

fn receive_old(site: &Site) {
    site.receive(site.options(UPDATE), vec![Lane::default().made("album", 0o755).file("a", b"old")]);
}

/// Receives a lane while the owner acts; what has failed.
fn receive_while(site: &Site, lane: Lane, acts: Vec<(When, Act)>) -> Vec<Failure> {
    let disk = Meanwhile::new(acts);
    let incoming = Incoming::begin_on(site.options(UPDATE), Arc::clone(&disk) as Arc<dyn Disk>).unwrap();
    let (_, _, failures) = cross(&incoming, vec![lane]);
    disk.check_all_done();
    assert_eq!(site.names(), ["album"]);
    failures
}

/// All texts of the folder, sorted.
fn texts(site: &Site) -> Vec<String> {
    let mut texts: Vec<_> =
        names_in(&site.at("album")).iter().map(|name| site.text(&format!("album/{name}"))).collect();
    texts.sort();
    texts
}

#[test]
fn what_is_saved_before_an_exchange_and_again_before_it_is_undone_stays_twice() {
    let site = received();
    // The sender's version is there under a number already.
    fs::write(site.at("album/a (1)"), "new").unwrap();
    let time = std::time::UNIX_EPOCH + std::time::Duration::new(1_700_000_000, 1);
    fs::File::options().write(true).open(site.at("album/a (1)")).unwrap().set_modified(time).unwrap();
    let lane = Lane::default().folder("album").entry(&newer("a", b"new"), b"new");
    let acts = ["saved", "saved again"].map(|text| (When::BeforeExchanging, saves(&site, "album/a", text)));
    receive_while(&site, lane, acts.into());
    assert_eq!(texts(&site), ["new", "saved", "saved again"]);
}

#[test]
fn what_becomes_due_to_another_device_in_the_instant_before_an_exchange_stays() {
    let site = received();
    let lane = Lane::default().folder("album").entry(&newer("a", b"new"), b"new");
    let album = KernelDir::open(&site.at("album")).unwrap();
    let shares: Act = Box::new(move || {
        assert!(album.renew_change_time(b"a", &album.metadata(b"a").unwrap()).is_ok());
    });
    receive_while(&site, lane, vec![(When::BeforeExchanging, shares)]);
    assert_eq!((&*site.text("album/a"), &*site.text("album/a (1)")), ("old", "new"));
}

#[test]
fn what_is_saved_under_a_name_that_was_free_a_moment_ago_stays() {
    let site = received();
    let lane = Lane::default().folder("album").entry(&newer("a", b"new"), b"new");
    let (removed, saved) = (site.at("album/a"), saves(&site, "album/a", "saved"));
    let removes: Act = Box::new(move || fs::remove_file(removed).unwrap());
    let failures = receive_while(&site, lane, vec![(When::BeforeCreating, removes), (When::BeforeNaming, saved)]);
    assert_eq!(failures, []);
    assert_eq!((&*site.text("album/a"), &*site.text("album/a (1)")), ("saved", "new"));
}

#[test]
fn what_is_saved_under_the_name_of_a_new_hard_link_stays() {
    let site = received();
    let lane = Lane::default().folder("album").entry(&linked("b", 4, 1), b"both").entry(&hard_link("c", 1, true), b"");
    let failures = receive_while(&site, lane, vec![(When::AfterLinking, saves(&site, "album/c", "saved"))]);
    println!("{failures:?}");
    assert_eq!((&*site.text("album/b"), &*site.text("album/c")), ("both", "saved"));
}

#[test]
fn what_is_saved_in_the_instant_in_which_a_link_to_anothers_file_is_undone_stays() {
    let site = received();
    let lane = Lane::default().folder("album").entry(&linked("b", 4, 1), b"both").entry(&hard_link("c", 1, true), b"");
    let acts = [("album/b", "another's", When::BeforeLinking), ("album/c", "saved", When::BeforeRemoving)];
    let failures = receive_while(&site, lane, acts.map(|(at, text, when)| (when, saves(&site, at, text))).into());
    assert_eq!(
        failures.into_iter().map(|failure| failure.path).collect::<Vec<_>>(),
        ["album/c".into()] as [PathText; 1]
    );
    assert_eq!((&*site.text("album/b"), &*site.text("album/c")), ("another's", "saved"));
}

/// Receives `album/b` to be proven, lets a bad medium alter it, and has the owner act while it
/// loses its name. For which reason it has failed is `told`.
fn lose_while(site: &Site, acts: Vec<(When, Act)>, told: FailureReason) {
    let disk = Meanwhile::new(vec![]);
    let options = DestinationOptions { prove: true, ..site.options(UPDATE) };
    let incoming = Incoming::begin_on(options, Arc::clone(&disk) as Arc<dyn Disk>).unwrap();
    let (bytes, sent) = Lane::default().proving().folder("album").file("b", b"new").end();
    incoming.run_lane(&mut Wire::new(bytes), &mut io(IoMode::Auto)).unwrap();
    disk.1.alter(&site.at("album/b"), 0);
    disk.0.lock().extend(acts);
    let (receipt, _) = incoming.finish(&sent).unwrap();
    assert_eq!(receipt.proven.unwrap().files, 0);
    let reasons = incoming.results().take_failures().into_iter().map(|failure| failure.reason).collect::<Vec<_>>();
    assert_eq!(reasons, [told]);
    disk.check_all_done();
    assert_eq!(site.names(), ["album"]);
}

#[test]
fn what_is_saved_in_the_instant_in_which_a_file_that_proved_wrong_loses_its_name_stays() {
    let site = received();
    lose_while(&site, vec![(When::BeforeRemoving, saves(&site, "album/b", "saved"))], CHANGED);
    assert_eq!(texts(&site), ["old", "saved"]);
    assert_eq!(site.text("album/b"), "saved");
}

#[test]
fn what_is_saved_twice_while_a_file_that_proved_wrong_loses_its_name_stays_twice() {
    let site = received();
    let acts = [When::BeforeRemoving, When::BeforeNaming];
    lose_while(
        &site,
        acts.into_iter().zip(["saved", "again"]).map(|(when, text)| (when, saves(&site, "album/b", text))).collect(),
        CHANGED,
    );
    assert_eq!(texts(&site), ["again", "old", "saved"]);
    assert_eq!(site.text("album/b"), "again");
}

#[test]
fn a_file_that_proved_wrong_loses_its_name() {
    let site = received();
    lose_while(&site, vec![], FailureReason::Differs);
    assert_eq!(names_in(&site.at("album")), ["a", "b (not verified)"]);
    assert_eq!(texts(&site), ["old", "~ew"]);
}

#[test]
fn what_is_saved_in_place_with_the_same_time_before_that_is_noted_stays() {
    let site = received();
    let at = site.at("album/b");
    let saves: Act = Box::new(move || {
        let time = fs::metadata(&at).unwrap().modified().unwrap();
        fs::write(&at, "own").unwrap();
        fs::File::options().write(true).open(&at).unwrap().set_modified(time).unwrap();
    });
    let disk = Meanwhile::new(vec![(When::BeforeNoting, saves)]);
    let options = DestinationOptions { prove: true, ..site.options(UPDATE) };
    let incoming = Incoming::begin_on(options, Arc::clone(&disk) as Arc<dyn Disk>).unwrap();
    let (_, _, failures) = cross(&incoming, vec![Lane::default().proving().folder("album").file("b", b"new")]);
    disk.check_all_done();
    assert_eq!(failures.into_iter().map(|failure| failure.reason).collect::<Vec<_>>(), [CHANGED]);
    assert_eq!((names_in(&site.at("album")), site.text("album/b")), (vec!["a".into(), "b".into()], "own".into()));
    // Nor is it taken for what was received, which the next version would replace.
    site.remember(&incoming);
    let next = Lane::default().folder("album").entry(&newer("b", b"next"), b"next");
    site.receive(site.options(UPDATE), vec![next]);
    assert_eq!((&*site.text("album/b"), &*site.text("album/b (1)")), ("own", "next"));
}

#[test]
fn what_is_saved_with_the_same_time_before_it_is_read_back_stays() {
    let site = received();
    let incoming = Incoming::begin(DestinationOptions { prove: true, ..site.options(UPDATE) }).unwrap();
    let (bytes, sent) = Lane::default().proving().folder("album").file("b", b"new").end();
    incoming.run_lane(&mut Wire::new(bytes), &mut io(IoMode::Auto)).unwrap();
    let (at, saved) = (site.at("album/b"), site.at("album/.b.saved"));
    let time = fs::metadata(&at).unwrap().modified().unwrap();
    fs::write(&saved, "own").unwrap();
    fs::File::options().write(true).open(&saved).unwrap().set_modified(time).unwrap();
    fs::rename(&saved, &at).unwrap();
    let (receipt, _) = incoming.finish(&sent).unwrap();
    assert_eq!(receipt.proven.unwrap().files, 0);
    assert_eq!(site.text("album/b"), "own");
}

#[test]
fn what_is_saved_under_a_number_before_that_is_updated_stays() {
    let site = Site::new();
    fs::create_dir_all(&site.root).unwrap();
    fs::write(site.at("a"), "mine").unwrap();
    site.receive(site.options(UPDATE), vec![Lane::default().folder("").file("a", b"old")]);
    let disk = Meanwhile::new(vec![(When::BeforeExchanging, saves(&site, "a (1)", "saved"))]);
    let incoming = Incoming::begin_on(site.options(UPDATE), Arc::clone(&disk) as Arc<dyn Disk>).unwrap();
    let (_, _, failures) = cross(&incoming, vec![Lane::default().folder("").entry(&newer("a", b"new"), b"new")]);
    disk.check_all_done();
    assert_eq!((site.names(), failures), (vec!["a".into(), "a (1)".into(), "a (2)".into()], vec![]));
    assert_eq!([site.text("a"), site.text("a (1)"), site.text("a (2)")], ["mine", "saved", "new"]);
}

#[test]
fn what_is_saved_under_another_name_of_a_file_while_one_is_replaced_stays() {
    let site = Site::new();
    let lane = Lane::default().made("album", 0o755).entry(&linked("a", 3, 5), b"old");
    site.receive(site.options(UPDATE), vec![lane.made("other", 0o755).entry(&hard_link("b", 5, true), b"")]);
    let (at, disk) = (site.at("other/b"), Meanwhile::new(vec![]));
    let incoming = Incoming::begin_on(site.options(UPDATE), Arc::clone(&disk) as Arc<dyn Disk>).unwrap();
    // The staging folder is prepared by now.
    let writes: Act = Box::new(move || fs::write(at, "saved").unwrap());
    disk.0.lock().push((When::BeforeRemoving, writes));
    cross(&incoming, vec![Lane::default().folder("album").entry(&newer("a", b"new"), b"new")]);
    site.remember(&incoming);
    disk.check_all_done();
    assert_eq!((&*site.text("album/a"), &*site.text("other/b")), ("new", "saved"));
    let (receipt, ..) = site
        .receive(site.options(UPDATE), vec![Lane::default().folder("other").entry(&newer("b", b"new b"), b"new b")]);
    assert_eq!((receipt.edited, &*site.text("other/b")), (1, "saved"));
}

#[test]
fn what_a_program_writes_that_had_a_file_open_before_that_was_replaced_stays() {
    let site = received();
    let writer = fs::File::options().append(true).open(site.at("album/a")).unwrap();
    if !ringway_sys::writers::has_writers(fs::File::open(site.at("album/a")).unwrap()) {
        return println!("skipped: this filesystem grants no leases");
    }
    drop(writer);
    let (at, open) = (site.at("album/a"), Arc::new(Mutex::new(None)));
    let (opens, writes) = (Arc::clone(&open), open);
    let opens: Act = Box::new(move || *opens.lock() = Some(fs::File::options().write(true).open(at).unwrap()));
    let writes: Act = Box::new(move || {
        let mut file = writes.lock().take().unwrap();
        std::io::Write::write_all(&mut file, b"saved").unwrap();
    });
    let lane = Lane::default().folder("album").entry(&newer("a", b"new"), b"new");
    let failures = receive_while(&site, lane, vec![(When::BeforeExchanging, opens), (When::BeforeRemoving, writes)]);
    assert_eq!((failures, texts(&site)), (vec![], vec!["new".to_owned(), "saved".to_owned()]));
    assert_eq!(site.text("album/a"), "saved");
}

#[test]
fn file_that_a_program_has_open_counts_as_changed_where_an_exchange_leaves_no_time() {
    let site = Site::new();
    fs::create_dir(&site.root).unwrap();
    let image = tempfile::NamedTempFile::new().unwrap();
    let Some(_mount) = filesystem(image.path(), &site.root, &["mkfs.xfs", "-q", "-f"]) else { return };
    receive_old(&site);
    let mode = || fs::metadata(site.at("album/a")).unwrap().mode();
    let (before, writer) = (mode(), fs::File::options().append(true).open(site.at("album/a")).unwrap());
    let lane = || vec![Lane::default().folder("album").entry(&newer("a", b"new"), b"new")];
    for time in 0..2 {
        let (receipt, _, failures) = site.receive(site.options(UPDATE), lane());
        assert_eq!((failures, receipt.edited), (vec![], 1), "{time}");
        assert_eq!((&*site.text("album/a"), &*site.text("album/a (1)")), ("old", "new"));
        assert_eq!(names_in(&site.at("album")), ["a", "a (1)"]);
    }
    drop(writer);
    assert_eq!(mode(), before);
}

#[test]
fn replace_replaces_a_file_at_the_top_that_another_transfer_or_a_program_still_writes() {
    let site = Site::new();
    fs::create_dir_all(&site.root).unwrap();
    let writer = fs::File::create(site.at("a")).unwrap();
    let lane = Lane::default().folder("").entry(&newer("a", b"new"), b"new");
    let (_, _, failures) = site.receive(site.options(OnConflict::Replace), vec![lane]);
    drop(writer);
    assert_eq!((failures, site.names(), &*site.text("a")), (vec![], vec!["a".into()], "new"));
}

#[test]
fn what_is_saved_in_a_new_version_before_that_is_remembered_stays() {
    let site = received();
    let (at, disk) = (site.at("album/a"), Meanwhile::new(vec![]));
    let incoming = Incoming::begin_on(site.options(UPDATE), Arc::clone(&disk) as Arc<dyn Disk>).unwrap();
    let saves: Act = Box::new(move || {
        fs::write(&at, "saved").unwrap();
        // Its change time is another one than its modification time.
        std::thread::sleep(std::time::Duration::from_millis(30));
        fs::set_permissions(&at, fs::Permissions::from_mode(0o600)).unwrap();
    });
    disk.0.lock().push((When::BeforeRemoving, saves));
    cross(&incoming, vec![Lane::default().folder("album").entry(&newer("a", b"new"), b"new")]);
    site.remember(&incoming);
    disk.check_all_done();
    let (receipt, ..) = site.receive(site.options(UPDATE), vec![Lane::default().folder("album").file("a", b"third")]);
    assert_eq!((receipt.edited, &*site.text("album/a"), &*site.text("album/a (1)")), (1, "saved", "third"));
}
