//! How our files look.

use std::path::{Component, Path};

use super::{expect_none, files, has_extension, text};

/// A longer file holds more than one noun.
const LONGEST: usize = 1000;

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 8] = ["util", "utils", "common", "helper", "helpers", "manager", "imp", "misc"];

#[test]
fn files_are_rooms() {
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| is_source(file)) {
        let lines = text(file).lines().count();
        if lines > LONGEST {
            complaints.push(format!("{} has {lines} lines, more than {LONGEST}", file.display()));
        }
    }
    for file in files().iter().filter(|file| has_extension(file, "rs")) {
        for part in file.with_extension("").components() {
            let name = part.as_os_str().to_string_lossy();
            if EMPTY_NAMES.contains(&name.as_ref()) || name.starts_with("helper") {
                complaints.push(format!("{}: {name:?} names no noun", file.display()));
            }
        }
    }
    expect_none("files that are no rooms", &complaints);
}

#[test]
fn text_is_clean() {
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| is_text(file)) {
        let text = text(file);
        let name = file.display();
        if !text.is_empty() && (!text.ends_with('\n') || text.ends_with("\n\n")) {
            complaints.push(format!("{name}: ends with exactly one newline, please"));
        }
        for (number, line) in (1..).zip(text.split('\n')) {
            if line.ends_with([' ', '\t', '\r']) {
                complaints.push(format!("{name}:{number}: white space at the end"));
            }
            if has_extension(file, "rs") && line.contains('\t') {
                complaints.push(format!("{name}:{number}: a tab (in a string, write \\t)"));
            }
        }
    }
    expect_none("files that are not clean", &complaints);
}

#[test]
fn no_test_is_ignored() {
    let complaints: Vec<String> = files()
        .iter()
        .filter(|file| has_extension(file, "rs") && text(file).contains(concat!("#[", "ignore")))
        .map(|file| file.display().to_string())
        .collect();
    expect_none("tests that never run", &complaints);
}

/// One integration binary a crate: every further one is linked again, and cannot share the others' fakes.
#[test]
fn integration_tests_are_one_binary_each() {
    let mut roots: Vec<(String, String)> = Vec::new();
    for file in files() {
        let name = file.to_string_lossy().into_owned();
        match name.split('/').collect::<Vec<_>>()[..] {
            ["crates", package, "tests", root] if root.ends_with(".rs") => {
                roots.push((package.to_owned(), name));
            }
            ["crates", package, "tests", _, "main.rs"] => roots.push((package.to_owned(), name)),
            _ => {}
        }
    }
    let complaints: Vec<String> = roots
        .iter()
        .filter(|(package, _)| roots.iter().filter(|(other, _)| other == package).count() > 1)
        .map(|(_, name)| name.clone())
        .collect();
    expect_none("more than one integration binary in a crate", &complaints);
}

/// Code that ships: `crates/*/src/**.rs`.
fn is_source(file: &Path) -> bool {
    let mut parts = file.components().map(Component::as_os_str);
    parts.next().is_some_and(|part| part == "crates")
        && parts.nth(1).is_some_and(|part| part == "src")
        && has_extension(file, "rs")
}

/// Files written by hand. Samples and recordings are not: their bytes are the point.
fn is_text(file: &Path) -> bool {
    ["rs", "toml", "md", "yaml", "yml", "sh"].iter().any(|extension| has_extension(file, extension))
        || file.starts_with(".ci")
}
