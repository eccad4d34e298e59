//! `ringway doctor`: what this machine can do, what keeps it from being faster or from being
//! reached, and the command that mends it.
mod port_holder;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use anyhow::Result;
use ringway_engine::limits::DEFAULT_PORT;
use ringway_engine::remedy;
use ringway_engine::{Engine, FoundUnfinished, Paths, ReceiveOptions, Receiver};
use ringway_model::{
    Aim, Capabilities, Fault, IoMode, IoPath, RateLimit, Remedy, SyncIoReason, ThisDevice, TlsMode, TlsPath,
    UserTlsReason,
};

use crate::args::{ListenAddress, ReportArgs};
use crate::commands::inbox::not_answering;
use crate::exit::Exit;
use crate::json::{CheckState as State, Event};
use crate::output::Output;
use crate::text::{bytes, count, counted, for_terminal, rate};
use crate::words;
use crate::words::path_taken;
use port_holder::Holder;

/// Descriptors below which many parallel files and connections do not fit.
const OPEN_FILES_AMPLE: u64 = 4_096;

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    check: &'static str,
    state: State,
    message: String,
    next: Option<String>,
}

impl Finding {
    fn new(check: &'static str, state: State, message: impl Into<String>) -> Self {
        Self { check, state, message: message.into(), next: None }
    }

    fn advise(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }
}

/// Looks, and says what it found. Whatever it finds, it succeeds.
pub(crate) async fn run(args: ReportArgs) -> Result<Exit> {
    let out = Output::from(args);
    let (mut findings, engine) = match Paths::from_env() {
        Ok(paths) => match Engine::open(paths.clone()) {
            Ok(engine) => (state_of(&engine), Some(engine)),
            Err(error) => (troubles(Engine::examine(&paths), error), None),
        },
        Err(error) => (vec![problem("state", &error)], None),
    };
    findings.extend(capabilities(&Engine::capabilities()));
    findings.extend(engine.as_ref().and_then(|engine| engine.settings().send_limit).map(limit));
    let port = engine.as_ref().map_or(DEFAULT_PORT, |engine| engine.settings().port);
    let (reachability, is_ours) = match &engine {
        Some(engine) => network(engine, port).await,
        None => port_alone(port).await,
    };
    findings.extend(reachability);
    findings.extend(firewalls(Path::new("/"), is_ours.then_some(port)));
    if let Some(engine) = engine {
        match engine.unfinished() {
            Ok(found) => findings.extend(unfinished(&found)),
            Err(error) => findings.push(problem("unfinished", &error)),
        }
    }
    for finding in &findings {
        tell(finding, &out);
    }
    Ok(Exit::All)
}

/// Who this device is, and whether what it keeps can be written.
fn state_of(engine: &Engine) -> Vec<Finding> {
    let state = match engine.check_store_writable() {
        Ok(()) => Finding::new("state", State::Good, "Settings, identity and database can be read and written."),
        Err(error) => problem("state", &error),
    };
    vec![identity(&engine.this_device(), engine.unusable_host_name().as_deref()), state]
}

/// Each trouble that keeps commands from working here, or the one that the first look met if a
/// second one met none.
fn troubles(found: Vec<Fault>, met: Fault) -> Vec<Finding> {
    let found = if found.is_empty() { vec![met] } else { found };
    found
        .iter()
        .map(|error| problem(if matches!(error, Fault::Config { .. }) { "settings" } else { "state" }, error))
        .collect()
}

fn problem(check: &'static str, error: &Fault) -> Finding {
    let words = words::error(error);
    Finding { next: words.next, ..Finding::new(check, State::Problem, words.what) }
}

/// Whether the port is free, where no settings say which one is meant and no engine can listen.
async fn port_alone(port: u16) -> (Vec<Finding>, bool) {
    let mut last = Fault::machine("there is no address to listen on");
    for listen in ListenAddress::DEFAULT.candidates(port) {
        match tokio::net::TcpListener::bind(listen).await {
            Ok(_) => return (vec![port_free(port)], true),
            Err(source) => last = Fault::listen(listen.to_string(), source),
        }
    }
    let (finding, is_ours) = port_taken(port, &last);
    (vec![finding], is_ours)
}

