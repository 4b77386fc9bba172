//! Gates on the commit that is the result so far.

use std::time::Duration;

use anyhow::Context;
use pilot_core::gate::{Chosen, Gate, Verdict, choose, verdict, words};
use pilot_exec::backend::BackendKind;
use pilot_exec::environment::{Rules, gate_environment};
use pilot_exec::gate::{Ground, Progress, Round, Site, StopGate, look, run_gates};
use pilot_exec::process::Limits;

use super::control::{Control, Order};
use super::interrupts::Interrupts;
use super::rounds::Rounds;
use super::session::Call;

/// How often an order to stop is looked for.
const TICK: Duration = Duration::from_millis(200);

/// The gates of the result so far. What an agent adds is checked too; what it takes away is checked all the same.
pub(crate) fn chosen(rounds: &Rounds<'_>) -> anyhow::Result<Chosen> {
    let quality = &rounds.life.plan.config()?.quality;
    Ok(choose(quality, &[rounds.root.clone(), look(&rounds.sessions.tree)]))
}

/// Runs the gates. The worktree is as the commit says, before and afterwards.
pub(crate) async fn judge(rounds: &mut Rounds<'_>, gates: &[Gate]) -> anyhow::Result<Verdict> {
    let config = rounds.life.plan.config()?;
    let (executor, quality) = (&config.executor, &config.quality);
    let rules = Rules { pass: &executor.env.pass, deny: &executor.env.deny };
    let env = gate_environment(rounds.life.environment.all(), &rules, &rounds.sessions.tmp);
    let (Some(workspace), Some(finalised)) = (rounds.workspace.as_deref(), &rounds.finalised) else {
        return Ok(verdict("", Vec::new()));
    };
    let site = Site {
        ground: Ground::Commit(workspace, finalised),
        env: &env,
        limits: Limits {
            memory: executor.limits.memory,
            processes: executor.limits.processes.map(u64::from),
            file_size: executor.limits.file_size,
        },
        grace: executor.grace,
        containment: &rounds.sessions.containment,
    };
    let round = Round { gates, parallel: quality.parallel, policy: quality.on_failure };
    let drive = &mut rounds.drive;
    let (view, recorder, at) = (&mut *drive.view, &mut rounds.recorder, drive.watch);
    let stop = stop(drive.control, drive.interrupts);
    let mut lines = Vec::new();
    let results = run_gates(&round, &site, stop, |progress| {
        let words = match progress {
            Progress::Started(gate) => format!("Gate {}: {}", gate.name, gate.command),
            Progress::Ended(result) => format!("Gate {}.", words::result(result)),
        };
        view.note(&words);
        recorder.note(at.millis(), &words);
        lines.push(words);
    })
    .await;
    drive.log("gate", lines).await;
    let verdict = verdict(finalised.head.as_str(), results);
    drive.cancelled |= matches!(verdict, Verdict::Unfinished(_));
    Ok(verdict)
}

/// Settings that let the gates run inside the session, before the agent stops; none where that is not wanted.
pub(crate) fn stop_hook(rounds: &Rounds<'_>, call: &Call<'_>) -> anyhow::Result<Option<String>> {
    let config = rounds.life.plan.config()?;
    let (executor, quality) = (&config.executor, &config.quality);
    let chosen = choose(quality, std::slice::from_ref(&rounds.root));
    let wanted = quality.stop_hook && rounds.life.plan.is_gated() && !chosen.gates().is_empty();
    if !wanted || call.agent.kind != BackendKind::ClaudeCode {
        return Ok(None);
    }
    let gate = StopGate {
        gates: chosen.gates().to_vec(),
        parallel: quality.parallel,
        policy: quality.on_failure,
        tree: rounds.sessions.tree.clone(),
        tmp: rounds.sessions.tmp.clone(),
        pass: executor.env.pass.clone(),
        deny: executor.env.deny.clone(),
        limit: executor.silence_timeout / 2,
        grace: executor.grace,
        cap: quality.on_failure.max_retries,
        held: 0,
    };
    let file = rounds.sessions.tmp.join("stop-gate.json");
    gate.save(&file).context("prepare the stop hook")?;
    let pilot = std::env::current_exe().context("find Pilot's own program")?;
    Ok(Some(gate.settings(&pilot, &file)))
}

/// Until a person ends the run.
async fn stop(control: &Control, interrupts: &mut Interrupts) {
    loop {
        tokio::select! {
            () = interrupts.wait() => return,
            () = tokio::time::sleep(TICK) => {}
        }
        if control.take(Order::Cancel) {
            return;
        }
    }
}
