//! What the verdict on a session rests on: how its process ended, what it said, what git says.

use pilot_core::outcome::{EndedBy, Evidence, Git, GitFacts, Goal, Outcome, ProcessEnd, Stderr, decide};
use pilot_exec::backend::Output;
use pilot_exec::process::{Ended, EndedBy as ExecEndedBy, Exit, Why};
use pilot_exec::workspace::{Finalised, Finding, WorkspaceError};

use super::listen::Listener;
use super::view::View;

/// A session of an agent that is over.
pub(crate) struct Session {
    /// How it ended; the sentence when it never began.
    pub(crate) ended: Result<Ended, String>,
    /// What it printed.
    pub(crate) output: Output,
    /// The agent, when its program is one that Pilot knows.
    pub(crate) agent: Option<pilot_core::stream::Agent>,
}

impl Session {
    /// The core's verdict.
    pub(crate) fn outcome(&self, goal: Goal, listener: &Listener, git: &Git) -> Outcome {
        let (end, ended_by, oom, stderr) = match &self.ended {
            Err(reason) => {
                (ProcessEnd::NotStarted { reason: reason.clone() }, EndedBy::Itself, false, String::new())
            }
            Ok(ended) => (process_end(ended.exit), ended_by(ended.by), ended.oom, ended.stderr.text()),
        };
        decide(&Evidence {
            goal,
            agent: self.agent.or(listener.agent()),
            reports: self.output.reports(),
            end: &end,
            ended_by,
            oom,
            stream: &listener.facts,
            claims: &listener.claims,
            git,
            stderr: Stderr { head: &stderr, tail: &stderr },
        })
    }

    /// The same before anybody looked into git, for failures that do not depend on it.
    pub(crate) fn outcome_so_far(&self, goal: Goal, listener: &Listener) -> Outcome {
        self.outcome(goal, listener, &NOTHING)
    }
}

/// What git says when there is none.
pub(crate) const NOTHING: Git = Git::Read(GitFacts { commits: 0, files_changed: 0, head_moved: false });

/// What git says about a run, and what a person should know of it.
pub(crate) fn git(finalised: Result<Finalised, WorkspaceError>, view: &mut View) -> (Git, Option<Finalised>) {
    match finalised {
        Err(error) => {
            view.warn(&format!("the work could not be collected: {error}; the worktree is kept"));
            (Git::Unreadable { reason: error.to_string() }, None)
        }
        Ok(finalised) => {
            finalised.found.iter().for_each(|finding| tell(finding, &finalised, view));
            for other in &finalised.others {
                view.note(&format!("{} is not in the result and kept at {}", other.sha.short(), other.pin));
            }
            (Git::Read(facts(&finalised)), Some(finalised))
        }
    }
}

/// What a result brings.
pub(crate) fn facts(finalised: &Finalised) -> GitFacts {
    GitFacts {
        commits: finalised.commits.len() as u64,
        files_changed: finalised.files_changed() as u64,
        head_moved: finalised.head != finalised.base,
    }
}

/// Tells a person what a run left that it should not.
fn tell(finding: &Finding, finalised: &Finalised, view: &mut View) {
    if finding.is_tampering() {
        view.warn(&format!("the agent touched what it should not: {finding}"));
    } else if let (Finding::BranchNotSet { .. }, Some(pin)) = (finding, &finalised.pin) {
        view.warn(&format!("{finding}; the work is at {pin}"));
    } else if let Finding::RefChanged { .. } = finding {
        // Perhaps by its owner.
        view.note(&finding.to_string());
    } else {
        view.warn(&finding.to_string());
    }
}

pub(crate) fn process_end(exit: Exit) -> ProcessEnd {
    match exit {
        Exit::Code(code) => ProcessEnd::Code(code),
        Exit::Signal(signal) => ProcessEnd::Signal(signal),
        Exit::Lost => ProcessEnd::Lost,
    }
}

pub(crate) fn ended_by(by: ExecEndedBy) -> EndedBy {
    match by {
        ExecEndedBy::Itself => EndedBy::Itself,
        ExecEndedBy::Silence => EndedBy::Silence,
        ExecEndedBy::Deadline => EndedBy::Deadline,
        ExecEndedBy::Stopped(Why::Cancelled) => EndedBy::Person,
        ExecEndedBy::Stopped(Why::Shutdown) => EndedBy::Shutdown,
        ExecEndedBy::Stopped(Why::Lingered) => EndedBy::ExitMark,
        ExecEndedBy::Stopped(Why::Stagnated) => EndedBy::Stagnation,
        ExecEndedBy::Stopped(Why::Budget) => EndedBy::Budget,
    }
}
