//! What a task came to: the result object for programs, a few lines for people, the row in the store.

use std::io::Write;
use std::process::ExitCode;

use pilot_core::budget::Charge;
use pilot_core::duration;
use pilot_core::outcome::{RunStatus, StreamFacts};
use pilot_core::review::Review;
use pilot_core::route::Route;
use pilot_core::run::RunResult;
use pilot_core::time::Timestamp;
use pilot_store::Finish;

use crate::printable;
use crate::stdout::{Stdout, print_line};

pub(crate) fn finish_row(
    result: &RunResult,
    charge: Option<Charge>,
    review: Option<&Review>,
    facts: &StreamFacts,
    at: Timestamp,
) -> Finish {
    Finish {
        class: result.class.map(|class| class.as_str().to_owned()),
        reason: Some(result.reason.clone()),
        error: result.class.map(|_| result.reason.clone()),
        branch: result.branch.clone(),
        commit_sha: result.commit_sha.as_ref().map(|sha| sha.as_str().to_owned()),
        commits: Some(result.commits),
        files_changed: Some(result.files_changed),
        attempts: Some(result.attempts),
        usage: Some(result.usage),
        charge,
        review: review.and_then(|review| serde_json::to_string(review).ok()),
        gates: result.gates.as_ref().and_then(|gates| serde_json::to_string(gates).ok()),
        progress: Some(u64::from(result.progress)),
        phase: Some(result.phase.clone()),
        final_message: Some(result.final_message.clone()),
        output: Some(result.final_message.clone()),
        model: facts.model().map(str::to_owned),
        session_id: facts.session().map(str::to_owned),
        session_usage: facts.session_usage().and_then(|usage| serde_json::to_string(&usage).ok()),
        ..Finish::new(result.status, at)
    }
}

/// Prints the result: with `--json` the object alone, for a question the answer alone.
pub(crate) fn print(result: &RunResult, json: bool, answer: bool) -> anyhow::Result<()> {
    if json {
        return Ok(print_line(serde_json::to_string(result)?)?);
    }
    if answer {
        return Ok(print_line(printable::text(&result.final_message))?);
    }
    let mut out = Stdout::lock();
    let class = result.class.map(|class| class.as_str()).filter(|class| *class != result.status.as_str());
    let class = class.map_or_else(String::new, |class| format!(" ({class})"));
    writeln!(out, "{} {}{class}: {}", result.task, result.status, printable::line(&result.reason, 200))?;
    if let (Some(branch), Some(commit)) = (&result.branch, &result.commit_sha) {
        let (commits, files) = (counted(result.commits, "commit"), counted(result.files_changed, "file"));
        writeln!(out, "  branch  {branch} at {}: {commits}, {files}", short(commit.as_str()))?;
        let base = result.base_sha.as_ref().map_or("HEAD", |sha| sha.as_str());
        writeln!(out, "  see it  git diff {}...{branch}", short(base))?;
    }
    if let Some(url) = &result.pr_url {
        writeln!(out, "  PR      {}", printable::line(url, 200))?;
    }
    let gates: Vec<String> =
        result.gates.iter().flatten().map(|gate| format!("{} {}", gate.name, gate.status.words())).collect();
    if !gates.is_empty() {
        writeln!(out, "  gates   {}", printable::line(&gates.join(", "), 200))?;
    }
    if let Some(review) = &result.review {
        writeln!(out, "  review  {}", printable::line(review.trim_start_matches("review: "), 200))?;
    }
    for finding in &result.findings {
        writeln!(out, "          {}", printable::line(&finding.to_string(), 200))?;
    }
    if result.held.is_some() {
        writeln!(
            out,
            "  held    a person decides: read the findings, then merge the branch or run the task again"
        )?;
    }
    let tokens = result.usage.input_tokens + result.usage.output_tokens;
    let cost = result.usage.cost_usd.map_or_else(String::new, |usd| format!(", ${usd:.2}"));
    let (seconds, tenths) = (result.duration_ms / 1000, result.duration_ms / 100 % 10);
    writeln!(out, "  took    {seconds}.{tenths} s, {tokens} tokens{cost}")?;
    writeln!(out, "  more    pilot logs {}", result.task)?;
    if let Some(class) = result.class {
        writeln!(out, "  next    {}", class.next_step(&result.task))?;
    }
    Ok(out.flush()?)
}

fn short(sha: &str) -> &str {
    &sha[..sha.len().min(12)]
}

pub(crate) fn route(route: &Route) -> String {
    let model = route.model.as_deref().unwrap_or("the agent's own model");
    let effort = route.effort.map_or_else(String::new, |effort| format!(", effort {}", effort.as_str()));
    format!("{}, {model}{effort}, at most {}", route.complexity, duration::text(route.timeout))
}

fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

pub(crate) fn exit_code(result: &RunResult) -> ExitCode {
    match result.status {
        RunStatus::Completed if result.held.is_some() => ExitCode::from(3),
        RunStatus::Completed => ExitCode::SUCCESS,
        RunStatus::Failed | RunStatus::NoChanges | RunStatus::Declined => ExitCode::FAILURE,
        RunStatus::Blocked => ExitCode::from(3),
        RunStatus::Cancelled => ExitCode::from(130),
    }
}
