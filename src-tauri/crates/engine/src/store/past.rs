//! The tables of what has ended: written once a transfer, read for lists, never beyond their
//! limits.
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ringway_model::{
    Bottleneck, Counts, DeviceId, Direction, Edit, Fault, Outcome, Past, PastDetails, PastQuery, PathText, Pattern,
    Proven, Report, Selection, Source, Text, TransferId, TransferKey,
};
use ringway_tree::filesystem::selection;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, named_params, params};

use super::Store;
use crate::devices::reference::PathInShare;
use crate::devices::target::Target;
use crate::store::history::{
    Ended, PAST_FAILURES_ALL_MAX, PAST_FAILURES_MAX, PAST_MAX, PAST_UNANSWERED_MAX, Record, Reget, Remembered, Resend,
    ending,
};
use crate::store::series;

pub(super) const SCHEMA: &str = "
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
        reget        BLOB
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
";

/// What is kept of an offer's end that nobody answered.
const UNANSWERED: &str = r#"{"outcome":"failed","error":{"code":"unanswered"}}"#;

/// Bytes of JSON that say how a transfer ended. A path of the longest kind takes about 37 kB when
/// each of its bytes is escaped and repeated in hexadecimal.
const ENDING_LEN_MAX: usize = 64 * 1024;

/// Past transfers that are looked through for the folders that they went to, and the folders that
/// are told.
const RECEIVED_INTO_LOOKED_AT: u32 = 1_000;
const RECEIVED_INTO_MAX: usize = 256;

const COLUMNS: &str = "number, transfer, direction, device, device_name, title, more, target, paths, ended_ms, ending, \
    files, folders, links, bytes, unchanged, proven_files, proven_bytes, proven_ms, failed, running_ms, bottleneck, reconnected, resend, \
    target_device, edited, target_announced, moved, skipped, skipped_bytes, reused, excluded, \
    patterns, limit_bytes_per_s, in_share, acls_lost, reget, owners_by_number";

