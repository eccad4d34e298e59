//! The manual pages and completion scripts, made from the same definition as the command line.
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::args::Cli;
use crate::exit::Exit;
use crate::json;
use crate::text::for_terminal;

/// Prints a completion script.
pub(crate) fn completions(shell: Shell) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut definition(), "ringway", &mut script);
    print(&script)
}

/// Prints the main page, or writes all pages into a folder.
pub(crate) fn man(folder: Option<&Path>) -> Result<Exit> {
    let Some(folder) = folder else { return print(&page(&definition())?) };
    fs::create_dir_all(folder).with_context(|| for_terminal(folder))?;
    for (name, page) in pages()? {
        let path = folder.join(name);
        fs::write(&path, page).with_context(|| for_terminal(&path))?;
    }
    Ok(Exit::All)
}

/// The command line, with the events of `--json`, which are too long for `--help`. Built, so that
/// each command knows its full name.
fn definition() -> Command {
    let command = Cli::command().disable_help_subcommand(true);
    let help = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    let mut command = command.after_long_help(format!("{help}\n\n{}", json::help()));
    command.build();
    command
}

/// Each page under its file's name.
fn pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut all = Vec::new();
    collect(&definition(), &mut all)?;
    Ok(all)
}

fn collect(command: &Command, all: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        collect(below, all)?;
    }
    let name = command.get_display_name().unwrap_or(command.get_name());
    all.push((format!("{name}.1"), page(command)?));
    Ok(())
}

fn page(command: &Command) -> io::Result<Vec<u8>> {
    let version = concat!("Ringway ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).manual("Ringway").source(version);
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let help = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    sections(&help).to_writer(&mut page)?;
    if command.get_name() != "ringway" {
        Roff::new().control("SH", ["SEE ALSO"]).text([bold("ringway"), roman("(1)")]).to_writer(&mut page)?;
    }
    Ok(page)
}

/// The text below `--help` as a manual has it. A line that ends in a colon and has indented lines
/// below it is a heading; an indented line is a term and, after two blanks, what it means; more
/// indented ones go on with that; everything else is a paragraph.
fn sections(help: &str) -> Roff {
    let mut roff = Roff::new();
    let mut lines = help.lines().peekable();
    while let Some(line) = lines.next() {
        let next_is_indented = lines.peek().is_some_and(|next| next.starts_with("  "));
        let blank = line.trim().is_empty();
        if let Some(row) = line.strip_prefix("  ").filter(|row| !blank && !row.starts_with("  ")) {
            match row.split_once("  ") {
                Some((term, meaning)) => roff.control("TP", []).text([bold(term)]).text([roman(meaning.trim())]),
                None => roff.control("TP", []).text([bold(row)]),
            };
        } else if let Some(heading) = line.strip_suffix(':').filter(|_| next_is_indented) {
            roff.control("SH", [heading.to_uppercase().as_str()]);
        } else if blank {
            // A paragraph after terms goes back to the margin.
            roff.control("PP", []);
        } else {
            roff.text([roman(line.trim())]);
        }
    }
    roff
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

    fn page_of(name: &str) -> String {
        let pages = pages().unwrap();
        let (_, page) = pages.iter().find(|(file, _)| file == name).unwrap_or_else(|| panic!("no {name}"));
        String::from_utf8(page.clone()).unwrap()
    }

    #[test]
    fn every_command_has_a_page() {
        let below = [Some("devices-rename"), cfg!(feature = "bench").then_some("bench-modes")];
        let all = [
            "recv",
            "send",
            "pair",
            "devices",
            "settings",
            "serve",
            "status",
            "accept",
            "allow",
            "doctor",
            "bench",
            "completions",
            "man",
        ];
        for name in all.into_iter().chain(below.into_iter().flatten()) {
            let page = page_of(&format!("ringway-{name}.1"));
            assert!(page.contains(&format!(".TH ringway-{name} 1")), "{page}");
            assert!(page.contains(".SH \"SEE ALSO\""), "{page}");
        }
    }

    #[test]
    fn the_main_page_has_statuses_environment_and_events() {
        let page = page_of("ringway.1");
        for part in
            [".SH \"EXIT STATUS\"", ".SH ENVIRONMENT", ".SH FILES", ".SH JSON", "RINGWAY_CODE", "\\fBentry_failed\\fR"]
        {
            assert!(page.contains(part), "{part} in\n{page}");
        }
        assert!(page_of("ringway-send.1").contains(".SH EXAMPLES"));
        assert!(page_of("ringway-send.1").contains(".SH \"EXIT STATUS\""));
    }

    #[test]
    fn indented_lines_become_terms() {
        let roff = sections("Colours:\n  red    stop,\n         always\n  green  go\n\nThe end.").to_roff();
        let wanted = ".SH COLOURS\n.TP\n\\fBred\\fR\nstop,\nalways\n.TP\n\\fBgreen\\fR\ngo\n.PP\nThe end.\n";
        assert_eq!(roff, wanted);
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
