//! What a person or script asks for: sending, getting, receiving, conflicts, and the stored
//! settings.
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ringway_model::{
    Compression, Delta, IntoHome, IoMode, OnConflict, RateLimit, Selection, ShownSize, Source, TlsMode,
};
use ringway_tree::receive::FolderIdentity;
use ringway_wire::code::{GivenSecret, PairingSecret};

use crate::devices::reference::PathInShare;
use crate::devices::target::Target;
use crate::store::history::{KeptAttributes, Landing};

/// What may be chosen of any transfer between two devices. By default all of it, in one attempt.
#[derive(Default)]
pub struct TransferOptions {
    /// Which entries; every attempt and resumption keeps to it. What is got from a device brings
    /// nothing else, and nothing else is taken.
    pub selection: Selection,
    /// The code, if the two do not know each other yet.
    pub code: Option<PairingSecret>,
    /// Lane encryption at this end.
    pub tls: TlsMode,
    /// File IO at this end.
    pub io: IoMode,
    /// Lanes; none begins with what suits cores and round-trip time, and adds more while that makes
    /// it faster.
    pub lanes: Option<u8>,
    /// Whether file contents are packed on the way.
    pub compression: Compression,
    /// Whether only what is new in large files travels.
    pub delta: Delta,
    /// How fast it may be, all lanes together; none is as fast as it goes. Counted are the bytes
    /// that are handed to encryption. A device that something is got from may have its own limit.
    pub limit: Option<RateLimit>,
    /// Whether what was written is read back and compared with what was read at the source, before
    /// the receiver says that all is there.
    pub verify: bool,
    /// Records after which a lane takes a new connection, and with it new keys; none is
    /// [`RECORDS_PER_KEY_MAX`](crate::limits::RECORDS_PER_KEY_MAX), and it is never more.
    pub records_per_key: Option<u64>,
    /// How long it tries to go on by itself when an accepted transfer loses its connection, each
    /// time anew; none is not at all. At most [`RETRY_MAX`](crate::limits::RETRY_MAX).
    pub retry: Option<Duration>,
    /// How long it waits while data is to move and the other device takes or sends none of it,
    /// before it ends with [`Fault::Stalled`](ringway_model::Fault::Stalled); none is for ever.
    /// What is sent counts as the receiver's kernel acknowledges it. Pauses do not count, nor does
    /// time in which the other device says that it looks for files, reads, writes, compares or
    /// synchronises them, or keeps to a rate limit. At least
    /// [`STALL_TIME_MIN`](crate::limits::STALL_TIME_MIN).
    pub timeout: Option<Duration>,
}

/// A transfer to start.
pub struct SendRequest {
    /// What to send; at least one.
    pub sources: Vec<Source>,
    /// What failed of an earlier transfer of the same, by its path there. What is gone from here by
    /// now is reported as failed: otherwise the transfer would end as if all had arrived.
    pub failed_before: Vec<PathBuf>,
    /// The target; [`Engine::resolve`](crate::Engine::resolve) reads one from what a person typed.
    pub target: Target,
    /// The place in a drop box there where it is to land, whether contents are meant or not; none
    /// is where that device receives.
    pub in_share: Option<PathInShare>,
    /// The rest.
    pub options: TransferOptions,
}

impl SendRequest {
    /// All of these sources, by default options.
    pub fn new(sources: Vec<Source>, target: Target) -> Self {
        Self { sources, failed_before: Vec::new(), target, in_share: None, options: TransferOptions::default() }
    }
}

/// Entries of another device's share to get.
pub struct GetRequest {
    /// The device that has the share.
    pub target: Target,
    /// What to get: at least one path, all of one share.
    pub paths: Vec<PathInShare>,
    /// The folder that they land in.
    pub destination: PathBuf,
    /// Which folder that was when the same was got before. Where it is still there, it is the one,
    /// whatever was at its path when somebody last chose that path.
    pub folder: Option<FolderIdentity>,
    /// How they land there.
    pub accept: AcceptOptions,
    /// The rest.
    pub options: TransferOptions,
}

impl GetRequest {
    /// All of these entries, by default options.
    pub fn new(target: Target, paths: Vec<PathInShare>, destination: PathBuf) -> Self {
        let (accept, options) = (AcceptOptions::default(), TransferOptions::default());
        Self { target, paths, destination, folder: None, accept, options }
    }
}

/// How to listen.
pub struct ReceiveOptions {
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where offers land unless [`AcceptOptions`] says otherwise. What is there now is what they
    /// land in: nothing lands in another folder that is at this path later, and it is not made,
    /// unless it is the account's default one.
    pub destination: PathBuf,
    /// The code or standing secret to expect instead of drawing a code.
    pub code: Option<GivenSecret>,
    /// Whether unknown devices may pair at all.
    pub pairing: bool,
    /// Whether it is announced on the local network, with the number in front of the code, so that
    /// senders find it.
    pub announce: bool,
    /// Whether what devices send lands in the folders of their rules; else all of it lands in
    /// `destination`.
    pub rule_folders: bool,
    /// Lane encryption at this end.
    pub tls: TlsMode,
    /// File IO at this end.
    pub io: IoMode,
}

/// How to take an offer in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AcceptOptions {
    /// Another destination than [the offer's own](ringway_model::Offer::destination).
    pub destination: Option<PathBuf>,
    /// Bytes of contents that may come: it is stopped at more, whatever its sender said. For offers
    /// that a rule accepts; none is any number.
    pub bytes_max: Option<u64>,
    /// What a person saw of its size when they accepted it, which bounds what may come. `None` if
    /// no person did.
    pub shown: Option<ShownSize>,
    /// Existing files.
    pub on_conflict: OnConflict,
    /// What is kept of owners and access control lists.
    pub kept: KeptAttributes,
    /// Keep setuid and setgid bits.
    pub keep_setuid: bool,
    /// What may land in that destination, where it is a home.
    pub into_home: IntoHome,
    /// Under [`OnConflict::Replace`], give folders that exist the sender's mode also where that
    /// lets more people in.
    pub widen_modes: bool,
}

impl AcceptOptions {
    /// The same, and keeps these besides what it keeps.
    pub fn keeping(mut self, KeptAttributes { owner, numeric_ids, acls }: KeptAttributes) -> Self {
        self.kept.owner |= owner;
        self.kept.numeric_ids |= numeric_ids;
        self.kept.acls |= acls;
        self
    }
}

impl From<Landing> for AcceptOptions {
    fn from(landing: Landing) -> Self {
        let Landing { on_conflict, into_home, kept, keep_setuid, widen_modes } = landing;
        Self { on_conflict, into_home, kept, keep_setuid, widen_modes, ..Self::default() }
    }
}

impl From<&AcceptOptions> for Landing {
    fn from(options: &AcceptOptions) -> Self {
        let &AcceptOptions { on_conflict, into_home, kept, keep_setuid, widen_modes, .. } = options;
        Self { on_conflict, into_home, kept, keep_setuid, widen_modes }
    }
}
