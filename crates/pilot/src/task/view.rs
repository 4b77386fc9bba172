//! The live view of a run: one line that changes on a terminal, plain lines elsewhere. On standard error, because data
//! goes to standard output.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use pilot_core::progress::{Shown, words};
use pilot_core::run::{RunProgress, WorkerLine};
use pilot_core::stream::Usage;

use super::worker::print_line;
use crate::clock::Stopwatch;
use crate::printable;

/// How soon the daemon gets a new message or cost.
const REPORT_EVERY: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct View {
    terminal: bool,
    quiet: bool,
    pub(crate) verbose: bool,
    /// A worker's view goes to standard output, as lines for the daemon.
    pub(crate) reports: bool,
    /// The progress the daemon knows, and since when.
    reported: Option<(RunProgress, Stopwatch)>,
    drawn: bool,
    /// Whether the agent's words ended in the middle of a line.
    mid_line: bool,
    last: String,
}

impl View {
    /// `quiet` shows nothing but warnings, for `--json`.
    pub(crate) fn new(quiet: bool, verbose: bool) -> View {
        View {
            terminal: io::stderr().is_terminal(),
            quiet,
            verbose,
            reports: false,
            reported: None,
            drawn: false,
            mid_line: false,
            last: String::new(),
        }
    }

    /// For a worker: warnings and progress, as lines for the daemon.
    pub(crate) fn reporting() -> View {
        View { reports: true, ..View::new(true, false) }
    }

    /// A line that stays, whatever the mode.
    pub(crate) fn warn(&mut self, text: &str) {
        if self.reports {
            for line in printable::text(text).lines() {
                // A daemon that no longer reads is about to end this worker.
                let _ = print_line(&WorkerLine::Complaint { text: line.to_owned() });
            }
        } else {
            self.line(text);
        }
    }

    /// Tells the daemon something, if there is one.
    pub(crate) fn report_line(&self, line: &WorkerLine) {
        if self.reports {
            let _ = print_line(line);
        }
    }

    /// Tells the daemon how far the run is: a new phase or percent at once, a new message or cost within [`REPORT_EVERY`].
    pub(crate) fn report(&mut self, now: RunProgress) {
        let is_due = self.reported.as_ref().is_none_or(|(last, since)| {
            let moved = last.phase != now.phase || last.percent != now.percent;
            moved || (*last != now && since.elapsed() >= REPORT_EVERY)
        });
        if is_due {
            let _ = print_line(&WorkerLine::Progress(now.clone()));
            self.reported = Some((now, Stopwatch::start()));
        }
    }

    pub(crate) fn note(&mut self, text: &str) {
        if !self.quiet {
            self.line(text);
        }
    }

    pub(crate) fn said(&mut self, text: &str) {
        if self.verbose && !self.quiet && !text.is_empty() {
            let _ = write!(io::stderr(), "{}", printable::text(text));
            self.mid_line = !text.ends_with('\n');
        }
    }

    pub(crate) fn did(&mut self, what: &str) {
        self.last = printable::line(what, 200);
        if self.verbose {
            let last = format!("  {}", printable::line(what, printable::terminal_size().0.saturating_sub(3)));
            self.note(&last);
        }
    }

    pub(crate) fn progress(&mut self, shown: &Shown) {
        if !self.terminal || self.verbose {
            self.note(&words::line(shown));
        }
    }

    pub(crate) fn draw(&mut self, shown: &Shown, elapsed: Duration, usage: &Usage) {
        if !self.terminal || self.quiet || self.verbose {
            return;
        }
        let seconds = elapsed.as_secs();
        let mut parts = vec![words::line(shown), format!("{}:{:02}", seconds / 60, seconds % 60)];
        parts.push(format!("{} tokens", usage.tokens()));
        parts.extend(usage.cost_usd.map(|usd| format!("${usd:.2}")));
        parts.extend(Some(self.last.clone()).filter(|last| !last.is_empty()));
        // One column stays free: a full line would make some terminals go to the next.
        let text = printable::line(&parts.join(" · "), printable::terminal_size().0.saturating_sub(1));
        let _ = write!(io::stderr(), "\r\x1b[K{text}");
        let _ = io::stderr().flush();
        self.drawn = true;
    }

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
