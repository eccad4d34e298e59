//! What `--json` writes, event by event: the manual and docs/json.md are made from this table.

/// What is known of an event, or of several that have the same fields.
pub(crate) struct Described {
    /// What `event` is.
    pub(crate) names: &'static [&'static str],
    /// The commands that write it.
    from: &'static str,
    /// Its fields.
    fields: &'static str,
}

/// Every event.
pub(crate) const EVENTS: &[Described] = &[
    Described {
        names: &["listening"],
        from: "recv",
        fields: "name, id, address, port, addresses (list of HOST:PORT), destination {path}, \
                 announced, code or null, code_valid_until or null",
    },
    Described {
        names: &["code"],
        from: "recv",
        fields: "the code changed: code (null: none is open, or a given one is), code_valid_until \
                 or null",
    },
    Described {
        names: &["paired"],
        from: "recv, pair",
        fields: "name, id; looks_like (name, id: another paired device whose name looks the same) \
                 or null",
    },
    Described { names: &["auth_failed"], from: "recv", fields: "from, code, message, tries_left or null" },
    Described {
        names: &["offer"],
        from: "recv",
        fields: "id, from, from_id, looks_like (as in paired), names (list of {path}), more_names, \
                 dot_names (list of {path}: the first that begin with a dot), more_dot_names, \
                 entries_so_far, bytes_so_far, totals_final, free_bytes, free_entries (null too \
                 where there is no limit), name_max, writable, all null where it could not be \
                 asked; destination {path}, rule (ask, accept: what the device's rule makes of \
                 it), asked_because (too_much, no_folder: why it is asked about in spite of it) or \
                 null",
    },
    Described {
        names: &["refused"],
        from: "recv",
        fields: "what a device has offered whose rule is to refuse: as offer, without the last \
                 three",
    },
    Described { names: &["answered"], from: "recv", fields: "id, accepted, reason or null" },
    Described {
        names: &["started"],
        from: "recv, send, copy",
        fields: "id, direction (sending, receiving, copying), peer, peer_id, title {path}, \
                 more_names, lanes, and the paths taken",
    },
    Described {
        names: &["planned"],
        from: "copy --dry-run",
        fields: "id, action (folder, file, overwrite, link, special, keep), path (at the \
                 destination)",
    },
    Described {
        names: &["progress"],
        from: "recv, send, copy",
        fields: "at most 4 a second: id, stage (connecting, awaiting_answer, queued, running, \
                 finishing, verifying, reconnecting, paused), entries_done, entries_total, \
                 bytes_done, bytes_moved (those of them that were sent), bytes_total, \
                 totals_final, failed, bytes_per_s, entries_per_s, seconds, seconds_left or null, \
                 stalled_seconds (how long nothing has moved, from 5 s on) or null, lanes, \
                 limited_by or null, interruption ({why, next_try_seconds, \
                 gives_up_seconds}, and what why comes with: while it is reconnecting or paused) or \
                 null",
    },
    Described {
        names: &["entry_failed"],
        from: "recv, send, copy",
        fields: "before finished: id, path, side (here, there), operation, reason, errno or null, \
                 message",
    },
    Described {
        names: &["entry_kept"],
        from: "recv, send",
        fields: "before finished: id, path, beside {path}: the receiver has changed this file \
                 since it was received and keeps it; what was sent is beside it under that name",
    },
    Described {
        names: &["finished"],
        from: "recv, send, copy",
        fields: "id, direction, peer, peer_id, outcome (complete, partial, failed), error ({code, \
                 message, next, where it was declined reason (by_choice, no_answer, no_room, \
                 not_writable, busy, paused, stopped, too_many_offers; with the last also \
                 wait_seconds), and where room was missing needed_bytes, free_bytes, \
                 missing_entries}) or null, files, folders, links, bytes (of a file with holes \
                 that came, what is stored; of one that was there, its size), moved (bytes of \
                 contents that this run of the program sent, as far as the receiver said to have \
                 them, or received, or copied; over all its connections, at most bytes unless it \
                 failed), unchanged (files and links that were there and are the same), skipped \
                 (those that stay by the receiver's policy), skipped_bytes (that were offered for \
                 those), reused (bytes of contents that were not sent, being in the files that \
                 they replaced), proven (after send --verify: {files, bytes, seconds}: what was \
                 read back from the receiver's medium and is what the sender read, and how long \
                 that took) or null, edited (files that the receiver has changed and keeps: \
                 entry_kept names them), failed, seconds, lanes, lanes_dropped (added ones that \
                 could not be had, or broke before they carried anything: done without), \
                 reconnected (how often it went on after its connection was lost), limited_by or \
                 null (for the longest time), times or null, packed ({contents, wire}: bytes of \
                 contents that went packed, before and after; at the sender) or null, arrived \
                 (recv, copy: list of {path}; after a dry run, what would be there), left_behind \
                 (recv: {path} of its staging folder, where that could not be removed after \
                 everything had its final name) or null, and the paths taken; copy: dry_run and \
                 copy",
    },
    Described {
        names: &["device"],
        from: "devices",
        fields: "name, id, paired_at, last_seen or null, last_address or null, rule (offers: ask, \
                 accept, refuse; folder {path} or null, max_bytes or null); looks_like as in \
                 paired",
    },
    Described { names: &["rule"], from: "devices rule", fields: "id, name, rule as in device" },
    Described {
        names: &["nearby"],
        from: "devices --nearby",
        fields: "what a receiver announces, unproven: name, id_begins (16 digits), kind (laptop, \
                 desktop, server, other), code_number or null, version (of the protocol), \
                 addresses; and paired_as: the name of the paired device that it would be, or null",
    },
    Described { names: &["renamed"], from: "devices", fields: "id, old, name" },
    Described { names: &["forgotten"], from: "devices", fields: "id, name" },
    Described {
        names: &["past"],
        from: "inbox",
        fields: "number, id, direction, peer, peer_id or null, target (of what was sent) or null, \
                 title {path}, more_names, paths (list of {path}: what was sent, or where it \
                 lies), ended_at, outcome, error, files, folders, links, bytes, moved, unchanged, \
                 skipped, skipped_bytes, reused, proven, edited, failed, seconds, limited_by, \
                 reconnected as in finished; show: failures (list of {path, side, operation, \
                 reason, errno, message}), kept (list of {path, beside}) and series (list of \
                 {seconds, bytes, entries, limited_by}: what had been done by then)",
    },
    Described { names: &["past_forgotten"], from: "inbox forget, clear", fields: "transfers (how many)" },
    Described {
        names: &["unfinished"],
        from: "inbox unfinished",
        fields: "id (16 digits), folder {path}, from or null, names (list of {path}), more_names, \
                 files, disk_bytes, last_at_work, in_use",
    },
    Described { names: &["discarded"], from: "inbox discard", fields: "id, disk_bytes" },
    Described {
        names: &["settings"],
        from: "settings",
        fields: "name, id, port, receive_folder {path}, into_home (refuse, no_dot_names or \
                 dot_names), send_limit (bytes a second) or null, announce, background, receiving, \
                 start_at_login (off, autostart, unit or vanished)",
    },
    Described {
        names: &["service"],
        from: "status",
        fields: "running, and where it is: version, pid, name, id_begins (16 digits), port, \
                 addresses, destination (text), code or null, code_valid_until or null, error (why \
                 it does not listen) or null",
    },
    Described {
        names: &["offer_waits"],
        from: "status, offers",
        fields: "id (of this offer alone, drawn here; its transfer has another), from, \
                 from_id_begins, looks_like (as in paired) or null, names (list of text), \
                 more_names, dot_names (list of text), more_dot_names, entries_so_far, \
                 bytes_so_far, totals_final, destination (text), asked_because (as in offer) or \
                 null, free_bytes, writable, both null where it could not be asked",
    },
    Described {
        names: &["transfer"],
        from: "status, accept",
        fields: "id, direction, peer and peer_id or null, target, title (text), more_names, here \
                 and there ({tls, io}) or null, can_pause, place (in the receiver's queue) or \
                 null, and the fields of progress",
    },
    Described {
        names: &["declined", "cancelled", "paused", "resumed"],
        from: "decline, cancel, pause, resume",
        fields: "id",
    },
    Described { names: &["answered"], from: "serve", fields: "id, accepted" },
    Described { names: &["notice"], from: "serve", fields: "text" },
    Described { names: &["settings_changed"], from: "serve", fields: "name, port, destination (text), receiving" },
    Described {
        names: &["stopping", "stopped"],
        from: "serve",
        fields: "left (transfers that had not ended), and stop",
    },
    Described {
        names: &["check"],
        from: "doctor",
        fields: "check, state (good, note, problem), message, next or null",
    },
    Described {
        names: &["error"],
        from: "all",
        fields: "what ended the command, or an accepted offer, without a transfer: code, message, \
                 next or null, where the code is declined or invalid reason, and where room was \
                 missing needed_bytes, free_bytes, missing_entries",
    },
];

