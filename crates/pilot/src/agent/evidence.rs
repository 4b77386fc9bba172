//! What the verdict on a session rests on: how its process ended, what its output says, what git says.

use pilot_core::outcome::{
    Claims, EndedBy, Evidence, Git, GitFacts, Goal, Outcome, Stderr, StreamFacts, decide,
};
use pilot_core::run::OutputFormat;
use pilot_core::stream::Agent;
use pilot_exec::process::Ended;

pub(crate) struct EndedSession {
    /// Why it never began is the error.
    pub(crate) ended: Result<Ended, String>,
    pub(crate) format: OutputFormat,
    /// The agent, when it is one that Pilot knows.
    pub(crate) agent: Option<Agent>,
}

/// What git says where nothing can change.
pub(crate) const NO_CHANGES: Git = Git::Read(GitFacts { commits: 0, files_changed: 0, head_moved: false });

impl EndedSession {
    pub(crate) fn outcome(&self, goal: Goal, stream: &StreamFacts, claims: &Claims, git: &Git) -> Outcome {
        let ended = self.ended.as_ref();
        let stderr = ended.map_or_else(|_| String::new(), |ended| ended.stderr.text());
        decide(&Evidence {
            goal,
            agent: self.agent,
            reports: self.format.reports(),
            end: ended.map(|ended| ended.exit).map_err(String::as_str),
            ended_by: ended.map_or(EndedBy::Itself, |ended| ended.by),
            oom: ended.is_ok_and(|ended| ended.oom),
            stream,
            claims,
            git,
            stderr: Stderr { head: &stderr, tail: &stderr },
        })
    }
}
