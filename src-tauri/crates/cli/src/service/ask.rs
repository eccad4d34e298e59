//! The commands that ask the service: each connects, asks, says what came of it, and ends.
use std::time::SystemTime;

use anyhow::Result;
use ringway_service::control::{Client, Place};
use ringway_service::dto::{Existing, Listening};
use ringway_service::fault::Fault;
use serde_json::json;

use super::{AcceptArgs, CodeShownArgs, OfferArgs, TransferArgs, faults, refusal, shown};
use crate::args::{ConflictArg, ReportArgs};
use crate::exit::{Exit, Refusal};
use crate::json;
use crate::output::Output;
use crate::recv::destination;
use crate::text::for_terminal;

/// The beginning of an id that is taken for one: fewer digits are as likely somebody's name.
const ID_TYPED_MIN: usize = 4;

async fn service() -> Result<Client> {
    let place = Place::find().map_err(|error| refusal(&error))?;
    let (client, _) = Client::connect(&place).await.map_err(|error| refusal(&error))?;
    Ok(client)
}

/// `ringway status`.
pub(crate) async fn status(report: ReportArgs) -> Result<Exit> {
    let out = Output::from(report);
    let client = match service().await {
        Ok(client) => client,
        Err(error) => {
            out.event(&json!({ "event": "service", "running": false }));
            return Err(error);
        }
    };
    let all = client.look().await.map_err(faults::refusal)?;
    let now = SystemTime::now();
    out.event(&shown::service_event(client.hello(), &all, now));
    all.offers.iter().for_each(|offer| out.event(&shown::offer_event(offer)));
    let running = all.transfers.iter().filter(|moving| moving.ended.is_none());
    running.for_each(|moving| out.event(&shown::transfer_event(moving)));
    shown::status(client.hello(), &all, now).into_iter().for_each(|line| out.say(line));
    Ok(Exit::All)
}

/// `ringway offers`.
pub(crate) async fn offers(report: ReportArgs) -> Result<Exit> {
    let out = Output::from(report);
    let offers = service().await?.look().await.map_err(faults::refusal)?.offers;
    offers.iter().for_each(|offer| out.event(&shown::offer_event(offer)));
    match offers.is_empty() {
        true => out.say("Nothing waits for an answer."),
        false => shown::offers(&offers).into_iter().for_each(|line| out.say(line)),
    }
    Ok(Exit::All)
}

/// `ringway accept`.
pub(crate) async fn accept(args: AcceptArgs) -> Result<Exit> {
    let out = Output::from(args.report);
    let folder = args.into.as_deref().map(destination).transpose()?;
    let client = service().await?;
    let offers = client.look().await.map_err(faults::refusal)?.offers;
    let offer = one(&offers, &args.offer, "offer", |offer| (&offer.id, &offer.from))?;
    if let Some(folder) = folder {
        client.set_offer_folder(offer.id.clone(), folder).await.map_err(faults::refusal)?;
    }
    let existing = match args.on_conflict {
        ConflictArg::Replace => Existing::Replace,
        ConflictArg::Keep => Existing::Keep,
        ConflictArg::Rename => Existing::Rename,
    };
    let moving = client.accept(offer.id.clone(), existing).await.map_err(faults::refusal)?;
    out.event(&shown::transfer_event(&moving));
    out.say(format_args!(
        "Accepted {} from {}. The service receives it; `ringway status` shows how far it is.",
        shown::names(&offer.names, offer.more_names),
        offer.from
    ));
    Ok(Exit::All)
}

/// `ringway decline`.
pub(crate) async fn decline(args: OfferArgs) -> Result<Exit> {
    let out = Output::from(args.report);
    let client = service().await?;
    let offers = client.look().await.map_err(faults::refusal)?.offers;
    let offer = one(&offers, &args.offer, "offer", |offer| (&offer.id, &offer.from))?;
    client.decline(offer.id.clone()).await.map_err(faults::refusal)?;
    out.event(&json!({ "event": "declined", "id": offer.id }));
    out.say(format_args!("Declined what {} offered.", offer.from));
    Ok(Exit::All)
}

/// `ringway code`.
pub(crate) async fn code(args: CodeShownArgs) -> Result<Exit> {
    let out = Output::from(args.report);
    let client = service().await?;
    if !client.look().await.map_err(faults::refusal)?.settings.receiving {
        return Err(Refusal::failed("The service does not receive: no code is open.")
            .advise("`ringway settings --receiving on` switches that on.")
            .into());
    }
    if args.new {
        client.renew_code().await.map_err(faults::refusal)?;
    }
    let listening = client.look().await.map_err(faults::refusal)?.listening;
    if let Listening::Failed { fault, .. } = listening {
        return Err(faults::refusal(fault).into());
    }
    let now = SystemTime::now();
    let open = shown::open_code(&listening, now);
    let text = open.and_then(|(code, _)| code.text.as_deref());
    out.event(&json::code(text, open.and_then(|(_, until)| until)));
    out.must_say(shown::code_line(&listening, now));
    Ok(Exit::All)
}