/// Gives a file of an earlier version the columns that have been added since.
pub(super) fn upgrade(connection: &Connection) -> rusqlite::Result<()> {
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
    endings_as_text(connection)
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

/// How a transfer ended, as it is kept: bounded, whatever names and texts the fault has.
fn ending_text(outcome: &Outcome) -> String {
    let mut kept = outcome.clone();
    if let Outcome::Failed(Fault::NotPublished { published, .. }) = &mut kept {
        published.clear();
    }
    let text = kept.to_json();
    match &kept {
        Outcome::Failed(fault) if text.len() > ENDING_LEN_MAX => {
            let said = fault.to_string();
            // What it becomes part of ends with a full stop.
            let detail: String = said.trim_end_matches('.').chars().take(ENDING_LEN_MAX / 32).collect();
            Outcome::Failed(Fault::Other { detail: detail.into() }).to_json()
        }
        _ => text,
    }
}

impl Store {
    /// Writes down a transfer that has ended, and lets go of the oldest ones beyond the limits.
    pub(crate) fn keep(&self, record: &Record, ended: &Ended<'_>) -> Result<(), Fault> {
        self.with(|connection| {
            // One transaction: one synchronisation of the disk.
            let transaction = connection.unchecked_transaction()?;
            answer(&transaction, ended)?;
            insert(&transaction, record, ended)?;
            prune(&transaction)?;
            transaction.commit()
        })
    }

    /// Past transfers, the latest first, `limit` of them at most; fewer mean that there are no
    /// more.
    pub(crate) fn past(&self, query: &PastQuery, limit: u32) -> Result<Vec<Past>, Fault> {
        self.with(|connection| {
            connection
                .prepare_cached(&format!(
                    "SELECT {COLUMNS} FROM past
                     WHERE (:direction IS NULL OR direction = :direction)
                       AND (NOT :failed_only OR NOT is_whole)
                       AND (:search IS NULL OR instr(words, :search))
                       AND (:before IS NULL OR number < :before)
                     ORDER BY number DESC"
                ))?
                .query_map(
                    named_params! {
                        ":direction": query.direction.map(direction_number),
                        ":failed_only": query.failed_only,
                        ":search": Some(query.search.trim().to_lowercase()).filter(|text| !text.is_empty()),
                        ":before": query.before.map(signed),
                    },
                    remembered,
                )?
                // What a later version, or nobody, has written is passed over.
                .filter_map(Result::transpose)
                .map(|found| found.map(|remembered| remembered.past))
                // Here and not in SQL: a row that is passed over takes no place of the page, so a
                // page that is not full is the last one.
                .take(limit as usize)
                .collect()
        })
    }

    /// Folders that were received into of late, each once, the latest first.
    pub(crate) fn received_into(&self) -> Result<Vec<PathBuf>, Fault> {
        let all: Vec<(Vec<u8>, bool)> = self.with(|connection| {
            connection
                .prepare_cached("SELECT paths, is_whole FROM past WHERE direction = ?1 ORDER BY number DESC LIMIT ?2")?
                .query_map(params![direction_number(Direction::Receiving), RECEIVED_INTO_LOOKED_AT], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })?
                .collect()
        })?;
        let mut folders: Vec<PathBuf> = Vec::new();
        let mut add = |folder: &Path| {
            if !folders.iter().any(|known| known == folder) && folder.is_dir() {
                folders.push(folder.to_owned());
            }
        };
        for (joined, is_whole) in all {
            for path in paths(joined) {
                path.parent().into_iter().for_each(&mut add);
                // It is where something arrived, or else where it was to go to.
                if !is_whole {
                    add(&path);
                }
            }
        }
        folders.truncate(RECEIVED_INTO_MAX);
        Ok(folders)
    }

    /// The latest one with each device; offers that nobody answered are none.
    pub(crate) fn last_with_each(&self) -> Result<Vec<Past>, Fault> {
        self.with(|connection| {
            connection
                .prepare_cached(&format!(
                    "SELECT {COLUMNS} FROM past
                     WHERE number IN (SELECT max(number) FROM past WHERE device IS NOT NULL AND ending <> ?1 GROUP BY device)"
                ))?
                .query_map([UNANSWERED], remembered)?
                .filter_map(Result::transpose)
                .map(|found| found.map(|remembered| remembered.past))
                .collect()
        })
    }

    /// One past transfer.
    pub(crate) fn one_past(&self, number: u64) -> Result<Option<Remembered>, Fault> {
        self.with(|connection| {
            connection
                .prepare_cached(&format!("SELECT {COLUMNS} FROM past WHERE number = ?1"))?
                .query_row([signed(number)], remembered)
                .optional()
                .map(Option::flatten)
        })
    }

    /// The latest that this machine sent with that id. Others draw the ids of what they offer: one
    /// that knows ours may use it, too.
    pub(crate) fn past_sent(&self, id: TransferId) -> Result<Option<Remembered>, Fault> {
        self.with(|connection| {
            connection
                .prepare_cached(&format!(
                    "SELECT {COLUMNS} FROM past WHERE transfer = ?1 AND direction = ?2 ORDER BY number DESC LIMIT 1"
                ))?
                .query_row(params![id.0, direction_number(Direction::Sending)], remembered)
                .optional()
                .map(Option::flatten)
        })
    }

    /// The latest that this machine got with that id.
    pub(crate) fn past_got(&self, id: TransferId) -> Result<Option<Remembered>, Fault> {
        self.with(|connection| {
            connection
                .prepare_cached(&format!(
                    "SELECT {COLUMNS} FROM past WHERE transfer = ?1 AND direction = ?2 AND target IS NOT NULL
                     ORDER BY number DESC LIMIT 1"
                ))?
                .query_row(params![id.0, direction_number(Direction::Receiving)], remembered)
                .optional()
                .map(Option::flatten)
        })
    }

    /// The latest that this machine got.
    pub(crate) fn last_got(&self) -> Result<Option<Remembered>, Fault> {
        self.with(|connection| {
            connection
                .prepare_cached(&format!(
                    "SELECT {COLUMNS} FROM past WHERE direction = ?1 AND target IS NOT NULL
                     ORDER BY number DESC LIMIT 1"
                ))?
                .query_row([direction_number(Direction::Receiving)], remembered)
                .optional()
                .map(Option::flatten)
        })
    }

    /// What is long of one; nothing if there is no such transfer.
    pub(crate) fn past_details(&self, number: u64) -> Result<PastDetails, Fault> {
        self.with(|connection| {
            let long = connection
                .prepare_cached("SELECT series, edits FROM past WHERE number = ?1")?
                .query_row([signed(number)], |row| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, Vec<u8>>(1)?)))
                .optional()?;
            let (series, kept) = long.unwrap_or_default();
            let mut statement = connection.prepare_cached(
                "SELECT path, side, operation, reason, errno FROM past_failure WHERE past = ?1 ORDER BY number",
            )?;
            let failures = statement.query_map([signed(number)], |row| {
                let fields = [row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?];
                Ok(ending::failure(row.get(0)?, fields))
            })?;
            Ok(PastDetails {
                failures: failures.filter_map(Result::transpose).collect::<Result<_, _>>()?,
                series: series::read(&series).unwrap_or_default(),
                edits: edits(&kept),
            })
        })
    }

    /// Forgets one past transfer; false if it was not known.
    pub(crate) fn forget_past(&self, number: u64) -> Result<bool, Fault> {
        self.with(|connection| {
            let transaction = connection.unchecked_transaction()?;
            transaction.execute("DELETE FROM past_failure WHERE past = ?1", [signed(number)])?;
            let forgotten = transaction.execute("DELETE FROM past WHERE number = ?1", [signed(number)])?;
            transaction.commit()?;
            Ok(forgotten > 0)
        })
    }

    /// Forgets what is kept of one transfer, by what told it apart while it ran; false if nothing
    /// was.
    pub(crate) fn forget_past_of(&self, direction: Direction, key: TransferKey) -> Result<bool, Fault> {
        self.with(|connection| {
            let transaction = connection.unchecked_transaction()?;
            let of_it = "transfer = ?1 AND direction = ?2 AND (?3 IS NULL OR device = ?3)";
            let named = params![key.id.0, direction_number(direction), key.from.map(|from| from.0)];
            transaction.execute(
                &format!("DELETE FROM past_failure WHERE past IN (SELECT number FROM past WHERE {of_it})"),
                named,
            )?;
            let forgotten = transaction.execute(&format!("DELETE FROM past WHERE {of_it}"), named)?;
            transaction.commit()?;
            Ok(forgotten > 0)
        })
    }

    /// Forgets all past transfers that ended before a moment; how many those were.
    pub(crate) fn forget_past_before(&self, moment: SystemTime) -> Result<u64, Fault> {
        self.with(|connection| {
            let transaction = connection.unchecked_transaction()?;
            let moment = ms_since_1970(moment);
            let of_those = "past IN (SELECT number FROM past WHERE ended_ms < ?1)";
            transaction.execute(&format!("DELETE FROM past_failure WHERE {of_those}"), [moment])?;
            let forgotten = transaction.execute("DELETE FROM past WHERE ended_ms < ?1", [moment])?;
            transaction.commit()?;
            Ok(forgotten as u64)
        })
    }
}

