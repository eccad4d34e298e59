//! The tables of what has ended, and how those of earlier versions become them.
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::row::UNANSWERED;

pub(crate) const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS past (
        number       INTEGER PRIMARY KEY AUTOINCREMENT,
        transfer     BLOB NOT NULL CHECK (length(transfer) = 16),
        direction    INTEGER NOT NULL,
        device       BLOB,
        device_name  TEXT,
        title        BLOB NOT NULL,
        more         INTEGER NOT NULL,
        target       TEXT,
        paths        BLOB NOT NULL,
        ended_ms     INTEGER NOT NULL,
        ending       TEXT NOT NULL,
        is_whole     INTEGER NOT NULL,
        files        INTEGER NOT NULL,
        folders      INTEGER NOT NULL,
        links        INTEGER NOT NULL,
        bytes        INTEGER NOT NULL,
        unchanged    INTEGER NOT NULL,
        proven_files INTEGER,
        proven_bytes INTEGER,
        proven_ms    INTEGER,
        failed       INTEGER NOT NULL,
        running_ms   INTEGER NOT NULL,
        bottleneck   INTEGER,
        reconnected  INTEGER NOT NULL,
        series       BLOB NOT NULL,
        words        TEXT NOT NULL,
        resend       BLOB,
        target_device BLOB,
        target_announced TEXT,
        edited       INTEGER NOT NULL DEFAULT 0,
        edits        BLOB NOT NULL DEFAULT x'',
        moved        INTEGER,
        skipped      INTEGER NOT NULL DEFAULT 0,
        skipped_bytes INTEGER NOT NULL DEFAULT 0,
        reused       INTEGER NOT NULL DEFAULT 0,
        excluded     INTEGER NOT NULL DEFAULT 0,
        patterns     BLOB,
        limit_bytes_per_s INTEGER,
        in_share     BLOB,
        acls_lost    INTEGER NOT NULL DEFAULT 0,
        owners_by_number INTEGER NOT NULL DEFAULT 0,
        reget        BLOB,
        got_into     BLOB,
        bytes_planned INTEGER NOT NULL DEFAULT 0,
        running      TEXT,
        needs_code   INTEGER NOT NULL DEFAULT 0,
        rest         TEXT
    ) STRICT;
    CREATE TABLE IF NOT EXISTS past_failure (
        number    INTEGER PRIMARY KEY AUTOINCREMENT,
        past      INTEGER NOT NULL,
        path      BLOB NOT NULL,
        side      INTEGER NOT NULL,
        operation INTEGER NOT NULL,
        reason    INTEGER NOT NULL,
        errno     INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX IF NOT EXISTS past_failure_of ON past_failure (past);
    CREATE INDEX IF NOT EXISTS past_with ON past (device, number);
    CREATE INDEX IF NOT EXISTS past_whole ON past (title, number) WHERE is_whole;
";

/// Gives a file of an earlier version the columns that have been added since.
pub(crate) fn upgrade(connection: &Connection) -> rusqlite::Result<()> {
    let added = [
        ("resend", "BLOB"),
        ("target_device", "BLOB"),
        ("target_announced", "TEXT"),
        ("edited", "INTEGER NOT NULL DEFAULT 0"),
        ("edits", "BLOB NOT NULL DEFAULT x''"),
        ("moved", "INTEGER"),
        ("skipped", "INTEGER NOT NULL DEFAULT 0"),
        ("skipped_bytes", "INTEGER NOT NULL DEFAULT 0"),
        ("reused", "INTEGER NOT NULL DEFAULT 0"),
        ("excluded", "INTEGER NOT NULL DEFAULT 0"),
        ("patterns", "BLOB"),
        ("limit_bytes_per_s", "INTEGER"),
        ("in_share", "BLOB"),
        ("acls_lost", "INTEGER NOT NULL DEFAULT 0"),
        ("reget", "BLOB"),
        ("owners_by_number", "INTEGER NOT NULL DEFAULT 0"),
        ("got_into", "BLOB"),
        ("bytes_planned", "INTEGER NOT NULL DEFAULT 0"),
        ("running", "TEXT"),
        ("needs_code", "INTEGER NOT NULL DEFAULT 0"),
        ("rest", "TEXT"),
    ];
    for (name, kind) in added {
        let is_there = || connection.prepare("SELECT 1 FROM pragma_table_info('past') WHERE name = ?1")?.exists([name]);
        if is_there()? {
            continue;
        }
        match connection.execute_batch(&format!("ALTER TABLE past ADD COLUMN {name} {kind}")) {
            // Another program of this device may have been faster.
            Err(error) if !is_there()? => return Err(error),
            _ => {}
        }
    }
    // Not before its column is there.
    connection.execute_batch("CREATE INDEX IF NOT EXISTS past_running ON past (running) WHERE running IS NOT NULL")?;
    endings_as_text(connection)?;
    let partial =
        r#"CREATE INDEX IF NOT EXISTS past_partial ON past (title, number) WHERE ending = '{"outcome":"partial"}'"#;
    connection.execute_batch(partial)
}

/// Earlier versions kept how a transfer ended as bytes of their own. Of what failed, only that it
/// did is taken over.
fn endings_as_text(connection: &Connection) -> rusqlite::Result<()> {
    let is_old = "SELECT 1 FROM pragma_table_info('past') WHERE name = 'ending' AND type = 'BLOB'";
    if !connection.prepare(is_old)?.exists([])? {
        return Ok(());
    }
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    // Another program of this device may have been faster.
    if transaction.prepare(is_old)?.exists([])? {
        transaction.execute_batch(&format!(
            r#"ALTER TABLE past ADD COLUMN ending_text TEXT NOT NULL DEFAULT '{{}}';
            UPDATE past SET ending_text = CASE ending
                WHEN x'00' THEN '{{"outcome":"complete"}}'
                WHEN x'01' THEN '{{"outcome":"partial"}}'
                WHEN x'1d' THEN '{UNANSWERED}'
                ELSE '{{"outcome":"failed","error":{{"code":"other","detail":"recorded by an earlier version"}}}}'
            END;
            ALTER TABLE past DROP COLUMN ending;
            ALTER TABLE past RENAME COLUMN ending_text TO ending;"#
        ))?;
    }
    transaction.commit()
}
