//! Gates on the commit that is the result so far.

use anyhow::Context;
use pilot_core::config::{Backend, LogLevel};
use pilot_core::gate::{Chosen, Gate, GateVerdict, choose, verdict, words};
use pilot_exec::environment::{Rules, gate_environment};
use pilot_exec::gate::{GateContext, GateProgress, GateRound, GateTarget, StopGate, read_root, run_gates};

use super::control::{Control, RunCommand};
use super::run::TaskRun;
use super::session::SessionCall;
use crate::agent::call::limits;
use crate::agent::interrupts::Interrupts;
use crate::agent::run::TICK;

/// The gates of the result so far: those of the root before the first session, and those the agent added.
pub(crate) fn chosen(run: &TaskRun<'_>) -> anyhow::Result<Chosen> {
    let quality = &run.plan.config()?.quality;
    Ok(choose(quality, &[run.root.clone(), read_root(&run.launcher.dir)]))
}

/// Runs the gates. The worktree is as the commit says, before and afterwards.
pub(crate) async fn run(run: &mut TaskRun<'_>, gates: &[Gate]) -> anyhow::Result<GateVerdict> {
    let config = run.plan.config()?;
    let (executor, quality, launcher) = (&config.executor, &config.quality, &run.launcher);
    let rules = Rules { pass: &executor.env.pass, deny: &executor.env.deny };
    let env = gate_environment(launcher.environment.all(), &rules, &launcher.tmp);
    let (Some(workspace), Some(finalised)) = (run.workspace.as_deref(), &run.finalised) else {
        return Ok(verdict("", Vec::new()));
    };
    let site = GateContext {
        target: GateTarget::Commit(workspace, finalised),
        env: &env,
        limits: limits(executor),
        grace: executor.grace,
        containment: &launcher.containment,
    };
    let round = GateRound { gates, parallel: quality.parallel, policy: quality.on_failure };
    let live = &mut run.live;
    let (view, recorder, at) = (&mut *live.view, &mut live.recorder, live.watch);
    let cancelled = wait_for_cancel(live.control, run.interrupts);
    let mut lines = Vec::new();
    let results = run_gates(&round, &site, cancelled, |progress| {
        let words = match progress {
            GateProgress::Started(gate) => format!("Gate {}: {}", gate.name, gate.command),
            GateProgress::Ended(result) => format!("Gate {}.", words::result(result)),
        };
        view.note(&words);
        recorder.note(at.millis(), &words);
        lines.push(words);
    })
    .await;
    live.log(LogLevel::Info, "gate", lines).await;
    let verdict = verdict(finalised.head.as_str(), results);
    live.cancelled |= matches!(verdict, GateVerdict::Unfinished(_));
    Ok(verdict)
}

/// Settings that run the gates inside the session, before the agent stops; none where that is not wanted.
pub(crate) fn stop_hook(run: &TaskRun<'_>, call: &SessionCall<'_>) -> anyhow::Result<Option<String>> {
    let config = run.plan.config()?;
    let (executor, quality) = (&config.executor, &config.quality);
    let chosen = choose(quality, std::slice::from_ref(&run.root));
    let wanted = quality.stop_hook && run.plan.is_gated() && !chosen.gates().is_empty();
    if !wanted || call.agent.backend != Backend::ClaudeCode {
        return Ok(None);
    }
    let gate = StopGate {
        gates: chosen.gates().to_vec(),
        parallel: quality.parallel,
        policy: quality.on_failure,
        tree: run.launcher.dir.clone(),
        tmp: run.launcher.tmp.clone(),
        pass: executor.env.pass.clone(),
        deny: executor.env.deny.clone(),
        limit: executor.silence_timeout / 2,
        grace: executor.grace,
        cap: quality.on_failure.max_retries,
        held: 0,
    };
    let file = run.launcher.tmp.join("stop-gate.json");
    gate.save(&file).context("prepare the stop hook")?;
    let pilot = std::env::current_exe().context("find Pilot's own program")?;
    Ok(Some(gate.settings(&pilot, &file)))
}

async fn wait_for_cancel(control: &Control, interrupts: &mut Interrupts) {
    loop {
        tokio::select! {
            () = interrupts.wait() => return,
            () = tokio::time::sleep(TICK) => {}
        }
        if control.take(RunCommand::Cancel) {
            return;
        }
    }
}