fn insert(transaction: &Transaction<'_>, record: &Record, ended: &Ended<'_>) -> rusqlite::Result<()> {
    let report = ended.report;
    let counts = &report.counts;
    let paths = record.paths(report);
    let mut joined = Vec::new();
    for path in &paths {
        joined.extend(path.as_os_str().as_bytes());
        joined.push(0);
    }
    let (title, more) = ended.title;
    transaction.execute(
        "INSERT INTO past (transfer, direction, device, device_name, title, more, target, paths, ended_ms, ending, is_whole,
            files, folders, links, bytes, unchanged, proven_files, proven_bytes, proven_ms, failed, running_ms, bottleneck,
            reconnected, series, words, resend, target_device, target_announced, edited, edits, moved, skipped, skipped_bytes, reused, excluded, patterns,
            limit_bytes_per_s, in_share, acls_lost, reget, owners_by_number)
         VALUES (:transfer, :direction, :device, :device_name, :title, :more, :target, :paths, :ended_ms, :ending, :is_whole,
            :files, :folders, :links, :bytes, :unchanged, :proven_files, :proven_bytes, :proven_ms, :failed, :running_ms, :bottleneck,
            :reconnected, :series, :words, :resend, :target_device, :target_announced, :edited, :edits,
            :moved, :skipped, :skipped_bytes, :reused, :excluded, :patterns, :limit_bytes_per_s, :in_share, :acls_lost, :reget,
            :owners_by_number)",
        named_params! {
            ":transfer": ended.id.0,
            ":direction": direction_number(ended.direction),
            ":device": ended.peer.map(|(id, _)| id.0),
            ":device_name": ended.peer.map(|(_, name)| name.as_str()),
            ":title": title.as_bytes(),
            ":more": signed(*more),
            ":target": record.target.as_ref().map(|(_, label)| label),
            ":target_device": record.target.as_ref().and_then(|(target, _)| match target {
                Target::Device(id) | Target::DeviceAt { id, .. } => Some(id.0),
                Target::Address(_) | Target::Announced { .. } => None,
            }),
            ":target_announced": record.target.as_ref().and_then(|(target, _)| match target {
                Target::Announced { fingerprint, .. } => Some(fingerprint.to_hex()),
                _ => None,
            }),
            ":paths": joined,
            ":ended_ms": ms_since_1970(report.ended_at),
            ":ending": ending_text(&report.outcome),
            ":is_whole": matches!(report.outcome, Outcome::Complete),
            ":files": signed(counts.files),
            ":folders": signed(counts.folders),
            ":links": signed(counts.links),
            ":bytes": signed(counts.bytes),
            ":unchanged": signed(counts.unchanged),
            ":proven_files": report.proven.map(|proven| signed(proven.files)),
            ":proven_bytes": report.proven.map(|proven| signed(proven.bytes)),
            ":proven_ms": report.proven.map(|proven| in_ms(proven.took)),
            ":failed": signed(counts.failed),
            ":running_ms": in_ms(report.running_for),
            ":bottleneck": report.limited_by.map(|bottleneck| bottleneck as u8),
            ":reconnected": report.reconnected,
            ":series": series::stored(ended.series),
            ":words": words(record, ended, &paths),
            ":resend": record.resend.as_ref().map(resend_stored),
            ":patterns": record.selection().and_then(patterns_stored),
            ":edited": signed(counts.edited),
            ":excluded": signed(counts.excluded),
            ":edits": edits_stored(&report.edits),
            ":moved": signed(counts.moved),
            ":skipped": signed(counts.skipped),
            ":skipped_bytes": signed(counts.skipped_bytes),
            ":reused": signed(counts.reused),
            ":limit_bytes_per_s": report.limit_bytes_per_s.map(signed),
            ":in_share": record.in_share.as_ref().map(|place| place.as_os_str().as_bytes()),
            ":acls_lost": signed(counts.acls_lost),
            ":owners_by_number": signed(counts.owners_by_number),
            ":reget": record.reget.as_ref().and_then(Reget::stored),
        },
    )?;
    let past = transaction.last_insert_rowid();
    let mut statement = transaction.prepare_cached(
        "INSERT INTO past_failure (past, path, side, operation, reason, errno) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for failure in report.failures.iter().take(PAST_FAILURES_MAX) {
        let [side, operation, reason, errno] = ending::failure_stored(failure);
        let path = failure.path.as_os_str().as_bytes();
        statement.execute(params![past, path, side, operation, reason, errno])?;
    }
    Ok(())
}

/// Of each one its path and the other name, each ended by a zero byte, which neither has.
fn edits_stored(edits: &[Edit]) -> Vec<u8> {
    let mut stored = Vec::new();
    for edit in edits.iter().take(PAST_FAILURES_MAX) {
        for part in [edit.path.as_os_str(), edit.beside.as_os_str()] {
            stored.extend(part.as_bytes());
            stored.push(0);
        }
    }
    stored
}

fn edits(stored: &[u8]) -> Vec<Edit> {
    let parts: Vec<_> = stored.split(|byte| *byte == 0).map(|part| OsString::from_vec(part.to_vec())).collect();
    parts.chunks_exact(2).map(|pair| Edit { path: pair[0].clone().into(), beside: pair[1].clone().into() }).collect()
}

/// What a search looks through: lines in lower case, so that no match reaches from one into the
/// next.
fn words(record: &Record, ended: &Ended<'_>, paths: &[&Path]) -> String {
    let title = ended.title.0.to_string_lossy().into_owned();
    let peer = ended.peer.map(|(_, name)| name.clone());
    let paths = paths.iter().map(|path| path.to_string_lossy().into_owned());
    let all: Vec<String> = [title]
        .into_iter()
        .chain(peer)
        .chain(record.target.as_ref().map(|(_, label)| label.clone()))
        .chain(record.in_share.as_ref().map(|place| place.as_os_str().to_string_lossy().into_owned()))
        .chain(paths)
        .collect();
    all.join("\n").to_lowercase()
}

