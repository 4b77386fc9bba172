//! The gates a project shows by the files in its root.
//!
//! Only what is there is taken: a script that `package.json` has, a linter that is configured. Several ecosystems in one
//! root each bring their own; a Makefile speaks for all of them in what it has a target for. What is guessed about how
//! code looks only warns: the project never promised that it is clean.

mod go;
mod make;
mod node;
mod python;
mod rust;

use super::{Gate, GateKind, Root};

pub fn detect(root: &Root) -> Vec<Gate> {
    let make = make::gates(root);
    let spoken_for = |gate: &Gate| make.iter().any(|other| other.kind == gate.kind);
    let mut found: Vec<(&str, Gate)> = Vec::new();
    for (ecosystem, gates) in [
        ("rust", rust::gates(root)),
        ("go", go::gates(root)),
        ("node", node::gates(root)),
        ("python", python::gates(root)),
    ] {
        found.extend(gates.into_iter().filter(|gate| !spoken_for(gate)).map(|gate| (ecosystem, gate)));
    }
    if found.iter().any(|(ecosystem, _)| *ecosystem == "node") || make::needs_node(root) {
        found.extend(node::install(root).map(|gate| ("node", gate)));
    }
    let names: Vec<String> = found.iter().map(|(_, gate)| gate.name.clone()).collect();
    let mut gates = make;
    gates.extend(found.into_iter().map(|(ecosystem, gate)| {
        let alone = names.iter().filter(|name| **name == gate.name).count() == 1;
        let name = if alone { gate.name } else { format!("{}-{ecosystem}", gate.name) };
        Gate { name, ..gate }
    }));
    gates.sort_by_key(rank);
    gates
}

/// What others need comes first, what only warns last.
pub(super) fn rank(gate: &Gate) -> u8 {
    match gate.kind {
        GateKind::Build if gate.name == node::INSTALL => 0,
        GateKind::Build => 1,
        GateKind::Typecheck => 2,
        GateKind::Test => 3,
        GateKind::Lint => 4,
        GateKind::Coverage | GateKind::Security | GateKind::Custom => 5,
    }
}

fn required(name: &str, kind: GateKind, command: impl Into<String>) -> Gate {
    Gate::new(name, kind, command)
}

fn advisory(name: &str, kind: GateKind, command: impl Into<String>) -> Gate {
    Gate { required: false, ..Gate::new(name, kind, command) }
}

