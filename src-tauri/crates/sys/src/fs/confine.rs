//! Owns confining a thread to what lies beneath one directory (Landlock, landlock(7)), or why this
//! kernel cannot.

use std::io;
use std::os::fd::AsFd;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, Scope,
};
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// The first version that lets a confined thread rename from one directory to another
/// (LANDLOCK_ACCESS_FS_REFER, Linux 5.19).
const ABI_MIN: ABI = ABI::V2;

/// The newest version whose restrictions are asked for; what an older kernel lacks of them is left
/// out.
const ABI_MAX: ABI = ABI::V6;

/// landlock_create_ruleset(2): tells the version instead of making anything.
const CREATE_RULESET_VERSION: u32 = 1;

/// What is kept of root's privileges (capabilities(7)): to write into folders of others and give
/// what is there its owner, mode and times, to go beyond quotas as root does, and to lock a ring's
/// memory.
const KEPT_CAPABILITIES: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::SYS_RESOURCE)
    .union(CapabilitySet::IPC_LOCK);

/// Why threads cannot be confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unconfined {
    /// The kernel was built without it, or is older than 5.13.
    #[error("this kernel has no Landlock")]
    NotInKernel,
    /// The kernel has it, and was started without it (`lsm=` on its command line).
    #[error("Landlock is switched off (lsm= on the kernel's command line)")]
    SwitchedOff,
    /// Linux 5.13 to 5.18: confined threads could not rename from one directory to another.
    #[error("this kernel's Landlock is too old")]
    TooOld,
    /// A container's filter, or too many layers of it around this process already (errno).
    #[error("the kernel refuses Landlock (errno {0})")]
    Refused(i32),
}

/// Whether threads of this process can be confined; tried on a thread of its own, which ends with
/// it.
///
/// # Errors
/// Why not.
pub fn support() -> Result<(), Unconfined> {
    available()?;
    let tried = std::thread::Builder::new().name("confine".into()).spawn(|| {
        let root = std::fs::File::open("/").map_err(|error| refused(&error))?;
        thread_beneath(&root).map_err(|error| refused(&error))
    });
    let tried = tried.map_err(|error| refused(&error))?;
    tried.join().unwrap_or(Err(Unconfined::Refused(0)))
}

fn available() -> Result<(), Unconfined> {
    // SAFETY: with this flag the call takes no attributes and makes nothing; it returns the version
    // (landlock_create_ruleset(2)).
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<libc::c_void>(), 0, CREATE_RULESET_VERSION)
    };
    match version {
        version if version >= ABI_MIN as libc::c_long => Ok(()),
        0.. => Err(Unconfined::TooOld),
        _ => Err(match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(Errno::NOSYS.raw_os_error()) => Unconfined::NotInKernel,
            error if error.raw_os_error() == Some(Errno::OPNOTSUPP.raw_os_error()) => Unconfined::SwitchedOff,
            error => refused(&error),
        }),
    }
}

fn refused(error: &io::Error) -> Unconfined {
    Unconfined::Refused(error.raw_os_error().unwrap_or(0))
}

/// What may be done beneath the directory: all that takes files, folders and links in. Nothing
/// there is executed, and no device, socket or FIFO is made.
fn beneath() -> BitFlags<AccessFs> {
    AccessFs::ReadFile
        | AccessFs::ReadDir
        | AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::MakeSym
        | AccessFs::Refer
}

/// Confines the calling thread, and whatever it starts, for good: of all filesystems it reaches
/// only what is beneath `dir`, and descriptors that are open already. It executes nothing, and
/// where the kernel can see to that, it binds and connects no TCP socket, and reaches no abstract
/// socket and no process by signals from outside. What needs no access right of Landlock's is not
/// held back: looking at metadata, changing modes, owners, times and attributes of what can be
/// named. Of root's privileges it keeps those that writing files takes.
///
/// # Errors
/// What the kernel said. The thread may then be half confined, and should do nothing more.
pub fn thread_beneath(dir: &impl AsFd) -> io::Result<()> {
    let confined = || -> Result<(), RulesetError> {
        Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(ABI_MIN))?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(ABI_MAX))?
            .handle_access(AccessNet::from_all(ABI_MAX))?
            .scope(Scope::from_all(ABI_MAX))?
            .create()?
            .add_rule(PathBeneath::new(dir.as_fd(), beneath()))?
            .restrict_self()
            .map(drop)
    };
    confined().map_err(|error| match os_error(&error) {
        Some(errno) => io::Error::from_raw_os_error(errno),
        None => io::Error::other(error),
    })?;
    give_up_capabilities()
}

/// Gives up all but [`KEPT_CAPABILITIES`], for the calling thread and for good: they are in no set
/// any more that they could be taken from. Who has no others is not asked to: a service's filter
/// may forbid the call.
fn give_up_capabilities() -> io::Result<()> {
    let CapabilitySets { effective, permitted, inheritable } = capabilities(None)?;
    if KEPT_CAPABILITIES.contains(effective | permitted) && inheritable.is_empty() {
        return Ok(());
    }
    Ok(set_capabilities(
        None,
        CapabilitySets {
            effective: effective & KEPT_CAPABILITIES,
            permitted: permitted & KEPT_CAPABILITIES,
            inheritable: CapabilitySet::empty(),
        },
    )?)
}

/// The errno at the bottom of an error.
fn os_error(error: &(dyn std::error::Error + 'static)) -> Option<i32> {
    let mut at = Some(error);
    while let Some(error) = at {
        if let Some(errno) = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error) {
            return Some(errno);
        }
        at = error.source();
    }
    None
}