/// The same as what nobody answered before takes its place, and makes room for more of those of its
/// device.
fn answer(transaction: &Transaction<'_>, ended: &Ended<'_>) -> rusqlite::Result<()> {
    let (Direction::Receiving, Some((device, _)), (title, more)) = (ended.direction, ended.peer, ended.title) else {
        return Ok(());
    };
    let same = "DELETE FROM past WHERE device = ?1 AND ending = ?2 AND title = ?3 AND more = ?4";
    transaction.execute(same, params![device.0, UNANSWERED, title.as_bytes(), signed(*more)])?;
    if !matches!(ended.report.outcome, Outcome::Failed(Fault::Unanswered)) {
        return Ok(());
    }
    let beyond = "DELETE FROM past WHERE device = ?1 AND ending = ?2 AND number <= (
        SELECT number FROM past WHERE device = ?1 AND ending = ?2 ORDER BY number DESC LIMIT 1 OFFSET ?3)";
    transaction.execute(beyond, params![device.0, UNANSWERED, PAST_UNANSWERED_MAX - 1]).map(drop)
}

/// Numbers are never used again, so the highest ones are the latest.
fn prune(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let beyond =
        |table: &str, most: u32| format!("(SELECT number FROM {table} ORDER BY number DESC LIMIT 1 OFFSET {most})");
    let last = beyond("past", PAST_MAX);
    transaction.execute(&format!("DELETE FROM past_failure WHERE past <= {last}"), [])?;
    transaction.execute(&format!("DELETE FROM past WHERE number <= {last}"), [])?;
    let last = beyond("past_failure", PAST_FAILURES_ALL_MAX);
    transaction.execute(&format!("DELETE FROM past_failure WHERE number <= {last}"), []).map(drop)
}

/// A row as it is told; none where it makes no sense.
fn remembered(row: &Row<'_>) -> rusqlite::Result<Option<Remembered>> {
    let count = |index: usize| row.get::<_, i64>(index).map(unsigned);
    let ms = |index: usize| row.get::<_, i64>(index).map(|ms| Duration::from_millis(unsigned(ms)));
    let (Some(outcome), Some(direction)) =
        (row.get_ref(10)?.as_str().ok().and_then(Outcome::from_json), direction(row.get(2)?))
    else {
        return Ok(None);
    };
    let device = row.get::<_, Option<[u8; 32]>>(3)?.map(DeviceId);
    let proven = match row.get::<_, Option<i64>>(16)? {
        None => None,
        Some(files) => Some(Proven { files: unsigned(files), bytes: count(17)?, took: ms(18)? }),
    };
    let bottleneck = row.get::<_, Option<u8>>(21)?;
    let paths = paths(row.get(8)?);
    let (peer_id, peer) = device.zip(row.get::<_, Option<String>>(4)?).unzip();
    let patterns = selection::of_lines(&row.get::<_, Option<Vec<u8>>>("patterns")?.unwrap_or_default());
    let in_share = row.get::<_, Option<Vec<u8>>>("in_share")?;
    let stored = row.get::<_, Option<Vec<u8>>>(23)?;
    let resend = stored.and_then(|stored| resend(&stored, &paths, patterns.clone(), in_share.as_deref()));
    let paths: Vec<PathText> = paths.into_iter().map(PathText).collect();
    // Of what failed, the paths are the folder that it was to land in.
    let has_arrived = direction != Direction::Sending
        && !matches!(&outcome, Outcome::Failed(fault) if !matches!(fault, Fault::NotPublished { .. }));
    let past = Past {
        number: count(0)?,
        id: TransferId(row.get(1)?),
        direction,
        peer: peer.map(Text),
        peer_id,
        target: row.get::<_, Option<String>>(7)?.map(Text),
        in_share: in_share.map(|place| OsString::from_vec(place).into()),
        title: OsString::from_vec(row.get(5)?).into(),
        more_names: count(6)?,
        report: Report {
            counts: counts(row)?,
            proven,
            running_for: ms(20)?,
            limited_by: bottleneck.and_then(|index| Bottleneck::ALL.get(usize::from(index)).copied()),
            limit_bytes_per_s: row.get::<_, Option<i64>>("limit_bytes_per_s")?.map(unsigned),
            reconnected: row.get(22)?,
            arrived: if has_arrived { paths.clone() } else { Vec::new() },
            ..Report::new(outcome, UNIX_EPOCH + ms(9)?)
        },
        paths,
    };
    let reget = row.get::<_, Option<Vec<u8>>>("reget")?.and_then(|stored| Reget::read(&stored, patterns));
    Ok(Some(Remembered {
        past,
        resend,
        reget,
        target_device: row.get::<_, Option<[u8; 32]>>("target_device")?.map(DeviceId),
        target_announced: row.get("target_announced")?,
    }))
}

fn counts(row: &Row<'_>) -> rusqlite::Result<Counts> {
    let count = |name: &str| row.get::<_, i64>(name).map(unsigned);
    // Earlier versions did not count what moved.
    let moved = row.get::<_, Option<i64>>("moved")?.map(unsigned);
    Ok(Counts {
        files: count("files")?,
        folders: count("folders")?,
        links: count("links")?,
        bytes: count("bytes")?,
        moved: moved.map_or_else(|| count("bytes"), Ok)?,
        unchanged: count("unchanged")?,
        skipped: count("skipped")?,
        skipped_bytes: count("skipped_bytes")?,
        reused: count("reused")?,
        edited: count("edited")?,
        excluded: count("excluded")?,
        acls_lost: count("acls_lost")?,
        owners_by_number: count("owners_by_number")?,
        failed: count("failed")?,
    })
}

fn paths(joined: Vec<u8>) -> Vec<PathBuf> {
    let each = joined.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    each.map(|path| OsString::from_vec(path.to_vec()).into()).collect()
}

