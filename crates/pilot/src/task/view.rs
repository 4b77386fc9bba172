//! The live view of a run: one line that changes on a terminal, plain lines elsewhere. On standard error, because data
//! goes to standard output.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use pilot_core::progress::{Shown, words};
use pilot_core::stream::Usage;

use crate::printable;

/// How wide the changing line may be.
const WIDTH: usize = 78;

/// Where the view goes and how much is shown.
#[derive(Debug)]
pub(crate) struct View {
    terminal: bool,
    quiet: bool,
    verbose: bool,
    /// Whether the changing line stands on the screen.
    drawn: bool,
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
        View { terminal: io::stderr().is_terminal(), quiet, verbose, drawn: false, last: String::new() }
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
        if self.verbose && !self.quiet {
            self.clear();
            let _ = write!(io::stderr(), "{}", printable::text(text));
        }
    }

    /// The last thing it did.
    pub(crate) fn did(&mut self, what: &str) {
        self.last = printable::line(what, 40);
        if self.verbose {
            let last = format!("  {}", printable::line(what, WIDTH - 2));
            self.note(&last);
        }
    }

    /// Phase or percent changed.
    pub(crate) fn progress(&mut self, shown: &Shown) {
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
        let cost = now.usage.cost_usd.map_or_else(String::new, |usd| format!("  ${usd:.2}"));
        let text = format!(
            "{}  {}:{:02}  {} tokens{cost}  {}",
            words::line(now.shown),
            seconds / 60,
            seconds % 60,
            now.usage.tokens(),
            self.last
        );
        let _ = write!(io::stderr(), "\r\x1b[K{}", printable::line(&text, WIDTH));
        let _ = io::stderr().flush();
        self.drawn = true;
    }

    /// Takes the changing line off the screen.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }

    fn line(&mut self, text: &str) {
        self.clear();
        let _ = writeln!(io::stderr(), "{}", printable::text(text));
    }
}
