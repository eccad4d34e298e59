//! Generated from `tray.*` and `notice.*` of the window's messages (src/messages) by
//! `npm run messages`: do not edit.
use crate::language::Language;

pub(super) fn tray_off(language: Language) -> &'static str {
    match language {
        Language::En => "receiving is off",
        Language::De => "Empfang ist aus",
    }
}

pub(super) fn tray_ready(language: Language) -> &'static str {
    match language {
        Language::En => "ready to receive",
        Language::De => "bereit zum Empfangen",
    }
}

pub(super) fn tray_cannot(language: Language) -> &'static str {
    match language {
        Language::En => "cannot receive: open Ringway to see why",
        Language::De => "Empfang nicht möglich: Ringway zeigt den Grund",
    }
}

pub(super) fn tray_refused(language: Language) -> &'static str {
    match language {
        Language::En => "receiving could not be turned on: open Ringway to see why",
        Language::De => "Empfang ließ sich nicht einschalten: Ringway zeigt den Grund",
    }
}

pub(super) fn tray_offers_wait(language: Language, n: u64) -> String {
    match language {
        Language::En => match n { 1 => format!("{n} offer waiting"), _ => format!("{n} offers waiting") },
        Language::De => match n { 1 => format!("{n} Angebot wartet"), _ => format!("{n} Angebote warten") },
    }
}

pub(super) fn tray_want_to_connect(language: Language, n: u64) -> String {
    match language {
        Language::En => match n { 1 => format!("{n} device wants to connect"), _ => format!("{n} devices want to connect") },
        Language::De => match n { 1 => format!("{n} Gerät möchte sich verbinden"), _ => format!("{n} Geräte möchten sich verbinden") },
    }
}

pub(super) fn tray_under_way(language: Language, n: u64) -> String {
    match language {
        Language::En => match n { 1 => format!("{n} transfer running"), _ => format!("{n} transfers running") },
        Language::De => match n { 1 => format!("{n} Übertragung läuft"), _ => format!("{n} Übertragungen laufen") },
    }
}

pub(super) fn tray_paused(language: Language, n: u64) -> String {
    match language {
        Language::En => format!("{n} paused"),
        Language::De => format!("{n} angehalten"),
    }
}

pub(super) fn tray_without_room(language: Language, n: u64) -> String {
    match language {
        Language::En => format!("{n} waiting for disk space"),
        Language::De => match n { 1 => format!("{n} wartet auf freien Platz"), _ => format!("{n} warten auf freien Platz") },
    }
}

pub(super) fn tray_receiving(language: Language) -> &'static str {
    match language {
        Language::En => "Receiving",
        Language::De => "Empfangen",
    }
}

pub(super) fn tray_code(language: Language, code: &str) -> String {
    match language {
        Language::En => format!("Code: {code}"),
        Language::De => format!("Code: {code}"),
    }
}

pub(super) fn tray_new_code(language: Language) -> &'static str {
    match language {
        Language::En => "New code",
        Language::De => "Neuer Code",
    }
}

pub(super) fn tray_show_code(language: Language) -> &'static str {
    match language {
        Language::En => "Show code",
        Language::De => "Code anzeigen",
    }
}

pub(super) fn tray_why_not(language: Language) -> &'static str {
    match language {
        Language::En => "Show problem",
        Language::De => "Problem anzeigen",
    }
}

pub(super) fn tray_open_inbox(language: Language) -> &'static str {
    match language {
        Language::En => "Open Inbox",
        Language::De => "Eingang öffnen",
    }
}

pub(super) fn tray_open_inbox_waits(language: Language, n: u64) -> String {
    match language {
        Language::En => format!("Open Inbox ({n} waiting)"),
        Language::De => match n { 1 => format!("Eingang öffnen ({n} wartet)"), _ => format!("Eingang öffnen ({n} warten)") },
    }
}

pub(super) fn tray_send_folder(language: Language) -> &'static str {
    match language {
        Language::En => "Send folder…",
        Language::De => "Ordner senden…",
    }
}

pub(super) fn tray_open(language: Language) -> &'static str {
    match language {
        Language::En => "Open Ringway",
        Language::De => "Ringway öffnen",
    }
}

pub(super) fn tray_quit(language: Language) -> &'static str {
    match language {
        Language::En => "Quit",
        Language::De => "Beenden",
    }
}

pub(super) fn notice_offers(language: Language, from: &str) -> String {
    match language {
        Language::En => format!("Offer from {from}"),
        Language::De => format!("Angebot von {from}"),
    }
}

pub(super) fn notice_accept(language: Language) -> &'static str {
    match language {
        Language::En => "Accept",
        Language::De => "Annehmen",
    }
}

pub(super) fn notice_decline(language: Language) -> &'static str {
    match language {
        Language::En => "Decline",
        Language::De => "Ablehnen",
    }
}

