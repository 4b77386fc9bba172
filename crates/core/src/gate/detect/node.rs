//! Node and its package managers.

use serde_json::{Map, Value};

use super::{advisory, required};
use crate::gate::{Gate, GateKind, Root};

/// The gate that fetches packages: a fresh worktree has none.
pub(super) const INSTALL: &str = "install";

const SCRIPTS: [(&str, GateKind, &[&str]); 5] = [
    ("build", GateKind::Build, &["build"]),
    ("typecheck", GateKind::Typecheck, &["typecheck", "type-check", "check-types", "check:types"]),
    ("test", GateKind::Test, &["test:ci", "test"]),
    ("lint", GateKind::Lint, &["lint:ci", "lint:check", "lint"]),
    ("format", GateKind::Lint, &["format:check", "prettier:check"]),
];

pub(super) fn gates(root: &Root) -> Vec<Gate> {
    let package = package(root);
    let Some(Value::Object(scripts)) = package.get("scripts") else { return Vec::new() };
    let manager = Manager::of(root, &package);
    let usable = |name: &&&str| scripts.get(**name).and_then(Value::as_str).is_some_and(is_usable);
    let gate = |(name, kind, candidates): (&str, GateKind, &[&str])| {
        let script = candidates.iter().find(usable)?;
        let command = manager.run(script);
        let make = if kind == GateKind::Lint { advisory } else { required };
        Some(make(name, kind, command))
    };
    SCRIPTS.into_iter().filter_map(gate).collect()
}

/// The gate that fetches packages, when there are any to fetch.
pub(super) fn install(root: &Root) -> Option<Gate> {
    let package = package(root);
    let any = ["dependencies", "devDependencies", "workspaces"].iter().any(|name| match package.get(*name) {
        Some(Value::Object(entries)) => !entries.is_empty(),
        Some(Value::Array(entries)) => !entries.is_empty(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | None => false,
    });
    any.then(|| required(INSTALL, GateKind::Build, Manager::of(root, &package).install(root)))
}

fn package(root: &Root) -> Map<String, Value> {
    match serde_json::from_str(root.text("package.json")) {
        Ok(Value::Object(package)) => package,
        Ok(_) | Err(_) => Map::new(),
    }
}

/// Whether a script checks something, ends by itself, and changes nothing.
fn is_usable(script: &str) -> bool {
    let watches = |word: &str| matches!(word, "--watch" | "--watchAll" | "--watch=true" | "--watchAll=true");
    !script.trim().is_empty()
        && !script.contains("no test specified")
        && !script.split_whitespace().any(|word| watches(word) || word == "--fix" || word == "--write")
}

#[derive(Clone, Copy)]
enum Manager {
    Npm,
    Pnpm,
    Yarn,
    Bun,
}

impl Manager {
    /// The one that `package.json` names, else the one whose lock is there.
    fn of(root: &Root, package: &Map<String, Value>) -> Manager {
        let named = package.get("packageManager").and_then(Value::as_str).unwrap_or_default();
        match named.split('@').next().unwrap_or_default() {
            "npm" => return Manager::Npm,
            "pnpm" => return Manager::Pnpm,
            "yarn" => return Manager::Yarn,
            "bun" => return Manager::Bun,
            _ => {}
        }
        [Manager::Pnpm, Manager::Yarn, Manager::Bun]
            .into_iter()
            .find(|manager| root.has_any(manager.locks()))
            .unwrap_or(Manager::Npm)
    }

    fn locks(self) -> &'static [&'static str] {
        match self {
            Manager::Npm => &["package-lock.json", "npm-shrinkwrap.json"],
            Manager::Pnpm => &["pnpm-lock.yaml"],
            Manager::Yarn => &["yarn.lock"],
            Manager::Bun => &["bun.lock", "bun.lockb"],
        }
    }

    fn run(self, script: &str) -> String {
        match self {
            Manager::Npm if script == "test" => "npm test".to_owned(),
            Manager::Npm => format!("npm run {script}"),
            Manager::Pnpm => format!("pnpm run {script}"),
            Manager::Yarn => format!("yarn run {script}"),
            // `bun test` would be a test runner of its own.
            Manager::Bun => format!("bun run {script}"),
        }
    }

    /// What is locked is taken as it is; where nothing is, no lock is left behind.
    fn install(self, root: &Root) -> String {
        let command = match (self, root.has_any(self.locks())) {
            (Manager::Npm, true) => "npm ci --no-audit --no-fund",
            (Manager::Npm, false) => "npm install --no-audit --no-fund --no-package-lock",
            (Manager::Pnpm, true) => "pnpm install --frozen-lockfile",
            (Manager::Pnpm, false) => "pnpm install --no-lockfile",
            (Manager::Yarn, true) => "test -f .pnp.cjs || yarn install --frozen-lockfile",
            (Manager::Yarn, false) => "test -f .pnp.cjs || yarn install",
            (Manager::Bun, true) => "bun install --frozen-lockfile",
            (Manager::Bun, false) => "bun install --no-save",
        };
        format!("test -d node_modules || {command}")
    }
}
