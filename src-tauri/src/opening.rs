//! What the window is opened with: paths to send, and a view, from the command line as menus and
//! file managers write it.
use std::ffi::OsString;
use std::path::PathBuf;

use ringway_daemon::dto::View;

/// What a person, a menu or a file manager opens the window with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Opening {
    /// To be sent; absolute.
    pub(crate) paths: Vec<PathBuf>,
    /// To be shown.
    pub(crate) view: Option<View>,
    /// The desktop's leave to come to the front.
    pub(crate) token: Option<String>,
}

/// Where a desktop puts its leave for what it starts: Wayland's (xdg-activation-v1), then X11's
/// (Startup Notification Protocol).
const TOKEN_VARIABLES: [&str; 2] = ["XDG_ACTIVATION_TOKEN", "DESKTOP_STARTUP_ID"];

/// Longer than any desktop's.
const TOKEN_LEN_MAX: usize = 1024;

impl Opening {
    /// `[--show send|inbox] [PATH]...`; behind `--` everything is a path. An option that is not
    /// known is left out: a newer menu may have it.
    ///
    /// # Errors
    /// There is no current folder that relative paths could begin in.
    pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> std::io::Result<Self> {
        let mut opening = Self::default();
        let mut arguments = arguments.into_iter();
        let mut only_paths = false;
        while let Some(argument) = arguments.next() {
            match argument.to_str() {
                Some("--") if !only_paths => only_paths = true,
                Some("--show") if !only_paths => {
                    opening.view = match arguments.next().as_ref().and_then(|view| view.to_str()) {
                        Some("send") => Some(View::Send),
                        Some("inbox") => Some(View::Inbox),
                        _ => None,
                    };
                }
                Some(option) if !only_paths && option.starts_with('-') => {}
                _ => opening.paths.push(std::path::absolute(argument)?),
            }
        }
        Ok(opening)
    }

    /// With the desktop's leave, where it gave one to this process.
    pub(crate) fn with_token(self, variable: impl Fn(&str) -> Option<String>) -> Self {
        let is_token = |text: &String| !text.is_empty() && text.len() <= TOKEN_LEN_MAX && !text.contains('\0');
        Self { token: TOKEN_VARIABLES.iter().filter_map(|name| variable(name)).find(is_token), ..self }
    }

    /// Whether there is anything but the window itself.
    pub(crate) fn is_plain(&self) -> bool {
        self.paths.is_empty() && self.view.is_none()
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    fn parse(arguments: &[&[u8]]) -> Opening {
        Opening::parse(arguments.iter().map(|argument| OsStr::from_bytes(argument).to_owned())).unwrap()
    }

    #[test]
    fn menus_and_file_managers_are_understood() {
        assert!(parse(&[]).is_plain());
        assert_eq!(parse(&[b"--show", b"inbox"]), Opening { view: Some(View::Inbox), ..Opening::default() });
        let odd = parse(&[b"--show", b"send", b"/tmp/caf\xe9", b"--new-option", b"--", b"--show"]);
        let here = std::env::current_dir().unwrap();
        assert_eq!(odd.paths, [PathBuf::from(OsStr::from_bytes(b"/tmp/caf\xe9")), here.join("--show")]);
        assert_eq!(odd.view, Some(View::Send));
        assert!(parse(&[b"--show", b"everything"]).is_plain());
        assert!(parse(&[b"--show"]).is_plain());
    }

    #[test]
    fn the_desktops_leave_is_waylands_or_else_that_of_x11() {
        let token = |set: &[(&str, &str)]| {
            let variable = |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
            Opening::default().with_token(variable).token
        };
        let x11 = ("DESKTOP_STARTUP_ID", "files-1_TIME5");
        assert_eq!(token(&[]), None);
        assert_eq!(token(&[x11]).as_deref(), Some("files-1_TIME5"));
        assert_eq!(token(&[x11, ("XDG_ACTIVATION_TOKEN", "leave")]).as_deref(), Some("leave"));
        assert_eq!(token(&[x11, ("XDG_ACTIVATION_TOKEN", "")]).as_deref(), Some("files-1_TIME5"));
        assert_eq!(token(&[("XDG_ACTIVATION_TOKEN", &"x".repeat(2000))]), None);
    }
}
