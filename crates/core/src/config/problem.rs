//! What is wrong with a configuration, and what is merely worth a word.

use std::fmt;
use std::sync::Arc;

use super::node::Place;

/// How many problems of one source are reported; beyond that only their number.
pub const REPORTED: usize = 50;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Default,
    File {
        file: Arc<str>,
        /// Where in it; none for the file as a whole.
        place: Option<Place>,
    },
    Project {
        file: Arc<str>,
        /// Where in it; none for the file as a whole.
        place: Option<Place>,
    },
    Variable(String),
    Flag(String),
}

impl Origin {
    pub fn at(&self, at: Place) -> Origin {
        match self {
            Origin::File { file, .. } => Origin::File { file: Arc::clone(file), place: Some(at) },
            Origin::Project { file, .. } => Origin::Project { file: Arc::clone(file), place: Some(at) },
            Origin::Default | Origin::Variable(_) | Origin::Flag(_) => self.clone(),
        }
    }

    pub(crate) fn file(&self) -> Option<&str> {
        match self {
            Origin::File { file, .. } | Origin::Project { file, .. } => Some(file),
            Origin::Default | Origin::Variable(_) | Origin::Flag(_) => None,
        }
    }

    pub fn place(&self) -> Option<Place> {
        match self {
            Origin::File { place, .. } | Origin::Project { place, .. } => *place,
            Origin::Default | Origin::Variable(_) | Origin::Flag(_) => None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File { file, place } | Origin::Project { file, place } => match place {
                Some(place) => write!(f, "{file}:{}:{}", place.line, place.column),
                None => f.write_str(file),
            },
            Origin::Variable(name) | Origin::Flag(name) => f.write_str(name),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub origin: Origin,
    /// The key, from the top; empty for the source as a whole.
    pub key: String,
    pub fault: Fault,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { origin, key, fault } = self;
        if key.is_empty() {
            return write!(f, "{origin}: {fault}");
        }
        // It may be no name of ours.
        let key: String = key.chars().take(200).flat_map(char::escape_debug).collect();
        write!(f, "{origin}: {key}: {fault}")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    UnknownKey { nearest: Option<String>, known: Vec<String> },
    WrongType { wanted: &'static str, found: &'static str },
    BadValue { text: String, why: String },
    Nonsense(String),
    TooLong { most: usize, of: &'static str },
    Duplicate { first: Place },
    TwoSpellings { other: String },
    NotBuilt,
    NotForProjects,
    ReferenceInProject,
    Unset { variable: String },
    BadReference { text: String },
    Unreadable(String),
    AndMore(usize),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::UnknownKey { nearest: Some(meant), .. } => write!(f, "unknown key; did you mean {meant}?"),
            Fault::UnknownKey { nearest: None, known } if known.is_empty() => {
                f.write_str("unknown key; take it out")
            }
            Fault::UnknownKey { nearest: None, known } => {
                write!(f, "unknown key; known here: {}", known.join(", "))
            }
            Fault::WrongType { wanted, found } => write!(f, "expected {wanted}, found {found}"),
            Fault::BadValue { text, why } => write!(f, "{text:?}: {why}"),
            Fault::Nonsense(why) => f.write_str(why),
            Fault::TooLong { most, of } => write!(f, "more than {most} {of}"),
            Fault::Duplicate { first } => {
                write!(f, "set a second time; it is first set in line {}", first.line)
            }
            Fault::TwoSpellings { other } => write!(f, "the same key is also set as {other}; keep one"),
            Fault::NotBuilt => f.write_str("not built yet, so it cannot be turned on; take it out"),
            Fault::NotForProjects => {
                f.write_str("a project's file must not set this; set it in your own configuration")
            }
            Fault::ReferenceInProject => {
                f.write_str("a project's file must not read the environment; write $${ for a plain ${")
            }
            Fault::Unset { variable } => {
                write!(f, "the variable {variable} is not set; set it, or write ${{{variable}:-default}}")
            }
            Fault::BadReference { text } => {
                write!(
                    f,
                    "{text:?} is no reference; write ${{NAME}} or ${{NAME:-default}}, or $${{ for a plain ${{"
                )
            }
            Fault::Unreadable(why) => f.write_str(why),
            Fault::AndMore(count) => write!(f, "and {count} more"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub origin: Origin,
    /// The key, from the top; empty for the source as a whole.
    pub key: String,
    pub kind: NoticeKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoticeKind {
    NotBuilt,
    Spelling { ours: &'static str },
    OthersCanRead,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Notice { origin, key, kind } = self;
        write!(f, "{origin}: ")?;
        match kind {
            NoticeKind::NotBuilt => write!(f, "{key}: not built yet, has no effect"),
            NoticeKind::Spelling { ours } => write!(f, "{key}: read as {ours}; please write that"),
            NoticeKind::OthersCanRead => {
                write!(f, "holds a secret and others can read it; run: chmod 600 {origin}")
            }
        }
    }
}
