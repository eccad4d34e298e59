//! The tables of what has ended: written once a transfer, read for lists, never beyond their
//! limits.
use std::collections::HashSet;
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::SystemTime;

use ringway_model::{
    AfterFailure, Direction, Fault, Outcome, Past, PastDetails, PastQuery, Side, TransferId, TransferKey, TransferState,
};
use rusqlite::{Connection, OptionalExtension, Params, Transaction, named_params, params};
use std::os::unix::ffi::OsStrExt;

use super::{Store, process};
use crate::store::history::{
    Ended, LastStarted, PAST_FAILURES_ALL_MAX, PAST_MAX, PAST_UNANSWERED_MAX, Record, Remembered, ending,
};
use crate::store::series;
use row::{COLUMNS, UNANSWERED, direction_number, edits, insert, ms_since_1970, paths, remembered, signed};

mod row;
pub(super) mod schema;
#[cfg(test)]
mod tests;

/// Past transfers that are looked through for the folders that they went to, and the folders that
/// are told.
const RECEIVED_INTO_LOOKED_AT: u32 = 1_000;
const RECEIVED_INTO_MAX: usize = 256;

/// Past transfers that are looked through for failures that nobody has resolved: each may have to
/// be compared with all later ones of its title.
const UNRESOLVED_LOOKED_AT: i64 = 1_000;

/// Which later ones moved the same. One that reached nobody has a target only to compare.
const LATER_OF_THE_SAME: &str = "
    SELECT 1 FROM past AS later
    WHERE later.title = past.title AND later.number > past.number AND later.direction = past.direction
      AND later.more = past.more AND later.running IS NULL AND later.in_share IS past.in_share
      AND (later.device = past.device
        OR ((later.device IS NULL OR past.device IS NULL) AND later.target = past.target)
        OR (past.direction = 2 AND later.target IS past.target AND later.paths = past.paths))";

/// Whether the same was transferred later, for one that did not bring everything: true if all of it
/// arrived, false if some of it failed again. Each half has an index of its own
/// (`schema::SCHEMA`), and ends at the first row found.
static AFTER: LazyLock<String> = LazyLock::new(|| {
    format!(
        r#"CASE WHEN is_whole THEN NULL
             WHEN EXISTS ({LATER_OF_THE_SAME} AND later.is_whole) THEN 1
             WHEN EXISTS ({LATER_OF_THE_SAME} AND later.ending = '{{"outcome":"partial"}}') THEN 0
           END AS later_whole"#
    )
});

/// What tells transfers of the same apart from others.
fn what_moved(past: &Past) -> impl Eq + Hash + use<> {
    let whom = past.peer_id.map(|id| id.to_string()).or_else(|| past.target.as_ref().map(ToString::to_string));
    let place = past.in_share.as_ref().or_else(|| past.paths.first().filter(|_| past.direction == Direction::Copying));
    (past.direction as u8, past.title.clone(), past.more_names, whom, place.cloned())
}

impl Store {
    /// Writes down a transfer that has ended, in place of what was written of it before, and lets
    /// go of the oldest ones beyond the limits. Returns its number, which is the highest.
    pub(crate) fn keep(&self, record: &Record, ended: &Ended<'_>, before: Option<u64>) -> Result<u64, Fault> {
        self.write(record, ended, before, None)
    }

    /// The same of one that runs in this process. It keeps its number; none is written where it
    /// could not be told when this process has ended.
    pub(crate) fn keep_running(
        &self,
        record: &Record,
        so_far: &Ended<'_>,
        number: Option<u64>,
    ) -> Result<Option<u64>, Fault> {
        match process::this() {
            "" => Ok(None),
            this => self.write(record, so_far, number, Some(this)).map(Some),
        }
    }

    fn write(
        &self,
        record: &Record,
        ended: &Ended<'_>,
        before: Option<u64>,
        running: Option<&str>,
    ) -> Result<u64, Fault> {
        self.with(|connection| {
            // One transaction: one synchronisation of the disk.
            let transaction = connection.unchecked_transaction()?;
            if let Some(before) = before {
                forget(&transaction, before)?;
            }
            answer(&transaction, ended)?;
            transaction
                .execute("DELETE FROM past WHERE needs_code AND direction = ?1", [direction_number(ended.direction)])?;
            // One that has ended keeps its number only while no other was given.
            let number = match running {
                Some(_) => before,
                None => before.filter(|number| is_highest(&transaction, *number)),
            };
            let number = insert(&transaction, record, ended, number, running)?;
            prune(&transaction)?;
            transaction.commit()?;
            Ok(number)
        })
    }

