//! Names that are none, said by a paired device: its connection ends, nothing is made, and the next
//! transfer works.
use ringway_engine::KeptAttributes;
use ringway_wire::lane::{Attributes, Entry, EntryKind, Owner, OwnerKind, Timestamp, Xattrs};
use ringway_wire::limits::NAME_MAX;
use ringway_wire::name::Name;

use super::*;

/// No component of a path, however it is meant.
fn no_names() -> Vec<Vec<u8>> {
    let mut bad: Vec<Vec<u8>> =
        [&b""[..], b".", b"..", b"a/b", b"/etc", b"a/", b"../../x", b"a\0b"].map(Vec::from).to_vec();
    bad.push(vec![b'x'; NAME_MAX + 1]);
    bad
}

/// No path that stays beneath.
fn no_paths() -> Vec<Vec<u8>> {
    let mut bad: Vec<Vec<u8>> =
        [&b"/"[..], b"/etc", b"a//b", b"a/", b"..", b"a/../..", b"a/./b", b"a\0b"].map(Vec::from).to_vec();
    bad.push([b"a/", &[b'x'; NAME_MAX + 1][..]].concat());
    bad
}

/// As the wire has short bytes: their length, then they.
fn short(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u16).to_le_bytes()[..], bytes].concat()
}

/// A batch with `said` in place of what is called `instead`, and a file of one byte.
fn batch(folder: &[u8], instead: &[u8], said: &[u8]) -> Vec<u8> {
    let mut head = HeadBuffer::default();
    head.folder(RelPath::new(folder).unwrap());
    head.entry(&Entry {
        name: Name::new(b"a-name").unwrap(),
        kind: EntryKind::File { size: 1, link_id: None },
        attributes: Attributes { mode: 0o644, uid: 0, gid: 0, mtime: Timestamp { secs: 1, nanos: 0 } },
        xattrs: Xattrs::default(),
    });
    let header = head.batch_header(1);
    let (from, to) = (short(instead), short(said));
    let at = head.as_bytes().windows(from.len()).position(|bytes| bytes == from).unwrap();
    let (before, after) = (&head.as_bytes()[..at], &head.as_bytes()[at + from.len()..]);
    let said = [before, &to, after].concat();
    let header = FrameHeader { head_len: said.len() as u32, ..header };
    [&header.encode()[..], &said, b"x"].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_of_names_that_are_none_is_shown_to_nobody() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let (mut receiver, address) = lab.receiver().await;
    let mallory = Mallory::new();
    for (number, name) in no_names().into_iter().enumerate() {
        let named = Offer { names: vec![b"good".to_vec(), name.clone()], ..offer() };
        let mut inside = mallory.offers(address, "guest", (number == 0).then_some(CODE), &named).await;
        let heard = timeout(LONG, inside.session.hear()).await.expect("closed");
        assert_eq!(heard, None, "{:?}", name.escape_ascii().to_string());
        while let Ok(event) = timeout(Duration::from_millis(100), receiver.next_event()).await {
            let paired = matches!(event, Some(ReceiverEvent::DevicePaired(_) | ReceiverEvent::CodeChanged));
            assert!(number == 0 && paired, "{:?}: {event:?}", name.escape_ascii().to_string());
        }
    }
    assert_eq!(fs::read_dir(lab.path("in")).unwrap().count(), 0, "nothing was made");
    receiver.renew_code().unwrap();
    let code = receiver.code().unwrap().text.unwrap();
    fs::write(laptop.path("file"), "still works").unwrap();
    laptop.engine.pair(at(address), given(&code).to_pairing_secret()).await.unwrap();
    crossing_works(&laptop, receiver, address).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lane_with_names_that_are_none_ends_its_transfer_and_makes_nothing() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let (receiver, address) = lab.receiver().await;
    let mut accepting = tokio::spawn(accept_first(receiver));
    let mallory = Mallory::new();
    let names = no_names().into_iter().map(|name| (batch(b"", b"a-name", &name), name));
    let paths = no_paths().into_iter().map(|path| (batch(b"a-folder", b"a-folder", &path), path));
    for (number, (frame, said)) in names.chain(paths).enumerate() {
        let code = (number == 0).then_some(CODE);
        let mut inside = mallory.offers(address, "guest", code, &offer()).await;
        assert!(matches!(inside.session.hear().await, Some(Message::Accept(_))));
        let (transfer, receiver) = timeout(LONG, accepting).await.unwrap().unwrap();
        let mut lane = mallory.joins(inside.exporter, address, 0, 0).await.unwrap();
        lane.say_raw(&frame).await;
        inside.hears_the_end().await;
        let report = timeout(LONG, transfer.wait()).await.unwrap();
        let said = said.escape_ascii().to_string();
        assert!(matches!(report.outcome, Outcome::Failed(Fault::Protocol { .. })), "{said:?}: {report:?}");
        let made: Vec<_> = fs::read_dir(lab.path("in")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(made.is_empty(), "{said:?}: {made:?}");
        assert!(!lab.path("x").exists() && !lab.path("b").exists(), "{said:?}");
        accepting = tokio::spawn(accept_first(receiver));
    }
    // The frame itself is as frames are.
    let folder = Offer { names: vec![b"a-folder".to_vec()], ..offer() };
    let mut inside = mallory.offers(address, "guest", None, &folder).await;
    assert!(matches!(inside.session.hear().await, Some(Message::Accept(_))));
    let (transfer, receiver) = timeout(LONG, accepting).await.unwrap().unwrap();
    let mut lane = mallory.joins(inside.exporter, address, 0, 0).await.unwrap();
    lane.say_raw(&batch(b"a-folder", b"a-name", b"a name")).await;
    lane.say_raw(&FrameHeader::END.encode()).await;
    let sent = Counts { files: 1, bytes: 1, ..Counts::default() };
    inside.session.say(&Message::Finish { sent, failed: 0, lanes: 1 }).await;
    inside.hears_the_end().await;
    let report = timeout(LONG, transfer.wait()).await.unwrap();
    assert!(matches!(report.outcome, Outcome::Complete), "{report:?}");
    assert_eq!(fs::read(lab.path("in/a-folder/a name")).unwrap(), b"x");
    receiver.renew_code().unwrap();
    let code = receiver.code().unwrap().text.unwrap();
    fs::write(laptop.path("file"), "still works").unwrap();
    laptop.engine.pair(at(address), given(&code).to_pairing_secret()).await.unwrap();
    crossing_works(&laptop, receiver, address).await;
}

/// A batch with a file, and a user of this number and name.
fn named(id: u32, name: &[u8]) -> Vec<u8> {
    let mut head = HeadBuffer::default();
    head.folder(RelPath::new(b"a-folder").unwrap());
    head.entry(&Entry {
        name: Name::new(b"a-name").unwrap(),
        kind: EntryKind::File { size: 0, link_id: None },
        attributes: Attributes { mode: 0o644, uid: id, gid: 0, mtime: Timestamp { secs: 1, nanos: 0 } },
        xattrs: Xattrs::default(),
    });
    head.owner_names().push(Owner::new(OwnerKind::User, 0x0102_0304).unwrap(), "a-user");
    let header = head.batch_header(0);
    let honest = [&0x0102_0304_u32.to_le_bytes()[..], &short(b"a-user")].concat();
    let at = head.as_bytes().windows(honest.len()).position(|bytes| bytes == honest).unwrap();
    let said =
        [&head.as_bytes()[..at], &id.to_le_bytes(), &short(name), &head.as_bytes()[at + honest.len()..]].concat();
    let header = FrameHeader { head_len: said.len() as u32, ..header };
    [&header.encode()[..], &said].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lane_that_names_owners_badly_or_unasked_ends_its_transfer_and_makes_nothing() {
    let lab = Device::new("lab");
    let (mut receiver, address) = lab.receiver().await;
    let mallory = Mallory::new();
    let folder = Offer { names: vec![b"a-folder".to_vec()], ..offer() };
    // A receiver that keeps access control lists asks for names, also without being root.
    let kept = KeptAttributes { acls: true, ..KeptAttributes::default() };
    let asking = AcceptOptions { kept, ..AcceptOptions::default() };
    let numeric = asking.clone().keeping(KeptAttributes { numeric_ids: true, ..kept });
    let long = vec![b'x'; 257];
    let bad: [(u32, &[u8]); 9] = [
        (1000, b""),
        (1000, b"../../etc"),
        (1000, b"a\nroot:x:0:0"),
        (1000, b"a:b"),
        (1000, b"a\0b"),
        (1000, b"a\xff"),
        (1000, &long),
        (0, b"alice"),
        (u32::MAX, b"alice"),
    ];
    let badly = bad.into_iter().map(|(id, name)| (asking.clone(), named(id, name)));
    let unasked = [AcceptOptions::default(), numeric].map(|options| (options, named(1000, b"alice")));
    for (number, (options, frame)) in badly.chain(unasked).enumerate() {
        let is_asking = options == asking;
        let mut inside = mallory.offers(address, "guest", (number == 0).then_some(CODE), &folder).await;
        let offered = loop {
            match timeout(LONG, receiver.next_event()).await.unwrap() {
                Some(ReceiverEvent::OfferReceived(offer)) => break offer,
                Some(_) => {}
                None => panic!("it has ended"),
            }
        };
        let transfer = offered.accept(options).await.unwrap();
        let Some(Message::Accept(accept)) = inside.session.hear().await else { panic!("no answer to {number}") };
        assert_eq!(accept.owner_names, is_asking);
        let mut lane = mallory.joins(inside.exporter, address, 0, 0).await.unwrap();
        lane.say_raw(&frame).await;
        inside.hears_the_end().await;
        let report = timeout(LONG, transfer.wait()).await.unwrap();
        assert!(matches!(report.outcome, Outcome::Failed(Fault::Protocol { .. })), "{number}: {report:?}");
        assert_eq!(fs::read_dir(lab.path("in")).unwrap().count(), 0, "{number}");
    }
}
