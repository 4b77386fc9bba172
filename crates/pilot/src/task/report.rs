//! What a task came to: the result object for programs, a few lines for people.

use std::io::Write;
use std::process::ExitCode;

use pilot_core::budget::Charge;
use pilot_core::duration;
use pilot_core::gate::{self, GateResult, Verdict};
use pilot_core::outcome::{Outcome, Status, StreamFacts};
use pilot_core::progress::{Progress, words};
use pilot_core::review::Review;
use pilot_core::route::Route;
use pilot_exec::workspace::Finalised;
use pilot_store::{Ending, Finish, Micros, RunId};
use serde::Serialize;

use crate::printable;
use crate::stdout::Stdout;

/// The result of a task.
#[derive(Debug, Serialize)]
pub(crate) struct TaskResult {
    task: String,
    run: String,
    status: &'static str,
    class: Option<&'static str>,
    reason: String,
    pub(super) branch: Option<String>,
    base_sha: Option<String>,
    pub(super) commit_sha: Option<String>,
    commits: u64,
    files_changed: u64,
    route: Route,
    attempts: u64,
    gates: Option<Vec<Gate>>,
    review: Option<String>,
    usage: Usage,
    progress: u8,
    phase: String,
    final_message: String,
    duration_ms: u64,
    pr_number: Option<u64>,
    pr_url: Option<String>,
    #[serde(skip)]
    charge: Option<Charge>,
    /// The review as it is stored.
    #[serde(skip)]
    findings: Option<String>,
}

/// What became of a gate, in the words of the contract: one that could not start did not pass, one that was stopped did
/// not run.
#[derive(Debug, Serialize)]
struct Gate {
    name: String,
    status: &'static str,
    attempts: u32,
    duration_ms: u64,
}

