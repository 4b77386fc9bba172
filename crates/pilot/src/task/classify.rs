//! Asks a small model how much work a task is, where that is wanted. Its answer can only raise what Pilot reads itself.

use pilot_core::budget::{Charge, Prices, charge};
use pilot_core::outcome::Goal;
use pilot_core::route::{
    CLAUDE_MODELS, Classification, Complexity, asks_classifier, classifier_key, classifier_prompt,
    read_classification,
};
use pilot_core::stream::Usage;
use pilot_exec::backend::BackendKind;
use pilot_exec::process::{Containment, Output, Running};
use pilot_store::{RunId, Store};

use super::control::Control;
use super::evidence::Session;
use super::listen::Listener;
use super::plan::Plan;
use super::session::{Call, Permission, Sessions};
use super::view::View;
use crate::clock::{self, Stopwatch};
use crate::config::Environment;

/// What asking came to.
pub(crate) struct Asked {
    pub(crate) said: Classification,
    /// What it took; none when nobody was asked.
    pub(crate) took: Option<Took>,
}

/// What asking took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Took {
    pub(crate) charge: Charge,
    pub(crate) usage: Usage,
}

impl Asked {
    /// An answer for nothing.
    fn free(said: Classification) -> Asked {
        Asked { said, took: None }
    }
}

/// What it says, now or the last time it was asked the same.
pub(crate) async fn classify(
    plan: &Plan,
    environment: &Environment,
    containment: &Containment,
    store: &Store,
    run: &RunId,
    view: &mut View,
) -> anyhow::Result<Asked> {
    let (executor, ticket) = (&plan.config()?.executor, plan.job.ticket());
    if plan.repository.is_none() || !asks_classifier(&ticket, executor, &plan.overrides) {
        return Ok(Asked::free(Classification::NotAsked));
    }
    let small = (plan.agent.kind == BackendKind::ClaudeCode)
        .then(|| (*CLAUDE_MODELS.of(Complexity::Trivial)).to_owned());
    let model = executor.classifier.model.clone().or(small);
    let question = classifier_key(model.as_deref(), &ticket);
    if let Ok(Some(answer)) = store.classification(&question).await
        && let Ok(known) = read_classification(&answer)
    {
        return Ok(Asked::free(known));
    }
    view.note("Asking how much work this is.");
    let prompt = classifier_prompt(&ticket);
    let call = Call {
        model,
        effort: None,
        timeout: executor.classifier.timeout,
        permissions: Permission::Read,
        ..plan.call(&plan.agent, prompt.clone(), prompt)
    };
    let control = Control::open(plan.loaded.home.path(), run)?;
    let heard = ask(plan, environment, containment, &control, &call).await;
    control.close();
    let (answer, took) = match heard {
        Err(error) => return Ok(Asked::free(Classification::Failed(error.to_string()))),
        Ok(heard) => heard,
    };
    let said = match answer.and_then(|answer| Ok((read_classification(&answer)?, answer))) {
        Err(error) => Classification::Failed(error.to_string()),
        Ok((said, answer)) => {
            let _ = store.keep_classification(&question, &answer, clock::now()).await;
            said
        }
    };
    // A death from now on is charged what this cost.
    let _ = store.note_spent(run, &took.charge).await;
    Ok(Asked { said, took: Some(took) })
}

/// One short session in an empty folder: its answer, and what it took whatever came of it.
async fn ask(
    plan: &Plan,
    environment: &Environment,
    containment: &Containment,
    control: &Control,
    call: &Call<'_>,
) -> anyhow::Result<(anyhow::Result<String>, Took)> {
    let folder = control.tmp();
    let sessions = Sessions {
        plan,
        environment,
        containment: containment.clone(),
        tree: folder.clone(),
        branch: String::new(),
        tmp: folder,
        images: Vec::new(),
    };
    let invocation = sessions.invocation(call)?;
    let mut listener = Listener::new(plan.config()?.executor.stagnation(), false);
    listener.begin(invocation.output, false);
    let watch = Stopwatch::start();
    let mut running = Running::start(sessions.launch(call, &invocation)?, containment).await?;
    while let Some(output) = running.next().await {
        if let Output::Stdout(bytes) = output {
            listener.stdout(bytes, watch.elapsed());
        }
    }
    listener.finish(watch.elapsed());
    let ended = running.end().await;
    let session = Session { ended: Ok(ended), output: invocation.output, agent: call.agent.kind.agent() };
    let outcome = session.outcome_so_far(Goal::Answer, &listener);
    let prices = Prices::new(&plan.config()?.budget.prices);
    let model = listener.facts.model().or(call.model.as_deref());
    let took = Took {
        charge: charge(&listener.facts.usage(), model, &prices, watch.elapsed()),
        usage: listener.usage(),
    };
    let answer = match outcome.class() {
        None => Ok(listener.last_said()),
        Some(_) => Err(anyhow::anyhow!("{}", outcome.reason())),
    };
    Ok((answer, took))
}
