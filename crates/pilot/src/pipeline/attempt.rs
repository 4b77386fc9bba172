//! One attempt at a step: somebody is started, heard and ended, and what came of it becomes a fact.

use std::path::Path;
use std::time::Duration;

use pilot_core::config::Executor;
use pilot_core::outcome::{Claims, Class, Evidence, Goal, Outcome, Stderr, decide};
use pilot_core::pipeline::{Attempt, Failure, Hearing, Role, pattern_failure};
use pilot_exec::environment::{Rules, environment};
use pilot_exec::process::{Containment, Deadlines, Ended, Exit, Launch, Limits, Output, Running, Why};
use tokio::time::{MissedTickBehavior, interval};

use super::call::Call;
use super::view::View;
use crate::clock::Stopwatch;
use crate::config::Environment;
use crate::task::evidence::{NOTHING, ended_by, process_end};
use crate::task::interrupts::Interrupts;

/// How often the screen and the clock are looked at.
const TICK: Duration = Duration::from_millis(200);
/// A program that prints without end must not keep the clock and signals from being looked at.
const BREATH: Duration = Duration::from_millis(20);
/// Ctrl-C ends an attempt within two seconds.
const CANCEL_GRACE: Duration = Duration::from_secs(1);
/// How much of what it complained about is kept.
const STDERR: usize = 4 * 1024;

/// What attempts are made with.
pub(crate) struct Bench<'b> {
    pub(crate) executor: &'b Executor,
    pub(crate) environment: &'b Environment,
    pub(crate) containment: &'b Containment,
    pub(crate) project: &'b Path,
    pub(crate) tmp: &'b Path,
    pub(crate) patterns: &'b [String],
}

/// What came of an attempt, and the words of its updates.
pub(crate) struct Tried {
    pub(crate) attempt: Attempt,
    pub(crate) updates: Vec<String>,
}

impl Bench<'_> {
    /// Makes an attempt; none when a person stopped it.
    pub(crate) async fn attempt(
        &self,
        call: &Call,
        role: Role,
        interrupts: &mut Interrupts,
        view: &mut View,
    ) -> Option<Tried> {
        let watch = Stopwatch::start();
        let mut hearing = Hearing::new(call.format);
        let ended = self.run(call, &mut hearing, interrupts, view).await;
        if let Some(file) = &call.prompt_file {
            let _ = std::fs::remove_file(file);
        }
        let ended = match ended {
            Ok(None) => return None,
            Ok(Some(ended)) => Ok(ended),
            Err(reason) => Err(reason),
        };
        let (heard, facts, agent) = hearing.finish();
        let stderr = ended.as_ref().map(|ended| ended.stderr.text()).unwrap_or_default();
        let output = heard.output.text();
        let failure = match role {
            Role::Shell => shell_failure(&ended, &stderr),
            Role::Review | Role::Work | Role::Alone => {
                let outcome = verdict(call, &ended, &facts, agent, &stderr);
                outcome.class().map(|class| Failure::new(class, outcome.reason()))
            }
        };
        let failure = failure.or_else(|| pattern_failure(self.patterns, &format!("{output}\n{stderr}")));
        let usage = facts.usage().usage;
        let attempt = Attempt {
            failure,
            exit: ended.as_ref().ok().and_then(|ended| match ended.exit {
                Exit::Code(code) => Some(code),
                Exit::Signal(_) | Exit::Lost => None,
            }),
            marks: heard.marks,
            notes: heard.notes,
            output,
            stderr: stderr[stderr.ceil_char_boundary(stderr.len().saturating_sub(STDERR))..].to_owned(),
            duration_ms: watch.millis(),
            tokens: Some(usage.tokens()).filter(|tokens| *tokens > 0),
            cost_usd: usage.cost_usd.filter(|cost| *cost > 0.0),
            ..Attempt::default()
        };
        Some(Tried { attempt, updates: heard.updates })
    }

    fn launch(&self, call: &Call) -> Launch {
        let rules = Rules { pass: &self.executor.env.pass, deny: &self.executor.env.deny };
        Launch {
            env: environment(self.environment.all(), &rules, &call.env, self.tmp),
            stdin: call.stdin.clone(),
            limits: Limits {
                memory: self.executor.limits.memory,
                processes: self.executor.limits.processes.map(u64::from),
                file_size: self.executor.limits.file_size,
            },
            deadlines: Deadlines {
                total: Some(call.timeout),
                silence: Some(self.executor.silence_timeout).filter(|_| call.talks),
                grace: self.executor.grace,
            },
            ..Launch::new(call.argv.clone(), self.project)
        }
    }

    /// Runs it to its end; none when a person stopped it, and the words when it could not be started.
    async fn run(
        &self,
        call: &Call,
        hearing: &mut Hearing,
        interrupts: &mut Interrupts,
        view: &mut View,
    ) -> Result<Option<Ended>, String> {
        let started = Running::start(self.launch(call), self.containment).await;
        let mut running = started.map_err(|error| error.to_string())?;
        let watch = Stopwatch::start();
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let (mut cancelled, mut busy, mut end_said) = (false, false, None);
        let mut yielded = watch.elapsed();
        loop {
            if watch.elapsed().saturating_sub(yielded) >= BREATH {
                tokio::task::yield_now().await;
                yielded = watch.elapsed();
            }
            tokio::select! {
                biased;
                () = interrupts.wait(), if !cancelled => {
                    cancelled = true;
                    view.warn("Stopping; what was done so far is kept.");
                    running.stop_within(Why::Cancelled, CANCEL_GRACE);
                }
                _ = ticks.tick() => {
                    if hearing.said_its_end() {
                        let said = *end_said.get_or_insert(watch.elapsed());
                        if watch.elapsed().saturating_sub(said) >= self.executor.exit_grace {
                            running.stop(Why::Lingered);
                        }
                    }
                    view.tick(hearing.facts().usage().usage.cost_usd);
                }
                output = running.next() => match output {
                    None => break,
                    Some(Output::Stdout(bytes)) => hearing.push(bytes),
                    Some(Output::Stderr(_)) => {}
                },
            }
            if std::mem::replace(&mut busy, hearing.is_busy()) != busy {
                match busy {
                    true => running.suspend_silence(),
                    false => running.resume_silence(),
                }
            }
        }
        let ended = running.end().await;
        Ok(if cancelled { None } else { Some(ended) })
    }
}

