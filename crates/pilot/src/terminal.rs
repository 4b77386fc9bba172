//! What a screen is drawn on: its width, whether it shows colours, and the time as its reader writes it.

use std::io::{self, IsTerminal};

use pilot_core::time::Timestamp;

use crate::calendar::Calendar;
use crate::config::Environment;
use crate::printable;

/// Stands for a space at which no line ends. No text has it: control characters are taken out before.
const BOUND: char = '\u{1}';

/// Where text is drawn. A pipe and a file have no width: nothing is cut or folded there.
pub(crate) struct Canvas {
    pub(crate) width: Option<usize>,
    pub(crate) has_colour: bool,
    pub(crate) calendar: Calendar,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
    Cyan,
}

impl Ink {
    fn code(self) -> u8 {
        match self {
            Ink::Bold => 1,
            Ink::Dim => 2,
            Ink::Red => 31,
            Ink::Green => 32,
            Ink::Yellow => 33,
            Ink::Cyan => 36,
        }
    }
}

impl Canvas {
    pub(crate) fn of_stdout(environment: &Environment) -> Canvas {
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok();
        Canvas::new(environment, io::stdout().is_terminal(), size.map(|size| size.ws_col))
    }

    /// `COLUMNS` is the width where there is no terminal; `NO_COLOR`, and a terminal that is dumb, have no colours.
    fn new(environment: &Environment, is_terminal: bool, columns: Option<u16>) -> Canvas {
        let is_set = |name: &str| environment.os(name).is_some_and(|value| !value.is_empty());
        let told = environment.text("COLUMNS").and_then(|columns| columns.parse::<usize>().ok());
        let usual = is_terminal.then_some(80);
        let columns = columns.filter(|columns| is_terminal && *columns > 0).map(usize::from);
        let is_dumb = environment.text("TERM") == Some("dumb");
        Canvas {
            width: columns.or(told).or(usual).map(|width| width.max(40)),
            has_colour: is_terminal && !is_set("NO_COLOR") && !is_dumb,
            calendar: Calendar::of_this_machine(),
        }
    }

    pub(crate) fn paint(&self, ink: Ink, text: &str) -> String {
        if self.has_colour { format!("\x1b[{}m{text}\x1b[0m", ink.code()) } else { text.to_owned() }
    }

    /// Our own sentences in lines that are at most so many columns shorter than the screen. What is written between
    /// backticks, a command for instance, stays on one line and is coloured, or stands in quotes.
    pub(crate) fn fold(&self, text: &str, indent: usize) -> Vec<String> {
        let text = printable::text(text);
        let room = self.width.map_or(usize::MAX, |width| width.saturating_sub(indent).max(20));
        let mut is_code = false;
        let bound: String = text
            .chars()
            .map(|c| {
                is_code ^= c == '`';
                if is_code && c == ' ' { BOUND } else { c }
            })
            .collect();
        printable::fold(&bound, room).iter().map(|line| self.codes(line)).collect()
    }

    fn codes(&self, line: &str) -> String {
        let parts: Vec<&str> = line.split('`').collect();
        let mut shown = String::new();
        for (place, part) in parts.iter().enumerate() {
            let part = part.replace(BOUND, " ");
            match (place % 2 == 1, place + 1 == parts.len()) {
                (false, _) => shown.push_str(&part),
                // The last one was never closed.
                (true, true) => shown.push_str(&format!("`{part}")),
                (true, false) if self.has_colour => shown.push_str(&self.paint(Ink::Cyan, &part)),
                (true, false) => shown.push_str(&format!("'{part}'")),
            }
        }
        shown
    }

    pub(crate) fn local(&self, at: Timestamp, now: Timestamp) -> String {
        self.calendar.clock(at, now)
    }
}

/// A length of time as people say it.
pub(crate) fn span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h", seconds / 3600),
        172_800.. => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::{Canvas, span};
    use crate::calendar::Calendar;
    use crate::config::Environment;

    #[test]
    fn colour_and_width_are_those_of_the_terminal() {
        for (variables, is_terminal, columns, expect) in [
            (&[][..], true, Some(120), (Some(120), true)),
            (&[("NO_COLOR", "1")][..], true, Some(120), (Some(120), false)),
            (&[("NO_COLOR", "")][..], true, Some(120), (Some(120), true)),
            (&[("TERM", "dumb")][..], true, None, (Some(80), false)),
            (&[][..], false, None, (None, false)),
            (&[("COLUMNS", "100")][..], false, None, (Some(100), false)),
            (&[("COLUMNS", "3")][..], false, None, (Some(40), false)),
        ] {
            let environment: Environment = variables.iter().copied().collect();
            let canvas = Canvas::new(&environment, is_terminal, columns);
            assert_eq!((canvas.width, canvas.has_colour), expect, "{variables:?}");
        }
    }

    #[test]
    fn a_command_in_a_sentence_is_never_broken() {
        let mut canvas = Canvas { width: Some(30), has_colour: false, calendar: Calendar::utc() };
        let text = "Paused by the operator; `pilot resume` continues.";
        assert_eq!(canvas.fold(text, 0), ["Paused by the operator;", "'pilot resume' continues."]);
        canvas.has_colour = true;
        assert_eq!(canvas.fold(text, 0)[1], "\x1b[36mpilot resume\x1b[0m continues.");
        canvas.width = None;
        assert_eq!(canvas.fold("a ` b", 0), ["a ` b"]);
    }

    #[test]
    fn a_span_has_one_unit() {
        for (seconds, text) in [(0, "0 s"), (59, "59 s"), (60, "1 min"), (7199, "1 h"), (172_800, "2 days")] {
            assert_eq!(span(seconds), text);
        }
    }
}
