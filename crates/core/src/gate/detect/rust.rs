//! Rust.

use super::{advisory, has_line, required};
use crate::gate::{Gate, GateKind, Root};

pub(super) fn gates(root: &Root) -> Vec<Gate> {
    if !root.has("Cargo.toml") {
        return Vec::new();
    }
    // A lock that is kept and does not fit is a mistake of the change, and would otherwise be updated silently.
    let locked = if root.has("Cargo.lock") { " --locked" } else { "" };
    let mut gates = vec![
        required("build", GateKind::Build, format!("cargo check --workspace --all-targets{locked}")),
        required("test", GateKind::Test, format!("cargo test --workspace{locked}")),
    ];
    let manifest = root.text("Cargo.toml");
    let has_lints = has_line(manifest, "[lints") || has_line(manifest, "[workspace.lints");
    if has_lints || root.has_any(&["clippy.toml", ".clippy.toml"]) {
        let command = format!("cargo clippy --workspace --all-targets{locked} -- -D warnings");
        gates.push(advisory("lint", GateKind::Lint, command));
    }
    if root.has_any(&["rustfmt.toml", ".rustfmt.toml"]) {
        gates.push(advisory("format", GateKind::Lint, "cargo fmt --all --check"));
    }
    gates
}
