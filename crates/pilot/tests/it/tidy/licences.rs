//! What we link: only under licences that `deny.toml` allows, only from the public registry, only as locked.
//!
//! `cargo deny` in `.ci/full` says the same of every platform and more; this is the part that costs no installation.

use serde_json::Value;

use super::{expect_none, root, text};
use crate::program::{command, run};

#[test]
fn every_licence_is_allowed() {
    let allowed = allowed();
    assert!(allowed.contains(&"MIT".to_owned()), "no allow list in deny.toml: {allowed:?}");
    let complaints: Vec<String> = packages()
        .iter()
        .filter(|(_, licence)| !permits(licence, &allowed))
        .map(|(package, licence)| format!("{package}: {licence:?}"))
        .collect();
    expect_none("packages under a licence that deny.toml does not allow", &complaints);
}

#[test]
fn every_allowed_licence_is_needed() {
    // Windows-only packages are not looked at here; what only they need would be reported without cause.
    let packages = packages();
    let complaints: Vec<String> = allowed()
        .into_iter()
        .filter(|licence| !packages.iter().any(|(_, text)| text.contains(licence.as_str())))
        .collect();
    expect_none("licences allowed by deny.toml that nothing uses", &complaints);
}

#[test]
fn every_package_comes_from_the_registry_and_is_pinned() {
    let lock = text("Cargo.lock".as_ref());
    let complaints: Vec<String> = lock
        .split("[[package]]\n")
        .skip(1)
        .filter(|package| !is_ours_or_pinned(package))
        .filter_map(|package| package.lines().next().map(str::to_owned))
        .collect();
    expect_none("packages from elsewhere, or without a checksum", &complaints);
}

fn is_ours_or_pinned(package: &str) -> bool {
    let has = |key| package.lines().any(|line| line.starts_with(key));
    if has("source = ") { has("source = \"registry+") && has("checksum = ") } else { has("name = \"pilot") }
}

/// The licences `deny.toml` allows.
fn allowed() -> Vec<String> {
    let deny = text("deny.toml".as_ref());
    let (_, list) = deny.split_once("\nallow = [").expect("deny.toml has an allow list");
    let (list, _) = list.split_once(']').expect("the allow list ends");
    list.split(',')
        .map(|item| item.trim().trim_matches('"').to_owned())
        .filter(|item| !item.is_empty())
        .collect()
}

/// Every package built on this platform, with its licence.
fn packages() -> Vec<(String, String)> {
    let mut cargo = command(env!("CARGO"));
    cargo
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", &host()])
        .current_dir(root());
    let ended = run(cargo);
    assert_eq!(ended.code, Some(0), "cargo metadata: {}", ended.stderr);
    let metadata: Value = serde_json::from_str(&ended.stdout).expect("cargo prints JSON");
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages = metadata["packages"].as_array().expect("packages").iter();
    packages.map(|package| (word(&package["name"]), word(&package["license"]))).collect()
}

/// The platform we run on, as rustc names it.
fn host() -> String {
    let mut cargo = command(env!("CARGO"));
    cargo.args(["-vV"]);
    let version = run(cargo).stdout;
    version.lines().find_map(|line| line.strip_prefix("host: ")).expect("cargo -vV names its host").to_owned()
}

/// Whether a licence expression can be met with allowed licences alone.
fn permits(expression: &str, allowed: &[String]) -> bool {
    // Some old packages write `A/B` for `A OR B`.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut tokens = spaced.split_whitespace().peekable();
    let met = either(&mut tokens, allowed);
    met && tokens.next().is_none()
}

type Tokens<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn either(tokens: &mut Tokens<'_>, allowed: &[String]) -> bool {
    let mut met = both(tokens, allowed);
    while tokens.next_if_eq(&"OR").is_some() {
        met |= both(tokens, allowed);
    }
    met
}

fn both(tokens: &mut Tokens<'_>, allowed: &[String]) -> bool {
    let mut met = single(tokens, allowed);
    while tokens.next_if_eq(&"AND").is_some() {
        met &= single(tokens, allowed);
    }
    met
}

fn single(tokens: &mut Tokens<'_>, allowed: &[String]) -> bool {
    match tokens.next() {
        Some("(") => either(tokens, allowed) & tokens.next_if_eq(&")").is_some(),
        Some(licence) => {
            // An exception only ever grants more.
            if tokens.next_if_eq(&"WITH").is_some() {
                tokens.next();
            }
            allowed.iter().any(|name| name == licence)
        }
        None => false,
    }
}

#[test]
fn licence_expressions_are_read() {
    let allowed = ["MIT".to_owned(), "Apache-2.0".to_owned(), "Unicode-3.0".to_owned()];
    for (expression, met) in [
        ("MIT", true),
        ("MIT OR GPL-3.0", true),
        ("GPL-3.0 OR MIT", true),
        ("Unlicense/MIT", true),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("Apache-2.0 WITH LLVM-exception OR GPL-2.0", true),
        ("MIT AND GPL-3.0", false),
        ("(MIT OR Apache-2.0) AND GPL-3.0", false),
        ("GPL-3.0", false),
        ("MIT (", false),
        ("(MIT", false),
        ("", false),
    ] {
        assert_eq!(permits(expression, &allowed), met, "{expression:?}");
    }
}