    /// Works on what has ended: `running IS NULL`. That is what processes left that have ended
    /// without a word, too.
    fn with_ended<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Fault> {
        self.with(|connection| {
            let mut running =
                connection.prepare_cached("SELECT DISTINCT running FROM past WHERE running IS NOT NULL")?;
            let all = running.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?;
            for gone in all.iter().filter(|name| !process::runs(name)) {
                // A store that cannot be written can be read all the same.
                let _ = connection.execute("UPDATE past SET running = NULL WHERE running = ?1", [gone]);
            }
            work(connection)
        })
    }

    /// Past transfers, the latest first, `limit` of them at most; fewer mean that there are no
    /// more.
    pub(crate) fn past(&self, query: &PastQuery, limit: u32) -> Result<Vec<Past>, Fault> {
        let all = self.past_remembered(query, limit)?;
        Ok(all.into_iter().map(|remembered| remembered.past).collect())
    }

    /// The same, with what it takes to start them again.
    pub(crate) fn past_remembered(&self, query: &PastQuery, limit: u32) -> Result<Vec<Remembered>, Fault> {
        // Of those that failed again and again, the last one stands for all.
        let mut named = HashSet::new();
        let mut is_unresolved = |found: &Remembered| {
            TransferState::ended(&found.past.report.outcome).has_failed() && named.insert(what_moved(&found.past))
        };
        let after = &*AFTER;
        self.with_ended(|connection| {
            let newest: Option<i64> = connection.query_row("SELECT max(number) FROM past", [], |row| row.get(0))?;
            let newest = newest.unwrap_or_default();
            connection
                .prepare_cached(&format!(
                    "SELECT {COLUMNS}, {after} FROM past
                     WHERE running IS NULL AND NOT needs_code AND (:direction IS NULL OR direction = :direction)
                       AND (NOT :failed_only OR NOT is_whole)
                       AND (NOT :unresolved_only OR (number > :unresolved_from AND NOT is_whole AND later_whole IS NULL))
                       AND (:search IS NULL OR instr(words, :search))
                       AND (:before IS NULL OR number < :before)
                     ORDER BY number DESC"
                ))?
                .query_map(
                    named_params! {
                        ":direction": query.direction.map(direction_number),
                        ":failed_only": query.failed_only,
                        ":unresolved_only": query.unresolved_only,
                        ":unresolved_from": newest.saturating_sub(UNRESOLVED_LOOKED_AT),
                        ":search": Some(query.search.trim().to_lowercase()).filter(|text| !text.is_empty()),
                        ":before": query.before.map(signed),
                    },
                    |row| {
                        let after = match row.get::<_, Option<bool>>("later_whole")? {
                            None => None,
                            Some(true) => Some(AfterFailure::Resolved),
                            Some(false) => Some(AfterFailure::Repeated),
                        };
                        Ok(remembered(row)?.map(|found| Remembered { after, ..found }))
                    },
                )?
                // What a later version, or nobody, has written is passed over.
                .filter_map(Result::transpose)
                .filter(|found| !query.unresolved_only || found.as_ref().map_or(true, &mut is_unresolved))
                // Here and not in SQL: a row that is passed over takes no place of the page, so a
                // page that is not full is the last one.
                .take(limit as usize)
                .collect()
        })
    }

    /// Folders that were received into of late, each once, the latest first. Nobody has looked
    /// whether they are there.
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
            if !folders.iter().any(|known| known == folder) {
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
        self.with_ended(|connection| {
            connection
                .prepare_cached(&format!(
                    "SELECT {COLUMNS} FROM past
                     WHERE number IN (SELECT max(number) FROM past
                         WHERE running IS NULL AND NOT needs_code AND device IS NOT NULL AND ending <> ?1
                         GROUP BY device)"
                ))?
                .query_map([UNANSWERED], remembered)?
                .filter_map(Result::transpose)
                .map(|found| found.map(|remembered| remembered.past))
                .collect()
        })
    }

    /// One past transfer.
    pub(crate) fn one_past(&self, number: u64) -> Result<Option<Remembered>, Fault> {
        self.latest_past("number = ?1", [signed(number)])
    }

