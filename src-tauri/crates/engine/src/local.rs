//! What this device keeps on its disk beside the store: its key, its settings, its folders.
pub(crate) mod default_folder;
pub(crate) mod identity;
pub(crate) mod own_folders;
pub mod paths;
pub(crate) mod places;
pub mod private;
pub(crate) mod settings;
