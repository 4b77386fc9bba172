//! Changed files, line by line.

use std::collections::HashMap;

use serde_json::Value;

use super::ask::{number, text};
use super::html::Html;
use super::markdown;
use super::view::avatar;

/// Lines of all files together that are shown; what is beyond is said, not shown.
const MOST_LINES: usize = 5000;

/// Comments on lines, by file and line of the new side.
pub(super) type Remarks<'a> = HashMap<(&'a str, i64), Vec<&'a Value>>;

/// Writes files of a commit or a pull request, with what was said about their lines.
pub(super) fn write(html: &mut Html, files: &[Value], remarks: &Remarks<'_>) {
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
            Some(patch) => lines(html, path, patch, remarks, &mut left),
        }
        html.put("</details>", &[]);
    }
}

fn lines(html: &mut Html, path: &str, patch: &str, remarks: &Remarks<'_>, left: &mut usize) {
    html.put("<div class=\"scroll\"><table class=\"diff\">", &[]);
    let (mut old, mut new) = (0, 0);
    for line in patch.lines() {
        if *left == 0 {
            html.put("<tr class=\"hunk\"><td></td><td></td><td>Too much to show here. Fetch the branch to see it all.</td></tr>", &[]);
            break;
        }
        *left -= 1;
        if let Some(head) = line.strip_prefix("@@ -") {
            (old, new) = starts(head);
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
            for remark in remarks.get(&(path, new)).into_iter().flatten() {
                say(html, remark);
            }
        }
        old += i64::from(of_old);
        new += i64::from(of_new);
    }
    html.put("</table></div>", &[]);
}

fn say(html: &mut Html, remark: &Value) {
    html.put("<tr class=\"remark\"><td></td><td></td><td><div>", &[]);
    avatar(html, text(remark, "/user/login"));
    html.put("<b>{}</b>", &[&text(remark, "/user/login")]);
    markdown::write(html, text(remark, "/body"));
    html.put("</div></td></tr>", &[]);
}

/// `1,4 +1,5 @@ …`: where both sides begin.
fn starts(head: &str) -> (i64, i64) {
    let (old, rest) = head.split_once(" +").unwrap_or((head, ""));
    let first =
        |text: &str| text.split([',', ' ']).next().and_then(|digits| digits.parse().ok()).unwrap_or(0);
    (first(old), first(rest))
}
