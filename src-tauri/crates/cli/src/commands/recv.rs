//! `ringway recv`: listens, shows the code, asks about offers, and follows what it accepted.
mod shown_code;

use std::io::{self, IsTerminal};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use parking_lot::Mutex;
use ringway_engine::{
    AcceptOptions, Decision, Engine, IncomingOffer, ReceiveOptions, Receiver, ReceiverEvent, Transfer, remedy,
};
use ringway_model::{
    DeclineReason, Direction, Fault, IntoHome, Invalid, Note, OnConflict, OpenCode, OsError, Report, ShownSize,
};
use tokio::task::JoinSet;

use crate::args::destination::{check_answers, destination};
use crate::args::{ListenAddress, RecvArgs};
use crate::ask::code_source;
use crate::ask::prompt::{self, Line, Lines};
use crate::ask::questions::{self, Answer, Questions, Typed};
use crate::commands::notes;
use crate::exit::Exit;
use crate::interrupt::{HeldBack, Interrupts};
use crate::json::{self, Event};
use crate::output::Output;
use crate::progress;
use crate::refusal::Refusal;
use crate::text::for_terminal;
use crate::words::{self, advised, path_taken};
use shown_code::{Change, CodeBoard};

/// How often the code's expiry is looked at.
const CODE_LOOK_EVERY: Duration = Duration::from_secs(1);

/// Time for last words to senders that were declined.
const PARTING_TIME_MAX: Duration = Duration::from_secs(5);

/// The same where transfers are left under way, so that it does not show when all have heard.
const DECLINING_TIME_MAX: Duration = Duration::from_secs(1);

/// Receives until it is told to stop, or with --once until one transfer has ended.
pub(crate) async fn run(engine: &Engine, args: RecvArgs, interrupts: &Interrupts) -> Result<Exit> {
    let out = Output::from(args.reporting);
    let folder = args.dest.as_deref().unwrap_or(Path::new("."));
    check_answers(engine, folder)?;
    let destination = destination(folder)?;
    args.landing.check()?;
    if args.dest.is_some() {
        engine.take_folder(&destination);
    }
    let given = code_source::given(args.code.code_file.as_deref(), |warning| out.warn(warning))?;
    let from_stdin = args.code.code_file.as_deref() == Some(Path::new("-"));
    let interactive = !out.is_json() && !from_stdin && prompt::is_possible();
    let mut lines = interactive.then(Lines::start);
    let into_home = into_home(engine, &destination, &args, lines.as_mut()).await?;
    if into_home == IntoHome::NoDotNames && engine.is_home(&destination) {
        let folder = for_terminal(&destination);
        out.warn(format_args!(
            "{folder} is a home folder: names at its top that begin with a dot are refused (--dot-names takes them)."
        ));
    }
    let board = CodeBoard::new(given.is_some());
    let options = |listen| ReceiveOptions {
        listen,
        destination: destination.clone(),
        code: None,
        pairing: !args.no_pairing,
        announce: engine.settings().announce && !args.no_announce,
        rule_folders: args.dest.is_none(),
        tls: args.paths.tls,
        io: args.paths.io,
    };
    let addresses = args.listen.unwrap_or(ListenAddress::DEFAULT).candidates(engine.settings().port);
    let receiver = listen(engine, &addresses, given, options).await?;
    receiver.set_destination(destination.clone(), into_home, args.dest.is_none());
    let (of_transfers, stops) = interrupts.held_back();
    let mut reception = Reception {
        engine,
        out: &out,
        args: &args,
        interrupts,
        of_transfers,
        stops,
        receiver,
        board,
        questions: Questions::new(args.landing.on_conflict),
        running: JoinSet::new(),
        accepted: Arc::default(),
        interactive,
        into_home,
        lines,
        last: None,
    };
    reception.announce(engine, &destination);
    let ended = reception.serve().await;
    reception.part().await;
    ended
}

/// What may land in the folder, where it is a home: asked about at a terminal, unless it was said
/// already.
async fn into_home(engine: &Engine, folder: &Path, args: &RecvArgs, lines: Option<&mut Lines>) -> Result<IntoHome> {
    let said = args.landing.home.into_home();
    match (engine.check_folder(folder, said), lines) {
        (Ok(()), _) => Ok(said),
        (Err(Fault::Invalid(Invalid::HomeFolder { .. })), Some(lines)) => {
            let name = for_terminal(folder);
            let question = format!(
                "{name} is a home folder. What lands there can change how programs start.\nReceive into it all the same? [y/N] "
            );
            match lines.ask(&question).await {
                Some(line) if questions::is_yes(&line) => Ok(IntoHome::NoDotNames),
                _ => Err(Fault::Invalid(Invalid::HomeFolder { folder: folder.to_owned().into() }).into()),
            }
        }
        (Err(error), _) => Err(error.into()),
    }
}

