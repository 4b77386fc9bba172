//! `pilot run`, `pilot steps`, `pilot validate`: pipelines of the project in the current folder. Wiring only: the core decides
//! what comes next, exec runs it, the store remembers what happened.

mod ask;
mod attempt;
mod begin;
mod call;
mod cost;
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
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use pilot_core::pipeline::{Engine, EngineAction, Pipeline, PipelineReport, RunFact, UpdateRules};
use pilot_exec::process::Containment;
use pilot_store::PipelineStatus;

use self::begin::begin;
use self::call::StepCaller;
use self::drive::{PipelineDriver, PipelineStop};
use self::place::{PipelineLock, PipelineProject, RunFolder};
use self::view::PipelineView;
use crate::agent::call::Launcher;
use crate::agent::interrupts::Interrupts;
use crate::commands::pipeline::RunArgs;
use crate::config::{self, ConfigSources, Environment, Loaded};
use crate::stdout::Stdout;
use crate::store_access;
use crate::wrong_use::{WrongUse, bail_wrong_use};
use crate::{clock, printable};

pub(crate) use self::load::WrongPipeline;
pub(crate) use self::look::{steps, validate};
pub(crate) use self::templates::{NAMES, sample_inputs, write_pipeline};

pub(crate) fn run(args: &RunArgs, sources: ConfigSources<'_>) -> anyhow::Result<ExitCode> {
    let mut project = PipelineProject::open()?;
    let pipeline = load::load(&project.files, None)?;
    let environment = sources.environment;
    let loaded = config::load(&ConfigSources { repo: Some(&project.path), ..sources })?;
    let config = loaded.config()?;
    loaded.print_notices();
    if pipeline.steps.is_empty() {
        bail_wrong_use!("{} has no steps: add one under pipeline", load::FILE);
    }
    let path = environment.os("PATH").unwrap_or_default().to_owned();
    if args.dry_run {
        project.look_at_git(environment);
        return look::dry_run(args, &project, &pipeline);
    }
    let empty = PathBuf::new();
    let caller = StepCaller { config, path: &path, project: &project.path, branch: "", tmp: &empty };
    caller.check(&pipeline).map_err(WrongUse::error)?;
    let _lock = PipelineLock::take(loaded.home.path(), &project.name())?;
    // Finds a way to contain agents while git is asked.
    let containment = std::thread::scope(|scope| {
        let probe = scope.spawn(|| Containment::probe("/proc/self/exe"));
        project.look_at_git(environment);
        probe.join()
    });
    let containment = containment.map_err(|_| anyhow::anyhow!("the containment probe panicked"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (loaded, project, pipeline) = (&loaded, &project, &pipeline);
    let command = PipelineCommand { args, loaded, environment, path: &path, project, pipeline };
    runtime.block_on(command.carry_out(containment))
}

struct PipelineCommand<'c> {
    args: &'c RunArgs,
    loaded: &'c Loaded,
    environment: &'c Environment,
    path: &'c OsString,
    project: &'c PipelineProject,
    pipeline: &'c Pipeline,
}

impl PipelineCommand<'_> {
    async fn carry_out(&self, containment: Containment) -> anyhow::Result<ExitCode> {
        // Before anything is created, so that a Ctrl-C at any time leaves nothing behind.
        let mut interrupts = Interrupts::listen()?;
        let (mut view, config) = (PipelineView::new(self.args.json), self.loaded.config()?);
        let store = store_access::open(self.loaded, self.environment).await?;
        let begun = begin(self.args, &store, self.project, self.pipeline).await?;
        let engine = Engine::replay(self.pipeline, &begun.inputs, &begun.facts)?;
        let folder = RunFolder::open(self.loaded.home.path(), begun.run.as_str())?;
        if !matches!(engine.next(), EngineAction::Write) {
            // Left by an attempt whose end was never stored.
            updates::discard(&self.project.files, &folder);
        }
        view.start(begun.run.as_str(), begun.resumed, &begun.words(&engine))?;
        let (tmp, branch, home) = (folder.tmp(), self.project.branch(), self.home_in_project());
        let progress = folder.progress().display().to_string();
        let mut driver = PipelineDriver {
            pipeline: self.pipeline,
            store: &store,
            run: &begun.run,
            seq: begun.facts.len() as u64,
            project: self.project,
            folder: &folder,
            values: self.project.values(self.pipeline, begun.base.as_deref(), progress),
            caller: StepCaller {
                config,
                path: self.path,
                project: &self.project.path,
                branch: &branch,
                tmp: &tmp,
            },
            launcher: Launcher {
                executor: &config.executor,
                environment: self.environment,
                containment,
                dir: self.project.path.clone(),
                tmp: tmp.clone(),
            },
            rules: UpdateRules { roots: &config.pipeline.update_roots, home: home.as_deref() },
            engine,
            view: &mut view,
            interrupts: &mut interrupts,
        };
        if begun.resumed && tries_again(&driver.engine) {
            driver.take_fact(RunFact::Resumed).await?;
        }
        let stop = driver.drive().await?;
        let code = self.finish(&stop, &mut driver).await?;
        store.close().await;
        Ok(code)
    }

    /// Pilot's own directory from the project's root, when it lies in there.
    fn home_in_project(&self) -> Option<String> {
        let home = std::fs::canonicalize(self.loaded.home.path()).ok()?;
        let below = home.strip_prefix(&self.project.path).ok()?;
        Some(below.to_string_lossy().into_owned())
    }

    async fn finish(&self, stop: &PipelineStop, driver: &mut PipelineDriver<'_>) -> anyhow::Result<ExitCode> {
        let PipelineDriver { engine, store, run, folder, view, .. } = driver;
        let (status, reason, code) = match stop {
            PipelineStop::Completed => (PipelineStatus::Completed, None, ExitCode::SUCCESS),
            PipelineStop::Failed(reason) => {
                (PipelineStatus::Failed, Some(reason.as_str()), ExitCode::FAILURE)
            }
            PipelineStop::Held(reason) | PipelineStop::OverBudget(reason) => {
                (PipelineStatus::Held, Some(reason.as_str()), ExitCode::from(3))
            }
            PipelineStop::Stopped => {
                (PipelineStatus::Stopped, Some("stopped by the user"), ExitCode::from(130))
            }
        };
        let project = self.project.name();
        let emits: Vec<String> = engine.emits().keys().cloned().collect();
        let report = PipelineReport {
            run: run.as_str(),
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
        // After the report: a run that is over is not continued, so a missing report would stay missing.
        store.end_pipeline(run, status, reason, clock::now()).await.context("store the end of the run")?;
        folder.close();
        json["report"] = folder.report("md").display().to_string().into();
        view.end(&json)?;
        if !self.args.json {
            print_end(stop, &report, folder)?;
        }
        Ok(code)
    }
}

fn print_end(stop: &PipelineStop, report: &PipelineReport<'_>, folder: &RunFolder) -> anyhow::Result<()> {
    let mut out = Stdout::lock();
    let steps = report.records.iter().filter(|record| record.attempts > 0).count();
    let cost = report.cost_usd().map_or_else(String::new, |cost| format!(", ${cost:.2}"));
    writeln!(out, "Pipeline {}: {steps} step{}{cost}", report.status, if steps == 1 { "" } else { "s" })?;
    if let Some(reason) = report.reason {
        writeln!(out, "  {}", printable::text(reason).replace('\n', "\n  "))?;
    }
    let next = match stop {
        PipelineStop::Completed => None,
        PipelineStop::Failed(_) => {
            Some("`pilot run` retries the failed step, `pilot run --fresh` starts over")
        }
        PipelineStop::Held(_) => {
            Some("run `pilot run` at a terminal to answer; it continues where it stopped")
        }
        PipelineStop::OverBudget(_) | PipelineStop::Stopped => Some("`pilot run` continues where it stopped"),
    };
    if let Some(next) = next {
        writeln!(out, "  next    {next}")?;
    }
    let ignored: usize = report.records.iter().map(|record| record.notes.len()).sum();
    if ignored > 0 {
        writeln!(out, "  marks   {ignored} did not count; the report lists them")?;
    }
    writeln!(out, "  report  {}", folder.report("md").display())?;
    out.flush()?;
    Ok(())
}

/// Whether a restart retries the step that stopped the run. A user at a terminal is asked instead.
fn tries_again(engine: &Engine<'_>) -> bool {
    let asks = matches!(engine.next(), EngineAction::Ask(_));
    engine.resumes_by_trying_again() && !(asks && ask::has_terminal())
}

/// The value of every input: what was given, else what the file says.
fn input_values(pipeline: &Pipeline, given: &[String]) -> anyhow::Result<BTreeMap<String, String>> {
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    for text in given {
        let Some((name, value)) = text.split_once('=') else {
            bail_wrong_use!("--input {text:?}: write NAME=VALUE");
        };
        if !pipeline.inputs.iter().any(|(known, _)| known == name) {
            let known: Vec<&str> = pipeline.inputs.iter().map(|(name, _)| name.as_str()).collect();
            let known = if known.is_empty() { "no inputs".to_owned() } else { known.join(", ") };
            bail_wrong_use!("--input {name:?}: the pipeline has {known}");
        }
        if values.insert(name.to_owned(), value.to_owned()).is_some() {
            bail_wrong_use!("--input {name} is given twice; keep one");
        }
    }
    for (name, default) in &pipeline.inputs {
        if values.contains_key(name) {
            continue;
        }
        let Some(value) = default else {
            bail_wrong_use!("the input {name} has no value; give it with --input {name}=…");
        };
        values.insert(name.clone(), value.clone());
    }
    Ok(values)
}
