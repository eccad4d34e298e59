//! The list of transfers: its ids, what it keeps, and what it shows of them.
use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_came_is_not_followed_to_be_shown() {
    let (near, mut far) = (Machine::new("near"), Machine::new("far"));
    let (target, code) = far.listen().await;
    let link = near.folder.path().join("link");
    std::os::unix::fs::symlink("/etc", &link).unwrap();
    let sent = near.send(&link, &target, Some(&code));
    let offer = far.offer().await;
    let taken = far.app.offers.accept(&offer.id.to_string(), offer.size(), OnConflict::Replace).await.unwrap();
    near.ended(&sent).await;
    far.ended(&taken.transfer.id).await;
    assert_eq!(far.arrived(&taken.transfer.id).await, far.inbox());
}

/// Passes connections on, until what it gives is dropped.
async fn relay(listener: &std::net::TcpListener, to: String) -> tokio::task::JoinHandle<()> {
    let listener = tokio::net::TcpListener::from_std(listener.try_clone().unwrap()).unwrap();
    tokio::spawn(async move {
        // Those that it has end with it.
        let mut all = tokio::task::JoinSet::new();
        while let Ok((mut from, _)) = listener.accept().await {
            let to = to.clone();
            all.spawn(async move {
                let mut there = tokio::net::TcpStream::connect(to).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut from, &mut there).await;
            });
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_accepted_by_the_id_of_what_has_ended_takes_no_card_away() {
    let (near, mut far) = (Machine::new("near"), Machine::new("far"));
    let (address, code) = far.listen().await;
    let between = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    between.set_nonblocking(true).unwrap();
    let target = between.local_addr().unwrap().to_string();
    let relaying = relay(&between, address).await;
    let mut settings = near.app.engine.settings();
    settings.send_limit = Some(ringway_model::RateLimit::new(1 << 20).unwrap());
    near.app.engine.set_settings(settings).unwrap();
    let source = near.source();
    std::fs::write(source.join("large"), vec![7; 64 << 20]).unwrap();
    let sent = near.send(&source, &target, Some(&code));
    let offer = far.offer().await;
    let first =
        far.app.offers.accept(&offer.id.to_string(), offer.size(), OnConflict::RenameTop).await.unwrap().transfer.id;
    let begins = async {
        while near.app.transfers.find(&sent).unwrap().progress().stage != Stage::Running {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, begins).await.expect("it begins");
    // The connection is cut, and a person there gives it up.
    relaying.abort();
    let _ = relaying.await;
    let given_up = far.app.transfers.find(&first).unwrap();
    given_up.cancel(OnCancel::Remove);
    far.ended(&first).await;
    // When the sender comes again by itself, nothing is known of its offer but that card: a quarter
    // of an hour has passed, say.
    let own = |part: &str| far.folder.path().join(part);
    let paths = Paths { config: own("config"), data: own("data"), state: own("state"), runtime: None };
    let app = App::new(Engine::open(paths.clone()).unwrap(), &paths.state, Reception::default());
    assert_eq!(app.transfers.add(given_up, None).transfer.id, first);
    app.receiving.listen(Some(0)).await;
    let Listening::On { port, .. } = app.receiving.listening() else { panic!("does not listen") };
    let relaying = relay(&between, format!("127.0.0.1:{port}")).await;
    let comes = async {
        loop {
            match app.offers.shown().pop() {
                Some(offer) => return offer,
                None => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    };
    let offer = tokio::time::timeout(PATIENCE, comes).await.expect("the sender comes again");
    let second =
        app.offers.accept(&offer.id.to_string(), offer.size(), OnConflict::RenameTop).await.unwrap().transfer.id;
    let shown: Vec<_> = app.everything().unwrap().transfers.into_iter().map(|moving| moving.transfer.id).collect();
    assert_eq!(shown, [first.clone(), second.clone()]);
    assert!(second != first && second.starts_with(&first), "it has the same key");
    app.transfers.dismiss(&first);
    let running = app.transfers.find(&second).unwrap();
    assert!(app.transfers.find(&first).is_err(), "each is dismissed by itself");
    near.app.transfers.find(&sent).unwrap().cancel(OnCancel::Remove);
    tokio::time::timeout(PATIENCE, running.wait()).await.expect("it ends");
    relaying.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_hundred_that_have_ended_the_latest_stay_listed_and_the_history_has_all() {
    let machine = Machine::new("lab");
    let (source, _) = (machine.source(), machine.destination());
    let mut ids = Vec::new();
    for _ in 0..200 {
        let chosen = machine.app.choices.keep(vec![source.clone()]).unwrap().unwrap();
        let id = machine.app.copying.start(chosen.id, OnExisting::Keep, false, "").unwrap().transfer.id;
        // It may have been folded away by the time that it is asked for: then it has ended.
        if let Ok(transfer) = machine.app.transfers.find(&id) {
            transfer.wait().await;
        }
        ids.push(id);
    }
    let listed = async {
        loop {
            let all = machine.app.everything().unwrap().transfers;
            if all.iter().all(|moving| moving.report.is_some()) {
                return all;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let listed = tokio::time::timeout(PATIENCE, listed).await.unwrap();
    assert_eq!(listed.len(), 16);
    let latest = machine.app.history.page(&PastQuery::default()).unwrap();
    assert!(
        latest.len() >= 30
            && listed.iter().all(|one| latest.iter().any(|earlier| earlier.past.key().to_string() == one.transfer.id))
    );
    assert!(listed.iter().any(|one| Some(&one.transfer.id) == ids.last()));
}
