//! The manual pages and completion scripts, made from the same definition as the command line.
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::Exit;
use crate::json::JSON_HELP;
use crate::text::for_terminal;

/// Prints a completion script.
pub(crate) fn completions(shell: Shell) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut definition(), "ringway", &mut script);
    print(&script)
}

/// Prints the main page, or writes all pages into a folder.
pub(crate) fn man(folder: Option<&Path>) -> Result<Exit> {
    let Some(folder) = folder else { return print(&page(definition())?) };
    fs::create_dir_all(folder).with_context(|| for_terminal(folder))?;
    for (name, page) in pages()? {
        let path = folder.join(name);
        fs::write(&path, page).with_context(|| for_terminal(&path))?;
    }
    Ok(Exit::All)
}

/// The command line with the section on JSON, which `--help` of each command leaves to the manual and to `recv --help`.
fn definition() -> Command {
    let command = Cli::command().disable_help_subcommand(true);
    let help = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    command.after_long_help(format!("{help}\n\n{JSON_HELP}"))
}

/// Each page under its file's name.
fn pages() -> Result<Vec<(String, Vec<u8>)>> {
    let mut all = Vec::new();
    collect(definition(), "ringway".into(), &mut all)?;
    Ok(all)
}

fn collect(command: Command, name: String, all: &mut Vec<(String, Vec<u8>)>) -> Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        let name = format!("{name}-{}", below.get_name());
        // clap wants names that live as long as the program; there are a dozen of them.
        let display: &'static str = name.clone().leak();
        collect(below.clone().display_name(display), name, all)?;
    }
    all.push((format!("{name}.1"), page(command)?));
    Ok(())
}

fn page(command: Command) -> io::Result<Vec<u8>> {
    let version = concat!("Ringway ", env!("CARGO_PKG_VERSION"));
    let mut page = Vec::new();
    clap_mangen::Man::new(command).manual("Ringway").source(version).render(&mut page)?;
    Ok(page)
}

fn print(text: &[u8]) -> Result<Exit> {
    match io::stdout().lock().write_all(text) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::All),
        written => written.map(|()| Exit::All).context("standard output"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page() {
        let pages = pages().unwrap();
        let names: Vec<_> = pages.iter().map(|(name, _)| name.as_str()).collect();
        for name in ["ringway.1", "ringway-recv.1", "ringway-send.1", "ringway-devices-rename.1", "ringway-doctor.1"] {
            assert!(names.contains(&name), "{names:?}");
        }
        let main =
            pages.iter().find(|(name, _)| name == "ringway.1").map(|(_, page)| String::from_utf8_lossy(page)).unwrap();
        for part in ["Exit status", "RINGWAY_CODE", "entry_failed", "not authenticated"] {
            assert!(main.contains(part), "{part}");
        }
    }

    #[test]
    fn every_shell_gets_a_script() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::Elvish, Shell::PowerShell] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut definition(), "ringway", &mut script);
            let script = String::from_utf8(script).unwrap();
            assert!(script.contains("on-conflict") && script.contains("recv"), "{shell}");
        }
    }
}