/// What holds for several of them, a paragraph each.
const NOTES: &[&str] = &[
    "These are the events of --json: one object per line on standard output, each with its \
     \"event\". {path} stands for an object with \"path\".",
    "limited_by is what has limited a transfer for about a second: finding, reading, encrypting \
     (all at the sender; encrypting is its processor between file and network), network, \
     decrypting, writing (at the receiver), limit, stalled (both ends waited for the network, and \
     no byte moved for 5 s or longer). It is null while that is not known yet. times says where \
     the lanes of both ends spent their seconds, summed over lanes: finding, reading, encrypting, \
     sending, limited (at the sender; sending is waiting for the network to take more), receiving, \
     decrypting, writing (at the receiver; receiving is waiting for the network to bring more).",
    "interruption says why a transfer does not go on that was under way: broken (the connection \
     ended), silent (nothing was heard), unreachable, busy or too_many_offers (the last try), \
     paused (by: here or there), full (the receiver's disk; then it is paused, too, and needed and \
     free are the bytes that the rest needs and has there, entries the files and folders for which \
     there is no place; all 0 where no figure shows it, as with a quota). next_try_seconds is null \
     while it is tried, and at the receiver, which waits. gives_up_seconds is when that ends. \
     seconds leave out what a transfer was paused.",
    "Events of copy have no peer, peer_id, lanes, lanes_dropped, reconnected, interruption, \
     limited_by, times, packed, proven and paths taken. Their \"copy\" is null if the copy did not \
     come so far, or has: threads (that were started), queue_depth, chunk_bytes, io (uring, sync: \
     what reads where that waits for a disk; uring_bytes says whether it did), io_reason or null, \
     filesystem, reflinked_bytes, kernel_bytes, buffered_bytes, uring_bytes (of the buffered \
     ones), specials, excluded, verified, owners_lost, attributes_lost, began (when this copy \
     began, or the one that it continues, as `ringway copy --continue` takes it; null where files \
     get their times from another machine or program). In stage verifying, of a transfer, too, \
     bytes_done and entries_done count again from 0.",
    "The paths taken are tls_here, tls_there (kernel, user), io_here, io_there (uring, sync), null \
     where not known, and reasons: why it was not the kernel or io_uring, by the same keys.",
    "Sizes are bytes, moments seconds since 1970, durations seconds. Text is safe to print. Where \
     a path is not UTF-8, \"path\" has U+FFFD and \"path_bytes\" has its bytes in hex. Ignore \
     events and fields that you do not know.",
];

