//! Issues that ask for CI to be fixed.

use std::fmt::Write as _;

use super::label::FIX;
use super::marker::Meta;
use super::pr::FIX_PREFIX;
use crate::outcome::cut;
use crate::prompt::clean;
use crate::task::NewFix;

/// The most of CI's log that is shown, in bytes. Its end is: what failed stands there.
const LOG: usize = 2000;

/// The title.
pub fn fix_title(new: &NewFix) -> String {
    format!("{FIX_PREFIX}{}", new.title)
}

/// The labels: the one that asks for work, and the one that says what kind.
pub fn fix_labels(new: &NewFix) -> Vec<String> {
    vec![new.label.clone(), FIX.to_owned()]
}

/// The text. The log is CI's: data, in a fence it cannot close. It comes without secrets.
pub fn fix_body(new: &NewFix, log: Option<&str>) -> String {
    let mut body = String::new();
    // Writing to a string does not fail.
    let _ = write!(
        body,
        "CI failed on {} (commit `{}`), which was opened for {}. Make these checks pass, on the same branch \
         `{}`, without taking back what was done there.\n\n",
        new.pr,
        new.failed.sha().short(),
        new.issue,
        new.branch,
    );
    for check in new.failed.failed() {
        let _ = writeln!(body, "- [ ] {}", super::defuse(check, 200));
    }
    match log.map(excerpt).filter(|log| !log.is_empty()) {
        Some(log) => {
            let fence = fence(&log);
            let _ = write!(body, "\nThe end of the log:\n\n{fence}text\n{log}\n{fence}\n");
        }
        None => body.push_str("\nThe forge has no log of it.\n"),
    }
    let meta = Meta { branch: new.branch.clone(), pr: new.pr, iteration: new.iteration };
    let _ = write!(body, "\nOpened by Pilot. This is fix {} in a row.\n\n{}\n", new.iteration, meta.write());
    body
}

/// The end of a log, from a line's begin.
fn excerpt(log: &str) -> String {
    let log = clean(log);
    let log = log.trim();
    let from = log.len().saturating_sub(LOG);
    let start = (from..=log.len()).find(|at| log.is_char_boundary(*at)).unwrap_or(log.len());
    let kept = &log[start..];
    let kept = if start == 0 { kept } else { kept.split_once('\n').map_or(kept, |(_, rest)| rest) };
    cut(kept, LOG).trim_end().to_owned()
}

/// A fence longer than any in the text.
fn fence(text: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    "`".repeat(longest.max(2) + 1)
}
