//! The live view of a run: one line that changes on a terminal, plain lines elsewhere. On standard error, because data
//! goes to standard output.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use pilot_core::progress::{Shown, words};
use pilot_core::stream::Usage;
use serde_json::json;

use crate::printable;
use crate::stdout::Stdout;

/// How wide a terminal is that does not say so.
const WIDTH: usize = 80;

/// Where the view goes and how much is shown.
#[derive(Debug)]
pub(crate) struct View {
    terminal: bool,
    quiet: bool,
    verbose: bool,
    /// Whether progress is told as JSON on standard output, for the one who started this process.
    reports: bool,
    /// Whether the changing line stands on the screen.
    drawn: bool,
    /// Whether the agent's words ended in the middle of a line.
    mid_line: bool,
    last: String,
}

/// What the changing line shows.
pub(crate) struct Now<'n> {
    pub(crate) shown: &'n Shown,
    pub(crate) elapsed: Duration,
    pub(crate) usage: Usage,
}

impl View {
    /// `quiet` shows nothing but warnings, for `--json`.
    pub(crate) fn new(quiet: bool, verbose: bool) -> View {
        View {
            terminal: io::stderr().is_terminal(),
            quiet,
            verbose,
            reports: false,
            drawn: false,
            mid_line: false,
            last: String::new(),
        }
    }

    /// For a worker: warnings, and progress for the one who started it.
    pub(crate) fn reporting() -> View {
        View { reports: true, ..View::new(true, false) }
    }

    /// A line that stays, whatever the mode.
    pub(crate) fn warn(&mut self, text: &str) {
        self.line(text);
    }

    /// A line that stays.
    pub(crate) fn note(&mut self, text: &str) {
        if !self.quiet {
            self.line(text);
        }
    }

    /// What the agent says to people.
    pub(crate) fn said(&mut self, text: &str) {
        if self.verbose && !self.quiet && !text.is_empty() {
            let _ = write!(io::stderr(), "{}", printable::text(text));
            self.mid_line = !text.ends_with('\n');
        }
    }

    /// The last thing it did.
    pub(crate) fn did(&mut self, what: &str) {
        self.last = printable::line(what, 200);
        if self.verbose {
            let last = format!("  {}", printable::line(what, width().saturating_sub(3)));
            self.note(&last);
        }
    }

    /// Phase or percent changed.
    pub(crate) fn progress(&mut self, shown: &Shown) {
        if self.reports {
            let line = json!({"progress": {"phase": words::phase(&shown.phase), "percent": shown.percent}});
            let mut out = Stdout::lock();
            let _ = writeln!(out, "{line}").and_then(|()| out.flush());
        }
        if !self.terminal || self.verbose {
            self.note(&words::line(shown));
        }
    }

    /// Draws the changing line.
    pub(crate) fn draw(&mut self, now: &Now<'_>) {
        if !self.terminal || self.quiet || self.verbose {
            return;
        }
        let seconds = now.elapsed.as_secs();
        let mut parts = vec![words::line(now.shown), format!("{}:{:02}", seconds / 60, seconds % 60)];
        parts.push(format!("{} tokens", now.usage.tokens()));
        parts.extend(now.usage.cost_usd.map(|usd| format!("${usd:.2}")));
        parts.extend(Some(self.last.clone()).filter(|last| !last.is_empty()));
        // One column stays free: a full line would make some terminals go to the next.
        let text = printable::line(&parts.join(" · "), width().saturating_sub(1));
        let _ = write!(io::stderr(), "\r\x1b[K{text}");
        let _ = io::stderr().flush();
        self.drawn = true;
    }

    /// Takes the changing line off the screen.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
        if std::mem::take(&mut self.mid_line) {
            let _ = writeln!(io::stderr());
        }
    }

    fn line(&mut self, text: &str) {
        self.clear();
        let _ = writeln!(io::stderr(), "{}", printable::text(text));
    }
}

/// How many columns the terminal has now.
fn width() -> usize {
    match rustix::termios::tcgetwinsize(io::stderr()) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col),
        Ok(_) | Err(_) => WIDTH,
    }
}