/// The core's verdict on an agent, as far as its process and its own report go.
fn verdict(
    call: &Call,
    ended: &Result<Ended, String>,
    facts: &pilot_core::outcome::StreamFacts,
    agent: Option<pilot_core::stream::Agent>,
    stderr: &str,
) -> Outcome {
    let (end, by, oom) = match ended {
        Err(reason) => {
            let end = pilot_core::outcome::ProcessEnd::NotStarted { reason: reason.clone() };
            (end, pilot_core::outcome::EndedBy::Itself, false)
        }
        Ok(ended) => (process_end(ended.exit), ended_by(ended.by), ended.oom),
    };
    decide(&Evidence {
        goal: Goal::Answer,
        agent: call.agent.or(agent),
        reports: call.reports,
        end: &end,
        ended_by: by,
        oom,
        stream: facts,
        // What a step claims by marks is judged by its pipeline.
        claims: &Claims::new(),
        git: &NOTHING,
        stderr: Stderr { head: stderr, tail: stderr },
    })
}

/// A command failed unless it ended by itself with 0.
fn shell_failure(ended: &Result<Ended, String>, stderr: &str) -> Option<Failure> {
    let last = stderr.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let said = last.map_or_else(String::new, |line| format!(": {}", crate::printable::line(line, 300)));
    let unknown = |reason: String| Some(Failure::new(Class::Unknown, reason));
    let ended = match ended {
        Err(reason) => return unknown(format!("the command could not be started: {reason}")),
        Ok(ended) => ended,
    };
    match ended.by {
        pilot_exec::process::EndedBy::Deadline => {
            return Some(Failure::new(Class::Timeout, "stopped at its time limit"));
        }
        pilot_exec::process::EndedBy::Silence => {
            return Some(Failure::new(Class::Stalled, "stopped after a silence longer than its limit"));
        }
        pilot_exec::process::EndedBy::Stopped(_) => return None,
        pilot_exec::process::EndedBy::Itself => {}
    }
    match ended.exit {
        Exit::Code(0) => None,
        Exit::Code(code) => unknown(format!("exit {code}{said}")),
        Exit::Signal(signal) => unknown(format!("killed by signal {signal}{said}")),
        Exit::Lost => unknown("nobody saw the command end".to_owned()),
    }
}