impl Gate {
    fn of(result: &GateResult) -> Gate {
        Gate {
            name: result.gate.name.clone(),
            status: match result.status {
                gate::Status::Passed => "passed",
                gate::Status::Failed | gate::Status::NotStarted => "failed",
                gate::Status::TimedOut => "timed_out",
                gate::Status::Skipped | gate::Status::Cancelled => "skipped",
            },
            attempts: result.attempts,
            duration_ms: u64::try_from(result.duration.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

#[derive(Debug, Serialize)]
struct Usage {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_tokens: u64,
    cache_write_tokens: u64,
    cost_usd: Option<f64>,
}

/// What the result is made from.
pub(crate) struct Parts<'p> {
    pub(crate) task: &'p str,
    pub(crate) run: &'p RunId,
    pub(crate) branch: Option<String>,
    pub(crate) base_sha: Option<String>,
    pub(crate) outcome: &'p Outcome,
    pub(crate) finalised: Option<&'p Finalised>,
    pub(crate) facts: &'p StreamFacts,
    pub(crate) usage: pilot_core::stream::Usage,
    pub(crate) progress: &'p Progress,
    pub(crate) charge: Option<Charge>,
    pub(crate) route: &'p Route,
    /// What the gates said; none when there were to be none.
    pub(crate) verdict: Option<&'p Verdict>,
    /// What a second look came to.
    pub(crate) review: Option<&'p Review>,
    pub(crate) attempts: u64,
    pub(crate) duration_ms: u64,
}

impl TaskResult {
    pub(crate) fn new(parts: Parts<'_>) -> TaskResult {
        let usage = parts.usage;
        let shown = parts.outcome.shown(parts.progress.shown());
        let changed = parts.finalised.filter(|finalised| finalised.has_changes());
        TaskResult {
            task: parts.task.to_owned(),
            run: parts.run.to_string(),
            status: parts.outcome.status().as_str(),
            class: parts.outcome.class().map(|class| class.as_str()),
            reason: parts.outcome.reason().to_owned(),
            branch: parts.branch.filter(|_| changed.is_some()),
            base_sha: parts.base_sha,
            commit_sha: changed.map(|finalised| finalised.head.as_str().to_owned()),
            commits: changed.map_or(0, |finalised| finalised.commits.len() as u64),
            files_changed: changed.map_or(0, |finalised| finalised.files_changed() as u64),
            route: parts.route.clone(),
            attempts: parts.attempts,
            gates: parts.verdict.map(|verdict| verdict.results().iter().map(Gate::of).collect()),
            review: parts
                .review
                .map(|review| review.to_string().lines().next().unwrap_or_default().to_owned()),
            findings: parts.review.and_then(|review| serde_json::to_string(review).ok()),
            usage: Usage {
                input_tokens: usage.input_tokens,
                output_tokens: usage.output_tokens,
                cache_read_tokens: usage.cache_read_tokens,
                cache_write_tokens: usage.cache_write_tokens,
                cost_usd: parts.charge.map(|charge| charge.spent.usd.dollars()).or(usage.cost_usd),
            },
            charge: parts.charge,
            progress: shown.percent,
            phase: words::phase(&shown.phase),
            final_message: parts.facts.final_message().to_owned(),
            duration_ms: parts.duration_ms,
            pr_number: None,
            pr_url: None,
        }
    }

    /// The same, with the pull request it is in.
    pub(super) fn set_pr(&mut self, number: u64, url: &str) {
        self.pr_number = Some(number);
        self.pr_url = Some(url.to_owned());
    }

    /// The row that ends the run in the store.
    pub(crate) fn finish(&self, at: Micros, facts: &StreamFacts) -> Finish {
        let ending = self.status.parse().unwrap_or(Ending::Failed);
        let usage = pilot_store::Usage {
            input_tokens: Some(self.usage.input_tokens),
            output_tokens: Some(self.usage.output_tokens),
            cache_read_tokens: Some(self.usage.cache_read_tokens),
            cache_write_tokens: Some(self.usage.cache_write_tokens),
            cost_usd: self.usage.cost_usd,
        };
        Finish {
            class: self.class.map(str::to_owned),
            reason: Some(self.reason.clone()),
            error: self.class.map(|_| self.reason.clone()),
            branch: self.branch.clone(),
            commit_sha: self.commit_sha.clone(),
            commits: Some(self.commits),
            files_changed: Some(self.files_changed),
            attempts: Some(self.attempts),
            usage,
            charge: self.charge,
            review: self.findings.clone(),
            gates: self.gates.as_ref().and_then(|gates| serde_json::to_string(gates).ok()),
            progress: Some(u64::from(self.progress)),
            phase: Some(self.phase.clone()),
            final_message: Some(self.final_message.clone()),
            output: Some(self.final_message.clone()),
            model: facts.model().map(str::to_owned),
            session_id: facts.session().map(str::to_owned),
            session_usage: facts
                .session_usage()
                .and_then(|usage| serde_json::to_string(&usage_row(usage)).ok()),
            ..Finish::new(ending, at)
        }
    }

    /// Prints it: `--json` the object alone.
    pub(crate) fn print(&self, json: bool, answer: bool) -> anyhow::Result<()> {
        let mut out = Stdout::lock();
        if json {
            writeln!(out, "{}", serde_json::to_string(self)?)?;
        } else if answer {
            writeln!(out, "{}", printable::text(&self.final_message))?;
        } else {
            self.print_lines(&mut out)?;
        }
        out.flush()?;
        Ok(())
    }

    fn print_lines(&self, out: &mut impl Write) -> anyhow::Result<()> {
        let class = self.class.filter(|class| *class != self.status);
        let class = class.map_or_else(String::new, |class| format!(" ({class})"));
        writeln!(out, "{} {}{class}: {}", self.task, self.status, printable::line(&self.reason, 200))?;
        if let (Some(branch), Some(commit)) = (&self.branch, &self.commit_sha) {
            let (commits, files) = (counted(self.commits, "commit"), counted(self.files_changed, "file"));
            writeln!(out, "  branch  {branch} at {}: {commits}, {files}", &commit[..commit.len().min(12)])?;
            let base = self.base_sha.as_deref().unwrap_or("HEAD");
            writeln!(out, "  see it  git diff {}...{branch}", &base[..base.len().min(12)])?;
        }
        if let Some(url) = &self.pr_url {
            writeln!(out, "  PR      {}", printable::line(url, 200))?;
        }
        let gates = self.gates.as_deref().unwrap_or_default();
        if !gates.is_empty() {
            let gates: Vec<String> =
                gates.iter().map(|gate| format!("{} {}", gate.name, gate.status.replace('_', " "))).collect();
            writeln!(out, "  gates   {}", printable::line(&gates.join(", "), 200))?;
        }
        if let Some(review) = &self.review {
            writeln!(out, "  review  {}", printable::line(review.trim_start_matches("self-review: "), 200))?;
        }
        let tokens = self.usage.input_tokens + self.usage.output_tokens;
        let cost = self.usage.cost_usd.map_or_else(String::new, |usd| format!(", ${usd:.2}"));
        writeln!(
            out,
            "  took    {}.{} s, {tokens} tokens{cost}",
            self.duration_ms / 1000,
            self.duration_ms / 100 % 10
        )?;
        writeln!(out, "  more    pilot logs {}", self.task)?;
        Ok(())
    }
}

/// A route on one line.
pub(crate) fn route(route: &Route) -> String {
    let model = route.model.as_deref().unwrap_or("the agent's own model");
    let effort = route.effort.map_or_else(String::new, |effort| format!(", effort {}", effort.as_str()));
    format!("{}, {model}{effort}, at most {}", route.complexity, duration::text(route.timeout))
}

fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[derive(Serialize)]
struct UsageRow {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_tokens: u64,
    cache_write_tokens: u64,
    cost_usd: Option<f64>,
}

fn usage_row(usage: pilot_core::stream::Usage) -> UsageRow {
    UsageRow {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        cache_read_tokens: usage.cache_read_tokens,
        cache_write_tokens: usage.cache_write_tokens,
        cost_usd: usage.cost_usd,
    }
}

/// The exit code that belongs to a status.
pub(crate) fn exit_code(status: Status) -> ExitCode {
    match status {
        Status::Completed => ExitCode::SUCCESS,
        Status::Failed | Status::NoChanges | Status::Declined => ExitCode::FAILURE,
        Status::Blocked => ExitCode::from(3),
        Status::Cancelled => ExitCode::from(130),
    }
}