fn port_free(port: u16) -> Finding {
    Finding::new("port", State::Good, format!("Port {port} is free for `ringway recv`."))
}

/// Why the port cannot be had, and whether this user's own receiver has it.
fn port_taken(port: u16, error: &Fault) -> (Finding, bool) {
    let holder = Holder::of(Path::new("/"), port, rustix::process::geteuid().as_raw());
    let is_ours = holder.as_ref().is_some_and(Holder::is_our_receiver);
    (port_finding(port, error, holder), is_ours)
}

fn tell(finding: &Finding, out: &Output) {
    let mark = match finding.state {
        State::Good => "ok  ",
        State::Note => "note",
        State::Problem => "BAD ",
    };
    let Finding { check, state, message, next } = finding;
    out.event(&Event::Check { check, state: *state, message, next: next.as_deref() });
    out.say(format_args!("{mark}  {}", finding.message));
    if let Some(next) = &finding.next {
        out.say(format_args!("      {next}"));
    }
}

fn identity(this: &ThisDevice, unusable_host_name: Option<&str>) -> Finding {
    let message = format!("This device is {} ({}).", for_terminal(&this.name), this.id.short());
    match unusable_host_name {
        None => Finding::new("identity", State::Good, message),
        Some(host) => {
            let why = format!(
                "The host name {} reads as an id or an address, which no device may have as its name.",
                for_terminal(host)
            );
            Finding::new("identity", State::Note, format!("{message} {why}"))
                .advise("`ringway settings --name NAME` gives it a name of its own.")
        }
    }
}

fn capabilities(can: &Capabilities) -> Vec<Finding> {
    let beneath = if can.openat2 {
        Finding::new("openat2", State::Good, "The kernel itself keeps what is received inside its folder (openat2).")
    } else {
        Finding::new(
            "openat2",
            State::Note,
            "No openat2 here: folders are opened step by step, which is as safe and slower.",
        )
    };
    let confinement = match can.unconfined {
        None => Finding::new(
            "landlock",
            State::Good,
            "What writes received files can reach nothing but their folder (Landlock).",
        ),
        Some(reason) => {
            let message = format!("Received files are written without Landlock: {}.", path_taken::unconfined(reason));
            Finding::new("landlock", State::Note, message)
        }
    };
    let aes = if can.cpu_aes {
        Finding::new("cpu_crypto", State::Good, "The processor encrypts AES by itself: AES-128-GCM is used.")
    } else {
        Finding::new("cpu_crypto", State::Note, "The processor has no AES instructions: ChaCha20-Poly1305 is used.")
    };
    let files = format!("{} files and connections may be open at once.", count(can.open_files_max));
    let files = if can.open_files_max >= OPEN_FILES_AMPLE {
        Finding::new("open_files", State::Good, files)
    } else {
        Finding::new("open_files", State::Note, files)
            .advise("Large transfers want more. Raise the limit of this shell: `sudo prlimit --pid $$ --nofile=4096:4096`. limits.conf raises it for good.")
    };
    vec![
        Finding::new("kernel", State::Good, format!("The kernel is Linux {}.", for_terminal(&can.kernel))),
        io_uring(can.io),
        kernel_tls(can.tls),
        aes,
        beneath,
        confinement,
        files,
    ]
}

fn limit(limit: RateLimit) -> Finding {
    let rate = rate(limit.bytes_per_s() as f64);
    Finding::new("limit", State::Note, format!("The settings hold what is sent to {rate}."))
        .advise("`ringway settings --limit none` takes that away, `ringway send --limit none` for once.")
}