pub(super) fn notice_wants_to_connect(language: Language, name: &str) -> String {
    match language {
        Language::En => format!("{name} wants to connect"),
        Language::De => format!("{name} möchte sich verbinden"),
    }
}

pub(super) fn notice_request_explained(language: Language) -> &'static str {
    match language {
        Language::En => "If you know this device, allow it. Ringway then shows a code to type there.",
        Language::De => "Ist dieses Gerät bekannt, zulassen. Ringway zeigt dann einen Code, der dort einzugeben ist.",
    }
}

pub(super) fn notice_allow(language: Language) -> &'static str {
    match language {
        Language::En => "Allow",
        Language::De => "Zulassen",
    }
}

pub(super) fn notice_block(language: Language) -> &'static str {
    match language {
        Language::En => "Block",
        Language::De => "Blockieren",
    }
}

pub(super) fn notice_named(language: Language, n: u64, title: &str) -> String {
    match language {
        Language::En => format!("{title} and {n} more"),
        Language::De => format!("{title} und {n} weitere"),
    }
}

pub(super) fn notice_so_far(language: Language, size: &str) -> String {
    match language {
        Language::En => format!("{size} so far"),
        Language::De => format!("bisher {size}"),
    }
}

pub(super) fn notice_items(language: Language, n: u64) -> String {
    match language {
        Language::En => match n { 1 => format!("{n} item"), _ => format!("{n} items") },
        Language::De => match n { 1 => format!("{n} Element"), _ => format!("{n} Elemente") },
    }
}

pub(super) fn notice_offer_into(language: Language, folder: &str) -> String {
    match language {
        Language::En => format!("Into {folder}"),
        Language::De => format!("Nach {folder}"),
    }
}

pub(super) fn notice_offer_leaves(language: Language, folder: &str, size: &str) -> String {
    match language {
        Language::En => format!("Into {folder}, {size} free afterwards"),
        Language::De => format!("Nach {folder}, danach {size} frei"),
    }
}

pub(super) fn notice_conflicts(language: Language, n: u64) -> String {
    match language {
        Language::En => match n { 1 => format!("{n} existing item differs"), _ => format!("{n} existing items differ") },
        Language::De => match n { 1 => format!("{n} vorhandenes Element weicht ab"), _ => format!("{n} vorhandene Elemente weichen ab") },
    }
}

pub(super) fn notice_conflicts_at_least(language: Language, n: u64) -> String {
    match language {
        Language::En => match n { 1 => format!("At least {n} existing item differs"), _ => format!("At least {n} existing items differ") },
        Language::De => match n { 1 => format!("Mindestens {n} vorhandenes Element weicht ab"), _ => format!("Mindestens {n} vorhandene Elemente weichen ab") },
    }
}

pub(super) fn notice_dot_names(language: Language, n: u64) -> String {
    match language {
        Language::En => match n { 1 => format!("{n} name begins with a dot"), _ => format!("{n} names begin with a dot") },
        Language::De => match n { 1 => format!("{n} Name beginnt mit einem Punkt"), _ => format!("{n} Namen beginnen mit einem Punkt") },
    }
}

pub(super) fn notice_looks_like(language: Language, from: &str, name: &str) -> String {
    match language {
        Language::En => format!("The name {from} looks like that of another device, {name}. Compare the IDs in Ringway."),
        Language::De => format!("Der Name {from} sieht aus wie der eines anderen Geräts, {name}. Die Kennungen in Ringway vergleichen."),
    }
}

pub(super) fn notice_looks_like_this(language: Language, from: &str) -> String {
    match language {
        Language::En => format!("The name {from} looks like that of this device. Compare the IDs in Ringway."),
        Language::De => format!("Der Name {from} sieht aus wie der dieses Geräts. Die Kennungen in Ringway vergleichen."),
    }
}

pub(super) fn notice_sent(language: Language) -> &'static str {
    match language {
        Language::En => "Sent",
        Language::De => "Gesendet",
    }
}

pub(super) fn notice_received(language: Language) -> &'static str {
    match language {
        Language::En => "Received",
        Language::De => "Empfangen",
    }
}

pub(super) fn notice_copied(language: Language) -> &'static str {
    match language {
        Language::En => "Copied",
        Language::De => "Kopiert",
    }
}

pub(super) fn notice_moved_of(language: Language, moved: &str, present: &str) -> String {
    match language {
        Language::En => format!("{moved}, {present} already there"),
        Language::De => format!("{moved}, {present} schon vorhanden"),
    }
}

pub(super) fn notice_partial(language: Language) -> &'static str {
    match language {
        Language::En => "Transfer incomplete",
        Language::De => "Übertragung unvollständig",
    }
}

pub(super) fn notice_sending_failed(language: Language) -> &'static str {
    match language {
        Language::En => "Sending failed",
        Language::De => "Senden fehlgeschlagen",
    }
}