/// The section of the manual.
pub(crate) fn help() -> String {
    let events =
        EVENTS.iter().map(|Described { names, from, fields }| format!("  {}  {from}: {fields}\n", names.join(", ")));
    format!("JSON:\n{}\n{}", events.collect::<String>(), NOTES.join("\n\n"))
}

/// The page of the documentation.
#[cfg(test)]
fn page() -> String {
    let events = EVENTS.iter().map(|Described { names, from, fields }| {
        let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
        format!("| {} | {from} | {fields} |\n", names.join(", "))
    });
    let notes: Vec<_> = NOTES.iter().map(|note| wrapped(note)).collect();
    format!(
        "# `--json`\n\nThis page is made from the manual's table (`npm run json`). Ignore events and fields that \
         you do not know.\n\n| event | from | fields |\n|---|---|---|\n{}\n{}\n",
        events.collect::<String>(),
        notes.join("\n\n")
    )
}

/// A paragraph in lines of 100 columns.
#[cfg(test)]
fn wrapped(text: &str) -> String {
    const COLUMNS: usize = 100;
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is one");
        if line.is_empty() {
            line.push_str(word);
        } else if line.len() + 1 + word.len() <= COLUMNS {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes the page instead of comparing it.
    const WRITE: &str = "RINGWAY_JSON_PAGE";

    #[test]
    fn the_page_of_the_documentation_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/json.md");
        if std::env::var(WRITE).is_ok_and(|value| value == "write") {
            std::fs::write(path, page()).unwrap();
        }
        let kept = std::fs::read_to_string(path).unwrap();
        assert!(kept == page(), "docs/json.md is not what the table says: npm run json");
    }

    #[test]
    fn no_event_is_described_twice_but_by_another_command() {
        let all = || EVENTS.iter().flat_map(|event| event.names.iter().map(|name| (*name, event.from)));
        for (name, from) in all() {
            assert_eq!(all().filter(|other| *other == (name, from)).count(), 1, "{name} of {from}");
        }
    }
}
