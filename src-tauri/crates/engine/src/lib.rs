//! Ringway's engine: jobs that move folders, reported as events and snapshots, behind one handle for command and window.
#![forbid(unsafe_code)]


pub mod device;
pub mod error;
pub mod event;
pub mod limits;
pub mod options;
pub mod path_taken;
pub mod paths;
pub mod receive;
pub mod transfer;

pub use device::{Device, DeviceId, ThisDevice};
pub use error::{AuthError, DeclineReason, Error, Failure, FailureReason, Operation, Side};
pub use event::{Direction, OfferSummary, Outcome, ReceiverEvent, Report, Snapshot, Stage, TransferId};
pub use options::{AcceptOptions, OnConflict, ReceiveOptions, SendRequest, Settings, Source};
pub use path_taken::{IoMode, IoPath, PathTaken, TlsMode, TlsPath};
pub use paths::Paths;
pub use receive::{IncomingOffer, Receiver, ShownCode};
pub use ringway_wire::code::{GivenSecret, PairingSecret, SecretError};
pub use transfer::Transfer;

/// The engine's handle: cheap to clone, the same for every program. Methods that start jobs need a tokio runtime around them.
#[derive(Clone)]
pub struct Engine {}

impl Engine {
    /// Opens identity, trust store and settings, making them on first use.
    pub fn open(_paths: Paths) -> Result<Self, Error> { unimplemented!() }
    /// This device.
    pub fn this_device(&self) -> ThisDevice { unimplemented!() }
    /// The settings in force.
    pub fn settings(&self) -> Settings { unimplemented!() }
    /// Stores new settings.
    pub fn set_settings(&self, _settings: Settings) -> Result<(), Error> { unimplemented!() }
    /// The paired devices by name.
    pub fn devices(&self) -> Result<Vec<Device>, Error> { unimplemented!() }
    /// A paired device by its name, its id or the beginning (8 digits or more) of it.
    pub fn find_device(&self, _text: &str) -> Result<Option<Device>, Error> { unimplemented!() }
    /// Renames a paired device here.
    pub fn rename_device(&self, _id: DeviceId, _name: &str) -> Result<(), Error> { unimplemented!() }
    /// Forgets a paired device; false if it was not known.
    pub fn forget_device(&self, _id: DeviceId) -> Result<bool, Error> { unimplemented!() }
    /// Starts listening.
    pub async fn receive(&self, _options: ReceiveOptions) -> Result<Receiver, Error> { unimplemented!() }
    /// Starts a transfer; what goes wrong is in its report. `Auth(PairingNeeded)` asks for a second call with a code.
    pub fn send(&self, _request: SendRequest) -> Transfer { unimplemented!() }
    /// Pairs with a receiver without sending anything.
    pub async fn pair(&self, _target: &str, _code: PairingSecret) -> Result<Device, Error> { unimplemented!() }
    /// What this machine can do, for `doctor` and the window's settings.
    pub fn capabilities(&self) -> Capabilities { unimplemented!() }
}

/// What this machine can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// The running kernel's release, as uname(2) says.
    pub kernel: String,
    /// What a lane would be encrypted by.
    pub tls: TlsPath,
    /// What file IO would run on.
    pub io: IoPath,
    /// Whether openat2 confines (else the component-by-component fallback does).
    pub openat2: bool,
    /// Whether the CPU has AES instructions; without them ChaCha20-Poly1305 is preferred.
    pub cpu_aes: bool,
    /// Descriptors this process may open, after raising the soft limit.
    pub open_files_max: u64,
}