/// `ringway cancel`.
pub(crate) async fn cancel(args: TransferArgs) -> Result<Exit> {
    let (out, client, id) = running(args).await?;
    client.cancel(id.clone()).await.map_err(faults::refusal)?;
    out.event(&json!({ "event": "cancelled", "id": id }));
    out.say(format_args!("Transfer {} is cancelled.", shown::short(&id)));
    Ok(Exit::All)
}

/// `ringway pause`.
pub(crate) async fn pause(args: TransferArgs) -> Result<Exit> {
    let (out, client, id) = running(args).await?;
    client.pause(id.clone()).await.map_err(faults::refusal)?;
    out.event(&json!({ "event": "paused", "id": id }));
    out.say(format_args!("Transfer {0} is paused. It goes on with `ringway resume {0}`.", shown::short(&id)));
    Ok(Exit::All)
}

/// `ringway resume`.
pub(crate) async fn resume(args: TransferArgs) -> Result<Exit> {
    let (out, client, id) = running(args).await?;
    client.resume(id.clone()).await.map_err(faults::refusal)?;
    out.event(&json!({ "event": "resumed", "id": id }));
    out.say(format_args!("Transfer {} goes on, as soon as it can.", shown::short(&id)));
    Ok(Exit::All)
}

/// The transfer that is meant, among those that have not ended.
async fn running(args: TransferArgs) -> Result<(Output, Client, String)> {
    let client = service().await?;
    let all = client.look().await.map_err(faults::refusal)?.transfers;
    let running: Vec<_> = all.into_iter().filter(|moving| moving.ended.is_none()).collect();
    let found = one(&running, &args.transfer, "transfer", |moving| {
        (&moving.id, moving.tick.peer.as_ref().unwrap_or(&moving.target))
    })?;
    let id = found.id.clone();
    Ok((Output::from(args.report), client, id))
}

/// `ringway stop`.
pub(crate) async fn stop(report: ReportArgs) -> Result<Exit> {
    let out = Output::from(report);
    let place = Place::find().map_err(|error| refusal(&error))?;
    let (client, mut notices) = Client::connect(&place).await.map_err(|error| refusal(&error))?;
    let left = client.look().await.map_err(faults::refusal)?.transfers;
    let running = left.iter().filter(|moving| moving.ended.is_none()).count();
    if running > 0 {
        out.say("It gives what runs a moment to end.");
    }
    match client.stop().await {
        // It may have ended before its answer was out: that is what was asked for.
        Ok(()) | Err(Fault::ServiceGone) => {}
        Err(fault) => return Err(faults::refusal(fault).into()),
    }
    while notices.recv().await.is_some() {}
    out.event(&json!({ "event": "stopped" }));
    out.say("The service has ended.");
    Ok(Exit::All)
}

/// The one that is meant by the beginning of its id or by a device's name; `of` gives both.
fn one<'a, T>(all: &'a [T], typed: &str, noun: &str, of: impl Fn(&T) -> (&String, &String)) -> Result<&'a T, Refusal> {
    let by_id = |one: &&T| typed.len() >= ID_TYPED_MIN && of(one).0.starts_with(&typed.to_ascii_lowercase());
    let found: Vec<_> = all.iter().filter(|one| of(one).1 == typed || by_id(one)).collect();
    match found.as_slice() {
        [only] => Ok(only),
        [] => Err(Refusal::failed(format!("There is no {noun} \"{}\" here.", for_terminal(typed)))
            .advise("`ringway status` lists what there is, with ids.")),
        [first, second, ..] => {
            let ids = [first, second].map(|one| shown::short(of(one).0)).join(", ");
            Err(Refusal::failed(format!("\"{}\" is more than one {noun}: {ids}.", for_terminal(typed)))
                .advise("Give the beginning of the id of the one that is meant."))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_or_the_beginning_of_an_id_means_one_and_no_more() {
        let own = |id: &str, name: &str| (id.to_owned(), name.to_owned());
        let all = [own("3f2a0001", "laptop"), own("3f2a0002", "laptop"), own("77770000", "lab")];
        let found = |typed: &str| one(&all, typed, "offer", |(id, name)| (id, name)).map(|(id, _)| id.as_str());
        assert_eq!(found("lab"), Ok("77770000"));
        assert_eq!(found("7777"), Ok("77770000"));
        assert_eq!(found("3F2A0002"), Ok("3f2a0002"));
        assert!(found("laptop").unwrap_err().what.contains("3f2a0001, 3f2a0002"));
        for none in ["777", "nobody", ""] {
            assert!(found(none).unwrap_err().what.contains("no offer"), "{none}");
        }
    }
}
