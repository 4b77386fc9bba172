//! What is known of a run when it has ended. Nothing here decides.

use crate::stream::Agent;
use crate::text::word_enum;

use super::claims::Claims;
use super::facts::StreamFacts;

#[derive(Clone, Copy, Debug)]
pub struct Evidence<'e> {
    pub goal: Goal,
    /// The agent, when it is one we know; some have exit codes of their own.
    pub agent: Option<Agent>,
    /// Whether this agent always says how it ended.
    pub reports: Reports,
    /// How the process ended.
    /// How its process ended; the operating system's reason when it was never started.
    pub end: Result<ProcessEnd, &'e str>,
    pub ended_by: EndedBy,
    /// Whether the kernel says that it killed for want of memory (a cgroup's counter, the kernel's log).
    pub oom: bool,
    pub stream: &'e StreamFacts,
    pub claims: &'e Claims,
    pub git: &'e Git,
    /// What the agent's program wrote to standard error.
    pub stderr: Stderr<'e>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    Change,
    /// Words: a question about an image changes nothing.
    Answer,
}

/// Whether an agent that succeeds always prints a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reports {
    /// It does, so output without a result was cut off.
    Always,
    /// It may; plain text never does.
    Maybe,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessEnd {
    Code(i32),
    Signal(i32),
    Lost,
}

word_enum! {
    /// Who ended a process. Recorded when the signal is sent, never guessed from the exit.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum EndedBy {
        /// Not Pilot: the agent itself, or another process.
        Itself = "itself",
        Deadline = "deadline",
        Silence = "silence",
        Stagnation = "stagnation",
        Budget = "budget",
        /// A person: Ctrl-C or `pilot cancel`.
        Person = "person",
        /// It had announced its end and did not leave in the time for that.
        ExitMark = "exit_mark",
        Shutdown = "shutdown",
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Git {
    Read(GitFacts),
    /// It could not be asked; that is not the same as nothing.
    Unreadable {
        reason: String,
    },
}

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
    pub head: &'e str,
    pub tail: &'e str,
}