fn io_uring(io: IoPath) -> Finding {
    let IoPath::Sync(reason) = io else {
        return Finding::new(
            "io_uring",
            State::Good,
            "io_uring is there: files are read and written with it where it is faster.",
        );
    };
    let message = format!("No io_uring: {}. Plain system calls do the same.", path_taken::sync_io(reason));
    let finding = Finding::new("io_uring", State::Note, message);
    match reason {
        SyncIoReason::Forbidden => finding.advise(
            "If it is the sysctl: sudo sysctl kernel.io_uring_disabled=0. In a container, its seccomp profile must allow io_uring.",
        ),
        SyncIoReason::NoMemory => finding.advise("Raise the limit of lockable memory: ulimit -l, or memlock in limits.conf."),
        _ => finding,
    }
}

fn kernel_tls(tls: TlsPath) -> Finding {
    let TlsPath::User(reason) = tls else {
        return Finding::new("kernel_tls", State::Good, "Kernel TLS is there: the kernel encrypts and decrypts.");
    };
    let message = format!(
        "Kernel TLS is off: {}. Encryption runs in userspace, on the same wire format.",
        path_taken::user_tls(reason)
    );
    let finding = Finding::new("kernel_tls", State::Note, message);
    match reason {
        UserTlsReason::ModuleNotLoaded => finding.advise(words::remedies(&remedy::kernel_tls(Path::new("/")))),
        UserTlsReason::ModulesUnseen => {
            finding.advise("The administrator of the host can load the module there: sudo modprobe tls")
        }
        _ => finding,
    }
}

/// What transfers that did not end keep, and each folder of which that is not known.
fn unfinished(found: &FoundUnfinished) -> Vec<Finding> {
    const CHECK: &str = "unfinished";
    let unanswered = found.unanswered.iter().map(|folder| Finding::new(CHECK, State::Note, not_answering(folder)));
    let mut findings: Vec<_> = unanswered.collect();
    let idle: Vec<_> = found.left.iter().filter(|left| !left.in_use).collect();
    if idle.is_empty() {
        if findings.is_empty() {
            findings.push(Finding::new(CHECK, State::Good, "No unfinished transfer keeps anything on the disk."));
        }
        return findings;
    }
    let keep = if idle.len() == 1 { "keeps" } else { "keep" };
    let takes = bytes(idle.iter().map(|left| left.disk_bytes).sum());
    let message = format!("{} {keep} {takes}, to go on from there.", counted(idle.len() as u64, "unfinished transfer"));
    let finding = Finding::new(CHECK, State::Note, message)
        .advise("`ringway inbox unfinished` lists them, `ringway inbox discard --all` removes them.");
    findings.push(finding);
    findings
}

/// Tries to listen as `recv` would, which also tells the addresses; and whether the port is this
/// user's, or free for it.
async fn network(engine: &Engine, port: u16) -> (Vec<Finding>, bool) {
    let (finding, is_ours, receiver) = match try_listen(engine, port).await {
        Ok(receiver) => (port_free(port), true, Some(receiver)),
        Err(error) => {
            let (finding, is_ours) = port_taken(port, &error);
            (finding, is_ours, try_listen(engine, 0).await.ok())
        }
    };
    let addresses = receiver.map(|receiver| receiver.addresses()).unwrap_or_default();
    (vec![finding, addresses_finding(&addresses, is_ours.then_some(port))], is_ours)
}

/// Where others reach this machine. The port is named only where this user's receiver has it, or
/// would get it.
fn addresses_finding(addresses: &[IpAddr], port: Option<u16>) -> Finding {
    const CHECK: &str = "addresses";
    if addresses.is_empty() {
        return Finding::new(CHECK, State::Problem, "This machine has no network address: nobody else can reach it.");
    }
    let typed = |ip: &IpAddr| port.map_or_else(|| ip.to_string(), |port| SocketAddr::new(*ip, port).to_string());
    let all = addresses.iter().map(typed).collect::<Vec<_>>().join(" or ");
    match port {
        Some(_) => Finding::new(CHECK, State::Good, format!("Others reach this machine at {all}.")),
        None => Finding::new(
            CHECK,
            State::Note,
            format!("This machine's addresses are {all}. No receiver of yours listens there."),
        )
        .advise("`ringway recv --listen :0` chooses a free port and shows it."),
    }
}

