//! The worker: a task of the daemon's, carried out in a process of its own, so that nothing an agent does can hurt the
//! daemon, and the daemon's death ends it.
//!
//! The errand comes as JSON on standard input; what happens goes out as JSON, a line each, and the last line is the end.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use pilot_core::retry::Place;
use pilot_exec::worker;
use pilot_link::github::RepoName;
use pilot_store::RunId;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::job::{Job, Kind};
use super::plan::Plan;
use super::view::View;
use super::{Carried, How, TaskArgs, carry_out};
use crate::clock;
use crate::config::Environment;
use crate::stdout::Stdout;

/// The word that makes the program a worker.
pub(crate) const WORD: &str = "__work";

/// What a worker is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Errand {
    /// Who started it.
    pub(crate) parent: u32,
    pub(crate) key: String,
    pub(crate) title: String,
    /// The issue's text, without its title.
    pub(crate) text: String,
    pub(crate) labels: Vec<String>,
    /// The repository on the forge.
    pub(crate) repo: String,
    /// The repository.
    pub(crate) project: PathBuf,
    pub(crate) branch: String,
    /// The commit to start from, and since which everything on the branch counts as the task's work.
    pub(crate) base: String,
    /// The configuration file, if it is not the usual one.
    pub(crate) config: Option<PathBuf>,
}

/// A line of a worker's.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Line {
    /// How far it is.
    Progress {
        /// The phase.
        phase: String,
        /// Percent.
        percent: u8,
    },
    /// It ran, and this came of it.
    Result {
        /// The result object of `pilot task --json`.
        result: Value,
        /// When it makes sense to try again, in seconds since 1970.
        not_before: Option<u64>,
    },
    /// The budget did not let it in.
    Refused {
        /// Why.
        why: String,
    },
    /// It could not be run at all.
    Broken {
        /// Why.
        why: String,
        /// Whether that may pass by itself.
        passes: bool,
    },
}

/// Runs the errand on standard input.
pub(crate) fn run() -> ExitCode {
    let line = match errand().and_then(|errand| carry(&errand)) {
        Ok(line) => line,
        Err(error) => {
            json!({"broken": {"why": format!("{error:#}"), "passes": !crate::is_wrong_use(&error)}})
        }
    };
    let mut out = Stdout::lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn errand() -> anyhow::Result<Errand> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let errand: Errand = serde_json::from_str(&text)?;
    worker::bind(errand.parent)?;
    Ok(errand)
}

fn carry(errand: &Errand) -> anyhow::Result<Value> {
    let environment = Environment::of_this_process();
    let args = TaskArgs { project: Some(errand.project.clone()), json: true, ..TaskArgs::default() };
    let job = Job {
        key: errand.key.clone(),
        title: errand.title.clone(),
        text: format!("{}\n\n{}", errand.title, errand.text),
        labels: errand.labels.clone(),
        kind: Kind::Change,
        branch: Some(errand.branch.clone()),
        base: Some(errand.base.clone()),
        goes_on: true,
        issue_of: Some(RepoName::parse(&errand.repo)?),
    };
    let mut plan = Plan::make(&args, job, errand.config.as_deref(), &environment)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let how = How { view: View::reporting(), aloud: false, place: Place::Daemon };
    let run = RunId::generate(clock::now());
    Ok(match runtime.block_on(carry_out(&mut plan, &environment, run, how))? {
        Carried::Refused(refused) => json!({"refused": {"why": refused.why()}}),
        Carried::Lived(lived) => json!({"result": {
            "result": lived.result,
            "not_before": lived.not_before,
        }}),
    })
}
