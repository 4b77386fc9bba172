//! `pilot config`: checks, shows and describes the configuration.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use pilot_core::config::{KEYS, Notice, Origin, Problem, schema};
use serde_json::{Value as Json, json};

use crate::config::{ConfigSources, Loaded, WRONG, load};
use crate::stdout::{Stdout, print_line};

const CHECK_HELP: &str = "\
Examples:
  pilot config check
  pilot config check other.yaml
  pilot config check --json | jq '.problems[].message'

Exit codes: 0 nothing is wrong, 2 something is. Everything that is wrong is printed at once, each with its line.
";

const SCHEMA_HELP: &str = "\
Example:
  pilot config schema > ~/.pilot/config.schema.json";

const SHOW_HELP: &str = "\
Examples:
  pilot config show
  pilot config show --json | jq .

Secrets are not shown.";

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Say what is wrong with the configuration, and what has no effect
    Check(CheckArgs),
    /// Print the JSON Schema of the configuration file, for editors
    #[command(after_help = SCHEMA_HELP)]
    Schema,
    /// Print every value that holds and where it comes from
    Show(ShowArgs),
}

#[derive(Debug, Args)]
#[command(after_help = CHECK_HELP)]
struct CheckArgs {
    /// The file to check instead of the one that would be used
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// The repository whose own file counts as well
    #[arg(short, long, value_name = "PATH", default_value = ".")]
    project: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = SHOW_HELP)]
struct ShowArgs {
    /// The repository whose own file counts as well
    #[arg(short, long, value_name = "PATH", default_value = ".")]
    project: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ConfigArgs, sources: ConfigSources<'_>) -> anyhow::Result<ExitCode> {
    match &args.command {
        ConfigCommand::Check(args) => {
            // A file that is named is checked alone.
            let repo = if args.file.is_some() { None } else { Some(args.project.as_path()) };
            let file = args.file.as_deref().or(sources.file);
            check(&load(&ConfigSources { file, repo, ..sources })?, args.json)
        }
        ConfigCommand::Schema => {
            print_line(format_args!("{:#}", schema()))?;
            Ok(ExitCode::SUCCESS)
        }
        ConfigCommand::Show(args) => {
            let repo = Some(args.project.as_path());
            show(&load(&ConfigSources { repo, ..sources })?, args.json)
        }
    }
}

fn check(loaded: &Loaded, as_json: bool) -> anyhow::Result<ExitCode> {
    let wrong = !loaded.problems().is_empty();
    if as_json {
        let object = json!({
            "ok": !wrong,
            "files": loaded.files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>(),
            "problems": loaded.problems().iter().map(problem_json).collect::<Vec<_>>(),
            "notices": loaded.notices().iter().map(notice_json).collect::<Vec<_>>(),
        });
        print_line(format_args!("{object:#}"))?;
    } else {
        let mut out = Stdout::lock();
        for problem in loaded.problems() {
            writeln!(out, "error: {problem}")?;
        }
        for notice in loaded.notices() {
            writeln!(out, "notice: {notice}")?;
        }
        if !wrong {
            writeln!(out, "{}", all_right(loaded))?;
        }
        out.flush()?;
    }
    Ok(if wrong { ExitCode::from(WRONG) } else { ExitCode::SUCCESS })
}

fn all_right(loaded: &Loaded) -> String {
    match &loaded.files[..] {
        [] => format!("ok: no file, defaults hold (a file would be {})", loaded.home.config_file().display()),
        files => {
            let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
            format!("ok: {}", names.join(", "))
        }
    }
}

fn show(loaded: &Loaded, as_json: bool) -> anyhow::Result<ExitCode> {
    for notice in loaded.notices() {
        eprintln!("notice: {notice}");
    }
    if let Err(wrong) = loaded.config() {
        eprintln!("pilot: {wrong}");
        return Ok(ExitCode::from(WRONG));
    }
    if as_json {
        let values = KEYS.iter().map(|key| {
            let (value, origin) = loaded.shown(key);
            (key.path.to_owned(), json!({"value": value, "origin": origin_json(&origin)}))
        });
        print_line(format_args!("{:#}", Json::Object(values.collect())))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = Stdout::lock();
    for key in KEYS.iter() {
        let (value, origin) = loaded.shown(key);
        writeln!(out, "{}: {}  # {origin}", key.path, words(&value))?;
    }
    writeln!(out, "# Pilot's directory is {}", loaded.home.path().display())?;
    writeln!(out, "# the store is in {}", loaded.store_dir.display())?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// A value as a person would write it; unset is a dash.
fn words(value: &Json) -> String {
    match value {
        Json::Null => "-".to_owned(),
        Json::String(text) => text.clone(),
        Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => value.to_string(),
    }
}

fn problem_json(problem: &Problem) -> Json {
    let Problem { origin, key, fault } = problem;
    json!({"origin": origin_json(origin), "key": key, "message": fault.to_string()})
}

fn notice_json(notice: &Notice) -> Json {
    json!({"origin": origin_json(&notice.origin), "key": notice.key, "message": notice.to_string()})
}

fn origin_json(origin: &Origin) -> Json {
    let (kind, name) = match origin {
        Origin::Default => ("default", None),
        Origin::File { file, .. } => ("file", Some(&**file)),
        Origin::Project { file, .. } => ("project", Some(&**file)),
        Origin::Variable(name) => ("environment", Some(name.as_str())),
        Origin::Flag(name) => ("flag", Some(name.as_str())),
    };
    let place = origin.place();
    json!({
        "kind": kind,
        "name": name,
        "line": place.map(|place| place.line),
        "column": place.map(|place| place.column),
    })
}
