//! Make.

use std::collections::BTreeSet;

use super::{advisory, required};
use crate::gate::{Gate, GateKind, Root};

/// In the order in which make looks for them.
const FILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

pub(super) fn gates(root: &Root) -> Vec<Gate> {
    let targets = targets(text(root));
    let mut gates = Vec::new();
    if targets.contains("build") {
        gates.push(required("build", GateKind::Build, "make build"));
    }
    // `check` is the older name of `test`.
    if let Some(target) = ["test", "check"].into_iter().find(|target| targets.contains(target)) {
        gates.push(required("test", GateKind::Test, format!("make {target}")));
    }
    if targets.contains("lint") {
        gates.push(advisory("lint", GateKind::Lint, "make lint"));
    }
    gates
}

/// Whether one of its gates runs something that packages of node bring.
pub(super) fn needs_node(root: &Root) -> bool {
    let words = ["npm", "npx", "pnpm", "yarn", "bun ", "bunx", "node_modules"];
    !gates(root).is_empty() && words.iter().any(|word| text(root).contains(word))
}

fn text(root: &Root) -> &str {
    FILES.into_iter().find(|file| root.has(file)).map_or("", |file| root.text(file))
}

fn targets(text: &str) -> BTreeSet<&str> {
    let rules = text.lines().filter(|line| !line.starts_with(['\t', ' ', '#']));
    let names = rules.filter_map(|line| {
        let (names, behind) = line.split_once(':')?;
        let assigns = behind.trim_start_matches(':').starts_with('=');
        (!assigns && !names.contains(['=', '$'])).then_some(names)
    });
    names.flat_map(str::split_whitespace).collect()
}
