//! `pilot init`: a first configuration, from what is found here and what the user answers.
//!
//! `detect` looks, `ask` asks, `compose` writes the text, `place` puts it on disk. Nothing is overwritten unless asked for,
//! and then a copy stays.

mod ask;
mod compose;
mod detect;
mod forge;
mod place;

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use pilot_core::config::Backend;

use self::ask::{Answers, Asker};
use self::detect::Detected;
use self::place::Secrecy;
use crate::config::{ConfigSources, Home};
use crate::pipeline::{NAMES, sample_inputs, write_pipeline};
use crate::stdout::Stdout;
use crate::wrong_use::{OrWrongUse, bail_wrong_use};

const HELP: &str = "\
Examples:
  pilot init                       asks; Enter takes what was found
  pilot init --yes                 takes what was found
  pilot init --yes --project       also writes .pilot/config.yaml for this repository
  pilot --config pilot.yaml init   writes another file
  pilot init --pipeline            writes .pilot/pipeline.yaml here, and nothing else
  pilot init --pipeline plan-and-build

The configuration is written for you alone (mode 0600). A file that is there already stays, unless --force is given; then a \
copy of it is kept beside it.

Exit codes: 0 written, 1 it cannot be written, 2 wrong use, a file that is there already included.
";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct InitArgs {
    /// Take what was found; ask nothing
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// Write even if there is a file already; a copy of it is kept
    #[arg(long)]
    pub(crate) force: bool,

    /// Also write .pilot/config.yaml for the repository at PATH [default: the current directory]
    #[arg(short, long, value_name = "PATH", num_args = 0..=1, default_missing_value = ".")]
    pub(crate) project: Option<PathBuf>,

    /// Write a pipeline to begin with into the current directory, and nothing else
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = NAMES[0], value_parser = NAMES,
        conflicts_with_all = ["yes", "force", "project"])]
    pub(crate) pipeline: Option<String>,
}

pub(crate) fn run(args: &InitArgs, sources: ConfigSources<'_>) -> anyhow::Result<ExitCode> {
    if let Some(name) = &args.pipeline {
        return pipeline(name);
    }
    let ConfigSources { environment, file, .. } = sources;
    let target = match file {
        Some(file) => file.to_owned(),
        None => Home::find(environment)?.config_file(),
    };
    let directory = args.project.as_deref().unwrap_or(Path::new("."));
    let directory = directory
        .canonicalize()
        .map_err(|error| format!("find {}: {error}", directory.display()))
        .or_cannot("name a directory with --project")?;
    let found = Detected::at(&directory, environment);
    let project = args.project.as_ref().map(|_| project_file(&found, &target)).transpose()?;
    for path in [Some(&target), project.as_ref()].into_iter().flatten() {
        place::check(path, args.force)?;
    }
    print_found(&found, &mut io::stderr())?;
    let answers = answers(args, &found)?;
    let mut out = Stdout::lock();
    let text = compose::user(&found, &answers)?;
    written(&place::put(&target, &text, Secrecy::Private, args.force)?, &target, &mut out)?;
    if let Some(path) = &project {
        let text = compose::project(&found)?;
        written(&place::put(path, &text, Secrecy::Shared, args.force)?, path, &mut out)?;
    }
    next(&found, &answers, file, &mut out)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn pipeline(name: &str) -> anyhow::Result<ExitCode> {
    let paths = write_pipeline(name, Path::new("."))?;
    let mut out = Stdout::lock();
    for path in paths {
        written(&None, path.strip_prefix(".").unwrap_or(&path), &mut out)?;
    }
    let inputs = sample_inputs(name);
    writeln!(out, "\nNext:\n  pilot run --dry-run{inputs}\n  pilot run{inputs}")?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn project_file(found: &Detected, target: &Path) -> anyhow::Result<PathBuf> {
    let Some(root) = &found.repository else {
        bail_wrong_use!(
            "{} is in no git repository, so there is no project to write a file for; name one with --project PATH",
            found.directory.display()
        );
    };
    let path = root.join(".pilot/config.yaml");
    if path == *target {
        bail_wrong_use!(
            "{} is your own configuration here, so it cannot be the project's as well; leave out --project",
            path.display()
        );
    }
    Ok(path)
}

fn answers(args: &InitArgs, found: &Detected) -> anyhow::Result<Answers> {
    let taken = Answers::of(found);
    if args.yes {
        return Ok(taken);
    }
    if !io::stdin().is_terminal() {
        bail_wrong_use!(
            "standard input is no terminal, so there is no one to ask; add --yes to take what was found"
        );
    }
    let (stdin, stderr) = (io::stdin(), io::stderr());
    Asker::new(stdin.lock(), stderr.lock()).answers(&taken, found)
}

fn print_found(found: &Detected, out: &mut impl Write) -> anyhow::Result<()> {
    let kinds: Vec<&str> = found.kinds.iter().map(|kind| kind.name).collect();
    let project = if kinds.is_empty() { "nothing known".to_owned() } else { kinds.join(", ") };
    let agents: Vec<&str> = found.agents.iter().map(|backend| backend.as_str()).collect();
    let agents = if agents.is_empty() { "none on the PATH".to_owned() } else { agents.join(", ") };
    let gates: Vec<&str> = found.gates.iter().map(|gate| gate.name.as_str()).collect();
    let gates = if gates.is_empty() { "none".to_owned() } else { gates.join(", ") };
    let forge = found.forge.as_ref().map_or_else(|| "no remote".to_owned(), ToString::to_string);
    writeln!(
        out,
        "Found here:\n  project  {project}\n  gates    {gates}\n  agents   {agents}\n  forge    {forge}"
    )?;
    Ok(())
}

fn written(copy: &Option<PathBuf>, path: &Path, out: &mut impl Write) -> anyhow::Result<()> {
    writeln!(out, "Wrote {}", path.display())?;
    if let Some(copy) = copy {
        writeln!(out, "  what was there is kept as {}", copy.display())?;
    }
    Ok(())
}

fn next(
    found: &Detected,
    answers: &Answers,
    file: Option<&Path>,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let pilot = match file {
        Some(file) => format!("pilot --config {}", file.display()),
        None => "pilot".to_owned(),
    };
    let missing = answers.backend.program().filter(|_| !found.agents.contains(&answers.backend));
    writeln!(out, "\nNext:")?;
    if let Some(program) = missing {
        writeln!(out, "  install {program}, or choose another agent in the file")?;
    }
    writeln!(out, "  {pilot} doctor")?;
    let place = if found.repository.is_some() { "" } else { "cd a-repository && " };
    writeln!(out, "  {place}{pilot} task \"Add a --json flag to the list command\"")?;
    Ok(())
}

/// The agents a first configuration can name; one's own program needs its arguments as well.
fn choices() -> impl Iterator<Item = Backend> {
    Backend::ALL.into_iter().filter(|backend| backend.program().is_some())
}