pub(super) fn notice_receiving_failed(language: Language) -> &'static str {
    match language {
        Language::En => "Receiving failed",
        Language::De => "Empfangen fehlgeschlagen",
    }
}

pub(super) fn notice_copying_failed(language: Language) -> &'static str {
    match language {
        Language::En => "Copying failed",
        Language::De => "Kopieren fehlgeschlagen",
    }
}

pub(super) fn notice_declined(language: Language, peer: &str) -> String {
    match language {
        Language::En => format!("Declined by {peer}"),
        Language::De => format!("Abgelehnt von {peer}"),
    }
}

pub(super) fn notice_cancelled(language: Language, peer: &str) -> String {
    match language {
        Language::En => format!("Cancelled by {peer}"),
        Language::De => format!("Abgebrochen von {peer}"),
    }
}

pub(super) fn notice_unanswered(language: Language, peer: &str) -> String {
    match language {
        Language::En => format!("{peer} did not answer"),
        Language::De => format!("{peer} hat nicht geantwortet"),
    }
}

pub(super) fn notice_full_here(language: Language) -> &'static str {
    match language {
        Language::En => "The disk is full",
        Language::De => "Der Datenträger ist voll",
    }
}

pub(super) fn notice_make_room(language: Language) -> &'static str {
    match language {
        Language::En => "paused until there is space",
        Language::De => "angehalten, bis Platz ist",
    }
}

pub(super) fn notice_full_there(language: Language, peer: &str) -> String {
    match language {
        Language::En => format!("The disk of {peer} is full"),
        Language::De => format!("Der Datenträger von {peer} ist voll"),
    }
}

pub(super) fn notice_waits_there(language: Language, what: &str) -> String {
    match language {
        Language::En => format!("{what} resumes once there is space."),
        Language::De => format!("{what} geht weiter, sobald Platz ist."),
    }
}

pub(super) fn notice_see_missing(language: Language) -> &'static str {
    match language {
        Language::En => "open Ringway to see what is missing",
        Language::De => "Ringway zeigt, was fehlt",
    }
}

pub(super) fn notice_see_why(language: Language) -> &'static str {
    match language {
        Language::En => "open Ringway to see why",
        Language::De => "Ringway zeigt den Grund",
    }
}

pub(super) fn notice_not_receiving(language: Language) -> &'static str {
    match language {
        Language::En => "Receiving could not be turned on",
        Language::De => "Empfang ließ sich nicht einschalten",
    }
}

pub(super) fn notice_port_in_use(language: Language, port: &str) -> String {
    match language {
        Language::En => format!("Another program uses port {port}. Close it, or choose another port in Ringway's Settings, then turn receiving on again."),
        Language::De => format!("Ein anderes Programm benutzt Port {port}. Es beenden oder in den Einstellungen von Ringway einen anderen Port wählen, dann den Empfang erneut einschalten."),
    }
}

pub(super) fn notice_folder_unusable(language: Language, folder: &str) -> String {
    match language {
        Language::En => format!("Ringway cannot write to {folder}. Connect its disk, or choose another folder in Ringway's Settings, then turn receiving on again."),
        Language::De => format!("Ringway kann nicht in {folder} schreiben. Den Datenträger anschließen oder in den Einstellungen von Ringway einen anderen Ordner wählen, dann den Empfang erneut einschalten."),
    }
}

pub(super) fn notice_not_switched_on(language: Language) -> &'static str {
    match language {
        Language::En => "Ringway's Inbox shows the reason.",
        Language::De => "Der Eingang von Ringway zeigt den Grund.",
    }
}

pub(super) fn notice_to(language: Language, end: &str, peer: &str, what: &str) -> String {
    match language {
        Language::En => format!("{what} to {peer}: {end}"),
        Language::De => format!("{what} an {peer}: {end}"),
    }
}

pub(super) fn notice_from(language: Language, end: &str, peer: &str, what: &str) -> String {
    match language {
        Language::En => format!("{what} from {peer}: {end}"),
        Language::De => format!("{what} von {peer}: {end}"),
    }
}

pub(super) fn notice_into(language: Language, end: &str, peer: &str, what: &str) -> String {
    match language {
        Language::En => format!("{what} into {peer}: {end}"),
        Language::De => format!("{what} nach {peer}: {end}"),
    }
}

pub(super) fn notice_note_from(language: Language, name: &str) -> String {
    match language {
        Language::En => format!("Note from {name}"),
        Language::De => format!("Notiz von {name}"),
    }
}

pub(super) fn notice_paired(language: Language) -> &'static str {
    match language {
        Language::En => "Paired",
        Language::De => "Gekoppelt",
    }
}

pub(super) fn notice_know_each_other(language: Language, name: &str) -> String {
    match language {
        Language::En => format!("{name} is now paired with this device."),
        Language::De => format!("{name} ist jetzt mit diesem Gerät gekoppelt."),
    }
}
