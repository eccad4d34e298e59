//! One row of what has ended: written, and read back.
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ringway_model::{
    Bottleneck, Counts, DeviceId, Direction, Edit, Fault, Outcome, Past, PathText, Pattern, Proven, Report, Selection,
    Source, Text, TransferId,
};
use ringway_tree::filesystem::selection;
use ringway_tree::receive::FolderIdentity;
use rusqlite::{Row, Transaction, named_params, params};

use crate::devices::reference::PathInShare;
use crate::devices::target::Target;
use crate::store::history::{Ended, PAST_EDITS_MAX, PAST_FAILURES_MAX, Record, Reget, Remembered, Resend, ending};
use crate::store::series;

/// What is kept of an offer's end that nobody answered.
pub(super) const UNANSWERED: &str = r#"{"outcome":"failed","error":{"code":"unanswered"}}"#;

/// Bytes of JSON that say how a transfer ended. A path of the longest kind takes about 37 kB when
/// each of its bytes is escaped and repeated in hexadecimal.
pub(super) const ENDING_LEN_MAX: usize = 64 * 1024;

/// The columns that [`remembered`] reads.
pub(super) const COLUMNS: &str = "number, transfer, direction, device, device_name, title, more, target, paths, \
    ended_ms, ending, files, folders, links, bytes, unchanged, proven_files, proven_bytes, proven_ms, failed, \
    running_ms, bottleneck, reconnected, resend, target_device, edited, target_announced, moved, skipped, \
    skipped_bytes, reused, excluded, patterns, limit_bytes_per_s, in_share, acls_lost, reget, owners_by_number, \
    got_into, bytes_planned, rest";

/// Writes one down, with the number that it had before if it is given one, and returns its number.
/// `running`: the process that it runs in.
pub(super) fn insert(
    transaction: &Transaction<'_>,
    record: &Record,
    ended: &Ended<'_>,
    number: Option<u64>,
    running: Option<&str>,
) -> rusqlite::Result<u64> {
    let report = ended.report;
    let counts = &report.counts;
    let paths = record.paths(report);
    let mut joined = Vec::new();
    for path in &paths {
        joined.extend(path.as_os_str().as_bytes());
        joined.push(0);
    }
    let (title, more) = ended.title;
    let row = named_params! {
        ":number": number.map(signed),
        ":running": running,
        ":needs_code": running.is_none() && ended.needs_code(),
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
        ":bytes_planned": signed(report.bytes_planned),
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
        ":rest": Some(report.rest_to_json()).filter(|rest| rest.len() <= ENDING_LEN_MAX),
        ":limit_bytes_per_s": report.limit_bytes_per_s.map(signed),
        ":in_share": record.in_share.as_ref().map(|place| place.as_os_str().as_bytes()),
        ":acls_lost": signed(counts.acls_lost),
        ":owners_by_number": signed(counts.owners_by_number),
        ":reget": record.reget.as_ref().and_then(Reget::stored),
        ":got_into": record.reget.as_ref().and_then(|reget| reget.folder.as_ref()).map(FolderIdentity::encode),
    };
    let columns: Vec<&str> = row.iter().map(|(name, _)| name.trim_start_matches(':')).collect();
    let sql = format!("INSERT INTO past ({}) VALUES (:{})", columns.join(", "), columns.join(", :"));
    transaction.prepare_cached(&sql)?.execute(row)?;
    let past = transaction.last_insert_rowid();
    let mut statement = transaction.prepare_cached(
        "INSERT INTO past_failure (past, path, side, operation, reason, errno) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for failure in report.failures.iter().take(PAST_FAILURES_MAX) {
        let [side, operation, reason, errno] = ending::failure_stored(failure);
        let path = failure.path.as_os_str().as_bytes();
        statement.execute(params![past, path, side, operation, reason, errno])?;
    }
    Ok(unsigned(past))
}