/// Listens on the first address that this kernel has a family for.
async fn listen(
    engine: &Engine,
    addresses: &[SocketAddr],
    given: Option<ringway_engine::GivenSecret>,
    options: impl Fn(SocketAddr) -> ReceiveOptions,
) -> Result<Receiver> {
    let (mut given, last) = (given, addresses.len().saturating_sub(1));
    for (index, address) in addresses.iter().enumerate() {
        let options = ReceiveOptions { code: given.take(), ..options(*address) };
        match engine.receive(options).await {
            Err(Fault::Listen { source, .. }) if index < last && has_no_family(&source) => {}
            Err(Fault::Listen { source, .. }) if source.kind() == std::io::ErrorKind::AddrInUse => {
                let refused = Fault::listen(address.to_string(), source);
                let by_service = crate::commands::service::receives_already(refused.clone()).await;
                return Err(by_service.map_or_else(|| refused.into(), anyhow::Error::from));
            }
            other => return Ok(other?),
        }
    }
    Err(Refusal::failed("There is no address to listen on.").into())
}

/// socket(2) and bind(2) where IPv6 is left out of the kernel or switched off.
fn has_no_family(error: &OsError) -> bool {
    use rustix::io::Errno;
    [Errno::AFNOSUPPORT, Errno::ADDRNOTAVAIL].iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// What a task that accepted an offer ends with.
type Ended = Result<std::sync::Arc<Report>, Fault>;

struct Reception<'a> {
    engine: &'a Engine,
    out: &'a Output,
    args: &'a RecvArgs,
    interrupts: &'a Interrupts,
    /// What those who follow transfers hear of signals: a stop once nobody waits for a place any
    /// more, which would begin as the others stop.
    of_transfers: Interrupts,
    stops: HeldBack,
    receiver: Receiver,
    board: CodeBoard,
    questions: Questions,
    running: JoinSet<Ended>,
    /// The transfers of those that run.
    accepted: Arc<Mutex<Vec<Transfer>>>,
    interactive: bool,
    into_home: IntoHome,
    lines: Option<Lines>,
    last: Option<Exit>,
}

