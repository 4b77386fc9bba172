//! `pilot run`, `pilot steps`, `pilot validate`: pipelines of the project in the current folder. Wiring only: the core decides
//! what comes next, exec runs it, the store remembers what happened.

mod ask;
mod attempt;
mod begin;
mod call;
mod drive;
mod items;
mod load;
mod look;
mod place;
mod render;
mod templates;
mod tree;
mod updates;
mod view;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use pilot_core::config::Config;
use pilot_core::pipeline::{Action, Engine, Fact, Pipeline, Report, UpdateRules};
use pilot_exec::process::Containment;
use pilot_store::{PipelineStatus, Store};

use self::attempt::Bench;
use self::begin::{Begun, begin};
use self::call::Caller;
use self::drive::{Drive, Stop};
use self::place::{Hold, Project, RunFolder};
use self::render::World;
use self::view::View;
use crate::config::{self, Environment, Flags, Loaded};
use crate::memory;
use crate::stdout::Stdout;
use crate::task::interrupts::Interrupts;
use crate::wrong_use::WrongUse;
use crate::{clock, printable};

pub(crate) use self::load::WrongPipeline;
pub(crate) use self::look::{StepsArgs, ValidateArgs, steps, validate};
pub(crate) use self::templates::{NAMES, sample_inputs, write_pipeline};

const HELP: &str = "\
Examples:
  pilot init --pipeline implement-and-review
  pilot run --input goal='Add a --json flag to the list command'
  pilot run --dry-run
  pilot run --from review
  pilot run --json | jq -c 'select(.event == \"step\")'

Reads .pilot/pipeline.yaml in the current folder and works in that checkout: no worktree, no branch is switched. A run that \
was interrupted, failed or waits for a person is gone on with; --fresh starts over.

Exit codes: 0 completed, 1 a step failed, 2 wrong use or a wrong file, 3 waits for a person, 130 interrupted.
";

/// What `pilot run` is asked to do.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct RunArgs {
    /// Begin a new run, even if there is one to go on with
    #[arg(long, conflicts_with_all = ["from", "only"])]
    pub(crate) fresh: bool,

    /// Begin a new run at this step, with what the last run emitted
    #[arg(long, value_name = "STEP", conflicts_with = "only")]
    pub(crate) from: Option<String>,

    /// Run this step and no other, with what the last run emitted
    #[arg(long, value_name = "STEP")]
    pub(crate) only: Option<String>,

    /// A value for one of the pipeline's inputs
    #[arg(long = "input", value_name = "NAME=VALUE")]
    pub(crate) inputs: Vec<String>,

    /// Show the steps and the prompts they would get, and run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Print what happens as JSON, an object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Carries the pipeline out.
pub(crate) fn run(
    args: &RunArgs,
    file: Option<&Path>,
    environment: &Environment,
) -> anyhow::Result<ExitCode> {
    let mut project = Project::open()?;
    let pipeline = load::load(&project.files, None)?;
    let flags = Flags::default();
    let loaded =
        config::load(&config::Request { environment, file, repo: Some(&project.path), flags: &flags })?;
    let config = loaded.config()?;
    for notice in loaded.notices() {
        eprintln!("pilot: {notice}");
    }
    if pipeline.steps.is_empty() {
        return Err(WrongUse::error(format_args!("{} has no steps: add one under pipeline", load::FILE)));
    }
    let path = environment.os("PATH").unwrap_or_default().to_owned();
    if args.dry_run {
        project.look_at_git(environment);
        return look::dry_run(args, &project, &pipeline);
    }
    let empty = PathBuf::new();
    let caller = Caller { config, path: &path, project: &project.path, branch: "", tmp: &empty };
    caller.check(&pipeline).map_err(WrongUse::error)?;
    let _hold = Hold::take(loaded.home.path(), &project.name())?;
    // What works on this machine is tried while git is asked.
    let containment = std::thread::scope(|scope| {
        let probe = scope.spawn(|| Containment::probe("/proc/self/exe"));
        project.look_at_git(environment);
        probe.join()
    });
    let containment =
        containment.map_err(|_| anyhow::anyhow!("looking for a way to hold the agent failed"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let work = Work {
        args,
        loaded: &loaded,
        config,
        environment,
        path: &path,
        project: &project,
        pipeline: &pipeline,
    };
    runtime.block_on(work.carry_out(&containment))
}

/// Everything a run is made of.
struct Work<'w> {
    args: &'w RunArgs,
    loaded: &'w Loaded,
    config: &'w Config,
    environment: &'w Environment,
    path: &'w OsString,
    project: &'w Project,
    pipeline: &'w Pipeline,
}

/// A run that was begun.
#[derive(Clone, Copy)]
struct Run<'r> {
    begun: &'r Begun,
    store: &'r Store,
    folder: &'r RunFolder,
    containment: &'r Containment,
}

