//! Go.

use super::{advisory, required};
use crate::gate::{Gate, GateKind, Root};

const LINTERS: [&str; 4] = [".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"];

pub(super) fn gates(root: &Root) -> Vec<Gate> {
    // In the root of a workspace that is no module itself, `./...` matches nothing, and go fails.
    let [build, test] = if root.has("go.mod") {
        ["go build ./...", "go test ./..."]
    } else if root.has("go.work") {
        ["go list -f '{{.Dir}}/...' -m | xargs go build", "go list -f '{{.Dir}}/...' -m | xargs go test"]
    } else {
        return Vec::new();
    };
    let mut gates = vec![required("build", GateKind::Build, build), required("test", GateKind::Test, test)];
    if root.has_any(&LINTERS) {
        gates.push(advisory("lint", GateKind::Lint, "golangci-lint run"));
    }
    gates
}
