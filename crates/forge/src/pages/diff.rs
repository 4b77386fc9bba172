//! Changed files, line by line.

use std::collections::HashMap;

use serde_json::Value;

use super::client::{number, text};
use super::html::Html;
use super::markdown;
use super::view::avatar;
use crate::git::hunk_starts;

/// Lines shown of all files together; the rest is replaced by a note.
const MOST_LINES: usize = 5000;

/// Comments by file and line of the new side.
pub(super) type LineComments<'a> = HashMap<(&'a str, i64), Vec<&'a Value>>;

/// Writes changed files with the comments on their lines.
pub(super) fn write(html: &mut Html, files: &[Value], comments_by_line: &LineComments<'_>) {
    let mut left = MOST_LINES;
    for file in files {
        let path = text(file, "/filename");
        html.put("<details class=\"card file\" open><summary><span class=\"path\">", &[]);
        if let Some(previous) = file["previous_filename"].as_str() {
            html.put("{} → ", &[&previous]);
        }
        html.put("{}</span><span class=\"grow\"></span><span class=\"plus\">+{}</span> <span class=\"minus\">−{}</span></summary>", &[
            &path,
            &number(file, "/additions"),
            &number(file, "/deletions"),
        ]);
        match file["patch"].as_str() {
            None => html.put("<p class=\"quiet pad\">Nothing to show: a binary or a very large file, or only its name changed.</p>", &[]),
            Some(_) if left == 0 => html.put("<p class=\"quiet pad\">Too much to show here. Fetch the branch to see it all.</p>", &[]),
            Some(patch) => lines(html, path, patch, comments_by_line, &mut left),
        }
        html.put("</details>", &[]);
    }
}

fn lines(html: &mut Html, path: &str, patch: &str, comments_by_line: &LineComments<'_>, left: &mut usize) {
    html.put("<div class=\"scroll\"><table class=\"diff\">", &[]);
    let (mut old, mut new) = (0, 0);
    for line in patch.lines() {
        if *left == 0 {
            html.put("<tr class=\"hunk\"><td></td><td></td><td>Too much to show here. Fetch the branch to see it all.</td></tr>", &[]);
            break;
        }
        *left -= 1;
        if let Some(head) = line.strip_prefix("@@ -") {
            (old, new) = hunk_starts(head).unwrap_or_default();
            html.put("<tr class=\"hunk\"><td></td><td></td><td>{}</td></tr>", &[&line]);
            continue;
        }
        let (markup, of_old, of_new) = match line.as_bytes().first() {
            Some(b'+') => (
                "<tr class=\"add\"><td class=\"n\"></td><td class=\"n\">{}</td><td>{}</td></tr>",
                false,
                true,
            ),
            Some(b'-') => (
                "<tr class=\"del\"><td class=\"n\">{}</td><td class=\"n\"></td><td>{}</td></tr>",
                true,
                false,
            ),
            Some(b'\\') => ("<tr class=\"note\"><td></td><td></td><td>{}</td></tr>", false, false),
            Some(_) | None => {
                ("<tr><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>", true, true)
            }
        };
        match (of_old, of_new) {
            (true, true) => html.put(markup, &[&old, &new, &line]),
            (true, false) => html.put(markup, &[&old, &line]),
            (false, true) => html.put(markup, &[&new, &line]),
            (false, false) => html.put(markup, &[&line]),
        };
        if of_new {
            for comment in comments_by_line.get(&(path, new)).into_iter().flatten() {
                line_comment(html, comment);
            }
        }
        old += i64::from(of_old);
        new += i64::from(of_new);
    }
    html.put("</table></div>", &[]);
}

fn line_comment(html: &mut Html, comment: &Value) {
    html.put("<tr class=\"remark\"><td></td><td></td><td><div>", &[]);
    avatar(html, text(comment, "/user/login"));
    html.put("<b>{}</b>", &[&text(comment, "/user/login")]);
    markdown::write(html, text(comment, "/body"));
    html.put("</div></td></tr>", &[]);
}