/// Whether a line of a file begins so, as the head of a section does.
fn has_line(text: &str, start: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::detect;
    use crate::gate::Root;

    type Pairs = &'static [(&'static str, &'static str)];

    /// A name, the files of a root, and the gates: name, `?` for one that only warns, command.
    const TREES: &[(&str, Pairs, Pairs)] = &[
        ("nothing", &[], &[]),
        ("documents", &[("README.md", ""), ("docs", "")], &[]),
        (
            "rust package",
            &[("Cargo.toml", "[package]\nname = \"x\"\n"), ("src", "")],
            &[("build", "cargo check --workspace --all-targets"), ("test", "cargo test --workspace")],
        ),
        (
            "rust workspace with a lock, lints and a style",
            &[
                ("Cargo.toml", "[workspace]\nmembers = []\n\n[workspace.lints.clippy]\nall = \"warn\"\n"),
                ("Cargo.lock", ""),
                ("rustfmt.toml", ""),
            ],
            &[
                ("build", "cargo check --workspace --all-targets --locked"),
                ("test", "cargo test --workspace --locked"),
                ("lint?", "cargo clippy --workspace --all-targets --locked -- -D warnings"),
                ("format?", "cargo fmt --all --check"),
            ],
        ),
        (
            "go module",
            &[("go.mod", "module x\n"), ("main.go", "")],
            &[("build", "go build ./..."), ("test", "go test ./...")],
        ),
        (
            "go module with a linter",
            &[("go.mod", ""), (".golangci.yml", "")],
            &[("build", "go build ./..."), ("test", "go test ./..."), ("lint?", "golangci-lint run")],
        ),
        (
            "go workspace without a module in its root",
            &[("go.work", "use ./a\n")],
            &[
                ("build", "go list -f '{{.Dir}}/...' -m | xargs go build"),
                ("test", "go list -f '{{.Dir}}/...' -m | xargs go test"),
            ],
        ),
        (
            "npm with a lock",
            &[
                (
                    "package.json",
                    r#"{"scripts":{"build":"tsc -p .","test":"jest","lint":"eslint ."},"devDependencies":{"jest":"^29"}}"#,
                ),
                ("package-lock.json", ""),
            ],
            &[
                ("install", "test -d node_modules || npm ci --no-audit --no-fund"),
                ("build", "npm run build"),
                ("test", "npm test"),
                ("lint?", "npm run lint"),
            ],
        ),
        (
            "npm without anything to install",
            &[("package.json", r#"{"scripts":{"test":"node --test"}}"#)],
            &[("test", "npm test")],
        ),
        (
            "npm as `npm init` leaves it",
            &[(
                "package.json",
                r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"},"dependencies":{"a":"1"}}"#,
            )],
            &[],
        ),
        (
            "npm without a lock",
            &[("package.json", r#"{"scripts":{"build":"webpack"},"dependencies":{"webpack":"5"}}"#)],
            &[
                ("install", "test -d node_modules || npm install --no-audit --no-fund --no-package-lock"),
                ("build", "npm run build"),
            ],
        ),
        (
            "pnpm",
            &[
                (
                    "package.json",
                    r#"{"scripts":{"typecheck":"tsc --noEmit","test":"vitest"},"devDependencies":{"vitest":"1"}}"#,
                ),
                ("pnpm-lock.yaml", ""),
            ],
            &[
                ("install", "test -d node_modules || pnpm install --frozen-lockfile"),
                ("typecheck", "pnpm run typecheck"),
                ("test", "pnpm run test"),
            ],
        ),
        (
            "yarn",
            &[
                ("package.json", r#"{"scripts":{"build":"x","test":"y"},"dependencies":{"a":"1"}}"#),
                ("yarn.lock", ""),
            ],
            &[
                ("install", "test -d node_modules || test -f .pnp.cjs || yarn install --frozen-lockfile"),
                ("build", "yarn run build"),
                ("test", "yarn run test"),
            ],
        ),
        (
            "bun",
            &[
                ("package.json", r#"{"scripts":{"test":"bun test"},"devDependencies":{"a":"1"}}"#),
                ("bun.lock", ""),
            ],
            &[("install", "test -d node_modules || bun install --frozen-lockfile"), ("test", "bun run test")],
        ),
        (
            "the package manager that package.json names, whatever locks lie around",
            &[
                (
                    "package.json",
                    r#"{"packageManager":"pnpm@9.1.0","scripts":{"test":"x"},"devDependencies":{"a":"1"}}"#,
                ),
                ("package-lock.json", ""),
                ("yarn.lock", ""),
            ],
            &[("install", "test -d node_modules || pnpm install --no-lockfile"), ("test", "pnpm run test")],
        ),
        (
            "scripts that never end or that change files are passed over",
            &[(
                "package.json",
                r#"{"scripts":{"test":"jest --watch","test:ci":"jest --ci","lint":"eslint --fix .","lint:check":"eslint ."}}"#,
            )],
            &[("test", "npm run test:ci"), ("lint?", "npm run lint:check")],
        ),
        (
            "a watching test and a fixing linter alone are none",
            &[(
                "package.json",
                r#"{"scripts":{"test":"vitest --watch","lint":"eslint . --fix","dev":"vite"}}"#,
            )],
            &[],
        ),
        (
            "a watch that is switched off is no watch",
            &[("package.json", r#"{"scripts":{"test":"react-scripts test --watchAll=false"}}"#)],
            &[("test", "npm test")],
        ),
        ("a package.json that is none", &[("package.json", "{ not json")], &[]),
        ("a package.json of something else", &[("package.json", r#"["scripts"]"#)], &[]),
        (
            "python with pytest and nothing else",
            &[("requirements.txt", "flask==3\npytest>=8\n"), ("app.py", "")],
            &[("test", "python3 -m pytest")],
        ),
        ("python without tests", &[("requirements.txt", "flask==3\n"), ("setup.py", "")], &[]),
        (
            "python with everything in pyproject.toml",
            &[(
                "pyproject.toml",
                "[project]\nname = \"x\"\n[tool.pytest.ini_options]\n[tool.ruff]\nline-length = 100\n[tool.mypy]\nstrict = true\n",
            )],
            &[("typecheck", "mypy ."), ("test", "python3 -m pytest"), ("lint?", "ruff check .")],
        ),
        (
            "python under uv, mypy with files of its own",
            &[
                (
                    "pyproject.toml",
                    "[dependency-groups]\ndev = [\"pytest>=8\"]\n[tool.mypy]\nfiles = [\"src\"]\n",
                ),
                ("uv.lock", ""),
            ],
            &[("typecheck", "uv run mypy"), ("test", "uv run pytest")],
        ),
        (
            "python under poetry",
            &[
                ("pyproject.toml", "[tool.poetry.group.dev.dependencies]\npytest = \"^8\"\n"),
                ("poetry.lock", ""),
                ("ruff.toml", ""),
            ],
            &[("test", "poetry run pytest"), ("lint?", "poetry run ruff check .")],
        ),
        (
            "python with setup.cfg",
            &[("setup.cfg", "[tool:pytest]\naddopts = -q\n[mypy]\nstrict = True\n"), ("setup.py", "")],
            &[("typecheck", "mypy ."), ("test", "python3 -m pytest")],
        ),
        (
            "python with tox.ini",
            &[("tox.ini", "[pytest]\ntestpaths = t\n"), ("setup.py", "")],
            &[("test", "python3 -m pytest")],
        ),
        (
            "make alone",
            &[(
                "Makefile",
                "CC := gcc\n.PHONY: build test\nbuild: main.o\n\tcc -o x main.o\ntest lint:\n\t./run\nclean:\n",
            )],
            &[("build", "make build"), ("test", "make test"), ("lint?", "make lint")],
        ),
        (
            "make with a check and no test",
            &[("makefile", "all:\n\tcc x.c\ncheck: all\n\t./t\n")],
            &[("test", "make check")],
        ),
        (
            "make whose words only look like targets",
            &[("Makefile", "test := pytest\nbuild = go build: x\n# lint: nothing\n\tbuild: no\n%.o: %.c\n")],
            &[],
        ),
        (
            "go and make: a target speaks for its kind",
            &[
                ("go.mod", ""),
                ("Makefile", "test:\n\tgo test -race ./...\nlint::\n\tgolangci-lint run\n"),
                (".golangci.yml", ""),
            ],
            &[("build", "go build ./..."), ("test", "make test"), ("lint?", "make lint")],
        ),
        (
            "node and make: what make leaves still needs its packages",
            &[
                ("package.json", r#"{"scripts":{"test":"jest"},"devDependencies":{"jest":"29"}}"#),
                ("package-lock.json", ""),
                ("Makefile", "build:\n\tdocker build .\n"),
            ],
            &[
                ("install", "test -d node_modules || npm ci --no-audit --no-fund"),
                ("build", "make build"),
                ("test", "npm test"),
            ],
        ),
        (
            "node behind make",
            &[
                ("package.json", r#"{"devDependencies":{"jest":"29"}}"#),
                ("package-lock.json", ""),
                ("Makefile", "test:\n\tnpx jest\n"),
            ],
            &[("install", "test -d node_modules || npm ci --no-audit --no-fund"), ("test", "make test")],
        ),
        (
            "a tool of node beside go needs nothing installed",
            &[
                ("go.mod", ""),
                ("package.json", r#"{"devDependencies":{"commitlint":"1"}}"#),
                ("Makefile", "build:\n\tgo build\n"),
            ],
            &[("build", "make build"), ("test", "go test ./...")],
        ),
        (
            "rust and python in one root keep their names apart",
            &[("Cargo.toml", "[package]\n"), ("pyproject.toml", "[tool.pytest.ini_options]\n[tool.ruff]\n")],
            &[
                ("build", "cargo check --workspace --all-targets"),
                ("test-rust", "cargo test --workspace"),
                ("test-python", "python3 -m pytest"),
                ("lint?", "ruff check ."),
            ],
        ),
        (
            "go and node in one root",
            &[
                ("go.mod", ""),
                (
                    "package.json",
                    r#"{"scripts":{"build":"vite build","test":"vitest run"},"dependencies":{"vite":"5"}}"#,
                ),
                ("pnpm-lock.yaml", ""),
            ],
            &[
                ("install", "test -d node_modules || pnpm install --frozen-lockfile"),
                ("build-go", "go build ./..."),
                ("build-node", "pnpm run build"),
                ("test-go", "go test ./..."),
                ("test-node", "pnpm run test"),
            ],
        ),
    ];

    #[test]
    fn sample_trees() {
        for (tree, files, expect) in TREES {
            let gates = detect(&Root::new(files.iter().copied()));
            let shown: Vec<(String, String)> = gates
                .iter()
                .map(|gate| {
                    let mark = if gate.required { "" } else { "?" };
                    (format!("{}{mark}", gate.name), gate.command.clone())
                })
                .collect();
            let shown: Vec<(&str, &str)> =
                shown.iter().map(|(name, command)| (name.as_str(), command.as_str())).collect();
            assert_eq!(shown, *expect, "{tree}");
            for gate in &gates {
                assert_eq!(gate.timeout, gate.kind.timeout(), "{tree}");
            }
        }
        assert!(TREES.len() >= 20);
    }
}
