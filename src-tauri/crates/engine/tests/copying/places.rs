//! Owns the filesystems that the suite runs on: where temporary files go, and as root one of each
//! kind that this machine can mount.
//!
//! They are mounted in a namespace that a process of its own holds and that test threads enter. It
//! ends with this program, however that ends, and the mounts and their images with it.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use rustix::fs::Mode;
use rustix::thread::ThreadNameSpaceType;
use tempfile::TempDir;

/// What threads that test go by, and what cp inherits: the usual umask, whatever the one is that
/// the tests were started under.
const UMASK: u32 = 0o022;

/// The filesystem to run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    /// Where temporary files go.
    Temporary,
    /// A mount of the namespace by its name there.
    Mount(&'static str),
}

/// A fresh folder on one of them, gone when it is dropped.
pub(crate) struct Place {
    folder: TempDir,
    /// The test's name, for saying what was skipped.
    pub(crate) test: &'static str,
}

impl Place {
    fn new(test: &'static str, below: &Path) -> Self {
        let folder = tempfile::Builder::new().prefix("copying-").tempdir_in(below).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder, test }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A path in another mount.
    pub(crate) fn mounted(&self, name: &'static str) -> Result<PathBuf, String> {
        mounts().as_ref().map_err(Clone::clone)?.folder(name)
    }

    pub(crate) fn skip(&self, what: &str, why: &str) {
        skipped(&format!("{}: {what}", self.test), why);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !is_root() {
            open_up(self.folder.path());
        }
    }
}

/// Lets a user remove what they had closed.
fn open_up(folder: &Path) {
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).for_each(|entry| open_up(&entry.path()));
}

/// Says that a test did not run here; the test runner counts such lines.
pub(crate) fn skipped(test: &str, why: &str) {
    println!("skipped: {test}: {why}");
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs `body` in a folder on that filesystem, on a thread with its own umask that sees the mounts;
/// or says why not.
pub(crate) fn run(test: &'static str, on: On, body: fn(&Place)) {
    let below = match (on, mounts()) {
        (On::Temporary, _) => Ok(std::env::temp_dir()),
        (On::Mount(_), Err(why)) => Err(why.clone()),
        (On::Mount(name), Ok(mounts)) => mounts.folder(name),
    };
    let below = match below {
        Ok(below) => below,
        Err(why) => return skipped(test, &why),
    };
    let tested = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            own_surroundings().unwrap();
            body(&Place::new(test, &below));
        });
        thread.join()
    });
    if let Err(panic) = tested {
        std::panic::resume_unwind(panic);
    }
}

/// Gives the calling thread and what it starts the usual umask and a view of the mounts.
fn own_surroundings() -> io::Result<()> {
    ringway_sys::thread::own_umask()?;
    rustix::process::umask(Mode::from_raw_mode(UMASK));
    if let Ok(mounts) = mounts() {
        let namespace = File::open(format!("/proc/{}/ns/mnt", mounts.holder.id()))?;
        rustix::thread::move_into_thread_name_spaces(namespace.as_fd(), ThreadNameSpaceType::MOUNT)?;
    }
    Ok(())
}

struct Mounts {
    holder: Child,
    root: PathBuf,
    /// Why each that was tried is not there; none of those that are.
    tried: HashMap<String, Option<String>>,
}

impl Mounts {
    fn folder(&self, name: &str) -> Result<PathBuf, String> {
        match self.tried.get(name) {
            Some(None) => Ok(self.root.join(name)),
            Some(Some(why)) => Err(why.clone()),
            None => Err("it was not tried".into()),
        }
    }
}

/// The mounts, made when they are first asked for; why there are none otherwise.
fn mounts() -> &'static Result<Mounts, String> {
    static MOUNTS: OnceLock<Result<Mounts, String>> = OnceLock::new();
    MOUNTS.get_or_init(|| match is_root() {
        true => hold_mounts().map_err(|error| format!("no mounts of its own: {error}")),
        false => Err("mounting takes root".into()),
    })
}

fn hold_mounts() -> io::Result<Mounts> {
    let root = tempfile::Builder::new().prefix("copying-mounts-").tempdir()?.keep();
    fs::set_permissions(&root, fs::Permissions::from_mode(0o755))?;
    let mut holder = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", include_str!("mounts.sh"), "sh"])
        .arg(&root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut tried = HashMap::new();
    let said = BufReader::new(holder.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?);
    for line in said.lines() {
        let line = line?;
        match line.splitn(3, ' ').collect::<Vec<_>>()[..] {
            ["ready"] => return Ok(Mounts { holder, root, tried }),
            ["yes", name] => drop(tried.insert(name.to_owned(), None)),
            ["no", name, why] => drop(tried.insert(name.to_owned(), Some(why.trim().to_owned()))),
            _ => return Err(io::Error::other(line)),
        }
    }
    let _ = fs::remove_dir(&root);
    Err(io::Error::other(format!("unshare ended: {}", holder.wait()?)))
}

/// Has the calling test run with no more descriptors than that: true if it does, and has to leave
/// it to the child that was started otherwise.
pub(crate) fn with_descriptors(test: &'static str, limit: u64) -> bool {
    if rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum == Some(limit) {
        return true;
    }
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -n {limit} && exec \"$0\" \"$@\"")]).arg(std::env::current_exe().unwrap());
    let output = command.args(["--exact", test, "--nocapture", "--test-threads=1"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    said.lines().filter(|line| line.starts_with("skipped: ")).for_each(|line| println!("{line}"));
    assert!(said.contains("test result: ok. 1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
    false
}

/// Has the calling test run as a user without privileges: true if it does, and root has to leave it
/// to the child that was started.
pub(crate) fn as_a_user(test: &'static str) -> bool {
    const NOBODY: u32 = 65_534;
    if !is_root() {
        return true;
    }
    use std::os::unix::process::CommandExt;
    // The program may lie where that user must not look.
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("copying");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut command = Command::new(&program);
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).current_dir("/").uid(NOBODY).gid(NOBODY);
    let output = loop {
        match command.output() {
            // Another test has just forked, and its child still holds what this program was written
            // through.
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            output => break output.unwrap(),
        }
    };
    let said = String::from_utf8_lossy(&output.stdout);
    said.lines().filter(|line| line.starts_with("skipped: ")).for_each(|line| println!("{line}"));
    assert!(said.contains("test result: ok. 1 passed"), "as nobody: {said}{}", String::from_utf8_lossy(&output.stderr));
    false
}
