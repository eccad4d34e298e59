//! What a paired device tries beyond what is shared with it, and what a device that serves shares
//! can make another one believe.
use std::os::unix::fs::symlink;
use std::path::Path;

use ringway_engine::{Browsed, Listed, Reference};
use ringway_model::{EntryKind, Fault, ShareName, ShareThere, SharedWith};
use ringway_wire::control::{Answer, EntriesWanted, NoAnswer, Question, RangeWanted};
use ringway_wire::entries::{Attributes, Depth, EntriesPage, EntriesWriter, FolderEntry};
use ringway_wire::lane::Timestamp;
use ringway_wire::limits::{PAGES_AHEAD_MAX, QUESTIONS_MAX, RANGE_BYTES_MAX};
use ringway_wire::session::{Event, Machine};
use tokio::sync::{oneshot, watch};

use super::mallory::Channel;
use super::*;

pub(super) fn name(text: &str) -> ShareName {
    ShareName::new(text).unwrap()
}

pub(super) fn listing(share: &str, path: &str, depth: Depth) -> Question {
    let (share, path) = (name(share), path.as_bytes().to_vec());
    Question::Entries(EntriesWanted { share, path, depth, changed_since: None, pages: PAGES_AHEAD_MAX })
}

/// Mallory, paired with a device under the name `guest`.
pub(super) async fn paired(lab: &Device, address: SocketAddr) -> Mallory {
    let mallory = Mallory::new();
    mallory.offers(address, "guest", Some(CODE), &offer()).await;
    assert!(lab.engine.find_device("guest").unwrap().is_some());
    mallory
}

/// Shares a folder of `lab` with Mallory.
pub(super) fn share(lab: &Device, folder: &Path, share: &str) {
    let guest = lab.engine.find_device("guest").unwrap().unwrap().id;
    let with = SharedWith::Devices { devices: vec![guest] };
    lab.engine.share(folder, &name(share), &with, false).unwrap();
}

/// A session in which Mallory may ask.
pub(super) async fn asking(mallory: &Mallory, address: SocketAddr) -> Channel {
    let mut session = mallory.dial(address).await;
    session.hello("guest", true).await;
    assert!(matches!(session.hear().await, Some(Message::Hello(hello)) if hello.known));
    session
}

/// The next answer, with pings answered on the way.
pub(super) async fn answer(session: &mut Channel) -> Option<Answer> {
    let heard = async {
        loop {
            match session.hear().await {
                Some(Message::Answered { answer, .. }) => return Some(answer),
                Some(Message::Ping) => session.say(&Message::Pong).await,
                Some(_) => {}
                None => return None,
            }
        }
    };
    timeout(LONG, heard).await.expect("an answer, or the end")
}

pub(super) async fn ask(session: &mut Channel, number: u32, question: Question) -> Option<Answer> {
    session.say(&Message::Asked { number, question }).await;
    answer(session).await
}