impl Work<'_> {
    async fn carry_out(&self, containment: &Containment) -> anyhow::Result<ExitCode> {
        // Before anything is created, so that whoever stops Pilot does not have to clean up.
        let mut interrupts = Interrupts::listen()?;
        let mut view = View::new(self.args.json);
        let store = memory::open(self.loaded, self.environment).await?;
        let begun = begin(self.args, &store, self.project, self.pipeline).await?;
        let engine = Engine::replay(self.pipeline, &begun.inputs, &begun.facts)?;
        let folder = RunFolder::open(self.loaded.home.path(), begun.run.as_str())?;
        if !matches!(engine.next(), Action::Write) {
            // Of an attempt that nobody saw end.
            updates::discard(&self.project.files, &folder);
        }
        view.begins(begun.run.as_str(), begun.resumed, &begun.words(&engine))?;
        let run = Run { begun: &begun, store: &store, folder: &folder, containment };
        let code = self.drive(&run, engine, &mut interrupts, &mut view).await?;
        store.close().await;
        Ok(code)
    }

    async fn drive(
        &self,
        run: &Run<'_>,
        engine: Engine<'_>,
        interrupts: &mut Interrupts,
        view: &mut View,
    ) -> anyhow::Result<ExitCode> {
        let Run { begun, store, folder, containment } = *run;
        let (tmp, branch) = (folder.tmp(), self.project.branch());
        let home = self.home_in_project();
        let mut drive = Drive {
            pipeline: self.pipeline,
            store,
            run: &begun.run,
            seq: begun.facts.len() as u64,
            project: self.project,
            folder,
            world: World {
                files: &self.project.files,
                pipeline: self.pipeline,
                default_branch: self.project.default_branch(),
                diff: self.project.diff(begun.base.as_deref()),
                progress: folder.progress().display().to_string(),
            },
            caller: Caller {
                config: self.config,
                path: self.path,
                project: &self.project.path,
                branch: &branch,
                tmp: &tmp,
            },
            bench: Bench {
                executor: &self.config.executor,
                environment: self.environment,
                containment,
                project: &self.project.path,
                tmp: &tmp,
                patterns: &self.pipeline.error_patterns,
            },
            rules: UpdateRules { roots: &self.config.pipeline.update_roots, home: home.as_deref() },
            engine,
            view,
            interrupts,
        };
        if begun.resumed && tries_again(&drive.engine) {
            drive.take(Fact::Resumed).await?;
        }
        let stop = drive.go().await?;
        self.finish(&stop, run, &drive.engine, drive.view).await
    }

    /// Pilot's own directory from the project's root, when it lies in there.
    fn home_in_project(&self) -> Option<String> {
        let home = std::fs::canonicalize(self.loaded.home.path()).ok()?;
        let below = home.strip_prefix(&self.project.path).ok()?;
        Some(below.to_string_lossy().into_owned())
    }

    /// Writes down where the run stopped, and says so.
    async fn finish(
        &self,
        stop: &Stop,
        run: &Run<'_>,
        engine: &Engine<'_>,
        view: &mut View,
    ) -> anyhow::Result<ExitCode> {
        let Run { begun, store, folder, .. } = *run;
        let (status, reason, code) = match stop {
            Stop::Completed => (PipelineStatus::Completed, None, ExitCode::SUCCESS),
            Stop::Failed(reason) => (PipelineStatus::Failed, Some(reason.as_str()), ExitCode::FAILURE),
            Stop::Held(reason) => (PipelineStatus::Held, Some(reason.as_str()), ExitCode::from(3)),
            Stop::Stopped => (PipelineStatus::Stopped, Some("stopped by a person"), ExitCode::from(130)),
        };
        let project = self.project.name();
        let emits: Vec<String> = engine.emits().keys().cloned().collect();
        let report = Report {
            run: begun.run.as_str(),
            project: &project,
            status: status.as_str(),
            reason,
            records: engine.records(),
            emits: &emits,
        };
        let mut json = report.json();
        for (extension, text) in [("md", report.markdown()), ("json", format!("{json:#}\n"))] {
            let file = folder.report(extension);
            std::fs::write(&file, text).with_context(|| format!("write {}", file.display()))?;
        }
        // After the report: a run that is over is not gone on with, so nobody would write it.
        store
            .end_pipeline(&begun.run, status, reason, clock::now())
            .await
            .context("write down the end of the run")?;
        folder.close();
        json["report"] = folder.report("md").display().to_string().into();
        view.ended(&json)?;
        if !self.args.json {
            self.say(stop, &report, folder)?;
        }
        Ok(code)
    }

    fn say(&self, stop: &Stop, report: &Report<'_>, folder: &RunFolder) -> anyhow::Result<()> {
        let mut out = Stdout::lock();
        let steps = report.records.iter().filter(|record| record.attempts > 0).count();
        let cost = report.cost_usd().map_or_else(String::new, |cost| format!(", ${cost:.2}"));
        writeln!(out, "Pipeline {}: {steps} step{}{cost}", report.status, if steps == 1 { "" } else { "s" })?;
        if let Some(reason) = report.reason {
            writeln!(out, "  {}", printable::text(reason).replace('\n', "\n  "))?;
        }
        let next = match stop {
            Stop::Completed => None,
            Stop::Failed(_) => {
                Some("`pilot run` tries the failed step again, `pilot run --fresh` starts over")
            }
            Stop::Held(_) => Some("run `pilot run` at a terminal to answer; it goes on where it stopped"),
            Stop::Stopped => Some("`pilot run` goes on where it stopped"),
        };
        if let Some(next) = next {
            writeln!(out, "  next    {next}")?;
        }
        let ignored: usize = report.records.iter().map(|record| record.notes.len()).sum();
        if ignored > 0 {
            writeln!(out, "  marks   {ignored} did not count; the report names each")?;
        }
        writeln!(out, "  report  {}", folder.report("md").display())?;
        out.flush()?;
        Ok(())
    }
}

