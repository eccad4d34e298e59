//! What receivers that were killed had put into folders, as their landing logs say, and the key
//! that seals those logs.
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::sync::Arc;

use ringway_model::Fault;
use ringway_tree::receive::{Brought, Recall, Recalled, SealKey, Whose};
use rusqlite::{OptionalExtension, params};
use zeroize::Zeroizing;

use super::{Pairing, Store, forget_oldest, pairings};

pub(super) const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS seal (
        number INTEGER PRIMARY KEY NOT NULL CHECK (number = 1),
        key    BLOB NOT NULL CHECK (length(key) = 32)
    ) STRICT;
";

/// Work with the store, and whether it succeeded.
pub(crate) type Adding = Box<dyn FnOnce() -> bool + Send>;

/// How the store knows a top-level path: absolute, as bytes.
pub(crate) fn received_key(destination: &Path, top: &[u8]) -> Vec<u8> {
    let absolute = std::fs::canonicalize(destination).unwrap_or_else(|_| destination.into());
    absolute.join(OsString::from_vec(top.to_vec())).into_os_string().into_vec()
}

/// What takes up what receivers that were killed have left in `destination`; `run` has it added
/// where a thread can use the store. `None` if that has no key now: what was left waits.
pub(crate) fn recall(
    store: &Arc<Store>,
    destination: &Path,
    run: impl Fn(Adding) -> bool + Send + Sync + 'static,
) -> Option<Recall> {
    let key = store.seal_key().ok()?;
    let (store, destination) = (Arc::clone(store), destination.to_owned());
    let add = move |whose: Whose, found: Vec<Recalled>| {
        let keyed = |one: Recalled| (received_key(&destination, one.top()), one);
        let (store, all) = (Arc::clone(&store), found.into_iter().map(keyed).collect::<Vec<_>>());
        run(Box::new(move || store.add_landed(whose, &all).is_ok()))
    };
    Some(Recall { key, add: Box::new(add) })
}

impl Store {
    /// The key of its landing logs, drawn on first use.
    pub(crate) fn seal_key(&self) -> Result<SealKey, Fault> {
        let mut drawn = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *drawn).map_err(|_| Fault::machine("the kernel gives no random bytes"))?;
        let mut key = Zeroizing::new([0; 32]);
        self.with(|connection| {
            let mut read = || {
                let mut stored = connection.prepare_cached("SELECT key FROM seal")?;
                let copied = stored.query_row([], |row| {
                    key.copy_from_slice(row.get_ref(0)?.as_blob()?);
                    Ok(())
                });
                copied.optional()
            };
            if read()?.is_none() {
                // Another program of this device may have drawn one meanwhile.
                connection.execute("INSERT OR IGNORE INTO seal (number, key) VALUES (1, ?1)", [&drawn[..]])?;
                read()?;
            }
            Ok(())
        })?;
        Ok(SealKey::new(key))
    }

    /// Adds to what a device brought under top-level paths. Of a device that was forgotten since
    /// that pairing nothing is added.
    pub(crate) fn add_landed(&self, whose: Whose, all: &[(Vec<u8>, Recalled)]) -> Result<(), Fault> {
        let pairing = Pairing::of(whose);
        let id = pairing.device;
        self.with(|connection| {
            let transaction = connection.unchecked_transaction()?;
            if !pairings::is_current(&transaction, pairing)? {
                return Ok(());
            }
            for (path, recalled) in all {
                let before = transaction
                    .prepare_cached("SELECT what FROM brought WHERE device = ?1 AND path = ?2")?
                    .query_row(params![id.0, path], |row| row.get::<_, Vec<u8>>(0))
                    .optional()?;
                if let Some(after) = recalled.added_to(before.and_then(|before| Brought::decode(&before))) {
                    transaction.execute(
                        "INSERT OR REPLACE INTO brought (device, path, what) VALUES (?1, ?2, ?3)",
                        params![id.0, path, after.encode()],
                    )?;
                }
            }
            forget_oldest(&transaction, id)?;
            transaction.commit()
        })
    }
}
