//! Questions in the session of something that is got: what a requester tries with them, what a
//! device that serves can make another one believe, and what becomes of them in the end.
use std::sync::atomic::{AtomicBool, Ordering};

use ringway_engine::{GetRequest, Listed, PathInShare, Reference};
use ringway_model::{Fault, OnCancel, RateLimit, Report, ShareThere, SharedWith, Side};
use ringway_wire::control::{Accept, Answer, BytesPage, EntriesWanted, Get, NoAnswer, Question};
use ringway_wire::entries::Depth;
use ringway_wire::limits::{PAGES_AHEAD_MAX, QUESTIONS_MAX};

use super::getting::{self, get, offered, request, requested, serving};
use super::mallory::Channel;
use super::shares::{ask, asking, listing, name, pairs, range, share, threads};
use super::*;

const ACCEPT: Accept = Accept { lanes: 1, lists: false, doubts: None, owner_names: false };

/// A session in which something is got, and no lane comes.
async fn is_getting(mallory: &Mallory, address: SocketAddr, transfer: u8) -> Channel {
    let mut session = asking(mallory, address).await;
    session.say(&Message::Get(get(transfer, &["below"]))).await;
    assert!(matches!(getting::answer(&mut session).await, Some(Message::Offer(_))));
    session
}

fn inside(path: &str) -> PathInShare {
    Reference::parse(format!("x:mine/{path}").as_ref()).unwrap().inside.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_requester_reads_no_more_beside_a_transfer_than_elsewhere() {
    let (lab, _receiver, address, mallory) = serving().await;
    let mut session = is_getting(&mallory, address, 1).await;
    let shares = vec![ShareThere { name: name("mine"), drop: false, unavailable: None, drop_trouble: None }];
    assert_eq!(ask(&mut session, 0, Question::Shares).await, Some(Answer::Shares(shares)), "before the answer");
    session.say(&Message::Accept(ACCEPT)).await;
    for (number, share) in ["others", "nothing"].into_iter().enumerate() {
        for (more, question) in [range(share, "file", 0), listing(share, "", Depth::Tree)].into_iter().enumerate() {
            let refused = ask(&mut session, (1 + 2 * number + more) as u32, question).await;
            assert_eq!(refused, Some(Answer::Refused(NoAnswer::NotShared)), "{share}");
        }
    }
    let refused = ask(&mut session, 10, range("mine", "out/file", 0)).await;
    assert_eq!(refused, Some(Answer::Refused(NoAnswer::Path(40))));
    let Some(Answer::Bytes(page)) = ask(&mut session, 11, range("mine", "below/file", 0)).await else {
        panic!("a page")
    };
    assert_eq!(page.bytes(), b"contents");
    // What is not shared any more ends with the transfer of it.
    share_with_nobody(&lab);
    let mut heard = None;
    while let Some(message) = timeout(LONG, session.hear()).await.expect("an end") {
        heard = Some(message);
    }
    assert_eq!(heard, Some(Message::Cancel(Cancel::NotShared)));
}

fn share_with_nobody(lab: &Device) {
    lab.engine.share(&lab.path("shared"), &name("mine"), &SharedWith::NOBODY, false).unwrap();
}

/// A long name, which has little in common with the next one: pages are packed by that.
fn long(number: u32) -> String {
    format!("{number:05}{}", "x".repeat(195))
}

/// A question whose answer stays open: it has more pages than it may send.
fn open(lab: &Device) -> Question {
    let many = lab.path("shared/many");
    if !many.exists() {
        fs::create_dir(&many).unwrap();
        (0..1_500).for_each(|number| fs::write(many.join(long(number)), "").unwrap());
    }
    let (share, path) = (name("mine"), b"many".to_vec());
    Question::Entries(EntriesWanted { share, path, depth: Depth::Folder, changed_since: None, pages: 1 })
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_that_break_the_rules_end_the_session() {
    let (lab, _receiver, address, mallory) = serving().await;
    let open = open(&lab);
    let asked = |number| Message::Asked { number, question: Question::Shares };
    let opened = |number| Message::Asked { number, question: open.clone() };
    let lies = [
        vec![asked(4), asked(4)],
        vec![asked(u32::MAX)],
        vec![Message::MorePages { number: 0, pages: 1 }],
        vec![Message::NotWanted { number: 0 }],
        vec![Message::Answered { number: 0, answer: Answer::Shares(Vec::new()) }],
        (0..=QUESTIONS_MAX as u32).map(opened).collect(),
    ];
    for (number, lie) in lies.into_iter().enumerate() {
        for is_accepted in [false, true] {
            let mut session = is_getting(&mallory, address, 2 * number as u8 + u8::from(is_accepted)).await;
            if is_accepted {
                session.say(&Message::Accept(ACCEPT)).await;
            }
            for message in &lie {
                session.say(message).await;
            }
            assert!(is_closed(&mut session).await, "{lie:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_that_sends_or_is_sent_something_asks_nothing() {
    let (lab, mut receiver, address, mallory) = serving().await;
    share(&lab, &lab.path("shared"), "mine");
    let mut inside = mallory.offers(address, "guest", None, &Offer { transfer: [9; 16], ..offer() }).await;
    drop(super::offered(&mut receiver).await);
    inside.session.say(&Message::Asked { number: 0, question: Question::Shares }).await;
    assert!(is_closed(&mut inside.session).await, "it offers");
    // Nor does it get anything behind questions.
    let mut session = asking(&mallory, address).await;
    assert!(ask(&mut session, 0, Question::Shares).await.is_some());
    session.say(&Message::Get(get(1, &["below"]))).await;
    assert!(is_closed(&mut session).await, "it has asked");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_questions_beside_a_transfer_is_bounded_and_the_rest_is_answered() {
    let (lab, _receiver, address, mallory) = serving().await;
    let mut session = is_getting(&mallory, address, 1).await;
    session.say(&Message::Accept(ACCEPT)).await;
    let (open, before) = (open(&lab), threads());
    let mut flood = Vec::new();
    let mut most = 0;
    for number in 0..20_000 {
        Message::Asked { number, question: open.clone() }.encode(&mut flood);
        Message::NotWanted { number }.encode(&mut flood);
        if number % 1_000 == 0 {
            session.say_raw(&std::mem::take(&mut flood)).await;
            most = most.max(threads());
        }
    }
    session.say_raw(&flood).await;
    most = most.max(threads());
    assert!(most < before + 64, "{before} and {most}");
    let question = Message::Asked { number: 99_999, question: Question::Shares };
    session.say(&question).await;
    let answered = async {
        loop {
            match session.hear().await.expect("it goes on") {
                Message::Answered { number: 99_999, answer } => return answer,
                Message::Ping => session.say(&Message::Pong).await,
                _ => {}
            }
        }
    };
    assert!(matches!(timeout(LONG, answered).await.unwrap(), Answer::Shares(_)));
}

/// What a device gone bad says to a requester that has asked for a part of a file.
type Lie = fn(&Get) -> Vec<Message>;

/// What comes of a transfer from a device that answers so, and of the question.
async fn asked_of(lie: Lie) -> (std::sync::Arc<Report>, Result<(), Fault>) {
    let laptop = Device::new("laptop");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move {
        let (mut session, got) = requested(&listener).await;
        session.say(&Message::Offer(offered(&got, &["a"]))).await;
        while !matches!(session.hear().await, Some(Message::Asked { .. }) | None) {}
        for message in lie(&got) {
            session.say(&message).await;
        }
        while session.hear().await.is_some() {}
    });
    let (transfer, mut asker) = laptop.engine.get_asking(request(&laptop, address, &["mine/a"]));
    let read = timeout(LONG, asker.read(&inside("a"), 0, 100)).await.unwrap().map(drop);
    let report = timeout(LONG, transfer.wait()).await.unwrap();
    timeout(LONG, serving).await.unwrap().unwrap();
    (report, read)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_serving_device_answers_only_what_was_asked() {
    let lies: [Lie; 7] = [
        |_| vec![Message::Answered { number: 0, answer: Answer::Shares(Vec::new()) }],
        |_| vec![Message::Answered { number: 1, answer: Answer::Refused(NoAnswer::Busy) }],
        |_| vec![Message::Answered { number: 0, answer: Answer::Bytes(BytesPage::more(vec![1; 101])) }],
        |_| {
            let page = || Message::Answered { number: 0, answer: Answer::Bytes(BytesPage::more(vec![1])) };
            (0..=PAGES_AHEAD_MAX).map(|_| page()).collect()
        },
        |_| vec![Message::Asked { number: 0, question: Question::Shares }],
        |_| vec![Message::NotWanted { number: 0 }],
        |got| vec![Message::Get(got.clone())],
    ];
    for (number, lie) in lies.into_iter().enumerate() {
        let (report, read) = asked_of(lie).await;
        assert!(matches!(report.outcome, Outcome::Failed(Fault::Protocol { .. })), "{number}: {:?}", report.outcome);
        assert!(matches!(read, Err(Fault::Protocol { .. })), "{number}: {read:?}");
    }
    // A reason is an answer, and the transfer goes on without it.
    let (report, read) = asked_of(|_| {
        let busy = Message::Answered { number: 0, answer: Answer::Refused(NoAnswer::Busy) };
        vec![busy, Message::Cancel(Cancel::ByPerson)]
    })
    .await;
    assert!(matches!(read, Err(Fault::AnswerBusy)), "{read:?}");
    let Outcome::Failed(Fault::Cancelled { by: Side::There, .. }) = report.outcome else { panic!("{report:?}") };
}

/// A laptop that gets a file from a lab for some seconds, and what has more pages than a question
/// asks for at once.
async fn slowly() -> (Device, Receiver, Device, GetRequest) {
    let (lab, laptop) = (Device::new("lab"), Device::new("laptop"));
    fs::create_dir_all(lab.path("shared/many")).unwrap();
    (0..5_000).for_each(|number| fs::write(lab.path("shared/many").join(long(number)), "").unwrap());
    fs::write(lab.path("shared/file"), vec![7; 1_000_000]).unwrap();
    let (receiver, address) = lab.receiver().await;
    receiver.serve_shares(true);
    lab.engine.share(&lab.path("shared"), &name("mine"), &SharedWith::All, false).unwrap();
    pairs(&laptop, &lab).await;
    let mut request = request(&laptop, address, &["mine/file"]);
    request.options.limit = Some(RateLimit::new(200_000).unwrap());
    request.options.code = None;
    (lab, receiver, laptop, request)
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_are_answered_while_something_is_got_and_end_with_its_receipt() {
    let (_lab, _receiver, laptop, request) = slowly().await;
    let (transfer, mut asker) = laptop.engine.get_asking(request);
    let mut other = asker.clone();
    let file = inside("file");
    let both = async { tokio::join!(asker.read(&file, 999_000, 4_000), other.shares()) };
    let (read, shares) = timeout(LONG, both).await.unwrap();
    assert_eq!(read.map(|(bytes, there)| (bytes, there.size)), Ok((vec![7; 1_000], 1_000_000)));
    assert_eq!(shares.map(|shares| shares.len()), Ok(1));
    let (many, mut count) = (inside("many"), 0);
    let whole = asker.entries(&many, Listed::Folder, |page| {
        count += page.len();
        async { true }
    });
    assert_eq!((timeout(LONG, whole).await.unwrap(), count), (Ok(()), 5_000));
    // One that is read slowly is open until the receipt.
    let has_begun = AtomicBool::new(false);
    let cut_short = asker.entries(&many, Listed::Folder, |_| {
        has_begun.store(true, Ordering::Relaxed);
        let transfer = transfer.clone();
        async move {
            transfer.wait().await;
            true
        }
    });
    let fault = timeout(LONG, cut_short).await.unwrap().unwrap_err();
    assert!(has_begun.into_inner() && matches!(fault, Fault::AnswerLost(_)), "{fault:?}");
    assert!(matches!(transfer.wait().await.outcome, Outcome::Complete));
    assert!(matches!(other.shares().await, Err(Fault::AnswerLost(_))), "it is over");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_ends_what_is_asked_beside_the_transfer() {
    let (_lab, _receiver, laptop, request) = slowly().await;
    let (transfer, mut asker) = laptop.engine.get_asking(request);
    let many = inside("many");
    let cut_short = asker.entries(&many, Listed::Folder, |_| {
        let transfer = transfer.clone();
        async move {
            transfer.cancel(OnCancel::Remove);
            transfer.wait().await;
            true
        }
    });
    let fault = timeout(LONG, cut_short).await.unwrap().unwrap_err();
    assert!(matches!(fault, Fault::Cancelled { by: Side::Here, .. }), "{fault:?}");
    assert!(matches!(transfer.wait().await.outcome, Outcome::Failed(Fault::Cancelled { .. })));
}
