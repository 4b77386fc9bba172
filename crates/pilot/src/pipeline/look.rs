//! Looking at a pipeline without running it: `pilot steps`, `pilot validate`, `pilot run --dry-run`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use pilot_core::pipeline::{
    Card, Engine, Named, Pipeline, Prompt, Step, StepKind, pipeline_schema, record_json,
};
use pilot_core::prompt::HEADER;
use serde_json::{Value, json};

use super::place::Project;
use super::{RunArgs, input_values, load, tree};
use crate::config::{self, Environment, Flags, WRONG};
use crate::memory;
use crate::printable;
use crate::stdout::Stdout;
use crate::wrong_use::WrongUse;

const STEPS_HELP: &str = "\
Examples:
  pilot steps
  pilot steps --json | jq -r '.steps[].id'
";

const VALIDATE_HELP: &str = "\
Examples:
  pilot validate
  pilot validate --schema >pipeline.schema.json

Exit codes: 0 nothing wrong, 2 something is.
";

/// What `pilot steps` is asked to do.
#[derive(Debug, Args)]
#[command(after_help = STEPS_HELP)]
pub(crate) struct StepsArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `pilot validate` is asked to do.
#[derive(Debug, Args)]
#[command(after_help = VALIDATE_HELP)]
pub(crate) struct ValidateArgs {
    /// The file to check instead of .pilot/pipeline.yaml
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Print the JSON Schema of the file, for editors
    #[arg(long, conflicts_with_all = ["file", "json"])]
    pub(crate) schema: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Says what is wrong with a pipeline.
pub(crate) fn validate(args: &ValidateArgs) -> anyhow::Result<ExitCode> {
    let mut out = Stdout::lock();
    if args.schema {
        writeln!(out, "{:#}", pipeline_schema())?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    let project = Project::open()?;
    let read = load::load(&project.files, args.file.as_deref());
    let code = if read.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(WRONG) };
    if args.json {
        let problems = match &read {
            Ok(_) => Vec::new(),
            Err(wrong) => wrong.0.iter().map(problem_json).collect(),
        };
        let steps = read.as_ref().map_or(0, |pipeline| pipeline.walk().len());
        writeln!(out, "{}", json!({"ok": problems.is_empty(), "steps": steps, "problems": problems}))?;
    } else {
        match &read {
            Ok(pipeline) => {
                let steps = pipeline.walk().len();
                writeln!(out, "ok: {steps} step{}", if steps == 1 { "" } else { "s" })?;
            }
            Err(wrong) => {
                for problem in &wrong.0 {
                    writeln!(out, "error: {problem}")?;
                }
            }
        }
    }
    out.flush()?;
    Ok(code)
}

fn problem_json(problem: &pilot_core::config::Problem) -> Value {
    let place = problem.origin.place();
    json!({
        "message": problem.to_string(),
        "key": problem.key,
        "line": place.map(|place| place.line),
        "column": place.map(|place| place.column),
    })
}

/// Prints the steps, and what became of them in the last run.
pub(crate) fn steps(
    args: &StepsArgs,
    file: Option<&Path>,
    environment: &Environment,
) -> anyhow::Result<ExitCode> {
    let project = Project::open()?;
    let pipeline = load::load(&project.files, None)?;
    let flags = Flags::default();
    let loaded =
        config::load(&config::Request { environment, file, repo: Some(&project.path), flags: &flags })?;
    loaded.config()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Looking creates nothing.
    let last = match memory::file(&loaded).exists() {
        false => None,
        true => runtime.block_on(async {
            let store = memory::open(&loaded, environment).await?;
            let last = super::begin::last(&store, &project.name()).await;
            store.close().await;
            last
        })?,
    };
    let mut out = Stdout::lock();
    let run = last.as_ref().filter(|(run, ..)| run.fingerprint == pipeline.fingerprint());
    let engine = match run {
        Some((_, inputs, facts)) => Some(Engine::replay(&pipeline, inputs, facts)?),
        None => None,
    };
    if args.json {
        writeln!(out, "{}", steps_json(&pipeline, engine.as_ref(), last.as_ref().map(|(run, ..)| run)))?;
    } else {
        print_steps(&mut out, &pipeline, engine.as_ref())?;
        if let Some((run, ..)) = &last {
            let reason = run
                .reason
                .as_deref()
                .map_or_else(String::new, |reason| format!(": {}", printable::line(reason, 200)));
            writeln!(out, "\nLast run {}: {}{reason}", run.id.short(), run.status)?;
            if engine.is_none() {
                writeln!(out, "The file has changed since.")?;
            }
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn print_steps(out: &mut impl Write, pipeline: &Pipeline, engine: Option<&Engine<'_>>) -> anyhow::Result<()> {
    let lines = tree::lines(pipeline, engine);
    let texts = tree::texts(&lines, tree::Live::default());
    for (text, (_, step)) in texts.iter().zip(pipeline.walk()) {
        writeln!(out, "{text}  ({})", tree::about(step))?;
    }
    // Every round and every item on its own.
    let inside =
        engine.into_iter().flat_map(|engine| engine.records().iter()).filter(|record| record.depth > 0);
    for (number, record) in inside.enumerate() {
        if number == 0 {
            writeln!(out, "\nIn loops:")?;
        }
        let words = printable::line(record.more(), 100);
        let line = format!("  {}  {}  {words}", record.at, record.status.as_str());
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn steps_json(
    pipeline: &Pipeline,
    engine: Option<&Engine<'_>>,
    run: Option<&pilot_store::PipelineRun>,
) -> Value {
    let step = |(depth, step): (usize, &Step)| {
        let review = matches!(&step.kind, StepKind::Agent(agent) if agent.review);
        json!({"id": step.id, "depth": depth, "kind": step.kind.as_str(), "review": review, "about": tree::about(step)})
    };
    json!({
        "steps": pipeline.walk().into_iter().map(step).collect::<Vec<_>>(),
        "run": run.map(|run| json!({"run": run.id.as_str(), "status": run.status.as_str(), "reason": run.reason})),
        "records": engine.map(|engine| engine.records().iter().map(record_json).collect::<Vec<_>>()),
    })
}

/// Shows the steps and the prompts they would get. What only the run will tell stays as it is written.
pub(crate) fn dry_run(args: &RunArgs, project: &Project, pipeline: &Pipeline) -> anyhow::Result<ExitCode> {
    let inputs = input_values(pipeline, &args.inputs)?;
    let engine = Engine::new(pipeline, &inputs);
    let base = project.head().map(|sha| sha.as_str().to_owned());
    let world = super::World {
        files: &project.files,
        pipeline,
        default_branch: project.default_branch(),
        diff: project.diff(base.as_deref()),
        progress: "{{progress_file_path}}".to_owned(),
    };
    let mut out = Stdout::lock();
    let mut steps = Vec::new();
    for (depth, step) in pipeline.walk() {
        let text = match &step.kind {
            StepKind::Agent(agent) => {
                let card = if agent.review { Card::Review } else { Card::Work };
                let filled = preview(&agent.prompt, &world, &engine).map_err(WrongUse::error)?;
                Some(format!("{HEADER}\n{}\n\n{}", filled.trim_end(), card.text()))
            }
            StepKind::Shell(shell) => Some(shell.line.text.clone()),
            StepKind::Gate(gate) => {
                let message = gate.message.as_ref().map(|message| preview(message, &world, &engine));
                message.transpose().map_err(WrongUse::error)?
            }
            StepKind::Loop(_) => None,
        };
        steps.push((depth, step, text));
    }
    for (depth, step, text) in &steps {
        if args.json {
            writeln!(
                out,
                "{}",
                json!({"event": "plan", "id": step.id, "depth": depth, "kind": step.kind.as_str(), "about": tree::about(step), "text": text})
            )?;
            continue;
        }
        let indent = "  ".repeat(*depth);
        writeln!(out, "{indent}{}  ({})", step.id, tree::about(step))?;
        for line in text.iter().flat_map(|text| text.lines()) {
            writeln!(out, "{indent}  | {}", printable::text(line))?;
        }
    }
    if !args.json {
        let later = steps.iter().any(|(_, _, text)| text.as_ref().is_some_and(|text| text.contains("{{")));
        let names = if later { " What stands in {{…}} is known when its turn comes." } else { "" };
        writeln!(out, "Nothing was run.{names}")?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// A prompt with everything filled in that is known before the run.
fn preview(prompt: &Prompt, world: &super::World<'_>, engine: &Engine<'_>) -> Result<String, String> {
    let mut trouble = None;
    let text = prompt.template.render(&[], |name| {
        let later = matches!(engine.named(name), None | Some(Named::Item(_)))
            || ["round", "FEEDBACK"].contains(&name);
        if later {
            return Some(format!("{{{{{name}}}}}").into());
        }
        match world.value(name, engine) {
            Ok(value) => value.map(Into::into),
            // It may be written by a step before.
            Err(_) if name.starts_with("file:") => Some(format!("{{{{{name}}}}}").into()),
            Err(why) => {
                trouble = Some(format!("{}: {why}", prompt.origin));
                None
            }
        }
    });
    match trouble {
        Some(why) => Err(why),
        None => text.map_err(|error| format!("{}: {error}", prompt.origin)),
    }
}
