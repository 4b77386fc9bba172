//! Asks a small model how much work a task is, where the configuration wants that. Its answer can only raise the route.

use pilot_core::budget::{Charge, Prices, charge};
use pilot_core::config::Backend;
use pilot_core::outcome::Goal;
use pilot_core::route::{
    CLAUDE_MODELS, Classification, Complexity, asks_classifier, classifier_key, classifier_prompt,
    read_classification,
};
use pilot_core::stream::Usage;
use pilot_exec::process::Containment;
use pilot_store::{RunId, Store};

use super::control::Control;
use super::output::RunOutput;
use super::plan::TaskPlan;
use super::session::SessionCall;
use super::view::View;
use crate::agent::call::Launcher;
use crate::agent::evidence::{EndedSession, NO_CHANGES};
use crate::agent::interrupts::Interrupts;
use crate::agent::run::{ProcessListener, run};
use crate::clock::{self, Stopwatch};
use crate::config::Environment;

#[derive(Debug, Default)]
pub(crate) struct Classified {
    pub(crate) answer: Classification,
    /// None when it was not asked now.
    pub(crate) charge: Option<Charge>,
    pub(crate) usage: Option<Usage>,
    /// Whether the user pressed Ctrl-C meanwhile.
    pub(crate) cancelled: bool,
}

impl Classified {
    fn free(answer: Classification) -> Classified {
        Classified { answer, ..Classified::default() }
    }
}

/// The classifier's answer, from the store if it was asked the same before.
pub(crate) async fn classify(
    plan: &TaskPlan,
    environment: &Environment,
    (store, run): (&Store, &RunId),
    interrupts: &mut Interrupts,
    view: &mut View,
) -> anyhow::Result<Classified> {
    let (executor, ticket) = (&plan.config()?.executor, plan.job.ticket());
    if plan.repository.is_none() || !asks_classifier(&ticket, executor, &plan.overrides) {
        return Ok(Classified::default());
    }
    let small = (plan.agent.backend == Backend::ClaudeCode)
        .then(|| (*CLAUDE_MODELS.of(Complexity::Trivial)).to_owned());
    let model = executor.classifier.model.clone().or(small);
    let question = classifier_key(model.as_deref(), &ticket);
    if let Ok(Some(answer)) = store.classification(&question).await
        && let Ok(known) = read_classification(&answer)
    {
        return Ok(Classified::free(known));
    }
    view.note("Asking a small model how much work this is.");
    let prompt = classifier_prompt(&ticket);
    let call = SessionCall {
        model,
        effort: None,
        timeout: executor.classifier.timeout,
        read_only: true,
        ..plan.call(&plan.agent, prompt.clone(), prompt)
    };
    let control = Control::open(plan.loaded.home.path(), run)?;
    let launcher = Launcher {
        executor,
        environment,
        containment: Containment::probe("/proc/self/exe"),
        dir: control.tmp(),
        tmp: control.tmp(),
    };
    let asked = ask(plan, &launcher, &call, interrupts).await;
    control.close();
    let (answer, mut classified) = match asked {
        Err(error) => return Ok(Classified::free(Classification::Failed(error.to_string()))),
        Ok(asked) => asked,
    };
    classified.answer = match answer.and_then(|answer| Ok((read_classification(&answer)?, answer))) {
        Err(error) => Classification::Failed(error.to_string()),
        Ok((said, answer)) => {
            let _ = store.keep_classification(&question, &answer, clock::now()).await;
            said
        }
    };
    // Should Pilot die from now on, this cost is charged.
    if let Some(charge) = &classified.charge {
        let _ = store.note_spent(run, charge).await;
    }
    Ok(classified)
}

/// Reads the answer and nothing else.
struct AnswerListener {
    output: RunOutput,
    watch: Stopwatch,
    cancelled: bool,
}

impl ProcessListener for AnswerListener {
    fn stdout(&mut self, bytes: &[u8]) {
        self.output.push(bytes, self.watch.elapsed());
    }

    fn cancel(&mut self) {
        self.cancelled = true;
    }

    fn is_busy(&self) -> bool {
        self.output.is_busy()
    }
}

/// One short session in an empty folder: its answer, and its cost whatever came of it.
async fn ask(
    plan: &TaskPlan,
    launcher: &Launcher<'_>,
    call: &SessionCall<'_>,
    interrupts: &mut Interrupts,
) -> anyhow::Result<(anyhow::Result<String>, Classified)> {
    let invocation = plan.invocation(call, "", &launcher.dir, &[])?;
    let output = RunOutput::new(launcher.executor.stagnation.clone(), None, false);
    let mut listener = AnswerListener { output, watch: Stopwatch::start(), cancelled: false };
    listener.output.begin(invocation.output, false);
    let process = call.agent.process(&invocation, call.timeout);
    let ended = run(launcher, &process, interrupts, &mut listener).await.map_err(anyhow::Error::msg)?;
    let AnswerListener { mut output, watch, cancelled } = listener;
    output.finish(watch.elapsed());
    let agent = call.agent.backend.agent().or(output.agent());
    let session = EndedSession { ended: Ok(ended), format: invocation.output, agent };
    let outcome = session.outcome(Goal::Answer, output.facts(), &output.state.claims, &NO_CHANGES);
    let prices = Prices::new(&plan.config()?.budget.prices);
    let model = output.facts().model().or(call.model.as_deref());
    let classified = Classified {
        answer: Classification::NotAsked,
        charge: Some(charge(&output.facts().usage(), model, &prices, watch.elapsed())),
        usage: Some(output.usage()),
        cancelled,
    };
    let answer = match outcome.class() {
        None => Ok(output.state.last_message),
        Some(_) => Err(anyhow::anyhow!("{}", outcome.reason())),
    };
    Ok((answer, classified))
}