/// Whether whoever starts a run again has put right what stopped it. Where they can be asked, they are.
fn tries_again(engine: &Engine<'_>) -> bool {
    let asks = matches!(engine.next(), Action::Ask(_));
    engine.resumes_by_trying_again() && !(asks && ask::somebody_is_there())
}

/// The value of every input: what was given, else what the file says.
fn input_values(pipeline: &Pipeline, given: &[String]) -> anyhow::Result<BTreeMap<String, String>> {
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    for text in given {
        let Some((name, value)) = text.split_once('=') else {
            return Err(WrongUse::error(format_args!("--input {text:?}: write NAME=VALUE")));
        };
        if !pipeline.inputs.iter().any(|(known, _)| known == name) {
            let known: Vec<&str> = pipeline.inputs.iter().map(|(name, _)| name.as_str()).collect();
            let known = if known.is_empty() { "no inputs".to_owned() } else { known.join(", ") };
            return Err(WrongUse::error(format_args!("--input {name:?}: the pipeline has {known}")));
        }
        if values.insert(name.to_owned(), value.to_owned()).is_some() {
            return Err(WrongUse::error(format_args!("--input {name} is given twice; keep one")));
        }
    }
    for (name, default) in &pipeline.inputs {
        if values.contains_key(name) {
            continue;
        }
        let Some(value) = default else {
            return Err(WrongUse::error(format_args!(
                "the input {name} has no value; give it with --input {name}=…"
            )));
        };
        values.insert(name.clone(), value.clone());
    }
    Ok(values)
}
