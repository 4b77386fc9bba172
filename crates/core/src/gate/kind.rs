//! What a gate checks.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::text::word_enum;

word_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum GateKind {
        Build = "build",
        Test = "test",
        Lint = "lint",
        Coverage = "coverage",
        Security = "security",
        Typecheck = "typecheck",
        Custom = "custom",
    }
}

impl GateKind {
    pub fn of_name(name: &str) -> GateKind {
        GateKind::parse(name).unwrap_or(GateKind::Custom)
    }

    pub fn timeout(self) -> Duration {
        Duration::from_mins(if self == GateKind::Test { 10 } else { 5 })
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
