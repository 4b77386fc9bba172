//! The borders of the code base, kept by tests: who may depend on whom, what we may link, and how our files look.
//!
//! A rule that fails here is a rule that is written down (`ARCHITECTURE.md`, `CONTRIBUTING.md`, `deny.toml`). Change the
//! rule there first.

mod borders;
mod documents;
mod files;
mod licences;

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace has a root")
}

/// Every file of the workspace that a person writes, as a path from the root, in order.
fn files() -> Vec<PathBuf> {
    let root = root();
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("list a folder of the workspace") {
            let entry = entry.expect("list a folder of the workspace");
            let name = entry.file_name();
            let kind = entry.file_type().expect("tell a file from a folder");
            if kind.is_dir() {
                // What git, cargo and the fuzzer write is theirs.
                if ![".git", "target", "artifacts", "corpus"].iter().any(|theirs| name == *theirs) {
                    folders.push(entry.path());
                }
            } else if kind.is_file() && name != ".git" {
                found.push(entry.path().strip_prefix(&root).expect("below the root").to_owned());
            }
        }
    }
    found.sort();
    found
}

/// The text of one of [`files`].
fn text(file: &Path) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("read {}: {error}", file.display()))
}

/// Whether the file's name ends so.
fn has_extension(file: &Path, extension: &str) -> bool {
    file.extension().is_some_and(|actual| actual == extension)
}

/// Fails with every complaint at once, so that they can be fixed in one go.
fn expect_none(rule: &str, complaints: &[String]) {
    assert!(complaints.is_empty(), "{rule}:\n  {}\n", complaints.join("\n  "));
}