/// Whether it is verified, and then of each path whether its contents were sent instead of the
/// folder.
fn resend_stored(resend: &Resend) -> Vec<u8> {
    let contents_only = resend.sources.iter().map(|source| source.contents_only);
    [resend.verify].into_iter().chain(contents_only).map(u8::from).collect()
}

/// The patterns, as the lines of a .gitignore file; none where there are none.
fn patterns_stored(selection: &Selection) -> Option<Vec<u8>> {
    let lines: Vec<Vec<u8>> = selection.patterns.iter().map(selection::to_line).collect();
    (!lines.is_empty()).then(|| lines.join(&b'\n'))
}

/// None also for a place that this version would not have written: elsewhere it is not sent again.
fn resend(stored: &[u8], paths: &[PathBuf], patterns: Vec<Pattern>, in_share: Option<&[u8]>) -> Option<Resend> {
    let in_share = in_share.map(PathInShare::parse).transpose().ok()?;
    let (verify, contents_only) = stored.split_first()?;
    let source =
        |(path, contents_only): (&PathBuf, &u8)| Source { path: path.clone(), contents_only: *contents_only != 0 };
    let sources = paths.iter().zip(contents_only).map(source).collect();
    (paths.len() == contents_only.len()).then_some(Resend {
        sources,
        selection: Selection { patterns, paths: None },
        verify: *verify != 0,
        in_share,
    })
}

fn direction_number(direction: Direction) -> u8 {
    match direction {
        Direction::Sending => 0,
        Direction::Receiving => 1,
        Direction::Copying => 2,
    }
}

fn direction(number: u8) -> Option<Direction> {
    [Direction::Sending, Direction::Receiving, Direction::Copying].get(usize::from(number)).copied()
}

/// SQLite's integers have a sign.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn in_ms(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