impl Reception<'_> {
    async fn serve(&mut self) -> Result<Exit> {
        let mut lines = self.lines.take();
        let mut look = tokio::time::interval(CODE_LOOK_EVERY);
        let interrupts = self.interrupts.clone();
        let asked_to_stop = interrupts.asked();
        tokio::pin!(asked_to_stop);
        loop {
            tokio::select! {
                () = &mut asked_to_stop => return Ok(self.stop().await),
                event = self.receiver.next_event() => match event {
                    Some(ReceiverEvent::Stopped(Some(error))) => return Err(error.into()),
                    Some(ReceiverEvent::Stopped(None)) | None => return Ok(self.stop().await),
                    Some(event) => self.take(event),
                },
                Some(ended) = self.running.join_next() => self.ended(ended?),
                line = next_line(&mut lines) => match line {
                    Some(line) => self.typed(&line),
                    None => lines = None,
                },
                compared = self.questions.compared() => self.questions.say_compared(compared, self.out),
                _ = look.tick() => self.look_at_code(),
            }
            self.questions.ask(self.out, lines.as_mut());
            if let Some(exit) = self.last.filter(|_| self.args.once && self.running.is_empty()) {
                return Ok(exit);
            }
        }
    }

    /// Everything running is told to stop by its own follower; what is left is to wait for that.
    async fn stop(&mut self) -> Exit {
        let idle = self.running.is_empty();
        self.receiver.turn_away();
        if self.interrupts.is_terminated() && !idle {
            return self.leave().await;
        }
        self.questions.decline_all();
        self.stops.pass_on();
        while let Some(ended) = self.running.join_next().await {
            if let Ok(ended) = ended {
                self.ended(ended);
            }
        }
        match self.last {
            Some(exit) if !idle || self.args.once => exit,
            None if self.args.once => self.interrupts.exit(),
            _ => Exit::All,
        }
    }

    /// SIGTERM: ends with what is running left as it is, after a last word to everybody else. What
    /// is about to end by itself does so first.
    async fn leave(&mut self) -> Exit {
        self.questions.decline_all();
        let _ = tokio::time::timeout(DECLINING_TIME_MAX, self.receiver.no_offers()).await;
        let accepted = self.accepted.lock().clone();
        let is_any = !accepted.is_empty();
        let near: JoinSet<_> = accepted.into_iter().map(|transfer| async move { transfer.ends_soon().await }).collect();
        let all_ended = is_any && near.join_all().await.into_iter().all(|has_ended| has_ended);
        if all_ended {
            // Each says its last word.
            while let Some(Ok(ended)) = self.running.join_next().await {
                self.ended(ended);
            }
        }
        while let Some(Ok(ended)) = self.running.try_join_next() {
            self.ended(ended);
        }
        let _ = tokio::time::timeout(PARTING_TIME_MAX, self.receiver.stop()).await;
        // Those that waited for a place are over.
        if !self.running.is_empty() {
            self.accepted.lock().iter().filter(|transfer| !transfer.is_over()).for_each(Transfer::note_left);
            progress::leave(self.out, self.interrupts.exit(), self.running.len() as u64);
        }
        self.last.filter(|_| all_ended).unwrap_or(self.interrupts.exit())
    }

    /// Leaves nobody without an answer: a declined sender is told before this process ends.
    async fn part(&mut self) {
        self.questions.decline_all();
        // Bounded by the engine's own limit for last words; a peer that does not listen is left.
        let _ = tokio::time::timeout(PARTING_TIME_MAX, self.receiver.idle()).await;
        // Who announced itself says goodbye.
        let _ = tokio::time::timeout(PARTING_TIME_MAX, self.receiver.stop()).await;
    }

    fn ended(&mut self, ended: Ended) {
        self.last = Some(match &ended {
            Ok(report) => Exit::from(&**report),
            Err(error) => {
                let words = words::error_of(error, Direction::Receiving, false, None);
                self.out.event(&json::error(error, &words));
                self.out.fault(&words);
                error.into()
            }
        });
    }

    fn take(&mut self, event: ReceiverEvent) {
        match event {
            ReceiverEvent::CodeChanged => self.code_changed(),
            ReceiverEvent::DevicePaired(device) => {
                self.board.paired();
                // A store that cannot be read just now is said by what needs it.
                let alike = self.engine.look_alike(device.id, &device.name).ok().flatten();
                self.out.event(&json::paired(&device, alike.as_ref()));
                self.out.say(format_args!("Paired with {} ({}).", for_terminal(&device.name), device.id.short()));
                if let Some(other) = alike {
                    self.out.warn(words::looks_like(&device.name, device.id, &other));
                }
            }
            ReceiverEvent::PairingRequested(request) => {
                self.out.event(&Event::PairingRequested(&request));
                self.out.say(words::pairing_requested(&request));
            }
            ReceiverEvent::TurnedAway(failed) => {
                self.out.event(&json::auth_failed(&failed));
                self.out.say(words::pairing_failed(&failed));
            }
            ReceiverEvent::OfferReceived(offer) => self.offered(offer),
            ReceiverEvent::OfferRefused(summary) => {
                self.out.event(&Event::Refused(&summary));
                let (from, names) = (for_terminal(&summary.from), questions::named(&summary));
                self.out.say(format_args!("Declined, by the rule of {from}: {names}."));
            }
            ReceiverEvent::NoteReceived(note) => self.noted(&note),
            ReceiverEvent::NoteLost(from, why) => {
                let text = words::note::lost(&from.name, from.id, why.as_ref());
                self.out.event(&Event::Notice { text: &text });
                self.out.say(text);
            }
            ReceiverEvent::OfferWithdrawn(key) if self.questions.withdraw(key) => {
                self.out.must_say("The offer was withdrawn.");
            }
            ReceiverEvent::OfferAnswered(key) if self.questions.withdraw(key) => {
                self.out.must_say("The rule of its device, which was changed, answers that.");
            }
            // The handle that accept() gave is followed already.
            _ => {}
        }
    }

    /// A note is kept already, so it ends a run with --once as a transfer does.
    fn noted(&mut self, note: &Note) {
        self.last = Some(Exit::All);
        self.out.event(&Event::Note(note));
        let from = for_terminal(&note.from);
        // A file that the output goes to is no place for what others write.
        let shown = io::stdout().is_terminal().then(|| self.engine.note(note.number).ok().flatten()).flatten();
        match shown {
            Some((_, text)) if self.out.says() => {
                let (lines, is_whole) = words::note::shown(&text);
                let more = if is_whole { "" } else { "\n  (cut here)" };
                self.out.say(format_args!("Note {} from {from}:\n{lines}{more}", note.number));
                // One that cannot be noted as read makes no room, and is shown all the same.
                let _ = self.engine.read_note(note.number);
            }
            _ => self.out.say(format_args!("Note {} from {from}: {}", note.number, notes::first_line(note))),
        }
    }

    fn offered(&mut self, offer: IncomingOffer) {
        let summary = offer.summary();
        self.out.event(&json::offer(&summary, offer.decision()));
        let busy_once = self.args.once && (self.last.is_some() || !self.running.is_empty());
        if busy_once {
            self.decline(offer, DeclineReason::Busy);
        } else if self.args.yes {
            self.accept(offer, None, None);
        } else if let Decision::Accept { bytes_max } = *offer.decision() {
            let (from, into) = (for_terminal(&summary.from), for_terminal(&summary.destination));
            let by = match summary.in_share {
                Some(_) => format!("from {from}, by the drop box"),
                None => format!("by the rule of {from}"),
            };
            self.out.say(format_args!("Accepted, {by}, into {into}: {}.", questions::named(&summary)));
            self.accept(offer, bytes_max, None);
        } else if self.interactive {
            self.questions.push(offer);
        } else {
            let why = match &summary.asked_because {
                Some(because) => format!("{} There is", because.says().what()),
                None => "There is".to_owned(),
            };
            self.out.warn(format_args!(
                "Declined an offer from {}. {why} no terminal to ask at. Start with --yes to accept.",
                for_terminal(&summary.from)
            ));
            self.decline(offer, DeclineReason::ByChoice);
        }
    }

    fn accept(&mut self, offer: IncomingOffer, bytes_max: Option<u64>, shown: Option<ShownSize>) {
        let summary = offer.summary();
        let id = summary.id;
        let options = match summary.in_share {
            // What was said of the folder of this run was not said of the drop box.
            Some(_) => AcceptOptions { shown, on_conflict: OnConflict::RenameTop, ..AcceptOptions::default() },
            None => AcceptOptions { bytes_max, shown, into_home: self.into_home, ..self.args.landing.accept_options() },
        };
        self.out.event(&json::answered(id, None));
        let (out, interrupts) = (self.out.clone(), self.of_transfers.clone());
        let accepted = Arc::clone(&self.accepted);
        self.running.spawn(async move {
            let transfer = offer.accept(options).await?;
            {
                let mut accepted = accepted.lock();
                accepted.retain(|transfer| !transfer.is_over());
                accepted.push(transfer.clone());
            }
            let report = progress::follow(&transfer, &out, &interrupts).await;
            progress::conclude(&transfer, &report, &out);
            Ok(report)
        });
    }

    fn decline(&mut self, offer: IncomingOffer, reason: DeclineReason) {
        self.out.event(&json::answered(offer.summary().id, Some(reason)));
        offer.decline(reason);
        if reason != DeclineReason::Busy {
            self.last = Some(Exit::Declined);
        }
    }

    /// A line at the terminal: the answer to the question that stands, else a wish for a new code.
    fn typed(&mut self, line: &Line) {
        match self.questions.answer(line, self.out) {
            Typed::Answered(offer, Answer::Accept, shown) => {
                self.say_answer("Accepted", &offer);
                self.accept(offer, None, Some(shown));
            }
            Typed::Answered(offer, Answer::Decline, _) => {
                self.say_answer("Declined", &offer);
                self.decline(offer, DeclineReason::ByChoice);
            }
            // What was meant for a question that has gone.
            Typed::Unasked if questions::is_answer(&line.text) => {
                self.out.must_say("No offer waits for an answer.");
            }
            Typed::Unasked if !self.args.no_pairing => {
                self.board.asked();
                self.renew();
            }
            Typed::Unasked | Typed::Discarded => {}
        }
    }

    /// Repeats what was answered, so that a person sees what the answer was for.
    fn say_answer(&self, answered: &str, offer: &IncomingOffer) {
        let summary = offer.summary();
        let (from, names) = (for_terminal(&summary.from), questions::named(&summary));
        self.out.must_say(format_args!("{answered} from {from}: {names}."));
    }

    fn code_changed(&mut self) {
        if self.args.no_pairing {
            return;
        }
        match self.board.changed(self.receiver.code().is_some(), self.args.once) {
            Change::Nothing => {}
            Change::Replace(why) => match self.receiver.replace_code() {
                Ok(true) => {
                    self.out.say(why);
                    let shown = self.show_code();
                    self.out.must_say(shown);
                }
                Ok(false) => {
                    self.board.closed();
                    self.closed("Many wrong codes were tried: somebody may be guessing. No further code is drawn unasked, and nobody can pair.");
                }
                Err(error) => self.out.fault(&words::error(&error)),
            },
            Change::Closed(why) => self.closed(why),
        }
    }

    /// Nobody can pair until a person asks for a new code.
    fn closed(&self, why: &str) {
        self.out.event(&json::code(OpenCode { code: None, code_valid_until: None }));
        let how = if self.interactive { "ENTER draws a new one." } else { "Start the receiver again for a new one." };
        self.out.must_say(format_args!("{why} {how}"));
    }

    /// A code that has just run out is replaced; no event tells of it.
    fn look_at_code(&mut self) {
        if self.board.has_expired(SystemTime::now()) {
            self.code_changed();
        }
    }

    fn renew(&mut self) {
        match self.receiver.renew_code() {
            Ok(()) => {
                let shown = self.show_code();
                self.out.must_say(shown);
            }
            Err(error) => self.out.fault(&words::error(&error)),
        }
    }

    /// Tells programs of the open code, and gives the line for people.
    fn show_code(&mut self) -> String {
        let code = self.receiver.code();
        let valid_until = code.as_ref().and_then(|code| code.valid_until);
        self.board.opened(valid_until);
        let text = code.and_then(|code| code.text);
        let shown = text.as_ref().map(|text| text.to_string());
        self.out.event(&json::code(OpenCode { code: shown, code_valid_until: valid_until }));
        self.board.line(text.as_ref().map(|text| self.out.bold(text)), SystemTime::now())
    }

    fn announce(&mut self, engine: &Engine, destination: &Path) {
        let this = engine.this_device();
        let local = self.receiver.local_address();
        let addresses: Vec<String> =
            self.receiver.addresses().into_iter().map(|ip| SocketAddr::new(ip, local.port()).to_string()).collect();
        let code = self.receiver.code();
        self.out.event(&Event::Listening(json::Listening {
            device: this.clone(),
            port: local.port(),
            addresses: addresses.clone(),
            destination: destination.into(),
            own: Some(json::ByItself {
                address: local.to_string(),
                announced: matches!(self.receiver.announced(), Ok(true)),
                confined: self.receiver.confinement().is_ok(),
                code: OpenCode {
                    code: code.as_ref().and_then(|code| code.text.as_ref()).map(|text| text.as_str().to_owned()),
                    code_valid_until: code.as_ref().and_then(|code| code.valid_until),
                },
            }),
        }));
        self.out.say(format_args!("{} receives into {}\n", for_terminal(&this.name), for_terminal(destination)));
        if let Some(host) = engine.unusable_host_name() {
            let why = format!("no device may be called {}, as this host is", for_terminal(&host));
            self.out.say(format_args!("  Name:     {why}; `ringway settings --name NAME` changes it"));
        }
        if self.args.no_pairing {
            self.out.say("  Code:     none: only devices that are paired already may send");
        } else {
            self.board.opened(code.as_ref().and_then(|code| code.valid_until));
            let text = code.and_then(|code| code.text);
            self.out.must_say(self.board.line(text.map(|text| self.out.bold(&text)), SystemTime::now()));
        }
        let own = SocketAddr::from(([127, 0, 0, 1], local.port())).to_string();
        match addresses.split_first() {
            Some((first, others)) => {
                self.out.say(format_args!("  Address:  {first}"));
                others.iter().for_each(|other| self.out.say(format_args!("            {other}")));
            }
            None => self.out.say(format_args!("  Address:  {own} (this machine has no network: only it can send)")),
        }
        let first = addresses.first().unwrap_or(&own);
        self.out.say(format_args!("\nOn the other machine:  {}\n", advised::send_to_address(first)));
        let firewalls = remedy::firewalls_to_open(engine, local.port());
        if !firewalls.is_empty() {
            let commands = words::remedies(&firewalls);
            self.out.say(format_args!("If it cannot connect, open the firewall here. {commands}\n"));
        }
        if let Err(error) = self.receiver.announced() {
            let told = words::error(error);
            self.out.warn(told.next.map_or_else(|| told.what.clone(), |next| format!("{} {next}", told.what)));
        }
        self.out.detail(format_args!("This device's id is {}.", this.id.short()));
        match self.receiver.confinement() {
            Ok(()) => self.out.detail("What writes the files can reach nothing but that folder (Landlock)."),
            Err(reason) => {
                let why = path_taken::unconfined(reason);
                self.out.detail(format_args!("What writes the files is not confined to that folder: {why}."));
            }
        }
    }
}

/// The next line typed; never, where nobody types.
async fn next_line(lines: &mut Option<Lines>) -> Option<Line> {
    match lines {
        Some(lines) => lines.next_line().await,
        None => std::future::pending().await,
    }
}
