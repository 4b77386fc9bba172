//! What the scanner finds: signals, and diagnostics for marks that are none.
//!
//! The field names and their order are those of `pilot signals`; a field that was not sent is absent.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::phase::Phase;

/// A byte range `[start, end)` of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    pub start: u64,
    pub end: u64,
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        [self.start, self.end].serialize(serializer)
    }
}

/// The dialect a mark was written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// A `pilot-signal` fence with JSON.
    V2,
    V3,
    Xml,
    /// Navigator's text blocks and banners.
    Legacy,
}

impl Protocol {
    /// The version of a signal whose sender wrote none.
    pub(super) fn version(self) -> Option<i64> {
        match self {
            Protocol::V2 => Some(2),
            Protocol::V3 => Some(3),
            Protocol::Xml | Protocol::Legacy => None,
        }
    }
}

/// What a signal says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// How far the agent is.
    Status,
    /// The agent entered a phase.
    Phase,
    /// The agent claims to be done.
    Exit,
    /// The agent claims to be stuck.
    Stagnation,
    /// A known banner that is neither of the above.
    Marker,
    Completed,
    Skip,
    Approve,
    Reject,
    /// A person is needed.
    Blocked,
    /// A value for later steps.
    Emit,
    /// A file to write.
    Update,
    Other(String),
}

impl Kind {
    pub fn as_str(&self) -> &str {
        match self {
            Kind::Status => "status",
            Kind::Phase => "phase",
            Kind::Exit => "exit",
            Kind::Stagnation => "stagnation",
            Kind::Marker => "marker",
            Kind::Completed => "completed",
            Kind::Skip => "skip",
            Kind::Approve => "approve",
            Kind::Reject => "reject",
            Kind::Blocked => "blocked",
            Kind::Emit => "emit",
            Kind::Update => "update",
            Kind::Other(word) => word,
        }
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// One accepted mark. Absent is not zero: a field that was not sent is `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Signal {
    pub protocol: Protocol,
    #[serde(rename = "type")]
    pub kind: Kind,
    /// The version the sender wrote, else that of the dialect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub v: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Percent done, 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<u8>,
    /// The round the agent is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<i64>,
    /// Whether the agent wants to stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_signal: Option<bool>,
    /// Whether the agent believes it succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success: Option<bool>,
    /// Why it ends or changes phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indicators: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The file an update writes, as the agent wrote it: not yet trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The body of an XML mark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
    pub span: Span,
}

impl Signal {
    /// A signal that says nothing but its kind.
    pub fn new(protocol: Protocol, kind: Kind, span: Span) -> Signal {
        Signal {
            protocol,
            kind,
            v: None,
            phase: None,
            progress: None,
            iteration: None,
            max_iterations: None,
            exit_signal: None,
            success: None,
            reason: None,
            message: None,
            indicators: None,
            key: None,
            path: None,
            payload: None,
            span,
        }
    }

    pub fn claims_exit(&self) -> bool {
        self.kind == Kind::Exit || self.exit_signal == Some(true)
    }
}

/// Why a mark, or a part of it, does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// A field had the wrong type and is lost.
    BadField,
    /// A float or a numeric string was read as a whole number.
    Coerced,
    /// A legacy status repeats a v2 or v3 one.
    Duplicate,
    InCodeSpan,
    InComment,
    InFence,
    InQuote,
    /// The block holds something other than JSON objects.
    MalformedJson,
    /// A status block without a phase.
    MalformedLegacy,
    /// A tag that cannot be read.
    MalformedTag,
    /// An approval that shares its line.
    NotOnOwnLine,
    ProgressClamped,
    /// The mark is larger than its limit.
    TooLarge,
    /// More marks than a message may hold.
    TooMany,
    /// The message ended inside the mark.
    Unclosed,
    UnknownAttribute,
    /// A tag name that is none.
    UnknownTag,
    /// A type that is none.
    UnknownType,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    #[serde(rename = "diagnostic")]
    pub code: Code,
    pub protocol: Protocol,
    /// The part that is wrong, or what was meant.
    pub detail: String,
    pub span: Span,
}

impl Diagnostic {
    /// Whether this unreadable mark may have been the agent's end of the run.
    pub fn may_hide_an_end(&self) -> bool {
        match self.code {
            Code::MalformedJson
            | Code::MalformedTag
            | Code::MalformedLegacy
            | Code::BadField
            | Code::TooLarge
            | Code::Unclosed
            | Code::UnknownTag
            | Code::UnknownType => true,
            Code::Coerced
            | Code::Duplicate
            | Code::InCodeSpan
            | Code::InComment
            | Code::InFence
            | Code::InQuote
            | Code::NotOnOwnLine
            | Code::ProgressClamped
            | Code::TooMany
            | Code::UnknownAttribute => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// A mark that counts.
    Signal(Box<Signal>),
    /// A mark, or a part of one, that does not.
    Diagnostic(Diagnostic),
    /// A code fence that holds nothing but marks that count: not a mark, but not for people either.
    Wrapper(Span),
}
