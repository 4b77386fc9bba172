//! What a file says, with the place of everything: the tree a reader of YAML hands over.

/// A place in a file, counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
}

/// One value and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Where it begins.
    pub place: Place,
    /// What it is.
    pub value: Value,
}

/// What can stand in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Nothing: `key:`, `~`, `null`.
    Null,
    /// A text, a number, a flag: which one, the key says.
    Scalar(Scalar),
    /// A list.
    List(Vec<Node>),
    /// A section.
    Map(Vec<Entry>),
    /// Something that was already complained about.
    Bad,
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

/// A single value.
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

/// One line of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub place: Place,
    /// Its value.
    pub value: Node,
}