/// How a transfer ended, as it is kept: bounded, whatever names and texts the fault has.
pub(super) fn ending_text(outcome: &Outcome) -> String {
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

/// Of each one its path and the other name, each ended by a zero byte, which neither has.
fn edits_stored(edits: &[Edit]) -> Vec<u8> {
    let mut stored = Vec::new();
    for edit in edits.iter().take(PAST_EDITS_MAX) {
        for part in [edit.path.as_os_str(), edit.beside.as_os_str()] {
            stored.extend(part.as_bytes());
            stored.push(0);
        }
    }
    stored
}

/// What [`edits_stored`] made.
pub(super) fn edits(stored: &[u8]) -> Vec<Edit> {
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

/// A row as the history shows it; `None` if it makes no sense.
pub(super) fn remembered(row: &Row<'_>) -> rusqlite::Result<Option<Remembered>> {
    let count = |name: &str| row.get::<_, i64>(name).map(unsigned);
    let ms = |name: &str| row.get::<_, i64>(name).map(|ms| Duration::from_millis(unsigned(ms)));
    let (Some(outcome), Some(direction)) =
        (row.get_ref("ending")?.as_str().ok().and_then(Outcome::from_json), direction(row.get("direction")?))
    else {
        return Ok(None);
    };
    let device = row.get::<_, Option<[u8; 32]>>("device")?.map(DeviceId);
    let proven = match row.get::<_, Option<i64>>("proven_files")? {
        None => None,
        Some(files) => Some(Proven { files: unsigned(files), bytes: count("proven_bytes")?, took: ms("proven_ms")? }),
    };
    let bottleneck = row.get::<_, Option<u8>>("bottleneck")?;
    let paths = paths(row.get("paths")?);
    let (peer_id, peer) = device.zip(row.get::<_, Option<String>>("device_name")?).unzip();
    let patterns = selection::of_lines(&row.get::<_, Option<Vec<u8>>>("patterns")?.unwrap_or_default());
    let in_share = row.get::<_, Option<Vec<u8>>>("in_share")?;
    let stored = row.get::<_, Option<Vec<u8>>>("resend")?;
    let resend = stored.and_then(|stored| resend(&stored, &paths, patterns.clone(), in_share.as_deref()));
    let paths: Vec<PathText> = paths.into_iter().map(PathText).collect();
    // Of what failed, the paths are the folder that it was to land in.
    let has_arrived = direction != Direction::Sending
        && !matches!(&outcome, Outcome::Failed(fault) if !matches!(fault, Fault::NotPublished { .. }));
    let rest = row.get::<_, Option<String>>("rest")?;
    let report = Report {
        counts: counts(row)?,
        bytes_planned: count("bytes_planned")?,
        proven,
        running_for: ms("running_ms")?,
        limited_by: bottleneck.and_then(|index| Bottleneck::ALL.get(usize::from(index)).copied()),
        limit_bytes_per_s: row.get::<_, Option<i64>>("limit_bytes_per_s")?.map(unsigned),
        reconnected: row.get("reconnected")?,
        arrived: if has_arrived { paths.clone() } else { Vec::new() },
        ..Report::new(outcome, UNIX_EPOCH + ms("ended_ms")?)
    };
    let past = Past {
        number: count("number")?,
        id: TransferId(row.get("transfer")?),
        direction,
        peer: peer.map(Text),
        peer_id,
        target: row.get::<_, Option<String>>("target")?.map(Text),
        in_share: in_share.map(|place| OsString::from_vec(place).into()),
        title: OsString::from_vec(row.get("title")?).into(),
        more_names: count("more")?,
        report: match rest {
            Some(rest) => report.with_rest(&rest),
            None => report,
        },
        paths,
    };
    let got_into = row.get::<_, Option<Vec<u8>>>("got_into")?;
    let reget = row.get::<_, Option<Vec<u8>>>("reget")?;
    let reget = reget.and_then(|stored| Reget::read(&stored, patterns, got_into.as_deref()));
    Ok(Some(Remembered {
        past,
        resend,
        reget,
        target_device: row.get::<_, Option<[u8; 32]>>("target_device")?.map(DeviceId),
        target_announced: row.get("target_announced")?,
        after: None,
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

/// Paths that were joined by zero bytes.
pub(super) fn paths(joined: Vec<u8>) -> Vec<PathBuf> {
    let each = joined.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    each.map(|path| OsString::from_vec(path.to_vec()).into()).collect()
}

const VERIFY: u8 = 1;
const BY_LIST: u8 = 2;

/// Whether it is verified and was sent by a list, and then of each path whether its contents were
/// sent instead of the folder.
fn resend_stored(resend: &Resend) -> Vec<u8> {
    let how = (VERIFY * u8::from(resend.verify)) | (BY_LIST * u8::from(resend.by_list));
    let contents_only = resend.sources.iter().map(|source| source.contents_only.into());
    [how].into_iter().chain(contents_only).collect()
}

/// The patterns, as the lines of a .gitignore file; `None` if there are none.
fn patterns_stored(selection: &Selection) -> Option<Vec<u8>> {
    let lines: Vec<Vec<u8>> = selection.patterns.iter().map(selection::to_line).collect();
    (!lines.is_empty()).then(|| lines.join(&b'\n'))
}

/// None also for a place that this version would not have written: elsewhere it is not sent again.
fn resend(stored: &[u8], paths: &[PathBuf], patterns: Vec<Pattern>, in_share: Option<&[u8]>) -> Option<Resend> {
    let in_share = in_share.map(PathInShare::parse).transpose().ok()?;
    let (how, contents_only) = stored.split_first()?;
    let source =
        |(path, contents_only): (&PathBuf, &u8)| Source { path: path.clone(), contents_only: *contents_only != 0 };
    let sources = paths.iter().zip(contents_only).map(source).collect();
    (paths.len() == contents_only.len() && how & !(VERIFY | BY_LIST) == 0).then_some(Resend {
        sources,
        selection: Selection { patterns, paths: None },
        by_list: how & BY_LIST != 0,
        verify: how & VERIFY != 0,
        in_share,
    })
}

pub(super) fn direction_number(direction: Direction) -> u8 {
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
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn in_ms(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

pub(super) fn ms_since_1970(moment: SystemTime) -> i64 {
    moment.duration_since(UNIX_EPOCH).map_or(0, in_ms)
}
