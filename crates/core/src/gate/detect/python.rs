//! Python: pytest, ruff and mypy, each only where it is configured.

use super::{advisory, has_line, required};
use crate::gate::{Gate, GateKind, Root};

const REQUIREMENTS: [&str; 5] = [
    "requirements.txt",
    "requirements-dev.txt",
    "requirements-test.txt",
    "requirements_dev.txt",
    "test-requirements.txt",
];

/// Locks, and what runs a program in the environment they describe.
const RUNNERS: [(&str, &str); 4] = [
    ("uv.lock", "uv run "),
    ("poetry.lock", "poetry run "),
    ("pdm.lock", "pdm run "),
    ("Pipfile.lock", "pipenv run "),
];

pub(super) fn gates(root: &Root) -> Vec<Gate> {
    let runner = RUNNERS.iter().find(|(lock, _)| root.has(lock)).map(|(_, runner)| *runner);
    let mut gates = Vec::new();
    if has_mypy(root) {
        let here = if mypy_knows_its_files(root) { "" } else { " ." };
        let command = format!("{}mypy{here}", runner.unwrap_or_default());
        gates.push(required("typecheck", GateKind::Typecheck, command));
    }
    if has_pytest(root) {
        // As a module it also finds what lies in the root.
        let command = runner.map_or("python3 -m pytest".to_owned(), |runner| format!("{runner}pytest"));
        gates.push(required("test", GateKind::Test, command));
    }
    let pyproject = root.text("pyproject.toml");
    if root.has_any(&["ruff.toml", ".ruff.toml"]) || has_line(pyproject, "[tool.ruff") {
        let command = format!("{}ruff check .", runner.unwrap_or_default());
        gates.push(advisory("lint", GateKind::Lint, command));
    }
    gates
}

fn has_pytest(root: &Root) -> bool {
    let pyproject = root.text("pyproject.toml");
    root.has_any(&["pytest.ini", ".pytest.ini", "conftest.py"])
        || has_line(pyproject, "[tool.pytest")
        || has_line(root.text("setup.cfg"), "[tool:pytest]")
        || has_line(root.text("tox.ini"), "[pytest]")
        || REQUIREMENTS.iter().any(|file| has_line(root.text(file), "pytest"))
        || has_line(pyproject, "pytest = ")
        || ["\"pytest", "'pytest"].iter().any(|quoted| pyproject.contains(quoted))
}

fn has_mypy(root: &Root) -> bool {
    root.has_any(&["mypy.ini", ".mypy.ini"])
        || has_line(root.text("pyproject.toml"), "[tool.mypy")
        || has_line(root.text("setup.cfg"), "[mypy")
}

/// Whether its configuration says what is to be looked at; then a path on the command line would overrule it.
fn mypy_knows_its_files(root: &Root) -> bool {
    let says = |text: &str, head: &str| {
        let section = text.lines().map(str::trim).skip_while(|line| *line != head).skip(1);
        let mut section = section.take_while(|line| !line.starts_with('['));
        section.any(|line| ["files", "packages", "modules"].iter().any(|key| begins(line, key)))
    };
    says(root.text("pyproject.toml"), "[tool.mypy]") || says(root.text("setup.cfg"), "[mypy]")
}

fn begins(line: &str, key: &str) -> bool {
    line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='))
}