fn ms_since_1970(moment: SystemTime) -> i64 {
    moment.duration_since(UNIX_EPOCH).map_or(0, in_ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receiving::event::keep_unanswered;
    use ringway_model::{AuthError, Failure, FailureReason, Offer, Operation, SeriesPoint, Side};
    use std::sync::Arc;

    struct Home {
        folder: tempfile::TempDir,
        store: Arc<Store>,
    }

    fn nas() -> (Target, String) {
        (Target::Device(DeviceId([3; 32])), "nas.lan".to_owned())
    }

    impl Home {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let store = Arc::new(Store::open(folder.path()).unwrap());
            Self { folder, store }
        }

        fn keep(&self, direction: Direction, title: &str, report: &Report, series: &[SeriesPoint]) {
            let target = (direction == Direction::Sending).then(nas);
            let source = Source { path: "/the/Inbox".into(), contents_only: true };
            let resend = target.is_some().then(|| Resend {
                sources: vec![source],
                selection: Selection { patterns: patterns(), paths: None },
                verify: true,
                in_share: Some(PathInShare::parse(b"inbox/a b/c\xff").unwrap()),
            });
            let in_share = resend.as_ref().and_then(|resend| resend.in_share.as_ref()).map(PathInShare::shown);
            let (store, paths) = (Arc::clone(&self.store), vec!["/the/Inbox".into()]);
            let record = Record { store, target, paths, in_share, resend, reget: None };
            let (peer, title) = ((DeviceId([3; 32]), "Übung".to_owned()), (title.into(), 2));
            let (id, peer, title) = (TransferId([9; 16]), Some(&peer), &title);
            record.keep(&Ended { id, direction, peer, title, report, series });
        }

        fn keep_with(&self, device: Option<u8>, title: &str) {
            let (store, paths) = (Arc::clone(&self.store), Vec::new());
            let record = Record { store, target: None, paths, in_share: None, resend: None, reget: None };
            let peer = device.map(|device| (DeviceId([device; 32]), "nas".to_owned()));
            let (id, title, direction) = (TransferId([9; 16]), (title.into(), 0), Direction::Receiving);
            record.keep(&Ended { id, direction, peer: peer.as_ref(), title: &title, report: &complete(), series: &[] });
        }

        fn unanswered(&self, device: u8, title: &str) {
            let offer = Offer {
                id: TransferId([9; 16]),
                from: "nas".into(),
                from_id: DeviceId([device; 32]),
                looks_like: None,
                names: vec![title.into()],
                more_names: 0,
                dot_names: Vec::new(),
                more_dot_names: 0,
                entries_so_far: 1,
                bytes_so_far: 7,
                totals_final: false,
                destination: "/the/Inbox".into(),
                in_share: None,
                is_home: false,
                free_space: None,
                asked_because: None,
                comparison: None,
            };
            keep_unanswered(&offer, &self.store);
        }

        fn titles(&self, query: &PastQuery) -> Vec<String> {
            let titles = self.store.past(query, 100).unwrap().into_iter();
            titles.map(|past| past.title.to_string()).collect()
        }
    }

    fn patterns() -> Vec<Pattern> {
        let out = |text: &[u8]| Pattern::Exclude(text.into());
        vec![out(b"*.tmp"), out(b"!odd"), out(b"#odd"), Pattern::Include(b"keep.tmp".to_vec()), out(b"\xff")]
    }

    fn report(outcome: Outcome, failures: usize) -> Report {
        let failure = |n| Failure {
            path: format!("data/{n}").into(),
            side: Side::There,
            operation: Operation::Write,
            reason: FailureReason::Os { errno: 28 },
        };
        Report {
            counts: Counts {
                files: 5,
                folders: 4,
                links: 3,
                bytes: u64::MAX,
                moved: 8,
                unchanged: 1,
                skipped: 2,
                skipped_bytes: 7,
                reused: 9,
                edited: 1,
                excluded: 8,
                acls_lost: 6,
                owners_by_number: 7,
                failed: failures as u64,
            },
            proven: Some(Proven { files: 5, bytes: 6, took: Duration::from_millis(7) }),
            edits: vec![Edit { path: "data/p2.jpg".into(), beside: "p2 (1).jpg".into() }],
            failures: (0..failures).map(failure).collect(),
            running_for: Duration::from_millis(1_234),
            limited_by: Some(Bottleneck::Limit),
            limit_bytes_per_s: Some(3_000_000),
            lanes: 1,
            reconnected: 2,
            ..Report::new(outcome, SystemTime::now())
        }
    }

    fn complete() -> Report {
        report(Outcome::Complete, 0)
    }

    #[test]
    fn what_ended_is_there_for_every_program_as_it_was() {
        let home = Home::new();
        let series =
            [SeriesPoint { at: Duration::from_millis(100), bytes: 5, entries: 1, limited_by: None, reconnected: 2 }];
        home.keep(
            Direction::Receiving,
            "data",
            &report(Outcome::Failed(Fault::DestinationFull { shortage: None }), 2),
            &series,
        );
        let other = Store::open(home.folder.path()).unwrap();
        let [past] = &other.past(&PastQuery::default(), 9).unwrap()[..] else { panic!("not one") };
        assert_eq!((past.direction, &past.target), (Direction::Receiving, &None));
        assert_eq!((past.peer_id, past.peer.as_deref()), (Some(DeviceId([3; 32])), Some("Übung")));
        assert_eq!((&past.title, past.more_names, &past.paths[..]), (&"data".into(), 2, &["/the/Inbox".into()][..]));
        assert_eq!(past.report.arrived, [""; 0], "where it was to land is not what arrived");
        assert!(matches!(past.report.outcome, Outcome::Failed(Fault::DestinationFull { shortage: None })));
        // SQLite's integers end at half of ours.
        assert_eq!(
            past.report.counts,
            Counts { bytes: i64::MAX as u64, failed: 2, ..report(Outcome::Complete, 0).counts }
        );
        assert_eq!(past.report.proven, Some(Proven { files: 5, bytes: 6, took: Duration::from_millis(7) }));
        assert_eq!(
            (past.report.running_for, past.report.limited_by),
            (Duration::from_millis(1_234), Some(Bottleneck::Limit))
        );
        assert_eq!((past.report.reconnected, past.report.limit_bytes_per_s), (2, Some(3_000_000)));
        assert!(past.report.ended_at.elapsed().unwrap() < Duration::from_secs(60));
        let details = other.past_details(past.number).unwrap();
        assert_eq!((details.series, details.failures.len()), (series.to_vec(), 2));
        assert_eq!(details.failures[1].path.to_str(), Some("data/1"));
        assert_eq!((past.report.counts.edited, details.edits[0].path.to_str()), (1, Some("data/p2.jpg")));
        assert_eq!((details.edits.len(), details.edits[0].beside.to_str()), (1, Some("p2 (1).jpg")));
    }

    #[test]
    fn what_arrived_is_where_it_lies() {
        let home = Home::new();
        let arrived = (0..100).map(|n| format!("/in/{n}").into()).collect();
        home.keep(Direction::Receiving, "data", &Report { arrived, ..complete() }, &[]);
        let past = home.store.past(&PastQuery::default(), 1).unwrap();
        assert_eq!((past[0].paths.len(), past[0].paths[0].to_str()), (16, Some("/in/0")));
    }

    #[test]
    fn lists_can_be_narrowed_and_read_on() {
        let home = Home::new();
        home.keep(Direction::Sending, "alpha", &complete(), &[]);
        home.keep(Direction::Receiving, "Beta%", &report(Outcome::Partial, 1), &[]);
        home.keep(Direction::Receiving, "gamma", &complete(), &[]);
        let all = PastQuery::default;
        assert_eq!(home.titles(&all()), ["gamma", "Beta%", "alpha"]);
        let received = PastQuery { direction: Some(Direction::Receiving), ..all() };
        assert_eq!(home.titles(&received), ["gamma", "Beta%"]);
        assert_eq!(home.titles(&PastQuery { failed_only: true, ..all() }), ["Beta%"]);
        let last = home.store.past(&all(), 1).unwrap()[0].number;
        assert_eq!(home.titles(&PastQuery { before: Some(last), ..all() }), ["Beta%", "alpha"]);
        let search = |text: &str| home.titles(&PastQuery { search: text.into(), ..all() });
        assert_eq!(search("ALPHA"), ["alpha"]);
        assert_eq!(search("a%"), ["Beta%"]);
        assert_eq!(search("nas.LAN"), ["alpha"]);
        assert_eq!(search("übUNG").len(), 3);
        assert_eq!(search("/the/inbox").len(), 3);
        assert!(search("alpha\nnas").is_empty());
        assert!(search("'; DROP TABLE past; --").is_empty());
    }

    #[test]
    fn what_nobody_answered_is_there_once_until_it_came_and_is_bounded_for_each_device() {
        let home = Home::new();
        let all = PastQuery::default();
        for title in ["photos", "thesis", "photos"] {
            home.unanswered(1, title);
        }
        home.unanswered(2, "photos");
        assert_eq!(home.titles(&all), ["photos", "photos", "thesis"]);
        home.keep_with(Some(1), "photos");
        home.keep_with(Some(2), "thesis");
        assert_eq!(home.titles(&all), ["thesis", "photos", "photos", "thesis"], "another device's stays");
        for title in 0..2 * PAST_UNANSWERED_MAX {
            home.unanswered(1, &title.to_string());
        }
        let kept = home.titles(&all);
        assert_eq!(kept.len() as u32, PAST_UNANSWERED_MAX + 3);
        assert_eq!((kept[0].as_str(), kept[kept.len() - 1].as_str()), ("39", "photos"));
        let missed = &home.store.past(&all, 1).unwrap()[0];
        assert!(matches!(missed.report.outcome, Outcome::Failed(Fault::Unanswered)));
        assert_eq!((missed.report.counts.bytes, missed.report.counts.files), (7, 0));
    }

    #[test]
    fn the_latest_with_each_device_is_found_and_none_with_nobody() {
        let home = Home::new();
        for (device, title) in [(Some(1), "old"), (Some(2), "other"), (None, "never reached"), (Some(1), "new")] {
            home.keep_with(device, title);
        }
        let mut last: Vec<_> = home.store.last_with_each().unwrap().into_iter().map(|past| past.title).collect();
        last.sort();
        assert_eq!(last, ["new", "other"]);
        home.unanswered(1, "nobody was there");
        assert_eq!(home.store.last_with_each().unwrap().len(), 2);
        assert!(home.store.last_with_each().unwrap().iter().all(|past| past.title != "nobody was there"));
    }

    #[test]
    fn what_is_forgotten_is_gone_with_its_failures_and_no_number_comes_again() {
        let home = Home::new();
        home.keep(Direction::Sending, "a", &report(Outcome::Partial, 3), &[]);
        let number = home.store.past(&PastQuery::default(), 1).unwrap()[0].number;
        assert!(home.store.forget_past(number).unwrap());
        assert!(!home.store.forget_past(number).unwrap());
        assert!(home.store.one_past(number).unwrap().is_none());
        assert!(home.store.past_details(number).unwrap().failures.is_empty());
        home.keep(Direction::Sending, "b", &complete(), &[]);
        let next = home.store.past(&PastQuery::default(), 1).unwrap()[0].number;
        assert!(next > number);
        assert_eq!(home.store.forget_past_before(SystemTime::now() - Duration::from_secs(60)).unwrap(), 0);
        assert_eq!(home.store.forget_past_before(SystemTime::now() + Duration::from_secs(60)).unwrap(), 1);
        assert!(home.titles(&PastQuery::default()).is_empty());
    }

    #[test]
    fn a_transfer_is_forgotten_by_its_id_way_and_device() {
        let home = Home::new();
        home.keep(Direction::Sending, "ours", &report(Outcome::Partial, 2), &[]);
        home.keep(Direction::Receiving, "theirs", &complete(), &[]);
        let key =
            |from: Option<u8>| TransferKey { from: from.map(|from| DeviceId([from; 32])), id: TransferId([9; 16]) };
        assert!(!home.store.forget_past_of(Direction::Receiving, key(Some(4))).unwrap(), "another device's");
        assert!(home.store.forget_past_of(Direction::Sending, key(None)).unwrap());
        assert_eq!(home.titles(&PastQuery::default()), ["theirs"]);
        assert!(home.store.forget_past_of(Direction::Receiving, key(Some(3))).unwrap());
        assert!(home.titles(&PastQuery::default()).is_empty());
    }

    #[test]
    fn a_send_that_is_asked_for_a_code_is_not_history() {
        let home = Home::new();
        let error = Fault::Auth(AuthError::PairingNeeded { peer_name: "x".into() });
        home.keep(Direction::Sending, "a", &report(Outcome::Failed(error), 0), &[]);
        assert!(home.titles(&PastQuery::default()).is_empty());
    }

    #[test]
    fn the_oldest_go_when_there_are_too_many() {
        let home = Home::new();
        home.keep(Direction::Sending, "first", &report(Outcome::Partial, 1_000), &[]);
        let number = home.store.past(&PastQuery::default(), 1).unwrap()[0].number;
        assert_eq!(home.store.past_details(number).unwrap().failures.len(), PAST_FAILURES_MAX);
        let clones = |table: &str, columns: &str, times: u32| {
            let sql = format!(
                "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {times})
                 INSERT INTO {table} ({columns}) SELECT {columns} FROM n, (SELECT * FROM {table} LIMIT 1)"
            );
            home.store.with(|connection| connection.execute(&sql, [])).unwrap();
        };
        clones("past_failure", "past, path, side, operation, reason, errno", PAST_FAILURES_ALL_MAX);
        home.keep(Direction::Sending, "second", &report(Outcome::Partial, 5), &[]);
        let count = |table: &str| {
            let sql = format!("SELECT count(*) FROM {table}");
            home.store.with(|connection| connection.query_row(&sql, [], |row| row.get::<_, u32>(0))).unwrap()
        };
        assert_eq!(count("past_failure"), PAST_FAILURES_ALL_MAX);
        let columns = "transfer, direction, title, more, paths, ended_ms, ending, is_whole, files, folders, links, bytes, \
            unchanged, failed, running_ms, reconnected, series, words";
        clones("past", columns, PAST_MAX);
        home.keep(Direction::Sending, "last", &complete(), &[]);
        assert_eq!(count("past"), PAST_MAX);
        assert!(home.store.one_past(number).unwrap().is_none());
        assert_eq!(home.store.past(&PastQuery::default(), 1).unwrap()[0].title, "last");
    }

    #[test]
    fn what_was_sent_can_be_found_to_be_sent_again() {
        let home = Home::new();
        home.keep(Direction::Sending, "data", &report(Outcome::Partial, 1), &[]);
        let past = home.store.past_sent(TransferId([9; 16])).unwrap().unwrap();
        let resend = past.resend.unwrap();
        assert_eq!((resend.verify, resend.sources.len()), (true, 1));
        assert_eq!(resend.sources[0], Source { path: "/the/Inbox".into(), contents_only: true });
        let wanted = [&patterns()[0], &Pattern::Exclude(br"\!odd".to_vec()), &Pattern::Exclude(br"\#odd".to_vec())];
        let selection = resend.selection;
        assert_eq!(selection.patterns.iter().take(3).collect::<Vec<_>>(), wanted, "they mean the same");
        assert_eq!((&selection.patterns[3..], selection.paths), (&patterns()[3..], None));
        assert!(home.store.past_sent(TransferId([8; 16])).unwrap().is_none());
        // What fits nothing.
        home.keep(Direction::Sending, "data", &complete(), &[]);
        home.store.with(|connection| connection.execute("UPDATE past SET resend = x'000000'", [])).unwrap();
        assert_eq!(home.store.past_sent(TransferId([9; 16])).unwrap().unwrap().resend, None);
    }

    #[test]
    fn what_came_by_the_id_of_what_was_sent_does_not_hide_that() {
        let home = Home::new();
        home.keep(Direction::Sending, "ours", &complete(), &[]);
        home.keep(Direction::Receiving, "theirs", &complete(), &[]);
        home.unanswered(3, "theirs, too");
        let Remembered { past, resend, .. } = home.store.past_sent(TransferId([9; 16])).unwrap().unwrap();
        assert_eq!((past.title.to_str(), past.direction), (Some("ours"), Direction::Sending));
        assert!(resend.is_some());
    }

    #[test]
    fn a_file_of_an_earlier_version_gets_its_columns_and_keeps_what_it_has() {
        let home = Home::new();
        home.keep(Direction::Sending, "early", &complete(), &[]);
        home.store.with(|connection| connection.execute_batch("ALTER TABLE past DROP COLUMN resend")).unwrap();
        let later = Store::open(home.folder.path()).unwrap();
        let [past] = &later.past(&PastQuery::default(), 9).unwrap()[..] else { panic!("not one") };
        let resend = |number| later.one_past(number).unwrap().unwrap().resend;
        assert_eq!((past.title.to_str(), resend(past.number)), (Some("early"), None));
        home.keep(Direction::Sending, "late", &complete(), &[]);
        assert!(resend(later.past(&PastQuery::default(), 1).unwrap()[0].number).is_some());
    }

    #[test]
    fn endings_of_an_earlier_version_are_read_and_new_ones_are_kept() {
        let home = Home::new();
        for (title, old) in [("whole", "00"), ("partial", "01"), ("unanswered", "1d"), ("failed", "0900")] {
            home.keep(Direction::Receiving, title, &complete(), &[]);
            let back = format!(
                "ALTER TABLE past ADD COLUMN old BLOB NOT NULL DEFAULT x'00'; UPDATE past SET old = x'{old}';
                 ALTER TABLE past DROP COLUMN ending; ALTER TABLE past RENAME COLUMN old TO ending;"
            );
            home.store.with(|connection| connection.execute_batch(&back)).unwrap();
            let later = Store::open(home.folder.path()).unwrap();
            let outcome = later.past(&PastQuery::default(), 1).unwrap()[0].report.outcome.clone();
            let expected = match title {
                "whole" => matches!(outcome, Outcome::Complete),
                "partial" => matches!(outcome, Outcome::Partial),
                "unanswered" => matches!(outcome, Outcome::Failed(Fault::Unanswered)),
                _ => matches!(outcome, Outcome::Failed(Fault::Other { .. })),
            };
            assert!(expected, "{title}: {outcome:?}");
        }
        home.keep(Direction::Receiving, "new", &report(Outcome::Partial, 1), &[]);
        assert!(matches!(home.store.past(&PastQuery::default(), 1).unwrap()[0].report.outcome, Outcome::Partial));
    }

    #[test]
    fn long_names_in_a_fault_are_bounded_in_the_history() {
        let long = || ringway_model::PathText::from("\u{202e}".repeat(1_300));
        let published = vec![long(); 64];
        let refused = std::io::Error::from_raw_os_error(13).into();
        let fault = Fault::NotPublished { path: long(), operation: Operation::Rename, source: refused, published };
        let text = ending_text(&Outcome::Failed(fault));
        assert!(text.len() <= ENDING_LEN_MAX, "{}", text.len());
        assert!(matches!(Outcome::from_json(&text), Some(Outcome::Failed(Fault::NotPublished { .. }))));
        let endless = Outcome::Failed(Fault::Tls { detail: "\u{202e}".repeat(1 << 20).into() });
        assert!(ending_text(&endless).len() <= ENDING_LEN_MAX);
    }

    #[test]
    fn a_row_that_makes_no_sense_is_passed_over() {
        let home = Home::new();
        home.keep(Direction::Sending, "odd", &complete(), &[]);
        home.store.with(|connection| connection.execute("UPDATE past SET ending = '{}', series = x'ff'", [])).unwrap();
        home.keep(Direction::Sending, "no text", &complete(), &[]);
        let no_text = "UPDATE past SET ending = CAST(x'ff' AS TEXT) WHERE title = CAST('no text' AS BLOB)";
        assert_eq!(home.store.with(|connection| connection.execute(no_text, [])).unwrap(), 1);
        home.keep(Direction::Sending, "good", &complete(), &[]);
        assert_eq!(home.titles(&PastQuery::default()), ["good"]);
    }

    #[test]
    fn damaged_rows_leave_pages_full_and_nothing_behind_them_is_lost() {
        let home = Home::new();
        for title in ["1", "2", "odd 3", "4", "odd 5", "odd 6", "7"] {
            home.keep(Direction::Sending, title, &complete(), &[]);
        }
        let damage = "UPDATE past SET ending = '{}' WHERE instr(title, CAST('odd' AS BLOB))";
        assert_eq!(home.store.with(|connection| connection.execute(damage, [])).unwrap(), 3);
        let mut before = None;
        let mut page = || {
            let page = home.store.past(&PastQuery { before, ..PastQuery::default() }, 2).unwrap();
            before = page.last().map(|past| past.number);
            page.iter().map(|past| past.title.to_string()).collect::<Vec<_>>()
        };
        assert_eq!([page(), page(), page()], [vec!["7", "4"], vec!["2", "1"], vec![]]);
    }
}
