//! Offers that wait: answered, withdrawn, outgrown, and landing in another folder.
use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn an_accepted_offer_arrives_and_both_know_each_other() {
    let (near, mut far) = (Machine::new("near"), Machine::new("far"));
    let (target, code) = far.listen().await;
    let sent = near.send(&near.source(), &target, Some(&code));
    let offer = far.offer().await;
    let taken = far.app.offers.accept(&offer.id.to_string(), offer.size(), OnConflict::RenameTop).await.unwrap();
    let ends = [near.ended(&sent).await, far.ended(&taken.transfer.id).await];
    assert!(
        ends.iter().all(|end| end.outcome == Outcome::Complete && end.proven.is_some_and(|proven| proven.files == 1))
    );
    assert_eq!(std::fs::read(far.inbox().join("set/below/file")).unwrap(), b"content");
    assert_eq!((near.app.devices.shown().unwrap().len(), far.app.devices.shown().unwrap().len()), (1, 1));
    assert!(far.app.offers.shown().is_empty());

    assert_eq!(far.arrived(&taken.transfer.id).await, far.inbox().join("set"));
    // Who looks late sees what it did until then, and what has ended by the way it went.
    let (all, _listener) = far.app.start(Box::new(|_| ())).unwrap();
    assert_eq!(all.transfers[0].series.last().map(|point| point.bytes), Some(7));
    let came = |direction| far.app.history.page(&PastQuery { direction, ..PastQuery::default() }).unwrap().len();
    assert_eq!((came(None), came(Some(Direction::Receiving)), came(Some(Direction::Sending))), (1, 1, 0));
    // What each is that arrived: of the card, and of the line in the history.
    let kinds = || far.app.history.kinds(far.app.history.page(&PastQuery::default()).unwrap()[0].past.number).unwrap();
    assert_eq!(far.app.transfers.arrived_kinds(&taken.transfer.id).unwrap(), [Some(EntryKind::Folder)]);
    assert_eq!(kinds(), [Some(EntryKind::Folder)]);
    std::fs::remove_dir_all(far.inbox().join("set")).unwrap();
    std::fs::write(far.inbox().join("set"), "").unwrap();
    assert_eq!(kinds(), [Some(EntryKind::File)]);
    std::fs::remove_file(far.inbox().join("set")).unwrap();
    assert_eq!(kinds(), [None]);
    far.app.transfers.dismiss(&taken.transfer.id);
    assert!(matches!(far.app.transfers.find(&taken.transfer.id), Err(Fault::Gone)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declined_offer_is_told_and_gone() {
    let (near, mut far) = (Machine::new("near"), Machine::new("far"));
    let (target, code) = far.listen().await;
    let sent = near.send(&near.source(), &target, Some(&code));
    let offer = far.offer().await;
    far.app.offers.decline(&offer.id.to_string()).unwrap();
    assert_eq!(fault(near.ended(&sent).await), Fault::Declined(DeclineReason::ByChoice));
    assert_eq!(far.app.offers.decline(&offer.id.to_string()), Err(Fault::Gone));
    assert_eq!(std::fs::read_dir(far.inbox()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_to_an_offer_that_has_outgrown_what_was_shown_shows_it_again() {
    // Above the margin of 32 MiB; holes do not count.
    const LARGE: u64 = 40 << 20;
    let (near, mut far) = (Machine::new("near"), Machine::new("far"));
    let (target, code) = far.listen().await;
    let source = near.source();
    std::fs::write(source.join("large"), vec![7; LARGE as usize]).unwrap();
    let sent = near.send(&source, &target, Some(&code));
    let counted = |event| match event {
        AppEvent::OfferChanged { offer } if offer.bytes_so_far > LARGE => Some(*offer),
        _ => None,
    };
    let offer = far.event(counted).await;
    // A card, notification or terminal that still shows what the sender said first.
    let nine = ShownSize { bytes: 9, is_final: true };
    let refused = far.app.offers.accept(&offer.id.to_string(), nine, OnConflict::RenameTop).await;
    assert_eq!(refused.err(), Some(Fault::Grown { bytes: offer.bytes_so_far }));
    assert_eq!(far.event(counted).await.id, offer.id, "it is shown again");
    assert_eq!(std::fs::read_dir(far.inbox()).unwrap().count(), 0);
    far.app.offers.accept(&offer.id.to_string(), offer.size(), OnConflict::RenameTop).await.unwrap();
    assert_eq!(near.ended(&sent).await.counts.failed, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_transfer_ends_here_and_its_offer_goes_there() {
    let (near, mut far) = (Machine::new("near"), Machine::new("far"));
    let (target, code) = far.listen().await;
    let sent = near.send(&near.source(), &target, Some(&code));
    let offer = far.offer().await;
    near.app.transfers.find(&sent).unwrap().cancel(OnCancel::Remove);
    assert_eq!(fault(near.ended(&sent).await), Fault::cancelled(Side::Here));
    let gone = far
        .event(|event| match event {
            AppEvent::OfferGone { id, how: Left::Withdrawn } => Some(id),
            _ => None,
        })
        .await;
    assert_eq!(gone, offer.id);
    assert!(far.app.offers.shown().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_of_another_device_by_the_same_id_takes_no_card_away() {
    let (near, mut far) = (Machine::new("near"), Machine::new("far"));
    let (target, code) = far.listen().await;
    let sent = near.send(&near.source(), &target, Some(&code));
    let offer = far.offer().await;
    let from = near.app.engine.this_device().id;
    let key = TransferKey { from: Some(from), id: sent.parse().unwrap() };
    far.app.offers.gone(TransferKey { from: Some(ringway_model::DeviceId([7; 32])), ..key }, Left::Withdrawn);
    assert_eq!(far.app.offers.shown().len(), 1);
    assert!(!offer.id.to_string().contains(&sent), "this machine draws it");
    for drawn_there in [sent.clone(), key.to_string()] {
        assert_eq!(far.app.offers.decline(&drawn_there), Err(Fault::Gone), "the sender's id answers nothing");
    }
    far.app.offers.gone(key, Left::Withdrawn);
    assert!(far.app.offers.shown().is_empty());
    near.ended(&sent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_to_a_withdrawn_offer_is_none_to_the_one_that_came_in_its_place() {
    let (near, mut far) = (Machine::new("near"), Machine::new("far"));
    let (target, code) = far.listen().await;
    let sent = near.send(&near.source(), &target, Some(&code));
    let first = far.offer().await;
    near.app.transfers.find(&sent).unwrap().cancel(OnCancel::Remove);
    near.ended(&sent).await;
    let again = near.send(&near.source(), &target, None);
    let second = far.event(|event| match event {
        AppEvent::OfferChanged { offer } if offer.id != first.id => Some(*offer),
        _ => None,
    });
    let second = second.await;
    let late = far.app.offers.accept(&first.id.to_string(), first.size(), OnConflict::RenameTop).await;
    assert_eq!(late.err(), Some(Fault::Gone));
    far.app.offers.decline(&second.id.to_string()).unwrap();
    near.ended(&again).await;
    assert_eq!(std::fs::read_dir(far.inbox()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_folder_for_one_offer_is_shown_and_used() {
    let (near, mut far) = (Machine::new("near"), Machine::new("far"));
    let (target, code) = far.listen().await;
    let sent = near.send(&near.source(), &target, Some(&code));
    let offer = far.offer().await;
    let elsewhere = far.folder.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    far.app.offers.set_folder(&offer.id.to_string(), elsewhere.clone(), ringway_model::IntoHome::Refuse).unwrap();
    let shown = far.app.offers.shown().remove(0);
    assert_eq!(shown.destination.0, elsewhere);
    assert!(shown.free_space.unwrap().free_bytes > 0);
    far.app.offers.accept(&offer.id.to_string(), offer.size(), OnConflict::RenameTop).await.unwrap();
    near.ended(&sent).await;
    assert!(elsewhere.join("set/below/file").exists());
    assert_eq!(std::fs::read_dir(far.inbox()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn offer_says_how_it_compares_with_its_folder_and_what_differs() {
    let (near, mut far) = (Machine::new("near"), Machine::new("far"));
    let (target, code) = far.listen().await;
    std::fs::create_dir_all(far.inbox().join("set/below")).unwrap();
    let there = far.inbox().join("set/below/file");
    std::fs::write(&there, "received long ago").unwrap();
    std::fs::File::options().write(true).open(&there).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    let sent = near.send(&near.source(), &target, Some(&code));
    let compared = |event| match event {
        AppEvent::OfferChanged { offer }
            if offer.comparison.is_some_and(|found| found.state == ComparisonState::Done) =>
        {
            Some(*offer)
        }
        _ => None,
    };
    let offer = far.event(compared).await;
    let id = offer.id.to_string();
    // The person made that folder: only what replaces would reach it.
    let (update, found) = (offer.comparison.unwrap(), offer.in_place.unwrap());
    assert_eq!((update.new, offer.renamed), (3, vec!["set (1)".into()]));
    assert_eq!((found.new, found.unchanged, found.differing, found.edited, found.at_least), (0, 0, 1, 1, false));
    assert!(far.app.offers.differences(&id, OnConflict::RenameTop).unwrap().is_empty());
    let differences = far.app.offers.differences(&id, OnConflict::Replace).unwrap();
    assert_eq!((differences.len(), &differences[0].path), (1, &"set/below/file".into()));
    assert_eq!(differences[0].here_is, HereIs::Older);
    assert!(far.app.offers.differences("none", OnConflict::Replace).is_err());

    let elsewhere = far.folder.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    far.app.offers.set_folder(&id, elsewhere.clone(), ringway_model::IntoHome::Refuse).unwrap();
    let anew = |event| compared(event).filter(|offer| offer.destination.0 == elsewhere);
    assert_eq!(far.event(anew).await.comparison.map(|found| found.new), Some(3));
    assert!(far.app.offers.differences(&id, OnConflict::Replace).unwrap().is_empty());
    far.app.offers.decline(&id).unwrap();
    near.ended(&sent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn offer_that_a_person_looks_at_stands_first() {
    let (near, mut far) = (Machine::new("near"), Machine::new("far"));
    let (target, code) = far.listen().await;
    let sent = [near.send(&near.source(), &target, Some(&code))];
    let first = far.offer().await;
    let other = near.folder.path().join("other");
    std::fs::write(&other, "x").unwrap();
    let also = near.send(&other, &target, None);
    let second = |event| match event {
        AppEvent::OfferChanged { offer } if offer.id != first.id => Some(*offer),
        _ => None,
    };
    let second = far.event(second).await;
    let order = |far: &Machine| far.app.offers.shown().iter().map(|offer| offer.id).collect::<Vec<_>>();
    assert_eq!(order(&far), [first.id, second.id]);
    far.app.offers.bring_forward(&second.id.to_string());
    assert_eq!(order(&far), [second.id, first.id]);
    let picked = far.event(|event| match event {
        AppEvent::OfferPicked { id } => Some(id),
        _ => None,
    });
    assert_eq!(picked.await, second.id);
    far.app.offers.bring_forward("gone");
    for offer in [first, second] {
        far.app.offers.decline(&offer.id.to_string()).unwrap();
    }
    for id in sent.iter().chain([&also]) {
        near.ended(id).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_differed_is_kept_after_an_offer_was_accepted() {
    let (near, mut far) = (Machine::new("near"), Machine::new("far"));
    let (target, code) = far.listen().await;
    let there = far.inbox().join("set/below");
    std::fs::create_dir_all(&there).unwrap();
    std::fs::write(there.join("file"), "another content").unwrap();
    near.send(&near.source(), &target, Some(&code));
    let offer = far.offer().await;
    let compared = far.event(|event| match event {
        AppEvent::OfferChanged { offer } => offer.in_place.filter(|compared| compared.differing == 1),
        _ => None,
    });
    compared.await;
    let taken = far.app.offers.accept(&offer.id.to_string(), offer.size(), OnConflict::Keep).await.unwrap();
    let id = taken.transfer.id;
    far.ended(&id).await;
    let kept = far.app.transfers.compared_before(&id).unwrap();
    assert_eq!((kept.comparison.differing, kept.comparison.state), (1, ringway_model::ComparisonState::Done));
    assert_eq!(kept.differences.iter().map(|found| found.path.to_string()).collect::<Vec<_>>(), ["set/below/file"]);
    // The history names it in the same way, also once it is off the list.
    far.app.transfers.dismiss(&id);
    assert_eq!(far.app.transfers.compared_before(&id), Some(kept));
    assert_eq!(far.app.transfers.compared_before("0"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_folder_of_a_devices_last_offer_is_offered_for_its_next_one() {
    let (near, mut far) = (Machine::new("near"), Machine::new("far"));
    let (target, code) = far.listen().await;
    let elsewhere = far.folder.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let mut code = Some(code);
    let (mut destinations, mut before) = (Vec::new(), None);
    for round in 0..3 {
        let sent = near.send(&near.source(), &target, code.take().as_deref());
        let next = far.event(|event| match event {
            AppEvent::OfferChanged { offer } if Some(offer.id) != before => Some(*offer),
            _ => None,
        });
        let offer = next.await;
        before = Some(offer.id);
        destinations.push(offer.destination.0.clone());
        if round == 0 {
            far.app
                .offers
                .set_folder(&offer.id.to_string(), elsewhere.clone(), ringway_model::IntoHome::Refuse)
                .unwrap();
        }
        let taken = far.app.offers.accept(&offer.id.to_string(), offer.size(), OnConflict::RenameTop).await.unwrap();
        assert_eq!(far.ended(&taken.transfer.id).await.outcome, Outcome::Complete);
        near.ended(&sent).await;
        if round == 1 {
            // A folder that is gone is offered no more.
            std::fs::remove_dir_all(&elsewhere).unwrap();
        }
    }
    assert_eq!(destinations, [far.inbox(), elsewhere, far.inbox()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_removed_from_the_list_leaves_the_history_too() {
    let (near, mut far) = (Machine::new("near"), Machine::new("far"));
    let (target, code) = far.listen().await;
    let sent = near.send(&near.source(), &target, Some(&code));
    let offer = far.offer().await;
    far.app.offers.decline(&offer.id.to_string()).unwrap();
    near.ended(&sent).await;
    let listed = || near.app.history.page(&ringway_model::PastQuery::default()).unwrap().len();
    assert_eq!(listed(), 1);
    near.app.forget_transfer(&sent).unwrap();
    assert_eq!((listed(), near.app.transfers.find(&sent).err()), (0, Some(Fault::Gone)));
}
