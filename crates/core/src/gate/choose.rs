//! Which gates a commit has to pass.

use super::detect::{detect, rank};
use super::{Gate, Quality, Root};

/// Where the gates of a run come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Somebody wrote them down.
    Configured,
    /// The project looks as if it had them.
    Detected,
}

/// Why no gate runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRun {
    /// `quality.enabled` is false.
    Disabled,
    /// None is configured, and the project shows none.
    NoneFound,
    /// Whoever started the run wanted none.
    Unwanted,
}

/// The gates of a run, or why there are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// These, at least one.
    Gates {
        /// The gates, in order.
        gates: Vec<Gate>,
        /// Where they come from.
        source: Source,
    },
    /// None.
    Nothing(NotRun),
}

impl Chosen {
    /// The gates; none when none run.
    pub fn gates(&self) -> &[Gate] {
        match self {
            Chosen::Gates { gates, .. } => gates,
            Chosen::Nothing(_) => &[],
        }
    }
}

/// Chooses the gates. Those that are configured win; else they are those the project shows in one of its `roots`, an earlier
/// one before a later one. Give the root as it was before the agent came first, and as it is now second: an agent can add
/// a gate, and not take one away.
pub fn choose(quality: &Quality, roots: &[Root]) -> Chosen {
    if !quality.enabled {
        return Chosen::Nothing(NotRun::Disabled);
    }
    if !quality.gates.is_empty() {
        return Chosen::Gates { gates: quality.gates.clone(), source: Source::Configured };
    }
    let mut gates: Vec<Gate> = Vec::new();
    for gate in roots.iter().flat_map(detect) {
        if gates.iter().all(|known| known.name != gate.name && known.command != gate.command) {
            gates.push(gate);
        }
    }
    gates.sort_by_key(rank);
    if gates.is_empty() {
        return Chosen::Nothing(NotRun::NoneFound);
    }
    Chosen::Gates { gates, source: Source::Detected }
}

#[cfg(test)]
mod tests {
    use super::{Chosen, NotRun, Source, choose};
    use crate::gate::{Gate, GateKind, Quality, Root};

    fn commands(quality: &Quality, roots: &[Root]) -> Vec<String> {
        choose(quality, roots).gates().iter().map(|gate| gate.command.clone()).collect()
    }

    #[test]
    fn configured_gates_win_and_disabled_is_none() {
        let rust = [Root::new([("Cargo.toml", "")])];
        let quality = Quality::default();
        assert_eq!(
            commands(&quality, &rust),
            ["cargo check --workspace --all-targets", "cargo test --workspace"]
        );
        assert!(matches!(choose(&quality, &rust), Chosen::Gates { source: Source::Detected, .. }));
        assert_eq!(choose(&quality, &[Root::default()]), Chosen::Nothing(NotRun::NoneFound));
        let own = Quality { gates: vec![Gate::new("x", GateKind::Custom, "./x")], ..Quality::default() };
        assert_eq!(commands(&own, &rust), ["./x"]);
        assert!(matches!(choose(&own, &rust), Chosen::Gates { source: Source::Configured, .. }));
        let off = Quality { enabled: false, ..own };
        assert_eq!(choose(&off, &rust), Chosen::Nothing(NotRun::Disabled));
    }

    #[test]
    fn an_agent_adds_gates_and_takes_none_away() {
        let quality = Quality::default();
        let before = Root::new([("Makefile", "test:\n\tpytest\n")]);
        let after = Root::new([("Makefile", "lint:\n\truff\ntest2:\n")]);
        assert_eq!(commands(&quality, &[before.clone(), after.clone()]), ["make test", "make lint"]);
        assert_eq!(commands(&quality, &[Root::default(), after]), ["make lint"]);
        assert_eq!(commands(&quality, &[before, Root::default()]), ["make test"]);
        let go = Root::new([("go.mod", "")]);
        let both = Root::new([
            ("go.mod", ""),
            ("package.json", r#"{"scripts":{"build":"vite build"},"dependencies":{"vite":"5"}}"#),
            ("yarn.lock", ""),
        ]);
        assert_eq!(
            commands(&quality, &[go, both]),
            [
                "test -d node_modules || test -f .pnp.cjs || yarn install --frozen-lockfile",
                "go build ./...",
                "yarn run build",
                "go test ./...",
            ],
            "whatever else they are called now"
        );
    }
}
