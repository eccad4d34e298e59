//! Owns confining a thread to what lies beneath one directory (Landlock, landlock(7)), and the
//! reasons why this kernel cannot do it.

use std::io;
use std::os::fd::AsFd;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, Scope,
};
pub use ringway_model::Unconfined;
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// The first version that lets a confined thread rename from one directory to another
/// (LANDLOCK_ACCESS_FS_REFER, Linux 5.19).
const ABI_MIN: ABI = ABI::V2;

/// The newest version whose restrictions are requested. An older kernel leaves out those that it
/// lacks.
const ABI_MAX: ABI = ABI::V6;

/// landlock_create_ruleset(2): returns the version instead of creating a ruleset.
const CREATE_RULESET_VERSION: u32 = 1;

/// The capabilities of root that are kept (capabilities(7)): to write into folders of other users
/// and set owner, mode and times there, to exceed quotas as root does, and to lock a ring's memory.
const KEPT_CAPABILITIES: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::SYS_RESOURCE)
    .union(CapabilitySet::IPC_LOCK);

/// What of those a thread keeps that only reads: to read the files of other users, which root
/// shares on purpose, and to leave their access times alone.
const READING_CAPABILITIES: CapabilitySet =
    CapabilitySet::DAC_OVERRIDE.union(CapabilitySet::DAC_READ_SEARCH).union(CapabilitySet::FOWNER);

/// Whether threads of this process can be confined. This is tried on a separate thread, which then
/// ends.
///
/// # Errors
/// The reason why they cannot.
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
    // SAFETY: with this flag the call uses no attributes and creates nothing; it returns the
    // version (landlock_create_ruleset(2)).
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

/// The access rights beneath the directory: everything that receiving files, folders and links
/// needs. Nothing there is executed, and no device, socket or FIFO is created.
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

/// The access rights beneath a directory that is only read.
fn reading() -> BitFlags<AccessFs> {
    AccessFs::ReadFile | AccessFs::ReadDir
}

/// Confines the calling thread as [`thread_beneath`] does, to reading: beneath `dir` it opens
/// nothing for writing, and makes, renames and removes nothing.
///
/// # Errors
/// Those of [`thread_beneath`].
pub fn thread_reads_beneath(dir: &impl AsFd) -> io::Result<()> {
    confine(dir, reading(), READING_CAPABILITIES)
}

/// Confines the calling thread and the threads that it starts, permanently. Of all filesystems, it
/// reaches only what is beneath `dir`, and descriptors that are open already. It executes nothing.
/// If the kernel supports that, it binds and connects no TCP socket, and reaches no abstract socket
/// and, by signals, no process outside. Operations without a Landlock access right are not
/// restricted: reading metadata, and changing modes, owners, times and attributes by path. Of
/// root's capabilities it keeps those that writing files needs.
///
/// # Errors
/// The kernel's error. The thread may then be partly confined, and should not be used any more.
pub fn thread_beneath(dir: &impl AsFd) -> io::Result<()> {
    confine(dir, beneath(), KEPT_CAPABILITIES)
}

fn confine(dir: &impl AsFd, rights: BitFlags<AccessFs>, kept: CapabilitySet) -> io::Result<()> {
    let confined = || -> Result<(), RulesetError> {
        Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(ABI_MIN))?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(ABI_MAX))?
            .handle_access(AccessNet::from_all(ABI_MAX))?
            .scope(Scope::from_all(ABI_MAX))?
            .create()?
            .add_rule(PathBeneath::new(dir.as_fd(), rights))?
            .restrict_self()
            .map(drop)
    };
    confined().map_err(|error| match os_error(&error) {
        Some(errno) => io::Error::from_raw_os_error(errno),
        None => io::Error::other(error),
    })?;
    give_up_capabilities(kept)
}

/// Gives up all capabilities except `kept`, for the calling thread, and from every set from which
/// it could take them back. A thread that has no others makes no call, because a service's filter
/// may forbid it.
fn give_up_capabilities(kept: CapabilitySet) -> io::Result<()> {
    let CapabilitySets { effective, permitted, inheritable } = capabilities(None)?;
    if kept.contains(effective | permitted) && inheritable.is_empty() {
        return Ok(());
    }
    Ok(set_capabilities(
        None,
        CapabilitySets {
            effective: effective & kept,
            permitted: permitted & kept,
            inheritable: CapabilitySet::empty(),
        },
    )?)
}

/// The errno at the innermost level of an error.
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
