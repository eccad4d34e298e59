//! What a person confirms in a native dialog, so that a page that was taken over cannot confirm it.
use std::cell::Cell;

use gtk::prelude::*;
use ringway_daemon::language::Language;
use ringway_model::Fault;
use tauri::WebviewWindow;
use tokio::sync::{Mutex, oneshot};

use crate::messages;

/// One dialog at a time: a page that sends again and again does not cover the screen with them.
static ASKING: Mutex<()> = Mutex::const_new(());

/// Asks whether a choice from the history may go to the new target that `refused` names. The
/// target, if a person says yes.
pub(crate) async fn new_target(window: &WebviewWindow, refused: &Fault) -> Option<String> {
    let (question, to) = Question::new_target(refused, Language::of_session())?;
    question.ask(window).await.then_some(to)
}

/// Asks whether to receive into `folder`, which is a home.
pub(crate) async fn home(window: &WebviewWindow, folder: &str) -> bool {
    Question::home(folder, Language::of_session()).ask(window).await
}

/// Asks whether to share `folder`, which is a home or contains one.
pub(crate) async fn shared_home(window: &WebviewWindow, folder: &str) -> bool {
    Question::shared_home(folder, Language::of_session()).ask(window).await
}

/// What a dialog says.
#[derive(Debug, PartialEq, Eq)]
struct Question {
    title: &'static str,
    text: String,
    yes: &'static str,
    no: &'static str,
}

impl Question {
    fn home(folder: &str, language: Language) -> Self {
        Self {
            title: messages::dialog_home_title(language),
            text: messages::dialog_home(language, folder),
            yes: messages::dialog_home_yes(language),
            no: messages::dialog_home_no(language),
        }
    }

    fn shared_home(folder: &str, language: Language) -> Self {
        Self {
            title: messages::dialog_shared_home_title(language),
            text: messages::dialog_shared_home_text(language, folder),
            yes: messages::dialog_shared_home_yes(language),
            no: messages::dialog_shared_home_no(language),
        }
    }

    /// The question, and the target that a yes confirms. `None` if `refused` needs no
    /// confirmation.
    fn new_target(refused: &Fault, language: Language) -> Option<(Self, String)> {
        let Fault::NewTarget { what, more, to, was } = refused else { return None };
        let what = match more {
            0 => what.to_string(),
            more => messages::dialog_new_target_more(language, *more, &what.to_string()),
        };
        let question = Self {
            title: messages::dialog_new_target_title(language),
            text: messages::dialog_new_target_text(language, &to.to_string(), &was.to_string(), &what),
            yes: messages::dialog_new_target_yes(language),
            no: messages::dialog_new_target_no(language),
        };
        Some((question, to.0.clone()))
    }

    /// Shows the dialog and waits for its answer. No where it is closed, where the window has gone,
    /// and where another dialog is open.
    async fn ask(self, window: &WebviewWindow) -> bool {
        let Ok(_asking) = ASKING.try_lock() else { return false };
        let (answer, answered) = oneshot::channel();
        let parent = window.clone();
        // GTK is its main thread's. A dialog that cannot be shown drops `answer`.
        let _ = window.run_on_main_thread(move || {
            if let Ok(parent) = parent.gtk_window() {
                self.show(&parent, answer);
            }
        });
        answered.await.unwrap_or(false)
    }

    /// The plugin's dialog has "yes" as the button that Enter presses: a page could open it while a
    /// person types. Here it is "no".
    fn show(&self, parent: &gtk::ApplicationWindow, answer: oneshot::Sender<bool>) {
        let dialog = gtk::MessageDialog::builder()
            .transient_for(parent)
            .modal(true)
            .destroy_with_parent(true)
            .message_type(gtk::MessageType::Warning)
            .title(self.title)
            .text(self.title)
            .secondary_text(&*self.text)
            .build();
        if let Ok(area) = dialog.message_area().downcast::<gtk::Container>() {
            for label in area.children().into_iter().filter_map(|part| part.downcast::<gtk::Label>().ok()) {
                label.set_selectable(true);
                // A path has no spaces to wrap at.
                label.set_line_wrap_mode(gtk::pango::WrapMode::WordChar);
            }
        }
        dialog.add_button(self.no, gtk::ResponseType::Cancel);
        dialog.add_button(self.yes, gtk::ResponseType::Accept);
        dialog.set_default_response(gtk::ResponseType::Cancel);
        let answer = Cell::new(Some(answer));
        dialog.connect_response(move |dialog, response| {
            let Some(answer) = answer.take() else { return };
            // Nobody waits for it any more once the window has gone.
            let _ = answer.send(response == gtk::ResponseType::Accept);
            dialog.close();
        });
        dialog.show();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dialog_names_what_is_sent_the_new_target_and_the_one_before() {
        let [what, to, was] = ["photos", "lab (cdcd-cdcd-cdcd-cdcd)", "nas (abab-abab-abab-abab)"].map(str::to_owned);
        let refused = Fault::NewTarget { what: what.into(), more: 2, to: to.clone().into(), was: was.clone().into() };
        for language in [Language::En, Language::De] {
            let (question, confirmed) = Question::new_target(&refused, language).unwrap();
            assert_eq!(confirmed, to, "what is confirmed is what was shown");
            for named in ["photos", "2", &to, &was] {
                assert!(question.text.contains(named), "{}", question.text);
            }
        }
        let text = Question::new_target(&refused, Language::En).unwrap().0.text;
        assert_eq!(text, format!("photos and 2 more was sent to {was} before. Send it to {to} now?"));
        assert_eq!(Question::new_target(&Fault::Gone, Language::En), None);
    }
}
