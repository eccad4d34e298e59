//! Where the code or standing secret comes from: a file, standard input, the environment, or
//! nowhere. Never an argument, which everyone on the machine can read.
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::Context;
use ringway_engine::GivenSecret;
use zeroize::Zeroizing;

use crate::ask::prompt;
use crate::refusal::Refusal;
use crate::text::for_terminal;
use crate::words::advised;

/// The environment variable.
pub(crate) const VARIABLE: &str = "RINGWAY_CODE";

/// As much of a source as is read: a standing secret has at most 1,024 bytes, so one that is longer
/// than this is the wrong file.
const SOURCE_MAX: u64 = 4_096;

/// Bits of a mode that let others read a file.
const READABLE_BY_OTHERS: u32 = 0o044;

/// What was given, if anything was: `--code-file` first, then the environment.
pub(crate) fn given(file: Option<&Path>, warn: impl Fn(String)) -> anyhow::Result<Option<GivenSecret>> {
    from(file, std::env::var_os(VARIABLE), warn)
}

fn from(file: Option<&Path>, variable: Option<OsString>, warn: impl Fn(String)) -> anyhow::Result<Option<GivenSecret>> {
    if let Some(path) = file {
        let (bytes, name) = if path == Path::new("-") {
            (from_stdin().context("standard input")?, "standard input".to_owned())
        } else {
            let name = for_terminal(path);
            (from_file(path, &warn).map_err(|error| unreadable(&name, &error))?, name)
        };
        return parse(&bytes, &name).map(Some);
    }
    let Some(variable) = variable else { return Ok(None) };
    // The process's own copy cannot be erased safely while threads run, but no child ever gets it:
    // this command starts none.
    let bytes = Zeroizing::new(variable.as_bytes().to_vec());
    parse(&bytes, VARIABLE).map(Some)
}

fn parse(bytes: &[u8], name: &str) -> anyhow::Result<GivenSecret> {
    if bytes.trim_ascii().is_empty() {
        return Err(Refusal::usage(format!("{name} is empty: a code or a standing secret belongs there.")).into());
    }
    GivenSecret::parse(bytes).with_context(|| name.to_owned())
}

fn unreadable(name: &str, error: &io::Error) -> Refusal {
    Refusal::usage(format!("The code could not be read from {name}: {}.", crate::words::os(&error.into())))
}

fn from_file(path: &Path, warn: impl Fn(String)) -> io::Result<Zeroizing<Vec<u8>>> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_file() && metadata.mode() & READABLE_BY_OTHERS != 0 {
        warn(format!(
            "Others on this machine can read the code in {}: {}",
            for_terminal(path),
            advised::close_file(path)
        ));
    }
    read(file)
}

/// At a terminal one line will do; otherwise all there is.
fn from_stdin() -> io::Result<Zeroizing<Vec<u8>>> {
    if !io::stdin().is_terminal() {
        return read(io::stdin().lock());
    }
    let line = prompt::read_line(&mut BufReader::new(io::stdin().lock()))?;
    Ok(Zeroizing::new(line.map(|line| line.as_bytes().to_vec()).unwrap_or_default()))
}

/// The buffer has its full size from the start: one that grows leaves copies behind.
fn read(source: impl Read) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(SOURCE_MAX as usize + 1));
    source.take(SOURCE_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;
    use crate::refusal::status_of;
    use std::cell::RefCell;
    use std::os::unix::fs::PermissionsExt;

    fn silent(warning: String) {
        panic!("{warning}");
    }

    fn file(contents: &[u8], mode: u32) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), contents).unwrap();
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        file
    }

    #[test]
    fn a_file_comes_before_the_environment() {
        let code = file(b"7-river-canal\n", 0o600);
        let given = from(Some(code.path()), Some("8-zebra-zebra".into()), silent).unwrap();
        let Some(GivenSecret::Code(given)) = given else { panic!("not a code") };
        assert_eq!(given.expose(), "7-river-canal");
        let Some(GivenSecret::Code(given)) = from(None, Some(" 8 ZEBRA zebra".into()), silent).unwrap() else {
            panic!()
        };
        assert_eq!(given.expose(), "8-zebra-zebra");
        assert!(from(None, None, silent).unwrap().is_none());
    }

    #[test]
    fn anything_long_enough_is_a_standing_secret() {
        let secret = file(&[0xff; 32], 0o600);
        assert!(matches!(from(Some(secret.path()), None, silent), Ok(Some(GivenSecret::Standing(_)))));
    }

    #[test]
    fn what_is_no_code_is_wrong_usage_and_is_not_repeated() {
        for contents in
            [&b""[..], b"\n", b"short", b"7-rivver-canal", b"1000-river-canal", &[b'x'; 2_000], &[b'x'; 9_000]]
        {
            let file = file(contents, 0o600);
            let Err(error) = from(Some(file.path()), None, silent) else { panic!("{contents:?}") };
            assert_eq!(status_of(&error), Exit::Usage, "{error:#}");
            let said = format!("{error:#} {:?}", crate::refusal::words_of(&error));
            assert!(!said.contains("rivver") && !said.contains("short,") && !said.contains("xxx"), "{said}");
            assert!(said.contains(&*file.path().to_string_lossy()), "{said}");
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let Err(error) = from(Some(Path::new("/nowhere/code")), Some("7-river-canal".into()), silent) else { panic!() };
        assert_eq!(status_of(&error), Exit::Usage);
        assert!(error.to_string().contains("/nowhere/code"), "{error}");
    }

    #[test]
    fn a_secret_that_others_can_read_is_warned_about() {
        let warned = RefCell::new(Vec::new());
        let open = file(b"7-river-canal", 0o644);
        from(Some(open.path()), None, |warning| warned.borrow_mut().push(warning)).unwrap();
        assert_eq!(warned.borrow().len(), 1);
        assert!(warned.borrow()[0].contains("chmod 600"));
    }
}
