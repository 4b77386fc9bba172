//! Which gates a commit has to pass.

use super::detect::{detect, rank};
use super::{Gate, Quality, Root};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateSource {
    Configured,
    /// The project looks as if it had them.
    Detected,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRun {
    Disabled,
    /// None is configured, and the project shows none.
    NoneFound,
    /// The user who started the run wanted none.
    Unwanted,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    Gates { gates: Vec<Gate>, source: GateSource },
    Nothing(NotRun),
}

impl Chosen {
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
        return Chosen::Gates { gates: quality.gates.clone(), source: GateSource::Configured };
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
    Chosen::Gates { gates, source: GateSource::Detected }
}

#[cfg(test)]
mod tests {
    use super::{Chosen, GateSource, NotRun, choose};
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
        assert!(matches!(choose(&quality, &rust), Chosen::Gates { source: GateSource::Detected, .. }));
        assert_eq!(choose(&quality, &[Root::default()]), Chosen::Nothing(NotRun::NoneFound));
        let own = Quality { gates: vec![Gate::new("x", GateKind::Custom, "./x")], ..Quality::default() };
        assert_eq!(commands(&own, &rust), ["./x"]);
        assert!(matches!(choose(&own, &rust), Chosen::Gates { source: GateSource::Configured, .. }));
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
