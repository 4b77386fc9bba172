//! The phases of a task, as agents name them.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A phase of a task. Agents may invent their own; those are kept as they were written, in upper case.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Reading requirements, loading context.
    Init,
    /// Finding similar code, checking patterns.
    Research,
    Impl,
    /// Running tests, checking the build.
    Verify,
    Complete,
    /// A word of the agent's own, in upper case.
    Other(String),
}

impl Phase {
    /// Reads a phase as agents write it: any letter case, long names accepted.
    pub fn parse(text: &str) -> Phase {
        let upper = text.trim().to_uppercase();
        match upper.as_str() {
            "INIT" => Phase::Init,
            "RESEARCH" => Phase::Research,
            "IMPL" | "IMPLEMENTATION" => Phase::Impl,
            "VERIFY" | "VERIFICATION" => Phase::Verify,
            "COMPLETE" | "COMPLETED" => Phase::Complete,
            _ => Phase::Other(upper),
        }
    }

    pub fn as_str(&self) -> &str {
        match self {
            Phase::Init => "INIT",
            Phase::Research => "RESEARCH",
            Phase::Impl => "IMPL",
            Phase::Verify => "VERIFY",
            Phase::Complete => "COMPLETE",
            Phase::Other(word) => word,
        }
    }

    /// How far a task is when it enters this phase; unknown for an agent's own word.
    pub fn percent(&self) -> Option<u8> {
        match self {
            Phase::Init => Some(0),
            Phase::Research => Some(25),
            Phase::Impl => Some(50),
            Phase::Verify => Some(80),
            Phase::Complete => Some(100),
            Phase::Other(_) => None,
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Phase {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Phase {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Phase, D::Error> {
        String::deserialize(deserializer).map(|text| Phase::parse(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::Phase;

    #[test]
    fn names_are_read_in_any_case_and_reported_short() {
        for (written, reported, percent) in [
            ("init", "INIT", Some(0)),
            ("Research", "RESEARCH", Some(25)),
            ("implementation", "IMPL", Some(50)),
            (" VERIFICATION ", "VERIFY", Some(80)),
            ("Completed", "COMPLETE", Some(100)),
            ("plan", "PLAN", None),
            ("", "", None),
        ] {
            let phase = Phase::parse(written);
            assert_eq!((phase.as_str(), phase.percent()), (reported, percent), "{written:?}");
        }
    }
}
