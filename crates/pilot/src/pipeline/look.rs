//! Reading a pipeline without running it: `pilot steps`, `pilot validate`, `pilot run --dry-run`.

use std::io::Write;
use std::process::ExitCode;

use pilot_core::pipeline::{
    Card, Engine, Named, Pipeline, PipelineStep, StepKind, StepPrompt, pipeline_schema, record_json,
};
use pilot_core::prompt::HEADER;
use serde_json::{Value, json};

use super::place::PipelineProject;
use super::render::{TemplateValues, fill_with};
use super::{input_values, load, tree};
use crate::commands::pipeline::{RunArgs, StepsArgs, ValidateArgs};
use crate::config::{self, ConfigSources, WRONG};
use crate::printable;
use crate::stdout::{Stdout, print_line};
use crate::store_access;
use crate::wrong_use::WrongUse;

pub(crate) fn validate(args: &ValidateArgs) -> anyhow::Result<ExitCode> {
    if args.schema {
        print_line(format_args!("{:#}", pipeline_schema()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let project = PipelineProject::open()?;
    let read = load::load(&project.files, args.file.as_deref());
    let code = if read.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(WRONG) };
    let steps = read.as_ref().map_or(0, |pipeline| pipeline.walk().len());
    if args.json {
        let problems: Vec<Value> =
            read.as_ref().err().into_iter().flat_map(|wrong| &wrong.0).map(problem_json).collect();
        print_line(json!({"ok": problems.is_empty(), "steps": steps, "problems": problems}))?;
        return Ok(code);
    }
    match &read {
        Ok(_) => print_line(format_args!("ok: {steps} step{}", if steps == 1 { "" } else { "s" }))?,
        Err(wrong) => wrong.0.iter().try_for_each(|problem| print_line(format_args!("error: {problem}")))?,
    }
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
pub(crate) fn steps(args: &StepsArgs, sources: ConfigSources<'_>) -> anyhow::Result<ExitCode> {
    let project = PipelineProject::open()?;
    let pipeline = load::load(&project.files, None)?;
    let loaded = config::load(&ConfigSources { repo: Some(&project.path), ..sources })?;
    loaded.config()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Looking creates nothing.
    let last = match store_access::file(&loaded).exists() {
        false => None,
        true => runtime.block_on(async {
            let store = store_access::open(&loaded, sources.environment).await?;
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
    let texts = tree::texts(&lines, tree::LiveFigures::default());
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
    let step = |(depth, step): (usize, &PipelineStep)| {
        let review = matches!(&step.kind, StepKind::Agent(agent) if agent.review);
        json!({"id": step.id, "depth": depth, "kind": step.kind.as_str(), "review": review, "about": tree::about(step)})
    };
    json!({
        "steps": pipeline.walk().into_iter().map(step).collect::<Vec<_>>(),
        "run": run.map(|run| json!({"run": run.id.as_str(), "status": run.status.as_str(), "reason": run.reason})),
        "records": engine.map(|engine| engine.records().iter().map(record_json).collect::<Vec<_>>()),
    })
}

/// Shows the steps and the prompts they would get. Names whose values only the run knows stay as written.
pub(crate) fn dry_run(
    args: &RunArgs,
    project: &PipelineProject,
    pipeline: &Pipeline,
) -> anyhow::Result<ExitCode> {
    let inputs = input_values(pipeline, &args.inputs)?;
    let engine = Engine::new(pipeline, &inputs);
    let base = project.head().map(|sha| sha.as_str().to_owned());
    let values = project.values(pipeline, base.as_deref(), "{{progress_file_path}}".to_owned());
    let mut out = Stdout::lock();
    let mut steps = Vec::new();
    for (depth, step) in pipeline.walk() {
        let text = match &step.kind {
            StepKind::Agent(agent) => {
                let card = if agent.review { Card::Review } else { Card::Work };
                let filled = preview(&agent.prompt, &values, &engine).map_err(WrongUse::error)?;
                Some(format!("{HEADER}\n{}\n\n{}", filled.trim_end(), card.text()))
            }
            StepKind::Shell(shell) => Some(shell.line.text.clone()),
            StepKind::Gate(gate) => {
                let message = gate.message.as_ref().map(|message| preview(message, &values, &engine));
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
        let names = if later { " Names in {{…}} get their values during the run." } else { "" };
        writeln!(out, "Nothing was run.{names}")?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// A prompt with everything filled in that is known before the run.
fn preview(prompt: &StepPrompt, values: &TemplateValues<'_>, engine: &Engine<'_>) -> Result<String, String> {
    let unknown = |name: &str| Ok(Some(format!("{{{{{name}}}}}")));
    fill_with(prompt, &[], |name| match engine.named(name) {
        None | Some(Named::Item(_)) => unknown(name),
        Some(_) if ["round", "FEEDBACK"].contains(&name) => unknown(name),
        // It may be written by a step before.
        Some(_) if name.starts_with("file:") => values.value(name, engine).or_else(|_| unknown(name)),
        Some(_) => values.value(name, engine),
    })
}
