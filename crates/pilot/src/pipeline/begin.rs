//! Where a call of `pilot run` begins: a new run, or the last one where it stopped.

use std::collections::BTreeMap;

use anyhow::Context;
use pilot_core::pipeline::{Engine, Pipeline, RunFact};
use pilot_store::{NewFact, NewPipelineRun, PipelinePart, PipelineRun, PipelineStatus, RunId, Store};

use super::place::PipelineProject;
use super::{input_values, load};
use crate::clock;
use crate::commands::pipeline::RunArgs;
use crate::wrong_use::{WrongUse, bail_wrong_use};

pub(crate) struct BegunRun {
    pub(crate) run: RunId,
    pub(crate) inputs: BTreeMap<String, String>,
    pub(crate) facts: Vec<RunFact>,
    pub(crate) base: Option<String>,
    pub(crate) resumed: bool,
}

impl BegunRun {
    pub(crate) fn words(&self, engine: &Engine<'_>) -> String {
        let short = self.run.short();
        match (self.resumed, self.facts.first()) {
            (true, _) => format!("Run {short} continues at {}; --fresh would start over", engine.at()),
            (false, Some(RunFact::Picked { from, only: true, .. })) => format!("Run {short}: {from} only"),
            (false, Some(RunFact::Picked { from, .. })) => format!("Run {short} from {from}"),
            (false, _) => format!("Run {short}"),
        }
    }
}

pub(crate) async fn begin(
    args: &RunArgs,
    store: &Store,
    project: &PipelineProject,
    pipeline: &Pipeline,
) -> anyhow::Result<BegunRun> {
    let picked = args.from.as_ref().or(args.only.as_ref());
    if let Some(id) = picked {
        check_step(pipeline, id)?;
    }
    let whole = store.last_whole_pipeline(&project.name()).await?;
    let open = whole.as_ref().filter(|last| last.status != PipelineStatus::Completed);
    match open.filter(|_| picked.is_none() && !args.fresh) {
        Some(last) => continue_run(args, store, pipeline, last).await,
        None => {
            let first = match picked {
                None => None,
                Some(from) => Some(RunFact::Picked {
                    from: from.clone(),
                    only: args.only.is_some(),
                    emits: emitted(store, &project.name()).await?,
                }),
            };
            start_run(args, store, project, pipeline, first).await
        }
    }
}

const NAMED: usize = 12;

fn check_step(pipeline: &Pipeline, id: &str) -> anyhow::Result<()> {
    if pipeline.steps.iter().any(|step| step.id == id) {
        return Ok(());
    }
    let nested = pipeline.walk().into_iter().any(|(_, step)| step.id == id);
    let names: Vec<&str> = pipeline.steps.iter().map(|step| step.id.as_str()).collect();
    let mut listed = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    if names.len() > NAMED {
        listed.push_str(&format!(" and {} more; `pilot steps` shows them all", names.len() - NAMED));
    }
    Err(match nested {
        true => WrongUse::error(format_args!(
            "{id} is inside a loop; --from and --only take a step at the top level: {listed}"
        )),
        false => WrongUse::error(format_args!("there is no step {id:?}; there are {listed}")),
    })
}

async fn start_run(
    args: &RunArgs,
    store: &Store,
    project: &PipelineProject,
    pipeline: &Pipeline,
    first: Option<RunFact>,
) -> anyhow::Result<BegunRun> {
    let inputs = input_values(pipeline, &args.inputs)?;
    let (now, base) = (clock::now(), project.head().map(|sha| sha.as_str().to_owned()));
    let run = RunId::generate(now);
    let new = NewPipelineRun {
        id: run.clone(),
        project_path: project.name(),
        fingerprint: pipeline.fingerprint(),
        inputs: serde_json::to_string(&inputs)?,
        part: if args.only.is_some() { PipelinePart::Step } else { PipelinePart::Whole },
        base_sha: base.clone(),
        started_at: now,
    };
    let secrets = store.secrets();
    let facts: Vec<RunFact> =
        first.into_iter().map(|fact| fact.map_texts(&|text| secrets.redact(text))).collect();
    let json = facts.first().map(serde_json::to_string).transpose()?;
    let first =
        json.as_ref().map(|json| NewFact { seq: 0, at: now, step: "", fact: json, decision: "begins" });
    store.begin_pipeline(&new, first.as_ref()).await.context("store the start of the run")?;
    Ok(BegunRun { run, inputs, facts, base, resumed: false })
}

async fn continue_run(
    args: &RunArgs,
    store: &Store,
    pipeline: &Pipeline,
    last: &PipelineRun,
) -> anyhow::Result<BegunRun> {
    let short = last.id.short();
    if last.fingerprint != pipeline.fingerprint() {
        bail_wrong_use!(
            "{} has changed since run {short} stopped, so it cannot continue: `pilot run --from STEP` starts at a step \
             with the new file, `pilot run --fresh` starts over",
            load::FILE
        );
    }
    let inputs: BTreeMap<String, String> =
        serde_json::from_str(&last.inputs).context("read the run's inputs")?;
    for text in &args.inputs {
        let same = text
            .split_once('=')
            .is_some_and(|(name, value)| inputs.get(name).is_some_and(|old| old == value));
        if !same {
            bail_wrong_use!(
                "run {short} continues with its own inputs; leave --input {text} out, or start over with --fresh"
            );
        }
    }
    let facts = facts(store, &last.id).await?;
    store.continue_pipeline(&last.id).await.context("continue the run")?;
    Ok(BegunRun { run: last.id.clone(), inputs, facts, base: last.base_sha.clone(), resumed: true })
}

async fn emitted(store: &Store, project: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let Some(last) = store.last_pipeline(project).await? else { return Ok(BTreeMap::new()) };
    // The file may be another one by now, so only what was emitted is looked for, not where.
    let mut emits = BTreeMap::new();
    for fact in facts(store, &last.id).await? {
        match fact {
            RunFact::Picked { emits: before, .. } => emits.extend(before),
            RunFact::Ended { attempt } => emits.extend(attempt.emitted()),
            RunFact::Listed { .. }
            | RunFact::NotReady { .. }
            | RunFact::Started { .. }
            | RunFact::Written { .. }
            | RunFact::Answered { .. }
            | RunFact::Resumed => {}
        }
    }
    Ok(emits)
}

/// The last run of a project, with its inputs and facts.
pub(crate) async fn last(
    store: &Store,
    project: &str,
) -> anyhow::Result<Option<(PipelineRun, BTreeMap<String, String>, Vec<RunFact>)>> {
    let Some(last) = store.last_pipeline(project).await? else { return Ok(None) };
    let inputs = serde_json::from_str(&last.inputs).context("read the run's inputs")?;
    let facts = facts(store, &last.id).await?;
    Ok(Some((last, inputs, facts)))
}

async fn facts(store: &Store, run: &RunId) -> anyhow::Result<Vec<RunFact>> {
    let rows = store.pipeline_facts(run).await?;
    let fact = |row: &pilot_store::PipelineFact| serde_json::from_str(&row.fact);
    rows.iter()
        .map(fact)
        .collect::<Result<_, _>>()
        .with_context(|| format!("read what happened in run {}", run.short()))
}
