//! `pilot man`: manual pages, made from the command line itself.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Command, CommandFactory};
use clap_mangen::Man;

use crate::cli::Cli;
use crate::stdout::Stdout;

const HELP: &str = "\
Examples:
  pilot man | man -l -
  pilot man ~/.local/share/man/man1 && man pilot-task

Exit codes: 0 written, 1 they cannot be written, 2 wrong use.
";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ManArgs {
    /// The directory for a page of each command, made if need be; without it the page of `pilot` itself is printed
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

pub(crate) fn run(args: &ManArgs) -> anyhow::Result<ExitCode> {
    let pages = pages()?;
    let Some(dir) = &args.dir else {
        let mut out = Stdout::lock();
        out.write_all(&pages[0].text)?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    };
    fs::create_dir_all(dir).with_context(|| format!("make the directory {}", dir.display()))?;
    for page in &pages {
        let path = dir.join(format!("{}.1", page.name));
        fs::write(&path, &page.text).with_context(|| format!("write {}", path.display()))?;
    }
    eprintln!("{} pages are in {}", pages.len(), dir.display());
    Ok(ExitCode::SUCCESS)
}

struct ManPage {
    /// `pilot`, `pilot-task`, `pilot-config-check`.
    name: String,
    text: Vec<u8>,
}

fn pages() -> anyhow::Result<Vec<ManPage>> {
    let mut pilot = Cli::command();
    pilot.build();
    let mut pages = Vec::new();
    collect(&pilot, &mut pages)?;
    Ok(pages)
}

fn collect(command: &Command, pages: &mut Vec<ManPage>) -> anyhow::Result<()> {
    if command.is_hide_set() {
        return Ok(());
    }
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    pages.push(ManPage { text: page(command)?, name });
    command.get_subcommands().try_for_each(|below| collect(below, pages))
}

fn page(command: &Command) -> anyhow::Result<Vec<u8>> {
    let source = concat!("pilot ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).source(source).manual("Pilot");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(&mut text)?;
    }
    if command.get_subcommands().any(|below| !below.is_hide_set()) {
        man.render_subcommands_section(&mut text)?;
    }
    if let Some(after) = command.get_after_help() {
        text.extend(after_help(&after.to_string()).bytes());
    }
    Ok(text)
}

/// The text behind the options, with its own headings and its lines as they are: examples are no prose.
fn after_help(help: &str) -> String {
    let mut text = String::new();
    for line in help.trim_end().lines() {
        let title = line.strip_suffix(':').filter(|title| ["Examples", "Exit codes"].contains(title));
        if let Some(title) = title {
            text.push_str(&format!(".SH {}\n", title.to_uppercase()));
        } else if line.is_empty() {
            text.push_str(".PP\n");
        } else if line.starts_with(' ') {
            text.push_str(&format!(".nf\n{}\n.fi\n", escaped(line)));
        } else {
            text.push_str(&format!("{}\n", escaped(line)));
        }
    }
    if text.starts_with(".SH") { text } else { format!(".SH NOTES\n{text}") }
}

/// A line that roff prints as it is.
fn escaped(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-").replace('…', "...");
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory};

    use super::{after_help, pages};
    use crate::cli::Cli;

    fn names(command: &Command, prefix: &str, into: &mut Vec<(String, String)>) {
        let name = format!("{prefix}{}", command.get_name());
        into.push((name.clone(), command.get_about().map(ToString::to_string).unwrap_or_default()));
        let shown = command.get_subcommands().filter(|below| !below.is_hide_set());
        shown.for_each(|below| names(below, &format!("{name}-"), into));
    }

    #[test]
    fn every_command_has_a_page_with_its_options() {
        let mut wanted = Vec::new();
        names(&Cli::command(), "", &mut wanted);
        let pages = pages().unwrap();
        let got: Vec<&str> = pages.iter().map(|page| page.name.as_str()).collect();
        assert_eq!(got, wanted.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>());
        assert!(got.contains(&"pilot-task") && got.contains(&"pilot-config-check"), "{got:?}");
        for (page, (name, about)) in pages.iter().zip(&wanted) {
            let text = String::from_utf8(page.text.clone()).unwrap();
            assert!(text.contains(&format!(".TH {name} 1 ")), "{name}: {text}");
            let plain = text.replace("\\-", "-").replace("\\*(Aq", "'");
            assert!(!about.is_empty() && plain.contains(about.as_str()), "{name}: {text}");
        }
        let task = pages.iter().find(|page| page.name == "pilot-task").unwrap();
        let task = String::from_utf8(task.text.clone()).unwrap();
        for wanted in ["\\-\\-dry\\-run", ".SH EXAMPLES", "pilot task \\-\\-backend codex"] {
            assert!(task.contains(wanted), "no {wanted:?} in {task}");
        }
    }

    #[test]
    fn what_stands_behind_the_options_keeps_its_lines() {
        let help = "Examples:\n  a --b\n  .c\n\nProse that\n'goes on.\n\nExit codes:\n  0  done\n";
        assert_eq!(
            after_help(help),
            ".SH EXAMPLES\n.nf\n  a \\-\\-b\n.fi\n.nf\n  .c\n.fi\n.PP\nProse that\n\\&'goes on.\n.PP\n.SH EXIT CODES\n\
             .nf\n  0  done\n.fi\n"
        );
        assert_eq!(after_help("Only prose.\n"), ".SH NOTES\nOnly prose.\n");
    }
}
