//! What is wrong with a configuration, and what is merely worth a word.

use std::fmt;
use std::sync::Arc;

use super::node::Place;

/// How many problems of one source are reported; beyond that only their number.
pub const REPORTED: usize = 50;

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// The user's file.
    File {
        /// The file.
        file: Arc<str>,
        /// Where in it; none for the file as a whole.
        place: Option<Place>,
    },
    /// The project's own file.
    Project {
        /// The file.
        file: Arc<str>,
        /// Where in it; none for the file as a whole.
        place: Option<Place>,
    },
    /// A variable of the environment.
    Variable(String),
    /// A flag on the command line.
    Flag(String),
}

impl Origin {
    /// The same source, at a place.
    pub fn at(&self, at: Place) -> Origin {
        match self {
            Origin::File { file, .. } => Origin::File { file: Arc::clone(file), place: Some(at) },
            Origin::Project { file, .. } => Origin::Project { file: Arc::clone(file), place: Some(at) },
            Origin::Default | Origin::Variable(_) | Origin::Flag(_) => self.clone(),
        }
    }

    /// The place in a file.
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

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where it stands.
    pub origin: Origin,
    /// The key, from the top; empty for the source as a whole.
    pub key: String,
    /// What is wrong.
    pub fault: Fault,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { origin, key, fault } = self;
        if key.is_empty() {
            return write!(f, "{origin}: {fault}");
        }
        // Somebody may have invented it.
        let key: String = key.chars().take(200).flat_map(char::escape_debug).collect();
        write!(f, "{origin}: {key}: {fault}")
    }
}

/// What can be wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nobody knows this key.
    UnknownKey {
        /// The one that was probably meant.
        nearest: Option<String>,
        /// The ones there are in its section.
        known: Vec<String>,
    },
    /// A list where a text belongs, and the like.
    WrongType {
        /// What belongs there.
        wanted: &'static str,
        /// What stands there.
        found: &'static str,
    },
    /// A value that is none of those possible.
    BadValue {
        /// The value, cut.
        text: String,
        /// What to write instead.
        why: String,
    },
    /// A value that makes no sense together with the others.
    Nonsense(String),
    /// More than is read.
    TooLong {
        /// The limit.
        most: usize,
        /// Of what.
        of: &'static str,
    },
    /// A key twice in one section.
    Duplicate {
        /// Where it stands first.
        first: Place,
    },
    /// A key under two spellings.
    TwoSpellings {
        /// The other spelling.
        other: String,
    },
    /// Something that is not built yet is turned on.
    NotBuilt,
    /// A key that a project must not set.
    NotForProjects,
    /// A `${…}` in a project's file.
    ReferenceInProject,
    /// A variable that is not set.
    Unset {
        /// Its name.
        variable: String,
    },
    /// A `${…}` that cannot be read.
    BadReference {
        /// The text from there on, cut.
        text: String,
    },
    /// The source cannot be read at all.
    Unreadable(String),
    /// More problems than are reported.
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
                write!(f, "unknown key; here can stand {}", known.join(", "))
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

/// One thing worth a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Where it stands.
    pub origin: Origin,
    /// The key, from the top; empty for the source as a whole.
    pub key: String,
    /// What it is.
    pub kind: NoticeKind,
}

/// What can be worth a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoticeKind {
    /// Known, without effect so far.
    NotBuilt,
    /// Another spelling.
    Spelling {
        /// Ours.
        ours: &'static str,
    },
    /// A file with a secret that others can read.
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
