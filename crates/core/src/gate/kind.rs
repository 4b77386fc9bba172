//! What a gate checks.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a gate checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateKind {
    /// That it compiles.
    Build,
    /// That the tests pass.
    Test,
    /// How the code looks.
    Lint,
    /// How much of the code the tests reach.
    Coverage,
    /// Known holes.
    Security,
    /// The types.
    Typecheck,
    /// Anything else.
    Custom,
}

impl GateKind {
    /// Every kind, in the order of the documentation.
    pub const ALL: [GateKind; 7] = [
        GateKind::Build,
        GateKind::Test,
        GateKind::Lint,
        GateKind::Coverage,
        GateKind::Security,
        GateKind::Typecheck,
        GateKind::Custom,
    ];

    /// The name as it is configured.
    pub fn as_str(self) -> &'static str {
        match self {
            GateKind::Build => "build",
            GateKind::Test => "test",
            GateKind::Lint => "lint",
            GateKind::Coverage => "coverage",
            GateKind::Security => "security",
            GateKind::Typecheck => "typecheck",
            GateKind::Custom => "custom",
        }
    }

    /// The kind a gate of this name has unless it is told.
    pub fn of_name(name: &str) -> GateKind {
        GateKind::ALL.into_iter().find(|kind| kind.as_str() == name).unwrap_or(GateKind::Custom)
    }

    /// How long one attempt may take unless told.
    pub fn timeout(self) -> Duration {
        let minutes = match self {
            GateKind::Test => 10,
            GateKind::Build
            | GateKind::Lint
            | GateKind::Coverage
            | GateKind::Security
            | GateKind::Typecheck
            | GateKind::Custom => 5,
        };
        Duration::from_secs(60 * minutes)
    }
}

#[cfg(test)]
mod tests {
    use super::GateKind;

    #[test]
    fn a_name_tells_the_kind() {
        for (name, kind, minutes) in [
            ("build", GateKind::Build, 5),
            ("test", GateKind::Test, 10),
            ("lint", GateKind::Lint, 5),
            ("coverage", GateKind::Coverage, 5),
            ("security", GateKind::Security, 5),
            ("typecheck", GateKind::Typecheck, 5),
            ("e2e", GateKind::Custom, 5),
            ("Build", GateKind::Custom, 5),
        ] {
            assert_eq!(GateKind::of_name(name), kind, "{name}");
            assert_eq!(kind.timeout().as_secs(), minutes * 60, "{name}");
        }
    }
}