/// The names of a page.
fn names(page: &EntriesPage) -> Vec<String> {
    let mut names = Vec::new();
    page.each(|entry| names.push(String::from_utf8_lossy(entry.path.as_bytes()).into_owned()));
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_read_that_is_not_shared() {
    let lab = Device::new("lab");
    for folder in ["shared/below", "other", "secret"] {
        fs::create_dir_all(lab.path(folder)).unwrap();
        fs::write(lab.path(folder).join("file"), "contents").unwrap();
    }
    symlink("../secret", lab.path("shared/out")).unwrap();
    symlink("/", lab.path("shared/root")).unwrap();
    symlink(".", lab.path("shared/loop")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        lab.path("shared/fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let (_receiver, address) = lab.receiver().await;
    let mallory = paired(&lab, address).await;
    share(&lab, &lab.path("shared"), "mine");
    lab.engine.share(&lab.path("other"), &name("others"), &SharedWith::NOBODY, false).unwrap();
    let mut session = asking(&mallory, address).await;
    let shares = vec![ShareThere { name: name("mine"), drop: false, unavailable: None, drop_trouble: None }];
    assert_eq!(ask(&mut session, 0, Question::Shares).await, Some(Answer::Shares(shares)));
    // Another device's share, and one that is not there: nobody can tell which is which.
    for share in ["others", "nothing"] {
        let refused = ask(&mut session, share.len() as u32, listing(share, "", Depth::Tree)).await;
        assert_eq!(refused, Some(Answer::Refused(NoAnswer::NotShared)), "{share}");
    }
    let mut number = 100;
    for (path, errno) in [
        ("out/file", 40),
        ("root/etc", 40),
        ("loop/below", 40),
        ("fifo/x", 20),
        ("below/file/x", 20),
        ("nowhere", 2),
        ("line\nbreak", 2),
        ("\u{1b}[2J", 2),
    ] {
        for depth in [Depth::Itself, Depth::Folder, Depth::Tree] {
            number += 1;
            let refused = ask(&mut session, number, listing("mine", path, depth)).await;
            assert_eq!(refused, Some(Answer::Refused(NoAnswer::Path(errno))), "{path} {depth:?}");
        }
    }
    // What is no folder is shown as what it is, and neither opened nor followed.
    for (path, kind) in [("fifo", EntryKind::Fifo), ("out", EntryKind::Link), ("below/file", EntryKind::File)] {
        number += 1;
        let Some(Answer::Entries(page)) = ask(&mut session, number, listing("mine", path, Depth::Tree)).await else {
            panic!("{path}");
        };
        page.each(|entry| assert_eq!((entry.path.is_root(), entry.what.unwrap().kind), (true, kind), "{path}"));
        assert!(page.is_last() && page.len() == 1);
    }
    let Some(Answer::Entries(page)) = ask(&mut session, 1_000, listing("MINE", "", Depth::Tree)).await else {
        panic!()
    };
    assert_eq!(names(&page), ["below", "below/file", "fifo", "loop", "out", "root"]);
}

pub(super) fn range(share: &str, path: &str, offset: u64) -> Question {
    let (share, path) = (name(share), path.as_bytes().to_vec());
    Question::Range(RangeWanted { share, path, offset, len: 100 })
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_but_shared_files_is_read_in_parts() {
    let lab = Device::new("lab");
    for folder in ["shared/below", "other"] {
        fs::create_dir_all(lab.path(folder)).unwrap();
        fs::write(lab.path(folder).join("file"), "contents").unwrap();
    }
    fs::write(lab.path("secret"), "secret").unwrap();
    symlink("../secret", lab.path("shared/out")).unwrap();
    symlink(".", lab.path("shared/loop")).unwrap();
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, lab.path("shared/fifo"), fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let (_receiver, address) = lab.receiver().await;
    let mallory = paired(&lab, address).await;
    share(&lab, &lab.path("shared"), "mine");
    lab.engine.share(&lab.path("other"), &name("others"), &SharedWith::NOBODY, false).unwrap();
    let mut session = asking(&mallory, address).await;
    for (number, share) in ["others", "nothing"].into_iter().enumerate() {
        let refused = ask(&mut session, number as u32, range(share, "file", 0)).await;
        assert_eq!(refused, Some(Answer::Refused(NoAnswer::NotShared)), "{share}");
    }
    let refused = [
        ("out", 0, 40),
        ("loop/below/file", 0, 40),
        ("below", 0, 21),
        ("", 0, 21),
        ("fifo", 0, 95),
        ("nowhere", 0, 2),
        ("below/file/x", 0, 20),
        ("below/file", 9, 22),
        ("below/file", u64::MAX, 22),
    ];
    for (number, (path, offset, errno)) in refused.into_iter().enumerate() {
        let refused = ask(&mut session, 100 + number as u32, range("mine", path, offset)).await;
        assert_eq!(refused, Some(Answer::Refused(NoAnswer::Path(errno))), "{path} {offset}");
    }
    for (number, (offset, expected)) in [(0, &b"contents"[..]), (3, b"tents"), (8, b"")].into_iter().enumerate() {
        let Some(Answer::Bytes(page)) =
            ask(&mut session, 200 + number as u32, range("MINE", "below/file", offset)).await
        else {
            panic!("{offset}")
        };
        assert_eq!((page.bytes(), page.file().map(|file| file.size)), (expected, Some(8)), "{offset}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_of_a_file_and_what_has_changed_are_asked_for_by_a_browser() {
    let (lab, laptop) = (Device::new("lab"), Device::new("laptop"));
    let file: Vec<u8> = (0..700_001_u32).map(|at| (at % 251) as u8).collect();
    for folder in ["shared/old", "shared/new"] {
        fs::create_dir_all(lab.path(folder)).unwrap();
    }
    fs::write(lab.path("shared/old/file"), &file).unwrap();
    fs::write(lab.path("shared/new/old"), "").unwrap();
    let (_receiver, address) = lab.receiver().await;
    lab.engine.share(&lab.path("shared"), &name("mine"), &SharedWith::All, false).unwrap();
    pairs(&laptop, &lab).await;
    let mut browser = laptop.engine.browse(&at(address)).await.unwrap();
    let inside =
        |path: &str| Reference::parse(std::ffi::OsStr::new(&format!("x:mine/{path}"))).unwrap().inside.unwrap();
    let (mut whole, mut offset) = (Vec::new(), 0);
    loop {
        let (bytes, state) = browser.read(&inside("old/file"), offset, u32::MAX).await.unwrap();
        assert_eq!(state.size, file.len() as u64);
        offset += bytes.len() as u64;
        let is_over = bytes.len() < RANGE_BYTES_MAX as usize;
        whole.extend(bytes);
        if is_over {
            break;
        }
    }
    assert!(whole == file);
    let (bytes, _) = browser.read(&inside("old/file"), 300_000, 128 * 1024).await.unwrap();
    assert_eq!(bytes, &file[300_000..300_000 + 128 * 1024]);
    let fault = browser.read(&inside("old"), 0, 1).await.unwrap_err();
    assert!(matches!(fault, Fault::PathThere { .. }), "{fault:?}");

    let mut seen = Vec::new();
    let began = browser.entries_changed(&inside(""), Listed::Tree, None, |_| async { true }).await.unwrap();
    assert!(began.is_some());
    // The clock by which the kernel notes changes moves every few milliseconds. What was made
    // before the listing began is older by then.
    let since = began.map(|Timestamp { secs, nanos }| match nanos {
        ..900_000_000 => Timestamp { secs, nanos: nanos + 100_000_000 },
        _ => Timestamp { secs: secs + 1, nanos: 0 },
    });
    tokio::time::sleep(Duration::from_millis(200)).await;
    fs::write(lab.path("shared/new/file"), "").unwrap();
    let shown = |page: Vec<Browsed>| {
        seen.extend(page.into_iter().map(|entry| entry.unwrap().path.to_string()));
        async { true }
    };
    let again = browser.entries_changed(&inside(""), Listed::Tree, since, shown).await.unwrap();
    assert!(again > began);
    assert_eq!(seen, ["new", "new/file"]);
    browser.close().await;
}

/// A question whose path, or the name of whose share, is none.
fn raw(share: &[u8], path: &[u8]) -> Vec<u8> {
    let (share_len, path_len) = ((share.len() as u16).to_le_bytes(), (path.len() as u16).to_le_bytes());
    let payload = [&[40, 9, 0, 0, 0, 1][..], &share_len, share, &path_len, path, &[2, 4, 0]].concat();
    [&(payload.len() as u32).to_le_bytes()[..], &payload].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_breaks_the_rules_ends_the_session() {
    let lab = Device::new("lab");
    fs::create_dir(lab.path("shared")).unwrap();
    let (_receiver, address) = lab.receiver().await;
    let mallory = paired(&lab, address).await;
    share(&lab, &lab.path("shared"), "mine");
    for said in [
        raw(b"mine", b".."),
        raw(b"mine", b"a/../../secret"),
        raw(b"mine", b"/etc"),
        raw(b"mine", b"a\0b"),
        raw(b"../mine", b"a"),
        raw(b"mi\nne", b"a"),
        raw(b"mine", &[b'x'; 4_096]),
        raw(b"", b"a"),
    ] {
        let mut session = asking(&mallory, address).await;
        session.say_raw(&said).await;
        assert_eq!(answer(&mut session).await, None, "{said:?}");
    }
    let mut session = asking(&mallory, address).await;
    assert!(ask(&mut session, 7, Question::Shares).await.is_some());
    session.say(&Message::Asked { number: 7, question: Question::Shares }).await;
    assert_eq!(answer(&mut session).await, None, "a number twice");
    let mut session = asking(&mallory, address).await;
    session.say(&Message::MorePages { number: 0, pages: 1 }).await;
    assert_eq!(answer(&mut session).await, None, "pages of nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_learns_nothing_of_shares() {
    let lab = Device::new("lab");
    fs::create_dir(lab.path("shared")).unwrap();
    lab.engine.share(&lab.path("shared"), &name("mine"), &SharedWith::All, false).unwrap();
    let (_receiver, address) = lab.receiver().await;
    let mallory = Mallory::new();
    for question in [Question::Shares, listing("mine", "", Depth::Tree), listing("nothing", "", Depth::Tree)] {
        let mut session = mallory.dial(address).await;
        session.hello("guest", true).await;
        assert!(matches!(session.hear().await, Some(Message::Hello(hello)) if !hello.known));
        session.say(&Message::Asked { number: 0, question }).await;
        assert_eq!(session.hear().await, Some(Message::Refused(Refusal::NotPaired)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_questions_at_once_are_bounded_and_others_are_answered() {
    let lab = Device::new("lab");
    fs::create_dir(lab.path("shared")).unwrap();
    for number in 0..40_000 {
        fs::write(lab.path(&format!("shared/{number:0100}")), "").unwrap();
    }
    let (_receiver, address) = lab.receiver().await;
    let mallory = paired(&lab, address).await;
    share(&lab, &lab.path("shared"), "mine");
    // More in one session than may be open.
    let mut session = asking(&mallory, address).await;
    for number in 0..=QUESTIONS_MAX as u32 {
        session.say(&Message::Asked { number, question: listing("mine", "", Depth::Tree) }).await;
    }
    let mut heard = 0;
    while answer(&mut session).await.is_some() {
        heard += 1;
    }
    assert!(heard <= QUESTIONS_MAX * usize::from(PAGES_AHEAD_MAX), "{heard}");
    // As many sessions as a device may have, none of which reads what it asked for.
    let before = threads();
    let mut sessions = Vec::new();
    for _ in 0..64 {
        let mut session = asking(&mallory, address).await;
        for number in 0..QUESTIONS_MAX as u32 {
            session.say(&Message::Asked { number, question: listing("mine", "", Depth::Tree) }).await;
        }
        sessions.push(session);
    }
    let busy = async {
        let last = sessions.last_mut().unwrap();
        answer(last).await
    };
    assert_eq!(timeout(LONG, busy).await.unwrap(), Some(Answer::Refused(NoAnswer::Busy)));
    assert!(threads() < before + 16, "{before} and {}", threads());
    // Another device asks meanwhile.
    let laptop = Device::new("laptop");
    lab.engine.unshare(&name("mine")).unwrap();
    lab.engine.share(&lab.path("in"), &name("in"), &SharedWith::All, false).unwrap();
    pairs(&laptop, &lab).await;
    let mut browser = laptop.engine.browse(&at(address)).await.unwrap();
    assert_eq!(browser.shares().await.unwrap().len(), 1);
    browser.close().await;
}

/// Makes a device known to another one and the other way round, without a code.
pub(super) async fn pairs(one: &Device, other: &Device) {
    let (receiver, address) = {
        let options = ReceiveOptions {
            listen: "127.0.0.1:0".parse().unwrap(),
            destination: other.path("in"),
            code: Some(given("9-river-camera")),
            pairing: true,
            announce: false,
            rule_folders: true,
            tls: TlsMode::Auto,
            io: IoMode::Auto,
        };
        let receiver = other.engine.receive(options).await.unwrap();
        let address = receiver.local_address();
        (receiver, address)
    };
    one.engine.pair(at(address), given("9-river-camera").to_pairing_secret()).await.unwrap();
    drop(receiver);
}

/// Threads of this process.
pub(super) fn threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}

/// A second, as docs/design/sharing.md has it, and another one in which a busy machine comes to it.
const TAKEN_BACK: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_shared_any_more_ends_within_a_second() {
    let lab = Device::new("lab");
    fs::create_dir(lab.path("shared")).unwrap();
    for number in 0..40_000 {
        fs::write(lab.path(&format!("shared/{number:0100}")), "").unwrap();
    }
    let (_receiver, address) = lab.receiver().await;
    let mallory = paired(&lab, address).await;
    share(&lab, &lab.path("shared"), "mine");
    let mut session = asking(&mallory, address).await;
    session.say(&Message::Asked { number: 0, question: listing("mine", "", Depth::Tree) }).await;
    for _ in 0..PAGES_AHEAD_MAX {
        assert!(matches!(answer(&mut session).await, Some(Answer::Entries(page)) if !page.is_last()));
    }
    // By another program of the device.
    let other = Engine::open(Paths {
        config: lab.path("config"),
        data: lab.path("data"),
        state: lab.path("state"),
        runtime: None,
    })
    .unwrap();
    other.unshare(&name("mine")).unwrap();
    let ended = timeout(TAKEN_BACK, answer(&mut session)).await.expect("it ends");
    assert_eq!(ended, Some(Answer::Refused(NoAnswer::NotShared)));
    session.say(&Message::MorePages { number: 0, pages: 1 }).await;
    assert_eq!(
        ask(&mut session, 1, listing("mine", "", Depth::Folder)).await,
        Some(Answer::Refused(NoAnswer::NotShared))
    );
    // And a device that is forgotten is left.
    lab.engine.forget_device(lab.engine.find_device("guest").unwrap().unwrap().id).unwrap();
    assert_eq!(timeout(Duration::from_secs(3), answer(&mut session)).await.expect("it is left"), None);
}

/// What a device that serves says in place of an answer.
type Lie = Box<dyn Fn(u32) -> Vec<Message> + Send>;

/// A laptop that asks a device gone bad for what is in a share, as long as `wants` more, and what
/// came of it; then for its shares.
async fn asked_of(lie: Lie, listed: Listed, wants: bool) -> (Vec<Browsed>, Result<(), Fault>) {
    let laptop = Device::new("laptop");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move {
        let mallory = Mallory::new();
        // He pairs first.
        drop(mallory.leaves_unanswered(&listener, CODE).await);
        let Some((mut session, _)) = hears_a_question(&mallory, &listener).await else { return };
        for message in lie(0) {
            session.say(&message).await;
        }
        while session.hear().await.is_some() {}
    });
    pairs_by_sending(&laptop, address).await;
    let mut browser = timeout(LONG, laptop.engine.browse(&at(address))).await.unwrap().unwrap();
    let inside = Reference::parse("lab:runs".as_ref()).unwrap().inside.unwrap();
    let mut seen = Vec::new();
    let show = |page: Vec<Browsed>| {
        seen.extend(page);
        std::future::ready(wants)
    };
    let mut ended = timeout(LONG, browser.entries(&inside, listed, show)).await.expect("it ends");
    if !wants {
        ended = timeout(LONG, browser.shares()).await.expect("it ends").map(drop);
    }
    drop(browser);
    timeout(LONG, serving).await.unwrap().unwrap();
    (seen, ended)
}

/// The next session of a device that knows Mallory, once something is asked in it, and all that was
/// said in it until then; none if it ends before.
async fn hears_a_question(mallory: &Mallory, listener: &TcpListener) -> Option<(Channel, Vec<Message>)> {
    let mut session = mallory.answer(listener).await;
    let greeting = ringway_wire::control::Greeting { name: ringway_wire::DeviceName::new("lab").unwrap() };
    let (mut machine, mut heard) = (Machine::listen(greeting, 0), Vec::new());
    loop {
        while let Some(bytes) = machine.poll_transmit() {
            session.say_raw(&bytes).await;
        }
        match machine.poll_event() {
            Some(Event::HelloReceived { .. }) => machine.welcome(true, false),
            Some(Event::Asked(..)) => return Some((session, heard)),
            Some(_) => {}
            None => {
                let message = session.hear().await?;
                heard.push(message.clone());
                machine.handle_message(message, 0).unwrap();
            }
        }
    }
}

/// Has `laptop` pair with a device that answers its offer with nothing.
async fn pairs_by_sending(laptop: &Device, address: SocketAddr) {
    let what = vec![Source { path: laptop.path("in"), contents_only: false }];
    let mut request = SendRequest::new(what, at(address));
    request.options.code = Some(given(CODE).to_pairing_secret());
    request.options.compression = Compression::Off;
    timeout(LONG, laptop.engine.send(request).wait()).await.unwrap();
}

fn entry(path: &str) -> (&str, Attributes<'static>) {
    let there = Attributes { kind: EntryKind::Folder, mode: 0o755, size: 1, secs: 0, nanos: 0, target: b"" };
    (path, there)
}

fn page(paths: &[&str], is_last: bool) -> EntriesPage {
    let mut writer = EntriesWriter::default();
    for (path, what) in paths.iter().map(|path| entry(path)) {
        let path = RelPath::new(path.as_bytes()).unwrap();
        assert!(writer.push(&FolderEntry { path, what: Ok(what) }).is_none());
    }
    writer.page(is_last)
}

fn says(number: u32, answers: Vec<Answer>) -> Vec<Message> {
    answers.into_iter().map(|answer| Message::Answered { number, answer }).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_that_lies_about_what_it_shares_is_left() {
    let pages = |all: Vec<EntriesPage>| -> Lie {
        Box::new(move |number| says(number, all.iter().cloned().map(Answer::Entries).collect()))
    };
    let lies: Vec<(&str, Listed, Lie)> = vec![
        ("a name twice", Listed::Tree, pages(vec![page(&["a"], false), page(&["a"], false)])),
        ("a loop", Listed::Tree, pages(vec![page(&["a", "a/a", "a/a/a"], false), page(&["a/a"], false)])),
        ("out of order", Listed::Folder, pages(vec![page(&["b", "a"], true)])),
        ("deeper than asked for", Listed::Folder, pages(vec![page(&["a/b"], true)])),
        ("more than itself", Listed::Itself, pages(vec![page(&["a"], true)])),
        (
            "an answer to another question",
            Listed::Folder,
            Box::new(|number| says(number, vec![Answer::Shares(Vec::new())])),
        ),
        ("an answer to nothing", Listed::Folder, Box::new(|_| says(77, vec![Answer::Refused(NoAnswer::Busy)]))),
        ("an offer's answer", Listed::Folder, Box::new(|_| vec![Message::Ping, Message::NoReceipt])),
    ];
    for (lie, listed, said) in lies {
        let (seen, ended) = asked_of(said, listed, true).await;
        assert!(matches!(ended, Err(Fault::Protocol { .. })), "{lie}: {ended:?}");
        assert!(seen.len() <= 100, "{lie}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_without_end_ends_when_nobody_wants_more() {
    let endless: Lie = Box::new(|number| {
        says(number, (0..100).map(|at| Answer::Entries(page(&[&format!("{at:03}")], false))).collect())
    });
    let (seen, ended) = asked_of(endless, Listed::Folder, false).await;
    assert_eq!(seen.len(), 1);
    assert!(matches!(ended, Err(Fault::Protocol { .. })), "more was sent than was on its way: {ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_shows_its_first_page_after_one_round_trip_and_without_end_goes_no_further_than_it_is_read() {
    let laptop = Device::new("laptop");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (still, stands_still) = watch::channel(0);
    let (shown, is_shown) = oneshot::channel();
    let one = |at: u32| Answer::Entries(page(&[&format!("{at:08}")], false));
    let serving = tokio::spawn(async move {
        let mallory = Mallory::new();
        drop(mallory.leaves_unanswered(&listener, CODE).await);
        let (mut session, heard) = hears_a_question(&mallory, &listener).await.unwrap();
        // It has said who it is, and asked. A first page takes nothing else from it.
        assert!(matches!(&*heard, [Message::Hello(_), Message::Asked { .. }]), "{heard:?}");
        session.say(&Message::Answered { number: 0, answer: one(0) }).await;
        timeout(LONG, is_shown).await.expect("nothing was shown").unwrap();
        let other = session.answers_without_end(0, PAGES_AHEAD_MAX - 1, |at| one(at + 1), &still).await;
        assert!(matches!(other, Some(Message::Asked { number: 1, question: Question::Shares })), "{other:?}");
        session.say(&Message::Answered { number: 1, answer: Answer::Shares(Vec::new()) }).await;
        while session.hear().await.is_some() {}
    });
    pairs_by_sending(&laptop, address).await;
    let mut browser = timeout(LONG, laptop.engine.browse(&at(address))).await.unwrap().unwrap();
    let inside = Reference::parse("lab:runs".as_ref()).unwrap().inside.unwrap();
    let (mut shown, mut read) = (Some(shown), 0);
    let most = 20 * u32::from(PAGES_AHEAD_MAX);
    let show = |page: Vec<Browsed>| {
        read += page.len() as u32;
        let is_first = shown.take().map(|shown| shown.send(()).unwrap()).is_some();
        let (read, mut stands_still) = (read, stands_still.clone());
        async move {
            if is_first {
                // Nothing more is read until nothing more comes.
                timeout(LONG, stands_still.changed()).await.unwrap().unwrap();
                let sent = *stands_still.borrow() + 1;
                assert!(sent <= u32::from(PAGES_AHEAD_MAX), "{sent} pages were sent, and one was read");
            }
            read < most
        }
    };
    timeout(LONG, browser.entries(&inside, Listed::Folder, show)).await.expect("it ends").unwrap();
    assert_eq!(read, most);
    assert_eq!(timeout(LONG, browser.shares()).await.unwrap().map(|shares| shares.len()), Ok(0), "the session goes on");
    drop(browser);
    timeout(LONG, serving).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_would_drive_a_terminal_are_shown_escaped() {
    let said: Lie = Box::new(|number| says(number, vec![Answer::Entries(page(&["\u{1b}[2J\n", "a\u{202e}b"], true))]));
    let (seen, ended) = asked_of(said, Listed::Folder, true).await;
    assert!(ended.is_ok());
    let shown: Vec<_> = seen.into_iter().map(|entry| entry.unwrap().path.to_string()).collect();
    assert_eq!(shown, ["\\u{1b}[2J\\n", "a\\u{202e}b"]);
}
