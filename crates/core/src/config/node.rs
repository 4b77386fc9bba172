//! What a file says, with the place of everything: the tree a reader of YAML hands over.

use super::problem::Fault;

/// A place in a file, counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub place: Place,
    pub value: Value,
}

impl Node {
    pub(crate) fn scalar(&self) -> Option<&Scalar> {
        if let Value::Scalar(scalar) = &self.value { Some(scalar) } else { None }
    }

    pub(crate) fn wrong_type(&self, wanted: &'static str) -> Fault {
        Fault::WrongType { wanted, found: self.value.kind() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Nothing: `key:`, `~`, `null`.
    Null,
    /// A text, a number, a flag: which one, the key says.
    Scalar(Scalar),
    List(Vec<Node>),
    Map(Vec<MapEntry>),
    /// Something that was reported already.
    Bad,
}

/// The path of a key below a section; the empty section is the top.
pub(crate) fn join_path(above: &str, key: &str) -> String {
    if above.is_empty() { key.to_owned() } else { format!("{above}.{key}") }
}

impl Value {
    /// What it is, for a sentence.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::Null => "nothing",
            Value::Scalar(_) => "a single value",
            Value::List(_) => "a list",
            Value::Map(_) => "a section",
            Value::Bad => "something unreadable",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalar {
    /// The text, `${…}` replaced.
    pub text: String,
    /// The text before that, when it differs: what may be shown.
    pub written: Option<String>,
}

impl Scalar {
    /// A text in which nothing was replaced.
    pub fn new(text: impl Into<String>) -> Scalar {
        Scalar { text: text.into(), written: None }
    }

    /// What may be shown of it: never the value of a variable.
    pub fn shown(&self) -> &str {
        self.written.as_deref().unwrap_or(&self.text)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapEntry {
    pub key: String,
    pub place: Place,
    pub value: Node,
}
