//! Asking the person at the terminal.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use pilot_core::pipeline::{Answer, Question};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::printable;
use crate::task::interrupts::Interrupts;

/// The longest answer.
const LONGEST: usize = 16 * 1024;

/// What came of a question.
pub(crate) enum Said {
    /// A person answered.
    Answer(Answer),
    /// Nobody is there, or they do not want to answer now.
    Nothing,
    /// They stopped Pilot.
    Stopped,
}

/// Whether somebody can be asked.
pub(crate) fn somebody_is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks until there is an answer.
pub(crate) async fn ask(
    at: &str,
    question: &Question,
    message: Option<&str>,
    interrupts: &mut Interrupts,
) -> Said {
    if !somebody_is_there() {
        return Said::Nothing;
    }
    let (asked, choice) = match question {
        Question::Gate => (message.unwrap_or("Go on?").to_owned(), "[y/n]"),
        Question::Stagnated(why) => (format!("The loop gets nowhere: {why}. Go on all the same?"), "[y/n]"),
        Question::Blocked(text) => {
            (format!("The agent needs a person:\n{text}"), "your answer, or an empty line to stop here:")
        }
    };
    loop {
        let _ = write!(io::stderr(), "{at}: {}\n{choice} ", printable::text(&asked));
        let line = match line(interrupts).await {
            Line::Text(line) => line,
            Line::End => return Said::Nothing,
            Line::Stopped => return Said::Stopped,
        };
        match (question, line.trim().to_lowercase().as_str()) {
            (Question::Blocked(_), "") => return Said::Nothing,
            (Question::Blocked(_), _) => return Said::Answer(Answer::Text(line.trim().to_owned())),
            (_, "y" | "yes") => return Said::Answer(Answer::Yes),
            (_, "n" | "no" | "q" | "quit") => return Said::Answer(Answer::No),
            (_, _) => {
                let _ = writeln!(io::stderr(), "That is neither yes nor no: write y or n.");
            }
        }
    }
}

enum Line {
    Text(String),
    End,
    Stopped,
}

/// The next line of the terminal. Ctrl-C is heard meanwhile.
async fn line(interrupts: &mut Interrupts) -> Line {
    let mut bytes = Vec::new();
    loop {
        tokio::select! {
            () = interrupts.wait() => return Line::Stopped,
            () = tokio::time::sleep(Duration::from_millis(50)) => {}
        }
        while is_ready() {
            let mut byte = [0];
            match rustix::io::read(io::stdin(), &mut byte) {
                Ok(0) | Err(_) => return Line::End,
                Ok(_) if byte == *b"\n" => return Line::Text(String::from_utf8_lossy(&bytes).into_owned()),
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