    /// Whether a transfer that another device goes on with has ended here by a person's will, or
    /// went to, or came from, another folder. A program that ran before may have known more of it.
    pub(crate) fn has_ended(&self, direction: Direction, key: TransferKey, folder: &Path) -> bool {
        let named = params![key.id.0, direction_number(direction), key.from.map(|from| from.0)];
        let known = self.latest_past("transfer = ?1 AND direction = ?2 AND device = ?3", named);
        // A store that cannot be asked stops nobody: the right to the folder is in it, too.
        known.ok().flatten().is_some_and(|known| match &known.past.report.outcome {
            Outcome::Complete | Outcome::Partial => false,
            Outcome::Failed(
                Fault::Cancelled { by: Side::Here, .. }
                | Fault::NoLongerShared { by: Side::Here }
                | Fault::PeerForgotten,
            ) => true,
            Outcome::Failed(_) => known.past.paths.first().is_some_and(|path| AsRef::<Path>::as_ref(path) != folder),
        })
    }

    /// The latest that this machine sent with that id. Others draw the ids of what they offer: one
    /// that knows ours may use it, too.
    pub(crate) fn past_sent(&self, id: TransferId) -> Result<Option<Remembered>, Fault> {
        let sent = params![id.0, direction_number(Direction::Sending)];
        self.latest_past("transfer = ?1 AND direction = ?2", sent)
    }

    /// The latest that this machine got with that id.
    pub(crate) fn past_got(&self, id: TransferId) -> Result<Option<Remembered>, Fault> {
        let got = params![id.0, direction_number(Direction::Receiving)];
        self.latest_past("transfer = ?1 AND direction = ?2 AND target IS NOT NULL", got)
    }

    /// The latest that this machine sent, or got, without being asked for it, also one that needs a
    /// code and is therefore not in the lists; one that was refused as wrong usage before it began
    /// is none. While one runs, in any program, nobody can say which is meant.
    pub(crate) fn last_started(&self, direction: Direction) -> Result<LastStarted, Fault> {
        let has_begun = |remembered: &Remembered| {
            let report = &remembered.past.report;
            let is_refused = matches!(report.outcome, Outcome::Failed(Fault::Invalid(_) | Fault::Config { .. }));
            !is_refused || report.bytes_planned > 0
        };
        self.with_ended(|connection| {
            // What ends in between is in neither of the two otherwise.
            let transaction = connection.unchecked_transaction()?;
            let runs = "SELECT 1 FROM past WHERE running IS NOT NULL AND direction = ?1 AND target IS NOT NULL";
            if transaction.prepare_cached(runs)?.exists([direction_number(direction)])? {
                return Ok(LastStarted::Runs);
            }
            let last = transaction
                .prepare_cached(&format!(
                    "SELECT {COLUMNS} FROM past
                     WHERE running IS NULL AND direction = ?1 AND target IS NOT NULL ORDER BY number DESC"
                ))?
                .query_map([direction_number(direction)], remembered)?
                .filter_map(Result::transpose)
                .find(|found| found.as_ref().map_or(true, has_begun))
                .transpose()?;
            Ok(last.map_or(LastStarted::Nothing, |last| LastStarted::Ended(Box::new(last))))
        })
    }

    /// The latest one of which `condition` is true.
    fn latest_past(&self, condition: &str, params: impl Params) -> Result<Option<Remembered>, Fault> {
        self.with_ended(|connection| {
            connection
                .prepare_cached(&format!(
                    "SELECT {COLUMNS} FROM past WHERE running IS NULL AND {condition} ORDER BY number DESC LIMIT 1"
                ))?
                .query_row(params, remembered)
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
            let was_known = forget(&transaction, number)?;
            transaction.commit()?;
            Ok(was_known)
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
        self.with_ended(|connection| {
            let transaction = connection.unchecked_transaction()?;
            let moment = ms_since_1970(moment);
            let those = "running IS NULL AND ended_ms < ?1";
            let of_those = format!("past IN (SELECT number FROM past WHERE {those})");
            transaction.execute(&format!("DELETE FROM past_failure WHERE {of_those}"), [moment])?;
            let forgotten = transaction.execute(&format!("DELETE FROM past WHERE {those}"), [moment])?;
            transaction.commit()?;
            Ok(forgotten as u64)
        })
    }
}

/// Whether no higher number was ever given.
fn is_highest(transaction: &Transaction<'_>, number: u64) -> bool {
    let highest = "SELECT 1 FROM sqlite_sequence WHERE name = 'past' AND seq = ?1";
    transaction.prepare_cached(highest).and_then(|mut highest| highest.exists([signed(number)])).unwrap_or(false)
}

/// Takes one out with its failures; false if it was not known.
fn forget(transaction: &Transaction<'_>, number: u64) -> rusqlite::Result<bool> {
    transaction.execute("DELETE FROM past_failure WHERE past = ?1", [signed(number)])?;
    Ok(transaction.execute("DELETE FROM past WHERE number = ?1", [signed(number)])? > 0)
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
