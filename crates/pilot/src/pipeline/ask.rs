//! Asking the user at the terminal.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use pilot_core::pipeline::{Question, UserAnswer};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::agent::interrupts::Interrupts;
use crate::printable;

const LONGEST: usize = 16 * 1024;

pub(crate) enum TerminalReply {
    Answer(UserAnswer),
    /// There is no terminal, or the user does not want to answer now.
    None,
    Stopped,
}

pub(crate) fn has_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

pub(crate) async fn ask(
    at: &str,
    question: &Question,
    message: Option<&str>,
    interrupts: &mut Interrupts,
) -> TerminalReply {
    if !has_terminal() {
        return TerminalReply::None;
    }
    let (asked, choice) = match question {
        Question::Gate => (message.unwrap_or("Continue?").to_owned(), "[y/n]"),
        Question::Stagnated(why) => (format!("The loop makes no progress: {why}. Continue anyway?"), "[y/n]"),
        Question::Blocked(text) => {
            (format!("The agent needs your help:\n{text}"), "your answer, or an empty line to stop here:")
        }
    };
    loop {
        let _ = write!(io::stderr(), "{at}: {}\n{choice} ", printable::text(&asked));
        let line = match read_line(interrupts).await {
            TerminalLine::Text(line) => line,
            TerminalLine::End => return TerminalReply::None,
            TerminalLine::Stopped => return TerminalReply::Stopped,
        };
        match (question, line.trim().to_lowercase().as_str()) {
            (Question::Blocked(_), "") => return TerminalReply::None,
            (Question::Blocked(_), _) => {
                return TerminalReply::Answer(UserAnswer::Text(line.trim().to_owned()));
            }
            (_, "y" | "yes") => return TerminalReply::Answer(UserAnswer::Yes),
            (_, "n" | "no" | "q" | "quit") => return TerminalReply::Answer(UserAnswer::No),
            (_, _) => {
                let _ = writeln!(io::stderr(), "Please answer y or n.");
            }
        }
    }
}

enum TerminalLine {
    Text(String),
    End,
    Stopped,
}

/// The next line of the terminal, unless Ctrl-C comes first.
async fn read_line(interrupts: &mut Interrupts) -> TerminalLine {
    let mut bytes = Vec::new();
    loop {
        tokio::select! {
            () = interrupts.wait() => return TerminalLine::Stopped,
            () = tokio::time::sleep(Duration::from_millis(50)) => {}
        }
        while is_ready() {
            let mut byte = [0];
            match rustix::io::read(io::stdin(), &mut byte) {
                Ok(0) | Err(_) => return TerminalLine::End,
                Ok(_) if byte == *b"\n" => {
                    return TerminalLine::Text(String::from_utf8_lossy(&bytes).into_owned());
                }
                Ok(_) if bytes.len() < LONGEST => bytes.push(byte[0]),
                Ok(_) => {}
            }
        }
    }
}

fn is_ready() -> bool {
    let stdin = io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
}