async fn try_listen(engine: &Engine, port: u16) -> Result<Receiver, Fault> {
    let mut last = Fault::machine("there is no address to listen on");
    for listen in ListenAddress::DEFAULT.candidates(port) {
        let options = ReceiveOptions {
            listen,
            destination: std::env::temp_dir(),
            code: None,
            pairing: false,
            announce: false,
            rule_folders: false,
            tls: TlsMode::Auto,
            io: IoMode::Sync,
        };
        match engine.receive(options).await {
            Ok(receiver) => return Ok(receiver),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn port_finding(port: u16, error: &Fault, holder: Option<Holder>) -> Finding {
    const CHECK: &str = "port";
    match error {
        Fault::Listen { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
            let what = match holder {
                Some(holder) if holder.is_our_receiver() => {
                    return Finding::new(
                        CHECK,
                        State::Good,
                        format!("A receiver of this user listens on port {port}."),
                    );
                }
                Some(Holder::Ours { program: Some(program) }) => {
                    format!("Port {port} is taken by another program of this user: {}.", for_terminal(&program))
                }
                Some(Holder::Other(user)) => format!("Port {port} is taken by the user {}.", for_terminal(&user)),
                Some(Holder::Ours { program: None }) | None => {
                    format!("Port {port} is taken: a receiver is running, or another program has it.")
                }
            };
            let command = Remedy::who_listens(port).command;
            Finding::new(CHECK, State::Note, what)
                .advise(format!("Which program: {command}. Another port: ringway recv --listen :0"))
        }
        error => problem(CHECK, error),
    }
}

/// What is switched on below `root`. The rules themselves are for root to read, so this gives the
/// command and does not judge. None for a port that is not this user's to open.
fn firewalls(root: &Path, port: Option<u16>) -> Vec<Finding> {
    let Some(port) = port else { return Vec::new() };
    let found = remedy::firewalls_here(root, port);
    if found.is_empty() {
        return vec![Finding::new("firewall", State::Good, "Neither ufw nor firewalld is on here.").advise(format!(
            "If others still cannot reach port {port}, a router or a hand-made rule is in the way (sudo nft list ruleset)."
        ))];
    }
    let told = |remedy: Remedy| {
        let name = if remedy.aim == Aim::Firewalld { "firewalld" } else { "ufw" };
        let message = format!("The firewall {name} is on; it may keep others from port {port}.");
        Finding::new("firewall", State::Note, message).advise(format!("Open the port: {}", remedy.command))
    };
    found.into_iter().map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_model::{Unconfined, Unfinished};
    use std::fs;

    fn can() -> Capabilities {
        Capabilities {
            kernel: "6.12".into(),
            tls: TlsPath::Kernel,
            io: IoPath::Uring,
            unconfined: None,
            openat2: true,
            cpu_aes: true,
            open_files_max: 1 << 20,
        }
    }

    #[test]
    fn a_name_that_stands_in_for_the_host_name_is_explained() {
        let this = ThisDevice { id: ringway_model::DeviceId([0xab; 32]), name: "device-abab".into() };
        assert_eq!(identity(&this, None).state, State::Good);
        let finding = identity(&this, Some("3f2b1c9d8e7f"));
        assert!(finding.message.contains("The host name 3f2b1c9d8e7f reads as an id"), "{}", finding.message);
        assert!(finding.next.unwrap().contains("ringway settings --name"));
    }

    #[test]
    fn a_good_machine_gives_no_advice() {
        let findings = capabilities(&can());
        assert!(findings.iter().all(|finding| finding.state == State::Good && finding.next.is_none()), "{findings:?}");
    }

    #[test]
    fn a_module_that_is_not_loaded_comes_with_the_command_that_loads_it() {
        let finding = kernel_tls(TlsPath::User(UserTlsReason::ModuleNotLoaded));
        assert!(finding.next.unwrap().contains("sudo modprobe tls"));
        assert_eq!(kernel_tls(TlsPath::User(UserTlsReason::NotInKernel)).next, None);
        assert!(io_uring(IoPath::Sync(SyncIoReason::Forbidden)).next.unwrap().contains("io_uring_disabled"));
    }

    #[test]
    fn a_poor_machine_is_told_what_it_lacks() {
        let poor = Capabilities {
            unconfined: Some(Unconfined::SwitchedOff),
            openat2: false,
            cpu_aes: false,
            open_files_max: 256,
            ..can()
        };
        let notes = capabilities(&poor).into_iter().filter(|finding| finding.state == State::Note).count();
        assert_eq!(notes, 4);
    }

    #[test]
    fn firewalls_that_are_on_are_told_with_their_commands() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(firewalls(root.path(), Some(17464))[0].state, State::Good);
        fs::create_dir_all(root.path().join("etc/ufw")).unwrap();
        fs::write(root.path().join("etc/ufw/ufw.conf"), "ENABLED=yes\n").unwrap();
        let findings = firewalls(root.path(), Some(4000));
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].state, State::Note);
        assert_eq!(findings[0].next.as_deref(), Some("Open the port: sudo ufw allow 4000/tcp"));
    }

    #[test]
    fn what_unfinished_transfers_keep_is_told_with_the_command_that_removes_it() {
        let left = |in_use| Unfinished {
            folder: "/in".into(),
            id: "0123456789abcdef".into(),
            from: None,
            names: Vec::new(),
            more_names: 0,
            files: 1,
            disk_bytes: 2_000_000,
            last_at_work: std::time::SystemTime::UNIX_EPOCH,
            in_use,
        };
        let findings = |left| unfinished(&FoundUnfinished { left, unanswered: Vec::new() });
        assert_eq!(findings(vec![left(true)])[0].state, State::Good, "what runs is no leftover");
        let finding = findings(vec![left(false), left(true), left(false)]).remove(0);
        assert_eq!(finding.message, "2 unfinished transfers keep 4.0 MB, to go on from there.");
        assert!(finding.next.unwrap().contains("ringway inbox discard"));
    }

    #[test]
    fn a_taken_port_is_no_failure() {
        let taken = Fault::listen("[::]:17464", io::Error::from_raw_os_error(98));
        let finding = port_finding(17464, &taken, None);
        assert_eq!(finding.state, State::Note);
        assert!(finding.next.unwrap().contains("--listen :0"));
        let ours = |program: &str| Some(Holder::Ours { program: Some(program.into()) });
        assert_eq!(port_finding(17464, &taken, ours("ringway")).state, State::Good);
        assert!(port_finding(17464, &taken, ours("python3")).message.contains("python3"));
        assert!(port_finding(17464, &taken, Some(Holder::Other("bob".into()))).message.contains("the user bob"));
    }

    #[test]
    fn port_of_another_user_is_no_way_in() {
        let addresses = ["10.0.0.5".parse().unwrap(), "fe80::5".parse().unwrap()];
        let ours = addresses_finding(&addresses, Some(17464));
        assert_eq!(ours.message, "Others reach this machine at 10.0.0.5:17464 or [fe80::5]:17464.");
        let others = addresses_finding(&addresses, None);
        assert!(
            others.message.contains("10.0.0.5 or fe80::5.") && !others.message.contains("17464"),
            "{}",
            others.message
        );
        assert!(others.next.unwrap().contains("--listen :0"));
        assert_eq!(addresses_finding(&[], Some(17464)).state, State::Problem);
        assert!(firewalls(tempfile::tempdir().unwrap().path(), None).is_empty());
    }
}
