//! What is known of a run when it has ended. Nothing here decides.

use crate::stream::Agent;

use super::claims::Claims;
use super::facts::StreamFacts;

/// Everything the verdict is made from.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'e> {
    /// What the run was to bring.
    pub goal: Goal,
    /// The agent, when it is one we know; some have exit codes of their own.
    pub agent: Option<Agent>,
    /// Whether this agent always says how it ended.
    pub reports: Reports,
    /// How the process ended.
    pub end: &'e ProcessEnd,
    /// Who ended it.
    pub ended_by: EndedBy,
    /// Whether the kernel says that it killed for want of memory (a cgroup's counter, the kernel's log).
    pub oom: bool,
    /// What the agent's output said.
    pub stream: &'e StreamFacts,
    /// What the agent claims by marks.
    pub claims: &'e Claims,
    /// What git says of the workspace, leftover changes committed.
    pub git: &'e Git,
    /// What the agent's program wrote to standard error.
    pub stderr: Stderr<'e>,
}

/// What a run is to bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Commits.
    Change,
    /// Words: a question about an image changes nothing.
    Answer,
}

/// Whether an agent that ends well always says so in its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reports {
    /// It does, so output without a result was cut off.
    Always,
    /// It may; plain text never does.
    Maybe,
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessEnd {
    /// It exited with this code.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
    /// It was never started.
    NotStarted {
        /// Why, in the operating system's words.
        reason: String,
    },
    /// Nobody saw it end.
    Lost,
}

/// Who ended a process. Recorded when the signal is sent, never guessed from the exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBy {
    /// Not us: itself, or somebody else.
    Itself,
    /// The total time limit.
    Deadline,
    /// The limit of silence.
    Silence,
    /// The stagnation monitor.
    Stagnation,
    /// The limit of tokens or money.
    Budget,
    /// A person: Ctrl-C or `pilot cancel`.
    Person,
    /// It had announced its end and did not leave in the time for that.
    ExitMark,
    /// Pilot itself was stopped.
    Shutdown,
}

impl EndedBy {
    /// The name as it is recorded.
    pub fn as_str(self) -> &'static str {
        match self {
            EndedBy::Itself => "itself",
            EndedBy::Deadline => "deadline",
            EndedBy::Silence => "silence",
            EndedBy::Stagnation => "stagnation",
            EndedBy::Budget => "budget",
            EndedBy::Person => "person",
            EndedBy::ExitMark => "exit_mark",
            EndedBy::Shutdown => "shutdown",
        }
    }
}

/// What git says of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Git {
    /// It answered.
    Read(GitFacts),
    /// It could not be asked; that is not the same as nothing.
    Unreadable {
        /// Why.
        reason: String,
    },
}

/// What a run left in git.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GitFacts {
    /// Commits on top of the base.
    pub commits: u64,
    /// Files that differ between the base and the head.
    pub files_changed: u64,
    /// Whether the head is another commit than the base.
    pub head_moved: bool,
}

/// The begin and the end of what was written to standard error; the same text twice does no harm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stderr<'e> {
    /// Its first bytes.
    pub head: &'e str,
    /// Its last bytes.
    pub tail: &'e str,
}
