//! What an agent's output says, in one model for all agents.
//!
//! Events borrow from the line they were read from. They carry the agent's own words and numbers; what they mean for a
//! run (which failure class, whether to retry) is decided elsewhere.

use std::borrow::Cow;

use super::usage::{Usage, UsageScope};

/// The most of a tool's output that is handed on, in bytes.
pub const TOOL_RESULT_LIMIT: usize = 16 * 1024;

/// One thing an agent's output said.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentEvent<'a> {
    /// A session began, or the agent said again which one it is.
    Session {
        id: Cow<'a, str>,
        /// The model that answers, when the agent reports it.
        model: Option<Cow<'a, str>>,
        /// Its working directory, when the agent reports it.
        cwd: Option<Cow<'a, str>>,
    },
    /// What the model said to people: the only event that may carry signals, and only when `parent` is `None`.
    Text(Text<'a>),
    /// The message whose text came in pieces is complete; its pieces are to be read as one text.
    MessageEnd {
        /// The [`Text::ordinal`] of its pieces.
        ordinal: u64,
    },
    /// The model thought. Its thoughts are dropped and never text.
    Thinking {
        /// The tool call of the sub-agent that thought.
        parent: Option<Cow<'a, str>>,
    },
    ToolUse {
        /// What the result will name; empty when the agent gave none.
        id: Cow<'a, str>,
        /// The tool's name in the agent's own words.
        name: Cow<'a, str>,
        /// The arguments as raw JSON: an object for most tools, a string for a codex command.
        input: &'a str,
        /// The tool call of the sub-agent that called.
        parent: Option<Cow<'a, str>>,
    },
    ToolResult {
        /// The call it answers; empty when the agent gave none.
        id: Cow<'a, str>,
        /// Whether the agent calls it a failure.
        is_error: bool,
        /// The begin of the output, at most [`TOOL_RESULT_LIMIT`] bytes.
        content: Cow<'a, str>,
        /// The tool call of the sub-agent that had called.
        parent: Option<Cow<'a, str>>,
    },
    /// What was used. Feed it to a [`UsageMeter`](super::UsageMeter); adding these up by hand counts twice.
    Usage {
        /// What the numbers are about.
        scope: UsageScope<'a>,
        usage: Usage,
    },
    /// A request to the model failed and will be sent again.
    Retry {
        /// Which retry this is, from 1.
        attempt: u64,
        /// How many there will be at most.
        max: Option<u64>,
        delay_ms: Option<u64>,
        status: Option<u16>,
        /// The agent's word for the reason.
        class: Cow<'a, str>,
    },
    /// The account's limit is near or reached.
    RateLimit {
        status: Cow<'a, str>,
        resets_at: Option<u64>,
        /// Which limit: `five_hour`, …
        kind: Option<Cow<'a, str>>,
    },
    /// The agent shortens its own context.
    Compaction { stage: CompactionStage, pre_tokens: Option<u64>, post_tokens: Option<u64> },
    /// Another model answers from here on.
    Fallback { from: Cow<'a, str>, to: Cow<'a, str>, trigger: Option<Cow<'a, str>> },
    /// The model, or its guard, refused to answer.
    Refusal {
        model: Option<Cow<'a, str>>,
        /// The guard's word for the reason.
        category: Option<Cow<'a, str>>,
    },
    /// A command or sub-agent runs on its own: silence is expected until it ends.
    TaskStarted {
        /// What [`AgentEvent::TaskEnded`] will name.
        id: Cow<'a, str>,
        /// The tool call that started it.
        tool: Option<Cow<'a, str>>,
        kind: Option<Cow<'a, str>>,
        /// Whether the agent continues meanwhile.
        background: bool,
    },
    /// Such a task ended. May be said more than once of one task.
    TaskEnded {
        id: Cow<'a, str>,
        /// `completed`, `failed`, `stopped`, …
        status: Cow<'a, str>,
    },
    /// How many background tasks run now.
    TasksRunning { count: u64 },
    /// A tool was not allowed.
    Denied { tool: Cow<'a, str>, id: Option<Cow<'a, str>>, message: Cow<'a, str> },
    /// A hook of the user or the repository runs.
    HookStarted {
        name: Cow<'a, str>,
        /// What it hooks: `Stop`, `PreToolUse`, …
        event: Cow<'a, str>,
    },
    HookEnded {
        name: Cow<'a, str>,
        event: Cow<'a, str>,
        outcome: Cow<'a, str>,
        /// Its exit code; absent when it had none.
        exit_code: Option<u64>,
    },
    /// A turn ended and the agent says how. A process may say this several times: the last one counts.
    Result(Box<AgentResult<'a>>),
    /// The agent reports an error that is not yet the end.
    Failure(Box<AgentFailure<'a>>),
    /// Words from the agent's program, not from the model.
    Notice { level: Option<Cow<'a, str>>, text: Cow<'a, str> },
    /// A sign of life and nothing else.
    Alive,
    /// A line, or a part of one, of a kind this program does not know.
    Unknown {
        /// The agent's word for it: the type, `type/subtype`, or the kind of a content block.
        word: Cow<'a, str>,
    },
    /// A line that could not be read. Never text, whatever it holds.
    Undecodable { reason: UnreadReason, bytes: u64 },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Text<'a> {
    /// The number of the message within the run, from 0. Each block of text is a message of its own; only the pieces of
    /// one message share a number.
    pub ordinal: u64,
    /// The model's id of the answer this is a block of; several blocks share it.
    pub message: Option<Cow<'a, str>>,
    /// The tool call of the sub-agent that speaks; `None` for the agent itself.
    pub parent: Option<Cow<'a, str>>,
    /// Whether this is a piece: more may follow until [`AgentEvent::MessageEnd`]. Otherwise the text is whole.
    pub delta: bool,
    pub text: Cow<'a, str>,
}

/// How a turn ended, as the agent tells it. Git and the exit status have their say too.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentResult<'a> {
    /// `success`, or the agent's word for another end. Alone it proves nothing: see [`AgentResult::succeeded`].
    pub subtype: Cow<'a, str>,
    pub is_error: bool,
    pub text: Option<Cow<'a, str>>,
    /// What went wrong, in the agent's words.
    pub errors: Vec<Cow<'a, str>>,
    pub num_turns: Option<u64>,
    /// Why the model stopped: `end_turn`, `refusal`, …
    pub stop_reason: Option<Cow<'a, str>>,
    /// Why the agent stopped: `completed`, `api_error`, `max_turns`, …
    pub terminal_reason: Option<Cow<'a, str>>,
    pub api_error_status: Option<u16>,
    /// The agent's word for that error: `usage_limit_reached`, …
    pub api_error: Option<Cow<'a, str>>,
    /// The API's word for it: `overloaded_error`, `permission_error`, …
    pub api_error_type: Option<Cow<'a, str>>,
    pub permission_denials: u64,
    /// The session, for resuming.
    pub session: Option<Cow<'a, str>>,
    /// What the whole session used so far, earlier processes included; keep it for
    /// [`Decoder::resuming`](super::Decoder::resuming).
    pub session_usage: Option<Usage>,
}

impl AgentResult<'_> {
    /// Whether both the word and the flag say success; versions differ in which of the two they set.
    pub fn succeeded(&self) -> bool {
        self.subtype == "success" && !self.is_error
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentFailure<'a> {
    /// The agent's word for its kind: `rate_limit`, `billing_error`, …
    pub class: Option<Cow<'a, str>>,
    pub status: Option<u16>,
    /// A more exact word: `usage_limit_reached`, `connection_failed`, …
    pub api_error: Option<Cow<'a, str>>,
    /// The API's own word: `overloaded_error`, `permission_error`, …
    pub api_error_type: Option<Cow<'a, str>>,
    pub resets_at: Option<u64>,
    pub message: Cow<'a, str>,
    /// The tool call of the sub-agent that failed.
    pub parent: Option<Cow<'a, str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactionStage {
    Started,
    Done,
    Failed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnreadReason {
    /// It was longer than [`MAX_LINE`](super::MAX_LINE).
    Oversized,
    NotUtf8,
    NotAnObject,
    /// It begins like a JSON object and is none.
    Malformed,
}
