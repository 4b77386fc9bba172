//! Who may depend on whom. Cargo itself says who does, so renames, targets and every kind of table are seen.

use serde_json::Value;

use super::{expect_none, has_extension, root, text};
use crate::program::{command, run};

/// Our packages and the ones of ours that each may use outside its tests.
const OURS: [(&str, &[&str]); 7] = [
    ("pilot-core", &[]),
    ("pilot-store", &["pilot-core"]),
    ("pilot-exec", &["pilot-core"]),
    ("pilot-link", &["pilot-core"]),
    ("pilot-forge", &[]),
    ("pilot-testkit", &["pilot-core", "pilot-store", "pilot-exec", "pilot-link", "pilot-forge"]),
    ("pilot", &["pilot-core", "pilot-store", "pilot-exec", "pilot-link", "pilot-forge"]),
];

/// What the core may use of others. It decides, so nothing that waits, talks, stores or reads a clock belongs here.
const CORE_USES: [&str; 3] = ["memchr", "serde", "serde_json"];

/// The same for the core's tests and benchmarks; the scanner is measured against regular expressions.
const CORE_TESTS_USE: [&str; 2] = ["proptest", "regex"];

#[test]
fn packages_see_only_whom_they_may() {
    let mut complaints = Vec::new();
    for package in packages() {
        let allowed = allowed(&package.name);
        for used in &package.uses {
            if !used.name.starts_with("pilot") || used.name == package.name {
                continue;
            }
            // Every test may use the fake world; nothing else about who sees whom changes in tests.
            let fine = match used.table {
                Table::Tests => used.name == "pilot-testkit" || allowed.contains(&used.name.as_str()),
                Table::Code | Table::Build => allowed.contains(&used.name.as_str()),
            };
            if !fine {
                complaints.push(format!("{} uses {} ({:?})", package.name, used.name, used.table));
            }
        }
    }
    expect_none("packages that see what they must never know", &complaints);
}

#[test]
fn the_core_depends_on_nothing_that_acts() {
    let core = packages().into_iter().find(|package| package.name == "pilot-core").expect("there is a core");
    let complaints: Vec<String> = core
        .uses
        .iter()
        .filter(|used| match used.table {
            Table::Code => !CORE_USES.contains(&used.name.as_str()),
            Table::Tests => !CORE_USES.iter().chain(&CORE_TESTS_USE).any(|name| *name == used.name),
            Table::Build => true,
        })
        .map(|used| format!("{} ({:?})", used.name, used.table))
        .collect();
    expect_none("dependencies the core may not have", &complaints);
}

#[test]
fn every_package_is_known_and_inherits_from_the_workspace() {
    let mut complaints = Vec::new();
    let packages = packages();
    for (name, _) in OURS {
        if !packages.iter().any(|package| package.name == name) {
            complaints.push(format!("{name} is gone: take it out of this test's table"));
        }
    }
    for package in &packages {
        let manifest = text(package.manifest.as_ref());
        for key in ["version", "edition", "rust-version", "license", "publish"] {
            if !manifest.lines().any(|line| line == format!("{key}.workspace = true")) {
                complaints.push(format!("{} does not say `{key}.workspace = true`", package.manifest));
            }
        }
        if !manifest.contains("[lints]\nworkspace = true\n") {
            complaints.push(format!("{} does not inherit the lints", package.manifest));
        }
        for line in dependency_lines(&manifest) {
            if !line.contains("workspace = true") {
                complaints
                    .push(format!("{}: the root manifest says which version: {line}", package.manifest));
            }
        }
    }
    expect_none("manifests that go their own way", &complaints);
}

#[test]
fn every_library_says_what_it_must_never_know() {
    let mut complaints = Vec::new();
    for package in packages() {
        if ["pilot", "pilot-testkit"].contains(&package.name.as_str()) {
            continue;
        }
        let lib = package.manifest.replace("Cargo.toml", "src/lib.rs");
        let docs: Vec<String> = text(lib.as_ref())
            .lines()
            .take_while(|line| line.starts_with("//!"))
            .map(str::to_owned)
            .collect();
        if !docs.iter().any(|line| line.starts_with("//! Must never know: ")) {
            complaints.push(format!(
                "{lib}: its first lines are to be module docs with a line `Must never know: …`"
            ));
        }
    }
    expect_none("libraries without a border", &complaints);
}

/// Packages outside `crates/`, as a fuzz target is, do not ship, but they must not escape the rules unseen.
#[test]
fn no_package_hides_from_the_workspace() {
    let known: Vec<String> = packages().into_iter().map(|package| package.manifest).collect();
    let complaints: Vec<String> = super::files()
        .iter()
        .filter(|file| has_extension(file, "toml") && file.ends_with("Cargo.toml"))
        .map(|file| file.display().to_string())
        .filter(|file| file != "Cargo.toml" && file != "fuzz/Cargo.toml" && !known.contains(file))
        .collect();
    expect_none("manifests that are no part of the workspace", &complaints);
}

/// The lines of every table of dependencies.
fn dependency_lines(manifest: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    manifest.lines().filter(move |line| {
        if line.starts_with('[') {
            inside = line.trim_end_matches(']').ends_with("dependencies");
            return false;
        }
        inside && !line.is_empty() && !line.starts_with('#')
    })
}

fn allowed(package: &str) -> &'static [&'static str] {
    OURS.iter().find(|(name, _)| *name == package).map(|(_, allowed)| *allowed).unwrap_or_else(|| {
        panic!("{package} is new: give it a line in this test and a room in ARCHITECTURE.md")
    })
}

struct Package {
    name: String,
    /// Its manifest, as a path from the root.
    manifest: String,
    uses: Vec<Use>,
}

struct Use {
    name: String,
    table: Table,
}

#[derive(Clone, Copy, Debug)]
enum Table {
    Code,
    Tests,
    Build,
}

/// Our own packages as cargo sees them.
fn packages() -> Vec<Package> {
    let mut cargo = command(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--no-deps", "--offline"]).current_dir(root());
    let ended = run(cargo);
    assert_eq!(ended.code, Some(0), "cargo metadata: {}", ended.stderr);
    let metadata: Value = serde_json::from_str(&ended.stdout).expect("cargo prints JSON");
    metadata["packages"].as_array().expect("packages").iter().map(package).collect()
}

fn package(json: &Value) -> Package {
    let manifest = json["manifest_path"].as_str().expect("manifest_path");
    let manifest = std::path::Path::new(manifest).strip_prefix(root()).expect("below the root");
    Package {
        name: json["name"].as_str().expect("name").to_owned(),
        manifest: manifest.to_str().expect("our paths are UTF-8").to_owned(),
        uses: json["dependencies"].as_array().expect("dependencies").iter().map(used).collect(),
    }
}

fn used(json: &Value) -> Use {
    let table = match json["kind"].as_str() {
        None => Table::Code,
        Some("dev") => Table::Tests,
        Some("build") => Table::Build,
        Some(other) => panic!("a kind of dependency we have not met: {other}"),
    };
    Use { name: json["name"].as_str().expect("name").to_owned(), table }
}
