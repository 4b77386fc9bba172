//! Issues that ask for a fix of CI.

use std::fmt::Write as _;

use super::label::FIX;
use super::pr::FIX_PREFIX;
use crate::id::References;
use crate::task::NewFix;
use crate::text::{inert_line, strip_hidden, truncate};

/// The most of CI's log that is shown, in bytes: its end, where the failure is.
const LOG: usize = 2000;

pub fn fix_title(new: &NewFix) -> String {
    format!("{FIX_PREFIX}{}", new.title)
}

/// The labels: the one that asks for work, and the one that says what kind.
pub fn fix_labels(new: &NewFix) -> Vec<String> {
    vec![new.label.clone(), FIX.to_owned()]
}

/// The log is CI's: data, in a fence it cannot close. It comes without secrets.
pub fn fix_body(new: &NewFix, log: Option<&str>, references: &References) -> String {
    let mut body = String::new();
    // Writing to a string does not fail.
    let _ = write!(
        body,
        "CI failed on {} (commit `{}`), which was opened for {}. Make these checks pass, on the same branch \
         `{}`, without reverting what was done there.\n\n",
        references.pull(new.pr),
        new.failed.sha().short(),
        references.ticket(&new.ticket),
        new.branch,
    );
    for check in new.failed.failed() {
        let _ = writeln!(body, "- [ ] {}", inert_line(check, 200));
    }
    match log.map(excerpt).filter(|log| !log.is_empty()) {
        Some(log) => {
            let fence = fence(&log);
            let _ = write!(body, "\nThe end of the log:\n\n{fence}text\n{log}\n{fence}\n");
        }
        None => body.push_str("\nThe forge has no log of it.\n"),
    }
    let _ = writeln!(body, "\nOpened by Pilot. This is fix {} in a row.", new.iteration);
    body
}

/// The end of a log, from the start of a line.
pub(super) fn excerpt(log: &str) -> String {
    let log = strip_hidden(log);
    let log = log.trim();
    let from = log.len().saturating_sub(LOG);
    let start = (from..=log.len()).find(|at| log.is_char_boundary(*at)).unwrap_or(log.len());
    let kept = &log[start..];
    let kept = if start == 0 { kept } else { kept.split_once('\n').map_or(kept, |(_, rest)| rest) };
    truncate(kept, LOG).trim_end().to_owned()
}

/// A fence longer than any in the text.
pub(super) fn fence(text: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    "`".repeat(longest.max(2) + 1)
}
