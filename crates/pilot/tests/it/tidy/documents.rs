//! Documents that stay true: links that lead somewhere, decisions without gaps.

use std::path::Path;

use super::{expect_none, files, has_extension, root, text};

#[test]
fn links_lead_somewhere() {
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| has_extension(file, "md")) {
        for link in links(&text(file)) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (path, heading) = link.split_once('#').unwrap_or((&link, ""));
            let target = match path {
                "" => file.clone(),
                _ => file.parent().unwrap_or(Path::new("")).join(path),
            };
            if !root().join(&target).exists() {
                complaints.push(format!("{}: {link}: no such file", file.display()));
            } else if !heading.is_empty() && !anchors(&text(&target)).iter().any(|anchor| anchor == heading) {
                complaints.push(format!("{}: {link}: no such heading", file.display()));
            }
        }
    }
    expect_none("links that lead nowhere", &complaints);
}

#[test]
fn decisions_are_numbered_without_gaps() {
    let names: Vec<String> = files()
        .iter()
        .filter(|file| file.starts_with("docs/decisions"))
        .map(|file| file.file_name().expect("a file has a name").to_string_lossy().into_owned())
        .collect();
    assert!(!names.is_empty(), "docs/decisions is empty");
    let complaints: Vec<String> = (1..)
        .zip(&names)
        .filter(|(number, name)| !name.starts_with(&format!("{number:03}-")) || !name.ends_with(".md"))
        .map(|(number, name)| format!("{name}: expected {number:03}-*.md"))
        .collect();
    expect_none("decisions out of order", &complaints);
}

#[test]
fn decisions_say_what_was_rejected_and_why() {
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| file.starts_with("docs/decisions")) {
        let text = text(file);
        for heading in ["## Choice", "## Rejected", "## Why"] {
            if !text.lines().any(|line| line == heading) {
                complaints.push(format!("{}: no {heading:?}", file.display()));
            }
        }
        if text.lines().count() > 80 {
            complaints.push(format!("{}: longer than a page", file.display()));
        }
    }
    expect_none("decisions that do not explain themselves", &complaints);
}

#[test]
fn every_diagnostic_is_explained() {
    let source = text("crates/core/src/signal/event.rs".as_ref());
    let (_, codes) = source.split_once("pub enum Code {\n").expect("the codes");
    let (codes, _) = codes.split_once("\n}").expect("the codes end");
    let codes = codes.lines().filter_map(|line| line.trim().strip_suffix(','));
    let written: Vec<String> = codes.map(snake_case).collect();
    let page = text("docs/signals.md".as_ref());
    let (_, table) = page.split_once("\n## Diagnostics\n").expect("a section on diagnostics");
    let (table, _) = table.split_once("\n## ").expect("the section ends");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    let explained: Vec<&str> = rows.filter_map(|row| row.split_once('`')).map(|(code, _)| code).collect();
    assert_eq!(explained, written, "docs/signals.md explains the codes in their order");
}

#[test]
fn the_page_on_security_names_what_is_passed_kept_back_and_guarded() {
    let page = text("docs/security.md".as_ref());
    let mut complaints = Vec::new();
    for (file, list) in [
        ("crates/exec/src/environment.rs", "const GENERAL: "),
        ("crates/exec/src/environment.rs", "const AGENTS: "),
        ("crates/exec/src/environment.rs", "const TOOLCHAINS: "),
        ("crates/exec/src/environment.rs", "const SECRET: "),
        ("crates/exec/src/workspace/guard.rs", "const GUARDED: "),
    ] {
        let source = text(file.as_ref());
        let (_, rest) = source.split_once(list).expect("the list");
        let (list, _) = rest.split_once(";\n").expect("the list ends");
        // Between quotes every second piece is a name, or a list of them.
        let names: Vec<&str> = list.split('"').skip(1).step_by(2).flat_map(str::split_whitespace).collect();
        assert!(names.len() > 3, "{file}");
        let missing = names.iter().filter(|name| !page.contains(&format!("`{name}`")));
        complaints.extend(missing.map(|name| format!("{file}: {name}")));
    }
    expect_none("names that docs/security.md does not mention", &complaints);
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
    }
    snake
}

/// The targets of `[words](target)` outside code.
fn links(markdown: &str) -> Vec<String> {
    let prose = without_code(markdown);
    prose
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.split_whitespace().next().unwrap_or_default().to_owned())
        .collect()
}

/// The anchors of a document's headings, as forges make them.
fn anchors(markdown: &str) -> Vec<String> {
    without_fences(markdown)
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = title.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

fn without_code(markdown: &str) -> String {
    // Between backticks every second piece is code. Good enough for documents of our own.
    without_fences(markdown).lines().flat_map(|line| line.split('`').step_by(2).chain(["\n"])).collect()
}

fn without_fences(markdown: &str) -> String {
    let mut fence: Option<&str> = None;
    let mut prose = String::new();
    for line in markdown.lines() {
        let trimmed = line.trim_start();
        let marks = trimmed.len() - trimmed.trim_start_matches(['`', '~']).len();
        match fence {
            Some(open) if marks >= open.len() && trimmed.starts_with(open) => fence = None,
            Some(_) => {}
            None if marks >= 3 => fence = Some(&trimmed[..marks]),
            None => {
                prose.push_str(line);
                prose.push('\n');
            }
        }
    }
    prose
}

#[test]
fn links_are_found_outside_code_only() {
    let markdown = "see [a](x.md#y) and `[b](no.md)`\n````\n```\n[c](no.md)\n````\n[d](z/ \"title\")\n";
    assert_eq!(links(markdown), ["x.md#y", "z/"]);
    assert_eq!(anchors("# A `b` c!\n## x_y-z\n```\n# no\n```\n"), ["a-b-c", "x_y-z"]);
}

/// Every module at the top of a package is one row of ARCHITECTURE.md, and every row is such a module.
#[test]
fn every_room_has_one_row_in_the_architecture() {
    let page = text("ARCHITECTURE.md".as_ref());
    let mut complaints = Vec::new();
    for package in ["core", "exec", "forge", "link", "pilot", "store", "testkit"] {
        let (_, section) = page.split_once(&format!("Rooms inside `{package}`")).expect("its rooms");
        let section = section.split("Rooms inside").next().and_then(|part| part.split("\n## ").next());
        let rows = section.unwrap_or_default().lines().filter_map(|line| line.strip_prefix("| "));
        // Between backticks every second piece is a name.
        let cells = rows.filter_map(|row| row.split_once('|')).map(|(cell, _)| cell);
        let mut named: Vec<&str> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
        named.sort_unstable();
        let mut rooms = modules(&format!("crates/{package}/src"));
        rooms.sort_unstable();
        if named != rooms {
            complaints.push(format!("{package}: the page names {named:?}, the package has {rooms:?}"));
        }
    }
    expect_none("rooms that do not have exactly one row", &complaints);
}

/// The modules at the top of a package's sources.
fn modules(folder: &str) -> Vec<String> {
    let mut names: Vec<String> = files()
        .iter()
        .filter_map(|file| file.strip_prefix(folder).ok()?.iter().next()?.to_str())
        .map(|name| name.trim_end_matches(".rs").to_owned())
        .filter(|name| !["lib", "main", "bin"].contains(&name.as_str()))
        .collect();
    names.dedup();
    names
}
