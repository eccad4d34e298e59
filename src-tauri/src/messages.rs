//! Generated from `dialog.*` of the window's messages (src/messages) by
//! `npm run messages`: do not edit.
use ringway_daemon::language::Language;

pub(crate) fn dialog_pick_folder(language: Language) -> &'static str {
    match language {
        Language::En => "Choose a folder",
        Language::De => "Ordner wählen",
    }
}

pub(crate) fn dialog_pick_folders(language: Language) -> &'static str {
    match language {
        Language::En => "Choose folders to send",
        Language::De => "Ordner zum Senden wählen",
    }
}

pub(crate) fn dialog_pick_files(language: Language) -> &'static str {
    match language {
        Language::En => "Choose files to send",
        Language::De => "Dateien zum Senden wählen",
    }
}

pub(crate) fn dialog_home_title(language: Language) -> &'static str {
    match language {
        Language::En => "Home folder",
        Language::De => "Home-Ordner",
    }
}

pub(crate) fn dialog_home(language: Language, folder: &str) -> String {
    match language {
        Language::En => format!("{folder} is a home folder. Files received there can change how programs start. Receive into it anyway? Files whose names begin with a dot are refused."),
        Language::De => format!("{folder} ist ein Home-Ordner. Dort empfangene Dateien können ändern, wie Programme starten. Trotzdem dorthin empfangen? Dateien, deren Namen mit einem Punkt beginnen, werden abgelehnt."),
    }
}

pub(crate) fn dialog_home_yes(language: Language) -> &'static str {
    match language {
        Language::En => "Receive into it",
        Language::De => "Dorthin empfangen",
    }
}

pub(crate) fn dialog_home_no(language: Language) -> &'static str {
    match language {
        Language::En => "Cancel",
        Language::De => "Abbrechen",
    }
}

pub(crate) fn dialog_new_target_title(language: Language) -> &'static str {
    match language {
        Language::En => "Send to another device?",
        Language::De => "An ein anderes Gerät senden?",
    }
}

pub(crate) fn dialog_new_target_text(language: Language, to: &str, was: &str, what: &str) -> String {
    match language {
        Language::En => format!("{what} was sent to {was} before. Send it to {to} now?"),
        Language::De => format!("{what} ging zuvor an {was}. Jetzt an {to} senden?"),
    }
}

pub(crate) fn dialog_new_target_more(language: Language, n: u64, what: &str) -> String {
    match language {
        Language::En => match n { 1 => format!("{what} and {n} more"), _ => format!("{what} and {n} more") },
        Language::De => match n { 1 => format!("{what} und {n} weiteres"), _ => format!("{what} und {n} weitere") },
    }
}

pub(crate) fn dialog_new_target_yes(language: Language) -> &'static str {
    match language {
        Language::En => "Send",
        Language::De => "Senden",
    }
}

pub(crate) fn dialog_new_target_no(language: Language) -> &'static str {
    match language {
        Language::En => "Cancel",
        Language::De => "Abbrechen",
    }
}

pub(crate) fn dialog_shared_home_title(language: Language) -> &'static str {
    match language {
        Language::En => "Share a home folder?",
        Language::De => "Home-Ordner freigeben?",
    }
}

pub(crate) fn dialog_shared_home_text(language: Language, folder: &str) -> String {
    match language {
        Language::En => format!("{folder} is a home folder, or contains one. Sharing it shows private files, such as keys. Share it anyway?"),
        Language::De => format!("{folder} ist ein Home-Ordner oder enthält einen. Ihn freizugeben zeigt private Dateien wie Schlüssel. Trotzdem freigeben?"),
    }
}

pub(crate) fn dialog_shared_home_yes(language: Language) -> &'static str {
    match language {
        Language::En => "Share it",
        Language::De => "Freigeben",
    }
}

pub(crate) fn dialog_shared_home_no(language: Language) -> &'static str {
    match language {
        Language::En => "Cancel",
        Language::De => "Abbrechen",
    }
}
